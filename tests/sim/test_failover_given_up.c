/*
 * test_failover_given_up.c - a host that waits no longer ends each I/O, and lets nothing overtake what may still come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failover_bench.h"

static uint64_t seed_first, seed_count = 60;

/* What cannot be sent anywhere ends after loss_ms; when a path is back all goes on. */
static void
io_is_given_up_and_goes_on(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.loss_ms = 500;
		f.options.plain = seed & 1;
		f.ios = 400;
		fail_start_loaded(&f, seed, &sim);
		fail_cut(&f, 0, SIM_CUT_HOLD);
		fail_cut(&f, 1, SIM_CUT_HOLD);
		fail_run(&f, 900);
		assert_true(f.timeouts >= FAIL_WORKS);
		assert_int_equal(f.given_up, 1);
		fail_mend(&f, 0);
		fail_mend(&f, 1);
		fail_end(&f);
		fail_check(&f);
	}
}

static void
start_target_anew(struct fail *f, bool elsewhere)
{
	sim_process_crash(f->target_process, SIM_CRASH_KEEPS_WRITES);
	f->target.elsewhere = elsewhere;
	sim_process_start(f->target_process);
}

static unsigned
refused_paths(const struct fail *f)
{
	unsigned refused = 0;

	for (unsigned i = 0; i < f->paths; i++) {
		struct subsys_path path;

		subsys_path_get(f->subsys, i, &path);
		refused += path.state == PATH_REFUSED;
	}
	return refused;
}

/* A Connect that would be refused again is not tried again, and nobody waits for it; until the user says so. */
static void
a_path_that_is_refused_for_good_is_left_alone(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;

		fail_init(&f);
		f.paths = 1 + (unsigned)(seed % FAIL_PATHS);
		f.options.loss_ms = seed & 4 ? UINT32_MAX : 60000;
		f.target.spec = "fault:delay-write=2@file:volume.img,size=1M";
		f.ios = 2000;
		f.add_ns = 12000ULL * FAIL_MS;
		fail_start_loaded(&f, seed, &sim);
		start_target_anew(&f, true);
		fail_run(&f, 1000);
		assert_int_equal(refused_paths(&f), f.paths);
		assert_int_equal(f.refused, f.paths);
		assert_int_equal(f.all_lost, 1);
		assert_int_equal(f.given_up, 1);
		start_target_anew(&f, false);
		fail_run(&f, 10000);
		assert_int_equal(refused_paths(&f), f.paths);
		fail_run(&f, 2000);
		assert_int_equal(refused_paths(&f), 0);
		fail_end(&f);
		fail_check(&f);
	}
}

/* What was given up may still happen: nothing is written before it cannot any more, else it would overtake that. */
static void
what_was_given_up_overtakes_nothing(void **state)
{
	struct sim_options sim = fail_sim_options();
	unsigned given_up = 0;

	(void)state;
	sim.latency_ns = 300 * 1000;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.loss_ms = 10;
		f.options.io_timeout_ms = 40; /* so that the host gives up long before the target */
		f.options.reconnect_max_ms = 10;
		f.options.plain = seed & 1;
		f.target.spec = "fault:delay-write=1@mem:1M";
		f.ios = 400;
		fail_start_loaded(&f, seed, &sim);
		/* One falls silent, the other one is there again first: what is in the first comes last. */
		fail_cut(&f, 0, SIM_CUT_HOLD);
		fail_cut(&f, 1, SIM_CUT_RESET);
		fail_run(&f, 80 + sim_below(f.sim, 40));
		fail_mend(&f, 1);
		fail_run(&f, 20 + sim_below(f.sim, 60));
		fail_mend(&f, 0);
		given_up += fail_ends_given_up(&f);
	}
	assert_true(given_up > seed_count / 2);
}

/* A path that lives is no way round it either. */
static void
what_was_given_up_overtakes_nothing_by_a_path_that_lives(void **state)
{
	struct sim_options sim = fail_sim_options();
	unsigned given_up = 0;

	(void)state;
	sim.latency_ns = 300 * 1000;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.loss_ms = 20;
		f.options.io_timeout_ms = 20; /* so that the host gives up long before the target */
		f.options.plain = true;
		f.target.spec = "fault:delay-write=1@mem:1M";
		f.ios = 2000;
		fail_start_loaded(&f, seed, &sim);
		fail_cut(&f, 0, SIM_CUT_HOLD);
		fail_run(&f, 60 + sim_below(f.sim, 60));
		fail_mend(&f, 0);
		given_up += fail_ends_given_up(&f);
	}
	assert_true(given_up > seed_count / 2);
}

/* Nor is the only path, made anew: by it, too, nothing is sent until what was given up can happen no more. */
static void
what_was_given_up_is_waited_for_by_the_only_path(void **state)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;
	uint64_t done;

	(void)state;
	fail_init(&f);
	f.paths = 1;
	f.options.loss_ms = 20;
	f.options.plain = true;
	f.target.spec = "fault:delay-write=1@mem:1M";
	f.ios = 2000;
	fail_start_loaded(&f, seed_first, &sim);
	fail_cut(&f, 0, SIM_CUT_RESET);
	fail_mend(&f, 0);
	fail_run(&f, 150);
	assert_true(f.timeouts > 0);
	done = f.done - f.timeouts;
	fail_run(&f, 100);
	assert_int_equal(f.done - f.timeouts, done);
	assert_true(fail_ends_given_up(&f));
	assert_true(f.done - f.timeouts > done);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_is_given_up_and_goes_on),
		cmocka_unit_test(a_path_that_is_refused_for_good_is_left_alone),
		cmocka_unit_test(what_was_given_up_overtakes_nothing),
		cmocka_unit_test(what_was_given_up_overtakes_nothing_by_a_path_that_lives),
		cmocka_unit_test(what_was_given_up_is_waited_for_by_the_only_path),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
