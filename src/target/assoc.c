/*
 * assoc.c - associations: a controller, its admin connection and its I/O queues.
 *
 * Lives on the core of the admin connection.  Keeps the list of queues, wherever
 * they are; carries out what ctrl/ decided.  A queue is on the list from the
 * answer to its ATTACH until its DETACH, whatever happens, so mail to it always
 * finds it.
 */
#include <assert.h>

#include "target/assoc.h"
#include "wire/extension.h"

static void flush_step(struct assoc *assoc);
static void cache_drop(struct assoc *assoc);

struct assoc *
assoc_find(struct core *core, uint16_t key)
{
	list_for_each(assoc_keys(core, key), node) {
		struct assoc *assoc = container_of(node, struct assoc, key_node);

		if (assoc->key == key)
			return assoc;
	}
	return NULL;
}

/* Keys of one core are those that leave its index when divided by the number of cores; each is used
 * again as late as can be, so that a host that reconnects never meets its own past. */
static uint16_t
take_key(struct core *core)
{
	uint32_t count = core->reactor->count;

	for (uint32_t tries = 0; tries <= NVME_CNTLID_MAX / count; tries++) {
		uint32_t key = core->key_next;

		core->key_next = key + count <= NVME_CNTLID_MAX ? key + count :
		    (core->reactor->index > 0 ? core->reactor->index : count);
		if (assoc_find(core, (uint16_t)key) == NULL)
			return (uint16_t)key;
	}
	return 0;
}

/* ---- life ---- */

struct assoc *
assoc_create(struct core *core, struct conn *admin, const struct view_subsys *subsys,
    const struct nvme_connect_data *data, uint32_t kato_ms)
{
	struct assoc *assoc = arena_alloc(core->reactor->arena, sizeof(*assoc));
	struct shown *shown = subsys == NULL ? shown_make(core) : NULL;
	uint16_t key = take_key(core);

	if (assoc == NULL || (subsys == NULL && shown == NULL) || key == 0) {
		arena_free(core->reactor->arena, assoc);
		arena_free(core->reactor->arena, shown);
		return NULL;
	}
	assoc->core = core;
	assoc->key = key;
	assoc->admin = admin;
	assoc->subsys = subsys;
	assoc->shown = shown;
	assoc->reset_ns = core->reactor->now_ns;
	alive_begin(assoc);
	fifo_init(&assoc->fencers);
	fifo_init(&assoc->askers);
	fifo_init(&assoc->cache_setters);
	ctrl_init(&assoc->ctrl, subsys == NULL ? &core->view->discovery : &subsys->info, key, admin->portal, data,
	    kato_ms, core->reactor->now_ns);
	if (subsys == NULL)
		shown_update(assoc, core->view);
	list_push(&core->assocs, &assoc->node);
	list_push(assoc_keys(core, key), &assoc->key_node);
	return assoc;
}

/* Its Connect is about to be answered: until then the time for the handshake ran. */
void
assoc_joined(struct assoc *assoc, const struct target_mail *mail)
{
	assoc->ctrl.cntlid = mail->joined.cntlid;
	assoc->ctrl.association = mail->joined.association;
	assoc->tenant = mail->joined.tenant;
	assoc->joined = true;
	assoc->alive_ns = assoc->core->reactor->now_ns;
	alive_start(assoc);
}

/* To core 0, which knows of it from its creation on. */
static void
tell(const struct assoc *assoc, enum target_mail_kind kind)
{
	struct target_mail mail = { .kind = (uint16_t)kind, .key = assoc->key };

	core_post(assoc->core, 0, &mail);
}

/* Another association of its host fences it. */
void
assoc_end(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);

	if (assoc == NULL || assoc->admin == NULL)
		return;
	core_log_peer(core, "controller %u of %s: ended, as the host asked on another one", assoc->ctrl.cntlid,
	    assoc->ctrl.hostnqn);
	conn_kill(assoc->admin);
}

/* It is a static controller and there are dynamic ones now, or the reverse. */
static bool
other_model(const struct assoc *assoc)
{
	return (assoc->ctrl.subsys->static_ids > 0) != (assoc->subsys->info.static_ids > 0);
}

/* From now on the core has this view: each controller is told, or its host may not be here any more. */
void
assoc_view(struct core *core, const struct view *view)
{
	struct subsys_diff diff = { .old = NULL };

	list_for_each(&core->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);
		bool discovery = assoc->shown != NULL;

		if (!discovery && assoc->subsys != NULL)
			assoc->subsys = view_subsys(view, assoc->subsys->info.nqn);
		if (assoc->admin == NULL)
			continue; /* it is ending, and looks at its subsystem no more */
		if (!discovery && (assoc->subsys == NULL || other_model(assoc) ||
		    !view_admits(assoc->subsys, assoc->admin->portal, assoc->ctrl.hostnqn))) {
			conn_kill(assoc->admin);
			continue;
		}
		if (discovery)
			shown_update(assoc, view);
		else
			ctrl_update(&assoc->ctrl, &assoc->subsys->info, &diff);
		admin_events(assoc);
	}
}

static void
maybe_free(struct assoc *assoc)
{
	struct core *core = assoc->core;

	if (!assoc->admin_over || assoc->queue_count > 0 || assoc->flushing)
		return;
	tell(assoc, MAIL_LEFT);
	list_remove(&assoc->node);
	list_remove(&assoc->key_node);
	arena_free(core->reactor->arena, assoc->shown);
	arena_free(core->reactor->arena, assoc);
	core_maybe_drained(core);
}

static void
close_queues(struct assoc *assoc)
{
	struct target_mail mail = { .kind = MAIL_CLOSE, .key = assoc->key };

	for (unsigned qid = 1; qid <= TARGET_IO_QUEUES; qid++) {
		struct assoc_queue *queue = &assoc->queues[qid];

		if (queue->conn == NULL || queue->closing)
			continue;
		queue->closing = true;
		mail.qid = (uint16_t)qid;
		mail.conn = queue->conn;
		core_post(assoc->core, queue->core, &mail);
	}
}

void
assoc_admin_gone(struct assoc *assoc)
{
	assoc->admin = NULL;
	alive_start(assoc);
	tell(assoc, MAIL_DYING);
	events_release(assoc);
	abort_drop(assoc);
	fence_drop(assoc);
	request_free_all(&assoc->askers);
	cache_drop(assoc);
	close_queues(assoc);
}

void
assoc_admin_over(struct assoc *assoc)
{
	assert(assoc->admin == NULL);
	assoc->admin_over = true;
	maybe_free(assoc);
}

/* ---- reset and shutdown ---- */

/* For whom every volume is flushed; bits. */
enum {
	FLUSH_SHUTDOWN = 1,
	FLUSH_CACHE = 2, /* for the first of `cache_setters` */
};

static void cache_done(struct assoc *assoc, struct nvme_status status);
static void flush_begin(struct assoc *assoc);

static void
flush_over(struct assoc *assoc)
{
	uint8_t whose = assoc->flush_for;

	assoc->flushing = false;
	assoc->flush_for = 0;
	if (whose & FLUSH_SHUTDOWN)
		ctrl_shutdown_done(&assoc->ctrl); /* what failed is logged; there is no shutdown that failed */
	if (whose & FLUSH_CACHE)
		cache_done(assoc, assoc->flush_status);
	flush_begin(assoc);
}

static void
flushed(struct blk_io *io, struct nvme_status status)
{
	struct assoc *assoc = io->owner;

	assoc->flush_chan->busy--;
	if (!nvme_ok(status)) {
		core_log_storage(assoc->core, "a volume could not be flushed: %s", nvme_status_text(status, false));
		assoc->flush_status = status;
	}
	flush_step(assoc);
	maybe_free(assoc);
}

/* The next namespace; they may come and go meanwhile. */
static void
flush_step(struct assoc *assoc)
{
	const struct view_subsys *subsys = assoc->subsys;

	while (subsys != NULL && assoc->flush_nsid < subsys->ns_limit) {
		const struct view_ns *ns = &subsys->ns[assoc->flush_nsid++];

		if (ns->info == NULL)
			continue;
		assoc->flush_io = (struct blk_io){ .op = BLK_FLUSH, .done = flushed, .owner = assoc };
		assoc->flush_chan = assoc->core->chans[volume_slot(ns->volume)];
		assoc->flush_chan->busy++;
		blk_submit(assoc->flush_chan, &assoc->flush_io);
		return;
	}
	flush_over(assoc);
}

/* Flushes every volume, one after the other, for all who wait. */
static void
flush_begin(struct assoc *assoc)
{
	if (assoc->flushing || assoc->flush_wanted == 0)
		return;
	assoc->flushing = true;
	assoc->flush_for = assoc->flush_wanted;
	assoc->flush_wanted = 0;
	assoc->flush_status = NVME_OK;
	assoc->flush_nsid = 0;
	flush_step(assoc);
}

/* A flush that is under way began too early: another one comes after it. */
static void
flush_all(struct assoc *assoc, uint8_t whose)
{
	assoc->flush_wanted |= whose;
	flush_begin(assoc);
}

/* If the last I/O queue is gone, and with a reset what it dropped: what waited for that is done. */
void
assoc_settle(struct assoc *assoc)
{
	enum ctrl_action after = assoc->after;

	if (assoc->queue_count > 0 || (after == CTRL_RESET && admin_dropping(assoc)))
		return;
	assoc->after = CTRL_NOTHING;
	if (after == CTRL_RESET) {
		events_release(assoc);
		after = ctrl_reset_done(&assoc->ctrl);
		assoc->reset_ns = assoc->core->reactor->now_ns;
		events_tell(assoc, EVENTS_RESET, 0);
	}
	if (after == CTRL_SHUTDOWN)
		flush_all(assoc, FLUSH_SHUTDOWN);
}

void
assoc_act(struct assoc *assoc, enum ctrl_action action)
{
	if (action != CTRL_NOTHING)
		alive_start(assoc);
	switch (action) {
	case CTRL_NOTHING:
	case CTRL_ENABLED:
	case CTRL_KATO:
	case CTRL_TIMESTAMP:
	case CTRL_EVENTS_TAKEN: /* see events_heed() */
	case CTRL_EVENTS_RELEASED:
	case CTRL_WRITE_CACHE: /* see assoc_set_cache() */
	case CTRL_ABORT:       /* abort_command() */
	case CTRL_RESV_PTPL:   /* reserve_set_ptpl() */
	case CTRL_FENCE:       /* fence_begin() */
	case CTRL_ORDERED:     /* ordered_ask() */
	case CTRL_PROTECT:     /* and wish_begin() */
	case CTRL_NS_CREATE:
	case CTRL_NS_DELETE:
	case CTRL_NS_ATTACH:
	case CTRL_NS_DETACH:
		return;
	case CTRL_FAILED:
		events_tell(assoc, EVENTS_FATAL, 0);
		return;
	case CTRL_RESET:
	case CTRL_SHUTDOWN:
		break;
	}
	/* A shutdown of before is never done: a reset, or CC.EN, overtook it.  The next one flushes anew. */
	assoc->flush_for &= (uint8_t)~FLUSH_SHUTDOWN;
	assoc->flush_wanted &= (uint8_t)~FLUSH_SHUTDOWN;
	if (action == CTRL_RESET) {
		cache_drop(assoc);
		admin_drop(assoc);
	}
	assoc->after = action;
	close_queues(assoc);
	assoc_settle(assoc);
}

/* ---- the volatile write cache, turned off or on (feature 06h) ---- */

static void cache_round(struct assoc *assoc);

static void
cache_done(struct assoc *assoc, struct nvme_status status)
{
	struct fifo_node *node = assoc->cache_dropped ? NULL : fifo_pop(&assoc->cache_setters);

	assoc->cache_dropped = false;
	if (node != NULL && nvme_ok(status))
		events_tell_set(container_of(node, struct request, xfer.tx_node), 0);
	if (node != NULL)
		request_answer(container_of(node, struct request, xfer.tx_node), status);
	if (!fifo_empty(&assoc->cache_setters))
		cache_round(assoc);
}

/* The admin connection goes, or the controller is reset: the flush that is under way is for nobody. */
static void
cache_drop(struct assoc *assoc)
{
	if (fifo_empty(&assoc->cache_setters))
		return;
	assoc->cache_dropped = true;
	request_free_all(&assoc->cache_setters);
}

/* Tells every queue what holds now; the first setter is answered when all have heard it. */
static void
cache_round(struct assoc *assoc)
{
	struct target_mail mail = { .kind = MAIL_CACHE, .key = assoc->key };

	assoc->cache_left = assoc->queue_count;
	for (unsigned qid = 1; qid <= TARGET_IO_QUEUES; qid++) {
		if (assoc->queues[qid].conn == NULL)
			continue;
		mail.qid = (uint16_t)qid;
		mail.cache.conn = assoc->queues[qid].conn;
		mail.cache.durable = ctrl_durable_writes(&assoc->ctrl);
		core_post(assoc->core, assoc->queues[qid].core, &mail);
	}
	if (assoc->cache_left == 0)
		flush_all(assoc, FLUSH_CACHE);
}

/* `req` is answered when every queue knows, and what was written before is durable. */
void
assoc_set_cache(struct assoc *assoc, struct request *req)
{
	bool first = fifo_empty(&assoc->cache_setters) && !assoc->cache_dropped;

	req->stage = STAGE_MAIL;
	fifo_push(&assoc->cache_setters, &req->xfer.tx_node);
	if (first)
		cache_round(assoc);
}

void
assoc_cache_set(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);

	if (assoc != NULL && assoc->cache_left > 0 && --assoc->cache_left == 0)
		flush_all(assoc, FLUSH_CACHE);
}

/* ---- I/O queues ---- */

static struct nvme_status
check_attach(struct assoc *assoc, const struct target_mail *mail, struct nvme_connect_fault *fault)
{
	const struct ctrl *ctrl = assoc != NULL && assoc->admin != NULL ? &assoc->ctrl : NULL;
	struct nvme_status status = ctrl_check_io_connect(ctrl, mail->attach.sqe, mail->attach.data, fault);

	assert(assoc != NULL || !nvme_ok(status));
	if (nvme_ok(status) && (mail->qid > TARGET_IO_QUEUES || assoc->queues[mail->qid].conn != NULL ||
	    assoc->after != CTRL_NOTHING))
		return nvme_status_of(NVME_SC_SEQUENCE, true);
	return status;
}

void
assoc_attach(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct target_mail answer = {
		.kind = MAIL_ATTACHED, .key = mail->key, .qid = mail->qid, .attached = { .conn = mail->attach.conn },
	};

	answer.attached.status = check_attach(assoc, mail, &answer.attached.fault);
	if (nvme_ok(answer.attached.status)) {
		assoc->queues[mail->qid] = (struct assoc_queue){ mail->attach.conn, mail->attach.core, false };
		assoc->queue_count++;
		answer.attached.durable = ctrl_durable_writes(&assoc->ctrl);
		answer.attached.association = assoc->ctrl.association;
		answer.attached.tenant = assoc->tenant;
		answer.attached.credits = assoc->ctrl.features.extension & WEIR_CREDITS;
		answer.attached.ordered = assoc->ctrl.features.extension & WEIR_ORDER;
		assoc->ctrl.io_queues_made = true;
	}
	core_post(core, mail->attach.core, &answer);
}

void
assoc_detached(struct core *core, const struct target_mail *mail)
{
	struct assoc *assoc = assoc_find(core, mail->key);
	struct target_mail answer = {
		.kind = MAIL_DETACHED, .key = mail->key, .qid = mail->qid, .conn = mail->detach.conn,
	};

	assert(assoc != NULL && assoc->queues[mail->qid].conn == mail->detach.conn);
	core_post(core, mail->from, &answer);
	alive_heard(assoc, mail->detach.command_ns);
	assoc->queues[mail->qid] = (struct assoc_queue){ 0 };
	assoc->queue_count--;
	if (assoc->queue_count == 0 && assoc->admin != NULL)
		conn_send_soon(assoc->admin); /* if it finishes, it was waiting for this */
	assoc_settle(assoc);
	maybe_free(assoc);
}
