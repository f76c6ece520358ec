/*
 * history_steps.h - what is told to a history, step by step: of one of its blocks, each step a little later.
 *
 * What returns a bool says whether the history has found it right.
 */
#ifndef TESTS_HISTORY_STEPS_H
#define TESTS_HISTORY_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trial/history.h"

enum { STEPS_BLOCK = 2, A = 0xa, B = 0xb, C = 0xc, D = 0xd };

struct steps {
	struct arena arena;
	struct history *history;
	uint64_t now_ns;
};
extern struct steps steps;

int steps_setup(void **state);
int steps_teardown(void **state);

/* From the beginning: nothing was told yet. */
void steps_again(void);

/* The next moment, a tenth of a millisecond after the last one. */
uint64_t steps_tick(void);

/* An operation begins... */
struct history_op op_begins(enum history_kind kind, uint32_t who, uint64_t expected, uint64_t value);
struct history_op op_reads(uint32_t who);
struct history_op op_writes(uint32_t who, uint64_t value);
struct history_op op_swaps(uint32_t who, uint64_t expected, uint64_t value);

/* ... and ends. */
bool op_found(struct history_op *op, uint64_t value);
bool op_done(struct history_op *op);
bool op_durable(struct history_op *op);
bool op_differs(struct history_op *op);
bool op_failed(struct history_op *op);

/* Begin and end: a write of host 1, which is right; a read and a Compare of host 2; a Flush. */
void block_written(uint64_t value);
bool block_is(uint64_t value);
bool block_compares(uint64_t value);
bool flush_by(uint32_t who);

void lose_power(void);

#endif
