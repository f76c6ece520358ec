/*
 * host.c - a host's life: brought up step by step, kept alive, shut down, lost.
 *
 * Bringing up is a table of steps run by one small loop: each step begins one
 * thing that takes time, and its completion calls the next.
 */
#include "host/host.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "host/internal.h"
#include "wire/identify.h"

enum { ADMIN_ENTRIES = 32, RDY_POLL_NS = NS_PER_MS, DEFAULT_CONNECT_MS = 10000 };

static const uint64_t SHUTDOWN_NS = 5000000000;

static const uint32_t cc_enable = NVME_CC_EN | NVME_CC_ENTRIES;
static const uint32_t cc_shutdown = 1u << 14;

struct host {
	struct reactor *reactor;
	struct host_options options;
	struct host_ns ns;
	struct gather *gather;
	struct qpair admin;
	struct qpair *queues;
	uint16_t opened;         /* queues that were opened */
	unsigned step;
	bool up, closing;
	struct hio command;      /* of the step at hand */
	struct hio alive;
	struct timer step_timer; /* the next look at CSTS */
	struct timer limit_timer;
	struct timer alive_timer;
	uint8_t *page;           /* 4096 bytes for Identify */
	struct iovec page_iov;
	void (*closed)(void *owner);
	struct task bury;
};

/* ---- losing it ---- */

static void
stop_timers(struct host *host)
{
	timer_clear(&host->reactor->timers, &host->step_timer);
	timer_clear(&host->reactor->timers, &host->limit_timer);
	timer_clear(&host->reactor->timers, &host->alive_timer);
}

static void
close_all(struct host *host)
{
	stop_timers(host);
	for (unsigned i = 0; i < host->opened; i++)
		qpair_close(&host->queues[i]);
	qpair_close(&host->admin);
}

static void
lose(struct host *host, int error, const char *why)
{
	if (host->closing)
		return;
	host->closing = true;
	host->up = false;
	close_all(host);
	host->options.lost(host, error, why);
}

static void
queue_down(struct qpair *qp, int error)
{
	char why[160];

	snprintf(why, sizeof(why), "%s", qp->why);
	lose(qp->owner, error, why);
}

static void
refused(struct host *host, const char *what, struct nvme_status status)
{
	char why[160];

	snprintf(why, sizeof(why), "%s failed: %s (%u:%02x)", what, nvme_status_text(status, false),
	    status.sct, status.sc);
	lose(host, -EPROTO, why);
}

/* ---- the steps ---- */

static void next_step(struct host *host);
static void bury(struct task *task);

static void
admin(struct host *host, const struct nvme_sqe *sqe, enum hreq_data data, uint32_t length,
    void (*done)(struct hio *))
{
	struct hio *io = &host->command;
	bool room;

	io->req.sqe = *sqe;
	io->req.data = data;
	io->req.length = length;
	host->page_iov = (struct iovec){ host->page, length };
	io->req.iov = &host->page_iov;
	io->req.iov_count = 1;
	io->owner = host;
	io->done = done;
	room = qpair_submit(&host->admin, io);
	assert(room);
}

static bool
step_ok(struct host *host, const struct hio *io, const char *what)
{
	/* Of a connection that is lost the reason is told by queue_down(). */
	if (host->closing || host->admin.state == QPAIR_DOWN)
		return false;
	if (nvme_ok(io->req.status))
		return true;
	refused(host, what, io->req.status);
	return false;
}

static void
property(struct host *host, uint8_t fctype, uint32_t offset, uint32_t value, void (*done)(struct hio *))
{
	struct nvme_sqe sqe = nvme_property_command(fctype, offset, value);

	admin(host, &sqe, HREQ_NONE, 0, done);
}

static void
enabled(struct hio *io)
{
	struct host *host = io->owner;

	if (step_ok(host, io, "enabling the controller"))
		next_step(host);
}

static void
enable(struct host *host)
{
	property(host, NVME_PROPERTY_SET, NVME_CC, cc_enable, enabled);
}

static void wait_ready(struct host *host);

static void
look_again(struct timer *timer)
{
	wait_ready(container_of(timer, struct host, step_timer));
}

static void
csts_read(struct hio *io)
{
	struct host *host = io->owner;

	if (!step_ok(host, io, "reading CSTS"))
		return;
	if (io->req.dw0 & NVME_CSTS_CFS)
		lose(host, -EIO, "the controller says that it failed (CSTS.CFS)");
	else if (io->req.dw0 & NVME_CSTS_RDY)
		next_step(host);
	else
		timer_set(&host->reactor->timers, &host->step_timer, host->reactor->now_ns + RDY_POLL_NS);
}

static void
wait_ready(struct host *host)
{
	property(host, NVME_PROPERTY_GET, NVME_CSTS, 0, csts_read);
}

static void
controller_read(struct hio *io)
{
	struct host *host = io->owner;
	const struct nvme_identify_ctrl *id = (const void *)host->page;
	uint32_t capsule;

	if (!step_ok(host, io, "Identify Controller"))
		return;
	if (le16_get(id->cntlid) != host->admin.cntlid) {
		lose(host, -EPROTO, "Identify names another controller than Connect did");
		return;
	}
	capsule = le32_get(id->ioccsz) * 16;
	host->ns.transfer_max = id->mdts > 0 && id->mdts < 8 ? 4096u << id->mdts : 1024 * 1024;
	host->ns.volatile_cache = id->vwc & 1;
	host->admin.options.incapsule_max = capsule > 64 ? capsule - 64 : 0;
	if (le16_get(id->maxcmd) != 0 && host->options.entries > le16_get(id->maxcmd))
		host->options.entries = le16_get(id->maxcmd);
	next_step(host);
}

static void
identify(struct host *host, uint32_t cns, uint32_t nsid, void (*done)(struct hio *))
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = le32_of(nsid), .cdw10 = le32_of(cns) };

	admin(host, &sqe, HREQ_READ, 4096, done);
}

static void
identify_controller(struct host *host)
{
	identify(host, 1, 0, controller_read);
}

static void
namespace_read(struct hio *io)
{
	struct host *host = io->owner;
	const struct nvme_identify_ns *id = (const void *)host->page;
	const struct nvme_lba_format *format = &id->lbaf[id->flbas & 15];

	if (!step_ok(host, io, "Identify Namespace"))
		return;
	if (le64_get(id->ncap) == 0) {
		lose(host, -ENODEV, "there is no such namespace");
		return;
	}
	if (format->lbads < 9 || format->lbads > 16 || le16_get(format->ms) != 0) {
		lose(host, -EPROTO, "the namespace has a format this host does not know");
		return;
	}
	host->ns.blocks = le64_get(id->nsze);
	host->ns.block_size = 1u << format->lbads;
	next_step(host);
}

static void
identify_namespace(struct host *host)
{
	identify(host, 0, host->options.nsid, namespace_read);
}

static void
queues_granted(struct hio *io)
{
	struct host *host = io->owner;
	uint32_t granted = (io->req.dw0 & 0xffff) + 1;

	if (!step_ok(host, io, "asking for I/O queues"))
		return;
	host->ns.queues = (uint16_t)(granted < host->options.queues ? granted : host->options.queues);
	next_step(host);
}

static void
ask_queues(struct host *host)
{
	uint32_t want = host->options.queues - 1u;
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = le32_of(7), .cdw11 = le32_of(want | want << 16),
	};

	admin(host, &sqe, HREQ_NONE, 0, queues_granted);
}

static void open_queues(struct host *host);

static void
queue_up(struct qpair *qp)
{
	struct host *host = qp->owner;

	if (host->opened < host->ns.queues)
		open_queues(host);
	else
		next_step(host);
}

static void
open_queues(struct host *host)
{
	struct qpair *qp = &host->queues[host->opened];
	struct qpair_options options = host->admin.options;
	int rc;

	options.qid = (uint16_t)(host->opened + 1);
	options.entries = host->options.entries;
	options.cntlid = host->admin.cntlid;
	qp->owner = host;
	qp->up = queue_up;
	qp->down = queue_down;
	rc = qpair_open(qp, host->reactor, host->gather, &options);
	if (rc != 0)
		lose(host, rc, strerror(-rc));
	else
		host->opened++;
}

static void
finish(struct host *host)
{
	timer_clear(&host->reactor->timers, &host->limit_timer);
	host->up = true;
	host->options.ready(host);
}

static void (*const steps[])(struct host *host) = {
	enable, wait_ready, identify_controller, identify_namespace, ask_queues, open_queues, finish,
};

static void
next_step(struct host *host)
{
	steps[host->step++](host);
}

/* ---- keep alive (Base 2.0, 3.9) ---- */

static void
alive_done(struct hio *io)
{
	struct host *host = io->owner;

	if (!host->closing && host->admin.state != QPAIR_DOWN && !nvme_ok(io->req.status))
		refused(host, "Keep Alive", io->req.status);
}

static void
keep_alive(struct timer *timer)
{
	struct host *host = container_of(timer, struct host, alive_timer);

	/* The last one unanswered: half the time has gone without a word of the target. */
	if (host->alive.req.state != HREQ_IDLE) {
		lose(host, -ETIMEDOUT, "the target answers no Keep Alive");
		return;
	}
	host->alive.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_KEEP_ALIVE };
	host->alive.req.data = HREQ_NONE;
	host->alive.owner = host;
	host->alive.done = alive_done;
	(void)qpair_submit(&host->admin, &host->alive);
	timer_set(&host->reactor->timers, timer,
	    host->reactor->now_ns + (uint64_t)host->options.kato_ms * NS_PER_MS / 2);
}

static void
admin_up(struct qpair *qp)
{
	struct host *host = qp->owner;

	if (host->options.kato_ms > 0)
		timer_set(&host->reactor->timers, &host->alive_timer,
		    host->reactor->now_ns + (uint64_t)host->options.kato_ms * NS_PER_MS / 2);
	next_step(host);
}

/* ---- beginning and end ---- */

static void
too_late(struct timer *timer)
{
	struct host *host = container_of(timer, struct host, limit_timer);

	if (host->closing)
		qpair_close(&host->admin); /* which ends the shutdown that waits there */
	else
		lose(host, -ETIMEDOUT, "the target did not answer in time while connecting");
}

int
host_connect(struct reactor *reactor, const struct host_options *options, struct host **out)
{
	struct host *host = arena_alloc(reactor->arena, sizeof(*host));
	struct qpair_options admin_options = {
		.host = NULL, .port = options->port, .entries = ADMIN_ENTRIES,
		.hdgst = options->hdgst, .ddgst = options->ddgst, .sq_flow = options->sq_flow,
		.cntlid = options->cntlid != 0 ? options->cntlid : NVME_CNTLID_DYNAMIC, .kato_ms = options->kato_ms,
		.incapsule_max = NVME_ADMIN_INCAPSULE,
	};
	uint32_t limit_ms = options->connect_ms > 0 ? options->connect_ms : DEFAULT_CONNECT_MS;
	int rc = -ENOMEM;

	assert(options->queues >= 1 && options->queues <= HOST_QUEUES_MAX && options->entries >= 2);
	if (host == NULL)
		return rc;
	host->reactor = reactor;
	host->options = *options;
	host->admin.state = QPAIR_DOWN;
	task_init(&host->bury, bury);
	host->step_timer.fire = look_again;
	host->limit_timer.fire = too_late;
	host->alive_timer.fire = keep_alive;
	host->gather = arena_alloc(reactor->arena, sizeof(*host->gather));
	host->queues = arena_alloc(reactor->arena, options->queues * sizeof(*host->queues));
	host->page = arena_alloc_aligned(reactor->arena, 4096, 4096);
	if (host->gather == NULL || host->queues == NULL || host->page == NULL)
		goto fail;
	admin_options.host = host->options.addr;
	admin_options.subnqn = host->options.subnqn;
	admin_options.hostnqn = host->options.hostnqn;
	memcpy(admin_options.hostid, options->hostid, sizeof(admin_options.hostid));
	host->admin.owner = host;
	host->admin.up = admin_up;
	host->admin.down = queue_down;
	rc = qpair_open(&host->admin, reactor, host->gather, &admin_options);
	if (rc != 0)
		goto fail;
	timer_set(&reactor->timers, &host->limit_timer, reactor->now_ns + (uint64_t)limit_ms * NS_PER_MS);
	*out = host;
	return 0;
fail:
	host_destroy(host);
	return rc;
}

/* Later than whatever called back to us is done with the host. */
static void
bury(struct task *task)
{
	struct host *host = container_of(task, struct host, bury);
	struct arena *arena = host->reactor->arena;

	arena_free(arena, host->gather);
	arena_free(arena, host->queues);
	arena_free(arena, host->page);
	arena_free(arena, host);
}

void
host_destroy(struct host *host)
{
	host->closing = true;
	close_all(host);
	reactor_run_in(host->reactor, PHASE_SEND, &host->bury);
}

static void
shut_down(struct hio *io)
{
	struct host *host = io->owner;
	void (*closed)(void *) = host->closed;
	void *owner = host->options.owner;

	host_destroy(host);
	closed(owner);
}

void
host_disconnect(struct host *host, void (*closed)(void *owner))
{
	if (host->closing)
		return; /* it is being lost: lost() tells */
	host->closed = closed;
	host->closing = true;
	stop_timers(host);
	for (unsigned i = 0; i < host->opened; i++)
		qpair_close(&host->queues[i]);
	host->opened = 0;
	if (host->admin.state == QPAIR_UP && host->command.req.state == HREQ_IDLE) {
		timer_set(&host->reactor->timers, &host->limit_timer, host->reactor->now_ns + SHUTDOWN_NS);
		property(host, NVME_PROPERTY_SET, NVME_CC, cc_enable | cc_shutdown, shut_down);
	} else {
		host_destroy(host);
		closed(host->options.owner);
	}
}

const struct host_ns *
host_namespace(const struct host *host)
{
	return &host->ns;
}

void *
host_owner(const struct host *host)
{
	return host->options.owner;
}

uint32_t
host_nsid(const struct host *host)
{
	return host->options.nsid;
}

struct qpair *
host_queue(struct host *host, unsigned queue)
{
	assert(queue < host->opened);
	return &host->queues[queue];
}
