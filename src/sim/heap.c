/*
 * heap.c - what happens next: events in order of time, then of their making.
 *
 * A binary heap whose slots hold the key, so that sifting does not touch the
 * events.  Events are recycled; none is ever taken out of the middle: what has
 * become pointless is recognised by who handles it.
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

static bool
before(const struct sim_slot *a, const struct sim_slot *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
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
	size_t at = sim->heap_count;

	assert(at_ns >= sim->now_ns);
	if (at == sim->heap_size)
		grow(sim);
	for (; at > 0 && before(&slot, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
		sim->heap[at] = sim->heap[(at - 1) / 2];
	sim->heap[at] = slot;
	sim->heap_count++;
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
	size_t at = 0, child;

	if (sim->heap_count == 0)
		return NULL;
	top = sim->heap[0];
	last = sim->heap[--sim->heap_count];
	while ((child = 2 * at + 1) < sim->heap_count) {
		if (child + 1 < sim->heap_count && before(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (!before(&sim->heap[child], &last))
			break;
		sim->heap[at] = sim->heap[child];
		at = child;
	}
	sim->heap[at] = last;
	*at_ns = top.at_ns;
	return top.event;
}
