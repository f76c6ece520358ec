/*
 * test_drive.c - how long a command takes that has a drive for itself, or meets another one; and what is read after
 * what hosts seldom do.
 *
 * Times are worked out from the numbers of the built-in profiles (profiles/NAME.yaml), as doc/flash.md says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drive_bench.h"

enum { KIB = 1024, PAGES_MAX = 512 };

/* ---- times ---- */

struct timed {
	struct arena arena;
	struct flash_profile profile;
	struct drive *drive;
	struct drive_cmd cmds[8];
	uint64_t now_ns;
};

/* As it is sold, but of so many bytes, 0: as few as can be; `full`: every unit was written once, in order, and it was
 * left alone then. */
static void
timed_open_of(struct timed *t, const char *profile, uint64_t bytes, bool full)
{
	struct drive_options options = { .seed = 1 };
	char why[FLASH_WHY];

	*t = (struct timed){ 0 };
	arena_init(&t->arena, 0);
	assert_int_equal(flash_profile_find(&t->arena, profile, &t->profile), 0);
	options.profile = t->profile;
	if (bytes == 0)
		bytes = flash_geometry_smallest(&t->profile);
	assert_int_equal(flash_geometry_init(&options.geometry, &t->profile, bytes, why), 0);
	assert_int_equal(drive_create(&t->arena, &options, &t->drive), 0);
	for (uint32_t unit = 0; full && unit < options.geometry.units; unit++)
		ftl_write(drive_ftl(t->drive), unit);
	if (!full)
		return;
	ftl_rest(drive_ftl(t->drive));
	ftl_finish_rows(drive_ftl(t->drive));
}

static void
timed_open(struct timed *t, const char *profile, bool full)
{
	timed_open_of(t, profile, UINT64_C(64) << 30, full);
}

static void
timed_close(struct timed *t)
{
	drive_destroy(t->drive);
	arena_drop(&t->arena);
}

static void
timed_send(struct timed *t, int i, enum drive_op op, uint64_t offset, uint64_t bytes, bool fua)
{
	t->cmds[i] = (struct drive_cmd){ .op = (uint8_t)op, .offset = offset, .bytes = bytes, .fua = fua };
	drive_submit(t->drive, &t->cmds[i], t->now_ns);
}

/* Of all that were sent those with these numbers are answered, in this order, so long after now. */
static void
timed_expect(struct timed *t, int i, uint64_t ns)
{
	struct drive_cmd *cmd = drive_run(t->drive, UINT64_MAX - 1);

	assert_ptr_equal(cmd, &t->cmds[i]);
	assert_int_equal(cmd->end_ns - t->now_ns, ns);
}

/* The drive has nothing more to do, and a second has passed. */
static void
timed_rest(struct timed *t)
{
	t->now_ns += 1000000000;
	assert_null(drive_run(t->drive, t->now_ns));
	assert_int_equal(drive_next(t->drive), UINT64_MAX);
}

static void
timed_one(struct timed *t, enum drive_op op, uint64_t offset, uint64_t bytes, bool fua, uint64_t ns)
{
	timed_send(t, 0, op, offset, bytes, fua);
	timed_expect(t, 0, ns);
	timed_rest(t);
}

/* A byte takes 0.3125 ns on the link (3.2 GB/s), and 1.06 bytes go over the channel for each. */
static void
an_idle_enterprise_drive_takes_what_its_profile_says(void **state)
{
	struct timed t;

	(void)state;
	timed_open(&t, "tlc-plp", true);
	/* 21 us controller, 55 us sensing, 4096 x 1.06 / 533 MB/s = 8146 ns, 4096 x 0.3125 = 1280 ns link */
	timed_one(&t, DRIVE_READ, 40960, 4 * KIB, false, 21000 + 55000 + 8146 + 1280);
	/* 512 x 1.06 / 533 = 1019 ns; 160 ns */
	timed_one(&t, DRIVE_READ, 4 * KIB + 512, 512, false, 21000 + 55000 + 1019 + 160);
	/* eight pages on as many channels: 16384 x 1.06 / 533 = 32584 ns; then all of it over the link */
	timed_one(&t, DRIVE_READ, 0, 128 * KIB, false, 21000 + 55000 + 32584 + 40960);
	/* 15 us controller, and the link; the same where it is to be durable, as all of it is */
	timed_one(&t, DRIVE_WRITE, 8 * KIB, 4 * KIB, false, 15000 + 1280);
	timed_one(&t, DRIVE_WRITE, 8 * KIB, 4 * KIB, true, 15000 + 1280);
	timed_one(&t, DRIVE_WRITE, 128 * KIB, 128 * KIB, false, 15000 + 40960);
	/* in part: who wrote has his answer before the rest is read */
	timed_one(&t, DRIVE_WRITE, 400 * KIB, 512, false, 15000 + 160);
	/* from the buffer */
	timed_one(&t, DRIVE_READ, 8 * KIB, 4 * KIB, false, 21000 + 1280);
	timed_one(&t, DRIVE_FLUSH, 0, 0, false, 15000 + 10000);
	timed_one(&t, DRIVE_TRIM, 0, UINT64_C(1) << 20, false, 15000);
	/* of nothing */
	timed_one(&t, DRIVE_READ, 0, 4 * KIB, false, 21000 + 1280);
	/* 16384 units, and after each 4096 that are trimmed the drive takes 10 us */
	timed_one(&t, DRIVE_TRIM, UINT64_C(1) << 30, UINT64_C(64) << 20, false, 15000 + 3 * 10000);
	timed_close(&t);
}

static void
an_idle_consumer_drive_takes_what_its_profile_says(void **state)
{
	/* what is in the buffer goes to a row in SLC mode, two pages of 16384 x 1.06 / 640 MB/s = 27136 ns each; the
	 * journal takes one page */
	const uint64_t row_ns = 2 * 27136 + 500000, journal_ns = 27136 + 350000;
	struct timed t;

	(void)state;
	timed_open(&t, "tlc-consumer", false);
	timed_one(&t, DRIVE_FLUSH, 0, 0, false, 14000 + 300000); /* of nothing */
	timed_one(&t, DRIVE_WRITE, 8 * KIB, 4 * KIB, false, 14000 + 1280);
	timed_one(&t, DRIVE_READ, 8 * KIB, 4 * KIB, false, 5000 + 1280);
	timed_one(&t, DRIVE_FLUSH, 0, 0, false, 14000 + row_ns + journal_ns);
	/* 4096 x 1.06 / 640 = 6784 ns */
	timed_one(&t, DRIVE_READ, 8 * KIB, 4 * KIB, false, 5000 + 55000 + 6784 + 1280);
	timed_one(&t, DRIVE_WRITE, 8 * KIB, 4 * KIB, true, 14000 + 1280 + row_ns + journal_ns);
	timed_one(&t, DRIVE_READ, 64 * KIB, 4 * KIB, false, 5000 + 1280); /* of nothing */
	/* a trim is in the buffer until the journal has it, so nothing but that is written */
	timed_one(&t, DRIVE_TRIM, 8 * KIB, 4 * KIB, false, 14000);
	timed_one(&t, DRIVE_FLUSH, 0, 0, false, 14000 + 300000 + journal_ns);
	timed_one(&t, DRIVE_READ, 8 * KIB, 4 * KIB, false, 5000 + 1280);
	timed_close(&t);
}

/* There is space for SLC mode on a full drive too, and what was written to it is folded between: now and then the die
 * of the journal is at that, and at worst programs a row. */
static void
a_full_consumer_drive_flushes_as_fast_as_a_new_one(void **state)
{
	enum { FLUSHES = 2000 };
	const uint64_t flush_ns = 14000 + 2 * 27136 + 500000 + 27136 + 350000, row_ns = 6 * 27136 + 2200000;
	uint64_t longer_ns = 0;
	struct timed t;

	(void)state;
	timed_open_of(&t, "tlc-consumer", UINT64_C(8) << 30, true);
	for (uint64_t i = 0; i < FLUSHES; i++) {
		timed_one(&t, DRIVE_WRITE, i * 8 * KIB, 4 * KIB, false, 14000 + 1280);
		timed_send(&t, 0, DRIVE_FLUSH, 0, 0, false);
		assert_ptr_equal(drive_run(t.drive, UINT64_MAX - 1), &t.cmds[0]);
		assert_in_range(t.cmds[0].end_ns - t.now_ns, flush_ns, flush_ns + row_ns);
		longer_ns += t.cmds[0].end_ns - t.now_ns - flush_ns;
		timed_rest(&t);
	}
	assert_in_range(longer_ns / FLUSHES, 0, flush_ns / 20);
	assert_true(ftl_counts(drive_ftl(t.drive))->fold_units > FLUSHES / 2);
	timed_close(&t);
}

static void
an_idle_drive_of_large_units_takes_what_its_profile_says(void **state)
{
	struct timed t;
	uint32_t place, sense_ns;

	(void)state;
	timed_open(&t, "qlc", true);
	/* the first unit lies on the second die, which has 101 blocks of 12 rows of 4 units: from 75 to 105 us, by the
	 * place times 2^32 / 1.618 */
	place = ftl_map(drive_ftl(t.drive))[0];
	assert_int_equal(place, drive_geometry(t.drive)->blocks * drive_geometry(t.drive)->block_units);
	sense_ns = 75000 + (uint32_t)((uint64_t)(place * UINT32_C(2654435761)) * 30001 >> 32);
	/* 14 us controller, 4096 x 1.06 / 1200 MB/s = 3619 ns, 4096 / 7 GB/s = 585 ns */
	timed_one(&t, DRIVE_READ, 0, 4 * KIB, false, 14000 + sense_ns + 3619 + 585);
	/* 65536 x 1.06 / 1200 = 57891 ns; 9362 ns */
	timed_one(&t, DRIVE_READ, 0, 64 * KIB, false, 14000 + sense_ns + 57891 + 9362);
	/* before the rest of the unit is read */
	timed_one(&t, DRIVE_WRITE, 4 * KIB, 4 * KIB, false, 15000 + 585);
	timed_one(&t, DRIVE_WRITE, 64 * KIB, 64 * KIB, false, 15000 + 9362);
	timed_close(&t);
}

static void
the_front_end_begins_one_command_after_the_other(void **state)
{
	struct timed t;

	(void)state;
	timed_open(&t, "tlc-plp", false);
	for (int i = 0; i < 3; i++)
		timed_send(&t, i, DRIVE_READ, 0, 512, false);
	for (int i = 0; i < 3; i++) /* 900,000 a second */
		timed_expect(&t, i, 21000 + 160 + (uint64_t)i * 1111);
	timed_close(&t);
}

static void
the_link_moves_one_transfer_after_the_other_each_way(void **state)
{
	struct timed t;

	(void)state;
	timed_open(&t, "tlc-plp", false);
	timed_send(&t, 0, DRIVE_READ, 0, 128 * KIB, false);
	timed_send(&t, 1, DRIVE_WRITE, 0, 128 * KIB, false);
	timed_send(&t, 2, DRIVE_READ, 1024 * KIB, 128 * KIB, false);
	timed_send(&t, 3, DRIVE_WRITE, 1024 * KIB, 128 * KIB, false);
	timed_expect(&t, 1, 15000 + 1111 + 40960);
	timed_expect(&t, 0, 21000 + 40960);
	timed_expect(&t, 3, 15000 + 1111 + 2 * 40960);
	timed_expect(&t, 2, 21000 + 2 * 40960);
	timed_close(&t);
}

static void
no_more_commands_are_inside_than_there_may_be(void **state)
{
	struct flash_profile p;
	struct drive_bench b;
	struct drive_cmd cmds[4];

	(void)state;
	drive_bench_profile(&p);
	p.power_loss_protection = 1;
	p.commands_max = 2;
	drive_bench_open(&b, &p, 600, 1);
	for (int i = 0; i < 4; i++) {
		cmds[i] = (struct drive_cmd){ .op = DRIVE_FLUSH };
		drive_submit(b.drive, &cmds[i], 0);
	}
	for (int i = 0; i < 4; i++) /* 10 us each, two at a time, half a microsecond apart */
		assert_ptr_equal(drive_run(b.drive, 1000000), &cmds[i]);
	assert_int_equal(cmds[0].end_ns, 10000);
	assert_int_equal(cmds[1].end_ns, 10500);
	assert_int_equal(cmds[2].end_ns, 20000);
	assert_int_equal(cmds[3].end_ns, 20500);
	drive_bench_close(&b);
}

static void
when_the_power_is_back_the_drive_is_idle(void **state)
{
	struct timed t;

	(void)state;
	timed_open(&t, "tlc-plp", true);
	for (int i = 0; i < 4; i++)
		timed_send(&t, i, i < 2 ? DRIVE_WRITE : DRIVE_READ, 0, 1024 * KIB, false);
	assert_null(drive_run(t.drive, 200000));
	drive_cut(t.drive, 200000);
	t.now_ns = 200000;
	timed_one(&t, DRIVE_WRITE, 0, 4 * KIB, false, 15000 + 1280);
	timed_one(&t, DRIVE_READ, 1024 * KIB, 4 * KIB, false, 21000 + 55000 + 8146 + 1280);
	timed_close(&t);
}

/* Each is answered, however little room there is. */
static void
full_drives_take_random_writes_at_any_depth(void **state)
{
	static const char *const profiles[] = { "tlc-plp", "tlc-consumer", "qlc" };
	static struct drive_cmd cmds[256];
	struct drive_cmd *cmd;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int i = 0; i < 3; i++) {
		uint64_t units, bytes;
		struct timed t;

		memset(cmds, 0, sizeof(cmds));
		timed_open_of(&t, profiles[i], 0, true);
		units = drive_geometry(t.drive)->units;
		bytes = drive_geometry(t.drive)->unit_bytes;
		for (int sent = 0; sent < 60000; sent++) {
			cmd = sent < 256 ? &cmds[sent] : drive_run(t.drive, UINT64_MAX - 1);
			assert_non_null(cmd);
			*cmd = (struct drive_cmd){ .op = DRIVE_WRITE, .offset = rng_below(&rng, units) * bytes,
				.bytes = sent % 3 == 0 ? DRIVE_SECTOR : bytes, .end_ns = cmd->end_ns };
			drive_submit(t.drive, cmd, cmd->end_ns);
		}
		for (int left = 256; left > 0; left--)
			assert_non_null(drive_run(t.drive, UINT64_MAX - 1));
		assert_null(drive_run(t.drive, UINT64_MAX - 1));
		assert_null(drive_check(t.drive, true));
		timed_close(&t);
	}
}

/* ---- contents ---- */

static void
now(struct drive_bench *b, enum drive_op op, uint64_t first_sector, uint64_t sectors)
{
	drive_bench_send(b, drive_bench_slot(b), op, first_sector, sectors, false);
	drive_bench_drain(b);
}

static void
what_is_written_in_part_over_a_trim_has_zeros_beside_it(void **state)
{
	struct flash_profile p;
	struct drive_bench b;

	(void)state;
	drive_bench_profile(&p);
	for (p.power_loss_protection = 0; p.power_loss_protection < 2; p.power_loss_protection++) {
		drive_bench_open(&b, &p, 600, 1);
		now(&b, DRIVE_WRITE, 0, 8);
		now(&b, DRIVE_FLUSH, 0, 0);
		now(&b, DRIVE_TRIM, 0, 8);
		now(&b, DRIVE_WRITE, 3, 2);
		now(&b, DRIVE_READ, 0, 8);
		drive_bench_close(&b);
	}
}

/* Whenever it is written again: while the flush waits, or its journal is written, or after that. */
static void
what_was_before_a_flushed_trim_does_not_come_back(void **state)
{
	struct flash_profile p;
	struct drive_bench b;

	(void)state;
	drive_bench_profile(&p);
	for (uint64_t ns = 0; ns < 100000; ns += 500) {
		drive_bench_open(&b, &p, 600, 1);
		now(&b, DRIVE_WRITE, 0, 8);
		now(&b, DRIVE_FLUSH, 0, 0);
		now(&b, DRIVE_TRIM, 0, 8);
		drive_bench_send(&b, drive_bench_slot(&b), DRIVE_FLUSH, 0, 0, false);
		drive_bench_run(&b, ns);
		now(&b, DRIVE_WRITE, 0, 8);
		drive_bench_cut(&b);
		drive_bench_read_all(&b);
		drive_bench_close(&b);
	}
}

/* Its die may be erasing, and so does not begin with what it waits for. */
static void
a_flush_does_not_wait_for_what_is_trimmed_meanwhile(void **state)
{
	struct flash_profile p;
	struct drive_bench b;

	(void)state;
	drive_bench_profile(&p);
	drive_bench_open(&b, &p, 600, 1);
	drive_bench_fill(&b);
	for (int i = 0; i < 3000; i++) {
		uint64_t sector = 8 * rng_below(&b.rng, 600), beside = rng_below(&b.rng, 2);

		drive_bench_send(&b, drive_bench_slot(&b), DRIVE_WRITE, sector + beside, 8 - beside, false);
		drive_bench_run(&b, rng_below(&b.rng, 10000));
		drive_bench_send(&b, drive_bench_slot(&b), DRIVE_FLUSH, 0, 0, false);
		drive_bench_run(&b, rng_below(&b.rng, 10000));
		drive_bench_send(&b, drive_bench_slot(&b), DRIVE_TRIM, sector, 8, false);
		drive_bench_drain(&b);
		if (i % 8 == 0)
			drive_bench_fill(&b);
	}
	drive_bench_close(&b);
}

/* ---- memory ---- */

static void
a_drive_that_finds_no_memory_leaves_none_behind(void **state)
{
	struct drive_options options = { .seed = 1 };
	struct drive *drive;
	struct arena arena;
	char why[FLASH_WHY];
	static uint8_t store[600 * 4096], region[4096];
	int error = -1;

	(void)state;
	drive_bench_profile(&options.profile);
	options.store = store;
	options.profile.pmr_bytes = sizeof(region);
	options.pmr = region;
	assert_int_equal(flash_geometry_init(&options.geometry, &options.profile, sizeof(store), why), 0);
	arena_init(&arena, 0);
	for (uint64_t at = 1; error != 0; at++) {
		arena.fail_at = at;
		error = drive_create(&arena, &options, &drive);
		if (error == 0) {
			assert_true(at > 16);
			drive_destroy(drive);
		} else {
			assert_int_equal(error, -12);
		}
		assert_int_equal(arena.bytes, 0);
	}
}

/* ---- the last free block ---- */

/* One die of eleven blocks of four rows. */
static void
timed_open_small(struct timed *t)
{
	struct drive_options options = { .seed = 1, .geometry = { .units = 165, .unit_bytes = 4 * KIB, .channels = 1,
		.dies = 1, .planes = 1, .blocks = 11, .block_units = 32, .row_units = 8, .page_units = 2,
		.unit_pages = 1, .block_rows = 4, .erase_ns = 300000 } };

	*t = (struct timed){ 0 };
	arena_init(&t->arena, 0);
	drive_bench_profile(&options.profile);
	options.profile.channels = options.profile.dies = 1;
	assert_int_equal(drive_create(&t->arena, &options, &t->drive), 0);
}

static void
write_unit(struct timed *t, uint64_t unit)
{
	timed_send(t, 0, DRIVE_WRITE, unit * 4 * KIB, 4 * KIB, false);
	assert_ptr_equal(drive_run(t->drive, UINT64_MAX - 1), &t->cmds[0]);
	t->now_ns = t->cmds[0].end_ns;
}

/*
 * Five blocks are written in order, and then but for one unit of each once more, with a unit that is new instead: all
 * blocks are full then but those five, and one is free.  What was left in them fills no row, and nothing else can be
 * collected.
 */
static void
what_was_collected_last_is_padded_where_nothing_else_can_be(void **state)
{
	const struct ftl_counts *counts;
	struct timed t;

	(void)state;
	timed_open_small(&t);
	counts = ftl_counts(drive_ftl(t.drive));
	for (uint64_t unit = 0; unit < 5 * 32; unit++)
		write_unit(&t, unit);
	for (uint64_t unit = 0; unit < 5 * 32; unit++)
		write_unit(&t, unit % 32 < 31 ? unit : 5 * 32 + unit / 32);
	timed_rest(&t);
	assert_int_equal(ftl_free_blocks(drive_ftl(t.drive), 0), 1);
	assert_int_equal(counts->gc_units + counts->pad_units, 0);
	for (uint64_t unit = 0; unit < 8; unit++)
		write_unit(&t, unit);
	timed_rest(&t);
	assert_int_equal(counts->host_units, 2 * 5 * 32 + 8);
	assert_int_equal(counts->gc_units, 5);
	assert_int_equal(counts->pad_units, 3);
	assert_int_equal(counts->erases, 5);
	assert_null(drive_check(t.drive, true));
	timed_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_enterprise_drive_takes_what_its_profile_says),
		cmocka_unit_test(an_idle_consumer_drive_takes_what_its_profile_says),
		cmocka_unit_test(a_full_consumer_drive_flushes_as_fast_as_a_new_one),
		cmocka_unit_test(an_idle_drive_of_large_units_takes_what_its_profile_says),
		cmocka_unit_test(the_front_end_begins_one_command_after_the_other),
		cmocka_unit_test(the_link_moves_one_transfer_after_the_other_each_way),
		cmocka_unit_test(no_more_commands_are_inside_than_there_may_be),
		cmocka_unit_test(when_the_power_is_back_the_drive_is_idle),
		cmocka_unit_test(full_drives_take_random_writes_at_any_depth),
		cmocka_unit_test(what_is_written_in_part_over_a_trim_has_zeros_beside_it),
		cmocka_unit_test(what_was_before_a_flushed_trim_does_not_come_back),
		cmocka_unit_test(a_flush_does_not_wait_for_what_is_trimmed_meanwhile),
		cmocka_unit_test(a_drive_that_finds_no_memory_leaves_none_behind),
		cmocka_unit_test(what_was_collected_last_is_padded_where_nothing_else_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
