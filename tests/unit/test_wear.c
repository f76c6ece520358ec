/* test_wear.c - how worn drives are: sums held against what each block, and each command, did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flash/condition.h"
#include "flash/wear.h"

struct bench {
	struct arena arena;
	struct drive_options options;
	struct drive *drive;
};

/* As small as it can be, and it bears so many erases; 0: as many as its profile says. */
static void
begin(struct bench *b, const char *profile, uint32_t endurance)
{
	struct flash_profile *p = &b->options.profile;
	char why[FLASH_WHY];

	*b = (struct bench){ .options.seed = 1 };
	arena_init(&b->arena, 0);
	assert_int_equal(flash_profile_find(&b->arena, profile, p), 0);
	if (endurance > 0)
		p->endurance = endurance;
	assert_int_equal(flash_geometry_init(&b->options.geometry, p, flash_geometry_smallest(p), why), 0);
	assert_int_equal(drive_create(&b->arena, &b->options, &b->drive), 0);
}

static void
finish(struct bench *b)
{
	drive_destroy(b->drive);
	arena_drop(&b->arena);
}

static uint64_t
raw_bytes(const struct bench *b)
{
	const struct flash_geometry *g = &b->options.geometry;

	return (uint64_t)g->dies * g->blocks * g->block_units * g->unit_bytes;
}

static void
what_is_new_is_not_worn(void **state)
{
	static const char *const profiles[] = { "tlc-plp", "optane" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct flash_wear wear;
		struct bench b;

		begin(&b, profiles[i], 1);
		wear_of_drive(b.drive, &wear);
		assert_true(wear.media_bytes == 0 && wear.erases == 0 && wear.used_percent == 0);
		assert_true(wear.erases_least == 0 && wear.erases_most == 0 && wear.erases_mean_permille == 0);
		finish(&b);
	}
}

/* What was programmed was on erased blocks: all of them once, and again as often as blocks were erased.  What is always
 * in SLC mode is not of the drive's life. */
static void
check_blocks(const char *profile)
{
	const struct condition all_over = { CONDITION_FRAGMENTED, 500, 1 };
	const struct flash_geometry *g;
	uint32_t endurance = 3, least = UINT32_MAX, most = 0;
	uint64_t sum = 0, counted = 0, block_bytes;
	struct flash_wear wear;
	struct bench b;

	begin(&b, profile, endurance);
	g = &b.options.geometry;
	block_bytes = (uint64_t)g->block_units * g->unit_bytes;
	condition_make(drive_ftl(b.drive), &all_over);
	wear_of_drive(b.drive, &wear);
	for (uint32_t block = 0; block < g->dies * g->blocks; block++) {
		uint32_t erases = ftl_erases_of(drive_ftl(b.drive), block);

		sum += erases;
		if (block % g->blocks < g->slc_fixed_blocks)
			continue;
		counted += erases;
		least = erases < least ? erases : least;
		most = erases > most ? erases : most;
	}
	assert_int_equal(wear.erases, sum);
	assert_int_equal(wear.erases, ftl_counts(drive_ftl(b.drive))->erases);
	assert_true(wear.erases_least == least && wear.erases_most == most && least < most);
	assert_int_equal(wear.erases_mean_permille, counted * 1000 / (g->dies * (g->blocks - g->slc_fixed_blocks)));
	assert_true(wear.erases_least * 1000 < wear.erases_mean_permille);
	assert_true(wear.erases_mean_permille < wear.erases_most * 1000);
	assert_int_equal(wear.used_percent, wear.erases_mean_permille / 10 / endurance);
	assert_true(wear.used_percent > 300); /* it is worn out long since */
	assert_true(wear.media_bytes > sum * block_bytes);
	assert_true(wear.media_bytes <= sum * block_bytes + raw_bytes(&b));
	finish(&b);
}

static void
blocks_wear_by_what_is_programmed(void **state)
{
	(void)state;
	check_blocks("tlc-plp");
	check_blocks("tlc-consumer");
}

static void
command(struct bench *b, enum drive_op op, uint64_t offset, uint64_t bytes)
{
	static struct drive_cmd cmd;

	cmd = (struct drive_cmd){ .op = (uint8_t)op, .offset = offset, .bytes = bytes };
	drive_submit(b->drive, &cmd, 0);
	assert_ptr_equal(drive_run(b->drive, UINT64_MAX - 1), &cmd);
}

static void
the_journal_is_on_the_media_too(void **state)
{
	struct flash_wear before, after;
	struct bench b;
	uint64_t units;

	(void)state;
	begin(&b, "tlc-consumer", 0);
	wear_of_drive(b.drive, &before);
	command(&b, DRIVE_WRITE, 0, 4096);
	command(&b, DRIVE_FLUSH, 0, 0);
	wear_of_drive(b.drive, &after);
	units = wear_units(ftl_counts(drive_ftl(b.drive)));
	assert_true(units >= 1);
	assert_int_equal(drive_counts(b.drive)->journal_pages, 1);
	assert_int_equal(after.media_bytes - before.media_bytes, units * 4096 + b.options.profile.page_bytes);
	finish(&b);
}

/* Twice of the ten times that all of it may be. */
static void
media_that_are_written_in_place_wear_by_what_is_written(void **state)
{
	struct flash_wear wear;
	struct bench b;
	uint64_t bytes;

	(void)state;
	begin(&b, "optane", 10);
	bytes = b.options.geometry.units * b.options.geometry.unit_bytes;
	for (int i = 0; i < 2; i++)
		command(&b, DRIVE_WRITE, 0, bytes);
	command(&b, DRIVE_READ, 0, bytes);
	wear_of_drive(b.drive, &wear);
	assert_int_equal(wear.media_bytes, 2 * bytes);
	assert_int_equal(wear.used_percent, 20);
	assert_true(wear.erases == 0 && wear.erases_most == 0);
	finish(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_is_not_worn),
		cmocka_unit_test(blocks_wear_by_what_is_programmed),
		cmocka_unit_test(the_journal_is_on_the_media_too),
		cmocka_unit_test(media_that_are_written_in_place_wear_by_what_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
