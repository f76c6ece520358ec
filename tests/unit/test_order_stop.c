/*
 * test_order_stop.c - ordered writes at a server: what stops when one fails, how it goes on, and what there is no room
 * for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_serve_bench.h"

/* ---- what fails ---- */

static void
a_write_that_fails_stops_its_stream_and_no_other(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *fails = serve_come_whole(bench, &bench->stream, 2, 0, KEEPS);
	struct order_write *under_way = serve_come_whole(bench, &bench->stream, 3, 0, KEEPS), *later, *held;
	struct order_write *other = serve_come_whole(bench, &bench->other, 1, 0, KEEPS);

	serve_commit(bench);
	serve_assert_goes(bench, first);
	serve_assert_goes(bench, other);
	serve_assert_goes(bench, fails);
	serve_assert_goes(bench, under_way);
	later = serve_come_whole(bench, &bench->stream, 4, 0, KEEPS);
	order_serve_append(&bench->serve);
	held = serve_come(bench, &bench->stream, 5, 0, KEEPS);
	order_serve_ended(&bench->serve, fails, false);
	serve_assert_answered(bench, fails, ORDER_FAILED);
	serve_assert_answered(bench, held, ORDER_ABORTED);
	serve_assert_answered(bench, NULL, 0);
	assert_false(order_serve_is_still(&bench->stream));
	serve_commit(bench);
	serve_assert_goes(bench, NULL);
	serve_assert_answered(bench, later, ORDER_ABORTED);
	order_serve_ended(&bench->serve, under_way, true);
	order_serve_ended(&bench->serve, first, true);
	order_serve_ended(&bench->serve, other, true);
	serve_commit(bench);
	serve_assert_answered(bench, under_way, ORDER_DONE);
	serve_assert_answered(bench, first, ORDER_DONE);
	serve_assert_answered(bench, other, ORDER_DONE);
	assert_false(serve_persists(bench, fails));
	assert_true(order_serve_is_still(&bench->stream));
	assert_false(order_serve_is_still(&bench->other));
	/* It takes nothing now. */
	serve_assert_answered(bench, serve_come(bench, &bench->stream, 6, 0, KEEPS), ORDER_ABORTED);
	other = serve_come_whole(bench, &bench->other, 2, 0, KEEPS);
	serve_commit(bench);
	serve_assert_goes(bench, other);
}

/* What waits for a commit fails, and what was at a drive when that was known. */
static void
nothing_is_done_when_the_log_breaks(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *persisting = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *at_drive = serve_come_whole(bench, &bench->stream, 2, 0, KEEPS);
	struct order_write *cached = serve_come_whole(bench, &bench->other, 1, FLUSH, CACHED), *appended;
	struct order_commit taken;

	serve_commit(bench);
	serve_assert_goes(bench, persisting);
	serve_assert_goes(bench, cached);
	serve_assert_goes(bench, at_drive);
	order_serve_ended(&bench->serve, persisting, true);
	order_serve_ended(&bench->serve, cached, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->other);
	appended = serve_come_whole(bench, &bench->stream, 3, 0, KEEPS);
	order_serve_append(&bench->serve);
	assert_true(order_log_take(&bench->serve.log, &taken));
	order_serve_break(&bench->serve);
	order_serve_stop(&bench->serve, &bench->stream);
	order_serve_stop(&bench->serve, &bench->other);
	serve_assert_answered(bench, appended, ORDER_FAILED);
	serve_assert_answered(bench, persisting, ORDER_FAILED);
	serve_assert_answered(bench, NULL, 0);
	order_serve_ended(&bench->serve, at_drive, true);
	serve_assert_answered(bench, at_drive, ORDER_FAILED);
	order_serve_flushed(&bench->serve, &bench->other, true);
	serve_assert_answered(bench, cached, ORDER_FAILED);
	assert_true(order_serve_is_still(&bench->stream));
	assert_true(order_serve_is_still(&bench->other));
}

static void
what_has_its_turn_at_a_drive_when_its_stream_stops_does_not_go(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *second = serve_come_whole(bench, &bench->stream, 2, 0, KEEPS);

	serve_commit(bench);
	serve_assert_goes(bench, first);
	order_serve_stop(&bench->serve, &bench->stream);
	serve_assert_goes(bench, NULL);
	serve_assert_answered(bench, second, ORDER_ABORTED);
	order_serve_ended(&bench->serve, first, true);
	serve_commit(bench);
	serve_assert_answered(bench, first, ORDER_DONE);
	assert_true(order_serve_is_still(&bench->stream));
}

static void
what_waits_for_room_when_its_stream_stops_is_answered(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);

	order_serve_stop(&bench->serve, &bench->stream);
	serve_assert_answered(bench, write, ORDER_ABORTED);
	assert_int_equal(bench->stream.under_way, 0);
	assert_true(order_serve_is_still(&bench->stream));
	assert_false(serve_commit(bench));
}

/* Those behind a write that failed, and those that no flush is under way for; one before it may persist. */
static void
flushes_of_a_stream_that_stopped_do_not_persist(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *fails = serve_come_whole(bench, &bench->stream, 2, 0, CACHED);
	struct order_write *ended = serve_come_whole(bench, &bench->stream, 3, FLUSH, CACHED);
	struct order_write *under_way = serve_come_whole(bench, &bench->stream, 4, FLUSH, CACHED);

	serve_commit(bench);
	while (order_serve_go(&bench->serve) != NULL)
		;
	order_serve_ended(&bench->serve, first, true);
	order_serve_ended(&bench->serve, ended, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_ended(&bench->serve, fails, false);
	serve_assert_answered(bench, fails, ORDER_FAILED);
	serve_assert_answered(bench, ended, ORDER_ABORTED);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	order_serve_ended(&bench->serve, under_way, true);
	serve_assert_answered(bench, under_way, ORDER_ABORTED);
	assert_null(order_serve_flush(&bench->serve));
	serve_commit(bench);
	serve_assert_answered(bench, first, ORDER_DONE);
	assert_true(serve_persists(bench, first));
	assert_false(serve_persists(bench, ended));
	assert_false(serve_persists(bench, under_way));
	assert_true(order_serve_is_still(&bench->stream));
}

static void
a_flush_that_fails_stops_its_stream(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *second = serve_come_whole(bench, &bench->stream, 2, FLUSH, CACHED);

	serve_commit(bench);
	serve_assert_goes(bench, first);
	order_serve_ended(&bench->serve, first, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	serve_assert_goes(bench, second);
	order_serve_ended(&bench->serve, second, true);
	order_serve_flushed(&bench->serve, &bench->stream, false);
	serve_assert_answered(bench, first, ORDER_FAILED);
	serve_assert_answered(bench, second, ORDER_ABORTED);
	assert_false(serve_persists(bench, first));
	assert_true(order_serve_is_still(&bench->stream));
}

/* ---- it goes on ---- */

static bool
keeps(void *arg, uint32_t nsid)
{
	(void)arg;
	return nsid == KEEPS;
}

/* What there is to be known of the stream without reading all of the log. */
static void
look(struct serve_bench *bench, struct order_stream *stream)
{
	static struct order_known known[SLOTS];
	static struct order_listed room[SLOTS];
	uint32_t count = order_track_list(&bench->serve.log, &bench->stream.track, 0, known);

	assert_true(count <= order_track_count(&bench->stream.track));
	order_known_sort(known, count);
	order_stream_read(known, count, keeps, NULL, room, stream);
	assert_null(stream->lost);
}

static void
a_stream_that_was_cut_goes_on_behind_its_last_group(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write, *wrong = &bench->writes[WRITES - 1];
	struct order_stream listed;
	struct order_entry entry;
	bool ignored;

	for (uint32_t group = 1; group <= 3; group++)
		serve_come_whole(bench, &bench->stream, group, 0, KEEPS);
	serve_commit(bench);
	serve_do_all(bench);
	serve_commit(bench);
	while (order_serve_answer(&bench->serve) != NULL)
		;
	order_serve_stop(&bench->serve, &bench->stream);
	look(bench, &listed);
	assert_int_equal(listed.list.count, 3);
	assert_int_equal(order_server_prefix(&listed.list).group, 3);
	serve_cut(bench, &bench->stream, 2, 2);
	look(bench, &listed);
	assert_int_equal(listed.list.count, 2);
	assert_int_equal(listed.term, 2);
	assert_int_equal(order_server_prefix(&listed.list).group, 2);
	*wrong = (struct order_write){ .attribute = { 4, 4, 3, 0, 1, 1, LAST }, .nsid = KEEPS, .blocks = 8 };
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, wrong),
	    "what is to be before it is not what came");
	write = serve_come_whole(bench, &bench->stream, 3, 0, KEEPS);
	serve_commit(bench);
	serve_assert_goes(bench, write);
	assert_true(order_entry_read(&bench->slots[write->place % SLOTS], SEED, &entry, &ignored));
	assert_int_equal(entry.term, 2);
	assert_int_equal(entry.owner, OWNER);
	assert_int_equal(entry.stream, 1);
}

/* ---- a full log ---- */

/* It takes none of one stream any more, and when all is durable that is told it takes all of it. */
static void
what_has_no_room_waits_for_a_floor(void **state)
{
	struct serve_bench *bench = *state;
	uint32_t group = 1, went = 0, before;
	struct order_write *other;

	for (; group <= SLOTS; group++)
		serve_come_whole(bench, &bench->stream, group, 0, KEEPS);
	for (unsigned i = 0; i < 64; i++)
		while (serve_commit(bench)) {
			for (struct order_write *write; (write = order_serve_go(&bench->serve)) != NULL; went++) {
				assert_false(order_serve_is_stuck(&bench->serve, &bench->stream));
				order_serve_ended(&bench->serve, write, true);
			}
			while (order_serve_answer(&bench->serve) != NULL)
				;
		}
	assert_true(went > SLOTS / 4 && went < SLOTS / 2);
	assert_true(order_serve_is_stuck(&bench->serve, &bench->stream));
	other = serve_come_whole(bench, &bench->other, 1, 0, KEEPS);
	assert_false(order_serve_is_stuck(&bench->serve, &bench->other));
	serve_commit(bench);
	serve_assert_goes(bench, other);
	assert_false(order_serve_is_stuck(&bench->serve, &bench->other));
	before = went;
	/* Whatever comes next tells it; here one that cannot be appended itself. */
	bench->writes[bench->count] = (struct order_write){
		.attribute = { group, group, group - 1, before, 1, 1, LAST }, .blocks = 8, .nsid = KEEPS, .keeps = true,
	};
	assert_null(order_serve_arrive(&bench->serve, &bench->stream, &bench->writes[bench->count++]));
	for (unsigned i = 0; i < 64; i++)
		while (serve_commit(bench))
			for (struct order_write *write; (write = order_serve_go(&bench->serve)) != NULL; went++)
				order_serve_ended(&bench->serve, write, true);
	assert_true(went > before + SLOTS / 4);
}

static void
what_cannot_be_changes_nothing(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = &bench->writes[0];

	*write = (struct order_write){ .attribute = { 1, 1, 0, 0, 1, 1, LAST }, .nsid = KEEPS };
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, write), "only a flush has no blocks");
	bench->count = 1;
	for (uint32_t group = 1; group <= ORDER_FLUSHED_MAX; group++)
		serve_come_whole(bench, &bench->stream, group, 0, CACHED + group);
	*write = (struct order_write){
		.attribute = { 65, 65, 64, 0, 1, 1, LAST }, .nsid = 1000, .blocks = 1,
	};
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, write),
	    "its stream has written to more namespaces than can be flushed together");
	assert_int_equal(bench->stream.held, ORDER_FLUSHED_MAX);
	serve_come_whole(bench, &bench->stream, 65, 0, KEEPS);
	serve_come_whole(bench, &bench->stream, 66, 0, CACHED + 7);
	/* Whoever has gone on has written to none of them. */
	for (unsigned i = 0; i < 4; i++) {
		serve_commit(bench);
		serve_do_all(bench);
	}
	while (order_serve_answer(&bench->serve) != NULL)
		;
	order_serve_stop(&bench->serve, &bench->stream);
	serve_cut(bench, &bench->stream, 66, 66);
	for (uint32_t group = 67; group < 67 + ORDER_FLUSHED_MAX; group++)
		serve_come_whole(bench, &bench->stream, group, 0, 1000 + group);
}

int
main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, serve_set_up, serve_tear_down)
	const struct CMUnitTest tests[] = {
		ONE(a_write_that_fails_stops_its_stream_and_no_other),
		ONE(nothing_is_done_when_the_log_breaks),
		ONE(what_has_its_turn_at_a_drive_when_its_stream_stops_does_not_go),
		ONE(what_waits_for_room_when_its_stream_stops_is_answered),
		ONE(flushes_of_a_stream_that_stopped_do_not_persist),
		ONE(a_flush_that_fails_stops_its_stream),
		ONE(a_stream_that_was_cut_goes_on_behind_its_last_group),
		ONE(what_has_no_room_waits_for_a_floor),
		ONE(what_cannot_be_changes_nothing),
	};

	return cmocka_run_group_tests_name("order_stop", tests, NULL, NULL);
}
