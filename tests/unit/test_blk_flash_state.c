/*
 * test_blk_flash_state.c - a volume on a modelled drive: the state that it is opened in, and what is left of it when
 * its power goes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "blk_bench.h"
#include "blk/flash.h"
#include "flash/condition.h"

#define MIB (UINT64_C(1) << 20)

enum { SMALL = 520, SEED = 7, AREA = 64, TURNS = 100000 };

static void
named(const char *name, struct flash_profile *profile)
{
	struct arena arena;

	arena_init(&arena, 0);
	assert_int_equal(flash_profile_find(&arena, name, profile), 0);
	arena_drop(&arena);
}

/* What `weir flash condition` would write. */
static struct fake_file *
keep_state(const char *path, const char *name, enum condition_kind kind)
{
	struct condition condition = condition_of(kind, SEED);
	struct flash_geometry geometry;
	struct flash_profile profile;
	struct fake_file *file;
	char why[FLASH_WHY];
	struct ftl *ftl;

	named(name, &profile);
	assert_int_equal(flash_geometry_init(&geometry, &profile, SMALL * MIB, why), 0);
	assert_int_equal(ftl_create(&fw.arena, &geometry, &profile, &ftl), 0);
	condition_make(ftl, &condition);
	file = fake_file_make(&fw, path, condition_bytes(ftl));
	condition_save(ftl, flash_profile_hash(&profile), &condition, file->bytes);
	ftl_destroy(ftl);
	return file;
}

static void
opens(const char *spec)
{
	char why[256];

	if (blk_open(&fw.reactors[0], spec, BS, &blk, why) != 0)
		fail_msg("%s", why);
	blk->ops->destroy(blk);
}

static void
refused(const char *spec, int error, const char *words)
{
	char why[256], whole[256];

	snprintf(whole, sizeof(whole), "%s: %s", spec, words);
	assert_int_equal(blk_open(&fw.reactors[0], spec, BS, &blk, why), error);
	assert_string_equal(why, whole);
}

static void
a_state_that_was_kept_is_taken_of_the_same_drive_alone(void **state)
{
	struct fake_file *file;

	(void)state;
	fakeworld_init(&fw, 1);
	file = keep_state("/s", "tlc-plp", CONDITION_FRAGMENTED);
	opens("flash:tlc-plp,520M,from=/s");
	opens("flash:tlc-plp,520M,from=/s,state=fragmented,seed=7,data=no");
	refused("flash:tlc-plp,520M,from=/s,seed=8", -EINVAL, "what /s keeps is of seed 7, not 8");
	refused("flash:tlc-plp,520M,from=/s,state=sequential", -EINVAL, "what /s keeps is fragmented, not sequential");
	refused("flash:tlc-plp,540M,from=/s", -EINVAL, "bytes of the state: they are of a drive of "
	    "another size");
	refused("flash:tlc-consumer,520M,from=/s", -EINVAL, "bytes of the state: they are "
	    "of a drive with another profile");
	refused("flash:optane,520M,from=/s", -EINVAL, "bytes of the state: they are of a "
	    "drive with another profile");
	refused("flash:tlc-plp,520M,from=/none", -ENOENT, "/none: No such file or directory");
	file->bytes[100000] ^= 1;
	refused("flash:tlc-plp,520M,from=/s", -EINVAL, "bytes of the state: they are "
	    "damaged: their checksum does not match");
	file->bytes[0] = 'w';
	refused("flash:tlc-plp,520M,from=/s", -EINVAL, "/s: it is no state of a modelled SSD");
	fakeworld_fini(&fw);
}

/* A read of what was never written senses nothing. */
static uint64_t
read_ns(const char *spec)
{
	struct test_io *t;
	uint64_t begun;

	if (blk_open(&fw.reactors[0], spec, BS, &blk, (char[256]){ "" }) != 0)
		fail();
	blk_open_chans();
	begun = fw.now_ns;
	t = io_start(0, BLK_READ, 0, 5, 1);
	io_ended(t, NVME_SC_SUCCESS);
	begun = fw.now_ns - begun;
	for (unsigned i = 0; i < CHANS; i++)
		blk->ops->close_chan(chans[i]);
	blk->ops->destroy(blk);
	return begun;
}

static void
a_drive_is_in_the_state_that_was_kept(void **state)
{
	uint64_t fresh_ns;

	(void)state;
	fakeworld_init(&fw, CHANS);
	(void)keep_state("/s", "tlc-plp", CONDITION_SEQUENTIAL);
	fresh_ns = read_ns("flash:tlc-plp,520M");
	assert_int_equal(read_ns("flash:tlc-plp,520M,from=/s"), read_ns("flash:tlc-plp,520M,state=sequential"));
	assert_true(read_ns("flash:tlc-plp,520M,from=/s") > fresh_ns + 50000);
	fakeworld_fini(&fw);
}

/* ---- power ---- */

static void
hears_of_mail(void)
{
	for (unsigned i = 0; i < CHANS; i++)
		fw.reactors[i].on_mail = blk_mail;
}

/* A drive takes longer than memory. */
static void
ended(struct test_io *t)
{
	for (int turns = 0; t->done == 0 && turns < TURNS; turns++)
		fake_turn(&fw);
	io_ended(t, NVME_SC_SUCCESS);
}

static void
write_area(uint32_t flags, int byte)
{
	for (uint64_t lba = 0; lba < AREA; lba++)
		ended(write_start(lba % CHANS, flags, lba, 1, byte));
}

/* How many blocks of the area have that byte; all others have the other. */
static unsigned
count_area(int byte, int other)
{
	unsigned count = 0;

	for (uint64_t lba = 0; lba < AREA; lba++) {
		struct test_io *t = io_start(0, BLK_READ, 0, lba, 1);

		for (int turns = 0; t->done == 0 && turns < TURNS; turns++)
			fake_turn(&fw);
		count += t->buffer[0] == byte;
		assert_bytes(t->buffer, BS, t->buffer[0] == byte ? byte : other);
		io_ended(t, NVME_SC_SUCCESS);
	}
	return count;
}

/* Whether something is, of what was written after all was durable. */
static bool
loses_with_the_process(const char *spec)
{
	unsigned newer;

	blk_begin_over(spec, 513 * MIB);
	hears_of_mail();
	write_area(0, 1);
	ended(io_start(1, BLK_FLUSH, 0, 0, 0));
	blk_begin_again();
	assert_int_equal(count_area(1, 0), AREA);
	write_area(BLK_FUA, 2);
	blk_begin_again();
	assert_int_equal(count_area(2, 0), AREA);
	write_area(0, 3);
	blk_begin_again();
	newer = count_area(3, 2);
	blk_end();
	return newer < AREA;
}

static void
a_drive_over_another_volume_loses_its_buffer_with_the_process(void **state)
{
	(void)state;
	assert_true(loses_with_the_process("flash:tlc-consumer@file:/v"));
	assert_false(loses_with_the_process("flash:tlc-plp@file:/v"));
	assert_false(loses_with_the_process("flash:optane@file:/v"));
}

static unsigned
cut(const char *spec)
{
	struct test_io *under_way[CHANS];
	unsigned newer;

	blk_begin(spec);
	hears_of_mail();
	write_area(0, 1);
	ended(io_start(1, BLK_FLUSH, 0, 0, 0));
	write_area(0, 2);
	for (unsigned chan = 0; chan < CHANS; chan++)
		under_way[chan] = write_start(chan, 0, 1000 + chan, 1, 3);
	for (int turn = 0; turn < 3; turn++) /* from reactor to reactor, and to the drive */
		fake_turn(&fw);
	flash_cut(blk, &fw.reactors[0]);
	for (unsigned chan = 0; chan < CHANS; chan++)
		io_ended(under_way[chan], NVME_SC_POWER_LOSS);
	newer = count_area(2, 1);
	write_area(BLK_FUA, 4);
	flash_cut(blk, &fw.reactors[0]);
	assert_int_equal(count_area(4, 4), AREA);
	blk_end();
	return newer;
}

static void
when_its_power_goes_what_was_under_way_fails_and_what_was_flushed_is_there(void **state)
{
	(void)state;
	assert_int_equal(cut("flash:tlc-consumer,513M"), 0); /* of a buffer that is not full nothing was programmed */
	assert_int_equal(cut("flash:tlc-plp,513M"), AREA);
	assert_int_equal(cut("flash:optane,513M"), AREA);
}

/* Nobody has a channel, and time has passed that the drive has not seen. */
static void
the_power_goes_where_nobody_is(void **state)
{
	(void)state;
	blk_begin("flash:tlc-consumer,513M");
	hears_of_mail();
	write_area(0, 1);
	for (unsigned i = 0; i < CHANS; i++)
		blk->ops->close_chan(chans[i]);
	fw.now_ns += 1000000;
	flash_cut(blk, &fw.reactors[0]);
	blk_open_chans();
	assert_int_equal(count_area(0, 1), AREA);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_that_was_kept_is_taken_of_the_same_drive_alone),
		cmocka_unit_test(a_drive_is_in_the_state_that_was_kept),
		cmocka_unit_test(a_drive_over_another_volume_loses_its_buffer_with_the_process),
		cmocka_unit_test(when_its_power_goes_what_was_under_way_fails_and_what_was_flushed_is_there),
		cmocka_unit_test(the_power_goes_where_nobody_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
