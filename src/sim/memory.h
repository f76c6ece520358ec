/*
 * memory.h - large blocks of simulated processes, kept when they crash and given again.
 *
 * A simulation starts targets by the thousand, each with megabytes of which it
 * touches little.  Under AddressSanitizer, which has pages of its own written
 * for all that come fresh and has them forgotten for all that go, that takes
 * several times as long as all the rest.  What is kept is out of bounds for it
 * until it is given again, and so is what follows a block.
 */
#ifndef WEIR_SIM_MEMORY_H
#define WEIR_SIM_MEMORY_H

#include "base/arena.h"

/* As arena_init(), of arenas that are all of one thread; what is kept goes when the program ends. */
void sim_arena_init(struct arena *arena, size_t bytes_max);

#endif
