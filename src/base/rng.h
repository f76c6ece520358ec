/*
 * rng.h - seeded random numbers (splitmix64 seeding xoshiro256**).
 *
 * The same seed gives the same numbers everywhere; not for secrets.
 */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);

/* Evenly from 0 to limit - 1; limit > 0. */
uint64_t rng_below(struct rng *rng, uint64_t limit);

#endif
