/*
 * scratch.c - memory for commands that look at blocks without sending them.
 *
 * A few pieces for each core.  Who holds one waits for nothing but a device, so
 * those in line always have their turn, whatever peers do: that is why these
 * are not taken from the buffers that data from hosts is received into.
 */
#include <errno.h>

#include "target/command.h"

int
scratch_begin(struct core *core)
{
	struct scratch *scratch = &core->scratch;

	list_init(&scratch->waiting);
	scratch->memory = arena_alloc_aligned(core->reactor->arena, (size_t)SCRATCH_PIECES * SCRATCH_BYTES, 4096);
	if (scratch->memory == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < SCRATCH_PIECES; i++)
		scratch->free[i] = scratch->memory + (size_t)i * SCRATCH_BYTES;
	scratch->free_count = SCRATCH_PIECES;
	return 0;
}

void
scratch_end(struct core *core)
{
	arena_free(core->reactor->arena, core->scratch.memory);
}

bool
scratch_take(struct request *req, void (*granted)(struct bufs_waiter *))
{
	struct scratch *scratch = &req->conn->core->scratch;

	if (list_empty(&scratch->waiting) && scratch->free_count > 0) {
		req->io.old = scratch->free[--scratch->free_count];
		return true;
	}
	req->stage = STAGE_SCRATCH;
	req->waiter.granted = granted;
	list_push(&scratch->waiting, &req->waiter.node);
	return false;
}

void
scratch_leave(struct request *req)
{
	list_remove(&req->waiter.node);
}

/* granted() may give and wait in turn, or find that it needs none any more: the loop here serves those too, or
 * all who wait could stand on the stack one within the other. */
static void
grant(struct scratch *scratch)
{
	if (scratch->granting)
		return;
	scratch->granting = true;
	while (!list_empty(&scratch->waiting) && scratch->free_count > 0) {
		struct request *first = container_of(scratch->waiting.next, struct request, waiter.node);

		list_remove(&first->waiter.node);
		first->io.old = scratch->free[--scratch->free_count];
		first->waiter.granted(&first->waiter);
	}
	scratch->granting = false;
}

void
scratch_give(struct request *req)
{
	struct scratch *scratch = &req->conn->core->scratch;

	scratch->free[scratch->free_count++] = req->io.old;
	req->io.old = NULL;
	grant(scratch);
}

bool
scratch_wanted(const struct core *core)
{
	return !list_empty(&core->scratch.waiting);
}
