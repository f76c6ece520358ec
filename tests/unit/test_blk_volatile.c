/*
 * test_blk_volatile.c - what a volatile cache keeps, what it gives to the device below, and when.
 */
#include <errno.h>
#include <string.h>

#include "blk_bench.h"

enum { BLOCKS = 4 * IO_MAX / BS };

/* What the device below has. */
static const uint8_t *
below(uint64_t lba)
{
	return fake_file_find(&fw, "/v")->bytes + lba * BS;
}

static unsigned
below_count(int byte)
{
	unsigned count = 0;

	for (uint64_t lba = 0; lba < BLOCKS; lba++)
		count += below(lba)[0] == byte;
	return count;
}

static void
flush(unsigned chan)
{
	io_ended(io_start(chan, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
}

static void
write_by(unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, int byte)
{
	io_ended(write_start(chan, flags, lba, blocks, byte), NVME_SC_SUCCESS);
}

static void
what_is_written_goes_below_at_a_flush(void **state)
{
	blk_begin_file("volatile:@file:/v");
	assert_true(blk->volatile_cache);
	assert_false(blk->lends);
	write_by(0, BLK_TRANSIENT, 7, 2, 'a');
	assert_bytes(below(7), 2 * BS, 0);
	assert_block(7, 'a');
	assert_block(9, 0);
	write_by(0, 0, 8, 1, 'b'); /* over one that is kept */
	assert_block(8, 'b');
	assert_int_equal(fw.done[FILE_WRITE], 0);
	flush(0);
	assert_bytes(below(7), BS, 'a');
	assert_bytes(below(8), BS, 'b');
	assert_int_equal(fw.done[FILE_WRITE], 1); /* together: they follow each other */
	assert_int_equal(fw.done[FILE_SYNC], 1);
	flush(0);
	assert_int_equal(fw.done[FILE_WRITE], 1);
	assert_int_equal(fw.done[FILE_SYNC], 2);
	assert_block(8, 'b');
	blk_end();
}

static void
what_was_not_flushed_is_lost_with_the_device(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 7, 1, 'a');
	blk->ops->close_chan(chans[0]);
	assert_int_equal(blk->ops->open_chan(blk, &fw.reactors[0], &chans[0]), 0);
	assert_block(7, 'a'); /* the channel's end is not the device's */
	blk_begin_again();
	assert_block(7, 0);
	blk_end();
}

static void
fua_goes_below_at_once_and_nothing_older_follows(void **state)
{
	struct test_io *w;

	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 6, 3, 'a');
	w = write_start(0, BLK_FUA | BLK_TRANSIENT, 7, 1, 'b');
	assert_non_null(w->kept);
	io_ended(w, NVME_SC_SUCCESS);
	assert_int_equal(fw.durable, 1);
	assert_bytes(below(6), BS, 0);
	assert_bytes(below(7), BS, 'b');
	assert_block(7, 'b');
	flush(0);
	assert_bytes(below(6), BS, 'a');
	assert_bytes(below(7), BS, 'b');
	assert_bytes(below(8), BS, 'a');
	blk_end();
}

static void
zeroes_and_trims_lie_over_what_is_kept(void **state)
{
	const struct blk_range ranges[] = { { 20, 1 }, { 22, 1 } };
	struct test_io *t;

	blk_begin_file("volatile:@file:/v");
	write_by(0, BLK_FUA, 0, 64, 'a');
	write_by(0, 0, 0, 64, 'b');
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 10, 2), NVME_SC_SUCCESS);
	assert_block(10, 0);
	assert_bytes(below(10), BS, 'a'); /* kept, as a write is */
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 11, 2), NVME_SC_SUCCESS);
	assert_bytes(below(11), 2 * BS, 0);
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 2;
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	assert_block(20, 0);
	assert_block(21, 'b');
	assert_block(22, 0);
	flush(1);
	for (uint64_t lba = 9; lba < 24; lba++)
		assert_bytes(below(lba), BS, lba >= 10 && lba <= 12 ? 0 : lba == 20 || lba == 22 ? 0 : 'b');
	blk_end();
}

static void
long_zeroes_pass_through(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(0, BLK_FUA, 0, 256, 'a');
	write_by(0, 0, 100, 1, 'b');
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 0, 257), NVME_SC_SUCCESS);
	assert_bytes(below(0), (size_t)256 * BS, 0);
	assert_block(100, 0);
	flush(0);
	assert_bytes(below(100), BS, 0);
	blk_end();
}

static void
compare_and_write_sees_what_is_kept(void **state)
{
	static const struct { uint32_t flags; int want; enum nvme_sc sc; int after, below; } cases[] = {
		{ 0, 'a', NVME_SC_SUCCESS, 'z', 'o' },
		{ 0, 'o', NVME_SC_COMPARE, 'a', 'o' },
		{ BLK_FUA, 'a', NVME_SC_SUCCESS, 'z', 'z' },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct iovec expected;
		struct test_io *t;

		blk_begin_file("volatile:@file:/v");
		write_by(0, BLK_FUA, 4, 2, 'o');
		write_by(1, 0, 4, 1, 'a');
		t = io_make(0, BLK_WRITE, cases[i].flags, 4, 2);
		memset(t->buffer, 'z', (size_t)2 * BS);
		expected = (struct iovec){ arena_alloc(&fw.arena, (size_t)2 * BS), (size_t)2 * BS };
		memset(expected.iov_base, cases[i].want, BS);
		memset((uint8_t *)expected.iov_base + BS, 'o', BS);
		t->io.op = BLK_COMPARE_WRITE;
		t->io.expected = &expected;
		t->io.expected_count = 1;
		t->io.old = arena_alloc_aligned(&fw.arena, (size_t)2 * BS, 4096);
		io_submit(t);
		turns(100);
		arena_free(&fw.arena, t->io.old);
		arena_free(&fw.arena, expected.iov_base);
		io_ended(t, cases[i].sc);
		assert_block(4, cases[i].after);
		assert_block(5, cases[i].sc == NVME_SC_SUCCESS ? 'z' : 'o');
		assert_bytes(below(4), BS, cases[i].below);
		blk_end();
	}
}

static void
reactors_see_and_flush_what_the_others_wrote(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(1, 0, 3, 2, 'a');
	assert_block(3, 'a');
	write_by(0, 0, 4, 1, 'b');
	flush(0);
	assert_bytes(below(3), BS, 'a');
	assert_bytes(below(4), BS, 'b');
	write_by(0, 0, 3, 1, 'c');
	write_by(1, BLK_FUA, 3, 1, 'd');
	flush(0);
	assert_bytes(below(3), BS, 'd');
	blk_end();
}

static void
a_flush_waits_for_what_is_under_way(void **state)
{
	struct test_io *w, *f;

	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 100, 1, 'a');
	fw.hold_files = true;
	w = write_start(1, BLK_FUA, 3, 1, 'b');
	f = io_start(0, BLK_FLUSH, 0, 0, 0);
	turns(100);
	assert_int_equal(f->done, 0);
	assert_bytes(below(100), BS, 0);
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(f, NVME_SC_SUCCESS);
	assert_bytes(below(100), BS, 'a');
	blk_end();
}

static void
no_more_is_kept_than_was_said_and_the_oldest_goes_first(void **state)
{
	enum { KEPT = 64 * 1024 / BS };

	blk_begin_file("volatile:keep=64K@file:/v");
	for (unsigned i = 0; i < 3 * KEPT; i++) {
		write_by(0, 0, 2 * i, 1, 'a');
		assert_true(i + 1 - below_count('a') <= KEPT);
	}
	assert_in_range(below_count('a'), 2 * KEPT, 3 * KEPT - KEPT / 2);
	for (unsigned i = 0; i < 2 * KEPT; i++)
		assert_bytes(below(2 * i), 1, 'a');
	for (unsigned i = 0; i < 3 * KEPT; i++)
		assert_block(2 * i, 'a');
	write_by(1, 0, 500, KEPT + 1, 'b'); /* more than there is room for: straight through */
	assert_int_equal(below_count('b'), KEPT + 1);
	flush(1);
	assert_int_equal(below_count('a'), 3 * KEPT);
	write_by(0, 0, 0, KEPT * 3 / 4, 'c'); /* and there is room again */
	assert_int_equal(below_count('c'), 0);
	blk_end();
}

static void
with_a_seed_some_is_written_early(void **state)
{
	blk_begin_file("volatile:seed=5@file:/v");
	for (unsigned i = 0; i < 200; i++)
		write_by(i % CHANS, 0, i, 1, 'a');
	assert_in_range(below_count('a'), 10, 100);
	assert_int_equal(fw.done[FILE_SYNC], 0);
	for (unsigned i = 0; i < 200; i++)
		assert_block(i, 'a');
	flush(0);
	assert_int_equal(below_count('a'), 200);
	blk_end();
}

static void
a_flush_that_cannot_write_says_so_and_the_next_one_does_it(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 3, 1, 'a');
	fw.fail[FILE_WRITE] = -ENOSPC;
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_CAPACITY);
	io_ended(write_start(0, BLK_FUA, 3, 1, 'b'), NVME_SC_CAPACITY);
	assert_block(3, 'a');
	fw.fail[FILE_WRITE] = 0;
	flush(0);
	assert_bytes(below(3), BS, 'a');
	blk_end();
}

static void
a_flush_that_fails_below_says_so_and_so_do_all_after_it(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 3, 1, 'a');
	fw.fail[FILE_SYNC] = -EIO;
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_SYNC] = 0;
	io_ended(io_start(1, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	assert_bytes(below(3), BS, 'a');
	blk_end();
}

static void
a_write_that_is_kept_has_not_failed(void **state)
{
	enum { KEPT = 64 * 1024 / BS };

	blk_begin_file("volatile:keep=64K@file:/v");
	fw.fail[FILE_WRITE] = -EIO;
	for (unsigned i = 0; i < KEPT; i++)
		write_by(0, 0, 2 * i, 1, 'a');
	io_ended(write_start(0, 0, 2 * KEPT, 1, 'a'), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	for (unsigned i = 0; i < KEPT; i++)
		assert_block(2 * i, 'a');
	flush(1);
	assert_int_equal(below_count('a'), KEPT);
	blk_end();
}

static void
a_read_that_fails_below_fails_where_it_is_needed(void **state)
{
	blk_begin_file("volatile:@file:/v");
	write_by(0, 0, 3, 1, 'a');
	fw.fail[FILE_READ] = -EIO;
	assert_block(3, 'a');
	io_ended(io_start(0, BLK_READ, 0, 3, 2), NVME_SC_READ_ERROR);
	fw.fail[FILE_READ] = 0;
	io_ended(io_start(0, BLK_READ, 0, 3, 2), NVME_SC_SUCCESS);
	blk_end();
}

static void
an_io_in_line_can_be_cancelled_and_is_started_when_it_may(void **state)
{
	struct test_io *first, *second, *third;

	blk_begin_file("volatile:@file:/v");
	fw.hold_files = true;
	first = write_start(0, BLK_FUA, 3, 1, 'a');
	second = write_start(0, BLK_TRANSIENT, 3, 1, 'b');
	third = write_start(1, 0, 3, 1, 'c');
	assert_non_null(second->kept);
	blk->ops->cancel(chans[0], &second->io);
	blk->ops->cancel(chans[0], &first->io); /* too late */
	io_ended(second, NVME_SC_ABORT_REQUESTED);
	assert_int_equal(third->done, 0);
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(first, NVME_SC_SUCCESS);
	io_ended(third, NVME_SC_SUCCESS);
	assert_block(3, 'c');
	blk_end();
}

/* ---- at random ---- */

enum { AREA = 48, WAYS = 8 };

/* Of each block: what a read must find; and whether FUA or a flush put it below, so that it must be there. */
struct model {
	uint8_t latest[AREA];
	bool durable[AREA];
};

static struct test_io *
random_start(struct rng *rng, struct model *model, uint64_t lba, uint32_t blocks, struct blk_range *range)
{
	unsigned chan = (unsigned)rng_below(rng, CHANS);
	uint32_t fua = rng_below(rng, 4) == 0 ? BLK_FUA : 0;
	bool zeroes = rng_below(rng, 4) == 0, trims = !zeroes && rng_below(rng, 6) == 0;
	uint8_t next = zeroes || trims ? 0 : (uint8_t)(1 + rng_below(rng, 255));
	struct test_io *t;

	for (uint32_t i = 0; i < blocks; i++) {
		model->latest[lba + i] = next;
		model->durable[lba + i] = fua != 0 && !trims;
	}
	if (!zeroes && !trims)
		return write_start(chan, fua | BLK_TRANSIENT, lba, blocks, next);
	t = io_make(chan, zeroes ? BLK_WRITE_ZEROES : BLK_TRIM, zeroes ? fua : 0, lba, zeroes ? blocks : 0);
	*range = (struct blk_range){ lba, blocks };
	if (trims) {
		t->io.ranges = range;
		t->io.range_count = 1;
	}
	io_submit(t);
	return t;
}

/* Each of several channels' I/Os in a part of its own, all at once. */
static void
random_round(struct rng *rng, struct model *model)
{
	struct blk_range ranges[WAYS];
	struct test_io *t[WAYS];

	for (uint32_t way = 0; way < WAYS; way++) {
		uint32_t first = (uint32_t)rng_below(rng, AREA / WAYS);
		uint32_t blocks = 1 + (uint32_t)rng_below(rng, AREA / WAYS - first);

		t[way] = random_start(rng, model, way * (AREA / WAYS) + first, blocks, &ranges[way]);
	}
	for (uint32_t way = 0; way < WAYS; way++)
		io_ended(t[way], NVME_SC_SUCCESS);
}

static void
at_random_reads_find_the_latest_and_flushes_bring_it_below(void **state)
{
	static const char *const specs[] = {
		"volatile:@file:/v", "volatile:keep=64K@file:/v", "volatile:keep=64K,seed=3@file:/v",
	};
	unsigned behind = 0;

	for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
		struct model model = { { 0 }, { 0 } };
		struct rng rng;

		blk_begin_file(specs[s]);
		rng_seed(&rng, s);
		for (unsigned round = 0; round < 300; round++) {
			random_round(&rng, &model);
			for (uint64_t lba = 0; lba < AREA; lba++) {
				assert_block(lba, model.latest[lba]);
				behind += below(lba)[0] != model.latest[lba];
				if (model.durable[lba])
					assert_bytes(below(lba), BS, model.latest[lba]);
			}
			if (rng_below(&rng, 3) != 0)
				continue;
			flush((unsigned)rng_below(&rng, CHANS));
			memset(model.durable, true, sizeof(model.durable));
			for (uint64_t lba = 0; lba < AREA; lba++)
				assert_bytes(below(lba), BS, model.latest[lba]);
		}
		blk_end();
	}
	assert_true(behind > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_goes_below_at_a_flush),
		cmocka_unit_test(what_was_not_flushed_is_lost_with_the_device),
		cmocka_unit_test(fua_goes_below_at_once_and_nothing_older_follows),
		cmocka_unit_test(zeroes_and_trims_lie_over_what_is_kept),
		cmocka_unit_test(long_zeroes_pass_through),
		cmocka_unit_test(compare_and_write_sees_what_is_kept),
		cmocka_unit_test(reactors_see_and_flush_what_the_others_wrote),
		cmocka_unit_test(a_flush_waits_for_what_is_under_way),
		cmocka_unit_test(no_more_is_kept_than_was_said_and_the_oldest_goes_first),
		cmocka_unit_test(with_a_seed_some_is_written_early),
		cmocka_unit_test(a_flush_that_cannot_write_says_so_and_the_next_one_does_it),
		cmocka_unit_test(a_flush_that_fails_below_says_so_and_so_do_all_after_it),
		cmocka_unit_test(a_write_that_is_kept_has_not_failed),
		cmocka_unit_test(a_read_that_fails_below_fails_where_it_is_needed),
		cmocka_unit_test(an_io_in_line_can_be_cancelled_and_is_started_when_it_may),
		cmocka_unit_test(at_random_reads_find_the_latest_and_flushes_bring_it_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
