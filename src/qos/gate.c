#include "qos/gate.h"

/* ---- by turns ---- */

void
qos_gate_init(struct qos_gate *gate)
{
	*gate = (struct qos_gate){ 0 };
	for (int i = 0; i < QOS_ROUNDS_SHUT; i++)
		list_init(&gate->rounds[i]);
}

static void
gate_leave(struct qos_lane *lane)
{
	struct qos_gate *gate = lane->gate;

	list_remove(&lane->place);
	if (list_empty(&gate->rounds[lane->round]))
		gate->full &= (uint8_t)~(1u << lane->round);
	gate->waiting--;
}

void
qos_gate_shut(struct qos_gate *gate, struct qos_share *share, struct qos_io *io, bool first)
{
	struct qos_lane *lane = &io->tenant->lanes[io->kind];
	uint64_t round = io->tenant->round;
	struct list *lanes = &gate->rounds[round % QOS_ROUNDS_SHUT];

	lane->gate = gate;
	lane->round = round % QOS_ROUNDS_SHUT;
	gate->full |= (uint8_t)(1u << lane->round);
	list_push(first ? lanes->next : lanes, &lane->place);
	if (gate->waiting++ == 0 || round < gate->round)
		gate->round = round;
	qos_share_shut(share, io, QOS_SHUT_TURN, gate_leave);
}

struct qos_lane *
qos_gate_first(struct qos_gate *gate)
{
	unsigned at = gate->round % QOS_ROUNDS_SHUT, ahead;

	if (gate->waiting == 0)
		return NULL;
	/* the bit of the earliest round comes first */
	ahead = ((unsigned)gate->full << QOS_ROUNDS_SHUT | gate->full) >> at;
	gate->round += (unsigned)__builtin_ctz(ahead);
	return container_of(gate->rounds[gate->round % QOS_ROUNDS_SHUT].next, struct qos_lane, place);
}

void
qos_gate_open(struct qos_gate *gate, struct qos_share *share, struct qos_lane *lane)
{
	gate->passing = lane;
	qos_share_open(share, lane);
	gate_leave(lane);
}

/* ---- by what they have had ---- */

void
qos_stile_init(struct qos_stile *stile)
{
	*stile = (struct qos_stile){ 0 };
}

static void
stile_leave(struct qos_lane *lane)
{
	struct qos_stile *stile = lane->gate;

	timer_clear(&stile->lanes, &lane->turn);
	stile->waiting--;
}

/* Who was not there for a while has not saved anything up. */
static uint64_t
due_at(const struct qos_stile *stile, const struct qos_lane *lane, unsigned level)
{
	return lane->paid[level] > stile->time ? lane->paid[level] : stile->time;
}

void
qos_stile_shut(struct qos_stile *stile, struct qos_share *share, struct qos_io *io, unsigned level)
{
	struct qos_lane *lane = &io->tenant->lanes[io->kind];

	lane->gate = stile;
	timer_set(&stile->lanes, &lane->turn, due_at(stile, lane, level));
	stile->waiting++;
	qos_share_shut(share, io, QOS_SHUT_CAP, stile_leave);
}

struct qos_lane *
qos_stile_open(struct qos_stile *stile, struct qos_share *share)
{
	struct qos_lane *lane;

	if (stile->lanes.root == NULL)
		return NULL;
	lane = container_of(stile->lanes.root, struct qos_lane, turn);
	stile->passing = lane;
	qos_share_open(share, lane);
	stile_leave(lane);
	return lane;
}

void
qos_stile_take(struct qos_stile *stile, const struct qos_share *share, struct qos_io *io, unsigned level)
{
	struct qos_lane *lane = &io->tenant->lanes[io->kind];

	stile->time = due_at(stile, lane, level);
	lane->paid[level] = stile->time + io->weight * QOS_PART_ONE / (qos_share_part(share, io->tenant) + 1);
}
