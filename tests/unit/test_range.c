/*
 * test_range.c - holds exclude what they must, also between threads.
 *
 * The last test is for ThreadSanitizer: the counters are plain, and only the
 * holds order the threads' accesses to them.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "blk/range.h"

enum { STRIPE = RANGE_STRIPE / 4096 }; /* blocks */

static struct arena arena;
static unsigned reactors; /* that share the range: each test is run for one and for two */

static struct range
range_of(uint64_t blocks, uint32_t block_size)
{
	struct range range;

	arena_init(&arena, 0);
	assert_int_equal(range_init(&range, &arena, blocks, block_size, reactors), 0);
	return range;
}

/* Everything was given back: all of it can be owned. */
static void
range_end(struct range *range)
{
	for (uint32_t i = 0; i <= range->mask; i++)
		assert_int_equal(atomic_load(&range->slots[i]), 0);
	range_fini(range, &arena);
	assert_int_equal(arena.bytes, 0);
}

static void
a_small_volume_has_a_small_table(void **state)
{
	struct range range = range_of(256, 4096);

	assert_int_equal(range.mask, 15);
	range_end(&range);
	range = range_of(256 * 8, 512);
	assert_int_equal(range.mask, 15);
	range_end(&range);
	range = range_of(UINT64_C(1) << 40, 4096);
	assert_int_equal(range.mask, RANGE_SLOTS_MAX - 1);
	range_end(&range);
}

static void
shared_holds_keep_an_owner_out(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_share(&range, 5, 1));
	assert_true(range_share(&range, 5, 1));
	assert_false(range_own(&range, 4, 4, false));
	assert_true(range_own(&range, STRIPE, 1, false));
	range_unshare(&range, 5, 1);
	assert_false(range_own(&range, 4, 4, false));
	range_unshare(&range, 5, 1);
	assert_true(range_own(&range, 4, 4, false));
	range_disown(&range, 4, 4);
	range_disown(&range, STRIPE, 1);
	range_end(&range);
}

static void
an_owner_keeps_everybody_out(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_own(&range, 0, 1, false));
	assert_false(range_own(&range, 0, 1, false));
	assert_false(range_share(&range, 0, 1));
	assert_false(range_share(&range, 0, 10 * STRIPE));
	range_disown(&range, 0, 1);
	range_end(&range);
}

static void
one_stripe_is_owned_at_once_if_nobody_has_it_or_waits_for_it(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_own_one(&range, STRIPE + 1, STRIPE - 1));
	assert_false(range_own_one(&range, STRIPE, 1));
	assert_false(range_share(&range, STRIPE, 1));
	assert_true(range_share(&range, 0, 1));
	assert_false(range_own_one(&range, 0, 1));
	range_unshare(&range, 0, 1);
	range_disown_one(&range, STRIPE + 1);

	assert_false(range_own_one(&range, STRIPE - 1, 2)); /* two stripes are not one */
	range_wait(&range, STRIPE, 1);
	assert_false(range_own_one(&range, STRIPE, 1));
	range_unwait(&range, STRIPE, 1);
	range_end(&range);
}

static void
a_refused_range_leaves_nothing_held(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_own(&range, 2 * STRIPE, 1, false));
	assert_false(range_own(&range, 0, 4 * STRIPE, false));
	assert_false(range_share(&range, 0, 4 * STRIPE));
	range_disown(&range, 2 * STRIPE, 1);
	range_end(&range);
}

static void
a_range_past_the_end_of_the_table_takes_each_slot_once(void **state)
{
	const uint32_t all = RANGE_SLOTS_MAX * STRIPE;
	struct range range = range_of((uint64_t)all * 4, 4096);

	assert_true(range_own(&range, all - STRIPE, 2 * STRIPE, false)); /* the last slot and the first */
	assert_int_not_equal(atomic_load(&range.slots[0]), 0);
	assert_int_not_equal(atomic_load(&range.slots[range.mask]), 0);
	assert_int_equal(atomic_load(&range.slots[1]), 0);
	range_disown(&range, all - STRIPE, 2 * STRIPE);

	assert_true(range_own(&range, 7, all * 3, false));
	assert_false(range_share(&range, 99 * STRIPE, 1));
	range_disown(&range, 7, all * 3);
	assert_true(range_share(&range, 7, all * 3));
	assert_int_equal(atomic_load(&range.slots[3]), 1);
	range_unshare(&range, 7, all * 3);
	range_end(&range);
}

static void
whoever_waits_keeps_new_readers_and_writers_out(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_share(&range, 0, 1));
	assert_false(range_is_waited(&range, 0, 1));
	range_wait(&range, 0, 3 * STRIPE);
	assert_true(range_is_waited(&range, 0, 1) && range_is_waited(&range, 2 * STRIPE, 2 * STRIPE));
	assert_false(range_is_waited(&range, 3 * STRIPE, 1));
	assert_false(range_share(&range, STRIPE, 1));
	assert_false(range_own(&range, 2 * STRIPE, 1, false));
	assert_false(range_own(&range, 0, 3 * STRIPE, true));
	range_unshare(&range, 0, 1);
	assert_true(range_own(&range, 0, 3 * STRIPE, true));
	range_disown(&range, 0, 3 * STRIPE);
	assert_true(range_share(&range, STRIPE, 1));
	range_unshare(&range, STRIPE, 1);
	range_end(&range);
}

static void
of_two_who_wait_one_leaving_does_not_end_the_others_wait(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	range_wait(&range, 0, 1);
	range_wait(&range, 1, 1);
	range_unwait(&range, 0, 1);
	assert_false(range_share(&range, 0, 1));
	range_unwait(&range, 1, 1);
	assert_true(range_share(&range, 0, 1));
	range_unshare(&range, 0, 1);
	range_end(&range);
}

/* ---- two threads ---- */

enum { CELLS = 8, ROUNDS = 20000 };

struct race {
	struct range range;
	uint64_t cells[CELLS][2]; /* plain: both halves are equal whenever nobody owns the stripe */
	uint64_t wrote[2][CELLS];
	pthread_t threads[2];
};

struct racer {
	struct race *race;
	unsigned index;
	uint64_t torn;
};

static void
race_write(struct racer *racer, uint32_t cell, uint32_t cells)
{
	struct race *race = racer->race;
	uint64_t lba = (uint64_t)cell * STRIPE;
	uint32_t blocks = cells * STRIPE;
	bool one = range_own_one(&race->range, lba, blocks); /* where it is one */
	bool got = one || range_own(&race->range, lba, blocks, false);

	if (!got)
		range_wait(&race->range, lba, blocks);
	while (!got) {
		sched_yield();
		got = range_own(&race->range, lba, blocks, true);
	}
	for (uint32_t i = cell; i < cell + cells; i++) {
		race->cells[i][0]++;
		race->cells[i][1]++;
		race->wrote[racer->index][i]++;
	}
	if (one)
		range_disown_one(&race->range, lba);
	else
		range_disown(&race->range, lba, blocks);
}

static void *
race_run(void *arg)
{
	struct racer *racer = arg;
	struct race *race = racer->race;
	struct rng rng;

	rng_seed(&rng, racer->index);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t cell = (uint32_t)rng_below(&rng, CELLS - 1), cells = 1 + (uint32_t)rng_below(&rng, 2);

		if (rng_below(&rng, 3) == 0) {
			race_write(racer, cell, cells);
			continue;
		}
		if (!range_share(&race->range, cell * STRIPE, cells * STRIPE))
			continue;
		for (uint32_t i = cell; i < cell + cells; i++)
			racer->torn += race->cells[i][0] != race->cells[i][1];
		range_unshare(&race->range, cell * STRIPE, cells * STRIPE);
	}
	return NULL;
}

static void
two_threads_never_meet_in_what_one_of_them_owns(void **state)
{
	static struct race race;
	struct racer racers[2] = { { &race, 0, 0 }, { &race, 1, 0 } };

	race.range = range_of(CELLS * STRIPE, 4096);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&race.threads[i], NULL, race_run, &racers[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(race.threads[i], NULL), 0);
	for (int i = 0; i < CELLS; i++) {
		assert_int_equal(race.cells[i][0], race.cells[i][1]);
		assert_int_equal(race.cells[i][0], race.wrote[0][i] + race.wrote[1][i]);
	}
	assert_int_equal(racers[0].torn + racers[1].torn, 0);
	range_end(&race.range);
}

/* For ever, and for nobody else. */
static void
what_is_noted_is_had_the_long_way_alone(void **state)
{
	struct range range = range_of(1 << 20, 4096);

	assert_true(range_own(&range, 2 * STRIPE, STRIPE, false));
	range_wait(&range, 2 * STRIPE, 1);
	range_note(&range, 2 * STRIPE, 1);
	range_note(&range, 2 * STRIPE, 1);
	range_disown(&range, 2 * STRIPE, STRIPE);
	range_unwait(&range, 2 * STRIPE, 1);
	assert_false(range_is_noted(&range, 0, 2 * STRIPE));
	assert_true(range_is_noted(&range, STRIPE, 2 * STRIPE));
	for (int i = 0; i < 2; i++) {
		assert_false(range_share(&range, 2 * STRIPE, 1));
		assert_false(range_share(&range, 0, 3 * STRIPE));
		assert_false(range_own_one(&range, 2 * STRIPE, 1));
		assert_true(range_share(&range, 0, 2 * STRIPE));
		assert_true(range_share_noted(&range, 2 * STRIPE, 1));
		assert_false(range_own(&range, 0, 3 * STRIPE, false));
		range_unshare(&range, 0, 2 * STRIPE);
		assert_false(range_own(&range, STRIPE, 2 * STRIPE, false));
		range_unshare(&range, 2 * STRIPE, 1);
		assert_true(range_own(&range, 0, 4 * STRIPE, false));
		assert_false(range_share_noted(&range, 2 * STRIPE, 1));
		range_disown(&range, 0, 4 * STRIPE);
		range_wait(&range, 2 * STRIPE, 1);
		assert_false(range_share_noted(&range, 2 * STRIPE, 1));
		assert_true(range_own(&range, 2 * STRIPE, 1, true));
		range_disown(&range, 2 * STRIPE, 1);
	}
	assert_true(range_is_noted(&range, 2 * STRIPE, 1));
	range_fini(&range, &arena);
	assert_int_equal(arena.bytes, 0);
}

static int
alone(void **state)
{
	reactors = 1;
	return 0;
}

static int
shared(void **state)
{
	reactors = 2;
	return 0;
}

/* For a range of one reactor, and for one of two. */
#define BOTH(test) \
	{ #test " (alone)", test, alone, NULL, NULL }, \
	{ #test " (shared)", test, shared, NULL, NULL }

int
main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_small_volume_has_a_small_table),
		BOTH(shared_holds_keep_an_owner_out),
		BOTH(an_owner_keeps_everybody_out),
		BOTH(one_stripe_is_owned_at_once_if_nobody_has_it_or_waits_for_it),
		BOTH(a_refused_range_leaves_nothing_held),
		BOTH(a_range_past_the_end_of_the_table_takes_each_slot_once),
		BOTH(whoever_waits_keeps_new_readers_and_writers_out),
		BOTH(what_is_noted_is_had_the_long_way_alone),
		BOTH(of_two_who_wait_one_leaving_does_not_end_the_others_wait),
		cmocka_unit_test_setup(two_threads_never_meet_in_what_one_of_them_owns, shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
