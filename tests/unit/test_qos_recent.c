/*
 * test_qos_recent.c - what was done in the last whole second, whenever somebody looks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "qos/recent.h"

enum { MS = 1000 * 1000, COUNT = 5000 };

static struct qos_recent recent;
static struct qos_lately lately;

static void
look(uint64_t now_ns)
{
	qos_recent_look(&recent, now_ns, &lately);
}

static void
the_last_whole_second_is_told(void **state)
{
	const uint64_t from = UINT64_C(77) * RECENT_NS;

	(void)state;
	qos_recent_init(&recent);
	look(from);
	assert_int_equal(lately.ios, 0);
	for (unsigned i = 0; i < 10; i++)
		qos_recent_add(&recent, 4096, 100 * 1000, from + i * 100 * MS);
	look(from + 999 * MS); /* it is not over */
	assert_int_equal(lately.ios, 0);
	assert_true(qos_recent_any(&recent, from + 999 * MS));
	look(from + RECENT_NS); /* it is, though nothing has ended since */
	assert_int_equal(lately.ios, 10);
	assert_int_equal(lately.bytes, 10 * 4096);
	qos_recent_add(&recent, 512, 100 * 1000, from + RECENT_NS);
	look(from + RECENT_NS + 1);
	assert_int_equal(lately.ios, 10);
	look(from + 2 * (uint64_t)RECENT_NS);
	assert_int_equal(lately.ios, 1);
	assert_int_equal(lately.bytes, 512);
	look(from + 3 * (uint64_t)RECENT_NS);
	assert_int_equal(lately.ios, 0);
	assert_false(qos_recent_any(&recent, from + 3 * (uint64_t)RECENT_NS));
}

static void
after_a_pause_the_second_before_had_nothing(void **state)
{
	(void)state;
	qos_recent_init(&recent);
	for (uint64_t second = 1; second < 40; second += 3) {
		qos_recent_add(&recent, 1, 5000, second * RECENT_NS + 7);
		look(second * RECENT_NS + 8);
		assert_int_equal(lately.ios, 0);
		look((second + 1) * RECENT_NS);
		assert_int_equal(lately.ios, 1);
	}
}

static int
ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The bound is not below what it is of, nor more than an eighth above. */
static void
bounds(uint64_t bound, uint64_t right)
{
	assert_true(bound >= right);
	assert_true(bound <= right + right / 8 || bound < 1 << RECENT_LEAST_BITS);
}

static void
latencies_are_known_to_an_eighth(void **state)
{
	static uint64_t values[COUNT];
	struct rng rng;

	(void)state;
	rng_seed(&rng, 9);
	for (unsigned round = 0; round < 20; round++) {
		unsigned count = round == 0 ? 1 : 1 + (unsigned)rng_below(&rng, COUNT);

		qos_recent_init(&recent);
		for (unsigned i = 0; i < count; i++) {
			values[i] = rng_next(&rng) >> (64 - RECENT_MOST_BITS + rng_below(&rng, RECENT_MOST_BITS));
			qos_recent_add(&recent, 1, values[i], 5);
		}
		qsort(values, count, sizeof(values[0]), ascending);
		look(RECENT_NS);
		bounds(lately.p50_ns, values[(count * 500 + 999) / 1000 - 1]);
		bounds(lately.p99_ns, values[(count * 990 + 999) / 1000 - 1]);
		bounds(lately.p999_ns, values[(count * 999 + 999) / 1000 - 1]);
	}
}

static void
both_sides_of_every_bound_are_told_apart(void **state)
{
	(void)state;
	for (unsigned bits = RECENT_LEAST_BITS; bits < RECENT_MOST_BITS; bits++)
		for (uint64_t eighth = 0; eighth < 8; eighth++) {
			uint64_t from = (8 + eighth) << (bits - 3);

			qos_recent_init(&recent);
			qos_recent_add(&recent, 1, from - 1, 5);
			look(RECENT_NS);
			assert_int_equal(lately.p50_ns, from - 1);
			qos_recent_add(&recent, 1, from, RECENT_NS);
			look(2 * (uint64_t)RECENT_NS);
			assert_int_equal(lately.p50_ns, from + (UINT64_C(1) << (bits - 3)) - 1);
		}
	qos_recent_init(&recent);
	qos_recent_add(&recent, 1, UINT64_MAX, 5);
	look(RECENT_NS);
	assert_int_equal(lately.p999_ns, (UINT64_C(1) << RECENT_MOST_BITS) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_whole_second_is_told),
		cmocka_unit_test(after_a_pause_the_second_before_had_nothing),
		cmocka_unit_test(latencies_are_known_to_an_eighth),
		cmocka_unit_test(both_sides_of_every_bound_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
