/*
 * test_failover.c - a host whose paths are cut at every event loses, doubles and reorders no write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failover_bench.h"

static uint64_t seed_first, seed_count = 60;

static void
without_a_cut_nothing_is_sent_again(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.policy = seed % 2 ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN;
		f.options.hdgst = seed & 2;
		f.options.ddgst = seed & 4;
		f.paths = 1 + (seed & 1);
		fail_start(&f, seed, &sim);
		sim_run_until(f.sim, 1000ULL * FAIL_MS, fail_loaded, &f);
		assert_true(f.loaded);
		fail_end(&f);
		assert_int_equal(f.resent + f.lost + f.stale + f.timeouts, 0);
		assert_true(f.reads > 50);
		fail_check(&f);
	}
}

/* One that is silent from the start is not waited for, and not missed. */
static void
a_path_that_is_silent_holds_nobody_up(void **state)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	(void)state;
	fail_init(&f);
	f.options.connect_ms = 10000;
	fail_start(&f, seed_first, &sim);
	fail_cut(&f, 1, SIM_CUT_HOLD);
	sim_run_until(f.sim, 900ULL * FAIL_MS, fail_loading, &f);
	assert_true(f.loading);
	fail_mend(&f, 1);
	fail_end(&f);
	fail_check(&f);
}

/* A lane is told whether it can be used, also where all that it connects to is lost meanwhile and stays so. */
static void
a_lane_that_loses_its_paths_as_it_comes_is_told(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		enum sim_cut how = seed % 2 ? SIM_CUT_HOLD : SIM_CUT_RESET;
		struct fail f;

		fail_init(&f);
		fail_start(&f, seed, &sim);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_opening, &f);
		sim_run_until(f.sim, sim_now(f.sim) + sim_below(f.sim, 600 * 1000), NULL, NULL);
		fail_cut(&f, 0, how);
		fail_cut(&f, 1, how);
		fail_run(&f, 1000);
		assert_true(f.lanes_told >= FAIL_LANES);
		fail_mend(&f, 0);
		fail_mend(&f, 1);
		fail_end(&f);
		fail_check(&f);
	}
}

struct until {
	struct fail *fail;
	uint64_t events;
};

static bool
reached(void *arg)
{
	const struct until *until = arg;

	return sim_events(until->fail->sim) >= until->events;
}

/* One run, in which one path is cut at that event; 0: its load was over before. */
static uint64_t
cut_at(uint64_t event, bool plain, uint64_t *resent)
{
	struct sim_options sim = fail_sim_options();
	enum sim_cut how = event / 2 % 2 ? SIM_CUT_HOLD : SIM_CUT_RESET;
	unsigned path = (unsigned)(event % 2);
	struct fail f;
	struct until until = { &f, event };
	uint64_t events;

	fail_init(&f);
	f.options.plain = plain;
	f.ios = 120;
	f.options.io_timeout_ms = 40; /* so that the host gives up long before the target */
	f.target.spec = "fault:delay-write=1@mem:1M";
	sim.latency_ns = 300 * 1000; /* so that much is under way */
	fail_start(&f, 11, &sim);
	sim_run_until(f.sim, 60000ULL * FAIL_MS, reached, &until);
	events = f.loaded ? 0 : event + 1;
	fail_cut(&f, path, how);
	/* Silence is most dangerous when it ends after the host has given up, and before the target has. */
	fail_run(&f, how == SIM_CUT_HOLD ? 80 + event * 7 % 200 : event * 7 % 500);
	fail_mend(&f, path);
	fail_end(&f);
	*resent += f.resent;
	fail_check(&f);
	return events;
}

/* Each in one of the four ways: either path, reset or silent. */
static void
at_every_event(bool plain)
{
	uint64_t resent = 0, event = 0;

	while (cut_at(event, plain, &resent) != 0)
		event++;
	assert_true(event > 500);
	assert_true(resent > event);
}

static void
one_path_is_cut_at_every_event(void **state)
{
	(void)state;
	at_every_event(false);
}

static void
one_path_of_a_plain_target_is_cut_at_every_event(void **state)
{
	(void)state;
	at_every_event(true);
}

/* Both paths, again and again, also at the same time; the target's process dies now and then, its machine does not. */
static void
storm(uint64_t seed, bool plain, uint64_t *resent, uint64_t *lost)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	fail_init(&f);
	f.options.plain = plain;
	f.options.hdgst = seed & 1;
	f.options.ddgst = seed & 2;
	f.paths = seed % 5 == 0 ? 1 : 2;
	f.options.policy = seed & 4 ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN;
	f.target.spec = "fault:delay-write=2@file:volume.img,size=1M";
	f.ios = 600;
	sim.reset_ppm = seed % 3 == 0 ? 300 : 0;
	fail_start(&f, seed, &sim);
	/* It is not to be lost while it comes up: its first connect may fail for good. */
	sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
	for (int i = 0; i < 12 && !f.loaded; i++) {
		unsigned path = (unsigned)sim_below(f.sim, f.paths);

		fail_run(&f, sim_below(f.sim, 20));
		if (sim_below(f.sim, 4) == 0) {
			sim_process_crash(f.target_process, SIM_CRASH_KEEPS_WRITES |
			    (unsigned)sim_below(f.sim, 2) * SIM_CRASH_HALF_OPEN);
			fail_run(&f, sim_below(f.sim, 100));
			sim_process_start(f.target_process);
			continue;
		}
		fail_cut(&f, path, sim_below(f.sim, 2) ? SIM_CUT_HOLD : SIM_CUT_RESET);
		fail_run(&f, sim_below(f.sim, 400));
		if (f.paths == 2 && sim_below(f.sim, 3) == 0) {
			fail_cut(&f, 1 - path, SIM_CUT_RESET);
			fail_run(&f, sim_below(f.sim, 300));
			fail_mend(&f, 1 - path);
		}
		fail_mend(&f, path);
	}
	fail_end(&f);
	*resent += f.resent;
	*lost += f.lost;
	fail_check(&f);
}

static void
paths_and_targets_come_and_go(void **state)
{
	uint64_t resent = 0, lost = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		storm(seed, seed % 4 == 3, &resent, &lost);
	assert_true(resent > 5 * seed_count);
	assert_true(lost > 2 * seed_count);
}

static uint16_t
cntlid(struct fail *f, unsigned path)
{
	struct subsys_path of;

	subsys_path_get(f->subsys, path, &of);
	return of.cntlid;
}

/*
 * A path falls silent, and its target starts anew: so an association may have the id that the silent one has still.
 * When it is lost nothing is over yet.
 */
static void
an_id_that_was_there_before_says_nothing(void **state)
{
	struct sim_options sim = fail_sim_options();
	unsigned same = 0;

	(void)state;
	sim.latency_ns = 300 * 1000;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		unsigned path;
		struct fail f;

		fail_init(&f);
		f.paths = 3;
		f.target.spec = "fault:delay-write=1@file:volume.img,size=1M";
		f.target.wanted.state[0] = NVME_ANA_INACCESSIBLE;
		f.options.kato_ms = 2000;
		f.options.io_timeout_ms = 40; /* so that the host gives up long before the target */
		f.ios = 1200;
		fail_start_loaded(&f, seed, &sim);
		fail_cut(&f, 0, SIM_CUT_HOLD);
		sim_process_crash(f.target_process, SIM_CRASH_KEEPS_WRITES);
		sim_process_start(f.target_process);
		fail_run(&f, 60);
		path = cntlid(&f, 1) == cntlid(&f, 0) ? 1 : 2;
		same += cntlid(&f, path) == cntlid(&f, 0);
		fail_cut(&f, path, SIM_CUT_HOLD);
		fail_run(&f, 62 + sim_below(f.sim, 10));
		fail_mend(&f, path);
		fail_mend(&f, 0);
		fail_end(&f);
		fail_check(&f);
	}
	assert_true(same > seed_count / 4);
}

/* The id of a queue that was closed is used again while the target may still know its connection. */
static void
queues_come_and_go_and_no_path_is_lost(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;

		fail_init(&f);
		f.visited = true;
		f.target.spec = "fault:delay-write=2@file:volume.img,size=1M";
		f.paths = 1 + (unsigned)(seed % 3);
		fail_start(&f, seed, &sim);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		fail_run(&f, 100);
		fail_end(&f);
		assert_true(f.visits[0].visits > 10);
		assert_int_equal(f.lost + f.resent, 0);
		fail_check(&f);
	}
}

/* Also where allocations fail. */
static void
paths_and_queues_come_and_go(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count / 6; seed++) {
		struct fail f;

		fail_init(&f);
		f.visited = true;
		f.options.plain = seed % 4 == 3;
		f.options.policy = seed & 4 ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN;
		f.paths = 1 + (unsigned)(seed % 3);
		f.target.spec = "fault:delay-write=2@file:volume.img,size=1M";
		f.ios = 300;
		sim.reset_ppm = seed % 3 == 0 ? 300 : 0;
		fail_start(&f, seed, &sim);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		for (int i = 0; i < 12 && !f.loaded; i++) {
			unsigned path = (unsigned)sim_below(f.sim, f.paths);

			for (unsigned r = 0; seed % 2 && r <= FAIL_LANES; r++)
				f.reactors[r]->arena->fail_at = 1 + sim_below(f.sim, 12);
			fail_run(&f, sim_below(f.sim, 20));
			fail_cut(&f, path, sim_below(f.sim, 2) ? SIM_CUT_HOLD : SIM_CUT_RESET);
			fail_run(&f, sim_below(f.sim, 200));
			fail_mend(&f, path);
		}
		fail_end(&f);
		fail_check(&f);
	}
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_cut_nothing_is_sent_again),
		cmocka_unit_test(a_path_that_is_silent_holds_nobody_up),
		cmocka_unit_test(a_lane_that_loses_its_paths_as_it_comes_is_told),
		cmocka_unit_test(one_path_is_cut_at_every_event),
		cmocka_unit_test(one_path_of_a_plain_target_is_cut_at_every_event),
		cmocka_unit_test(paths_and_targets_come_and_go),
		cmocka_unit_test(an_id_that_was_there_before_says_nothing),
		cmocka_unit_test(queues_come_and_go_and_no_path_is_lost),
		cmocka_unit_test(paths_and_queues_come_and_go),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
