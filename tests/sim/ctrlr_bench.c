#include "ctrlr_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/feature.h"

enum { RETRY_NS = 2 * 1000 * 1000 };

static void work(struct guest *g);

/* ---- commands: Identify, and now and then something that has no data ---- */

static void
cmd_done(struct ctrlr_cmd *cmd)
{
	struct guest_cmd *own = container_of(cmd, struct guest_cmd, cmd);
	struct guest *g = own->guest;

	assert_true(own->busy);
	assert_ptr_equal(cmd->owner, g);
	own->busy = false;
	g->done++;
	if (cmd->io.lost) {
		g->lost_cmds++;
		assert_int_equal(nvme_sc(cmd->io.req.status), NVME_SC_HOST_ABORTED);
	} else if (nvme_sc(cmd->io.req.status) == NVME_SC_HOST_ABORTED) {
		g->unsent++;
	} else {
		assert_true(nvme_ok(cmd->io.req.status));
		g->answered++;
		g->overtakings += own->number < g->next_answer[own->cmd.io.req.data];
		g->next_answer[own->cmd.io.req.data] = own->number + 1;
	}
	if (g->done == g->end_after)
		guest_end(g);
	work(g);
}

static void
submit(struct guest *g, struct guest_cmd *own)
{
	struct hreq *req = &own->cmd.io.req;

	own->guest = g;
	own->busy = true;
	own->number = g->submitted++;
	own->cmd.done = cmd_done;
	own->cmd.owner = g;
	memset(&own->cmd.io, 0, sizeof(own->cmd.io));
	own->iov = (struct iovec){ own->page, sizeof(own->page) };
	req->iov = &own->iov;
	req->iov_count = 1;
	if (own->number % 3 == 0) {
		req->sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_FEATURES, .cdw10 = le32_of(NVME_FEATURE_KATO) };
		req->data = HREQ_NONE;
	} else {
		req->sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = le32_of(NVME_CNS_CTRL) };
		req->data = HREQ_READ;
		req->length = sizeof(own->page);
	}
	ctrlr_submit(g->ctrlr, &own->cmd);
	assert_true(own->busy); /* never from inside */
}

static void
closed(void *owner)
{
	struct guest *g = owner;

	assert_non_null(g->ctrlr);
	g->ctrlr = NULL;
	g->closes++;
}

static void
work(struct guest *g)
{
	if (g->ctrlr == NULL || g->reactor->now_ns < g->work_ns)
		return;
	for (unsigned i = 0; i < GUEST_CMDS && g->submitted < g->commands; i++)
		if (!g->cmds[i].busy)
			submit(g, &g->cmds[i]);
	if (g->leaves && g->done == g->commands && g->up) {
		g->leaves = false;
		ctrlr_close(g->ctrlr, closed);
	}
}

/* ---- what it is told ---- */

static void
ready(struct ctrlr *c)
{
	struct guest *g = ctrlr_owner(c);

	assert_ptr_equal(c, g->ctrlr);
	g->readies++;
	g->up = true;
	g->ready_ns = g->reactor->now_ns;
	g->facts = *ctrlr_facts(c);
	memcpy(g->subnqn, ctrlr_identity(c)->subnqn, sizeof(g->subnqn));
	if (g->end_when_ready)
		guest_end(g);
	work(g);
}

static void
lost(struct ctrlr *c, int error, const char *why)
{
	struct guest *g = ctrlr_owner(c);

	assert_ptr_equal(c, g->ctrlr);
	assert_true(error < 0 && why[0] != '\0');
	g->losts++;
	g->up = false;
	g->lost_ns = g->reactor->now_ns;
	g->error = error;
	snprintf(g->why, sizeof(g->why), "%s", why);
	g->final = ctrlr_final(c);
	g->connect_status = ctrlr_connect_status(c);
	ctrlr_destroy(c);
	g->ctrlr = NULL;
	if (g->again)
		timer_set(&g->reactor->timers, &g->retry, g->reactor->now_ns + RETRY_NS);
}

static void
event(struct ctrlr *c, uint32_t dw0)
{
	struct guest *g = ctrlr_owner(c);

	g->events++;
	if (g->on_event != NULL)
		g->on_event(g, dw0);
}

/* ---- beginning and end ---- */

/* The first time each allocation fails in turn before. */
static void
try(struct timer *timer)
{
	struct guest *g = container_of(timer, struct guest, retry);
	struct arena *arena = g->reactor->arena;
	int rc;

	if (g->opened++ == 0)
		arena->fail_at = 1;
	while ((rc = ctrlr_open(g->reactor, &g->options, &g->ctrlr)) == -ENOMEM) {
		assert_int_equal(arena->bytes, g->before);
		arena->fail_at = ++g->unopened + 1;
	}
	assert_int_equal(rc, 0);
	arena->fail_at = 0;
	work(g);
}

void
guest_end(struct guest *g)
{
	struct ctrlr *c = g->ctrlr;

	timer_clear(&g->reactor->timers, &g->retry);
	g->again = g->leaves = false;
	if (c == NULL || g->ended)
		return;
	g->ended = true;
	if (g->by_close) {
		ctrlr_close(c, closed);
	} else {
		ctrlr_destroy(c);
		g->ctrlr = NULL;
	}
}

static void
begin(struct timer *timer)
{
	work(container_of(timer, struct guest, begin));
}

static void
end(struct timer *timer)
{
	guest_end(container_of(timer, struct guest, end));
}

static int
start(struct reactor *reactor, void *arg)
{
	struct guest *g = arg;

	g->reactor = reactor;
	g->cmds = arena_alloc(reactor->arena, GUEST_CMDS * sizeof(*g->cmds));
	assert_non_null(g->cmds);
	g->before = reactor->arena->bytes;
	g->retry.fire = try;
	g->begin.fire = begin;
	g->end.fire = end;
	if (g->work_ns > 0)
		timer_set(&reactor->timers, &g->begin, g->work_ns);
	if (g->end_ns > 0)
		timer_set(&reactor->timers, &g->end, g->end_ns);
	try(&g->retry);
	return 0;
}

void
guest_init(struct guest *g)
{
	struct ctrlr_options *o = &g->options;

	memset(g, 0, sizeof(*g));
	*o = (struct ctrlr_options){
		.addr = "10.0.0.1", .port = CLUSTER_PORT, .subnqn = CLUSTER_NQN,
		.hostnqn = "nqn.2026-11.local.weir:guest", .hostid = { 1 },
		.ready = ready, .lost = lost, .event = event, .owner = g,
	};
}

struct sim_process *
guest_process(struct sim *sim, struct guest *g)
{
	struct sim_process_options options = { .start = start, .arg = g };

	return sim_process_create(sim, "guest", 1, &options);
}

bool
guest_idle(const struct guest *g, struct sim_process *process)
{
	return g->ctrlr == NULL && sim_process_streams(process) == 0 && g->reactor->arena->bytes == g->before;
}
