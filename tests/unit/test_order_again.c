/* test_order_again.c - a stream at its host: what a server has lost goes again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_host_bench.h"

static uint32_t
come_back(struct seq_bench *bench, unsigned server, struct order_there there, uint32_t last)
{
	uint32_t cut = 77;

	assert_true(order_sequencer_cut(&bench->sequencer, server, &there, &cut));
	order_sequencer_up(&bench->sequencer, server, last, GUARANTEED);
	return cut;
}

static void
what_a_server_has_lost_goes_again(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 8);
	struct order_item *other;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_submit(bench, 2, 1, ORDER_END);
	seq_submit(bench, 4, 1, ORDER_END);
	other = seq_next(bench, 1);
	for (int i = 0; i < 3; i++)
		seq_next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	/* The first two of it are there, though neither was answered; and what comes meanwhile goes behind it. */
	seq_submit(bench, 6, 1, ORDER_END);
	assert_null(seq_next(bench, 0));
	assert_int_equal(come_back(bench, 0, (struct order_there){ 3, 1, 1 }, 3), 3);
	seq_assert_groups(bench, 1, 1);
	seq_answered(bench, other);
	seq_assert_groups(bench, 3, 3);
	seq_answered(bench, seq_assert_next(bench, 0, 4, 4, 3, 1, 1, LAST));
	seq_answered(bench, seq_assert_next(bench, 0, 5, 5, 4, 1, 1, LAST));
	seq_assert_groups(bench, 5, 5);
	free(bench);
}

/* What was answered is lost with a drive's cache; of groups that were told complete nobody says otherwise. */
static void
what_was_answered_and_not_durable_goes_again(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, false, 128);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 9, 1, ORDER_END | ORDER_DURABLE);
	seq_submit(bench, 19, 1, ORDER_END);
	seq_answered(bench, seq_next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	seq_assert_groups(bench, 1, 0);
	/* Nothing of it is listed: what is before it there is nothing. */
	assert_int_equal(come_back(bench, 0, (struct order_there){ 0 }, ORDER_NO_GROUP), ORDER_NO_GROUP);
	seq_assert_groups(bench, 1, 0);
	seq_answered(bench, seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST));
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 1, 1, 1, LAST | FLUSH));
	seq_assert_groups(bench, 2, 2);
	free(bench);
}

/* The server has one of two, and cannot know of the other one. */
static void
of_a_group_of_which_more_was_sent_all_goes_again(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 9, 1, 0);
	seq_submit(bench, 19, 1, ORDER_END);
	for (int i = 0; i < 3; i++)
		seq_next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 2, 1, 1 }, 1), 1);
	seq_assert_groups(bench, 1, 1);
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 1, 0, 1, 0));
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 1, 2, 1, LAST));
	seq_assert_groups(bench, 2, 2);
	free(bench);
}

/* From when it is cut; before that the group could have ended, and been durable. */
static void
of_a_group_that_has_not_ended_all_goes_again(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 8);
	struct order_there there = { 2, 1, 1 };
	uint32_t cut;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 2, 1, 0);
	seq_answered(bench, seq_next(bench, 0));
	seq_answered(bench, seq_next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_answered(bench, seq_assert_next(bench, 1, 2, 2, 0, 2, 1, LAST));
	seq_assert_groups(bench, 1, 1);
	seq_submit(bench, 4, 1, ORDER_END);
	/* The server has forgotten group 1 since. */
	order_sequencer_up(&bench->sequencer, 0, ORDER_NO_GROUP, GUARANTEED);
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 0, 1, 0));
	seq_assert_groups(bench, 2, 2);
	seq_assert_next(bench, 0, 3, 3, 2, 1, 1, LAST);
	free(bench);
}

/* What has begun there goes on with what the server says is before it. */
static void
a_group_goes_on_behind_what_is_there(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 2, 1, 0);
	seq_next(bench, 0);
	seq_next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 1, 1, 0 }, ORDER_NO_GROUP), 1);
	seq_submit(bench, 4, 1, ORDER_END);
	seq_submit(bench, 6, 1, ORDER_END);
	seq_assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 0, 1, 0);
	seq_assert_next(bench, 0, 2, 2, ORDER_NO_GROUP, 2, 1, LAST);
	seq_assert_next(bench, 0, 3, 3, 2, 1, 1, LAST);
	/* And where nothing goes again, too. */
	order_sequencer_down(&bench->sequencer, 0);
	assert_int_equal(come_back(bench, 0, (struct order_there){ 3, 1, 2 }, ORDER_NO_GROUP), 3);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_assert_next(bench, 0, 4, 4, ORDER_NO_GROUP, 1, 1, LAST);
	free(bench);
}

/* What it was the first time is taken back. */
static void
what_goes_again_is_merged_with_what_comes(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	seq_submit(bench, 1, 1, ORDER_END);
	come_back(bench, 0, (struct order_there){ 0 }, ORDER_NO_GROUP);
	seq_submit(bench, 2, 1, ORDER_END);
	seq_assert_next(bench, 0, 1, 1, 0, 1, 1, LAST);
	seq_assert_next(bench, 0, 2, 3, 1, 1, 1, LAST | MERGED);
	order_sequencer_down(&bench->sequencer, 0);
	come_back(bench, 0, (struct order_there){ 1, 1, 0 }, 1);
	seq_submit(bench, 3, 1, ORDER_END);
	seq_answered(bench, seq_assert_next(bench, 0, 2, 4, 1, 1, 1, LAST | MERGED));
	seq_assert_groups(bench, 4, 4);
	free(bench);
}

/* Its last piece goes again as that, and is not what the server has, which has as many. */
static void
what_was_to_go_again_does_so_though_the_server_is_asked_again(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	struct order_there there = { 2, 2, 1 };
	uint32_t cut;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 9, 1, 0);
	seq_submit(bench, 19, 1, 0);
	for (int i = 0; i < 3; i++)
		seq_answered(bench, seq_next(bench, 0));
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	order_sequencer_end(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	seq_assert_groups(bench, 1, 1);
	order_sequencer_up(&bench->sequencer, 0, 1, GUARANTEED);
	seq_answered(bench, seq_assert_next(bench, 0, 2, 2, 1, 0, 1, 0));
	seq_assert_next(bench, 0, 2, 2, 1, 2, 1, LAST);
	/* And when that was lost on its way it is asked anew. */
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 2);
	seq_assert_groups(bench, 2, 2);
	free(bench);
}

/* Its floor may be later than what it has, and a cut is never before that. */
static void
what_is_durable_without_a_server_is_not_cut_off_there(void **state)
{
	struct seq_bench *bench = seq_begin(2, 1, true, 8);
	struct order_there there = { 1, 1, 0 };
	uint32_t cut;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 8, 1, ORDER_END);
	seq_submit(bench, 2, 1, ORDER_END);
	seq_answered(bench, seq_next(bench, 0));
	seq_next(bench, 0);
	order_sequencer_down(&bench->sequencer, 0);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 1);
	seq_answered(bench, seq_next(bench, 1));
	seq_assert_groups(bench, 2, 2);
	assert_true(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	assert_int_equal(cut, 2);
	order_sequencer_up(&bench->sequencer, 0, 1, GUARANTEED);
	seq_assert_next(bench, 0, 3, 3, 1, 1, 1, LAST);
	free(bench);
}

static void
what_was_durable_must_be_there(void **state)
{
	struct seq_bench *bench = seq_begin(1, 1, true, 128);
	struct order_there there = { 1, 1, 0 };
	uint32_t cut;

	(void)state;
	seq_submit(bench, 0, 1, ORDER_END);
	seq_submit(bench, 2, 1, ORDER_END);
	seq_answer_all(bench);
	order_sequencer_down(&bench->sequencer, 0);
	assert_false(order_sequencer_cut(&bench->sequencer, 0, &there, &cut));
	seq_assert_groups(bench, 2, 2);
	free(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_server_has_lost_goes_again),
		cmocka_unit_test(what_was_answered_and_not_durable_goes_again),
		cmocka_unit_test(of_a_group_of_which_more_was_sent_all_goes_again),
		cmocka_unit_test(of_a_group_that_has_not_ended_all_goes_again),
		cmocka_unit_test(a_group_goes_on_behind_what_is_there),
		cmocka_unit_test(what_goes_again_is_merged_with_what_comes),
		cmocka_unit_test(what_was_to_go_again_does_so_though_the_server_is_asked_again),
		cmocka_unit_test(what_is_durable_without_a_server_is_not_cut_off_there),
		cmocka_unit_test(what_was_durable_must_be_there),
	};

	return cmocka_run_group_tests_name("order_again", tests, NULL, NULL);
}
