#include "qos_ways.h"

#include <string.h>

void
qos_way_beta_1(struct policy_terms *terms)
{
	terms->params.beta = 1;
}

void
qos_way_keeps_rate(struct policy_terms *terms)
{
	terms->keeps_rate = true;
}

void
qos_way_slow_threshold(struct policy_terms *terms)
{
	terms->params.thresh_shift = 4;
}

/* Without what a size takes of the drive it can only fall, and that by a 1024th each four seconds. */
void
qos_way_fixed_cost(struct policy_terms *terms)
{
	memset(terms->params.size_rate, 0, sizeof(terms->params.size_rate));
	terms->params.write_cost_steps = terms->params.write_cost_ns = UINT32_MAX;
}

struct policy_terms
qos_way_terms(const struct qos_way *way, const struct policy_terms *terms)
{
	struct policy_terms varied = *terms;

	if (way->vary != NULL)
		way->vary(&varied);
	return varied;
}
