#include "qos/gates.h"

#include <assert.h>

enum {
	CREDITS_FIRST = QOS_SLOT_BYTES / QOS_SIZE_LEAST,
	NOMINAL_BYTES = QOS_SIZE_LEAST, /* of what moves no data */
	MIB = 1024 * 1024,
	MIB_MOST = QOS_BYTES_MOST / NOMINAL_BYTES,
};

/* ---- what I/Os are ---- */

static uint32_t
begun_mib(uint64_t bytes)
{
	uint64_t mib = (bytes + MIB - 1) / MIB;

	return mib < 1 ? 1 : mib < MIB_MOST ? (uint32_t)mib : MIB_MOST;
}

/* Of what is neither read nor written. */
static uint64_t
counted_bytes(enum qos_op op, uint64_t bytes)
{
	switch (op) {
	case QOS_OP_FLUSH: return NOMINAL_BYTES;
	case QOS_OP_ZEROES:
	case QOS_OP_TRIM: return (uint64_t)NOMINAL_BYTES * begun_mib(bytes);
	case QOS_OP_COMPARE_WRITE: return 2 * bytes;
	default: return bytes;
	}
}

void
qos_io_init(struct qos_io *io, enum qos_op op, uint64_t bytes, unsigned priority)
{
	io->measures = op == QOS_OP_READ || op == QOS_OP_WRITE;
	if (!io->measures)
		bytes = counted_bytes(op, bytes);
	io->kind = op == QOS_OP_READ || op == QOS_OP_COMPARE ? QOS_READ : QOS_WRITE;
	io->priority = (uint8_t)priority;
	io->bytes = bytes < QOS_BYTES_MOST ? (uint32_t)bytes : QOS_BYTES_MOST;
	io->at = qos_cost_place(io->bytes);
}

/* ---- how many tenants there are ---- */

/* As much may be in flight.  Of several tenants, three quarters of what they may have: then it is turns, and not slots,
 * that decide. */
static void
find_most(struct qos *qos)
{
	uint64_t slots = (uint64_t)qos->share.counted * qos->share.slots_each * QOS_SLOT_BYTES / 4 * 3;

	qos->most = qos->params.inflight_bytes;
	if (qos->share.counted > 1 && slots < qos->most)
		qos->most = slots;
}

void
qos_init(struct qos *qos, const struct qos_params *params)
{
	*qos = (struct qos){ .params = *params };
	qos_cost_init(&qos->cost, params);
	qos_rate_init(&qos->rate, params);
	qos_share_init(&qos->share, params);
	for (int kind = 0; kind < QOS_KINDS; kind++)
		qos_monitor_init(&qos->monitors[kind], params);
	gates_init(qos);
	list_init(&qos->flying);
	list_init(&qos->resting);
	find_most(qos);
}

static void
share_slots(struct qos *qos)
{
	uint32_t counted = qos->share.counted, each = counted > 1 ? qos->params.slots / counted : qos->params.slots;

	qos_share_slots(&qos->share, each > qos->params.slots_least ? each : qos->params.slots_least);
	qos->share.turns_decide = counted <= 1;
	qos->changed = true;
	find_most(qos);
}

void
qos_tune(struct qos *qos, const struct qos_params *params)
{
	qos->params = *params;
	qos_cost_init(&qos->cost, params);
	qos_rate_tune(&qos->rate, params);
	qos->share.quantum = params->quantum_bytes;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		qos_monitor_init(&qos->monitors[kind], params);
	qos->held = false;
	share_slots(qos);
}

void
qos_move(struct qos *qos, struct qos_tenant *tenant, struct qos_group *group, uint32_t weight)
{
	gates_release(qos, tenant);
	qos_share_move(&qos->share, tenant, group, weight);
}

static void
forget(struct qos *qos, struct qos_tenant *tenant)
{
	list_remove(&tenant->resting);
	qos_share_forget(&qos->share, tenant);
	share_slots(qos);
}

/* A tenant that waits for its answers, and then asks again, is not one that comes and goes. */
static void
forget_some(struct qos *qos, uint64_t now_ns)
{
	list_for_each(&qos->resting, node) {
		struct qos_tenant *tenant = container_of(node, struct qos_tenant, resting);

		if (now_ns < tenant->rests_ns + qos->params.linger_ns)
			break;
		forget(qos, tenant);
	}
}

static void
rest(struct qos *qos, struct qos_tenant *tenant, uint64_t now_ns)
{
	if (tenant->waiting > 0 || tenant->inflight > 0)
		return;
	tenant->rests_ns = now_ns;
	list_push(&qos->resting, &tenant->resting);
}

void
qos_leave(struct qos *qos, struct qos_tenant *tenant)
{
	assert(tenant->waiting == 0 && tenant->inflight == 0);
	if (tenant->counted)
		forget(qos, tenant);
	gates_forget(qos, tenant);
}

void
qos_arrive(struct qos *qos, struct qos_tenant *tenant, struct qos_io *io)
{
	bool counted = tenant->counted;

	qos->held &= tenant->inflight > 0;
	if (tenant->waiting == 0)
		list_remove(&tenant->resting);
	qos_share_arrive(&qos->share, tenant, io);
	if (!counted)
		share_slots(qos);
}

void
qos_cancel(struct qos *qos, struct qos_io *io, uint64_t now_ns)
{
	qos_share_cancel(&qos->share, io);
	qos->held = false;
	rest(qos, io->tenant, now_ns);
}

/* ---- who goes ---- */

/* The device has as much as it can use.  Who has nothing in it need not wait for others' I/Os to end. */
static bool
full(const struct qos *qos, const struct qos_tenant *tenant)
{
	if (qos->occupied < qos->most)
		return false;
	return tenant->inflight > 0 || qos->occupied >= qos->most + qos->most / 4;
}

/* It was so, and nothing has changed that. */
static bool
held(const struct qos *qos)
{
	return qos->held && qos->occupied >= qos->most;
}

/* On average, in eighths. */
static void
note_occupies(struct qos_tenant *tenant, uint32_t occupies)
{
	if (tenant->occupies == 0)
		tenant->occupies = 8 * occupies;
	tenant->occupies += occupies - tenant->occupies / 8;
}

static void
begin(struct qos *qos, struct qos_io *io, uint64_t now_ns)
{
	if (qos->occupied == 0)
		qos->idle_ns += now_ns - qos->rests_ns;
	gates_take(qos, io, now_ns);
	qos_share_take(&qos->share, io);
	io->begun_ns = now_ns;
	/* as if it were read: what is written waits in a buffer, and its price is no measure of how much of that */
	io->occupies = qos_cost_of(&qos->cost, QOS_READ, io->at, io->bytes);
	qos->occupied += io->occupies;
	note_occupies(io->tenant, (uint32_t)io->occupies);
	list_push(&qos->flying, &io->place);
}

/* While reads wait for tokens writes may go on, and the other way round; but not for long. */
static uint64_t
round_most(struct qos *qos)
{
	return qos->share.shut > 0 ? gates_round_most(qos) : UINT64_MAX;
}

/*
 * Nobody may go any more.  Slots keep those who have much in flight from those who cannot have as much.  Where all have
 * had something waiting for some time there is no such tenant, and turns decide alone.  For some time, because slots
 * make tenants wait, too: those who have all in flight as soon as nothing binds them.  Whom a cap holds back cannot
 * have more in flight either, whatever he has waiting.  Who is alone keeps nobody out.
 */
static struct qos_io *
nobody(struct qos *qos, uint64_t now_ns)
{
	const struct qos_share *share = &qos->share;

	if (qos->changed || share->counted <= 1 || share->backlogged < share->counted)
		qos->sated_ns = now_ns;
	qos->changed = false;
	qos->share.turns_decide = share->counted <= 1 || now_ns - qos->sated_ns > qos->params.linger_ns;
	return NULL;
}

struct qos_io *
qos_next(struct qos *qos, uint64_t now_ns)
{
	struct qos_tenant *tenant;

	if (held(qos))
		return NULL;
	if (now_ns != qos->rate.filled_ns) {
		qos_rate_fill(&qos->rate, now_ns);
		forget_some(qos, now_ns);
		qos->share.moved = true;
	}
	if (qos->share.shut > 0 && (qos->share.moved || qos->caps > 0))
		(void)gates_open(qos, now_ns);
	do {
		while ((tenant = qos_share_first(&qos->share)) != NULL) {
			struct qos_io *io;

			qos->held = full(qos, tenant);
			if (qos->held)
				return nobody(qos, now_ns);
			io = qos_share_next(&qos->share, tenant, &qos->cost);
			if (io != NULL && gates_pass(qos, io, now_ns)) {
				begin(qos, io, now_ns);
				return io;
			}
		}
		/* who was let in last may have gone on to a later round */
	} while (qos_share_go_on(&qos->share, round_most(qos)) || (qos->share.shut > 0 && gates_open(qos, now_ns)));
	return nobody(qos, now_ns);
}

uint64_t
qos_deadline(struct qos *qos, uint64_t now_ns)
{
	return qos->share.shut > 0 && !held(qos) ? gates_next_ns(qos, now_ns) : UINT64_MAX;
}

/* ---- what ends ---- */

/* What its latency says of the device. */
static void
learn(struct qos *qos, const struct qos_io *io, uint64_t latency_ns, uint64_t now_ns)
{
	enum qos_kind kind = (enum qos_kind)io->kind;
	struct qos_monitor *monitor = &qos->monitors[kind];
	uint64_t usual_ns = qos_cost_ns(&qos->cost, kind, io->at, io->bytes), busy_ns = now_ns - qos->idle_ns;
	enum qos_state state = qos_monitor_add(monitor, latency_ns > usual_ns ? latency_ns - usual_ns : 0);

	qos_rate_ended(&qos->rate, &qos->params, state, kind, io->bytes, busy_ns);
	/* whether a period is over is asked first: the processor can guess it, and what kind comes next it cannot */
	if (qos_cost_over(&qos->cost, now_ns) && kind == QOS_WRITE &&
	    qos_cost_wrote(&qos->cost, qos_monitor_peak_ns(monitor), busy_ns, now_ns))
		monitor->peak = 0;
}

void
qos_done(struct qos *qos, struct qos_io *io, uint64_t latency_ns, bool right, uint64_t now_ns)
{
	struct qos_count *count = &qos->counts[io->kind];

	list_unlink(&io->place);
	qos->occupied -= io->occupies;
	qos_share_ended(&qos->share, io);
	rest(qos, io->tenant, now_ns);
	qos_cost_ended(&qos->cost, (enum qos_kind)io->kind, io->at, io->bytes);
	if (right && io->measures)
		learn(qos, io, latency_ns, now_ns);
	if (qos->occupied == 0)
		qos->rests_ns = now_ns;
	count->ios++;
	count->bytes += io->bytes;
	count->failed += !right;
}

uint32_t
qos_tenants(struct qos *qos, uint64_t now_ns)
{
	forget_some(qos, now_ns);
	return qos->share.counted;
}

/* I/Os of a tenant that may be in flight where turns decide: its part of all that may. */
static uint64_t
ios_by_turns(const struct qos *qos, struct qos_tenant *tenant)
{
	uint64_t bytes;

	if (!tenant->counted || tenant->occupies < 8)
		return 0;
	bytes = qos->most * qos_share_part(&qos->share, tenant) / QOS_PART_ONE / qos->share.counted;
	return bytes / (tenant->occupies / 8);
}

/* So many, or up to an eighth less: what changes all the time has to be told each time. */
static uint64_t
rounded(uint64_t credits)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(credits | 1);

	return bits > 3 ? credits >> (bits - 3) << (bits - 3) : credits;
}

/* What its slots have room for; or what may be in flight of it by turns, twice that where there are others, if it is
 * more.  For turns can decide only where something waits for them here: had tenants no more than what may be in
 * flight, weights would be for nothing. */
uint32_t
qos_credits(const struct qos *qos, struct qos_tenant *tenant)
{
	uint64_t ios = tenant->slot_ios > 0 ? tenant->slot_ios : CREDITS_FIRST;
	uint64_t slots = ios * qos->share.slots_each;
	uint64_t turns = ios_by_turns(qos, tenant) * (qos->share.counted > 1 ? 2 : 1);
	uint64_t credits = rounded(slots > turns ? slots : turns);

	return credits < UINT16_MAX ? (uint32_t)credits : UINT16_MAX;
}

uint32_t
qos_credits_capped(const struct qos *qos, const struct qos_tenant *tenant, enum qos_kind kind, uint32_t bytes)
{
	const struct qos_cap *caps[] = { tenant->cap, tenant->group != NULL ? tenant->group->cap : NULL, qos->cap };
	uint32_t credits = UINT32_MAX, some;

	for (unsigned i = 0; i < QOS_CAP_LEVELS; i++) {
		some = caps[i] != NULL ? qos_cap_credits(caps[i], kind, bytes) : UINT32_MAX;
		credits = some < credits ? some : credits;
	}
	return credits;
}

bool
qos_stalled(const struct qos *qos, uint64_t now_ns)
{
	if (list_empty(&qos->flying))
		return false;
	return now_ns - container_of(qos->flying.next, struct qos_io, place)->begun_ns > qos->params.stall_ns;
}
