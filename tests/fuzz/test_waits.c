/*
 * test_waits.c - who has to wait for others, for how long, and what is thought
 * of him meanwhile; in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scene.h"

enum { LONG = 1024 * 1024 };

static const uint64_t second = 1000 * 1000 * 1000;

/* A host comes at `from_ns`, and has done all its work by `until_ns`; all hogs are there still. */
static void
work_beside(struct scene *scene, struct cluster_host *host, uint64_t from_ns, uint64_t until_ns)
{
	scene_work(scene, host, from_ns, until_ns);
	assert_int_equal(hogs_connected(scene->hogs), scene->hogs->count);
}

/* ---- for blocks ---- */

/* In memory, where a turn does one range: it takes more than a second until all is done that they want. */
static void
deallocations_keep_nobody_waiting(void **state)
{
	const struct play play = {
		.seed = 1, .volume = "mem:64M", .bufs = { 2304, 256 }, .turn_ns = 20 * 1000, .count = 8,
		.kind = TRIMMER,
	};
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 16 * 1024, .ios = 200 };
	struct scene scene;

	(void)state;
	scene_begin(&scene, &play);
	work_beside(&scene, &host, 6 * second / 10, 12 * second / 10);
	scene_end(&scene);
}

/* ---- to be listened to ---- */

/* Its keep-alive time is 5 s, and for want of buffers nothing is read of the connection that it sends on. */
static void
who_is_not_listened_to_is_not_taken_for_dead_at_once(void **state)
{
	const struct play play = {
		.seed = 1, .volume = "fault:hold=3000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = WAITER,
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, &play);
	sim_run_until(scene.sim, 100 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 1);
	assert_int_equal(scene.said, 0);
	sim_run_until(scene.sim, 130 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 0);
	assert_int_equal(scene.said, 1);
	scene_end(&scene);
}

/* The writes take 8 s.  The last one is heard at once, or when there is a place for it again: 5 s later its host is
 * dead; also where it is the one that came when there was none. */
static void
who_is_listened_to_again_has_all_its_time(void **state)
{
	struct play play = {
		.seed = 1, .volume = "fault:delay-write=8000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = WAITER,
	};
	bool waited = false;

	(void)state;
	for (play.asks = 4; play.asks < 24; play.asks++) {
		struct scene scene;

		scene_begin(&scene, &play);
		sim_run_until(scene.sim, 7 * second, NULL, NULL);
		if (hogs_connected(scene.hogs) == 1) {
			waited = true;
			sim_run_until(scene.sim, 13 * second, NULL, NULL);
			assert_int_equal(hogs_connected(scene.hogs), 1);
		}
		sim_run_until(scene.sim, 14 * second, NULL, NULL);
		assert_int_equal(hogs_connected(scene.hogs), 0);
		scene_end(&scene);
	}
	assert_true(waited);
}

/* What is not read of it, because of what it sent itself, gives it 5 s more and not all the time there is. */
static void
who_owes_data_behind_what_keeps_us_from_reading_is_ended_after_10_s(void **state)
{
	const struct play play = {
		.seed = 1, .volume = "fault:hold=3000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = STALLER,
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, &play);
	sim_run_until(scene.sim, 9 * second, NULL, NULL);
	assert_int_equal(scene.said, 0);
	sim_run_until(scene.sim, 13 * second, NULL, NULL);
	assert_int_equal(scene.said, 1);
	scene_end(&scene);
}

/* ---- for buffers ---- */

/* Of those for what is asked for others have some at any time, and each may have one: there are never as many free as
 * 1 MiB needs, until it is its turn. */
static void
who_waits_for_much_is_not_overtaken_for_ever(void **state)
{
	const struct play play = {
		.seed = 1, .volume = "file:volume.img,size=64M", .bufs = { 2304, 16 }, .count = 8, .kind = SENDER,
		.strangers = true,
	};
	struct cluster_host host = {
		.addr = "10.0.0.1", .queues = 1, .slot_bytes = LONG, .slot_count = CLUSTER_WORKS, .ios = 40,
		.no_reads = true, /* they have turns of their own */
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, &play);
	work_beside(&scene, &host, second, 5 * second);
	scene_end(&scene);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deallocations_keep_nobody_waiting),
		cmocka_unit_test(who_is_not_listened_to_is_not_taken_for_dead_at_once),
		cmocka_unit_test(who_is_listened_to_again_has_all_its_time),
		cmocka_unit_test(who_owes_data_behind_what_keeps_us_from_reading_is_ended_after_10_s),
		cmocka_unit_test(who_waits_for_much_is_not_overtaken_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
