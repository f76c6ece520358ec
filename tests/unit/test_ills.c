/*
 * trial/ills: what is wrong with whom, by the faults that are under way and what targets serve; and whether that is
 * what I/Os fail for.
 */
#include <errno.h>
#include <stdio.h>

#include "still_trial.h"

static const uint64_t MS = 1000 * 1000;

enum { LOSS_MS = 100, LONG_MS = 2000 };

static struct seat *
seat(void)
{
	return &still.trial.users[0].seats[0];
}

static int
begin(void **state)
{
	int rc = still_setup(state);

	still.trial.users[0].loss_ms = LOSS_MS;
	for (unsigned i = 0; i < STILL_HOSTS; i++) { /* to be barred by */
		struct user *user = &still.trial.users[i];

		snprintf(user->nqn, sizeof(user->nqn), "nqn.2026-11.local.weir:host%u", i);
	}
	ills_look(&still.trial); /* it has started */
	still_pass(LONG_MS * MS);
	ills_path(seat(), 0, true);
	still_pass(LONG_MS * MS);
	return rc;
}

/* Host 0's I/O takes so long, and fails so. */
static bool
may_fail_after(uint64_t ms, enum lane_op op, int error, enum nvme_sc sc)
{
	struct lane_result result = { .error = error, .status = nvme_status_of(sc, false) };
	struct work *work = still_begins(0, op, 0, op == LANE_FLUSH ? 0 : 1);

	still_pass(ms * MS);
	ills_look(&still.trial);
	ills_ended(work, &result);
	load_forgotten(&still.trial.users[0]);
	if (!still_is_right())
		assert_string_equal(still_oracle(), "cause");
	return still_is_right();
}

static bool
may_fail(enum lane_op op, int error, enum nvme_sc sc)
{
	return may_fail_after(1, op, error, sc);
}

/* It gives up when its time is over. */
static bool
may_time_out(void)
{
	return may_fail_after(LOSS_MS, LANE_READ, -ETIMEDOUT, NVME_SC_SUCCESS);
}

static void
befall(enum fault_kind kind, uint32_t whom)
{
	fault_begin(&still.trial, &(struct fault){ .kind = kind, .for_ns = MS, .whom = whom });
}

static void
nothing_fails_where_nothing_is_wrong(void **state)
{
	(void)state;
	assert_false(may_fail(LANE_READ, -EIO, NVME_SC_SUCCESS));
	still.result.end = TRIAL_RIGHT;
	assert_false(may_time_out());
}

static void
what_is_wrong_is_so_until_it_is_mended_and_a_little_after(void **state)
{
	(void)state;
	befall(FAULT_LISTENER_SILENT, 0);
	still_pass(LONG_MS * MS);
	fault_mend_all(&still.trial);
	assert_true(may_time_out());
	still_pass(LONG_MS * MS);
	assert_false(may_time_out());
}

static void
a_path_that_the_host_has_lost_is_none(void **state)
{
	(void)state;
	ills_path(seat(), 0, false);
	assert_true(may_time_out());
	ills_path(seat(), 0, true);
	still_pass(LONG_MS * MS);
	assert_false(may_time_out());
}

/* Until that is over nothing is sent by any path: what is submitted now may time out, though a path is there. */
static struct work *
loses(enum lane_op op)
{
	struct work *work = still_begins(0, op, 0, 1);

	ills_path(seat(), 0, false);
	still_shaken(0);
	ills_path(seat(), 0, true);
	still_pass(LONG_MS * MS);
	return work;
}

static void
what_waits_until_a_lost_write_is_over_waits_as_long_as_a_fence_takes(void **state)
{
	(void)state;
	still.plan.knobs[KNOB_MBIT] = 1; /* behind all that may be in line: 3.1 s */
	loses(LANE_WRITE);
	assert_true(may_time_out());
	loses(LANE_WRITE);
	still_pass(LONG_MS * MS);
	assert_false(may_time_out());
}

static void
where_a_fence_takes_no_time_nothing_waits_for_it(void **state)
{
	(void)state;
	loses(LANE_WRITE);
	assert_false(may_time_out());
}

static void
a_read_that_was_lost_is_waited_for_by_nobody(void **state)
{
	(void)state;
	still.plan.knobs[KNOB_MBIT] = 1;
	loses(LANE_READ);
	assert_false(may_time_out());
}

static void
a_write_that_was_given_up_is_waited_for_still(void **state)
{
	struct lane_result given_up = { .error = -ETIMEDOUT };
	struct work *work;

	(void)state;
	still.plan.knobs[KNOB_MBIT] = 1;
	work = loses(LANE_WRITE);
	work->busy = false;
	ills_ended(work, &given_up);
	assert_true(still_is_right());
	assert_true(may_time_out());
	still_pass(LONG_MS * MS);
	assert_false(may_time_out());
	still.result.end = TRIAL_RIGHT;
	loses(LANE_READ); /* another one, of which nothing is given up */
	assert_false(may_time_out());
}

static void
a_fence_may_have_gone_by_a_path_that_is_silent(void **state)
{
	(void)state;
	still.plan.knobs[KNOB_LISTENERS] = 2;
	ills_path(seat(), 1, true);
	befall(FAULT_LISTENER_RESETS, 0); /* that is a path that it is not sent by */
	loses(LANE_WRITE);
	assert_false(may_time_out());
	still.result.end = TRIAL_RIGHT;
	befall(FAULT_LISTENER_SILENT, 0);
	loses(LANE_WRITE);
	assert_true(may_time_out());
	fault_mend_all(&still.trial);
	loses(LANE_WRITE);
	assert_false(may_time_out());
}

static void
who_goes_by_time_alone_waits_for_all_of_it(void **state)
{
	(void)state;
	still.trial.users[0].plain = true;
	still.plan.knobs[KNOB_KATO_MS] = LONG_MS; /* twice, rounded up: 4.2 s */
	loses(LANE_WRITE);
	assert_true(may_time_out());
	loses(LANE_WRITE);
	still_pass(LONG_MS * MS);
	assert_true(may_time_out());
	loses(LANE_WRITE);
	still_pass(2 * LONG_MS * MS);
	assert_false(may_time_out());
}

static void
each_fault_is_of_whom_it_befalls(void **state)
{
	static const struct { enum fault_kind kind; uint32_t whom; bool ill; } rows[] = {
		{ FAULT_TARGET_PAUSED, 0, true }, { FAULT_NETWORK_SLOW, 0, true }, { FAULT_DISK_STALLS, 0, true },
		{ FAULT_DISK_FAILS, 0, false }, { FAULT_NO_MEMORY, 0, true }, { FAULT_ANA, 0, true },
		{ FAULT_VOLUME_GONE, 0, true }, { FAULT_HOST_BARRED, 0, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		still_teardown(NULL);
		begin(NULL);
		befall(rows[i].kind, rows[i].whom);
		if (may_time_out() != rows[i].ill)
			fail_msg("%s", fault_rows[rows[i].kind].name);
	}
}

static void
a_disk_that_fails_is_blamed_and_its_target_s_life_ends_that(void **state)
{
	(void)state;
	befall(FAULT_DISK_FAILS, 0);
	assert_true(may_fail(LANE_READ, -EIO, NVME_SC_READ_ERROR));
	fault_mend_all(&still.trial);
	assert_true(may_fail(LANE_FLUSH, -EIO, NVME_SC_WRITE_FAULT));
	still_dies(false);
	assert_false(may_fail(LANE_FLUSH, -EIO, NVME_SC_WRITE_FAULT));
}

static void
a_cache_is_lost_with_the_machine_and_not_with_the_process(void **state)
{
	(void)state;
	still_dies(true);
	assert_true(may_fail(LANE_FLUSH, -EIO, NVME_SC_SUCCESS));
	still_teardown(NULL);
	begin(NULL);
	still_dies(false);
	assert_false(may_fail(LANE_FLUSH, -EIO, NVME_SC_SUCCESS));
}

static void
a_namespace_that_is_taken_away_is_gone(void **state)
{
	(void)state;
	served_show(still.target, false);
	assert_true(may_fail_after(10, LANE_READ, -ENODEV, NVME_SC_INVALID_NS));
	served_show(still.target, true);
	still_pass(10 * MS);
	assert_false(may_fail(LANE_READ, -ENODEV, NVME_SC_INVALID_NS));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, still_teardown)
	const struct CMUnitTest tests[] = {
		T(nothing_fails_where_nothing_is_wrong),
		T(what_is_wrong_is_so_until_it_is_mended_and_a_little_after),
		T(a_path_that_the_host_has_lost_is_none),
		T(what_waits_until_a_lost_write_is_over_waits_as_long_as_a_fence_takes),
		T(where_a_fence_takes_no_time_nothing_waits_for_it),
		T(a_read_that_was_lost_is_waited_for_by_nobody),
		T(a_write_that_was_given_up_is_waited_for_still),
		T(a_fence_may_have_gone_by_a_path_that_is_silent),
		T(who_goes_by_time_alone_waits_for_all_of_it),
		T(each_fault_is_of_whom_it_befalls),
		T(a_disk_that_fails_is_blamed_and_its_target_s_life_ends_that),
		T(a_cache_is_lost_with_the_machine_and_not_with_the_process),
		T(a_namespace_that_is_taken_away_is_gone),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
