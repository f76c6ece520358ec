/*
 * test_failover_cache.c - no Flush succeeds when what it speaks for was lost, and none fails where nothing was.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failover_flushes.h"

enum { MS = 1000 * 1000 };

static uint64_t seed_first, seed_count = 200;

static void
crash(struct fail *f, unsigned flags, uint64_t ms)
{
	sim_process_crash(f->target_process, flags);
	fail_run(f, ms);
	sim_process_start(f->target_process);
}

/* The target dies, and starts again; and nothing more is done. */
#define DIES { .op = LANE_OPS }
#define ENDS { 0 }

/* One step after another; the target dies in this way.  scarce > 0: the host cannot allocate what it wants then first,
 * nor the so-manieth thing later. */
static void
play_scarce(const struct flushes_step *steps, const char *spec, bool plain, unsigned flags, uint64_t scarce)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	fail_init(&f);
	f.paths = 1;
	f.target.spec = spec;
	f.options.plain = plain;
	f.ios = 0;
	for (const struct flushes_step *step = steps; step->lane != 0 || step->op != 0; step++)
		f.ios += step->lane != 0;
	flushes.steps = steps;
	fail_start(&f, seed_first, &sim);
	sim_run_until(f.sim, 60000ULL * MS, fail_loading, &f);
	while (!f.loaded && sim_run_until(f.sim, sim_now(f.sim) + 1000ULL * MS, flushes_waits, &f) == SIM_END_MET) {
		f.reactors[0]->arena->fail_at = scarce > 0;
		sim_process_crash(f.target_process, flags);
		fail_run(&f, 10);
		f.reactors[0]->arena->fail_at = scarce;
		sim_process_start(f.target_process);
		flushes.go = true;
		fail_run(&f, 1);
	}
	fail_end(&f);
	fail_check(&f);
	flushes.steps = NULL;
}

static void
play(const struct flushes_step *steps, const char *spec, bool plain, unsigned flags)
{
	play_scarce(steps, spec, plain, flags, 0);
}

static const char *const on_disk = "file:volume.img,size=1M", *const in_memory = "mem:1M",
    *const over_disk = "volatile:seed=3@file:volume.img,size=1M";

/* Both queues are told, by the first Flush of each, whichever has written; then all is well. */
static const struct flushes_step told_once[] = {
	{ 1, LANE_FLUSH, 0, 0 }, { 1, LANE_WRITE, 0, 0 }, DIES, { 2, LANE_FLUSH, 0, -EIO }, { 2, LANE_FLUSH, 0, 0 },
	{ 1, LANE_READ, 0, 0 }, { 1, LANE_FLUSH, 0, -EIO }, { 1, LANE_FLUSH, 0, 0 }, { 2, LANE_WRITE, 0, 0 },
	{ 1, LANE_FLUSH, 0, 0 }, DIES, { 1, LANE_FLUSH, 0, 0 }, { 2, LANE_FLUSH, 0, 0 }, ENDS,
};

static const struct flushes_step never_told[] = {
	{ 1, LANE_WRITE, 0, 0 }, { 2, LANE_WRITE, 0, 0 }, DIES, { 2, LANE_FLUSH, 0, 0 }, { 1, LANE_FLUSH, 0, 0 },
	{ 1, LANE_WRITE, 0, 0 }, DIES, { 1, LANE_WRITE, 0, 0 }, DIES, { 2, LANE_FLUSH, 0, 0 }, ENDS,
};

/* What was flushed, by any queue, is not lost; nor is what was durable when it was answered, or has changed nothing. */
static const struct flushes_step nothing_lost[] = {
	{ 1, LANE_WRITE, 0, 0 }, { 2, LANE_WRITE, 0, 0 }, { 1, LANE_FLUSH, 0, 0 },
	{ 1, LANE_WRITE, LANE_FUA, 0 }, { 2, LANE_WRITE_ZEROES, LANE_FUA, 0 },
	{ 1, LANE_COMPARE_AND_WRITE, LANE_FUA, 0 }, { 1, LANE_READ, 0, 0 }, { 2, LANE_VERIFY, 0, 0 }, DIES,
	{ 2, LANE_FLUSH, 0, 0 }, { 1, LANE_FLUSH, 0, 0 }, ENDS,
};

/* However often. */
#define FLUSHED { 1, LANE_WRITE, 0, 0 }, { 2, LANE_FLUSH, 0, 0 }, DIES
static const struct flushes_step often[] = {
	FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED, FLUSHED,
	FLUSHED, { 1, LANE_FLUSH, 0, 0 }, ENDS,
};

static void
each_queue_is_told_once(void **state)
{
	(void)state;
	play(told_once, on_disk, false, 0);
	play(told_once, in_memory, false, SIM_CRASH_KEEPS_WRITES);
	play(told_once, over_disk, false, SIM_CRASH_KEEPS_WRITES);
}

static void
none_is_told_where_nothing_is_lost(void **state)
{
	(void)state;
	play(never_told, on_disk, false, SIM_CRASH_KEEPS_WRITES);
	play(nothing_lost, on_disk, false, 0);
	play(often, on_disk, false, 0);
	play(nothing_lost, over_disk, false, SIM_CRASH_KEEPS_WRITES);
}

/* As of a target that does not tell. */
/* Whatever there is no memory for: no I/O goes by an association of which the view does not say whose it is. */
static void
it_is_told_whatever_there_is_no_memory_for(void **state)
{
	static const struct flushes_step steps[] = {
		{ 1, LANE_WRITE, 0, 0 }, DIES, { 2, LANE_FLUSH, 0, -EIO }, { 2, LANE_FLUSH, 0, 0 }, ENDS,
	};

	(void)state;
	for (uint64_t scarce = 1; scarce < 40; scarce++)
		play_scarce(steps, on_disk, false, 0, scarce);
}

/* A queue that is gone has written what others flush; one that is new is told what nobody was told. */
static void
queues_that_come_and_go_are_counted(void **state)
{
	static const struct flushes_step steps[] = {
		{ 1, LANE_WRITE, 0, 0 }, { 1, FLUSHES_REOPEN, 0, 0 }, DIES, { 2, FLUSHES_REOPEN, 0, 0 },
		{ 2, LANE_FLUSH, 0, -EIO }, { 2, FLUSHES_REOPEN, 0, 0 }, { 2, LANE_FLUSH, 0, 0 },
		{ 1, LANE_FLUSH, 0, -EIO }, ENDS,
	};

	(void)state;
	play(steps, on_disk, false, 0);
}

/* The volume is exchanged for another one, under hosts that are connected. */
static void
another_volume_has_another_life(void **state)
{
	static const struct flushes_step steps[] = {
		{ 1, LANE_FLUSH, 0, 0 }, { 1, LANE_WRITE, 0, 0 }, DIES, { 2, LANE_FLUSH, 0, -EIO },
		{ 2, LANE_FLUSH, 0, 0 }, ENDS,
	};
	struct sim_options sim = fail_sim_options();
	struct fail f;

	(void)state;
	fail_init(&f);
	f.target.operated = true;
	f.ios = 4;
	flushes.steps = steps;
	fail_start(&f, seed_first, &sim);
	sim_run_until(f.sim, 60000ULL * MS, flushes_waits, &f);
	f.target.wanted.moved = true;
	sim_run_until(f.sim, sim_now(f.sim) + 1000 * MS, fail_target_serves, &f.target);
	fail_run(&f, 10);
	flushes.loses = flushes.go = true;
	fail_end(&f);
	flushes.steps = NULL;
	assert_int_equal(f.lost, 0);
	fail_check(&f);
}

static void
a_plain_host_goes_without(void **state)
{
	(void)state;
	play(never_told, on_disk, true, 0);
}

static void
whatever_changes_blocks_counts(void **state)
{
	static const struct { uint8_t op, flags; } ops[] = {
		{ LANE_WRITE, 0 }, { LANE_WRITE_ZEROES, 0 }, { LANE_WRITE_ZEROES, LANE_UNMAP }, { LANE_DEALLOCATE, 0 },
		{ LANE_COMPARE_AND_WRITE, 0 }, { LANE_COPY, 0 }, { LANE_WRITE_UNCORRECTABLE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		const struct flushes_step steps[] = {
			{ 1, ops[i].op, ops[i].flags, 0 }, DIES, { 2, LANE_FLUSH, 0, -EIO }, ENDS,
		};

		play(steps, on_disk, false, 0);
	}
}

/* Cuts, resets and deaths while both queues write and flush; also where allocations fail. */
static void
storm(uint64_t seed, bool machine, unsigned *told, unsigned *missed)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	fail_init(&f);
	f.paths = 1 + (unsigned)(seed % 3);
	f.target.spec = seed % 2 ? on_disk : "fault:delay-write=1@file:volume.img,size=1M";
	f.ios = 2000;
	flushes.percent = seed % 3 == 0 ? 30 : 6;
	sim.latency_ns = seed % 2 ? 300 * 1000 : sim.latency_ns;
	sim.writeback_ppm = seed % 4 == 0 ? 300000 : 0;
	sim.reset_ppm = seed % 5 == 0 ? 300 : 0;
	fail_start(&f, seed, &sim);
	sim_run_until(f.sim, 60000ULL * MS, fail_loading, &f);
	for (int i = 0; i < 10 && !f.loaded; i++) {
		unsigned path = (unsigned)sim_below(f.sim, f.paths);
		bool keeps = !machine || sim_below(f.sim, 3) == 0;

		for (unsigned r = 0; seed % 7 == 0 && r <= FAIL_LANES; r++)
			f.reactors[r]->arena->fail_at = 1 + sim_below(f.sim, 12);
		fail_run(&f, sim_below(f.sim, 20));
		if (sim_below(f.sim, 2) == 0) {
			flushes.loses |= !keeps;
			crash(&f, (keeps ? SIM_CRASH_KEEPS_WRITES : 0) |
			    (unsigned)sim_below(f.sim, 2) * SIM_CRASH_HALF_OPEN, sim_below(f.sim, 100));
			continue;
		}
		fail_cut(&f, path, sim_below(f.sim, 2) ? SIM_CUT_HOLD : SIM_CUT_RESET);
		fail_run(&f, sim_below(f.sim, 300));
		fail_mend(&f, path);
	}
	fail_end(&f);
	fail_check(&f);
	assert_true(flushes.flushed > 10);
	*told += flushes.told;
	*missed += flushes.missed;
}

static void
what_was_flushed_is_there_whatever_crashes(void **state)
{
	unsigned told = 0, missed = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		storm(seed, true, &told, &missed);
	assert_true(told > seed_count && missed > seed_count / 4);
}

static void
a_process_that_dies_loses_nothing(void **state)
{
	unsigned told = 0, missed = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		storm(seed, false, &told, &missed);
	assert_int_equal(told + missed, 0);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_queue_is_told_once),
		cmocka_unit_test(none_is_told_where_nothing_is_lost),
		cmocka_unit_test(it_is_told_whatever_there_is_no_memory_for),
		cmocka_unit_test(queues_that_come_and_go_are_counted),
		cmocka_unit_test(another_volume_has_another_life),
		cmocka_unit_test(a_plain_host_goes_without),
		cmocka_unit_test(whatever_changes_blocks_counts),
		cmocka_unit_test(what_was_flushed_is_there_whatever_crashes),
		cmocka_unit_test(a_process_that_dies_loses_nothing),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
