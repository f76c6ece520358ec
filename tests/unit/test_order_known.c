/*
 * test_order_known.c - what a server's log knows of streams: by hand, and of histories at random with cuts, floors and
 * what was taken back, held against what happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/group.h"
#include "order/known.h"

enum { KEEPS = 1, FORGETS = 2, MOST = 400 };

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	return nsid == KEEPS;
}

/* ---- by hand ---- */

static struct order_known
piece(uint16_t term, uint32_t group, uint32_t prev, uint32_t nsid, unsigned flags, bool persists)
{
	return (struct order_known){
		.entry = { .first = group, .last = group, .prev = prev, .num = 1, .count = 1, .blocks = 8, .nsid = nsid,
		    .term = term, .lap = 1, .flags = (uint16_t)(ORDER_ENTRY_LAST | flags) },
		.persists = persists,
	};
}

static struct order_known
mark(uint16_t term, uint32_t cut, uint32_t floor)
{
	return (struct order_known){
		.entry = { .first = cut, .last = cut, .term = term, .lap = 1, .flags = ORDER_ENTRY_MARK,
		    .floor = floor },
	};
}

/* In the order in which they stand there. */
static void
place(struct order_known *known, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		known[i].place = i;
}

static void
a_flush_covers_what_came_before_it(void **state)
{
	struct order_known known[] = {
		piece(0, 1, 0, FORGETS, 0, false), piece(0, 2, 1, KEEPS, 0, false),
		piece(0, 3, 2, FORGETS, ORDER_ENTRY_FLUSH, true), piece(0, 4, 3, FORGETS, 0, true),
		piece(0, 5, 4, KEEPS, 0, true), piece(0, 6, 5, FORGETS, ORDER_ENTRY_FLUSH, false),
	};
	static const bool valid[] = { true, true, true, false, true, false };
	struct order_listed room[6];
	struct order_stream stream;

	(void)state;
	place(known, 6);
	order_stream_read(known, 6, keeps, NULL, room, &stream);
	assert_int_equal(stream.list.count, 6);
	assert_null(stream.lost);
	for (int i = 0; i < 6; i++)
		assert_int_equal(room[i].valid, valid[i]);
	assert_int_equal(order_server_prefix(&stream.list), 3);
}

/* The second cut goes behind the first, and the mark of the first was written again since. */
static void
each_cut_holds_for_all_terms_before_it(void **state)
{
	struct order_known known[] = {
		piece(0, 1, 0, KEEPS, 0, true), piece(0, 2, 1, KEEPS, 0, true), piece(0, 3, 2, KEEPS, 0, true),
		piece(0, 4, 3, KEEPS, 0, true), mark(1, 3, 0), piece(1, 4, 3, KEEPS, 0, true), mark(1, 3, 0),
		piece(1, 5, 4, KEEPS, ORDER_ENTRY_IN_PLACE, true), mark(2, 2, 0), piece(2, 3, 2, KEEPS, 0, true),
	};
	static const uint8_t roles[] = {
		ORDER_COUNTS, ORDER_COUNTS, ORDER_GONE, ORDER_GONE, ORDER_GONE, ORDER_GONE, ORDER_GONE,
		ORDER_LEFT, ORDER_GONE, ORDER_COUNTS,
	};
	struct order_listed room[10];
	struct order_stream stream;

	(void)state;
	place(known, 10);
	order_stream_read(known, 10, keeps, NULL, room, &stream);
	for (int i = 0; i < 10; i++)
		assert_int_equal(known[i].role, roles[i]);
	assert_int_equal(stream.term, 2);
	assert_int_equal(stream.left, 1);
	assert_int_equal(stream.list.count, 3);
	assert_null(stream.lost);
}

static void
a_stream_that_lost_an_entry_is_known(void **state)
{
	struct order_known known[] = {
		piece(0, 1, 0, KEEPS, 0, true), piece(0, 3, 2, KEEPS, 0, true), mark(0, 0, 0),
	};
	struct order_listed room[3];
	struct order_stream stream;

	(void)state;
	place(known, 3);
	order_stream_read(known, 3, keeps, NULL, room, &stream);
	assert_non_null(stream.lost);
	known[2] = mark(0, 0, 2); /* it was below the floor */
	order_stream_read(known, 3, keeps, NULL, room, &stream);
	assert_null(stream.lost);
	assert_int_equal(stream.list.floor, 2);
}

static void
streams_are_told_apart(void **state)
{
	struct order_known known[9];
	uint32_t at = 0, same;

	(void)state;
	for (uint32_t i = 0; i < 9; i++) {
		known[i] = piece((uint16_t)(i == 8 ? 65535 : 1), i + 1, i, KEEPS, 0, true);
		known[i].entry.owner = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : ORDER_NOBODY;
		known[i].entry.stream = i % 3 == 0 ? 7 : (uint16_t)(i % 2);
		known[i].part = i < 5 ? 1 : 0;
		known[i].place = 100 - i;
	}
	order_known_sort(known, 9);
	for (unsigned found = 0; at < 9; found++, at += same) {
		same = order_known_same(&known[at], 9 - at);
		assert_in_range(same, 1, 3);
		for (uint32_t i = at; i < at + same; i++)
			assert_true(known[i].entry.owner == known[at].entry.owner &&
			    known[i].entry.stream == known[at].entry.stream);
		assert_in_range(found, 0, 4);
	}
	/* 65535 was before 1: it is the first of its stream */
	for (uint32_t i = 1; i < 9; i++)
		if (known[i].entry.term == 65535)
			assert_int_equal(order_known_same(&known[i - 1], 2), 1);
}

/* ---- at random ---- */

struct history {
	struct rng rng;
	struct order_known log[MOST];
	enum order_role roles[MOST]; /* as it has to be */
	uint32_t count;
	uint32_t last, floor, prev;
	uint16_t term;
	uint32_t part;
	uint64_t place;
};

static void
append(struct history *h, struct order_known known, enum order_role role)
{
	known.entry.stream = 9;
	known.entry.floor = h->floor;
	known.part = h->part;
	known.place = h->place++;
	h->roles[h->count] = role;
	h->log[h->count++] = known;
}

static void
write_group(struct history *h)
{
	uint32_t group = order_next(h->last);
	unsigned pieces = 1 + (unsigned)rng_below(&h->rng, 3);
	unsigned flags = rng_below(&h->rng, 4) == 0 ? ORDER_ENTRY_IN_PLACE : 0;

	h->last = group;
	if (rng_below(&h->rng, 3) == 0)
		return; /* all of it went to other servers */
	for (unsigned i = 0; i < pieces; i++)
		append(h, piece(h->term, group, h->prev, KEEPS, flags, true), ORDER_COUNTS);
	h->prev = group;
}

static void
forget_below(struct history *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (h->log[i].entry.first != ORDER_NO_GROUP && !order_after(h->log[i].entry.first, h->floor))
			h->roles[i] = ORDER_GONE;
}

static void
cut_off(struct history *h)
{
	uint32_t back = (uint32_t)rng_below(&h->rng, h->last - h->floor + 1), group = h->last - back;

	h->prev = h->floor;
	for (uint32_t i = 0; i < h->count; i++) {
		if (h->roles[i] != ORDER_COUNTS)
			continue;
		if (!order_after(h->log[i].entry.last, group))
			h->prev = h->log[i].entry.last;
		else
			h->roles[i] = (h->log[i].entry.flags & ORDER_ENTRY_IN_PLACE) != 0 ? ORDER_LEFT : ORDER_GONE;
	}
	h->last = group;
	h->term++;
	if (rng_below(&h->rng, 2) == 0)
		h->part = (uint32_t)rng_below(&h->rng, 4); /* its connection is another reactor's */
	append(h, mark(h->term, group, 0), ORDER_GONE);
}

static void
play(uint64_t seed)
{
	struct order_listed room[MOST];
	struct order_stream stream;
	struct history h;
	uint16_t first_term;
	uint32_t cut;

	memset(&h, 0, sizeof(h));
	rng_seed(&h.rng, seed);
	first_term = h.term = (uint16_t)(rng_below(&h.rng, 2) == 0 ? 0 : 65530);
	cut = h.floor = h.last = h.prev = 1000;
	append(&h, mark(h.term, h.last, 0), ORDER_GONE);
	while (h.count + 4 < MOST && rng_below(&h.rng, 150) != 0) {
		switch (rng_below(&h.rng, 12)) {
		case 0:
			if ((uint16_t)(h.term - first_term) < 1000 && rng_below(&h.rng, 2) == 0) {
				cut_off(&h);
				cut = h.last;
			}
			break;
		case 1:
			h.floor += (uint32_t)rng_below(&h.rng, h.last - h.floor + 1);
			append(&h, mark(h.term, cut, 0), ORDER_GONE);
			forget_below(&h);
			break;
		default: write_group(&h); break;
		}
	}
	order_known_sort(h.log, h.count);
	assert_int_equal(order_known_same(h.log, h.count), h.count);
	order_stream_read(h.log, h.count, keeps, NULL, room, &stream);
	if (stream.lost != NULL)
		fail_msg("seed %llu: %s", (unsigned long long)seed, stream.lost);
	assert_int_equal(stream.term, h.term);
	assert_int_equal(stream.list.floor, h.floor);
	for (uint32_t i = 0; i < h.count; i++)
		if (h.log[i].role != h.roles[h.log[i].place])
			fail_msg("seed %llu: entry %u", (unsigned long long)seed, (unsigned)h.log[i].place);
}

static void
whatever_happened_it_is_known(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20000; seed++)
		play(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_covers_what_came_before_it),
		cmocka_unit_test(each_cut_holds_for_all_terms_before_it),
		cmocka_unit_test(a_stream_that_lost_an_entry_is_known),
		cmocka_unit_test(streams_are_told_apart),
		cmocka_unit_test(whatever_happened_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
