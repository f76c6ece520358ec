/*
 * test_lab_policy.c - what stands in front of a device of the direct rig: who has how much of it, and what is seen of
 * that.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "flash_device.h"
#include "lab/crew.h"

enum { LARGE = 131072, SMALL = 4096, MEASURE = 1 };

static const struct policy_ops *const all[] = {
	&policy_fifo, &policy_switch, &policy_credits, &policy_rates, &policy_round, &policy_tokens, &policy_window,
	&policy_tags,
};

enum { POLICIES = sizeof(all) / sizeof(all[0]) };

struct bench {
	struct arena arena;
	struct lab lab;
	struct lab_setup setup;
	struct lab_device *device;
};

static int
bench_begin(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		return -1;
	arena_init(&bench->arena, 0);
	lab_init(&bench->lab, &bench->arena, &lab_maker_flash, 1);
	*state = bench;
	return 0;
}

static int
bench_end(void **state)
{
	struct bench *bench = *state;

	arena_drop(&bench->arena);
	free(bench);
	return 0;
}

/* A drive whose link alone bounds what it gives, 2.4 GB/s in any size, and what is true of it. */
static void
plan(struct bench *bench, const struct policy_ops *policy)
{
	lab_setup_init(&bench->setup, LAB_DIRECT);
	bench->device = lab_setup_device(&bench->setup, "flash:optane,64M,data=no");
	bench->device->policy = policy;
	bench->device->terms = (struct policy_terms){
		.rate = UINT64_C(2300000000), .depth = 16, .latency_ns = 500 * 1000,
	};
	qos_params_default(&bench->device->terms.params);
	bench->device->terms.params.inflight_bytes = 2 * QOS_SLOT_BYTES;
	lab_setup_phase(&bench->setup, "settle", 50 * LAB_MS, false);
	lab_setup_phase(&bench->setup, "measure", 100 * LAB_MS, true);
}

static struct lab_job *
add(struct bench *bench, uint32_t bytes, uint32_t depth)
{
	return lab_setup_job(&bench->setup, "tenant", LAB_READ, bytes, depth);
}

static const struct lab_outcome *
run(struct bench *bench)
{
	const struct lab_outcome *outcome = lab_run(&bench->lab, &bench->setup);

	assert_string_equal(bench->lab.why, "");
	assert_non_null(outcome);
	assert_int_equal(lab_failed(outcome), 0);
	return outcome;
}

static double
mbps(const struct lab_outcome *outcome, int job)
{
	return lab_metric_of(outcome, job, MEASURE, LAB_ALL_OPS, LAB_MBPS);
}

/* Of a tenant with small I/Os, and of one with large ones, each with more than the device needs. */
static double
ratio(struct bench *bench, const struct policy_ops *policy)
{
	const struct lab_outcome *outcome;

	plan(bench, policy);
	add(bench, SMALL, 64);
	add(bench, LARGE, 8);
	outcome = run(bench);
	return mbps(outcome, 1) / mbps(outcome, 0);
}

static void
a_tenant_alone_has_the_device(void **state)
{
	struct bench *bench = *state;

	for (unsigned i = 0; i < POLICIES; i++) {
		plan(bench, all[i]);
		add(bench, SMALL, 64);
		assert_true(mbps(run(bench), 0) > 2000);
	}
}

static void
without_control_who_asks_for_more_has_more(void **state)
{
	assert_true(ratio(*state, &policy_fifo) > 3.5);
	assert_true(ratio(*state, &policy_round) > 20);
}

static void
the_switch_and_those_who_know_the_size_share_bytes(void **state)
{
	assert_true(fabs(ratio(*state, &policy_switch) - 1) < 0.05);
	assert_true(fabs(ratio(*state, &policy_tags) - 1) < 0.05);
	assert_true(fabs(ratio(*state, &policy_tokens) - 1) < 0.05);
}

static void
rates_are_kept(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan(bench, &policy_rates);
	add(bench, SMALL, 64)->terms.rate = 300 * 1000 * 1000;
	add(bench, LARGE, 8)->terms.rate = 700 * 1000 * 1000;
	outcome = run(bench);
	assert_true(fabs(mbps(outcome, 0) - 300) < 3 && fabs(mbps(outcome, 1) - 700) < 7);
}

static void
weights_are_parts(void **state)
{
	static const struct policy_ops *const weighted[] = { &policy_switch, &policy_tags, &policy_tokens };
	struct bench *bench = *state;

	for (unsigned i = 0; i < 3; i++) {
		const struct lab_outcome *outcome;

		plan(bench, weighted[i]);
		add(bench, SMALL, 128);
		add(bench, SMALL, 128)->terms.weight = 3;
		outcome = run(bench);
		assert_true(fabs(mbps(outcome, 1) / mbps(outcome, 0) - 3) < 0.1);
	}
}

static void
caps_are_the_switch_s(void **state)
{
	struct bench *bench = *state;

	plan(bench, &policy_switch);
	add(bench, SMALL, 64)->terms.caps[QOS_READ].ios = 1000;
	add(bench, SMALL, 64);
	assert_true(fabs(lab_metric_of(run(bench), 0, MEASURE, LAB_READ, LAB_IOPS) - 1000) <= 20);
}

static void
jobs_of_one_tenant_have_one_part(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan(bench, &policy_switch);
	add(bench, SMALL, 64)->tenant = 7;
	add(bench, SMALL, 64);
	add(bench, SMALL, 64)->tenant = 7;
	outcome = run(bench);
	assert_true(fabs((mbps(outcome, 0) + mbps(outcome, 2)) / mbps(outcome, 1) - 1) < 0.05);
}

static void
who_obeys_credits_does_not_wait_at_the_target(void **state)
{
	struct bench *bench = *state;
	uint64_t waiting[2] = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		const struct lab_outcome *outcome;

		plan(bench, i == 0 ? &policy_switch : &policy_credits);
		bench->setup.bin_ns = LAB_MS;
		for (unsigned tenant = 0; tenant < 4; tenant++)
			add(bench, SMALL, 256);
		outcome = run(bench);
		for (unsigned bin = 50; bin < 150; bin++)
			waiting[i] += lab_view_of(outcome, 0, bin)->waiting;
		assert_true(mbps(outcome, LAB_ALL_JOBS) > 2000);
	}
	assert_true(waiting[0] > 2 * waiting[1]);
}

static void
what_is_seen_of_a_policy_is_so(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;
	const struct policy_view *view;
	uint64_t bytes = 0;

	plan(bench, &policy_switch);
	bench->setup.bin_ns = 10 * LAB_MS;
	add(bench, SMALL, 64);
	outcome = run(bench);
	assert_int_equal(outcome->bin_count, 15);
	view = lab_view_of(outcome, 0, 14);
	assert_int_equal(view->waiting + view->inflight, 64);
	assert_true(view->rate > 0 && view->write_cost == 9 * QOS_COST_ONE && view->latency_ns[QOS_READ] > 8000);
	for (unsigned bin = 5; bin < 15; bin++)
		bytes += lab_bins_of(outcome, 0)[bin].bytes[LAB_READ];
	assert_true(bytes == lab_measure_of(outcome, 0, MEASURE)->bytes[LAB_READ]);
	assert_true(lab_served_us(outcome, 0, MEASURE, LAB_READ, 500000) <
	    lab_metric_of(outcome, 0, MEASURE, LAB_READ, LAB_P50));
	assert_true(isnan(lab_served_us(outcome, 0, MEASURE, LAB_WRITE, 500000)));
}

static void
a_job_in_bursts_works_at_their_beginning(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;
	struct lab_job *job;

	plan(bench, NULL);
	bench->setup.bin_ns = 10 * LAB_MS;
	job = add(bench, SMALL, 8);
	job->burst_ns = 20 * LAB_MS;
	job->every_ns = 50 * LAB_MS;
	outcome = run(bench);
	for (unsigned bin = 0; bin < 15; bin++)
		assert_true((lab_bins_of(outcome, 0)[bin].bytes[LAB_READ] > 100 * SMALL) == (bin % 5 < 2));
}

/* Rates, and times. */
static void
times_of_a_profile_change_together(void **state)
{
	struct bench *bench = *state;
	double full[2], lone[2];

	for (uint32_t i = 0; i < 2; i++) {
		plan(bench, NULL);
		bench->device->times_percent = 100 * (i + 1);
		add(bench, SMALL, 64);
		full[i] = mbps(run(bench), 0);
		bench->setup.jobs[0].depth = 1;
		lone[i] = mbps(run(bench), 0);
	}
	assert_true(fabs(full[0] / full[1] - 2) < 0.02);
	assert_true(fabs(lone[0] / lone[1] - 2) < 0.05);
}

static void
a_history_with_a_policy_is_one_too(void **state)
{
	struct bench *bench = *state;

	for (unsigned i = 0; i < POLICIES; i++) {
		uint64_t hash;

		(void)ratio(bench, all[i]);
		hash = bench->lab.hash;
		lab_init(&bench->lab, &bench->arena, &lab_maker_flash, 1);
		(void)ratio(bench, all[i]);
		assert_true(hash == bench->lab.hash);
		lab_init(&bench->lab, &bench->arena, &lab_maker_flash, 1);
	}
}

/* ---- side by side ---- */

struct thing {
	uint64_t seed, number;
};

static bool
find(struct lab *lab, const void *arg, unsigned i, void *found)
{
	struct bench *bench = lab_alloc(lab, sizeof(*bench));

	plan(bench, *(const struct policy_ops *const *)arg);
	add(bench, SMALL, i + 1);
	*(struct thing *)found = (struct thing){ lab->seed, i };
	if (i == 5)
		lab_refuse(lab, "the fifth is never there");
	return i != 5 && lab_run(lab, &bench->setup) != NULL;
}

static void
what_is_done_one_by_one_is_found_in_its_order(void **state)
{
	const struct policy_ops *policy = &policy_switch;
	struct bench *bench = *state;
	struct thing things[6];

	assert_true(lab_each(&bench->lab, 4, find, &policy, things, sizeof(things[0])));
	for (unsigned i = 0; i < 4; i++)
		assert_true(things[i].seed == 1 && things[i].number == i);
	assert_int_equal(bench->lab.runs, 4);
	assert_int_equal(bench->lab.progress.measured, 4);
	assert_int_equal(bench->lab.progress.of, 4);
	assert_int_equal(bench->lab.profile_count, 1);
	assert_memory_equal(bench->lab.profiles[0], "optane ", 7);
	assert_true(bench->lab.constant_count > 4);
	assert_false(lab_each(&bench->lab, 6, find, &policy, things, sizeof(things[0])));
	assert_string_equal(bench->lab.why, "the fifth is never there");
}

static void
what_makes_no_sense_is_refused(void **state)
{
	struct bench *bench = *state;

	plan(bench, &policy_switch);
	add(bench, SMALL, 1)->priority = QOS_PRIORITIES;
	assert_string_equal(lab_setup_wrong(&bench->setup), "the priority of a job is 0 to 3");
	bench->setup.jobs[0].priority = 0;
	bench->setup.jobs[0].burst_ns = 1;
	assert_non_null(strstr(lab_setup_wrong(&bench->setup), "burst"));
	bench->setup.jobs[0].burst_ns = 0;
	bench->setup.bin_ns = 7 * LAB_MS;
	assert_non_null(strstr(lab_setup_wrong(&bench->setup), "pieces of time"));
	bench->setup.bin_ns = 0;
	assert_null(lab_setup_wrong(&bench->setup));
	bench->setup.rig = LAB_FABRIC;
	assert_null(lab_setup_wrong(&bench->setup));
	bench->setup.devices[0].policy = &policy_rates;
	assert_string_equal(lab_setup_wrong(&bench->setup), "the target shares a device by the switch, or not at all");
}

#define on_bench(test) cmocka_unit_test_setup_teardown(test, bench_begin, bench_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		on_bench(a_tenant_alone_has_the_device),
		on_bench(without_control_who_asks_for_more_has_more),
		on_bench(the_switch_and_those_who_know_the_size_share_bytes),
		on_bench(rates_are_kept),
		on_bench(weights_are_parts),
		on_bench(caps_are_the_switch_s),
		on_bench(jobs_of_one_tenant_have_one_part),
		on_bench(who_obeys_credits_does_not_wait_at_the_target),
		on_bench(what_is_seen_of_a_policy_is_so),
		on_bench(a_job_in_bursts_works_at_their_beginning),
		on_bench(times_of_a_profile_change_together),
		on_bench(a_history_with_a_policy_is_one_too),
		on_bench(what_is_done_one_by_one_is_found_in_its_order),
		on_bench(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
