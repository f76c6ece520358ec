/* test_order_log_room.c - who appends to the log: what has room, what is overwritten, and what leaves; by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_log_bench.h"

/* A group that is durable and has ended, or false where it may not be appended. */
static bool
write_one(struct log_server *server, struct order_track *track, uint32_t group, uint32_t floor)
{
	struct order_log *log = &server->parts[0].log;
	struct order_entry entry = {
		.first = group, .last = group, .prev = group - 1, .num = 1, .count = 1, .blocks = 8, .nsid = KEEPS,
		.flags = ORDER_ENTRY_LAST,
	};
	uint64_t place;

	order_track_tell(track, floor);
	if (!order_log_ask(log, track)) {
		order_log_sweep(log);
		log_commit(server, 0);
		return false;
	}
	place = order_log_append(log, track, &entry);
	log_commit(server, 0);
	order_log_end(log, place, true);
	log_commit(server, 0);
	return true;
}

/* One that says no floor has half of what is left; the other one goes on and on, and nothing of the first is lost. */
static void
who_says_no_floor_leaves_room_for_others(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_track *held = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t group = 1, most, refused = 0;

	(void)state;
	most = order_log_left(&server->parts[0].log, held);
	assert_in_range(most, SLOTS / 4, SLOTS / 2);
	while (write_one(server, held, group, ORDER_NO_GROUP))
		group++;
	assert_in_range(group - 1, most - 2, most);
	assert_int_equal(order_log_left(&server->parts[0].log, held), 0);
	for (uint32_t written = 1; written <= 20 * SLOTS;) {
		if (write_one(server, other, written, written - 1))
			written++;
		else
			assert_in_range(++refused, 0, SLOTS);
	}
	assert_int_equal(held->writes.count, group - 1);
	assert_false(write_one(server, held, group, ORDER_NO_GROUP));
	/* And when it says one, that stands before anything else of it comes. */
	assert_true(write_one(server, held, group, group - 1));
	assert_int_equal(held->marks.count, 1);
	assert_int_equal(held->writes.count, 1);
	log_end(server);
}

/* Those that say no floor share all there is; and whoever comes last has what is guaranteed. */
static void
each_stream_has_what_is_guaranteed(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track more[64];
	uint32_t opened = 0, tracks = log->tracks, groups[64] = { 0 };

	(void)state;
	assert_int_equal(log->guaranteed, ORDER_GUARANTEED_LEAST);
	for (; order_log_opens(log); opened++) {
		assert_in_range(opened, 0, 63);
		order_track_init(log, &more[opened], OWNER, (uint16_t)(100 + opened));
	}
	assert_int_equal(log->tracks, tracks + opened);
	assert_in_range(opened + tracks, SLOTS / 2 / (ORDER_GUARANTEED_LEAST + 1), SLOTS / ORDER_GUARANTEED_LEAST);
	for (uint32_t i = 0; i < opened; i++)
		while (write_one(server, &more[i], groups[i] + 1, ORDER_NO_GROUP))
			groups[i]++;
	for (uint32_t i = 0; i < opened; i++)
		assert_in_range(groups[i], ORDER_GUARANTEED_LEAST, SLOTS);
	/* What one does not need it does not take from others. */
	for (uint32_t i = 0; i < opened; i++) {
		for (unsigned tries = 0; !write_one(server, &more[i], groups[i] + 1, groups[i]); tries++)
			assert_in_range(tries, 0, 8);
		order_track_close(log, &more[i], true);
	}
	assert_int_equal(log->unspent, tracks * ORDER_GUARANTEED_LEAST);
	log_end(server);
}

/* It would be appended anew as what it never was, or be gone without a word; so the log fills up behind it. */
static void
what_is_not_as_it_was_written_stays_where_it_is(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *held = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	struct order_image spoiled;
	uint32_t slot, group = 1, refused = 0;

	(void)state;
	for (uint32_t i = 1; i <= 8; i++)
		assert_true(write_one(server, held, i, ORDER_NO_GROUP));
	slot = log->states[held->writes.oldest].after;
	log->slots[slot].lba.b[3] ^= 1;
	spoiled = log->slots[slot];
	while (refused < SLOTS) {
		if (write_one(server, other, group, group - 1))
			group++;
		else
			refused++;
	}
	assert_in_range(group, SLOTS / 2, SLOTS);
	assert_int_equal(log->swept & (SLOTS - 1), slot);
	assert_memory_equal(&log->slots[slot], &spoiled, sizeof(spoiled));
	log_end(server);
}

/* What was appended anew after a commit was taken is not durable when that one is done. */
static void
a_place_is_free_only_when_what_took_it_over_is_durable(void **state)
{
	struct log_server *server = log_begin(1);
	struct log_part *part = &server->parts[0];
	struct order_track *held = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t moved = 0;

	(void)state;
	for (uint32_t group = 1; group <= 200; group++)
		assert_true(write_one(server, held, group, ORDER_NO_GROUP));
	for (uint32_t group = 1; group <= 4 * SLOTS; group++) {
		struct order_entry entry = {
			.first = group, .last = group, .prev = group - 1, .num = 1, .count = 1, .blocks = 8,
			.nsid = KEEPS, .flags = ORDER_ENTRY_LAST,
		};
		uint64_t place, swept;

		order_track_tell(other, group - 1);
		for (int tries = 0; !order_log_ask(&part->log, other); tries++) {
			assert_in_range(tries, 0, 100);
			log_commit(server, 0);
		}
		place = order_log_append(&part->log, other, &entry);
		assert_true(log_take(part));
		swept = part->log.swept;
		order_log_sweep(&part->log);
		moved += part->log.swept > swept;
		log_keep_some(server, part, true);
		order_log_done(&part->log);
		assert_int_equal(part->log.tail, swept);
		order_log_end(&part->log, place, true);
		log_commit(server, 0);
	}
	assert_in_range(moved, SLOTS, 4 * SLOTS);
	log_end(server);
}

static void
what_was_closed_leaves_when_nothing_of_it_is_left(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *closed = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint32_t tracks = log->tracks, group = 1;
	uint64_t newest;

	(void)state;
	write_one(server, closed, 1, ORDER_NO_GROUP);
	assert_false(order_track_leave(log, closed));
	order_track_tell(closed, 1);
	order_track_close(log, closed, false);
	newest = closed->newest;
	while (!order_track_leave(log, closed)) {
		group += write_one(server, other, group, group - 1);
		assert_in_range(group, 1, 8 * SLOTS);
	}
	/* Its last mark was appended away from what it was for. */
	assert_in_range(closed->newest, newest + ORDER_BATCH_MAX + 1, log->next - SLOTS - ORDER_BATCH_MAX);
	assert_int_equal(log->tracks, tracks - 1);
	log_end(server);
}

/*
 * What is closed has its last write and the mark behind it in slots that one batch overwrites, of which only the mark's
 * is written when the power goes.  The batch never was: its slots are emptied, and of these only the mark's is when the
 * power goes again.  The write is there, and that nothing of it is needed, too.
 */
static void
what_was_closed_is_not_there_again_after_a_torn_batch(void **state)
{
	struct log_server *server = log_begin(1);
	struct log_part *part = &server->parts[0];
	struct order_track *closed = &server->streams[0].tracks[0], *other = &server->streams[1].tracks[0];
	uint64_t write;
	struct order_stream read;
	uint32_t group = 1, count, same;
	bool found = false;

	(void)state;
	for (; group <= 20; group++)
		assert_true(write_one(server, other, group, group - 1));
	assert_true(write_one(server, closed, 1, ORDER_NO_GROUP));
	write = closed->newest;
	order_track_tell(closed, 1);
	assert_true(order_log_cut(&part->log, closed, 1, 1, 1, false));
	assert_int_equal(closed->newest, write + 1);
	log_commit(server, 0);
	order_track_close(&part->log, closed, false);
	while (part->log.next < write + SLOTS)
		group += write_one(server, other, group, group - 1);
	assert_int_equal(part->log.next, write + SLOTS);
	part->kept[(write + 1) % SLOTS] = (struct order_image){ 0 };
	count = log_read_part(server, 0, 0);
	order_known_sort(server->known, count);
	for (uint32_t at = 0; at < count; at += same) {
		same = order_known_same(&server->known[at], count - at);
		order_stream_read(&server->known[at], same, log_keeps, NULL, server->room, &read);
		if (read.stream == 0)
			assert_int_equal(read.list.count, 0);
		for (uint32_t i = at; i < at + same; i++)
			found = found || server->known[i].place == write;
	}
	assert_true(found);
	log_end(server);
}

/* Nor what was told here: only what is durable elsewhere. */
static void
what_another_part_holds_is_needed_no_more(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *track = &server->streams[0].tracks[0];

	(void)state;
	for (uint32_t group = 1; group <= 10; group++)
		assert_true(write_one(server, track, group, ORDER_NO_GROUP));
	order_track_tell(track, 9);
	order_track_close(log, track, true);
	assert_int_equal(track->writes.count, 10);
	order_track_hold(log, track, 4);
	assert_int_equal(track->writes.count, 6);
	order_track_hold(log, track, 3);
	assert_int_equal(track->writes.count, 6);
	order_track_hold(log, track, 10);
	assert_int_equal(track->writes.count, 0);
	log_end(server);
}

/* Of cuts that take back as much as the one before one mark is needed; and those of a batch leave room for what is. */
static void
cuts_again_and_again_leave_room(void **state)
{
	struct log_server *server = log_begin(1);
	struct order_log *log = &server->parts[0].log;
	struct order_track *held = &server->streams[0].tracks[0], *cut = &server->streams[1].tracks[0];
	unsigned refused = 0;

	(void)state;
	for (uint32_t group = 1; group <= 200; group++)
		assert_true(write_one(server, held, group, ORDER_NO_GROUP));
	for (uint32_t term = 1; term <= 8 * SLOTS;) {
		if (order_log_cut(log, cut, (uint16_t)term, 5, 9, false)) {
			assert_int_equal(cut->marks.count, 1);
			term++;
			refused = 0;
			continue;
		}
		assert_in_range(++refused, 0, 20);
		log_commit(server, 0);
	}
	assert_int_equal(held->writes.count, 200);
	log_end(server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_closed_is_not_there_again_after_a_torn_batch),
		cmocka_unit_test(what_another_part_holds_is_needed_no_more),
		cmocka_unit_test(cuts_again_and_again_leave_room),
		cmocka_unit_test(who_says_no_floor_leaves_room_for_others),
		cmocka_unit_test(each_stream_has_what_is_guaranteed),
		cmocka_unit_test(what_is_not_as_it_was_written_stays_where_it_is),
		cmocka_unit_test(a_place_is_free_only_when_what_took_it_over_is_durable),
		cmocka_unit_test(what_was_closed_leaves_when_nothing_of_it_is_left),
	};

	return cmocka_run_group_tests_name("order_log_room", tests, NULL, NULL);
}
