#include "blk_bench.h"

#include <stdio.h>
#include <string.h>

struct fakeworld fw;
struct blk *blk;
struct blk_chan *chans[CHANS];

static void
test_done(struct blk_io *io, struct nvme_status status)
{
	struct test_io *t = io->owner;

	assert_false(t->in_submit);
	t->done++;
	t->sc = nvme_sc(status);
}

static void
test_keep(struct blk_io *io)
{
	struct test_io *t = io->owner;

	assert_true(t->in_submit);
	t->kept = arena_alloc(&fw.arena, t->iov[0].iov_len);
	memcpy(t->kept, t->iov[0].iov_base, t->iov[0].iov_len);
	t->iov[0].iov_base = t->kept;
	io->flags &= ~(uint32_t)BLK_TRANSIENT;
}

struct test_io *
io_make(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct test_io *t = arena_alloc(&fw.arena, sizeof(*t));
	size_t bytes = (size_t)blocks * blk->block_size;

	assert_non_null(t);
	t->chan = chans[chan];
	t->io = (struct blk_io){
		.op = op, .flags = flags, .lba = lba, .blocks = blocks, .iov = t->iov,
		.done = test_done, .keep = test_keep, .owner = t,
	};
	memset(&t->io.at, 0xee, sizeof(t->io.at));
	if (op != BLK_WRITE && (op != BLK_READ || (flags & BLK_MAY_LEND) != 0))
		return t;
	t->buffer = arena_alloc_aligned(&fw.arena, bytes, 4096);
	assert_non_null(t->buffer);
	t->iov[0] = (struct iovec){ t->buffer, bytes };
	t->io.iov_count = 1;
	return t;
}

void
io_submit(struct test_io *t)
{
	t->in_submit = true;
	blk_submit(t->chan, &t->io);
	t->in_submit = false;
}

struct test_io *
io_start(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct test_io *t = io_make(chan, op, flags, lba, blocks);

	io_submit(t);
	return t;
}

struct test_io *
write_start(unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, int byte)
{
	struct test_io *t = io_make(chan, BLK_WRITE, flags, lba, blocks);

	memset(t->buffer, byte, t->iov[0].iov_len);
	io_submit(t);
	return t;
}

void
io_end(struct test_io *t)
{
	assert_int_equal(t->done, 1);
	assert_int_equal(t->io.flags & BLK_LENT, 0);
	arena_free(&fw.arena, t->buffer);
	arena_free(&fw.arena, t->kept);
	arena_free(&fw.arena, t);
}

void
io_ended(struct test_io *t, enum nvme_sc sc)
{
	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	assert_int_equal(t->sc, sc);
	io_end(t);
}

void
io_release(struct test_io *t)
{
	assert_int_not_equal(t->io.flags & BLK_LENT, 0);
	t->chan->blk->ops->release(t->chan, &t->io);
}

void
write_now(uint64_t lba, uint32_t blocks, int byte)
{
	io_ended(write_start(0, 0, lba, blocks, byte), NVME_SC_SUCCESS);
}

void
assert_bytes(const uint8_t *bytes, size_t count, int byte)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], byte);
}

void
assert_block(uint64_t lba, int byte)
{
	struct test_io *t = io_start(0, BLK_READ, 0, lba, 1);

	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	assert_bytes(t->buffer, blk->block_size, byte);
	io_ended(t, NVME_SC_SUCCESS);
}

void
blk_open_chans(void)
{
	for (unsigned i = 0; i < CHANS; i++)
		assert_int_equal(blk->ops->open_chan(blk, &fw.reactors[i], &chans[i]), 0);
}

static void
open_or_fail(const char *spec)
{
	char why[256];

	if (blk_open(&fw.reactors[0], spec, BS, &blk, why) != 0)
		fail_msg("%s", why);
	blk_open_chans();
}

void
blk_begin(const char *spec)
{
	fakeworld_init(&fw, CHANS);
	open_or_fail(spec);
	assert_string_equal(blk->spec, spec);
}

void
blk_begin_over(const char *spec, uint64_t bytes)
{
	fakeworld_init(&fw, CHANS);
	fake_file_make(&fw, "/v", bytes);
	open_or_fail(spec);
}

void
blk_begin_file(const char *spec)
{
	blk_begin_over(spec, 4 * IO_MAX);
}

static void
close_all(void)
{
	for (unsigned i = 0; i < CHANS; i++)
		blk->ops->close_chan(chans[i]);
	blk->ops->destroy(blk);
}

void
blk_begin_again(void)
{
	char spec[256];

	snprintf(spec, sizeof(spec), "%s", blk->spec);
	close_all();
	open_or_fail(spec);
}

void
blk_end(void)
{
	close_all();
	fakeworld_fini(&fw);
}

bool
waits(const struct test_io *t)
{
	return t->done == 0 && (t->io.flags & LINE_WAITING) != 0;
}

void
mark(unsigned chan, uint64_t lba, uint32_t blocks)
{
	io_ended(io_start(chan, BLK_MARK_BAD, 0, lba, blocks), NVME_SC_SUCCESS);
}

void
assert_bad(unsigned chan, uint64_t lba, uint32_t blocks, uint64_t first)
{
	struct test_io *t = io_make(chan, BLK_READ, blk->lends ? BLK_MAY_LEND : 0, lba, blocks);

	io_submit(t);
	turns(200);
	assert_int_equal(t->done, 1);
	assert_int_not_equal(t->io.flags & BLK_BAD, 0);
	assert_int_equal(t->io.at, first);
	assert_true(t->io.status.dnr);
	io_ended(t, NVME_SC_READ_ERROR);
}

void
turns(unsigned count)
{
	while (count-- > 0)
		fake_turn(&fw);
}
