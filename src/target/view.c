#include "keep/store.h"
#include "target/view.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "order/entry.h"
#include "wire/identify.h"

enum { DEFAULT_HANDSHAKE_MS = 10000, DEFAULT_STALL_MS = 30000, DEFAULT_CONNECTIONS = 4096,
	DEFAULT_CONTROLLERS = 1000 };

/* ---- identities ---- */

/* 16 bytes that depend on the identity and the number alone; a version-8 UUID (RFC 9562). */
static void
derive(const uint8_t identity[16], uint64_t number, uint8_t out[16])
{
	struct rng rng;

	rng_seed(&rng, get_le64(identity) + number * 0x9e3779b97f4a7c15u);
	put_le64(out, rng_next(&rng) ^ get_le64(identity + 8));
	put_le64(out + 8, rng_next(&rng));
	out[6] = (uint8_t)((out[6] & 0x0f) | 0x80);
	out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static bool
is_given(const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, sizeof(none)) != 0;
}

static void
given_or_derived(const uint8_t given[16], const uint8_t identity[16], uint64_t number, uint8_t out[16])
{
	if (is_given(given))
		memcpy(out, given, 16);
	else
		derive(identity, number, out);
}

void
target_uuid(const uint8_t given[16], const uint8_t id[16], uint8_t uuid[16])
{
	given_or_derived(given, id, 1, uuid);
}

/* ---- one block of memory for all of a view ---- */

/* With `at` NULL it only adds up. */
struct layout {
	uint8_t *at;
	size_t bytes;
};

static void *
lay(struct layout *layout, size_t count, size_t size)
{
	void *place = layout->at != NULL ? layout->at + layout->bytes : NULL;

	layout->bytes += (count * size + 15) & ~(size_t)15;
	return place;
}

struct parts {
	struct ns_info *info;
	struct view_ns *ns;
	struct ana_group *ana;
	char (*hosts)[NVME_NQN_FIELD];
	char (*ns_hosts)[NVME_NQN_FIELD]; /* of one namespace after the other */
	uint64_t *others;
	struct fair_volume *fair;
};

static uint32_t
ns_limit(const struct target_subsys *subsys)
{
	return subsys->ns_count > 0 ? subsys->ns[subsys->ns_count - 1].nsid : 0;
}

static uint32_t
ana_count(const struct target_subsys *subsys)
{
	return subsys->ana_count > 0 ? subsys->ana_count : 1;
}

static struct parts
lay_subsys(struct layout *layout, const struct target_subsys *subsys)
{
	uint32_t ns_hosts = 0, others = 0, fair = 0;
	struct parts parts;

	for (uint32_t i = 0; i < subsys->ns_count; i++) {
		ns_hosts += subsys->ns[i].host_count;
		others += subsys->ns[i].other_count;
		fair += subsys->ns[i].fair != NULL;
	}
	parts.ns_hosts = lay(layout, ns_hosts, sizeof(*parts.ns_hosts));
	parts.others = lay(layout, others, sizeof(*parts.others));
	parts.fair = lay(layout, fair, sizeof(*parts.fair));
	parts.info = lay(layout, subsys->ns_count, sizeof(*parts.info));
	parts.ns = lay(layout, ns_limit(subsys), sizeof(*parts.ns));
	parts.ana = lay(layout, ana_count(subsys), sizeof(*parts.ana));
	parts.hosts = lay(layout, subsys->host_count, sizeof(*parts.hosts));
	return parts;
}

/* ---- a subsystem ---- */

static const struct target_ana only_group = { .id = 1 };

static uint32_t
group_id(const struct target_subsys *subsys, const struct target_ns *ns)
{
	if (ns->ana_group != 0)
		return ns->ana_group;
	return subsys->ana_count > 0 ? subsys->ana[0].id : only_group.id;
}

/* The states by portal; where the target was told nothing, it is reached. */
static void
fill_group(const struct target_ana *told, const struct view_numbers *numbers, uint32_t listeners,
    struct ana_group *group)
{
	*group = (struct ana_group){ .id = told->id, .changes = 1 };
	memset(group->state, NVME_ANA_OPTIMIZED, sizeof(group->state));
	for (uint32_t i = 0; i < listeners; i++)
		if (told->state[i] != 0)
			group->state[numbers->portal[i]] = (uint8_t)told->state[i];
}

static uint8_t
gate_of(const struct ns_info *info, const struct ana_group *group)
{
	uint8_t gate = info->protection != NVME_PROTECT_NONE ? GATE_PROTECT : 0;

	if (info->listed)
		gate |= GATE_LISTED;
	for (unsigned i = 0; i < CTRL_PORTALS_MAX; i++)
		if (group->state[i] != NVME_ANA_OPTIMIZED && group->state[i] != NVME_ANA_NON_OPTIMIZED)
			gate |= GATE_ANA;
	return gate;
}

/* What is kept is kept under the UUID; what lies in memory has another one after a restart, as a rule. */
static uint8_t
rescap(const struct target_ns *ns, bool keeps)
{
	bool same_again = ns->volume->path != NULL || is_given(ns->uuid);

	return NVME_RESCAP_TYPES | NVME_RESCAP_IEKEY_1_3 | (keeps && same_again ? NVME_RESCAP_PTPL : 0);
}

/* Where it is active. */
static void
fill_list(const struct target_ns *ns, struct parts *parts, struct ns_info *info)
{
	info->listed = ns->listed;
	info->hosts = (const char (*)[NVME_NQN_FIELD])parts->ns_hosts;
	info->host_count = ns->host_count;
	info->others = parts->others;
	info->other_count = ns->other_count;
	for (uint32_t i = 0; i < ns->host_count; i++)
		snprintf(*parts->ns_hosts++, NVME_NQN_FIELD, "%s", ns->hosts[i]);
	for (uint32_t i = 0; i < ns->other_count; i++)
		*parts->others++ = ns->others[i];
}

static void
fill_ns(const struct target_subsys *told, const struct target_ns *ns, const struct view_numbers *numbers,
    uint64_t number, const struct view_subsys *subsys, struct parts *parts, struct ns_info *info, struct view_ns *entry)
{
	const struct blk *volume = ns->volume;
	uint8_t ana = 0;

	*info = (struct ns_info){
		.nsid = ns->nsid, .block_size = volume->block_size,
		.blocks = ns->blocks > 0 ? ns->blocks : volume->blocks,
		.volatile_cache = volume->volatile_cache, .cache_life = volume->cache_life,
		.trim_zeroes = volume->trim_zeroes,
		.shared = !ns->private, .rescap = rescap(ns, numbers->keeps), .protection = (uint8_t)ns->protection,
		.marks_bad = volume->bad != NULL,
		.ana_group = group_id(told, ns),
	};
	fill_list(ns, parts, info);
	target_uuid(ns->uuid, ns->id, info->uuid);
	given_or_derived(ns->nguid, ns->id, 2, info->nguid);
	while (subsys->info.ana[ana].id != info->ana_group)
		ana++;
	*entry = (struct view_ns){
		.info = info, .blocks = info->blocks, .block_size = info->block_size, .volume = number, .ana = ana,
		.gate = gate_of(info, &subsys->info.ana[ana]),
		.tagged = order_entry_nsid(info->nsid, info->uuid, info->block_size),
	};
	if (ns->fair != NULL) {
		*parts->fair = *ns->fair;
		entry->fair = parts->fair++;
	}
}

/* What was left in change for too long, and of which nothing was said since. */
static void
keep_expired(struct ana_group *groups, uint32_t count, const struct view_subsys *old)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < old->info.ana_count; k++)
			if (old->info.ana[k].id == groups[i].id)
				groups[i].expired = old->info.ana[k].expired;
		for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++)
			if (groups[i].state[n] == NVME_ANA_CHANGE && groups[i].expired >> n & 1)
				groups[i].state[n] = NVME_ANA_INACCESSIBLE;
	}
}

static_assert(CTRL_ANA_MAX <= 64, "a bit for each group");

static uint64_t
group_bit(const struct ns_info *ns)
{
	assert(ns != NULL);
	return UINT64_C(1) << (ns->ana_group - 1);
}

/* The groups that a namespace has entered or left, for one controller at least, a bit for each by its id: page 0Ch
 * names those that are attached.  Both lists are in the order of NSIDs. */
static uint64_t
changed_members(const struct subsys_info *old, const struct subsys_info *new)
{
	uint64_t changed = 0;
	uint32_t i = 0, k = 0;

	while (i < old->ns_count || k < new->ns_count) {
		const struct ns_info *was = i < old->ns_count ? &old->ns[i] : NULL;
		const struct ns_info *is = k < new->ns_count ? &new->ns[k] : NULL;
		bool gone = is == NULL || (was != NULL && was->nsid < is->nsid);
		bool added = was == NULL || (is != NULL && is->nsid < was->nsid);

		if (gone)
			changed |= group_bit(was);
		else if (added)
			changed |= group_bit(is);
		else if (was->ana_group != is->ana_group)
			changed |= group_bit(was) | group_bit(is);
		else if (!subsys_same_lists(was, is))
			changed |= group_bit(is);
		i += !added;
		k += !gone;
	}
	return changed;
}

/* Counts what changed against the view before: a group by its states and members, and the whole by its groups. */
static void
count_changes(struct view_subsys *subsys, struct ana_group *groups, const struct view_subsys *old)
{
	uint64_t members = changed_members(&old->info, &subsys->info);
	bool changed = old->info.ana_count != subsys->info.ana_count;

	for (uint32_t i = 0; i < subsys->info.ana_count; i++) {
		const struct ana_group *before = NULL;
		bool same;

		for (uint32_t k = 0; k < old->info.ana_count; k++)
			if (old->info.ana[k].id == groups[i].id)
				before = &old->info.ana[k];
		same = before != NULL && memcmp(before->state, groups[i].state, sizeof(groups[i].state)) == 0 &&
		    !(members >> (groups[i].id - 1) & 1);
		groups[i].changes = before == NULL ? 1 : before->changes + !same;
		changed = changed || !same;
	}
	subsys->info.ana_changes = old->info.ana_changes + changed;
}

static const struct subsys_info common = {
	.model = "Weir", .firmware = "0.1.0",
	.io_queues_max = TARGET_IO_QUEUES, .entries_max = TARGET_QUEUE_ENTRIES,
	.incapsule_max = TARGET_INCAPSULE, .mdts_shift = TARGET_MDTS_SHIFT,
	.fused_max = TARGET_FUSED_MAX, .copy_max = TARGET_COPY_MAX,
	.copy_ranges = TARGET_COPY_RANGES, .copy_range_max = TARGET_COPY_RANGE_MAX,
};

static void
fill_names(const struct target_subsys *told, uint32_t slots, struct subsys_info *info)
{
	*info = common;
	info->reservations = info->event_log = true;
	memcpy(info->nqn, told->nqn, strlen(told->nqn));
	if (told->model != NULL)
		snprintf(info->model, sizeof(info->model), "%s", told->model);
	if (told->serial != NULL)
		snprintf(info->serial, sizeof(info->serial), "%s", told->serial);
	else
		snprintf(info->serial, sizeof(info->serial), "W%016llx", (unsigned long long)get_le64(told->identity));
	if (told->io_queues_max != 0)
		info->io_queues_max = told->io_queues_max;
	if (told->entries_max != 0)
		info->entries_max = told->entries_max;
	info->ns_management = told->ns_management;
	info->capacity_free = told->capacity_free;
	info->nwpc = told->nwpc;
	info->order_slots = slots;
}

static void
fill_subsys(const struct target_config *config, const struct target_subsys *told,
    const struct view_numbers *numbers, const uint64_t *volumes, struct parts *parts, const struct view *old,
    struct view_subsys *subsys)
{
	const struct view_subsys *before = NULL;

	fill_names(told, config->order != NULL ? config->order->head.slots : 0, &subsys->info);
	if (old != NULL)
		before = view_subsys(old, subsys->info.nqn);
	memcpy(subsys->identity, told->identity, sizeof(subsys->identity));
	for (uint32_t i = 0; i < config->listen_count; i++)
		if (told->listeners >> i & 1 && config->listen[i].use != PORTAL_DISCOVERY)
			subsys->portals |= UINT32_C(1) << numbers->portal[i];
	for (uint32_t i = 0; i < told->host_count; i++)
		memcpy(parts->hosts[i], told->hosts[i], strlen(told->hosts[i]));
	subsys->hosts_listed = told->hosts_listed;
	subsys->hosts = (const char (*)[NVME_NQN_FIELD])parts->hosts;
	subsys->host_count = told->host_count;
	subsys->controllers_max = told->controllers_max > 0 ? told->controllers_max : DEFAULT_CONTROLLERS;
	if (told->static_controllers)
		subsys->info.static_ids = (uint16_t)subsys->controllers_max;
	subsys->ns = parts->ns;
	subsys->ns_limit = ns_limit(told);
	subsys->info.ana = parts->ana;
	subsys->info.ana_count = ana_count(told);
	subsys->info.ana_changes = 1;
	for (uint32_t i = 0; i < subsys->info.ana_count; i++)
		fill_group(told->ana_count > 0 ? &told->ana[i] : &only_group, numbers, config->listen_count,
		    &parts->ana[i]);
	if (before != NULL && config->again)
		keep_expired(parts->ana, subsys->info.ana_count, before);
	subsys->info.ns = parts->info;
	subsys->info.ns_count = told->ns_count;
	for (uint32_t i = 0; i < subsys->ns_limit; i++)
		parts->ns[i].gate = GATE_ABSENT;
	for (uint32_t i = 0; i < told->ns_count; i++)
		fill_ns(told, &told->ns[i], numbers, volumes[i], subsys, parts, &parts->info[i],
		    &parts->ns[told->ns[i].nsid - 1]);
	if (before != NULL)
		count_changes(subsys, parts->ana, before);
	subsys_assert(&subsys->info);
}

/* ---- the whole ---- */

static struct fair_terms
lay_terms(struct layout *layout, const struct fair_terms *told)
{
	struct fair_group *groups = lay(layout, told->group_count, sizeof(*groups));
	struct fair_host *hosts = lay(layout, told->host_count, sizeof(*hosts));

	if (layout->at != NULL && told->group_count > 0)
		memcpy(groups, told->groups, told->group_count * sizeof(*groups));
	if (layout->at != NULL && told->host_count > 0)
		memcpy(hosts, told->hosts, told->host_count * sizeof(*hosts));
	return (struct fair_terms){ groups, told->group_count, hosts, told->host_count };
}

struct portal_info
view_portal(const struct target_listen *listen)
{
	struct portal_info portal = { .ipv6 = strchr(listen->host, ':') != NULL, .use = listen->use };

	/* A zone is a number or a name on this machine, and nothing to others. */
	snprintf(portal.traddr, sizeof(portal.traddr), "%.*s", (int)strcspn(listen->host, "%"), listen->host);
	snprintf(portal.trsvcid, sizeof(portal.trsvcid), "%u", listen->port);
	return portal;
}

static void
fill_discovery(const struct target_config *config, const struct view_numbers *numbers, const struct view *old,
    struct view *view)
{
	view->discovery = common;
	view->discovery.discovery = true;
	snprintf(view->discovery.nqn, sizeof(view->discovery.nqn), "%s", NVME_DISCOVERY_NQN);
	if (config->subsys_count > 0)
		memcpy(view->discovery.serial, view->subsys[0].info.serial, sizeof(view->discovery.serial));
	for (uint32_t i = 0; i < config->listen_count; i++) {
		view->listen[numbers->portal[i]] = config->listen[i];
		view->portals[numbers->portal[i]] = view_portal(&config->listen[i]);
		view->portals_used |= UINT32_C(1) << numbers->portal[i];
	}
	for (uint32_t i = 0; i < config->referral_count; i++)
		view->referrals[i] = view_portal(&config->referrals[i]);
	view->discovery.referrals = view->referrals;
	view->discovery.referral_count = config->referral_count;
	view->discovery.genctr = old != NULL ? old->discovery.genctr + !view_same_log(old, view) : 1;
}

struct view *
view_make(struct arena *arena, const struct target_config *config, const struct view_numbers *numbers,
    const struct view *old)
{
	struct layout layout = { NULL, 0 };
	const uint64_t *volumes = numbers->volumes;
	struct view *view;
	size_t bytes;

	lay(&layout, 1, sizeof(*view));
	lay(&layout, config->subsys_count, sizeof(*view->subsys));
	for (uint32_t i = 0; i < config->subsys_count; i++)
		lay_subsys(&layout, &config->subsys[i]);
	lay_terms(&layout, &config->fair);
	bytes = layout.bytes;
	layout = (struct layout){ arena_alloc(arena, bytes), 0 };
	if (layout.at == NULL)
		return NULL;
	view = lay(&layout, 1, sizeof(*view));
	view->bytes = bytes;
	view->subsys = lay(&layout, config->subsys_count, sizeof(*view->subsys));
	for (uint32_t i = 0; i < config->subsys_count; i++) {
		const struct target_subsys *told = &config->subsys[i];
		struct parts parts = lay_subsys(&layout, told);

		fill_subsys(config, told, numbers, volumes, &parts, old, &view->subsys[i]);
		volumes += told->ns_count;
		view->subsys_count++;
	}
	view->fair = lay_terms(&layout, &config->fair);
	fill_discovery(config, numbers, old, view);
	view->authenticate = config->authenticate;
	view->handshake_timeout_ms = config->handshake_timeout_ms ? config->handshake_timeout_ms : DEFAULT_HANDSHAKE_MS;
	view->stall_timeout_ms = config->stall_timeout_ms ? config->stall_timeout_ms : DEFAULT_STALL_MS;
	view->connections_max = config->connections_max ? config->connections_max : DEFAULT_CONNECTIONS;
	return view;
}

const struct view_subsys *
view_subsys(const struct view *view, const char *nqn)
{
	for (uint32_t i = 0; i < view->subsys_count; i++)
		if (strncmp(view->subsys[i].info.nqn, nqn, NVME_NQN_FIELD) == 0)
			return &view->subsys[i];
	return NULL;
}

bool
view_allows(const struct view_subsys *subsys, const char hostnqn[NVME_NQN_FIELD])
{
	if (!subsys->hosts_listed)
		return true;
	for (uint32_t i = 0; i < subsys->host_count; i++)
		if (strncmp(subsys->hosts[i], hostnqn, NVME_NQN_FIELD) == 0)
			return true;
	return false;
}

bool
view_admits(const struct view_subsys *subsys, uint16_t portal, const char hostnqn[NVME_NQN_FIELD])
{
	return subsys->portals >> portal & 1 && view_allows(subsys, hostnqn);
}
