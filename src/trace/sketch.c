#include "trace/sketch.h"

#include <math.h>

enum { REST = 64 - SKETCH_BITS, RANKS = REST + 2 };

void
sketch_add(struct sketch *sketch, uint64_t hash)
{
	uint64_t rest = hash << SKETCH_BITS;
	uint8_t *reg = &sketch->registers[hash >> REST];
	uint8_t rank = rest != 0 ? (uint8_t)(__builtin_clzll(rest) + 1) : REST + 1;

	if (rank > *reg)
		*reg = rank;
}

/* x + x^2 + 2 x^4 + 4 x^8 + ... */
static double
sigma(double x)
{
	double y = 1, z = x, before;

	if (x >= 1)
		return INFINITY;
	do {
		before = z;
		x *= x;
		z += x * y;
		y += y;
	} while (z > before);
	return z;
}

/* (1 - x - (1 - x^(1/2))^2 / 2 - (1 - x^(1/4))^2 / 4 - ...) / 3 */
static double
tau(double x)
{
	double y = 1, z = 1 - x, before;

	if (x <= 0 || x >= 1)
		return 0;
	do {
		before = z;
		x = sqrt(x);
		y /= 2;
		z -= (1 - x) * (1 - x) * y;
	} while (z < before);
	return z / 3;
}

double
sketch_count(const struct sketch *sketch)
{
	const double m = SKETCH_REGISTERS;
	unsigned ranks[RANKS] = { 0 };
	double z;

	for (unsigned i = 0; i < SKETCH_REGISTERS; i++)
		ranks[sketch->registers[i]]++;
	z = m * tau(1 - ranks[REST + 1] / m);
	for (unsigned rank = REST; rank >= 1; rank--)
		z = (z + ranks[rank]) / 2;
	z += m * sigma(ranks[0] / m);
	return m * m / (2 * log(2) * z);
}
