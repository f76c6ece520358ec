/*
 * test_host_turns.c - hosts in line (cmd/host_turns).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "host_turns.h"

/* "a2": the second thing that host a has there. */
struct thing {
	struct fifo_node node;
	char host;
	unsigned number;
};

enum { THINGS = 16 };

struct bench {
	struct host_turns turns;
	struct thing things[THINGS];
	unsigned count;
};

static void
give(struct bench *b, char host, unsigned number)
{
	struct thing *thing = &b->things[b->count++];
	uint8_t hostid[16] = { [15] = (uint8_t)host };

	*thing = (struct thing){ .host = host, .number = number };
	assert_int_equal(host_turns_push(&b->turns, hostid, &thing->node), 0);
}

static void
comes(struct bench *b, const char *order)
{
	for (; *order != '\0'; order += 2) {
		struct fifo_node *node = host_turns_pop(&b->turns);
		const struct thing *thing;

		assert_non_null(node);
		thing = container_of(node, struct thing, node);
		assert_int_equal(thing->host, order[0]);
		assert_int_equal(thing->number, (unsigned)(order[1] - '0'));
	}
}

static void
who_has_much_there_waits_behind_his_own(void **state)
{
	struct bench b = { .count = 0 };

	(void)state;
	host_turns_init(&b.turns);
	for (unsigned i = 1; i <= 4; i++)
		give(&b, 'a', i);
	comes(&b, "a1");
	give(&b, 'b', 1);
	give(&b, 'c', 1);
	give(&b, 'b', 2);
	comes(&b, "a2b1c1a3b2a4");
	assert_true(host_turns_empty(&b.turns));
	assert_null(host_turns_pop(&b.turns));
}

static void
who_comes_again_stands_behind_all_others(void **state)
{
	struct bench b = { .count = 0 };

	(void)state;
	host_turns_init(&b.turns);
	give(&b, 'a', 1);
	give(&b, 'b', 1);
	give(&b, 'b', 2);
	comes(&b, "a1");
	give(&b, 'a', 2);
	comes(&b, "b1a2b2");
	assert_true(host_turns_empty(&b.turns));
}

static bool
is_even(void *arg, const struct fifo_node *node)
{
	(void)arg;
	return container_of(node, const struct thing, node)->number % 2 == 0;
}

static void
what_is_over_leaves_and_the_others_keep_their_order(void **state)
{
	struct bench b = { .count = 0 };
	struct fifo over;
	unsigned left = 0;

	(void)state;
	host_turns_init(&b.turns);
	fifo_init(&over);
	for (unsigned i = 1; i <= 5; i++)
		give(&b, 'a', i);
	give(&b, 'b', 2);
	give(&b, 'c', 1);
	host_turns_take(&b.turns, is_even, NULL, &over);
	for (const struct fifo_node *node; (node = fifo_pop(&over)) != NULL; left++)
		assert_true(is_even(NULL, node));
	assert_int_equal(left, 3);
	comes(&b, "a1c1a3");
	host_turns_end(&b.turns);
	assert_true(host_turns_empty(&b.turns));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_much_there_waits_behind_his_own),
		cmocka_unit_test(who_comes_again_stands_behind_all_others),
		cmocka_unit_test(what_is_over_leaves_and_the_others_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
