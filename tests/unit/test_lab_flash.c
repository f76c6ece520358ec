/*
 * test_lab_flash.c - what experiments with modelled drives are made of, with drives as small as they can be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flash_device.h"
#include "place/waf_theory.h"
#include "untimed.h"

/* What writes cost with that spare, measured once; and what of it stands in a result. */
static double
cost(struct lab *lab, uint64_t seed, unsigned spare, double *left)
{
	static struct arena arena;
	struct untimed u;
	double found;

	arena_init(&arena, 0);
	lab_init(lab, &arena, &lab_maker_plain, seed);
	assert_true(untimed_open(&u, lab, "tlc-plp", 1, spare, FLASH_GREEDY));
	untimed_random(&u, 3 * u.units, 0, u.units);
	untimed_mark(&u);
	untimed_random(&u, 2 * u.units, 0, u.units);
	found = untimed_amplification(&u);
	*left = untimed_spare(&u);
	untimed_close(&u);
	assert_int_equal(arena.bytes, 0);
	return found;
}

static void
without_time_writes_cost_what_theory_says(void **state)
{
	static const unsigned spares[] = { 70, 120, 200, 280 };
	struct lab lab;
	double spare;

	(void)state;
	for (unsigned i = 0; i < sizeof(spares) / sizeof(spares[0]); i++) {
		double found = cost(&lab, 1, spares[i], &spare);

		assert_true(spare * 1000 >= spares[i] && spare * 1000 < spares[i] + 10);
		assert_true(fabs(found / waf_uniform(spare) - 1) < 0.05);
	}
}

static void
a_seed_is_a_history_without_time_too(void **state)
{
	struct lab first, again, other;
	double spare, found;

	(void)state;
	found = cost(&first, 1, 142, &spare);
	assert_true(cost(&again, 1, 142, &spare) == found);
	assert_true(cost(&other, 2, 142, &spare) != found);
	assert_int_equal(first.hash, again.hash);
	assert_int_not_equal(first.hash, other.hash);
	assert_true(first.events == again.events && first.events > 0);
}

/* As it is sold, whatever part of it was used and with what spare. */
static void
the_profile_is_named_with_its_hash(void **state)
{
	struct lab lab;
	double spare;

	(void)state;
	(void)cost(&lab, 1, 142, &spare);
	assert_int_equal(lab.profile_count, 1);
	assert_memory_equal(lab.profiles[0], "tlc-plp ", 8);
	assert_int_equal(strspn(lab.profiles[0] + 8, "0123456789abcdef"), 16);
	assert_string_equal(lab.profiles[0] + 24, ", but for dies, spare and policy");
	assert_int_equal(strncmp(lab.world, "no time", 7), 0);
}

static void
what_cannot_be_made_is_refused(void **state)
{
	struct untimed u;
	struct arena arena;
	struct lab lab;

	(void)state;
	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_plain, 1);
	assert_false(untimed_open(&u, &lab, "tlc-none", 1, 142, FLASH_GREEDY));
	assert_non_null(strstr(lab.why, "tlc-none"));
	assert_int_equal(u.arena.bytes, 0);
}

/* ---- drives as devices ---- */

/* Reads of 4 KiB, one at a time, and then writes; `variation` may be NULL. */
static struct lab_outcome *
use(struct lab *lab, struct arena *arena, const char *spec, const struct lab_variation *variation)
{
	struct lab_setup *setup;

	arena_init(arena, 0);
	lab_init(lab, arena, &lab_maker_flash, 1);
	if (variation != NULL)
		lab->variation = *variation;
	setup = lab_alloc(lab, sizeof(*setup));
	lab_setup_init(setup, LAB_DIRECT);
	lab_setup_device(setup, "%s", spec);
	lab_setup_job(setup, "reads", LAB_READ, 4096, 1)->phases = 1;
	lab_setup_job(setup, "writes", LAB_WRITE, 4096, 4)->phases = 2;
	lab_setup_job(setup, "trims", LAB_TRIM, 4096, 1)->phases = 2;
	lab_setup_phase(setup, "reads", 20 * LAB_MS, true);
	lab_setup_phase(setup, "writes", 20 * LAB_MS, true);
	return lab_run(lab, setup);
}

static double
read_us(const char *spec, const struct lab_variation *variation)
{
	struct arena arena;
	struct lab lab;
	const struct lab_outcome *outcome = use(&lab, &arena, spec, variation);
	double found;

	assert_non_null(outcome);
	found = lab_metric_of(outcome, 0, 0, LAB_READ, LAB_MEAN);
	arena_drop(&arena);
	return found;
}

#define SMALL "flash:tlc-plp,520M,state=fragmented"

static void
a_read_takes_what_the_profile_says(void **state)
{
	/* Controller, cells, 4 KiB and 6 % over the channel, 4 KiB over the link: 21 + 55 + 8.1 + 1.3 us. */
	double sensing_longer = read_us(SMALL, &(struct lab_variation){ "tlc-plp.read", 30 });

	(void)state;
	assert_true(fabs(read_us(SMALL, NULL) - 85.4) < 0.3);
	assert_true(fabs(sensing_longer - 85.4 - 0.3 * 55) < 0.3);
	/* A new drive has nothing to sense. */
	assert_true(read_us("flash:tlc-plp,520M", NULL) < 25);
	assert_true(read_us("flash:tlc-plp,520M,state=fresh", NULL) < 25);
	assert_true(fabs(read_us("flash:optane,64M", NULL) - 8.7) < 0.2);
	/* Whoever has its contents, or nobody. */
	assert_true(fabs(read_us(SMALL ",data=no", NULL) - 85.4) < 0.3);
	assert_true(fabs(read_us("flash:tlc-plp,state=fragmented@mem:520M", NULL) - 85.4) < 0.3);
	assert_true(fabs(read_us("flash:tlc-plp,state=fragmented@mem:520M", &(struct lab_variation){ "tlc-plp.read",
	    30 }) - 85.4 - 0.3 * 55) < 0.3);
}

/* Also where the state was made before, and is kept. */
static void
a_seed_is_a_history_of_a_drive(void **state)
{
	struct arena first, again, other;
	struct lab one, two, three;
	const struct lab_outcome *outcome = use(&one, &first, SMALL, NULL);

	(void)state;
	assert_non_null(outcome);
	assert_int_equal(lab_failed(outcome), 0);
	/* What begins at the instant at which a phase ends may have been counted there. */
	assert_true(lab_counted(outcome, 0, 0, "bytes read") > 0);
	assert_in_range(lab_counted(outcome, 0, 0, "bytes written"), 0, 4 * 4096);
	assert_true(lab_counted(outcome, 0, 1, "units of hosts programmed") > 0);
	assert_non_null(use(&two, &again, SMALL, NULL));
	assert_non_null(use(&three, &other, SMALL ",seed=2", NULL));
	assert_int_equal(one.hash, two.hash);
	assert_int_not_equal(one.hash, three.hash);
	arena_drop(&first);
	arena_drop(&again);
	arena_drop(&other);
}

/* MB/s of 4 KiB writes, 16 in flight, one after the other on the drive or all over it. */
static double
write_mbps(uint32_t sequential_percent)
{
	struct arena arena;
	struct lab lab;
	struct lab_setup *setup;
	const struct lab_outcome *outcome;
	double found;

	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_flash, 1);
	setup = lab_alloc(&lab, sizeof(*setup));
	lab_setup_init(setup, LAB_DIRECT);
	lab_setup_device(setup, "flash:optane,64M");
	lab_setup_job(setup, "writes", LAB_WRITE, 4096, 16)->sequential_percent = sequential_percent;
	lab_setup_phase(setup, "measure", 20 * LAB_MS, true);
	outcome = lab_run(&lab, setup);
	assert_non_null(outcome);
	found = lab_metric_of(outcome, 0, 0, LAB_WRITE, LAB_MBPS);
	arena_drop(&arena);
	return found;
}

/* Neither for a block beside theirs nor for the table of who is at which block. */
static void
writes_wait_for_the_media_alone(void **state)
{
	(void)state;
	assert_true(fabs(write_mbps(100) / 2050 - 1) < 0.02);
	assert_true(fabs(write_mbps(0) / 2030 - 1) < 0.02);
}

/* It is looked into by those who have opened it, and is used by all reactors. */
static void
a_drive_behind_a_target_of_several_reactors_counts(void **state)
{
	struct arena arena;
	struct lab lab;
	struct lab_setup *setup;
	const struct lab_outcome *outcome;

	(void)state;
	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_flash, 1);
	setup = lab_alloc(&lab, sizeof(*setup));
	lab_setup_init(setup, LAB_FABRIC);
	setup->reactors = 3;
	lab_setup_device(setup, "flash:optane,64M,data=no");
	lab_setup_device(setup, "mem:64M");
	for (unsigned job = 0; job < 4; job++)
		lab_setup_job(setup, "writes", LAB_WRITE, 4096, 8);
	lab_setup_phase(setup, "measure", 10 * LAB_MS, true);
	outcome = lab_run(&lab, setup);
	assert_non_null(outcome);
	assert_int_equal(lab_failed(outcome), 0);
	assert_true(lab_counted(outcome, 0, 0, "bytes written") > 1000 * 4096);
	assert_int_equal(lab_reading_of(outcome, 1, 0)->count, 0);
	arena_drop(&arena);
}

/* Each time of the profile, and of those it does not have none. */
static void
what_can_be_varied_is_named(void **state)
{
	static const struct lab_device plp = { .spec = SMALL }, consumer = { .spec = "flash:tlc-consumer,8G" };
	static const struct lab_device optane = { .spec = "flash:optane,64M" }, memory = { .spec = "mem:16M" };
	unsigned plp_count = 0, consumer_count = 0, optane_count = 0;
	const char *name;

	(void)state;
	while ((name = lab_maker_flash.constant(&plp, plp_count)) != NULL) {
		assert_memory_equal(name, "tlc-plp.", 8);
		assert_true(strstr(name, "slc") == NULL && strstr(name, "channel-write") == NULL);
		assert_ptr_equal(name, lab_maker_flash.constant(&plp, plp_count++));
	}
	while (lab_maker_flash.constant(&consumer, consumer_count) != NULL)
		consumer_count++;
	while (lab_maker_flash.constant(&optane, optane_count) != NULL)
		optane_count++;
	assert_true(consumer_count > plp_count && plp_count > optane_count && optane_count >= 6);
	assert_null(lab_maker_flash.constant(&memory, 0));
}

static void
specifications_are_refused_by_name(void **state)
{
	static const char *const wrong[] = {
		"flash:none,8G", "flash:tlc-plp", "flash:tlc-plp,much", "flash:tlc-plp,1M",
		"flash:tlc-plp,8G,state=old", "flash:tlc-plp,8G,seed=1x",
		"flash:tlc-plp,8G,sead=1", "flash:", "nothing:16M",
	};
	struct arena arena;
	struct lab lab;

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_null(use(&lab, &arena, wrong[i], NULL));
		assert_true(lab.why[0] != '\0');
		arena_drop(&arena);
	}
	assert_non_null(use(&lab, &arena, "mem:16M", NULL));
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_time_writes_cost_what_theory_says),
		cmocka_unit_test(a_seed_is_a_history_without_time_too),
		cmocka_unit_test(the_profile_is_named_with_its_hash),
		cmocka_unit_test(what_cannot_be_made_is_refused),
		cmocka_unit_test(a_read_takes_what_the_profile_says),
		cmocka_unit_test(a_seed_is_a_history_of_a_drive),
		cmocka_unit_test(writes_wait_for_the_media_alone),
		cmocka_unit_test(a_drive_behind_a_target_of_several_reactors_counts),
		cmocka_unit_test(what_can_be_varied_is_named),
		cmocka_unit_test(specifications_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
