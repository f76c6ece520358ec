#include "wisher.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "world/reactor.h"

enum { CAPACITY = 1 << 20 };

static void next(struct wisher *w);

/* ---- volumes ---- */

static struct wisher_volume *
volume_of(struct wisher *w, const uint8_t uuid[16])
{
	for (unsigned i = 0; i < WISHER_VOLUMES; i++)
		if (w->volumes[i].blk != NULL && memcmp(w->volumes[i].uuid, uuid, 16) == 0)
			return &w->volumes[i];
	return NULL;
}

static int
volume_open(struct wisher *w, const struct made_ns *ns)
{
	char why[256];

	for (unsigned i = 0; i < WISHER_VOLUMES; i++) {
		if (w->volumes[i].blk != NULL)
			continue;
		memcpy(w->volumes[i].uuid, ns->uuid, 16);
		w->volumes[i].leaving = false;
		return blk_open(w->reactor, ns->nsid % 2 == 0 ? "mem:2M" : "null:2M", ns->block_size,
		    &w->volumes[i].blk, why);
	}
	return -EAGAIN; /* too many are being given up */
}

static void
volume_close(struct wisher_volume *volume)
{
	volume->blk->ops->destroy(volume->blk);
	volume->blk = NULL;
}

static void
unused(struct target_applied *applied, struct blk *blk)
{
	struct wisher *w = container_of(applied, struct wisher, applied);

	for (unsigned i = 0; i < WISHER_VOLUMES; i++)
		if (w->volumes[i].blk == blk)
			volume_close(&w->volumes[i]);
}

/* ---- a wish ---- */

static struct made *
made_next(struct wisher *w)
{
	return w->made[!w->current];
}

static enum nvme_sc
create(struct wisher *w, const struct target_wish *wish)
{
	struct made *made = made_next(w);
	struct made_ns ns = {
		.nqn = wish->nqn, .nsid = 2, .own = true, .fresh = true, .block_size = wish->create.block_size,
		.blocks = wish->create.blocks, .shared = wish->create.shared, .ana_group = 1,
	};

	while (made_own(made, wish->nqn, ns.nsid) != NULL)
		ns.nsid++;
	if (made->count == WISHER_NS_MAX)
		return NVME_SC_NSID_UNAVAILABLE;
	put_le64(ns.uuid, ++w->uuids);
	w->nsid = ns.nsid;
	if (made_add(&w->arenas[!w->current], made, &ns) == NULL || volume_open(w, &ns) != 0)
		return NVME_SC_INTERNAL;
	return NVME_SC_SUCCESS;
}

struct found {
	struct made_controller list[1024];
	uint32_t count;
};

static void
note(void *arg, const struct target_controller *c)
{
	struct found *found = arg;

	assert(found->count < 1024);
	found->list[found->count++] = (struct made_controller){ c->cntlid, c->association, c->hostnqn, c->leaving };
}

static enum nvme_sc
change(struct wisher *w, const struct target_wish *wish)
{
	struct made *made = made_next(w);
	struct made_ns *ns = made_own(made, wish->nqn, wish->nsid);
	struct found found = { .count = 0 };

	switch (wish->kind) {
	case WISH_CREATE:
		return create(w, wish);
	case WISH_DELETE:
		if (ns == NULL)
			return wish->nsid == 1 || wish->nsid == UINT32_MAX ? NVME_SC_DENIED : NVME_SC_INVALID_NS;
		made_remove(made, ns);
		return NVME_SC_SUCCESS;
	case WISH_ATTACH:
	case WISH_DETACH:
		if (ns == NULL)
			return NVME_SC_DENIED;
		target_each_controller(*w->target, wish->nqn, note, &found);
		return made_attach(&w->arenas[!w->current], made, ns, wish->kind == WISH_ATTACH, wish->cntlids,
		    wish->cntlid_count, found.list, found.count);
	case WISH_PROTECT:
		if (ns == NULL)
			return NVME_SC_DENIED;
		ns->protection = (uint8_t)wish->protection;
		return NVME_SC_SUCCESS;
	}
	return NVME_SC_INTERNAL;
}

static void
make_config(struct wisher *w, const struct made *made)
{
	w->subsys.ns_count = 1;
	for (uint32_t i = 0; i < made->count; i++) {
		const struct made_ns *from = &made->ns[i];
		uint32_t at = w->subsys.ns_count++;

		for (; at > 1 && w->ns[at - 1].nsid > from->nsid; at--)
			w->ns[at] = w->ns[at - 1];
		w->ns[at] = (struct target_ns){
			.nsid = from->nsid, .volume = volume_of(w, from->uuid)->blk, .blocks = from->blocks,
			.protection = (enum nvme_protection)from->protection, .private = !from->shared, .listed = true,
			.hosts = from->hosts, .host_count = from->host_count, .others = from->others,
			.other_count = from->other_count, .id = { 9 },
		};
	}
	w->subsys.capacity_free = made->count < WISHER_NS_MAX ? CAPACITY : 0;
}

/* ---- one after the other ---- */

static void
answer(struct wisher *w, enum nvme_sc sc)
{
	struct target_wish *wish = w->now;

	w->now = NULL;
	if (sc == NVME_SC_SUCCESS)
		w->done++;
	else if (sc == NVME_SC_INTERNAL)
		w->failed++;
	else
		w->refused++;
	target_wish_done(*w->target, wish, nvme_status_of(sc, sc != NVME_SC_INTERNAL), w->nsid);
	w->nsid = 0;
}

/* The volume of one that was to be created, and never was the target's. */
static void
close_fresh(struct wisher *w)
{
	const struct made *made = made_next(w);

	for (uint32_t i = 0; made != NULL && i < made->count; i++) {
		struct wisher_volume *volume = volume_of(w, made->ns[i].uuid);

		if (made->ns[i].fresh && volume != NULL)
			volume_close(volume);
	}
}

static void
applied(struct target_applied *arg, int rc, const char *why)
{
	struct wisher *w = container_of(arg, struct wisher, applied);
	struct made *made = made_next(w);

	(void)why;
	for (uint32_t i = 0; i < made->count; i++)
		made->ns[i].fresh = false;
	if (rc == 0)
		w->current ^= 1;
	answer(w, rc == 0 ? NVME_SC_SUCCESS : NVME_SC_INTERNAL);
	next(w);
}

static void
start(struct wisher *w)
{
	struct arena *arena = &w->arenas[!w->current];
	enum nvme_sc sc = NVME_SC_INTERNAL;
	char why[256];

	arena_drop(arena);
	w->made[!w->current] = made_copy(arena, w->made[w->current], 1);
	if (made_next(w) != NULL)
		sc = change(w, w->now);
	if (sc == NVME_SC_SUCCESS) {
		make_config(w, made_next(w));
		if (target_apply(*w->target, &w->config, &w->applied, why) == 0)
			return;
		sc = NVME_SC_INTERNAL;
	}
	close_fresh(w);
	answer(w, sc);
}

static void
next(struct wisher *w)
{
	while (!w->idle && w->now == NULL && !fifo_empty(&w->waiting)) {
		w->now = container_of(fifo_pop(&w->waiting), struct target_wish, node);
		start(w);
	}
}

static void
wished(struct target_keeper *keeper, struct target_wish *wish)
{
	struct wisher *w = container_of(keeper, struct wisher, keeper);

	fifo_push(&w->waiting, &wish->node);
	next(w);
}

int
wisher_begin(struct wisher *w, struct reactor *reactor, struct target_config *config, struct target **target)
{
	*w = (struct wisher){
		.keeper = { .wish = wished }, .applied = { applied, unused }, .reactor = reactor, .target = target,
		.idle = w->idle,
	};
	fifo_init(&w->waiting);
	arena_init(&w->arenas[0], 0);
	arena_init(&w->arenas[1], 0);
	w->made[0] = made_copy(&w->arenas[0], NULL, 0);
	w->listen = config->listen[0];
	w->subsys = config->subsys[0];
	w->ns[0] = w->subsys.ns[0];
	w->subsys.ns = w->ns;
	w->subsys.ns_management = true;
	w->subsys.capacity_free = CAPACITY;
	w->subsys.nwpc = NVME_NWPC_PROTECT | NVME_NWPC_POWER_CYCLE;
	w->config = *config;
	w->config.listen = &w->listen;
	w->config.subsys = &w->subsys;
	w->config.keeper = &w->keeper;
	*config = w->config;
	return w->made[0] != NULL ? 0 : -ENOMEM;
}

void
wisher_end(struct wisher *w)
{
	arena_drop(&w->arenas[0]);
	arena_drop(&w->arenas[1]);
}
