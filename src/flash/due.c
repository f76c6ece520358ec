/* due.c - a winner is found by playing its way up: no queue, no search, no more than one game a round. */
#include "flash/due.h"

#include <errno.h>

int
due_init(struct due *due, struct arena *arena, uint32_t count)
{
	uint32_t leaves = 2;

	while (leaves < count)
		leaves *= 2;
	*due = (struct due){ .arena = arena, .leaves = leaves };
	due->at_ns = arena_alloc(arena, leaves * sizeof(due->at_ns[0]));
	due->first = arena_alloc(arena, 2 * leaves * sizeof(due->first[0]));
	if (due->at_ns == NULL || due->first == NULL) {
		due_fini(due);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < leaves; i++) {
		due->at_ns[i] = DUE_NEVER;
		due->first[leaves + i] = i;
	}
	for (uint32_t node = leaves - 1; node >= 1; node--)
		due->first[node] = due->first[2 * node];
	return 0;
}

void
due_fini(struct due *due)
{
	arena_free(due->arena, due->first);
	arena_free(due->arena, due->at_ns);
	*due = (struct due){ 0 };
}

/* By time, then by number. */
static inline bool
before(uint64_t a_ns, uint32_t a, uint64_t b_ns, uint32_t b)
{
	return ((unsigned __int128)a_ns << 64 | a) < ((unsigned __int128)b_ns << 64 | b);
}

/* Who wins is as good as random, and a processor that guesses is wrong half the time: nothing here branches on it. */
void
due_set(struct due *due, uint32_t number, uint64_t at_ns)
{
	uint32_t first = number;

	due->at_ns[number] = at_ns;
	for (uint32_t node = due->leaves + number; node > 1; node /= 2) {
		uint32_t other = due->first[node ^ 1];
		uint64_t other_ns = due->at_ns[other];
		uint64_t wins = -(uint64_t)before(other_ns, other, at_ns, first);

		first ^= (first ^ other) & (uint32_t)wins;
		at_ns ^= (at_ns ^ other_ns) & wins;
		due->first[node / 2] = first;
	}
}
