/*
 * recon.c - the operator who tells the target anew what it serves, and a whole
 * history with him.
 */
#include "recon.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
recon_wrong(struct recon *r, const char *format, ...)
{
	va_list args;
	int at;

	if (r->wrong++ > 0)
		return;
	at = snprintf(r->what, sizeof(r->what), "seed %llu, %llu us: ", (unsigned long long)r->seed,
	    (unsigned long long)sim_now(r->sim) / 1000);
	va_start(args, format);
	vsnprintf(r->what + at, sizeof(r->what) - (size_t)at, format, args);
	va_end(args);
}

/* ---- volumes ---- */

static int
volume_index(const struct recon *r, const struct blk *blk)
{
	for (int i = 0; i < RECON_VOLUMES; i++)
		if (&r->volumes[i].probe.blk == blk)
			return i;
	return -1;
}

static void
volume_end(struct recon *r, int index)
{
	struct recon_volume *v = &r->volumes[index];

	probe_close(&v->probe);
	v->state = VOLUME_NONE;
	(void)r;
}

static void
unused(struct target_applied *applied, struct blk *blk)
{
	struct attempt *attempt = container_of(applied, struct attempt, applied);
	struct recon *r = attempt->r;
	int index = volume_index(r, blk);
	struct recon_volume *v = &r->volumes[index];

	r->counts.unused++;
	if (!attempt->over)
		recon_wrong(r, "a volume is unused before the config is applied");
	if (index < 0 || !attempt->giving[index]) {
		recon_wrong(r, "volume %d is said to be unused by one that did not give it up, or twice", index);
		return;
	}
	if (v->probe.channels != 0 || v->probe.busy != 0)
		recon_wrong(r, "volume %d is unused with %u channels and %u in flight", index, v->probe.channels,
		    v->probe.busy);
	attempt->giving[index] = false;
	attempt->left--;
	v->probe.poisoned = true;
	v->state = VOLUME_IDLE;
	if (rng_below(&r->rng, 2) == 0)
		volume_end(r, index);
}

/* ---- applying ---- */

static struct plan *
plan_now(struct recon *r)
{
	return &r->plans[r->plan_count - 1];
}

/* From now on the target may not touch these, as soon as it says so. */
static void
give_up(struct attempt *attempt, const struct plan *had, const struct plan *has)
{
	struct recon *r = attempt->r;

	for (int i = 0; i < RECON_VOLUMES; i++) {
		if (!plan_uses(had, i) || plan_uses(has, i))
			continue;
		attempt->giving[i] = true;
		attempt->left++;
		r->volumes[i].state = VOLUME_LEAVING;
	}
}

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct attempt *attempt = container_of(told, struct attempt, applied);
	struct recon *r = attempt->r;

	if (attempt->over)
		recon_wrong(r, "applied twice");
	if (r->under_way != attempt)
		recon_wrong(r, "another one was applied");
	attempt->over = true;
	r->under_way = NULL;
	for (int i = 0; i < RECON_VOLUMES; i++)
		r->volumes[i].probe.refuse = PROBE_NOWHERE;
	if ((rc != 0) != attempt->must_fail && r->fail_at == 0)
		recon_wrong(r, "applied: %d, %s", rc, why);
	if (rc != 0) {
		r->told = true;
		r->counts.failed_applies++;
		give_up(attempt, &attempt->plan, attempt->must_fail ? plan_now(r) : plan_now(r) - 1);
		if (attempt->must_fail)
			return;
		r->plan_count--;
		return;
	}
	r->counts.applies++;
	assert(r->plan_count >= 2);
	plan_now(r)[-1].until_ns = sim_now(r->sim);
	give_up(attempt, &plan_now(r)[-1], plan_now(r));
}

static struct attempt *
attempt_make(struct recon *r, const struct plan *plan)
{
	struct attempt *attempt = calloc(1, sizeof(*attempt));

	assert(attempt != NULL);
	attempt->r = r;
	attempt->plan = *plan;
	attempt->applied.applied = applied;
	attempt->applied.unused = unused;
	attempt->next = r->attempts;
	r->attempts = attempt;
	return attempt;
}

/* Those of a plan are fresh for the target: whoever poisoned them gives them back. */
static void
volumes_ready(struct recon *r, const struct plan *plan)
{
	for (int i = 0; i < RECON_VOLUMES; i++) {
		if (!plan_uses(plan, i) || r->volumes[i].state == VOLUME_LEAVING)
			continue;
		r->volumes[i].probe.poisoned = false;
		r->volumes[i].state = VOLUME_PLANNED;
	}
}

static void
volumes_idle(struct recon *r, const struct plan *plan)
{
	for (int i = 0; i < RECON_VOLUMES; i++) {
		if (!plan_uses(plan, i) || plan_uses(plan_now(r), i) || r->volumes[i].state != VOLUME_PLANNED ||
		    (r->under_way != NULL && plan_uses(&r->under_way->plan, i)))
			continue;
		r->volumes[i].state = VOLUME_IDLE;
		r->volumes[i].probe.poisoned = true;
	}
}

static bool
any_leaving(const struct recon *r, const struct plan *plan)
{
	for (int i = 0; i < RECON_VOLUMES; i++)
		if (plan_uses(plan, i) && r->volumes[i].state == VOLUME_LEAVING)
			return true;
	return false;
}

/* One that must not go through: what is said then, or 0 where that comes later. */
static int
spoil(struct recon *r, struct plan *plan, struct recon_config *c, struct attempt *attempt)
{
	int found = -1;

	switch (rng_below(&r->rng, 4)) {
	case 0:
		c->listen[c->config.listen_count++] =
		    (struct target_listen){ .host = "10.0.0.1", .port = RECON_TAKEN_PORT };
		return -EADDRINUSE;
	case 1:
		for (unsigned i = 0; i < c->config.subsys_count && found < 0; i++)
			if (c->subsys[i].ns_count > 0)
				found = (int)i;
		if (found < 0)
			return 0;
		if (rng_below(&r->rng, 2) == 0) {
			struct target_ns *ns = &c->ns[c->subsys[found].nqn[strlen(c->subsys[found].nqn) - 1] - '0'][0];

			ns[c->subsys[found].ns_count] = ns[c->subsys[found].ns_count - 1];
			ns[c->subsys[found].ns_count++].nsid = 100;
		} else {
			const char *nqn = c->subsys[found].nqn;

			c->ns[nqn[strlen(nqn) - 1] - '0'][0].blocks = RECON_BLOCKS + 1;
		}
		return -EINVAL;
	default:
		for (int i = 0; i < RECON_VOLUMES; i++)
			if (plan_uses(plan, i) && !plan_uses(plan_now(r), i))
				found = i;
		if (found < 0)
			return 0;
		r->volumes[found].probe.refuse = (unsigned)rng_below(&r->rng, r->reactors);
		attempt->must_fail = true;
		return 0;
	}
}

static void
apply(struct recon *r, struct plan *plan)
{
	struct recon_config *c = malloc(sizeof(*c));
	struct attempt *attempt = attempt_make(r, plan);
	bool leaving = any_leaving(r, plan);
	char why[256] = "";
	int rc, expected = r->under_way != NULL || leaving ? -EBUSY : 0;

	assert(c != NULL);
	volumes_ready(r, plan);
	plan_grow(r, plan);
	plan_config(r, plan, c);
	if (expected == 0 && r->does & RECON_DOES_FAIL && !r->stop && rng_below(&r->rng, 3) == 0)
		expected = spoil(r, plan, c, attempt);
	plan->from_ns = sim_now(r->sim);
	plan->until_ns = UINT64_MAX;
	rc = target_apply(r->target, &c->config, &attempt->applied, why);
	free(c);
	if (rc != expected && r->fail_at == 0)
		recon_wrong(r, "target_apply: %d (%s), not %d", rc, why, expected);
	if (rc != 0) {
		r->told = r->told || rc == -ENOMEM;
		r->counts.busy_applies += rc == -EBUSY;
		r->counts.failed_applies += rc != -EBUSY;
		attempt->over = true;
		volumes_idle(r, plan);
		if (r->end)
			r->plans_left = 0; /* again */
		return;
	}
	r->under_way = attempt;
	if (!attempt->must_fail) {
		assert(r->plan_count < RECON_PLANS);
		r->plans[r->plan_count++] = *plan;
	}
}

/* ---- the operator ---- */

static void
drained(void *owner)
{
	struct recon *r = owner;

	r->drained = true;
}

static void
operate(struct timer *timer)
{
	struct recon *r = container_of(timer, struct recon, operator);
	uint64_t pause = r->does & RECON_DOES_HASTE ? 10 * 1000 + rng_below(&r->rng, 300 * 1000) :
	    200 * 1000 + rng_below(&r->rng, 4 * RECON_MS);
	struct plan plan = *plan_now(r);

	recon_check_ids(r);
	timer_set(&r->reactor0->timers, timer, r->reactor0->now_ns + pause);
	if (r->plan_count + 2 >= RECON_PLANS || (r->plans_left == 0 && !r->end))
		return;
	if (r->end) {
		if (!r->drained && r->under_way == NULL && r->plans_left == 0) {
			plan_empty(&plan);
			if (r->drain)
				plan.listeners = 3; /* a listener comes and the end as well */
			r->plans_left = UINT32_MAX;
			apply(r, &plan);
			if (r->drain)
				target_drain(r->target, drained, r);
		}
		return;
	}
	if (r->under_way == NULL || rng_below(&r->rng, 4) == 0) {
		plan_mutate(r, &plan);
		r->plans_left--;
		apply(r, &plan);
		if (rng_below(&r->rng, 8) == 0)
			apply(r, &plan); /* the first is under way, or was refused */
	}
}

static void
taken_accepted(struct listener *listener, struct stream *stream)
{
	(void)listener;
	stream->ops->close(stream, true);
}

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct recon *r = arg;
	char why[256];
	int rc;

	if (r->fail_at > 0 && reactor->index == r->fail_reactor)
		reactor->arena->fail_at = r->fail_at;
	if (reactor->index == 0)
		r->reactor0 = reactor;
	if (r->started++ == 0) { /* the first, whichever it is, makes what they share */
		struct recon_config *c = malloc(sizeof(*c));

		assert(c != NULL);
		plan_config(r, &r->plans[0], c);
		rc = target_create(reactor->arena, &c->config, &r->target, why);
		free(c);
		if (rc != 0)
			return rc;
	}
	rc = target_start(r->target, reactor, why);
	if (rc != 0 || reactor->index != 0)
		return rc;
	r->taken = (struct listener){ .accepted = taken_accepted, .host = "10.0.0.1", .port = RECON_TAKEN_PORT };
	rc = reactor->world->listen(reactor, &r->taken);
	assert(rc == 0);
	r->operator.fire = operate;
	timer_set(&reactor->timers, &r->operator, reactor->now_ns + 200 * 1000);
	return 0;
}

/* ---- a history ---- */

static void
on_log(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	struct recon *r = arg;

	(void)process;
	(void)reactor;
	(void)level;
	r->told = r->told || strstr(text, "memory") != NULL;
}

void
recon_create(struct recon *r, uint64_t seed, const struct sim_options *given)
{
	struct sim_options options = *given;
	struct sim_process_options target = { .room = 4 * RECON_BLOCKS * 4096, .start = target_begin, .arg = r };

	r->seed = seed;
	rng_seed(&r->rng, seed ^ 0x5eed);
	r->does = (uint32_t)rng_next(&r->rng) | RECON_DOES_NS;
	r->reactors = 1 + (unsigned)rng_below(&r->rng, RECON_REACTORS);
	r->plans_left = r->plans_left > 0 ? r->plans_left : 40;
	if (r->fail_at > 0) { /* a short history in which nothing else goes wrong */
		r->does = RECON_DOES_NS | RECON_DOES_REPLACE | RECON_DOES_RESIZE | RECON_DOES_ANA | RECON_DOES_GROUP |
		    RECON_DOES_STATIC;
		r->reactors = 2;
		options.log = on_log;
		options.arg = r;
	}
	options.reset_ppm = r->does & RECON_DOES_RESETS ? 2000 : 0;
	r->sim = sim_create(seed, &options);
	plan_empty(&r->plans[0]);
	r->plan_count = 1;
	target.reactor = (struct reactor_options){
		.small_bufs = rng_below(&r->rng, 2) == 0 ? 16 + (uint32_t)rng_below(&r->rng, 64) : 256,
		.large_bufs = 32,
	};
	r->target_process = sim_process_create(r->sim, "target", r->reactors, &target);
	for (unsigned i = 0; i <= RECON_HOSTS; i++) {
		struct recon_host *h = &r->hosts[i];

		*h = (struct recon_host){
			.r = r, .index = i, .discovery = i == RECON_HOSTS,
			.queues = (uint16_t)(1 + rng_below(&r->rng, RECON_QUEUES)),
			.slot_blocks = (uint32_t[]){ 1, 2, RECON_SLOT_BLOCKS }[rng_below(&r->rng, 3)],
			.hdgst = rng_below(&r->rng, 2), .ddgst = rng_below(&r->rng, 2),
			.sq_flow = rng_below(&r->rng, 2),
		};
	}
}

static void
start_hosts(struct recon *r)
{
	for (unsigned i = 0; i <= RECON_HOSTS; i++) {
		struct sim_process_options host = { .start = recon_host_start, .arg = &r->hosts[i] };

		r->host_processes[i] = sim_process_create(r->sim, "host", 1, &host);
	}
}

static void
run_for(struct recon *r, uint64_t ns)
{
	sim_run_until(r->sim, sim_now(r->sim) + ns, NULL, NULL);
}

/* Takes a host away without a word, and gives it back. */
static void
crash_one(struct recon *r)
{
	unsigned i = (unsigned)sim_below(r->sim, RECON_HOSTS + 1);

	sim_process_crash(r->host_processes[i], (unsigned)sim_below(r->sim, 2) * SIM_CRASH_HALF_OPEN);
	recon_host_crashed(&r->hosts[i]);
	run_for(r, RECON_MS / 2 + sim_below(r->sim, 2 * RECON_MS));
	sim_process_start(r->host_processes[i]);
}

static void
check_end(struct recon *r)
{
	struct target_stats stats;

	target_stats(r->target, &stats);
	if (sim_process_streams(r->target_process) != 0 || stats.connections != 0)
		recon_wrong(r, "%u streams and %u connections are left", sim_process_streams(r->target_process),
		    (unsigned)stats.connections);
	for (unsigned i = 0; i < r->reactors; i++) {
		struct reactor *reactor = sim_process_reactor(r->target_process, i);

		if (!bufs_idle(&reactor->bufs))
			recon_wrong(r, "buffers of reactor %u are not back", i);
	}
	if (r->drain) {
		if (!r->drained)
			recon_wrong(r, "it does not end");
		return;
	}
	for (struct attempt *a = r->attempts; a != NULL; a = a->next)
		if (!a->over || a->left != 0)
			recon_wrong(r, "%u volumes were given up and are not unused", a->left);
	for (int i = 0; i < RECON_VOLUMES; i++)
		if (r->volumes[i].state == VOLUME_IDLE)
			volume_end(r, i);
		else if (r->volumes[i].state != VOLUME_NONE)
			recon_wrong(r, "volume %d is still held", i);
	for (unsigned i = 0; i < r->reactors; i++) {
		uint64_t bytes = sim_process_reactor(r->target_process, i)->arena->bytes;

		if (bytes != r->baseline[i])
			recon_wrong(r, "reactor %u holds %llu bytes, not %llu", i, (unsigned long long)bytes,
			    (unsigned long long)r->baseline[i]);
	}
}

void
recon_play(struct recon *r)
{
	run_for(r, 100 * 1000);
	if (!sim_process_running(r->target_process)) {
		r->failed = true;
		r->told = sim_process_error(r->target_process) == -ENOMEM;
		return;
	}
	for (unsigned i = 0; i < r->reactors; i++)
		r->baseline[i] = sim_process_reactor(r->target_process, i)->arena->bytes;
	start_hosts(r);
	while ((r->plans_left > 0 || r->under_way != NULL) && r->wrong == 0 && sim_now(r->sim) < 1000 * RECON_MS) {
		run_for(r, 3 * RECON_MS);
		if (r->does & RECON_DOES_CRASH && sim_below(r->sim, 5) == 0)
			crash_one(r);
	}
	run_for(r, 3 * RECON_MS);
	r->stop = true;
	run_for(r, 600ull * RECON_MS);
	for (unsigned i = 0; i <= RECON_HOSTS && r->wrong == 0; i++)
		recon_host_check(&r->hosts[i]);
	r->end = true;
	run_for(r, 150000ull * RECON_MS);
	if (r->wrong == 0)
		check_end(r);
	if (r->fail_at > 0)
		r->failed = sim_process_reactor(r->target_process, r->fail_reactor)->arena->fail_at == 0;
}

void
recon_destroy(struct recon *r)
{
	sim_destroy(r->sim);
	while (r->attempts != NULL) {
		struct attempt *next = r->attempts->next;

		free(r->attempts);
		r->attempts = next;
	}
}
