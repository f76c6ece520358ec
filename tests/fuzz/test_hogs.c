/*
 * test_hogs.c - connections that anybody may have take nothing from those that
 * have work to do, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scene.h"

enum { COMMANDS = 100, LONG = 1024 * 1024 };

static const uint64_t second = 1000 * 1000 * 1000;

/* A target whose second volume does not answer for its first block, and hogs that may have been at it for a while. */
static void
begin_with(struct scene *scene, uint64_t seed, unsigned count, unsigned asks, enum hog_kind kind,
    struct reactor_options bufs, uint32_t stall_ms)
{
	const struct play play = {
		.seed = seed, .volume = "file:volume.img,size=64M", .other = "fault:hold=0@file:other.img,size=64M",
		.bufs = bufs, .stall_ms = stall_ms, .small_sockets = kind == FULL,
		.count = count, .asks = asks, .kind = kind,
	};

	scene_begin(scene, &play);
}

/* With the fewest buffers there may be. */
static void
begin(struct scene *scene, uint64_t seed, unsigned count, unsigned asks, enum hog_kind kind)
{
	begin_with(scene, seed, count, asks, kind, (struct reactor_options){ 16, 16 }, 0);
}

/* A host does all its work beside them, long before any of them is ended, in transfers of either kind of buffer. */
static void
work_beside(enum hog_kind kind, unsigned count)
{
	static const uint32_t slots[] = { 64 * 1024, 16 * 1024 };

	for (unsigned i = 0; i < 2; i++) {
		struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = slots[i], .ios = 200 };
		struct scene scene;

		begin(&scene, i, count, COMMANDS, kind);
		scene_work(&scene, &host, 2 * second, 4 * second);
		assert_int_equal(hogs_connected(scene.hogs), count);
		scene_end(&scene);
	}
}

static void
admin_answers_that_nobody_takes_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(DEAF, HOGS);
}

static void
admin_answers_that_are_taken_slowly_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(SLOW, HOGS);
}

static void
data_that_admin_commands_lack_keeps_nothing_from_io(void **state)
{
	(void)state;
	work_beside(OWING, HOGS);
}

static void
connects_that_do_not_end_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(HALF, HOGS);
}

static void
the_data_of_a_write_is_not_kept_until_its_answer_is_taken(void **state)
{
	(void)state;
	work_beside(WRITER, 4);
}

static void
event_requests_that_bring_data_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(EVENTS, HOGS);
}

static void
disconnects_that_bring_data_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(LEAVER, 4);
}

static void
long_commands_that_bring_data_keep_nothing_from_io(void **state)
{
	(void)state;
	work_beside(VERIFIER, HOGS);
}

/* The keeper may have to wait for a disk. */
static void
wishes_that_are_not_done_keep_nothing_from_io(void **state)
{
	struct wisher wisher = { .idle = true };
	const struct reactor *reactor;
	unsigned wishes = 0;
	struct scene scene;

	(void)state;
	begin_with(&scene, 1, HOGS, 8, WISHER, (struct reactor_options){ 2304, 256 }, 0);
	scene.target.wisher = &wisher;
	scene.target.other = NULL;
	sim_run_until(scene.sim, 2 * second, NULL, NULL);
	for (const struct fifo_node *node = wisher.waiting.head; node != NULL; node = node->next)
		wishes++;
	assert_in_range(wishes, HOGS / 2, HOGS); /* one of each, and others behind it */
	reactor = sim_process_reactor(scene.served, 0);
	assert_true(bufs_idle(&reactor->bufs));
	scene_end(&scene);
	wisher_end(&wisher);
}

/* What they have was taken back as far as it can be, and is not looked for every millisecond. */
static void
who_takes_no_answers_to_reads_makes_no_work_as_long_as_nothing_happens(void **state)
{
	const struct reactor *reactor;
	struct scene scene;
	uint64_t turns;

	(void)state;
	begin(&scene, 1, 4, COMMANDS, WRITER);
	sim_run_until(scene.sim, 5 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 4);
	reactor = sim_process_reactor(scene.served, 0);
	turns = reactor->turns;
	sim_run_until(scene.sim, 15 * second, NULL, NULL);
	assert_in_range(reactor->turns - turns, 0, 100);
	scene_end(&scene);
}

/* With the buffers and the time that a target has in earnest; how many of the hogs are ended meanwhile. */
static uint64_t
work_beside_debtors(bool strangers, unsigned asks, uint32_t slot_bytes, uint64_t until_s)
{
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = slot_bytes, .ios = 200 };
	struct scene scene;
	uint64_t said;

	begin_with(&scene, 1, HOGS, asks, DEBTOR, (struct reactor_options){ 2304, 256 }, 30 * 1000);
	scene.hogs->strangers = strangers;
	scene_work(&scene, &host, 2 * second, until_s * second);
	said = scene.said;
	scene_end(&scene);
	return said;
}

static void
data_that_is_owed_keeps_nothing_from_who_brings_it_along(void **state)
{
	(void)state;
	assert_int_equal(work_beside_debtors(true, 32, 8 * 1024, 4), 0);
}

static void
data_that_one_host_owes_keeps_nothing_from_another(void **state)
{
	(void)state;
	assert_int_equal(work_beside_debtors(false, 32, 32 * 1024, 4), 0);
	assert_int_equal(work_beside_debtors(false, 16, 64 * 1024, 4), 0);
	assert_int_equal(work_beside_debtors(false, 1, 256 * 1024, 4), 0);
}

static void
who_owes_data_while_others_wait_to_be_asked_is_ended_after_5_s(void **state)
{
	(void)state;
	assert_in_range(work_beside_debtors(true, 32, 32 * 1024, 10), 1, HOGS);
	assert_in_range(work_beside_debtors(true, 16, 64 * 1024, 10), 1, HOGS);
}

/* They may take all the time there is. */
static void
who_owes_data_and_keeps_nobody_waiting_is_let_be(void **state)
{
	struct scene scene;

	(void)state;
	begin_with(&scene, 2, 3, 32, DEBTOR, (struct reactor_options){ 2304, 256 }, 30 * 1000);
	sim_run_until(scene.sim, 25 * second, NULL, NULL);
	assert_int_equal(scene.said, 0);
	sim_run_until(scene.sim, 70 * second, NULL, NULL);
	assert_int_equal(scene.said, 3);
	scene_end(&scene);
}

/* What is in capsules may take a little more than half. */
static bool
are_left(const struct bufs_pool *pool)
{
	return pool->free_count >= pool->count * 2 / 5;
}

/* With the buffers that a target has in earnest, and with few. */
static void
what_a_volume_does_not_answer_keeps_nothing_from_others(void **state)
{
	static const struct reactor_options bufs[] = { { 2304, 256 }, { 96, 40 } };
	static const uint32_t slots[] = { 8 * 1024, 32 * 1024, 64 * 1024, 128 * 1024 };

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct cluster_host host = {
			.addr = "10.0.0.1", .queues = 2, .slot_bytes = slots[i / 2], .ios = 200,
		};
		struct scene scene;

		begin_with(&scene, i, HOGS, COMMANDS, STUCK, bufs[i % 2], 0);
		scene.hogs->strangers = true;
		sim_run_until(scene.sim, 3 * second, NULL, NULL);
		assert_true(are_left(&sim_process_reactor(scene.served, 0)->bufs.small));
		assert_true(are_left(&sim_process_reactor(scene.served, 0)->bufs.large));
		scene_work(&scene, &host, 3 * second, 5 * second);
		sim_run_until(scene.sim, 30 * second, NULL, NULL);
		assert_int_equal(scene.blamed, 0); /* it is the volume */
		scene_end(&scene);
	}
}

/* Commands for the volume that does not answer wait for buffers of either kind, which those who owe have nothing to do
 * with. */
static void
who_owes_data_is_not_blamed_for_a_volume_that_does_not_answer(void **state)
{
	struct scene scene;

	(void)state;
	for (unsigned asks = 16; asks <= 32; asks += 16) {
		begin_with(&scene, 4, HOGS, asks, STUCK, (struct reactor_options){ 2304, 256 }, 30 * 1000);
		scene.hogs->strangers = true;
		scene.hogs->hog[0].kind = scene.hogs->hog[1].kind = DEBTOR;
		sim_run_until(scene.sim, 25 * second, NULL, NULL);
		assert_true(bufs_waited(&sim_process_reactor(scene.served, 0)->bufs, asks == 16));
		assert_int_equal(scene.blamed, 0);
		scene_end(&scene);
	}
}

/* It is not read because of its own commands: twice the time, and not for ever. */
static void
who_owes_data_behind_what_is_never_answered_is_ended_after_10_s(void **state)
{
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 32 * 1024, .ios = 200 };
	struct scene scene;

	(void)state;
	begin_with(&scene, 3, 6, 32, PAUSED, (struct reactor_options){ 128, 64 }, 0);
	scene.hogs->strangers = true;
	scene_work(&scene, &host, 3 * second, 15 * second);
	assert_in_range(scene.blamed, 1, 6);
	scene_end(&scene);
}

static void
who_leaves_a_long_answer_lying_stays_until_others_wait_for_the_memory(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 2, 1, DEAF);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 2);
	scene_end(&scene);

	begin(&scene, 1, 5, 1, DEAF);
	scene.hogs->hog[4].kind = READER;
	sim_run_until(scene.sim, 2 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 5);
	assert_true(scene.hogs->hog[4].got < LONG);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_true(scene.hogs->hog[4].got >= LONG);
	scene_end(&scene);
}

/* However many controllers a host has. */
static void
who_leaves_long_answers_lying_leaves_room_for_another_host(void **state)
{
	/* The first one is of the same host, and waits. */
	struct hogs other = {
		.count = 2, .asks = 1, .strangers = true, .hog = { { .kind = READER }, { .kind = READER } },
	};
	struct sim_process_options options = { .start = hogs_start, .arg = &other };
	struct scene scene;

	(void)state;
	begin(&scene, 1, HOGS, 1, DEAF);
	sim_run_until(scene.sim, 2 * second, NULL, NULL);
	sim_process_create(scene.sim, "other", 1, &options);
	sim_run_until(scene.sim, 3 * second, NULL, NULL);
	assert_true(other.hog[1].got >= LONG && other.hog[0].got < LONG);
	assert_int_equal(hogs_connected(scene.hogs), HOGS);
	scene_end(&scene);
}

/* As soon as another one asks. */
static void
whose_socket_was_full_before_it_asked_is_no_exception(void **state)
{
	struct hogs late = { .count = 1, .asks = 1, .hog = { { .kind = READER } } };
	struct sim_process_options options = { .start = hogs_start, .arg = &late };
	struct scene scene;

	(void)state;
	begin(&scene, 1, 2, 1, FULL);
	sim_run_until(scene.sim, 20 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 2);
	sim_process_create(scene.sim, "late", 1, &options);
	sim_run_until(scene.sim, 22 * second, NULL, NULL);
	assert_true(late.hog[0].got >= LONG);
	scene_end(&scene);
}

/* Each gets all that it asked for, one long answer after the other. */
static void
who_reads_slowly_is_let_be_where_there_is_memory_for_all(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 2, 3, SLOW);
	sim_run_until(scene.sim, 60 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 2);
	assert_true(scene.hogs->hog[0].got > 3 * LONG && scene.hogs->hog[1].got > 3 * LONG);
	scene_end(&scene);
}

/* Of 500 connections in 25 s each has a line, and after more than a minute so have 500 others. */
static void
rude_peers_do_not_fill_the_log(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene, 1, 1, 1000, RUDE);
	sim_run_until(scene.sim, 59 * second, NULL, NULL);
	assert_int_equal(scene.hogs->hog[0].got, 500);
	assert_int_equal(scene.said, 20);
	assert_int_equal(scene.left_out, 0);
	sim_run_until(scene.sim, 90 * second, NULL, NULL);
	assert_int_equal(scene.said, 20);
	assert_int_equal(scene.left_out, 480);
	sim_run_until(scene.sim, 200 * second, NULL, NULL);
	assert_int_equal(scene.hogs->hog[0].got, 1000);
	assert_int_equal(scene.said, 40);
	assert_int_equal(scene.left_out, 960);
	scene_end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admin_answers_that_nobody_takes_keep_nothing_from_io),
		cmocka_unit_test(admin_answers_that_are_taken_slowly_keep_nothing_from_io),
		cmocka_unit_test(data_that_admin_commands_lack_keeps_nothing_from_io),
		cmocka_unit_test(connects_that_do_not_end_keep_nothing_from_io),
		cmocka_unit_test(the_data_of_a_write_is_not_kept_until_its_answer_is_taken),
		cmocka_unit_test(wishes_that_are_not_done_keep_nothing_from_io),
		cmocka_unit_test(who_takes_no_answers_to_reads_makes_no_work_as_long_as_nothing_happens),
		cmocka_unit_test(event_requests_that_bring_data_keep_nothing_from_io),
		cmocka_unit_test(disconnects_that_bring_data_keep_nothing_from_io),
		cmocka_unit_test(long_commands_that_bring_data_keep_nothing_from_io),
		cmocka_unit_test(data_that_is_owed_keeps_nothing_from_who_brings_it_along),
		cmocka_unit_test(data_that_one_host_owes_keeps_nothing_from_another),
		cmocka_unit_test(who_owes_data_while_others_wait_to_be_asked_is_ended_after_5_s),
		cmocka_unit_test(who_owes_data_and_keeps_nobody_waiting_is_let_be),
		cmocka_unit_test(what_a_volume_does_not_answer_keeps_nothing_from_others),
		cmocka_unit_test(who_owes_data_is_not_blamed_for_a_volume_that_does_not_answer),
		cmocka_unit_test(who_owes_data_behind_what_is_never_answered_is_ended_after_10_s),
		cmocka_unit_test(who_leaves_a_long_answer_lying_stays_until_others_wait_for_the_memory),
		cmocka_unit_test(who_leaves_long_answers_lying_leaves_room_for_another_host),
		cmocka_unit_test(whose_socket_was_full_before_it_asked_is_no_exception),
		cmocka_unit_test(who_reads_slowly_is_let_be_where_there_is_memory_for_all),
		cmocka_unit_test(rude_peers_do_not_fill_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
