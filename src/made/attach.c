/*
 * attach.c - where namespaces that hosts have made are active.
 *
 * A namespace is active at the controllers of its hosts but for the others, and at the others of any other host.  A
 * command may name thousands of controllers, of thousands: so each is looked for once, and what changes sides is noted,
 * and written down at the end.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "made/made.h"

/* ---- as it is ---- */

/* Its place among the hosts, or where it would be. */
static uint32_t
host_place(const struct made_ns *ns, const char *hostnqn)
{
	uint32_t from = 0, to = ns->host_count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (strcmp(ns->hosts[middle], hostnqn) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool
has_host(const struct made_ns *ns, const char *hostnqn)
{
	uint32_t i = host_place(ns, hostnqn);

	return i < ns->host_count && strcmp(ns->hosts[i], hostnqn) == 0;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static bool
has_other(const struct made_ns *ns, uint64_t association)
{
	return ns->other_count > 0 &&
	    bsearch(&association, ns->others, ns->other_count, sizeof(*ns->others), by_number) != NULL;
}

bool
made_active(const struct made_ns *ns, const char *hostnqn, uint64_t association)
{
	return !ns->own || has_host(ns, hostnqn) != has_other(ns, association);
}

/* ---- as it is to be ---- */

/* A controller of the subsystem, in the order of its hosts. */
struct side {
	const struct made_controller *controller;
	bool host;  /* its host is one of the namespace's */
	bool other; /* and it is one of the others */
};

struct sides {
	struct side *list;
	uint32_t count;
	struct side **named; /* by the command, in its order */
};

static int
by_host(const void *a, const void *b)
{
	const struct side *one = a, *other = b;

	return strcmp(one->controller->hostnqn, other->controller->hostnqn);
}

static bool
of_one_host(const struct side *a, const struct side *b)
{
	return strcmp(a->controller->hostnqn, b->controller->hostnqn) == 0;
}

static int
by_cntlid(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static bool
take_sides(struct arena *arena, const struct made_ns *ns, const uint16_t *cntlids, uint32_t cntlid_count,
    const struct made_controller *present, uint32_t present_count, struct sides *s)
{
	s->list = arena_alloc(arena, (present_count + 1) * sizeof(*s->list));
	s->named = arena_alloc(arena, (cntlid_count + 1) * sizeof(struct side *));
	s->count = present_count;
	if (s->list == NULL || s->named == NULL)
		return false;
	for (uint32_t i = 0; i < present_count; i++)
		s->list[i] = (struct side){ .controller = &present[i], .other = has_other(ns, present[i].association) };
	qsort(s->list, s->count, sizeof(*s->list), by_host);
	memset(s->named, 0, cntlid_count * sizeof(struct side *));
	for (uint32_t i = 0; i < s->count; i++) {
		struct side *side = &s->list[i];
		const uint16_t *at = NULL;

		side->host = i > 0 && of_one_host(side, side - 1) ? side[-1].host :
		    has_host(ns, side->controller->hostnqn);
		if (!side->controller->unnamed && cntlid_count > 0)
			at = bsearch(&side->controller->cntlid, cntlids, cntlid_count, sizeof(*cntlids), by_cntlid);
		if (at != NULL)
			s->named[at - cntlids] = side;
	}
	return true;
}

static enum nvme_sc
attach_wrong(const struct made_ns *ns, bool attach, const struct sides *s, uint32_t named)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < named; i++) {
		if (s->named[i] == NULL)
			return NVME_SC_CTRL_LIST;
		if ((s->named[i]->host != s->named[i]->other) == attach)
			return attach ? NVME_SC_NS_ATTACHED : NVME_SC_NS_NOT_ATTACHED;
	}
	for (uint32_t i = 0; i < s->count; i++)
		others += s->list[i].other;
	if (attach && !ns->shared && named + others > 1)
		return NVME_SC_NS_PRIVATE;
	return NVME_SC_SUCCESS;
}

/* ---- the change ---- */

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

/* Its host is one of the namespace's now, or not any more: its other controllers stay as they were. */
static void
turn_host(const struct sides *s, struct side *named, bool attach)
{
	struct side *end = s->list + s->count, *first = named;

	while (first > s->list && of_one_host(first - 1, named))
		first--;
	for (struct side *side = first; side < end && of_one_host(side, named); side++) {
		side->host = attach;
		side->other = side != named && !side->other;
	}
}

/* One controller; false: no memory. */
static bool
attach_one(struct arena *arena, struct made_ns *ns, bool attach, const struct sides *s, struct side *named)
{
	const char *hostnqn = named->controller->hostnqn;

	if (!ns->shared || named->host == attach) {
		named->other = !named->other;
		return true;
	}
	if (attach && !host_put(arena, ns, hostnqn))
		return false;
	if (!attach)
		host_take(ns, hostnqn);
	turn_host(s, named, attach);
	return true;
}

/* Those that are gone can match nobody. */
static bool
write_others(struct arena *arena, struct made_ns *ns, const struct sides *s)
{
	ns->others = arena_alloc(arena, (s->count + 1) * sizeof(*ns->others));
	if (ns->others == NULL)
		return false;
	ns->other_count = 0;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->list[i].other)
			ns->others[ns->other_count++] = s->list[i].controller->association;
	qsort(ns->others, ns->other_count, sizeof(*ns->others), by_number);
	return true;
}

static bool
more_hosts(struct arena *arena, struct made_ns *ns, uint32_t more)
{
	const char **hosts = arena_alloc(arena, (ns->host_count + more + 1) * sizeof(*hosts));

	if (hosts == NULL)
		return false;
	memcpy(hosts, ns->hosts, ns->host_count * sizeof(*hosts));
	ns->hosts = hosts;
	return true;
}

enum nvme_sc
made_attach(struct arena *arena, struct made *made, struct made_ns *ns, bool attach, const uint16_t *cntlids,
    uint32_t cntlid_count, const struct made_controller *present, uint32_t present_count)
{
	enum nvme_sc wrong;
	struct sides s;
	uint32_t all = 0;

	assert(ns->own);
	if (!more_hosts(arena, ns, cntlid_count) ||
	    !take_sides(arena, ns, cntlids, cntlid_count, present, present_count, &s))
		return NVME_SC_INTERNAL;
	wrong = attach_wrong(ns, attach, &s, cntlid_count);
	if (wrong != NVME_SC_SUCCESS)
		return wrong;
	for (uint32_t i = 0; i < cntlid_count; i++)
		if (!attach_one(arena, ns, attach, &s, s.named[i]))
			return NVME_SC_INTERNAL;
	if (!write_others(arena, ns, &s))
		return NVME_SC_INTERNAL;
	for (uint32_t i = 0; i < made->count; i++)
		all += made->ns[i].host_count;
	return ns->host_count > MADE_HOSTS_MAX || all > MADE_HOSTS_ALL_MAX ? NVME_SC_ATTACHMENTS : NVME_SC_SUCCESS;
}
