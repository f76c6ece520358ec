/*
 * test_blk_file.c - volumes in files: what is durable when, and what the file may say.
 */
#include <errno.h>
#include <string.h>

#include "blk_bench.h"

/* ---- files ---- */

static void
a_file_keeps_what_was_written_and_syncs_when_told(void **state)
{
	blk_begin_file("file:/v");
	assert_true(blk->volatile_cache);
	assert_false(blk->lends);
	write_now(7, 2, 'a');
	assert_int_equal(fw.durable, 0);
	io_ended(write_start(1, BLK_FUA | BLK_TRANSIENT, 8, 1, 'b'), NVME_SC_SUCCESS);
	assert_int_equal(fw.durable, 1);
	assert_block(7, 'a');
	assert_block(8, 'b');
	assert_bytes(fake_file_find(&fw, "/v")->bytes + 7 * BS, BS, 'a');
	assert_int_equal(fw.done[FILE_SYNC], 0);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	blk_end();
}

/* What was written is not on the medium, and no later sync would say so. */
static void
after_a_failed_flush_nothing_is_called_durable_until_the_volume_is_opened_anew(void **state)
{
	blk_begin_file("file:/v");
	write_now(7, 1, 'a');
	fw.fail[FILE_SYNC] = -EIO;
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_SYNC] = 0;
	for (unsigned i = 0; i < CHANS; i++) {
		io_ended(io_start(i, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
		io_ended(write_start(i, BLK_FUA, 8, 1, 'b'), NVME_SC_WRITE_FAULT);
		io_ended(io_start(i, BLK_WRITE_ZEROES, BLK_FUA, 9, 1), NVME_SC_WRITE_FAULT);
		io_ended(write_start(i, 0, 8, 1, 'c'), NVME_SC_SUCCESS);
	}
	assert_block(8, 'c');
	blk_begin_again();
	io_ended(write_start(1, BLK_FUA, 8, 1, 'd'), NVME_SC_SUCCESS);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	blk_end();
}

static void
after_a_failed_durable_write_nothing_is_called_durable(void **state)
{
	blk_begin_file("file:/v");
	fw.fail[FILE_WRITE] = -EIO;
	io_ended(write_start(0, BLK_FUA, 8, 1, 'b'), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	io_ended(write_start(1, BLK_FUA, 8, 1, 'b'), NVME_SC_WRITE_FAULT);
	io_ended(io_start(1, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	blk_end();
}

static void
transient_data_for_a_file_is_always_kept(void **state)
{
	struct test_io *w;

	blk_begin_file("file:/v");
	w = write_start(0, BLK_TRANSIENT, 0, 1, 'a');
	assert_non_null(w->kept);
	io_ended(w, NVME_SC_SUCCESS);
	blk_end();
}

static void
a_read_in_flight_keeps_a_write_of_another_reactor_waiting(void **state)
{
	struct test_io *r, *w;

	blk_begin_file("file:/v");
	fw.hold_files = true;
	r = io_start(1, BLK_READ, 0, 3, 1);
	w = write_start(0, 0, 3, 1, 'a');
	turns(10);
	assert_true(waits(w));
	fake_files_finish(&fw);
	assert_int_equal(r->done, 1);
	fw.hold_files = false;
	turns(60); /* until the writer looks again */
	assert_int_equal(w->done, 1);
	assert_bytes(r->buffer, BS, 0);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	blk_end();
}

/* How often the first reactor is woken by the clock alone, in a second. */
static unsigned
wakes_in_a_second(void)
{
	const uint64_t end = fw.now_ns + 1000 * 1000 * 1000;
	unsigned wakes = 0;

	for (uint64_t next; (next = timers_next(&fw.reactors[0].timers)) < end; wakes++) {
		fw.now_ns = next;
		fake_turn(&fw);
	}
	fw.now_ns = end;
	return wakes;
}

static void
wait_long(const char *spec)
{
	struct test_io *r, *w[4];

	blk_begin_file(spec);
	fw.hold_files = true;
	r = io_start(1, BLK_READ, 0, 3, 1);
	w[0] = write_start(0, BLK_FUA, 3, 1, 'a'); /* another reactor holds its block, */
	w[1] = write_start(0, BLK_FUA, 99, 1, 'a');
	w[2] = write_start(0, BLK_FUA, 99, 1, 'b'); /* and we this one's */
	turns(2);
	assert_true(waits(w[0]) && !waits(w[1]) && waits(w[2]));
	assert_in_range(wakes_in_a_second(), 50, 150);
	turns(1);
	w[3] = write_start(0, BLK_FUA, 3, 1, 'c'); /* who comes may have to wait for less */
	turns(1);
	assert_in_range(timers_next(&fw.reactors[0].timers), fw.now_ns, fw.now_ns + 50 * 1000);
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(r, NVME_SC_SUCCESS);
	for (unsigned i = 0; i < 4; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	blk_end();
}

static void
who_waits_for_a_disk_that_does_not_answer_is_looked_at_rarely(void **state)
{
	wait_long("file:/v");
	wait_long("volatile:@file:/v");
}

static void
no_more_than_256_requests_of_a_channel_are_in_flight(void **state)
{
	enum { N = 700 };
	struct test_io *w[N];

	blk_begin_file("file:/v");
	fw.hold_files = true;
	for (int i = 0; i < N; i++)
		w[i] = i % 16 < 15 ? io_start(0, BLK_READ, 0, (uint64_t)i, 1) : io_start(0, BLK_FLUSH, 0, 0, 0);
	assert_int_equal(fw.in_flight, 256);
	chans[0]->blk->ops->cancel(chans[0], &w[N - 1]->io);
	for (unsigned i = 0; fw.in_flight > 0; i++) {
		fake_files_finish(&fw);
		assert_true(fw.in_flight <= 256);
	}
	io_ended(w[N - 1], NVME_SC_ABORT_REQUESTED);
	for (int i = 0; i < N - 1; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	blk_end();
}

static void
a_trim_punches_each_range_and_zeroes_are_synced_for_fua(void **state)
{
	const struct blk_range ranges[] = { { 1, 1 }, { 4, 0 }, { 6, 2 } };
	struct test_io *t;

	blk_begin_file("file:/v");
	write_now(0, 10, 'a');
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 3;
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 2);
	assert_block(1, 0);
	assert_block(5, 'a');
	assert_block(7, 0);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 0, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_ZERO], 1);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 0, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 3);
	blk_end();
}

enum { LONG = 16 * IO_MAX / BS, PIECE = FILE_ZEROS_MAX / BS };
static const struct blk_range whole = { 0, LONG };

static void
begin_long(void)
{
	blk_begin_over("file:/v", (uint64_t)LONG * BS);
	write_now(LONG - 1, 1, 'a');
}

static struct test_io *
trim_whole(void)
{
	struct test_io *t = io_make(0, BLK_TRIM, 0, 0, 0);

	t->io.ranges = &whole;
	t->io.range_count = 1;
	io_submit(t);
	return t;
}

static void
let_files_go(void)
{
	fw.hold_files = false;
	fake_files_finish(&fw);
}

static void
a_long_range_is_punched_at_a_stroke_and_in_pieces_where_zeros_are_written(void **state)
{
	begin_long();
	io_ended(trim_whole(), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 1);
	assert_block(LONG - 1, 0);
	write_now(LONG - 1, 1, 'b');
	fw.writes_zeros = true;
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 0, LONG), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_ZERO], LONG / PIECE);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	assert_block(LONG - 1, 0);
	blk_end();
}

static void
between_two_pieces_of_zeros_others_come_and_it_is_ended(void **state)
{
	struct test_io *t, *w;

	begin_long();
	fw.writes_zeros = fw.hold_files = true;
	t = trim_whole();
	fake_files_finish(&fw); /* it was too long, and the first small piece is under way */
	w = write_start(1, 0, 1, 1, 'w');
	for (unsigned i = 0; w->done == 0 && i < LONG / PIECE; i++) {
		turns(60);
		fake_files_finish(&fw);
	}
	io_end(w);
	assert_int_equal(t->done, 0);
	turns(60);
	assert_true(blk->ops->cancel(chans[0], &t->io));
	assert_int_equal(t->done, 0);
	let_files_go();
	io_ended(t, NVME_SC_ABORT_REQUESTED);
	assert_block(LONG - 1, 'a');
	assert_block(1, 'w');
	blk_end();
}

static void
what_is_ended_before_it_is_found_to_be_too_long_is_not_begun_again(void **state)
{
	struct test_io *t;

	begin_long();
	fw.writes_zeros = fw.hold_files = true;
	t = trim_whole();
	blk->ops->cancel(chans[0], &t->io);
	let_files_go();
	io_ended(t, NVME_SC_ABORT_REQUESTED);
	assert_int_equal(fw.done[FILE_PUNCH], 0);
	/* The last piece is not ended: there is no other one. */
	fw.hold_files = true;
	t = io_start(0, BLK_WRITE_ZEROES, 0, 0, PIECE);
	assert_false(blk->ops->cancel(chans[0], &t->io));
	let_files_go();
	io_ended(t, NVME_SC_SUCCESS);
	assert_block(LONG - 1, 'a');
	blk_end();
}

enum { TRIMS = 10, AT_ONCE = 4 };

/* Each of its own blocks; no two lie side by side. */
static void
trim_pairs(struct test_io *t[TRIMS])
{
	static struct blk_range ranges[TRIMS][2];

	for (unsigned i = 0; i < TRIMS; i++) {
		ranges[i][0] = (struct blk_range){ 32 * i, 1 };
		ranges[i][1] = (struct blk_range){ 32 * i + 16, 1 };
		t[i] = io_make(0, BLK_TRIM, 0, 0, 0);
		t[i]->io.ranges = ranges[i];
		t[i]->io.range_count = 2;
		io_submit(t[i]);
	}
}

static void
of_trims_of_several_pieces_a_few_are_under_way(void **state)
{
	struct test_io *t[TRIMS], *w;

	begin_long();
	fw.hold_files = true;
	trim_pairs(t);
	assert_int_equal(fw.in_flight, AT_ONCE);
	w = write_start(0, 0, 32 * (TRIMS - 1), 1, 'w');
	assert_int_equal(fw.in_flight, AT_ONCE + 1);
	assert_true(blk->ops->cancel(chans[0], &t[0]->io)); /* under way: its next piece is not begun; */
	assert_true(blk->ops->cancel(chans[0], &t[TRIMS - 1]->io)); /* not begun */
	for (unsigned i = 0; i < 3 * TRIMS; i++) {
		fake_files_finish(&fw);
		turns(60);
		assert_true(fw.in_flight <= AT_ONCE);
	}
	io_ended(w, NVME_SC_SUCCESS);
	for (unsigned i = 0; i < TRIMS; i++)
		io_ended(t[i], i % (TRIMS - 1) == 0 ? NVME_SC_ABORT_REQUESTED : NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 2 * (TRIMS - 2) + 1);
	let_files_go();
	blk_end();
}

static void
where_one_of_them_fails_the_others_go_on(void **state)
{
	struct test_io *t[TRIMS];

	begin_long();
	fw.fail[FILE_PUNCH] = -EIO;
	trim_pairs(t);
	for (unsigned i = 0; i < TRIMS; i++)
		io_ended(t[i], NVME_SC_WRITE_FAULT);
	fw.fail[FILE_PUNCH] = 0;
	fw.writes_zeros = true; /* they have several pieces, as it turns out */
	for (unsigned i = 0; i < TRIMS; i++)
		t[i] = trim_whole();
	turns(1);
	assert_true(fw.in_flight <= AT_ONCE);
	for (unsigned i = 0; i < TRIMS; i++)
		io_ended(t[i], NVME_SC_SUCCESS);
	assert_block(LONG - 1, 0);
	blk_end();
}

static void
a_short_write_goes_on_where_it_stopped(void **state)
{
	struct test_io *w;

	blk_begin_file("file:/v");
	w = io_make(0, BLK_WRITE, 0, 0, 4);
	memset(w->buffer, 'a', 4 * BS);
	w->iov[1] = (struct iovec){ w->buffer + BS, 3 * BS };
	w->iov[0].iov_len = BS;
	w->io.iov_count = 2;
	fw.short_by = BS + 100;
	io_submit(w);
	io_ended(w, NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_WRITE], 2);
	assert_bytes(fake_file_find(&fw, "/v")->bytes, 4 * BS, 'a');
	blk_end();
}

static void
a_full_disk_is_capacity_exceeded(void **state)
{
	blk_begin_file("file:/v");
	fw.disk_bytes = 10 * BS;
	io_ended(write_start(0, 0, 10, 1, 'a'), NVME_SC_CAPACITY);
	io_ended(write_start(0, 0, 8, 4, 'a'), NVME_SC_CAPACITY); /* half of it fits */
	fw.disk_bytes = 0;
	write_now(10, 1, 'b');
	assert_block(10, 'b');
	blk_end();
}

static void
a_file_that_became_shorter_is_a_read_error(void **state)
{
	blk_begin_file("file:/v");
	fake_file_find(&fw, "/v")->size = 2 * IO_MAX + 100;
	io_ended(io_start(0, BLK_READ, 0, 700, 1), NVME_SC_READ_ERROR);
	io_ended(io_start(0, BLK_READ, 0, 510, 4), NVME_SC_READ_ERROR);
	blk_end();
}

static void
an_error_of_the_file_is_the_status_of_that_io_alone(void **state)
{
	blk_begin_file("file:/v");
	fw.fail[FILE_READ] = -EIO;
	fw.fail[FILE_WRITE] = -EIO;
	fw.fail[FILE_SYNC] = -EIO;
	io_ended(io_start(0, BLK_READ, 0, 0, 1), NVME_SC_READ_ERROR);
	io_ended(write_start(0, 0, 0, 1, 'a'), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 0, 1), NVME_SC_WRITE_FAULT);
	memset(fw.fail, 0, sizeof(fw.fail));
	write_now(0, 1, 'b');
	assert_block(0, 'b');
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_keeps_what_was_written_and_syncs_when_told),
		cmocka_unit_test(after_a_failed_flush_nothing_is_called_durable_until_the_volume_is_opened_anew),
		cmocka_unit_test(after_a_failed_durable_write_nothing_is_called_durable),
		cmocka_unit_test(transient_data_for_a_file_is_always_kept),
		cmocka_unit_test(a_read_in_flight_keeps_a_write_of_another_reactor_waiting),
		cmocka_unit_test(who_waits_for_a_disk_that_does_not_answer_is_looked_at_rarely),
		cmocka_unit_test(no_more_than_256_requests_of_a_channel_are_in_flight),
		cmocka_unit_test(a_trim_punches_each_range_and_zeroes_are_synced_for_fua),
		cmocka_unit_test(a_long_range_is_punched_at_a_stroke_and_in_pieces_where_zeros_are_written),
		cmocka_unit_test(between_two_pieces_of_zeros_others_come_and_it_is_ended),
		cmocka_unit_test(what_is_ended_before_it_is_found_to_be_too_long_is_not_begun_again),
		cmocka_unit_test(of_trims_of_several_pieces_a_few_are_under_way),
		cmocka_unit_test(where_one_of_them_fails_the_others_go_on),
		cmocka_unit_test(a_short_write_goes_on_where_it_stopped),
		cmocka_unit_test(a_full_disk_is_capacity_exceeded),
		cmocka_unit_test(a_file_that_became_shorter_is_a_read_error),
		cmocka_unit_test(an_error_of_the_file_is_the_status_of_that_io_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
