#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { MUCH = 16 * 1024 * 1024 };

struct block {
	struct list node;
	void *start; /* what calloc() or the source returned */
	size_t bytes;
};

void
arena_init(struct arena *arena, size_t bytes_max)
{
	*arena = (struct arena){ .bytes_max = bytes_max };
	list_init(&arena->blocks);
}

size_t
arena_takes(size_t bytes, size_t align)
{
	return sizeof(struct block) + (align > 0 ? align : _Alignof(max_align_t)) + bytes;
}

static bool
fails(struct arena *arena)
{
	if (arena->fail_at == 0 || --arena->fail_at > 0)
		return false;
	if (arena->fail_within > 0)
		arena->fail_at = 1 + rng_below(arena->fail_by, arena->fail_within);
	return true;
}

static bool
is_large(const struct arena *arena, size_t bytes)
{
	return arena->large != NULL && bytes >= arena->large->from;
}

static void *
memory_take(struct arena *arena, size_t bytes, size_t all, bool zeroed)
{
	if (is_large(arena, bytes))
		return arena->large->take(all, zeroed);
	return zeroed ? calloc(1, all) : malloc(all);
}

static void *
allocate(struct arena *arena, size_t bytes, size_t align, bool zeroed)
{
	struct block *block;
	uintptr_t at;
	void *start;

	assert((align & (align - 1)) == 0 && align >= sizeof(void *) && align <= 4096);
	if (fails(arena))
		return NULL;
	if (bytes > SIZE_MAX / 2)
		return NULL;
	if (arena->bytes_max > 0 && bytes > arena->bytes_max - arena->bytes)
		return NULL;
	start = memory_take(arena, bytes, arena_takes(bytes, align), zeroed);
	if (start == NULL)
		return NULL;
	at = (uintptr_t)start + sizeof(*block);
	at = (at + align - 1) & ~(uintptr_t)(align - 1);
	block = (struct block *)(at - sizeof(*block));
	block->start = start;
	block->bytes = bytes;
	list_push(&arena->blocks, &block->node);
	arena->bytes += bytes;
	if (arena->bytes > arena->most)
		arena->most = arena->bytes;
	return (void *)at;
}

void *
arena_alloc_aligned(struct arena *arena, size_t bytes, size_t align)
{
	return allocate(arena, bytes, align, true);
}

void *
arena_alloc(struct arena *arena, size_t bytes)
{
	return allocate(arena, bytes, _Alignof(max_align_t), true);
}

void *
arena_alloc_raw(struct arena *arena, size_t bytes)
{
	return allocate(arena, bytes, _Alignof(max_align_t), false);
}

char *
arena_strdup(struct arena *arena, const char *string)
{
	size_t bytes = strlen(string) + 1;
	char *copy = arena_alloc(arena, bytes);

	if (copy != NULL)
		memcpy(copy, string, bytes);
	return copy;
}

static void
block_release(struct arena *arena, struct block *block)
{
	list_remove(&block->node);
	arena->bytes -= block->bytes;
	if (is_large(arena, block->bytes))
		arena->large->give(block->start);
	else
		free(block->start);
}

void
arena_free(struct arena *arena, void *ptr)
{
	if (ptr != NULL)
		block_release(arena, (struct block *)((uintptr_t)ptr - sizeof(struct block)));
}

bool
arena_shrank(struct arena *arena)
{
	if (arena->most - arena->bytes < MUCH)
		return false;
	arena->most = arena->bytes;
	return true;
}

void
arena_drop(struct arena *arena)
{
	list_for_each(&arena->blocks, node)
		block_release(arena, container_of(node, struct block, node));
	assert(arena->bytes == 0);
}
