/*
 * test_place_models.c - what a workload does to a drive, and what that costs: the minTCO paper's examples, its
 * equations against one another, and what must hold of any numbers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "place/cost.h"
#include "place/stats.h"

static double
uniform(struct rng *rng, double from, double to)
{
	return from + (to - from) * (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static void
near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected) + 1e-300))
		fail_msg("found %.17g, expected %.17g", found, expected);
}

static const struct disk_model model = {
	.name = "a", .initial_usd = 1000, .usd_per_day = 0.18, .endurance_gb = 5e6, .capacity_gb = 1000, .iops = 6000,
	.write_penalty = 1, .write_copies = 1,
	.waf = { .epsilon = 0.5, .alpha = 0, .beta = 4, .eta = -11.2, .mu = 11.2, .gamma = 1.2 },
};

static void
the_papers_raid_1_takes_42_iops_and_400_gb_a_day(void **state)
{
	const struct workload w = {
		.write_gb_per_day = 200, .seq_ratio = 0.3, .peak_iops = 30, .write_ratio = 0.4, .working_set_gb = 1,
	};
	struct disk_model set;
	struct disk disk;

	assert_null(disk_model_raid(&set, &model, RAID_1, 4));
	assert_true(set.iops == 24000 && set.capacity_gb == 2000);
	assert_true(set.initial_usd == 4000 && set.endurance_gb == 20e6);
	assert_true(disk_iops_for(&set, &w) == 42);
	disk_init(&disk, &set, 0);
	disk_put(&disk, &w, 0);
	near(disk_physical_gb_per_day(&disk), 400 * disk_waf(&disk), 0);
	assert_null(disk_model_raid(&set, &model, RAID_5, 6));
	near(set.write_copies, 1.2, 1e-15);
	near(disk_iops_for(&set, &w), 18 + 12 * 4, 1e-15);
	assert_true(set.capacity_gb == 5000);
	assert_null(disk_model_raid(&set, &model, RAID_0, 6));
	assert_true(set.write_copies == 1 && set.write_penalty == 1 && set.capacity_gb == 6000);
	assert_non_null(disk_model_raid(&set, &model, RAID_1, 3));
	assert_non_null(disk_model_raid(&set, &model, RAID_5, 2));
}

static void
the_default_curve_has_what_the_paper_says(void **state)
{
	assert_null(waf_wrong(&waf_default));
	assert_true(waf_at(&waf_default, 0) == 4 && waf_at(&waf_default, 0.5) == 4);
	near(waf_at(&waf_default, 1), 1.2, 1e-12);
	for (double s = 0; s < 0.99; s += 0.01) { /* it falls, and is concave */
		double a = waf_at(&waf_default, s), b = waf_at(&waf_default, s + 0.005);
		double c = waf_at(&waf_default, s + 0.01);

		assert_true(b <= a && c <= b && b >= (a + c) / 2 - 1e-12);
	}
	struct waf shaped = waf_shaped(4, 0.5, 1.2);

	for (double s = 0; s <= 1; s += 0.1)
		near(waf_at(&shaped, s), waf_at(&waf_default, s), 1e-12);
}

static void
falls_hold_between_any_two_points(void **state)
{
	const struct waf curves[] = { waf_default, waf_shaped(7.6, 0.3, 0.5), { 0.4, -0.3, 3.12, -4, 2, 2.84 } };
	struct rng rng;

	rng_seed(&rng, 1);
	for (unsigned i = 0; i < 30000; i++) {
		const struct waf *waf = &curves[i % 3];
		double from = uniform(&rng, 0, 1), to = uniform(&rng, from, 1), least, most;
		double a = uniform(&rng, from, to), b = uniform(&rng, a, to);
		double fall = waf_at(waf, a) - waf_at(waf, b);

		waf_falls(waf, from, to, &least, &most);
		assert_true(least <= most);
		assert_true(fall <= most * (b - a) + 1e-12 && fall >= least * (b - a) - 1e-12);
	}
}

static void
what_was_measured_gives_the_curve_that_it_came_from(void **state)
{
	const struct waf from = waf_shaped(4.1, 0.45, 1.1);
	double x[21], y[21];
	struct stats_turning fit;

	for (unsigned i = 0; i < 21; i++) {
		x[i] = i / 20.0;
		y[i] = waf_at(&from, x[i]);
	}
	assert_true(stats_turning(x, y, 21, &fit));

	struct waf found = waf_fitted(&fit);

	assert_null(waf_wrong(&found));
	for (double s = 0; s <= 1; s += 0.05)
		assert_true(fabs(waf_at(&found, s) - waf_at(&from, s)) < 0.02);
}

static void
curves_that_are_none_are_refused(void **state)
{
	const struct waf wrong[] = {
		{ 0.5, 0, 4, -11.2, 11.2, 1.3 }, { 0.5, 0, 0.5, 0, 0, 0.5 }, { 0.5, 0.1, 4, 0, 0, 4.05 },
		{ 1.5, 0, 4, -11.2, 11.2, 1.2 }, { NAN, 0, 4, -11.2, 11.2, 1.2 }, { 0.5, 0, NAN, -11.2, 11.2, 1.2 },
		{ 0.5, 0, 4, 2, 0, 3.5 },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(waf_wrong(&wrong[i]));
}

static void
wear_goes_by_epochs(void **state)
{
	const struct workload a = { .write_gb_per_day = 100, .seq_ratio = 0, .peak_iops = 10, .write_ratio = 1,
		.working_set_gb = 10 };
	const struct workload b = { .write_gb_per_day = 300, .seq_ratio = 1, .peak_iops = 10, .write_ratio = 1,
		.working_set_gb = 20 };
	struct disk disk;

	disk_init(&disk, &model, 1000);
	disk_put(&disk, &a, 10);
	disk_put(&disk, &b, 30);
	near(disk_worn_gb(&disk, 30), 1000 + 20 * 100 * 4, 1e-15);
	near(disk_seq_ratio(&disk), 0.75, 1e-15);
	near(disk_worn_gb(&disk, 40), 9000 + 10 * 400 * (4 - 11.2 * 0.0625), 1e-12);
	near(disk_served_gb(&disk, 40), 2000 + 4000, 1e-15);
	near(disk_death_days(&disk), 30 + (5e6 - 9000) / (400 * 3.3), 1e-12);
	near(disk_lifetime_days(&disk), disk_death_days(&disk) - 10, 1e-15);
	near(disk_tco_usd(&disk), 1000 + 0.18 * disk_lifetime_days(&disk), 1e-15);
	near(disk_total_gb(&disk), 2000 + 400 * (disk_death_days(&disk) - 30), 1e-12);
	disk_drop(&disk, &a, 50);
	near(disk_seq_ratio(&disk), 1, 1e-12);
	disk_drop(&disk, &b, 60);
	assert_true(disk.rate_gb_per_day == 0 && disk.used_gb == 0 && isinf(disk_death_days(&disk)));
	assert_true(disk_lifetime_days(&disk) == 50);
	near(disk_total_gb(&disk), 2000 + 8000 + 3000, 1e-12);
}

static void
a_disk_says_why_it_does_not_take_a_workload(void **state)
{
	struct workload w = { .write_gb_per_day = 100, .seq_ratio = 0, .peak_iops = 6000, .write_ratio = 0.5,
		.working_set_gb = 1000 };
	struct disk disk;

	disk_init(&disk, &model, 0);
	assert_int_equal(disk_refuses(&disk, &w, 0, 1, 1), DISK_TAKES);
	assert_int_equal(disk_refuses(&disk, &w, 0, 0.9, 1), DISK_FULL);
	assert_int_equal(disk_refuses(&disk, &w, 0, 1, 0.9), DISK_SLOW);
	disk_put(&disk, &w, 0);
	assert_int_equal(disk_refuses(&disk, &w, 1e9, 1, 1), DISK_WORN);
	disk_init(&disk, &model, 5e6);
	assert_int_equal(disk_refuses(&disk, &w, 0, 1, 1), DISK_WORN);
}

static struct workload
some_workload(struct rng *rng)
{
	return (struct workload){
		.write_gb_per_day = exp(uniform(rng, -2, 6)), .seq_ratio = uniform(rng, 0, 1),
		.peak_iops = uniform(rng, 10, 600), .write_ratio = uniform(rng, 0.01, 1),
		.working_set_gb = uniform(rng, 1, 40), .arrival_days = uniform(rng, 0, 500),
	};
}

static void
equation_9_is_the_difference_of_two_of_equation_3(void **state)
{
	struct rng rng;

	rng_seed(&rng, 9);
	for (unsigned i = 0; i < 1000; i++) {
		double k = exp(uniform(&rng, -2, 2)), high = uniform(&rng, 0.4, 1), low = uniform(&rng, 0, high);
		double rate = exp(uniform(&rng, 0, 8));
		double direct = cost_grouping_saves_direct(&model, rate, k, high, low);

		if (!(fabs(cost_grouping_saves(&model, rate, k, high, low) - direct) < 1e-12 * (1 + 1 / rate)))
			fail_msg("k %g, high %g, low %g: %.17g, directly %.17g", k, high, low,
			    cost_grouping_saves(&model, rate, k, high, low), direct);
	}
	assert_true(cost_grouping_saves(&model, 100, 1, 0.9, 0.2) > 0); /* k = 1: never worse, by concavity */
	/* For k < 1 it can be worse: A_H 1.5, A_L 4, k 0.2, where disks cost nothing but their days. */
	struct disk_model free_of_charge = model;

	free_of_charge.initial_usd = 0;
	near(cost_grouping_saves(&free_of_charge, 100, 0.2, 0.5 + sqrt(2.5 / 11.2), 0.1),
	    0.18 / 100 * -0.56 / 1.1, 1e-9);
}

/* More wear, a higher price, a higher rate: never cheaper by the equations. */
static void
cost_is_monotone(void **state)
{
	struct rng rng;

	rng_seed(&rng, 3);
	for (unsigned i = 0; i < 1000; i++) {
		struct workload a = some_workload(&rng), b = some_workload(&rng);
		struct disk_model dear = model, tough = model;
		struct disk disk, worn, costly, lasting;

		dear.initial_usd *= 1.5;
		tough.endurance_gb *= 1.5;
		disk_init(&disk, &model, 0);
		disk_init(&worn, &model, 1000);
		disk_init(&costly, &dear, 0);
		disk_init(&lasting, &tough, 0);
		for (unsigned n = 0; n < 4; n++) {
			struct disk *one = n == 0 ? &disk : n == 1 ? &worn : n == 2 ? &costly : &lasting;

			disk_put(one, &a, 0);
			disk_put(one, &b, 1);
		}
		assert_true(disk_death_days(&worn) < disk_death_days(&disk));
		assert_true(disk_death_days(&lasting) > disk_death_days(&disk));
		assert_true(disk_total_gb(&worn) < disk_total_gb(&disk));

		struct cost plain = cost_of(&disk, 1), old = cost_of(&worn, 1), high = cost_of(&costly, 1);

		assert_true(cost_usd_per_gb(&high) > cost_usd_per_gb(&plain));
		assert_true(plain.usd - old.usd > 0 && cost_usd_per_gb(&old) >= cost_usd_per_gb(&plain) * (1 - 1e-12));
		a.write_gb_per_day *= 2; /* a lifetime falls with a rate */
		disk_init(&worn, &model, 0);
		disk_put(&worn, &a, 0);
		disk_put(&worn, &b, 1);
		assert_true(disk_lifetime_days(&worn) < disk_lifetime_days(&disk));
	}
}

static void
names_order_and_currency_change_nothing(void **state)
{
	struct disk_model models[2] = { model, model }, doubled[2];
	struct disk disks[6], swapped[6], dear[6];
	struct rng rng;

	models[1].initial_usd = 300;
	models[1].endurance_gb = 1e6;
	for (unsigned i = 0; i < 2; i++) {
		doubled[i] = models[i];
		doubled[i].initial_usd *= 2;
		doubled[i].usd_per_day *= 2;
	}
	rng_seed(&rng, 4);
	for (unsigned i = 0; i < 6; i++) {
		struct workload w = some_workload(&rng);

		disk_init(&disks[i], &models[i % 2], 0);
		disk_init(&dear[i], &doubled[i % 2], 0);
		disk_put(&disks[i], &w, 1);
		disk_put(&dear[i], &w, 1);
		swapped[5 - i] = disks[i];
	}

	struct cost one = cost_of(disks, 6), other = cost_of(swapped, 6), twice = cost_of(dear, 6);

	near(other.usd, one.usd, 1e-14);
	near(cost_usd_per_gb(&other), cost_usd_per_gb(&one), 1e-14);
	near(twice.usd, 2 * one.usd, 1e-14);
	near(cost_usd_per_gb(&twice), 2 * cost_usd_per_gb(&one), 1e-14);
}

static void
what_is_wrong_with_numbers_is_said(void **state)
{
	const struct workload good = { .name = "w", .write_gb_per_day = 20, .seq_ratio = 0.3, .peak_iops = 200,
		.write_ratio = 0.8, .working_set_gb = 6 };
	struct workload w;
	struct disk_model m;

	assert_null(workload_wrong(&good));
	assert_null(workload_odd(&good));
	assert_null(disk_model_wrong(&model));
	assert_null(disk_model_odd(&model));
#define WRONG(field, value) (w = good, w.field = (value), assert_non_null(workload_wrong(&w)))
	WRONG(write_gb_per_day, NAN);
	WRONG(write_gb_per_day, -1);
	WRONG(write_gb_per_day, INFINITY);
	WRONG(seq_ratio, 1.01);
	WRONG(seq_ratio, NAN);
	WRONG(write_ratio, -0.1);
	WRONG(write_ratio, 0);
	WRONG(peak_iops, 0);
	WRONG(peak_iops, NAN);
	WRONG(working_set_gb, -3);
	WRONG(arrival_days, NAN);
	WRONG(working_set_gb, 0);
	WRONG(write_gb_per_day, 200 * 0.8 * 86400 * 0.11);
#undef WRONG
#define ODD(field, value) (w = good, w.field = (value), assert_non_null(workload_odd(&w)))
	ODD(write_gb_per_day, 20e6 / 20);
	ODD(write_gb_per_day, 200 * 0.8 * 86400 * 0.0041);
	ODD(working_set_gb, 6e6);
	ODD(peak_iops, 200e6);
	ODD(arrival_days, 1e6);
#undef ODD
#define WRONG(field, value) (m = model, m.field = (value), assert_non_null(disk_model_wrong(&m)))
	WRONG(initial_usd, -1);
	WRONG(initial_usd, NAN);
	WRONG(usd_per_day, -1);
	WRONG(endurance_gb, 0);
	WRONG(capacity_gb, 0);
	WRONG(iops, NAN);
	WRONG(write_penalty, 0);
	WRONG(write_copies, 0.5);
	WRONG(waf.beta, 0.5);
#undef WRONG
#define ODD(field, value) (m = model, m.field = (value), assert_non_null(disk_model_odd(&m)))
	ODD(capacity_gb, 1);
	ODD(endurance_gb, 5e3);
	ODD(endurance_gb, 5e9);
	ODD(iops, 6);
	ODD(initial_usd, 1e6);
	ODD(usd_per_day, 65);
#undef ODD
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_raid_1_takes_42_iops_and_400_gb_a_day),
		cmocka_unit_test(the_default_curve_has_what_the_paper_says),
		cmocka_unit_test(falls_hold_between_any_two_points),
		cmocka_unit_test(what_was_measured_gives_the_curve_that_it_came_from),
		cmocka_unit_test(curves_that_are_none_are_refused),
		cmocka_unit_test(wear_goes_by_epochs),
		cmocka_unit_test(a_disk_says_why_it_does_not_take_a_workload),
		cmocka_unit_test(equation_9_is_the_difference_of_two_of_equation_3),
		cmocka_unit_test(cost_is_monotone),
		cmocka_unit_test(names_order_and_currency_change_nothing),
		cmocka_unit_test(what_is_wrong_with_numbers_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
