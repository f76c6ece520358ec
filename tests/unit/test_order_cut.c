/* test_order_cut.c - how a stream is cut at a server, step by step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/cut.h"
#include "order/group.h"

enum { SLOTS = ORDER_SLOTS_LEAST, SEED = 0x5eed, OWNER = 3, KEEPS = 1 };

struct bench {
	struct order_serve serve;
	struct order_image slots[SLOTS];
	struct order_slot states[SLOTS];
	uint8_t is[SLOTS];
	uint32_t words[SLOTS];
	struct order_served stream;
	struct order_write writes[16];
	struct order_known known[SLOTS];
	struct order_listed room[SLOTS];
	uint32_t count;
	struct order_stream read;
	struct order_cut cut;
};

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	return nsid == KEEPS;
}

static void
commit(struct bench *bench)
{
	struct order_commit commit;

	order_serve_append(&bench->serve);
	if (order_log_take(&bench->serve.log, &commit))
		order_serve_durable(&bench->serve);
}

static void
look(struct bench *bench)
{
	bench->count = order_track_list(&bench->serve.log, &bench->stream.track, 0, bench->known);
	bench->read = (struct order_stream){ 0 };
	if (bench->count == 0)
		return;
	order_known_sort(bench->known, bench->count);
	order_stream_read(bench->known, bench->count, keeps, NULL, bench->room, &bench->read);
	assert_null(bench->read.lost);
}

static const char *
begin_cut(struct bench *bench, uint32_t after, bool gone)
{
	look(bench);
	return order_cut_begin(&bench->cut, &bench->serve, &bench->stream, bench->known, bench->count,
	    &bench->read, after, gone, ORDER_NO_GROUP);
}

/* A stream with groups 1 to `groups`, of which all have persisted, and that has stopped. */
static struct bench *
begin(uint32_t groups)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct order_write *write;

	order_log_init(&bench->serve.log, bench->slots, SLOTS, SEED, bench->states, bench->is, bench->words);
	order_serve_init(&bench->serve);
	order_track_init(&bench->serve.log, &bench->stream.track, OWNER, 1);
	order_serve_stream(&bench->stream);
	assert_null(begin_cut(bench, ORDER_NO_GROUP, true));
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_WAITS);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_GOES_ON);
	for (uint32_t group = 1; group <= groups; group++) {
		write = &bench->writes[group];
		*write = (struct order_write){
			.attribute = { group, group, group - 1, 0, 1, 1, ORDER_ENTRY_LAST }, .lba = 8 * group,
			.blocks = 8, .nsid = KEEPS, .keeps = true,
		};
		assert_null(order_serve_arrive(&bench->serve, &bench->stream, write));
		order_serve_ready(&bench->serve, write);
	}
	commit(bench);
	while ((write = order_serve_go(&bench->serve)) != NULL)
		order_serve_ended(&bench->serve, write, true);
	commit(bench);
	while (order_serve_answer(&bench->serve) != NULL)
		;
	order_serve_stop(&bench->serve, &bench->stream);
	return bench;
}

static uint32_t
to_be_taken_back(struct bench *bench, uint32_t after)
{
	uint32_t count = 0;

	look(bench);
	for (uint32_t i = 0; i < bench->count; i++)
		count += order_is_taken_back(&bench->known[i], after);
	return count;
}

static void
what_is_taken_back_counts_no_more_before_it_is_touched(void **state)
{
	struct bench *bench = begin(5);

	(void)state;
	assert_null(begin_cut(bench, 3, false));
	assert_int_equal(bench->read.list.count, 5);
	assert_int_equal(bench->cut.last, 3);
	assert_int_equal(bench->cut.high, 5);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_WAITS);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_WAITS);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_TAKES_BACK);
	assert_int_equal(to_be_taken_back(bench, 3), 2);
	assert_int_equal(bench->read.list.count, 3);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_TAKES_BACK);
	assert_true(bench->stream.stopped);
	order_cut_taken_back(&bench->cut);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_WAITS);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_GOES_ON);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_GOES_ON);
	assert_false(bench->stream.stopped);
	assert_int_equal(bench->stream.gate.last, 3);
	assert_int_equal(to_be_taken_back(bench, 3), 0);
	assert_int_equal(bench->read.list.count, 3);
	assert_int_equal(bench->read.list.floor, ORDER_NO_GROUP);
	free(bench);
}

/* Whoever died on the way begins anew, maybe at an earlier group: what was being taken back is taken back. */
static void
what_was_begun_is_begun_again(void **state)
{
	struct bench *bench = begin(5);

	(void)state;
	assert_null(begin_cut(bench, 3, false));
	order_cut_next(&bench->cut);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_TAKES_BACK);
	assert_null(begin_cut(bench, 2, true));
	assert_int_equal(bench->cut.last, 2);
	assert_int_equal(bench->cut.high, 5);
	order_cut_next(&bench->cut);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_TAKES_BACK);
	assert_int_equal(to_be_taken_back(bench, 2), 3);
	order_cut_taken_back(&bench->cut);
	order_cut_next(&bench->cut);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_GOES_ON);
	look(bench);
	assert_int_equal(bench->read.list.floor, 2);
	assert_int_equal(bench->read.list.count, 0);
	/* And it goes on from there. */
	order_serve_stop(&bench->serve, &bench->stream);
	assert_string_equal(begin_cut(bench, 1, true), "what is durable cannot be cut off");
	assert_null(begin_cut(bench, 2, true));
	free(bench);
}

static void
where_nothing_is_taken_back_one_mark_is_all(void **state)
{
	struct bench *bench = begin(3);

	(void)state;
	assert_null(begin_cut(bench, 7, true));
	assert_int_equal(bench->cut.last, 3);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_WAITS);
	commit(bench);
	assert_int_equal(order_cut_next(&bench->cut), ORDER_CUT_GOES_ON);
	assert_int_equal(bench->stream.track.term, 2);
	assert_int_equal(bench->stream.track.floor, 7);
	assert_int_equal(bench->stream.gate.last, 3);
	/* What another part knows of later groups counts. */
	order_serve_stop(&bench->serve, &bench->stream);
	look(bench);
	assert_null(order_cut_begin(&bench->cut, &bench->serve, &bench->stream, bench->known, bench->count,
	    &bench->read, 7, true, 12));
	assert_int_equal(bench->cut.high, 12);
	free(bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_back_counts_no_more_before_it_is_touched),
		cmocka_unit_test(what_was_begun_is_begun_again),
		cmocka_unit_test(where_nothing_is_taken_back_one_mark_is_all),
	};

	return cmocka_run_group_tests_name("order_cut", tests, NULL, NULL);
}
