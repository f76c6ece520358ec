/*
 * path.c - an address that is connected to again and again, and the associations that come of it.
 *
 * It knows when to try and what to do when one is lost; what is asked of a
 * controller is ask.c's, and what may be sent again is ghost.c's.
 */
#include <errno.h>
#include <stdio.h>

#include "host/internal.h"

/* ---- associations ---- */

struct assoc *
subsys_assoc(struct subsys *subsys, uint32_t serial)
{
	list_for_each(&subsys->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);

		if (assoc->terms.serial == serial)
			return assoc;
	}
	return NULL;
}

static bool
aborting(const struct assoc *assoc)
{
	for (unsigned i = 0; i < ASSOC_ABORTS; i++)
		if (assoc->aborts[i].busy)
			return true;
	return false;
}

void
assoc_free(struct assoc *assoc)
{
	struct subsys *subsys = assoc->subsys;
	struct arena *arena = subsys->reactor->arena;

	if (assoc->state != ASSOC_GONE || assoc->strands > 0 || assoc->asking || assoc->carrying > 0 ||
	    assoc->carrier != NULL || aborting(assoc))
		return;
	list_remove(&assoc->node);
	for (unsigned slot = 0; slot < SUBSYS_NAMESPACES_MAX; slot++)
		cache_life_give(assoc->ns[slot].life);
	arena_free(arena, assoc->page);
	arena_free(arena, assoc);
	subsys_free_soon(subsys);
}

static void
set_why(struct path *path, int error, const char *why)
{
	path->error = error;
	path->tried = true;
	snprintf(path->why, sizeof(path->why), "%s", why);
}

static void
retry_later(struct path *path)
{
	struct subsys *subsys = path->subsys;
	uint32_t wait_ms = path->backoff_ms, longest = subsys->options.reconnect_max_ms;

	/* A half of it by chance, so that many hosts do not come at once. */
	wait_ms = wait_ms / 2 + (uint32_t)(subsys->reactor->world->random(subsys->reactor) % (wait_ms / 2 + 1));
	path->backoff_ms = path->backoff_ms < longest / 2 ? path->backoff_ms * 2 : longest;
	path->state = PATH_WAITING;
	timer_set(&subsys->reactor->timers, &path->retry, subsys->reactor->now_ns + wait_ms * NS_PER_MS);
}

/* It would be refused again (DNR): that is for people to mend. */
static void
refused(struct path *path)
{
	path->state = PATH_REFUSED;
	if (path->subsys->told)
		subsys_event(path->subsys, SUBSYS_PATH_REFUSED, path->index, 0, 0, path->why);
}

void
assoc_lose(struct assoc *assoc, int error, const char *why)
{
	struct path *path = assoc->path;
	struct subsys *subsys = assoc->subsys;
	bool was_live = assoc->state == ASSOC_LIVE, final = assoc->ctrlr != NULL && ctrlr_final(assoc->ctrlr);
	char text[sizeof(path->why)];

	snprintf(text, sizeof(text), "%s", why); /* which may be of what ends here */
	if (assoc->ctrlr != NULL)
		ctrlr_destroy(assoc->ctrlr);
	assoc->ctrlr = NULL;
	ask_end(assoc);
	path->assoc = NULL;
	set_why(path, error, text);
	if (was_live) {
		path->losses++;
		path->backoff_ms = subsys->options.reconnect_ms;
		assoc->state = ASSOC_GHOST;
		lanes_close(assoc);
		lanes_publish(subsys);
		ghost_begin(assoc);
	} else {
		assoc->state = ASSOC_GONE;
	}
	if (!final)
		retry_later(path);
	assoc_free(assoc); /* not to be touched any more: who hears of it may close the subsystem */
	if (was_live)
		subsys_event(subsys, SUBSYS_PATH_LOST, path->index, 0, 0, text);
	if (final)
		refused(path);
	ghosts_look(subsys);
	subsys_found(subsys);
	subsys_path_changed(subsys);
}

/* ---- coming up ---- */

static void
ready(struct ctrlr *ctrlr)
{
	struct assoc *assoc = ctrlr_owner(ctrlr);
	struct path *path = assoc->path;
	const struct ctrlr_facts *facts = ctrlr_facts(ctrlr);

	assoc->state = ASSOC_ASKING;
	assoc->fences = facts->fences;
	assoc->quiet_ms = facts->quiet_ms;
	assoc->newest = assoc->subsys->serial;
	assoc->terms.credits = facts->credits;
	assoc->terms.orders = facts->orders;
	assoc->terms.cntlid = facts->cntlid;
	assoc->terms.entries_max = facts->entries_max;
	assoc->terms.incapsule_max = facts->incapsule_max;
	assoc->terms.transfer_max = facts->transfer_max;
	path->cntlid = facts->cntlid;
	path->queues = facts->queues;
	path->fences = facts->fences;
	if (facts->queues == 0)
		assoc_lose(assoc, -EUSERS, "the target grants no I/O queue");
	else if (ask_start(assoc) != 0)
		assoc_lose(assoc, -ENOMEM, "out of memory");
	else
		ghosts_look(assoc->subsys);
}

void
assoc_asked(struct assoc *assoc)
{
	struct path *path = assoc->path;
	struct subsys *subsys = assoc->subsys;

	if (assoc->state == ASSOC_LIVE) {
		lanes_publish(subsys);
	} else {
		assoc->state = ASSOC_LIVE;
		path->state = PATH_LIVE;
		path->tried = true;
		path->associations++;
		path->backoff_ms = subsys->options.reconnect_ms;
		lanes_publish(subsys);
		subsys_event(subsys, SUBSYS_PATH_UP, path->index, 0, 0, "");
		subsys_path_changed(subsys);
	}
	subsys_found(subsys);
}

static void
lost(struct ctrlr *ctrlr, int error, const char *why)
{
	assoc_lose(ctrlr_owner(ctrlr), error, why);
}

static void
event(struct ctrlr *ctrlr, uint32_t dw0)
{
	ask_event(ctrlr_owner(ctrlr), dw0);
}

static struct ctrlr_options
options_of(const struct path *path)
{
	const struct subsys_options *of = &path->subsys->options;
	struct ctrlr_options options = {
		.port = path->address.port, .cntlid = of->cntlid, .queues = of->queues,
		.hdgst = of->hdgst, .ddgst = of->ddgst, .sq_flow = of->sq_flow,
		.plain = of->plain, .kato_ms = of->kato_ms, .connect_ms = of->connect_ms,
		.events = NVME_ASYNC_SMART | NVME_ASYNC_NS | NVME_ASYNC_ANA,
		.ready = ready, .lost = lost, .event = event,
	};

	snprintf(options.addr, sizeof(options.addr), "%s", path->address.host);
	memcpy(options.subnqn, of->subnqn, sizeof(options.subnqn));
	memcpy(options.hostnqn, of->hostnqn, sizeof(options.hostnqn));
	memcpy(options.hostid, of->hostid, sizeof(options.hostid));
	return options;
}

static struct assoc *
assoc_create(struct path *path)
{
	struct subsys *subsys = path->subsys;
	struct assoc *assoc = arena_alloc(subsys->reactor->arena, sizeof(*assoc));

	if (assoc == NULL)
		return NULL;
	assoc->subsys = subsys;
	assoc->path = path;
	assoc->state = ASSOC_OPENING;
	assoc->terms = (struct strand_terms){
		.serial = ++subsys->serial, .address = path->address,
		.connect_ms = subsys->options.connect_ms, .options = &subsys->options,
	};
	list_push(&subsys->assocs, &assoc->node);
	return assoc;
}

static void
failed(struct path *path, int error, const char *why)
{
	set_why(path, error, why);
	retry_later(path);
	subsys_path_changed(path->subsys);
}

static void
try_again(struct timer *timer)
{
	path_start(container_of(timer, struct path, retry));
}

void
path_start(struct path *path)
{
	struct ctrlr_options options = options_of(path);
	struct assoc *assoc = assoc_create(path);
	int rc;

	path->retry.fire = try_again;
	if (assoc == NULL) {
		failed(path, -ENOMEM, "out of memory");
		return;
	}
	path->state = PATH_CONNECTING;
	options.owner = assoc;
	rc = ctrlr_open(path->subsys->reactor, &options, &assoc->ctrlr);
	if (rc != 0) {
		assoc->state = ASSOC_GONE;
		assoc_free(assoc);
		failed(path, rc, strerror(-rc));
		return;
	}
	path->assoc = assoc;
}

/* ---- closing ---- */

static void
closed(void *owner)
{
	struct assoc *assoc = owner;
	struct path *path = assoc->path;

	assoc->ctrlr = NULL;
	assoc->state = ASSOC_GONE;
	path->assoc = NULL;
	path->state = PATH_CLOSED;
	assoc_free(assoc);
	subsys_path_closed(path->subsys);
}

void
path_close(struct path *path)
{
	timer_clear(&path->subsys->reactor->timers, &path->retry);
	if (path->assoc != NULL) {
		ask_end(path->assoc);
		path->assoc->state = ASSOC_CLOSING;
		ctrlr_close(path->assoc->ctrlr, closed);
	} else {
		path->state = PATH_CLOSED;
		subsys_path_closed(path->subsys);
	}
}
