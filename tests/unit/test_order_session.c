/* test_order_session.c - a stream at its host and its servers: begun, lost, cut, gone on with, taken over. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/group.h"
#include "order_session_bench.h"

static void
a_new_stream_goes_on_behind_no_group(void **state)
{
	struct sess_bench *bench = sess_started(1, 2, 1);

	(void)state;
	assert_int_equal(bench->session.there, ORDER_NO_GROUP);
	assert_int_equal(bench->session.sequencer.ways[0].guaranteed, bench->servers[0].serve.log.guaranteed);
	for (unsigned i = 0; i < 20; i++)
		assert_true(sess_submit(bench, 3, ORDER_END));
	sess_finish(bench);
	free(bench);
}

static void
nothing_is_sent_to_a_server_before_all_have_been_cut(void **state)
{
	struct sess_bench *bench = sess_begin(1, 2, 3);

	(void)state;
	sess_join(bench, 0);
	sess_settle(bench);
	assert_int_equal(bench->session.links[0].is, ORDER_LINK_LISTED);
	assert_false(bench->session.decided);
	sess_join(bench, 1);
	sess_settle(bench);
	assert_true(order_session_is_ready(&bench->session));
	free(bench);
}

static void
what_a_lost_connection_had_is_sent_again_by_the_next_one(void **state)
{
	struct sess_bench *bench = sess_started(2, 2, 0);

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_true(sess_submit(bench, 5, ORDER_END));
	for (unsigned i = 0; i < 30; i++)
		sess_step(bench);
	sess_lose(bench, 1);
	sess_settle(bench);
	assert_false(order_session_is_well(&bench->session));
	assert_int_equal(bench->session.links[0].is, ORDER_LINK_GOES);
	sess_finish(bench);
	free(bench);
}

static void
a_write_that_fails_once_is_sent_again(void **state)
{
	struct sess_bench *bench = sess_started(3, 1, 1);

	(void)state;
	bench->fails = 100;
	assert_true(sess_submit(bench, 2, ORDER_END));
	while (bench->session.links[0].is == ORDER_LINK_GOES)
		sess_step(bench);
	sess_finish(bench);
	free(bench);
}

static void
writes_that_fail_now_and_then_do_not_end_a_stream(void **state)
{
	struct sess_bench *bench = sess_started(3, 1, 1);

	(void)state;
	for (unsigned i = 0; i < 3 * ORDER_TRIES_MAX; i++) {
		assert_true(sess_submit(bench, 2, ORDER_END));
		bench->fails = 100;
		while (bench->session.links[0].is == ORDER_LINK_GOES)
			sess_step(bench);
		bench->fails = 0;
		sess_settle(bench);
	}
	sess_finish(bench);
	free(bench);
}

static void
what_is_answered_after_the_stream_has_stopped_says_nothing(void **state)
{
	struct sess_bench *bench = sess_started(3, 1, 1);
	struct order_session *session = &bench->session;
	struct order_item *first, *second;

	(void)state;
	assert_true(sess_submit(bench, 2, 0));
	bench->next++;
	first = order_session_next(session, 0);
	assert_true(sess_submit(bench, 2, ORDER_END));
	second = order_session_next(session, 0);
	order_session_answered(session, 0, second, 0, -EIO, 0);
	assert_int_equal(session->links[0].is, ORDER_LINK_LISTS);
	order_session_answered(session, 0, first, 0, 0, 100);
	assert_false(first->answered);
	sess_finish(bench);
	free(bench);
}

/* It is heard of when the next connection is there already. */
static void
an_answer_to_a_question_of_a_lost_connection_says_nothing(void **state)
{
	struct sess_bench *bench = sess_begin(3, 1, 1);
	uint8_t page[ORDER_LISTING_BYTES] = { 0 };
	struct nvme_sqe sqe;
	uint32_t bytes;

	(void)state;
	order_session_joined(&bench->session, 0, SESS_QID);
	assert_true(order_session_ask(&bench->session, 0, &sqe, &bytes));
	assert_int_equal(bytes, sizeof(page));
	order_session_parted(&bench->session, 0);
	order_session_joined(&bench->session, 0, SESS_QID);
	assert_false(order_session_ask(&bench->session, 0, &sqe, &bytes));
	order_session_told(&bench->session, 0, false, NVME_OK, 0, page);
	assert_int_equal(bench->session.links[0].is, ORDER_LINK_LISTS);
	assert_int_equal(bench->session.links[0].tries, 0);
	assert_true(order_session_ask(&bench->session, 0, &sqe, &bytes));
	free(bench);
}

static void
a_write_that_always_fails_ends_the_stream_with_its_error(void **state)
{
	struct sess_bench *bench = sess_started(4, 2, 3);

	(void)state;
	bench->fails = 100;
	assert_true(sess_submit(bench, 2, ORDER_END));
	sess_settle(bench);
	assert_int_equal(bench->session.error, -EIO);
	assert_int_equal(bench->session.failed, 0);
	assert_null(order_session_next(&bench->session, 0));
	free(bench);
}

/* The first host is still there, and loses its connection. */
static void
take_from_first(bool begins_anew)
{
	struct sess_bench *bench = sess_started(5, 1, 1);
	struct order_session first;

	assert_true(sess_submit(bench, 2, ORDER_END));
	sess_settle(bench);
	sess_lose(bench, 0);
	first = bench->session;
	sess_host(bench);
	sess_join_all(bench);
	sess_settle(bench);
	assert_true(order_session_is_ready(&bench->session));
	bench->servers[0].linked = false;
	/* Its lists point into what it was: there is nothing in it that it has to hear of any more. */
	memset(&first.sequencer.held, 0, sizeof(first.sequencer.held));
	bench->session = first;
	if (begins_anew)
		bench->servers[0].holder = 0;
	sess_join_all(bench);
	sess_settle(bench);
	assert_int_equal(bench->session.error, -ESTALE);
	free(bench);
}

static void
a_stream_that_another_host_has_gone_on_with_is_not_taken_back(void **state)
{
	(void)state;
	take_from_first(false);
}

/* The term says so alone. */
static void
nor_by_a_server_that_was_started_anew_since(void **state)
{
	(void)state;
	take_from_first(true);
}

static void
tell_head(struct sess_bench *bench, uint32_t whose, uint16_t term)
{
	const struct weir_list_head head = {
		.log = { bench->servers[0].log }, .stream = le16_of(SESS_STREAM),
		.term = le16_of(term), .flags = le32_of(WEIR_LIST_STOPPED), .holder = le32_of(whose),
	};
	uint8_t page[ORDER_LISTING_BYTES] = { 0 };
	struct nvme_sqe sqe;
	uint32_t bytes;

	assert_true(order_session_ask(&bench->session, 0, &sqe, &bytes));
	assert_int_equal(sqe.opcode, WEIR_ADMIN_LIST);
	assert_int_equal(le32_get(sqe.cdw10), SESS_STREAM | WEIR_LIST_STOP |
	    (bench->session.links[0].taken ? 0 : WEIR_LIST_TAKE));
	assert_int_equal(le32_get(sqe.cdw13), bench->session.holder);
	memcpy(page, &head, sizeof(head));
	order_session_told(&bench->session, 0, false, NVME_OK, 0, page);
}

static void
refuse_cut(struct sess_bench *bench)
{
	struct nvme_sqe sqe;
	uint32_t bytes;

	assert_int_equal(bench->session.error, 0);
	assert_true(order_session_ask(&bench->session, 0, &sqe, &bytes));
	assert_int_equal(sqe.opcode, WEIR_ADMIN_CUT);
	order_session_told(&bench->session, 0, false, nvme_status_of(NVME_SC_SEQUENCE, true), 0, NULL);
	assert_int_equal(bench->session.error, 0);
}

/* It is taken after the first one has listed it, and not cut yet. */
static void
one_that_another_host_takes_while_it_is_regained_is_over(void **state)
{
	struct sess_bench *bench = sess_started(5, 1, 1);

	(void)state;
	sess_lose(bench, 0);
	order_session_joined(&bench->session, 0, SESS_QID);
	tell_head(bench, bench->session.holder, bench->session.links[0].term);
	refuse_cut(bench);
	tell_head(bench, bench->session.holder + 1, bench->session.links[0].term);
	assert_int_equal(bench->session.error, -ESTALE);
	free(bench);
}

/* Or where it was not gone on with yet; and where the server has forgotten whose it is. */
static void
nor_is_one_begun_that_another_host_has_cut_since_it_was_listed(void **state)
{
	struct { bool knows; uint16_t term; int error; } cuts[] = {
		{ true, 5, -ESTALE }, { true, 7, -ESTALE }, { false, 6, -ESTALE }, { false, 5, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct sess_bench *bench = sess_begin(5, 1, 1);
		uint32_t holder = bench->session.holder;

		order_session_joined(&bench->session, 0, SESS_QID);
		tell_head(bench, holder, 5);
		assert_true(bench->session.decided);
		refuse_cut(bench);
		tell_head(bench, cuts[i].knows ? holder + 1 : 0, cuts[i].term);
		assert_int_equal(bench->session.error, cuts[i].error);
		free(bench);
	}
}

static void
two_servers_with_one_log_are_refused(void **state)
{
	struct sess_bench *bench = sess_begin(6, 2, 3);

	(void)state;
	bench->servers[1].log = bench->servers[0].log;
	sess_join_all(bench);
	sess_settle(bench);
	assert_int_equal(bench->session.error, -EINVAL);
	free(bench);
}

static void
a_server_with_another_log_than_it_had_ends_the_stream(void **state)
{
	struct sess_bench *bench = sess_started(7, 1, 1);

	(void)state;
	sess_lose(bench, 0);
	bench->servers[0].log = 77;
	sess_join_all(bench);
	sess_settle(bench);
	assert_int_equal(bench->session.error, -EIO);
	free(bench);
}

static void
a_server_that_lists_what_was_never_written_ends_the_stream(void **state)
{
	struct sess_bench *bench = sess_started(7, 1, 1);
	const struct weir_list_head head = {
		.log = { 1 }, .stream = le16_of(SESS_STREAM), .term = le16_of(bench->session.links[0].term),
		.count = le32_of(1), .flags = le32_of(WEIR_LIST_STOPPED),
	};
	const struct weir_list_entry entry = {
		.first = le32_of(2), .last = le32_of(2), .num = le16_of(1), .count = le16_of(1),
		.is = WEIR_LIST_COUNTS | WEIR_LIST_VALID,
	};
	uint8_t page[ORDER_LISTING_BYTES] = { 0 };
	struct nvme_sqe sqe;
	uint32_t bytes;

	(void)state;
	sess_lose(bench, 0);
	order_session_joined(&bench->session, 0, SESS_QID);
	assert_true(order_session_ask(&bench->session, 0, &sqe, &bytes));
	memcpy(page, &head, sizeof(head));
	memcpy(page + sizeof(head), &entry, sizeof(entry));
	order_session_told(&bench->session, 0, false, NVME_OK, 0, page);
	assert_int_equal(bench->session.error, -EPROTO);
	free(bench);
}

static void
a_floor_is_told_where_nothing_goes_that_tells_it(void **state)
{
	struct sess_bench *bench = sess_started(8, 1, 1);

	(void)state;
	assert_true(sess_submit(bench, 2, ORDER_END));
	sess_settle(bench);
	assert_int_equal(bench->servers[0].stream.track.floor, ORDER_NO_GROUP);
	order_session_tell(&bench->session);
	sess_settle(bench);
	assert_int_equal(bench->servers[0].stream.track.floor, 1);
	assert_true(sess_submit(bench, 2, ORDER_END));
	sess_settle(bench);
	assert_int_equal(bench->servers[0].stream.track.floor, 1);
	free(bench);
}

static void
what_was_written_in_place_after_the_last_group_is_listed(void **state)
{
	struct sess_bench *bench = sess_started(9, 2, 3);
	const struct order_listing *listing;

	(void)state;
	assert_true(sess_submit(bench, 2, ORDER_IN_PLACE));
	sess_settle(bench);
	bench->groups[0] = bench->groups[1] = ORDER_NO_GROUP; /* it is there, and not taken back */
	sess_host(bench);
	sess_join_all(bench);
	sess_settle(bench);
	assert_int_equal(bench->session.there, ORDER_NO_GROUP);
	listing = &bench->session.links[0].listing;
	assert_int_equal(listing->in_place_count, 1);
	assert_int_equal(le32_get(listing->in_place[0].blocks), 2);
	assert_int_equal(bench->servers[0].media[0], bench->values[0]);
	sess_go(bench);
	free(bench);
}

static void
a_list_of_several_pages_is_read(void **state)
{
	struct sess_bench *bench = sess_started(10, 1, 0);

	(void)state;
	bench->deaf = true;
	/* Every second block: nothing is merged. */
	for (unsigned i = 0; i <= ORDER_LISTING_ENTRIES; i++) {
		assert_true(sess_submit(bench, 1, ORDER_END));
		bench->next++;
	}
	sess_settle(bench);
	bench->deaf = false;
	sess_host(bench);
	sess_join_all(bench);
	sess_settle(bench);
	assert_true(bench->session.links[0].listing.count > ORDER_LISTING_ENTRIES);
	sess_go(bench);
	/* What is there is durable from now on. */
	assert_int_equal(bench->servers[0].stream.track.floor, bench->session.there);
	sess_finish(bench);
	free(bench);
}

/* ---- by chance ---- */

static void
play(struct sess_bench *bench)
{
	unsigned at = (unsigned)rng_below(&bench->rng, bench->session.servers);
	unsigned what = (unsigned)rng_below(&bench->rng, 400), flags = 0;

	if (what < 40 && bench->session.begun) {
		if (rng_below(&bench->rng, 2) == 0)
			flags = ORDER_END | (rng_below(&bench->rng, 4) == 0 ? ORDER_DURABLE : 0);
		(void)sess_submit(bench, 1 + (uint32_t)rng_below(&bench->rng, 8), flags);
	} else if (what < 60 && !bench->servers[at].linked) {
		sess_join(bench, at);
	} else if (what == 60 && bench->servers[at].linked) {
		sess_lose(bench, at);
	} else if (what == 61) {
		order_session_tell(&bench->session);
	} else if (what == 62 && rng_below(&bench->rng, 4) == 0) {
		sess_host(bench);
	} else if (order_session_is_ready(&bench->session)) {
		sess_go(bench);
	}
	for (unsigned i = 0; i < 4; i++)
		sess_step(bench);
}

static void
whatever_is_lost_all_up_to_a_group_is_there_and_nothing_after_it(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct sess_bench *bench = sess_started(seed, 1 + (unsigned)seed % SESS_SERVERS, (unsigned)seed % 8);

		bench->fails = seed % 4 == 0;
		for (unsigned i = 0; i < 1500; i++)
			play(bench);
		sess_join_all(bench);
		bench->fails = 0;
		sess_settle(bench);
		if (order_session_is_ready(&bench->session))
			sess_go(bench);
		sess_finish(bench);
		free(bench);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_stream_goes_on_behind_no_group),
		cmocka_unit_test(nothing_is_sent_to_a_server_before_all_have_been_cut),
		cmocka_unit_test(what_a_lost_connection_had_is_sent_again_by_the_next_one),
		cmocka_unit_test(a_write_that_fails_once_is_sent_again),
		cmocka_unit_test(writes_that_fail_now_and_then_do_not_end_a_stream),
		cmocka_unit_test(what_is_answered_after_the_stream_has_stopped_says_nothing),
		cmocka_unit_test(an_answer_to_a_question_of_a_lost_connection_says_nothing),
		cmocka_unit_test(a_write_that_always_fails_ends_the_stream_with_its_error),
		cmocka_unit_test(a_stream_that_another_host_has_gone_on_with_is_not_taken_back),
		cmocka_unit_test(nor_by_a_server_that_was_started_anew_since),
		cmocka_unit_test(one_that_another_host_takes_while_it_is_regained_is_over),
		cmocka_unit_test(nor_is_one_begun_that_another_host_has_cut_since_it_was_listed),
		cmocka_unit_test(two_servers_with_one_log_are_refused),
		cmocka_unit_test(a_server_with_another_log_than_it_had_ends_the_stream),
		cmocka_unit_test(a_server_that_lists_what_was_never_written_ends_the_stream),
		cmocka_unit_test(a_floor_is_told_where_nothing_goes_that_tells_it),
		cmocka_unit_test(what_was_written_in_place_after_the_last_group_is_listed),
		cmocka_unit_test(a_list_of_several_pages_is_read),
		cmocka_unit_test(whatever_is_lost_all_up_to_a_group_is_there_and_nothing_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
