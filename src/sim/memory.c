#include "sim/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer's, where it is there. */
void __asan_poison_memory_region(const volatile void *at, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *at, size_t bytes) __attribute__((weak));

/* What is kept is of these sizes: powers of two, from 16 KiB to 8 MiB.  What is larger is not kept. */
enum { SMALLEST = 16 * 1024, SIZES = 10, BEYOND = 4096 };

struct piece {
	alignas(max_align_t) struct piece *next; /* kept one of its size */
	size_t all;   /* this head included */
	size_t bytes; /* of data, as they were asked for */
	alignas(max_align_t) uint8_t data[];
};

static struct piece *kept[SIZES];

static void
forbid(const uint8_t *at, size_t bytes)
{
	if (__asan_poison_memory_region != NULL)
		__asan_poison_memory_region(at, bytes);
}

static void
allow(const uint8_t *at, size_t bytes)
{
	if (__asan_unpoison_memory_region != NULL)
		__asan_unpoison_memory_region(at, bytes);
}

/* The list of those of this size, or NULL. */
static struct piece **
list_of(size_t all)
{
	for (unsigned i = 0; i < SIZES; i++)
		if (all == (size_t)SMALLEST << i)
			return &kept[i];
	return NULL;
}

static size_t
size_for(size_t all)
{
	for (unsigned i = 0; i < SIZES; i++)
		if (all <= (size_t)SMALLEST << i)
			return (size_t)SMALLEST << i;
	return all;
}

static struct piece *
piece_take(size_t all, size_t bytes, bool zeroed)
{
	struct piece **list = list_of(all), *piece;

	if (list == NULL || *list == NULL)
		return zeroed ? calloc(1, all) : malloc(all);
	piece = *list;
	*list = piece->next;
	allow(piece->data, bytes);
	if (zeroed)
		memset(piece->data, 0, bytes);
	return piece;
}

static void *
take(size_t bytes, bool zeroed)
{
	size_t all = size_for(sizeof(struct piece) + bytes), beyond = all - sizeof(struct piece) - bytes;
	struct piece *piece = piece_take(all, bytes, zeroed);

	if (piece == NULL)
		return NULL;
	piece->all = all;
	piece->bytes = bytes;
	forbid(piece->data + bytes, beyond < BEYOND ? beyond : BEYOND);
	return piece->data;
}

static void
give(void *memory)
{
	struct piece *piece = (struct piece *)((uintptr_t)memory - sizeof(*piece)), **list = list_of(piece->all);

	if (list == NULL) {
		free(piece);
		return;
	}
	forbid(piece->data, piece->bytes);
	piece->next = *list;
	*list = piece;
}

void
sim_arena_init(struct arena *arena, size_t bytes_max)
{
	static const struct arena_source source = { .from = SMALLEST, .take = take, .give = give };

	arena_init(arena, bytes_max);
	arena->large = &source;
}
