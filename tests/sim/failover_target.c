/*
 * failover_target.c - the target of failover_bench.h: what it serves, and how that changes while it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "failover_bench.h"

static const uint64_t LOOK_NS = 1000 * 1000;

/* A config, and where all of it lies. */
struct whole {
	struct target_listen listen[FAIL_PATHS];
	struct target_ana ana;
	struct target_ns ns;
	struct target_subsys subsys;
	struct target_config config;
};

static void
make(const struct fail_target *t, struct whole *w)
{
	const struct fail_served *served = &t->wanted;

	*w = (struct whole){
		.ana = { .id = 1 },
		.ns = { .nsid = 1, .id = { served->other ? 2 : 1 }, .blocks = served->blocks,
			.volume = served->other || served->moved ? t->other : t->volume },
	};
	for (uint16_t i = 0; i < FAIL_PATHS; i++) {
		w->listen[i] = (struct target_listen){ .host = "10.0.0.1", .port = (uint16_t)(4420 + i) };
		w->ana.state[i] = served->state[i];
	}
	w->subsys = (struct target_subsys){
		.nqn = t->elsewhere ? CLUSTER_NQN "-2" : CLUSTER_NQN, .listeners = 7,
		.ns = &w->ns, .ns_count = !served->gone, .ana = &w->ana, .ana_count = 1, .entries_max = t->entries,
	};
	w->config = (struct target_config){
		.listen = w->listen, .listen_count = FAIL_PATHS, .subsys = &w->subsys, .subsys_count = 1,
	};
}

/* ---- changes ---- */

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct fail_target *t = container_of(told, struct fail_target, applied);

	(void)why;
	t->applying = false;
	if (rc == 0)
		t->now = t->next;
}

/* It stays open, and may be served again. */
static void
unused(struct target_applied *told, struct blk *volume)
{
	(void)told;
	(void)volume;
}

/* What cannot be applied yet can be the next time. */
static void
operate(struct timer *timer)
{
	struct fail_target *t = container_of(timer, struct fail_target, operator);
	struct whole w;
	char why[256];

	if (!t->operated)
		return;
	timer_set(&t->reactor->timers, timer, t->reactor->now_ns + LOOK_NS);
	if (t->applying || memcmp(&t->now, &t->wanted, sizeof(t->now)) == 0)
		return;
	make(t, &w);
	t->next = t->wanted;
	t->applied = (struct target_applied){ .applied = applied, .unused = unused };
	t->applying = target_apply(t->target, &w.config, &t->applied, why) == 0;
}

bool
fail_target_serves(void *arg)
{
	const struct fail_target *t = arg;

	return memcmp(&t->now, &t->wanted, sizeof(t->now)) == 0;
}

void
fail_other_is_untouched(struct fail *f)
{
	const struct sim_file *file = sim_file_find(f->sim, FAIL_OTHER);
	static uint8_t bytes[FAIL_SLOTS * FAIL_BLOCKS * FAIL_BLOCK];

	assert_non_null(file);
	sim_file_peek(file, 0, bytes, sizeof(bytes), false);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
}

/* One that has enabled no controller has two minutes. */
void
fail_target_is_idle(struct fail *f)
{
	struct target_stats stats;

	f->target.operated = false;
	fail_run(f, 130 * 1000);
	target_stats(f->target.target, &stats);
	assert_int_equal(stats.connections, 0);
	assert_int_equal(sim_process_streams(f->target_process), 0);
	for (unsigned i = 0; i < FAIL_TARGET_REACTORS; i++)
		assert_true(bufs_idle(&sim_process_reactor(f->target_process, i)->bufs));
}

/* ---- its start ---- */

static int
open_all(struct fail_target *t, struct reactor *reactor)
{
	struct whole w;
	char why[256];
	int rc = blk_open(reactor, t->spec, FAIL_BLOCK, &t->volume, why);

	if (rc == 0 && t->operated)
		rc = blk_open(reactor, "file:" FAIL_OTHER ",size=1M", FAIL_BLOCK, &t->other, why);
	if (rc != 0)
		return rc;
	make(t, &w);
	t->now = t->wanted;
	t->applying = false;
	return target_create(reactor->arena, &w.config, &t->target, why);
}

int
fail_target_start(struct reactor *reactor, void *arg)
{
	struct fail_target *t = arg;
	char why[256];
	int rc = t->started++ % FAIL_TARGET_REACTORS == 0 ? open_all(t, reactor) : 0;

	if (rc != 0)
		return rc;
	if (t->operated && reactor->index == 0) {
		t->reactor = reactor;
		t->operator = (struct timer){ .fire = operate };
		timer_set(&reactor->timers, &t->operator, reactor->now_ns + LOOK_NS);
	}
	return target_start(t->target, reactor, why);
}
