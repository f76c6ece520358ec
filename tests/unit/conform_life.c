/*
 * conform_life.c - of conform.h: opening, closing, growing, another life, and where there is no memory.
 */
#include <errno.h>

#include "conform.h"

enum { AREA = 96 };

static const char *
does_not_last(const struct conform *c)
{
	return c->device->forgets != NULL ? c->device->forgets :
	    !c->device->lasts ? "it is lost with the process" : NULL;
}

static const char *
cannot_grow(const struct conform *c)
{
	return c->blk->ops->grow == NULL ? "it stays as it is" : conform_forgets(c);
}

static void
what_all_channels_wrote_is_there_after_a_flush_by_one(struct conform *c)
{
	const struct blk_range range = { 40, 20 };
	struct cio *t;

	for (unsigned flusher = 0; flusher < c->reactors; flusher++) {
		uint64_t stamp = 10 * (flusher + 1);

		for (unsigned chan = 0; chan < c->reactors; chan++)
			write_blocks(c, chan, chan % 2 == 0 ? 0 : BLK_TRANSIENT, AREA * chan, AREA, stamp + chan);
		zero_blocks(c, c->reactors - 1, 0, 8, 8);
		t = cio_trim(c, 0, &range, 1);
		cio_start(t);
		cio_ended(t, NVME_SC_SUCCESS);
		assert_int_equal(compare_write(c, 0, 90, 1, stamp, stamp + 9), NVME_SC_SUCCESS);
		flush(c, flusher);
		conform_again(c);
		for (unsigned chan = 1; chan < c->reactors; chan++)
			assert_blocks(c, chan, AREA * chan, AREA, stamp + chan);
		assert_blocks(c, 0, 0, 8, stamp);
		assert_blocks(c, 0, 8, 8, 0);
		assert_blocks(c, 0, 16, 24, stamp);
		if (c->blk->trim_zeroes)
			assert_blocks(c, 0, 40, 20, 0);
		assert_blocks(c, 0, 90, 1, stamp + 9);
	}
}

static void
what_was_written_with_fua_is_there(struct conform *c)
{
	for (unsigned chan = 0; chan < c->reactors; chan++) {
		write_blocks(c, 0, BLK_FUA, 0, AREA, 1);
		write_blocks(c, chan, 0, 8, 30, 2); /* which is older than what follows, and may not come after it */
		write_blocks(c, c->reactors - 1 - chan, BLK_FUA, 10, 20, 3);
		zero_blocks(c, chan, BLK_FUA, 12, 2);
		conform_again(c);
		assert_blocks(c, 0, 0, 8, 1);
		assert_blocks(c, 0, 10, 2, 3);
		assert_blocks(c, 0, 12, 2, 0);
		assert_blocks(c, 0, 14, 16, 3);
		assert_blocks(c, 0, 38, AREA - 38, 1);
	}
}

/* As long as nothing is flushed each block is as it was or as it became. */
static void
what_was_not_flushed_is_old_or_new_block_by_block(struct conform *c)
{
	struct cio *r;

	write_blocks(c, 0, BLK_FUA, 0, AREA, 1);
	write_blocks(c, c->reactors - 1, 0, 10, 60, 2);
	conform_again(c);
	r = cio_make(c, 0, BLK_READ, 0, 0, AREA);
	cio_start(r);
	cio_wait(r);
	for (uint32_t i = 0; i < AREA; i++)
		assert_in_range(block_stamp(c, cio_block(r, i), i), 1, i >= 10 && i < 70 ? 2 : 1);
	cio_ended(r, NVME_SC_SUCCESS);
}

static void
channels_come_and_go(struct conform *c)
{
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned chan = 0; chan < c->reactors; chan++) {
			unsigned other = (chan + 1) % c->reactors;

			write_blocks(c, chan, 0, AREA * chan, AREA, 1 + round);
			conform_close_chan(c, chan);
			if (other != chan)
				assert_blocks(c, other, AREA * chan, AREA, 1 + round);
			conform_open_chan(c, chan);
			assert_blocks(c, chan, AREA * chan, AREA, 1 + round);
		}
	}
}

static void
it_grows_while_it_is_used(struct conform *c)
{
	uint64_t before = c->blk->blocks, after = 3 * before / 2;
	struct cio *w[16], *r[16];
	int rc;

	write_blocks(c, 0, 0, before - AREA, AREA, 1);
	for (unsigned i = 0; i < 16; i++) {
		w[i] = cio_make(c, i % c->reactors, BLK_WRITE, BLK_TRANSIENT, before - AREA, AREA / 2);
		r[i] = cio_make(c, i % c->reactors, BLK_READ, 0, before - AREA, AREA);
		cio_fill(w[i], 2);
		cio_start(w[i]);
		cio_start(r[i]);
	}
	rc = conform_grow(c, after);
	for (unsigned i = 0; i < 16; i++) {
		cio_ended(w[i], NVME_SC_SUCCESS);
		cio_wait(r[i]);
		for (uint32_t b = 0; b < AREA; b++)
			assert_in_range(block_stamp(c, cio_block(r[i], b), before - AREA + b), 1, 2);
		cio_ended(r[i], NVME_SC_SUCCESS);
	}
	if (rc == -EOPNOTSUPP) {
		assert_int_equal(c->blk->blocks, before);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(c->blk->blocks, after);
	for (unsigned chan = 0; chan < c->reactors; chan++) {
		assert_blocks(c, chan, before, AREA, chan == 0 ? 0 : 4);
		write_blocks(c, chan, 0, before - AREA / 2, AREA, 3);
		write_blocks(c, chan, BLK_FUA, before + 10, AREA, 4);
		write_blocks(c, chan, 0, before, AREA, 4);
		write_blocks(c, chan, 0, after - 5, 5, 5);
		assert_blocks(c, c->reactors - 1, before - AREA / 2, AREA / 2, 3);
		assert_blocks(c, c->reactors - 1, after - 5, 5, 5);
	}
	flush(c, 0);
}

/* ---- no memory ---- */

static void
fail_at(struct conform *c, uint64_t nth)
{
	for (unsigned i = 0; i < c->reactors; i++)
		c->world->reactor(i)->arena->fail_at = nth;
}

static bool
has_failed(const struct conform *c, uint64_t nth)
{
	bool failed = false;

	for (unsigned i = 0; i < c->reactors; i++)
		failed = failed || (nth > 0 && c->world->reactor(i)->arena->fail_at == 0);
	return failed;
}

/* What is left is found when the world ends. */
static void
without_memory_it_is_not_opened(struct conform *c)
{
	int rc = -ENOMEM;
	uint64_t nth;

	conform_close(c);
	for (nth = 1; rc != 0; nth++) {
		fail_at(c, nth);
		rc = conform_try_open(c);
		fail_at(c, 0);
		assert_true(rc == 0 || rc == -ENOMEM);
		assert_true(nth < 200);
	}
	assert_true(nth > 2);
	write_blocks(c, c->reactors - 1, 0, 0, AREA, 1);
}

static struct cio *
any(struct conform *c, enum blk_op op)
{
	static const struct blk_range range = { 3, 2 * AREA };
	struct cio *t = op == BLK_TRIM ? cio_trim(c, c->reactors - 1, &range, 1) :
	    op == BLK_FLUSH ? cio_make(c, c->reactors - 1, op, 0, 0, 0) :
	    cio_make(c, c->reactors - 1, op, op == BLK_WRITE ? BLK_FUA | BLK_TRANSIENT : 0, 5, AREA);

	if (op == BLK_WRITE || op == BLK_COMPARE_WRITE)
		cio_fill(t, 2);
	if (op == BLK_COMPARE_WRITE)
		cio_expect(t, 1);
	return t;
}

/* Each operation ends, with an error or well; then there is memory, and it is done. */
static void
without_memory_an_operation_fails_and_nothing_else(struct conform *c)
{
	for (enum blk_op op = BLK_READ; op <= (c->blk->bad != NULL ? BLK_MARK_BAD : BLK_COMPARE_WRITE); op++) {
		bool failed = true;

		for (uint64_t nth = 1; failed; nth++) {
			struct cio *t;

			assert_true(nth < 50);
			write_blocks(c, 0, 0, 0, 2 * AREA, 1);
			t = any(c, op);
			fail_at(c, nth);
			cio_start(t);
			cio_wait(t);
			failed = has_failed(c, nth);
			fail_at(c, 0);
			assert_true(failed || t->sc == NVME_SC_SUCCESS || c->device->forgets != NULL);
			cio_end(t);
		}
		write_blocks(c, 0, 0, 0, 2 * AREA, 1);
		assert_blocks(c, 0, 0, 2 * AREA, c->device->forgets != NULL ? 0 : 1);
	}
}

struct examined {
	struct blk_chan *chan;
	struct blk_health health;
	bool knows;
};

static void
examine(void *arg)
{
	struct examined *e = arg;

	e->knows = blk_health(e->chan, &e->health);
}

/* Of what wears one channel knows, whichever it is; of anything else none. */
static bool
health_of(struct conform *c, struct blk_health *health)
{
	unsigned knowing = 0;

	for (unsigned chan = 0; chan < c->reactors; chan++) {
		struct examined e = { .chan = c->chans[chan] };

		conform_do(c, chan, examine, &e);
		knowing += e.knows;
		if (e.knows)
			*health = e.health;
	}
	assert_in_range(knowing, 0, 1);
	return knowing == 1;
}

static void
health_is_sane(const struct blk_health *h)
{
	assert_true(h->erases_least * UINT64_C(1000) <= h->erases_mean_permille);
	assert_true(h->erases_most * UINT64_C(1000) >= h->erases_mean_permille);
	assert_in_range(h->spare_percent, h->spare_threshold_percent, 100);
	assert_in_range(h->spare_threshold_percent, 1, 100);
}

static void
what_wears_counts_what_is_done_to_it(struct conform *c)
{
	uint64_t bytes = (uint64_t)AREA * c->block_size;
	struct blk_health before, written, read;

	if (!health_of(c, &before))
		return;
	for (unsigned chan = 0; chan < c->reactors; chan++)
		write_blocks(c, chan, 0, AREA * chan, AREA, 1);
	flush(c, 0);
	assert_true(health_of(c, &written));
	assert_int_equal(written.written_bytes - before.written_bytes, c->reactors * bytes);
	assert_true(written.writes > before.writes && written.media_bytes >= before.media_bytes);
	assert_int_equal(written.read_bytes, before.read_bytes);
	for (unsigned chan = 0; chan < c->reactors; chan++)
		assert_blocks(c, chan, AREA * chan, AREA, c->device->forgets == NULL ? 1 : 0);
	assert_true(health_of(c, &read));
	assert_int_equal(read.read_bytes - written.read_bytes, c->reactors * bytes);
	assert_true(read.reads > written.reads);
	assert_int_equal(read.written_bytes, written.written_bytes);
	assert_true(read.used_percent >= before.used_percent && read.erases_most >= before.erases_most);
	health_is_sane(&before);
	health_is_sane(&read);
}

const struct conform_property conform_life[] = {
	{ "what all channels wrote is there after a flush by one", does_not_last,
	  what_all_channels_wrote_is_there_after_a_flush_by_one },
	{ "what was written with FUA is there", does_not_last, what_was_written_with_fua_is_there },
	{ "what was not flushed is old or new block by block", does_not_last,
	  what_was_not_flushed_is_old_or_new_block_by_block },
	{ "channels come and go", conform_forgets, channels_come_and_go },
	{ "it grows while it is used", cannot_grow, it_grows_while_it_is_used },
	{ "without memory it is not opened", NULL, without_memory_it_is_not_opened },
	{ "without memory an operation fails and nothing else", NULL,
	  without_memory_an_operation_fails_and_nothing_else },
	{ "what wears counts what is done to it", NULL, what_wears_counts_what_is_done_to_it },
	{ .name = NULL },
};
