#include "qos/gates.h"

#include <assert.h>
#include <string.h>

/* ---- tokens ---- */

/* How fast there are tokens changes with each I/O that ends: so it is looked at, and no timer is set. */
static bool
open_tokens(struct qos *qos, enum qos_kind kind)
{
	struct qos_gate *gate = &qos->tokens[kind];
	struct qos_lane *lane;

	if (gate->waiting == 0)
		return false;
	if (gate->passing != NULL && qos_share_goes(gate->passing))
		return false;
	gate->passing = NULL;
	lane = qos_gate_first(gate);
	if (lane == NULL || !qos_rate_has(&qos->rate, kind, lane->bytes))
		return false;
	qos_gate_open(gate, &qos->share, lane);
	return true;
}

/* Who was let in has the rest of his turn. */
static bool
pass_tokens(struct qos *qos, struct qos_io *io)
{
	enum qos_kind kind = (enum qos_kind)io->kind;
	struct qos_gate *gate = &qos->tokens[kind];
	bool has = qos_rate_has(&qos->rate, kind, io->bytes), passing;
	struct qos_lane *lane;

	if (has && gate->waiting == 0)
		return true;
	lane = &io->tenant->lanes[kind];
	passing = gate->passing == lane && qos_share_goes(lane);
	if (has && passing)
		return true;
	qos_gate_shut(gate, &qos->share, io, passing);
	if (passing)
		gate->passing = NULL;
	return false;
}

/* ---- caps ---- */

static enum qos_kind
kind_of(const struct qos_entry *entry)
{
	return entry == &entry->cap->entries[QOS_READ] ? QOS_READ : QOS_WRITE;
}

static void
set_timer(struct qos_entry *entry)
{
	struct timers *timers = &entry->cap->qos->timers;

	if (entry->stile.waiting > 0 && entry->stile.passing == NULL)
		timer_set(timers, &entry->timer, qos_cap_ready_ns(entry->cap, kind_of(entry), 0));
	else
		timer_clear(timers, &entry->timer);
}

static void
let_in(struct timer *timer)
{
	struct qos_entry *entry = container_of(timer, struct qos_entry, timer);
	struct qos *qos = entry->cap->qos;

	if (qos_stile_open(&entry->stile, &qos->share) != NULL)
		list_push(&qos->passing, &entry->open);
}

/* Who was let in has gone, or stands in nobody's way any more. */
static void
go_on(struct qos_entry *entry)
{
	entry->stile.passing = NULL;
	list_remove(&entry->open);
	set_timer(entry);
}

static bool
open_caps(struct qos *qos, uint64_t now_ns)
{
	list_for_each(&qos->passing, node) {
		struct qos_entry *entry = container_of(node, struct qos_entry, open);

		if (!qos_share_goes(entry->stile.passing))
			go_on(entry);
	}
	return timers_run(&qos->timers, now_ns) > 0;
}

/* `passed`: it has been let in here, or further on since, and need not stand behind those who wait. */
static bool
pass_cap(struct qos *qos, struct qos_cap *cap, struct qos_io *io, bool passed, uint64_t now_ns)
{
	enum qos_kind kind = (enum qos_kind)io->kind;
	struct qos_entry *entry;

	if (cap == NULL)
		return true;
	entry = &cap->entries[kind];
	if ((passed || entry->stile.waiting == 0) && qos_cap_ready_ns(cap, kind, now_ns) <= now_ns)
		return true;
	qos_stile_shut(&entry->stile, &qos->share, io, cap->level);
	if (entry->stile.passing == &io->tenant->lanes[kind])
		go_on(entry);
	else if (entry->stile.waiting == 1)
		set_timer(entry);
	return false;
}

static void
take_cap(struct qos *qos, struct qos_cap *cap, struct qos_io *io, uint64_t now_ns)
{
	struct qos_entry *entry;

	if (cap == NULL)
		return;
	entry = &cap->entries[io->kind];
	qos_cap_take(cap, (enum qos_kind)io->kind, io->bytes, now_ns);
	qos_stile_take(&entry->stile, &qos->share, io, cap->level);
	if (entry->stile.passing == &io->tenant->lanes[io->kind])
		go_on(entry);
}

void
qos_use_cap(struct qos *qos, struct qos_cap *cap, enum qos_cap_of of)
{
	cap->qos = qos;
	cap->level = of;
	qos->caps++;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		cap->entries[kind].timer.fire = let_in;
}

void
qos_drop_cap(struct qos *qos, struct qos_cap *cap)
{
	qos->caps--;
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		assert(cap->entries[kind].stile.waiting == 0);
		timer_clear(&qos->timers, &cap->entries[kind].timer);
		list_remove(&cap->entries[kind].open);
	}
}

void
qos_change_cap(struct qos_cap *cap, const struct qos_limit limits[QOS_KINDS], uint32_t burst_ms)
{
	qos_cap_set(cap, limits, burst_ms);
	for (int kind = 0; kind < QOS_KINDS; kind++)
		set_timer(&cap->entries[kind]);
}

/* ---- both ---- */

void
gates_init(struct qos *qos)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		qos_gate_init(&qos->tokens[kind]);
	list_init(&qos->passing);
}

static struct qos_cap *
group_cap(const struct qos_tenant *tenant)
{
	return tenant->group != NULL ? tenant->group->cap : NULL;
}

/*
 * One after the other: those of the tenant, of its group, and of all.  Who was let in at one, or by the tokens, has
 * been let in at all before it.  Had it to stand in line there again, those who wait here and those who wait there
 * would be sent to and fro for ever.
 */
static bool
pass_caps(struct qos *qos, struct qos_io *io, uint64_t now_ns)
{
	struct qos_cap *const caps[QOS_CAP_LEVELS] = { io->tenant->cap, group_cap(io->tenant), qos->cap };
	const struct qos_lane *lane = &io->tenant->lanes[io->kind];
	bool passed[QOS_CAP_LEVELS], beyond = qos->tokens[io->kind].passing == lane;

	for (int level = QOS_CAP_LEVELS; level-- > 0;) {
		beyond = beyond || (caps[level] != NULL && caps[level]->entries[io->kind].stile.passing == lane);
		passed[level] = beyond;
	}
	for (int level = 0; level < QOS_CAP_LEVELS; level++)
		if (!pass_cap(qos, caps[level], io, passed[level], now_ns))
			return false;
	return true;
}

bool
gates_pass(struct qos *qos, struct qos_io *io, uint64_t now_ns)
{
	if (qos->caps > 0 && !pass_caps(qos, io, now_ns))
		return false;
	return pass_tokens(qos, io);
}

void
gates_take(struct qos *qos, struct qos_io *io, uint64_t now_ns)
{
	if (qos->caps > 0) {
		take_cap(qos, io->tenant->cap, io, now_ns);
		take_cap(qos, group_cap(io->tenant), io, now_ns);
		take_cap(qos, qos->cap, io, now_ns);
	}
	qos_rate_take(&qos->rate, (enum qos_kind)io->kind, io->bytes, io->weight, io->measures);
}

bool
gates_open(struct qos *qos, uint64_t now_ns)
{
	bool some = qos->caps > 0 && open_caps(qos, now_ns);

	qos->share.moved = false;
	some |= open_tokens(qos, QOS_READ);
	some |= open_tokens(qos, QOS_WRITE);
	return some;
}

static void
forget_passing(struct qos_cap *cap, struct qos_tenant *tenant)
{
	for (int kind = 0; cap != NULL && kind < QOS_KINDS; kind++)
		if (cap->entries[kind].stile.passing == &tenant->lanes[kind])
			go_on(&cap->entries[kind]);
}

void
gates_forget(struct qos *qos, struct qos_tenant *tenant)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (qos->tokens[kind].passing == &tenant->lanes[kind])
			qos->tokens[kind].passing = NULL;
	forget_passing(tenant->cap, tenant);
	forget_passing(group_cap(tenant), tenant);
	forget_passing(qos->cap, tenant);
}

void
gates_release(struct qos *qos, struct qos_tenant *tenant)
{
	gates_forget(qos, tenant);
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		struct qos_lane *lane = &tenant->lanes[kind];

		memset(lane->paid, 0, sizeof(lane->paid));
		if (lane->shut != QOS_SHUT_CAP)
			continue;
		qos_share_open(&qos->share, lane);
		lane->leave(lane);
	}
}

uint64_t
gates_round_most(struct qos *qos)
{
	uint64_t most = UINT64_MAX;

	for (int kind = 0; kind < QOS_KINDS; kind++) {
		struct qos_lane *lane = qos_gate_first(&qos->tokens[kind]);

		if (lane != NULL && lane->tenant->round + QOS_ROUNDS_AHEAD < most)
			most = lane->tenant->round + QOS_ROUNDS_AHEAD;
	}
	return most;
}

uint64_t
gates_next_ns(struct qos *qos, uint64_t now_ns)
{
	uint64_t first = timers_next(&qos->timers);

	for (int kind = 0; kind < QOS_KINDS; kind++) {
		const struct qos_lane *lane = qos_gate_first(&qos->tokens[kind]);
		uint64_t ready_ns;

		if (lane == NULL || qos->tokens[kind].passing != NULL)
			continue;
		ready_ns = qos_rate_ready_ns(&qos->rate, (enum qos_kind)kind, lane->bytes, now_ns);
		if (ready_ns < first)
			first = ready_ns;
	}
	return first;
}
