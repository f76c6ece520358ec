/*
 * test_blk.c - faults put in front of a device, and the words that open one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "blk_bench.h"

/* ---- faults ---- */

static void
a_dropped_write_is_acknowledged(void **state)
{
	struct test_io *r;

	blk_begin("fault:drop-write=2@mem:16M");
	assert_true(blk->lends);
	write_now(0, 1, 'a');
	write_now(1, 1, 'b');
	write_now(2, 1, 'c');
	assert_block(0, 'a');
	assert_block(1, 0);
	assert_block(2, 'c');
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 2, 1);
	fake_turn(&fw);
	assert_bytes(r->iov[0].iov_base, BS, 'c');
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	blk_end();
}

static void
faulty_blocks_fail_what_touches_them(void **state)
{
	struct test_io *w, *r;

	blk_begin("fault:read-error=5,write-error=9,flush-error=2@mem:16M");
	io_ended(io_start(0, BLK_READ, BLK_MAY_LEND, 4, 2), NVME_SC_READ_ERROR);
	io_ended(io_start(0, BLK_READ, 0, 6, 1), NVME_SC_SUCCESS);
	io_ended(write_start(0, 0, 9, 1, 'a'), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 0, 10), NVME_SC_WRITE_FAULT);
	write_now(5, 4, 'b');
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 20, 1);
	w = write_start(0, 0, 20, 1, 'b');
	assert_true(blk->ops->cancel(chans[0], &w->io));
	io_ended(w, NVME_SC_ABORT_REQUESTED);
	w = write_start(0, 0, 9, 1, 'b');
	assert_false(blk->ops->cancel(chans[0], &w->io)); /* its fate is sealed */
	io_ended(w, NVME_SC_WRITE_FAULT);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	blk_end();
}

static void
a_delayed_write_begins_late_and_cannot_be_stopped(void **state)
{
	struct test_io *first, *second;

	blk_begin("fault:delay-write=50@mem:16M");
	first = write_start(0, BLK_TRANSIENT, 7, 1, 'a');
	assert_non_null(first->kept);
	fw.now_ns += 20 * 1000 * 1000;
	turns(1);
	second = write_start(0, 0, 7, 2, 'b');
	assert_false(blk->ops->cancel(chans[0], &first->io));
	fw.now_ns += 29 * 1000 * 1000;
	turns(3);
	assert_int_equal(first->done, 0);
	assert_block(7, 0);
	fw.now_ns += 2 * 1000 * 1000;
	io_ended(first, NVME_SC_SUCCESS);
	assert_block(7, 'a');
	assert_int_equal(second->done, 0);
	fw.now_ns += 20 * 1000 * 1000;
	io_ended(second, NVME_SC_SUCCESS);
	assert_block(8, 'b');
	blk_end();
}

static void
what_is_held_ends_when_it_is_cancelled(void **state)
{
	struct test_io *w[3], *r;

	blk_begin("fault:hold=7@mem:16M");
	for (unsigned i = 0; i < 3; i++)
		w[i] = write_start(0, BLK_TRANSIENT, 7, 1, 'b');
	r = io_start(0, BLK_READ, 0, 6, 3);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	io_ended(write_start(0, 0, 8, 1, 'c'), NVME_SC_SUCCESS);
	blk->ops->cancel(chans[0], &w[1]->io);
	io_ended(w[1], NVME_SC_ABORT_REQUESTED);
	blk->ops->cancel(chans[0], &r->io);
	io_ended(r, NVME_SC_ABORT_REQUESTED);
	blk->ops->cancel(chans[0], &w[0]->io);
	blk->ops->cancel(chans[0], &w[2]->io);
	io_ended(w[0], NVME_SC_ABORT_REQUESTED);
	io_ended(w[2], NVME_SC_ABORT_REQUESTED);
	blk_end();
}

/* ---- opening ---- */

static void
what_is_wrong_with_a_specification_is_said_in_words(void **state)
{
	static const struct { const char *spec; uint32_t block_size; int error; const char *why; } cases[] = {
		{ "mem:1X", BS, -EINVAL, "mem:1X: `1X` is not a size (a number with K, M, G or T)" },
		{ "mem:", BS, -EINVAL, "mem:: `` is not a size (a number with K, M, G or T)" },
		{ "mem:512K", BS, -EINVAL, "mem:512K: smaller than 1M, the smallest volume" },
		{ "null:1048577", BS, -EINVAL,
		  "null:1048577: the size is not a multiple of the block size, 4096" },
		{ "null:9999999T", BS, -EINVAL, "null:9999999T: too large" },
		{ "mem:1M", 1024, -EINVAL, "mem:1M: a block has 512 or 4096 bytes, not 1024" },
		{ "ram:1M", BS, -EINVAL,
		  "ram:1M: not a volume; there are mem:SIZE, null:SIZE, file:PATH[,size=SIZE], "
		  "fault:OPTIONS@SPEC, volatile:OPTIONS@SPEC and flash:PROFILE,SIZE" },
		{ "flash:fast,1G", BS, -EINVAL,
		  "flash:fast,1G: `fast` is not a profile (tlc-plp, tlc-consumer, optane, qlc, or a file with a `/` in "
		  "its name)" },
		{ "flash:tlc-plp", BS, -EINVAL, "flash:tlc-plp: no size (flash:PROFILE,SIZE)" },
		{ "flash:optane,4M@mem:4M", BS, -EINVAL, "flash:optane,4M@mem:4M: `4M` is not an option (state=STATE, "
		  "from=FILE, seed=N, data=no)" },
		{ "flash:optane,size=4M@mem:4M", BS, -EINVAL,
		  "flash:optane,size=4M@mem:4M: a size, which is that of what is behind the `@`" },
		{ "flash:optane,4M,state=fragmented", BS, -EINVAL, "flash:optane,4M,state=fragmented: it is written in "
		  "place, and always as it is when it is fresh" },
		{ "flash:optane@null:8388607T", BS, -EINVAL, "flash:optane@null:8388607T: it has 375 GB at most, with "
		  "which the drive is sold" },
		{ "flash:optane,4M,state=old", BS, -EINVAL,
		  "flash:optane,4M,state=old: `old` is not a state (fresh, sequential, fragmented)" },
		{ "flash:optane,4M,seed=x", BS, -EINVAL, "flash:optane,4M,seed=x: `seed=x` needs a number" },
		{ "flash:tlc-plp,4M", BS, -EINVAL, "flash:tlc-plp,4M: it has 513 MiB at least, so that "
		  "each of 32 dies has blocks enough" },
		{ "flash:./none.yaml,4M", BS, -ENOENT, "flash:./none.yaml,4M: ./none.yaml: No such file or directory" },
		{ "file:/x", BS, -ENOENT, "file:/x: no such file; with a size it would be created" },
		{ "file:", BS, -EINVAL, "file:: no path" },
		{ "file:,size=1G", BS, -EINVAL, "file:,size=1G: no path" },
		{ "file:/x,size=1Q", BS, -EINVAL, "file:/x,size=1Q: `1Q` is not a size (a number with K, M, G or T)" },
		{ "file:/small", BS, -EINVAL,
		  "file:/small: the file has 4096 bytes; the smallest volume has 1M (add ,size=1G to extend it)" },
		{ "file:/odd", BS, -EINVAL,
		  "file:/odd: its size, 1049600 bytes, is not a multiple of the block size, 4096" },
		{ "fault:mem:1M", BS, -EINVAL, "fault:mem:1M: no `@SPEC` that says which device is to fail" },
		{ "fault:drop-write=0@mem:1M", BS, -EINVAL,
		  "fault:drop-write=0@mem:1M: `drop-write=0` needs a number from 1" },
		{ "fault:read-error=x@mem:1M", BS, -EINVAL,
		  "fault:read-error=x@mem:1M: `read-error=x` needs a block number" },
		{ "fault:explode@mem:1M", BS, -EINVAL,
		  "fault:explode@mem:1M: `explode` is not a fault "
		  "(drop-write=N, flush-error=N, read-error=LBA, write-error=LBA, dead=1, hold=LBA, "
		  "delay=MS, delay-write=MS)" },
		{ "fault:delay-write=3600001@mem:1M", BS, -EINVAL,
		  "fault:delay-write=3600001@mem:1M: `delay-write=3600001` needs a number from 1" },
		{ "volatile:mem:1M", BS, -EINVAL,
		  "volatile:mem:1M: no `@SPEC` that says which device is to have a cache" },
		{ "volatile:keep=1K@mem:1M", BS, -EINVAL,
		  "volatile:keep=1K@mem:1M: `keep=1K` needs a size from 64K to 1G" },
		{ "volatile:seed=0@mem:1M", BS, -EINVAL, "volatile:seed=0@mem:1M: `seed=0` needs a number from 1" },
		{ "volatile:seed=1x@mem:1M", BS, -EINVAL, "volatile:seed=1x@mem:1M: `seed=1x` needs a number from 1" },
		{ "volatile:seed=1,early@mem:1M", BS, -EINVAL,
		  "volatile:seed=1,early@mem:1M: `early` is not an option (keep=SIZE, seed=N)" },
		{ "volatile:@null:32T", BS, -EFBIG, "volatile:@null:32T: more than 4294967295 blocks" },
		{ "fault:drop-write=1@mem:1", BS, -EINVAL, "mem:1: smaller than 1M, the smallest volume" },
	};
	char why[256];

	fakeworld_init(&fw, 1);
	fake_file_make(&fw, "/small", 4096);
	fake_file_make(&fw, "/odd", 1049600);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(blk_open(&fw.reactors[0], cases[i].spec, cases[i].block_size, &blk, why),
		    cases[i].error);
		assert_string_equal(why, cases[i].why);
	}
	fakeworld_fini(&fw);
}

static void
a_file_is_made_extended_and_refused_as_it_must_be(void **state)
{
	char why[256];

	fakeworld_init(&fw, 1);
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b,size=2M", BS, &blk, why), 0);
	assert_int_equal(blk->blocks, 512);
	assert_int_equal(fake_file_find(&fw, "/a,b")->size, 2 << 20);
	blk->ops->destroy(blk);
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b,size=4M", 512, &blk, why), 0);
	assert_int_equal(blk->blocks, 8192);
	blk->ops->destroy(blk);
	fw.align = 4096; /* too much for direct I/O: through the page cache, then */
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b", 512, &blk, why), 0);
	assert_int_equal(blk->blocks, 8192);
	blk->ops->destroy(blk);
	fw.fail_open = -EACCES;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b", BS, &blk, why), -EACCES);
	assert_string_equal(why, "file:/a,b: Permission denied");
	fw.fail_open = -ENOTBLK;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b", BS, &blk, why), -ENOTBLK);
	assert_string_equal(why, "file:/a,b: neither a file nor a block device");
	fakeworld_fini(&fw);
}

static void
a_volume_says_which_file_it_is_in(void **state)
{
	static const struct { const char *spec, *path; } cases[] = {
		{ "mem:1M", NULL },
		{ "null:1M", NULL },
		{ "fault:drop-write=1@mem:1M", NULL },
		{ "file:/a", "/a" },
		{ "file:/a,size=1M", "/a" },
		{ "file:/a,b.img", "/a,b.img" },
		{ "file:/a,b.img,size=1M", "/a,b.img" },
		{ "file:/a,size=1M,size=1M", "/a,size=1M" },
		{ "file:/file:a", "/file:a" },
		{ "fault:drop-write=1,read-error=5@file:/a,b.img,size=1M", "/a,b.img" },
		{ "fault:drop-write=1@fault:flush-error=1@file:/a", "/a" },
		{ "volatile:@mem:1M", NULL },
		{ "volatile:keep=64K,seed=7@fault:drop-write=1@file:/a", "/a" },
	};
	char why[256];

	fakeworld_init(&fw, 1);
	fake_file_make(&fw, "/a", 1 << 20);
	fake_file_make(&fw, "/a,b.img", 1 << 20);
	fake_file_make(&fw, "/file:a", 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (blk_open(&fw.reactors[0], cases[i].spec, BS, &blk, why) != 0)
			fail_msg("%s", why);
		assert_int_equal(blk->path == NULL, cases[i].path == NULL);
		if (blk->path != NULL)
			assert_string_equal(blk->path, cases[i].path);
		blk->ops->destroy(blk);
	}
	fakeworld_fini(&fw);
}

/* What was written is as lasting as what it is kept in: the kernel's memory, or the volume's own. */
static void
a_volume_has_the_life_of_what_keeps_its_writes(void **state)
{
	static const struct { const char *spec; bool anew, boots; } rows[] = {
		{ "file:/v", false, true }, { "fault:delay=1@file:/v", false, true }, { "null:16M", false, false },
		{ "mem:16M", true, true }, { "fault:delay=1@mem:16M", true, true }, { "volatile:@file:/v", true, true },
		{ "volatile:@null:16M", true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t life;

		blk_begin_over(rows[i].spec, 16 * 1024 * 1024);
		life = blk->cache_life;
		assert_int_equal(life == 0, !rows[i].boots);
		blk_begin_again();
		assert_int_equal(blk->cache_life != life, rows[i].anew);
		life = blk->cache_life;
		fw.boots++;
		blk_begin_again();
		assert_int_equal(blk->cache_life != life, rows[i].boots);
		blk_end();
	}
}

/* A drive takes milliseconds where something has to wait for a program, or an erase. */
static void
drive_ended(struct test_io *t, int byte)
{
	for (int waited = 0; t->done == 0 && waited < 100; waited++)
		turns(1000);
	if (t->io.op == BLK_READ)
		assert_bytes(t->buffer, t->iov[0].iov_len, byte);
	io_ended(t, NVME_SC_SUCCESS);
}

/* As small as they can be; the suite that all devices are held to has drives that are smaller than any that is sold. */
static void
drives_that_are_sold_are_volumes(void **state)
{
	static const char *const specs[] = { "flash:tlc-plp,513M", "flash:tlc-consumer,513M" };
	enum { STEP = 256, STEPS = 16, LAST = 513 * STEP - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		blk_begin(specs[i]);
		assert_int_equal(blk->blocks, LAST + 1);
		for (uint64_t step = 0; step < STEPS; step++)
			drive_ended(write_start(0, 0, step * STEP, STEP, 1 + (int)step), 0);
		drive_ended(write_start(0, 0, LAST, 1, 'z'), 0);
		drive_ended(io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, STEP - 1, 2), 0);
		drive_ended(io_start(0, BLK_FLUSH, 0, 0, 0), 0);
		for (uint64_t lba = 0; lba < STEPS * STEP; lba++)
			drive_ended(io_start(0, BLK_READ, 0, lba, 1),
			    lba == STEP - 1 || lba == STEP ? 0 : 1 + (int)(lba / STEP));
		drive_ended(io_start(0, BLK_READ, 0, LAST / 2, STEP), 0);
		drive_ended(io_start(0, BLK_READ, 0, LAST, 1), 'z');
		blk_end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dropped_write_is_acknowledged),
		cmocka_unit_test(faulty_blocks_fail_what_touches_them),
		cmocka_unit_test(a_delayed_write_begins_late_and_cannot_be_stopped),
		cmocka_unit_test(what_is_held_ends_when_it_is_cancelled),
		cmocka_unit_test(what_is_wrong_with_a_specification_is_said_in_words),
		cmocka_unit_test(a_file_is_made_extended_and_refused_as_it_must_be),
		cmocka_unit_test(a_volume_says_which_file_it_is_in),
		cmocka_unit_test(a_volume_has_the_life_of_what_keeps_its_writes),
		cmocka_unit_test(drives_that_are_sold_are_volumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
