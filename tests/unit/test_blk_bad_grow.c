/*
 * test_blk_bad_grow.c - blocks that were marked as bad where a volume grows.
 */
#include <errno.h>

#include "blk/bad.h"
#include "blk_bench.h"

enum { FIRST = 40 };

static void
a_volume_that_grows_has_marks_in_its_new_part(void **state)
{
	uint64_t more = 3 * BAD_PAGE_BLOCKS;

	blk_begin_file("file:/v");
	mark(0, FIRST, 1);
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	assert_int_equal(blk->blocks, more);
	mark(0, more - 1, 1);
	mark(1, BAD_PAGE_BLOCKS - 2, 4);
	assert_bad(0, BAD_PAGE_BLOCKS - 4, 8, BAD_PAGE_BLOCKS - 2);
	blk_begin_again();
	assert_bad(0, FIRST, 1, FIRST);
	assert_bad(0, more - 1, 1, more - 1);
	assert_bad(0, BAD_PAGE_BLOCKS, 8, BAD_PAGE_BLOCKS);
	blk_end();
}

/* The list is as it was; what grew over it again must not believe that nothing is marked there. */
static void
a_volume_that_was_longer_once_finds_its_marks_when_it_grows(void **state)
{
	uint64_t more = 3 * BAD_PAGE_BLOCKS;

	blk_begin_file("file:/v");
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	mark(0, more - 1, 1);
	fake_file_find(&fw, "/v")->size = 4 * IO_MAX;
	blk_begin_again();
	assert_int_equal(blk->blocks, 4 * IO_MAX / BS);
	fw.fail_fetch = -EIO;
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), -EIO);
	fw.fail_fetch = 0;
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	assert_bad(0, more - 1, 1, more - 1);
	blk_end();
}

/* When that was read, it may be that the volume does not grow; and grows farther then. */
static void
marks_that_were_read_before_a_volume_grows_are_taken_when_it_does(void **state)
{
	const uint64_t some = 2 * BAD_PAGE_BLOCKS, more = 3 * BAD_PAGE_BLOCKS;
	int64_t was;

	blk_begin_file("file:/v");
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	mark(0, some - 1, 1);
	mark(0, more - 1, 1);
	fake_file_find(&fw, "/v")->size = 4 * IO_MAX;
	blk_begin_again();
	fw.fail_fetch = -EIO;
	assert_int_equal(blk_stretch(blk, &fw.reactors[0], more, &was), -EIO);
	fw.fail_fetch = 0;
	assert_int_equal(blk_stretch(blk, &fw.reactors[0], some, &was), 0);
	assert_int_equal(blk_stretch(blk, &fw.reactors[0], more, &was), 0);
	fw.fail_fetch = fw.fail_open = -EIO;
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	fw.fail_fetch = fw.fail_open = 0;
	assert_bad(0, some - 1, 1, some - 1);
	assert_bad(0, more - 1, 1, more - 1);
	assert_int_equal(blk_stretch(blk, &fw.reactors[0], 2 * more, &was), 0);
	blk_end();
}

static void
a_mark_that_failed_is_in_doubt_also_in_a_part_that_is_new(void **state)
{
	uint64_t more = 3 * BAD_PAGE_BLOCKS;

	blk_begin_file("file:/v");
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], more), 0);
	mark(0, FIRST, 1);
	fw.fails_late = true;
	fw.fail[FILE_WRITE] = -EIO;
	io_ended(io_start(0, BLK_MARK_BAD, 0, more - 1, 1), NVME_SC_WRITE_FAULT);
	fw.fail[FILE_WRITE] = 0;
	write_now(more - 1, 1, 'b');
	blk_begin_again();
	assert_block(more - 1, 'b');
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_volume_that_grows_has_marks_in_its_new_part),
		cmocka_unit_test(a_volume_that_was_longer_once_finds_its_marks_when_it_grows),
		cmocka_unit_test(marks_that_were_read_before_a_volume_grows_are_taken_when_it_does),
		cmocka_unit_test(a_mark_that_failed_is_in_doubt_also_in_a_part_that_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
