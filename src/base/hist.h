/*
 * hist.h - a latency histogram with a bounded relative error.
 *
 * Buckets are logarithmic with 64 linear steps per power of two, so a value is
 * known to 1/64 (1.6 %), from 1 to 2^42 in whatever unit the caller counts.
 * Fixed size, no allocation, integers only.
 */
#ifndef WEIR_BASE_HIST_H
#define WEIR_BASE_HIST_H

#include <stdint.h>

enum { HIST_SUB_BITS = 6, HIST_MAX_BITS = 42 };
enum { HIST_BUCKETS = (HIST_MAX_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS };

struct hist {
	uint64_t count, sum, min, max;
	uint32_t buckets[HIST_BUCKETS];
};

void hist_init(struct hist *hist);
void hist_add(struct hist *hist, uint64_t value);

/* All that is in `from` too. */
void hist_merge(struct hist *into, const struct hist *from);

/* The largest value that falls into a bucket. */
uint64_t hist_bucket_top(uint32_t bucket);

/* The smallest bucket bound that at least ppm / 1e6 of the values do not exceed; 0 when empty. */
uint64_t hist_quantile(const struct hist *hist, uint32_t ppm);

#endif
