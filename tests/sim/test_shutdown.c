/*
 * test_shutdown.c - flushes of volumes that take two seconds: who waits for which, where a shutdown, a reset and
 * a write cache that is turned off (feature 06h) meet, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"
#include "wire/feature.h"

static const uint64_t ms = 1000 * 1000;

enum { FLUSH_MS = 2000, PAUSE_MS = 500, SETS = 3, STEPS_MAX = 16 };

/* What a host does, one after the other. */
enum step {
	END, ENABLE, SHUT_DOWN, RESET,
	CACHE_OFF,  /* Set Features, whose answer is not waited for */
	PAUSE,
	UNTIL_DOWN, /* asks until CSTS.SHST is 2 */
};

struct host {
	enum step steps[STEPS_MAX];
	unsigned at;
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin;
	struct hio io, sets[SETS];
	struct timer pause;
	unsigned sets_sent, sets_done;
	uint64_t asked_ns[STEPS_MAX], done_ns[STEPS_MAX]; /* of each step */
	uint64_t set_ns[SETS];                            /* when each was answered, and well; 0: never */
};

static void
submit(struct host *h, struct hio *io, struct nvme_sqe sqe)
{
	io->req.sqe = sqe;
	assert_true(qpair_submit(&h->admin, io));
}

static void
cache_off(struct host *h)
{
	assert_in_range(h->sets_sent, 0, SETS - 1);
	submit(h, &h->sets[h->sets_sent++], (struct nvme_sqe){
		.opcode = NVME_ADMIN_SET_FEATURES, .flags = NVME_PSDT_SGL, .cdw10 = le32_of(NVME_FEATURE_WRITE_CACHE),
		.sgl1 = { .id = NVME_SGL_OFFSET },
	});
}

static void go_on(struct host *h);

static void
go(struct host *h)
{
	const uint32_t on = NVME_CC_EN | NVME_CC_ENTRIES;

	h->asked_ns[h->at] = h->reactor->now_ns;
	switch (h->steps[h->at]) {
	case END:
		return;
	case ENABLE:
		submit(h, &h->io, nvme_property_command(NVME_PROPERTY_SET, NVME_CC, on));
		return;
	case SHUT_DOWN:
		submit(h, &h->io, nvme_property_command(NVME_PROPERTY_SET, NVME_CC, on | 1u << 14));
		return;
	case RESET:
		submit(h, &h->io, nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_ENTRIES));
		return;
	case UNTIL_DOWN:
		submit(h, &h->io, nvme_property_command(NVME_PROPERTY_GET, NVME_CSTS, 0));
		return;
	case CACHE_OFF:
		cache_off(h);
		go_on(h);
		return;
	case PAUSE:
		timer_set(&h->reactor->timers, &h->pause, h->reactor->now_ns + PAUSE_MS * ms);
		return;
	}
}

static void
go_on(struct host *h)
{
	h->done_ns[h->at++] = h->reactor->now_ns;
	go(h);
}

static void
paused(struct timer *timer)
{
	struct host *h = container_of(timer, struct host, pause);

	if (h->steps[h->at] == UNTIL_DOWN)
		submit(h, &h->io, nvme_property_command(NVME_PROPERTY_GET, NVME_CSTS, 0));
	else
		go_on(h);
}

static void
done(struct hio *io)
{
	struct host *h = io->owner;

	if (h->admin.state != QPAIR_UP)
		return; /* the end of the test */
	assert_true(nvme_ok(io->req.status));
	if (h->steps[h->at] == UNTIL_DOWN && (io->req.dw0 & NVME_CSTS_SHST_MASK) != NVME_CSTS_SHST_DONE)
		timer_set(&h->reactor->timers, &h->pause, h->reactor->now_ns + 10 * ms);
	else
		go_on(h);
}

static void
set_done(struct hio *io)
{
	struct host *h = io->owner;

	if (nvme_ok(io->req.status))
		h->set_ns[io - h->sets] = h->reactor->now_ns;
	h->sets_done++;
}

static void
up(struct qpair *qp)
{
	go(qp->owner);
}

static void
down(struct qpair *qp, int error)
{
	(void)qp;
	(void)error;
}

static int
start(struct reactor *reactor, void *arg)
{
	struct host *h = arg;
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = CLUSTER_PORT, .entries = 8, .cntlid = NVME_CNTLID_DYNAMIC, .hostid = { 1 },
		.incapsule_max = 8192, .subnqn = CLUSTER_NQN, .hostnqn = "nqn.2026-11.local.weir:shutdown",
	};

	h->reactor = reactor;
	h->io.owner = h;
	h->io.done = done;
	for (unsigned i = 0; i < SETS; i++) {
		h->sets[i].owner = h;
		h->sets[i].done = set_done;
	}
	h->pause.fire = paused;
	h->admin.owner = h;
	h->admin.up = up;
	h->admin.down = down;
	return qpair_open(&h->admin, reactor, &h->gather, &options);
}

/* A minute of a host that takes these steps; they must all be done by then. */
static struct host *
played(uint64_t seed, const enum step *steps)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(seed, &options);
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = "fault:delay=2000@volatile:seed=1@mem:1M",
		.reactors = 1 + (unsigned)(seed % 3),
	};
	struct host *h = calloc(1, sizeof(*h));
	struct sim_process_options t = { .reactor = { 256, 32 }, .start = cluster_target_start, .arg = &target };
	struct sim_process_options p = { .start = start, .arg = h };

	assert_non_null(h);
	for (unsigned i = 0; steps[i] != END; i++)
		h->steps[i] = steps[i];
	sim_process_create(sim, "target", target.reactors, &t);
	sim_run_until(sim, ms, NULL, NULL);
	sim_process_create(sim, "host", 1, &p);
	sim_run_until(sim, 60000 * ms, NULL, NULL);
	assert_int_equal(h->steps[h->at], END);
	sim_destroy(sim);
	return h;
}

static void
a_shutdown_after_a_reset_is_done_when_a_flush_that_it_began_is(void **state)
{
	static const enum step steps[] = {
		ENABLE, SHUT_DOWN, PAUSE, RESET, ENABLE, SHUT_DOWN, UNTIL_DOWN, PAUSE, RESET, ENABLE, SHUT_DOWN,
		UNTIL_DOWN, END
	};

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct host *h = played(seed, steps);

		/* the rest of the first flush, then its own */
		assert_in_range(h->done_ns[6] - h->asked_ns[5], (2 * FLUSH_MS - PAUSE_MS - 200) * ms,
		    (2 * FLUSH_MS - PAUSE_MS + 200) * ms);
		assert_in_range(h->done_ns[11] - h->asked_ns[10], FLUSH_MS * ms, (FLUSH_MS + 200) * ms);
		free(h);
	}
}

static void
a_set_of_the_write_cache_ends_unanswered_with_a_reset_whatever_comes_between(void **state)
{
	static const enum step steps[] = {
		ENABLE, SHUT_DOWN, PAUSE, CACHE_OFF, RESET, ENABLE, SHUT_DOWN, UNTIL_DOWN, RESET, ENABLE, CACHE_OFF, END
	};

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct host *h = played(seed, steps);

		assert_int_equal(h->set_ns[0], 0);
		assert_in_range(h->set_ns[1] - h->asked_ns[10], FLUSH_MS * ms, (FLUSH_MS + 200) * ms);
		free(h);
	}
}

/* The first two's flush is under way, and goes on for nobody; the third one's is the next. */
static void
sets_that_wait_for_one_another_all_end_unanswered_with_a_reset(void **state)
{
	static const enum step steps[] = { ENABLE, CACHE_OFF, CACHE_OFF, PAUSE, RESET, ENABLE, CACHE_OFF, END };

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct host *h = played(seed, steps);

		assert_int_equal(h->set_ns[0], 0);
		assert_int_equal(h->set_ns[1], 0);
		assert_in_range(h->set_ns[2] - h->asked_ns[1], (2 * FLUSH_MS - 200) * ms, (2 * FLUSH_MS + 200) * ms);
		free(h);
	}
}

static void
a_set_of_the_value_that_another_one_waits_for_waits_for_its_own_flush(void **state)
{
	static const enum step steps[] = { ENABLE, CACHE_OFF, PAUSE, CACHE_OFF, END };

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct host *h = played(seed, steps);

		assert_int_equal(h->sets_done, 2);
		assert_in_range(h->set_ns[0] - h->asked_ns[1], FLUSH_MS * ms, (FLUSH_MS + 200) * ms);
		assert_in_range(h->set_ns[1] - h->set_ns[0], (FLUSH_MS - 200) * ms, (FLUSH_MS + 200) * ms);
		free(h);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shutdown_after_a_reset_is_done_when_a_flush_that_it_began_is),
		cmocka_unit_test(a_set_of_the_write_cache_ends_unanswered_with_a_reset_whatever_comes_between),
		cmocka_unit_test(sets_that_wait_for_one_another_all_end_unanswered_with_a_reset),
		cmocka_unit_test(a_set_of_the_value_that_another_one_waits_for_waits_for_its_own_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
