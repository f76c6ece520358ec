/*
 * test_waits.c - who has to wait for others, for how long, and what is thought
 * of him meanwhile; in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cluster.h"
#include "hogs.h"

enum { LONG = 1024 * 1024 };

static const uint64_t second = 1000 * 1000 * 1000;

/* What is played: a volume, the buffers of the one reactor, and hogs of one kind. */
struct play {
	const char *volume;
	struct reactor_options bufs;
	unsigned count, asks;
	enum hog_kind kind;
	bool strangers;
	uint32_t turn_ns; /* 0: as usual */
};

struct scene {
	struct cluster_target target;
	struct hogs *hogs;
	struct sim *sim;
	uint64_t said; /* lines of the target's log */
};

static void
count_line(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct scene *scene = arg;

	(void)process;
	(void)reactor;
	(void)level;
	(void)text;
	scene->said++;
}

static void
begin(struct scene *scene, const struct play *play)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options served = {
		.reactor = play->bufs, .start = cluster_target_start, .arg = &scene->target, .address = "10.0.0.1",
	};
	struct sim_process_options hogs = { .start = hogs_start };

	*scene = (struct scene){
		.target = { .host = "10.0.0.1", .spec = play->volume, .reactors = 1, .stall_timeout_ms = 1000 * 1000 },
		.hogs = calloc(1, sizeof(*scene->hogs)),
	};
	assert_non_null(scene->hogs);
	scene->hogs->count = play->count;
	scene->hogs->asks = play->asks;
	scene->hogs->strangers = play->strangers;
	for (unsigned i = 0; i < play->count; i++)
		scene->hogs->hog[i].kind = play->kind;
	hogs.arg = scene->hogs;
	options.reset_ppm = 0;
	if (play->turn_ns > 0)
		options.turn_ns = play->turn_ns;
	options.log = count_line;
	options.arg = scene;
	scene->sim = sim_create(1, &options);
	sim_process_create(scene->sim, "target", 1, &served);
	sim_process_create(scene->sim, "hogs", 1, &hogs);
}

static void
end(struct scene *scene)
{
	sim_destroy(scene->sim);
	free(scene->hogs);
}

static bool
finished(void *arg)
{
	return ((struct cluster_host *)arg)->finished;
}

/* A host comes at `from_ns`, and has done all its work by `until_ns`; all hogs are there still. */
static void
work_beside(struct scene *scene, struct cluster_host *host, uint64_t from_ns, uint64_t until_ns)
{
	struct sim_process_options options = { .start = cluster_host_start, .arg = host };

	sim_run_until(scene->sim, from_ns, NULL, NULL);
	sim_process_create(scene->sim, "host", 1, &options);
	sim_run_until(scene->sim, until_ns, finished, host);
	assert_true(host->finished && host->done_ios >= host->ios);
	assert_int_equal(host->failures + host->losses + host->wrong, 0);
	assert_int_equal(hogs_connected(scene->hogs), scene->hogs->count);
}

/* ---- for blocks ---- */

/* In memory, where a turn does one range: it takes more than a second until all is done that they want. */
static void
deallocations_keep_nobody_waiting(void **state)
{
	const struct play play = {
		.volume = "mem:64M", .bufs = { 2304, 256 }, .count = 8, .kind = TRIMMER, .turn_ns = 20 * 1000,
	};
	struct cluster_host host = { .addr = "10.0.0.1", .queues = 2, .slot_bytes = 16 * 1024, .ios = 200 };
	struct scene scene;

	(void)state;
	begin(&scene, &play);
	work_beside(&scene, &host, 6 * second / 10, 12 * second / 10);
	end(&scene);
}

/* ---- to be listened to ---- */

/* Its keep-alive time is 5 s, and for want of buffers nothing is read of the connection that it sends on. */
static void
who_is_not_listened_to_is_not_taken_for_dead_at_once(void **state)
{
	const struct play play = {
		.volume = "fault:hold=3000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = WAITER,
	};
	struct scene scene;

	(void)state;
	begin(&scene, &play);
	sim_run_until(scene.sim, 100 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 1);
	assert_int_equal(scene.said, 0);
	sim_run_until(scene.sim, 130 * second, NULL, NULL);
	assert_int_equal(hogs_connected(scene.hogs), 0);
	assert_int_equal(scene.said, 1);
	end(&scene);
}

/* The writes take 8 s.  The last one is heard at once, or when there is a place for it again: 5 s later its host is
 * dead; also where it is the one that came when there was none. */
static void
who_is_listened_to_again_has_all_its_time(void **state)
{
	struct play play = {
		.volume = "fault:delay-write=8000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = WAITER,
	};
	bool waited = false;

	(void)state;
	for (play.asks = 4; play.asks < 24; play.asks++) {
		struct scene scene;

		begin(&scene, &play);
		sim_run_until(scene.sim, 7 * second, NULL, NULL);
		if (hogs_connected(scene.hogs) == 1) {
			waited = true;
			sim_run_until(scene.sim, 13 * second, NULL, NULL);
			assert_int_equal(hogs_connected(scene.hogs), 1);
		}
		sim_run_until(scene.sim, 14 * second, NULL, NULL);
		assert_int_equal(hogs_connected(scene.hogs), 0);
		end(&scene);
	}
	assert_true(waited);
}

/* What is not read of it, because of what it sent itself, gives it 5 s more and not all the time there is. */
static void
who_owes_data_behind_what_keeps_us_from_reading_is_ended_after_10_s(void **state)
{
	const struct play play = {
		.volume = "fault:hold=3000@mem:64M", .bufs = { 16, 16 }, .count = 1, .kind = STALLER,
	};
	struct scene scene;

	(void)state;
	begin(&scene, &play);
	sim_run_until(scene.sim, 9 * second, NULL, NULL);
	assert_int_equal(scene.said, 0);
	sim_run_until(scene.sim, 13 * second, NULL, NULL);
	assert_int_equal(scene.said, 1);
	end(&scene);
}

/* ---- for buffers ---- */

/* Of those for what is asked for others have some at any time, and each may have one: there are never as many free as
 * 1 MiB needs, until it is its turn. */
static void
who_waits_for_much_is_not_overtaken_for_ever(void **state)
{
	const struct play play = {
		.volume = "file:volume.img,size=64M", .bufs = { 2304, 16 }, .count = 8, .kind = SENDER,
		.strangers = true,
	};
	struct cluster_host host = {
		.addr = "10.0.0.1", .queues = 1, .slot_bytes = LONG, .slot_count = CLUSTER_WORKS, .ios = 40,
	};
	struct scene scene;

	(void)state;
	begin(&scene, &play);
	work_beside(&scene, &host, second, 5 * second);
	end(&scene);
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
