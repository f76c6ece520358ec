/*
 * arena.h - all the memory of one process, real or simulated.
 *
 * Every object above the world is allocated from the arena of its process, so
 * that a simulated crash is dropping the arena, and a leak is what is left in
 * it.  Not for the I/O path: there, pools and slots are used.
 */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct rng;

/* Where large blocks come from instead of malloc(). */
struct arena_source {
	size_t from;                              /* what is asked to be so many bytes or more is large */
	void *(*take)(size_t bytes, bool zeroed); /* as malloc() or calloc(): NULL: none left */
	void (*give)(void *memory);               /* what take() returned */
};

struct arena {
	struct list blocks;
	size_t bytes;      /* asked for and not given back */
	size_t most;       /* of these, since arena_shrank() was last so */
	size_t bytes_max;  /* 0: no limit */
	uint64_t fail_at;  /* the n-th allocation from now fails (1: the next); 0: none */
	uint64_t fail_within; /* then one of the n that follow it, and of those that follow that; 0: no other */
	const struct arena_source *large; /* NULL: malloc() */
	struct rng *fail_by;  /* the caller's, who has set fail_within: says which one */
};

/* Empty; it may have `bytes_max` bytes, 0: as many as there are.  A source may be set before the first allocation. */
void arena_init(struct arena *arena, size_t bytes_max);

/*
 * Zeroed memory of `bytes` bytes, aligned for any type; large blocks are fresh
 * pages that take no memory before they are touched.  NULL: none left.
 * An arena is used by one thread at a time.
 */
void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((warn_unused_result));

/* As arena_alloc(), but whatever was there before is still in it: for large arrays that are made
 * ready piece by piece, so that what is not used takes no memory. */
void *arena_alloc_raw(struct arena *arena, size_t bytes) __attribute__((warn_unused_result));

/* As arena_alloc(), aligned to `align`, a power of two not above a page. */
void *arena_alloc_aligned(struct arena *arena, size_t bytes, size_t align)
    __attribute__((warn_unused_result));

/* What an allocation takes in all, with what it is found by and aligned with; `align` 0: for any type. */
size_t arena_takes(size_t bytes, size_t align);

/* A copy of the string, or NULL. */
char *arena_strdup(struct arena *arena, const char *string) __attribute__((warn_unused_result));

/* Gives one block back; NULL is ignored. */
void arena_free(struct arena *arena, void *ptr);

/* Whether 16 MiB were given back since there was most, or since this was last so: malloc() may keep them. */
bool arena_shrank(struct arena *arena);

/* Gives everything back; the arena can be used again. */
void arena_drop(struct arena *arena);

#endif
