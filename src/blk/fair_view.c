/*
 * fair_view.c - what is going on at a device that tenants share (fair.h): what was done, and who looks.
 */
#include "blk/fair_inside.h"

#include <stdio.h>
#include <string.h>

static_assert(QOS_TOKEN_SHIFT == 20, "tokens of a nanosecond are bytes of a second in 64 bits");

/* ---- what was done ---- */

void
fair_note(struct fair_chan *fc, struct fair_tenant *tenant, const struct blk_io *io, bool right, uint64_t now_ns)
{
	const struct qos_io *qos = &io->turn.qos;
	struct qos_count *count = &tenant->counts[qos->kind];

	fc->inflight--;
	count->ios++;
	count->bytes += qos->bytes;
	count->failed += !right;
	qos_recent_add(&fc->recent[qos->kind], qos->bytes, now_ns - qos->begun_ns, now_ns);
	qos_recent_add(&tenant->recent[qos->kind], qos->bytes, now_ns - io->turn.came_ns, now_ns);
}

/* ---- the device ---- */

/* What a kind's part of the rate is, in bytes a second. */
static uint64_t
part_of(const struct qos *qos, enum qos_kind kind)
{
	return qos->rate.fill[kind] * RECENT_NS >> QOS_TOKEN_SHIFT;
}

static void
look_at_kind(const struct fair_chan *fc, enum qos_kind kind, uint64_t now_ns, struct fair_view_kind *view)
{
	const struct qos *qos = &fc->qos;
	const struct qos_monitor *monitor = &qos->monitors[kind];
	const struct qos_count *count = &qos->counts[kind];
	uint64_t part = part_of(qos, kind);

	*view = (struct fair_view_kind){
		.state = monitor->state, .ewma_ns = qos_monitor_ns(monitor),
		.ios = count->ios, .bytes = count->bytes, .failed = count->failed, .headroom = FAIR_ENDLESS,
	};
	qos_recent_look(&fc->recent[kind], now_ns, &view->lately);
	if (!fc->volume.paced)
		return;
	view->thresh_ns = monitor->thresh >> QOS_MONITOR_SHIFT;
	view->headroom = part > view->lately.bytes ? part - view->lately.bytes : 0;
}

/* What a kind was like when there was some last says nothing of now. */
static enum qos_state
worst(const struct fair_chan *fc, uint64_t now_ns)
{
	enum qos_state state = QOS_UNDERUSED;

	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (qos_recent_any(&fc->recent[kind], now_ns) && fc->qos.monitors[kind].state > state)
			state = fc->qos.monitors[kind].state;
	return state;
}

bool
fair_look(struct blk_chan *chan, struct fair_view *view)
{
	struct fair_chan *fc = fair_chan_here(chan);
	uint64_t now_ns;

	if (fc == NULL)
		return false;
	now_ns = fair_now(fc);
	*view = (struct fair_view){
		.paced = fc->volume.paced, .stalled = qos_stalled(&fc->qos, now_ns), .state = worst(fc, now_ns),
		.rate = FAIR_ENDLESS, .most = FAIR_ENDLESS, .write_cost = QOS_COST_ONE,
		.tenants = qos_tenants(&fc->qos, now_ns), .waiting = fc->waiting, .inflight = fc->inflight,
	};
	if (view->paced) {
		view->rate = fc->qos.rate.target;
		view->write_cost = fc->qos.cost.write;
		view->occupied = fc->qos.occupied;
		view->most = fc->qos.most;
	}
	for (int kind = 0; kind < QOS_KINDS; kind++)
		look_at_kind(fc, (enum qos_kind)kind, now_ns, &view->kinds[kind]);
	return true;
}

/* ---- tenants ---- */

/* Where nothing is paced weights mean nothing. */
static void
look_at(struct fair_chan *fc, struct fair_tenant *tenant, struct fair_tenant_view *view)
{
	struct qos_tenant *qos = &tenant->qos;

	*view = (struct fair_tenant_view){
		.weight = qos->weight, .waiting = qos->waiting, .inflight = qos->inflight,
	};
	if (qos->group != NULL)
		snprintf(view->group, sizeof(view->group), "%s",
		    container_of(qos->group, struct fair_group_here, qos)->name);
	if (tenant->who != NULL)
		snprintf(view->nqn, sizeof(view->nqn), "%s", tenant->who->name);
	memcpy(view->counts, tenant->counts, sizeof(view->counts));
	for (int kind = 0; kind < QOS_KINDS; kind++)
		qos_recent_look(&tenant->recent[kind], fair_now(fc), &view->lately[kind]);
	view->credits = fair_credits_look(fc, tenant, view->lately);
}

bool
fair_look_tenant(struct blk_chan *chan, const struct blk_tenant *who, struct fair_tenant_view *view)
{
	struct fair_chan *fc = fair_chan_here(chan);
	struct fair_tenant *tenant;

	if (fc == NULL)
		return false;
	tenant = who != NULL ? fc->by_number[who->number] : &fc->nobody;
	if (tenant == NULL)
		return false;
	look_at(fc, tenant, view);
	return true;
}

/* Those without a number come first: 0 is no host's. */
bool
fair_look_next(struct blk_chan *chan, uint32_t *next, struct fair_tenant_view *view)
{
	struct fair_chan *fc = fair_chan_here(chan);

	while (fc != NULL && *next < BLK_TENANTS) {
		struct fair_tenant *tenant = *next == 0 ? &fc->nobody : fc->by_number[*next];

		(*next)++;
		if (tenant == NULL)
			continue;
		look_at(fc, tenant, view);
		if (tenant != &fc->nobody || view->waiting + view->inflight > 0 ||
		    view->counts[QOS_READ].ios + view->counts[QOS_WRITE].ios > 0)
			return true;
	}
	return false;
}
