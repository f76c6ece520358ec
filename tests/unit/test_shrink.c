/*
 * trial/shrink: what is left of a plan that goes wrong is what it needs for that, and a search always ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "scenario_bench.h"
#include "trial/shrink.h"

static struct plan plan, last;

/* Full of faults, and nothing in it calm. */
static void
plan_wild(uint64_t seed)
{
	struct scenario scenario = { .name = "wild", .says = "" };

	for (enum knob knob = 0; knob < KNOBS; knob++)
		scenario.knobs[knob] = (struct span){ knob_rows[knob].least, knob_rows[knob].most };
	scenario.knobs[KNOB_UNTIL_MS] = (struct span){ 900, 1000 };
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		scenario.rates[kind] = (struct fault_rate){ { 10000, 90000 }, { 1, 1000 } };
	plan_draw(&scenario, seed, &plan);
}

static bool
has(const struct plan *p, enum fault_kind kind)
{
	for (uint32_t i = 0; i < p->fault_count; i++)
		if (p->faults[i].kind == kind)
			return true;
	return false;
}

/* Asks `wrong`, and remembers the last plan that was. */
static bool
fails(void *arg, const struct plan *p)
{
	bool (*const *wrong)(const struct plan *) = arg;

	assert_true(plan_is_valid(p));
	if (!(*wrong)(p))
		return false;
	last = *p;
	return true;
}

static struct shrink
shrink(bool (*wrong)(const struct plan *), uint32_t tries_max)
{
	struct shrink shrink = { .fails = fails, .arg = &wrong, .tries_max = tries_max };

	assert_true(wrong(&plan));
	last = plan;
	shrink_plan(&shrink, &plan);
	assert_true(wrong(&plan) && plan_is_valid(&plan));
	assert_null(plan_difference(&plan, &last));
	assert_true(shrink.tries <= tries_max);
	return shrink;
}

static bool
with_a_kill_before_a_lie_and_three_hosts(const struct plan *p)
{
	for (uint32_t i = 0; i < p->fault_count; i++)
		if (p->faults[i].kind == FAULT_TARGET_KILLED && p->knobs[KNOB_HOSTS] >= 3)
			for (; i < p->fault_count; i++)
				if (p->faults[i].kind == FAULT_DISK_LIES)
					return true;
	return false;
}

static void
two_faults_and_a_knob_are_found(void **state)
{
	(void)state;
	for (uint64_t seed = 0, tried = 0; tried < 20; seed++) {
		struct shrink done;

		plan_wild(seed);
		if (!with_a_kill_before_a_lie_and_three_hosts(&plan))
			continue;
		tried++;
		assert_true(plan.fault_count > 100);
		done = shrink(with_a_kill_before_a_lie_and_three_hosts, 100000);
		assert_true(done.tries < 1000);
		assert_int_equal(plan.fault_count, 2);
		assert_int_equal(plan.faults[0].kind, FAULT_TARGET_KILLED);
		assert_int_equal(plan.faults[1].kind, FAULT_DISK_LIES);
		assert_in_range(plan.knobs[KNOB_HOSTS], 3, 4);
		for (enum knob knob = 0; knob < KNOBS; knob++)
			if (knob != KNOB_HOSTS && knob != KNOB_UNTIL_MS)
				assert_int_equal(plan.knobs[knob], knob_rows[knob].calm);
		assert_true(plan.knobs[KNOB_UNTIL_MS] * 1000000 > plan.faults[1].at_ns);
		assert_true(plan.knobs[KNOB_UNTIL_MS] * 7 / 8 * 1000000 <= plan.faults[1].at_ns);
	}
}

static bool
with_the_smallest_sockets(const struct plan *p)
{
	return p->knobs[KNOB_SOCKET_MAX] <= 4096;
}

static void
of_a_pair_neither_is_made_what_the_other_forbids(void **state)
{
	(void)state;
	plan_wild(1);
	plan.knobs[KNOB_SOCKET_MIN] = 300;
	plan.knobs[KNOB_SOCKET_MAX] = 400;
	shrink(with_the_smallest_sockets, 100000);
	assert_int_equal(plan.fault_count, 0);
	assert_in_range(plan.knobs[KNOB_SOCKET_MIN], 256, plan.knobs[KNOB_SOCKET_MAX]);
}

static bool
always(const struct plan *p)
{
	return p != NULL;
}

static void
what_needs_nothing_loses_everything(void **state)
{
	(void)state;
	plan_wild(3);
	shrink(always, 100000);
	assert_int_equal(plan.fault_count, 0);
	assert_int_equal(plan.knobs[KNOB_UNTIL_MS], 1);
	for (enum knob knob = 0; knob < KNOBS; knob++)
		if (knob != KNOB_UNTIL_MS)
			assert_int_equal(plan.knobs[knob], knob_rows[knob].calm);
}

static bool
late(const struct plan *p)
{
	return p->knobs[KNOB_UNTIL_MS] >= 500 && has(p, FAULT_ANA);
}

static void
it_ends_where_there_may_be_no_more_tries(void **state)
{
	uint32_t enough;

	(void)state;
	plan_wild(9);
	enough = shrink(late, 100000).tries;
	assert_in_range(enough, 50, 500);
	for (uint32_t tries = 0; tries < enough; tries++) {
		plan_wild(9);
		assert_int_equal(shrink(late, tries).tries, tries);
	}
}

static uint64_t mood;

/* By nothing but a number that is made of it: whatever is asked, no reason is behind the answer. */
static bool
by_its_mood(const struct plan *p)
{
	uint64_t sum = mood;
	struct rng rng;

	for (enum knob knob = 0; knob < KNOBS; knob++)
		sum = sum * 31 + p->knobs[knob];
	for (uint32_t i = 0; i < p->fault_count; i++)
		sum = sum * 31 + p->faults[i].at_ns;
	rng_seed(&rng, sum);
	return rng_below(&rng, 3) > 0;
}

static void
it_ends_whatever_the_answers_are(void **state)
{
	(void)state;
	for (mood = 0; mood < 30; mood++) {
		plan_wild(mood);
		if (by_its_mood(&plan))
			assert_true(shrink(by_its_mood, UINT32_MAX).tries < 20000);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_faults_and_a_knob_are_found),
		cmocka_unit_test(of_a_pair_neither_is_made_what_the_other_forbids),
		cmocka_unit_test(what_needs_nothing_loses_everything),
		cmocka_unit_test(it_ends_where_there_may_be_no_more_tries),
		cmocka_unit_test(it_ends_whatever_the_answers_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
