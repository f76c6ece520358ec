/*
 * sight.c - what a host sees of a namespace that it shares with others (doc/extension.md, VIEW): the device, and
 * itself.
 *
 * The volume's home is asked.  One command of a core asks at a time.
 */
#include <errno.h>

#include "target/assoc.h"
#include "target/look.h"
#include "wire/extension.h"

struct sight {
	struct fifo waiting;  /* requests, by xfer.tx_node */
	struct request *now;  /* for which is looked */
	struct target_look look;
};

static_assert(WEIR_VIEW_ENDLESS == FAIR_ENDLESS, "one word for what has no end");

/* ---- the page ---- */

static struct weir_log_view_done
done_of(uint64_t ios, uint64_t bytes, uint64_t failed, const struct qos_lately *lately)
{
	return (struct weir_log_view_done){
		.ios = le64_of(ios), .bytes = le64_of(bytes), .failed = le64_of(failed),
		.lately_ios = le64_of(lately->ios), .lately_bytes = le64_of(lately->bytes),
		.p50_ns = le64_of(lately->p50_ns), .p99_ns = le64_of(lately->p99_ns),
		.p999_ns = le64_of(lately->p999_ns),
	};
}

static void
put_device(struct weir_log_view *page, const struct fair_view *view)
{
	page->flags = le32_of(WEIR_VIEW_SHARED | (view->paced ? WEIR_VIEW_PACED : 0) |
	    (view->stalled ? WEIR_VIEW_STALLED : 0));
	page->state = (uint8_t)view->state;
	page->rate = le64_of(view->rate);
	page->occupied = le64_of(view->occupied);
	page->most = le64_of(view->most);
	page->write_cost = le32_of(view->write_cost);
	page->tenants = le32_of(view->tenants);
	page->waiting = le32_of(view->waiting);
	page->inflight = le32_of(view->inflight);
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		const struct fair_view_kind *from = &view->kinds[kind];

		page->kinds[kind] = (struct weir_log_view_kind){
			.state = (uint8_t)from->state, .ewma_ns = le64_of(from->ewma_ns),
			.thresh_ns = le64_of(from->thresh_ns), .headroom = le64_of(from->headroom),
			.done = done_of(from->ios, from->bytes, from->failed, &from->lately),
		};
	}
}

static void
put_host(struct weir_log_view *page, const struct fair_tenant_view *view)
{
	page->flags = le32_of(le32_get(page->flags) | WEIR_VIEW_KNOWN);
	page->host.weight = le32_of(view->weight);
	page->host.credits = le32_of(view->credits);
	page->host.waiting = le32_of(view->waiting);
	page->host.inflight = le32_of(view->inflight);
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		const struct qos_count *count = &view->counts[kind];

		page->host.kinds[kind] = done_of(count->ios, count->bytes, count->failed, &view->lately[kind]);
	}
}

static void
put_medium(struct weir_log_view *page, const struct blk_health *health)
{
	uint64_t used = health->used_percent;

	page->flags = le32_of(le32_get(page->flags) | WEIR_VIEW_WEARS);
	page->medium.written_bytes = le64_of(health->written_bytes);
	page->medium.media_bytes = le64_of(health->media_bytes);
	page->medium.used_percent = le32_of(used < UINT32_MAX ? (uint32_t)used : UINT32_MAX);
	page->medium.spare_percent = (uint8_t)health->spare_percent;
	page->medium.spare_threshold_percent = (uint8_t)health->spare_threshold_percent;
}

void
target_look_page(const struct target_look *look, struct weir_log_view *page)
{
	*page = (struct weir_log_view){ 0 };
	if (look->shared)
		put_device(page, &look->device);
	if (look->known)
		put_host(page, &look->tenant);
	if (look->worn)
		put_medium(page, &look->health);
}

/* ---- who asks ---- */

static void looked(struct target_look *look);

/* Whether the host has such a namespace ctrl/ will see. */
static uint64_t
volume_of(const struct assoc *assoc, uint32_t nsid)
{
	const struct view_subsys *subsys = assoc->subsys;

	if (subsys == NULL || nsid == 0 || nsid > subsys->ns_limit || subsys->ns[nsid - 1].info == NULL)
		return TARGET_NO_VOLUME;
	return subsys->ns[nsid - 1].volume;
}

static void
next(struct core *core)
{
	struct sight *sight = core->sight;
	const struct assoc *assoc;

	if (sight->now != NULL || fifo_empty(&sight->waiting))
		return;
	sight->now = container_of(fifo_pop(&sight->waiting), struct request, xfer.tx_node);
	assoc = sight->now->conn->assoc;
	sight->look = (struct target_look){ .volume = TARGET_NO_VOLUME, .done = looked, .owner = core };
	if (assoc != NULL) {
		sight->look.volume = volume_of(assoc, le32_get(sight->now->sqe.nsid));
		sight->look.of = assoc->tenant;
	}
	look_begin(core, &sight->look);
}

/* The command waits for what the home says. */
void
sight_ask(struct request *req)
{
	struct core *core = req->conn->core;

	req->stage = STAGE_MAIL;
	req->conn->device_count++; /* a connection that finishes waits for it */
	fifo_push(&core->sight->waiting, &req->xfer.tx_node);
	next(core);
}

static void
looked(struct target_look *look)
{
	struct core *core = look->owner;
	struct sight *sight = core->sight;
	struct request *req = sight->now;
	struct conn *conn = req->conn;
	struct weir_log_view page;
	struct ctrl_given given = { .view = &page };

	target_look_page(look, &page); /* of tenants nothing but of the one that asks */
	conn->held++;
	conn->device_count--;
	req->stage = STAGE_NEW;
	if (conn->assoc != NULL && request_wanted(req))
		admin_run(req, NULL, 0, &given);
	else
		request_answer_late(req, nvme_status_of(NVME_SC_SEQUENCE, true));
	if (conn->phase == CONN_FINISHING)
		conn_send_soon(conn);
	conn->held--;
	conn_maybe_free(conn);
	sight->now = NULL;
	next(core);
}

/* ---- beginning and end ---- */

int
sight_begin(struct core *core)
{
	core->sight = arena_alloc(core->reactor->arena, sizeof(*core->sight));
	if (core->sight == NULL)
		return -ENOMEM;
	fifo_init(&core->sight->waiting);
	return 0;
}

size_t
sight_bytes(void)
{
	return sizeof(struct sight);
}

void
sight_end(struct core *core)
{
	arena_free(core->reactor->arena, core->sight);
}
