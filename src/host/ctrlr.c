#include "host/ctrlr.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "host/ctrlr_steps.h"

/*
 * The queue is never quite full, as flow control wants it, and has room at any time for what the controller sends of
 * itself: an Asynchronous Event Request, Keep Alive, and a step or what shuts it down.
 */
enum { ENTRIES = 32, OWN = 3, COMMANDS_MAX = ENTRIES - 1 - OWN, DEFAULT_CONNECT_MS = 10000 };

static const uint64_t SHUTDOWN_NS = 5000000000;

static const uint32_t cc_shutdown = 1u << 14; /* CC.SHN: normal */

static void
stop_timers(struct ctrlr *c)
{
	timer_clear(&c->reactor->timers, &c->poll_timer);
	timer_clear(&c->reactor->timers, &c->limit_timer);
	timer_clear(&c->reactor->timers, &c->alive_timer);
}

static void
call_later(struct ctrlr *c)
{
	reactor_run_in(c->reactor, PHASE_SEND, &c->later);
}

/* ---- losing it ---- */

/* Into any state but the first two: from there on nothing that waits is sent. */
static void
enter_end(struct ctrlr *c, enum ctrlr_state state)
{
	c->state = state;
	stop_timers(c);
	fifo_splice(&c->refused, &c->waiting);
	call_later(c);
}

/* The shutdown is over, one way or another. */
static void
end_close(struct ctrlr *c, void (*end)(struct qpair *qp))
{
	enter_end(c, CTRLR_CLOSED);
	end(&c->admin);
}

void
ctrlr_lose(struct ctrlr *c, int error, const char *why)
{
	if (c->state == CTRLR_LEAVING)
		end_close(c, qpair_abort);
	if (c->state > CTRLR_LEAVING)
		return;
	/* What was found wrong with the connection comes first. */
	if (c->admin.state == QPAIR_ENDING) {
		error = -EPROTO;
		why = c->admin.why;
	}
	c->error = error;
	snprintf(c->why, sizeof(c->why), "%s", why);
	enter_end(c, CTRLR_LOSING);
	qpair_abort(&c->admin);
}

static void
admin_down(struct qpair *qp, int error)
{
	ctrlr_lose(qp->owner, error, qp->why);
}

static void
too_late(struct timer *timer)
{
	struct ctrlr *c = container_of(timer, struct ctrlr, limit_timer);
	char why[sizeof(c->why)];

	if (c->state == CTRLR_LEAVING) {
		end_close(c, qpair_abort);
		return;
	}
	snprintf(why, sizeof(why), "the target did not answer in time: %s", ctrlr_step_name(c));
	ctrlr_lose(c, -ETIMEDOUT, why);
}

void
ctrlr_limit(struct ctrlr *c)
{
	uint64_t limit_ms = c->options.connect_ms > 0 ? c->options.connect_ms : DEFAULT_CONNECT_MS;

	timer_set(&c->reactor->timers, &c->limit_timer, c->reactor->now_ns + limit_ms * CTRLR_NS_PER_MS);
}

/* ---- commands of its own ---- */

/* There is always room for it.  On a connection that is ending it goes nowhere: that will be told. */
static void
send_own(struct ctrlr *c, struct hio *io, void (*done)(struct hio *io))
{
	bool sent;

	io->owner = c;
	io->done = done;
	sent = qpair_submit(&c->admin, io);
	assert(sent || c->admin.state != QPAIR_UP);
}

void
ctrlr_ask(struct ctrlr *c, const struct nvme_sqe *sqe, bool identify, void (*heard)(struct hio *io))
{
	struct hreq *req = &c->command.req;

	req->sqe = *sqe;
	req->data = identify ? HREQ_READ : HREQ_NONE;
	req->length = identify ? sizeof(*c->identity) : 0;
	req->iov = &c->identity_iov;
	req->iov_count = identify ? 1 : 0;
	send_own(c, &c->command, heard);
}

/* ---- keep alive (Base 2.0, 3.9) ---- */

static void
alive_heard(struct hio *io)
{
	struct ctrlr *c = io->owner;
	char why[sizeof(c->why)];

	if (io->lost || c->state > CTRLR_UP || nvme_ok(io->req.status))
		return;
	snprintf(why, sizeof(why), "Keep Alive failed: %s (%u:%02x)", nvme_status_text(io->req.status, false),
	    io->req.status.sct, io->req.status.sc);
	ctrlr_lose(c, -EPROTO, why);
}

/* The time is over in which the last one should have been answered; with the half before that it is KATO. */
static void
alive_due(struct timer *timer)
{
	struct ctrlr *c = container_of(timer, struct ctrlr, alive_timer);

	if (c->alive.req.state != HREQ_IDLE) {
		ctrlr_lose(c, -ETIMEDOUT, "the target answers no Keep Alive");
		return;
	}
	c->alive.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_KEEP_ALIVE };
	send_own(c, &c->alive, alive_heard);
	ctrlr_keep_alive(c);
}

void
ctrlr_keep_alive(struct ctrlr *c)
{
	if (c->options.kato_ms > 0)
		timer_set(&c->reactor->timers, &c->alive_timer,
		    c->reactor->now_ns + c->options.kato_ms * CTRLR_NS_PER_MS / 2);
}

/* ---- events (Base 2.0, 5.2) ---- */

static void event_heard(struct hio *io);

static void
listen_again(struct ctrlr *c)
{
	c->event.req.sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_ASYNC_EVENT };
	send_own(c, &c->event, event_heard);
}

/* A target that takes no such request tells of nothing; that is no reason to leave it. */
static void
event_heard(struct hio *io)
{
	struct ctrlr *c = io->owner;
	uint32_t dw0 = io->req.dw0;

	if (io->lost || c->state != CTRLR_UP || !nvme_ok(io->req.status))
		return;
	listen_again(c);
	c->options.event(c, dw0);
}

/* ---- commands of others ---- */

static void command_heard(struct hio *io);

static void
not_answered(struct timer *timer)
{
	struct ctrlr_cmd *cmd = container_of(timer, struct ctrlr_cmd, limit);
	struct ctrlr *c = cmd->io.owner;
	char why[sizeof(c->why)];

	cmd->late = true;
	snprintf(why, sizeof(why), "the target did not answer in time: %s", cmd->name);
	ctrlr_lose(c, -ETIMEDOUT, why);
}

static bool
send(struct ctrlr *c, struct ctrlr_cmd *cmd)
{
	if (c->in_flight == COMMANDS_MAX || !qpair_submit(&c->admin, &cmd->io))
		return false;
	c->in_flight++;
	if (cmd->timeout_ms > 0)
		timer_set(&c->reactor->timers, &cmd->limit,
		    c->reactor->now_ns + cmd->timeout_ms * CTRLR_NS_PER_MS);
	return true;
}

static void
send_waiting(struct ctrlr *c)
{
	while (c->state == CTRLR_UP && !fifo_empty(&c->waiting) &&
	    send(c, container_of(c->waiting.head, struct ctrlr_cmd, waiting)))
		fifo_pop(&c->waiting);
}

static void
command_heard(struct hio *io)
{
	struct ctrlr *c = io->owner;
	struct ctrlr_cmd *cmd = container_of(io, struct ctrlr_cmd, io);

	c->in_flight--;
	timer_clear(&c->reactor->timers, &cmd->limit);
	send_waiting(c);
	cmd->done(cmd);
}

void
ctrlr_submit(struct ctrlr *c, struct ctrlr_cmd *cmd)
{
	cmd->io.owner = c;
	cmd->io.done = command_heard;
	cmd->limit.fire = not_answered;
	cmd->late = false;
	if (c->state > CTRLR_UP) {
		fifo_push(&c->refused, &cmd->waiting);
		call_later(c);
	} else {
		fifo_push(&c->waiting, &cmd->waiting);
		send_waiting(c);
	}
}

static void
refuse(struct ctrlr *c)
{
	struct fifo_node *node;
	struct fifo refused;

	fifo_init(&refused);
	fifo_splice(&refused, &c->refused);
	while ((node = fifo_pop(&refused)) != NULL) {
		struct ctrlr_cmd *cmd = container_of(node, struct ctrlr_cmd, waiting);

		cmd->io.req.status = nvme_status_of(NVME_SC_HOST_ABORTED, false);
		cmd->io.req.dw0 = cmd->io.req.dw1 = 0;
		cmd->io.lost = false;
		cmd->done(cmd);
	}
}

/* ---- coming up ---- */

static void
admin_up(struct qpair *qp)
{
	struct ctrlr *c = qp->owner;
	uint16_t wanted = qp->options.cntlid;

	c->facts.cntlid = qp->cntlid;
	if (qp->connect.req.dw0 & NVME_CONNECT_ATR)
		ctrlr_lose(c, -EACCES, "the target wants hosts to authenticate themselves, which this one cannot");
	else if (wanted <= NVME_CNTLID_MAX && wanted != qp->cntlid)
		ctrlr_lose(c, -EPROTO, "Connect leads to another controller than was asked for");
	else
		ctrlr_step(c);
}

void
ctrlr_risen(struct ctrlr *c)
{
	timer_clear(&c->reactor->timers, &c->limit_timer);
	c->state = CTRLR_UP;
	if (c->facts.events != 0)
		listen_again(c);
	c->options.ready(c);
	send_waiting(c);
}

/* ---- shutting down (Base 2.0, 3.6) ---- */

static void shutdown_heard(struct hio *io);

static void
ask_shutdown(struct ctrlr *c)
{
	struct nvme_sqe sqe = nvme_property_command(NVME_PROPERTY_GET, NVME_CSTS, 0);

	ctrlr_ask(c, &sqe, false, shutdown_heard);
}

static void
shutdown_heard(struct hio *io)
{
	struct ctrlr *c = io->owner;
	uint32_t csts = io->req.dw0;

	if (io->lost || c->state != CTRLR_LEAVING)
		return;
	if (!nvme_ok(io->req.status) || csts & NVME_CSTS_CFS ||
	    (csts & NVME_CSTS_SHST_MASK) == NVME_CSTS_SHST_DONE)
		end_close(c, qpair_close);
	else
		timer_set(&c->reactor->timers, &c->poll_timer, c->reactor->now_ns + CTRLR_POLL_NS);
}

static void
shutdown_begun(struct hio *io)
{
	struct ctrlr *c = io->owner;

	if (io->lost || c->state != CTRLR_LEAVING)
		return;
	if (nvme_ok(io->req.status))
		ask_shutdown(c);
	else
		end_close(c, qpair_close);
}

static void
look_again(struct timer *timer)
{
	struct ctrlr *c = container_of(timer, struct ctrlr, poll_timer);

	if (c->state == CTRLR_LEAVING)
		ask_shutdown(c);
	else
		ctrlr_step(c);
}

void
ctrlr_close(struct ctrlr *c, void (*closed)(void *owner))
{
	struct nvme_sqe sqe;

	assert(c->closed == NULL && closed != NULL);
	c->closed = closed;
	switch (c->state) {
	case CTRLR_RISING:
		end_close(c, qpair_close);
		return;
	case CTRLR_UP:
		enter_end(c, CTRLR_LEAVING);
		timer_set(&c->reactor->timers, &c->limit_timer, c->reactor->now_ns + SHUTDOWN_NS);
		sqe = nvme_property_command(NVME_PROPERTY_SET, NVME_CC, c->cc | cc_shutdown);
		ctrlr_ask(c, &sqe, false, shutdown_begun);
		return;
	case CTRLR_LOSING:
		c->state = CTRLR_CLOSED;
		return;
	case CTRLR_LEAVING:
	case CTRLR_LOST:
	case CTRLR_CLOSED:
	case CTRLR_DEAD:
		break;
	}
	assert(false);
}

/* ---- beginning and end ---- */

static void
release(struct ctrlr *c)
{
	struct arena *arena = c->reactor->arena;

	arena_free(arena, c->gather);
	arena_free(arena, c->identity);
	arena_free(arena, c);
}

/* Outside of whatever led to it: nobody who called us touches the controller any more. */
static void
later(struct task *task)
{
	struct ctrlr *c = container_of(task, struct ctrlr, later);

	refuse(c);
	if (c->state == CTRLR_LOSING) {
		c->state = CTRLR_LOST;
		c->options.lost(c, c->error, c->why);
	}
	/* What those have asked for may need another turn. */
	if (c->state < CTRLR_CLOSED || !list_empty(&c->later.node))
		return;
	if (c->state == CTRLR_CLOSED)
		c->closed(c->options.owner);
	release(c);
}

void
ctrlr_destroy(struct ctrlr *c)
{
	assert(c->state != CTRLR_DEAD);
	enter_end(c, CTRLR_DEAD);
	qpair_abort(&c->admin);
}

static int
open_admin(struct ctrlr *c)
{
	struct qpair_options options = {
		.host = c->options.addr, .port = c->options.port, .entries = ENTRIES,
		.hdgst = c->options.hdgst, .ddgst = c->options.ddgst, .sq_flow = c->options.sq_flow,
		.cntlid = c->options.cntlid != 0 ? c->options.cntlid : NVME_CNTLID_DYNAMIC,
		.kato_ms = c->options.kato_ms, .incapsule_max = NVME_ADMIN_INCAPSULE,
		.subnqn = c->options.subnqn, .hostnqn = c->options.hostnqn,
	};

	memcpy(options.hostid, c->options.hostid, sizeof(options.hostid));
	c->admin.owner = c;
	c->admin.up = admin_up;
	c->admin.down = admin_down;
	return qpair_open(&c->admin, c->reactor, c->gather, &options);
}

int
ctrlr_open(struct reactor *reactor, const struct ctrlr_options *options, struct ctrlr **out)
{
	struct ctrlr *c = arena_alloc(reactor->arena, sizeof(*c));
	int rc = -ENOMEM;

	assert(options->ready != NULL && options->lost != NULL && (options->events == 0 || options->event != NULL));
	if (c == NULL)
		return rc;
	c->reactor = reactor;
	c->options = *options;
	c->poll_timer.fire = look_again;
	c->limit_timer.fire = too_late;
	c->alive_timer.fire = alive_due;
	fifo_init(&c->waiting);
	fifo_init(&c->refused);
	task_init(&c->later, later);
	c->gather = arena_alloc_raw(reactor->arena, sizeof(*c->gather));
	c->identity = arena_alloc(reactor->arena, sizeof(*c->identity));
	c->identity_iov = (struct iovec){ c->identity, sizeof(*c->identity) };
	if (c->gather != NULL && c->identity != NULL)
		rc = open_admin(c);
	if (rc != 0) {
		release(c);
		return rc;
	}
	ctrlr_limit(c);
	*out = c;
	return 0;
}

void *
ctrlr_owner(const struct ctrlr *c)
{
	return c->options.owner;
}

const struct ctrlr_facts *
ctrlr_facts(const struct ctrlr *c)
{
	return &c->facts;
}

const struct nvme_identify_ctrl *
ctrlr_identity(const struct ctrlr *c)
{
	return c->identity;
}

struct nvme_status
ctrlr_connect_status(const struct ctrlr *c)
{
	return c->admin.connect_status;
}

bool
ctrlr_final(const struct ctrlr *c)
{
	return c->admin.connect_status.dnr;
}
