/*
 * trial/history against brute force: short histories of one block, true ones and lies, in all orders there are.
 *
 * A device is played that has a cache, loses power, hears some things twice
 * and others late; what it answers is true.  Then, half of the time, something
 * of it is made a lie.  Brute force puts the effect of each operation into
 * every place where it can be.  It judges durability twice: `exact`, by the
 * order in which things took effect, and by the rule of doc/oracles.md, which
 * knows only what ended before something else began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "trial/history.h"

enum { OPS_MAX = 400, EVENTS_MAX = 4096, LOG_MAX = 64, HOSTS = 3, AGAIN_MAX = 3, BASE = OPS_MAX,
	SEEDS = 8000 };

enum what { BEGIN, SHAKE, END, UNKNOWN, SETTLED, POWER, WIPED, CORRUPTED, FLUSH_BEGIN, FLUSH_DONE };
enum how { DONE, DURABLE, FOUND, DIFFERS, NO_EFFECT };

struct event {
	enum what what;
	enum how how;
	int op;              /* or flush */
	uint32_t who;
	uint64_t value;      /* found */
	bool shaken;
};

struct op {
	enum history_kind kind;
	uint32_t who;
	uint64_t value, expected;
	bool fua;
	int begun, shaken, ended; /* events; ended: when it cannot happen any more */
	enum how how;        /* known in advance by brute force */
	bool answered, unknown;
	uint64_t found;
};

static struct event events[EVENTS_MAX];
static struct op ops[OPS_MAX];
static int event_count, op_count, flush_count;
static struct rng rng;

static uint64_t
below(uint64_t limit)
{
	return rng_below(&rng, limit);
}

static struct event *
add(struct event event)
{
	assert_in_range(event_count, 0, EVENTS_MAX - 1);
	events[event_count] = event;
	return &events[event_count++];
}

/* ---- a true device ---- */

struct truth {
	enum { NOT_BEGUN, AT_WORK, GHOST, OVER } state[OPS_MAX];
	bool shaken[OPS_MAX], executed[OPS_MAX];
	enum how how[OPS_MAX];
	uint64_t found[OPS_MAX];
	struct {
		bool open, executed, shaken;
		uint32_t who;
	} flushes[EVENTS_MAX];
	uint64_t log[EVENTS_MAX]; /* what a loss of power may leave: the last is there now */
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
	struct op *op = &ops[i];
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
	struct op *op = &ops[op_count];
	uint64_t kind = below(10);

	*op = (struct op){ .kind = kind < 4 ? HISTORY_WRITE : kind < 7 ? HISTORY_READ : kind < 9 ? HISTORY_SWAP :
	    HISTORY_COMPARE, .who = (uint32_t)below(HOSTS), .value = 10 + (uint64_t)op_count };
	if (below(4) == 0)
		op->value = common[below(3)];
	op->fua = below(4) == 0;
	op->expected = truth.log[truth.logged - 1];
	if (op_count > 0 && below(3) != 0)
		op->expected = ops[below((uint64_t)op_count)].value;
	truth.state[op_count] = AT_WORK;
	truth.at_work++;
	add((struct event){ .what = BEGIN, .op = op_count++ });
}

static void
true_end(int i)
{
	struct op *op = &ops[i];
	bool looks = op->kind == HISTORY_READ || op->kind == HISTORY_COMPARE;

	if (below(10) == 0) {
		add((struct event){ .what = UNKNOWN, .op = i });
		truth.state[i] = looks ? OVER : GHOST;
		truth.at_work -= looks;
		return;
	}
	if (!truth.executed[i] && below(4) != 0)
		true_execute(i);
	add((struct event){ .what = END, .op = i, .how = truth.executed[i] ? truth.how[i] : NO_EFFECT,
		.value = truth.found[i] });
	truth.state[i] = OVER;
	truth.at_work--;
}

static void
true_settle(uint32_t who)
{
	for (int i = 0; i < op_count; i++)
		if (truth.state[i] == GHOST && ops[i].who == who) {
			truth.state[i] = OVER;
			truth.at_work--;
		}
	add((struct event){ .what = SETTLED, .who = who });
}

static void
true_flush(void)
{
	int i = flush_count > 0 && below(3) != 0 ? (int)below((uint64_t)flush_count) : flush_count;

	if (i == flush_count) {
		truth.flushes[i].open = true;
		truth.flushes[i].executed = truth.flushes[i].shaken = false;
		truth.flushes[i].who = (uint32_t)below(HOSTS);
		add((struct event){ .what = FLUSH_BEGIN, .op = flush_count++, .who = truth.flushes[i].who });
	} else if (truth.flushes[i].open && !truth.flushes[i].executed) {
		truth.flushes[i].executed = true;
		truth.log[0] = truth.log[truth.logged - 1];
		truth.logged = 1;
	} else if (truth.flushes[i].open) {
		truth.flushes[i].open = false;
		add((struct event){ .what = FLUSH_DONE, .op = i, .who = truth.flushes[i].who,
			.shaken = below(4) == 0 });
	}
}

/* The machine starts again: what it had not flushed it never will. */
static void
true_loss(bool wiped)
{
	truth.log[0] = wiped ? HISTORY_ZEROS : truth.log[below((uint64_t)truth.logged)];
	truth.logged = 1;
	for (int i = 0; i < flush_count; i++)
		if (!truth.flushes[i].executed)
			truth.flushes[i].open = false;
	add((struct event){ .what = wiped ? WIPED : POWER });
}

static void
true_step(int ops_max, unsigned disasters)
{
	int i = op_count > 0 ? (op_count < 12 ? (int)below((uint64_t)op_count) : op_count - 1 - (int)below(12)) : -1;
	uint64_t dice = below(100);

	if (dice < 25 && op_count < ops_max && truth.at_work < HISTORY_PENDING_MAX)
		true_begin();
	else if (dice < 50 && i >= 0 && (truth.state[i] == AT_WORK || truth.state[i] == GHOST))
		true_execute(i);
	else if (dice < 75 && i >= 0 && truth.state[i] == AT_WORK)
		true_end(i);
	else if (dice < 79 && i >= 0 && truth.state[i] == AT_WORK) {
		truth.shaken[i] = true;
		add((struct event){ .what = SHAKE, .op = i });
	} else if (dice >= 80 && dice < 82)
		true_settle((uint32_t)below(HOSTS));
	else if (dice >= 83 && dice < 90)
		true_flush();
	else if (dice >= 90 && dice < 93 && disasters > 0)
		true_loss(disasters > 1 && below(6) == 0);
	else if (dice == 96 && disasters > 2) {
		true_write(below(2) ? HISTORY_GARBAGE : 1000 + below(3), false);
		add((struct event){ .what = CORRUPTED });
	}
}

static void
play_truth(uint64_t seed, int ops_max, int events_max, unsigned disasters)
{
	rng_seed(&rng, seed);
	event_count = op_count = flush_count = 0;
	memset(&truth, 0, sizeof(truth));
	truth.log[0] = HISTORY_ZEROS;
	truth.logged = 1;
	for (int steps = 0; event_count < events_max && steps < 10 * events_max; steps++)
		true_step(ops_max, disasters);
	for (int i = 0; i < op_count; i++) {
		if (truth.state[i] == AT_WORK)
			true_end(i);
	}
}

/* ---- a lie ---- */

static void
lie(void)
{
	struct event *e = &events[below((uint64_t)event_count)];

	for (int tries = 0; e->what != END && tries < 4; tries++)
		e = &events[below((uint64_t)event_count)];
	switch (e->what) {
	case END:
		if (e->how == FOUND)
			e->value = below(4) == 0 ? below(2) : ops[below((uint64_t)op_count)].value;
		else if (e->how != NO_EFFECT && ops[e->op].kind != HISTORY_READ)
			e->how = below(3) == 0 ? NO_EFFECT : ops[e->op].kind == HISTORY_WRITE ? DURABLE :
			    e->how == DIFFERS ? DONE : DIFFERS;
		else if (ops[e->op].kind == HISTORY_WRITE)
			e->how = DURABLE;
		return;
	case SHAKE:
	case POWER:
		e->what = SETTLED; /* of nobody: it was not told */
		e->who = HOSTS;
		return;
	case FLUSH_BEGIN:
		add((struct event){ .what = FLUSH_DONE, .op = e->op, .who = e->who, .shaken = below(2) });
		return;
	default:
		return;
	}
}

/* ---- what brute force makes of it ---- */

struct path {
	int holds;           /* the operation that wrote it, or BASE */
	int log[LOG_MAX], logged; /* in order, since power was lost last */
	int floor;           /* from here on in the log, it may be what is left */
	int happened[8];     /* how often */
	int lost_at[8];      /* the event that undid it; 0: none did */
	unsigned satisfied;  /* operations that have seen what they say */
	uint64_t base;       /* the value at first */
	int base_ended;
};

static bool exact;
static int flush_begun[16], flush_after[16], durable_from[64]; /* the latter by event: of the rule */

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
	for (int i = 0; i < op_count; i++) {
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

	if (op->begun >= at || op->ended < at || (op->kind != HISTORY_WRITE && op->kind != HISTORY_SWAP))
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
answer_fits(struct path *p, const struct event *e, int at)
{
	struct op *op = &ops[e->op];
	bool wrote = op->kind == HISTORY_WRITE || op->kind == HISTORY_SWAP;

	if (e->how == FOUND || e->how == DIFFERS || (op->kind == HISTORY_COMPARE && e->how != NO_EFFECT))
		return p->satisfied & 1u << e->op;
	if (!wrote || e->how == NO_EFFECT)
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
flush_fits(struct path *p, const struct event *e, int at)
{
	int begun = flush_begun[e->op];

	if (!exact)
		return ended_of(p, p->holds) >= durable_from[at];
	for (int i = 0; i < op_count; i++) {
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

	for (int i = 0; i < op_count; i++)
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
	const struct event *e = &events[at];

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
	if (at == event_count)
		return true;
	if (try_event(path, at))
		return true;
	for (int i = 0; i < op_count; i++) {
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

	for (int at = 0; at < event_count; at++) {
		const struct event *e = &events[at];
		bool writes = e->what == END && (ops[e->op].kind == HISTORY_WRITE || ops[e->op].kind == HISTORY_SWAP);

		if (writes && e->how == DURABLE && ops[e->op].begun > from)
			from = ops[e->op].begun;
		for (int i = 0; e->what == FLUSH_DONE && i < op_count; i++) {
			const struct op *op = &ops[i];

			if (op->answered && (op->how == DONE || op->how == DURABLE) && op->kind != HISTORY_COMPARE &&
			    op->ended < flush_begun[e->op] && op->begun > flush_after[e->op] && op->begun > from &&
			    (!e->shaken || op->who == e->who))
				from = op->begun;
		}
		durable_from[at] = from;
	}
}

static void
know_all(void)
{
	int lost = -1;

	for (int i = 0; i < op_count; i++)
		ops[i].unknown = false;
	for (int at = 0; at < event_count; at++) {
		const struct event *e = &events[at];
		struct op *op = &ops[e->op];

		switch (e->what) {
		case BEGIN:
			op->begun = at;
			op->shaken = 0;
			op->ended = EVENTS_MAX;
			op->answered = op->unknown = false;
			break;
		case SHAKE:
			op->shaken = op->shaken == 0 ? at : op->shaken;
			break;
		case END:
			op->ended = at;
			op->answered = true;
			op->how = e->how;
			op->found = e->value;
			break;
		case UNKNOWN:
			op->unknown = true;
			break;
		case SETTLED:
			for (int i = 0; i < op_count; i++)
				if (ops[i].who == e->who && ops[i].unknown && ops[i].ended == EVENTS_MAX)
					ops[i].ended = at;
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

static bool
brute(bool exactly)
{
	struct path p = { .holds = BASE, .log = { BASE }, .logged = 1, .base = HISTORY_ZEROS, .base_ended = -1 };

	exact = exactly;
	return try(p, 0);
}

/* ---- what the history says ---- */

static bool
ended(struct history *h, const struct event *e, struct history_op *op, uint64_t now)
{
	if (e->how == FOUND)
		return history_found(h, op, e->value, now);
	if (e->how == DIFFERS)
		return history_differs(h, op, now);
	if (e->how == NO_EFFECT)
		return history_had_no_effect(h, op, now);
	return history_done(h, op, e->how == DURABLE, now);
}

static bool
told(struct history *h, const struct event *e, struct history_op *op, struct history_flush *flushes, uint64_t now)
{
	switch (e->what) {
	case BEGIN:
		*op = (struct history_op){ .kind = ops[e->op].kind, .who = ops[e->op].who, .value = ops[e->op].value,
			.expected = ops[e->op].expected };
		history_begin(h, op, now);
		return true;
	case SHAKE:
		history_shake(h, op);
		return true;
	case END:
		return ended(h, e, op, now);
	case UNKNOWN:
		history_unknown(h, op, now);
		return true;
	case SETTLED:
		history_settled(h, e->who);
		return true;
	case POWER:
		history_power_lost(h, now);
		return true;
	case WIPED:
		history_wiped(h, now);
		return true;
	case CORRUPTED:
		history_corrupted(h, 0);
		return true;
	case FLUSH_BEGIN:
		history_flush_begin(h, &flushes[e->op], e->who, now);
		return true;
	case FLUSH_DONE:
		return history_flush_done(h, &flushes[e->op], e->shaken, now);
	}
	return false;
}

static bool track_lost;

static bool
checked(void)
{
	static struct history_op under_way[OPS_MAX];
	static struct history_flush flushes[EVENTS_MAX];
	struct arena arena;
	struct history *h;
	bool right = true;

	arena_init(&arena, 0);
	h = history_create(&arena, 1);
	assert_non_null(h);
	for (int at = 0; at < event_count; at++) {
		bool now = told(h, &events[at], &under_way[events[at].op], flushes, (uint64_t)at * 1000000);

		right &= now;
		assert_int_equal(right, history_wrong(h) == NULL);
	}
	if (!right && getenv("WEIR_WORDS") != NULL)
		print_message("# %s\n", history_wrong(h));
	track_lost = history_states(h) > HISTORY_STATES_MAX;
	arena_drop(&arena);
	return right;
}

static void
print_script(uint64_t seed)
{
	static const char *const whats[] = { "begin", "shake", "end", "unknown", "settled", "power", "wiped",
		"corrupted", "flush_begin", "flush_done" };
	static const char *const hows[] = { "done", "durable", "found", "differs", "no_effect" };
	static const char *const kinds[] = { "read", "write", "swap", "compare" };

	print_error("seed %llu\n", (unsigned long long)seed);
	for (int at = 0; at < event_count; at++) {
		const struct event *e = &events[at];
		const struct op *op = &ops[e->op];

		print_error("%2d %s %d who %u", at, whats[e->what], e->op, e->who);
		if (e->what == BEGIN)
			print_error(" %s value %llx expected %llx of %u", kinds[op->kind],
			    (unsigned long long)op->value, (unsigned long long)op->expected, op->who);
		if (e->what == END)
			print_error(" %s %llx", hows[e->how], (unsigned long long)e->value);
		print_error("%s\n", e->shaken ? " shaken" : "");
	}
}

static uint64_t
from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- tests ---- */

/* Neither is a truth called a lie, nor the reverse: exactly where no power is lost, by the rule where it is. */
static void
brute_force_and_history_agree(void **state)
{
	uint64_t first = from_environment("WEIR_SEED_FIRST", 1), count = from_environment("WEIR_SEEDS", SEEDS);
	unsigned right = 0, wrong = 0, between = 0, lost = 0;

	(void)state;
	for (uint64_t seed = first; seed < first + count; seed++) {
		unsigned disasters = (unsigned)(seed % 3);
		bool is_right, exactly, by_rule;

		play_truth(seed, 3 + (int)(seed / 12 % 4), 20, disasters);
		for (uint64_t lies = seed % 4; lies > 0; lies--)
			lie();
		know_all();
		apply_rule();
		is_right = checked();
		exactly = brute(true);
		by_rule = brute(false);
		lost += is_right && track_lost;
		if (is_right && track_lost)
			continue;
		if ((exactly && !is_right) || (is_right && !by_rule) || (disasters == 0 && is_right != exactly)) {
			print_script(seed);
			fail_msg("history %d, exactly %d, by the rule %d", is_right, exactly, by_rule);
		}
		right += exactly;
		wrong += !is_right;
		between += is_right && !exactly;
	}
	print_message("# %u right, %u wrong, %u by the rule right alone, %u too many\n", right, wrong, between, lost);
	if (count >= SEEDS)
		assert_true(right > count / 4 && wrong > count / 8 && between < count / 50 && lost < count / 1000);
}

static void
a_true_history_is_never_called_a_lie(void **state)
{
	uint64_t first = from_environment("WEIR_SEED_FIRST", 1), count = from_environment("WEIR_SEEDS", SEEDS) / 50;

	(void)state;
	for (uint64_t seed = first; seed < first + count; seed++) {
		play_truth(seed, OPS_MAX, seed % 9 == 0 ? 1000 : 150, (unsigned)(seed % 4));
		if (!checked()) {
			print_script(seed);
			fail_msg("seed %llu", (unsigned long long)seed);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brute_force_and_history_agree),
		cmocka_unit_test(a_true_history_is_never_called_a_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
