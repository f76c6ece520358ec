/*
 * test_lab_ordered.c - a host that writes in order, by each of the ways: what is waited for, what goes over the
 * network, and that it can be had again.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lab/ordered.h"

#define DRIVE "flash:optane,8G,data=no"
#define CACHED "flash:tlc-consumer,8G,data=no"

enum { THERE_AND_BACK_US = 20 };

static struct lab_ordered
plan(enum lab_way way, const char *drive)
{
	struct lab_ordered told;

	lab_ordered_init(&told, way, drive);
	told.world.mbit = 200 * 1000;
	told.settle_ns = 5 * LAB_MS;
	told.measure_ns = 20 * LAB_MS;
	return told;
}

static struct lab_ordered_ran
run_seed(const struct lab_ordered *told, uint64_t seed, uint64_t *hash)
{
	struct lab_ordered_ran ran = { 0 };
	struct arena arena;
	struct lab lab;
	bool done;

	arena_init(&arena, 0);
	lab_init(&lab, &arena, &lab_maker_plain, seed);
	done = lab_ordered_run(&lab, told, &ran);
	assert_string_equal(lab.why, "");
	assert_true(done);
	assert_int_equal(ran.failed, 0);
	if (hash != NULL)
		*hash = lab.hash;
	arena_drop(&arena);
	return ran;
}

static struct lab_ordered_ran
run(const struct lab_ordered *told)
{
	return run_seed(told, 1, NULL);
}

static struct lab_ordered_ran
run_way(enum lab_way way, const char *drive)
{
	const struct lab_ordered told = plan(way, drive);

	return run(&told);
}

static bool
is_about(double value, double expected)
{
	return fabs(value - expected) <= 0.02 * expected;
}

static void
the_less_is_waited_for_the_more_is_written(void **state)
{
	double writes[LAB_WAYS];

	(void)state;
	for (unsigned way = 0; way < LAB_WAYS; way++)
		writes[way] = run_way(way, DRIVE).writes;
	assert_true(writes[LAB_ORDERED] > 0.95 * writes[LAB_ORDERLESS]);
	assert_true(writes[LAB_ORDERED] > 5 * writes[LAB_HORAE]);
	assert_true(writes[LAB_HORAE] > 1.1 * writes[LAB_SYNC]);
}

/* And for nothing else: many groups are under way meanwhile. */
static void
each_control_message_is_waited_for(void **state)
{
	const struct lab_ordered_ran ran = run_way(LAB_HORAE, DRIVE);
	struct lab_ordered longer = plan(LAB_HORAE, DRIVE);
	double between_us = 1e6 / ran.writes;

	(void)state;
	assert_true(between_us > THERE_AND_BACK_US);
	assert_true(ran.mean_us > 1.5 * between_us && ran.mean_us > 2 * THERE_AND_BACK_US);
	assert_true(is_about(ran.commands, 2));
	longer.pmr_mb_s = 1; /* a line takes 64 us */
	assert_true(1e6 / run(&longer).writes > between_us + 60);
}

/* Where the drive may lose what it has answered. */
static void
a_flush_is_waited_for_where_it_is_needed(void **state)
{
	struct lab_ordered flushes = plan(LAB_SYNC, DRIVE);

	(void)state;
	flushes.flushes = true;
	assert_true(is_about(run_way(LAB_SYNC, DRIVE).commands, 1));
	assert_true(is_about(run(&flushes).commands, 2));
	assert_true(run_way(LAB_SYNC, CACHED).writes < run_way(LAB_SYNC, DRIVE).writes / 10);
}

/* An entry is durable before its write begins, and persists before that is answered: a line each. */
static void
no_write_is_answered_before_its_entry_is_there(void **state)
{
	struct lab_ordered slow = plan(LAB_ORDERED, DRIVE);

	(void)state;
	slow.pmr_mb_s = 1; /* a line takes 64 us */
	slow.measure_ns = 500 * LAB_MS;
	assert_true(is_about(run(&slow).writes, 1e6 / (2 * 64)));
	slow.way = LAB_ORDERLESS;
	assert_true(run(&slow).writes > 100 * 1000);
}

static void
what_lies_behind_one_another_is_one_command(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= 32; n *= 4) {
		struct lab_ordered told = plan(LAB_ORDERED, DRIVE);

		told.batch = n;
		assert_true(is_about(run(&told).commands * n, 1));
	}
}

static void
messages_are_counted_as_they_go(void **state)
{
	struct lab_ordered told = plan(LAB_ORDERED, DRIVE);
	struct lab_ordered_ran ran = run(&told);

	(void)state;
	assert_true(is_about(ran.sent_messages, 1) && is_about(ran.sent_bytes, 72 + 4096));
	assert_true(is_about(ran.received_messages, 1) && is_about(ran.received_bytes, 24));
	told.bytes = 65536; /* it is asked for, and follows */
	ran = run(&told);
	assert_true(is_about(ran.sent_messages, 2) && is_about(ran.sent_bytes, 72 + 24 + 65536));
	assert_true(is_about(ran.received_messages, 2) && is_about(ran.received_bytes, 2 * 24));
}

static void
streams_and_targets_may_be_several(void **state)
{
	const struct lab_ordered_ran one = run_way(LAB_ORDERED, CACHED);

	(void)state;
	for (unsigned way = 0; way < LAB_WAYS; way++) {
		struct lab_ordered told = plan(way, CACHED);
		struct lab_ordered_ran ran;

		told.streams = 3;
		told.targets = 2;
		told.drives = 4;
		ran = run(&told);
		assert_true(way != LAB_ORDERED || ran.writes > 1.5 * one.writes);
	}
}

static void
a_seed_is_a_history(void **state)
{
	(void)state;
	for (unsigned way = 0; way < LAB_WAYS; way++) {
		const struct lab_ordered told = plan(way, CACHED);
		uint64_t first, again, other;
		struct lab_ordered_ran ran = run_seed(&told, 1, &first), same = run_seed(&told, 1, &again);

		(void)run_seed(&told, 2, &other);
		assert_int_equal(first, again);
		assert_memory_equal(&ran, &same, sizeof(ran));
		assert_int_not_equal(first, other);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_less_is_waited_for_the_more_is_written),
		cmocka_unit_test(each_control_message_is_waited_for),
		cmocka_unit_test(a_flush_is_waited_for_where_it_is_needed),
		cmocka_unit_test(no_write_is_answered_before_its_entry_is_there),
		cmocka_unit_test(what_lies_behind_one_another_is_one_command),
		cmocka_unit_test(messages_are_counted_as_they_go),
		cmocka_unit_test(streams_and_targets_may_be_several),
		cmocka_unit_test(a_seed_is_a_history),
	};

	return cmocka_run_group_tests_name("lab_ordered", tests, NULL, NULL);
}
