/*
 * test_blk_bad.c - blocks that were marked as bad: who may read them, and what makes them good.
 */
#include "blk_bench.h"

enum { FIRST = 40, END = 44 }; /* the blocks that tests mark */

static const char *const specs[] = { "mem:4M", "file:/v", "fault:read-error=1000@file:/v", "volatile:@file:/v",
	"volatile:keep=64K,seed=3@file:/v", "volatile:@mem:4M" };

static void
a_marked_block_cannot_be_read_and_its_neighbours_can(void **state)
{
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		blk_begin_file(specs[i]);
		write_now(0, 256, 'a');
		mark(0, FIRST, END - FIRST);
		assert_bad(0, FIRST, 1, FIRST);
		assert_bad(1, END - 1, 1, END - 1);
		assert_bad(1, 0, 256, FIRST);
		assert_block(FIRST - 1, 'a');
		assert_block(END, 'a');
		blk_end();
	}
}

static void
what_is_written_is_good_again(void **state)
{
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		blk_begin_file(specs[i]);
		write_now(0, 64, 'a');
		mark(0, FIRST, END - FIRST);
		io_ended(write_start(1, BLK_TRANSIENT, FIRST, 1, 'b'), NVME_SC_SUCCESS);
		assert_block(FIRST, 'b');
		assert_bad(0, FIRST, 2, FIRST + 1);
		io_ended(io_start(0, BLK_WRITE_ZEROES, 0, FIRST + 1, 1), NVME_SC_SUCCESS);
		assert_block(FIRST + 1, 0);
		io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE | BLK_FUA, FIRST + 2, 1), NVME_SC_SUCCESS);
		assert_block(FIRST + 2, 0);
		assert_bad(0, FIRST, END - FIRST, END - 1);
		write_now(FIRST - 8, 32, 'c');
		io_ended(io_start(0, BLK_READ, 0, 0, 64), NVME_SC_SUCCESS);
		assert_block(END - 1, 'c');
		blk_end();
	}
}

static void
what_is_deallocated_stays_bad(void **state)
{
	const struct blk_range range = { FIRST - 1, END - FIRST + 2 };

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct test_io *t;

		blk_begin_file(specs[i]);
		write_now(0, 64, 'a');
		mark(0, FIRST, END - FIRST);
		t = io_make(0, BLK_TRIM, 0, 0, 0);
		t->io.ranges = &range;
		t->io.range_count = 1;
		io_submit(t);
		io_ended(t, NVME_SC_SUCCESS);
		assert_bad(0, FIRST - 1, END - FIRST + 2, FIRST);
		assert_block(FIRST - 1, 0);
		blk_end();
	}
}

static void
what_is_bad_equals_nothing(void **state)
{
	static _Alignas(4096) uint8_t old[BS], is[BS], to[BS];
	const struct iovec expected = { is, BS };

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct test_io *t;

		blk_begin_file(specs[i]);
		mark(0, FIRST, 1);
		t = io_make(0, BLK_COMPARE_WRITE, 0, FIRST, 1);
		t->iov[0] = (struct iovec){ to, BS };
		t->io.iov_count = 1;
		t->io.expected = &expected;
		t->io.expected_count = 1;
		t->io.old = old;
		io_submit(t);
		io_ended(t, NVME_SC_READ_ERROR);
		assert_bad(0, FIRST, 1, FIRST);
		blk_end();
	}
}

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
		cmocka_unit_test(a_marked_block_cannot_be_read_and_its_neighbours_can),
		cmocka_unit_test(what_is_written_is_good_again),
		cmocka_unit_test(what_is_deallocated_stays_bad),
		cmocka_unit_test(what_is_bad_equals_nothing),
		cmocka_unit_test(marks_are_of_blocks_and_not_of_what_holds_them_together),
		cmocka_unit_test(a_mark_waits_for_those_who_read_and_is_cancelled_while_it_waits),
		cmocka_unit_test(a_volume_takes_no_more_memory_than_is_said),
		cmocka_unit_test(what_cannot_keep_marks_takes_none),
		cmocka_unit_test(without_memory_a_mark_fails_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
