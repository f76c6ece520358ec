/*
 * due.h - which of a fixed number of things is due first.
 *
 * Each has a number, and at most one time at which something happens to it.  Of those that are due at once the lowest
 * number comes first, whenever its time was set: the order of a history does not hang on how it was worked out.
 */
#ifndef WEIR_FLASH_DUE_H
#define WEIR_FLASH_DUE_H

#include "base/arena.h"

#define DUE_NEVER UINT64_MAX

/* A tournament: first[1] has won, first[2n] and first[2n + 1] played for first[n], and first[leaves + i] is i. */
struct due {
	struct arena *arena;
	uint64_t *at_ns;
	uint32_t *first;
	uint32_t leaves; /* a power of two */
};

/* None of `count`, which is at least 1, is due.  0, or -ENOMEM. */
int due_init(struct due *due, struct arena *arena, uint32_t count) __attribute__((warn_unused_result));
void due_fini(struct due *due);

/* DUE_NEVER: it is not due. */
void due_set(struct due *due, uint32_t number, uint64_t at_ns);

static inline uint32_t due_first(const struct due *due) { return due->first[1]; }
static inline uint64_t due_first_ns(const struct due *due) { return due->at_ns[due->first[1]]; }

#endif
