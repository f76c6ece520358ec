#include "flash/buffer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static uint32_t
power_above(uint32_t count)
{
	uint32_t power = 1;

	while (power < count)
		power *= 2;
	return power;
}

void
buffer_empty(struct buffer *b)
{
	memset(b->heads, 0xff, sizeof(*b->heads) * (b->mask + 1));
	for (uint32_t i = 0; i < b->count; i++)
		b->slots[i] = (struct buffer_slot){ .next = i + 1 < b->count ? i + 1 : BUFFER_NONE };
	for (uint32_t i = 0; i < b->dies; i++)
		b->lines[i] = (struct buffer_line){ .first = BUFFER_NONE, .last = BUFFER_NONE };
	b->free = 0;
	b->free_count = b->count;
	b->oldest = b->newest = BUFFER_NONE;
	b->trimmed = 0;
}

int
buffer_init(struct buffer *b, struct arena *arena, uint32_t slots, uint32_t dies, uint32_t unit_bytes, bool data)
{
	/* Twice as many heads as slots: nearly all who look for a unit that is not here see it in one look. */
	uint32_t heads = power_above(slots) * 2;

	*b = (struct buffer){
		.arena = arena, .count = slots, .unit_bytes = unit_bytes, .mask = heads - 1, .dies = dies,
	};
	b->slots = arena_alloc(arena, sizeof(*b->slots) * slots);
	b->heads = arena_alloc(arena, sizeof(*b->heads) * heads);
	b->lines = arena_alloc(arena, sizeof(*b->lines) * dies);
	b->data = data ? arena_alloc_raw(arena, (size_t)slots * unit_bytes) : NULL;
	if (b->slots == NULL || b->heads == NULL || b->lines == NULL || (data && b->data == NULL))
		return -ENOMEM;
	buffer_empty(b);
	return 0;
}

void
buffer_fini(struct buffer *b)
{
	arena_free(b->arena, b->slots);
	arena_free(b->arena, b->heads);
	arena_free(b->arena, b->lines);
	arena_free(b->arena, b->data);
	*b = (struct buffer){ 0 };
}

/* ---- by age ---- */

static void
age_add(struct buffer *b, uint32_t slot)
{
	struct buffer_slot *s = &b->slots[slot];

	s->sequence = ++b->sequence;
	s->before = b->newest;
	s->after = BUFFER_NONE;
	if (b->newest != BUFFER_NONE)
		b->slots[b->newest].after = slot;
	else
		b->oldest = slot;
	b->newest = slot;
}

static void
age_remove(struct buffer *b, uint32_t slot)
{
	const struct buffer_slot *s = &b->slots[slot];

	if (s->before != BUFFER_NONE)
		b->slots[s->before].after = s->after;
	else
		b->oldest = s->after;
	if (s->after != BUFFER_NONE)
		b->slots[s->after].before = s->before;
	else
		b->newest = s->before;
}

/* ---- by unit ---- */

static void
index_remove(struct buffer *b, uint32_t slot)
{
	uint32_t *at = &b->heads[b->slots[slot].unit & b->mask];

	while (*at != slot)
		at = &b->slots[*at].older;
	*at = b->slots[slot].older;
}

uint32_t
buffer_take(struct buffer *b, uint32_t unit)
{
	uint32_t slot = b->free, *head = &b->heads[unit & b->mask];
	struct buffer_slot *s = &b->slots[slot];

	assert(b->free_count > 0 && s->state == BUFFER_FREE);
	b->free = s->next;
	b->free_count--;
	s->unit = unit;
	s->dead = false;
	s->older = *head;
	*head = slot;
	age_add(b, slot);
	return slot;
}

/* ---- lines ---- */

void
buffer_wait(struct buffer *b, uint32_t slot, uint32_t die)
{
	struct buffer_line *line = &b->lines[die];
	struct buffer_slot *s = &b->slots[slot];

	assert(s->state == BUFFER_FREE || s->state == BUFFER_MERGING || s->state == BUFFER_TRIMMED);
	assert(s->state != BUFFER_MERGING || s->die == die);
	line->merging -= s->state == BUFFER_MERGING;
	b->trimmed -= s->state == BUFFER_TRIMMED;
	s->state = BUFFER_WAITING;
	s->die = (uint16_t)die;
	s->next = BUFFER_NONE;
	if (line->count++ == 0)
		line->first = slot;
	else
		b->slots[line->last].next = slot;
	line->last = slot;
}

void
buffer_merge(struct buffer *b, uint32_t slot, uint32_t die)
{
	assert(b->slots[slot].state == BUFFER_FREE);
	b->slots[slot].state = BUFFER_MERGING;
	b->slots[slot].die = (uint16_t)die;
	b->lines[die].merging++;
}

/* From wherever it stands: lines are short, and this is seldom. */
static void
line_leave(struct buffer *b, uint32_t slot)
{
	struct buffer_line *line = &b->lines[b->slots[slot].die];
	uint32_t *at = &line->first, before = BUFFER_NONE;

	while (*at != slot) {
		before = *at;
		at = &b->slots[*at].next;
	}
	*at = b->slots[slot].next;
	if (line->last == slot)
		line->last = before;
	line->count--;
}

void
buffer_trim(struct buffer *b, uint32_t slot)
{
	struct buffer_slot *s = &b->slots[slot];

	assert(s->state == BUFFER_FREE || s->state == BUFFER_MERGING || s->state == BUFFER_WAITING);
	if (s->state == BUFFER_WAITING)
		line_leave(b, slot);
	else if (s->state == BUFFER_MERGING)
		b->lines[s->die].merging--;
	s->state = BUFFER_TRIMMED;
	b->trimmed++;
}

uint32_t
buffer_program(struct buffer *b, uint32_t die)
{
	struct buffer_line *line = &b->lines[die];
	uint32_t slot = line->first;

	assert(line->count > 0 && b->slots[slot].state == BUFFER_WAITING);
	line->first = b->slots[slot].next;
	if (--line->count == 0)
		line->last = BUFFER_NONE;
	b->slots[slot].state = BUFFER_PROGRAMMING;
	b->slots[slot].next = BUFFER_NONE;
	return slot;
}

void
buffer_again(struct buffer *b, uint32_t slot)
{
	struct buffer_slot *s = &b->slots[slot];
	struct buffer_line *line = &b->lines[s->die];

	assert(s->state == BUFFER_PROGRAMMING);
	s->state = BUFFER_WAITING;
	s->next = line->first;
	line->first = slot;
	if (line->count++ == 0)
		line->last = slot;
}

void
buffer_kill(struct buffer *b, uint32_t slot)
{
	assert(b->slots[slot].state == BUFFER_PROGRAMMING && !b->slots[slot].dead);
	index_remove(b, slot);
	b->slots[slot].dead = true;
}

void
buffer_done(struct buffer *b, uint32_t slot)
{
	uint32_t unit = b->slots[slot].unit;

	for (uint32_t i = b->slots[slot].older, older; i != BUFFER_NONE; i = older) {
		older = b->slots[i].older;
		if (b->slots[i].unit == unit)
			buffer_kill(b, i);
	}
}

void
buffer_give(struct buffer *b, uint32_t slot)
{
	struct buffer_slot *s = &b->slots[slot];

	assert(s->state == BUFFER_PROGRAMMING || s->state == BUFFER_TRIMMED);
	b->trimmed -= s->state == BUFFER_TRIMMED;
	if (!s->dead)
		index_remove(b, slot);
	age_remove(b, slot);
	s->state = BUFFER_FREE;
	s->next = b->free;
	b->free = slot;
	b->free_count++;
}
