/*
 * scratch.c - memory for commands that look at blocks without sending them.
 *
 * A few pieces for each core.  Who holds one waits for nothing but a device, so
 * those in line always have their turn, whatever peers do: that is why these
 * are not taken from the buffers that data from hosts is received into.
 *
 * A device may not answer at all: the commands of one volume have no more pieces
 * than are free, so there are some for others.  (Choudhury and Hahne, Dynamic
 * Queue Length Thresholds, 1998.)  Volumes take turns, and of one volume connections.
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
	scratch->free = SCRATCH_PIECES;
	return 0;
}

void
scratch_end(struct core *core)
{
	arena_free(core->reactor->arena, core->scratch.memory);
}

/* True: it has a piece.  False: its volume has its share. */
static bool
take(struct scratch *scratch, struct share *share, struct request *req)
{
	unsigned i = 0;

	if (share->scratch >= scratch->free)
		return false;
	while (scratch->held_by[i] != NULL)
		i++;
	scratch->held_by[i] = share;
	scratch->free--;
	share->scratch++;
	req->io.old = scratch->memory + (size_t)i * SCRATCH_BYTES;
	return true;
}

/* Those in line whose volume has not its share were served before this. */
bool
scratch_take(struct request *req, void (*granted)(struct bufs_waiter *))
{
	struct scratch *scratch = &req->conn->core->scratch;
	struct share *share = share_of(req);

	if (!scratch->granting && take(scratch, share, req))
		return true;
	req->stage = STAGE_SCRATCH;
	req->waiter.granted = granted;
	turn_join(&share->looking, req->conn, req);
	if (list_empty(&share->node))
		list_push(&scratch->waiting, &share->node);
	return false;
}

void
scratch_leave(struct request *req)
{
	struct share *share = container_of(req->turn.line, struct share, looking);

	turn_leave(req);
	if (list_empty(&share->looking))
		list_remove(&share->node);
}

/* The first in line of the first volume that has not its share. */
static struct request *
serve_one(struct scratch *scratch)
{
	list_for_each(&scratch->waiting, node) {
		struct share *share = container_of(node, struct share, node);
		struct request *req = container_of(share->looking.next, struct request, waiter.node);

		if (!take(scratch, share, req))
			continue;
		turn_take(req);
		list_remove(node);
		if (!list_empty(&share->looking))
			list_push(&scratch->waiting, node);
		return req;
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

	scratch->held_by[piece]->scratch--;
	scratch->held_by[piece] = NULL;
	scratch->free++;
	req->io.old = NULL;
	grant(scratch);
}

bool
scratch_wanted(const struct core *core)
{
	return !list_empty(&core->scratch.waiting);
}
