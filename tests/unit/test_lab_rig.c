/*
 * test_lab_rig.c - jobs on devices, alone and over the fabric: what is measured of them, and that it can be had again.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lab/rig.h"

struct bench {
	struct arena arena;
	struct lab lab;
	struct lab_setup setup;
};

static int
bench_begin(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		return -1;
	arena_init(&bench->arena, 0);
	lab_init(&bench->lab, &bench->arena, &lab_maker_plain, 1);
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

/* A device that takes a millisecond for everything, for half a second after a tenth. */
static struct lab_job *
plan_slow(struct bench *bench, enum lab_rig rig, enum lab_op op, uint32_t bytes, uint32_t depth)
{
	lab_setup_init(&bench->setup, rig);
	lab_setup_device(&bench->setup, "fault:delay=1@mem:16M");
	lab_setup_phase(&bench->setup, "warm-up", 100 * LAB_MS, false);
	lab_setup_phase(&bench->setup, "measure", 500 * LAB_MS, true);
	return lab_setup_job(&bench->setup, "one", op, bytes, depth);
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
metric(const struct lab_outcome *outcome, int job, enum lab_metric which)
{
	return lab_metric_of(outcome, job, 1, LAB_ALL_OPS, which);
}

static void
test_a_device_alone_is_as_slow_as_it_is(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan_slow(bench, LAB_DIRECT, LAB_READ, 8192, 4);
	outcome = run(bench);
	/* A turn more, in which it is submitted, and one in which the end is seen. */
	assert_true(metric(outcome, 0, LAB_MEAN) >= 1000 && metric(outcome, 0, LAB_MAX) < 1001);
	assert_true(fabs(metric(outcome, 0, LAB_IOPS) - 4000) < 20);
	assert_true(fabs(metric(outcome, 0, LAB_MBPS) - 4 * 8.192) < 0.2);
	assert_int_equal(lab_measure_of(outcome, 0, 0)->latency[LAB_READ].count, 0);
	assert_true(isnan(lab_metric_of(outcome, 0, 1, LAB_WRITE, LAB_P99)));
}

static void
test_the_fabric_adds_its_way(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan_slow(bench, LAB_FABRIC, LAB_READ, 4096, 4);
	outcome = run(bench);
	assert_true(metric(outcome, 0, LAB_P50) > 1020 && metric(outcome, 0, LAB_MAX) < 1050);
	assert_true(metric(outcome, 0, LAB_IOPS) > 3800 && metric(outcome, 0, LAB_IOPS) < 4000);
}

static void
test_what_is_long_crosses_the_network_piece_by_piece(void **state)
{
	struct bench *bench = *state;
	double latency;

	plan_slow(bench, LAB_FABRIC, LAB_READ, 1048576, 1);
	strcpy(bench->setup.devices[0].spec, "mem:16M");
	latency = metric(run(bench), 0, LAB_P50);
	/* 20 us of way, 336 us at 25 Gbit/s, and what moving the bytes costs one end; whole it would be sent, and then
	 * received, which is twice that. */
	assert_true(latency > 356 && latency < 500);
}

static void
test_all_operations_go_both_ways(void **state)
{
	struct bench *bench = *state;

	for (unsigned rig = 0; rig < 2; rig++) {
		const struct lab_outcome *outcome;
		struct lab_job *job = plan_slow(bench, rig, LAB_READ, 4096, 8);

		for (unsigned op = 0; op < LAB_OPS; op++)
			job->percent[op] = 25;
		job->fua = true;
		outcome = run(bench);
		for (unsigned op = 0; op < LAB_OPS; op++) {
			double share = lab_metric_of(outcome, 0, 1, (int)op, LAB_IOPS) / metric(outcome, 0, LAB_IOPS);

			assert_true(share > 0.2 && share < 0.3);
		}
		assert_int_equal(lab_measure_of(outcome, 0, 1)->bytes[LAB_FLUSH], 0);
	}
}

static void
test_a_seed_is_a_history(void **state)
{
	struct bench *bench = *state;
	uint64_t hashes[3];

	for (unsigned i = 0; i < 3; i++) {
		lab_init(&bench->lab, &bench->arena, &lab_maker_plain, i == 2 ? 2 : 1);
		plan_slow(bench, LAB_FABRIC, LAB_WRITE, 4096, 8)->percent[LAB_WRITE] = 50;
		bench->setup.jobs[0].percent[LAB_READ] = 50;
		hashes[i] = run(bench)->hash;
	}
	assert_true(hashes[0] == hashes[1]);
	assert_true(hashes[0] != hashes[2]);
}

static void
test_what_arrives_by_itself_comes_at_its_rate(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 64)->rate = 10000;
	outcome = run(bench);
	assert_true(fabs(metric(outcome, 0, LAB_IOPS) - 10000) < 400);
	assert_true(metric(outcome, 0, LAB_P95) < 1010);
	/* Twice as many as the device can do at this depth: they wait longer and longer. */
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 5)->rate = 10000;
	outcome = run(bench);
	assert_true(fabs(metric(outcome, 0, LAB_IOPS) - 5000) < 50);
	assert_true(metric(outcome, 0, LAB_P50) > 100000);
}

static void
test_a_job_works_in_its_phases_alone(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan_slow(bench, LAB_FABRIC, LAB_READ, 4096, 4);
	lab_setup_phase(&bench->setup, "both", 100 * LAB_MS, true);
	lab_setup_phase(&bench->setup, "alone again", 100 * LAB_MS, true);
	lab_setup_job(&bench->setup, "two", LAB_WRITE, 4096, 4)->phases = 1 << 2;
	lab_setup_job(&bench->setup, "three", LAB_WRITE, 4096, 4)->phases = 1 << 2;
	bench->setup.jobs[2].rate = 1000;
	bench->setup.jobs[2].host = 1;
	bench->setup.hosts = 2;
	outcome = run(bench);
	for (int job = 1; job < 3; job++) {
		assert_true(lab_metric_of(outcome, job, 1, LAB_ALL_OPS, LAB_IOPS) == 0);
		assert_true(lab_metric_of(outcome, job, 2, LAB_ALL_OPS, LAB_IOPS) > 700);
		/* What was in flight ends in the next phase. */
		assert_true(lab_metric_of(outcome, job, 3, LAB_ALL_OPS, LAB_IOPS) < 80);
	}
	assert_true(lab_metric_of(outcome, 2, 2, LAB_ALL_OPS, LAB_P50) < 1200);
	/* What comes in the first millisecond waits for the I/O with which the host asks what it may have under way. */
	assert_true(lab_metric_of(outcome, 2, 2, LAB_ALL_OPS, LAB_MAX) < 2400);
}

static void
test_so_many_writes_are_followed_by_a_flush(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;
	uint64_t writes, flushes;

	plan_slow(bench, LAB_DIRECT, LAB_WRITE, 4096, 2)->flush_every = 4;
	outcome = run(bench);
	writes = lab_measure_of(outcome, 0, 1)->latency[LAB_WRITE].count;
	flushes = lab_measure_of(outcome, 0, 1)->latency[LAB_FLUSH].count;
	assert_true(flushes > 150 && writes >= 4 * flushes - 8 && writes <= 4 * flushes + 8);
}

static void
test_several_reactors_serve_several_devices(void **state)
{
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	plan_slow(bench, LAB_FABRIC, LAB_READ, 131072, 4);
	lab_setup_device(&bench->setup, "mem:%uM", 32);
	bench->setup.reactors = 3;
	bench->setup.hosts = 2;
	lab_setup_job(&bench->setup, "two", LAB_READ, 512, 4);
	bench->setup.devices[1].block_size = 512;
	bench->setup.jobs[1].device = bench->setup.jobs[1].host = 1;
	outcome = run(bench);
	assert_true(metric(outcome, 0, LAB_P50) > 1000 && metric(outcome, 1, LAB_P50) < 100);
}

static void
test_a_file_takes_as_long_as_the_world_says(void **state)
{
	struct bench *bench = *state;

	for (unsigned rig = 0; rig < 2; rig++) {
		double latency[2];

		for (unsigned i = 0; i < 2; i++) {
			plan_slow(bench, rig, LAB_WRITE, 4096, 2);
			strcpy(bench->setup.devices[0].spec, "file:volume.img,size=16M");
			bench->setup.world.file_ns = 50000 * (i + 1);
			latency[i] = metric(run(bench), 0, LAB_P50);
		}
		assert_true(latency[0] > 50 && latency[0] < 90);
		assert_true(fabs(latency[1] - latency[0] - 50) < 3);
	}
	assert_non_null(strstr(bench->lab.world, "an operation on a file is done after 100000 ns"));
}

/* ---- makers ---- */

static unsigned reads;

static int
varied_open(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
    struct blk **blk, char why[LAB_WHY])
{
	return blk_open(reactor, variation != NULL ? "fault:delay=2@mem:16M" : device->spec, device->block_size, blk,
	    why);
}

static const char *
varied_constant(const struct lab_device *device, unsigned n)
{
	static const char *const names[] = { "toy.delay", "toy.other" };

	return n < 2 ? names[n] : NULL;
}

static void
varied_read(const struct blk *blk, struct lab_reading *reading)
{
	assert_non_null(blk);
	reading->counters[reading->count++] = (struct lab_counter){ "looks", ++reads };
}

static void
varied_profile(const struct lab_device *device, char text[LAB_PROFILE])
{
	strcpy(text, "toy 0123");
}

static void
test_a_maker_varies_and_counts(void **state)
{
	static const struct lab_maker maker = { varied_open, varied_constant, varied_read, varied_profile };
	struct bench *bench = *state;
	const struct lab_outcome *outcome;

	for (unsigned i = 0; i < 2; i++) {
		lab_init(&bench->lab, &bench->arena, &maker, 1);
		if (i == 1)
			bench->lab.variation = (struct lab_variation){ "toy.other", 100 };
		plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 1);
		outcome = run(bench);
		assert_true(fabs(metric(outcome, 0, LAB_P50) - 1000 * (i + 1)) < 20 * (i + 1));
		assert_int_equal(lab_counted(outcome, 0, 0, "looks"), 1);
		assert_int_equal(lab_counted(outcome, 0, 1, "looks"), 1);
		assert_int_equal(lab_counted(outcome, 0, 1, "nothing"), 0);
	}
	assert_int_equal(bench->lab.constant_count, 3);
	assert_string_equal(bench->lab.constants[1], "toy.other");
	assert_string_equal(bench->lab.constants[2], "world.turn_ns");
	assert_int_equal(bench->lab.profile_count, 1);
	assert_string_equal(bench->lab.profiles[0], "toy 0123");
}

static void
test_the_world_can_be_varied(void **state)
{
	struct bench *bench = *state;
	double before, after;

	plan_slow(bench, LAB_FABRIC, LAB_READ, 4096, 1);
	before = metric(run(bench), 0, LAB_MEAN);
	bench->lab.variation = (struct lab_variation){ "world.latency_ns", 50 };
	after = metric(run(bench), 0, LAB_MEAN);
	assert_true(fabs(after - before - 10) < 0.1);
}

static void
test_what_cannot_be_run_says_why(void **state)
{
	static const struct { const char *spec, *why; } wrong[] = {
		{ "mem:1", "smaller than 1M" }, { "nothing:1G", "not a volume" }, { "mem:1M", "the place of job one" },
	};
	struct bench *bench = *state;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned rig = 0; rig < 2; rig++) {
			lab_init(&bench->lab, &bench->arena, &lab_maker_plain, 1);
			plan_slow(bench, rig, LAB_READ, 4096, 1)->first = 8 << 20;
			strcpy(bench->setup.devices[0].spec, wrong[i].spec);
			assert_null(lab_run(&bench->lab, &bench->setup));
			assert_non_null(strstr(bench->lab.why, wrong[i].why));
		}
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 1)->percent[LAB_WRITE] = 1;
	assert_string_equal(lab_setup_wrong(&bench->setup), "the percents of a job's operations do not make 100");
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4097, 1);
	assert_non_null(lab_setup_wrong(&bench->setup));
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 1)->device = 1;
	assert_non_null(lab_setup_wrong(&bench->setup));
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 0);
	assert_non_null(lab_setup_wrong(&bench->setup));
	plan_slow(bench, LAB_DIRECT, LAB_READ, 4096, 1);
	bench->setup.phases[1].measured = false;
	assert_string_equal(lab_setup_wrong(&bench->setup), "no phase is measured");
}

#define on_bench(test) cmocka_unit_test_setup_teardown(test, bench_begin, bench_end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		on_bench(test_a_device_alone_is_as_slow_as_it_is),
		on_bench(test_the_fabric_adds_its_way),
		on_bench(test_what_is_long_crosses_the_network_piece_by_piece),
		on_bench(test_all_operations_go_both_ways),
		on_bench(test_a_seed_is_a_history),
		on_bench(test_what_arrives_by_itself_comes_at_its_rate),
		on_bench(test_a_job_works_in_its_phases_alone),
		on_bench(test_so_many_writes_are_followed_by_a_flush),
		on_bench(test_several_reactors_serve_several_devices),
		on_bench(test_a_file_takes_as_long_as_the_world_says),
		on_bench(test_a_maker_varies_and_counts),
		on_bench(test_the_world_can_be_varied),
		on_bench(test_what_cannot_be_run_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
