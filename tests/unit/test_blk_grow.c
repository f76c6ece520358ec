/*
 * test_blk_grow.c - volumes in RAM, and those that forget, become larger while they are used,
 * and are as they were where that was in vain.
 */
#include <errno.h>
#include <string.h>

#include "blk/bad.h"
#include "blk/room.h"
#include "blk/volatile.h"
#include "blk_bench.h"

enum { FEW = 17 * 64 * 1024 / BS }; /* blocks of 17 stripes, in a table of 32 */

static int
grow(uint64_t blocks)
{
	return blk->ops->grow(blk, &fw.reactors[0], blocks);
}

static void
write_by(unsigned chan, uint64_t lba, int byte)
{
	io_ended(write_start(chan, 0, lba, 1, byte), NVME_SC_SUCCESS);
}

static void
a_volume_in_ram_grows_under_its_readers_and_writers(void **state)
{
	uint64_t few = IO_MAX / BS, many = 16 * few;
	struct test_io *r, *w;

	blk_begin("mem:1M");
	write_now(few - 1, 1, 'a');
	r = io_start(1, BLK_READ, BLK_MAY_LEND, few - 1, 1);
	w = write_start(0, 0, few - 1, 1, 'b');
	turns(3);
	for (uint64_t blocks = 2 * few; blocks <= many; blocks *= 2) {
		assert_int_equal(grow(blocks), 0);
		assert_int_equal(blk->blocks, blocks);
		assert_block(blocks - 17, 0);
		write_by(1, blocks - 17, 'c'); /* another slot than that of the lent one, which they share */
		assert_block(blocks - 17, 'c');
		assert_bytes(r->iov[0].iov_base, BS, 'a');
	}
	assert_true(waits(w));
	io_release(r);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(few - 1, 'b');
	assert_block(2 * few - 17, 'c');
	blk_end();
}

static void
a_volume_in_ram_grows_to_a_limit_and_is_as_it_was_beyond(void **state)
{
	uint64_t few = IO_MAX / BS;

	blk_begin("mem:1M");
	write_now(3, 1, 'a');
	assert_int_equal(grow(ROOM_TIMES * few + 1), -EFBIG);
	assert_int_equal(grow(UINT64_MAX / BS + 2), -EFBIG);
	assert_int_equal(blk->blocks, few);
	assert_int_equal(grow(ROOM_TIMES * few), 0);
	write_now(ROOM_TIMES * few - 1, 1, 'b');
	assert_int_equal(grow(ROOM_TIMES * few + 1), -EFBIG);
	assert_int_equal(blk->blocks, ROOM_TIMES * few);
	assert_block(3, 'a');
	blk_end();
	blk_begin("mem:64G");
	assert_int_equal(grow((64 * (uint64_t)IO_MAX * 1024 + ROOM_AHEAD) / BS + 1), -EFBIG);
	assert_int_equal(grow((64 * (uint64_t)IO_MAX * 1024 + ROOM_AHEAD) / BS), 0);
	write_now(blk->blocks - 1, 1, 'a');
	assert_block(blk->blocks - 1, 'a');
	blk_end();
}

static void
with_little_address_space_a_volume_works_and_grows_less(void **state)
{
	uint64_t few = IO_MAX / BS;

	for (uint64_t most = 1; most <= 8; most *= 2) { /* half of what was refused is asked for next */
		fakeworld_init(&fw, CHANS);
		fw.pages_most = most * IO_MAX + IO_MAX - 1;
		assert_int_equal(blk_open(&fw.reactors[0], "mem:1M", BS, &blk, (char[256]){ 0 }), 0);
		blk_open_chans();
		write_now(few - 1, 1, 'a');
		assert_int_equal(grow(ROOM_TIMES * few), -EFBIG);
		assert_int_equal(grow(most * few), 0);
		write_now(most * few - 1, 1, 'b');
		assert_block(most * few - 1, 'b');
		blk_end();
	}
	fakeworld_init(&fw, CHANS);
	fw.pages_most = IO_MAX - 1;
	assert_int_equal(blk_open(&fw.reactors[0], "mem:1M", BS, &blk, (char[256]){ 0 }), -ENOMEM);
	fakeworld_fini(&fw);
}

static void
a_volume_in_ram_that_finds_no_memory_is_as_it_was(void **state)
{
	uint64_t few = IO_MAX / BS;

	blk_begin("mem:1M");
	write_now(3, 1, 'a');
	fw.fail_use = true;
	assert_int_equal(grow(2 * few), -ENOMEM);
	assert_int_equal(blk->blocks, few);
	assert_block(3, 'a');
	fw.fail_use = false;
	assert_int_equal(grow(2 * few), 0);
	write_now(2 * few - 1, 1, 'b');
	blk_end();
	blk_begin("mem:128M"); /* the marks find none */
	few = blk->blocks;
	fw.pages_most = 1;
	assert_int_equal(grow(2 * few), -ENOMEM);
	assert_int_equal(blk->blocks, few);
	fw.pages_most = 0;
	assert_int_equal(grow(2 * few), 0);
	io_ended(io_start(0, BLK_MARK_BAD, 0, 2 * few - 1, 1), NVME_SC_SUCCESS);
	io_ended(io_start(1, BLK_READ, 0, 2 * few - 1, 1), NVME_SC_READ_ERROR);
	blk_end();
}

static void
blocks_beyond_those_of_a_small_volume_take_ragged_buffers(void **state)
{
	uint8_t bytes[2 * BS];
	struct test_io *w;

	blk_begin("mem:16M");
	assert_int_equal(grow(16 * blk->blocks), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (uint64_t lba = 64 * IO_MAX / BS - 4; lba < 64 * IO_MAX / BS + 4; lba++) {
		w = io_make(0, BLK_WRITE, 0, lba, 2);
		w->iov[0] = (struct iovec){ bytes, 1237 };
		w->iov[1] = (struct iovec){ bytes + 1237, sizeof(bytes) - 1237 };
		w->io.iov_count = 2;
		io_submit(w);
		io_ended(w, NVME_SC_SUCCESS);
		w = io_start(1, BLK_READ, 0, lba, 2);
		fake_turn(&fw);
		assert_memory_equal(w->buffer, bytes, sizeof(bytes));
		io_ended(w, NVME_SC_SUCCESS);
	}
	blk_end();
}

static void
new_blocks_can_be_marked_as_bad(void **state)
{
	static const char *const specs[] = { "mem:1M", "volatile:@mem:1M", "fault:hold=9@mem:1M" };

	for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
		struct test_io *m, *r;
		uint64_t last;

		blk_begin(specs[s]);
		assert_int_equal(grow(16 * blk->blocks), 0);
		last = blk->blocks - 1;
		m = io_start(0, BLK_MARK_BAD, 0, last, 1);
		io_ended(m, NVME_SC_SUCCESS);
		r = io_start(1, BLK_READ, 0, last - 1, 2);
		turns(3);
		assert_int_equal(r->io.at, last);
		io_ended(r, NVME_SC_READ_ERROR);
		write_by(1, last, 'a');
		assert_block(last, 'a');
		blk_end();
	}
}

static void
a_volume_that_forgets_grows_with_the_one_below(void **state)
{
	uint64_t more = 64 * FEW;

	blk_begin_over("volatile:@file:/v", (uint64_t)FEW * BS);
	write_by(0, FEW - 1, 'a');
	assert_int_equal(grow(4 * FEW), 0);
	assert_int_equal(grow(16 * FEW), 0);
	assert_int_equal(grow(more), -EFBIG);
	assert_int_equal(blk->blocks, 16 * FEW);
	assert_int_equal(fake_file_find(&fw, "/v")->size, (uint64_t)16 * FEW * BS);
	assert_block(FEW - 1, 'a');
	write_by(1, 16 * FEW - 1, 'b');
	assert_block(16 * FEW - 1, 'b');
	assert_bytes(fake_file_find(&fw, "/v")->bytes + (16 * FEW - 1) * BS, BS, 0);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	assert_bytes(fake_file_find(&fw, "/v")->bytes + (16 * FEW - 1) * BS, BS, 'b');
	assert_bytes(fake_file_find(&fw, "/v")->bytes + (FEW - 1) * BS, BS, 'a');
	blk_end();
}

/* It goes over what all reactors keep, and meets no one's changes: not those of blocks that came meanwhile. */
static void
a_flush_under_way_keeps_new_blocks_waiting(void **state)
{
	struct test_io *f, *w;

	blk_begin_over("volatile:@file:/v", (uint64_t)FEW * BS);
	write_by(1, 3, 'a');
	fw.hold_files = true;
	f = io_start(0, BLK_FLUSH, 0, 0, 0);
	turns(3);
	assert_int_equal(grow(2 * FEW), 0);
	w = write_start(1, 0, FEW + 3 * 16, 1, 'b'); /* its slot guards no block that was there before */
	turns(3);
	assert_true(waits(w));
	fw.hold_files = false;
	fake_files_finish(&fw);
	io_ended(f, NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	assert_block(FEW + 3 * 16, 'b');
	blk_end();
}

static void
a_volume_that_forgets_stays_where_the_one_below_cannot_grow(void **state)
{
	blk_begin_over("volatile:@file:/v", (uint64_t)FEW * BS);
	write_by(0, 3, 'a');
	fw.fail_open = -EROFS;
	assert_int_equal(grow(2 * FEW), -EROFS);
	fw.fail_open = 0;
	fw.fail_use = true;
	assert_int_equal(grow(16 * FEW), -ENOMEM);
	assert_int_equal(fake_file_find(&fw, "/v")->size, (uint64_t)FEW * BS);
	assert_int_equal(blk->blocks, FEW);
	fw.fail_use = false;
	assert_block(3, 'a');
	assert_int_equal(grow(2 * FEW), 0);
	write_by(1, 2 * FEW - 1, 'b');
	assert_block(2 * FEW - 1, 'b');
	blk_end();
	blk_begin("volatile:@null:8T"); /* the device below could */
	assert_int_equal(grow((uint64_t)UINT32_MAX + 1), -EFBIG);
	assert_int_equal(grow(UINT32_MAX), 0);
	write_by(1, UINT32_MAX - 1, 'b');
	assert_block(UINT32_MAX - 1, 'b');
	blk_end();
	blk_begin_over("volatile:@file:/v,size=128M", (uint64_t)FEW * BS);
	assert_int_equal(grow(2 * blk->blocks), 0);
	write_by(1, blk->blocks - 1, 'b');
	assert_block(blk->blocks - 1, 'b');
	blk_end();
}

/* ---- taken back ---- */

static void
undo(void)
{
	assert_int_equal(blk_undo(blk, &fw.reactors[0]), 0);
}

static void
a_volume_that_grew_in_vain_is_as_it_was_and_can_grow_again(void **state)
{
	static const char *const specs[] = {
		"mem:1M", "null:1M", "file:/v,size=1M", "fault:flush-error=9@file:/v,size=1M",
		"volatile:@file:/v,size=1M", "volatile:@mem:1M", "fault:flush-error=9@volatile:@file:/v,size=1M",
	};
	uint64_t few = IO_MAX / BS;

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		const struct fake_file *file;

		blk_begin(specs[i]);
		file = fake_file_find(&fw, "/v");
		write_by(0, few - 1, 'a');
		assert_int_equal(grow(4 * few), 0);
		undo();
		assert_int_equal(blk->blocks, few);
		assert_true(file == NULL || file->size == few * BS);
		assert_int_equal(grow(2 * few), 0);
		assert_int_equal(blk->blocks, 2 * few);
		assert_true(file == NULL || file->size == 2 * few * BS);
		write_by(1, 2 * few - 1, 'b');
		assert_int_equal(grow(3 * few), 0);
		undo(); /* to what the last one but one made of it */
		assert_int_equal(blk->blocks, 2 * few);
		assert_true(file == NULL || file->size == 2 * few * BS);
		if (strncmp(specs[i], "null", 4) != 0)
			assert_block(2 * few - 1, 'b');
		blk_end();
	}
}

/* Somebody else made it longer meanwhile. */
static void
a_file_that_did_not_have_to_become_longer_does_not_become_shorter(void **state)
{
	static const char *const specs[] = { "file:/v", "volatile:@file:/v" };

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct reactor *reactor = &fw.reactors[0];
		struct file *file;

		blk_begin_over(specs[i], (uint64_t)FEW * BS);
		assert_int_equal(reactor->world->file_open(reactor, "/v", (uint64_t)4 * FEW * BS, BS, &file), 0);
		reactor->world->file_close(file);
		assert_int_equal(grow(2 * FEW), 0);
		undo();
		assert_int_equal(blk->blocks, FEW);
		assert_int_equal(grow(2 * FEW), 0);
		assert_int_equal(grow(blk->blocks + 1), 0);
		undo();
		assert_int_equal(blk->blocks, i == 0 ? 4 * FEW : 2 * FEW);
		assert_true(i == 0 || container_of(blk, struct vol, blk)->inner->blocks == 4 * FEW);
		assert_int_equal(fake_file_find(&fw, "/v")->size, (uint64_t)4 * FEW * BS);
		blk_end();
	}
}

static void
a_file_that_opening_made_is_gone_and_one_that_was_there_is_as_long_as_before(void **state)
{
	blk_begin("fault:flush-error=9@volatile:@file:/v,size=1M");
	undo();
	assert_null(fake_file_find(&fw, "/v"));
	blk_end();
	blk_begin_over("file:/v,size=2M", (uint64_t)FEW * BS);
	assert_int_equal(fake_file_find(&fw, "/v")->size, 2 * IO_MAX);
	undo();
	assert_int_equal(fake_file_find(&fw, "/v")->size, (uint64_t)FEW * BS);
	blk_end();
	blk_begin_over("file:/v", (uint64_t)FEW * BS);
	undo();
	assert_int_equal(fake_file_find(&fw, "/v")->size, (uint64_t)FEW * BS);
	blk_end();
}

/* By an errand, say; what it did to the file is its own to take back. */
static void
a_volume_that_was_stretched_before_grows_without_its_disk(void **state)
{
	static const char *const specs[] = { "file:/v", "fault:flush-error=9@file:/v", "volatile:@file:/v" };
	int64_t was = 0;

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		const struct fake_file *file;

		blk_begin_over(specs[i], (uint64_t)FEW * BS);
		file = fake_file_find(&fw, "/v");
		for (int times = 0; times < 2; times++) {
			assert_int_equal(blk_stretch(blk, &fw.reactors[0], 2 * FEW, &was), 0);
			assert_true(was == (int64_t)(times + 1) * FEW * BS && file->size == (uint64_t)2 * FEW * BS);
			assert_int_equal(blk->blocks, FEW);
			fw.fail_open = fw.fail_fetch = -EIO;
			assert_int_equal(grow(2 * FEW), 0);
			assert_int_equal(blk->blocks, 2 * FEW);
			undo();
			fw.fail_open = fw.fail_fetch = 0;
			assert_true(blk->blocks == FEW && file->size == (uint64_t)2 * FEW * BS);
		}
		fw.fail_open = -EROFS;
		assert_int_equal(blk_stretch(blk, &fw.reactors[0], 4 * FEW, &was), -EROFS);
		fw.fail_open = 0;
		assert_int_equal(grow(4 * FEW), -EROFS);
		assert_true(blk->blocks == FEW && file->size == (uint64_t)2 * FEW * BS);
		assert_int_equal(grow(4 * FEW), 0);
		write_by(1, 4 * FEW - 1, 'b');
		assert_block(4 * FEW - 1, 'b');
		blk_end();
	}
}

/* Another file may be there by then, or none. */
static void
a_file_grows_only_if_it_is_the_one_that_was_opened(void **state)
{
	struct fake_file *file, *other;
	struct blk_chan *chan;

	blk_begin_over("file:/v", IO_MAX);
	write_now(3, 1, 'a');
	file = fake_file_find(&fw, "/v");
	strcpy(file->path, "/w");
	assert_int_equal(grow(2 * IO_MAX / BS), -ESTALE);
	assert_null(fake_file_find(&fw, "/v"));
	other = fake_file_make(&fw, "/v", IO_MAX);
	assert_int_equal(grow(2 * IO_MAX / BS), -ESTALE);
	assert_int_equal(blk->ops->open_chan(blk, &fw.reactors[0], &chan), 0);
	blk->ops->close_chan(chan);
	assert_true(other->size == IO_MAX && other->handles == 0 && file->size == IO_MAX);
	assert_int_equal(blk->blocks, IO_MAX / BS);
	strcpy(other->path, "/x");
	strcpy(file->path, "/v");
	assert_int_equal(grow(2 * IO_MAX / BS), 0);
	assert_true(other->size == IO_MAX && file->size == 2 * IO_MAX);
	assert_block(3, 'a');
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_volume_in_ram_grows_under_its_readers_and_writers),
		cmocka_unit_test(a_volume_in_ram_grows_to_a_limit_and_is_as_it_was_beyond),
		cmocka_unit_test(with_little_address_space_a_volume_works_and_grows_less),
		cmocka_unit_test(a_volume_in_ram_that_finds_no_memory_is_as_it_was),
		cmocka_unit_test(blocks_beyond_those_of_a_small_volume_take_ragged_buffers),
		cmocka_unit_test(new_blocks_can_be_marked_as_bad),
		cmocka_unit_test(a_volume_that_forgets_grows_with_the_one_below),
		cmocka_unit_test(a_flush_under_way_keeps_new_blocks_waiting),
		cmocka_unit_test(a_volume_that_forgets_stays_where_the_one_below_cannot_grow),
		cmocka_unit_test(a_volume_that_grew_in_vain_is_as_it_was_and_can_grow_again),
		cmocka_unit_test(a_volume_that_was_stretched_before_grows_without_its_disk),
		cmocka_unit_test(a_file_grows_only_if_it_is_the_one_that_was_opened),
		cmocka_unit_test(a_file_that_did_not_have_to_become_longer_does_not_become_shorter),
		cmocka_unit_test(a_file_that_opening_made_is_gone_and_one_that_was_there_is_as_long_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
