/*
 * test_failover_queue.c - queues that nobody polls, small ones, such as memory fails for, and the next life of a host
 * that crashed: nothing is overtaken, and what cannot be is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failover_bench.h"
#include "forger.h"

static uint64_t seed_first, seed_count = 40;

/* ---- not polled ---- */

static bool
has_given_up(void *arg)
{
	const struct fail *f = arg;

	return f->timeouts > 0;
}

/* Also what waits for a path meanwhile. */
static bool
has_given_up_all(void *arg)
{
	const struct fail *f = arg;

	return f->timeouts >= FAIL_WORKS;
}

/*
 * The second queue has nothing to do while a path is lost and a write of the first one is given up.  It is called upon
 * as soon as its user has learned of that: it polls then, or is in the middle of a turn that has begun long before.
 */
static bool
called_upon_late(uint64_t seed, bool in_a_turn)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;
	bool given_up;

	fail_init(&f);
	sim.latency_ns = 300 * 1000;
	f.options.plain = true;
	f.options.loss_ms = 300;
	f.options.io_timeout_ms = 20; /* so that the host gives up long before the target */
	f.options.kato_ms = 2000;
	f.target.spec = "fault:delay-write=1@mem:1M";
	f.ios = 1500;
	f.shunned = 2;
	fail_start_loaded(&f, seed, &sim);
	fail_send_away(&f, 1, in_a_turn ? 550 : 5000, in_a_turn);
	fail_cut(&f, 1, SIM_CUT_HOLD); /* it would go by the first one first */
	sim_run_until(f.sim, sim_now(f.sim) + (in_a_turn ? 550u : 1500u) * FAIL_MS,
	    in_a_turn ? has_given_up : has_given_up_all, &f);
	given_up = has_given_up(&f);
	f.shunned = 1;
	fail_run(&f, sim_below(f.sim, 20));
	fail_mend(&f, 1);
	fail_end(&f);
	fail_check(&f);
	return given_up;
}

static void
a_queue_that_nobody_polls_overtakes_nothing(void **state)
{
	unsigned given_up = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		given_up += called_upon_late(seed, false);
	assert_true(given_up > seed_count / 2);
}

static void
a_queue_in_a_long_turn_overtakes_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++)
		called_upon_late(seed, true);
}

/* ---- small ones ---- */

/* There is never room for two at a time where those behind take each place that gets free. */
static void
a_compare_and_write_has_its_turn_in_a_small_queue(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;

		fail_init(&f);
		f.target.entries = 3;
		f.shunned = 2;
		f.paths = 1;
		f.ios = 2000;
		fail_start_loaded(&f, seed, &sim);
		fail_end(&f);
		fail_check(&f);
		assert_true(f.by_op[LANE_COMPARE_AND_WRITE] > 100);
		assert_true(f.longest_ns < 40 * FAIL_MS);
	}
}

/* The first of a controller, of which the host learns what it can. */
static bool
has_no_fused(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	uint8_t *data = pdu + sizeof(struct pdu_data);

	(void)forger;
	if (pdu[0] == PDU_C2H_DATA && nth == 0 && memcmp(data + 768, CLUSTER_NQN, sizeof(CLUSTER_NQN)) == 0)
		memset(data + offsetof(struct nvme_identify_ctrl, fuses), 0, sizeof(le16));
	return true;
}

static void
a_compare_and_write_that_cannot_be_is_refused_at_once(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (unsigned small = 0; small < 2; small++) {
		struct forger forger = {
			.host = "10.0.0.9", .target = "10.0.0.1", .port = 4420, .forge = has_no_fused,
		};
		struct sim_process_options between = { .start = forger_start, .arg = &forger };
		struct lane_io io = { .op = LANE_COMPARE_AND_WRITE, .nsid = 1, .blocks = 1, .iov_count = 1 };
		struct iovec iov = { &forger, 2 * FAIL_BLOCK };
		struct fail f;

		fail_init(&f);
		f.fused = false;
		f.paths = 1;
		f.host = small ? "10.0.0.1" : forger.host;
		f.target.entries = small ? 2 : 0; /* it would need three */
		fail_start(&f, seed_first, &sim);
		sim_process_create(f.sim, "forger", 1, &between);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		io.iov = &iov;
		assert_int_equal(lane_submit(f.lanes[0], &io), -EOPNOTSUPP);
		fail_end(&f);
		fail_check(&f);
	}
}

/* ---- memory ---- */

struct reconnect {
	struct fail *f;
	uint16_t before;
};

static bool
has_another_id(void *arg)
{
	const struct reconnect *r = arg;
	struct subsys_path path;

	subsys_path_get(r->f->subsys, 0, &path);
	return path.cntlid != r->before;
}

/* The lanes have still been told nothing else than what was true of the path before it was lost. */
static void
a_path_is_not_used_before_it_is_known_what_it_leads_to(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;
		struct reconnect r = { .f = &f };
		struct subsys_path path;

		fail_init(&f);
		f.target.operated = f.may_go = true;
		f.paths = 1;
		f.ios = 1000;
		fail_start_loaded(&f, seed, &sim);
		subsys_path_get(f.subsys, 0, &path);
		r.before = path.cntlid;
		f.reactors[0]->arena->fail_at = 1;
		f.target.wanted.other = true;
		fail_cut(&f, 0, SIM_CUT_RESET);
		sim_run_until(f.sim, sim_now(f.sim) + 50 * FAIL_MS, fail_target_serves, &f.target);
		assert_int_equal(f.reactors[0]->arena->fail_at, 0);
		fail_mend(&f, 0);
		sim_run_until(f.sim, sim_now(f.sim) + 90 * FAIL_MS, has_another_id, &r);
		assert_true(has_another_id(&r));
		f.reactors[0]->arena->fail_at = 1;
		fail_run(&f, 40);
		assert_int_equal(f.reactors[0]->arena->fail_at, 0);
		fail_other_is_untouched(&f);
		fail_run(&f, 200);
		assert_true(f.nodevs > 0);
		f.target.wanted.other = false;
		fail_end(&f);
		fail_check(&f);
		assert_int_equal(f.lost, 1);
	}
}

/* ---- another life ---- */

/* Its target ends the association that it had before it lets it have another one. */
static void
a_host_that_crashed_finds_what_stays_as_it_is(void **state)
{
	struct sim_options sim = fail_sim_options();
	unsigned crashes = 0;

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + seed_count; seed++) {
		struct fail f;

		fail_init(&f);
		f.options.plain = seed % 4 == 3;
		f.ios = 1500;
		sim.latency_ns = seed % 2 ? 300 * 1000 : sim_options_default().latency_ns;
		fail_start_loaded(&f, seed, &sim);
		for (int i = 0; i < 10 && !f.loaded; i++) {
			fail_run(&f, 1 + sim_below(f.sim, 30));
			if (f.loaded)
				break;
			fail_host_crash(&f);
			crashes++;
			sim_run_until(f.sim, sim_now(f.sim) + 10000ULL * FAIL_MS, fail_loading, &f);
			assert_true(f.loading);
		}
		fail_end(&f);
		fail_check(&f);
	}
	assert_true(crashes > 5 * seed_count);
}

/* It has a path: what it waits for is room, for longer than it would wait for a path. */
static void
who_waits_for_room_is_not_given_up(void **state)
{
	struct sim_options sim = fail_sim_options();

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 5; seed++) {
		struct fail f;

		fail_init(&f);
		f.paths = 1;
		f.target.entries = 3;
		f.target.spec = "fault:delay-write=30@mem:1M";
		f.options.loss_ms = 40;
		fail_start_loaded(&f, seed, &sim);
		fail_end(&f);
		assert_int_equal(f.timeouts, 0);
		assert_true(f.longest_ns > 60 * FAIL_MS);
		fail_check(&f);
	}
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST"), *count = getenv("WEIR_SEEDS");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_that_nobody_polls_overtakes_nothing),
		cmocka_unit_test(a_queue_in_a_long_turn_overtakes_nothing),
		cmocka_unit_test(a_compare_and_write_has_its_turn_in_a_small_queue),
		cmocka_unit_test(a_compare_and_write_that_cannot_be_is_refused_at_once),
		cmocka_unit_test(a_path_is_not_used_before_it_is_known_what_it_leads_to),
		cmocka_unit_test(a_host_that_crashed_finds_what_stays_as_it_is),
		cmocka_unit_test(who_waits_for_room_is_not_given_up),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	seed_count = count != NULL ? strtoull(count, NULL, 10) : seed_count;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
