/* test_order_gate.c - ordered writes at a server: in their order, and nothing that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/entry.h"
#include "order/gate.h"
#include "order/group.h"

enum { LAST = ORDER_ENTRY_LAST, MERGED = ORDER_ENTRY_MERGED, SPLIT = ORDER_ENTRY_SPLIT };

static struct order_piece pieces[64];

static const char *
admit(struct order_gate *gate, unsigned which, struct order_attribute attribute)
{
	return order_gate_admit(gate, &attribute, &pieces[which]);
}

static void
they_go_as_they_came_each_when_its_data_is_there(void **state)
{
	struct order_gate gate;

	(void)state;
	memset(pieces, 0, sizeof(pieces));
	order_gate_init(&gate, ORDER_NO_GROUP, ORDER_NO_GROUP);
	assert_null(admit(&gate, 0, (struct order_attribute){ 1, 1, 0, 0, 0, 1, 0 }));
	assert_null(admit(&gate, 1, (struct order_attribute){ 1, 1, 0, 0, 2, 1, LAST }));
	assert_null(admit(&gate, 2, (struct order_attribute){ 2, 4, 1, 0, 1, 1, LAST | MERGED }));
	assert_null(admit(&gate, 3, (struct order_attribute){ 7, 7, 4, 3, 9, 2, LAST | SPLIT }));
	pieces[1].ready = pieces[2].ready = true;
	assert_null(order_gate_next(&gate));
	pieces[0].ready = true;
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(order_gate_next(&gate), &pieces[i]);
	assert_null(order_gate_next(&gate));
	assert_ptr_equal(order_gate_clear(&gate), &pieces[3]);
	assert_null(order_gate_clear(&gate));
}

/* Of group 5 one of at least two pieces has come, behind group 3; what is durable is 2. */
static void
what_cannot_be_changes_nothing(void **state)
{
	static const struct order_attribute wrong[] = {
		{ 5, 5, 3, 1, 0, 1, 0 },               /* the floor goes back */
		{ 5, 5, 3, 0, 0, 1, 0 },
		{ 5, 5, 3, 5, 0, 1, 0 },               /* and what is durable is sent */
		{ 5, 5, 2, 2, 0, 1, 0 },               /* a gap */
		{ 5, 5, 4, 2, 0, 1, 0 },
		{ 5, 5, 3, 2, 1, 1, LAST },            /* there are two already */
		{ 5, 5, 3, 2, 2, 2, LAST },
		{ 5, 5, 3, 2, 0, 65535, 0 },           /* and so many no group has */
		{ 5, 6, 3, 2, 1, 1, LAST | MERGED },   /* not whole */
		{ 6, 6, 3, 2, 1, 1, LAST },            /* group 5 was between */
		{ 4, 4, 3, 2, 1, 1, LAST },            /* a step back */
		{ 3, 3, 2, 2, 1, 1, LAST },
		{ 6, 5, 5, 2, 1, 1, LAST },
		{ 0, 0, 0, 2, 1, 1, LAST },
		{ 6, 6, 5, 2, 0, 0, 0 },               /* nothing in it */
		{ 6, 6, 5, 2, 0, 1, LAST },            /* the last of none */
		{ 6, 6, 5, 2, 1, 1, 0 },
		{ 6, 6, 5, 2, 1, 1, LAST | 1 << 9 },
		{ 5, 5, 3, 2, 0, 0, ORDER_ENTRY_MARK },
	};
	struct order_gate gate, before;

	(void)state;
	order_gate_init(&gate, ORDER_NO_GROUP, ORDER_NO_GROUP);
	assert_null(admit(&gate, 0, (struct order_attribute){ 3, 3, 0, 2, 1, 1, LAST }));
	assert_null(admit(&gate, 1, (struct order_attribute){ 5, 5, 3, 2, 0, 1, 0 }));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		before = gate;
		if (admit(&gate, 2, wrong[i]) == NULL)
			fail_msg("%zu", i);
		assert_memory_equal(&gate, &before, sizeof(gate));
	}
	assert_null(admit(&gate, 2, (struct order_attribute){ 5, 5, 3, 2, 2, 1, LAST }));
	assert_non_null(admit(&gate, 3, (struct order_attribute){ 5, 5, 3, 2, 0, 1, 0 })); /* the last one has come */
	assert_null(admit(&gate, 3, (struct order_attribute){ 6, 6, 5, 5, 1, 1, LAST }));
}

/* So of what was appended anew it is known what it was, and which pieces a flush is behind. */
static void
pieces_of_a_group_are_counted_and_a_flush_is_the_last_here(void **state)
{
	struct order_gate gate;

	(void)state;
	order_gate_init(&gate, ORDER_NO_GROUP, ORDER_NO_GROUP);
	assert_null(admit(&gate, 0, (struct order_attribute){ 1, 3, 0, 0, 1, 1, LAST | MERGED }));
	assert_null(admit(&gate, 1, (struct order_attribute){ 4, 4, 3, 0, 0, 2, 0 }));
	assert_null(admit(&gate, 2, (struct order_attribute){ 4, 4, 3, 0, 0, 1, 0 }));
	assert_null(admit(&gate, 3, (struct order_attribute){ 4, 4, 3, 0, 0, 5, ORDER_ENTRY_FLUSH }));
	assert_int_equal(pieces[0].index, 0);
	assert_int_equal(pieces[1].index, 0);
	assert_int_equal(pieces[2].index, 2);
	assert_int_equal(pieces[3].index, 3);
	assert_non_null(admit(&gate, 4, (struct order_attribute){ 4, 4, 3, 0, 20, 1, LAST }));
	assert_null(admit(&gate, 4, (struct order_attribute){ 5, 5, 4, 0, 0, 1, 0 }));
	assert_int_equal(pieces[4].index, 0);
}

/* The last group that is there may be long ago, and what came behind it to other servers. */
static void
it_goes_on_after_recovery(void **state)
{
	struct order_gate gate;

	(void)state;
	order_gate_init(&gate, UINT32_MAX - 3, UINT32_MAX);
	assert_non_null(admit(&gate, 0, (struct order_attribute){
		UINT32_MAX, UINT32_MAX, UINT32_MAX - 3, UINT32_MAX, 1, 1, LAST }));
	assert_non_null(admit(&gate, 0, (struct order_attribute){ 1, 1, UINT32_MAX, UINT32_MAX, 1, 1, LAST }));
	assert_non_null(admit(&gate, 0, (struct order_attribute){ 1, 1, UINT32_MAX - 3, ORDER_NO_GROUP, 1, 1, LAST }));
	assert_null(admit(&gate, 0, (struct order_attribute){ 1, 1, UINT32_MAX - 3, UINT32_MAX, 1, 1, LAST }));
	assert_null(admit(&gate, 1, (struct order_attribute){ 2, 2, 1, 1, 1, 1, LAST }));
}

/* What a host sends to one of several servers, and now and then with a number changed. */
static void
whatever_comes_goes_in_order(void **state)
{
	struct order_gate gate;
	struct rng rng;
	uint32_t group = 0, prev = 0, floor = 0, refused = 0;

	(void)state;
	rng_seed(&rng, 1);
	order_gate_init(&gate, ORDER_NO_GROUP, ORDER_NO_GROUP);
	for (int round = 0; round < 100000; round++) {
		unsigned here = (unsigned)rng_below(&rng, 4), away = (unsigned)rng_below(&rng, 3);
		unsigned ends = (unsigned)rng_below(&rng, 2);

		group++;
		for (unsigned i = 0; i < here; i++) {
			bool last = ends != 0 && i == here - 1;
			struct order_attribute right = {
				group, group, prev, floor, (uint16_t)(last ? here + away : 0), 1, last ? LAST : 0,
			}, other = right;

			if (rng_below(&rng, 4) == 0) {
				uint32_t *words[] = { &other.first, &other.prev, &other.floor };

				*words[rng_below(&rng, 3)] += 1 + (uint32_t)rng_below(&rng, 3);
				if (other.floor != right.floor && other.floor < group)
					continue; /* that may be */
				assert_non_null(admit(&gate, i, other));
				refused++;
			}
			pieces[i] = (struct order_piece){ .ready = true };
			assert_null(admit(&gate, i, right));
		}
		for (unsigned i = 0; i < here; i++)
			if (gate.pieces_held.next != &gate.pieces_held)
				assert_non_null(order_gate_next(&gate));
		assert_null(order_gate_next(&gate));
		if (gate.last == group)
			prev = group;
		if (rng_below(&rng, 10) == 0)
			floor += (uint32_t)rng_below(&rng, group - floor + 1);
	}
	assert_true(refused > 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_go_as_they_came_each_when_its_data_is_there),
		cmocka_unit_test(what_cannot_be_changes_nothing),
		cmocka_unit_test(pieces_of_a_group_are_counted_and_a_flush_is_the_last_here),
		cmocka_unit_test(it_goes_on_after_recovery),
		cmocka_unit_test(whatever_comes_goes_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
