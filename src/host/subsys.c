/*
 * The subsystem as a whole: coming, being told about, finding namespaces, going.
 */
#include "host/subsys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/internal.h"

/* How long a user waits for other paths when one is there. */
static const uint64_t OTHERS_NS = 500 * NS_PER_MS;

/* ---- telling ---- */

void
subsys_event(struct subsys *subsys, enum subsys_event_kind kind, unsigned path, uint32_t nsid, uint32_t dw0,
    const char *why)
{
	struct subsys_event event = { kind, path, nsid, dw0, why };

	if (subsys->options.event != NULL && !subsys->closing)
		subsys->options.event(subsys, &event);
}

unsigned
subsys_live(const struct subsys *subsys)
{
	unsigned live = 0;

	for (unsigned i = 0; i < subsys->path_count; i++)
		live += subsys->paths[i].state == PATH_LIVE;
	return live;
}

static bool
all_tried(const struct subsys *subsys)
{
	for (unsigned i = 0; i < subsys->path_count; i++)
		if (!subsys->paths[i].tried)
			return false;
	return true;
}

/* The first reason that is more than that nobody is there. */
static const struct path *
most_telling(const struct subsys *subsys)
{
	for (unsigned i = 0; i < subsys->path_count; i++)
		if (subsys->paths[i].error == -EPROTO || subsys->paths[i].error == -ECONNREFUSED)
			return &subsys->paths[i];
	return &subsys->paths[0];
}

static void
no_hope(struct timer *timer)
{
	struct subsys *subsys = container_of(timer, struct subsys, loss);

	subsys->hopeless = true;
	lanes_publish(subsys);
	subsys_event(subsys, SUBSYS_GIVEN_UP, 0, 0, 0, "");
}

static bool
all_refused(const struct subsys *subsys)
{
	for (unsigned i = 0; i < subsys->path_count; i++)
		if (subsys->paths[i].state != PATH_REFUSED)
			return false;
	return true;
}

/* Where none will be tried again there is nothing to wait for. */
static void
none_is_live(struct subsys *subsys)
{
	uint32_t wait_ms = all_refused(subsys) ? 0 : subsys->options.loss_ms;
	bool known = subsys->none_live;

	subsys->none_live = true;
	if (!subsys->hopeless && wait_ms != UINT32_MAX && (!subsys->loss.armed || wait_ms == 0)) {
		subsys->loss.fire = no_hope;
		timer_set(&subsys->reactor->timers, &subsys->loss,
		    subsys->reactor->now_ns + wait_ms * NS_PER_MS);
	}
	if (!known && subsys->told)
		subsys_event(subsys, SUBSYS_ALL_LOST, 0, 0, 0, "");
}

static void
tell(struct subsys *subsys, unsigned live)
{
	subsys->told = true;
	timer_clear(&subsys->reactor->timers, &subsys->others);
	if (live > 0)
		subsys->options.ready(subsys, 0, NULL);
	else
		subsys->options.ready(subsys, most_telling(subsys)->error, most_telling(subsys)->why);
}

/* For the other paths.  Where the one that was there is gone again, all are waited for. */
static void
waited_enough(struct timer *timer)
{
	struct subsys *subsys = container_of(timer, struct subsys, others);

	if (subsys_live(subsys) > 0)
		tell(subsys, subsys_live(subsys));
}

void
subsys_path_changed(struct subsys *subsys)
{
	unsigned live = subsys_live(subsys);

	if (subsys->closing)
		return;
	if (live == 0) {
		none_is_live(subsys);
	} else {
		subsys->none_live = false;
		timer_clear(&subsys->reactor->timers, &subsys->loss);
		if (subsys->hopeless) {
			subsys->hopeless = false;
			lanes_publish(subsys);
		}
	}
	if (subsys->told)
		return;
	if (all_tried(subsys)) {
		tell(subsys, live);
	} else if (live > 0 && !subsys->others.armed) {
		subsys->others.fire = waited_enough;
		timer_set(&subsys->reactor->timers, &subsys->others, subsys->reactor->now_ns + OTHERS_NS);
	}
}

/* ---- namespaces ---- */

static unsigned
slot_of(const struct subsys *subsys, uint32_t nsid)
{
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		if (subsys->ns[slot] != NULL && subsys->ns[slot]->nsid == nsid)
			return slot;
	return SUBSYS_NAMESPACES_MAX;
}

/* It is being asked for by some path, or will be. */
static bool
is_asked_for(const struct subsys *subsys, unsigned slot)
{
	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;

		if (assoc != NULL && assoc_is_up(assoc) &&
		    (assoc->ns[slot].wanted || (assoc->asking && assoc->ask_slot == slot)))
			return true;
	}
	return false;
}

static bool
is_usable(const struct subsys *subsys, unsigned slot)
{
	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;

		if (assoc != NULL && assoc_is_up(assoc) && assoc->ns[slot].usable)
			return true;
	}
	return false;
}

/* One that nobody has been told of need not be known. */
static void
forget(struct subsys *subsys, unsigned slot)
{
	arena_free(subsys->reactor->arena, subsys->ns[slot]);
	subsys->ns[slot] = NULL;
}

static void
answer(struct subsys *subsys, struct subsys_find *find)
{
	unsigned slot = slot_of(subsys, find->nsid);
	const struct subsys_ns *ns = slot < SUBSYS_NAMESPACES_MAX ? subsys->ns[slot] : NULL;

	list_remove(&find->node);
	if (ns == NULL && (find->error != -ENODEV || subsys_live(subsys) > 0)) {
		find->found(find, NULL, find->error, find->error == -ENOSPC ? "64 namespaces are in use" :
		    find->error == -ENOMEM ? "out of memory" : "there is no such namespace");
	} else if (ns != NULL && ns->block_size > 0 && is_usable(subsys, slot)) {
		subsys->ns[slot]->transfer_max = subsys->transfer_max;
		find->found(find, ns, 0, NULL);
	} else {
		/* Perhaps the target never answers who it is: then no path would come up again. */
		if (ns != NULL && ns->block_size == 0)
			forget(subsys, slot);
		if (subsys_live(subsys) == 0)
			find->found(find, NULL, -ENOTCONN, "there is no path to the subsystem");
		else
			find->found(find, NULL, -ENODEV,
			    "there is no such namespace, or none with blocks that this host knows");
	}
}

void
subsys_found(struct subsys *subsys)
{
	if (!list_empty(&subsys->finds))
		reactor_run_in(subsys->reactor, PHASE_SUBMIT, &subsys->news);
}

static void
answer_all(struct subsys *subsys)
{
	list_for_each(&subsys->finds, node) {
		struct subsys_find *find = container_of(node, struct subsys_find, node);
		unsigned slot = slot_of(subsys, find->nsid);

		if (slot == SUBSYS_NAMESPACES_MAX || !is_asked_for(subsys, slot))
			answer(subsys, find);
	}
}

static int
know(struct subsys *subsys, uint32_t nsid)
{
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++) {
		if (subsys->ns[slot] != NULL)
			continue;
		subsys->ns[slot] = arena_alloc(subsys->reactor->arena, sizeof(*subsys->ns[slot]));
		if (subsys->ns[slot] == NULL)
			return -ENOMEM;
		subsys->ns[slot]->nsid = nsid;
		for (unsigned i = 0; i < subsys->path_count; i++) {
			struct assoc *assoc = subsys->paths[i].assoc;

			if (assoc == NULL || !assoc_is_up(assoc))
				continue;
			assoc->ns[slot] = (struct assoc_ns){ .wanted = true };
			ask_on(assoc);
		}
		return 0;
	}
	return -ENOSPC;
}

void
subsys_find(struct subsys *subsys, struct subsys_find *find)
{
	list_push(&subsys->finds, &find->node);
	find->error = -ENODEV;
	if (slot_of(subsys, find->nsid) == SUBSYS_NAMESPACES_MAX && find->nsid != 0 && find->nsid != UINT32_MAX)
		find->error = know(subsys, find->nsid);
	subsys_found(subsys);
}

/* ---- coming ---- */

static void
news(struct task *task)
{
	struct subsys *subsys = container_of(task, struct subsys, news);

	for (unsigned i = 0; i < subsys->path_count; i++)
		if (subsys->paths[i].state == PATH_WAITING && !subsys->paths[i].retry.armed)
			path_start(&subsys->paths[i]);
	answer_all(subsys);
}

static bool
is_same_address(const struct subsys_address *a, const struct subsys_address *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static int
add_path(struct subsys *subsys, const struct subsys_address *address)
{
	unsigned i = 0;

	while (i < subsys->path_count && !is_same_address(&subsys->paths[i].address, address))
		i++;
	if (i < subsys->path_count && subsys->paths[i].state != PATH_REFUSED)
		return -EEXIST;
	if (i == SUBSYS_PATHS_MAX)
		return -ENOSPC;
	if (i == subsys->path_count) {
		subsys->path_count++;
		subsys->paths[i] = (struct path){ .subsys = subsys, .index = i, .address = *address };
	}
	subsys->paths[i].state = PATH_WAITING;
	subsys->paths[i].backoff_ms = subsys->options.reconnect_ms;
	reactor_run_in(subsys->reactor, PHASE_SUBMIT, &subsys->news);
	return 0;
}

int
subsys_add_path(struct subsys *subsys, const struct subsys_address *address)
{
	return add_path(subsys, address);
}

int
subsys_open(struct reactor *reactor, const struct subsys_options *options, const struct subsys_address *addresses,
    unsigned count, struct subsys **out)
{
	struct subsys *subsys = arena_alloc(reactor->arena, sizeof(*subsys));

	assert(count >= 1 && count <= SUBSYS_PATHS_MAX);
	assert(options->queues >= 1 && options->queues <= SUBSYS_LANES_MAX);
	if (subsys == NULL)
		return -ENOMEM;
	subsys->reactor = reactor;
	subsys->options = *options;
	list_init(&subsys->assocs);
	list_init(&subsys->lanes);
	list_init(&subsys->finds);
	task_init(&subsys->news, news);
	task_init(&subsys->look, ghosts_look_now);
	lanes_publish(subsys);
	if (subsys->view == NULL) {
		timer_clear(&reactor->timers, &subsys->publish_again);
		arena_free(reactor->arena, subsys);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < count; i++)
		add_path(subsys, &addresses[i]); /* the same one twice is one */
	*out = subsys;
	return 0;
}

/* ---- going ---- */

static void
subsys_free(struct subsys *subsys)
{
	struct arena *arena = subsys->reactor->arena;
	void (*closed)(void *) = subsys->closed;
	void *owner = subsys->options.owner;

	task_cancel(&subsys->news);
	task_cancel(&subsys->look);
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		arena_free(arena, subsys->ns[slot]);
	arena_free(arena, subsys->view);
	arena_free(arena, subsys);
	closed(owner);
}

/* A lane that was leaving when it was given one may give it back behind its leave. */
static bool
nobody_has_a_view(const struct subsys *subsys)
{
	return subsys->views == 1 && subsys->view->holders == 1;
}

/* Later in the turn, when nobody is at work on it. */
static void
free_now(struct task *task)
{
	struct subsys *subsys = container_of(task, struct subsys, news);

	if (subsys->to_close == 0 && list_empty(&subsys->assocs) && list_empty(&subsys->lanes) &&
	    nobody_has_a_view(subsys))
		subsys_free(subsys);
}

void
subsys_free_soon(struct subsys *subsys)
{
	if (!subsys->closing)
		return;
	subsys->news.run = free_now;
	reactor_run_in(subsys->reactor, PHASE_SEND, &subsys->news);
}

void
subsys_path_closed(struct subsys *subsys)
{
	subsys->to_close--;
	subsys_free_soon(subsys);
}

void
subsys_close(struct subsys *subsys, void (*closed)(void *owner))
{
	struct timers *timers = &subsys->reactor->timers;
	struct list *node;

	assert(!subsys->closing);
	subsys->closing = true;
	subsys->closed = closed;
	subsys->to_close = subsys->path_count;
	timer_clear(timers, &subsys->loss);
	timer_clear(timers, &subsys->publish_again);
	timer_clear(timers, &subsys->others);
	task_cancel(&subsys->news);
	while ((node = list_pop(&subsys->finds)) != NULL) {
		struct subsys_find *find = container_of(node, struct subsys_find, node);

		find->found(find, NULL, -ESHUTDOWN, "the subsystem is being closed");
	}
	list_for_each(&subsys->assocs, ghost) {
		struct assoc *assoc = container_of(ghost, struct assoc, node);

		if (assoc->state == ASSOC_GHOST) {
			ghost_end(assoc);
			assoc_free(assoc);
		}
	}
	for (unsigned i = 0; i < subsys->path_count; i++)
		path_close(&subsys->paths[i]);
	subsys_free_soon(subsys);
}

/* ---- questions ---- */

void *subsys_owner(const struct subsys *subsys) { return subsys->options.owner; }

const struct subsys_options *subsys_options(const struct subsys *subsys) { return &subsys->options; }

unsigned subsys_path_count(const struct subsys *subsys) { return subsys->path_count; }

void
subsys_path_get(const struct subsys *subsys, unsigned index, struct subsys_path *out)
{
	const struct path *path = &subsys->paths[index];

	assert(index < subsys->path_count);
	*out = (struct subsys_path){
		.state = path->state, .address = path->address, .cntlid = path->cntlid, .queues = path->queues,
		.fences = path->fences, .associations = path->associations, .losses = path->losses,
	};
	memcpy(out->why, path->why, sizeof(out->why));
}

struct ctrlr *
subsys_ctrlr(struct subsys *subsys, int index)
{
	for (unsigned i = 0; i < subsys->path_count; i++)
		if ((index < 0 || (unsigned)index == i) && subsys->paths[i].state == PATH_LIVE)
			return subsys->paths[i].assoc->ctrlr;
	return NULL;
}
