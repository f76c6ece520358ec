#include "made/made.h"

#include <assert.h>
#include <string.h>

/* ---- states ---- */

static bool
copy_ns(struct arena *arena, const struct made_ns *like, struct made_ns *ns)
{
	*ns = *like;
	ns->fresh = false;
	ns->nqn = arena_strdup(arena, like->nqn);
	ns->hosts = arena_alloc(arena, (like->host_count + 1) * sizeof(*ns->hosts));
	ns->others = arena_alloc(arena, (like->other_count + 1) * sizeof(*ns->others));
	if (ns->nqn == NULL || ns->hosts == NULL || ns->others == NULL)
		return false;
	for (uint32_t i = 0; i < like->host_count; i++) {
		ns->hosts[i] = arena_strdup(arena, like->hosts[i]);
		if (ns->hosts[i] == NULL)
			return false;
	}
	for (uint32_t i = 0; i < like->other_count; i++)
		ns->others[i] = like->others[i];
	return true;
}

struct made *
made_copy(struct arena *arena, const struct made *like, uint32_t more)
{
	struct made *made = arena_alloc(arena, sizeof(*made));
	uint32_t count = like != NULL ? like->count : 0;

	if (made == NULL)
		return NULL;
	made->room = count + more;
	made->ns = arena_alloc(arena, (made->room + 1) * sizeof(*made->ns));
	if (made->ns == NULL)
		return NULL;
	for (; made->count < count; made->count++)
		if (!copy_ns(arena, &like->ns[made->count], &made->ns[made->count]))
			return NULL;
	if (like != NULL)
		made->id = like->id;
	return made;
}

static bool
same_ns(const struct made_ns *a, const struct made_ns *b)
{
	bool same = a->nsid == b->nsid && a->own == b->own && a->kept == b->kept && a->fresh == b->fresh &&
	    memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 && a->block_size == b->block_size &&
	    a->blocks == b->blocks &&
	    a->ana_group == b->ana_group && a->shared == b->shared && a->protection == b->protection &&
	    a->host_count == b->host_count && a->other_count == b->other_count && strcmp(a->nqn, b->nqn) == 0;

	for (uint32_t i = 0; same && i < a->host_count; i++)
		same = strcmp(a->hosts[i], b->hosts[i]) == 0;
	for (uint32_t i = 0; same && i < a->other_count; i++)
		same = a->others[i] == b->others[i];
	return same;
}

bool
made_same(const struct made *a, const struct made *b)
{
	bool same = a->id == b->id && a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = same_ns(&a->ns[i], &b->ns[i]);
	return same;
}

struct made_ns *
made_own(const struct made *made, const char *nqn, uint32_t nsid)
{
	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].own && made->ns[i].nsid == nsid && strcmp(made->ns[i].nqn, nqn) == 0)
			return &made->ns[i];
	return NULL;
}

struct made_ns *
made_of_operator(const struct made *made, const char *nqn, uint32_t nsid, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < made->count; i++)
		if (!made->ns[i].own && made->ns[i].nsid == nsid && memcmp(made->ns[i].uuid, uuid, 16) == 0 &&
		    strcmp(made->ns[i].nqn, nqn) == 0)
			return &made->ns[i];
	return NULL;
}

uint64_t
made_bytes(const struct made *made, const char *nqn)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].own && strcmp(made->ns[i].nqn, nqn) == 0)
			bytes += made->ns[i].blocks * made->ns[i].block_size;
	return bytes;
}

uint32_t
made_count(const struct made *made, const char *nqn)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < made->count; i++)
		count += made->ns[i].own && strcmp(made->ns[i].nqn, nqn) == 0;
	return count;
}

struct made_ns *
made_add(struct arena *arena, struct made *made, const struct made_ns *like)
{
	struct made_ns *ns = &made->ns[made->count];

	assert(made->count < made->room);
	if (made->count == MADE_NS_MAX || !copy_ns(arena, like, ns))
		return NULL;
	ns->fresh = like->fresh;
	made->count++;
	return ns;
}

void
made_remove(struct made *made, struct made_ns *ns)
{
	made->count--;
	memmove(ns, ns + 1, (size_t)(&made->ns[made->count] - ns) * sizeof(*ns));
}

void
made_forget(struct made *made, const char *nqn, uint32_t nsid)
{
	struct made_ns *oldest = NULL;
	uint32_t count = 0;

	for (uint32_t i = made->count; i-- > 0;) {
		struct made_ns *ns = &made->ns[i];

		if (ns->own || ns->nsid != nsid || strcmp(ns->nqn, nqn) != 0)
			continue;
		oldest = ns;
		count++;
	}
	if (count >= MADE_VOLUMES_MAX)
		made_remove(made, oldest);
}

void
made_make_room(struct made *made, uint32_t more, bool (*used)(void *arg, const struct made_ns *ns), void *arg)
{
	uint32_t over = made->count + more > MADE_NS_MAX ? made->count + more - MADE_NS_MAX : 0, stay = 0;

	for (uint32_t i = 0; i < made->count; i++) {
		const struct made_ns *ns = &made->ns[i];

		if (over > 0 && !ns->own && !used(arg, ns))
			over--;
		else
			made->ns[stay++] = *ns;
	}
	made->count = stay;
}

/* ---- where it is active ---- */

/* Its place among the hosts, or where it would be. */
static uint32_t
host_place(const struct made_ns *ns, const char *hostnqn)
{
	uint32_t i = 0;

	while (i < ns->host_count && strcmp(ns->hosts[i], hostnqn) < 0)
		i++;
	return i;
}

static bool
has_host(const struct made_ns *ns, const char *hostnqn)
{
	uint32_t i = host_place(ns, hostnqn);

	return i < ns->host_count && strcmp(ns->hosts[i], hostnqn) == 0;
}

static uint32_t
other_place(const struct made_ns *ns, uint64_t association)
{
	uint32_t i = 0;

	while (i < ns->other_count && ns->others[i] < association)
		i++;
	return i;
}

static bool
has_other(const struct made_ns *ns, uint64_t association)
{
	uint32_t i = other_place(ns, association);

	return i < ns->other_count && ns->others[i] == association;
}

bool
made_active(const struct made_ns *ns, const char *hostnqn, uint64_t association)
{
	return !ns->own || has_host(ns, hostnqn) != has_other(ns, association);
}

/* In, if it was not there; otherwise out. */
static void
change_sides(struct made_ns *ns, uint64_t association)
{
	uint32_t i = other_place(ns, association);

	if (has_other(ns, association)) {
		ns->other_count--;
		memmove(&ns->others[i], &ns->others[i + 1], (ns->other_count - i) * sizeof(ns->others[0]));
	} else {
		memmove(&ns->others[i + 1], &ns->others[i], (ns->other_count - i) * sizeof(ns->others[0]));
		ns->others[i] = association;
		ns->other_count++;
	}
}

static bool
host_put(struct arena *arena, struct made_ns *ns, const char *hostnqn)
{
	uint32_t i = host_place(ns, hostnqn);
	const char *copy = arena_strdup(arena, hostnqn);

	if (copy == NULL)
		return false;
	memmove(&ns->hosts[i + 1], &ns->hosts[i], (ns->host_count - i) * sizeof(ns->hosts[0]));
	ns->hosts[i] = copy;
	ns->host_count++;
	return true;
}

static void
host_take(struct made_ns *ns, const char *hostnqn)
{
	uint32_t i = host_place(ns, hostnqn);

	ns->host_count--;
	memmove(&ns->hosts[i], &ns->hosts[i + 1], (ns->host_count - i) * sizeof(ns->hosts[0]));
}

/* Those that are gone can match nobody; and room for whoever may change sides. */
static bool
make_room(struct arena *arena, struct made_ns *ns, uint32_t more_hosts, const struct made_controller *present,
    uint32_t present_count)
{
	uint64_t *others = arena_alloc(arena, (present_count + 1) * sizeof(*others));
	const char **hosts = arena_alloc(arena, (ns->host_count + more_hosts) * sizeof(*hosts));
	uint32_t count = 0;

	if (others == NULL || hosts == NULL)
		return false;
	for (uint32_t i = 0; i < ns->other_count; i++)
		for (uint32_t k = 0; k < present_count; k++)
			if (present[k].association == ns->others[i])
				others[count++] = ns->others[i];
	memcpy(hosts, ns->hosts, ns->host_count * sizeof(*hosts));
	ns->others = others;
	ns->other_count = count;
	ns->hosts = hosts;
	return true;
}

static const struct made_controller *
find(uint16_t cntlid, const struct made_controller *present, uint32_t present_count)
{
	for (uint32_t i = 0; i < present_count; i++)
		if (present[i].cntlid == cntlid && !present[i].leaving)
			return &present[i];
	return NULL;
}

/* One controller; false: no memory. */
static bool
attach_one(struct arena *arena, struct made_ns *ns, bool attach, const struct made_controller *to,
    const struct made_controller *present, uint32_t present_count)
{
	if (!ns->shared || has_host(ns, to->hostnqn) == attach) {
		change_sides(ns, to->association);
		return true;
	}
	if (attach && !host_put(arena, ns, to->hostnqn))
		return false;
	if (!attach)
		host_take(ns, to->hostnqn);
	for (uint32_t i = 0; i < present_count; i++)
		if (present[i].association != to->association && strcmp(present[i].hostnqn, to->hostnqn) == 0)
			change_sides(ns, present[i].association);
	return true;
}

static enum nvme_sc
attach_wrong(const struct made_ns *ns, bool attach, const uint16_t *cntlids, uint32_t cntlid_count,
    const struct made_controller *present, uint32_t present_count)
{
	for (uint32_t i = 0; i < cntlid_count; i++) {
		const struct made_controller *c = find(cntlids[i], present, present_count);

		if (c == NULL)
			return NVME_SC_CTRL_LIST;
		if (made_active(ns, c->hostnqn, c->association) == attach)
			return attach ? NVME_SC_NS_ATTACHED : NVME_SC_NS_NOT_ATTACHED;
	}
	if (attach && !ns->shared && cntlid_count + ns->other_count > 1)
		return NVME_SC_NS_PRIVATE;
	return NVME_SC_SUCCESS;
}

enum nvme_sc
made_attach(struct arena *arena, struct made *made, struct made_ns *ns, bool attach, const uint16_t *cntlids,
    uint32_t cntlid_count, const struct made_controller *present, uint32_t present_count)
{
	enum nvme_sc wrong;
	uint32_t all = 0;

	assert(ns->own);
	if (!make_room(arena, ns, cntlid_count, present, present_count))
		return NVME_SC_INTERNAL;
	wrong = attach_wrong(ns, attach, cntlids, cntlid_count, present, present_count);
	if (wrong != NVME_SC_SUCCESS)
		return wrong;
	for (uint32_t i = 0; i < cntlid_count; i++)
		if (!attach_one(arena, ns, attach, find(cntlids[i], present, present_count), present, present_count))
			return NVME_SC_INTERNAL;
	for (uint32_t i = 0; i < made->count; i++)
		all += made->ns[i].host_count;
	return ns->host_count > MADE_HOSTS_MAX || all > MADE_HOSTS_ALL_MAX ? NVME_SC_ATTACHMENTS : NVME_SC_SUCCESS;
}
