#include "base/hist.h"

enum { SUBS = 1 << HIST_SUB_BITS };

void
hist_init(struct hist *hist)
{
	*hist = (struct hist){ .min = UINT64_MAX };
}

static uint32_t
bucket_of(uint64_t value)
{
	uint32_t bits, shift;

	if (value < SUBS)
		return (uint32_t)value;
	if (value >> HIST_MAX_BITS != 0)
		return HIST_BUCKETS - 1;
	bits = 63 - (uint32_t)__builtin_clzll(value);
	shift = bits - HIST_SUB_BITS;
	return ((shift + 1) << HIST_SUB_BITS) + (uint32_t)(value >> shift) - SUBS;
}

uint64_t
hist_bucket_top(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < SUBS)
		return bucket;
	shift = (bucket >> HIST_SUB_BITS) - 1;
	return ((uint64_t)(SUBS + (bucket & (SUBS - 1)) + 1) << shift) - 1;
}

void
hist_add(struct hist *hist, uint64_t value)
{
	hist->count++;
	hist->sum += value;
	if (value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->buckets[bucket_of(value)]++;
}

void
hist_merge(struct hist *into, const struct hist *from)
{
	into->count += from->count;
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

uint64_t
hist_quantile(const struct hist *hist, uint32_t ppm)
{
	uint64_t seen = 0, want = (uint64_t)(((unsigned __int128)hist->count * ppm + 999999) / 1000000);

	if (hist->count == 0)
		return 0;
	if (want == 0)
		want = 1;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen >= want)
			return hist_bucket_top(i) < hist->max ? hist_bucket_top(i) : hist->max;
	}
	return hist->max;
}
