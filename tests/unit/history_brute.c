/*
 * The effect of each operation is put into every place where it can be.
 */
#include "history_brute.h"

#include <assert.h>

#include "history_script.h"

enum { OPS_MAX = 8, EVENTS_MAX = 64, LOG_MAX = 64, AGAIN_MAX = 3, BASE = OPS_MAX };

/* What is known in advance of an operation. */
struct op {
	enum history_kind kind;
	uint32_t who;
	uint64_t value, expected;
	int begun, shaken, ended; /* events; ended: when it cannot happen any more */
	enum how how;
	bool answered, unknown;
	uint64_t found;
};

static struct op ops[OPS_MAX];
static int flush_begun[EVENTS_MAX], flush_after[EVENTS_MAX];
static int durable_from[EVENTS_MAX]; /* by the rule, up to each event */

struct path {
	int holds;           /* the operation that wrote it, or BASE */
	int log[LOG_MAX], logged; /* in order, since power was lost last */
	int floor;           /* from here on in the log, it may be what is left */
	int happened[OPS_MAX]; /* how often */
	int lost_at[OPS_MAX]; /* the event that undid it; 0: none did */
	unsigned satisfied;  /* operations that have seen what they say */
	uint64_t base;       /* the value at first */
	int base_ended;
};

static bool exact;

static bool
writes(const struct op *op)
{
	return op->kind == HISTORY_WRITE || op->kind == HISTORY_SWAP;
}

static uint64_t
value_of(const struct path *p, int version)
{
	return version == BASE ? p->base : ops[version].value;
}

static int
ended_of(const struct path *p, int version)
{
	return version == BASE ? p->base_ended : ops[version].ended;
}

static bool
same(const struct path *p, uint64_t value)
{
	return value_of(p, p->holds) == value;
}

static void
look(struct path *p, int at)
{
	for (int i = 0; i < script.op_count; i++) {
		const struct op *op = &ops[i];

		if (op->begun >= at || op->ended < at || !op->answered)
			continue;
		if ((op->how == FOUND && same(p, op->found)) || (op->how == DIFFERS && !same(p, op->expected)) ||
		    (op->kind == HISTORY_COMPARE && op->how != DIFFERS && same(p, op->expected)))
			p->satisfied |= 1u << i;
	}
}

/* It takes effect just before the event `at`. */
static bool
may_happen(const struct path *p, int i, int at)
{
	const struct op *op = &ops[i];
	bool again = op->shaken != 0 && op->shaken < at;

	if (op->begun >= at || op->ended < at || !writes(op))
		return false;
	if (p->happened[i] >= (again ? AGAIN_MAX : 1) || p->holds == i || p->logged == LOG_MAX)
		return false;
	if (op->answered && (op->how == NO_EFFECT || op->how == DIFFERS) && op->shaken == 0)
		return false;
	return op->kind == HISTORY_WRITE || same(p, op->expected);
}

static int
last_in_log(const struct path *p, int version)
{
	for (int k = p->logged - 1; k >= 0; k--)
		if (p->log[k] == version)
			return k;
	return -1;
}

static int
first_in_log(const struct path *p, int version)
{
	for (int k = 0; k < p->logged; k++)
		if (p->log[k] == version)
			return k;
	return -1;
}

static bool
answer_fits(struct path *p, const struct script_event *e, int at)
{
	struct op *op = &ops[e->op];

	if (e->how == FOUND || e->how == DIFFERS || (op->kind == HISTORY_COMPARE && e->how != NO_EFFECT))
		return p->satisfied & 1u << e->op;
	if (!writes(op) || e->how == NO_EFFECT)
		return true;
	if (p->happened[e->op] == 0)
		return false;
	if (e->how != DURABLE)
		return true;
	if (!exact)
		return ended_of(p, p->holds) >= durable_from[at];
	if (p->lost_at[e->op] != 0)
		return false;
	if (first_in_log(p, e->op) > p->floor)
		p->floor = first_in_log(p, e->op);
	return true;
}

static bool
flush_fits(struct path *p, const struct script_event *e, int at)
{
	int begun = flush_begun[e->op];

	if (!exact)
		return ended_of(p, p->holds) >= durable_from[at];
	for (int i = 0; i < script.op_count; i++) {
		const struct op *op = &ops[i];

		if (!op->answered || (op->how != DONE && op->how != DURABLE) || op->ended >= begun ||
		    (e->shaken && op->who != e->who))
			continue;
		if (p->lost_at[i] > begun)
			return false;
		if (last_in_log(p, i) > p->floor)
			p->floor = last_in_log(p, i);
	}
	return true;
}

static bool try(struct path path, int at);

static bool
survives(const struct path *path, int k, int at)
{
	struct path p = *path;

	for (int i = 0; i < script.op_count; i++)
		if (last_in_log(path, i) > k)
			p.lost_at[i] = at;
	p.holds = p.log[k];
	p.log[0] = p.holds;
	p.logged = 1;
	p.floor = 0;
	look(&p, at);
	return try(p, at + 1);
}

static bool
try_loss(const struct path *p, int at)
{
	for (int k = exact ? p->floor : 0; k < p->logged; k++)
		if ((exact || ended_of(p, p->log[k]) >= durable_from[at]) && survives(p, k, at))
			return true;
	return false;
}

static bool
try_base(const struct path *path, int at, uint64_t value)
{
	struct path p = *path;

	p.base = value;
	p.base_ended = at;
	p.holds = p.log[0] = BASE;
	p.logged = 1;
	p.floor = 0;
	look(&p, at);
	return try(p, at + 1);
}

static bool
try_event(struct path p, int at)
{
	const struct script_event *e = &script.events[at];

	switch (e->what) {
	case BEGIN:
		look(&p, at + 1);
		return try(p, at + 1);
	case END:
		return answer_fits(&p, e, at) && try(p, at + 1);
	case FLUSH_DONE:
		return flush_fits(&p, e, at) && try(p, at + 1);
	case POWER:
		return try_loss(&p, at);
	case WIPED:
		return try_base(&p, at, HISTORY_ZEROS);
	default:
		return try(p, at + 1);
	}
}

/* Whether some order explains all that comes from here on. */
static bool
try(struct path path, int at)
{
	if (at == script.event_count)
		return true;
	if (try_event(path, at))
		return true;
	for (int i = 0; i < script.op_count; i++) {
		struct path p = path;

		if (!may_happen(&p, i, at))
			continue;
		p.happened[i]++;
		p.lost_at[i] = 0;
		p.holds = i;
		p.log[p.logged++] = i;
		look(&p, at);
		if (try(p, at))
			return true;
	}
	return false;
}

/* The rule: the latest beginning of a write that is known to be durable, up to each event. */
static void
apply_rule(void)
{
	int from = -1;

	for (int at = 0; at < script.event_count; at++) {
		const struct script_event *e = &script.events[at];

		if (e->what == END && writes(&ops[e->op]) && e->how == DURABLE && ops[e->op].begun > from)
			from = ops[e->op].begun;
		for (int i = 0; e->what == FLUSH_DONE && i < script.op_count; i++) {
			const struct op *op = &ops[i];

			if (op->answered && (op->how == DONE || op->how == DURABLE) && op->kind != HISTORY_COMPARE &&
			    op->ended < flush_begun[e->op] && op->begun > flush_after[e->op] && op->begun > from &&
			    (!e->shaken || op->who == e->who))
				from = op->begun;
		}
		durable_from[at] = from;
	}
}

/* From here on nothing of the host can happen of which it will not hear. */
static void
settle(uint32_t who, int at)
{
	for (int i = 0; i < script.op_count; i++)
		if (ops[i].who == who && ops[i].unknown && ops[i].ended == SCRIPT_EVENTS_MAX)
			ops[i].ended = at;
}

static void
ended(const struct script_event *e, int at)
{
	struct op *op = &ops[e->op];

	op->ended = at;
	op->answered = true;
	op->how = e->how;
	op->found = e->value;
}

static void
know_all(void)
{
	int lost = -1;

	for (int at = 0; at < script.event_count; at++) {
		const struct script_event *e = &script.events[at];

		switch (e->what) {
		case BEGIN:
			ops[e->op].begun = at;
			break;
		case SHAKE:
			ops[e->op].shaken = ops[e->op].shaken == 0 ? at : ops[e->op].shaken;
			break;
		case END:
			ended(e, at);
			break;
		case UNKNOWN:
			ops[e->op].unknown = true;
			break;
		case SETTLED:
			settle(e->who, at);
			break;
		case POWER:
		case WIPED:
			lost = at;
			break;
		case FLUSH_BEGIN:
			flush_begun[e->op] = at;
			flush_after[e->op] = lost;
			break;
		default:
			break;
		}
	}
}

void
brute_learn(void)
{
	assert(script.op_count <= OPS_MAX && script.event_count <= EVENTS_MAX);
	for (int i = 0; i < script.op_count; i++)
		ops[i] = (struct op){ .kind = script.ops[i].kind, .who = script.ops[i].who,
			.value = script.ops[i].value, .expected = script.ops[i].expected, .ended = SCRIPT_EVENTS_MAX };
	know_all();
	apply_rule();
}

bool
brute_explains(bool exactly)
{
	struct path p = { .holds = BASE, .log = { BASE }, .logged = 1, .base = HISTORY_ZEROS, .base_ended = -1 };

	exact = exactly;
	return try(p, 0);
}
