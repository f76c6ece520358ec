/*
 * test_failover_queue.c - the next life of a host that crashed: nothing is overtaken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failover_bench.h"

static uint64_t seed_first, seed_count = 40;

/* ---- another life ---- */

/* Its target ends the association that it had before it lets it have another one. */
static void
a_host_that_crashed_finds_what_stays_as_it_is(void **state)
{
	struct sim_options sim = fail_sim_options();
	unsigned crashes = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.plain = seed % 4 == 3;
		f.ios = 1500;
		sim.latency_ns = seed % 2 ? 300 * 1000 : sim_options_default().latency_ns;
		fail_start_loaded(&f, seed, &sim);
		for (int i = 0; i < 10 && !f.loaded; i++) {
			fail_run(&f, 1 + sim_below(f.sim, 30));
			if (f.loaded)
				break;
			fail_host_crash(&f);
			crashes++;
			sim_run_until(f.sim, sim_now(f.sim) + 10000ULL * FAIL_MS, fail_loading, &f);
			assert_true(f.loading);
		}
		fail_end(&f);
		fail_check(&f);
	}
	assert_true(crashes > 5 * seed_count);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_that_crashed_finds_what_stays_as_it_is),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
