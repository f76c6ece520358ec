/*
 * test_flash_buffer.c - which units wait, in which order, and which of several of one unit is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "flash/buffer.h"

enum { SLOTS = 24, DIES = 3, UNITS = 40 };

struct bench {
	struct arena arena;
	struct buffer b;
};

static void
bench_open(struct bench *t)
{
	arena_init(&t->arena, 0);
	assert_int_equal(buffer_init(&t->b, &t->arena, SLOTS, DIES, 512, true), 0);
}

static void
bench_close(struct bench *t)
{
	buffer_fini(&t->b);
	assert_int_equal(t->arena.bytes, 0);
}

static uint32_t
waits(struct bench *t, uint32_t unit, uint32_t die)
{
	uint32_t slot = buffer_take(&t->b, unit);

	buffer_wait(&t->b, slot, die);
	return slot;
}

static void
a_unit_is_found_until_its_slot_is_given_back(void **state)
{
	struct bench t;
	uint32_t slot;

	(void)state;
	bench_open(&t);
	assert_int_equal(buffer_find(&t.b, 7), BUFFER_NONE);
	slot = waits(&t, 7, 1);
	assert_int_equal(buffer_find(&t.b, 7), slot);
	assert_int_equal(buffer_find(&t.b, 7 + 64), BUFFER_NONE); /* in the same chain */
	assert_int_equal(buffer_program(&t.b, 1), slot);
	assert_int_equal(buffer_find(&t.b, 7), slot);
	buffer_done(&t.b, slot);
	buffer_give(&t.b, slot);
	assert_int_equal(buffer_find(&t.b, 7), BUFFER_NONE);
	assert_int_equal(t.b.free_count, SLOTS);
	bench_close(&t);
}

static void
what_is_programmed_first_of_a_unit_does_not_hide_what_is_newer(void **state)
{
	struct bench t;
	uint32_t older, newer;

	(void)state;
	bench_open(&t);
	older = waits(&t, 7, 0);
	assert_int_equal(buffer_program(&t.b, 0), older);
	newer = waits(&t, 7, 1);
	assert_int_equal(buffer_find(&t.b, 7), newer);
	assert_int_equal(buffer_program(&t.b, 1), newer);
	buffer_done(&t.b, newer);
	assert_true(t.b.slots[older].dead && !t.b.slots[newer].dead);
	buffer_give(&t.b, newer);
	assert_int_equal(buffer_find(&t.b, 7), BUFFER_NONE);
	buffer_give(&t.b, older);
	assert_int_equal(t.b.free_count, SLOTS);
	bench_close(&t);
}

static void
what_came_until_then_is_settled_when_it_is_programmed_or_trimmed(void **state)
{
	struct bench t;
	uint32_t slot[3];

	(void)state;
	bench_open(&t);
	for (uint32_t i = 0; i < 3; i++)
		slot[i] = waits(&t, i, 0);
	assert_true(buffer_settled(&t.b, t.b.slots[slot[0]].sequence - 1));
	assert_false(buffer_settled(&t.b, t.b.slots[slot[0]].sequence));
	buffer_trim(&t.b, slot[0]);
	assert_true(buffer_settled(&t.b, t.b.slots[slot[0]].sequence));
	assert_false(buffer_settled(&t.b, t.b.slots[slot[1]].sequence));
	assert_int_equal(buffer_program(&t.b, 0), slot[1]);
	assert_false(buffer_settled(&t.b, t.b.slots[slot[1]].sequence));
	buffer_give(&t.b, slot[1]);
	assert_true(buffer_settled(&t.b, t.b.slots[slot[1]].sequence));
	assert_false(buffer_settled(&t.b, t.b.sequence));
	bench_close(&t);
}

static void
what_was_not_programmed_is_the_first_of_its_line_again(void **state)
{
	struct bench t;
	uint32_t slot[3];

	(void)state;
	bench_open(&t);
	for (uint32_t i = 0; i < 3; i++)
		slot[i] = waits(&t, i, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(buffer_program(&t.b, 2), slot[i]);
	for (uint32_t i = 3; i-- > 0;)
		buffer_again(&t.b, slot[i]);
	(void)waits(&t, 3, 2);
	buffer_trim(&t.b, slot[1]); /* from the middle of the line */
	assert_int_equal(t.b.lines[2].count, 3);
	assert_int_equal(buffer_program(&t.b, 2), slot[0]);
	assert_int_equal(buffer_program(&t.b, 2), slot[2]);
	assert_int_equal(t.b.slots[buffer_program(&t.b, 2)].unit, 3);
	assert_int_equal(t.b.lines[2].count, 0);
	bench_close(&t);
}

/* ---- at random, against a list ---- */

struct entry {
	uint32_t slot, unit, die;
	uint64_t sequence;
	uint8_t state;
	bool dead;
};

struct model {
	struct entry entries[SLOTS]; /* by age */
	uint32_t lines[DIES][SLOTS], counts[DIES];
	uint32_t count;
};

static struct entry *
newest_of(struct model *m, uint32_t unit)
{
	for (uint32_t i = m->count; i-- > 0;)
		if (m->entries[i].unit == unit && !m->entries[i].dead)
			return &m->entries[i];
	return NULL;
}

static void
model_check(struct bench *t, struct model *m)
{
	uint32_t trimmed = 0, slot = t->b.oldest;

	for (uint32_t i = 0; i < m->count; i++, slot = t->b.slots[slot].after) {
		assert_int_equal(slot, m->entries[i].slot);
		assert_int_equal(t->b.slots[slot].state, m->entries[i].state);
		assert_int_equal(t->b.slots[slot].dead, m->entries[i].dead);
		assert_int_equal(t->b.slots[slot].sequence, m->entries[i].sequence);
		trimmed += m->entries[i].state == BUFFER_TRIMMED;
	}
	assert_int_equal(slot, BUFFER_NONE);
	assert_int_equal(t->b.trimmed, trimmed);
	assert_int_equal(t->b.free_count, SLOTS - m->count);
	for (uint32_t unit = 0; unit < UNITS; unit++) {
		const struct entry *e = newest_of(m, unit);

		assert_int_equal(buffer_find(&t->b, unit), e != NULL ? e->slot : BUFFER_NONE);
	}
	for (uint32_t die = 0; die < DIES; die++) {
		uint32_t at = t->b.lines[die].first;

		assert_int_equal(t->b.lines[die].count, m->counts[die]);
		for (uint32_t i = 0; i < m->counts[die]; i++, at = t->b.slots[at].next)
			assert_int_equal(at, m->lines[die][i]);
	}
}

static void
model_leave_line(struct model *m, uint32_t die, uint32_t slot)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->counts[die]; i++)
		if (m->lines[die][i] != slot)
			m->lines[die][kept++] = m->lines[die][i];
	m->counts[die] = kept;
}

static void
model_give(struct bench *t, struct model *m, struct entry *e)
{
	buffer_give(&t->b, e->slot);
	for (; e + 1 < m->entries + m->count; e++)
		*e = e[1];
	m->count--;
}

/* A unit comes: into its slot, if it waits or was trimmed, or into a new one. */
static void
model_come(struct bench *t, struct model *m, uint32_t unit, uint32_t die, bool trim)
{
	struct entry *e = newest_of(m, unit);

	if (e == NULL || e->state == BUFFER_PROGRAMMING) {
		if (m->count == SLOTS)
			return;
		e = &m->entries[m->count++];
		*e = (struct entry){ .slot = buffer_take(&t->b, unit), .unit = unit };
		e->sequence = t->b.sequence;
	} else if ((e->state == BUFFER_TRIMMED) == trim) {
		return;
	}
	if (trim) {
		if (e->state == BUFFER_WAITING)
			model_leave_line(m, e->die, e->slot);
		buffer_trim(&t->b, e->slot);
		e->state = BUFFER_TRIMMED;
		return;
	}
	buffer_wait(&t->b, e->slot, die);
	e->state = BUFFER_WAITING;
	e->die = die;
	m->lines[die][m->counts[die]++] = e->slot;
}

static void
model_program(struct bench *t, struct model *m, uint32_t die)
{
	uint32_t slot;

	if (m->counts[die] == 0)
		return;
	slot = buffer_program(&t->b, die);
	assert_int_equal(slot, m->lines[die][0]);
	model_leave_line(m, die, slot);
	for (uint32_t i = 0; i < m->count; i++)
		if (m->entries[i].slot == slot)
			m->entries[i].state = BUFFER_PROGRAMMING;
}

/* One that is being programmed, or trimmed, is through. */
static void
model_end(struct bench *t, struct model *m, uint32_t at)
{
	struct entry *e = &m->entries[at];

	if (at >= m->count || e->state == BUFFER_WAITING)
		return;
	if (!e->dead) {
		buffer_done(&t->b, e->slot);
		for (uint32_t i = 0; i < at; i++)
			m->entries[i].dead |= m->entries[i].unit == e->unit;
	}
	model_give(t, m, e);
}

static void
at_random_it_holds_what_a_list_holds(void **state)
{
	struct model m = { 0 };
	struct bench t;
	struct rng rng;

	(void)state;
	bench_open(&t);
	rng_seed(&rng, 1);
	for (int i = 0; i < 100000; i++) {
		uint32_t what = (uint32_t)rng_below(&rng, 8), die = (uint32_t)rng_below(&rng, DIES);

		if (what < 4)
			model_come(&t, &m, (uint32_t)rng_below(&rng, UNITS), die, what == 0);
		else if (what < 6)
			model_program(&t, &m, die);
		else
			model_end(&t, &m, (uint32_t)rng_below(&rng, SLOTS));
		model_check(&t, &m);
		if (rng_below(&rng, 1000) == 0) {
			buffer_empty(&t.b);
			m = (struct model){ 0 };
		}
	}
	bench_close(&t);
}

static void
without_memory_it_leaves_none_behind(void **state)
{
	struct arena arena;
	struct buffer b;
	int error = -1;

	(void)state;
	arena_init(&arena, 0);
	for (uint64_t at = 1; error != 0; at++) {
		arena.fail_at = at;
		error = buffer_init(&b, &arena, SLOTS, DIES, 512, true);
		assert_true(error == 0 || error == -12);
		assert_true((at > 4) == (error == 0));
		buffer_fini(&b);
		assert_int_equal(arena.bytes, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_found_until_its_slot_is_given_back),
		cmocka_unit_test(what_is_programmed_first_of_a_unit_does_not_hide_what_is_newer),
		cmocka_unit_test(what_came_until_then_is_settled_when_it_is_programmed_or_trimmed),
		cmocka_unit_test(what_was_not_programmed_is_the_first_of_its_line_again),
		cmocka_unit_test(at_random_it_holds_what_a_list_holds),
		cmocka_unit_test(without_memory_it_leaves_none_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
