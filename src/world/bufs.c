#include "world/bufs.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"

static void
part_init(struct bufs_part *part)
{
	list_init(&part->line.node);
	list_init(&part->line.waiting);
}

void
bufs_share_init(struct bufs_share *share)
{
	part_init(&share->part[false]);
	part_init(&share->part[true]);
}

static void
pool_begin(struct bufs_pool *pool)
{
	list_init(&pool->lines);
	part_init(&pool->nobody);
	pool->pass = 1;
}

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
	pool_begin(&bufs->small);
	pool_begin(&bufs->large);
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
	return bufs_pool(bufs, bufs_are_large(bytes));
}

/* What he has of the pool that so many bytes are from. */
static struct bufs_part *
part_for(struct bufs *bufs, struct bufs_share *share, uint32_t bytes)
{
	return share != NULL ? &share->part[bufs_are_large(bytes)] : &pool_for(bufs, bytes)->nobody;
}

/* ---- taking ---- */

static bool
within(const struct bufs_pool *pool, const struct bufs_share *share, uint32_t bytes)
{
	uint32_t held = share != NULL ? share->part[bufs_are_large(bytes)].held : 0;

	return held == 0 || held + bufs_pieces(bytes) <= pool->free_count - pool->promised;
}

/* Of one in line: of the same share nobody passes who was passed over. */
static bool
may_have(const struct bufs_pool *pool, struct bufs_share *share, uint32_t bytes)
{
	struct bufs_part *part = share != NULL ? &share->part[bufs_are_large(bytes)] : NULL;

	if (part == NULL)
		return true;
	if (part->passed == pool->pass)
		return false;
	if (within(pool, share, bytes))
		return true;
	part->passed = pool->pass;
	return false;
}

bool
bufs_may_have(struct bufs *bufs, struct bufs_share *share, uint32_t bytes)
{
	return may_have(pool_for(bufs, bytes), share, bytes);
}

uint32_t
bufs_room(const struct bufs *bufs, const struct bufs_share *share, bool large)
{
	const struct bufs_pool *pool = large ? &bufs->large : &bufs->small;

	return share->part[large].held + pool->free_count - pool->promised;
}

/* `leave`: so many stay. */
static bool
fill(struct bufs_pool *pool, uint32_t leave, struct bufs_share *share, uint32_t bytes, struct bufs_list *list)
{
	bool large = bufs_are_large(bytes);
	uint32_t piece = large ? BUFS_LARGE : BUFS_SMALL;
	uint32_t count = bufs_pieces(bytes);

	assert(bytes > 0 && bytes <= BUFS_TRANSFER_MAX);
	if (pool->free_count < count + leave)
		return false;
	for (uint32_t i = 0, left = bytes; i < count; i++) {
		list->iov[i].iov_base = pool->free[--pool->free_count];
		list->iov[i].iov_len = left < piece ? left : piece;
		left -= (uint32_t)list->iov[i].iov_len;
	}
	list->bytes = bytes;
	list->count = (uint16_t)count;
	list->large = large;
	list->share = share;
	if (share != NULL)
		share->part[large].held += count;
	return true;
}

bool
bufs_take(struct bufs *bufs, struct bufs_share *share, uint32_t bytes, struct bufs_list *list)
{
	struct bufs_pool *pool = pool_for(bufs, bytes);
	const struct bufs_part *part = part_for(bufs, share, bytes);

	return !pool->stuck && !pool->granting && part->passed != pool->pass && list_empty(&part->line.waiting) &&
	    within(pool, share, bytes) && fill(pool, pool->promised, share, bytes, list);
}

void
bufs_take_promised(struct bufs *bufs, struct bufs_share *share, uint32_t bytes, struct bufs_list *list)
{
	bool filled = bytes <= BUFS_SMALL && bufs->small.promised > 0 && fill(&bufs->small, 0, share, bytes, list);

	assert(filled);
	bufs->small.promised--;
}

bool
bufs_beyond(const struct bufs *bufs, const struct bufs_share *share)
{
	const struct bufs_part *part = &share->part[false];

	return part->held > bufs->small.free_count || part->asks > 0 || !list_empty(&part->line.waiting);
}

/* ---- waiting ---- */

static struct bufs_order *
order_of(struct bufs_line *line)
{
	return container_of(line, struct bufs_order, line);
}

/* The line whose turn it is, and who in it, if there are as many pieces as he needs; else NULL. */
static struct bufs_line *
next(struct bufs_pool *pool, struct bufs_waiter **waiter)
{
	pool->stuck = false;
	pool->pass++;
	list_for_each(&pool->lines, node) {
		struct bufs_line *line = container_of(node, struct bufs_line, node);

		*waiter = line->ordered ? order_of(line)->next(order_of(line)) :
		    container_of(line->waiting.next, struct bufs_waiter, node);
		if (*waiter == NULL || !may_have(pool, (*waiter)->share, (*waiter)->bytes))
			continue;
		pool->stuck = pool->free_count - pool->promised < bufs_pieces((*waiter)->bytes);
		return pool->stuck ? NULL : line;
	}
	return NULL;
}

/* The line has its next turn, if it wants one, after all others. */
static void
leave(struct bufs_pool *pool, struct bufs_line *line, struct bufs_waiter *waiter)
{
	if (line->ordered)
		order_of(line)->leave(order_of(line), waiter);
	else
		list_remove(&waiter->node);
	list_remove(&line->node);
	if (!list_empty(&line->waiting))
		list_push(&pool->lines, &line->node);
}

/* granted() may give and wait in turn: the loop here serves those too. */
static void
grant(struct bufs_pool *pool)
{
	struct bufs_waiter *waiter;
	struct bufs_line *line;

	if (pool->granting)
		return;
	pool->granting = true;
	while ((line = next(pool, &waiter)) != NULL) {
		bool filled = fill(pool, pool->promised, waiter->share, waiter->bytes, waiter->list);

		assert(filled);
		leave(pool, line, waiter);
		waiter->granted(waiter);
	}
	pool->granting = false;
}

void
bufs_wait(struct bufs *bufs, struct bufs_waiter *waiter)
{
	struct bufs_pool *pool = pool_for(bufs, waiter->bytes);
	struct bufs_line *line = &part_for(bufs, waiter->share, waiter->bytes)->line;

	if (list_empty(&line->waiting)) {
		list_push(&pool->lines, &line->node);
		pool->stuck |= may_have(pool, waiter->share, waiter->bytes);
	}
	list_push(&line->waiting, &waiter->node);
}

void
bufs_unwait(struct bufs *bufs, struct bufs_waiter *waiter)
{
	struct bufs_line *line = &part_for(bufs, waiter->share, waiter->bytes)->line;

	list_remove(&waiter->node);
	if (list_empty(&line->waiting))
		list_remove(&line->node);
	grant(pool_for(bufs, waiter->bytes));
}

void
bufs_order_init(struct bufs_order *order)
{
	list_init(&order->line.node);
	list_init(&order->line.waiting);
	order->line.ordered = true;
}

void
bufs_ordered(struct bufs *bufs, bool large, struct bufs_order *order)
{
	struct bufs_pool *pool = bufs_pool(bufs, large);
	struct bufs_line *line = &order->line;

	if (list_empty(&line->waiting))
		list_remove(&line->node);
	else if (list_empty(&line->node))
		list_push(&pool->lines, &line->node);
	grant(pool);
}

uint32_t
bufs_promisable(const struct bufs *bufs)
{
	uint32_t left = bufs->small.count / 4;

	return bufs->small.free_count > left ? bufs->small.free_count - left : 0;
}

void
bufs_promise(struct bufs *bufs, uint32_t small_count)
{
	assert(small_count <= bufs->small.free_count);
	bufs->small.promised = small_count;
	if (small_count == 0)
		grant(&bufs->small);
}

void
bufs_give(struct bufs *bufs, struct bufs_list *list)
{
	struct bufs_pool *pool = bufs_pool(bufs, list->large);

	if (list->bytes == 0)
		return;
	for (uint32_t i = list->count; i-- > 0;)
		pool->free[pool->free_count++] = list->iov[i].iov_base;
	assert(pool->free_count <= pool->count);
	if (list->share != NULL) {
		assert(list->share->part[list->large].held >= list->count);
		list->share->part[list->large].held -= list->count;
	}
	list->bytes = 0;
	list->count = 0;
	grant(pool);
}

/* ---- questions ---- */

bool
bufs_waited(const struct bufs *bufs, bool large)
{
	return !list_empty(large ? &bufs->large.lines : &bufs->small.lines);
}

bool
bufs_wanted(const struct bufs *bufs, const struct bufs_list *list)
{
	const struct bufs_pool *pool = list->large ? &bufs->large : &bufs->small;
	const struct bufs_part *part = list->share != NULL ? &list->share->part[list->large] : &pool->nobody;

	return pool->stuck || part->asks > 0 || !list_empty(&part->line.waiting);
}

bool
bufs_idle(const struct bufs *bufs)
{
	return !bufs_waited(bufs, false) && !bufs_waited(bufs, true) &&
	    bufs->small.free_count == bufs->small.count && bufs->large.free_count == bufs->large.count;
}
