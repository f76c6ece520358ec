/*
 * A device is played that has a cache, loses power, hears some things twice and
 * others late; what it answers is true, until some of it is made a lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "history_script.h"

struct script script;
static struct rng rng;

static uint64_t
below(uint64_t limit)
{
	return rng_below(&rng, limit);
}

static void
add(struct script_event event)
{
	assert_in_range(script.event_count, 0, SCRIPT_EVENTS_MAX - 1);
	script.events[script.event_count++] = event;
}

/* ---- a true device ---- */

struct truth {
	enum { NOT_BEGUN, AT_WORK, GHOST, OVER } state[SCRIPT_OPS_MAX];
	bool shaken[SCRIPT_OPS_MAX], executed[SCRIPT_OPS_MAX];
	enum how how[SCRIPT_OPS_MAX];
	uint64_t found[SCRIPT_OPS_MAX];
	struct {
		bool open, executed;
		uint32_t who;
	} flushes[SCRIPT_EVENTS_MAX];
	uint64_t log[SCRIPT_EVENTS_MAX]; /* what a loss of power may leave: the last is there now */
	int logged, at_work;
};
static struct truth truth;

static void
true_write(uint64_t value, bool durable)
{
	if (durable)
		truth.logged = 0;
	truth.log[truth.logged++] = value;
}

static void
true_execute(int i)
{
	struct script_op *op = &script.ops[i];
	uint64_t there = truth.log[truth.logged - 1];

	if (truth.executed[i] && !truth.shaken[i] && op->kind != HISTORY_READ && op->kind != HISTORY_COMPARE)
		return;
	truth.executed[i] = true;
	truth.found[i] = there;
	truth.how[i] = op->kind == HISTORY_READ ? FOUND : op->kind == HISTORY_WRITE || there == op->expected ?
	    (op->fua ? DURABLE : DONE) : DIFFERS;
	if (op->kind == HISTORY_WRITE || (op->kind == HISTORY_SWAP && there == op->expected))
		true_write(op->value, op->fua);
}

static void
true_begin(void)
{
	static const uint64_t common[] = { HISTORY_ZEROS, HISTORY_ZEROS, HISTORY_UNREADABLE };
	struct script_op *op = &script.ops[script.op_count];
	uint64_t kind = below(10);

	*op = (struct script_op){ .kind = kind < 4 ? HISTORY_WRITE : kind < 7 ? HISTORY_READ : kind < 9 ? HISTORY_SWAP :
	    HISTORY_COMPARE, .who = (uint32_t)below(SCRIPT_HOSTS), .value = 10 + (uint64_t)script.op_count };
	if (below(4) == 0)
		op->value = common[below(3)];
	op->fua = below(4) == 0;
	op->expected = truth.log[truth.logged - 1];
	if (script.op_count > 0 && below(3) != 0)
		op->expected = script.ops[below((uint64_t)script.op_count)].value;
	truth.state[script.op_count] = AT_WORK;
	truth.at_work++;
	add((struct script_event){ .what = BEGIN, .op = script.op_count++ });
}

static void
true_end(int i)
{
	struct script_op *op = &script.ops[i];
	bool looks = op->kind == HISTORY_READ || op->kind == HISTORY_COMPARE;

	if (below(10) == 0) {
		add((struct script_event){ .what = UNKNOWN, .op = i });
		truth.state[i] = looks ? OVER : GHOST;
		truth.at_work -= looks;
		return;
	}
	if (!truth.executed[i] && below(4) != 0)
		true_execute(i);
	add((struct script_event){ .what = END, .op = i, .how = truth.executed[i] ? truth.how[i] : NO_EFFECT,
		.value = truth.found[i] });
	truth.state[i] = OVER;
	truth.at_work--;
}

static void
true_settle(uint32_t who)
{
	for (int i = 0; i < script.op_count; i++)
		if (truth.state[i] == GHOST && script.ops[i].who == who) {
			truth.state[i] = OVER;
			truth.at_work--;
		}
	add((struct script_event){ .what = SETTLED, .who = who });
}

static void
true_flush(void)
{
	int count = script.flush_count, i = count > 0 && below(3) != 0 ? (int)below((uint64_t)count) : count;

	if (i == count) {
		truth.flushes[i].open = true;
		truth.flushes[i].executed = false;
		truth.flushes[i].who = (uint32_t)below(SCRIPT_HOSTS);
		script.flush_count++;
		add((struct script_event){ .what = FLUSH_BEGIN, .op = i, .who = truth.flushes[i].who });
	} else if (truth.flushes[i].open && !truth.flushes[i].executed) {
		truth.flushes[i].executed = true;
		truth.log[0] = truth.log[truth.logged - 1];
		truth.logged = 1;
	} else if (truth.flushes[i].open) {
		truth.flushes[i].open = false;
		add((struct script_event){ .what = FLUSH_DONE, .op = i, .who = truth.flushes[i].who,
			.shaken = below(4) == 0 });
	}
}

/* The machine starts again: what it had not flushed it never will. */
static void
true_loss(bool wiped)
{
	truth.log[0] = wiped ? HISTORY_ZEROS : truth.log[below((uint64_t)truth.logged)];
	truth.logged = 1;
	for (int i = 0; i < script.flush_count; i++)
		if (!truth.flushes[i].executed)
			truth.flushes[i].open = false;
	add((struct script_event){ .what = wiped ? WIPED : POWER });
}

static void
true_step(int ops_max, unsigned disasters)
{
	int count = script.op_count;
	int i = count > 0 ? (count < 12 ? (int)below((uint64_t)count) : count - 1 - (int)below(12)) : -1;
	uint64_t dice = below(100);

	if (dice < 25 && count < ops_max && truth.at_work < HISTORY_PENDING_MAX)
		true_begin();
	else if (dice < 50 && i >= 0 && (truth.state[i] == AT_WORK || truth.state[i] == GHOST))
		true_execute(i);
	else if (dice < 75 && i >= 0 && truth.state[i] == AT_WORK)
		true_end(i);
	else if (dice < 79 && i >= 0 && truth.state[i] == AT_WORK) {
		truth.shaken[i] = true;
		add((struct script_event){ .what = SHAKE, .op = i });
	} else if (dice >= 80 && dice < 82)
		true_settle((uint32_t)below(SCRIPT_HOSTS));
	else if (dice >= 83 && dice < 90)
		true_flush();
	else if (dice >= 90 && dice < 93 && disasters > 0)
		true_loss(disasters > 1 && below(6) == 0);
	else if (dice == 96 && disasters > 2) {
		true_write(below(2) ? HISTORY_GARBAGE : 1000 + below(3), false);
		add((struct script_event){ .what = CORRUPTED });
	}
}

void
script_play(uint64_t seed, int ops_max, int events_max, unsigned disasters)
{
	rng_seed(&rng, seed);
	script.event_count = script.op_count = script.flush_count = 0;
	memset(&truth, 0, sizeof(truth));
	truth.log[0] = HISTORY_ZEROS;
	truth.logged = 1;
	for (int steps = 0; script.event_count < events_max && steps < 10 * events_max; steps++)
		true_step(ops_max, disasters);
	for (int i = 0; i < script.op_count; i++) {
		if (truth.state[i] == AT_WORK)
			true_end(i);
	}
}

/* ---- a lie ---- */

void
script_lie(void)
{
	struct script_event *e = &script.events[below((uint64_t)script.event_count)];

	for (int tries = 0; e->what != END && tries < 4; tries++)
		e = &script.events[below((uint64_t)script.event_count)];
	switch (e->what) {
	case END:
		if (e->how == FOUND)
			e->value = below(4) == 0 ? below(2) : script.ops[below((uint64_t)script.op_count)].value;
		else if (e->how != NO_EFFECT && script.ops[e->op].kind != HISTORY_READ)
			e->how = below(3) == 0 ? NO_EFFECT : script.ops[e->op].kind == HISTORY_WRITE ? DURABLE :
			    e->how == DIFFERS ? DONE : DIFFERS;
		else if (script.ops[e->op].kind == HISTORY_WRITE)
			e->how = DURABLE;
		return;
	case SHAKE:
	case POWER:
		e->what = SETTLED; /* of nobody: it was not told */
		e->who = SCRIPT_HOSTS;
		return;
	case FLUSH_BEGIN:
		add((struct script_event){ .what = FLUSH_DONE, .op = e->op, .who = e->who, .shaken = below(2) });
		return;
	default:
		return;
	}
}
