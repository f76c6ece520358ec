#include "world/bufs.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"

static int
pool_init(struct bufs_pool *pool, struct arena *arena, uint32_t count, uint32_t piece)
{
	pool->memory = arena_alloc_aligned(arena, (size_t)count * piece, 4096);
	pool->free = arena_alloc(arena, count * sizeof(*pool->free));
	if (pool->memory == NULL || pool->free == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		pool->free[i] = pool->memory + (size_t)(count - 1 - i) * piece;
	pool->count = pool->free_count = count;
	return 0;
}

int
bufs_init(struct bufs *bufs, struct arena *arena, uint32_t small_count, uint32_t large_count)
{
	assert(small_count >= BUFS_IOV_MAX && large_count >= BUFS_IOV_MAX);
	*bufs = (struct bufs){ .arena = arena };
	list_init(&bufs->small.waiting);
	list_init(&bufs->large.waiting);
	if (pool_init(&bufs->small, arena, small_count, BUFS_SMALL) != 0 ||
	    pool_init(&bufs->large, arena, large_count, BUFS_LARGE) != 0) {
		bufs_fini(bufs);
		return -ENOMEM;
	}
	return 0;
}

void
bufs_fini(struct bufs *bufs)
{
	arena_free(bufs->arena, bufs->small.memory);
	arena_free(bufs->arena, bufs->small.free);
	arena_free(bufs->arena, bufs->large.memory);
	arena_free(bufs->arena, bufs->large.free);
	bufs->small.memory = bufs->large.memory = NULL;
	bufs->small.free = bufs->large.free = NULL;
}

static struct bufs_pool *
pool_for(struct bufs *bufs, uint32_t bytes)
{
	return bufs_are_large(bytes) ? &bufs->large : &bufs->small;
}

static bool
fill(struct bufs *bufs, uint32_t bytes, uint32_t leave, struct bufs_list *list)
{
	bool large = bufs_are_large(bytes);
	struct bufs_pool *pool = pool_for(bufs, bytes);
	uint32_t piece = large ? BUFS_LARGE : BUFS_SMALL;
	uint32_t count = bufs_pieces(bytes);

	assert(bytes > 0 && bytes <= BUFS_TRANSFER_MAX);
	if (pool->free_count < count + (large ? 0 : leave))
		return false;
	for (uint32_t i = 0, left = bytes; i < count; i++) {
		list->iov[i].iov_base = pool->free[--pool->free_count];
		list->iov[i].iov_len = left < piece ? left : piece;
		left -= (uint32_t)list->iov[i].iov_len;
	}
	list->bytes = bytes;
	list->count = (uint16_t)count;
	list->large = large;
	return true;
}

bool
bufs_take(struct bufs *bufs, uint32_t bytes, struct bufs_list *list)
{
	return list_empty(&pool_for(bufs, bytes)->waiting) && fill(bufs, bytes, bufs->promised, list);
}

void
bufs_take_promised(struct bufs *bufs, uint32_t bytes, struct bufs_list *list)
{
	bool filled = bytes <= BUFS_SMALL && bufs->promised > 0 && fill(bufs, bytes, 0, list);

	assert(filled);
	bufs->promised--;
}

void
bufs_wait(struct bufs *bufs, struct bufs_waiter *waiter)
{
	list_push(&pool_for(bufs, waiter->bytes)->waiting, &waiter->node);
}

/* granted() may give and wait in turn: the loop here serves those too. */
static void
grant(struct bufs *bufs, struct bufs_pool *pool)
{
	if (pool->granting)
		return;
	pool->granting = true;
	while (!list_empty(&pool->waiting)) {
		struct bufs_waiter *first = container_of(pool->waiting.next, struct bufs_waiter, node);

		if (!fill(bufs, first->bytes, bufs->promised, first->list))
			break;
		list_remove(&first->node);
		first->granted(first);
	}
	pool->granting = false;
}

void
bufs_unwait(struct bufs *bufs, struct bufs_waiter *waiter)
{
	list_remove(&waiter->node);
	grant(bufs, pool_for(bufs, waiter->bytes));
}

void
bufs_promise(struct bufs *bufs, uint32_t small_count)
{
	assert(small_count <= bufs->small.free_count);
	bufs->promised = small_count;
	if (small_count == 0)
		grant(bufs, &bufs->small);
}

void
bufs_give(struct bufs *bufs, struct bufs_list *list)
{
	struct bufs_pool *pool = list->large ? &bufs->large : &bufs->small;

	if (list->bytes == 0)
		return;
	for (uint32_t i = list->count; i-- > 0;)
		pool->free[pool->free_count++] = list->iov[i].iov_base;
	assert(pool->free_count <= pool->count);
	list->bytes = 0;
	list->count = 0;
	grant(bufs, pool);
}

bool
bufs_short(const struct bufs *bufs)
{
	return !list_empty(&bufs->small.waiting) || !list_empty(&bufs->large.waiting);
}

bool
bufs_idle(const struct bufs *bufs)
{
	return !bufs_short(bufs) && bufs->small.free_count == bufs->small.count &&
	    bufs->large.free_count == bufs->large.count;
}
