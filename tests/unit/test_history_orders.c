/*
 * trial/history against brute force: short histories of one block, true ones and lies, in all orders there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "history_brute.h"
#include "history_script.h"

enum { SEEDS = 8000 };

/* ---- what the history says ---- */

static bool
ended(struct history *h, const struct script_event *e, struct history_op *op, uint64_t now)
{
	bool may;

	/* What may be said of it is what is right when it is said. */
	if (e->how == FOUND || e->how == DIFFERS) {
		may = e->how == FOUND ? history_may_find(h, op, e->value) : history_may_differ(h, op);
		assert_int_equal(e->how == FOUND ? history_found(h, op, e->value, now) : history_differs(h, op, now),
		    may);
		return may;
	}
	if (e->how == NO_EFFECT)
		return history_had_no_effect(h, op, now);
	return history_done(h, op, e->how == DURABLE, now);
}

static bool
told(struct history *h, const struct script_event *e, struct history_op *op, struct history_flush *flushes,
    uint64_t now)
{
	const struct script_op *asked = &script.ops[e->op];

	switch (e->what) {
	case BEGIN:
		*op = (struct history_op){ .kind = asked->kind, .who = asked->who, .value = asked->value,
			.expected = asked->expected };
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
	static struct history_op under_way[SCRIPT_OPS_MAX];
	static struct history_flush flushes[SCRIPT_EVENTS_MAX];
	struct arena arena;
	struct history *h;
	bool right = true;

	arena_init(&arena, 0);
	h = history_create(&arena, 1);
	assert_non_null(h);
	for (int at = 0; at < script.event_count; at++) {
		const struct script_event *e = &script.events[at];
		bool now = told(h, e, &under_way[e->op], flushes, (uint64_t)at * 1000000);

		right &= now;
		assert_int_equal(right, history_wrong(h) == NULL);
	}
	if (!right && getenv("WEIR_WORDS") != NULL)
		print_message("# %s\n", history_wrong(h));
	track_lost = history_track_lost(h) > 0;
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
	for (int at = 0; at < script.event_count; at++) {
		const struct script_event *e = &script.events[at];
		const struct script_op *op = &script.ops[e->op];

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

		script_play(seed, 3 + (int)(seed / 12 % 4), 20, disasters);
		for (uint64_t lies = seed % 4; lies > 0; lies--)
			script_lie();
		brute_learn();
		is_right = checked();
		exactly = brute_explains(true);
		by_rule = brute_explains(false);
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
		script_play(seed, SCRIPT_OPS_MAX, seed % 9 == 0 ? 1000 : 150, (unsigned)(seed % 4));
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
