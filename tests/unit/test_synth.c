/*
 * test_synth.c - what is made to order is what was ordered; and what a tally says does not depend on names.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "trace/rates.h"
#include "trace/stat.h"
#include "trace/synth.h"
#include "trace/working_set.h"

#define HOUR_NS UINT64_C(3600000000000)

static const struct synth_demand usual = {
	.seq_ratio = 0.3152, .write_gb_day = 21.04, .peak_iops = 207.02, .write_ratio = 0.8811, .working_set_gb = 0.643,
	.window_ns = RATES_WINDOW_NS, .duration_ns = 2 * HOUR_NS, .seed = 1,
};

/* The statistics of what is made, volumes renamed by adding to them, times divided. */
static struct trace_stat
stat_of(const struct synth_demand *demand, uint32_t volume, unsigned faster)
{
	const struct trace_stat_options options = { .streams = STREAMS_PAPER, .window_ns = demand->window_ns / faster };
	uint64_t room = WORKING_SET_ROOM, before_ns = 0;
	char why[SYNTH_WHY];
	struct synth synth;
	struct trace_request request;
	struct trace_tally *tally;
	struct trace_stat stat;
	struct arena arena;

	arena_init(&arena, 0);
	if (!synth_begin(&synth, demand, why))
		fail_msg("%s", why);
	tally = trace_tally_create(&arena, &options, &room);
	while (synth_next(&synth, &request)) {
		assert_true(request.time_ns >= before_ns && request.bytes % 512 == 0 && request.offset % 512 == 0);
		before_ns = request.time_ns;
		request.volume += volume;
		request.time_ns /= faster;
		assert_int_equal(trace_tally_add(tally, &request), 0);
	}
	trace_tally_stat(tally, &stat);
	trace_tally_destroy(tally);
	assert_int_equal(arena.bytes, 0);
	arena_drop(&arena);
	return stat;
}

static void
near(const char *what, double value, double wanted, double by)
{
	if (!(fabs(value - wanted) <= wanted * by))
		fail_msg("%s: %g instead of %g", what, value, wanted);
}

static void
check(const struct synth_demand *demand, double by)
{
	struct trace_stat stat = stat_of(demand, 0, 1);

	if (demand->write_ratio > 0)
		near("sequential ratio", stat.seq_ratio, demand->seq_ratio, by);
	near("write rate", stat.write_gb_day, demand->write_gb_day, by);
	near("peak", stat.peak_iops, demand->peak_iops, by);
	near("write ratio", stat.write_ratio, demand->write_ratio, by);
	near("working set", stat.working_set_gb, demand->working_set_gb, by);
	assert_int_equal(stat.duration_ns, demand->duration_ns);
	assert_int_equal(stat.backwards, 0);
}

static void
test_what_is_made_is_what_was_ordered(void **state)
{
	struct synth_demand demand = usual;

	check(&demand, 0.01);
	demand.seed = 2;
	demand.seq_ratio = 0;
	check(&demand, 0.01);
	demand.seq_ratio = 1;
	check(&demand, 0.01);
	demand.write_ratio = 1;
	check(&demand, 0.01);
	demand.working_set_gb = 0.1;
	check(&demand, 0.01);
	demand.working_set_gb = usual.working_set_gb;
	demand.seq_ratio = 0.01;
	check(&demand, 0.01);
	demand.write_ratio = demand.write_gb_day = 0;
	check(&demand, 0.01);
}

static void
test_what_is_not_refused_is_right_whatever_it_is(void **state)
{
	unsigned made = 0;
	struct rng rng;

	rng_seed(&rng, 11);
	for (unsigned i = 0; i < 1000; i++) {
		struct synth_demand demand = {
			.seq_ratio = fmin((double)rng_below(&rng, 126) / 100, 1),
			.write_ratio = fmin((double)rng_below(&rng, 126) / 100, 1),
			.write_gb_day = pow(10, (double)rng_below(&rng, 500) / 100 - 1),
			.working_set_gb = pow(10, (double)rng_below(&rng, 300) / 100 - 3),
			.peak_iops = pow(10, (double)rng_below(&rng, 300) / 100 - 1),
			.window_ns = RATES_WINDOW_NS / 10,
			.duration_ns = RATES_WINDOW_NS / 5 + rng_below(&rng, RATES_WINDOW_NS),
			.seed = i,
		};
		char why[SYNTH_WHY] = "";
		struct synth synth;

		if (!synth_begin(&synth, &demand, why)) {
			assert_true(why[0] != '\0');
			continue;
		}
		check(&demand, 0.05);
		made++;
	}
	assert_in_range(made, 150, 999);
}

static void
test_a_seed_is_a_trace(void **state)
{
	struct synth one, same, other;
	struct trace_request a, b, c;
	char why[SYNTH_WHY];
	struct synth_demand demand = usual;
	unsigned differ = 0;

	assert_true(synth_begin(&one, &demand, why) && synth_begin(&same, &demand, why));
	demand.seed = 2;
	assert_true(synth_begin(&other, &demand, why));
	while (synth_next(&one, &a)) {
		assert_true(synth_next(&same, &b));
		assert_true(a.time_ns == b.time_ns && a.offset == b.offset && a.bytes == b.bytes);
		differ += synth_next(&other, &c) && c.offset != a.offset;
	}
	assert_false(synth_next(&same, &b));
	assert_true(differ > 1000);
}

static void
test_what_contradicts_itself_is_refused_in_words(void **state)
{
	static const struct { struct synth_demand demand; const char *words; } cases[] = {
		{ { 0.3, 1, 100, 0.5, NAN, 0, 0, 0 }, "from 0 to 10^9 GB a day" },
		{ { 0.3, 1, 100, 0.5, 1e-6, 0, 0, 0 }, "a working set of at least a page" },
		{ { NAN, 1, 100, 0.5, 1, 0, 0, 0 }, "the ratios must be" },
		{ { 0.3, -1, 100, 0.5, 1, 0, 0, 0 }, "from 0 to 10^9 GB a day" },
		{ { 0.3, 1, 100, 0, 1, 0, 0, 0 }, "something is written, but no I/O is a write" },
		{ { 0.3, 0, 100, 0.5, 1, 0, 0, 0 }, "some I/Os are writes, but nothing is written" },
		{ { 0.3, 1, 0.01, 0.5, 1, 0, 0, 0 }, "a peak of 0.01 IOPS is 3.0 I/Os in a window of 300 s" },
		{ { 0.3, 1e6, 10, 0.5, 1, 0, 0, 0 }, "with so many writes each has more than 1 MiB" },
		{ { 0.3, 0.01, 1e4, 0.5, 1, 0, 0, 0 }, "even if each write has 512 bytes" },
		{ { 0.3, 10, 10, 0.5, 1e4, 0, 0, 0 }, "the working set is not touched" },
		{ { 0.3, 10, 100, 1, 10, 0, 0, 0 }, "nothing is read, and what is written touches only 0.8" },
		{ { 1e-4, 10, 100, 0.5, 1, 0, 0, 0 }, "no more than 1 MiB, which is no sequential stream" },
		{ { 0.5, 10, 100, 0.5, 0.001, 0, 0, 0 }, "sequential streams need a working set of" },
		{ { 1e-6, 10, 100, 0.5, 1, 0, 0, 0 }, "so few writes in order cannot be told" },
		{ { 1, 0.001, 100, 1e-6, 1, 0, 0, 0 }, "so few writes among them cannot be told" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct synth_demand demand = cases[i].demand;
		char why[SYNTH_WHY] = "nothing";
		struct synth synth;

		demand.window_ns = RATES_WINDOW_NS;
		demand.duration_ns = 2 * HOUR_NS;
		assert_false(synth_begin(&synth, &demand, why));
		if (strstr(why, cases[i].words) == NULL)
			fail_msg("%s: %s", cases[i].words, why);
	}
}

static void
test_one_window_is_refused(void **state)
{
	struct synth_demand demand = usual;
	char why[SYNTH_WHY];
	struct synth synth;

	demand.duration_ns = 2 * demand.window_ns - 1;
	assert_false(synth_begin(&synth, &demand, why));
	assert_string_equal(why, "it must last two windows of 300 s at least, or its peak is its mean");
}

static void
test_another_volume_has_the_same_statistics_and_twice_the_pace_twice_the_rates(void **state)
{
	struct trace_stat one = stat_of(&usual, 0, 1), other = stat_of(&usual, 4000, 1), fast = stat_of(&usual, 0, 2);

	assert_memory_equal(&one, &other, sizeof(one));
	near("write rate", fast.write_gb_day, 2 * one.write_gb_day, 1e-9);
	near("peak", fast.peak_iops, 2 * one.peak_iops, 1e-9);
	assert_true(fast.seq_ratio == one.seq_ratio && fast.working_set_gb == one.working_set_gb);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_made_is_what_was_ordered),
		cmocka_unit_test(test_what_is_not_refused_is_right_whatever_it_is),
		cmocka_unit_test(test_a_seed_is_a_trace),
		cmocka_unit_test(test_what_contradicts_itself_is_refused_in_words),
		cmocka_unit_test(test_one_window_is_refused),
		cmocka_unit_test(test_another_volume_has_the_same_statistics_and_twice_the_pace_twice_the_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
