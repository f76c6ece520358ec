/*
 * sketch.h - about how many different things there were, in 16 KiB.
 *
 * HyperLogLog (Flajolet et al. 2007) with 2^14 registers and the estimator of
 * Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017,
 * algorithm 6), which is good from none to 2^64 without a table of corrections.
 * The standard error is 1.04 / sqrt(2^14): 0.81 %.
 *
 * It is given hashes, and knows nothing of what they are of.
 */
#ifndef WEIR_TRACE_SKETCH_H
#define WEIR_TRACE_SKETCH_H

#include <stdint.h>

enum { SKETCH_BITS = 14, SKETCH_REGISTERS = 1 << SKETCH_BITS };

#define SKETCH_ERROR 0.008125 /* standard, relative */

struct sketch {
	uint8_t registers[SKETCH_REGISTERS]; /* the longest run of zeros of the hashes of each, plus 1; 0: none */
};

/* All zeros is empty.  Hashes are evenly spread over 64 bits. */
void sketch_add(struct sketch *sketch, uint64_t hash);

double sketch_count(const struct sketch *sketch);

/* A hash as it is wanted, of different numbers different ones (the end of splitmix64). */
static inline uint64_t
sketch_hash(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

#endif
