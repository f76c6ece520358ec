#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 200 * 1000, GUARD = 0xa5, GONE = 0xee };

const char *
conform_forgets(const struct conform *c)
{
	return c->device->forgets;
}

/* ---- from turns of reactors ---- */

struct call {
	struct task task;
	void (*run)(void *arg);
	void *arg;
	bool over;
};

static void
call_run(struct task *task)
{
	struct call *call = container_of(task, struct call, task);

	call->run(call->arg);
	call->over = true;
}

static void
give_task(struct conform *c, unsigned reactor, struct task *task)
{
	reactor_run_in(c->world->reactor(reactor), PHASE_RECEIVE, task);
	c->world->wake(c->world->reactor(reactor));
}

void
conform_do(struct conform *c, unsigned reactor, void (*run)(void *arg), void *arg)
{
	struct call call = { .run = run, .arg = arg };

	task_init(&call.task, call_run);
	give_task(c, reactor, &call.task);
	for (unsigned turns = 0; !call.over; turns++) {
		assert_true(turns < PATIENCE);
		c->world->turn();
	}
}

void
conform_turns(struct conform *c, unsigned turns)
{
	while (turns-- > 0)
		c->world->turn();
}

/* ---- blocks ---- */

void
block_fill(const struct conform *c, uint8_t *bytes, uint64_t lba, uint64_t stamp)
{
	uint64_t word = stamp;

	if (stamp == 0) {
		memset(bytes, 0, c->block_size);
		return;
	}
	for (size_t i = 0; i < c->block_size; i += sizeof(word)) {
		memcpy(bytes + i, &word, sizeof(word));
		word = (word ^ (lba + 1)) * UINT64_C(0x9e3779b97f4a7c15) + i;
	}
}

uint64_t
block_stamp(const struct conform *c, const uint8_t *bytes, uint64_t lba)
{
	uint8_t same[4096];
	uint64_t stamp;

	memcpy(&stamp, bytes, sizeof(stamp));
	block_fill(c, same, lba, stamp);
	if (memcmp(same, bytes, c->block_size) != 0)
		fail_msg("block %llu is not whole what was written as %llu", (unsigned long long)lba,
		    (unsigned long long)stamp);
	return stamp;
}

/* ---- one I/O ---- */

static uint8_t *
memory_of(struct conform *c, size_t bytes)
{
	uint8_t *memory = arena_alloc_aligned(&c->memory, bytes, 4096);

	assert_non_null(memory);
	memset(memory, GUARD, bytes);
	return memory;
}

/* Cuts `blocks` into pieces at random, a block apart; answers how many. */
static uint32_t
cut(struct conform *c, struct iovec iov[CONFORM_IOVS], uint8_t *memory, uint32_t blocks)
{
	uint32_t count = 0;

	while (blocks > 0) {
		uint32_t piece = count == CONFORM_IOVS - 1 ? blocks : 1 + (uint32_t)rng_below(&c->rng, blocks);

		iov[count++] = (struct iovec){ memory, (size_t)piece * c->block_size };
		memory += (size_t)(piece + 1) * c->block_size;
		blocks -= piece;
	}
	return count;
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct cio *t = io->owner;
	bool lent = (io->flags & BLK_LENT) != 0;

	assert_false(t->in_submit);
	assert_true(t->submitted);
	assert_int_equal(t->done++, 0);
	assert_true(!lent || (io->op == BLK_READ && (io->flags & BLK_MAY_LEND) != 0 && nvme_sc(status) == 0));
	t->sc = nvme_sc(status);
	if (!lent)
		t->chan->busy--;
}

static void
keep(struct blk_io *io)
{
	struct cio *t = io->owner;
	size_t bytes = (size_t)(io->blocks + CONFORM_IOVS) * t->c->block_size;

	assert_true(t->in_submit && (io->flags & BLK_TRANSIENT) != 0);
	t->kept = memory_of(t->c, bytes);
	memcpy(t->kept, t->memory, bytes);
	for (uint32_t i = 0; i < io->iov_count; i++)
		t->iov[i].iov_base = t->kept + ((uint8_t *)t->iov[i].iov_base - t->memory);
	io->flags &= ~(uint32_t)BLK_TRANSIENT;
}

static void
submit(struct task *task)
{
	struct cio *t = container_of(task, struct cio, task);
	bool transient = (t->io.flags & BLK_TRANSIENT) != 0;

	t->submitted = t->in_submit = true;
	t->chan->busy++;
	blk_submit(t->chan, &t->io);
	t->in_submit = false;
	if (transient)
		memset(t->memory, GONE, (size_t)(t->io.blocks + CONFORM_IOVS) * t->c->block_size);
}

struct cio *
cio_make(struct conform *c, unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct cio *t = calloc(1, sizeof(*t));
	size_t part = (size_t)(blocks + CONFORM_IOVS) * c->block_size;

	assert_non_null(t);
	assert_true(lba + blocks <= c->blk->blocks);
	t->c = c;
	t->chan = c->chans[chan];
	t->io = (struct blk_io){
		.op = op, .flags = flags, .lba = lba, .blocks = blocks, .iov = t->iov, .done = done, .keep = keep,
		.owner = t,
	};
	memset(&t->io.at, GONE, sizeof(t->io.at));
	task_init(&t->task, submit);
	if ((op == BLK_READ && (flags & BLK_MAY_LEND) == 0) || op == BLK_WRITE) {
		t->memory = memory_of(c, part);
		t->io.iov_count = cut(c, t->iov, t->memory, blocks);
	} else if (op == BLK_COMPARE_WRITE) {
		t->memory = memory_of(c, 3 * part);
		t->io.iov_count = cut(c, t->iov, t->memory, blocks);
		t->io.expected = t->expected;
		t->io.expected_count = cut(c, t->expected, t->memory + part, blocks);
		t->io.old = t->kept = memory_of(c, part);
	}
	return t;
}

struct cio *
cio_trim(struct conform *c, unsigned chan, const struct blk_range *ranges, uint32_t count)
{
	struct cio *t = cio_make(c, chan, BLK_TRIM, 0, 0, 0);

	t->io.ranges = ranges;
	t->io.range_count = count;
	return t;
}

void
cio_start(struct cio *t)
{
	give_task(t->c, t->chan->reactor->index, &t->task);
}

void
cio_wait(struct cio *t)
{
	for (unsigned turns = 0; t->done == 0; turns++) {
		if (turns == PATIENCE)
			fail_msg("operation %d of %u blocks from %llu does not end", t->io.op, t->io.blocks,
			    (unsigned long long)t->io.lba);
		t->c->world->turn();
	}
}

static void
end(struct cio *t)
{
	assert_int_equal(t->done, 1);
	assert_int_equal(t->io.flags & BLK_LENT, 0);
	arena_free(&t->c->memory, t->kept);
	arena_free(&t->c->memory, t->memory);
	free(t);
}

/* Nothing was read into what lies between the pieces: the first byte is the guard, and each the same as the next. */
static void
check_guards(const struct cio *t)
{
	for (uint32_t i = 0; t->io.op == BLK_READ && t->memory != NULL && i < t->io.iov_count; i++) {
		const uint8_t *behind = (uint8_t *)t->iov[i].iov_base + t->iov[i].iov_len;

		if (behind[0] != GUARD || memcmp(behind, behind + 1, t->c->block_size - 1) != 0)
			fail_msg("something was read into what lies behind piece %u of %u", i, t->io.iov_count);
	}
}

void
cio_end(struct cio *t)
{
	cio_wait(t);
	check_guards(t);
	end(t);
}

void
cio_ended(struct cio *t, enum nvme_sc sc)
{
	cio_wait(t);
	assert_int_equal(t->sc, sc);
	cio_end(t);
}

struct asked {
	struct cio *t;
	bool answer;
};

static void
ask_cancel(void *arg)
{
	struct asked *asked = arg;
	struct cio *t = asked->t;

	if (t->done > 0)
		return; /* it came meanwhile, and is the device's no more */
	t->in_submit = true;
	asked->answer = t->chan->blk->ops->cancel(t->chan, &t->io);
	t->in_submit = false;
}

bool
cio_cancel(struct cio *t)
{
	struct asked asked = { .t = t };

	conform_do(t->c, t->chan->reactor->index, ask_cancel, &asked);
	return asked.answer;
}

static void
ask_wanted(void *arg)
{
	struct asked *asked = arg;

	asked->answer = asked->t->chan->blk->ops->wanted(asked->t->chan, &asked->t->io);
}

bool
cio_wanted(struct cio *t)
{
	struct asked asked = { .t = t };

	conform_do(t->c, t->chan->reactor->index, ask_wanted, &asked);
	return asked.answer;
}

static void
let_go(void *arg)
{
	struct cio *t = arg;

	assert_int_not_equal(t->io.flags & BLK_LENT, 0);
	t->chan->blk->ops->release(t->chan, &t->io);
	assert_int_equal(t->io.flags & BLK_LENT, 0);
	t->chan->busy--;
}

void
cio_release(struct cio *t)
{
	conform_do(t->c, t->chan->reactor->index, let_go, t);
}

static uint8_t *
block_in(const struct cio *t, const struct iovec *iov, uint32_t count, uint32_t block)
{
	size_t at = (size_t)block * t->c->block_size;

	for (uint32_t i = 0; i < count; at -= iov[i++].iov_len)
		if (at < iov[i].iov_len)
			return (uint8_t *)iov[i].iov_base + at;
	fail_msg("there is no block %u", block);
	return NULL;
}

uint8_t *
cio_block(const struct cio *t, uint32_t block)
{
	return block_in(t, t->iov, t->io.iov_count, block);
}

void
cio_fill(struct cio *t, uint64_t stamp)
{
	t->stamp = stamp;
	for (uint32_t i = 0; i < t->io.blocks; i++)
		block_fill(t->c, cio_block(t, i), t->io.lba + i, stamp);
}

void
cio_expect(const struct cio *t, uint64_t stamp)
{
	for (uint32_t i = 0; i < t->io.blocks; i++)
		block_fill(t->c, block_in(t, t->expected, t->io.expected_count, i), t->io.lba + i, stamp);
}

/* ---- done, and over ---- */

void
write_blocks(struct conform *c, unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, uint64_t stamp)
{
	struct cio *t = cio_make(c, chan, BLK_WRITE, flags, lba, blocks);

	cio_fill(t, stamp);
	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
}

void
assert_blocks(struct conform *c, unsigned chan, uint64_t lba, uint32_t blocks, uint64_t stamp)
{
	struct cio *t = cio_make(c, chan, BLK_READ, 0, lba, blocks);

	cio_start(t);
	cio_wait(t);
	for (uint32_t i = 0; i < blocks; i++)
		assert_int_equal(block_stamp(c, cio_block(t, i), lba + i), stamp);
	cio_ended(t, NVME_SC_SUCCESS);
}

void
zero_blocks(struct conform *c, unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct cio *t = cio_make(c, chan, BLK_WRITE_ZEROES, flags, lba, blocks);

	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
}

void
flush(struct conform *c, unsigned chan)
{
	struct cio *t = cio_make(c, chan, BLK_FLUSH, 0, 0, 0);

	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
}

enum nvme_sc
compare_write(struct conform *c, unsigned chan, uint64_t lba, uint32_t blocks, uint64_t want, uint64_t stamp)
{
	struct cio *t = cio_make(c, chan, BLK_COMPARE_WRITE, 0, lba, blocks);
	enum nvme_sc sc;

	cio_fill(t, stamp);
	cio_expect(t, want);
	cio_start(t);
	cio_wait(t);
	sc = t->sc;
	cio_end(t);
	return sc;
}
