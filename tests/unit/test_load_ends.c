/*
 * trial/load_ends: what is taken to be known of an I/O when it has ended, or never will.
 */
#include <errno.h>
#include <string.h>

#include "still_trial.h"

/* ---- what a change that failed may have done ---- */

enum { OLD = 1, NEW = 2, LATE = 4 /* it may still come */ };

static const struct row {
	enum lane_op op;
	int error;
	enum nvme_sc sc;
	unsigned left, left_shaken; /* what the block may be; and where a path was lost meanwhile */
} rows[] = {
	{ LANE_WRITE, 0, NVME_SC_SUCCESS, NEW, NEW },
	{ LANE_COMPARE_AND_WRITE, 0, NVME_SC_SUCCESS, NEW, NEW },
	{ LANE_COPY, 0, NVME_SC_SUCCESS, NEW, NEW },
	/* the target has refused it; of a Copy some may have been done before that */
	{ LANE_WRITE, -ENODEV, NVME_SC_INVALID_NS, OLD, OLD | NEW },
	{ LANE_WRITE, -ERANGE, NVME_SC_LBA_RANGE, OLD, OLD | NEW },
	{ LANE_WRITE, -ENOLINK, NVME_SC_ANA_INACCESSIBLE, OLD, OLD | NEW },
	{ LANE_WRITE, -ENOLINK, NVME_SC_ANA_TRANSITION, OLD, OLD | NEW },
	{ LANE_WRITE, -ENOLINK, NVME_SC_ANA_PERSISTENT_LOSS, OLD, OLD | NEW },
	{ LANE_COMPARE_AND_WRITE, -ENODEV, NVME_SC_INVALID_NS, OLD, OLD | NEW },
	{ LANE_COPY, -ENODEV, NVME_SC_INVALID_NS, OLD | NEW, OLD | NEW },
	/* or has tried */
	{ LANE_WRITE, -EIO, NVME_SC_WRITE_FAULT, OLD | NEW, OLD | NEW },
	{ LANE_WRITE, -EIO, NVME_SC_INTERNAL, OLD | NEW, OLD | NEW },
	{ LANE_COMPARE_AND_WRITE, -EIO, NVME_SC_INTERNAL, OLD | NEW, OLD | NEW },
	/* nobody has answered */
	{ LANE_WRITE, -ENODEV, NVME_SC_SUCCESS, OLD, OLD | NEW },
	{ LANE_COMPARE_AND_WRITE, -ENODEV, NVME_SC_SUCCESS, OLD, OLD | NEW },
	{ LANE_WRITE, -ETIMEDOUT, NVME_SC_SUCCESS, OLD, OLD | NEW | LATE },
	{ LANE_COMPARE_AND_WRITE, -ESTALE, NVME_SC_SUCCESS, OLD | NEW, OLD | NEW },
	{ LANE_WRITE, -ESHUTDOWN, NVME_SC_SUCCESS, OLD | NEW | LATE, OLD | NEW | LATE },
	{ LANE_COPY, -ESHUTDOWN, NVME_SC_SUCCESS, OLD | NEW | LATE, OLD | NEW | LATE },
};

/* Anew, and up to the end of that I/O of host 0. */
static void
play(const struct row *row, bool shaken, uint64_t *old, uint64_t *new)
{
	struct work *work;

	still_again();
	*old = still_written(1, 0);
	work = still_begins(0, row->op, 0, 1);
	*new = work->value;
	if (shaken)
		still_shaken(0);
	still_refused(work, row->error, row->sc, true);
	assert_true(still_is_right());
}

static unsigned
left_by(const struct row *row, bool shaken)
{
	uint64_t old, new;
	unsigned left = 0;

	play(row, shaken, &old, &new);
	left |= still_reads(1, 0, new) ? NEW : 0;
	play(row, shaken, &old, &new);
	left |= still_reads(1, 0, old) ? OLD : 0;
	left |= left & OLD && still_reads(1, 0, new) ? LATE : 0;
	return left;
}

static void
what_has_failed_may_have_been_done_as_its_end_says(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned shaken = 0; shaken < 2; shaken++) {
			unsigned wanted = shaken ? rows[i].left_shaken : rows[i].left;
			unsigned left = left_by(&rows[i], shaken);

			if (left != wanted)
				fail_msg("row %u, shaken %u: %x, not %x", i, shaken, left, wanted);
		}
}

/* ---- until when what was given up may come ---- */

/* Host 0 has given a write up; the answer: what it would write. */
static uint64_t
given_up(uint32_t block)
{
	struct work *work = still_begins(0, LANE_WRITE, block, 1);

	still_shaken(0);
	still_ends(work, -ETIMEDOUT);
	return work->value;
}

static void
what_was_given_up_may_come_until_something_sent_later_is_answered(void **state)
{
	(void)state;
	for (unsigned later = 0; later < 2; later++) {
		struct work *earlier;
		uint64_t old, new;

		still_again();
		old = still_written(1, 0);
		earlier = still_begins(0, LANE_FLUSH, 0, 0);
		new = given_up(0);
		still_ends(earlier, 0);
		if (later)
			still_written(0, 1);
		assert_true(still_reads(1, 0, old));
		assert_int_equal(still_reads(1, 0, new), !later);
	}
}

static void
what_fails_later_does_not_end_it(void **state)
{
	uint64_t old, new;

	(void)state;
	old = still_written(1, 0);
	new = given_up(0);
	still_refused(still_begins(0, LANE_WRITE, 1, 1), -EIO, NVME_SC_WRITE_FAULT, true);
	still_written(1, 2); /* by another host */
	assert_true(still_reads(1, 0, old) && still_reads(1, 0, new));
}

/* It sends nothing more that would tell; its target has none of its connections. */
static void
of_a_host_that_leaves_it_may_come_until_its_target_has_nothing_of_it(void **state)
{
	(void)state;
	for (unsigned looked = 0; looked < 2; looked++) {
		struct user *user;
		uint64_t old, new;

		still_again();
		user = &still.trial.users[0];
		old = still_written(1, 0);
		user->state = USER_LEAVING;
		new = given_up(0);
		user->state = USER_AT_WORK; /* again */
		still_written(0, 1);
		if (looked)
			settle_look(still.target);
		assert_true(still_reads(1, 0, old));
		assert_int_equal(still_reads(1, 0, new), !looked);
	}
}

static void
what_a_dead_host_had_in_flight_may_come_and_nobody_waits_for_it(void **state)
{
	struct user *user;
	struct work *write;
	uint64_t old;

	(void)state;
	user = &still.trial.users[0];
	old = still_written(1, 0);
	write = still_begins(0, LANE_WRITE, 0, 1);
	still_begins(0, LANE_READ, 0, 2);
	still_begins(0, LANE_FLUSH, 0, 0);
	still_written(0, 1);
	load_forgotten(user);
	for (uint32_t i = 0; i < user->work_count; i++)
		assert_false(user->works[i].busy);
	assert_int_equal(still.result.counts.unknown, 1);
	assert_true(still_reads(1, 0, old) && still_reads(1, 0, write->value));
}

/* ---- what compares, and what cannot be read ---- */

static void
a_comparison_differs_only_from_what_is_something_else(void **state)
{
	(void)state;
	for (unsigned other = 0; other < 2; other++)
		for (enum lane_op op = LANE_COMPARE; op <= LANE_COMPARE_AND_WRITE; op++) {
			struct work *work;

			still_again();
			still_written(1, 0);
			work = still_begins(0, op, 0, 1); /* with that */
			if (other)
				still_written(1, 0);
			still_refused(work, -EILSEQ, NVME_SC_COMPARE, true);
			assert_int_equal(still_is_right(), other);
		}
}

/* Host 1 has written two blocks, and some of them again since host 0 began to compare, or to read, both; that fails. */
static void
of_two(enum lane_op op, unsigned again, enum nvme_sc sc)
{
	enum lane_op other = sc == NVME_SC_COMPARE ? LANE_WRITE_ZEROES : LANE_WRITE_UNCORRECTABLE;
	struct work *work;

	still_again();
	still_written(1, 0);
	still_written(1, 1);
	work = still_begins(0, op, 0, 2);
	for (uint32_t i = 0; i < 2; i++)
		if (again >> i & 1)
			still_ends(still_begins(1, other, i, 1), 0);
	still_refused(work, sc == NVME_SC_COMPARE ? -EILSEQ : -EIO, sc, true);
}

static void
of_two_blocks_one_must_be_what_is_said(void **state)
{
	static const struct { enum lane_op op; enum nvme_sc sc; } fails[] = {
		{ LANE_COMPARE, NVME_SC_COMPARE }, { LANE_COMPARE_AND_WRITE, NVME_SC_COMPARE },
		{ LANE_READ, NVME_SC_READ_ERROR }, { LANE_VERIFY, NVME_SC_READ_ERROR },
		{ LANE_COMPARE, NVME_SC_READ_ERROR }, { LANE_COMPARE_AND_WRITE, NVME_SC_READ_ERROR },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(fails) / sizeof(fails[0]); i++)
		for (unsigned again = 0; again < 4; again++) {
			of_two(fails[i].op, again, fails[i].sc);
			assert_int_equal(still_is_right(), again != 0);
		}
}

/* It differs, and is no more than that. */
static void
what_compares_fails_for_a_block_that_is_unreadable_alone(void **state)
{
	(void)state;
	for (enum lane_op op = LANE_COMPARE; op <= LANE_COMPARE_AND_WRITE; op++)
		for (uint32_t count = 1; count <= 2; count++) {
			struct work *work;

			still_again();
			work = still_begins(0, op, 0, count);
			still_written(1, 0);
			still_refused(work, -EIO, NVME_SC_READ_ERROR, true);
			assert_string_equal(still_oracle(), "history");
		}
}

/* A write is under way that nobody has seen: it is what the comparison has found. */
static void
where_it_can_be_one_alone_it_is_known_what_that_holds(void **state)
{
	(void)state;
	for (unsigned both = 0; both < 2; both++) {
		uint64_t first, second;
		struct work *compare;

		still_again();
		first = still_written(1, 0);
		second = still_written(1, 1);
		compare = still_begins(0, LANE_COMPARE, 0, 2);
		still_begins(1, LANE_WRITE_ZEROES, 1, 1);
		if (both)
			still_begins(1, LANE_WRITE_ZEROES, 0, 1);
		still_refused(compare, -EILSEQ, NVME_SC_COMPARE, true);
		assert_true(still_is_right());
		assert_true(still_reads(1, 0, first));
		assert_int_equal(still_reads(1, 1, second), both);
	}
}

static void
only_a_block_that_was_made_unreadable_is(void **state)
{
	static const enum lane_op ops[] = { LANE_READ, LANE_VERIFY };

	(void)state;
	for (unsigned made = 0; made < 2; made++)
		for (unsigned dnr = 0; dnr < 2; dnr++)
			for (unsigned i = 0; i < 2; i++) {
				still_again();
				if (made)
					still_ends(still_begins(1, LANE_WRITE_UNCORRECTABLE, 0, 1), 0);
				still_refused(still_begins(0, ops[i], 0, 1), -EIO, NVME_SC_READ_ERROR, dnr);
				assert_int_equal(still_is_right(), made || !dnr); /* a disk may fail */
			}
}

static void
what_verifies_an_unreadable_block_fails(void **state)
{
	(void)state;
	still_ends(still_begins(0, LANE_VERIFY, 0, 1), 0);
	assert_true(still_is_right());
	still_ends(still_begins(1, LANE_WRITE_UNCORRECTABLE, 0, 1), 0);
	still_ends(still_begins(0, LANE_VERIFY, 0, 1), 0);
	assert_string_equal(still_oracle(), "history");
}

/* ---- what a Flush covers ---- */

enum way { AT_ONCE, SHAKEN, WAITED, FAILED };

/* Each host has written a block; host 0 flushes; power is lost.  Whether the block may be as it was at first. */
static bool
may_be_lost(unsigned host, enum way way, bool plain)
{
	struct work *flush;

	still_again();
	still.trial.users[0].plain = plain;
	still_written(0, 0);
	still_written(1, 1);
	flush = still_begins(0, LANE_FLUSH, 0, 0);
	if (way == SHAKEN)
		still_shaken(0);
	if (way == WAITED)
		still_dies(false);
	still_ends(flush, way == FAILED ? -EIO : 0);
	assert_true(still_is_right());
	still_dies(true);
	return still_reads(1, host, HISTORY_ZEROS);
}

static void
a_flush_covers_what_all_hosts_wrote(void **state)
{
	(void)state;
	for (unsigned plain = 0; plain < 2; plain++)
		assert_true(!may_be_lost(0, AT_ONCE, plain) && !may_be_lost(1, AT_ONCE, plain));
}

static void
a_flush_that_was_sent_again_covers_what_its_host_wrote(void **state)
{
	(void)state;
	assert_true(!may_be_lost(0, SHAKEN, false) && may_be_lost(1, SHAKEN, false));
}

static void
a_flush_that_waits_until_the_target_is_back_covers_what_its_host_wrote(void **state)
{
	(void)state;
	assert_true(!may_be_lost(0, WAITED, false) && may_be_lost(1, WAITED, false));
}

static void
without_the_extension_such_a_flush_covers_nothing(void **state)
{
	(void)state;
	assert_true(may_be_lost(0, SHAKEN, true) && may_be_lost(1, SHAKEN, true));
	assert_true(may_be_lost(0, WAITED, true) && may_be_lost(1, WAITED, true));
}

static void
a_flush_that_failed_covers_nothing(void **state)
{
	(void)state;
	assert_true(may_be_lost(0, FAILED, false) && may_be_lost(1, FAILED, false));
}

static void
a_flush_of_after_the_target_is_back_covers_all_again(void **state)
{
	(void)state;
	still_dies(true);
	still_written(1, 1);
	still_ends(still_begins(0, LANE_FLUSH, 0, 0), 0);
	still_dies(true);
	assert_false(still_reads(1, 1, HISTORY_ZEROS));
}

static void
what_is_said_to_be_durable_is_not_lost(void **state)
{
	static const struct { enum lane_op op; bool fua, durable; } kinds[] = {
		{ LANE_WRITE, false, false }, { LANE_WRITE, true, true },
		{ LANE_WRITE_UNCORRECTABLE, false, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct work *work;

		still_again();
		work = still_begins(0, kinds[i].op, 0, 1);
		work->fua = kinds[i].fua;
		still_ends(work, 0);
		still_dies(true);
		assert_int_equal(still_reads(1, 0, HISTORY_ZEROS), !kinds[i].durable);
	}
}

/* ---- what else is looked at ---- */

static void
what_was_refused_by_a_reservation_where_nobody_has_any_is_wrong(void **state)
{
	static const enum nvme_sc statuses[] = { NVME_SC_RESV_CONFLICT, NVME_SC_PREEMPT_ABORTED };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		still_again();
		still_refused(still_begins(0, LANE_WRITE, 0, 1), -EBUSY, statuses[i], true);
		assert_string_equal(still_oracle(), "claims");
	}
}

static void
what_succeeds_though_its_namespace_was_gone_all_the_time_is_wrong(void **state)
{
	(void)state;
	for (unsigned early = 0; early < 2; early++) {
		struct work *work = NULL;

		still_again();
		if (early)
			work = still_begins(0, LANE_FLUSH, 0, 0);
		served_show(still.target, false);
		still_pass(10 * 1000 * 1000);
		assert_true(served_is_told(still.target));
		still_ends(early ? work : still_begins(0, LANE_FLUSH, 0, 0), 0);
		assert_string_equal(still_oracle(), early ? "" : "ana");
	}
}

static void
a_copy_begins_when_its_source_is_written(void **state)
{
	(void)state;
	for (int error = 0; error >= -EIO; error -= EIO) {
		struct seat *seat;
		struct work *work;

		still_again();
		seat = &still.trial.users[0].seats[0];
		work = &still.trial.users[0].works[0];
		*work = (struct work){ .user = seat->user, .seat = seat, .volume = still.volume, .op = LANE_COPY,
			.count = 1, .copy = COPY_SOURCE };
		seat->copying = 1;
		still_refused(work, error, error != 0 ? NVME_SC_WRITE_FAULT : NVME_SC_SUCCESS, false);
		assert_int_equal(work->copy, error != 0 ? COPY_NONE : COPY_READY);
		assert_int_equal(seat->copying, error == 0);
		assert_true(still_reads(1, 0, HISTORY_ZEROS)); /* the blocks that it goes to are as they were */
	}
}

static void
a_block_is_read_back_when_it_is_known(void **state)
{
	(void)state;
	still_ends(still_begins(1, LANE_WRITE_UNCORRECTABLE, 1, 1), 0);
	for (uint32_t block = 0; block < STILL_BLOCKS; block++) {
		struct work *work = still_begins(0, LANE_READ, block, 1);

		work->unread = true;
		still_ends(work, -ETIMEDOUT); /* once more */
		assert_true(work->unread && still.volume->read_back == block && !still.trial.read_back);
		work = still_begins(0, LANE_READ, block, 1);
		content_fill(work->data, HISTORY_ZEROS);
		if (block == 1)
			still_refused(work, -EIO, NVME_SC_READ_ERROR, true);
		else
			still_ends(work, 0);
		assert_int_equal(work->unread, false);
	}
	assert_true(still.trial.read_back && still_is_right());
}

static void
what_has_ended_is_counted(void **state)
{
	const struct trial_counts *counts = &still.result.counts;

	(void)state;
	still_reads(0, 0, HISTORY_ZEROS);
	still_written(0, 0);
	given_up(0);
	still_refused(still_begins(1, LANE_READ, 0, 1), -EIO, NVME_SC_READ_ERROR, false);
	assert_true(counts->ios == 4 && counts->by_op[LANE_READ] == 2 && counts->by_op[LANE_WRITE] == 2);
	assert_true(counts->failed == 2 && counts->unknown == 1 && counts->checked == 1);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, still_setup, still_teardown)
	const struct CMUnitTest tests[] = {
		T(what_has_failed_may_have_been_done_as_its_end_says),
		T(what_was_given_up_may_come_until_something_sent_later_is_answered),
		T(what_fails_later_does_not_end_it),
		T(of_a_host_that_leaves_it_may_come_until_its_target_has_nothing_of_it),
		T(what_a_dead_host_had_in_flight_may_come_and_nobody_waits_for_it),
		T(a_comparison_differs_only_from_what_is_something_else),
		T(of_two_blocks_one_must_be_what_is_said),
		T(what_compares_fails_for_a_block_that_is_unreadable_alone),
		T(where_it_can_be_one_alone_it_is_known_what_that_holds),
		T(only_a_block_that_was_made_unreadable_is),
		T(what_verifies_an_unreadable_block_fails),
		T(a_flush_covers_what_all_hosts_wrote),
		T(a_flush_that_was_sent_again_covers_what_its_host_wrote),
		T(a_flush_that_waits_until_the_target_is_back_covers_what_its_host_wrote),
		T(without_the_extension_such_a_flush_covers_nothing),
		T(a_flush_that_failed_covers_nothing),
		T(a_flush_of_after_the_target_is_back_covers_all_again),
		T(what_is_said_to_be_durable_is_not_lost),
		T(what_was_refused_by_a_reservation_where_nobody_has_any_is_wrong),
		T(what_succeeds_though_its_namespace_was_gone_all_the_time_is_wrong),
		T(a_copy_begins_when_its_source_is_written),
		T(a_block_is_read_back_when_it_is_known),
		T(what_has_ended_is_counted),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
