/* flash/due: the tournament against looking at all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/due.h"

enum { COUNT_MAX = 40, STEPS = 20000 };

static uint32_t
first_of(const uint64_t *at_ns, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < count; i++)
		if (at_ns[i] < at_ns[first])
			first = i;
	return first;
}

/* Of few times, so that many are due at once. */
static void
the_soonest_and_of_these_the_lowest_is_first(void **state)
{
	struct arena arena;
	struct rng rng;

	arena_init(&arena, 0);
	rng_seed(&rng, 1);
	for (uint32_t count = 1; count <= COUNT_MAX; count++) {
		uint64_t at_ns[COUNT_MAX];
		struct due due;

		assert_int_equal(due_init(&due, &arena, count), 0);
		assert_true(due_first_ns(&due) == DUE_NEVER);
		for (uint32_t i = 0; i < count; i++)
			at_ns[i] = DUE_NEVER;
		for (unsigned i = 0; i < STEPS / COUNT_MAX; i++) {
			uint32_t number = (uint32_t)rng_below(&rng, count);
			uint64_t time = rng_below(&rng, 20);

			at_ns[number] = time == 0 ? DUE_NEVER : time;
			due_set(&due, number, at_ns[number]);
			assert_int_equal(due_first(&due), first_of(at_ns, count));
			assert_true(due_first_ns(&due) == at_ns[first_of(at_ns, count)]);
		}
		due_fini(&due);
	}
	assert_int_equal(arena.bytes, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_soonest_and_of_these_the_lowest_is_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
