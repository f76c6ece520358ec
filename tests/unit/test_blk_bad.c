/*
 * test_blk_bad.c - blocks that were marked as bad: what a mark waits for, what marks take, and what takes none.
 */
#include "blk_bench.h"

enum { FIRST = 40, END = 44 }; /* the blocks that tests mark */

/* Blocks whose stripes have nothing to do with each other, and that are further apart than there are slots. */
static void
marks_are_of_blocks_and_not_of_what_holds_them_together(void **state)
{
	blk_begin_file("mem:1G");
	for (uint64_t lba = 0; lba < blk->blocks; lba += 70001)
		mark(lba % 2, lba, 1);
	for (uint64_t lba = 0; lba < blk->blocks; lba += 70001) {
		assert_bad(0, lba, 1, lba);
		assert_block(lba + 1, 0);
		assert_block((lba + 65536) % blk->blocks == lba ? 1 : (lba + 65536) % blk->blocks + 1, 0);
	}
	blk_end();
}

static void
a_mark_waits_for_those_who_read_and_is_cancelled_while_it_waits(void **state)
{
	struct test_io *r, *m, *n;

	blk_begin_file("mem:4M");
	r = io_start(1, BLK_READ, BLK_MAY_LEND, FIRST, 1);
	m = io_start(0, BLK_MARK_BAD, 0, FIRST, 1);
	n = io_start(0, BLK_MARK_BAD, 0, FIRST, 1);
	turns(10);
	assert_true(waits(m) && waits(n));
	assert_true(blk->ops->cancel(chans[0], &n->io));
	io_ended(n, NVME_SC_ABORT_REQUESTED);
	io_release(r);
	io_ended(m, NVME_SC_SUCCESS);
	io_end(r);
	assert_bad(1, FIRST, 1, FIRST);
	blk_end();
}

/* Memory of all there is, but for bits of bad blocks and what lies in files. */
static size_t
taken(void)
{
	const struct fake_file *bad = fake_file_find(&fw, "/v.bad");

	return fw.arena.bytes - fw.pages_mapped - fake_file_find(&fw, "/v")->size - (bad != NULL ? bad->size : 0);
}

/* By blk_bytes() the operator is told what it takes, with locks for a large volume. */
static void
a_volume_takes_no_more_memory_than_is_said(void **state)
{
	size_t before, locks = 1;
	char why[256];

	fakeworld_init(&fw, CHANS);
	fake_file_make(&fw, "/v", 4 * IO_MAX);
	before = taken();
	assert_int_equal(blk_open(&fw.reactors[0], "file:/v", BS, &blk, why), 0);
	blk_open_chans();
	while (locks * RANGE_STRIPE < blk->blocks * BS)
		locks *= 2;
	for (unsigned i = 0; i < CHANS; i++)
		mark(i, FIRST, 1);
	assert_true(taken() - before <= blk_bytes(CHANS) - (RANGE_SLOTS_MAX - locks) * sizeof(uint64_t));
	blk_end();
}

static void
what_cannot_keep_marks_takes_none(void **state)
{
	blk_begin_file("null:4M");
	assert_null(blk->bad);
	blk_end();
	fakeworld_init(&fw, CHANS);
	fake_file_make(&fw, "/dev", 4 * IO_MAX)->device = true;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/dev", BS, &blk, (char[256]){ 0 }), 0);
	blk_open_chans();
	assert_null(blk->bad);
	assert_int_equal(blk->ops->grow(blk, &fw.reactors[0], 8 * IO_MAX / BS), 0);
	write_now(0, 1, 'a');
	assert_block(0, 'a');
	blk_end();
}

static void
without_memory_a_mark_fails_and_nothing_else(void **state)
{
	bool failed = true;

	blk_begin_file("file:/v");
	write_now(FIRST, 1, 'a');
	for (uint64_t nth = 1; failed; nth++) {
		struct test_io *m = io_make(0, BLK_MARK_BAD, 0, FIRST, 1);

		fw.arena.fail_at = nth;
		io_submit(m);
		turns(10);
		fw.arena.fail_at = 0;
		failed = m->sc != NVME_SC_SUCCESS;
		io_ended(m, failed ? NVME_SC_INTERNAL : NVME_SC_SUCCESS);
		assert_true(!failed || nth < 10);
		if (failed)
			assert_block(FIRST, 'a');
	}
	assert_bad(0, FIRST, 1, FIRST);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_are_of_blocks_and_not_of_what_holds_them_together),
		cmocka_unit_test(a_mark_waits_for_those_who_read_and_is_cancelled_while_it_waits),
		cmocka_unit_test(a_volume_takes_no_more_memory_than_is_said),
		cmocka_unit_test(what_cannot_keep_marks_takes_none),
		cmocka_unit_test(without_memory_a_mark_fails_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
