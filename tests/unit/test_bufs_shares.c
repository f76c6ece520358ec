/* world/bufs: who of many has which part of the pools, and whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "world/bufs.h"

enum { SHARES = 5 };

static struct arena arena;
static struct bufs_share shares[SHARES];

static int
start_shares(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	for (int i = 0; i < SHARES; i++) {
		shares[i] = (struct bufs_share){ 0 };
		bufs_share_init(&shares[i]);
	}
	return 0;
}

static int
drop_arena(void **state)
{
	int left = arena.bytes == 0 ? 0 : -1;

	(void)state;
	arena_drop(&arena);
	return left;
}

struct user {
	struct bufs_waiter waiter;
	struct bufs_list list;
	struct bufs_share *share;
	bool waits, holds;
};

static void
granted(struct bufs_waiter *waiter)
{
	struct user *user = container_of(waiter, struct user, waiter);

	assert_true(user->waits && user->list.bytes == waiter->bytes);
	user->waits = false;
	user->holds = true;
}

static void
ask(struct user *user, struct bufs *bufs, uint32_t bytes)
{
	user->holds = bufs_take(bufs, user->share, bytes, &user->list);
	if (user->holds)
		return;
	user->waiter = (struct bufs_waiter){
		.bytes = bytes, .share = user->share, .list = &user->list, .granted = granted,
	};
	user->waits = true;
	bufs_wait(bufs, &user->waiter);
}

/* Until he has to wait; how many he has. */
static unsigned
take_all(struct bufs *bufs, struct user *users, unsigned count, struct bufs_share *share, uint32_t bytes)
{
	for (unsigned i = 0; i < count; i++) {
		users[i] = (struct user){ .share = share };
		ask(&users[i], bufs, bytes);
		if (users[i].waits)
			return i;
	}
	fail();
	return 0;
}

static void
give_back(struct bufs *bufs, struct user *users, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		users[i].holds = false;
		bufs_give(bufs, &users[i].list);
	}
}

/* One after the other gives nothing back. */
static void
who_gives_nothing_back_has_half_of_what_is_left_and_others_the_rest(void **state)
{
	static const unsigned halves[] = { 128, 64, 32, 16 };
	static struct user users[SHARES][130];
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, 256, 256), 0);
	for (int large = 0; large < 2; large++) {
		uint32_t bytes = large ? BUFS_LARGE : 4096;
		unsigned have[SHARES - 1];

		for (int i = 0; i < SHARES - 1; i++) {
			have[i] = take_all(&bufs, users[i], 130, &shares[i], bytes);
			assert_int_equal(have[i], halves[i]);
		}
		for (int i = 0; i < 100; i++) {
			struct user user = { .share = &shares[SHARES - 1] };

			ask(&user, &bufs, bytes);
			assert_true(user.holds);
			bufs_give(&bufs, &user.list);
		}
		for (int i = 0; i < SHARES - 1; i++)
			bufs_unwait(&bufs, &users[i][have[i]].waiter);
		for (int i = 0; i < SHARES - 1; i++)
			give_back(&bufs, users[i], have[i]);
	}
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
who_has_nothing_may_have_what_there_is(void **state)
{
	struct user all = { .share = &shares[0] }, again = all, other = { .share = &shares[1] };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, 16, 16), 0);
	ask(&all, &bufs, BUFS_TRANSFER_MAX);
	assert_true(all.holds);
	ask(&again, &bufs, BUFS_LARGE);
	ask(&other, &bufs, BUFS_LARGE);
	bufs_give(&bufs, &all.list);
	assert_true(again.holds && other.holds);
	bufs_give(&bufs, &again.list);
	bufs_give(&bufs, &other.list);
	bufs_fini(&bufs);
}

/* However many others take and give meanwhile, of his share or of another. */
static void
who_needs_much_is_not_passed_for_ever(void **state)
{
	struct user mine[2] = { { .share = &shares[0] }, { .share = &shares[0] } }, much = mine[0], next = mine[0];
	struct user others[2] = { { .share = &shares[1] }, { .share = &shares[1] } };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, 16, 16), 0);
	ask(&mine[0], &bufs, BUFS_LARGE);
	ask(&others[0], &bufs, BUFS_LARGE);
	ask(&much, &bufs, BUFS_TRANSFER_MAX);
	assert_true(much.waits);
	ask(&next, &bufs, BUFS_LARGE);
	assert_true(next.waits); /* behind it */
	ask(&others[1], &bufs, BUFS_LARGE);
	assert_true(others[1].holds); /* it is its share that it waits for */
	give_back(&bufs, &others[1], 1);
	bufs_give(&bufs, &mine[0].list);
	assert_true(bufs.large.stuck);
	ask(&others[1], &bufs, BUFS_LARGE);
	assert_true(others[1].waits); /* now it is pieces */
	bufs_give(&bufs, &others[0].list);
	assert_true(much.holds && !next.holds && !others[1].holds);
	bufs_give(&bufs, &much.list);
	assert_true(next.holds && others[1].holds);
	bufs_give(&bufs, &next.list);
	bufs_give(&bufs, &others[1].list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

/* A line whose order is ours: first come first served, if its door is open. */
struct ordered {
	struct bufs_order order;
	struct bufs *bufs;
	bool shut;
};

static struct bufs_waiter *
ordered_next(struct bufs_order *order)
{
	struct ordered *o = container_of(order, struct ordered, order);
	struct bufs_waiter *first = container_of(order->line.waiting.next, struct bufs_waiter, node);

	return !o->shut && bufs_may_have(o->bufs, first->share, first->bytes) ? first : NULL;
}

static void
ordered_leave(struct bufs_order *order, struct bufs_waiter *waiter)
{
	(void)order;
	waiter->share->part[true].asks--;
	list_remove(&waiter->node);
}

/* In whichever line it stands; but who waits there for something else lets pass. */
static void
of_one_share_nobody_passes_who_waits_for_it(void **state)
{
	struct user mine = { .share = &shares[0] }, later = mine, other = { .share = &shares[1] }, asks = mine;
	struct ordered o = { .order = { .next = ordered_next, .leave = ordered_leave } };
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, 16, 16), 0);
	o.bufs = &bufs;
	bufs_order_init(&o.order);
	ask(&mine, &bufs, 4 * BUFS_LARGE);
	asks.waiter = (struct bufs_waiter){
		.bytes = 12 * BUFS_LARGE, .share = asks.share, .list = &asks.list, .granted = granted,
	};
	asks.waits = o.shut = true;
	asks.share->part[true].asks++;
	list_push(&o.order.line.waiting, &asks.waiter.node);
	bufs_ordered(&bufs, true, &o.order);
	ask(&later, &bufs, BUFS_LARGE);
	assert_true(later.holds);
	give_back(&bufs, &later, 1);
	o.shut = false;
	bufs_ordered(&bufs, true, &o.order);
	ask(&later, &bufs, BUFS_LARGE);
	assert_true(asks.waits && later.waits); /* it alone could have what it wants */
	ask(&other, &bufs, BUFS_LARGE);
	assert_true(other.holds);
	assert_true(bufs_wanted(&bufs, &mine.list) && !bufs_wanted(&bufs, &other.list));
	give_back(&bufs, &mine, 1);
	assert_true(asks.holds && !later.holds);
	give_back(&bufs, &asks, 1);
	assert_true(later.holds);
	give_back(&bufs, &later, 1);
	give_back(&bufs, &other, 1);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
lines_take_turns(void **state)
{
	static struct user first[40], second[40];
	struct user all[16];
	struct bufs bufs;

	assert_int_equal(bufs_init(&bufs, &arena, 16, 16), 0);
	for (int i = 0; i < 16; i++) {
		all[i] = (struct user){ .share = NULL };
		ask(&all[i], &bufs, BUFS_LARGE);
	}
	for (int i = 0; i < 40; i++) {
		first[i] = (struct user){ .share = &shares[0] };
		ask(&first[i], &bufs, BUFS_LARGE);
	}
	second[0] = (struct user){ .share = &shares[1] };
	ask(&second[0], &bufs, BUFS_LARGE);
	for (int i = 0; i < 2; i++)
		bufs_give(&bufs, &all[i].list);
	assert_true(first[0].holds && !first[1].holds && second[0].holds);
	bufs_give(&bufs, &second[0].list);
	for (int i = 2; i < 16; i++)
		bufs_give(&bufs, &all[i].list);
	for (int i = 0; i < 40; i++)
		bufs_give(&bufs, &first[i].list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

static void
what_somebody_holds_is_wanted_where_it_would_help(void **state)
{
	struct user mine = { .share = &shares[0] }, hung[20], other = { .share = &shares[1] };
	struct bufs_list none = { .large = true, .share = &shares[2] };
	struct bufs bufs;
	unsigned have;

	assert_int_equal(bufs_init(&bufs, &arena, 32, 32), 0);
	ask(&other, &bufs, BUFS_LARGE);
	have = take_all(&bufs, hung, 20, mine.share, BUFS_LARGE);
	assert_true(bufs_waited(&bufs, true) && !bufs_waited(&bufs, false));
	assert_true(bufs_wanted(&bufs, &hung[0].list));
	assert_false(bufs_wanted(&bufs, &other.list)); /* it has nothing to do with that */
	ask(&mine, &bufs, 4096);
	assert_false(bufs_wanted(&bufs, &mine.list));
	bufs_unwait(&bufs, &hung[have].waiter);
	assert_false(bufs_wanted(&bufs, &hung[0].list));
	hung[have].waiter.share = &shares[2];
	hung[have].waiter.bytes = BUFS_TRANSFER_MAX;
	bufs_wait(&bufs, &hung[have].waiter);
	assert_true(bufs_wanted(&bufs, &other.list) && bufs_wanted(&bufs, &none)); /* pieces that all may have */
	bufs_unwait(&bufs, &hung[have].waiter);
	bufs_give(&bufs, &mine.list);
	bufs_give(&bufs, &other.list);
	give_back(&bufs, hung, have);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

/* Capsules that came whole may take a volume beyond its share, and a quarter is left for the rest. */
static void
promises_leave_a_quarter_and_what_is_beyond_a_share_is_said(void **state)
{
	static struct bufs_list lists[64];
	struct user mine = { .share = &shares[0] }, other = { .share = &shares[1] };
	struct bufs bufs;
	uint32_t most;

	assert_int_equal(bufs_init(&bufs, &arena, 64, 16), 0);
	most = bufs_promisable(&bufs);
	assert_int_equal(most, 48);
	bufs_promise(&bufs, most);
	for (uint32_t i = 0; i < most; i++) {
		bufs_take_promised(&bufs, &shares[0], 4096, &lists[i]);
		assert_int_equal(bufs_beyond(&bufs, &shares[0]), i >= 32);
	}
	bufs_promise(&bufs, 0);
	assert_int_equal(bufs_promisable(&bufs), 0);
	ask(&mine, &bufs, 4096);
	ask(&other, &bufs, 4096);
	assert_true(mine.waits && other.holds);
	for (uint32_t i = 0; i < 17; i++)
		bufs_give(&bufs, &lists[i]);
	assert_true(mine.holds);
	for (uint32_t i = 17; i < most; i++)
		bufs_give(&bufs, &lists[i]);
	bufs_give(&bufs, &mine.list);
	bufs_give(&bufs, &other.list);
	assert_true(bufs_idle(&bufs));
	bufs_fini(&bufs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_gives_nothing_back_has_half_of_what_is_left_and_others_the_rest,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(who_has_nothing_may_have_what_there_is,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(who_needs_much_is_not_passed_for_ever,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(of_one_share_nobody_passes_who_waits_for_it,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(lines_take_turns,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(what_somebody_holds_is_wanted_where_it_would_help,
		    start_shares, drop_arena),
		cmocka_unit_test_setup_teardown(promises_leave_a_quarter_and_what_is_beyond_a_share_is_said,
		    start_shares, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
