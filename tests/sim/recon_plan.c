/*
 * recon_plan.c - what the target is to be, and what hosts may see of it.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "recon.h"

static const uint32_t nsids[RECON_NS] = { 1, 2, 5, 9 };
static const uint32_t group_ids[RECON_GROUPS] = { 1, 7 };
static const uint8_t states[] = {
	NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED, NVME_ANA_NON_OPTIMIZED, NVME_ANA_INACCESSIBLE,
	NVME_ANA_PERSISTENT_LOSS, NVME_ANA_CHANGE,
};

uint32_t
recon_nsid(unsigned index)
{
	return nsids[index];
}

unsigned
recon_ns_index(uint32_t nsid)
{
	for (unsigned i = 0; i < RECON_NS; i++)
		if (nsids[i] == nsid)
			return i;
	return RECON_NS;
}

void
plan_empty(struct plan *plan)
{
	*plan = (struct plan){ .until_ns = UINT64_MAX, .listeners = 1 };
	for (unsigned i = 0; i < RECON_SUBSYS; i++) {
		memset(plan->subsys[i].state, NVME_ANA_OPTIMIZED, sizeof(plan->subsys[i].state));
		plan->subsys[i].listeners = (1 << RECON_LISTEN) - 1;
		plan->subsys[i].hosts = (1 << RECON_HOSTS) - 1;
		for (unsigned k = 0; k < RECON_NS; k++)
			plan->subsys[i].ns[k].volume = -1;
	}
}

bool
plan_uses(const struct plan *plan, int volume)
{
	for (unsigned i = 0; i < RECON_SUBSYS; i++)
		for (unsigned k = 0; k < RECON_NS; k++)
			if (plan->subsys[i].on && plan->subsys[i].ns[k].volume == volume)
				return true;
	return false;
}

/* ---- changes ---- */

static unsigned
below(struct recon *r, unsigned limit)
{
	return (unsigned)rng_below(&r->rng, limit);
}

/* One that is idle, or a new one, or one that may not be served yet; -1: there is none, or no memory for it. */
static int
volume_for(struct recon *r, const struct plan *plan)
{
	unsigned first = below(r, RECON_VOLUMES);
	char spec[64], why[256];

	for (unsigned i = 0; i < RECON_VOLUMES; i++) {
		unsigned at = (first + i) % RECON_VOLUMES;
		struct recon_volume *v = &r->volumes[at];

		if ((v->state == VOLUME_IDLE || (v->state == VOLUME_LEAVING && below(r, 2) == 0)) &&
		    !plan_uses(plan, (int)at))
			return (int)at;
		if (v->state != VOLUME_NONE)
			continue;
		if (below(r, 3) > 0)
			snprintf(spec, sizeof(spec), "mem:%uK",
			    (r->does & RECON_DOES_RESIZE ? RECON_FEW : RECON_BLOCKS) * 4);
		else
			snprintf(spec, sizeof(spec), "file:v%u.%u.img,size=%uK", at, v->life + 1, RECON_BLOCKS * 4);
		if (probe_open(&v->probe, r->reactor0, spec, why) != 0) {
			r->told = true;
			return -1;
		}
		v->life++;
		v->state = VOLUME_IDLE;
		memset(v->slots, 0, sizeof(v->slots));
		for (unsigned h = 0; h < RECON_HOSTS; h++)
			for (unsigned s = 0; s < RECON_SLOTS; s++)
				v->slots[h][s].count = 1;
		return (int)at;
	}
	return -1;
}

static uint32_t
some_blocks(struct recon *r)
{
	return below(r, 3) == 0 ? 0 : RECON_BLOCKS / 4 + below(r, RECON_BLOCKS * 3 / 4);
}

static void
ns_put(struct recon *r, struct plan *plan, struct plan_ns *ns)
{
	int volume = volume_for(r, plan);

	if (volume < 0)
		return;
	*ns = (struct plan_ns){ .volume = volume, .life = r->volumes[volume].life, .blocks = some_blocks(r),
		.group = r->does & RECON_DOES_GROUP ? below(r, RECON_GROUPS) : 0 };
}

static void
subsys_put(struct recon *r, struct plan *plan, struct plan_subsys *subsys)
{
	subsys->on = true;
	for (unsigned i = 0; i < RECON_NS; i++)
		if (subsys->ns[i].volume < 0 && below(r, 3) > 0)
			ns_put(r, plan, &subsys->ns[i]);
}

static void
mutate_ns(struct recon *r, struct plan *plan, struct plan_subsys *subsys)
{
	struct plan_ns *ns = &subsys->ns[below(r, RECON_NS)];
	struct plan_subsys *other = &plan->subsys[below(r, RECON_SUBSYS)];
	struct plan_ns *swap = &other->ns[below(r, RECON_NS)], was = *ns;

	if (ns->volume < 0) {
		if (r->does & RECON_DOES_NS)
			ns_put(r, plan, ns);
		return;
	}
	switch (below(r, 6)) {
	case 0:
		if (r->does & RECON_DOES_NS)
			ns->volume = -1;
		return;
	case 1:
		if (r->does & RECON_DOES_RESIZE)
			ns->blocks = some_blocks(r);
		return;
	case 2:
		if (r->does & RECON_DOES_REPLACE)
			ns_put(r, plan, ns);
		return;
	case 3:
		if (r->does & RECON_DOES_PROTECT)
			ns->protect = !ns->protect;
		return;
	case 4:
		if (r->does & RECON_DOES_GROUP)
			ns->group = below(r, RECON_GROUPS);
		return;
	default:
		if (!(r->does & RECON_DOES_REPLACE) || !other->on)
			return;
		*ns = *swap;
		*swap = was;
		return;
	}
}

static void
mutate_once(struct recon *r, struct plan *plan)
{
	struct plan_subsys *subsys = &plan->subsys[below(r, RECON_SUBSYS)];

	switch (below(r, 10)) {
	case 0:
		if (r->does & RECON_DOES_SUBSYS && subsys->on)
			subsys->on = below(r, 2) == 0;
		break;
	case 1:
		if (r->does & RECON_DOES_HOSTS) {
			subsys->listed = below(r, 4) > 0;
			subsys->hosts ^= 1u << below(r, RECON_HOSTS);
		}
		break;
	case 2:
		if (r->does & RECON_DOES_LISTEN)
			plan->listeners ^= 2u << below(r, RECON_LISTEN - 1);
		break;
	case 3:
		if (r->does & RECON_DOES_LISTEN)
			subsys->listeners ^= 1u << below(r, RECON_LISTEN);
		break;
	case 4:
	case 5:
		if (r->does & RECON_DOES_ANA)
			subsys->state[below(r, RECON_GROUPS)][below(r, RECON_LISTEN)] =
			    states[below(r, sizeof(states))];
		break;
	default:
		if (subsys->on)
			mutate_ns(r, plan, subsys);
		else
			subsys_put(r, plan, subsys);
		break;
	}
	if (r->does & RECON_DOES_STATIC && below(r, 6) == 0)
		subsys->statics = below(r, 3) == 0 ? 0 : RECON_HOSTS + below(r, 4);
}

/* A subsystem that is off holds nothing. */
static void
tidy(struct plan *plan)
{
	for (unsigned i = 0; i < RECON_SUBSYS; i++)
		for (unsigned k = 0; k < RECON_NS; k++)
			if (!plan->subsys[i].on)
				plan->subsys[i].ns[k] = (struct plan_ns){ .volume = -1 };
}

void
plan_mutate(struct recon *r, struct plan *plan)
{
	for (unsigned count = 1 + below(r, 4); count > 0; count--) {
		mutate_once(r, plan);
		tidy(plan);
	}
}

/* ---- as a config ---- */

static const char *const subsys_names[RECON_SUBSYS] = {
	"nqn.2026-11.local.weir:recon0", "nqn.2026-11.local.weir:recon1", "nqn.2026-11.local.weir:recon2",
};
static const char *const host_names[RECON_HOSTS] = {
	"nqn.2026-11.local.weir:host0", "nqn.2026-11.local.weir:host1", "nqn.2026-11.local.weir:host2",
	"nqn.2026-11.local.weir:host3",
};

static void
subsys_config(const struct recon *r, const struct plan *plan, unsigned index, struct recon_config *out)
{
	const struct plan_subsys *from = &plan->subsys[index];
	struct target_subsys *to = &out->subsys[out->config.subsys_count++];
	unsigned line = 0;

	*to = (struct target_subsys){
		.nqn = subsys_names[index], .identity = { (uint8_t)(index + 1) }, .hosts_listed = from->listed,
		.hosts = out->hosts[index], .ana = out->ana[index], .ana_count = RECON_GROUPS, .ns = out->ns[index],
		.static_controllers = from->statics > 0, .controllers_max = from->statics,
	};
	for (unsigned i = 0; i < RECON_HOSTS; i++)
		if (from->hosts >> i & 1)
			out->hosts[index][to->host_count++] = host_names[i];
	for (unsigned g = 0; g < RECON_GROUPS; g++)
		out->ana[index][g] = (struct target_ana){ .id = group_ids[g] };
	for (unsigned i = 0; i < RECON_LISTEN; i++) {
		if (!(plan->listeners >> i & 1))
			continue;
		if (from->listeners >> i & 1)
			to->listeners |= 1u << line;
		for (unsigned g = 0; g < RECON_GROUPS; g++)
			out->ana[index][g].state[line] = from->state[g][i];
		line++;
	}
	for (unsigned i = 0; i < RECON_NS; i++) {
		const struct plan_ns *ns = &from->ns[i];

		if (ns->volume >= 0)
			out->ns[index][to->ns_count++] = (struct target_ns){
				.nsid = nsids[i], .volume = (struct blk *)&r->volumes[ns->volume].probe.blk,
				.blocks = ns->blocks,
				.id = { (uint8_t)(ns->volume + 1), (uint8_t)ns->life, (uint8_t)(ns->life >> 8) },
				.ana_group = group_ids[ns->group],
				.protection = ns->protect ? NVME_PROTECT_WRITES : NVME_PROTECT_NONE,
			};
	}
}

void
plan_config(const struct recon *r, const struct plan *plan, struct recon_config *out)
{
	memset(out, 0, sizeof(*out));
	out->config = (struct target_config){ .listen = out->listen, .subsys = out->subsys, .stall_timeout_ms = 500 };
	for (unsigned i = 0; i < RECON_LISTEN; i++)
		if (plan->listeners >> i & 1)
			out->listen[out->config.listen_count++] =
			    (struct target_listen){ .host = "10.0.0.1", .port = (uint16_t)(RECON_PORT + i) };
	for (unsigned i = 0; i < RECON_SUBSYS; i++)
		if (plan->subsys[i].on)
			subsys_config(r, plan, i, out);
}

/* A volume that is to be served whole, or larger than it is, grows first, whatever is done with it meanwhile. */
void
plan_grow(struct recon *r, const struct plan *plan)
{
	for (unsigned i = 0; i < RECON_SUBSYS * RECON_NS; i++) {
		const struct plan_ns *ns = &plan->subsys[i / RECON_NS].ns[i % RECON_NS];
		uint64_t blocks = ns->blocks > 0 ? ns->blocks : RECON_BLOCKS;
		struct probe *probe = ns->volume >= 0 ? &r->volumes[ns->volume].probe : NULL;
		int rc;

		if (probe == NULL || probe->blk.blocks >= blocks)
			continue;
		rc = probe->inner->ops->grow(probe->inner, r->reactor0, blocks);
		assert(rc == 0 && probe->inner->blocks == blocks);
		probe->blk.blocks = blocks;
		r->counts.grown += probe->channels > 0;
	}
}

/* ---- what may come of a command ---- */

bool
plan_admits(const struct plan *plan, unsigned subsys, unsigned host, unsigned listener)
{
	const struct plan_subsys *s = &plan->subsys[subsys];

	return s->on && plan->listeners >> listener & 1 && s->listeners >> listener & 1 &&
	    (!s->listed || s->hosts >> host & 1);
}

static void
verdict_add(struct verdict *verdict, uint16_t status)
{
	for (unsigned i = 0; i < verdict->status_count; i++)
		if (verdict->statuses[i] == status)
			return;
	assert(verdict->status_count < 8);
	verdict->statuses[verdict->status_count++] = status;
}

static void
verdict_volume(struct verdict *verdict, int volume)
{
	for (unsigned i = 0; i < verdict->volume_count; i++)
		if (verdict->volumes[i] == volume)
			return;
	if (verdict->volume_count < 8)
		verdict->volumes[verdict->volume_count++] = volume;
}

static bool
beyond(uint64_t size, uint64_t lba, uint32_t blocks)
{
	return lba + blocks > size;
}

static void
judge_by(const struct recon *r, const struct plan *plan, const struct recon_ask *ask, struct verdict *verdict)
{
	static const uint16_t refusals[16] = {
		[NVME_ANA_INACCESSIBLE] = NVME_SC_ANA_INACCESSIBLE,
		[NVME_ANA_PERSISTENT_LOSS] = NVME_SC_ANA_PERSISTENT_LOSS, [NVME_ANA_CHANGE] = NVME_SC_ANA_TRANSITION,
	};
	const struct plan_subsys *subsys = &plan->subsys[ask->subsys];
	unsigned index = recon_ns_index(ask->nsid);
	const struct plan_ns *ns = index < RECON_NS ? &subsys->ns[index] : NULL;
	unsigned before = verdict->status_count;
	bool fine = true;
	uint64_t size;
	uint16_t refusal;

	(void)before;
	if (!plan_admits(plan, ask->subsys, ask->host, ask->listener))
		return;
	if (ns == NULL || ns->volume < 0) {
		verdict_add(verdict, NVME_SC_INVALID_NS);
		return;
	}
	size = ns->blocks > 0 ? ns->blocks : RECON_BLOCKS;
	refusal = refusals[subsys->state[ns->group][ask->listener]];
	if (refusal != 0)
		verdict_add(verdict, refusal);
	if (ask->changes && ns->protect)
		verdict_add(verdict, NVME_SC_WRITE_PROTECTED);
	if (!ask->whole && (beyond(size, ask->lba, ask->blocks) || beyond(size, ask->from_lba, ask->blocks)))
		verdict_add(verdict, NVME_SC_LBA_RANGE);
	fine = refusal == 0 && !(ask->changes && ns->protect) &&
	    (ask->whole || !(beyond(size, ask->lba, ask->blocks) || beyond(size, ask->from_lba, ask->blocks)));
	if (!fine)
		return;
	verdict->ok = true;
	if (r->volumes[ns->volume].life == ns->life)
		verdict_volume(verdict, ns->volume);
	else
		verdict->closed = true;
}

void
recon_judge(const struct recon *r, const struct recon_ask *ask, struct verdict *verdict)
{
	unsigned held = 0, index = recon_ns_index(ask->nsid);
	int last = -1;

	memset(verdict, 0, sizeof(*verdict));
	for (unsigned i = 0; i < r->plan_count; i++) {
		const struct plan *plan = &r->plans[i];
		int volume = index < RECON_NS ? plan->subsys[ask->subsys].ns[index].volume : -1;

		if (plan->until_ns < ask->since_ns)
			continue;
		judge_by(r, plan, ask, verdict);
		/* One that waited finds another volume under its number. */
		if (held++ > 0 && volume != last)
			verdict_add(verdict, NVME_SC_INVALID_NS);
		last = volume;
	}
}

bool
recon_allows(const struct verdict *verdict, struct nvme_status status)
{
	if (nvme_ok(status))
		return verdict->ok;
	for (unsigned i = 0; i < verdict->status_count; i++)
		if (verdict->statuses[i] == nvme_sc(status))
			return true;
	return false;
}

/* Whether some plan since then admits the host, or, with `always`, each of them. */
bool
recon_admitted(const struct recon *r, unsigned subsys, unsigned host, unsigned listener, uint64_t since_ns,
    bool always)
{
	for (unsigned i = 0; i < r->plan_count; i++)
		if (r->plans[i].until_ns >= since_ns && plan_admits(&r->plans[i], subsys, host, listener) != always)
			return !always;
	return always;
}
