/*
 * test_reconfigure.c - what is served changes while hosts work on it, in
 * virtual time: nothing is lost, nothing is done that was refused, hosts know
 * in the end what there is, and what was given up is left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recon.h"

/* A fixed sample, or as many as WEIR_SEEDS says from WEIR_SEED_FIRST on. */
static uint64_t seed_first, seed_count = 30;

static struct recon *
recon_make(void)
{
	struct recon *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	return r;
}

static void
add_up(struct recon_counts *sum, const struct recon_counts *one)
{
	uint64_t *to = (void *)sum;
	const uint64_t *from = (const void *)one;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void
what_is_served_changes_under_load(void **state)
{
	struct sim_options options = sim_options_default();
	struct recon_counts sum = { 0 };

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct recon *r = recon_make();

		recon_create(r, seed, &options);
		r->drain = seed % 4 == 3;
		recon_play(r);
		if (r->wrong > 0)
			fail_msg("%s (and %u more)", r->what, r->wrong - 1);
		add_up(&sum, &r->counts);
		recon_destroy(r);
		free(r);
	}
	print_message("# %llu seeds: %llu configs applied, %llu refused, %llu while busy; "
	    "%llu volumes given up, %llu grown; "
	    "%llu commands, %llu reads, %llu fused, %llu connects, %llu to static controllers, %llu of them busy, "
	    "%llu losses, %llu notices; "
	    "refused: 0:0b %llu 0:20 %llu 0:80 %llu "
	    "3:02 %llu 3:01 %llu 3:03 %llu 0:09 %llu\n",
	    (unsigned long long)seed_count, (unsigned long long)sum.applies, (unsigned long long)sum.failed_applies,
	    (unsigned long long)sum.busy_applies, (unsigned long long)sum.unused, (unsigned long long)sum.grown,
	    (unsigned long long)sum.ios,
	    (unsigned long long)sum.reads, (unsigned long long)sum.pairs, (unsigned long long)sum.connects,
	    (unsigned long long)sum.statics, (unsigned long long)sum.busy,
	    (unsigned long long)sum.losses,
	    (unsigned long long)sum.notices, (unsigned long long)sum.refused[0], (unsigned long long)sum.refused[1],
	    (unsigned long long)sum.refused[2], (unsigned long long)sum.refused[3], (unsigned long long)sum.refused[4],
	    (unsigned long long)sum.refused[5], (unsigned long long)sum.refused[6]);
	if (seed_count < 20)
		return;
	/* All of it did happen. */
	assert_true(sum.applies > 5 * seed_count && sum.reads > 100 * seed_count && sum.pairs > 10 * seed_count);
	assert_true(sum.unused > 5 * seed_count && sum.failed_applies > seed_count && sum.busy_applies > seed_count);
	assert_true(sum.notices > 5 * seed_count && sum.unlisted > 0 && sum.grown > seed_count / 4);
	assert_true(sum.statics > seed_count && sum.busy > 0);
	for (unsigned i = 0; i < 6; i++)
		assert_true(sum.refused[i] > seed_count);
}

/* Each allocation of each reactor fails once: whoever needs it is told, and all else goes on. */
static void
memory_that_is_not_there_is_said_and_nothing_is_lost(void **state)
{
	struct sim_options options = sim_options_default();
	unsigned histories = 0;

	(void)state;
	for (unsigned reactor = 0; reactor < 2; reactor++) {
		bool failed = true;

		for (uint64_t at = 1; failed; at++) {
			struct recon *r = recon_make();

			assert_true(at < 1000);
			r->fail_reactor = reactor;
			r->fail_at = at;
			r->plans_left = 8;
			recon_create(r, 1, &options);
			recon_play(r);
			if (r->wrong > 0)
				fail_msg("allocation %u of reactor %u: %s (and %u more)", (unsigned)at, reactor,
				    r->what, r->wrong - 1);
			failed = r->failed;
			if (failed && !r->told)
				fail_msg("allocation %u of reactor %u: it failed, and nobody was told", (unsigned)at,
				    reactor);
			histories += failed;
			recon_destroy(r);
			free(r);
		}
	}
	print_message("# %u allocations failed\n", histories);
	assert_true(histories > 120);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_served_changes_under_load),
		cmocka_unit_test(memory_that_is_not_there_is_said_and_nothing_is_lost),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 0;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
