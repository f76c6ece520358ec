/*
 * scratch.c - memory for commands that look at blocks without sending them.
 *
 * A few pieces for each core.  Who holds one waits for nothing but a device, so
 * those in line always have their turn, whatever peers do: that is why these
 * are not taken from the buffers that data from hosts is received into.
 *
 * A device may not answer at all: the commands of one volume have no more pieces
 * than are free, so there are some for others.  (Choudhury and Hahne, Dynamic
 * Queue Length Thresholds, 1998)
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
		scratch->held_by[i] = SCRATCH_FREE;
	return 0;
}

void
scratch_end(struct core *core)
{
	arena_free(core->reactor->arena, core->scratch.memory);
}

static unsigned
count(const struct scratch *scratch, int volume)
{
	unsigned pieces = 0;

	for (unsigned i = 0; i < SCRATCH_PIECES; i++)
		pieces += scratch->held_by[i] == volume;
	return pieces;
}

/* True: it has a piece.  False: its volume has its share. */
static bool
take(struct scratch *scratch, struct request *req)
{
	unsigned i = 0;

	if (count(scratch, req->slot) >= count(scratch, SCRATCH_FREE))
		return false;
	while (scratch->held_by[i] != SCRATCH_FREE)
		i++;
	scratch->held_by[i] = req->slot;
	req->io.old = scratch->memory + (size_t)i * SCRATCH_BYTES;
	return true;
}

/* Those in line have their share, or were served before this. */
bool
scratch_take(struct request *req, void (*granted)(struct bufs_waiter *))
{
	struct scratch *scratch = &req->conn->core->scratch;

	if (!scratch->granting && take(scratch, req))
		return true;
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

/* The first in line whose volume has not its share.  Many of one volume may stand behind each other. */
static struct request *
serve_one(struct scratch *scratch)
{
	int full = SCRATCH_FREE;

	if (count(scratch, SCRATCH_FREE) == 0)
		return NULL;
	list_for_each(&scratch->waiting, node) {
		struct request *req = container_of(node, struct request, waiter.node);

		if (req->slot == full)
			continue;
		if (take(scratch, req)) {
			list_remove(node);
			return req;
		}
		full = req->slot;
	}
	return NULL;
}

/* granted() may give and wait in turn, or find that it needs none any more: the loop here serves those too, or
 * all who wait could stand on the stack one within the other. */
static void
grant(struct scratch *scratch)
{
	struct request *req;

	if (scratch->granting)
		return;
	scratch->granting = true;
	while ((req = serve_one(scratch)) != NULL)
		req->waiter.granted(&req->waiter);
	scratch->granting = false;
}

void
scratch_give(struct request *req)
{
	struct scratch *scratch = &req->conn->core->scratch;
	size_t piece = (size_t)((uint8_t *)req->io.old - scratch->memory) / SCRATCH_BYTES;

	scratch->held_by[piece] = SCRATCH_FREE;
	req->io.old = NULL;
	grant(scratch);
}

bool
scratch_wanted(const struct core *core)
{
	return !list_empty(&core->scratch.waiting);
}
