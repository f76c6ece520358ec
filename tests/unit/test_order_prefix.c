/*
 * test_order_prefix.c - up to which group all is there: small cases by hand, and histories at random, of which it is
 * known what each server has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/group.h"
#include "order/prefix.h"

/* ---- by hand ---- */

#define LIST(floor, ...) { floor, sizeof((struct order_listed[]){ __VA_ARGS__ }) / sizeof(struct order_listed), \
	(struct order_listed[]){ __VA_ARGS__ } }
#define NOTHING(floor) { floor, 0, NULL }

static void
a_group_is_there_when_all_of_its_pieces_are(void **state)
{
	const struct order_list both[] = {
		LIST(0, { 1, 1, 0, 0, 1, true }, { 2, 2, 1, 2, 1, true }, { 4, 4, 2, 1, 1, true }),
		LIST(0, { 1, 1, 0, 2, 1, true }, { 2, 2, 1, 0, 1, true }, { 3, 3, 2, 2, 1, true }),
	};

	(void)state;
	assert_null(order_list_wrong(&both[0]));
	assert_null(order_list_wrong(&both[1]));
	/* of 3 one piece is missing, whoever had to have it */
	assert_int_equal(order_prefix(both, 2), 2);
	assert_int_equal(order_prefix(&both[1], 1), ORDER_NO_GROUP);
	assert_int_equal(order_server_prefix(&both[0]).group, 4);
	assert_int_equal(order_server_prefix(&both[1]).group, 3);
}

static void
a_piece_that_may_not_be_there_ends_it(void **state)
{
	const struct order_list one = LIST(0, { 1, 1, 0, 1, 1, true },
	    { 2, 2, 1, 0, 1, true }, { 2, 2, 1, 2, 1, false }, { 3, 3, 2, 1, 1, true });

	(void)state;
	assert_null(order_list_wrong(&one));
	assert_int_equal(order_prefix(&one, 1), 1);
	assert_int_equal(order_server_prefix(&one).group, 1);
}

static void
what_is_below_a_floor_was_forgotten_for_that(void **state)
{
	const struct order_list some[] = {
		LIST(5, { 6, 6, 5, 2, 1, true }),
		LIST(3, { 4, 4, 3, 0, 1, true }, { 6, 6, 4, 0, 1, true }),
		NOTHING(0),
	};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_null(order_list_wrong(&some[i]));
	assert_int_equal(order_prefix(some, 3), 6);
	assert_int_equal(order_prefix(some, 1), 5);
	assert_int_equal(order_prefix(&some[2], 1), ORDER_NO_GROUP);
	assert_int_equal(order_server_prefix(&some[2]).group, ORDER_NO_GROUP);
	assert_int_equal(order_server_prefix(&some[0]).group, 6);
}

static void
of_what_was_merged_all_groups_are_there_or_none(void **state)
{
	struct order_listed entries[] = {
		{ 1, 3, 0, 1, 1, true }, { 4, 4, 3, 3, 3, true }, { 5, 7, 4, 1, 1, false }, { 8, 8, 7, 1, 1, true },
	};
	const struct order_list list = { 0, 4, entries };

	(void)state;
	assert_null(order_list_wrong(&list));
	assert_int_equal(order_prefix(&list, 1), 4);
	entries[2].valid = true;
	assert_int_equal(order_prefix(&list, 1), 8);
	entries[0].valid = false;
	assert_int_equal(order_prefix(&list, 1), ORDER_NO_GROUP);
}

/* It takes no step for each of them: a server may say anything. */
static void
as_many_groups_as_there_can_be_are_there_in_no_time(void **state)
{
	const struct order_list both[] = {
		LIST(1, { 2, 0x7fffffff, 1, 1, 1, true }, { 0x80000001, 0x80000001, 0x7fffffff, 1, 1, true }),
		LIST(1, { 0x80000000, 0x80000000, 0, 1, 1, true }),
	};

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(order_prefix(both, 2), 0x80000001);
		assert_int_equal(order_prefix(both, 1), 0x7fffffff);
	}
}

static void
numbers_come_round(void **state)
{
	const struct order_list some[] = {
		LIST(UINT32_MAX - 1, { UINT32_MAX, UINT32_MAX, UINT32_MAX - 1, 1, 1, true },
		    { 2, 2, UINT32_MAX, 1, 1, true }),
		LIST(UINT32_MAX - 2, { 1, 1, UINT32_MAX - 2, 1, 1, true }),
		LIST(0, { 1, 1, 0, 1, 1, true }),
	};

	(void)state;
	assert_null(order_list_wrong(&some[0]));
	assert_null(order_list_wrong(&some[1]));
	assert_int_equal(order_prefix(some, 2), 2);
	assert_int_equal(order_prefix(some, 1), UINT32_MAX);
	/* who knows of no floor has forgotten nothing, and what another one says of durable groups holds for it */
	assert_int_equal(order_prefix((struct order_list[]){ some[0], some[2] }, 2), 2);
}

static void
what_no_gate_lets_through_is_wrong(void **state)
{
	const struct order_list wrong[] = {
		LIST(3, { 3, 3, 2, 1, 1, true }),
		LIST(3, { 2, 4, 2, 1, 1, true }),
		LIST(3, { 5, 4, 3, 1, 1, true }),
		LIST(3, { 5, 5, 4, 1, 1, true }),
		LIST(0, { 5, 5, 4, 1, 1, true }),
		LIST(3, { 5, 5, 3, 1, 1, true }, { 4, 4, 3, 1, 1, true }),
		LIST(3, { 5, 5, 3, 1, 1, true }, { 7, 7, 3, 1, 1, true }),
		LIST(3, { 5, 5, 3, 0, 1, true }, { 5, 5, 5, 1, 1, true }),
		LIST(3, { 5, 6, 3, 1, 1, true }, { 6, 6, 3, 1, 1, true }),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (order_list_wrong(&wrong[i]) == NULL)
			fail_msg("list %zu", i);
}

/* ---- at random ---- */

enum { SERVERS = 3, GROUPS = 12, PIECES = 4, LOG = GROUPS * PIECES };

struct piece {
	struct order_listed listed;
	uint32_t floor;      /* that came with it */
	bool appended, answered;
};

struct history {
	struct rng rng;
	unsigned servers;
	uint32_t base;       /* groups come after it */
	struct piece log[SERVERS][LOG];
	unsigned count[SERVERS];
	uint32_t last[SERVERS];
	uint32_t durable;    /* of which the host knows it */
	uint32_t groups;
};

static bool
one_in(struct history *h, uint64_t n)
{
	return rng_below(&h->rng, n) == 0;
}

static struct piece *
send(struct history *h, unsigned server, uint32_t first, uint32_t last, uint16_t num)
{
	struct piece *piece = &h->log[server][h->count[server]++];
	uint32_t prev = h->last[server];

	if (h->count[server] > 1 && piece[-1].listed.last == first)
		prev = piece[-1].listed.prev;
	*piece = (struct piece){ .listed = { first, last, prev, num, 1, false }, .floor = h->durable };
	h->last[server] = last;
	return piece;
}

/* As much of what each server was sent as it has got to: appended in order, ended in any, or with a cache up to some
 * flush. */
static void
progress(struct history *h)
{
	for (unsigned s = 0; s < h->servers; s++) {
		bool cache = one_in(h, 2);
		unsigned flushed = (unsigned)rng_below(&h->rng, h->count[s] + 1);

		for (unsigned i = 0; i < h->count[s]; i++) {
			struct piece *piece = &h->log[s][i];

			piece->appended = piece->appended || ((i == 0 || piece[-1].appended) && !one_in(h, 6));
			if (!piece->appended)
				break;
			piece->listed.valid = piece->listed.valid || (cache ? i < flushed : one_in(h, 2));
			piece->answered = piece->answered || (piece->listed.valid && !one_in(h, 3));
		}
	}
}

static bool
is_of(const struct piece *piece, uint32_t group)
{
	return !order_after(piece->listed.first, group) && !order_after(group, piece->listed.last);
}

/* Whether all pieces of a group are there, or were answered. */
static bool
is_whole(const struct history *h, uint32_t group, bool answered)
{
	for (unsigned s = 0; s < h->servers; s++)
		for (unsigned i = 0; i < h->count[s]; i++)
			if (is_of(&h->log[s][i], group) &&
			    !(answered ? h->log[s][i].answered : h->log[s][i].listed.valid))
				return false;
	return true;
}

static uint32_t
all_up_to(const struct history *h, bool answered)
{
	uint32_t there = h->base;

	for (uint32_t i = 0; i < h->groups && is_whole(h, order_next(there), answered); i++)
		there = order_next(there);
	return there;
}

static void
send_some(struct history *h)
{
	uint32_t group = h->base;
	uint16_t pieces;
	unsigned server;

	for (uint32_t i = 0; i < h->groups; i++)
		group = order_next(group);
	h->durable = all_up_to(h, true);
	if (h->groups + 2 <= GROUPS && one_in(h, 3)) {
		server = (unsigned)rng_below(&h->rng, h->servers);
		(void)send(h, server, order_next(group), order_next(order_next(group)), 1);
		h->groups += 2;
		return;
	}
	pieces = (uint16_t)(1 + rng_below(&h->rng, PIECES - 1));
	for (uint16_t n = 1; n <= pieces; n++)
		(void)send(h, (unsigned)rng_below(&h->rng, h->servers), order_next(group), order_next(group),
		    n == pieces ? pieces : 0);
	h->groups++;
}

/* What a server still lists: it may have forgotten what is not after a floor that came with an entry which stays. */
static void
list_of(struct history *h, unsigned server, struct order_listed *room, struct order_list *list)
{
	*list = (struct order_list){ .entries = room, .floor = h->base };
	for (unsigned i = 0; i < h->count[server] && h->log[server][i].appended; i++)
		if (order_after(h->log[server][i].floor, list->floor) && !one_in(h, 3))
			list->floor = h->log[server][i].floor;
	for (unsigned i = 0; i < h->count[server] && h->log[server][i].appended; i++)
		if (order_after(h->log[server][i].listed.first, list->floor))
			room[list->count++] = h->log[server][i].listed;
}

static bool
straddles(const struct history *h, uint32_t floor)
{
	for (unsigned s = 0; s < h->servers; s++)
		for (unsigned i = 0; i < h->count[s]; i++)
			if (is_of(&h->log[s][i], floor) && h->log[s][i].listed.last != floor)
				return true;
	return false;
}

static void
play(uint64_t seed)
{
	struct order_listed room[SERVERS][LOG];
	struct order_list lists[SERVERS];
	struct history h;
	uint32_t found, there;

	memset(&h, 0, sizeof(h));
	rng_seed(&h.rng, seed);
	h.servers = 1 + (unsigned)rng_below(&h.rng, SERVERS);
	h.base = one_in(&h, 4) ? UINT32_MAX - (uint32_t)rng_below(&h.rng, GROUPS) : 100;
	for (unsigned s = 0; s < h.servers; s++)
		h.last[s] = h.base;
	h.durable = h.base;
	while (h.groups < GROUPS && !one_in(&h, 20)) {
		send_some(&h);
		if (one_in(&h, 2))
			progress(&h);
	}
	progress(&h);
	for (unsigned s = 0; s < h.servers; s++) {
		list_of(&h, s, room[s], &lists[s]);
		assert_false(straddles(&h, lists[s].floor));
		assert_null(order_list_wrong(&lists[s]));
	}
	found = order_prefix(lists, h.servers);
	there = all_up_to(&h, false);
	if (found != there)
		fail_msg("seed %llu: %u, and all is there up to %u", (unsigned long long)seed, found, there);
	assert_false(order_after(all_up_to(&h, true), found));
	for (unsigned s = 0; s < h.servers; s++) {
		/* What comes after it is listed, so that it can be taken back. */
		assert_false(order_after(lists[s].floor, found));
		assert_false(order_after(found, order_server_prefix(&lists[s]).group) && h.servers == 1);
	}
}

static void
whatever_happened_it_is_found(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200000; seed++)
		play(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_is_there_when_all_of_its_pieces_are),
		cmocka_unit_test(a_piece_that_may_not_be_there_ends_it),
		cmocka_unit_test(what_is_below_a_floor_was_forgotten_for_that),
		cmocka_unit_test(of_what_was_merged_all_groups_are_there_or_none),
		cmocka_unit_test(as_many_groups_as_there_can_be_are_there_in_no_time),
		cmocka_unit_test(numbers_come_round),
		cmocka_unit_test(what_no_gate_lets_through_is_wrong),
		cmocka_unit_test(whatever_happened_it_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
