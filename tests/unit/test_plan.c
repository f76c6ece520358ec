/*
 * trial/plan: what a seed makes of a scenario, how it is printed, and the tables that it goes by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "scenario_bench.h"

static struct plan plan, other;

/* Everything as calm as can be, and no faults. */
static struct scenario
calm(void)
{
	struct scenario scenario = { .name = "calm", .says = "" };

	for (enum knob knob = 0; knob < KNOBS; knob++)
		scenario.knobs[knob] = (struct span){ knob_rows[knob].calm, knob_rows[knob].calm };
	return scenario;
}

static bool
is_one_of(uint64_t value, const struct knob_row *row)
{
	return (value >= row->least && value <= row->most) || (row->or_zero && value == 0);
}

static void
each_row_says_what_it_is_and_its_calm_value_is_one(void **state)
{
	(void)state;
	for (enum knob knob = 0; knob < KNOBS; knob++) {
		const struct knob_row *row = &knob_rows[knob];

		assert_true(row->name != NULL && row->name[0] != '\0' && row->says != NULL && row->unit != NULL);
		assert_true(row->least < row->most && is_one_of(row->calm, row) && (!row->or_zero || row->least > 0));
		for (enum knob before = 0; before < knob; before++)
			assert_string_not_equal(row->name, knob_rows[before].name);
	}
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		assert_true(fault_rows[kind].name != NULL && fault_rows[kind].says != NULL);
}

static void
every_value_of_a_span_is_drawn_and_no_other(void **state)
{
	struct scenario scenario = calm();
	unsigned seen[10] = { 0 };

	(void)state;
	scenario.knobs[KNOB_HOSTS] = (struct span){ 2, 9 };
	for (uint64_t seed = 0; seed < 800; seed++) {
		plan_draw(&scenario, seed, &plan);
		assert_in_range(plan.knobs[KNOB_HOSTS], 2, 9);
		seen[plan.knobs[KNOB_HOSTS]]++;
	}
	for (unsigned hosts = 2; hosts <= 9; hosts++)
		assert_true(seen[hosts] > 40);
	/* The ends are preferred. */
	assert_true(seen[2] > 140 && seen[9] > 140 && seen[5] < 120);
}

static void
a_wide_span_is_drawn_by_size_too(void **state)
{
	struct scenario scenario = calm();
	unsigned small = 0, large = 0;

	(void)state;
	scenario.knobs[KNOB_PAUSE_US] = (struct span){ 1, 1000000 };
	for (uint64_t seed = 0; seed < 1000; seed++) {
		plan_draw(&scenario, seed, &plan);
		small += plan.knobs[KNOB_PAUSE_US] > 1 && plan.knobs[KNOB_PAUSE_US] < 1000;
		large += plan.knobs[KNOB_PAUSE_US] > 500000 && plan.knobs[KNOB_PAUSE_US] < 1000000;
	}
	assert_true(small > 100 && large > 100);
}

static void
what_is_0_or_more_than_a_few_is_never_in_between(void **state)
{
	struct scenario scenario = calm();
	unsigned zeros = 0;

	(void)state;
	scenario.knobs[KNOB_MEMORY_MIB] = (struct span){ 0, 16 };
	for (uint64_t seed = 0; seed < 500; seed++) {
		plan_draw(&scenario, seed, &plan);
		assert_true(is_one_of(plan.knobs[KNOB_MEMORY_MIB], &knob_rows[KNOB_MEMORY_MIB]));
		zeros += plan.knobs[KNOB_MEMORY_MIB] == 0;
	}
	assert_in_range(zeros, 50, 450);
}

static void
the_smaller_of_a_pair_is_never_the_larger(void **state)
{
	struct scenario scenario = calm();
	unsigned same = 0;

	(void)state;
	scenario.knobs[KNOB_SOCKET_MIN] = (struct span){ 1000, 100000 };
	scenario.knobs[KNOB_SOCKET_MAX] = (struct span){ 500, 50000 };
	for (uint64_t seed = 0; seed < 500; seed++) {
		plan_draw(&scenario, seed, &plan);
		assert_true(plan.knobs[KNOB_SOCKET_MIN] <= plan.knobs[KNOB_SOCKET_MAX]);
		assert_in_range(plan.knobs[KNOB_SOCKET_MIN], 1000, 50000);
		assert_in_range(plan.knobs[KNOB_SOCKET_MAX], 1000, 50000);
		same += plan.knobs[KNOB_SOCKET_MIN] == plan.knobs[KNOB_SOCKET_MAX];
	}
	assert_true(same < 400);
}

static void
one_seed_is_one_plan_and_another_seed_another_one(void **state)
{
	struct scenario scenario = calm();

	(void)state;
	scenario.knobs[KNOB_BLOCKS] = (struct span){ 1, 65536 };
	scenario.rates[FAULT_ANA] = (struct fault_rate){ { 5000, 9000 }, { 1, 1000 } };
	plan_draw(&scenario, 7, &plan);
	memset(&other, 0xff, sizeof(other));
	plan_draw(&scenario, 7, &other);
	assert_null(plan_difference(&plan, &other));
	plan_draw(&scenario, 8, &other);
	other.seed = 7;
	assert_non_null(plan_difference(&plan, &other));
}

/* It is what recorded seeds stand for: whoever changes this has changed all of them. */
static void
a_seed_means_the_same_plan_everywhere(void **state)
{
	struct scenario scenario = calm();

	(void)state;
	scenario.swarm = true;
	scenario.knobs[KNOB_BLOCKS] = (struct span){ 1, 65536 };
	scenario.knobs[KNOB_WRITE] = (struct span){ 1, 99 };
	scenario.rates[FAULT_ANA] = (struct fault_rate){ { 20000, 90000 }, { 1, 1000 } };
	plan_draw(&scenario, 5, &plan);
	assert_true(plan.knobs[KNOB_BLOCKS] == 52608 && plan.knobs[KNOB_WRITE] == 21 && plan.fault_count == 2);
	assert_true(plan.faults[0].at_ns == 41539463 && plan.faults[0].for_ns == 1000000);
	assert_true(plan.faults[0].whom == 77 && plan.faults[0].what == 871);
}

static void
what_is_drawn_for_one_thing_does_not_depend_on_others(void **state)
{
	struct scenario scenario = calm();

	(void)state;
	scenario.rates[FAULT_ANA] = (struct fault_rate){ { 5000, 9000 }, { 1, 1000 } };
	plan_draw(&scenario, 7, &plan);
	scenario.knobs[KNOB_HOSTS] = (struct span){ 1, 60 };
	scenario.rates[FAULT_TARGET_KILLED] = (struct fault_rate){ { 2000, 9000 }, { 1, 1000 } };
	plan_draw(&scenario, 7, &other);
	assert_true(other.fault_count > plan.fault_count);
	for (uint32_t i = 0, at = 0; i < plan.fault_count; i++, at++) {
		while (other.faults[at].kind != FAULT_ANA)
			at++;
		assert_int_equal(other.faults[at].at_ns, plan.faults[i].at_ns);
		assert_int_equal(other.faults[at].whom, plan.faults[i].whom);
	}
}

/* As disk_lies() of trial/fault_ways.c takes its number. */
static void
any_part_of_any_volume_may_change_by_itself(void **state)
{
	enum { VOLUMES = 8, BLOCKS = 65536, PARTS = 16 };
	struct scenario scenario = calm();
	unsigned seen[VOLUMES][PARTS] = { 0 };

	(void)state;
	scenario.knobs[KNOB_UNTIL_MS] = (struct span){ 1000, 1000 };
	scenario.rates[FAULT_DISK_LIES] = (struct fault_rate){ .every_us = { 100, 100 } };
	plan_draw(&scenario, 1, &plan);
	for (uint32_t i = 0; i < plan.fault_count; i++)
		seen[plan.faults[i].what % VOLUMES][plan.faults[i].what / VOLUMES % BLOCKS * PARTS / BLOCKS]++;
	assert_int_equal(knob_rows[KNOB_VOLUMES].most, VOLUMES);
	assert_int_equal(knob_rows[KNOB_BLOCKS].most, BLOCKS);
	for (unsigned i = 0; i < VOLUMES * PARTS; i++)
		assert_in_range(seen[i / PARTS][i % PARTS], 40, 120);
}

static void
a_swarm_leaves_out_half_of_the_faults_and_a_quarter_of_the_load(void **state)
{
	struct scenario scenario = calm();
	unsigned faults[FAULTS] = { 0 }, writes = 0;

	(void)state;
	scenario.swarm = true;
	scenario.knobs[KNOB_WRITE] = (struct span){ 1, 99 };
	scenario.knobs[KNOB_HOSTS] = (struct span){ 1, 9 };
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		scenario.rates[kind] = (struct fault_rate){ { 40000, 60000 }, { 1, 1000 } };
	for (uint64_t seed = 0; seed < 400; seed++) {
		bool seen[FAULTS] = { false };

		plan_draw(&scenario, seed, &plan);
		writes += plan.knobs[KNOB_WRITE] > 0;
		assert_true(plan.knobs[KNOB_HOSTS] > 0);
		for (uint32_t i = 0; i < plan.fault_count; i++)
			seen[plan.faults[i].kind] = true;
		for (enum fault_kind kind = 0; kind < FAULTS; kind++)
			faults[kind] += seen[kind];
	}
	assert_in_range(writes, 260, 340);
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		assert_in_range(faults[kind], 150, 250);
	scenario.swarm = false;
	for (uint64_t seed = 0; seed < 50; seed++) {
		plan_draw(&scenario, seed, &plan);
		assert_true(plan.knobs[KNOB_WRITE] > 0 && plan.fault_count >= FAULTS);
	}
}

static void
faults_come_as_often_as_is_said_until_the_end(void **state)
{
	static const struct fault listed[] = {
		{ .at_ns = 0, .kind = FAULT_DISK_LIES, .whom = 1 }, { .at_ns = 0, .kind = FAULT_DISK_LIES, .whom = 2 },
		{ .at_ns = 99999999, .kind = FAULT_DISK_LIES, .whom = 3 },
	};
	struct scenario scenario = calm();

	(void)state;
	scenario.rates[FAULT_ANA] = (struct fault_rate){ { 5000, 9000 }, { 10, 20 } };
	scenario.rates[FAULT_VOLUME_GROWS] = (struct fault_rate){ .every_us = { 5000, 5000 } };
	scenario.faults = listed;
	scenario.fault_count = 3;
	assert_int_equal(scenario_faults_most(&scenario), 3 + 20 + 20);
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t last_ns = 0;
		uint32_t of[FAULTS] = { 0 };

		plan_draw(&scenario, seed, &plan);
		assert_int_equal(plan.faults[0].whom, 1);
		assert_int_equal(plan.faults[1].whom, 2);
		assert_int_equal(plan.faults[plan.fault_count - 1].whom, 3);
		for (uint32_t i = 0; i < plan.fault_count; i++) {
			const struct fault *f = &plan.faults[i];

			of[f->kind]++;
			assert_true(i == 0 || f->at_ns >= plan.faults[i - 1].at_ns);
			if (f->kind != FAULT_ANA)
				continue;
			assert_in_range(f->at_ns - last_ns, 5000000, 9001000);
			assert_in_range(f->for_ns, 10000, 20000);
			last_ns = f->at_ns;
		}
		assert_in_range(of[FAULT_ANA], 11, 20);
		assert_in_range(of[FAULT_VOLUME_GROWS], 19, 20);
		assert_int_equal(of[FAULT_DISK_LIES], 3);
	}
}

static void
at_one_instant_what_is_listed_comes_first(void **state)
{
	struct scenario scenario = calm();
	struct fault listed = { .kind = FAULT_DISK_LIES };

	(void)state;
	scenario.rates[FAULT_ANA] = (struct fault_rate){ { 5000, 9000 }, { 10, 20 } };
	plan_draw(&scenario, 1, &plan);
	listed.at_ns = plan.faults[1].at_ns;
	scenario.faults = &listed;
	scenario.fault_count = 1;
	plan_draw(&scenario, 1, &other);
	assert_int_equal(other.fault_count, plan.fault_count + 1);
	assert_int_equal(other.faults[1].kind, FAULT_DISK_LIES);
	assert_int_equal(other.faults[2].at_ns, listed.at_ns);
}

static void
a_plan_that_is_printed_is_drawn_again_by_its_seed(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < scenario_count; i++) {
		struct scenario *scenario = scenario_of(&arena, scenario_texts[i].text);

		for (uint64_t seed = 0; seed < 20; seed++) {
			plan_draw(scenario, seed, &plan);
			plan_outlives_printing(&plan);
		}
	}
	arena_drop(&arena);
}

static void
times_are_printed_to_the_nanosecond_and_what_is_calm_comes_last(void **state)
{
	static const struct { uint64_t ns; const char *text; } times[] = {
		{ 0, "at: 0 ms," }, { 1, "at: 0.000001 ms," }, { 10, "at: 0.00001 ms," }, { 12500000, "at: 12.5 ms," },
		{ 12000000, "at: 12 ms," }, { 12345678, "at: 12.345678 ms," }, { 99099000, "at: 99.099 ms," },
	};
	struct scenario scenario = calm();
	struct arena arena;
	const char *rest;
	char *text;

	(void)state;
	arena_init(&arena, 0);
	scenario.knobs[KNOB_HOSTS] = (struct span){ 3, 3 };
	plan_draw(&scenario, 12, &plan);
	plan.fault_count = 1;
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		plan.faults[0] = (struct fault){ .at_ns = times[i].ns, .kind = FAULT_VOLUME_GROWS };
		text = plan_text(&arena, &plan);
		assert_non_null(strstr(text, times[i].text));
		plan_outlives_printing(&plan);
	}
	rest = strstr(text, "  # as calm as can be:\n");
	assert_non_null(rest);
	assert_true(strstr(text, "hosts: 3\n") < rest && strstr(text, "lanes: 1\n") > rest);
	assert_non_null(strstr(text, "seed 12"));
	arena_drop(&arena);
}

static void
what_no_trial_can_play_is_no_plan(void **state)
{
	struct scenario scenario = calm();
	static const struct fault faults[] = {
		{ .at_ns = 5000000, .for_ns = 1, .kind = FAULT_ANA }, { .at_ns = 6000000, .kind = FAULT_DISK_LIES },
	};

	(void)state;
	scenario.faults = faults;
	scenario.fault_count = 2;
	plan_draw(&scenario, 1, &plan);
	assert_true(plan_is_valid(&plan));
#define SPOILT(change) do { other = plan; other.change; assert_false(plan_is_valid(&other)); } while (0)
	SPOILT(knobs[KNOB_HOSTS] = 0);
	SPOILT(knobs[KNOB_HOSTS] = 65);
	SPOILT(knobs[KNOB_MEMORY_MIB] = 7);
	SPOILT(knobs[KNOB_SOCKET_MIN] = 65537);
	SPOILT(knobs[KNOB_UNTIL_MS] = 6);
	SPOILT(fault_count = PLAN_FAULTS_MAX + 1);
	SPOILT(faults[0].at_ns = 6000001);
	SPOILT(faults[0].for_ns = 0);
	SPOILT(faults[1].for_ns = 1);
	SPOILT(faults[1].kind = FAULTS);
#undef SPOILT
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_says_what_it_is_and_its_calm_value_is_one),
		cmocka_unit_test(every_value_of_a_span_is_drawn_and_no_other),
		cmocka_unit_test(a_wide_span_is_drawn_by_size_too),
		cmocka_unit_test(what_is_0_or_more_than_a_few_is_never_in_between),
		cmocka_unit_test(the_smaller_of_a_pair_is_never_the_larger),
		cmocka_unit_test(one_seed_is_one_plan_and_another_seed_another_one),
		cmocka_unit_test(a_seed_means_the_same_plan_everywhere),
		cmocka_unit_test(what_is_drawn_for_one_thing_does_not_depend_on_others),
		cmocka_unit_test(any_part_of_any_volume_may_change_by_itself),
		cmocka_unit_test(a_swarm_leaves_out_half_of_the_faults_and_a_quarter_of_the_load),
		cmocka_unit_test(faults_come_as_often_as_is_said_until_the_end),
		cmocka_unit_test(at_one_instant_what_is_listed_comes_first),
		cmocka_unit_test(a_plan_that_is_printed_is_drawn_again_by_its_seed),
		cmocka_unit_test(times_are_printed_to_the_nanosecond_and_what_is_calm_comes_last),
		cmocka_unit_test(what_no_trial_can_play_is_no_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
