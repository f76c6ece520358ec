/*
 * target/statics: who is given which id of a static controller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/statics.h"
#include "wire/fabrics.h"

enum { ANY = NVME_CNTLID_STATIC };

static void
the_lowest_that_was_never_used_comes_first(void **state)
{
	struct statics *statics = NULL;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(statics_take(&statics, &arena, 4, 2), 2);
	assert_int_equal(statics_take(&statics, &arena, 4, ANY), 1);
	statics_leave(statics, 1);
	assert_int_equal(statics_take(&statics, &arena, 4, ANY), 3);
	assert_int_equal(statics_take(&statics, &arena, 4, ANY), 4);
	assert_int_equal(statics_take(&statics, &arena, 4, ANY), 1);
	assert_int_equal(statics_take(&statics, &arena, 4, ANY), 0);
	arena_drop(&arena);
}

static void
then_the_one_that_was_left_longest_ago(void **state)
{
	static const uint16_t order[] = { 3, 1, 5, 2, 4 };
	struct statics *statics = NULL;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (uint16_t id = 1; id <= 5; id++)
		assert_int_equal(statics_take(&statics, &arena, 5, id), id);
	for (unsigned i = 0; i < 5; i++)
		statics_leave(statics, order[i]);
	assert_int_equal(statics_take(&statics, &arena, 5, 1), 1);
	statics_leave(statics, 1);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(statics_take(&statics, &arena, 5, ANY), ((uint16_t[]){ 3, 5, 2, 4, 1 })[i]);
	arena_drop(&arena);
}

static void
an_id_is_had_once_and_only_if_there_is_one(void **state)
{
	static const uint16_t none[] = { 0, 4, NVME_CNTLID_MAX, 0xfff0, NVME_CNTLID_DYNAMIC };
	struct statics *statics = NULL;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(statics_take(&statics, &arena, 3, none[i]), 0);
	assert_int_equal(statics_take(&statics, &arena, 3, 3), 3);
	assert_int_equal(statics_take(&statics, &arena, 3, 3), 0);
	statics_leave(statics, 3);
	assert_int_equal(statics_take(&statics, &arena, 3, 3), 3);
	arena_drop(&arena);
}

static void
there_may_be_more_or_fewer_than_before(void **state)
{
	struct statics *statics = NULL;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(statics_take(&statics, &arena, 2, 2), 2);
	assert_int_equal(statics_take(&statics, &arena, NVME_CNTLID_MAX, NVME_CNTLID_MAX), NVME_CNTLID_MAX);
	assert_int_equal(statics_take(&statics, &arena, NVME_CNTLID_MAX, 2), 0);
	assert_int_equal(statics_take(&statics, &arena, 1, 3), 0);
	statics_leave(statics, 2);
	statics_leave(statics, NVME_CNTLID_MAX);
	assert_int_equal(statics_take(&statics, &arena, 1, ANY), 1);
	assert_int_equal(statics_take(&statics, &arena, 1, ANY), 0);
	assert_int_equal(statics_take(&statics, &arena, 2, ANY), 2);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_that_was_never_used_comes_first),
		cmocka_unit_test(then_the_one_that_was_left_longest_ago),
		cmocka_unit_test(an_id_is_had_once_and_only_if_there_is_one),
		cmocka_unit_test(there_may_be_more_or_fewer_than_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
