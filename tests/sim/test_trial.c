/*
 * test_trial.c - trials of whole clusters: the scenarios that are built in, and what a trial says of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/lane.h"
#include "trial/scenario.h"
#include "trial/trial.h"

enum { SEEDS = 8 };

static struct plan plan; /* a large one */

static void
draw(const char *text, uint64_t seed)
{
	struct conf_errors errors = { 0 };
	struct scenario *scenario;
	struct arena arena;

	arena_init(&arena, 0);
	assert_int_equal(scenario_read(&arena, text, strlen(text), &errors, &scenario), 0);
	plan_draw(scenario, seed, &plan);
	arena_drop(&arena);
}

static struct trial_result
run(const char *text, uint64_t seed)
{
	struct trial_result result;

	draw(text, seed);
	trial_run(&plan, NULL, &result);
	if (result.end != TRIAL_RIGHT)
		print_message("seed %llu, %s: %s\n", (unsigned long long)seed, result.oracle, result.why);
	return result;
}

static const char *
built_in(const char *name)
{
	for (unsigned i = 0; i < scenario_count; i++)
		if (strcmp(scenario_texts[i].name, name) == 0)
			return scenario_texts[i].text;
	fail_msg("there is no scenario %s", name);
	return NULL;
}

static void
nothing_is_wrong_in_any_scenario(void **state)
{
	(void)state;
	for (unsigned i = 0; i < scenario_count; i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct trial_result result = run(scenario_texts[i].text, seed);

			assert_int_equal(result.end, TRIAL_RIGHT);
			assert_true(result.counts.ios > 0 && result.counts.checked > 0);
		}
}

static void
the_same_seed_has_the_same_trial(void **state)
{
	const char *text = built_in("everything");

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result first = run(text, seed), second = run(text, seed);

		assert_true(first.hash == second.hash && first.events == second.events);
		assert_memory_equal(&first.counts, &second.counts, sizeof(first.counts));
	}
}

static void
other_seeds_have_other_trials(void **state)
{
	const char *text = built_in("steady");

	(void)state;
	assert_true(run(text, 1).hash != run(text, 2).hash);
}

/* A search that never did something has not found it right. */
static void
every_fault_comes_about(void **state)
{
	uint64_t faults[FAULTS] = { 0 };

	(void)state;
	for (unsigned i = 0; i < scenario_count; i++)
		for (uint64_t seed = 101; seed < 101 + SEEDS; seed++) {
			struct trial_result result = run(scenario_texts[i].text, seed);

			assert_int_equal(result.end, TRIAL_RIGHT);
			for (unsigned kind = 0; kind < FAULTS; kind++)
				faults[kind] += result.counts.faults[kind];
		}
	for (unsigned kind = 0; kind < FAULTS; kind++)
		if (faults[kind] == 0)
			fail_msg("no trial had a fault %s", fault_rows[kind].name);
}

static void
a_trial_that_takes_too_long_is_ended(void **state)
{
	struct trial_watch watch = { .max_events = 5000 };
	struct trial_result result;

	(void)state;
	draw(built_in("steady"), 1);
	trial_run(&plan, &watch, &result);
	assert_int_equal(result.end, TRIAL_LIMIT);
	assert_int_equal(result.events, 5000);
	assert_non_null(strstr(result.why, "it has not ended after 5000 events"));
}

/* Nothing moves while all are down; time does. */
static void
all_may_be_down_at_once(void **state)
{
	static const char text[] =
	    "says: nobody is there\n"
	    "knobs: { hosts: 2, targets: 2, until: 40 ms, in-ram: 50 %, write: 1, read: 1 }\n"
	    "faults:\n"
	    "  - { at: 5 ms, what: target-killed, for: 10 ms, whom: 0 }\n"
	    "  - { at: 6 ms, what: target-power, for: 10 ms, whom: 1 }\n"
	    "  - { at: 7 ms, what: all-leave, for: 10 ms }\n";
	struct trial_result result = run(text, 1);

	(void)state;
	assert_int_equal(result.end, TRIAL_RIGHT);
	assert_int_equal(result.counts.faults[FAULT_ALL_LEAVE], 1);
	assert_true(result.counts.unknown > 0);
}

/* It is parted from its target when it dies: what it has sent is on its way, and lands when others have long been at
 * work. */
static void
what_a_dead_host_has_sent_may_come_late(void **state)
{
	static const char text[] =
	    "says: late writes\n"
	    "knobs: { hosts: 2, listeners: 2, until: 90 ms, in-ram: 100 %, blocks: 8, write: 1, read: 1,\n"
	    "  kato: 1000 ms, no-extension: 0 %, depth: 4, pause: 1 ms }\n"
	    "faults:\n"
	    "  - { at: 40 ms, what: parted, for: 20 ms, whom: 0, part: 0 }\n"
	    "  - { at: 42 ms, what: host-killed, for: 2 ms, whom: 0, part: 1 }\n";

	uint64_t unknown = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result result = run(text, seed);

		assert_int_equal(result.end, TRIAL_RIGHT);
		unknown += result.counts.unknown;
	}
	assert_true(unknown > SEEDS);
}

/* One of two paths falls silent, is given up, and delivers what it has held back while the target still takes the host
 * for alive: by then the blocks would hold something younger, if writes had been sent again in the meantime. */
static void
what_a_silent_path_has_held_back_overtakes_nothing(void **state)
{
	static const char text[] =
	    "says: silence that ends just before the keep-alive time is over\n"
	    "knobs: { hosts: 2, listeners: 2, until: 600 ms, in-ram: 100 %, blocks: 4, write: 1, read: 1,\n"
	    "  no-extension: 100 %, kato: 100 ms, io-timeout: 40 ms, depth: 4, pause: 1 ms }\n"
	    "faults:\n"
	    "  - { at: 50 ms, what: listener-silent, for: 95 ms, whom: 0, part: 0 }\n"
	    "  - { at: 400 ms, what: listener-silent, for: 95 ms, whom: 0, part: 1 }\n";
	uint64_t losses = 0, resent = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result result = run(text, seed);

		assert_int_equal(result.end, TRIAL_RIGHT);
		losses += result.counts.losses;
		resent += result.counts.resent;
	}
	assert_true(losses >= 2 * SEEDS && resent > SEEDS);
}

/* At a target that dies, and whose namespaces and disks come and go. */
static void
reservations_forbid_and_are_forgotten_or_kept(void **state)
{
	static const char text[] =
	    "says: reservations\n"
	    "knobs: { hosts: 6, volumes: 2, target-reactors: 3, until: 200 ms, in-ram: 50 %, claims: 100 %,\n"
	    "  write: 1, read: 1, flush: 1, copy: 1, compare-and-write: 1, pause: 1 ms }\n"
	    "often:\n"
	    "  target-killed: { every: 20-80 ms, for: 5 ms }\n"
	    "  volume-gone: { every: 20-80 ms, for: 5 ms }\n"
	    "  disk-fails: { every: 20-80 ms, for: 5 ms }\n";

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result result = run(text, seed);

		assert_int_equal(result.end, TRIAL_RIGHT);
		assert_true(result.counts.claims > 50 && result.counts.conflicts > 0);
	}
}

/* It has copied some of its blocks when its path is taken away, and is not sent again. */
static void
a_copy_that_has_begun_is_done_once(void **state)
{
	static const char text[] =
	    "says: copies, while the operator takes a path away and gives it back\n"
	    "knobs: { hosts: 4, lanes: 2, depth: 4, until: 60 ms, in-ram: 0 %, blocks: 8, io-blocks: 8,\n"
	    "  write: 4, copy: 4, read: 1, pause: 100 us }\n"
	    "often:\n"
	    "  ana: { every: 2 ms, for: 1 ms }\n";

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result result = run(text, seed);

		assert_string_equal(result.why, "");
		assert_true(result.counts.by_op[LANE_COPY] > 100 && result.counts.faults[FAULT_ANA] > 10);
	}
}

/* It goes at any moment of a host's asking who it is. */
static void
a_namespace_that_goes_while_it_is_asked_for_is_known_when_it_is_back(void **state)
{
	enum { FIRST_US = 2000, TIMES = 40, STEP_US = 25 };
	static const char *const text =
	    "says: it goes while a host comes\n"
	    "knobs: { until: 40 ms, read: 1, latency: 100 us }\n"
	    "faults:\n"
	    "  - { at: 10 ms, what: host-killed, for: %u us }\n"
	    "  - { at: 15 ms, what: volume-gone, for: 10 ms }\n";
	char whole[400];

	(void)state;
	for (unsigned i = 0; i < TIMES; i++) {
		snprintf(whole, sizeof(whole), text, FIRST_US + i * STEP_US);
		assert_int_equal(run(whole, 1).end, TRIAL_RIGHT);
	}
}

/* The one path by which it was known is lost, and the other is being asked.  These seeds meet that. */
static void
a_namespace_is_not_gone_that_a_path_is_being_asked_about(void **state)
{
	static const uint64_t seeds[] = { 25, 247, 298, 345 };
	static const char text[] =
	    "says: hosts come while their target has no memory\n"
	    "knobs: { hosts: 8, host-reactors: 2, listeners: 3, volumes: 2, write: 1, depth: 4, pause: 1 ms,\n"
	    "  short: 30000 ppm, mail: 2 us, mail-jitter: 11 us, io-time: 3 us, until: 200 ms, kato: 150 ms,\n"
	    "  io-timeout: 50 ms }\n"
	    "often:\n"
	    "  all-leave: { every: 20 ms, for: 4 ms }\n"
	    "  no-memory: { every: 15 ms, for: 10 ms }\n";

	(void)state;
	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		assert_string_equal(run(text, seeds[i]).why, "");
}

static void
count_start(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	unsigned *starts = arg;

	(void)actor;
	(void)a;
	(void)b;
	*starts += kind == SIM_START && now_ns > 10 * 1000 * 1000 && now_ns < 40 * 1000 * 1000;
}

/* Of two that are down the one comes with all others, the other when its own time is over. */
static void
who_is_killed_alone_does_not_come_back_with_all(void **state)
{
	static const char text[] =
	    "says: one is down for longer\n"
	    "knobs: { hosts: 2, until: 60 ms, write: 1, read: 1 }\n"
	    "faults:\n"
	    "  - { at: 10 ms, what: host-killed, for: 40 ms, whom: 0 }\n"
	    "  - { at: 15 ms, what: all-leave, for: 10 ms }\n";
	unsigned starts = 0;
	struct trial_watch watch = { .trace = count_start, .arg = &starts };
	struct trial_result result;

	(void)state;
	draw(text, 1);
	trial_run(&plan, &watch, &result);
	assert_int_equal(result.end, TRIAL_RIGHT);
	assert_int_equal(result.counts.faults[FAULT_HOST_KILLED] + result.counts.faults[FAULT_ALL_LEAVE], 2);
	assert_int_equal(starts, 1);
}

static void
the_end_of_a_volume_is_tried_and_what_it_grows_by_is_used(void **state)
{
	static const char text[] =
	    "says: ends of volumes\n"
	    "knobs: { hosts: 2, listeners: 2, blocks: 16, io-blocks: 8, until: 100 ms, in-ram: 50 %,\n"
	    "  write: 1, read: 1, compare-and-write: 1, copy: 1, pause: 1 ms }\n"
	    "often:\n"
	    "  volume-grows: { every: 10-30 ms }\n"
	    "  target-power: { every: 30-60 ms, for: 1 ms }\n";
	struct trial_counts all = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trial_result result = run(text, seed);

		assert_int_equal(result.end, TRIAL_RIGHT);
		all.over_end += result.counts.over_end;
		all.grown += result.counts.grown;
	}
	assert_true(all.over_end > SEEDS && all.grown > 10 * SEEDS);
}

/* Of a volume with all that it can have: locks for a large one, reservations, and blocks that each reactor has made
 * unreadable. */
static void
a_target_takes_no_more_memory_than_it_says(void **state)
{
	static const char text[] =
	    "says: a volume with everything\n"
	    "knobs: { blocks: 65536, target-reactors: 4, lanes: 8, depth: 8, until: 100 ms, in-ram: 0 %,\n"
	    "  claims: 100 %, uncorrectable: 1 }\n";
	struct trial_result result = run(text, 1);

	(void)state;
	assert_int_equal(result.end, TRIAL_RIGHT);
	assert_true(result.counts.by_op[LANE_WRITE_UNCORRECTABLE] > 100 && result.counts.claims > 0);
}

/* Reactors that take a millisecond for a turn, in which a KiB arrives at most. */
static void
what_takes_too_long_where_nothing_happened_is_wrong(void **state)
{
	static const char *const text = "says: far too slow\nknobs:\n  read: 1\n  depth: 64\n  blocks: 256\n"
	    "  io-blocks: 16\n  socket-min: 1 KiB\n  socket-max: 1 KiB\n  turn-time: 1 ms\n  kato: %s\n"
	    "  io-timeout: 60 s\n";
	struct trial_result result;
	char whole[400];

	(void)state;
	snprintf(whole, sizeof(whole), text, "60 s");
	draw(whole, 1);
	trial_run(&plan, NULL, &result);
	assert_int_equal(result.end, TRIAL_WRONG);
	assert_string_equal(result.oracle, "calm");
	snprintf(whole, sizeof(whole), text, "1500 ms"); /* who waits no longer has to expect it */
	draw(whole, 1);
	trial_run(&plan, NULL, &result);
	assert_string_not_equal(result.oracle, "calm");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_wrong_in_any_scenario),
		cmocka_unit_test(the_same_seed_has_the_same_trial),
		cmocka_unit_test(other_seeds_have_other_trials),
		cmocka_unit_test(every_fault_comes_about),
		cmocka_unit_test(a_trial_that_takes_too_long_is_ended),
		cmocka_unit_test(all_may_be_down_at_once),
		cmocka_unit_test(what_a_dead_host_has_sent_may_come_late),
		cmocka_unit_test(what_a_silent_path_has_held_back_overtakes_nothing),
		cmocka_unit_test(reservations_forbid_and_are_forgotten_or_kept),
		cmocka_unit_test(a_copy_that_has_begun_is_done_once),
		cmocka_unit_test(a_namespace_that_goes_while_it_is_asked_for_is_known_when_it_is_back),
		cmocka_unit_test(a_namespace_is_not_gone_that_a_path_is_being_asked_about),
		cmocka_unit_test(who_is_killed_alone_does_not_come_back_with_all),
		cmocka_unit_test(the_end_of_a_volume_is_tried_and_what_it_grows_by_is_used),
		cmocka_unit_test(a_target_takes_no_more_memory_than_it_says),
		cmocka_unit_test(what_takes_too_long_where_nothing_happened_is_wrong),
	};

	return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
