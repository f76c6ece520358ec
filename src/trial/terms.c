/*
 * terms.c - what hosts of a trial may have of its volumes, drawn anew whenever a target is told what it serves.
 *
 * So weights, groups and limits change whenever anything else does, while I/O waits.  Nobody is held back for so long
 * that a path would be lost by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/internal.h"

enum {
	WEIGHT = 100,
	IOS_LEAST = 10000, IOS_MOST = 500000,
	BURST_MS = 50,
};

static const uint64_t MIB = 1024 * 1024, GIB = 1024 * 1024 * 1024;

static uint64_t
between(struct rng *rng, uint64_t from, uint64_t to)
{
	return from + rng_below(rng, to - from + 1);
}

/* Half of them have none. */
static struct fair_limits
draw_limits(struct rng *rng)
{
	struct fair_limits some = { .burst_ms = (uint32_t)rng_below(rng, BURST_MS) };

	for (int kind = 0; kind < QOS_KINDS; kind++) {
		if (rng_below(rng, 2) == 0)
			some.limits[kind].ios = between(rng, IOS_LEAST, IOS_MOST);
		if (rng_below(rng, 2) == 0)
			some.limits[kind].bytes = between(rng, GIB, 4 * GIB);
	}
	return rng_below(rng, 2) == 0 ? some : (struct fair_limits){ 0 };
}

static void
draw_params(struct rng *rng, struct qos_params *params)
{
	qos_params_default(params);
	params->slots = (uint32_t)between(rng, 1, QOS_SLOTS_MAX);
	params->slots_least = (uint32_t)between(rng, 1, params->slots);
	params->inflight_bytes = QOS_SLOT_BYTES * (uint32_t)between(rng, 1, 32);
	params->thresh_min_ns = (uint32_t)between(rng, 10 * 1000, 1000 * 1000);
	params->thresh_max_ns = params->thresh_min_ns * (uint32_t)between(rng, 2, 8);
	params->rate_least = params->rate_first = GIB;
	params->rate_most = 8 * GIB;
	params->bucket_bytes = (uint32_t)(between(rng, 1, 8) * MIB / 4);
}

static void
draw_volumes(struct rng *rng, struct served *served, struct whole *whole)
{
	for (uint32_t i = 0; i < whole->subsys.ns_count; i++) {
		struct target_ns *ns = &whole->ns[i];

		whole->fair[i] = (struct fair_volume){ .paced = rng_below(rng, 2) == 0, .limits = draw_limits(rng) };
		draw_params(rng, &whole->fair[i].params);
		if (served->volumes[ns->nsid - 1].fair)
			ns->fair = &whole->fair[i];
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct fair_host *)a)->nqn, ((const struct fair_host *)b)->nqn);
}

/* Of some nothing is ever said: as many are named each time, so that what it takes is the same. */
static bool
is_named(const struct served *served, uint32_t host)
{
	struct rng rng;

	rng_seed(&rng, served->trial->plan->seed + host);
	return rng_below(&rng, 4) > 0;
}

static void
draw_hosts(struct rng *rng, const struct served *served, struct whole *whole)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < trial_knob(served->trial, KNOB_HOSTS); i++) {
		struct fair_host *host = &whole->fair_hosts[count];

		if (!is_named(served, i))
			continue;
		*host = (struct fair_host){
			.group = (uint32_t)rng_below(rng, TRIAL_GROUPS + 1),
			.weight = (uint32_t)between(rng, 1, WEIGHT), .limits = draw_limits(rng),
		};
		if (host->group == TRIAL_GROUPS)
			host->group = FAIR_NO_GROUP;
		snprintf(host->nqn, sizeof(host->nqn), "%s", served->trial->users[i].nqn);
		count++;
	}
	qsort(whole->fair_hosts, count, sizeof(whole->fair_hosts[0]), by_name);
	whole->config.fair.hosts = whole->fair_hosts;
	whole->config.fair.host_count = count;
}

void
terms_draw(struct served *served, struct whole *whole)
{
	struct rng rng;

	rng_seed(&rng, served->trial->plan->seed ^ (uint64_t)served->index << 56 ^ ++served->told << 32);
	draw_volumes(&rng, served, whole);
	for (int i = 0; i < TRIAL_GROUPS; i++) {
		whole->groups[i] = (struct fair_group){ .weight = (uint32_t)between(&rng, 1, WEIGHT),
			.limits = draw_limits(&rng) };
		snprintf(whole->groups[i].name, sizeof(whole->groups[i].name), "group-%d", i);
	}
	whole->config.fair.groups = whole->groups;
	whole->config.fair.group_count = TRIAL_GROUPS;
	draw_hosts(&rng, served, whole);
}
