/*
 * trial/faults: which faults are under way, and when they are over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trial/faults.h"

static const uint64_t MS = 1000 * 1000;

static const struct plan nobody; /* neither targets nor hosts, beside the one here */
static struct trial trial;
static struct user user;

static int
begin(void **state)
{
	struct sim_options options = sim_options_default();

	(void)state;
	trial = (struct trial){ .plan = &nobody, .sim = sim_create(1, &options) };
	user = (struct user){ .trial = &trial };
	arena_init(&trial.arena, 0);
	list_init(&trial.faults);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	sim_destroy(trial.sim);
	arena_drop(&trial.arena);
	return 0;
}

/* The host has left, for so long. */
static void
leaves(uint64_t for_ns)
{
	struct under_way *f = arena_alloc(&trial.arena, sizeof(*f));

	f->fault = (struct fault){ .for_ns = for_ns, .kind = FAULT_HOST_LEAVES };
	f->until_ns = for_ns;
	f->user = &user;
	list_push(&trial.faults, &f->node);
}

/* Who asks again and again, as nothing else will happen, has to hear that it is of no use. */
static void
what_is_not_over_yet_is_not_said_to_be_mended(void **state)
{
	(void)state;
	assert_false(fault_mend_first(&trial));
	leaves(5 * MS);
	user.state = USER_LEAVING;
	assert_false(fault_mend_first(&trial));
	assert_int_equal(fault_next_end(&trial), 1 * MS);
	user.state = USER_AT_WORK;
	assert_true(fault_mend_first(&trial));
	assert_true(list_empty(&trial.faults));
	assert_false(fault_mend_first(&trial));
}

static void
the_first_are_mended_before_their_time_and_no_others(void **state)
{
	(void)state;
	user.state = USER_AT_WORK;
	leaves(5 * MS);
	leaves(3 * MS);
	leaves(3 * MS);
	assert_false(fault_mend_due(&trial));
	assert_true(fault_mend_first(&trial));
	assert_int_equal(fault_next_end(&trial), 5 * MS);
	assert_true(fault_mend_first(&trial));
	assert_int_equal(fault_next_end(&trial), UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_not_over_yet_is_not_said_to_be_mended, begin, end),
		cmocka_unit_test_setup_teardown(the_first_are_mended_before_their_time_and_no_others, begin, end),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
