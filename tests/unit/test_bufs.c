/* world/bufs: pools, and the line of those who found too few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "world/bufs.h"

enum { SMALL = 24, LARGE = 20, USERS = 40, STEPS = 30000, SHARES = 5 };

static struct arena arena;

static int
make_arena(void **state)
{
	arena_init(&arena, 0);
	return 0;
}

/* What was asked for and not given back is left in the arena: nothing may be. */
static int
drop_arena(void **state)
{
	int left = arena.bytes == 0 ? 0 : -1;

	arena_drop(&arena);
	return left;
}

static void
check_list(const struct bufs_list *list, uint32_t bytes)
{
	size_t sum = 0;

	assert_int_equal(list->bytes, bytes);
	assert_in_range(list->count, 1, BUFS_IOV_MAX);
	for (int i = 0; i < list->count; i++) {
		assert_int_equal((uintptr_t)list->iov[i].iov_base % 4096, 0);
		assert_in_range(list->iov[i].iov_len, 1, list->large ? BUFS_LARGE : BUFS_SMALL);
		sum += list->iov[i].iov_len;
	}
	assert_int_equal(sum, bytes);
}

static bool
is_short(const struct bufs *bufs)
{
	return bufs_waited(bufs, false) || bufs_waited(bufs, true);
}

static void
every_size_is_cut_into_pieces_that_add_up(void **state)
{
	static const uint32_t sizes[] = {
		1, 512, 8191, 8192, 8193, 32768, 32769, 65536, 65537, 131072, BUFS_TRANSFER_MAX - 1,
		BUFS_TRANSFER_MAX,
	};
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bufs_list list = { 0 };

		assert_true(bufs_take(&bufs, NULL, sizes[i], &list));
		assert_false(bufs_idle(&bufs));
		check_list(&list, sizes[i]);
		assert_int_equal(list.large, sizes[i] > 32768);
		bufs_give(&bufs, &list);
		assert_int_equal(list.bytes, 0);
		bufs_give(&bufs, &list);
		assert_true(bufs_idle(&bufs));
	}
	bufs_fini(&bufs);
}

static void
without_memory_there_is_no_pool_and_nothing_is_left(void **state)
{
	struct bufs bufs;

	for (uint64_t n = 1; n <= 4; n++) {
		arena.fail_at = n;
		assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), -12);
		assert_int_equal(arena.bytes, 0);
	}
	arena.fail_at = 0;
}

/* ---- the line ---- */

struct user {
	struct bufs_waiter waiter;
	struct bufs_list list;
	struct bufs *bufs;
	struct bufs_share *share;
	uint64_t ticket;
	bool waits, holds;
};

static uint64_t tickets, last_granted[2]; /* of small and of large pieces */
static bool give_at_once;

static void
granted(struct bufs_waiter *waiter)
{
	struct user *user = container_of(waiter, struct user, waiter);

	assert_true(user->waits);
	check_list(&user->list, waiter->bytes);
	if (user->share == NULL) {
		assert_true(user->ticket > last_granted[user->list.large]);
		last_granted[user->list.large] = user->ticket;
	}
	user->waits = false;
	user->holds = true;
	if (give_at_once) {
		user->holds = false;
		bufs_give(user->bufs, &user->list);
	}
}

static void
ask(struct user *user, struct bufs *bufs, uint32_t bytes)
{
	user->bufs = bufs;
	if (bufs_take(bufs, user->share, bytes, &user->list)) {
		check_list(&user->list, bytes);
		user->holds = true;
		return;
	}
	user->waiter = (struct bufs_waiter){
		.bytes = bytes, .share = user->share, .list = &user->list, .granted = granted,
	};
	user->ticket = ++tickets;
	user->waits = true;
	bufs_wait(bufs, &user->waiter);
}

static int
start_line(void **state)
{
	tickets = last_granted[0] = last_granted[1] = 0;
	give_at_once = false;
	return make_arena(state);
}

static void
a_small_one_does_not_wait_behind_a_large_one(void **state)
{
	struct user all = { 0 }, large = { 0 }, small = { 0 };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	ask(&all, &bufs, BUFS_TRANSFER_MAX);
	assert_true(all.holds);
	ask(&large, &bufs, BUFS_TRANSFER_MAX);
	assert_true(large.waits);
	ask(&small, &bufs, 4096);
	assert_true(small.holds && is_short(&bufs));
	bufs_give(&bufs, &all.list);
	assert_true(large.holds && !is_short(&bufs));
	bufs_give(&bufs, &large.list);
	bufs_give(&bufs, &small.list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
what_is_promised_is_kept_for_its_taker(void **state)
{
	struct bufs_list lists[SMALL] = { 0 }, mine = { 0 };
	struct user waits = { 0 };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	bufs_promise(&bufs, 2);
	for (unsigned i = 0; i < SMALL - 2; i++)
		assert_true(bufs_take(&bufs, NULL, 4096, &lists[i]));
	ask(&waits, &bufs, 4096);
	assert_true(waits.waits);
	bufs_take_promised(&bufs, NULL, 8192, &mine);
	check_list(&mine, 8192);
	bufs_promise(&bufs, 0);
	assert_true(waits.holds); /* the end of the promise lets others have the rest */
	for (unsigned i = 0; i < SMALL - 2; i++)
		bufs_give(&bufs, &lists[i]);
	bufs_give(&bufs, &mine);
	bufs_give(&bufs, &waits.list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
who_leaves_the_line_is_not_called_and_frees_the_way(void **state)
{
	struct user all = { 0 }, first = { 0 }, second = { 0 };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	ask(&all, &bufs, BUFS_TRANSFER_MAX);
	ask(&first, &bufs, BUFS_TRANSFER_MAX);
	ask(&second, &bufs, BUFS_LARGE);
	bufs_unwait(&bufs, &first.waiter);
	bufs_give(&bufs, &all.list);
	assert_false(first.holds);
	assert_true(second.holds);
	bufs_give(&bufs, &second.list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
one_who_gives_back_from_granted_lets_the_next_have_it(void **state)
{
	struct user all = { 0 }, line[10] = { 0 };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	ask(&all, &bufs, BUFS_TRANSFER_MAX);
	for (int i = 0; i < 10; i++)
		ask(&line[i], &bufs, BUFS_TRANSFER_MAX);
	give_at_once = true;
	bufs_give(&bufs, &all.list);
	assert_int_equal(last_granted[0] + last_granted[1], 10);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
in_any_history_grants_come_in_order_and_nobody_is_forgotten(void **state)
{
	static struct bufs_share shares[SHARES];
	static struct user users[USERS];
	struct bufs bufs;
	struct rng rng;

	for (int i = 0; i < SHARES; i++)
		bufs_share_init(&shares[i]);
	rng_seed(&rng, 7);
	assert_int_equal(bufs_init(&bufs, &arena, SMALL, LARGE), 0);
	for (int i = 0; i < USERS; i++)
		users[i].share = i % 3 == 0 ? NULL : &shares[i % SHARES];
	for (int step = 0; step < STEPS; step++) {
		struct user *user = &users[rng_below(&rng, USERS)];

		if (user->holds) {
			user->holds = false;
			bufs_give(&bufs, &user->list);
		} else if (user->waits) {
			if (rng_below(&rng, 50) == 0) {
				bufs_unwait(&bufs, &user->waiter);
				user->waits = false;
			}
		} else {
			/* Sizes of all magnitudes. */
			uint64_t limit = UINT64_C(1) << (10 + rng_below(&rng, 11));

			ask(user, &bufs, 1 + (uint32_t)rng_below(&rng, limit));
		}
	}
	for (bool again = true; again;) {
		again = false;
		for (int i = 0; i < USERS; i++) {
			if (!users[i].holds)
				continue;
			again = true;
			users[i].holds = false;
			bufs_give(&bufs, &users[i].list);
		}
	}
	for (int i = 0; i < USERS; i++)
		assert_false(users[i].waits);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_size_is_cut_into_pieces_that_add_up, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(without_memory_there_is_no_pool_and_nothing_is_left,
		    make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(a_small_one_does_not_wait_behind_a_large_one,
		    start_line, drop_arena),
		cmocka_unit_test_setup_teardown(what_is_promised_is_kept_for_its_taker, start_line, drop_arena),
		cmocka_unit_test_setup_teardown(who_leaves_the_line_is_not_called_and_frees_the_way,
		    start_line, drop_arena),
		cmocka_unit_test_setup_teardown(one_who_gives_back_from_granted_lets_the_next_have_it,
		    start_line, drop_arena),
		cmocka_unit_test_setup_teardown(in_any_history_grants_come_in_order_and_nobody_is_forgotten,
		    start_line, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
