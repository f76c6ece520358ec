/*
 * test_ctrlr.c - an association with the real target as the host's admin queue
 * sees it: what it learns, how it is kept, how it is lost, and that nothing of
 * it is left; in virtual time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctrlr_bench.h"
#include "wire/log.h"

static const uint64_t us = 1000, ms = 1000 * 1000, second = 1000 * 1000 * 1000;

/* A fixed sample, or as many as WEIR_SEEDS says from WEIR_SEED_FIRST on. */
static uint64_t seed_first, seed_count = 60;

/* A target and a guest. */
struct scene {
	struct sim *sim;
	struct cluster_target target;
	struct guest guest;
	struct sim_process *target_process, *guest_process;
};

static struct scene *
scene_create(uint64_t seed, uint32_t reset_ppm)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct sim_options options = sim_options_default();
	struct sim_process_options target = { .reactor = { 256, 32 }, .start = cluster_target_start };

	assert_non_null(s);
	options.reset_ppm = reset_ppm;
	s->sim = sim_create(seed, &options);
	s->target = (struct cluster_target){
		.host = "10.0.0.1", .spec = "mem:1M", .reactors = 1 + (unsigned)(seed % 3),
	};
	guest_init(&s->guest);
	s->guest.options.hdgst = seed & 1;
	s->guest.options.ddgst = seed & 2;
	s->guest.options.sq_flow = seed & 4;
	target.arg = &s->target;
	s->target_process = sim_process_create(s->sim, "target", s->target.reactors, &target);
	return s;
}

/* From here on the guest is as the test has set it. */
static void
scene_begin(struct scene *s)
{
	sim_run_until(s->sim, ms, NULL, NULL);
	s->guest_process = guest_process(s->sim, &s->guest);
}

static void
run(struct scene *s, uint64_t ns)
{
	sim_run_until(s->sim, sim_now(s->sim) + ns, NULL, NULL);
}

static void
scene_end(struct scene *s)
{
	sim_destroy(s->sim);
	free(s);
}

/* The guest has gone; a target gives one that did not enable its controller two minutes. */
static void
nothing_is_left(struct scene *s)
{
	assert_true(guest_idle(&s->guest, s->guest_process));
	run(s, 150 * second);
	assert_true(cluster_target_idle(&s->target, s->target_process));
}

/* ---- what it learns ---- */

static void
it_knows_whom_it_has(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		struct scene *s = scene_create(seed, 0);
		const struct ctrlr_facts *facts = &s->guest.facts;

		s->guest.options.queues = (uint16_t)(1 + seed * 20);
		s->guest.options.kato_ms = 4950;
		s->guest.options.events = NVME_ASYNC_NS | NVME_ASYNC_ANA | NVME_ASYNC_DISCOVERY;
		s->guest.leaves = true;
		s->guest.commands = 100;
		scene_begin(s);
		run(s, 10 * second);
		assert_int_equal(s->guest.unopened, 6); /* there was no memory */
		assert_int_equal(s->guest.readies, 1);
		assert_int_equal(s->guest.losts, 0);
		assert_in_range(facts->cntlid, 1, NVME_CNTLID_MAX);
		assert_false(facts->discovery);
		assert_true(facts->fences);
		assert_int_equal(facts->queues, seed * 20 < 128 ? 1 + seed * 20 : 128);
		assert_int_equal(facts->entries_max, 1024);
		assert_int_equal(facts->incapsule_max, 8192);
		assert_int_equal(facts->transfer_max, 1024 * 1024);
		assert_int_equal(facts->kato_ms, 4950);
		assert_int_equal(facts->quiet_ms, 2 * 5000);
		assert_int_equal(facts->aborts, 4);
		assert_true(facts->ana);
		assert_int_equal(facts->anatt_ms, 10000);
		assert_int_equal(facts->ana_groups, 64);
		assert_int_equal(facts->events, NVME_ASYNC_NS | NVME_ASYNC_ANA);
		assert_string_equal(s->guest.subnqn, CLUSTER_NQN);
		assert_int_equal(s->guest.answered, 100);
		assert_int_equal(s->guest.overtakings, 0);
		assert_int_equal(s->guest.closes, 1);
		nothing_is_left(s);
		scene_end(s);
	}
}

static void
a_discovery_controller_is_one(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct scene *s = scene_create(seed, 0);

		strcpy(s->guest.options.subnqn, NVME_DISCOVERY_NQN);
		s->guest.options.kato_ms = seed % 2 == 0 ? 0 : 1000;
		s->guest.options.events = NVME_ASYNC_DISCOVERY | NVME_ASYNC_SMART;
		s->guest.end_ns = 110 * second;
		s->guest.by_close = true;
		scene_begin(s);
		run(s, 100 * second);
		assert_int_equal(s->guest.readies, 1);
		assert_int_equal(s->guest.losts, 0);
		assert_true(s->guest.facts.discovery);
		assert_false(s->guest.facts.fences);
		assert_int_equal(s->guest.facts.queues, 0);
		assert_int_equal(s->guest.facts.events, NVME_ASYNC_DISCOVERY);
		assert_int_equal(s->guest.facts.quiet_ms, seed % 2 == 0 ? 0 : 2000);
		run(s, 20 * second);
		assert_int_equal(s->guest.closes, 1);
		nothing_is_left(s);
		scene_end(s);
	}
}

/* ---- why it may not come up ---- */

static void
refused(uint64_t seed, struct scene *s, int error, bool final, enum nvme_sc sc, const char *why)
{
	scene_begin(s);
	run(s, second);
	assert_int_equal(s->guest.readies, 0);
	assert_int_equal(s->guest.losts, 1);
	assert_int_equal(s->guest.error, error);
	assert_int_equal(s->guest.final, final);
	assert_int_equal(nvme_sc(s->guest.connect_status), sc);
	if (strstr(s->guest.why, why) == NULL)
		fail_msg("seed %u: %s", (unsigned)seed, s->guest.why);
	nothing_is_left(s);
	scene_end(s);
}

static void
a_refusal_is_told_with_its_reason(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct scene *s = scene_create(seed, 0);

		strcpy(s->guest.options.subnqn, "nqn.2026-11.local.weir:another");
		refused(seed, s, -ECONNREFUSED, true, NVME_SC_CONNECT_PARAMS, "the NQN of the subsystem");
		s = scene_create(seed, 0);
		s->guest.options.port = 4421;
		refused(seed, s, -ECONNREFUSED, false, NVME_SC_SUCCESS, "refused");
		s = scene_create(seed, 0);
		s->target.authenticate = true;
		refused(seed, s, -EACCES, false, NVME_SC_SUCCESS, "authenticate");
		s = scene_create(seed, 0);
		strcpy(s->guest.options.subnqn, NVME_DISCOVERY_NQN);
		s->guest.options.queues = 1;
		refused(seed, s, -EPROTO, false, NVME_SC_SUCCESS, "discovery controller");
	}
}

/* ---- keeping it ---- */

static void
an_idle_one_is_kept_and_a_target_that_falls_silent_is_missed_within_kato(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct scene *s = scene_create(seed, 0);
		uint64_t silent_ns;

		s->guest.options.kato_ms = 300 + (uint32_t)seed * 40;
		s->guest.options.queues = 1;
		s->guest.options.events = NVME_ASYNC_NS;
		scene_begin(s);
		run(s, 300 * second + sim_below(s->sim, second));
		assert_int_equal(s->guest.losts, 0);
		silent_ns = sim_now(s->sim);
		sim_process_crash(s->target_process, SIM_CRASH_HALF_OPEN);
		run(s, 10 * second);
		assert_int_equal(s->guest.losts, 1);
		assert_int_equal(s->guest.error, -ETIMEDOUT);
		assert_string_equal(s->guest.why, "the target answers no Keep Alive");
		/* A moment more, for the answer to the last one may have been under way. */
		assert_in_range(s->guest.lost_ns - silent_ns, s->guest.options.kato_ms * ms / 2 - 5 * ms,
		    s->guest.options.kato_ms * ms + 5 * ms);
		assert_true(guest_idle(&s->guest, s->guest_process));
		scene_end(s);
	}
}

/* ---- losing it ---- */

static bool
guest_finished(void *arg)
{
	const struct guest *g = arg;

	return g->closes > 0;
}

static void
commands_end_once_each_though_the_target_crashes(void **state)
{
	uint64_t lost = 0, unsent = 0;
	unsigned losts = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct scene *s = scene_create(seed, seed % 2 == 0 ? 0 : 3000);
		struct guest *g = &s->guest;

		g->commands = 2000;
		g->again = g->leaves = true;
		g->options.queues = 2;
		g->options.kato_ms = 100;
		g->options.connect_ms = 200;
		scene_begin(s);
		for (int crash = 0; crash < 3 && !guest_finished(g); crash++) {
			sim_run_until(s->sim, sim_now(s->sim) + sim_below(s->sim, 5 * ms), guest_finished, g);
			sim_process_crash(s->target_process, (unsigned)sim_below(s->sim, 2) * SIM_CRASH_HALF_OPEN);
			run(s, ms);
			sim_process_start(s->target_process);
		}
		sim_run_until(s->sim, sim_now(s->sim) + 60 * second, guest_finished, g);
		assert_int_equal(g->closes, 1);
		assert_int_equal(g->submitted, 2000);
		assert_int_equal(g->done, 2000);
		assert_int_equal(g->answered + g->lost_cmds + g->unsent, 2000);
		assert_int_equal(g->opened, g->losts + 1);
		lost += g->lost_cmds;
		unsent += g->unsent;
		losts += g->losts;
		run(s, ms);
		nothing_is_left(s);
		scene_end(s);
	}
	/* All of it did happen. */
	assert_true(losts > seed_count && lost > 8 * seed_count && unsent > 8 * seed_count);
}

/* Where it may wait; the simulation has no silence before ICReq. */
static const char *const waits[] = {
	"it takes connections and says nothing (to ICReq); is it an NVMe/TCP target?", "Connect",
	"reading what the controller can (CAP)", "enabling the controller (CC.EN)",
	"asking whether the controller is ready (CSTS)", "Identify Controller", "asking for I/O queues",
	"asking for what Weir adds", "asking for events",
};

enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

static void
silence_in_any_step_ends_in_time_and_is_told(void **state)
{
	static const char *const before = "the target did not answer in time: ";
	unsigned seen[WAITS] = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct scene *s = scene_create(seed % 8, 0);
		struct guest *g = &s->guest;
		uint64_t begun_ns;

		g->options.queues = 1;
		g->options.events = NVME_ASYNC_NS;
		g->options.connect_ms = 30;
		scene_begin(s);
		begun_ns = sim_now(s->sim);
		run(s, seed * 5 * us);
		if (g->readies == 0) {
			sim_process_crash(s->target_process, SIM_CRASH_HALF_OPEN);
			run(s, second);
			assert_int_equal(g->losts + g->readies, 1); /* the last answer may have been under way */
		}
		if (g->error != 0 && g->error != -ECONNREFUSED) {
			assert_int_equal(g->error, -ETIMEDOUT);
			assert_in_range(g->lost_ns - begun_ns, 30 * ms, 31 * ms);
			assert_memory_equal(g->why, before, strlen(before));
			for (unsigned i = 0; i < WAITS; i++)
				seen[i] += strcmp(g->why + strlen(before), waits[i]) == 0;
			assert_true(guest_idle(g, s->guest_process));
		}
		scene_end(s);
	}
	for (unsigned i = 0; i < WAITS; i++)
		if (seen[i] == 0)
			fail_msg("no silence was met at: %s", waits[i]);
}

/* ---- leaving it ---- */

static void
it_can_be_ended_at_any_moment(void **state)
{
	unsigned early = 0, closes = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct scene *s = scene_create(seed % 8, seed % 5 == 0 ? 20000 : 0);
		struct guest *g = &s->guest;

		g->commands = 500;
		g->options.queues = 1;
		g->options.kato_ms = 100;
		g->options.events = NVME_ASYNC_NS;
		g->by_close = seed & 8;
		g->end_ns = ms + seed * 6 * us;
		scene_begin(s);
		run(s, second);
		assert_int_equal(g->closes + g->losts, g->by_close || g->losts > 0 ? 1 : 0);
		assert_int_equal(g->done, g->submitted);
		early += g->readies == 0 && g->losts == 0;
		closes += g->closes;
		nothing_is_left(s);
		scene_end(s);
	}
	assert_true(early > 20 && closes > 100);
}

/* By who is told that it is ready, or that a command is done: also because the connection is lost. */
static void
it_can_be_ended_by_any_who_is_called(void **state)
{
	unsigned closes = 0, lost = 0;

	(void)state;
	for (uint64_t seed = 3 * seed_first; seed < 3 * (seed_first + seed_count); seed++) {
		struct scene *s = scene_create(seed, seed % 2 == 0 ? 0 : 3000);
		struct guest *g = &s->guest;

		g->commands = 1000;
		g->again = true;
		g->options.kato_ms = 100;
		g->by_close = seed & 8;
		g->end_when_ready = seed % 5 == 0;
		g->end_after = 1 + seed % 250 * 4;
		scene_begin(s);
		run(s, 500 * us + sim_below(s->sim, 2 * ms));
		sim_process_crash(s->target_process, 0);
		run(s, ms);
		sim_process_start(s->target_process);
		run(s, 5 * second);
		assert_int_equal(g->done, g->submitted);
		assert_int_equal(g->closes, g->by_close && g->ended);
		closes += g->closes;
		lost += g->lost_cmds > 0;
		nothing_is_left(s);
		scene_end(s);
	}
	assert_true(closes > seed_count && lost > seed_count);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_knows_whom_it_has),
		cmocka_unit_test(a_discovery_controller_is_one),
		cmocka_unit_test(a_refusal_is_told_with_its_reason),
		cmocka_unit_test(an_idle_one_is_kept_and_a_target_that_falls_silent_is_missed_within_kato),
		cmocka_unit_test(commands_end_once_each_though_the_target_crashes),
		cmocka_unit_test(silence_in_any_step_ends_in_time_and_is_told),
		cmocka_unit_test(it_can_be_ended_at_any_moment),
		cmocka_unit_test(it_can_be_ended_by_any_who_is_called),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 0;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
