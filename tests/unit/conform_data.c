/*
 * conform_data.c - of conform.h: what is in the blocks, where one I/O is under way, and what each may be asked.
 */
#include <string.h>

#include "conform.h"

enum { STRIPE = 64 * 1024, FIRST = 40 };

static unsigned
some_chan(struct conform *c)
{
	return (unsigned)rng_below(&c->rng, c->reactors);
}

static const char *
keeps_trimmed(const struct conform *c)
{
	return c->device->forgets != NULL ? c->device->forgets :
	    !c->blk->trim_zeroes ? "what is trimmed may be anything" : NULL;
}

static void
each_ends_once_and_not_from_inside(struct conform *c)
{
	static const struct blk_range ranges[] = { { 7, 1 }, { 900, 30 } };
	struct cio *all[CONFORM_REACTORS][8];

	for (unsigned chan = 0; chan < c->reactors; chan++) {
		struct cio **t = all[chan];

		t[0] = cio_make(c, chan, BLK_READ, 0, 5, 9);
		t[1] = cio_make(c, chan, BLK_WRITE, 0, 5, 9);
		t[2] = cio_make(c, chan, BLK_FLUSH, 0, 0, 0);
		t[3] = cio_make(c, chan, BLK_WRITE_ZEROES, BLK_FUA, 0, 600);
		t[4] = cio_trim(c, chan, ranges, 2);
		t[5] = cio_trim(c, chan, NULL, 0);
		t[6] = cio_make(c, chan, BLK_COMPARE_WRITE, 0, 700, 2);
		cio_fill(t[6], 0);
		cio_expect(t[6], 0);
		t[7] = cio_make(c, chan, BLK_WRITE, BLK_FUA | BLK_TRANSIENT, 900, 2);
		for (unsigned i = 0; i < 8; i++)
			cio_start(t[i]);
	}
	for (unsigned chan = 0; chan < c->reactors; chan++)
		for (unsigned i = 0; i < 8; i++)
			cio_ended(all[chan][i], NVME_SC_SUCCESS);
}

static void
a_new_device_reads_as_zeros(struct conform *c)
{
	for (uint64_t lba = 0; lba < c->blk->blocks; lba += 256)
		assert_blocks(c, some_chan(c), lba, 256, 0);
}

/* All of it, in runs of any length; then block by block, and in other runs, which go across the borders of these. */
static void
reads_find_what_was_written_at_every_block(struct conform *c)
{
	uint64_t lba, blocks = c->blk->blocks;
	uint32_t run;

	for (lba = 0; lba < blocks; lba += run) {
		run = 1 + (uint32_t)rng_below(&c->rng, CONFORM_RUN);
		run = run < blocks - lba ? run : (uint32_t)(blocks - lba);
		write_blocks(c, some_chan(c), 0, lba, run, 1);
	}
	for (lba = 0; lba < blocks; lba++)
		assert_blocks(c, some_chan(c), lba, 1, 1);
	for (lba = 0; lba < blocks; lba += run) {
		run = 1 + (uint32_t)rng_below(&c->rng, 3 * CONFORM_RUN);
		run = run < blocks - lba ? run : (uint32_t)(blocks - lba);
		assert_blocks(c, some_chan(c), lba, run, 1);
	}
}

/* Around each border that a device may have, its first and its last block: what lies beside stays. */
static void
a_write_changes_its_own_blocks_alone(struct conform *c)
{
	uint64_t per = STRIPE / c->block_size, last = c->blk->blocks - 1;
	const struct blk_range runs[] = {
		{ 0, 1 }, { per - 1, 1 }, { per, 1 }, { 3 * per - 2, 3 }, { 5 * per - 1, 2 * (uint32_t)per + 2 },
		{ last - 2, 3 }, { last, 1 },
	};

	write_blocks(c, 0, 0, 0, 8 * (uint32_t)per, 1);
	write_blocks(c, 0, 0, last - 7, 8, 1);
	for (uint64_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		uint64_t behind = runs[i].lba + runs[i].blocks;

		write_blocks(c, some_chan(c), 0, runs[i].lba, runs[i].blocks, 2 + i);
		assert_blocks(c, some_chan(c), runs[i].lba, runs[i].blocks, 2 + i);
		if (runs[i].lba > 0 && i != 2)
			assert_blocks(c, some_chan(c), runs[i].lba - 1, 1, i == 6 ? 2 + 5 : 1);
		if (behind <= last && i != 1)
			assert_blocks(c, some_chan(c), behind, 1, 1);
	}
}

static void
a_large_one_is_whole(struct conform *c)
{
	uint32_t blocks = 1024 * 1024 / c->block_size; /* what one command has at most */

	write_blocks(c, 0, 0, 3, blocks, 1);
	assert_blocks(c, some_chan(c), 3, blocks, 1);
	write_blocks(c, some_chan(c), BLK_FUA, c->blk->blocks - blocks, blocks, 2);
	assert_blocks(c, 0, c->blk->blocks - blocks, blocks, 2);
}

static void
transient_data_may_go_when_submit_is_over(struct conform *c)
{
	struct cio *t[32];

	for (unsigned i = 0; i < 32; i++) { /* some wait for others */
		t[i] = cio_make(c, 0, BLK_WRITE, BLK_TRANSIENT | (i % 3 == 0 ? BLK_FUA : 0), 100 + i % 4 * 20, 20);
		cio_fill(t[i], 1 + i);
		cio_start(t[i]);
	}
	for (unsigned i = 0; i < 32; i++)
		cio_ended(t[i], NVME_SC_SUCCESS);
	for (uint64_t lba = 100; lba < 180; lba++) {
		struct cio *r = cio_make(c, 0, BLK_READ, 0, lba, 1);

		cio_start(r);
		cio_wait(r);
		assert_in_range(block_stamp(c, cio_block(r, 0), lba), 1, 32);
		cio_end(r);
	}
}

static void
zeroes_are_written_where_they_should_be(struct conform *c)
{
	static const uint32_t flags[] = { 0, BLK_FUA, BLK_DEALLOCATE, BLK_DEALLOCATE | BLK_FUA };
	uint32_t half = (uint32_t)c->blk->blocks / 2;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t lba = 600 * i / (c->block_size / 512);

		write_blocks(c, some_chan(c), 0, lba, 60, 1);
		zero_blocks(c, some_chan(c), flags[i], lba + 1, 1);
		zero_blocks(c, some_chan(c), flags[i], lba + 7, 50);
		assert_blocks(c, some_chan(c), lba, 1, 1);
		assert_blocks(c, some_chan(c), lba + 1, 1, 0);
		assert_blocks(c, some_chan(c), lba + 2, 5, 1);
		assert_blocks(c, some_chan(c), lba + 7, 50, 0);
		assert_blocks(c, some_chan(c), lba + 57, 3, 1);
	}
	for (uint64_t lba = 0; lba < c->blk->blocks; lba += 256)
		write_blocks(c, some_chan(c), 0, lba, 256, 3);
	zero_blocks(c, some_chan(c), BLK_DEALLOCATE, half / 2 + 1, half);
	for (uint64_t lba = 0; lba < c->blk->blocks; lba++)
		assert_blocks(c, some_chan(c), lba, 1, lba <= half / 2 || lba > half / 2 + half ? 3 : 0);
}

/* Of nothing, of what is empty, of neighbours, and of the same twice, in any order. */
static void
what_is_trimmed_reads_as_zeros_and_nothing_else_does(struct conform *c)
{
	static const struct blk_range ranges[] = {
		{ 30, 10 }, { 7, 0 }, { 40, 5 }, { 20, 12 }, { 90, 1 }, { 92, 1 }, { 30, 10 }, { 0, 0 }, { 61, 2 },
	};
	struct cio *t;

	write_blocks(c, some_chan(c), 0, 0, 100, 1);
	t = cio_trim(c, some_chan(c), ranges, 9);
	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
	t = cio_trim(c, some_chan(c), ranges + 1, 1);
	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
	for (uint64_t lba = 0; lba < 100; lba++) {
		bool zero = (lba >= 20 && lba < 45) || lba == 90 || lba == 92 || lba == 61 || lba == 62;

		assert_blocks(c, some_chan(c), lba, 1, zero ? 0 : 1);
	}
	write_blocks(c, some_chan(c), 0, 25, 3, 2);
	assert_blocks(c, some_chan(c), 24, 1, 0);
	assert_blocks(c, some_chan(c), 25, 3, 2);
}

/* As many as a command has, each other block of a part. */
static void
many_ranges_are_trimmed_by_one(struct conform *c)
{
	struct blk_range ranges[256];
	struct cio *t;

	for (uint32_t i = 0; i < 256; i++)
		ranges[i] = (struct blk_range){ 2 * (i * 37 % 256), 1 };
	write_blocks(c, some_chan(c), 0, 0, 512, 1);
	t = cio_trim(c, some_chan(c), ranges, 256);
	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
	for (uint64_t lba = 0; lba < 512; lba++)
		assert_blocks(c, some_chan(c), lba, 1, lba % 2);
}

/* The first, the last and one in the middle of what is compared differ, or nothing does. */
static void
compare_and_write_writes_what_is_as_expected(struct conform *c)
{
	write_blocks(c, some_chan(c), 0, 10, 20, 1);
	assert_int_equal(compare_write(c, some_chan(c), 12, 16, 1, 2), NVME_SC_SUCCESS);
	assert_blocks(c, some_chan(c), 10, 2, 1);
	assert_blocks(c, some_chan(c), 12, 16, 2);
	assert_blocks(c, some_chan(c), 28, 2, 1);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t odd = i == 0 ? 12 : i == 1 ? 20 : 27;

		write_blocks(c, some_chan(c), 0, odd, 1, 9);
		assert_int_equal(compare_write(c, some_chan(c), 12, 16, 2, 3), NVME_SC_COMPARE);
		for (uint64_t lba = 12; lba < 28; lba++)
			assert_blocks(c, some_chan(c), lba, 1, lba == odd ? 9 : 2);
		write_blocks(c, some_chan(c), 0, odd, 1, 2);
	}
	assert_int_equal(compare_write(c, some_chan(c), 500, 1, 0, 4), NVME_SC_SUCCESS);
	assert_blocks(c, some_chan(c), 500, 1, 4);
}

static void
the_last_byte_is_compared(struct conform *c)
{
	const struct iovec *last;
	struct cio *t;

	write_blocks(c, 0, 0, FIRST, 2, 1);
	t = cio_make(c, 0, BLK_COMPARE_WRITE, 0, FIRST, 2);
	cio_fill(t, 2);
	cio_expect(t, 1);
	last = &t->expected[t->io.expected_count - 1];
	((uint8_t *)last->iov_base)[last->iov_len - 1] ^= 1;
	cio_start(t);
	cio_ended(t, NVME_SC_COMPARE);
	assert_blocks(c, 0, FIRST, 2, 1);
}

/* ---- blocks that are marked as bad ---- */

static const char *
takes_no_marks(const struct conform *c)
{
	return c->blk->bad == NULL ? "it takes no marks" : NULL;
}

static void
mark(struct conform *c, uint64_t lba, uint32_t blocks)
{
	struct cio *t = cio_make(c, some_chan(c), BLK_MARK_BAD, 0, lba, blocks);

	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
}

static void
assert_bad(struct conform *c, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks, uint64_t first)
{
	struct cio *t = cio_make(c, some_chan(c), op, flags, lba, blocks);

	if (op == BLK_COMPARE_WRITE) {
		cio_fill(t, 5);
		cio_expect(t, 1);
	}
	cio_start(t);
	cio_wait(t);
	assert_int_not_equal(t->io.flags & BLK_BAD, 0);
	assert_int_equal(t->io.at, first);
	assert_true(t->io.status.dnr);
	cio_ended(t, NVME_SC_READ_ERROR);
}

static void
a_marked_block_cannot_be_read_and_its_neighbours_can(struct conform *c)
{
	write_blocks(c, 0, 0, 0, 64, 1);
	mark(c, FIRST, 4);
	mark(c, FIRST + 8, 1);
	assert_bad(c, BLK_READ, 0, FIRST, 1, FIRST);
	assert_bad(c, BLK_READ, 0, FIRST + 3, 9, FIRST + 3);
	assert_bad(c, BLK_READ, 0, 0, 64, FIRST);
	assert_bad(c, BLK_READ, c->blk->lends ? BLK_MAY_LEND : 0, FIRST - 2, 7, FIRST);
	assert_bad(c, BLK_COMPARE_WRITE, 0, FIRST + 1, 2, FIRST + 1);
	assert_bad(c, BLK_COMPARE_WRITE, 0, FIRST - 1, 2, FIRST);
	assert_blocks(c, some_chan(c), 0, FIRST, 1);
	assert_blocks(c, some_chan(c), FIRST + 4, 4, 1);
	assert_blocks(c, some_chan(c), FIRST + 9, 5, 1);
}

static void
what_is_written_is_good_again_and_what_is_trimmed_is_not(struct conform *c)
{
	const struct blk_range range = { FIRST - 1, 6 };
	struct cio *t;

	write_blocks(c, 0, 0, 0, 64, 1);
	mark(c, FIRST, 5);
	write_blocks(c, some_chan(c), BLK_TRANSIENT, FIRST, 1, 2);
	assert_blocks(c, some_chan(c), FIRST, 1, 2);
	assert_bad(c, BLK_READ, 0, FIRST, 2, FIRST + 1);
	zero_blocks(c, some_chan(c), 0, FIRST + 1, 1);
	assert_blocks(c, some_chan(c), FIRST + 1, 1, 0);
	zero_blocks(c, some_chan(c), BLK_DEALLOCATE | BLK_FUA, FIRST + 2, 1);
	assert_blocks(c, some_chan(c), FIRST + 2, 1, 0);
	t = cio_trim(c, some_chan(c), &range, 1);
	cio_start(t);
	cio_ended(t, NVME_SC_SUCCESS);
	assert_bad(c, BLK_READ, 0, FIRST, 5, FIRST + 3);
	assert_bad(c, BLK_READ, 0, FIRST + 4, 1, FIRST + 4);
	write_blocks(c, some_chan(c), 0, FIRST - 8, 32, 3);
	assert_blocks(c, some_chan(c), FIRST - 8, 32, 3);
}

const struct conform_property conform_data[] = {
	{ "each operation ends once and not from inside submit()", NULL, each_ends_once_and_not_from_inside },
	{ "a new device reads as zeros", NULL, a_new_device_reads_as_zeros },
	{ "reads find what was written at every block", conform_forgets, reads_find_what_was_written_at_every_block },
	{ "a write changes its own blocks alone", conform_forgets, a_write_changes_its_own_blocks_alone },
	{ "a large one is whole", conform_forgets, a_large_one_is_whole },
	{ "transient data may go when submit() is over", conform_forgets, transient_data_may_go_when_submit_is_over },
	{ "zeroes are written where they should be", conform_forgets, zeroes_are_written_where_they_should_be },
	{ "what is trimmed reads as zeros and nothing else does", keeps_trimmed,
	  what_is_trimmed_reads_as_zeros_and_nothing_else_does },
	{ "many ranges are trimmed by one", keeps_trimmed, many_ranges_are_trimmed_by_one },
	{ "compare-and-write writes what is as expected", conform_forgets,
	  compare_and_write_writes_what_is_as_expected },
	{ "the last byte is compared", conform_forgets, the_last_byte_is_compared },
	{ "a marked block cannot be read and its neighbours can", takes_no_marks,
	  a_marked_block_cannot_be_read_and_its_neighbours_can },
	{ "what is written is good again and what is trimmed is not", takes_no_marks,
	  what_is_written_is_good_again_and_what_is_trimmed_is_not },
	{ .name = NULL },
};
