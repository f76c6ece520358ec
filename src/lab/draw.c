/*
 * draw.c - an exponential draw by comparisons, and a Zipf draw by levels.
 *
 * Within a level of the ranks 2^k to 2^(k+1) - 1 the weights differ by 2^exponent at most: a level is drawn by the
 * weight that its ranks would have if all were as popular as its first one, then one of its ranks evenly, and that is
 * taken in proportion to its own weight, or all is drawn again.  Weights are powers of two with a fraction, in fixed
 * point.
 */
#include "lab/draw.h"

#include <assert.h>

/* ---- arrivals ---- */

uint64_t
draw_exponential(struct rng *rng, uint64_t mean)
{
	for (uint64_t whole = 0;; whole++) {
		uint32_t first = (uint32_t)rng_next(rng), last = first, next;
		unsigned falling = 1;

		/* How long a run of draws falls: an odd one says that the fraction is the first of them. */
		while ((next = (uint32_t)rng_next(rng)) < last) {
			last = next;
			falling++;
		}
		if (falling % 2 == 1)
			return mean * whole + (uint64_t)(((unsigned __int128)mean * first) >> 32);
	}
}

/* ---- powers of two, with 16 bits of a fraction ---- */

enum { FRACTION = 16, ONE = 1 << FRACTION };

/* log2 of a number from 1 on, in 1/65536: a bit with each squaring. */
static uint64_t
log2_of(uint64_t n)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(n);
	uint64_t x = whole > 31 ? n >> (whole - 31) : n << (31 - whole); /* 1 to 2, with 31 bits behind the point */
	uint64_t fraction = 0;

	for (unsigned bit = 0; bit < FRACTION; bit++) {
		x = x * x >> 31;
		fraction <<= 1;
		if (x >> 32 != 0) {
			fraction |= 1;
			x >>= 1;
		}
	}
	return ((uint64_t)whole << FRACTION) + fraction;
}

/* 2^62 divided by 2 to the power of x / 65536. */
static uint64_t
divided_by_exp2(uint64_t x)
{
	/* 2^(-1/2), 2^(-1/4) ... with 32 bits behind the point */
	static const uint32_t roots[FRACTION] = {
		3037000500, 3611622603, 3938502376, 4112874773, 4202935003, 4248701965, 4271771996, 4283353945,
		4289156690, 4292061010, 4293513907, 4294240540, 4294603903, 4294785595, 4294876445, 4294921870,
	};
	uint64_t y = UINT64_C(1) << 62;

	for (unsigned bit = 0; bit < FRACTION; bit++)
		if ((x >> (FRACTION - 1 - bit) & 1) != 0)
			y = (uint64_t)(((unsigned __int128)y * roots[bit]) >> 32);
	return x >> FRACTION < 62 ? y >> (x >> FRACTION) : 0;
}

/* ---- popular places ---- */

/* rank^-exponent * 2^62, of a rank with so many bits behind the point. */
static uint64_t
weight(const struct draw_zipf *zipf, uint64_t rank, unsigned bits)
{
	return divided_by_exp2((log2_of(rank) - ((uint64_t)bits << FRACTION)) * zipf->exponent / 100);
}

static uint64_t
level_ranks(const struct draw_zipf *zipf, unsigned level)
{
	uint64_t first = UINT64_C(1) << level;

	return zipf->ranks - first + 1 < first ? zipf->ranks - first + 1 : first;
}

void
draw_zipf_init(struct draw_zipf *zipf, uint64_t ranks, uint32_t exponent)
{
	uint64_t sum = 0;

	assert(ranks >= 1 && ranks >> 40 == 0 && exponent >= 1 && exponent <= 200);
	*zipf = (struct draw_zipf){ .ranks = ranks, .exponent = exponent };
	for (; ranks >> zipf->levels != 0; zipf->levels++) {
		/* 40 bits less than a weight has: 2^40 ranks as popular as the first would still fit. */
		unsigned __int128 all = (unsigned __int128)weight(zipf, UINT64_C(1) << zipf->levels, 0) *
		    level_ranks(zipf, zipf->levels);

		sum += (uint64_t)(all >> 40) + 1;
		zipf->upto[zipf->levels] = sum;
	}
}

uint64_t
draw_zipf(const struct draw_zipf *zipf, struct rng *rng)
{
	for (;;) {
		uint64_t dice = rng_below(rng, zipf->upto[zipf->levels - 1]), rank;
		unsigned level = 0;

		while (dice >= zipf->upto[level])
			level++;
		rank = (UINT64_C(1) << level) + rng_below(rng, level_ranks(zipf, level));
		if (rng_next(rng) >> 2 < weight(zipf, rank, level))
			return rank - 1;
	}
}
