/*
 * trial/scenario: what is read of a file, each mistake in its line and in words, and the scenarios that are built in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scenario_bench.h"

static void
what_a_file_says_is_read(void **state)
{
	struct scenario *s;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	s = scenario_of(&arena,
	    "name: two-paths\n"
	    "says: two paths, one of which is cut again and again\n"
	    "swarm: yes\n"
	    "knobs:\n"
	    "  hosts: 1-4\n"
	    "  listeners: 2\n"
	    "  until: 2 s\n"
	    "  latency: 5-100 us\n"
	    "  bandwidth: 0\n"
	    "often:\n"
	    "  listener-silent: { every: 50-100 ms, for: 1-400 ms }\n"
	    "  volume-grows: { every: 10 ms }\n"
	    "faults:\n"
	    "  - { at: 20 ms, what: disk-lies, part: 3 }\n"
	    "  - { at: 12.5 ms, what: target-killed, for: 30 ms, whom: 1, part: 2 }\n"
	    "  - { at: 20 ms, what: ana, for: 7 ns, whom: 4294967295 }\n");
	assert_string_equal(s->name, "two-paths");
	assert_string_equal(s->says, "two paths, one of which is cut again and again");
	assert_true(s->swarm);
	assert_true(s->knobs[KNOB_HOSTS].from == 1 && s->knobs[KNOB_HOSTS].to == 4);
	assert_true(s->knobs[KNOB_LISTENERS].from == 2 && s->knobs[KNOB_LISTENERS].to == 2);
	assert_true(s->knobs[KNOB_UNTIL_MS].from == 2000 && s->knobs[KNOB_UNTIL_MS].to == 2000);
	assert_true(s->knobs[KNOB_LATENCY_US].from == 5 && s->knobs[KNOB_LATENCY_US].to == 100);
	assert_true(s->knobs[KNOB_LANES].from == knob_rows[KNOB_LANES].calm);
	assert_true(s->rates[FAULT_LISTENER_SILENT].every_us.from == 50000);
	assert_true(s->rates[FAULT_LISTENER_SILENT].for_us.to == 400000);
	assert_true(s->rates[FAULT_VOLUME_GROWS].every_us.to == 10000);
	assert_true(s->rates[FAULT_ANA].every_us.from == 0);
	assert_int_equal(s->fault_count, 3);
	assert_true(s->faults[0].at_ns == 12500000 && s->faults[0].for_ns == 30000000 &&
	    s->faults[0].kind == FAULT_TARGET_KILLED && s->faults[0].whom == 1 && s->faults[0].what == 2);
	assert_true(s->faults[1].kind == FAULT_DISK_LIES && s->faults[1].for_ns == 0 && s->faults[1].what == 3);
	assert_true(s->faults[2].kind == FAULT_ANA && s->faults[2].for_ns == 7 && s->faults[2].whom == UINT32_MAX);
	arena_drop(&arena);
}

static void
where_nothing_is_said_all_is_calm(void **state)
{
	struct scenario *s;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	s = scenario_of(&arena, "{}\n");
	assert_string_equal(s->name, "");
	assert_string_equal(s->says, "");
	assert_false(s->swarm);
	for (enum knob knob = 0; knob < KNOBS; knob++)
		assert_true(s->knobs[knob].from == knob_rows[knob].calm && s->knobs[knob].to == knob_rows[knob].calm);
	assert_int_equal(scenario_faults_most(s), 0);
	arena_drop(&arena);
}

/* ---- mistakes ---- */

struct wrong {
	const char *text;
	uint32_t line;
	const char *words;
};

#define K "knobs:\n  "
#define O "often:\n  "
#define F "faults:\n  - "

static const struct wrong wrongs[] = {
	{ "", 1, "there is nothing in it" },
	{ "- a\n", 1, "a scenario is keys with values, like `says: ...`" },
	{ "says: a\nknob: {}\n", 2, "a scenario has no key `knob`; `knobs` is meant?" },
	{ "says: [a]\n", 1, "`says` is one value, not a list" },
	{ "swarm: maybe\n", 1, "`swarm` is yes, no, true or false, not `maybe`" },
	{ "name: a b\n", 1, "`name` is 1 to 31 letters, digits and - _ . behind the first one, not `a b`" },
	{ "name: .a\n", 1, "`name` is 1 to 31 letters" },
	{ "name: \"\"\n", 1, "`name` is 1 to 31 letters" },
	{ "name: a2345678901234567890123456789012\n", 1, "`name` is 1 to 31 letters" },
	/* knobs */
	{ "knobs: 5\n", 1, "`knobs` is keys with values, like `targets: ...`" },
	{ K "hosts: 1\n  hots: 2\n", 3, "`knobs` has no key `hots`; `hosts` is meant?" },
	{ K "untill: 1 s\n", 2, "`knobs` has no key `untill`; `until` is meant?" },
	{ K "colour: red\n", 2, "`knobs` has no key `colour`; there is targets, target-reactors, listeners, volumes, "
	    "hosts, host-reactors, lanes, depth, blocks, io-blocks, pause, read, write, write-fua, flush, zeroes, "
	    "deallocate, copy, verify ..." },
	{ K "hosts: 1\n  hosts: 2\n", 3, "`hosts` is there twice, first in line 2" },
	{ K "hosts: [1, 2]\n", 2, "`hosts` is one value, not a list" },
	{ K "hosts:\n", 2, "`hosts` is an amount like `5`, or a span like `5-100`, not ``" },
	{ K "hosts: 4-1\n", 2, "`hosts` goes from the smaller to the larger, not `4-1`" },
	{ K "hosts: 0-4\n", 2, "`hosts` is from 1 to 64, not `0-4`" },
	{ K "hosts: 65\n", 2, "`hosts` is from 1 to 64, not `65`" },
	{ K "hosts: 4 ms\n", 2, "`hosts` is a number without a unit, not `4 ms`" },
	{ K "latency: 5\n", 2, "`latency` needs a unit: ns, us, ms or s, not `5`" },
	{ K "latency: 5 MiB\n", 2, "`latency` has one of the units ns, us, ms or s, not `5 MiB`" },
	{ K "latency: 1.5 us\n", 2, "`latency` is a whole number of us, not `1.5 us`" },
	{ K "latency: 2 s\n", 2, "`latency` is from 0 us to 100000 us, not `2 s`" },
	{ K "queue-entries: 0-1\n", 2, "`queue-entries` is 0, or 2 at least" },
	{ K "memory: 1-64 MiB\n", 2, "`memory` is 0, or 8 MiB at least" },
	{ K "until: 0\n", 2, "`until` is from 1 ms to 3600000 ms, not `0`" },
	{ K "until: 2 hours\n", 2, "`until` has one of the units ns, us, ms or s, not `2 hours`" },
	{ K "turn-time: 0\n", 2, "`turn-time` is from 1 ns to 1000000 ns, not `0`" },
	{ K "socket-min: 64-128 KiB\n  socket-max: 4-32 KiB\n", 3, "`socket-min` is 65536 bytes at least, and may not "
	    "be above `socket-max`, which is 32768 bytes at most" },
	{ K "socket-min: 1 MiB\n", 2, "`socket-min` is 1048576 bytes at least, and may not be above `socket-max`" },
	{ K "io-blocks: 8\n  blocks: 4\n", 3, "`io-blocks` is 8 at least, and may not be above `blocks`, which "
	    "is 4 at most" },
	/* how often */
	{ "often: [ana]\n", 1, "`often` is keys with values, like `target-killed: ...`" },
	{ O "target-kiled: { every: 1 ms }\n", 2, "`often` has no key `target-kiled`; `target-killed` is meant?" },
	{ O "earthquake: { every: 1 ms }\n", 2, "`often` has no key `earthquake`; there is target-killed, target-p" },
	{ O "ana: 5 ms\n", 2, "`ana` is keys with values, like `every: ...`" },
	{ O "ana: { for: 1 ms }\n", 2, "`ana` needs `every`" },
	{ O "ana: { every: 10 ms }\n", 2, "`ana` lasts, and needs `for`" },
	{ O "disk-lies: { every: 10 ms, for: 1 ms }\n", 2, "`disk-lies` is over at once: it has no `for`" },
	{ O "ana: { every: 0, for: 1 ms }\n", 2, "`every` is from 1 us to 3600000000 us, not `0`" },
	{ O "ana: { every: 10 ms, for: 0-1 ms }\n", 2, "`for` is from 1 us to 3600000000 us, not `0-1 ms`" },
	{ O "ana: { every: 20-10 ms, for: 1 ms }\n", 2, "`every` goes from the smaller to the larger, not `20-10 ms`" },
	{ "knobs: { until: 20 s }\n" O "disk-lies: { every: 2-50 ms }\n  ana: { every: 3 ms, for: 1 ms }\n", 3,
	    "so often there can be 16666 faults until 20000 ms, and no more than 16384 find room" },
	/* that happen in any case */
	{ "faults: {}\n", 1, "`faults` is a list, [] where it is empty" },
	{ F "ana\n", 2, "a fault is keys with values, like `at: ...`" },
	{ F "{ at: 1 ms }\n", 2, "a fault needs `what`" },
	{ F "{ what: ana, for: 1 ms }\n", 2, "a fault needs `at`" },
	{ F "{ at: 1 ms, what: ana, for: 1 ms, who: 1 }\n", 2, "a fault has no key `who`; `whom` is meant?" },
	{ F "{ at: 1 ms, what: disk-lie }\n", 2, "there is no fault `disk-lie`; `disk-lies` is meant?" },
	{ F "{ at: 1 ms, what: earthquake }\n", 2, "there is no fault `earthquake`; there is target-killed, target" },
	{ F "{ at: 1 ms, what: ana }\n", 2, "`ana` lasts, and needs `for`" },
	{ F "{ at: 1 ms, what: disk-lies, for: 1 ms }\n", 2, "`disk-lies` is over at once: it has no `for`" },
	{ F "{ at: 1 ms, what: ana, for: 0 }\n", 2, "`for` is from 1 ns to 3600000000000 ns, not `0`" },
	{ F "{ at: 1-2 ms, what: disk-lies }\n", 2, "`at` is one time, not `1-2 ms`" },
	{ F "{ at: soon, what: disk-lies }\n", 2, "`at` is an amount like `5 ns`" },
	{ F "{ at: 100 ms, what: disk-lies }\n", 2, "`at` is before `until`, which may be 100 ms, not `100 ms`" },
	{ "knobs: { until: 10-200 ms }\n" F "{ at: 11 ms, what: disk-lies }\n", 3, "`at` is before `until`, which may "
	    "be 10 ms, not `11 ms`" },
	{ F "{ at: 1 ms, what: disk-lies, whom: -1 }\n", 2, "`whom` is a number from 0 to 4294967295, not `-1`" },
	{ F "{ at: 1 ms, what: disk-lies, part: 4294967296 }\n", 2, "`part` is a number from 0 to 4294967295" },
};

static void
each_mistake_is_named_in_its_line(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		struct scenario *scenario;
		struct conf_errors errors;
		struct arena arena;

		arena_init(&arena, 0);
		assert_int_equal(scenario_read(&arena, w->text, strlen(w->text), &errors, &scenario), -EINVAL);
		if (errors.count != 1 || errors.list[0].line != w->line ||
		    strncmp(errors.list[0].text, w->words, strlen(w->words)) != 0)
			fail_msg("%s: %u, the first in line %u: %s", w->text, errors.count, errors.list[0].line,
			    errors.list[0].text);
		assert_null(scenario);
		arena_drop(&arena);
	}
}

static void
several_mistakes_are_told_in_the_order_of_lines(void **state)
{
	static const char text[] = O "anna: { every: 1 ms }\n  parted: {}\n" F "{ at: 500 ms, what: nothing }\n" K
	    "until: 0\n  hosts: 0\n";
	static const uint32_t lines[] = { 2, 3, 3, 5, 7, 8 };
	struct scenario *scenario;
	struct conf_errors errors;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(scenario_read(&arena, text, strlen(text), &errors, &scenario), -EINVAL);
	assert_int_equal(errors.count, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(errors.list[i].line, lines[i]);
	arena_drop(&arena);
}

static void
as_many_faults_as_find_room_are_read_and_one_more_is_refused(void **state)
{
	enum { LINE = 40 };
	char *text = malloc((PLAN_FAULTS_MAX + 2) * LINE);
	struct scenario *scenario;
	struct conf_errors errors;
	struct arena arena;

	(void)state;
	assert_non_null(text);
	for (unsigned more = 0; more < 2; more++) {
		char *at = text + sprintf(text, "faults:\n");

		for (unsigned i = 0; i < PLAN_FAULTS_MAX + more; i++)
			at += sprintf(at, "  - { at: %u us, what: disk-lies }\n", 20000 - i);
		arena_init(&arena, 0);
		assert_int_equal(scenario_read(&arena, text, strlen(text), &errors, &scenario), more ? -EINVAL : 0);
		if (more)
			assert_string_equal(errors.list[0].text, "`faults` has 16384 at most, not 16385");
		else
			assert_true(scenario->fault_count == PLAN_FAULTS_MAX &&
			    scenario->faults[0].at_ns == (20001 - PLAN_FAULTS_MAX) * 1000);
		arena_drop(&arena);
	}
	free(text);
}

static void
memory_that_is_not_there_is_said_to_be_so(void **state)
{
	static const char text[] = "says: a\nhosts: wrong\n" F "{ at: 1 ms, what: disk-lies }\n";
	struct scenario *scenario;
	struct conf_errors errors;
	struct arena arena;

	(void)state;
	for (uint64_t fail_at = 1; fail_at <= 3; fail_at++) {
		arena_init(&arena, 0);
		arena.fail_at = fail_at;
		assert_int_equal(scenario_read(&arena, text, strlen(text), &errors, &scenario), -ENOMEM);
		assert_true(errors.count == 0 && scenario == NULL);
		arena_drop(&arena);
	}
}

/* ---- those that are built in ---- */

static void
each_that_is_built_in_says_what_it_is_and_is_short(void **state)
{
	static struct plan plan;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(scenario_count, 11);
	for (unsigned i = 0; i < scenario_count; i++) {
		struct scenario *s = scenario_of(&arena, scenario_texts[i].text);
		uint64_t faults = 0;

		assert_true(s->says[0] != '\0' && s->swarm && strlen(scenario_texts[i].name) < PLAN_NAME);
		for (uint64_t seed = 1; seed <= 200; seed++) {
			plan_draw(s, seed, &plan);
			assert_in_range(plan.knobs[KNOB_UNTIL_MS], 20, 2000);
			assert_in_range(plan.knobs[KNOB_BLOCKS], 8, 256);
			faults += plan.fault_count;
		}
		if (strcmp(scenario_texts[i].name, "steady") != 0)
			assert_in_range(faults, 200 * 3, 200 * 60);
	}
	arena_drop(&arena);
}

static void
each_kind_of_fault_and_of_load_is_in_one_that_is_built_in(void **state)
{
	unsigned faults[FAULTS] = { 0 }, loads[KNOBS] = { 0 };
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < scenario_count; i++) {
		struct scenario *s = scenario_of(&arena, scenario_texts[i].text);
		bool everything = strcmp(scenario_texts[i].name, "everything") == 0;

		for (enum fault_kind kind = 0; kind < FAULTS; kind++) {
			assert_true(!everything || s->rates[kind].every_us.from > 0);
			faults[kind] += s->rates[kind].every_us.from > 0;
		}
		for (enum knob knob = 0; knob < KNOBS; knob++)
			loads[knob] += s->knobs[knob].to > s->knobs[knob].from;
	}
	for (enum fault_kind kind = 0; kind < FAULTS; kind++)
		assert_true(faults[kind] >= 2);
	for (enum knob knob = KNOB_READ; knob <= KNOB_UNCORRECTABLE; knob++)
		assert_true(loads[knob] > 0);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_file_says_is_read),
		cmocka_unit_test(where_nothing_is_said_all_is_calm),
		cmocka_unit_test(each_mistake_is_named_in_its_line),
		cmocka_unit_test(several_mistakes_are_told_in_the_order_of_lines),
		cmocka_unit_test(as_many_faults_as_find_room_are_read_and_one_more_is_refused),
		cmocka_unit_test(memory_that_is_not_there_is_said_to_be_so),
		cmocka_unit_test(each_that_is_built_in_says_what_it_is_and_is_short),
		cmocka_unit_test(each_kind_of_fault_and_of_load_is_in_one_that_is_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
