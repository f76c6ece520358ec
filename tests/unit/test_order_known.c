/*
 * test_order_known.c - what a server's log knows of streams: by hand, and of histories at random with cuts, floors,
 * what was taken back and what was appended anew, held against what happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/group.h"
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

/* They stand there in this order. */
static void
place(struct order_known *known, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		known[i].place = i;
	order_known_sort(known, count);
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
	assert_int_equal(order_server_prefix(&stream.list).group, 3);
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
		assert_int_equal(known[i].role, roles[known[i].place]);
	assert_int_equal(stream.term, 2);
	assert_int_equal(stream.left, 1);
	assert_int_equal(stream.list.count, 3);
	assert_null(stream.lost);
}

/*
 * A cut is begun after 2, and begun again after 1 before it was ended: what was taken back when an earlier one ended is
 * not taken back again.
 */
static void
what_is_being_taken_back_does_not_count_and_is_not_gone(void **state)
{
	struct order_known known[] = {
		piece(0, 3, 2, KEEPS, 0, true), mark(1, 2, 0), piece(1, 1, 0, KEEPS, 0, true),
		piece(1, 2, 1, KEEPS, 0, true), piece(1, 3, 2, KEEPS, 0, true),
		piece(1, 4, 3, KEEPS, ORDER_ENTRY_IN_PLACE, true), mark(2, 2, 0), mark(3, 1, 0), mark(4, 1, 0),
	};
	static const uint8_t roles[] = {
		ORDER_GONE, ORDER_GONE, ORDER_COUNTS, ORDER_BACK, ORDER_BACK, ORDER_LEFT, ORDER_GONE, ORDER_GONE,
	};
	struct order_listed room[9];
	struct order_stream stream;

	(void)state;
	known[6].entry.flags |= ORDER_ENTRY_TAKING;
	known[7].entry.flags |= ORDER_ENTRY_TAKING;
	place(known, 8);
	order_stream_read(known, 8, keeps, NULL, room, &stream);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(known[i].role, roles[known[i].place]);
		assert_int_equal(order_is_taken_back(&known[i], 1), known[i].role == ORDER_BACK);
		assert_int_equal(order_is_taken_back(&known[i], ORDER_NO_GROUP),
		    known[i].role == ORDER_BACK || known[i].role == ORDER_COUNTS);
	}
	assert_int_equal(stream.list.count, 1);
	assert_int_equal(order_list_last(&stream.list, 5), 1);
	assert_int_equal(order_list_last(&stream.list, ORDER_NO_GROUP), ORDER_NO_GROUP);
	assert_int_equal(order_known_greatest(known, 8), 4);
	/* It has ended. */
	place(known, 9);
	order_stream_read(known, 9, keeps, NULL, room, &stream);
	for (int i = 0; i < 9; i++)
		assert_true(known[i].role != ORDER_BACK);
	assert_int_equal(stream.left, 1);
}

/* Of a group two pieces, each appended anew: one after it persists, the other before; and a flush after it persists. */
static void
what_was_appended_anew_is_there_once(void **state)
{
	struct order_known known[] = {
		piece(0, 1, 0, KEEPS, 0, true), piece(0, 1, 0, KEEPS, 0, false), piece(0, 2, 1, KEEPS, 0, true),
		piece(0, 3, 2, FORGETS, ORDER_ENTRY_FLUSH, true), piece(0, 1, 0, KEEPS, 0, true),
		piece(0, 1, 0, KEEPS, 0, true), piece(0, 3, 2, FORGETS, ORDER_ENTRY_FLUSH, false),
		piece(0, 4, 3, KEEPS, 0, false), mark(0, 4, 0), piece(0, 4, 3, KEEPS, 0, true),
		piece(0, 5, 4, FORGETS, 0, false), piece(0, 5, 4, FORGETS, 0, false),
	};
	static const uint16_t pieces[] = { [1] = 1, [5] = 1, [11] = 0 };
	struct order_listed room[12];
	struct order_stream stream;

	(void)state;
	for (int i = 0; i < 12; i++)
		known[i].entry.piece = pieces[i];
	place(known, 12);
	order_stream_read(known, 12, keeps, NULL, room, &stream);
	assert_null(stream.lost);
	assert_int_equal(stream.list.count, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(room[i].valid, i < 5);
	assert_int_equal(order_server_prefix(&stream.list).group, 4);
	assert_int_equal(order_server_prefix(&stream.list).pieces, 1);
	assert_int_equal(order_server_prefix(&stream.list).before, 3);
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
	known[0] = mark(0, 0, 2); /* it was below the floor */
	place(known, 3);
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
		known[i].entry.owner = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : UINT32_MAX;
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
	enum order_role roles[MOST]; /* as it has to be, by places */
	bool copied[MOST];           /* it is there twice, or it is the second */
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
	for (uint16_t i = 0; i < pieces; i++) {
		struct order_known one = piece(h->term, group, h->prev, KEEPS, flags, true);

		one.entry.piece = i;
		append(h, one, ORDER_COUNTS);
	}
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
			h->prev = order_after(h->log[i].entry.last, h->prev) ? h->log[i].entry.last : h->prev;
		else
			h->roles[i] = (h->log[i].entry.flags & ORDER_ENTRY_IN_PLACE) != 0 ? ORDER_LEFT : ORDER_GONE;
	}
	h->last = group;
	h->term++;
	if (rng_below(&h->rng, 2) == 0)
		h->part = (uint32_t)rng_below(&h->rng, 4); /* its connection is another reactor's */
	append(h, mark(h->term, group, 0), ORDER_GONE);
}

/* One of the two is there; which, nobody says. */
static void
append_anew(struct history *h)
{
	uint32_t which = (uint32_t)rng_below(&h->rng, h->count);
	struct order_known *known = &h->log[which];

	if ((known->entry.flags & ORDER_ENTRY_MARK) != 0 || h->roles[which] == ORDER_GONE || h->copied[which])
		return;
	h->log[h->count] = *known;
	h->log[h->count].place = h->place++;
	h->roles[h->count] = h->roles[which];
	h->copied[which] = h->copied[h->count] = true;
	h->count++;
}

/* However they lie. */
static void
mix(struct history *h)
{
	for (uint32_t i = h->count; i-- > 1;) {
		uint32_t other = (uint32_t)rng_below(&h->rng, i + 1);
		struct order_known known = h->log[i];

		h->log[i] = h->log[other];
		h->log[other] = known;
	}
}

/* Of two that are the same the first one has the role. */
static void
hold_roles(const struct history *h, uint64_t seed)
{
	for (uint32_t i = 0; i < h->count; i++) {
		const struct order_known *known = &h->log[i];
		bool second = i > 0 && h->copied[known->place] && h->copied[h->log[i - 1].place] &&
		    h->log[i - 1].entry.first == known->entry.first && h->log[i - 1].entry.term == known->entry.term &&
		    h->log[i - 1].entry.piece == known->entry.piece;

		if (known->role != (second ? ORDER_GONE : h->roles[known->place]))
			fail_msg("seed %llu: entry %u", (unsigned long long)seed, (unsigned)known->place);
	}
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
		case 2: append_anew(&h); break;
		default: write_group(&h); break;
		}
	}
	mix(&h);
	order_known_sort(h.log, h.count);
	assert_int_equal(order_known_same(h.log, h.count), h.count);
	order_stream_read(h.log, h.count, keeps, NULL, room, &stream);
	if (stream.lost != NULL)
		fail_msg("seed %llu: %s", (unsigned long long)seed, stream.lost);
	assert_int_equal(stream.term, h.term);
	assert_int_equal(stream.list.floor, h.floor);
	hold_roles(&h, seed);
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
		cmocka_unit_test(what_is_being_taken_back_does_not_count_and_is_not_gone),
		cmocka_unit_test(what_was_appended_anew_is_there_once),
		cmocka_unit_test(a_stream_that_lost_an_entry_is_known),
		cmocka_unit_test(streams_are_told_apart),
		cmocka_unit_test(whatever_happened_it_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
