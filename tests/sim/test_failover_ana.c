/*
 * test_failover_ana.c - paths are good, bad and in change, the namespace is resized, goes and comes back, also while
 * paths are cut: I/O goes by the best path there is, waits where it may, and ends where there is nothing to wait for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failover_bench.h"
#include "forger.h"
#include "wire/log.h"

static uint64_t seed_first, seed_count = 40;

/* A load that lasts until stop(). */
static void
init(struct fail *f)
{
	fail_init(f);
	f->target.operated = true;
	f->target.spec = "fault:delay-write=1@mem:1M";
	f->ios = UINT64_MAX / 2;
}

/* What is wanted of the target is served. */
static void
serve(struct fail *f)
{
	sim_run_until(f->sim, sim_now(f->sim) + 1000ULL * FAIL_MS, fail_target_serves, &f->target);
	assert_true(fail_target_serves(&f->target));
}

/* The load ends, all is read back, and it was right. */
static void
stop(struct fail *f)
{
	f->ios = f->begun;
	fail_end(f);
	fail_check(f);
}

/* ---- which path ---- */

/* It is silent for a while, and nobody waits. */
static void
nothing_goes_by(struct fail *f, unsigned path)
{
	uint64_t from_ns = sim_now(f->sim);

	fail_cut(f, path, SIM_CUT_HOLD);
	fail_run(f, 80);
	for (unsigned i = 0; i < FAIL_WORKS; i++)
		assert_true(f->works[i].since_ns == 0 || f->works[i].since_ns > from_ns + 20 * FAIL_MS);
	fail_mend(f, path);
	assert_int_equal(f->lost, 0);
}

static void
optimized_paths_are_used_before_others_and_what_one_refuses_goes_by_another(void **state)
{
	static const uint8_t worse[] = {
		NVME_ANA_NON_OPTIMIZED, NVME_ANA_INACCESSIBLE, NVME_ANA_PERSISTENT_LOSS, NVME_ANA_CHANGE,
	};
	struct sim_options sim = fail_sim_options();
	uint64_t resent = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 12; seed++) {
		struct fail f;

		init(&f);
		sim.latency_ns = 300 * 1000; /* the host learns of it so much later than the target */
		f.options.policy = seed & 4 ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN;
		f.target.wanted.state[1] = worse[seed % 4];
		fail_start_loaded(&f, seed, &sim);
		nothing_goes_by(&f, 1);
		f.target.wanted.state[0] = worse[seed % 4];
		f.target.wanted.state[1] = NVME_ANA_NON_OPTIMIZED; /* which is the best there is */
		if (seed % 4 == 0)
			f.target.wanted.state[1] = NVME_ANA_OPTIMIZED;
		serve(&f);
		fail_run(&f, 150);
		nothing_goes_by(&f, 0);
		stop(&f);
		assert_int_equal(f.timeouts + f.stale, 0);
		resent += f.resent;
	}
	assert_true(resent > 12);
}

/* ---- change ---- */

static void
a_change_is_waited_for(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 6; seed++) {
		struct fail f;
		uint64_t done;

		init(&f);
		fail_start_loaded(&f, seed, &sim);
		memset(f.target.wanted.state, NVME_ANA_CHANGE, FAIL_PATHS);
		serve(&f);
		fail_run(&f, 150);
		done = f.done;
		fail_run(&f, 5000);
		assert_int_equal(f.done, done);
		f.target.wanted.state[seed % 2] = NVME_ANA_OPTIMIZED;
		serve(&f);
		fail_run(&f, 150);
		assert_true(f.done > done + FAIL_WORKS);
		stop(&f);
		assert_int_equal(f.timeouts, 0);
	}
}

/* A target behind one that says that a change takes a second at most, which is not so. */
struct hasty {
	struct fail fail;
	struct forger forger;
	unsigned reads;        /* of the states */
	bool says_optimized;   /* whatever they are */
};

enum { ANA_LOG = sizeof(struct nvme_log_ana) + 64 * sizeof(struct nvme_log_ana_group) };

static bool
forge(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	struct hasty *h = forger->owner;
	uint8_t *data = pdu + sizeof(struct pdu_data);
	size_t bytes = get_le32(pdu + 4) - sizeof(struct pdu_data);

	(void)nth;
	if (pdu[0] != PDU_C2H_DATA)
		return true;
	if (bytes == NVME_IDENTIFY_LEN && memcmp(data + 768, CLUSTER_NQN, sizeof(CLUSTER_NQN)) == 0)
		data[offsetof(struct nvme_identify_ctrl, anatt)] = 1;
	h->reads += bytes == ANA_LOG;
	if (bytes == ANA_LOG && h->says_optimized)
		data[sizeof(struct nvme_log_ana) + offsetof(struct nvme_log_ana_group, state)] = NVME_ANA_OPTIMIZED;
	return true;
}

static void
start_hasty(struct hasty *h, uint64_t seed, uint32_t loss_ms, const struct sim_options *sim)
{
	struct sim_process_options forger = { .start = forger_start, .arg = &h->forger };

	init(&h->fail);
	h->fail.paths = 1;
	h->fail.options.loss_ms = loss_ms;
	h->fail.host = "10.0.0.9";
	h->forger = (struct forger){
		.host = "10.0.0.9", .target = "10.0.0.1", .port = 4420, .forge = forge, .owner = h,
	};
	h->reads = 0;
	h->says_optimized = false;
	fail_start(&h->fail, seed, sim);
	sim_process_create(h->fail.sim, "forger", 1, &forger);
	sim_run_until(h->fail.sim, 60000ULL * FAIL_MS, fail_loading, &h->fail);
	fail_run(&h->fail, 5);
	assert_true(h->fail.loading);
}

static void
a_change_is_waited_for_no_longer_than_it_may_take(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 4; seed++) {
		struct hasty h;
		uint64_t done;
		unsigned reads;

		start_hasty(&h, seed, 60000, &sim);
		memset(h.fail.target.wanted.state, NVME_ANA_CHANGE, FAIL_PATHS);
		serve(&h.fail);
		reads = h.reads;
		fail_run(&h.fail, 900);
		assert_true(h.reads > reads + 5);
		fail_run(&h.fail, 250);
		reads = h.reads;
		done = h.fail.done;
		fail_run(&h.fail, 5000);
		assert_int_equal(h.reads, reads);
		assert_int_equal(h.fail.done, done);
		memset(h.fail.target.wanted.state, NVME_ANA_OPTIMIZED, FAIL_PATHS);
		serve(&h.fail);
		fail_run(&h.fail, 50);
		assert_true(h.fail.done > done + FAIL_WORKS);
		stop(&h.fail);
	}
}

/* It goes by what the target says of a path, is refused, asks again, is told the same: but not for ever. */
static void
who_is_led_astray_is_not_for_longer_than_without_a_path(void **state)
{
	struct sim_options sim = fail_sim_options();
	struct hasty h;

	(void)state;
	start_hasty(&h, seed_first, 1000, &sim);
	h.says_optimized = true;
	memset(h.fail.target.wanted.state, NVME_ANA_INACCESSIBLE, FAIL_PATHS);
	serve(&h.fail);
	fail_run(&h.fail, 800);
	assert_int_equal(h.fail.timeouts, 0);
	fail_run(&h.fail, 800);
	assert_true(h.fail.timeouts >= FAIL_WORKS);
	h.says_optimized = false;
	memset(h.fail.target.wanted.state, NVME_ANA_OPTIMIZED, FAIL_PATHS);
	serve(&h.fail);
	stop(&h.fail);
}

/* ---- all of it, while paths are cut ---- */

static void
change_states(struct fail *f)
{
	static const uint8_t states[] = {
		NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED, NVME_ANA_NON_OPTIMIZED, NVME_ANA_INACCESSIBLE,
		NVME_ANA_PERSISTENT_LOSS, NVME_ANA_CHANGE,
	};

	for (unsigned i = 0; i < f->paths; i++)
		f->target.wanted.state[i] = states[sim_below(f->sim, sizeof(states))];
}

/* Half of the slots, or all. */
static void
resize(struct fail *f)
{
	f->target.wanted.blocks = f->target.wanted.blocks == 0 ? FAIL_SLOTS * FAIL_BLOCKS / 2 : 0;
}

/* Where a path is there all the while, the host knows, and nothing waits. */
static void
is_gone(struct fail *f)
{
	uint64_t nodevs, done;

	serve(f);
	fail_run(f, f->options.plain ? 800 : 150); /* where there is no FENCE, what is parked waits for longer */
	nodevs = f->nodevs;
	done = f->done;
	fail_run(f, 50);
	assert_true(f->nodevs >= nodevs + 2 * FAIL_WORKS);
	assert_int_equal(f->done - done, f->nodevs - nodevs);
}

/* It goes, and maybe another one comes in its place, for which nothing is on its way. */
static void
go_and_come(struct fail *f, unsigned path, enum sim_cut how)
{
	f->target.wanted.gone = true;
	fail_run(f, sim_below(f->sim, 5));
	if (how == SIM_CUT_RESET)
		fail_cut(f, path, how);
	if (f->paths > 1)
		is_gone(f);
	else
		fail_run(f, 200);
	f->target.wanted.other = sim_below(f->sim, 2) == 0;
	f->target.wanted.gone = !f->target.wanted.other;
	fail_run(f, sim_below(f->sim, 30));
	if (how == SIM_CUT_RESET)
		fail_mend(f, path);
	fail_run(f, sim_below(f->sim, 200));
	f->target.wanted.other = false;
	f->target.wanted.gone = false;
}

static void
change(struct fail *f)
{
	unsigned what = (unsigned)sim_below(f->sim, 6);

	if (what < 3)
		change_states(f);
	else if (what == 3)
		resize(f);
	else if (what == 4)
		f->target.wanted.gone = !f->target.wanted.gone;
}

/* Its process dies, its machine does not; and it may be another namespace that it comes back with. */
static void
start_anew(struct fail *f)
{
	sim_process_crash(f->target_process, SIM_CRASH_KEEPS_WRITES |
	    (unsigned)sim_below(f->sim, 2) * SIM_CRASH_HALF_OPEN);
	change(f);
	f->target.wanted.other = sim_below(f->sim, 3) == 0;
	fail_run(f, sim_below(f->sim, 100));
	sim_process_start(f->target_process);
	if (!f->target.wanted.other)
		return;
	fail_run(f, 100 + sim_below(f->sim, 200));
	f->target.wanted.other = false;
}

static void
cut(struct fail *f, unsigned path, enum sim_cut how)
{
	fail_cut(f, path, how);
	fail_run(f, sim_below(f->sim, 150));
	change(f);
	fail_run(f, sim_below(f->sim, 300));
	fail_mend(f, path);
}

static void
storm(uint64_t seed, struct fail *f)
{
	struct sim_options sim = fail_sim_options();

	init(f);
	f->may_go = f->may_shrink = true;
	f->paths = 1 + (unsigned)(seed % 3);
	if (seed & 1)
		f->target.spec = "fault:delay-write=1@file:volume.img,size=1M";
	f->options.plain = seed % 4 == 3;
	f->options.policy = seed & 8 ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN;
	f->options.io_timeout_ms = seed & 16 ? 40 : 2000;
	sim.latency_ns = seed % 5 == 0 ? 300 * 1000 : sim.latency_ns;
	fail_start_loaded(f, seed, &sim);
	for (int i = 0; i < 12; i++) {
		unsigned path = (unsigned)sim_below(f->sim, f->paths);
		enum sim_cut how = sim_below(f->sim, 2) ? SIM_CUT_HOLD : SIM_CUT_RESET;

		fail_run(f, sim_below(f->sim, 20));
		if (seed & 1 && sim_below(f->sim, 5) == 0)
			start_anew(f);
		else if (sim_below(f->sim, 3) == 0 && !f->target.wanted.gone)
			go_and_come(f, path, how);
		else
			cut(f, path, how);
	}
	f->target.wanted = (struct fail_served){ .gone = false };
	memset(f->target.wanted.state, NVME_ANA_OPTIMIZED, FAIL_PATHS);
	serve(f);
	fail_run(f, 500);
}

static void
states_and_namespaces_change_while_paths_are_cut(void **state)
{
	uint64_t by_op[LANE_OPS] = { 0 }, resent = 0, lost = 0, nodevs = 0, beyonds = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct fail f;

		storm(seed, &f);
		fail_other_is_untouched(&f);
		stop(&f);
		for (unsigned op = 0; op < LANE_OPS; op++)
			by_op[op] += f.by_op[op];
		resent += f.resent;
		lost += f.lost;
		nodevs += f.nodevs;
		beyonds += f.beyonds;
	}
	for (unsigned op = 0; op < LANE_WRITE_UNCORRECTABLE; op++)
		assert_true(by_op[op] > 10 * seed_count);
	assert_true(resent > 5 * seed_count && lost > 5 * seed_count);
	assert_true(nodevs > 20 * seed_count && beyonds > 5 * seed_count);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimized_paths_are_used_before_others_and_what_one_refuses_goes_by_another),
		cmocka_unit_test(a_change_is_waited_for),
		cmocka_unit_test(a_change_is_waited_for_no_longer_than_it_may_take),
		cmocka_unit_test(who_is_led_astray_is_not_for_longer_than_without_a_path),
		cmocka_unit_test(states_and_namespaces_change_while_paths_are_cut),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
