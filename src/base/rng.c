#include "base/rng.h"

void
rng_seed(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		rng->s[i] = z ^ (z >> 31);
	}
}

static uint64_t
rotate(uint64_t v, int by)
{
	return (v << by) | (v >> (64 - by));
}

uint64_t
rng_next(struct rng *rng)
{
	uint64_t *s = rng->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t
rng_below(struct rng *rng, uint64_t limit)
{
	return (uint64_t)(((unsigned __int128)rng_next(rng) * limit) >> 64);
}
