/*
 * flash/geometry: what is left of a drive at each capacity, against figures that are worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/geometry.h"
#include "profile_bench.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void
built_in(const char *name, struct flash_profile *profile)
{
	struct arena arena;

	arena_init(&arena, 0);
	assert_int_equal(flash_profile_find(&arena, name, profile), 0);
	arena_drop(&arena);
}

static void
laid(const struct flash_profile *profile, uint64_t bytes, struct flash_geometry *geometry)
{
	char why[FLASH_WHY] = "";

	if (flash_geometry_init(geometry, profile, bytes, why) != 0)
		fail_msg("%s, %llu bytes: %s", profile->name, (unsigned long long)bytes, why);
}

static void
refused(const struct flash_profile *profile, uint64_t bytes, int error, const char *words)
{
	struct flash_geometry geometry;
	char why[FLASH_WHY] = "";

	assert_int_equal(flash_geometry_init(&geometry, profile, bytes, why), error);
	if (strncmp(why, words, strlen(words)) != 0)
		fail_msg("%s", why);
}

static void
the_drives_that_are_built_in_come_out_as_worked_out_by_hand(void **state)
{
	/*
	 * Units of each die with what is spare, over those of a row; over the blocks that are wanted, which is the rows
	 * of a block; and over those, which is the blocks, and three in reserve.
	 *
	 * tlc-plp, rows of 2 x 3 x 16 KiB = 24 units, 195 blocks wanted:
	 *   8 GiB: 65536 x 1.142 = 74843; / 24 / 195 = 15.99: 16 rows, 384 units; 74843 / 384 = 194.9: 195; spare
	 *   195 x 384 / 65536 = 1.1426; erase 3.5 ms x 16 / 256 = 218750 ns.
	 *   16 GiB: 149685; 31.98: 32 rows, 768 units; 194.9: 195.
	 *   960 GB: 7324218.75 x 1.142 = 8364258; blocks of 256 rows, 6144 units, as sold: 1361.4: 1362.
	 * tlc-consumer, the same rows, 180 wanted:
	 *   8 GiB: 65536 x 1.054 = 69075; 15.99: 16 rows; 179.9: 180; spare 180 x 384 / 65536 = 1.0547; in SLC mode a
	 *   block has 128 units: 65536 x 4.9 % / 128 = 25.1 and 65536 x 0.6 % / 128 = 3.1 of them, which are beside
	 *   those in reserve.
	 *   16 GiB: 138150; 31.98: 32 rows; 179.9: 180.
	 * qlc, rows of 4 x 4 x 16 KiB = 4 units of 64 KiB, 49 wanted:
	 *   8 GiB: 512 x 1.145 = 587; 2.99: 3 rows; 48.9: 49; spare 49 x 12 / 512 = 1.148.
	 *   16 GiB: 1173; 5.98: 6 rows; 48.9: 49; spare 49 x 24 / 1024 = 1.148.
	 *   64 GiB: 4690; 23.93: 24 rows; 48.9: 49; erase 10 ms x 24 / 576 = 416666.7 ns.
	 */
	static const struct {
		const char *name;
		uint64_t bytes;
		uint32_t blocks, rows, block_units, spare, erase_ns, slc_blocks, slc_fixed;
	} cases[] = {
		{ "tlc-plp", 8 * GIB, 198, 16, 384, 142, 218750, 0, 0 },
		{ "tlc-plp", 16 * GIB, 198, 32, 768, 142, 437500, 0, 0 },
		{ "tlc-plp", UINT64_C(960000000000), 1365, 256, 6144, 142, 3500000, 0, 0 },
		{ "tlc-consumer", 8 * GIB, 186, 16, 384, 54, 218750, 25, 3 },
		{ "tlc-consumer", 16 * GIB, 186, 32, 768, 54, 437500, 25, 3 },
		{ "qlc", 8 * GIB, 52, 3, 12, 148, 52084, 0, 0 },
		{ "qlc", 16 * GIB, 52, 6, 24, 148, 104167, 0, 0 },
		{ "qlc", 64 * GIB, 52, 24, 96, 148, 416667, 0, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flash_profile profile;
		struct flash_geometry g;

		built_in(cases[i].name, &profile);
		laid(&profile, cases[i].bytes, &g);
		assert_int_equal(g.units, cases[i].bytes / profile.unit_bytes);
		assert_int_equal(g.unit_bytes, profile.unit_bytes);
		assert_int_equal(g.channels, profile.channels);
		assert_int_equal(g.dies, profile.dies);
		assert_int_equal(g.planes, profile.planes);
		assert_int_equal(g.blocks, cases[i].blocks);
		assert_int_equal(g.block_rows, cases[i].rows);
		assert_int_equal(g.block_units, cases[i].block_units);
		assert_int_equal(g.row_units, cases[i].block_units / cases[i].rows);
		assert_int_equal(g.spare_permille, cases[i].spare);
		assert_int_equal(g.erase_ns, cases[i].erase_ns);
		assert_int_equal(g.slc_blocks, cases[i].slc_blocks);
		assert_int_equal(g.slc_fixed_blocks, cases[i].slc_fixed);
		assert_int_equal(g.slc_block_units, cases[i].slc_blocks > 0 ? cases[i].block_units / 3 : 0);
		assert_int_equal(g.slc_row_units, cases[i].slc_blocks > 0 ? 8 : 0);
	}
}

static void
a_unit_is_a_part_of_a_page_or_a_page_of_each_of_some_planes(void **state)
{
	struct flash_profile profile;
	struct flash_geometry g;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	built_in("tlc-plp", &profile);
	laid(&profile, 8 * GIB, &g);
	assert_true(g.page_units == 4 && g.unit_pages == 1);
	built_in("qlc", &profile);
	laid(&profile, 64 * GIB, &g);
	assert_true(g.page_units == 0 && g.unit_pages == 4 && g.row_units == 4);
	profile_of(profile_with(&arena, profile_bases[FLASH_NAND], "unit: 16 KiB\n"), &profile);
	laid(&profile, 8 * GIB, &g);
	assert_true(g.page_units == 1 && g.unit_pages == 1 && g.row_units == 6);
	profile_of(profile_with(&arena, profile_bases[FLASH_NAND], "unit: 32 KiB\n"), &profile);
	laid(&profile, 8 * GIB, &g);
	assert_true(g.page_units == 0 && g.unit_pages == 2 && g.row_units == 3);
	arena_drop(&arena);
}

static void
what_is_written_in_place_has_units_and_nothing_else(void **state)
{
	struct flash_geometry g, expected = { .units = 16777216, .unit_bytes = 512, .channels = 7, .dies = 28 };
	struct flash_profile profile;

	(void)state;
	built_in("optane", &profile);
	laid(&profile, 8 * GIB, &g);
	assert_memory_equal(&g, &expected, sizeof(g));
	laid(&profile, 8 * GIB + 511, &g);
	assert_int_equal(g.units, 16777216);
	assert_int_equal(flash_geometry_smallest(&profile), MIB);
}

static void
an_erase_takes_as_long_as_in_the_drive_that_is_sold_where_it_does_not_scale(void **state)
{
	struct flash_profile profile;
	struct flash_geometry g;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	profile_of(profile_with(&arena, profile_bases[FLASH_NAND], "erase-scales: no\n"), &profile);
	laid(&profile, 8 * GIB, &g);
	assert_int_equal(g.erase_ns, 3500000);
	arena_drop(&arena);
}

/* No less is spare than was asked for, nor more than the last block of each die; and every place can be counted. */
static void
spare_is_right(const struct flash_geometry *g, const struct flash_profile *p)
{
	uint32_t blocks = g->blocks - p->reserve_blocks - g->slc_fixed_blocks;
	uint64_t raw = (uint64_t)blocks * g->block_units * g->dies;
	uint64_t last = (uint64_t)g->blocks * g->block_units * g->dies - 1;

	assert_true(raw * 1000 >= g->units * (1000 + p->spare_permille));
	assert_true((raw - (uint64_t)g->block_units * g->dies) * 1000 < g->units * (1000 + p->spare_permille) +
	    UINT64_C(1000) * g->dies);
	assert_in_range(g->block_rows, 1, p->pages / p->bits);
	/* Rows are rounded to the nearest: there are two thirds of the blocks that are wanted, at the least. */
	assert_true(blocks * 3 >= (p->scale_blocks - p->reserve_blocks) * 2);
	assert_true(last < FLASH_PLACES_MAX);
	assert_int_equal(flash_die_of(g, (flash_place)last), g->dies - 1);
	assert_int_equal(flash_block_of(g, (flash_place)last), g->blocks * g->dies - 1);
}

static void
spare_stays_what_it_is_at_each_capacity(void **state)
{
	static const char *const names[] = { "tlc-plp", "tlc-consumer", "qlc" };
	struct flash_profile profile;
	struct flash_geometry g;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		uint64_t smallest, most;

		built_in(names[n], &profile);
		smallest = flash_geometry_smallest(&profile);
		most = profile.capacity_mb * UINT64_C(1000000) - smallest;
		for (unsigned i = 0; i < 10000; i++) {
			laid(&profile, smallest + rng_below(&rng, i % 2 ? smallest * 100 : most), &g);
			spare_is_right(&g, &profile);
		}
	}
}

static void
what_cannot_be_laid_is_refused_in_words(void **state)
{
	struct flash_profile profile;
	struct flash_geometry g;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	/* 195 rows of 24 units for each die are 4680 of 4679 x 32 / 1.142 and one units of hosts': 512.1 MiB. */
	built_in("tlc-plp", &profile);
	assert_int_equal(flash_geometry_smallest(&profile), 513 * MIB);
	laid(&profile, 513 * MIB, &g);
	assert_int_equal(g.block_rows, 1);
	refused(&profile, 513 * MIB - 1, -EINVAL, "it has 513 MiB at least, so that each of 32 dies has blocks enough");
	refused(&profile, 0, -EINVAL, "it has 513 MiB at least");
	refused(&profile, UINT64_C(961000000000), -EINVAL, "it has 960 GB at most, with which the drive is sold");
	refused(&profile, UINT64_MAX, -EINVAL, "it has 960 GB at most");
	/* 195 x 256 / 1.145 and one units of 64 KiB. */
	built_in("qlc", &profile);
	assert_int_equal(flash_geometry_smallest(&profile), 2725 * MIB);
	/* As many units as can be counted are 2^31 with what is spare; those of 4 KiB are not 30 TB. */
	profile.unit_bytes = 4096;
	laid(&profile, 1024 * GIB, &g);
	refused(&profile, UINT64_C(30000000000000), -EINVAL, "it has 7324218750 units, and no more than ");
	/* 69469 units with what is spare, 60.3 rows for each of 48 blocks: 49 of 60 rows, 1440 units, of which hosts
	 * fill 45.5. */
	profile_of(profile_with(&arena, profile_bases[FLASH_NAND], "slc\nslc-fixed\nslc-program\n"), &profile);
	profile.scale_blocks = 51;
	laid(&profile, 8 * GIB, &g);
	assert_int_equal(g.blocks, 52);
	assert_int_equal(flash_die_limit(&g, &profile), 65536 + ((52 - 4) * 1440 - 65536) / 2);
	profile.gc_low = 5;
	refused(&profile, 8 * GIB, -ENOSPC, "of 52 blocks of a die hosts fill 46, 7 are held back, 5 of them for ");
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_drives_that_are_built_in_come_out_as_worked_out_by_hand),
		cmocka_unit_test(a_unit_is_a_part_of_a_page_or_a_page_of_each_of_some_planes),
		cmocka_unit_test(what_is_written_in_place_has_units_and_nothing_else),
		cmocka_unit_test(an_erase_takes_as_long_as_in_the_drive_that_is_sold_where_it_does_not_scale),
		cmocka_unit_test(spare_stays_what_it_is_at_each_capacity),
		cmocka_unit_test(what_cannot_be_laid_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
