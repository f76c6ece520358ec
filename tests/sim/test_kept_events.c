/*
 * test_kept_events.c - the persistent events of a target and what its SMART log
 * counts, in virtual time: how often, how soon they are kept, and what is found
 * of them after a crash at any moment.
 */
#include "kept_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
a_medium_that_fails_all_the_time_is_told_every_ten_minutes(void **state)
{
	struct history h = { 0 };

	(void)state;
	history_begin(&h, 1, BAD_READS, 20 * ms, 25 * 60 * second);
	history_run(&h, 26 * 60 * second + second);
	assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
	assert_true(h.doer->bad_reads > 40 * 1000);
	assert_int_equal(kept_events(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_MEDIA), 3);
	assert_int_equal(get_le32(kept_event(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_MEDIA, 2) + 4), 3);
	assert_int_equal(h.log->now.media_errors, h.doer->bad_reads);
	assert_int_equal(h.log->now.errors, h.doer->bad_reads);
	assert_int_equal(h.complaints, 0);
	history_end(&h);
}

/* Two minutes; as often as it reads it has another two. */
static void
who_does_not_read_for_long_has_no_context(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct history h = { 0 };

		history_begin(&h, seed, LOOKS, 110 * second, UINT64_MAX);
		history_run(&h, 40 * 110 * second);
		assert_true(h.doer->contexts > 35 && h.doer->refused == 0);
		history_end(&h);
		h = (struct history){ 0 };
		history_begin(&h, seed, LOOKS, 130 * second, UINT64_MAX);
		history_run(&h, 40 * 130 * second);
		assert_true(h.doer->contexts >= 18 && h.doer->refused >= 17); /* each is given back: there are two */
		history_end(&h);
	}
}

/* So much a crash may cost: what is counted is kept each minute, and where nothing is, the hours each hour. */
static void
what_is_counted_is_kept_each_minute(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		struct history h = { 0 };
		const struct eventlog_counts *now;

		history_begin(&h, kept, READS, ms, 30 * second);
		history_run(&h, kept ? 62 * second : 58 * second);
		sim_process_crash(h.target, 0);
		assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
		now = &h.log->now;
		assert_true(h.doer->reads > 10 * 1000);
		assert_int_equal(now->reads, kept ? h.doer->reads : 0);
		assert_int_equal(now->read_blocks512, now->reads * 8);
		assert_false(h.log->clean);
		sim_process_start(h.target);
		history_run(&h, 70 * second);
		assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(h.log->power_cycles, 2);
		assert_int_equal(h.log->unsafe_shutdowns, 1);
		assert_int_equal(kept_events(h.log, NVME_PERSISTENT_HARDWARE, NVME_HARDWARE_UNSAFE_SHUTDOWN), 1);
		assert_int_equal(now->reads, kept ? h.doer->reads : 0);
		history_run(&h, (70 + 3700) * second); /* nothing happens */
		sim_process_crash(h.target, 0);
		assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
		assert_in_range(h.log->on_ms, 3600 * 1000, 3800 * 1000);
		history_end(&h);
	}
}

/* In a file, and where the log lies in memory alone. */
static void
smart_values_are_told_once_a_day(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		struct history h = { .served = { .in_memory = !kept } };

		history_begin(&h, kept, LOOKS, 130 * second, UINT64_MAX);
		history_run(&h, 3 * 24 * 3600 * second);
		assert_int_equal(h.doer->data[0], NVME_LOG_PERSISTENT);
		assert_int_equal(get_le32(h.doer->data + 4), 1 + 3); /* the start, and after 23, 46 and 69 hours */
		if (kept) {
			assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
			assert_int_equal(kept_events(h.log, NVME_PERSISTENT_SMART, -1), 3);
			assert_false(h.log->clean);
		}
		history_end(&h);
	}
}

static void
a_target_that_is_drained_has_kept_everything(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct history h = { .served = { .drain_ns = second, .in_memory = seed % 5 == 4 } };
		const uint8_t *smart;

		history_begin(&h, seed, READS | TIMESTAMPS | RESETS | CONTEXTS, 2 * ms, 3 * second);
		history_run(&h, 4 * second);
		assert_true(h.served.drained);
		if (h.served.in_memory) {
			assert_null(sim_file_find(h.sim, PATH));
		} else {
			assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
			assert_true(h.log->clean);
			smart = kept_event(h.log, NVME_PERSISTENT_SMART, -1, 0);
			assert_non_null(smart);
			assert_ptr_equal(smart + 512, h.log->bytes + h.log->used);
			assert_in_range(get_le64(smart + 64), h.doer->reads, h.doer->reads + 1);
			assert_in_range(kept_events(h.log, NVME_PERSISTENT_TIMESTAMP, -1), h.doer->number,
			    h.doer->number + 1);
			assert_true(kept_events(h.log, NVME_PERSISTENT_RESET, -1) > 10);
			for (unsigned n = 0; n < kept_events(h.log, NVME_PERSISTENT_TIMESTAMP, -1); n++)
				assert_true(get_le64(kept_event(h.log, NVME_PERSISTENT_TIMESTAMP, -1, n) + 8) < 500);
		}
		history_end(&h);
	}
}

/*
 * In order, nothing that was there before has gone, and what was answered until
 * some time before is there.  An event tells of the number that was set before;
 * the first one of a controller of none.
 */
static uint64_t
check_order(const struct eventlog *log, const struct doer *d, unsigned *count, uint64_t start_ns,
    uint64_t kept_before_ns)
{
	uint64_t newest = 0;
	unsigned n = 0;

	for (const uint8_t *at; (at = kept_event(log, NVME_PERSISTENT_TIMESTAMP, -1, n)) != NULL; n++) {
		uint64_t number = get_le64(at) >> 24;

		assert_true(number == 0 || (number >= newest && number <= d->number));
		newest = (number == 0 ? newest : number) + 1;
	}
	assert_true(n >= *count);
	*count = n;
	if (newest < d->number && d->numbers_ns[newest + 1] >= start_ns) /* else it was lost before */
		assert_true(d->numbers_ns[newest + 1] > kept_before_ns);
	return newest;
}

static void
a_crash_at_any_moment_leaves_a_log_that_is_whole(void **state)
{
	uint64_t crashes = 0, torn = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct history h = { .fault = seed % 2 == 0 ? -EIO : 4096 };
		uint64_t start_ns = 0;
		unsigned count = 0;

		history_begin(&h, seed, TIMESTAMPS, 20 * ms + seed * ms / 10, UINT64_MAX);
		for (unsigned i = 1; i <= 12; i++) {
			uint64_t at_ns;

			history_run(&h, sim_now(h.sim) + ms + sim_below(h.sim, 700 * ms));
			at_ns = sim_now(h.sim);
			sim_process_crash(h.target, (unsigned)sim_below(h.sim, 4));
			crashes++;
			assert_int_equal(history_look(&h, false), EVENTLOG_FOUND);
			torn += check_order(h.log, h.doer, &count, start_ns,
			    at_ns > 200 * ms ? at_ns - 200 * ms : 0) < h.doer->number;
			start_ns = at_ns;
			sim_process_start(h.target);
			history_run(&h, sim_now(h.sim) + 20 * ms);
			assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
			assert_int_equal(h.log->power_cycles, i + 1);
			assert_in_range(h.log->unsafe_shutdowns, 1, i);
		}
		assert_int_equal(h.complaints, 0);
		history_end(&h);
	}
	print_message("# %u crashes, after %u of which events were missing\n", (unsigned)crashes, (unsigned)torn);
	assert_true(torn > crashes / 20); /* it can be seen */
}

/* Writes that fail, or move a part: that is said, and in the end all is there. */
static void
what_could_not_be_written_is_written_later(void **state)
{
	unsigned complaints = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct history h = { .fault = seed % 2 == 0 ? -EIO : 4096, .fault_one_in = seed % 4 < 2 ? 1 : 3 };

		history_begin(&h, seed, TIMESTAMPS, 3 * ms, second);
		history_run(&h, 2 * second);
		if (h.fault_one_in == 1) {
			/* A part may be all. */
			assert_int_equal(history_look(&h, false) == EVENTLOG_FOUND, seed % 2 != 0);
			assert_int_equal(h.complaints, 1);
		}
		h.fault_one_in = 0;
		history_run(&h, 62 * second);
		assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(kept_events(h.log, NVME_PERSISTENT_TIMESTAMP, -1), h.doer->number);
		complaints += h.complaints;
		history_end(&h);
	}
	assert_true(complaints > 15);
}

/* Its log goes with it, and it finds it again; numbers are used again meanwhile, and what they counted is not. */
static void
a_subsystem_that_goes_and_comes_goes_on(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct history h = { .served = { .changes = 2 * 150 } };

		history_begin(&h, seed, READS, ms, second);
		history_run(&h, 70 * second);
		assert_int_equal(h.served.changed, 2 * 150);
		assert_true(h.served.busy > 100);
		history_run(&h, 140 * second);
		assert_int_equal(history_look(&h, true), EVENTLOG_FOUND);
		assert_int_equal(h.log->power_cycles, 151);
		assert_int_equal(h.log->unsafe_shutdowns, 0);
		assert_true(h.doer->reads > 100);
		assert_int_equal(h.log->now.reads, h.doer->reads);
		history_end(&h);
	}
}

/* Each allocation fails once: the start says so, or a host is told to try again, and nothing is left over. */
static void
memory_that_is_not_there_costs_one_answer(void **state)
{
	unsigned starts = 0, refused = 0;
	size_t left[2];

	(void)state;
	for (unsigned reactor = 0; reactor < 2; reactor++) {
		bool failed = true;

		for (uint64_t at = 0; failed; at++) { /* 0: none */
			struct history h = {
				.served = {
					.reactors = 2, .fail_reactor = reactor, .fail_at = at, .drain_ns = 600 * ms,
				},
			};

			assert_true(at < 300);
			history_begin(&h, 1, TIMESTAMPS | CONTEXTS | RESETS | READS, 5 * ms, second);
			history_run(&h, 500 * ms);
			if (sim_process_running(h.target)) {
				failed = sim_process_reactor(h.target, reactor)->arena->fail_at == 0;
				history_run(&h, 4 * second);
				assert_true(h.served.drained);
				for (unsigned i = 0; i < 2; i++) {
					size_t bytes = sim_process_reactor(h.target, i)->arena->bytes;

					left[i] = at == 0 ? bytes : left[i];
					assert_int_equal(bytes, left[i]);
				}
				assert_true(h.doer->number > 5 && h.doer->contexts > 5);
				refused += (unsigned)h.doer->refused;
			} else {
				assert_int_equal(sim_process_error(h.target), -ENOMEM);
				starts++;
			}
			history_end(&h);
		}
	}
	print_message("# %u starts failed, %u contexts\n", starts, refused);
	assert_true(starts > 10 && refused > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_medium_that_fails_all_the_time_is_told_every_ten_minutes),
		cmocka_unit_test(who_does_not_read_for_long_has_no_context),
		cmocka_unit_test(what_is_counted_is_kept_each_minute),
		cmocka_unit_test(smart_values_are_told_once_a_day),
		cmocka_unit_test(a_target_that_is_drained_has_kept_everything),
		cmocka_unit_test(a_crash_at_any_moment_leaves_a_log_that_is_whole),
		cmocka_unit_test(what_could_not_be_written_is_written_later),
		cmocka_unit_test(a_subsystem_that_goes_and_comes_goes_on),
		cmocka_unit_test(memory_that_is_not_there_costs_one_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
