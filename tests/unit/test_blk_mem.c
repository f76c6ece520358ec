/*
 * test_blk_mem.c - volumes in RAM, and the one that forgets: who waits for whom, and zeroing in pieces.
 */
#include <string.h>

#include "blk_bench.h"

/* ---- memory ---- */

static void
a_large_volume_takes_ragged_buffers(void **state)
{
	struct test_io *w;
	uint8_t bytes[2 * BS];

	blk_begin("mem:64M"); /* written past the cache */
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	w = io_make(0, BLK_WRITE, 0, 9, 2);
	w->iov[0] = (struct iovec){ bytes, 1237 };
	w->iov[1] = (struct iovec){ bytes + 1237, sizeof(bytes) - 1237 };
	w->io.iov_count = 2;
	io_submit(w);
	io_ended(w, NVME_SC_SUCCESS);
	w = io_start(0, BLK_READ, BLK_MAY_LEND, 9, 2);
	fake_turn(&fw);
	assert_memory_equal(w->iov[0].iov_base, bytes, sizeof(bytes));
	io_release(w);
	io_ended(w, NVME_SC_SUCCESS);
	blk_end();
}

static void
a_waiting_writer_is_not_starved_by_readers(void **state)
{
	struct test_io *r[2], *w;

	blk_begin("mem:16M");
	r[0] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, 0, 8, 1, 'b');
	r[1] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	turns(3);
	assert_true(waits(w));
	assert_true(waits(r[1]));
	io_release(r[0]);
	turns(3);
	assert_int_equal(w->done, 1);
	assert_int_equal(r[1]->done, 1);
	assert_bytes(r[1]->iov[0].iov_base, BS, 'b');
	io_release(r[1]);
	io_ended(r[0], NVME_SC_SUCCESS);
	io_ended(r[1], NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	blk_end();
}

static void
transient_data_is_kept_when_the_range_is_busy(void **state)
{
	struct test_io *r, *w, *free_one;

	blk_begin("mem:16M");
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, BLK_TRANSIENT, 8, 1, 'b');
	assert_non_null(w->kept);
	free_one = write_start(0, BLK_TRANSIENT, 800, 1, 'c');
	assert_null(free_one->kept);
	memset(w->buffer, 'x', BS);
	memset(free_one->buffer, 'x', BS);
	fake_turn(&fw);
	io_release(r);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(free_one, NVME_SC_SUCCESS);
	assert_block(8, 'b');
	assert_block(800, 'c');
	blk_end();
}

static void
a_later_write_does_not_overtake_one_that_waits(void **state)
{
	struct test_io *r, *w[3];

	blk_begin("mem:16M");
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 15, 1);
	w[0] = write_start(0, 0, 15, 2, 'a'); /* waits for the read */
	w[1] = write_start(0, 0, 16, 1, 'b'); /* its own stripe is free */
	w[2] = write_start(0, 0, 17, 1, 'c'); /* touches neither, but a slot that w[0] waits for */
	turns(3);
	assert_true(waits(w[0]));
	assert_true(waits(w[1]));
	io_release(r);
	for (int i = 0; i < 3; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(15, 'a');
	assert_block(16, 'b');
	assert_block(17, 'c');
	blk_end();
}

static void
more_than_the_window_wait_in_their_order(void **state)
{
	enum { N = 3 * LINE_STARTS };
	struct test_io *r, *w[N];

	blk_begin("mem:16M");
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 0, 1);
	for (int i = 0; i < N; i++)
		w[i] = write_start(0, 0, 0, 1, i);
	turns(2);
	io_release(r);
	for (int i = 0; i < N; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(0, N - 1);
	blk_end();
}

static void
zeroes_are_written_in_pieces_and_large_ones_give_memory_back(void **state)
{
	struct test_io *z;

	blk_begin("mem:16M");
	for (uint64_t lba = 0; lba < 4096; lba += 256)
		write_now(lba, 256, 'a');
	z = io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 1, 2000);
	assert_int_equal(z->done, 0);
	io_ended(z, NVME_SC_SUCCESS);
	assert_int_equal(fw.pages_discarded, 2000 * BS);
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 3000, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.pages_discarded, 2000 * BS);
	assert_block(0, 'a');
	assert_block(1, 0);
	assert_block(2000, 0);
	assert_block(2001, 'a');
	assert_block(3000, 0);
	blk_end();
}

static void
a_trim_of_many_ranges_waits_where_it_must(void **state)
{
	const struct blk_range ranges[] = { { 1, 1 }, { 7, 0 }, { 500, 2 }, { 1, 3 }, { 9, 0 } };
	struct test_io *r, *t;

	blk_begin("mem:16M");
	write_now(0, 5, 'a');
	write_now(500, 3, 'b');
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 501, 1);
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 5;
	io_submit(t);
	turns(5);
	assert_int_equal(t->done, 0);
	assert_bytes(r->iov[0].iov_base, BS, 'b');
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(t, NVME_SC_SUCCESS);
	assert_block(0, 'a');
	assert_block(3, 0);
	assert_block(4, 'a');
	assert_block(501, 0);
	assert_block(502, 'b');
	t = io_make(0, BLK_TRIM, 0, 0, 0); /* of nothing */
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	blk_end();
}

static void
a_trim_of_which_a_part_is_done_can_be_ended(void **state)
{
	const struct blk_range ranges[] = { { 1, 1 }, { 500, 2 }, { 3, 1 } };
	struct test_io *r, *t;

	blk_begin("mem:16M");
	write_now(0, 5, 'a');
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 501, 1);
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 3;
	io_submit(t);
	turns(5);
	assert_true(blk->ops->cancel(chans[0], &t->io));
	io_ended(t, NVME_SC_ABORT_REQUESTED);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(1, 0);
	assert_block(3, 'a');
	write_now(501, 1, 'b'); /* nobody waits there any more */
	assert_block(501, 'b');
	blk_end();
}

enum { WHOLE = 4096, TRIMS = 100 };

/* Of the whole volume, again and again: 8 pieces for each time. */
static struct test_io *
trim_whole(uint32_t times)
{
	static const struct blk_range ranges[40] = { [0 ... 39] = { 0, WHOLE } };
	struct test_io *t = io_make(0, BLK_TRIM, 0, 0, 0);

	assert_true(times <= 40);
	t->io.ranges = ranges;
	t->io.range_count = times;
	io_submit(t);
	return t;
}

static void
others_wait_for_one_piece_of_many_trims_and_zeroes(void **state)
{
	struct test_io *t[TRIMS + 2], *r, *w[2];

	blk_begin("mem:16M");
	for (int i = 0; i < TRIMS; i++)
		t[i] = i % 2 != 0 ? trim_whole(40) : io_start(0, BLK_WRITE_ZEROES, 0, 0, WHOLE);
	w[0] = write_start(0, 0, 2, 1, 'a');
	w[1] = write_start(0, 0, WHOLE - 1, 1, 'b');
	r = io_start(0, BLK_READ, 0, 0, 256);
	turns(2);
	io_end(w[0]);
	io_end(w[1]);
	io_end(r);
	/* A short one has its turn after each of these had one; one of them is under way, whoever goes. */
	t[TRIMS] = trim_whole(1);
	turns(9 * TRIMS);
	io_end(t[TRIMS]);
	for (int i = 1; i < TRIMS; i += 2) {
		assert_int_equal(t[i]->done, 0);
		if (i < TRIMS - 1)
			assert_true(blk->ops->cancel(chans[0], &t[i]->io));
	}
	for (int i = 0; i < TRIMS - 1; i++)
		io_ended(t[i], i % 2 != 0 ? NVME_SC_ABORT_REQUESTED : NVME_SC_SUCCESS);
	io_ended(t[TRIMS - 1], NVME_SC_SUCCESS);
	assert_block(2, 0);
	blk_end();
}

static void
nobody_overtakes_the_piece_of_a_trim_that_waits(void **state)
{
	struct test_io *r, *t, *w[2];

	blk_begin("mem:16M");
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 600, 1); /* in the second piece, in a stripe of its own */
	t = trim_whole(1);
	turns(2);
	assert_true(waits(t));
	w[0] = write_start(0, 0, 1000, 1, 'a');
	w[1] = write_start(0, 0, 1024, 1, 'b'); /* in the third */
	turns(2);
	assert_true(waits(w[0]));
	io_end(w[1]);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(w[0], NVME_SC_SUCCESS);
	io_ended(t, NVME_SC_SUCCESS);
	assert_block(1000, 'a');
	assert_block(1024, 0); /* it was written before */
	blk_end();
}

/* ---- null ---- */

static void
null_lends_zeros_and_forgets_writes(void **state)
{
	struct test_io *r;

	blk_begin("null:1T");
	write_now(5, 256, 'a');
	r = io_start(0, BLK_READ, BLK_MAY_LEND, (UINT64_C(1) << 28) - 256, 256);
	fake_turn(&fw);
	assert_int_equal(r->iov[0].iov_len, IO_MAX);
	assert_bytes(r->iov[0].iov_base, IO_MAX, 0);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(5, 0);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_large_volume_takes_ragged_buffers),
		cmocka_unit_test(a_waiting_writer_is_not_starved_by_readers),
		cmocka_unit_test(transient_data_is_kept_when_the_range_is_busy),
		cmocka_unit_test(a_later_write_does_not_overtake_one_that_waits),
		cmocka_unit_test(more_than_the_window_wait_in_their_order),
		cmocka_unit_test(zeroes_are_written_in_pieces_and_large_ones_give_memory_back),
		cmocka_unit_test(a_trim_of_many_ranges_waits_where_it_must),
		cmocka_unit_test(a_trim_of_which_a_part_is_done_can_be_ended),
		cmocka_unit_test(others_wait_for_one_piece_of_many_trims_and_zeroes),
		cmocka_unit_test(nobody_overtakes_the_piece_of_a_trim_that_waits),
		cmocka_unit_test(null_lends_zeros_and_forgets_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
