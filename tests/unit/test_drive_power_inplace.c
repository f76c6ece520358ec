/*
 * test_drive_power_inplace.c - after each of 100,000 random cuts media that are written in place hold exactly what
 * doc/flash.md allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drive_bench.h"

enum { UNITS = 600, CUTS = 50000, WRITES = 2000, WRITTEN = 4 };

static void
profile_of(struct flash_profile *p, uint32_t unit_bytes)
{
	*p = (struct flash_profile){
		.media = FLASH_IN_PLACE, .capacity_mb = 1000000, .channels = 3, .dies = 6, .die_mib = 1024,
		.unit_bytes = unit_bytes, .read_ns = 9000, .program_ns = 25000, .channel_mb_s = 800,
		.channel_write_mb_s = 500, .controller_read_ns = 4000, .controller_write_ns = 3000,
		.front_end_iops = 2000000, .commands_max = 24, .link_mb_s = 3000, .flush_ns = 7000,
		.power_loss_protection = 1, .endurance = 1000,
	};
}

static void
cut(uint32_t unit_bytes)
{
	struct flash_profile p;
	struct drive_bench b;

	profile_of(&p, unit_bytes);
	drive_bench_open(&b, &p, UNITS, 1);
	drive_bench_cuts(&b, CUTS);
	assert_int_equal(b.lost, 0);
	drive_bench_close(&b);
}

static void
units_of_512_bytes(void **state)
{
	cut(512);
}

static void
units_of_16_kib(void **state)
{
	cut(16384);
}

/* Which of a write's pieces are there after the power has gone under way. */
static uint32_t
pieces_left(struct drive_bench *b)
{
	uint32_t landed = 0;

	drive_bench_send(b, drive_bench_slot(b), DRIVE_WRITE, 0, (uint64_t)WRITTEN * b->sectors, false);
	drive_bench_run(b, 40000);
	assert_int_equal(b->under_way, 1);
	drive_bench_cut(b);
	for (uint32_t i = 0; i < WRITTEN; i++)
		landed |= (uint32_t)(b->base[i * b->sectors] == b->event_first - 1) << i;
	return landed;
}

static void
of_a_write_under_way_any_pieces_are_there(void **state)
{
	uint32_t seen = 0;
	struct flash_profile p;
	struct drive_bench b;

	profile_of(&p, 512);
	drive_bench_open(&b, &p, UNITS, 1);
	for (int i = 0; i < WRITES; i++)
		seen |= 1u << pieces_left(&b);
	assert_int_equal(seen, (1u << (1u << WRITTEN)) - 1);
	drive_bench_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_of_512_bytes),
		cmocka_unit_test(units_of_16_kib),
		cmocka_unit_test(of_a_write_under_way_any_pieces_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
