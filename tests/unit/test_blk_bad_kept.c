/*
 * test_blk_bad_kept.c - what is kept of blocks that were marked as bad: a list beside the volume's file, what of it is
 * durable when, and what a list that fails, or is another's, costs.
 */
#include <errno.h>
#include <string.h>

#include "blk/file.h"
#include "blk_bench.h"

enum { FIRST = 40, END = 44 }; /* the blocks that tests mark */

static void
marks_are_there_when_the_volume_is_opened_again(void **state)
{
	blk_begin_file("file:/v");
	assert_null(fake_file_find(&fw, "/v.bad"));
	write_now(0, 256, 'a');
	mark(0, FIRST, END - FIRST);
	mark(1, 200, 1);
	io_ended(write_start(0, 0, FIRST + 1, 1, 'b'), NVME_SC_SUCCESS);
	blk_begin_again();
	assert_bad(0, FIRST, 1, FIRST);
	assert_bad(0, FIRST + 1, 3, FIRST + 2);
	assert_bad(1, 200, 1, 200);
	assert_block(FIRST + 1, 'b');
	assert_block(201, 'a');
	write_now(FIRST, END - FIRST, 'c');
	write_now(200, 1, 'c');
	blk_begin_again();
	io_ended(io_start(0, BLK_READ, 0, 0, 256), NVME_SC_SUCCESS);
	blk_end();
}

static void
a_mark_is_durable_before_it_is_answered(void **state)
{
	struct test_io *m;

	blk_begin_file("file:/v");
	fw.hold_files = true;
	m = io_start(0, BLK_MARK_BAD, 0, FIRST, 1);
	turns(2);
	assert_int_equal(fw.durable, 1); /* the header */
	fake_files_finish(&fw);
	assert_int_equal(m->done, 0);
	assert_int_equal(fw.durable, 2); /* the mark */
	fake_files_finish(&fw);
	io_end(m);
	fw.hold_files = false;
	blk_end();
}

/* Data that could be lost under a mark that is taken away would show what was there before the mark. */
static void
what_is_written_over_a_mark_is_durable_before_the_mark_goes(void **state)
{
	struct test_io *w;

	blk_begin_file("file:/v");
	mark(0, FIRST, 2);
	fw.durable = 0;
	fw.hold_files = true;
	w = write_start(0, 0, FIRST, 1, 'a');
	turns(2);
	assert_int_equal(fw.durable, 1);
	assert_bytes(fake_file_find(&fw, "/v")->bytes + FIRST * BS, BS, 'a');
	assert_int_not_equal(fake_file_find(&fw, "/v.bad")->bytes[BS + FIRST / 8] & 1, 0);
	fake_files_finish(&fw);
	turns(2);
	assert_int_equal(w->done, 0);
	assert_int_equal(fw.durable, 2);
	assert_int_equal(fake_file_find(&fw, "/v.bad")->bytes[BS + FIRST / 8], 2);
	fake_files_finish(&fw);
	io_end(w);
	fw.done[FILE_SYNC] = 0;
	w = io_start(0, BLK_WRITE_ZEROES, 0, FIRST + 1, 1);
	fake_files_finish(&fw);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	assert_int_equal(fake_file_find(&fw, "/v.bad")->bytes[BS + FIRST / 8], 2);
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(w, NVME_SC_SUCCESS);
	blk_end();
}

static void
while_the_list_is_made_only_those_that_need_it_wait(void **state)
{
	struct test_io *a, *b;

	blk_begin_file("file:/v");
	fw.hold_errands = true;
	a = io_start(0, BLK_MARK_BAD, 0, FIRST, 1);
	b = io_start(1, BLK_MARK_BAD, 0, FIRST + 1, 1);
	turns(200);
	assert_null(fake_file_find(&fw, "/v.bad"));
	assert_int_equal(a->done + b->done, 0);
	write_now(0, 1, 'a');
	assert_block(0, 'a');
	fw.hold_errands = false;
	io_ended(a, NVME_SC_SUCCESS);
	io_ended(b, NVME_SC_SUCCESS);
	assert_bad(0, 0, 256, FIRST);
	assert_bad(1, FIRST + 1, 1, FIRST + 1);
	blk_end();
}

/* It looks twice as late each time, ten milliseconds at most. */
static void
who_waits_for_a_list_that_is_not_made_looks_seldom(void **state)
{
	uint64_t end, next;
	unsigned wakes = 0;
	struct test_io *a, *b;

	blk_begin_file("file:/v");
	fw.hold_errands = true;
	a = io_start(0, BLK_MARK_BAD, 0, FIRST, 1);
	turns(5);
	b = io_start(1, BLK_MARK_BAD, 0, FIRST + 1, 1);
	turns(5);
	assert_in_range(timers_next(&fw.reactors[1].timers), fw.now_ns, fw.now_ns + 50 * 1000);
	end = fw.now_ns + UINT64_C(1000000000);
	for (; (next = timers_next(&fw.reactors[1].timers)) < end; wakes++) {
		fw.now_ns = next > fw.now_ns ? next : fw.now_ns;
		fake_turn(&fw);
	}
	assert_in_range(wakes, 100, 115);
	fw.hold_errands = false;
	io_ended(a, NVME_SC_SUCCESS);
	fw.now_ns += UINT64_C(10000000);
	io_ended(b, NVME_SC_SUCCESS);
	blk_end();
}

static void
a_mark_that_cannot_be_kept_is_not_made(void **state)
{
	blk_begin_file("file:/v");
	write_now(FIRST, 1, 'a');
	fw.fail_open = -EACCES;
	io_ended(io_start(0, BLK_MARK_BAD, 0, FIRST, 1), NVME_SC_INTERNAL);
	fw.fail_open = 0;
	fw.fail[FILE_WRITE] = -EIO;
	io_ended(io_start(0, BLK_MARK_BAD, 0, FIRST, 1), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	assert_block(FIRST, 'a');
	mark(1, FIRST + 1, 1);
	fw.short_by = 512;
	io_ended(io_start(1, BLK_MARK_BAD, 0, FIRST, 1), NVME_SC_WRITE_FAULT);
	assert_block(FIRST, 'a');
	mark(0, FIRST, 1);
	assert_bad(0, FIRST, 1, FIRST);
	blk_end();
}

/* It may be another volume by now, to which a link of that name leads. */
static void
a_list_that_was_not_there_is_made_and_never_found(void **state)
{
	struct fake_file *other;

	blk_begin_file("file:/v");
	write_now(FIRST, 1, 'a');
	other = fake_file_make(&fw, "/v.bad", IO_MAX);
	io_ended(io_start(0, BLK_MARK_BAD, 0, FIRST, 1), NVME_SC_INTERNAL);
	assert_int_equal(other->size, IO_MAX);
	assert_block(FIRST, 'a');
	blk_end();
}

static void
a_write_whose_mark_cannot_be_taken_away_fails(void **state)
{
	struct test_io *w;

	blk_begin_file("file:/v");
	mark(0, FIRST, 1);
	fw.hold_files = true;
	w = write_start(0, 0, FIRST, 1, 'a');
	fw.fail[FILE_WRITE] = -EIO;
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(w, NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	assert_bad(0, FIRST, 1, FIRST);
	write_now(FIRST, 1, 'b');
	assert_block(FIRST, 'b');
	blk_end();
}

/* Marks the block, in vain: the write of the list fails, and has landed. */
static void
mark_in_vain(uint64_t lba)
{
	fw.fails_late = true;
	fw.fail[FILE_WRITE] = -EIO;
	io_ended(io_start(0, BLK_MARK_BAD, 0, lba, 1), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	assert_bytes(fake_file_find(&fw, "/v")->bytes + lba * BS, BS, 'a');
}

static struct test_io *
change_one(unsigned how)
{
	static const struct blk_range range = { FIRST, 1 };
	static _Alignas(4096) uint8_t old[BS], is[BS], to[BS];
	static const struct iovec expected = { is, BS };
	struct test_io *t;

	memset(is, 'a', BS);
	memset(to, 'b', BS);
	switch (how) {
	case 0:
		return write_start(1, 0, FIRST, 1, 'b');
	case 1:
		return io_start(1, BLK_WRITE_ZEROES, 0, FIRST - 1, 3);
	case 2:
		t = io_make(1, BLK_TRIM, 0, 0, 0);
		t->io.ranges = &range;
		t->io.range_count = 1;
		break;
	default:
		t = io_make(1, BLK_COMPARE_WRITE, 0, FIRST, 1);
		t->iov[0] = (struct iovec){ to, BS };
		t->io.iov_count = 1;
		t->io.expected = &expected;
		t->io.expected_count = 1;
		t->io.old = old;
		break;
	}
	io_submit(t);
	return t;
}

static void
what_is_written_after_a_mark_that_failed_is_there_at_the_next_start(void **state)
{
	static const int found[] = { 'b', 0, 0, 'b' };

	for (unsigned how = 0; how < sizeof(found) / sizeof(found[0]); how++) {
		struct test_io *t;

		blk_begin_file("file:/v");
		write_now(FIRST - 1, 3, 'a');
		mark(0, 200, 1);
		mark_in_vain(FIRST);
		assert_int_not_equal(fake_file_find(&fw, "/v.bad")->bytes[BS + FIRST / 8], 0);
		fw.fail[FILE_WRITE] = -EIO; /* it is not changed before the list is certain */
		t = change_one(how);
		io_ended(t, NVME_SC_WRITE_FAULT);
		fw.fail[FILE_WRITE] = 0;
		assert_bytes(fake_file_find(&fw, "/v")->bytes + FIRST * BS, BS, 'a');
		io_ended(change_one(how), NVME_SC_SUCCESS);
		io_ended(io_start(1, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
		blk_begin_again();
		assert_block(FIRST, found[how]);
		assert_bad(0, 200, 1, 200);
		blk_end();
	}
}

static void
what_is_read_after_a_mark_that_failed_is_read_at_the_next_start(void **state)
{
	struct test_io *r;

	blk_begin_file("file:/v");
	write_now(0, 256, 'a');
	mark(0, 200, 1);
	mark_in_vain(FIRST);
	fw.durable = 0;
	assert_block(FIRST + 1, 'a');
	assert_int_equal(fw.durable, 0);
	fw.fail[FILE_WRITE] = -EIO;
	r = io_start(1, BLK_READ, 0, FIRST, 1);
	turns(60);
	assert_true(r->done == 1 && !r->io.status.dnr && (r->io.flags & BLK_BAD) == 0); /* it may be read again */
	io_ended(r, NVME_SC_READ_ERROR);
	fw.fail[FILE_WRITE] = 0;
	fw.durable = 0;
	assert_block(FIRST, 'a');
	assert_block(FIRST, 'a');
	assert_int_equal(fw.durable, 1);
	blk_begin_again();
	assert_block(FIRST, 'a');
	assert_bad(0, 200, 1, 200);
	blk_end();
}

/* The list says already that it is good, and memory that it is not. */
static void
what_is_bad_after_a_write_that_failed_is_bad_at_the_next_start(void **state)
{
	struct test_io *w;

	blk_begin_file("file:/v");
	mark(0, FIRST, 1);
	fw.hold_files = true;
	w = write_start(0, 0, FIRST, 1, 'a');
	turns(2);
	fw.fails_late = true;
	fw.fail[FILE_WRITE] = -EIO;
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(w, NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	assert_int_equal(fake_file_find(&fw, "/v.bad")->bytes[BS + FIRST / 8], 0);
	assert_bad(1, FIRST, 1, FIRST);
	blk_begin_again();
	assert_bad(0, FIRST, 1, FIRST);
	blk_end();
}

/* Reads that have all requests there are wait for the list, and are refused: those behind them find room. */
static void
reads_that_waited_for_the_list_and_are_refused_hold_nobody_up(void **state)
{
	struct test_io *reads[FILE_REQUESTS], *behind;

	blk_begin_file("file:/v");
	write_now(FIRST, 1, 'a');
	mark(0, FIRST, 1);
	mark_in_vain(FIRST);
	fw.hold_files = true;
	for (unsigned i = 0; i < FILE_REQUESTS; i++)
		reads[i] = io_start(0, BLK_READ, 0, FIRST, 1);
	behind = io_start(0, BLK_READ, 0, 0, 1);
	turns(2);
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(behind, NVME_SC_SUCCESS);
	for (unsigned i = 0; i < FILE_REQUESTS; i++)
		io_ended(reads[i], NVME_SC_READ_ERROR);
	blk_end();
}

/* What was in doubt is so no more; and what is not concerned never was. */
static void
a_list_that_was_in_doubt_is_written_once(void **state)
{
	blk_begin_file("file:/v");
	write_now(0, 256, 'a');
	mark(0, 200, 1);
	mark_in_vain(FIRST);
	fw.durable = 0;
	write_now(FIRST + 1, 8, 'b');
	write_now(0, FIRST, 'b');
	assert_int_equal(fw.durable, 0);
	write_now(FIRST, 1, 'b');
	assert_int_equal(fw.durable, 1);
	write_now(FIRST, 1, 'c');
	assert_int_equal(fw.durable, 1);
	mark_in_vain(FIRST + 9);
	mark(0, FIRST + 9, 1);
	fw.durable = 0;
	write_now(FIRST + 9, 1, 'b');
	assert_int_equal(fw.durable, 2); /* its data, and the list */
	write_now(FIRST + 9, 1, 'c');
	assert_int_equal(fw.durable, 2);
	blk_end();
}

static void
marks_of_two_reactors_in_one_page_are_both_kept(void **state)
{
	struct test_io *a, *b, *c;

	blk_begin_file("file:/v");
	mark(0, 1, 1);
	fw.hold_files = true;
	a = io_start(0, BLK_MARK_BAD, 0, 100, 1);
	b = io_start(1, BLK_MARK_BAD, 0, 200, 1);
	c = write_start(1, 0, 1, 1, 'a');
	for (int i = 0; i < 10; i++) {
		turns(60);
		fake_files_finish(&fw);
	}
	fw.hold_files = false;
	turns(60);
	io_end(a);
	io_end(b);
	io_end(c);
	blk_begin_again();
	assert_bad(0, 0, 256, 100);
	assert_bad(0, 101, 155, 200);
	assert_block(1, 'a');
	blk_end();
}

static void
a_list_that_is_not_of_this_volume_is_refused(void **state)
{
	static const struct { size_t at; int byte; const char *why; } wrong[] = {
		{ 0, 'x', "is not a list" }, { 8, 2, "is not a list" }, { 13, 2, "bytes, not of" },
	};
	char why[256];

	blk_begin_file("file:/v");
	mark(0, FIRST, 1);
	for (unsigned i = 0; i < CHANS; i++)
		blk->ops->close_chan(chans[i]);
	blk->ops->destroy(blk);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t *at = fake_file_find(&fw, "/v.bad")->bytes + wrong[i].at, was = *at;

		*at = (uint8_t)wrong[i].byte;
		assert_int_equal(blk_open(&fw.reactors[0], "file:/v", BS, &blk, why), -EINVAL);
		assert_non_null(strstr(why, wrong[i].why));
		*at = was;
	}
	fw.fail_fetch = -EIO;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/v", BS, &blk, why), -EIO);
	assert_non_null(strstr(why, "cannot be read"));
	fw.fail_fetch = 0;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/v", BS, &blk, why), 0);
	blk_open_chans();
	assert_bad(0, FIRST, 1, FIRST);
	blk_end();
}

/* A page that was never written ends in a header of zeros: the machine stopped before the first mark was kept. */
static void
a_list_without_its_header_says_nothing(void **state)
{
	blk_begin_file("file:/v");
	mark(0, FIRST, 1);
	memset(fake_file_find(&fw, "/v.bad")->bytes, 0, BS);
	blk_begin_again();
	assert_block(FIRST, 0);
	mark(0, FIRST + 1, 1);
	blk_begin_again();
	assert_bad(0, FIRST + 1, 1, FIRST + 1);
	blk_end();
}

/* A list is as long as its volume is, and few of its pages have a mark. */
static void
of_a_list_only_what_was_written_is_read(void **state)
{
	enum { PAGE_BLOCKS = 32768, PAGES = 4 };

	blk_begin_over("file:/v", (uint64_t)PAGES * PAGE_BLOCKS * BS);
	io_ended(io_start(0, BLK_MARK_BAD, 0, PAGES * PAGE_BLOCKS - 1, 1), NVME_SC_SUCCESS);
	fw.fetched = 0;
	blk_begin_again();
	assert_int_equal(fw.fetched, 2 * 4096); /* its header, and the page of the mark */
	io_ended(io_start(0, BLK_READ, 0, PAGES * PAGE_BLOCKS - 1, 1), NVME_SC_READ_ERROR);
	io_ended(io_start(0, BLK_READ, 0, PAGES * PAGE_BLOCKS - 2, 1), NVME_SC_SUCCESS);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_there_when_the_volume_is_opened_again),
		cmocka_unit_test(of_a_list_only_what_was_written_is_read),
		cmocka_unit_test(a_mark_is_durable_before_it_is_answered),
		cmocka_unit_test(what_is_written_over_a_mark_is_durable_before_the_mark_goes),
		cmocka_unit_test(while_the_list_is_made_only_those_that_need_it_wait),
		cmocka_unit_test(who_waits_for_a_list_that_is_not_made_looks_seldom),
		cmocka_unit_test(a_mark_that_cannot_be_kept_is_not_made),
		cmocka_unit_test(a_list_that_was_not_there_is_made_and_never_found),
		cmocka_unit_test(a_write_whose_mark_cannot_be_taken_away_fails),
		cmocka_unit_test(what_is_written_after_a_mark_that_failed_is_there_at_the_next_start),
		cmocka_unit_test(what_is_read_after_a_mark_that_failed_is_read_at_the_next_start),
		cmocka_unit_test(what_is_bad_after_a_write_that_failed_is_bad_at_the_next_start),
		cmocka_unit_test(reads_that_waited_for_the_list_and_are_refused_hold_nobody_up),
		cmocka_unit_test(a_list_that_was_in_doubt_is_written_once),
		cmocka_unit_test(marks_of_two_reactors_in_one_page_are_both_kept),
		cmocka_unit_test(a_list_that_is_not_of_this_volume_is_refused),
		cmocka_unit_test(a_list_without_its_header_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
