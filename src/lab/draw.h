/*
 * draw.h - random numbers that are not uniform, in integers: gaps between arrivals, and popular places.
 *
 * They enter a simulation's state, so there is no floating point in them.
 */
#ifndef WEIR_LAB_DRAW_H
#define WEIR_LAB_DRAW_H

#include "base/rng.h"

/*
 * Exponentially distributed, with a mean of `mean` (at most 2^40): the gap between two arrivals of a Poisson process.
 * By comparisons alone (J. von Neumann, "Various techniques used in connection with random digits", 1951).
 */
uint64_t draw_exponential(struct rng *rng, uint64_t mean);

/* Ranks of which the n-th is drawn in proportion to n^-exponent. */
struct draw_zipf {
	uint64_t ranks;
	uint32_t exponent;       /* hundredths */
	unsigned levels;         /* level k: the ranks from 2^k to 2^(k+1) - 1 */
	uint64_t upto[64];       /* what is drawn to come into a level, or one before it */
};

/* `ranks` at least 1, below 2^40; the exponent in hundredths, 1 to 200. */
void draw_zipf_init(struct draw_zipf *zipf, uint64_t ranks, uint32_t exponent);

/* 0 to ranks - 1, the most popular one first. */
uint64_t draw_zipf(const struct draw_zipf *zipf, struct rng *rng);

#endif
