/*
 * test_cluster.c - the target and hosts that serve production, in virtual time:
 * connect, I/O, disconnect, crashes; nothing lost, nothing leaked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"

enum { HOSTS = 2, MS = 1000 * 1000, LONG_SLOTS = 12, LONG_LESS = 6 };

/* The last is read in three pieces and written by three R2Ts. */
static const uint32_t slot_sizes[] = { 4096, 16384, 65536, 65 * 4096 };

/* A fixed sample, or as many as WEIR_SEEDS says from WEIR_SEED_FIRST on. */
static uint64_t seed_first, seed_count = 25;

struct cluster {
	struct sim *sim;
	struct cluster_target target;
	struct cluster_host hosts[HOSTS];
	struct sim_process *target_process, *host_processes[HOSTS];
};

static bool
all_finished(void *arg)
{
	const struct cluster *c = arg;

	for (unsigned i = 0; i < HOSTS; i++)
		if (!c->hosts[i].finished)
			return false;
	return true;
}

static struct cluster *
cluster_create_cut(uint64_t seed, const char *spec, uint64_t ios, uint32_t reset_ppm)
{
	struct cluster *c = calloc(1, sizeof(*c));
	struct sim_options options = sim_options_default();
	struct sim_process_options target = { .start = cluster_target_start };
	uint32_t slot_bytes;

	assert_non_null(c);
	options.reset_ppm = reset_ppm;
	options.max_ns = 600ULL * 1000 * MS;
	options.max_events = 20 * 1000 * 1000;
	c->sim = sim_create(seed, &options);
	c->target = (struct cluster_target){
		.host = "10.0.0.1", .spec = spec, .reactors = (unsigned)(1 + seed % 3), .stall_timeout_ms = 500,
	};
	target.arg = &c->target;
	/* Every third target has so few buffers that nearly everything has to wait, and every third so many that
	 * they are short now and then. */
	target.reactor = (struct reactor_options){
		.small_bufs = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 40 + (uint32_t)(seed % 97) : 256, .large_bufs = 32,
	};
	c->target_process = sim_process_create(c->sim, "target", c->target.reactors, &target);
	slot_bytes = slot_sizes[seed % 7 % 4];
	for (unsigned i = 0; i < HOSTS; i++) {
		struct sim_process_options host = { .start = cluster_host_start, .arg = &c->hosts[i] };

		c->hosts[i] = (struct cluster_host){
			.addr = "10.0.0.1", .first_slot = i * CLUSTER_SLOTS, .queues = (uint16_t)(1 + (seed + i) % 3),
			.hdgst = seed & 1, .ddgst = seed & 2, .sq_flow = (seed + i) & 4,
			.slot_bytes = slot_bytes, .ios = ios, .marks = seed % 5 > 1,
		};
		if (slot_bytes > TARGET_PIECE) {
			c->hosts[i].first_slot = i * LONG_SLOTS;
			c->hosts[i].slot_count = LONG_SLOTS;
			c->hosts[i].ios = ios / LONG_LESS;
		}
		c->host_processes[i] = sim_process_create(c->sim, "host", 1, &host);
	}
	return c;
}

static struct cluster *
cluster_create(uint64_t seed, const char *spec, uint64_t ios)
{
	return cluster_create_cut(seed, spec, ios, 0);
}

static void
cluster_check(struct cluster *c)
{
	for (unsigned i = 0; i < HOSTS; i++) {
		assert_true(c->hosts[i].finished);
		assert_int_equal(c->hosts[i].wrong, 0);
		assert_int_equal(c->hosts[i].failures, 0);
		assert_true(c->hosts[i].reads > 0);
	}
}

/* The hosts have gone, one perhaps without a word before it enabled its controller, which is given two
 * minutes: the target has closed everything and all its buffers are back. */
static void
nothing_is_leaked(struct cluster *c)
{
	sim_run_until(c->sim, sim_now(c->sim) + 150000ULL * MS, NULL, NULL);
	assert_true(cluster_target_idle(&c->target, c->target_process));
}

static void
cluster_destroy(struct cluster *c)
{
	sim_destroy(c->sim);
	free(c);
}

static void
hosts_read_what_they_wrote(void **state)
{
	uint64_t unreadable = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct cluster *c = cluster_create(seed, seed % 2 == 0 ? "mem:16M" : "file:volume.img,size=16M", 300);

		sim_run_until(c->sim, 30000ULL * MS, all_finished, c);
		cluster_check(c);
		for (unsigned i = 0; i < HOSTS; i++) {
			assert_int_equal(c->hosts[i].losses, 0);
			unreadable += c->hosts[i].unreadable;
		}
		nothing_is_leaked(c);
		cluster_destroy(c);
	}
	assert_true(unreadable > seed_count);
}

static void
what_was_flushed_survives_crashes_of_the_target(void **state)
{
	uint64_t losses = 0, unreadable = 0, told = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct cluster *c = cluster_create(seed, "file:volume.img,size=16M", 1000);

		for (int crash = 0; crash < 3; crash++) {
			sim_run_until(c->sim, sim_now(c->sim) + 2 * MS + sim_below(c->sim, 10 * MS), NULL, NULL);
			sim_process_crash(c->target_process, (unsigned)sim_below(c->sim, 2) * SIM_CRASH_HALF_OPEN);
			sim_run_until(c->sim, sim_now(c->sim) + 1 * MS, NULL, NULL);
			sim_process_start(c->target_process);
		}
		sim_run_until(c->sim, 30000ULL * MS, all_finished, c);
		cluster_check(c);
		losses += c->hosts[0].losses;
		unreadable += c->hosts[0].unreadable;
		told += c->hosts[0].told;
		nothing_is_leaked(c);
		cluster_destroy(c);
	}
	assert_true(unreadable > seed_count);
	assert_true(losses > seed_count); /* most crashes met a host at work */
	assert_true(told > 0);
}

static void
a_host_that_crashes_leaves_nothing_behind(void **state)
{
	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct cluster *c = cluster_create(seed, "mem:16M", 400);

		sim_run_until(c->sim, 1 * MS + sim_below(c->sim, 10 * MS), NULL, NULL);
		sim_process_crash(c->host_processes[1], (unsigned)sim_below(c->sim, 2) * SIM_CRASH_HALF_OPEN);
		c->hosts[1].finished = true;
		sim_run_until(c->sim, 30000ULL * MS, all_finished, c);
		assert_true(c->hosts[0].finished);
		assert_int_equal(c->hosts[0].wrong + c->hosts[0].failures + c->hosts[0].losses, 0);
		nothing_is_leaked(c);
		cluster_destroy(c);
	}
}

/* Writes are slow, so that nearly every loss leaves some at the device: the next association waits for them. */
static void
hosts_that_are_cut_off_come_back(void **state)
{
	uint64_t losses = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct cluster *c = cluster_create_cut(seed, "fault:delay-write=3@mem:16M", 500, 500);

		sim_run_until(c->sim, 60000ULL * MS, all_finished, c);
		cluster_check(c);
		for (unsigned i = 0; i < HOSTS; i++)
			losses += c->hosts[i].losses;
		nothing_is_leaked(c);
		cluster_destroy(c);
	}
	assert_true(losses > seed_count);
}

/* Until there is a way to authenticate, a target that wants it keeps everybody out, and holds nobody. */
static void
who_has_not_authenticated_gets_nothing(void **state)
{
	struct cluster *c = cluster_create(seed_first, "mem:16M", 100);

	(void)state;
	c->target.authenticate = true;
	sim_run_until(c->sim, 2000ULL * MS, NULL, NULL);
	for (unsigned i = 0; i < HOSTS; i++) {
		assert_true(c->hosts[i].losses > 10);
		assert_int_equal(c->hosts[i].done_ios, 0);
		sim_process_crash(c->host_processes[i], 0);
	}
	nothing_is_leaked(c);
	cluster_destroy(c);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_read_what_they_wrote),
		cmocka_unit_test(what_was_flushed_survives_crashes_of_the_target),
		cmocka_unit_test(a_host_that_crashes_leaves_nothing_behind),
		cmocka_unit_test(hosts_that_are_cut_off_come_back),
		cmocka_unit_test(who_has_not_authenticated_gets_nothing),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 0;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
