/*
 * heap.c - what happens next: events in order of time, then of their making.
 *
 * A heap in which each slot has four below it, and holds the key.  An event
 * knows its slot, so that it can be brought forward.  Events are recycled; none
 * is ever taken out of the middle: what has become pointless is recognised by
 * who handles it.
 */
#include "sim/internal.h"

#include <stdlib.h>
#include <string.h>

void *
sim_alloc(struct sim *sim, size_t bytes)
{
	void *memory = arena_alloc(&sim->arena, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

char *
sim_strdup(struct sim *sim, const char *text)
{
	char *copy = arena_strdup(&sim->arena, text);

	if (copy == NULL)
		abort();
	return copy;
}

struct sim_event *
sim_event_take(struct sim *sim, enum sim_kind kind)
{
	struct fifo_node *node = fifo_pop(&sim->spare);
	struct sim_event *event;

	event = node != NULL ? container_of(node, struct sim_event, node) : sim_alloc(sim, sizeof(*event));
	*event = (struct sim_event){ .kind = kind };
	return event;
}

void
sim_event_give(struct sim *sim, struct sim_event *event)
{
	fifo_push(&sim->spare, &event->node);
}

enum { BELOW = 4 };

static bool
before(const struct sim_slot *a, const struct sim_slot *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void
place(struct sim *sim, size_t at, const struct sim_slot *slot)
{
	sim->heap[at] = *slot;
	slot->event->slot = at;
}

/* Finds the place of `slot`, at the free one `at` or above it. */
static void
rise(struct sim *sim, size_t at, const struct sim_slot *slot)
{
	while (at > 0 && before(slot, &sim->heap[(at - 1) / BELOW])) {
		place(sim, at, &sim->heap[(at - 1) / BELOW]);
		at = (at - 1) / BELOW;
	}
	place(sim, at, slot);
}

/* The first of the slots below `at`, of which there is one at least. */
static size_t
first_below(const struct sim *sim, size_t at)
{
	size_t first = BELOW * at + 1, end = first + BELOW;

	if (end > sim->heap_count)
		end = sim->heap_count;
	for (size_t other = first + 1; other < end; other++)
		if (before(&sim->heap[other], &sim->heap[first]))
			first = other;
	return first;
}

/* The same, at the free one `at` or below it. */
static void
sink(struct sim *sim, size_t at, const struct sim_slot *slot)
{
	while (BELOW * at + 1 < sim->heap_count) {
		size_t below = first_below(sim, at);

		if (!before(&sim->heap[below], slot))
			break;
		place(sim, at, &sim->heap[below]);
		at = below;
	}
	place(sim, at, slot);
}

static void
grow(struct sim *sim)
{
	size_t size = sim->heap_size == 0 ? 256 : sim->heap_size * 2;
	struct sim_slot *heap = sim_alloc(sim, size * sizeof(*heap));

	if (sim->heap_count > 0)
		memcpy(heap, sim->heap, sim->heap_count * sizeof(*heap));
	arena_free(&sim->arena, sim->heap);
	sim->heap = heap;
	sim->heap_size = size;
}

void
sim_event_put(struct sim *sim, struct sim_event *event, uint64_t at_ns)
{
	struct sim_slot slot = { at_ns, sim->sequence++, event };

	assert(at_ns >= sim->now_ns);
	if (sim->heap_count == sim->heap_size)
		grow(sim);
	rise(sim, sim->heap_count++, &slot);
}

void
sim_event_hasten(struct sim *sim, struct sim_event *event, uint64_t at_ns)
{
	struct sim_slot slot = { at_ns, sim->sequence++, event };

	assert(at_ns >= sim->now_ns && sim->heap[event->slot].event == event && at_ns < sim->heap[event->slot].at_ns);
	rise(sim, event->slot, &slot);
}

uint64_t
sim_event_next_at(const struct sim *sim)
{
	return sim->heap_count > 0 ? sim->heap[0].at_ns : UINT64_MAX;
}

struct sim_event *
sim_event_next(struct sim *sim, uint64_t *at_ns)
{
	struct sim_slot top, last;

	if (sim->heap_count == 0)
		return NULL;
	top = sim->heap[0];
	last = sim->heap[--sim->heap_count];
	if (sim->heap_count > 0)
		sink(sim, 0, &last);
	*at_ns = top.at_ns;
	return top.event;
}
