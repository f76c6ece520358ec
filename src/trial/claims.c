#include "trial/claims.h"

#include <string.h>

static unsigned
row_of(unsigned claimant)
{
	return claimant < MODEL_HOSTS ? claimant : MODEL_HOSTS;
}

void
claims_init(struct claims *claims, bool persists)
{
	memset(claims->until_ns, 0, sizeof(claims->until_ns));
	model_init(&claims->model, persists);
	for (unsigned i = 0; i <= MODEL_HOSTS; i++)
		claims->may[i] = model_may(&claims->model, i < MODEL_HOSTS ? i : MODEL_NOBODY);
}

void
claims_changed(struct claims *claims, uint64_t now_ns)
{
	for (unsigned i = 0; i <= MODEL_HOSTS; i++) {
		for (unsigned bit = 0; bit < CLAIMS_MAY; bit++)
			if (claims->may[i] >> bit & 1)
				claims->until_ns[i][bit] = now_ns;
		claims->may[i] = model_may(&claims->model, i < MODEL_HOSTS ? i : MODEL_NOBODY);
	}
}

bool
claims_may(const struct claims *claims, unsigned claimant, unsigned bits, uint64_t since_ns)
{
	unsigned row = row_of(claimant);

	if (claims->may[row] & bits)
		return true;
	for (unsigned bit = 0; bit < CLAIMS_MAY; bit++)
		if (bits >> bit & 1 && claims->until_ns[row][bit] >= since_ns && claims->until_ns[row][bit] > 0)
			return true;
	return false;
}
