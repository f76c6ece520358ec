/*
 * hosted_wish.c - what a wish makes of the state that is: in `next`, which is not used where it is refused.
 */
#include <string.h>

#include "base/bytes.h"
#include "hosted.h"
#include "serving.h"
#include "sys/clock.h"

static uint32_t
free_nsid(const struct made *made, const struct conf_subsys *subsys)
{
	bool configured[CONF_NS_MAX + 1] = { false };

	for (uint32_t i = 0; i < subsys->ns_count; i++)
		configured[subsys->ns[i].nsid] = true;
	for (uint32_t nsid = 1; nsid <= CONF_NS_MAX; nsid++)
		if (!configured[nsid] && made_own(made, subsys->nqn, nsid) == NULL)
			return nsid;
	return 0;
}

/* There are volumes for as many as all configured pools may have: which pool is full is all there is to ask. */
static bool
pool_full(const struct made *made, const struct conf_subsys *subsys)
{
	return made_count(made, subsys->nqn) >= subsys->pool_count;
}

/* Random; version 4 (RFC 9562). */
static void
new_uuid(uint8_t uuid[16])
{
	put_le64(uuid, clock_random());
	put_le64(uuid + 8, clock_random());
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

/* One whose file was made has its UUID; but it lies where it was to be then.  One that is to have a file asks nothing
 * more of a folder that does not answer. */
static enum nvme_sc
identify(const struct hosted *hosted, const struct conf_subsys *subsys, uint8_t uuid[16])
{
	const struct lane_file *file = hosted->lane->file;

	if (file != NULL ? strcmp(file->pool, subsys->pool) != 0 : pool_jobs_hang(&hosted->jobs, subsys->pool))
		return NVME_SC_INTERRUPTED;
	if (file != NULL)
		memcpy(uuid, file->uuid, sizeof(file->uuid));
	else
		new_uuid(uuid);
	return NVME_SC_SUCCESS;
}

/* Whether a protection is that of a namespace that is served: else it is known in case its volume is again. */
static bool
is_served(void *arg, const struct made_ns *ns)
{
	const struct hosted *hosted = arg;
	const struct conf_subsys *subsys = hosted_subsys(hosted->serving->now->conf, ns->nqn);
	const struct conf_ns *conf_ns = subsys != NULL ? hosted_conf_ns(subsys, ns->nsid) : NULL;
	struct identity identity;

	return conf_ns != NULL && serving_identity(hosted->serving, subsys, conf_ns, &identity) &&
	    (memcmp(ns->uuid, identity.uuid, 16) == 0 || memcmp(ns->uuid, identity.before, 16) == 0);
}

static enum nvme_sc
create(struct hosted *hosted, const struct target_wish *wish, const struct conf_subsys *subsys)
{
	const struct ns_info *like = &wish->create;
	struct made *made = hosted->next->made;
	struct made_ns ns = {
		.nqn = subsys->nqn, .nsid = free_nsid(made, subsys), .own = true,
		.kept = hosted_folder(subsys->pool) != NULL,
		.fresh = true, .block_size = like->block_size, .blocks = like->blocks, .shared = like->shared,
		.ana_group = like->ana_group != 0 ? like->ana_group : subsys->ana[0].id,
	};
	uint64_t used = made_bytes(made, subsys->nqn);
	enum nvme_sc sc;

	if (!hosted_group_there(subsys, ns.ana_group))
		return NVME_SC_ANA_GROUP;
	if (ns.nsid == 0 || pool_full(made, subsys))
		return NVME_SC_NSID_UNAVAILABLE;
	if (used > subsys->pool_size || like->blocks > (subsys->pool_size - used) / like->block_size)
		return NVME_SC_NS_CAPACITY;
	made_make_room(made, 1, is_served, hosted);
	if (made->count == MADE_NS_MAX)
		return NVME_SC_NSID_UNAVAILABLE;
	sc = identify(hosted, subsys, ns.uuid);
	if (sc != NVME_SC_SUCCESS)
		return sc;
	hosted->created = ns.nsid;
	return made_add(&hosted->next->arena, made, &ns) != NULL ? NVME_SC_SUCCESS : NVME_SC_INTERNAL;
}

static enum nvme_sc
delete(struct hosted *hosted, const struct target_wish *wish, const struct conf_subsys *subsys)
{
	struct made *made = hosted->next->made;
	struct made_ns *ns = made_own(made, subsys->nqn, wish->nsid);

	if (wish->nsid == UINT32_MAX ? subsys->ns_count > 0 : hosted_conf_ns(subsys, wish->nsid) != NULL)
		return NVME_SC_DENIED;
	if (wish->nsid != UINT32_MAX && ns == NULL)
		return NVME_SC_INVALID_NS;
	for (uint32_t i = made->count; i-- > 0;) {
		ns = &made->ns[i];
		if (!ns->own || strcmp(ns->nqn, subsys->nqn) != 0 ||
		    (wish->nsid != UINT32_MAX && ns->nsid != wish->nsid))
			continue;
		if (!target_may_write(hosted->serving->target, wish, ns->nsid))
			return NVME_SC_RESV_CONFLICT;
		if (ns->protection != NVME_PROTECT_NONE)
			return NVME_SC_WRITE_PROTECTED;
		made_remove(made, ns);
	}
	return NVME_SC_SUCCESS;
}

/* The subsystem's controllers, into an array; counted first. */
struct found {
	struct made_controller *list;
	uint32_t count;
	uint64_t newest; /* the last one that the wish may mean */
};

static void
note(void *arg, const struct target_controller *controller)
{
	struct found *found = arg;

	if (found->list != NULL)
		found->list[found->count] = (struct made_controller){ controller->cntlid, controller->association,
		    controller->hostnqn, controller->leaving || controller->association > found->newest };
	found->count++;
}

static enum nvme_sc
attach(struct hosted *hosted, const struct target_wish *wish, const struct conf_subsys *subsys)
{
	const struct target *target = hosted->serving->target;
	struct made *made = hosted->next->made;
	struct made_ns *ns = made_own(made, subsys->nqn, wish->nsid);
	struct found found = { .newest = wish->newest };

	if (ns == NULL && hosted_conf_ns(subsys, wish->nsid) != NULL)
		return wish->kind == WISH_ATTACH ? NVME_SC_NS_ATTACHED : NVME_SC_DENIED;
	if (ns == NULL)
		return NVME_SC_INVALID_NS;
	if (!target_may_write(target, wish, wish->nsid))
		return NVME_SC_RESV_CONFLICT;
	target_each_controller(target, subsys->nqn, note, &found);
	found.list = arena_alloc(&hosted->next->arena, (found.count + 1) * sizeof(*found.list));
	if (found.list == NULL)
		return NVME_SC_INTERNAL;
	found.count = 0;
	target_each_controller(target, subsys->nqn, note, &found);
	return made_attach(&hosted->next->arena, made, ns, wish->kind == WISH_ATTACH, wish->cntlids, wish->cntlid_count,
	    found.list, found.count);
}

/* One that is protected until a power cycle stays so; what the configuration protects, too. */
static enum nvme_sc
protect_one(struct made_ns *ns, bool by_operator, enum nvme_protection protection)
{
	if (ns->protection >= NVME_PROTECT_UNTIL_POWER_CYCLE && ns->protection != protection)
		return NVME_SC_NOT_CHANGEABLE;
	if (by_operator && protection == NVME_PROTECT_NONE)
		return NVME_SC_NOT_CHANGEABLE;
	ns->protection = (uint8_t)protection;
	return NVME_SC_SUCCESS;
}

static enum nvme_sc
protect_operators(struct hosted *hosted, const struct conf_subsys *subsys, const struct conf_ns *conf_ns,
    enum nvme_protection protection)
{
	struct made_ns like = { .nqn = subsys->nqn, .nsid = conf_ns->nsid }, *ns;
	struct made *made = hosted->next->made;
	struct identity identity;
	enum nvme_sc sc;

	if (!serving_identity(hosted->serving, subsys, conf_ns, &identity))
		return NVME_SC_INVALID_NS;
	memcpy(like.uuid, identity.uuid, sizeof(like.uuid));
	like.kept = identity.lasts;
	ns = identity_made(made, like.nqn, like.nsid, &identity);
	if (ns == NULL && protection == NVME_PROTECT_NONE) /* for which no other one is forgotten */
		return conf_ns->write_protected ? NVME_SC_NOT_CHANGEABLE : NVME_SC_SUCCESS;
	if (ns == NULL) {
		made_forget(made, like.nqn, like.nsid);
		ns = made_add(&hosted->next->arena, made, &like);
	}
	if (ns == NULL)
		return NVME_SC_INTERNAL;
	memcpy(ns->uuid, like.uuid, sizeof(ns->uuid));
	sc = protect_one(ns, conf_ns->write_protected, protection);
	if (ns->protection == NVME_PROTECT_NONE)
		made_remove(made, ns);
	return sc;
}

/* Of how many of the operator's namespaces a protection will be known that is not yet. */
static uint32_t
unknown(const struct hosted *hosted, const struct target_wish *wish, const struct conf_subsys *subsys)
{
	struct identity identity;
	uint32_t count = 0;

	for (uint32_t i = 0; i < subsys->ns_count && wish->protection != NVME_PROTECT_NONE; i++)
		if ((wish->nsid == UINT32_MAX || wish->nsid == subsys->ns[i].nsid) &&
		    serving_identity(hosted->serving, subsys, &subsys->ns[i], &identity) &&
		    identity_made(hosted->next->made, subsys->nqn, subsys->ns[i].nsid, &identity) == NULL)
			count++;
	return count;
}

static enum nvme_sc
protect(struct hosted *hosted, const struct target_wish *wish, const struct conf_subsys *subsys)
{
	enum nvme_sc sc = NVME_SC_SUCCESS;
	bool any = wish->nsid == UINT32_MAX;

	made_make_room(hosted->next->made, unknown(hosted, wish, subsys), is_served, hosted);
	for (uint32_t i = 0; i < subsys->ns_count && sc == NVME_SC_SUCCESS; i++) {
		if (wish->nsid != UINT32_MAX && wish->nsid != subsys->ns[i].nsid)
			continue;
		any = true;
		sc = protect_operators(hosted, subsys, &subsys->ns[i], wish->protection);
	}
	for (uint32_t i = 0; i < hosted->next->made->count && sc == NVME_SC_SUCCESS; i++) {
		struct made_ns *ns = &hosted->next->made->ns[i];

		if (!ns->own || strcmp(ns->nqn, subsys->nqn) != 0 ||
		    (wish->nsid != UINT32_MAX && ns->nsid != wish->nsid) ||
		    !made_active(ns, wish->asker.hostnqn, wish->asker.association))
			continue;
		any = true;
		sc = protect_one(ns, false, wish->protection);
	}
	return any ? sc : NVME_SC_INVALID_NS;
}

enum nvme_sc
hosted_change(struct hosted *hosted, const struct target_wish *wish)
{
	const struct conf_subsys *subsys = hosted_subsys(hosted->serving->now->conf, wish->nqn);

	if (wish->over || hosted->stopping)
		return NVME_SC_INTERRUPTED;
	if (subsys == NULL || (wish->kind != WISH_PROTECT && subsys->pool == NULL))
		return NVME_SC_INVALID_OPCODE; /* the configuration is another by now */
	if (wish->kind != WISH_CREATE && wish->nsid != UINT32_MAX &&
	    !target_still_named(hosted->serving->target, wish))
		return NVME_SC_INVALID_NS;
	switch (wish->kind) {
	case WISH_CREATE:
		return create(hosted, wish, subsys);
	case WISH_DELETE:
		return delete(hosted, wish, subsys);
	case WISH_ATTACH:
	case WISH_DETACH:
		return attach(hosted, wish, subsys);
	case WISH_PROTECT:
		return protect(hosted, wish, subsys);
	}
	return NVME_SC_INTERNAL;
}
