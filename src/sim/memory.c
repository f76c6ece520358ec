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
	size_t bytes;  /* of data, as they were asked for */
	unsigned size; /* SIZES: it is not kept */
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

/* Which size has so many bytes, head included; SIZES: none. */
static unsigned
size_for(size_t all)
{
	unsigned size = 0;

	while (size < SIZES && all > (size_t)SMALLEST << size)
		size++;
	return size;
}

static struct piece *
piece_take(unsigned size, size_t all, size_t bytes, bool zeroed)
{
	struct piece *piece = size < SIZES ? kept[size] : NULL;

	if (piece == NULL)
		return zeroed ? calloc(1, all) : malloc(all);
	kept[size] = piece->next;
	allow(piece->data, bytes);
	if (zeroed)
		memset(piece->data, 0, bytes);
	return piece;
}

static void *
take(size_t bytes, bool zeroed)
{
	size_t least = sizeof(struct piece) + bytes;
	unsigned size = size_for(least);
	size_t all = size < SIZES ? (size_t)SMALLEST << size : least, beyond = all - least;
	struct piece *piece = piece_take(size, all, bytes, zeroed);

	if (piece == NULL)
		return NULL;
	piece->bytes = bytes;
	piece->size = size;
	forbid(piece->data + bytes, beyond < BEYOND ? beyond : BEYOND);
	return piece->data;
}

static void
give(void *memory)
{
	struct piece *piece = (struct piece *)((uintptr_t)memory - sizeof(*piece));

	if (piece->size == SIZES) {
		free(piece);
		return;
	}
	forbid(piece->data, piece->bytes);
	piece->next = kept[piece->size];
	kept[piece->size] = piece;
}

void
sim_arena_init(struct arena *arena, size_t bytes_max)
{
	static const struct arena_source source = { .from = SMALLEST, .take = take, .give = give };

	arena_init(arena, bytes_max);
	arena->large = &source;
}
