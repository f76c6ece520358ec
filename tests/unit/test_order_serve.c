/*
 * test_order_serve.c - ordered writes at a server: an entry before the data, no answer before what it says is durable,
 * flushes behind all that came before them, and what stops when one fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/group.h"
#include "order/serve.h"

enum { LAST = ORDER_ENTRY_LAST, FLUSH = ORDER_ENTRY_FLUSH, IN_PLACE = ORDER_ENTRY_IN_PLACE };
enum { SLOTS = ORDER_SLOTS_LEAST, WRITES = 2 * SLOTS, KEEPS = 1, CACHED = 2, CACHED_TOO = 3, OWNER = 4 };

struct bench {
	struct order_serve serve;
	struct order_image slots[SLOTS];
	struct order_slot states[SLOTS];
	uint32_t words[SLOTS];
	struct order_served stream, other;
	struct order_write writes[WRITES];
	unsigned count;
};

static void
cut(struct bench *bench, struct order_served *stream, uint32_t after, uint32_t last)
{
	struct order_commit commit;

	assert_true(order_serve_is_still(stream));
	assert_true(order_serve_cut(&bench->serve, stream, after, last, false));
	assert_false(order_serve_is_cut(&bench->serve, stream));
	assert_true(order_log_take(&bench->serve.log, &commit));
	order_serve_durable(&bench->serve);
	assert_true(order_serve_is_cut(&bench->serve, stream));
	order_serve_go_on(stream, last);
}

static int
set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	order_log_init(&bench->serve.log, bench->slots, SLOTS, bench->states, bench->words);
	order_serve_init(&bench->serve);
	order_track_init(&bench->serve.log, &bench->stream.track, OWNER, 1);
	order_track_init(&bench->serve.log, &bench->other.track, OWNER, 2);
	order_serve_stream(&bench->stream);
	order_serve_stream(&bench->other);
	cut(bench, &bench->stream, ORDER_NO_GROUP, ORDER_NO_GROUP);
	cut(bench, &bench->other, ORDER_NO_GROUP, ORDER_NO_GROUP);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Of group `group`, whole, behind the group before. */
static struct order_write *
come(struct bench *bench, struct order_served *stream, uint32_t group, int flags, uint32_t nsid)
{
	struct order_write *write = &bench->writes[bench->count++];

	*write = (struct order_write){
		.attribute = { group, group, group - 1, ORDER_NO_GROUP, 1, 1, (uint16_t)(flags | LAST) },
		.lba = 8 * group, .blocks = nsid != 0 ? 8 : 0, .nsid = nsid, .keeps = nsid == KEEPS,
	};
	assert_null(order_serve_arrive(&bench->serve, stream, write));
	return write;
}

static struct order_write *
come_whole(struct bench *bench, struct order_served *stream, uint32_t group, int flags, uint32_t nsid)
{
	struct order_write *write = come(bench, stream, group, flags, nsid);

	if (!stream->stopped)
		order_serve_ready(&bench->serve, write);
	return write;
}

static bool
commit(struct bench *bench)
{
	struct order_commit taken;

	order_serve_append(&bench->serve);
	if (!order_log_take(&bench->serve.log, &taken))
		return false;
	order_serve_durable(&bench->serve);
	return true;
}

static void
assert_goes(struct bench *bench, const struct order_write *write)
{
	assert_ptr_equal(order_serve_go(&bench->serve), write);
}

static void
assert_answered(struct bench *bench, const struct order_write *write, enum order_outcome outcome)
{
	assert_ptr_equal(order_serve_answer(&bench->serve), write);
	if (write != NULL)
		assert_int_equal(write->outcome, outcome);
}

static bool
persists(const struct bench *bench, const struct order_write *write)
{
	struct order_entry entry;
	bool persists;

	assert_true(order_entry_read(&bench->slots[write->place % SLOTS], &entry, &persists));
	return persists;
}

/* All of them have gone and ended. */
static void
do_all(struct bench *bench)
{
	struct order_write *write;

	while ((write = order_serve_go(&bench->serve)) != NULL)
		order_serve_ended(&bench->serve, write, true);
}

/* ---- one write ---- */

static void
no_data_goes_before_its_entry_is_durable(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = come(bench, &bench->stream, 1, 0, KEEPS);
	struct order_commit taken;

	order_serve_append(&bench->serve);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_ready(&bench->serve, write);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_append(&bench->serve);
	assert_goes(bench, NULL);
	assert_true(order_log_take(&bench->serve.log, &taken));
	assert_int_equal(taken.to - taken.from, 1);
	assert_goes(bench, NULL);
	order_serve_durable(&bench->serve);
	assert_goes(bench, write);
	assert_goes(bench, NULL);
	assert_answered(bench, NULL, 0);
}

static void
a_drive_that_keeps_it_is_answered_for_when_the_word_is_durable(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = come_whole(bench, &bench->stream, 1, 0, KEEPS);

	commit(bench);
	assert_goes(bench, write);
	assert_false(persists(bench, write));
	order_serve_ended(&bench->serve, write, true);
	assert_true(persists(bench, write));
	assert_answered(bench, NULL, 0);
	assert_true(commit(bench));
	assert_answered(bench, write, ORDER_DONE);
	assert_false(commit(bench));
}

static void
a_drive_with_a_cache_is_answered_for_at_once_and_nothing_persists(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = come_whole(bench, &bench->stream, 1, 0, CACHED);

	commit(bench);
	assert_goes(bench, write);
	order_serve_ended(&bench->serve, write, true);
	assert_answered(bench, write, ORDER_DONE);
	assert_false(persists(bench, write));
	assert_null(order_serve_flush(&bench->serve));
	assert_false(commit(bench));
}

/* Nor with those of another commit, which is only being made. */
static void
what_came_after_a_commit_was_taken_waits_for_the_next(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, 0, KEEPS), *second;
	struct order_commit taken;

	commit(bench);
	second = come_whole(bench, &bench->stream, 2, 0, KEEPS);
	order_serve_append(&bench->serve);
	assert_true(order_log_take(&bench->serve.log, &taken));
	assert_goes(bench, first);
	order_serve_ended(&bench->serve, first, true);
	come_whole(bench, &bench->stream, 3, 0, KEEPS);
	order_serve_append(&bench->serve);
	assert_false(order_log_take(&bench->serve.log, &taken));
	order_serve_durable(&bench->serve);
	assert_goes(bench, second);
	assert_goes(bench, NULL);
	assert_answered(bench, NULL, 0);
	assert_true(commit(bench));
	assert_answered(bench, first, ORDER_DONE);
}

/* ---- flushes ---- */

static void
a_flush_waits_for_all_before_it_and_flushes_what_they_wrote_to(void **state)
{
	struct bench *bench = *state;
	struct order_write *writes[4] = {
		come_whole(bench, &bench->stream, 1, 0, CACHED), come_whole(bench, &bench->stream, 2, 0, KEEPS),
		come_whole(bench, &bench->stream, 3, FLUSH, CACHED_TOO),
		come_whole(bench, &bench->stream, 4, 0, CACHED),
	};

	commit(bench);
	for (int i = 0; i < 4; i++)
		assert_goes(bench, writes[i]);
	order_serve_ended(&bench->serve, writes[2], true);
	order_serve_ended(&bench->serve, writes[1], true);
	assert_null(order_serve_flush(&bench->serve));
	order_serve_ended(&bench->serve, writes[0], true);
	assert_answered(bench, writes[0], ORDER_DONE);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	assert_null(order_serve_flush(&bench->serve));
	/* Of both drives with caches, in the order in which the stream found them. */
	assert_int_equal(bench->stream.flushing, 3);
	assert_int_equal(bench->stream.nsid_count, 2);
	assert_int_equal(bench->stream.nsids[0], CACHED);
	assert_int_equal(bench->stream.nsids[1], CACHED_TOO);
	commit(bench);
	assert_answered(bench, writes[1], ORDER_DONE);
	assert_answered(bench, NULL, 0);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	assert_answered(bench, NULL, 0);
	commit(bench);
	assert_answered(bench, writes[2], ORDER_DONE);
	assert_true(persists(bench, writes[2]));
	assert_false(persists(bench, writes[0]));
	order_serve_ended(&bench->serve, writes[3], true);
	assert_null(order_serve_flush(&bench->serve));
}

/* What ended after a flush had begun is not covered by it. */
static void
a_flush_that_began_covers_nothing_later(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *second = come_whole(bench, &bench->stream, 2, FLUSH, CACHED);
	struct order_write *third = come_whole(bench, &bench->stream, 3, FLUSH, 0);

	commit(bench);
	assert_goes(bench, first);
	assert_goes(bench, second);
	assert_goes(bench, NULL);
	order_serve_ended(&bench->serve, first, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_ended(&bench->serve, second, true);
	assert_null(order_serve_flush(&bench->serve));
	order_serve_flushed(&bench->serve, &bench->stream, true);
	assert_true(persists(bench, first));
	assert_false(persists(bench, second));
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	assert_true(persists(bench, second));
	assert_true(persists(bench, third));
	commit(bench);
	assert_answered(bench, first, ORDER_DONE);
	assert_answered(bench, second, ORDER_DONE);
	assert_answered(bench, third, ORDER_DONE);
}

static void
where_drives_keep_all_a_flush_alone_needs_none(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *flush = come_whole(bench, &bench->stream, 2, FLUSH, 0);

	commit(bench);
	assert_goes(bench, write);
	assert_false(persists(bench, flush));
	order_serve_ended(&bench->serve, write, true);
	assert_true(persists(bench, flush));
	assert_null(order_serve_flush(&bench->serve));
	commit(bench);
	assert_answered(bench, write, ORDER_DONE);
	assert_answered(bench, flush, ORDER_DONE);
}

static void
one_that_has_a_drive_with_a_cache_flushes_it_anew_each_time(void **state)
{
	struct bench *bench = *state;

	for (uint32_t group = 1; group < 6; group += 2) {
		struct order_write *write = come_whole(bench, &bench->stream, group, 0, CACHED), *flush;

		flush = come_whole(bench, &bench->stream, group + 1, FLUSH, 0);
		commit(bench);
		do_all(bench);
		assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
		assert_int_equal(bench->stream.flushing, 1);
		order_serve_flushed(&bench->serve, &bench->stream, true);
		commit(bench);
		assert_answered(bench, write, ORDER_DONE);
		assert_answered(bench, flush, ORDER_DONE);
	}
}

/* Nothing was written since the last one. */
static void
a_flush_behind_a_flush_needs_none(void **state)
{
	struct bench *bench = *state;
	struct order_write *flush;

	come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	commit(bench);
	do_all(bench);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	flush = come_whole(bench, &bench->stream, 2, FLUSH, 0);
	commit(bench);
	assert_null(order_serve_flush(&bench->serve));
	assert_true(persists(bench, flush));
}

/* ---- what fails ---- */

static void
a_write_that_fails_stops_its_stream_and_no_other(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *fails = come_whole(bench, &bench->stream, 2, 0, KEEPS);
	struct order_write *under_way = come_whole(bench, &bench->stream, 3, 0, KEEPS), *later, *held;
	struct order_write *other = come_whole(bench, &bench->other, 1, 0, KEEPS);

	commit(bench);
	assert_goes(bench, first);
	assert_goes(bench, other);
	assert_goes(bench, fails);
	assert_goes(bench, under_way);
	later = come_whole(bench, &bench->stream, 4, 0, KEEPS);
	order_serve_append(&bench->serve);
	held = come(bench, &bench->stream, 5, 0, KEEPS);
	order_serve_ended(&bench->serve, fails, false);
	assert_answered(bench, fails, ORDER_FAILED);
	assert_answered(bench, held, ORDER_ABORTED);
	assert_answered(bench, NULL, 0);
	assert_false(order_serve_is_still(&bench->stream));
	commit(bench);
	assert_goes(bench, NULL);
	assert_answered(bench, later, ORDER_ABORTED);
	order_serve_ended(&bench->serve, under_way, true);
	order_serve_ended(&bench->serve, first, true);
	order_serve_ended(&bench->serve, other, true);
	commit(bench);
	assert_answered(bench, under_way, ORDER_DONE);
	assert_answered(bench, first, ORDER_DONE);
	assert_answered(bench, other, ORDER_DONE);
	assert_false(persists(bench, fails));
	assert_true(order_serve_is_still(&bench->stream));
	assert_false(order_serve_is_still(&bench->other));
	/* It takes nothing now. */
	assert_answered(bench, come(bench, &bench->stream, 6, 0, KEEPS), ORDER_ABORTED);
	other = come_whole(bench, &bench->other, 2, 0, KEEPS);
	commit(bench);
	assert_goes(bench, other);
}

static void
what_has_its_turn_at_a_drive_when_its_stream_stops_does_not_go(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, 0, KEEPS);
	struct order_write *second = come_whole(bench, &bench->stream, 2, 0, KEEPS);

	commit(bench);
	assert_goes(bench, first);
	order_serve_stop(&bench->serve, &bench->stream);
	assert_goes(bench, NULL);
	assert_answered(bench, second, ORDER_ABORTED);
	order_serve_ended(&bench->serve, first, true);
	commit(bench);
	assert_answered(bench, first, ORDER_DONE);
	assert_true(order_serve_is_still(&bench->stream));
}

static void
what_waits_for_room_when_its_stream_stops_is_answered(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = come_whole(bench, &bench->stream, 1, 0, KEEPS);

	order_serve_stop(&bench->serve, &bench->stream);
	assert_answered(bench, write, ORDER_ABORTED);
	assert_int_equal(bench->stream.under_way, 0);
	assert_true(order_serve_is_still(&bench->stream));
	assert_false(commit(bench));
}

/* Those behind a write that failed, and those that no flush is under way for; one before it may persist. */
static void
flushes_of_a_stream_that_stopped_do_not_persist(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *fails = come_whole(bench, &bench->stream, 2, 0, CACHED);
	struct order_write *ended = come_whole(bench, &bench->stream, 3, FLUSH, CACHED);
	struct order_write *under_way = come_whole(bench, &bench->stream, 4, FLUSH, CACHED);

	commit(bench);
	while (order_serve_go(&bench->serve) != NULL)
		;
	order_serve_ended(&bench->serve, first, true);
	order_serve_ended(&bench->serve, ended, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	order_serve_ended(&bench->serve, fails, false);
	assert_answered(bench, fails, ORDER_FAILED);
	assert_answered(bench, ended, ORDER_ABORTED);
	order_serve_flushed(&bench->serve, &bench->stream, true);
	order_serve_ended(&bench->serve, under_way, true);
	assert_answered(bench, under_way, ORDER_ABORTED);
	assert_null(order_serve_flush(&bench->serve));
	commit(bench);
	assert_answered(bench, first, ORDER_DONE);
	assert_true(persists(bench, first));
	assert_false(persists(bench, ended));
	assert_false(persists(bench, under_way));
	assert_true(order_serve_is_still(&bench->stream));
}

static void
a_flush_that_fails_stops_its_stream(void **state)
{
	struct bench *bench = *state;
	struct order_write *first = come_whole(bench, &bench->stream, 1, FLUSH, CACHED);
	struct order_write *second = come_whole(bench, &bench->stream, 2, FLUSH, CACHED);

	commit(bench);
	assert_goes(bench, first);
	order_serve_ended(&bench->serve, first, true);
	assert_ptr_equal(order_serve_flush(&bench->serve), &bench->stream);
	assert_goes(bench, second);
	order_serve_ended(&bench->serve, second, true);
	order_serve_flushed(&bench->serve, &bench->stream, false);
	assert_answered(bench, first, ORDER_FAILED);
	assert_answered(bench, second, ORDER_ABORTED);
	assert_false(persists(bench, first));
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
look(struct bench *bench, struct order_stream *stream)
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
	struct bench *bench = *state;
	struct order_write *write, *wrong = &bench->writes[WRITES - 1];
	struct order_stream listed;
	struct order_entry entry;
	bool ignored;

	for (uint32_t group = 1; group <= 3; group++)
		come_whole(bench, &bench->stream, group, 0, KEEPS);
	commit(bench);
	do_all(bench);
	commit(bench);
	while (order_serve_answer(&bench->serve) != NULL)
		;
	order_serve_stop(&bench->serve, &bench->stream);
	look(bench, &listed);
	assert_int_equal(listed.list.count, 3);
	assert_int_equal(order_server_prefix(&listed.list).group, 3);
	cut(bench, &bench->stream, 2, 2);
	look(bench, &listed);
	assert_int_equal(listed.list.count, 2);
	assert_int_equal(listed.term, 2);
	assert_int_equal(order_server_prefix(&listed.list).group, 2);
	*wrong = (struct order_write){ .attribute = { 4, 4, 3, 0, 1, 1, LAST }, .nsid = KEEPS, .blocks = 8 };
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, wrong),
	    "what is to be before it is not what came");
	write = come_whole(bench, &bench->stream, 3, 0, KEEPS);
	commit(bench);
	assert_goes(bench, write);
	assert_true(order_entry_read(&bench->slots[write->place % SLOTS], &entry, &ignored));
	assert_int_equal(entry.term, 2);
	assert_int_equal(entry.owner, OWNER);
	assert_int_equal(entry.stream, 1);
}

/* ---- a full log ---- */

/* It takes none of one stream any more, and when all is durable that is told it takes all of it. */
static void
what_has_no_room_waits_for_a_floor(void **state)
{
	struct bench *bench = *state;
	uint32_t group = 1, went = 0, before;
	struct order_write *other;

	for (; group <= SLOTS; group++)
		come_whole(bench, &bench->stream, group, 0, KEEPS);
	for (unsigned i = 0; i < 64; i++)
		while (commit(bench))
			for (struct order_write *write; (write = order_serve_go(&bench->serve)) != NULL; went++) {
				assert_false(order_serve_is_stuck(&bench->serve, &bench->stream));
				order_serve_ended(&bench->serve, write, true);
			}
	assert_true(went > SLOTS / 4 && went < SLOTS / 2);
	assert_true(order_serve_is_stuck(&bench->serve, &bench->stream));
	other = come_whole(bench, &bench->other, 1, 0, KEEPS);
	assert_false(order_serve_is_stuck(&bench->serve, &bench->other));
	commit(bench);
	assert_goes(bench, other);
	assert_false(order_serve_is_stuck(&bench->serve, &bench->other));
	before = went;
	/* Whatever comes next tells it; here one that cannot be appended itself. */
	bench->writes[bench->count] = (struct order_write){
		.attribute = { group, group, group - 1, before, 1, 1, LAST }, .blocks = 8, .nsid = KEEPS, .keeps = true,
	};
	assert_null(order_serve_arrive(&bench->serve, &bench->stream, &bench->writes[bench->count++]));
	for (unsigned i = 0; i < 64; i++)
		while (commit(bench))
			for (struct order_write *write; (write = order_serve_go(&bench->serve)) != NULL; went++)
				order_serve_ended(&bench->serve, write, true);
	assert_true(went > before + SLOTS / 4);
}

static void
what_cannot_be_changes_nothing(void **state)
{
	struct bench *bench = *state;
	struct order_write *write = &bench->writes[0];

	*write = (struct order_write){ .attribute = { 1, 1, 0, 0, 1, 1, LAST }, .nsid = KEEPS };
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, write), "only a flush has no blocks");
	bench->count = 1;
	for (uint32_t group = 1; group <= ORDER_FLUSHED_MAX; group++)
		come_whole(bench, &bench->stream, group, 0, CACHED + group);
	*write = (struct order_write){
		.attribute = { 65, 65, 64, 0, 1, 1, LAST }, .nsid = 1000, .blocks = 1,
	};
	assert_string_equal(order_serve_arrive(&bench->serve, &bench->stream, write),
	    "its stream has written to more namespaces than can be flushed together");
	assert_int_equal(bench->stream.held, ORDER_FLUSHED_MAX);
	come_whole(bench, &bench->stream, 65, 0, KEEPS);
	come_whole(bench, &bench->stream, 66, 0, CACHED + 7);
	/* Whoever has gone on has written to none of them. */
	for (unsigned i = 0; i < 4; i++) {
		commit(bench);
		do_all(bench);
	}
	while (order_serve_answer(&bench->serve) != NULL)
		;
	order_serve_stop(&bench->serve, &bench->stream);
	cut(bench, &bench->stream, 66, 66);
	for (uint32_t group = 67; group < 67 + ORDER_FLUSHED_MAX; group++)
		come_whole(bench, &bench->stream, group, 0, 1000 + group);
}

int
main(void)
{
#define ONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
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
		ONE(a_write_that_fails_stops_its_stream_and_no_other),
		ONE(what_has_its_turn_at_a_drive_when_its_stream_stops_does_not_go),
		ONE(what_waits_for_room_when_its_stream_stops_is_answered),
		ONE(flushes_of_a_stream_that_stopped_do_not_persist),
		ONE(a_flush_that_fails_stops_its_stream),
		ONE(a_stream_that_was_cut_goes_on_behind_its_last_group),
		ONE(what_has_no_room_waits_for_a_floor),
		ONE(what_cannot_be_changes_nothing),
	};

	return cmocka_run_group_tests_name("order_serve", tests, NULL, NULL);
}
