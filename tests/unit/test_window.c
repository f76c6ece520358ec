/* test_window.c - how many I/Os a host has under way on a namespace, by what its target says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/window.h"

static const uint64_t SECOND = 1000 * 1000 * 1000, NOW = 5 * SECOND;

static void
who_was_told_nothing_sends_what_the_queue_holds(void **state)
{
	struct window window = { .in_flight = 100000 };

	(void)state;
	assert_true(window_is_open(&window, NOW));
	window_told(&window, 0xffff0000, NOW); /* what is above has another meaning */
	assert_true(window_is_open(&window, NOW));
}

static void
it_is_asked_with_one(void **state)
{
	struct window window;

	(void)state;
	window_init(&window, true);
	assert_true(window_is_open(&window, NOW));
	window.in_flight = 1;
	assert_false(window_is_open(&window, NOW));
	assert_false(window_is_open(&window, NOW + 10 * SECOND));
	window_told(&window, 0, NOW + 10 * SECOND); /* nothing bounds it */
	window.in_flight = 100000;
	assert_true(window_is_open(&window, NOW + 10 * SECOND));
	window_told(&window, 7, NOW + 10 * SECOND);
	window_told(&window, 0, NOW + 10 * SECOND); /* not any more */
	assert_false(window_is_open(&window, NOW + 10 * SECOND));
	window_init(&window, false);
	window.in_flight = 100000;
	assert_true(window_is_open(&window, NOW));
}

static void
the_last_grant_counts_for_a_second(void **state)
{
	struct window window = { .in_flight = 7 };

	(void)state;
	window_told(&window, 50, NOW);
	window_told(&window, 8, NOW);
	assert_true(window_is_open(&window, NOW));
	window.in_flight = 8;
	assert_false(window_is_open(&window, NOW + SECOND - 1));
	assert_false(window_is_open(&window, NOW + SECOND)); /* it was not more than 32 */
	window_told(&window, 50, NOW);
	window.in_flight = 49;
	assert_true(window_is_open(&window, NOW + SECOND - 1));
	assert_false(window_is_open(&window, NOW + SECOND)); /* 32 from then on */
	window.in_flight = 32;
	assert_false(window_is_open(&window, NOW + SECOND));
	window_told(&window, 1000, NOW + 2 * SECOND);
	assert_true(window_is_open(&window, NOW + 2 * SECOND));
	assert_false(window_is_open(&window, NOW + 3 * SECOND));
}

static void
one_may_always_be_under_way(void **state)
{
	struct window window = { .in_flight = 1 };

	(void)state;
	window_told(&window, 1, NOW);
	assert_false(window_is_open(&window, NOW));
	window.in_flight = 0;
	assert_true(window_is_open(&window, NOW));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_told_nothing_sends_what_the_queue_holds),
		cmocka_unit_test(it_is_asked_with_one),
		cmocka_unit_test(the_last_grant_counts_for_a_second),
		cmocka_unit_test(one_may_always_be_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
