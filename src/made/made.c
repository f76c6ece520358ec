#include "made/made.h"

#include <assert.h>
#include <string.h>

/* ---- by subsystem and NSID ---- */

/*
 * A configuration asks for each of its namespaces, and there may be as many here: so they are chained by a hash.  A
 * link is a place in `ns` and one; 0: none.
 */
static uint16_t *
bucket(const struct made *made, const char *nqn, uint32_t nsid)
{
	uint32_t hash = nsid;

	while (*nqn != '\0')
		hash = hash * 31 + (uint8_t)*nqn++;
	return &made->buckets[hash % MADE_BUCKETS];
}

static void
chain(struct made *made, uint32_t at)
{
	uint16_t *first = bucket(made, made->ns[at].nqn, made->ns[at].nsid);

	made->links[at] = *first;
	*first = (uint16_t)(at + 1);
}

static void
chain_all(struct made *made)
{
	memset(made->buckets, 0, MADE_BUCKETS * sizeof(*made->buckets));
	for (uint32_t i = 0; i < made->count; i++)
		chain(made, i);
}

/* Out of its chain; and what lies behind it moves up by one. */
static void
unchain(struct made *made, uint32_t at)
{
	uint16_t *link = bucket(made, made->ns[at].nqn, made->ns[at].nsid);

	while (*link != at + 1)
		link = &made->links[*link - 1];
	*link = made->links[at];
	memmove(&made->links[at], &made->links[at + 1], (made->count - at - 1) * sizeof(*made->links));
	for (uint32_t i = 0; i < MADE_BUCKETS; i++)
		made->buckets[i] = (uint16_t)(made->buckets[i] - (made->buckets[i] > at + 1));
	for (uint32_t i = 0; i + 1 < made->count; i++)
		made->links[i] = (uint16_t)(made->links[i] - (made->links[i] > at + 1));
}

/* The first, or behind `ns` the next one, of this subsystem and NSID; NULL: none. */
static struct made_ns *
next_of(const struct made *made, const struct made_ns *ns, const char *nqn, uint32_t nsid)
{
	uint16_t link = ns == NULL ? *bucket(made, nqn, nsid) : made->links[ns - made->ns];

	while (link != 0 && (made->ns[link - 1].nsid != nsid || strcmp(made->ns[link - 1].nqn, nqn) != 0))
		link = made->links[link - 1];
	return link != 0 ? &made->ns[link - 1] : NULL;
}

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
	made->links = arena_alloc(arena, (made->room + 1) * sizeof(*made->links));
	made->buckets = arena_alloc(arena, MADE_BUCKETS * sizeof(*made->buckets));
	if (made->ns == NULL || made->links == NULL || made->buckets == NULL)
		return NULL;
	for (; made->count < count; made->count++)
		if (!copy_ns(arena, &like->ns[made->count], &made->ns[made->count]))
			return NULL;
	chain_all(made);
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
	struct made_ns *ns = next_of(made, NULL, nqn, nsid);

	while (ns != NULL && !ns->own)
		ns = next_of(made, ns, nqn, nsid);
	return ns;
}

struct made_ns *
made_of_operator(const struct made *made, const char *nqn, uint32_t nsid, const uint8_t uuid[16])
{
	struct made_ns *ns = next_of(made, NULL, nqn, nsid);

	while (ns != NULL && (ns->own || memcmp(ns->uuid, uuid, sizeof(ns->uuid)) != 0))
		ns = next_of(made, ns, nqn, nsid);
	return ns;
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
	chain(made, made->count++);
	return ns;
}

void
made_remove(struct made *made, struct made_ns *ns)
{
	unchain(made, (uint32_t)(ns - made->ns));
	made->count--;
	memmove(ns, ns + 1, (size_t)(&made->ns[made->count] - ns) * sizeof(*ns));
}

void
made_forget(struct made *made, const char *nqn, uint32_t nsid)
{
	struct made_ns *oldest = NULL;
	uint32_t count = 0;

	for (struct made_ns *ns = NULL; (ns = next_of(made, ns, nqn, nsid)) != NULL;) {
		if (ns->own)
			continue;
		if (oldest == NULL || ns < oldest)
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
	if (stay == made->count)
		return;
	made->count = stay;
	chain_all(made);
}
