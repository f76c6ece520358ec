/*
 * test_reserved.c - reservations of a target that is killed at any event, in
 * virtual time: what was acknowledged and is to be kept is there, what was
 * under way is there whole or not at all, and who has no right never writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reserved.h"

static uint64_t seed_first, seed_count = 200;

static void
add_up(struct rsvd_counts *sum, const struct rsvd_counts *one)
{
	uint64_t *to = (void *)sum;
	const uint64_t *from = (const void *)one;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void
print(const struct rsvd_counts *sum)
{
#define U(x) (unsigned long long)sum->x
	print_message("# %llu crashes: %llu kept a reservation, %llu did not, %llu in between, %llu while formatting; "
	    "%llu writes of state, %llu failed; %llu commands, %llu refused, %llu reports; "
	    "%llu reads, %llu writes, %llu refused, %llu ended by a preempt, %llu known to land no more\n",
	    U(crashes), U(found), U(lost), U(halves), U(formatting), U(state_writes), U(faults), U(commands),
	    U(refused), U(reports), U(reads), U(writes), U(conflicts), U(ended), U(settled));
	if (sum->added == 0)
		return;
	print_message("# %llu namespaces added, %llu of them with a file of what is kept, %llu removed, "
	    "%llu changes while busy; %llu commands for one that was not there; refused:",
	    U(added), U(back), U(removed), U(busy), U(absent));
	for (unsigned i = RSVD_NO_TROUBLE + 1; i < RSVD_TROUBLES; i++)
		print_message(" %llu", U(troubles[i]));
	print_message("\n");
#undef U
}

/* As many histories as the environment says, and what was counted in all of them. */
static struct rsvd_counts
play_all(bool applies)
{
	struct rsvd_counts sum = { 0 };

	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct reserved *r = calloc(1, sizeof(*r));

		assert_non_null(r);
		r->applies = applies;
		rsvd_play(r, seed);
		if (r->wrong > 0)
			fail_msg("%s (and %u more)", r->what, r->wrong - 1);
		add_up(&sum, &r->counts);
		rsvd_end(r);
		free(r);
	}
	print(&sum);
	return sum;
}

static void
reservations_survive_a_target_that_is_killed_as_they_were_promised(void **state)
{
	struct rsvd_counts sum = play_all(false);

	(void)state;
	if (seed_count < 100)
		return;
	/* All of it did happen. */
	assert_true(sum.found > seed_count && sum.lost > seed_count && sum.halves > seed_count);
	assert_true(sum.formatting > seed_count / 2 && sum.faults > seed_count / 2 && sum.reports > 20 * seed_count);
	assert_true(sum.writes > 50 * seed_count && sum.conflicts > 20 * seed_count && sum.ended > seed_count / 2);
	assert_true(sum.settled > 0);
}

/* With a target that is told anew what it serves, and killed now and then as well. */
static void
reservations_come_back_with_their_namespace_or_it_is_refused(void **state)
{
	struct rsvd_counts sum = play_all(true);

	(void)state;
	if (seed_count < 100)
		return;
	assert_true(sum.added > 10 * seed_count && sum.removed > 10 * seed_count && sum.back > 10 * seed_count);
	assert_true(sum.busy > seed_count && sum.absent > 10 * seed_count);
	for (unsigned i = RSVD_NO_TROUBLE + 1; i < RSVD_TROUBLES; i++)
		assert_true(sum.troubles[i] > seed_count / 10);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reservations_survive_a_target_that_is_killed_as_they_were_promised),
		cmocka_unit_test(reservations_come_back_with_their_namespace_or_it_is_refused),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 0;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
