/*
 * share.c - what volumes have of the memory that all share, and how those in line take turns.
 *
 * A volume has as much as it leaves free (world/bufs.h, scratch.c), for its device
 * may not answer.  What is held, and who waits, is noted here volume by volume, and
 * outlives the volume: its slot may be another's before the last of it is given back.
 * Copies for hosts that take a read in part have one share together: they take from no
 * volume what it may have, whoever they are and whatever they read.  So have those for
 * hosts that are lent nothing.
 *
 * Those in a line stand there by whose they are: the first of each, the others behind
 * it.  Whoever has many waits behind his own.  Nothing is allocated.
 */
#include <errno.h>

#include "target/conn.h"

int
share_begin(struct core *core)
{
	for (unsigned i = 0; i < SHARE_LISTS; i++)
		list_init(&core->firsts[i]);
	core->shares = arena_alloc(core->reactor->arena, SHARES * sizeof(*core->shares));
	if (core->shares == NULL)
		return -ENOMEM;
	share_ready(core, SHARE_NOBODY);
	share_ready(core, SHARE_SLOW);
	share_ready(core, SHARE_REFUSED);
	return 0;
}

void
share_end(struct core *core)
{
	arena_free(core->reactor->arena, core->shares);
}

void
share_ready(struct core *core, uint32_t slot)
{
	struct share *share = &core->shares[slot];

	if (share->node.next != NULL)
		return; /* it was another volume's, of which there may be something yet */
	bufs_share_init(&share->bufs);
	list_init(&share->node);
	list_init(&share->looking);
}

/* ---- turns ---- */

/* Where the first one in that line of those who are `whose` is found. */
static struct list *
firsts(struct core *core, const struct list *line, const void *whose)
{
	uint64_t mixed = ((uintptr_t)line ^ (uintptr_t)whose << 1) * UINT64_C(0x9e3779b97f4a7c15);

	return &core->firsts[mixed >> 56 & (SHARE_LISTS - 1)];
}

static struct request *
find(struct core *core, const struct list *line, const void *whose)
{
	list_for_each(firsts(core, line, whose), node) {
		struct request *first = container_of(node, struct request, turn.node);

		if (first->turn.line == line && first->turn.whose == whose)
			return first;
	}
	return NULL;
}

void
turn_join(struct list *line, const void *whose, struct request *req)
{
	struct core *core = req->conn->core;
	struct request *first = find(core, line, whose);

	req->turn.line = line;
	req->turn.whose = whose;
	list_init(&req->turn.node);
	list_init(&req->turn.behind);
	if (first != NULL) {
		list_push(&first->turn.behind, &req->waiter.node);
	} else {
		list_push(firsts(core, line, whose), &req->turn.node);
		list_push(line, &req->waiter.node);
	}
}

/* The next one of the same takes the place of the first, before which `at` it stands. */
static void
succeed(struct request *first, struct list *at)
{
	struct list *node = list_pop(&first->turn.behind), *behind = &first->turn.behind;
	struct request *next = container_of(node, struct request, waiter.node);

	if (!list_empty(behind)) {
		next->turn.behind = *behind;
		behind->next->prev = behind->prev->next = &next->turn.behind;
		list_init(behind);
	}
	list_push(&first->turn.node, &next->turn.node);
	list_push(at, &next->waiter.node);
}

static void
leave(struct request *req, struct list *at)
{
	if (!list_empty(&req->turn.behind))
		succeed(req, at);
	list_remove(&req->turn.node);
	list_remove(&req->waiter.node);
}

void
turn_leave(struct request *req)
{
	leave(req, &req->waiter.node);
}

void
turn_take(struct request *first)
{
	leave(first, first->turn.line);
}
