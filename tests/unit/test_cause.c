/*
 * trial/cause: for each way to fail the one reason that there may be, and when it must have been there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "trial/cause.h"

static const uint64_t MS = 1000 * 1000;

/* Begun at 10 s, it ends 100 ms later; its host has had its path since 5 s, and all has always been well. */
static struct cause_facts facts;

static int
begin(void **state)
{
	(void)state;
	facts = (struct cause_facts){
		.begun_ns = 10000 * MS, .now_ns = 10100 * MS, .io_timeout_ns = 1000 * MS, .loss_ns = 1000 * MS,
		.recovery_ns = 200 * MS, .well_since_ns = 5000 * MS, .back_ns = 5000 * MS, .came_ns = 4000 * MS,
	};
	return 0;
}

static bool
may_fail(enum lane_op op, int error, enum nvme_sc sc, bool dnr)
{
	const struct lane_result result = { .error = error, .status = nvme_status_of(sc, dnr) };

	return cause_lacks(op, &result, &facts) == NULL;
}

static bool
may_end(enum lane_op op, int error)
{
	return may_fail(op, error, NVME_SC_SUCCESS, false);
}

static void
what_succeeds_needs_no_reason(void **state)
{
	(void)state;
	for (enum lane_op op = 0; op < LANE_OPS; op++)
		assert_true(may_end(op, 0));
}

static void
without_any_reason_nothing_fails(void **state)
{
	static const int errors[] = { -EIO, -ETIMEDOUT, -ENODEV, -ESTALE, -ESHUTDOWN, -EINVAL, -ENOMEM, -ECANCELED };
	static const struct { int error; enum nvme_sc sc; } statuses[] = {
		{ -EIO, NVME_SC_READ_ERROR }, { -EIO, NVME_SC_WRITE_FAULT }, { -EIO, NVME_SC_INTERNAL },
		{ -ENODEV, NVME_SC_INVALID_NS }, { -EROFS, NVME_SC_WRITE_PROTECTED },
		{ -ECANCELED, NVME_SC_ABORT_REQUESTED }, { -EAGAIN, NVME_SC_TRANSIENT_TRANSPORT },
		{ -EINVAL, NVME_SC_INVALID_FIELD }, { -EOPNOTSUPP, NVME_SC_INVALID_OPCODE },
		{ -ENOLINK, NVME_SC_ANA_INACCESSIBLE }, { -ENOLINK, NVME_SC_ANA_TRANSITION },
		{ -ENOSPC, NVME_SC_CAPACITY }, { -EAGAIN, NVME_SC_INTERRUPTED },
	};

	(void)state;
	for (enum lane_op op = 0; op < LANE_OPS; op++) {
		for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
			assert_false(may_end(op, errors[i]));
		for (unsigned i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
			assert_false(may_fail(op, statuses[i].error, statuses[i].sc, false));
	}
}

/* Others know whether that is right. */
static void
of_blocks_and_reservations_only_those_are_told_that_ask(void **state)
{
	(void)state;
	for (enum lane_op op = 0; op < LANE_OPS; op++) {
		bool compares = op == LANE_COMPARE || op == LANE_COMPARE_AND_WRITE;
		bool reads = compares || op == LANE_READ || op == LANE_VERIFY;

		assert_int_equal(may_fail(op, -EILSEQ, NVME_SC_COMPARE, true), compares);
		assert_int_equal(may_fail(op, -EIO, NVME_SC_READ_ERROR, true), reads);
		assert_true(may_fail(op, -EBUSY, NVME_SC_RESV_CONFLICT, true));
		assert_true(may_fail(op, -ECANCELED, NVME_SC_PREEMPT_ABORTED, true));
		assert_true(may_fail(op, -ERANGE, NVME_SC_LBA_RANGE, true));
	}
}

/* ---- namespaces ---- */

static void
a_target_does_not_know_a_namespace_that_was_gone_meanwhile(void **state)
{
	(void)state;
	facts.gone_ns = facts.begun_ns;
	assert_true(may_fail(LANE_READ, -ENODEV, NVME_SC_INVALID_NS, true));
	facts.gone_ns = facts.begun_ns - 1;
	assert_false(may_fail(LANE_READ, -ENODEV, NVME_SC_INVALID_NS, true));
}

static void
a_host_may_learn_a_little_later_that_it_is_back(void **state)
{
	(void)state;
	facts.gone_ns = facts.now_ns - facts.recovery_ns;
	assert_true(may_end(LANE_READ, -ENODEV));
	facts.gone_ns--;
	assert_false(may_end(LANE_READ, -ENODEV));
	facts.well_since_ns = CAUSE_NEVER; /* of whom should it learn it? */
	assert_true(may_end(LANE_READ, -ENODEV));
	facts.gone_ns = facts.came_ns;
	assert_true(may_end(LANE_READ, -ENODEV));
	facts.gone_ns--;
	assert_false(may_end(LANE_READ, -ENODEV));
}

/* ---- disks ---- */

static void
a_disk_that_fails_fails_what_is_asked_of_it_then(void **state)
{
	(void)state;
	facts.disk_fails_ns = facts.disk_failed_ns = facts.begun_ns;
	assert_true(may_fail(LANE_READ, -EIO, NVME_SC_READ_ERROR, false));
	assert_true(may_fail(LANE_COPY, -EIO, NVME_SC_READ_ERROR, false));
	assert_true(may_fail(LANE_FLUSH, -EIO, NVME_SC_WRITE_FAULT, false));
	assert_false(may_fail(LANE_READ, -EIO, NVME_SC_WRITE_FAULT, false));
	assert_false(may_fail(LANE_COMPARE, -EIO, NVME_SC_WRITE_FAULT, false));
	assert_false(may_fail(LANE_WRITE, -EIO, NVME_SC_READ_ERROR, true));
}

static void
what_is_to_be_durable_fails_until_the_volume_is_opened_anew(void **state)
{
	(void)state;
	facts.disk_fails_ns = facts.begun_ns - 1;
	facts.disk_failed_ns = facts.now_ns;
	assert_true(may_fail(LANE_FLUSH, -EIO, NVME_SC_WRITE_FAULT, false));
	assert_true(may_fail(LANE_WRITE, -EIO, NVME_SC_WRITE_FAULT, false));
	assert_false(may_fail(LANE_READ, -EIO, NVME_SC_READ_ERROR, false));
	facts.disk_failed_ns = facts.begun_ns - 1;
	assert_false(may_fail(LANE_FLUSH, -EIO, NVME_SC_WRITE_FAULT, false));
}

static void
what_changes_blocks_fails_where_a_target_is_short_of_memory(void **state)
{
	(void)state;
	facts.short_ns = facts.begun_ns;
	assert_true(may_fail(LANE_WRITE, -EIO, NVME_SC_INTERNAL, false));
	assert_true(may_fail(LANE_COMPARE_AND_WRITE, -EIO, NVME_SC_INTERNAL, false));
	assert_false(may_fail(LANE_READ, -EIO, NVME_SC_INTERNAL, false));
	assert_false(may_fail(LANE_COMPARE, -EIO, NVME_SC_INTERNAL, false));
	assert_false(may_fail(LANE_FLUSH, -EIO, NVME_SC_INTERNAL, false));
	facts.short_ns--;
	assert_false(may_fail(LANE_WRITE, -EIO, NVME_SC_INTERNAL, false));
}

static void
a_flush_says_that_a_cache_was_lost_since_the_host_came(void **state)
{
	(void)state;
	facts.cache_lost_ns = facts.came_ns;
	assert_true(may_end(LANE_FLUSH, -EIO));
	assert_false(may_end(LANE_WRITE, -EIO));
	facts.cache_lost_ns--;
	assert_false(may_end(LANE_FLUSH, -EIO));
}

/* ---- paths ---- */

static void
only_a_compare_and_write_is_not_sent_again(void **state)
{
	(void)state;
	facts.lost_ns = facts.now_ns;
	assert_true(may_end(LANE_COMPARE_AND_WRITE, -ESTALE));
	assert_false(may_end(LANE_WRITE, -ESTALE));
	assert_false(may_end(LANE_READ, -EIO));
}

static void
what_is_lost_once_is_sent_again_until_its_time_is_over(void **state)
{
	(void)state;
	facts.lost_ns = facts.begun_ns;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
	facts.now_ns = facts.begun_ns + facts.loss_ns;
	assert_true(may_end(LANE_READ, -ETIMEDOUT));
	facts.loss_ns = CAUSE_NEVER;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
}

static void
who_has_a_path_waits_for_none(void **state)
{
	(void)state;
	facts.now_ns = facts.begun_ns + facts.loss_ns;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
	facts.well_since_ns = facts.now_ns - facts.recovery_ns;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
	facts.well_since_ns++;
	assert_true(may_end(LANE_READ, -ETIMEDOUT));
	assert_true(may_fail(LANE_READ, -ETIMEDOUT, NVME_SC_ANA_INACCESSIBLE, false)); /* asked again and again */
}

static void
who_has_none_waits_until_his_time_is_over(void **state)
{
	(void)state;
	facts.well_since_ns = CAUSE_NEVER;
	assert_false(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.back_ns = facts.now_ns;
	facts.away_ns = facts.now_ns - facts.loss_ns; /* that I/O has just begun */
	assert_true(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.away_ns = facts.now_ns - facts.loss_ns / 2;
	assert_false(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.now_ns = facts.back_ns = facts.begun_ns + facts.loss_ns;
	assert_true(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.loss_ns = CAUSE_NEVER;
	assert_false(may_end(LANE_WRITE, -ETIMEDOUT));
}

static void
who_is_let_in_nowhere_waits_for_nothing(void **state)
{
	(void)state;
	facts.loss_ns = facts.well_since_ns = CAUSE_NEVER;
	facts.away_ns = facts.begun_ns - 1000 * MS;
	facts.back_ns = facts.now_ns;
	facts.barred_ns = facts.away_ns;
	assert_true(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.barred_ns = facts.away_ns - facts.recovery_ns - 1;
	assert_false(may_end(LANE_WRITE, -ETIMEDOUT));
}

static void
a_thread_that_stood_still_knows_less(void **state)
{
	(void)state;
	facts.well_since_ns = CAUSE_NEVER;
	facts.paused_ns = facts.now_ns - facts.recovery_ns;
	assert_true(may_end(LANE_WRITE, -ETIMEDOUT));
	facts.paused_ns--;
	assert_false(may_end(LANE_WRITE, -ETIMEDOUT));
}

static void
who_has_given_up_what_may_still_happen_waits_with_a_path(void **state)
{
	(void)state;
	facts.held_ns = facts.now_ns;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
	facts.begun_ns = facts.now_ns - facts.loss_ns;
	assert_true(may_end(LANE_READ, -ETIMEDOUT));
	facts.held_ns--;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
	facts.held_ns = facts.now_ns;
	facts.loss_ns = CAUSE_NEVER;
	assert_false(may_end(LANE_READ, -ETIMEDOUT));
}

static void
what_is_aborted_has_taken_long(void **state)
{
	(void)state;
	facts.io_timeout_ns = 100 * MS;
	assert_true(may_fail(LANE_READ, -ETIMEDOUT, NVME_SC_ABORT_REQUESTED, false));
	facts.now_ns -= 26 * MS;
	assert_false(may_fail(LANE_READ, -ETIMEDOUT, NVME_SC_ABORT_REQUESTED, false));
}

static void
what_came_to_harm_did_so_on_its_way(void **state)
{
	(void)state;
	facts.spoilt_ns = facts.begun_ns;
	assert_true(may_fail(LANE_READ, -EAGAIN, NVME_SC_TRANSIENT_TRANSPORT, false));
	facts.spoilt_ns--;
	assert_false(may_fail(LANE_READ, -EAGAIN, NVME_SC_TRANSIENT_TRANSPORT, false));
}

static void
what_is_closed_may_end_with_what_would_have_been_tried_again(void **state)
{
	(void)state;
	facts.leaves = true;
	assert_true(may_end(LANE_READ, -ESHUTDOWN));
	assert_true(may_fail(LANE_READ, -ENOLINK, NVME_SC_ANA_TRANSITION, false));
	assert_false(may_end(LANE_READ, -EIO));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		T(what_succeeds_needs_no_reason),
		T(without_any_reason_nothing_fails),
		T(of_blocks_and_reservations_only_those_are_told_that_ask),
		T(a_target_does_not_know_a_namespace_that_was_gone_meanwhile),
		T(a_host_may_learn_a_little_later_that_it_is_back),
		T(a_disk_that_fails_fails_what_is_asked_of_it_then),
		T(what_is_to_be_durable_fails_until_the_volume_is_opened_anew),
		T(what_changes_blocks_fails_where_a_target_is_short_of_memory),
		T(a_flush_says_that_a_cache_was_lost_since_the_host_came),
		T(only_a_compare_and_write_is_not_sent_again),
		T(what_is_lost_once_is_sent_again_until_its_time_is_over),
		T(who_has_a_path_waits_for_none),
		T(who_has_none_waits_until_his_time_is_over),
		T(who_is_let_in_nowhere_waits_for_nothing),
		T(a_thread_that_stood_still_knows_less),
		T(who_has_given_up_what_may_still_happen_waits_with_a_path),
		T(what_is_aborted_has_taken_long),
		T(what_came_to_harm_did_so_on_its_way),
		T(what_is_closed_may_end_with_what_would_have_been_tried_again),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
