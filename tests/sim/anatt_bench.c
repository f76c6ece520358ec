#include "anatt_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NQN "nqn.2026-11.local.weir:anatt"

enum { LOG_BYTES = 16 + GROUPS * (32 + 4) };

/* ---- the target ---- */

static void
make_config(struct operated *o, const struct step *step, struct target_config *config)
{
	static struct target_listen listen[LISTENERS];
	static struct target_ana ana[GROUPS];
	static struct target_ns ns[GROUPS];
	static struct target_subsys subsys;

	for (unsigned i = 0; i < LISTENERS; i++)
		listen[i] = (struct target_listen){ .host = "10.0.0.1", .port = (uint16_t)(PORT + i) };
	for (unsigned i = 0; i < GROUPS; i++) {
		ana[i] = (struct target_ana){ .id = i + 1, .state = { step->states[i], NVME_ANA_OPTIMIZED } };
		ns[i] = (struct target_ns){
			.nsid = i + 1, .id = { (uint8_t)(i + 1) }, .volume = o->volumes[i], .ana_group = i + 1,
		};
	}
	subsys = (struct target_subsys){
		.nqn = NQN, .listeners = 3, .ns = ns, .ns_count = GROUPS, .ana = ana, .ana_count = GROUPS,
	};
	*config = (struct target_config){
		.listen = listen, .listen_count = LISTENERS, .subsys = &subsys, .subsys_count = 1,
		.again = step->again,
	};
}

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct operated *o = container_of(told, struct operated, applied);

	(void)why;
	assert_int_equal(rc, 0);
	o->applied_count++;
}

static void
operate(struct timer *timer)
{
	struct operated *o = container_of(timer, struct operated, timer);
	struct target_config config;
	char why[256];

	make_config(o, &o->steps[o->next++], &config);
	o->applied.applied = applied;
	assert_int_equal(target_apply(o->target, &config, &o->applied, why), 0);
	if (o->steps[o->next].at_ms != UINT64_MAX)
		timer_set(&o->reactor0->timers, timer, o->steps[o->next].at_ms * ms);
}

static void
make_memory_fail(struct timer *timer)
{
	struct operated *o = container_of(timer, struct operated, failing);

	o->reactor0->arena->fail_at = 1;
}

/* Meets the moment in which the target changes the view by itself: a config is too early, until it says so. */
static void
hunt(struct timer *timer)
{
	struct operated *o = container_of(timer, struct operated, hunting);
	struct target_config config;
	char why[256];

	if (!target_busy(o->target)) {
		timer_set(&o->reactor0->timers, timer, o->reactor0->now_ns + 1000);
		return;
	}
	o->met++;
	make_config(o, &o->steps[0], &config);
	assert_int_equal(target_apply(o->target, &config, &o->applied, why), -EBUSY);
}

static void
idle(struct target_keeper *keeper)
{
	struct operated *o = container_of(keeper, struct operated, keeper);
	struct target_config config;
	char why[256];

	o->idled++;
	assert_false(target_busy(o->target));
	o->applied.applied = applied;
	make_config(o, &o->steps[0], &config);
	assert_int_equal(target_apply(o->target, &config, &o->applied, why), 0);
}

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct operated *o = arg;
	struct target_config config;
	char why[256];

	if (o->started++ == 0) {
		for (unsigned i = 0; i < GROUPS; i++)
			assert_int_equal(blk_open(reactor, "mem:1M", 4096, &o->volumes[i], why), 0);
		make_config(o, &o->steps[o->next++], &config);
		o->keeper.idle = idle;
		config.keeper = o->hunts ? &o->keeper : NULL;
		assert_int_equal(target_create(reactor->arena, &config, &o->target, why), 0);
	}
	if (reactor->index == 0) {
		o->reactor0 = reactor;
		o->timer.fire = operate;
		o->failing.fire = make_memory_fail;
		if (o->steps[1].at_ms != UINT64_MAX)
			timer_set(&reactor->timers, &o->timer, o->steps[1].at_ms * ms);
		o->hunting.fire = hunt;
		if (o->hunts)
			timer_set(&reactor->timers, &o->hunting, 9990 * ms);
		if (o->fail_ms > 0)
			timer_set(&reactor->timers, &o->failing, o->fail_ms * ms);
	}
	return target_start(o->target, reactor, why);
}

/* ---- the host ---- */

static void
log_read(struct hio *io)
{
	struct looking *h = io->owner;
	const struct nvme_log_ana *log = (const void *)h->page;

	if (h->admin.state != QPAIR_UP)
		return;
	assert_true(nvme_ok(io->req.status));
	h->changes = le64_get(log->changes);
	for (unsigned i = 0; i < GROUPS; i++) {
		struct nvme_log_ana_group group;

		memcpy(&group, h->page + sizeof(*log) + i * (sizeof(group) + 4), sizeof(group));
		assert_int_equal(le32_get(group.id), i + 1);
		h->group_changes[i] = le64_get(group.changes);
		if (h->states[i] != (group.state & 15))
			h->since_ms[i] = h->reactor->now_ns / ms;
		h->states[i] = group.state & 15;
	}
}

static void
block_read(struct hio *io)
{
	struct looking *h = io->owner;

	h->status[io - h->reading] = nvme_sc(io->req.status);
}

static void
look(struct timer *timer)
{
	struct looking *h = container_of(timer, struct looking, poll);

	timer_set(&h->reactor->timers, timer, h->reactor->now_ns + POLL_MS * ms);
	h->command.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = le32_of(UINT32_MAX),
		.cdw10 = le32_of(NVME_LOG_ANA | (LOG_BYTES / 4 - 1) << 16) };
	h->command.req.data = HREQ_READ;
	h->command.req.length = LOG_BYTES;
	h->page_iov = (struct iovec){ h->page, LOG_BYTES };
	h->command.req.iov = &h->page_iov;
	h->command.req.iov_count = 1;
	h->command.done = log_read;
	assert_true(qpair_submit(&h->admin, &h->command));
	for (unsigned i = 0; i < GROUPS; i++) {
		h->reading[i].owner = h;
		h->reading[i].done = block_read;
		h->reading[i].req.sqe = (struct nvme_sqe){ .opcode = NVME_READ, .nsid = le32_of(i + 1) };
		h->reading[i].req.data = HREQ_READ;
		h->reading[i].req.length = sizeof(h->block);
		h->reading[i].req.iov = &h->block_iov;
		h->reading[i].req.iov_count = 1;
		assert_true(qpair_submit(&h->io, &h->reading[i]));
	}
}

static void
event(struct hio *io)
{
	struct looking *h = io->owner;

	if (h->admin.state != QPAIR_UP)
		return;
	assert_int_equal(io->req.dw0, NVME_EVENT_NOTICE | NVME_NOTICE_ANA << 8 | NVME_LOG_ANA << 16);
	h->events++;
	assert_true(qpair_submit(&h->admin, &h->aer));
}

static void
io_up(struct qpair *qp)
{
	struct looking *h = qp->owner;

	h->aer.owner = h;
	h->aer.done = event;
	h->aer.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ASYNC_EVENT };
	assert_true(qpair_submit(&h->admin, &h->aer));
	look(&h->poll);
}

static void
down(struct qpair *qp, int error)
{
	(void)error;
	fail_msg("a connection was lost: %s", qp->why);
}

static void
open_queue(struct looking *h, struct qpair *qp, uint16_t qid, void (*up)(struct qpair *))
{
	const struct qpair_options options = {
		.host = "10.0.0.1", .port = h->port, .qid = qid, .entries = 8, .hostid = { 1 }, .incapsule_max = 8192,
		.cntlid = qid == 0 ? NVME_CNTLID_DYNAMIC : h->admin.cntlid, .subnqn = NQN,
		.hostnqn = "nqn.2026-11.local.weir:host",
	};

	qp->owner = h;
	qp->up = up;
	qp->down = down;
	assert_int_equal(qpair_open(qp, h->reactor, &h->gather, &options), 0);
}

static void
events_chosen(struct hio *io)
{
	struct looking *h = io->owner;

	assert_true(nvme_ok(io->req.status));
	open_queue(h, &h->io, 1, io_up);
}

static void
enabled(struct hio *io)
{
	struct looking *h = io->owner;

	assert_true(nvme_ok(io->req.status));
	io->req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_EVENTS),
		.cdw11 = le32_of(NVME_ASYNC_ANA) };
	io->done = events_chosen;
	assert_true(qpair_submit(&h->admin, io));
}

static void
admin_up(struct qpair *qp)
{
	struct looking *h = qp->owner;

	h->command.req.sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, NVME_CC_EN | NVME_CC_ENTRIES);
	h->command.owner = h;
	h->command.done = enabled;
	assert_true(qpair_submit(qp, &h->command));
}

static int
host_begin(struct reactor *reactor, void *arg)
{
	struct looking *h = arg;

	h->reactor = reactor;
	h->poll.fire = look;
	h->block_iov = (struct iovec){ h->block, sizeof(h->block) };
	open_queue(h, &h->admin, 0, admin_up);
	return 0;
}

/* ---- histories ---- */

void
history_begin(struct history *t, uint64_t seed, const struct step *steps, uint64_t fail_ms, bool hunts)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options served = { .reactor = { 64, 16 }, .start = target_begin, .arg = &t->o };

	*t = (struct history){ .o = { .reactors = 1 + (unsigned)(seed % 3), .steps = steps, .fail_ms = fail_ms,
		.hunts = hunts } };
	t->hosts = calloc(LISTENERS, sizeof(*t->hosts));
	assert_non_null(t->hosts);
	t->sim = sim_create(seed, &options);
	t->process = sim_process_create(t->sim, "target", t->o.reactors, &served);
	sim_run_until(t->sim, ms, NULL, NULL);
	for (unsigned i = 0; i < LISTENERS; i++) {
		struct sim_process_options looks = { .start = host_begin, .arg = &t->hosts[i] };

		t->hosts[i].port = (uint16_t)(PORT + i);
		sim_process_create(t->sim, "host", 1, &looks);
	}
}

void
history_end(struct history *t)
{
	sim_destroy(t->sim);
	free(t->hosts);
}

void
history_run(struct history *t, uint64_t at_ms)
{
	sim_run_until(t->sim, at_ms * ms, NULL, NULL);
}

void
history_expect(const struct history *t, unsigned group, enum nvme_ana_state state, enum nvme_sc sc)
{
	assert_int_equal(t->hosts[0].states[group], state);
	assert_int_equal(t->hosts[0].status[group], sc);
	assert_int_equal(t->hosts[1].states[group], NVME_ANA_OPTIMIZED);
	assert_int_equal(t->hosts[1].status[group], 0);
}
