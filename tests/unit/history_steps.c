#include "history_steps.h"

enum { BLOCKS = 4, TICK_NS = 100000 };

struct steps steps;

int
steps_setup(void **state)
{
	(void)state;
	steps.now_ns = 0;
	arena_init(&steps.arena, 0);
	steps.history = history_create(&steps.arena, BLOCKS);
	return steps.history == NULL;
}

int
steps_teardown(void **state)
{
	(void)state;
	arena_drop(&steps.arena);
	return 0;
}

void
steps_again(void)
{
	steps_teardown(NULL);
	assert_int_equal(steps_setup(NULL), 0);
}

uint64_t
steps_tick(void)
{
	return steps.now_ns += TICK_NS;
}

struct history_op
op_begins(enum history_kind kind, uint32_t who, uint64_t expected, uint64_t value)
{
	struct history_op op = { .block = STEPS_BLOCK, .kind = kind, .who = who, .value = value, .expected = expected };

	assert_true(history_has_room(steps.history, STEPS_BLOCK));
	history_begin(steps.history, &op, steps_tick());
	return op;
}

struct history_op
op_reads(uint32_t who)
{
	return op_begins(HISTORY_READ, who, 0, 0);
}

struct history_op
op_writes(uint32_t who, uint64_t value)
{
	return op_begins(HISTORY_WRITE, who, 0, value);
}

struct history_op
op_swaps(uint32_t who, uint64_t expected, uint64_t value)
{
	return op_begins(HISTORY_SWAP, who, expected, value);
}

bool
op_found(struct history_op *op, uint64_t value)
{
	return history_found(steps.history, op, value, steps_tick());
}

bool
op_done(struct history_op *op)
{
	return history_done(steps.history, op, false, steps_tick());
}

bool
op_durable(struct history_op *op)
{
	return history_done(steps.history, op, true, steps_tick());
}

bool
op_differs(struct history_op *op)
{
	return history_differs(steps.history, op, steps_tick());
}

bool
op_failed(struct history_op *op)
{
	return history_had_no_effect(steps.history, op, steps_tick());
}

void
block_written(uint64_t value)
{
	struct history_op op = op_writes(1, value);

	assert_true(op_done(&op));
}

bool
block_is(uint64_t value)
{
	struct history_op op = op_reads(2);

	return op_found(&op, value);
}

bool
block_compares(uint64_t value)
{
	struct history_op op = op_begins(HISTORY_COMPARE, 2, value, 0);

	return op_done(&op);
}

bool
flush_by(uint32_t who)
{
	struct history_flush flush;

	history_flush_begin(steps.history, &flush, who, steps_tick());
	return history_flush_done(steps.history, &flush, false, steps_tick());
}

void
lose_power(void)
{
	history_power_lost(steps.history, steps_tick());
}
