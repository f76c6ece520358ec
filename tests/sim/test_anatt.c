/*
 * test_anatt.c - an ANA group is in change for as long as hosts were told that
 * it may be, and no longer, in virtual time.
 */
#include "anatt_bench.h"

static void
a_change_that_the_configuration_leaves_ends_after_anatt(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false },
		{ .at_ms = UINT64_MAX },
	};

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct history t;

		history_begin(&t, seed, steps, 0, false);
		history_run(&t, 9950);
		history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
		assert_int_equal(t.hosts[0].changes, 1);
		history_run(&t, 10200);
		history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
		history_expect(&t, 1, NVME_ANA_OPTIMIZED, 0);
		assert_int_equal(t.hosts[0].changes, 2);
		assert_int_equal(t.hosts[0].group_changes[0], 2);
		assert_int_equal(t.hosts[0].group_changes[1], 1);
		assert_int_equal(t.hosts[0].events, 1);
		assert_int_equal(t.hosts[1].events, 0);
		history_run(&t, 40000);
		assert_int_equal(t.hosts[0].changes, 2);
		history_end(&t);
	}
}

static void
a_configuration_that_comes_just_then_may_wait(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false }, { .at_ms = UINT64_MAX },
	};

	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct history t;

		history_begin(&t, seed, steps, 0, true);
		history_run(&t, 10200);
		assert_true(t.o.met == 1 && t.o.idled == 1 && t.o.applied_count == 1);
		history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
		history_end(&t);
	}
}

/* The time of each counts from when it came to be in change, whatever is applied meanwhile. */
static void
another_configuration_does_not_prolong_a_change(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false },
		{ 4000, { NVME_ANA_CHANGE, NVME_ANA_CHANGE }, false },
		{ 9000, { NVME_ANA_CHANGE, NVME_ANA_CHANGE }, false },
		{ .at_ms = UINT64_MAX },
	};
	struct history t;

	(void)state;
	history_begin(&t, 1, steps, 0, false);
	history_run(&t, 9950);
	history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
	history_run(&t, 13950);
	history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	history_expect(&t, 1, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
	assert_in_range(t.hosts[0].since_ms[0], 10000, 10000 + 2 * POLL_MS);
	history_run(&t, 30000);
	history_expect(&t, 1, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	assert_in_range(t.hosts[0].since_ms[1], 14000, 14000 + 2 * POLL_MS);
	assert_int_equal(t.o.applied_count, 2);
	history_end(&t);
}

static void
a_change_that_ends_in_time_is_left_alone_and_may_come_again(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_CHANGE }, false },
		{ 5000, { NVME_ANA_NON_OPTIMIZED, NVME_ANA_CHANGE }, false },
		{ 20000, { NVME_ANA_CHANGE, NVME_ANA_CHANGE }, false },
		{ .at_ms = UINT64_MAX },
	};
	struct history t;

	(void)state;
	history_begin(&t, 2, steps, 0, false);
	history_run(&t, 19950);
	history_expect(&t, 0, NVME_ANA_NON_OPTIMIZED, 0);
	history_expect(&t, 1, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	history_run(&t, 29950);
	history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
	history_expect(&t, 1, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION); /* the configuration says so anew */
	history_run(&t, 30200);
	history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	history_expect(&t, 1, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	history_end(&t);
}

/* Hosts wish when they like; only the operator's word puts the group into change again. */
static void
a_wish_of_hosts_does_not_put_a_group_into_change_again(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false },
		{ 4000, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, true },
		{ 12000, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, true },
		{ 13000, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, true },
		{ 14000, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false },
		{ 26000, { NVME_ANA_NON_OPTIMIZED, NVME_ANA_OPTIMIZED }, false },
		{ 27000, { NVME_ANA_NON_OPTIMIZED, NVME_ANA_OPTIMIZED }, true },
		{ .at_ms = UINT64_MAX },
	};

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct history t;

		history_begin(&t, seed, steps, 0, false);
		history_run(&t, 11950);
		history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
		assert_in_range(t.hosts[0].since_ms[0], 10000, 10000 + 2 * POLL_MS);
		history_run(&t, 13950);
		history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
		assert_in_range(t.hosts[0].since_ms[0], 10000, 10000 + 2 * POLL_MS);
		assert_int_equal(t.hosts[0].changes, 2);
		assert_int_equal(t.hosts[0].events, 1);
		history_run(&t, 23950);
		history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
		history_run(&t, 25950);
		history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
		assert_in_range(t.hosts[0].since_ms[0], 24000, 24000 + 2 * POLL_MS);
		history_run(&t, 29000);
		history_expect(&t, 0, NVME_ANA_NON_OPTIMIZED, 0);
		assert_int_equal(t.hosts[0].changes, 5);
		history_end(&t);
	}
}

/* There is nothing to be told that it failed: it is tried again soon. */
static void
without_memory_a_change_ends_a_little_later(void **state)
{
	static const struct step steps[] = {
		{ 0, { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED }, false },
		{ .at_ms = UINT64_MAX },
	};
	struct history t;

	(void)state;
	history_begin(&t, 0, steps, 9999, false);
	history_run(&t, 10090);
	assert_int_equal(t.o.reactor0->arena->fail_at, 0);
	history_expect(&t, 0, NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION);
	history_run(&t, 10300);
	history_expect(&t, 0, NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE);
	history_end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_that_the_configuration_leaves_ends_after_anatt),
		cmocka_unit_test(a_configuration_that_comes_just_then_may_wait),
		cmocka_unit_test(another_configuration_does_not_prolong_a_change),
		cmocka_unit_test(a_change_that_ends_in_time_is_left_alone_and_may_come_again),
		cmocka_unit_test(a_wish_of_hosts_does_not_put_a_group_into_change_again),
		cmocka_unit_test(without_memory_a_change_ends_a_little_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
