#include "qos/share.h"

#include <assert.h>

enum {
	SLOT_NONE = QOS_SLOTS_ROOM,
	SLOT_IOS_MAX = UINT16_MAX - 1,
	FIRST_READ = (QOS_PRIORITIES - 1) * QOS_KINDS, /* queue */
	/* bits of queues: all of them, all of reads, and those of a priority */
	EVERY_QUEUE = (1 << QOS_QUEUES) - 1, EVERY_READ = 0x55, BOTH = 3,
};

/* So many I/Os of each priority in turn, while there are any of the others. */
static const uint8_t quotas[QOS_PRIORITIES] = { 16, 4, 2, 1 };

void
qos_share_init(struct qos_share *share, const struct qos_params *params)
{
	*share = (struct qos_share){ .quantum = params->quantum_bytes, .slot_bytes = QOS_SLOT_BYTES,
		.slots_each = params->slots, .round = 1 };
	for (int i = 0; i < QOS_ROUNDS; i++)
		list_init(&share->rounds[i]);
	share->current = share->fresh = &share->rounds[share->round];
}

void
qos_tenant_init(struct qos_tenant *tenant, struct qos_group *group, uint32_t weight)
{
	*tenant = (struct qos_tenant){ .weight = weight, .group = group, .open = EVERY_QUEUE, .state = QOS_IDLE,
		.at = QOS_AT_NONE, .slot = { SLOT_NONE, SLOT_NONE } };
	list_init(&tenant->resting);
	for (int queue = 0; queue < QOS_QUEUES; queue++)
		list_init(&tenant->queues[queue]);
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		tenant->lanes[kind].tenant = tenant;
		tenant->lanes[kind].queues = (uint8_t)(EVERY_READ << kind);
	}
}

/* ---- what a tenant has waiting ---- */

/* Those of a priority stand side by side, those of the first one last. */
static unsigned
queue_of(unsigned kind, unsigned priority)
{
	return (QOS_PRIORITIES - 1 - priority) * QOS_KINDS + kind;
}

static struct qos_io *
io_of(struct list *place)
{
	return container_of(place, struct qos_io, place);
}

/* The queues of which I/Os may go. */
static unsigned
ready(const struct qos_tenant *tenant)
{
	return tenant->filled & tenant->open;
}

/* Or one that is not the first. */
static bool
several_priorities(unsigned any)
{
	return any % (1u << FIRST_READ) != 0;
}

/* Of which priority is the next one, where I/Os of several may go: the queue of its reads. */
static unsigned
choose_priority(struct qos_tenant *tenant, unsigned any)
{
	if (__builtin_popcount((any | any >> 1) & EVERY_READ) == 1)
		return (unsigned)__builtin_ctz(any) & ~1u;
	for (;;) {
		for (unsigned p = 0; p < QOS_PRIORITIES; p++)
			if ((any >> queue_of(QOS_READ, p) & BOTH) != 0 && tenant->quota[p] > 0)
				return queue_of(QOS_READ, p);
		for (unsigned p = 0; p < QOS_PRIORITIES; p++)
			tenant->quota[p] = quotas[p];
	}
}

/* Which I/O of the tenant's is next; it has one. */
static struct qos_io *
choose(struct qos_tenant *tenant)
{
	unsigned any = ready(tenant), queue = FIRST_READ;
	const struct list *queues;
	struct qos_io *read, *write;

	if (several_priorities(any))
		queue = choose_priority(tenant, any);
	queues = &tenant->queues[queue];
	read = io_of(queues[QOS_READ].next);
	write = io_of(queues[QOS_WRITE].next);
	switch (any >> queue & BOTH) {
	case BOTH:
		return (int32_t)(read->order - write->order) < 0 ? read : write;
	case 1 << QOS_READ:
		return read;
	default:
		return write;
	}
}

/* It has something waiting, and would have more in flight if it might. */
static bool
backlogged(const struct qos_tenant *tenant)
{
	return (tenant->filled & ~tenant->capped) != 0;
}

static void
unqueue(struct qos_share *share, struct qos_tenant *tenant, struct qos_io *io)
{
	const struct list *next = io->place.next;

	tenant->waiting--;
	list_unlink(&io->place);
	if (next == io->place.prev) { /* its queue's head: there is no other */
		share->backlogged -= backlogged(tenant);
		tenant->filled &= (uint8_t)~(1u << queue_of(io->kind, io->priority));
		share->backlogged += backlogged(tenant);
		share->moved = true;
	}
}

/* ---- rounds ---- */

static uint64_t
quantum_of(const struct qos_share *share, struct qos_tenant *tenant)
{
	uint64_t quantum = qos_share_part(share, tenant) * share->quantum / QOS_PART_ONE;

	return quantum > 0 ? quantum : 1;
}

/* To the end of its round, or of this one if it is behind. */
static void
put_into(struct qos_share *share, struct qos_tenant *tenant)
{
	uint64_t round = tenant->round > share->round ? tenant->round : share->round;

	tenant->state = QOS_ACTIVE;
	tenant->at = round % QOS_ROUNDS;
	list_push(&share->rounds[tenant->at], &tenant->place);
	share->full |= UINT64_C(1) << tenant->at;
}

static void
put_first(struct qos_share *share, struct qos_tenant *tenant, bool of_all)
{
	struct list *before = of_all ? share->current : share->fresh;

	tenant->state = QOS_ACTIVE;
	tenant->at = QOS_AT_FRESH;
	list_push(before->next, &tenant->place);
	if (before == share->fresh)
		share->fresh = &tenant->place;
	share->full |= UINT64_C(1) << share->round % QOS_ROUNDS;
}

/* Of a thousand tenants none is in the cache when its turn comes, unless it is fetched before: while one after the
 * other leaves the round, the I/Os of the next but one, and who comes after that. */
static void
look_ahead(const struct list *round, const struct qos_tenant *tenant)
{
	const struct list *next = tenant->place.next, *queues;

	if (next == round || next->next == round)
		return;
	next = next->next;
	queues = &container_of(next, struct qos_tenant, place)->queues[FIRST_READ];
	__builtin_prefetch(queues[QOS_READ].next);
	__builtin_prefetch(queues[QOS_WRITE].next);
	__builtin_prefetch(next->next);
}

static void
take_out(struct qos_share *share, struct qos_tenant *tenant, enum qos_tenant_state state)
{
	unsigned at = tenant->at;

	if (at == QOS_AT_FRESH) {
		at = share->round % QOS_ROUNDS;
		if (share->fresh == &tenant->place)
			share->fresh = tenant->place.prev;
		share->moved = true;
	}
	look_ahead(&share->rounds[at], tenant);
	list_unlink(&tenant->place);
	if (tenant->place.next == tenant->place.prev)
		share->full &= ~(UINT64_C(1) << at);
	tenant->at = QOS_AT_NONE;
	tenant->state = (uint8_t)state;
}

/* It is shut out, and by no cap. */
static bool
waits_for_turn(const struct qos_tenant *tenant)
{
	return (tenant->open | tenant->capped) != EVERY_QUEUE;
}

static void
next_round(struct qos_share *share, struct qos_tenant *tenant, uint64_t round)
{
	tenant->round = round;
	tenant->deficit = quantum_of(share, tenant);
}

/*
 * It has something to go: in which round?  A tenant has one quantum in each, however often it comes and goes: one that
 * has had that of this round goes on with what is left of it, or has to wait for the next one.  While it asks for
 * nothing, or a cap holds it back, rounds go by without it; but not while it waits for tokens.
 */
static void
find_round(struct qos_share *share, struct qos_tenant *tenant)
{
	if (tenant->round < share->round && !waits_for_turn(tenant))
		next_round(share, tenant, share->round);
	else if (tenant->deficit == 0)
		next_round(share, tenant, tenant->round + 1);
}

/* Where a tenant enters its round. */
enum entry { FIRST, EARLY, LAST };

static void
enter(struct qos_share *share, struct qos_tenant *tenant, enum entry entry)
{
	find_round(share, tenant);
	if (entry == LAST || tenant->round > share->round)
		put_into(share, tenant);
	else
		put_first(share, tenant, entry == FIRST);
}

/* As many rounds on as it takes to save up for `weight`. */
static void
save_up(struct qos_share *share, struct qos_tenant *tenant, uint64_t weight)
{
	uint64_t quantum = quantum_of(share, tenant), rounds = (weight - tenant->deficit + quantum - 1) / quantum;

	if (rounds >= QOS_ROUNDS - QOS_ROUNDS_AHEAD)
		rounds = QOS_ROUNDS - QOS_ROUNDS_AHEAD - 1;
	take_out(share, tenant, QOS_ACTIVE);
	tenant->deficit += rounds * quantum;
	tenant->round += rounds;
	put_into(share, tenant);
}

bool
qos_share_go_on(struct qos_share *share, uint64_t round_most)
{
	unsigned at = share->round % QOS_ROUNDS;
	uint64_t ahead = share->full >> at | share->full << (-at % QOS_ROUNDS), round;

	if (ahead == 0)
		return false;
	round = share->round + (unsigned)__builtin_ctzll(ahead);
	if (round > round_most)
		return false;
	share->round = round;
	share->current = share->fresh = &share->rounds[round % QOS_ROUNDS];
	return true;
}

struct qos_io *
qos_share_next(struct qos_share *share, struct qos_tenant *tenant, const struct qos_cost *cost)
{
	struct qos_io *io = choose(tenant);

	io->weight = qos_cost_weight(cost, (enum qos_kind)io->kind, io->at, io->bytes);
	if (tenant->deficit >= io->weight)
		return io;
	save_up(share, tenant, io->weight);
	return NULL;
}

/* ---- slots ---- */

static void
slot_open(struct qos_share *share, struct qos_tenant *tenant, unsigned kind)
{
	unsigned slot = (unsigned)__builtin_ctzll(~tenant->slots_taken);

	tenant->slot[kind] = (uint8_t)slot;
	tenant->slots_taken |= UINT64_C(1) << slot;
	tenant->slots[slot] = 1;
	tenant->begun[kind] = 0;
	tenant->room[kind] = qos_share_part(share, tenant) * share->slot_bytes / QOS_PART_ONE;
}

/* How fast slots complete depends on how much is in each, and so on weights; turns do not. */
static uint32_t
slots_most(const struct qos_share *share)
{
	return share->turns_decide ? QOS_SLOTS_MAX : share->slots_each;
}

/* As many as can be are taken, and none shall hold its tenant back: the last one is never full. */
static bool
goes_on(const struct qos_share *share, const struct qos_tenant *tenant)
{
	return share->turns_decide && tenant->slots_full == QOS_SLOTS_MAX - 1;
}

/* True: the slot is full, and its tenant may have no other. */
static bool
slot_fill(struct qos_share *share, struct qos_tenant *tenant, struct qos_io *io)
{
	unsigned kind = io->kind, begun;
	uint64_t room;

	if (tenant->slot[kind] == SLOT_NONE)
		slot_open(share, tenant, kind);
	room = tenant->room[kind];
	io->slot = tenant->slot[kind];
	begun = ++tenant->begun[kind];
	tenant->slots[io->slot]++;
	if (io->weight < room && begun < SLOT_IOS_MAX) {
		tenant->room[kind] = room - io->weight;
		return false;
	}
	if (room > 0)
		tenant->slot_ios = (uint16_t)begun;
	tenant->room[kind] = 0;
	if (begun < SLOT_IOS_MAX && goes_on(share, tenant))
		return false;
	tenant->slot[kind] = SLOT_NONE;
	tenant->slots[io->slot]--;
	return ++tenant->slots_full >= slots_most(share);
}

/* ---- what happens to I/Os ---- */

void
qos_share_arrive(struct qos_share *share, struct qos_tenant *tenant, struct qos_io *io)
{
	unsigned queue = queue_of(io->kind, io->priority);

	assert(io->at > 0 && queue < QOS_QUEUES);
	io->tenant = tenant;
	io->order = share->arrivals++;
	list_push(&tenant->queues[queue], &io->place);
	tenant->waiting++;
	if ((tenant->filled & 1u << queue) == 0) {
		share->backlogged -= backlogged(tenant);
		tenant->filled |= (uint8_t)(1u << queue);
		share->backlogged += backlogged(tenant);
	}
	if (tenant->state != QOS_IDLE)
		return;
	if (!tenant->counted)
		qos_share_count(share, tenant);
	if ((tenant->open & 1u << queue) != 0)
		enter(share, tenant, EARLY);
}

/* Nothing of the tenant's that is waiting could go: it is in no round. */
static void
rest_if_empty(struct qos_share *share, struct qos_tenant *tenant)
{
	if (ready(tenant) == 0 && tenant->state == QOS_ACTIVE)
		take_out(share, tenant, QOS_IDLE);
}

/* A cap holds the I/Os of such queues back, and no others. */
static void
hold_back(struct qos_share *share, struct qos_tenant *tenant, uint8_t capped)
{
	share->backlogged -= backlogged(tenant);
	tenant->capped = capped;
	share->backlogged += backlogged(tenant);
}

/* It is not shut any more. */
static void
let_in(struct qos_share *share, struct qos_lane *lane)
{
	if (lane->shut == QOS_SHUT_CAP)
		hold_back(share, lane->tenant, lane->tenant->capped & (uint8_t)~lane->queues);
	lane->tenant->open |= lane->queues;
	lane->shut = QOS_OPEN;
	share->shut--;
}

void
qos_share_cancel(struct qos_share *share, struct qos_io *io)
{
	struct qos_tenant *tenant = io->tenant;
	struct qos_lane *lane = &tenant->lanes[io->kind];

	unqueue(share, tenant, io);
	if (lane->shut != QOS_OPEN && (tenant->filled & lane->queues) == 0) {
		let_in(share, lane);
		lane->leave(lane);
	}
	rest_if_empty(share, tenant);
}

void
qos_share_take(struct qos_share *share, struct qos_io *io)
{
	struct qos_tenant *tenant = io->tenant;

	if (several_priorities(ready(tenant)) && tenant->quota[io->priority] > 0)
		tenant->quota[io->priority]--;
	unqueue(share, tenant, io);
	tenant->inflight++;
	tenant->deficit -= io->weight;
	if (slot_fill(share, tenant, io)) {
		take_out(share, tenant, QOS_DEFERRED);
		tenant->deficit = 0;
	} else {
		rest_if_empty(share, tenant);
	}
}

void
qos_share_shut(struct qos_share *share, struct qos_io *io, enum qos_shut why, void (*leave)(struct qos_lane *lane))
{
	struct qos_lane *lane = &io->tenant->lanes[io->kind];

	lane->shut = (uint8_t)why;
	lane->tenant->open &= (uint8_t)~lane->queues;
	if (why == QOS_SHUT_CAP)
		hold_back(share, lane->tenant, lane->tenant->capped | lane->queues);
	share->shut++;
	share->moved = true;
	lane->bytes = io->bytes;
	lane->leave = leave;
	rest_if_empty(share, io->tenant);
}

void
qos_share_open(struct qos_share *share, struct qos_lane *lane)
{
	struct qos_tenant *tenant = lane->tenant;

	if (tenant->state == QOS_IDLE) {
		enter(share, tenant, FIRST);
	} else if (tenant->state == QOS_ACTIVE && tenant->round <= share->round) {
		take_out(share, tenant, QOS_ACTIVE);
		put_first(share, tenant, true);
	}
	let_in(share, lane);
	/* whose round is a later one is let in, and not before others */
	share->moved |= tenant->at != QOS_AT_FRESH;
}

/* A tenant that was deferred may go on; what it has left waiting is shut out, or there is nothing, where it is idle. */
static void
resume(struct qos_share *share, struct qos_tenant *tenant)
{
	tenant->state = QOS_IDLE;
	if (ready(tenant) != 0)
		enter(share, tenant, LAST);
}

void
qos_share_ended(struct qos_share *share, struct qos_io *io)
{
	struct qos_tenant *tenant = io->tenant;

	tenant->inflight--;
	if (--tenant->slots[io->slot] > 0)
		return;
	tenant->slots_taken &= ~(UINT64_C(1) << io->slot);
	tenant->slots_full--;
	if (tenant->state == QOS_DEFERRED && tenant->slots_full < slots_most(share))
		resume(share, tenant);
}

void
qos_share_slots(struct qos_share *share, uint32_t slots_each)
{
	share->slots_each = slots_each;
}
