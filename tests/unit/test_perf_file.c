/*
 * test_perf_file.c - job files: what right ones say, and each mistake in its line, in words that name it, and alone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "perf_file.h"

/* Right as they are, of three lines each. */
#define URI "nvme+tcp://192.0.2.1/nqn.2026-11.a"
#define A "jobs:\n  - name: a\n    uri: " URI "\n"
#define B "  - name: b\n    uri: " URI "?ns=2\n"

static const struct wrong {
	const char *text;
	uint32_t line;
	const char *words;
} wrongs[] = {
	/* the file */
	{ "", 1, "there is nothing in it" },
	{ "a", 1, "the file is keys with values, like `jobs: ...`" },
	{ A "x: [\n", 5, "not YAML: " },
	{ "defaults: { qd: 1 }\n", 1, "the file needs `jobs`" },
	{ A "default: { qd: 1 }\n", 4, "the file has no key `default`; `defaults` is meant?" },
	{ "jobs: []\n", 1, "`jobs` has 1 at least" },
	{ "\njobs:\n", 2, "`jobs` is a list" },
	/* defaults */
	{ A "defaults: 7\n", 4, "`defaults` is keys with values, like `rw: ...`" },
	{ A "defaults:\n  name: x\n", 5, "`defaults` has no key `name`" },
	{ A "defaults:\n  qd: 0\n", 5, "`qd` cannot be `0`: not a number from 1 to 1023" },
	/* a job */
	{ "jobs: [ 7 ]\n", 1, "a job is keys with values, like `name: ...`" },
	{ "jobs:\n  - name: a\n", 2, "a job needs `uri`" },
	{ "jobs:\n  - uri: " URI "\n", 2, "a job needs `name`" },
	{ A "    nam: b\n", 4, "a job has no key `nam`; `name` is meant?" },
	{ A "    qd: 1\n    bs: 4k\n    qd: 2\n", 6, "`qd` is there twice, first in line 4" },
	{ A "    frequency: 2\n", 4,
	    "a job has no key `frequency`; there is name, uri, after, rw, mix, bs, qd, queues, threads, time, "
	    "ios, size, rate, verify, seed, priority, ordered, group, flush-every, streams, hdgst, ddgst or "
	    "flow-control" },
	{ A "    qd: 1024\n", 4, "`qd` cannot be `1024`: not a number from 1 to 1023" },
	{ A "    rw: sideways\n", 4, "`rw` cannot be `sideways`: not read, write, randread, randwrite or randrw" },
	{ A "    bs: [ 4k ]\n", 4, "`bs` is one value, not a list" },
	{ A "    verify: maybe\n", 4, "`verify` cannot be `maybe`: not yes, no, true or false" },
	{ A "    time: 1\n    ios: 2\n", 5, "`time` and `ios` both say when it ends" },
	{ A "    verify: yes\n", 2, "verify checks what is written, and this would only read" },
	/* names and URIs */
	{ A B "  - name: a\n    uri: " URI "\n", 6, "two jobs have the name `a`, the first is in line 2" },
	{ "jobs:\n  - name: ''\n    uri: " URI "\n", 2, "`name` has 1 to 64 letters, not ``" },
	{ "jobs:\n  - name: a\n    uri: nvme+tcp://192.0.2.1\n", 3, "it names no subsystem" },
	{ "jobs:\n  - name: a\n    uri:\n      - " URI "\n      - http://a\n", 5, "`http://a`: " },
	{ "jobs:\n  - name: a\n    uri: []\n", 3, "`uri` has 1 at least" },
	{ "jobs:\n  - name: a\n    uri: { a: b }\n", 3, "`uri` is one value, not a mapping" },
	/* order */
	{ A "    after: b\n", 4, "there is no job `b` for it to be after" },
	{ A "    after: a\n", 4, "a job cannot be after itself" },
	{ A "    after: [ a ]\n", 4, "`after` is one value, not a list" },
	{ A "    after: b\n" B "    after: a\n", 4, "`a` would wait for itself: `b` is after it" },
	{ A B "    after: c\n  - name: c\n    uri: " URI "\n    after: d\n"
	    "  - name: d\n    uri: " URI "\n    after: b\n", 6,
	    "`b` would wait for itself" },
	{ A "    rw: randrw\n    verify: yes\n  - name: b\n    uri: " URI "\n    rw: write\n", 6,
	    "verify: it and `a` would overwrite what the other wrote" },
};

static void
each_mistake_is_named_in_its_line(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		struct conf_errors errors;
		struct perf_file file;
		struct arena arena;
		int error;

		arena_init(&arena, 0);
		error = perf_file_parse(&arena, w->text, strlen(w->text), &file, &errors);
		if (error != -EINVAL || errors.count != 1 || errors.list[0].line != w->line ||
		    strstr(errors.list[0].text, w->words) == NULL) {
			for (uint32_t e = 0; e < errors.count; e++)
				print_error("%u: %s\n", errors.list[e].line, errors.list[e].text);
			print_error("%d for\n%s\nwanted line %u: %s\n", error, w->text, w->line, w->words);
			failures++;
		}
		arena_drop(&arena);
	}
	assert_int_equal(failures, 0);
}

static void
jobs_are_the_defaults_and_what_they_say_themselves(void **state)
{
	static const char text[] =
	    "jobs:\n"
	    "  - { name: fill, uri: &both [ " URI "?ns=1, " URI "?ns=2 ], rw: write, bs: 1m, time: 3, after: first }\n"
	    "  - { name: check, uri: *both, verify: yes, after: fill }\n"
	    "  - { name: first, uri: " URI "?ns=3, qd: 1, hdgst: true }\n"
	    "defaults: { rw: randrw, mix: 10, qd: 8, ios: 100 }\n";
	struct conf_errors errors;
	struct perf_file file;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(perf_file_parse(&arena, text, strlen(text), &file, &errors), 0);
	assert_int_equal(file.job_count, 3);
	assert_string_equal(file.jobs[0].name, "fill");
	assert_int_equal(file.jobs[0].uri_count, 2);
	assert_string_equal(file.jobs[1].uris[1], URI "?ns=2");
	assert_string_equal(file.jobs[0].rw, "write");
	assert_true(file.jobs[0].seconds == 3 && file.jobs[0].ios == 0 && file.jobs[0].bs == 1 << 20);
	assert_true(file.jobs[1].ios == 100 && file.jobs[1].verify && file.jobs[1].bs == 4096);
	assert_int_equal(perf_job_reads(&file.jobs[1]), 10);
	assert_true(file.jobs[1].qd == 8 && file.jobs[2].qd == 1 && file.jobs[2].hdgst && !file.jobs[1].hdgst);
	assert_true(file.after[0] == 2 && file.after[1] == 0 && file.after[2] == -1);
	arena_drop(&arena);
}

/* As many jobs as there may be, and one more. */
static void
jobs_without_number_are_refused(void **state)
{
	char text[8192] = "jobs:\n";
	struct conf_errors errors;
	struct perf_file file;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (int i = 0; i < PERF_JOBS_MAX; i++)
		sprintf(text + strlen(text), "  - { name: j%d, uri: " URI " }\n", i);
	assert_int_equal(perf_file_parse(&arena, text, strlen(text), &file, &errors), 0);
	assert_int_equal(file.job_count, PERF_JOBS_MAX);
	strcat(text, "  - { name: more, uri: " URI " }\n");
	assert_int_equal(perf_file_parse(&arena, text, strlen(text), &file, &errors), -EINVAL);
	assert_string_equal(errors.list[0].text, "`jobs` has 32 at most, not 33");
	arena_drop(&arena);
}

static void
mistakes_are_told_in_the_order_of_lines(void **state)
{
	static const char text[] = A "    qd: 0\n    after: nobody\n    bs: x\ndefaults: { mix: 101 }\n";
	struct conf_errors errors;
	struct perf_file file;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(perf_file_parse(&arena, text, strlen(text), &file, &errors), -EINVAL);
	assert_int_equal(errors.count, 4);
	for (uint32_t i = 0; i < errors.count; i++)
		assert_int_equal(errors.list[i].line, 4 + i);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mistake_is_named_in_its_line),
		cmocka_unit_test(jobs_are_the_defaults_and_what_they_say_themselves),
		cmocka_unit_test(jobs_without_number_are_refused),
		cmocka_unit_test(mistakes_are_told_in_the_order_of_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
