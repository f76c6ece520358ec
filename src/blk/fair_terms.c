/*
 * fair_terms.c - who the tenants of a device are, and what each of them may have (fair.h).
 *
 * A tenant is known from its first I/O on.  What may be had is said for all of them at once, and anew while I/O waits:
 * then everybody is taken out of groups and caps, these are what they are to be, and all are put where they belong.
 */
#include "blk/fair_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "blk/home.h"

static const struct fair_terms no_terms;
static const struct fair_volume not_paced;

/* ---- limits ---- */

static bool
limits(const struct fair_limits *some)
{
	for (int kind = 0; kind < QOS_KINDS; kind++)
		if (some->limits[kind].ios > 0 || some->limits[kind].bytes > 0)
			return true;
	return false;
}

static bool
limits_same(const struct fair_limits *some, const struct fair_limits *others)
{
	return memcmp(some->limits, others->limits, sizeof(some->limits)) == 0 && some->burst_ms == others->burst_ms;
}

/* NULL: there is no limit.  It was in use by nobody; where it says what it said last there is no burst anew. */
static struct qos_cap *
cap_use(struct fair_chan *fc, struct fair_cap *cap, const struct fair_limits *some, enum qos_cap_of of)
{
	bool same = limits_same(some, &cap->had);

	cap->had = *some;
	cap->used = limits(some);
	if (!cap->used)
		return NULL;
	if (!same)
		qos_cap_init(&cap->cap, some->limits, some->burst_ms);
	qos_use_cap(&fc->qos, &cap->cap, of);
	return &cap->cap;
}

static void
cap_drop(struct fair_chan *fc, struct fair_cap *cap)
{
	if (cap->used)
		qos_drop_cap(&fc->qos, &cap->cap);
	cap->used = false;
}

/* ---- one tenant ---- */

static int
by_name(const void *name, const void *host)
{
	return strcmp(name, ((const struct fair_host *)host)->nqn);
}

/* What is said of it; or what holds of those of whom nothing is said. */
static const struct fair_host *
host_of(const struct fair_terms *terms, const struct fair_tenant *tenant)
{
	static const struct fair_host others = { .group = FAIR_NO_GROUP, .weight = 1 };
	const struct fair_host *host = NULL;

	if (tenant->who != NULL && terms->host_count > 0)
		host = bsearch(tenant->who->name, terms->hosts, terms->host_count, sizeof(*host), by_name);
	return host != NULL ? host : &others;
}

static void
tenant_place(struct fair_chan *fc, struct fair_tenant *tenant)
{
	const struct fair_host *host = host_of(fc->terms, tenant);
	struct qos_group *group = host->group < fc->terms->group_count ? &fc->group_at[host->group]->qos : NULL;

	qos_move(&fc->qos, &tenant->qos, group, fc->volume.paced ? host->weight : 1);
	tenant->qos.cap = cap_use(fc, &tenant->cap, &host->limits, QOS_CAP_TENANT);
}

static void
tenant_take_out(struct fair_chan *fc, struct fair_tenant *tenant)
{
	qos_move(&fc->qos, &tenant->qos, NULL, 1);
	tenant->qos.cap = NULL;
}

static void
tenant_init(struct fair_chan *fc, struct fair_tenant *tenant, const struct blk_tenant *who)
{
	qos_tenant_init(&tenant->qos, NULL, 1);
	tenant->who = who;
	tenant_place(fc, tenant);
}

static void
tenant_gone(struct fair_chan *fc, struct fair_tenant *tenant)
{
	qos_leave(&fc->qos, &tenant->qos);
	tenant_take_out(fc, tenant);
	cap_drop(fc, &tenant->cap);
}

/* Who there is no memory for is nobody in particular. */
static __attribute__((noinline)) struct fair_tenant *
tenant_make(struct fair_chan *fc, const struct blk_tenant *who)
{
	struct fair_tenant *tenant = arena_alloc(fc->chan.reactor->arena, sizeof(*tenant));

	if (tenant == NULL)
		return &fc->nobody;
	tenant_init(fc, tenant, who);
	list_push(&fc->tenants, &tenant->node);
	fc->by_number[who->number] = tenant;
	return tenant;
}

struct fair_tenant *
fair_tenant_of(struct fair_chan *fc, const struct blk_tenant *who)
{
	struct fair_tenant *tenant;

	if (who == NULL)
		return &fc->nobody;
	tenant = fc->by_number[who->number];
	assert(tenant == NULL || tenant->who == who);
	return tenant != NULL ? tenant : tenant_make(fc, who);
}

/* Who it was need not be there any more. */
static void
tenant_free(struct fair_chan *fc, struct fair_tenant *tenant)
{
	list_remove(&tenant->node);
	tenant_gone(fc, tenant);
	arena_free(fc->chan.reactor->arena, tenant);
}

void
fair_forget(struct blk_chan *chan, const struct blk_tenant *who)
{
	struct fair_chan *fc = fair_chan_here(chan);

	if (fc == NULL || fc->by_number[who->number] == NULL)
		return;
	tenant_free(fc, fc->by_number[who->number]);
	fc->by_number[who->number] = NULL;
}

/* ---- all of them ---- */

/* So that it holds nobody back: all costs next to nothing, there is no end of tokens, and no latency is too long. */
static void
unpaced(struct qos_params *params)
{
	qos_params_default(params);
	params->thresh_max_ns = UINT32_MAX;
	for (int kind = 0; kind < QOS_KINDS; kind++)
		for (int size = 0; size < QOS_SIZES; size++)
			params->size_cost[kind][size] = 1;
	params->write_cost_worst = QOS_COST_ONE;
	params->slots = params->slots_least = QOS_SLOTS_MAX;
	params->inflight_bytes = UINT32_MAX;
	params->bucket_bytes = 1 << 30;
	params->rate_first = params->rate_least = params->rate_most = UINT64_C(1) << 40;
}

static void
params_of(const struct fair_volume *volume, struct qos_params *params)
{
	if (volume->paced)
		*params = volume->params;
	else
		unpaced(params);
}

/* Nobody is in a group, or waits at a cap. */
static void
take_out_all(struct fair_chan *fc)
{
	tenant_take_out(fc, &fc->nobody);
	list_for_each(&fc->tenants, node)
		tenant_take_out(fc, container_of(node, struct fair_tenant, node));
	fc->qos.cap = NULL;
	cap_drop(fc, &fc->cap);
	cap_drop(fc, &fc->nobody.cap);
	list_for_each(&fc->tenants, node)
		cap_drop(fc, &container_of(node, struct fair_tenant, node)->cap);
	for (int i = 0; i < FAIR_GROUPS_MAX; i++) {
		cap_drop(fc, &fc->groups[i].cap);
		fc->groups[i].used = false;
	}
}

/* Of those that nobody has: where the group of that name was last, or NULL; without a name, any. */
static struct fair_group_here *
group_take(struct fair_chan *fc, const char *name)
{
	for (int i = 0; i < FAIR_GROUPS_MAX; i++) {
		struct fair_group_here *here = &fc->groups[i];

		if (here->used || (name != NULL && strcmp(here->name, name) != 0))
			continue;
		here->used = true;
		return here;
	}
	return NULL;
}

/* A group keeps what its limits know of it, whichever others there are now. */
static void
groups_find(struct fair_chan *fc)
{
	const struct fair_terms *terms = fc->terms;

	for (uint32_t i = 0; i < terms->group_count; i++)
		fc->group_at[i] = group_take(fc, terms->groups[i].name);
	for (uint32_t i = 0; i < terms->group_count; i++) {
		struct fair_group_here *here = fc->group_at[i];

		if (here != NULL)
			continue;
		here = fc->group_at[i] = group_take(fc, NULL);
		memcpy(here->name, terms->groups[i].name, sizeof(here->name));
		here->cap.had = (struct fair_limits){ 0 };
	}
}

static void
place_all(struct fair_chan *fc)
{
	groups_find(fc);
	for (uint32_t i = 0; i < fc->terms->group_count; i++) {
		const struct fair_group *group = &fc->terms->groups[i];
		struct fair_group_here *here = fc->group_at[i];

		qos_group_init(&here->qos, fc->volume.paced ? group->weight : 1);
		here->qos.cap = cap_use(fc, &here->cap, &group->limits, QOS_CAP_GROUP);
	}
	fc->qos.cap = cap_use(fc, &fc->cap, &fc->volume.limits, QOS_CAP_ALL);
	tenant_place(fc, &fc->nobody);
	list_for_each(&fc->tenants, node)
		tenant_place(fc, container_of(node, struct fair_tenant, node));
}

static bool
same(const struct fair_chan *fc, const struct fair_volume *volume, const struct fair_terms *terms)
{
	size_t groups = terms->group_count * sizeof(*terms->groups), hosts = terms->host_count * sizeof(*terms->hosts);

	return memcmp(&fc->volume, volume, sizeof(*volume)) == 0 && fc->terms->group_count == terms->group_count &&
	    fc->terms->host_count == terms->host_count &&
	    (groups == 0 || memcmp(fc->terms->groups, terms->groups, groups) == 0) &&
	    (hosts == 0 || memcmp(fc->terms->hosts, terms->hosts, hosts) == 0);
}

/* Who is told the same once more goes on. */
void
fair_apply(struct blk_chan *chan, const struct fair_volume *volume, const struct fair_terms *terms)
{
	struct fair_chan *fc = fair_chan_here(chan);
	struct qos_params params;

	if (fc == NULL)
		return;
	volume = volume != NULL ? volume : &not_paced;
	terms = terms != NULL ? terms : &no_terms;
	if (same(fc, volume, terms)) {
		fc->terms = terms;
		return;
	}
	assert(terms->group_count <= FAIR_GROUPS_MAX);
	take_out_all(fc);
	params_of(volume, &params);
	if (memcmp(&params, &fc->qos.params, sizeof(params)) != 0)
		qos_tune(&fc->qos, &params);
	memcpy(&fc->volume, volume, sizeof(*volume)); /* with what lies between its members, for same() */
	fc->terms = terms;
	place_all(fc);
	fair_go_soon(fc);
}

void
fair_terms_begin(struct fair_chan *fc)
{
	struct qos_params params;

	list_init(&fc->tenants);
	fc->terms = &no_terms;
	unpaced(&params);
	qos_init(&fc->qos, &params);
	tenant_init(fc, &fc->nobody, NULL);
}

void
fair_terms_end(struct fair_chan *fc)
{
	list_for_each(&fc->tenants, node)
		tenant_free(fc, container_of(node, struct fair_tenant, node));
	tenant_gone(fc, &fc->nobody);
}

size_t
fair_tenant_bytes(void)
{
	return arena_takes(sizeof(struct fair_tenant), 0);
}

size_t
fair_bytes(unsigned reactors)
{
	return arena_takes(sizeof(struct fair), 0) + arena_takes(sizeof(struct fair_chan), 0) + home_bytes(reactors);
}
