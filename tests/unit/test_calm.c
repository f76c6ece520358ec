/*
 * trial/calm: what may not happen to hosts that nothing has befallen, and when that is not judged.
 */
#include <errno.h>
#include <string.h>

#include "still_trial.h"

static const uint64_t US = 1000, MS = 1000 * 1000;

/* The trial judges from here on. */
static uint64_t
judge(void)
{
	still.trial.calm_ns = calm_longest_ns(&still.trial);
	assert_true(still.trial.calm_ns > 0);
	return still.trial.calm_ns;
}

static void
all_that_may_be_in_flight_comes_before_the_last(void **state)
{
	uint64_t *knobs = still.plan.knobs;

	(void)state;
	knobs[KNOB_KATO_MS] = 60 * 1000;
	knobs[KNOB_HOSTS] = 3;
	knobs[KNOB_TARGETS] = 2;
	knobs[KNOB_LANES] = 5;
	knobs[KNOB_DEPTH] = 7;
	knobs[KNOB_IO_BLOCKS] = 2;
	knobs[KNOB_SOCKET_MIN] = 4096;
	knobs[KNOB_LATENCY_US] = 11;
	knobs[KNOB_JITTER_US] = 2;
	knobs[KNOB_DISK_US] = 17;
	knobs[KNOB_DISK_JITTER_US] = 2;
	knobs[KNOB_MBIT] = 8;
	/* 210 I/Os of 6 rounds of 26 us, two visits to the disk of 19 us, and 8192 us on the wire; and a second */
	assert_int_equal(calm_longest_ns(&still.trial), 1000 * MS + 210 * (6 * 26 + 2 * 19 + 8192) * US);
	knobs[KNOB_SOCKET_MIN] = 256; /* a connection takes a KiB */
	assert_int_equal(calm_longest_ns(&still.trial), 1000 * MS + 210 * (12 * 26 + 2 * 19 + 8192) * US);
	knobs[KNOB_MBIT] = 0;
	assert_int_equal(calm_longest_ns(&still.trial), 1000 * MS + 210 * (12 * 26 + 2 * 19) * US);
}

static void
it_is_not_judged_where_hosts_have_too_little_patience_or_things_break_by_themselves(void **state)
{
	static const struct { enum knob knob; uint64_t value; bool judged; } rows[] = {
		{ KNOB_KATO_MS, 2100, true }, { KNOB_KATO_MS, 2000, false },
		{ KNOB_IO_TIMEOUT_MS, 2100, true }, { KNOB_IO_TIMEOUT_MS, 2000, false },
		{ KNOB_STALL_MS, 2100, true }, { KNOB_STALL_MS, 2000, false }, { KNOB_STALL_MS, 0, true },
		{ KNOB_RESET_PPM, 1, false }, { KNOB_MEMORY_MIB, 8, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t was = still.plan.knobs[rows[i].knob];

		still.plan.knobs[rows[i].knob] = rows[i].value;
		assert_int_equal(calm_longest_ns(&still.trial) > 0, rows[i].judged);
		still.plan.knobs[rows[i].knob] = was;
	}
}

/* ---- what is no fault, and what is ---- */

static const struct row {
	int error;
	enum nvme_sc sc;
	bool dnr, ordinary;
} rows[] = {
	{ 0, NVME_SC_SUCCESS, false, true },
	{ -EILSEQ, NVME_SC_COMPARE, true, true },
	{ -EBUSY, NVME_SC_RESV_CONFLICT, true, true },
	{ -ECANCELED, NVME_SC_PREEMPT_ABORTED, true, true },
	{ -EIO, NVME_SC_READ_ERROR, true, true },
	{ -EIO, NVME_SC_READ_ERROR, false, false }, /* by the disk */
	{ -EIO, NVME_SC_INTERNAL, true, false },
	{ -ENOLINK, NVME_SC_ANA_INACCESSIBLE, false, false },
	{ -ENODEV, NVME_SC_INVALID_NS, true, false },
	{ -ETIMEDOUT, NVME_SC_SUCCESS, false, false },
};

static void
ended(const struct work *work, const struct row *row)
{
	struct lane_result result = { .error = row->error, .status = nvme_status_of(row->sc, row->dnr) };

	calm_ended(work, &result);
}

static void
what_fails_is_wrong_but_for_what_is_said_of_a_block_or_a_reservation(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		still_again();
		judge();
		ended(still_begins(0, LANE_COMPARE, 0, 1), &rows[i]);
		assert_string_equal(still_oracle(), rows[i].ordinary ? "" : "calm");
	}
}

static void
what_takes_longer_than_it_can_is_wrong_when_it_ends_and_while_it_lasts(void **state)
{
	(void)state;
	for (unsigned over = 0; over < 2; over++)
		for (unsigned ends = 0; ends < 2; ends++) {
			struct work *work;

			still_again();
			judge();
			work = still_begins(0, LANE_READ, 0, 1);
			still_pass(still.trial.calm_ns + over);
			if (ends)
				ended(work, &rows[0]);
			else
				calm_look(&still.trial.users[0]);
			assert_string_equal(still_oracle(), over ? "calm" : "");
		}
}

static void
a_lost_path_is_wrong(void **state)
{
	(void)state;
	calm_lost(&still.trial.users[0].seats[0]);
	assert_true(still_is_right()); /* nobody judges yet */
	judge();
	calm_lost(&still.trial.users[0].seats[0]);
	assert_string_equal(still_oracle(), "calm");
}

/* ---- when it is over ---- */

enum why { A_HOST, THE_TARGET, IT_LEAVES, WHYS };

static void
after_a_fault_or_while_a_host_leaves_nothing_is_wrong(void **state)
{
	(void)state;
	for (enum why why = A_HOST; why < WHYS; why++) {
		struct user *user;
		struct work *work;

		still_again();
		user = &still.trial.users[0];
		work = still_begins(0, LANE_READ, 0, 1);
		still_pass(judge() + 1);
		if (why == IT_LEAVES)
			user->state = USER_LEAVING;
		still.trial.disturbed = why == A_HOST;
		still.target->disturbed = why == THE_TARGET;
		calm_look(user);
		calm_lost(&user->seats[0]);
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			ended(work, &rows[i]);
		assert_true(still_is_right());
	}
}

static void
what_has_ended_does_not_last(void **state)
{
	struct work *work;

	(void)state;
	judge();
	work = still_begins(0, LANE_READ, 0, 1);
	content_fill(work->data, HISTORY_ZEROS);
	still_ends(work, 0);
	still_pass(still.trial.calm_ns + MS);
	calm_look(&still.trial.users[0]);
	assert_true(still_is_right());
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, still_setup, still_teardown)
	const struct CMUnitTest tests[] = {
		T(all_that_may_be_in_flight_comes_before_the_last),
		T(it_is_not_judged_where_hosts_have_too_little_patience_or_things_break_by_themselves),
		T(what_fails_is_wrong_but_for_what_is_said_of_a_block_or_a_reservation),
		T(what_takes_longer_than_it_can_is_wrong_when_it_ends_and_while_it_lasts),
		T(a_lost_path_is_wrong),
		T(after_a_fault_or_while_a_host_leaves_nothing_is_wrong),
		T(what_has_ended_does_not_last),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
