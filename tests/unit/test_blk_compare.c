/*
 * test_blk_compare.c - compare-and-write: on each kind of volume, and against whoever else is there.
 */
#include <string.h>

#include "blk_bench.h"

static struct iovec expected[2];

/* One that expects blocks of `want` and makes them `byte`; the expected bytes come in two pieces. */
static struct test_io *
swap_start(unsigned chan, uint64_t lba, uint32_t blocks, int want, int byte)
{
	struct test_io *t = io_make(chan, BLK_WRITE, 0, lba, blocks);
	size_t bytes = t->iov[0].iov_len;

	memset(t->buffer, byte, bytes);
	for (size_t i = 0; i < 2; i++) {
		expected[i] = (struct iovec){ arena_alloc(&fw.arena, bytes), i == 0 ? 100 : bytes - 100 };
		memset(expected[i].iov_base, want, bytes);
	}
	t->io.op = BLK_COMPARE_WRITE;
	t->io.expected = expected;
	t->io.expected_count = 2;
	t->io.old = arena_alloc_aligned(&fw.arena, bytes, 4096);
	io_submit(t);
	return t;
}

static void
swap_ended(struct test_io *t, enum nvme_sc sc)
{
	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	arena_free(&fw.arena, t->io.old);
	for (size_t i = 0; i < 2; i++)
		arena_free(&fw.arena, expected[i].iov_base);
	io_ended(t, sc);
}

static void
swap_as_expected(void)
{
	write_now(8, 3, 'a');
	swap_ended(swap_start(0, 9, 1, 'a', 'b'), NVME_SC_SUCCESS);
	assert_block(8, 'a');
	assert_block(9, 'b');
	assert_block(10, 'a');
}

static void
swap_refused(void)
{
	write_now(8, 2, 'a');
	write_now(9, 1, 'x'); /* the second of the two differs */
	swap_ended(swap_start(1, 8, 2, 'a', 'b'), NVME_SC_COMPARE);
	assert_block(8, 'a');
	assert_block(9, 'x');
}

static void
blocks_as_expected_are_written(void **state)
{
	blk_begin("mem:16M");
	swap_as_expected();
	blk_end();
	blk_begin_file("file:/v");
	swap_as_expected();
	blk_end();
}

static void
blocks_that_differ_stay_as_they_are(void **state)
{
	blk_begin("mem:16M");
	swap_refused();
	blk_end();
	blk_begin_file("file:/v");
	swap_refused();
	blk_end();
}

static void
the_last_byte_counts(void **state)
{
	struct test_io *t;

	blk_begin("mem:16M");
	write_now(0, 1, 'a');
	t = io_make(0, BLK_WRITE, 0, 0, 1);
	memset(t->buffer, 'a', BS);
	t->buffer[BS - 1] = 'b';
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	swap_ended(swap_start(0, 0, 1, 'a', 'c'), NVME_SC_COMPARE);
	blk_end();
}

static void
it_waits_for_a_lent_read_of_another_reactor(void **state)
{
	struct test_io *r, *t;

	blk_begin("mem:16M");
	write_now(8, 1, 'a');
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	t = swap_start(0, 8, 1, 'a', 'b');
	turns(10);
	assert_true(waits(t));
	assert_bytes(r->iov[0].iov_base, BS, 'a');
	io_release(r);
	swap_ended(t, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(8, 'b');
	blk_end();
}

/* Of two that expect the same, one comes too late: also where the look and the change take time. */
static void
of_two_only_one_finds_what_it_expects(void **state)
{
	struct test_io *w, *t;

	blk_begin_file("file:/v");
	write_now(8, 1, 'a');
	t = swap_start(0, 8, 1, 'a', 'b');
	w = write_start(1, 0, 8, 1, 'c'); /* comes while the first reads */
	swap_ended(t, NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	assert_block(8, 'c');
	w = write_start(1, 0, 8, 1, 'd');
	swap_ended(swap_start(0, 8, 1, 'c', 'e'), NVME_SC_COMPARE);
	io_ended(w, NVME_SC_SUCCESS);
	assert_block(8, 'd');
	blk_end();
}

static void
a_volume_that_is_not_there_holds_zeros(void **state)
{
	blk_begin("null:16M");
	swap_ended(swap_start(0, 8, 2, 0, 'b'), NVME_SC_SUCCESS);
	swap_ended(swap_start(0, 8, 2, 1, 'b'), NVME_SC_COMPARE);
	blk_end();
}

static void
faults_of_reads_and_writes_strike_it(void **state)
{
	blk_begin("fault:read-error=5,write-error=7@mem:16M");
	swap_ended(swap_start(0, 4, 2, 0, 'b'), NVME_SC_READ_ERROR);
	swap_ended(swap_start(0, 7, 1, 0, 'b'), NVME_SC_WRITE_FAULT);
	swap_ended(swap_start(0, 8, 1, 0, 'b'), NVME_SC_SUCCESS);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_as_expected_are_written),
		cmocka_unit_test(blocks_that_differ_stay_as_they_are),
		cmocka_unit_test(the_last_byte_counts),
		cmocka_unit_test(it_waits_for_a_lent_read_of_another_reactor),
		cmocka_unit_test(of_two_only_one_finds_what_it_expects),
		cmocka_unit_test(a_volume_that_is_not_there_holds_zeros),
		cmocka_unit_test(faults_of_reads_and_writes_strike_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
