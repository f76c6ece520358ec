/*
 * test_association.c - how long a target keeps a controller whose host says nothing more, in virtual time: one that
 * was shut down, and one that it could not hear.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster.h"

static const uint64_t second = 1000 * 1000 * 1000, ms = 1000 * 1000;

/* A host that enables its controller, shuts it down, and keeps the connection. */
struct quiet {
	bool returns;         /* and enables it again after 100 s, for 500 s */
	uint32_t kato_ms;     /* above 0: it does not shut it down, */
	uint64_t speaks_ns;   /* but says each so often that it lives; 0: never */
	struct reactor *reactor;
	struct gather gather;
	struct qpair admin;
	struct hio io;
	struct timer again;
	unsigned step;
	uint32_t csts;        /* after the shutdown */
	uint64_t shut_ns, down_ns;
};

static const struct step {
	uint8_t fctype;
	uint32_t offset, value;
} steps[] = {
	{ NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES },
	{ NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | 1u << 14 | NVME_CC_ENTRIES },
	{ NVME_PROPERTY_GET, NVME_CSTS, 0 },
	/* and after a while: */
	{ NVME_PROPERTY_SET, NVME_CC, 0 },
	{ NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES },
};

enum { FIRST_STEPS = 3, ALL_STEPS = 5 };

static void
next_step(struct quiet *q)
{
	const struct step *step = &steps[q->step++];

	q->io.req.sqe = nvme_property_command(step->fctype, step->offset, step->value);
	assert_true(qpair_submit(&q->admin, &q->io));
}

static void
step_done(struct hio *io)
{
	struct quiet *q = io->owner;

	if (q->admin.state != QPAIR_UP)
		return;
	assert_true(nvme_ok(io->req.status));
	if (q->kato_ms > 0) {
		if (q->speaks_ns > 0)
			timer_set(&q->reactor->timers, &q->again, q->reactor->now_ns + q->speaks_ns);
	} else if (q->step == FIRST_STEPS) {
		q->csts = io->req.dw0;
		q->shut_ns = q->reactor->now_ns;
		if (q->returns)
			timer_set(&q->reactor->timers, &q->again, q->shut_ns + 100 * second);
	} else if (q->step < ALL_STEPS) {
		next_step(q);
	} else {
		q->returns = false;
		q->step = 1;
		timer_set(&q->reactor->timers, &q->again, q->reactor->now_ns + 500 * second);
	}
}

static void
return_now(struct timer *timer)
{
	struct quiet *q = container_of(timer, struct quiet, again);

	if (q->kato_ms == 0) {
		next_step(q);
		return;
	}
	q->io.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_KEEP_ALIVE };
	assert_true(qpair_submit(&q->admin, &q->io));
}

static void
up(struct qpair *qp)
{
	next_step(qp->owner);
}

static void
down(struct qpair *qp, int error)
{
	struct quiet *q = qp->owner;

	(void)error;
	q->down_ns = q->reactor->now_ns;
}

static int
quiet_start(struct reactor *reactor, void *arg)
{
	struct quiet *q = arg;
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = CLUSTER_PORT, .entries = 8, .cntlid = NVME_CNTLID_DYNAMIC, .hostid = { 1 },
		.kato_ms = q->kato_ms, .incapsule_max = 8192, .subnqn = CLUSTER_NQN,
		.hostnqn = "nqn.2026-11.local.weir:quiet",
	};

	q->reactor = reactor;
	q->io.owner = q;
	q->io.done = step_done;
	q->again.fire = return_now;
	q->admin.owner = q;
	q->admin.up = up;
	q->admin.down = down;
	return qpair_open(&q->admin, reactor, &q->gather, &options);
}

static uint64_t
connections(const struct cluster_target *target)
{
	struct target_stats stats;

	target_stats(target->target, &stats);
	return stats.connections;
}

static void
an_association_is_kept_two_minutes_after_a_shutdown_and_then_freed(void **state)
{
	struct sim_options options = sim_options_default();

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sim *sim = sim_create(seed, &options);
		struct cluster_target target = {
			.host = "10.0.0.1", .spec = "mem:1M", .reactors = 1 + (unsigned)(seed % 3),
		};
		struct quiet *hosts = calloc(2, sizeof(*hosts));
		struct sim_process_options t = {
			.reactor = { 256, 32 }, .start = cluster_target_start, .arg = &target,
		};
		struct sim_process *process;
		size_t before = 0, after = 0;

		assert_non_null(hosts);
		process = sim_process_create(sim, "target", target.reactors, &t);
		sim_run_until(sim, second / 1000, NULL, NULL);
		for (unsigned i = 0; i < target.reactors; i++)
			before += sim_process_reactor(process, i)->arena->bytes;
		hosts[1].returns = true;
		for (int i = 0; i < 2; i++) {
			struct sim_process_options h = { .start = quiet_start, .arg = &hosts[i] };

			sim_process_create(sim, "host", 1, &h);
		}
		sim_run_until(sim, 119 * second, NULL, NULL);
		assert_int_equal(hosts[0].csts & NVME_CSTS_SHST_MASK, 2 << 2);
		assert_int_equal(connections(&target), 2);
		sim_run_until(sim, 121 * second, NULL, NULL);
		assert_int_equal(connections(&target), 1); /* the one that came back is not judged by its shutdown */
		assert_in_range(hosts[0].down_ns - hosts[0].shut_ns, 119 * second, 121 * second);
		sim_run_until(sim, 600 * second, NULL, NULL);
		assert_int_equal(connections(&target), 1);
		assert_int_equal(hosts[1].down_ns, 0);
		sim_run_until(sim, 725 * second, NULL, NULL); /* it has shut down again */
		assert_in_range(hosts[1].down_ns - hosts[1].shut_ns, 119 * second, 121 * second);
		assert_true(cluster_target_idle(&target, process));
		for (unsigned i = 0; i < target.reactors; i++)
			after += sim_process_reactor(process, i)->arena->bytes;
		assert_int_equal(after, before);
		sim_destroy(sim);
		free(hosts);
	}
}

/* Who has spoken in time is not judged late because nobody looked; who has not is. */
static void
who_has_spoken_while_the_target_stood_still_is_kept(void **state)
{
	struct sim_options options = sim_options_default();

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim *sim = sim_create(seed, &options);
		struct cluster_target target = {
			.host = "10.0.0.1", .spec = "mem:1M", .reactors = 1 + (unsigned)(seed % 3),
		};
		struct quiet hosts[2] = {
			{ .kato_ms = 200, .speaks_ns = (105 + 4 * seed) * ms }, { .kato_ms = 200 },
		};
		struct sim_process_options t = {
			.reactor = { 256, 32 }, .start = cluster_target_start, .arg = &target,
		};
		struct sim_process *process = sim_process_create(sim, "target", target.reactors, &t);

		sim_run_until(sim, ms, NULL, NULL);
		for (int i = 0; i < 2; i++) {
			struct sim_process_options h = { .start = quiet_start, .arg = &hosts[i] };

			sim_process_create(sim, "host", 1, &h);
		}
		sim_run_until(sim, 100 * ms, NULL, NULL);
		for (unsigned i = 0; i < target.reactors; i++)
			sim_process_pause(process, i, second);
		sim_run_until(sim, 3 * second, NULL, NULL);
		assert_int_equal(hosts[0].down_ns, 0);
		assert_in_range(hosts[1].down_ns, second, second + 10 * ms);
		assert_int_equal(connections(&target), 1);
		sim_destroy(sim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_association_is_kept_two_minutes_after_a_shutdown_and_then_freed),
		cmocka_unit_test(who_has_spoken_while_the_target_stood_still_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
