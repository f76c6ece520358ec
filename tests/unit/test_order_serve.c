/*
 * test_order_serve.c - ordered writes at a server: an entry before the data, no answer before what it says is
 * durable, and flushes behind all that came before them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_serve_bench.h"

/* ---- one write ---- */

static void
no_data_goes_before_its_entry_is_durable(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = serve_come(bench, &bench->stream, 1, 0, KEEPS);
	struct order_commit taken;

	order_serve_append(&bench->serve);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_ready(&bench->serve, write);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_append(&bench->serve);
	serve_assert_goes(bench, NULL);
	assert_true(order_log_take(&bench->serve.log, &taken));
	assert_int_equal(taken.to - taken.from, 1);
	serve_assert_goes(bench, NULL);
	order_serve_durable(&bench->serve);
	serve_assert_goes(bench, write);
	serve_assert_goes(bench, NULL);
	serve_assert_answered(bench, NULL, 0);
}

static void
a_drive_that_keeps_it_is_answered_for_when_the_word_is_durable(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);

	serve_commit(bench);
	serve_assert_goes(bench, write);
	assert_false(serve_persists(bench, write));
	order_serve_ended(&bench->serve, write, true);
	assert_true(serve_persists(bench, write));
	serve_assert_answered(bench, NULL, 0);
	assert_true(serve_commit(bench));
	serve_assert_answered(bench, write, ORDER_DONE);
	assert_false(serve_commit(bench));
}

static void
a_drive_with_a_cache_is_answered_for_at_once_and_nothing_persists(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = serve_come_whole(bench, &bench->stream, 1, 0, CACHED);

	serve_commit(bench);
	serve_assert_goes(bench, write);
	order_serve_ended(&bench->serve, write, true);
	serve_assert_answered(bench, write, ORDER_DONE);
	assert_false(serve_persists(bench, write));
	assert_null(order_serve_flush(&bench->serve));
	assert_false(serve_commit(bench));
}

/* Nor with those of another commit, which is only being made. */
static void
what_came_after_a_commit_was_taken_waits_for_the_next(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS), *second;
	struct order_commit taken;

	serve_commit(bench);
	second = serve_come_whole(bench, &bench->stream, 2, 0, KEEPS);
	order_serve_append(&bench->serve);
	assert_true(order_log_take(&bench->serve.log, &taken));
	serve_assert_goes(bench, first);
	order_serve_ended(&bench->serve, first, true);
	serve_come_whole(bench, &bench->stream, 3, 0, KEEPS);
	order_serve_append(&bench->serve);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_durable(&bench->serve);
	serve_assert_goes(bench, second);
	serve_assert_goes(bench, NULL);
	serve_assert_answered(bench, NULL, 0);
	assert_true(serve_commit(bench));
	serve_assert_answered(bench, first, ORDER_DONE);
}

/* ---- flushes ---- */

static void
a_flush_waits_for_all_before_it_and_flushes_what_they_wrote_to(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *writes[4] = {
		serve_come_whole(bench, &bench->stream, 1, 0, CACHED),
		serve_come_whole(bench, &bench->stream, 2, 0, KEEPS),
		serve_come_whole(bench, &bench->stream, 3, FLUSH, CACHED_TOO),
		serve_come_whole(bench, &bench->stream, 4, 0, CACHED),
	};

	serve_commit(bench);
	for (int i = 0; i < 4; i++)
		serve_assert_goes(bench, writes[i]);
	order_serve_ended(&bench->serve, writes[2], true);
	order_serve_ended(&bench->serve, writes[1], true);
	assert_null(order_serve_flush(&bench->serve));
	order_serve_ended(&bench->serve, writes[0], true);
	serve_assert_answered(bench, writes[0], ORDER_DONE);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	assert_null(order_serve_flush(&bench->serve));
	/* Of both drives with caches, in the order in which the stream found them. */
	assert_int_equal(bench->stream.flushing, 3);
	assert_int_equal(bench->stream.nsid_count, 2);
	assert_int_equal(bench->stream.nsids[0], CACHED);
	assert_int_equal(bench->stream.nsids[1], CACHED_TOO);
	serve_commit(bench);
	serve_assert_answered(bench, writes[1], ORDER_DONE);
	serve_assert_answered(bench, NULL, 0);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	serve_assert_answered(bench, NULL, 0);
	serve_commit(bench);
	serve_assert_answered(bench, writes[2], ORDER_DONE);
	assert_true(serve_persists(bench, writes[2]));
	assert_false(serve_persists(bench, writes[0]));
	order_serve_ended(&bench->serve, writes[3], true);
	assert_null(order_serve_flush(&bench->serve));
}

/* What ended after a flush had begun is not covered by it. */
static void
a_flush_that_began_covers_nothing_later(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *first = serve_come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *second = serve_come_whole(bench, &bench->stream, 2, FLUSH, CACHED);
	struct order_write *third = serve_come_whole(bench, &bench->stream, 3, FLUSH, 0);

	serve_commit(bench);
	serve_assert_goes(bench, first);
	serve_assert_goes(bench, second);
	serve_assert_goes(bench, NULL);
	order_serve_ended(&bench->serve, first, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_ended(&bench->serve, second, true);
	assert_null(order_serve_flush(&bench->serve));
	order_serve_flushed(&bench->serve, &bench->stream, true);
	assert_true(serve_persists(bench, first));
	assert_false(serve_persists(bench, second));
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	assert_true(serve_persists(bench, second));
	assert_true(serve_persists(bench, third));
	serve_commit(bench);
	serve_assert_answered(bench, first, ORDER_DONE);
	serve_assert_answered(bench, second, ORDER_DONE);
	serve_assert_answered(bench, third, ORDER_DONE);
}

static void
where_drives_keep_all_a_flush_alone_needs_none(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *write = serve_come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *flush = serve_come_whole(bench, &bench->stream, 2, FLUSH, 0);

	serve_commit(bench);
	serve_assert_goes(bench, write);
	serve_assert_goes(bench, NULL);
	assert_false(serve_persists(bench, flush));
	order_serve_ended(&bench->serve, write, true);
	assert_true(serve_persists(bench, flush));
	assert_null(order_serve_flush(&bench->serve));
	serve_commit(bench);
	serve_assert_answered(bench, write, ORDER_DONE);
	serve_assert_answered(bench, flush, ORDER_DONE);
}

static void
one_that_has_a_drive_with_a_cache_flushes_it_anew_each_time(void **state)
{
	struct serve_bench *bench = *state;

	for (uint32_t group = 1; group < 6; group += 2) {
		struct order_write *write = serve_come_whole(bench, &bench->stream, group, 0, CACHED), *flush;

		flush = serve_come_whole(bench, &bench->stream, group + 1, FLUSH, 0);
		serve_commit(bench);
		serve_do_all(bench);
		assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
		assert_int_equal(bench->stream.flushing, 1);
		order_serve_flushed(&bench->serve, &bench->stream, true);
		serve_commit(bench);
		serve_assert_answered(bench, write, ORDER_DONE);
		serve_assert_answered(bench, flush, ORDER_DONE);
	}
}

/* Nothing was written since the last one. */
static void
a_flush_behind_a_flush_needs_none(void **state)
{
	struct serve_bench *bench = *state;
	struct order_write *flush;

	serve_come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	serve_commit(bench);
	serve_do_all(bench);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	flush = serve_come_whole(bench, &bench->stream, 2, FLUSH, 0);
	serve_commit(bench);
	serve_assert_goes(bench, NULL);
	assert_null(order_serve_flush(&bench->serve));
	assert_true(serve_persists(bench, flush));
}

int
main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, serve_set_up, serve_tear_down)
	const struct CMUnitTest tests[] = {
		ONE(no_data_goes_before_its_entry_is_durable),
		ONE(a_drive_that_keeps_it_is_answered_for_when_the_word_is_durable),
		ONE(a_drive_with_a_cache_is_answered_for_at_once_and_nothing_persists),
		ONE(what_came_after_a_commit_was_taken_waits_for_the_next),
		ONE(a_flush_waits_for_all_before_it_and_flushes_what_they_wrote_to),
		ONE(a_flush_that_began_covers_nothing_later),
		ONE(where_drives_keep_all_a_flush_alone_needs_none),
		ONE(one_that_has_a_drive_with_a_cache_flushes_it_anew_each_time),
		ONE(a_flush_behind_a_flush_needs_none),
	};

	return cmocka_run_group_tests_name("order_serve", tests, NULL, NULL);
}
