/*
 * test_perf_job.c - one load of `weir perf`, said key by key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "perf_job.h"

#define URI "nvme+tcp://192.0.2.1/nqn.2026-11.a?ns="

static void
each_key_sets_what_it_is_called(void **state)
{
	char why[PERF_WHY] = "";
	struct perf_job job;

	(void)state;
	perf_job_init(&job);
	assert_true(perf_job_set(&job, "rw", "randrw", why) && perf_job_set(&job, "mix", "30", why));
	assert_int_equal(perf_job_reads(&job), 30);
	assert_true(perf_job_set(&job, "rw", "write", why));
	assert_int_equal(perf_job_reads(&job), 0);
	assert_false(job.random);
	assert_true(perf_job_set(&job, "bs", "64k", why) && perf_job_set(&job, "size", "1G", why));
	assert_true(job.bs == 65536 && job.size == 1 << 30);
	assert_true(perf_job_set(&job, "qd", "1023", why) && perf_job_set(&job, "queues", "127", why) &&
	    perf_job_set(&job, "threads", "3", why));
	assert_true(job.qd == 1023 && job.queues == 127 && job.threads == 3);
	assert_true(perf_job_set(&job, "time", "7", why) && perf_job_set(&job, "ios", "8", why) &&
	    perf_job_set(&job, "seed", "9", why));
	assert_true(job.seconds == 7 && job.ios == 8 && job.seed == 9);
	assert_true(perf_job_set(&job, "priority", "3", why));
	assert_int_equal(job.priority, 3);
	assert_true(perf_job_set(&job, "ordered", "yes", why) && perf_job_set(&job, "group", "4", why) &&
	    perf_job_set(&job, "flush-every", "5", why) && perf_job_set(&job, "streams", "6", why));
	assert_true(job.ordered && job.group == 4 && job.flush_every == 5);
	assert_int_equal(perf_job_lines(&job), 6);
	assert_true(perf_job_set(&job, "rate", "100,1M", why));
	assert_true(job.rate_iops == 100 && job.rate_bytes == 1 << 20);
	assert_true(perf_job_set(&job, "verify", "yes", why) && perf_job_set(&job, "hdgst", "true", why) &&
	    perf_job_set(&job, "ddgst", "true", why) && perf_job_set(&job, "flow-control", "true", why));
	assert_true(job.verify && job.hdgst && job.ddgst && job.sq_flow);
	assert_true(perf_job_set(&job, "verify", "no", why) && perf_job_set(&job, "hdgst", "false", why));
	assert_false(job.verify || job.hdgst);
}

static void
what_is_not_a_value_of_a_key_is_refused(void **state)
{
	static const struct { const char *key, *text, *why; } wrongs[] = {
		{ "rw", "sideways", "not read, write, randread, randwrite or randrw" },
		{ "mix", "101", "not a number from 0 to 100" }, { "mix", "-1", "not a number" },
		{ "bs", "0", "not a size like 4k" }, { "bs", "4x", "not a size" }, { "size", "", "not a size" },
		{ "qd", "1024", "from 1 to 1023" }, { "queues", "128", "from 1 to 127" },
		{ "threads", "0", "from 1 to 127" }, { "time", "86401", "from 1 to 86400" },
		{ "ios", "0", "from 1 to" },
		{ "seed", "18446744073709551616", "not a number from 0 to 18446744073709551615" },
		{ "priority", "4", "from 0 to 3" }, { "group", "0", "from 1 to 1023" },
		{ "flush-every", "-1", "not a number" }, { "streams", "128", "from 1 to 127" },
		{ "rate", "0", "not operations per second" }, { "rate", "1,", "not operations per second" },
		{ "verify", "maybe", "not yes, no, true or false" }, { "speed", "1", "there is no such key" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		char why[PERF_WHY] = "";
		struct perf_job job, before;

		perf_job_init(&job);
		job.verify = true;
		before = job;
		assert_false(perf_job_set(&job, wrongs[i].key, wrongs[i].text, why));
		assert_non_null(strstr(why, wrongs[i].why));
		assert_memory_equal(&job, &before, sizeof(job));
	}
}

static void
every_name_of_a_key_is_one(void **state)
{
	(void)state;
	for (unsigned i = 0; perf_job_keys[i] != NULL; i++) {
		char why[PERF_WHY] = "";
		struct perf_job job;

		perf_job_init(&job);
		assert_false(perf_job_set(&job, perf_job_keys[i], "?", why));
		assert_null(strstr(why, "no such key"));
	}
}

static void
what_does_not_go_together_is_told(void **state)
{
	char why[PERF_WHY] = "";
	struct perf_job job;

	(void)state;
	perf_job_init(&job);
	assert_false(perf_job_add_uri(&job, "nvme+tcp://192.0.2.1", why));
	assert_non_null(strstr(why, "subsystem"));
	assert_true(perf_job_add_uri(&job, URI "1", why) && perf_job_add_uri(&job, URI "1", why));
	assert_true(perf_job_set(&job, "threads", "9", why) && perf_job_set(&job, "queues", "2", why));
	assert_true(perf_job_check(&job, why));
	assert_int_equal(job.threads, 4);
	assert_true(perf_job_set(&job, "verify", "true", why));
	assert_false(perf_job_check(&job, why));
	assert_non_null(strstr(why, "would only read"));
	assert_true(perf_job_set(&job, "rw", "randrw", why));
	assert_false(perf_job_check(&job, why));
	assert_non_null(strstr(why, "the same URI twice"));
	while (job.uri_count < PERF_URIS_MAX)
		assert_true(perf_job_add_uri(&job, URI "2", why));
	assert_false(perf_job_add_uri(&job, URI "2", why));
	assert_string_equal(why, "more than 16 URIs");
}

static void
what_is_ordered_is_written_by_streams(void **state)
{
	static const struct { const char *key, *text, *why; } wrongs[] = {
		{ "rw", "randrw", "ordered: only writes" }, { "rw", "read", "ordered: only writes" },
		{ "verify", "yes", "verify reads" }, { "queues", "2", "queues: each stream" },
		{ "group", "33", "group: one of 33 never ends where qd, what may be in flight, is 32" },
		{ "ordered", "no", "group says something of ordered writes" },
	};
	char why[PERF_WHY] = "";
	struct perf_job ordered, job;

	(void)state;
	perf_job_init(&ordered);
	assert_true(perf_job_add_uri(&ordered, URI "1", why) && perf_job_set(&ordered, "rw", "write", why) &&
	    perf_job_set(&ordered, "ordered", "yes", why) && perf_job_set(&ordered, "group", "32", why) &&
	    perf_job_set(&ordered, "streams", "3", why) && perf_job_set(&ordered, "threads", "9", why));
	job = ordered;
	assert_true(perf_job_check(&job, why));
	assert_int_equal(job.threads, 3);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		job = ordered;
		assert_true(perf_job_set(&job, wrongs[i].key, wrongs[i].text, why));
		assert_false(perf_job_check(&job, why));
		assert_non_null(strstr(why, wrongs[i].why));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_sets_what_it_is_called),
		cmocka_unit_test(what_is_not_a_value_of_a_key_is_refused),
		cmocka_unit_test(every_name_of_a_key_is_one),
		cmocka_unit_test(what_does_not_go_together_is_told),
		cmocka_unit_test(what_is_ordered_is_written_by_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
