/*
 * core.c - one reactor's part of the target: start, accept, mail, drain.
 */
#include <errno.h>
#include <stdio.h>

#include "target/assoc.h"
#include "target/command.h"
#include "target/look.h"
#include "target/ordered.h"
#include "target/reserve.h"
#include "target/state_file.h"

enum { DRAIN_NS = 500 * 1000 * 1000 };

/* ---- mail ---- */

void
core_post(struct core *core, unsigned to, const struct target_mail *mail)
{
	struct mail plain;

	memcpy(&plain, mail, sizeof(plain));
	core->reactor->world->post(core->reactor, to, &plain);
}

static void adopt(struct core *core, struct stream *stream, uint16_t portal);
static void drain(struct core *core);
static void drained(struct core *core);
static void conn_gone(struct core *core);

_Static_assert((int)MAIL_DRAINED < (int)BLK_MAIL, "what cores say is not what devices say");

static void
on_mail(struct reactor *reactor, const struct mail *plain)
{
	struct core *core = reactor->owner;
	struct target_mail mail;

	if (plain->kind >= BLK_MAIL) {
		blk_mail(reactor, plain);
		return;
	}
	memcpy(&mail, plain, sizeof(mail));
	switch ((enum target_mail_kind)mail.kind) {
	case MAIL_STREAM:
		adopt(core, mail.stream.stream, mail.stream.portal);
		return;
	case MAIL_CONN_GONE:
		conn_gone(core);
		return;
	case MAIL_JOINED:
		connect_joined(core, &mail);
		return;
	case MAIL_JOIN:
	case MAIL_DYING:
	case MAIL_LEFT:
	case MAIL_FENCE:
	case MAIL_SEEK:
		registry_mail(core, &mail);
		return;
	case MAIL_FENCED:
		fence_done(core, &mail);
		return;
	case MAIL_END:
		assoc_end(core, &mail);
		return;
	case MAIL_ABORT:
		abort_ask(core, &mail);
		return;
	case MAIL_ABORTED:
		abort_answer(core, &mail);
		return;
	case MAIL_ATTACH:
		assoc_attach(core, &mail);
		return;
	case MAIL_ATTACHED:
		connect_attached(core, &mail);
		return;
	case MAIL_DETACH:
		assoc_detached(core, &mail);
		return;
	case MAIL_DETACHED:
		conn_detached(mail.conn);
		return;
	case MAIL_CLOSE:
		conn_kill(mail.conn);
		return;
	case MAIL_CACHE:
		mail.cache.conn->durable = mail.cache.durable;
		mail.kind = MAIL_CACHE_SET;
		core_post(core, mail.from, &mail);
		return;
	case MAIL_CACHE_SET:
		assoc_cache_set(core, &mail);
		return;
	case MAIL_ERROR:
	case MAIL_ERRORS_MISSED:
		if (mail.kind == MAIL_ERROR)
			assoc_error(core, &mail);
		else
			assoc_errors_missed(core, &mail);
		mail.kind = MAIL_ERROR_HEARD;
		core_post(core, mail.from, &mail);
		return;
	case MAIL_ERROR_HEARD:
		errors_heard(mail.error.conn);
		return;
	case MAIL_ALIVE_ASK:
		alive_ask(core, &mail);
		return;
	case MAIL_ALIVE:
		alive_answer(core, &mail);
		return;
	case MAIL_STATS_ASK:
	case MAIL_STATS:
	case MAIL_STATS_MORE:
	case MAIL_STATS_BEFORE:
	case MAIL_STATS_KEPT:
		smart_mail(core, &mail);
		return;
	case MAIL_EVENT:
	case MAIL_EVENTS_COPY:
	case MAIL_EVENTS_GIVE:
		events_mail(core, &mail);
		return;
	case MAIL_EVENT_HEARD:
	case MAIL_EVENTS_COPIED:
		events_core_mail(core, &mail);
		return;
	case MAIL_COUNT:
		stats_note(core);
		mail.kind = MAIL_COUNTED;
		core_post(core, 0, &mail);
		return;
	case MAIL_COUNTED:
		stats_noted(core);
		return;
	case MAIL_PREPARE:
	case MAIL_PREPARED:
	case MAIL_DISCARD:
	case MAIL_DISCARDED:
	case MAIL_SWITCH:
	case MAIL_SWITCHED:
	case MAIL_RETIRED:
		apply_mail(core, &mail);
		return;
	case MAIL_RESERVE:
	case MAIL_RESV_TAKEN:
	case MAIL_RESV_TOLD:
	case MAIL_RESV_FOUND:
		reserve_mail(core, &mail);
		return;
	case MAIL_RESERVED:
	case MAIL_RESV_TAKE:
	case MAIL_RESV_TELL:
	case MAIL_RESV_WHO:
		reserve_core_mail(core, &mail);
		return;
	case MAIL_PRESENT_ASK:
	case MAIL_PRESENT:
		present_mail(core, &mail);
		return;
	case MAIL_LOOK:
	case MAIL_LOOKED:
		look_mail(core, &mail);
		return;
	case MAIL_WISH:
	case MAIL_WISHED:
	case MAIL_WISH_OVER:
		wish_mail(core, &mail);
		return;
	case MAIL_SETTLE:
	case MAIL_SETTLED:
		settle_mail(core, &mail);
		return;
	case MAIL_TENANT_GONE:
	case MAIL_TENANT_FORGOTTEN:
		tenant_mail(core, &mail);
		return;
	case MAIL_ORDERED:
		ordered_answered(core, &mail);
		return;
	case MAIL_ORDER: case MAIL_ORDER_SAID: case MAIL_ORDER_LEFT:
		ordered_all_mail(core, &mail);
		return;
	case MAIL_ORDER_ASK: case MAIL_ORDER_CLOSE: case MAIL_ORDER_HOLD: case MAIL_ORDER_HELD:
		ordered_asked_mail(core, &mail);
		return;
	case MAIL_DRAIN:
		drain(core);
		return;
	case MAIL_DRAINED:
		drained(core);
		return;
	}
}

/* ---- connections come and go ---- */

/* While configs change, there are listeners of the next one, and of the one before. */
static bool
serves(const struct core *core, uint16_t portal)
{
	return !core->draining && core->view->portals_used >> portal & 1;
}

static void
adopt(struct core *core, struct stream *stream, uint16_t portal)
{
	/* Attached in any case: only what is of a reactor can be closed. */
	int rc = stream->ops->attach(stream, core->reactor);

	if (rc != 0)
		core_log_peer(core, "a connection was refused: %s", strerrordesc_np(-rc));
	if (rc != 0 || !serves(core, portal)) {
		stream->ops->close(stream, true);
		core_conn_gone(core);
		return;
	}
	conn_accept(core, stream, portal);
}

static void
accepted(struct listener *listener, struct stream *stream)
{
	struct core *core = listener->owner;
	unsigned place = core->place_next++ % core->reactor->count;
	struct target_mail mail = {
		.kind = MAIL_STREAM,
		.stream = { stream, (uint16_t)(listener - core->listeners) },
	};

	if (!serves(core, mail.stream.portal)) {
		stream->ops->close(stream, true);
		return;
	}
	if (core->accepted >= core->view->connections_max) {
		core_log_peer(core, "a connection was refused: %u are open, which is the limit",
		    core->accepted);
		stream->ops->close(stream, true);
		return;
	}
	core->accepted++;
	if (place == core->reactor->index) {
		conn_accept(core, stream, mail.stream.portal);
		return;
	}
	stream->ops->detach(stream);
	core_post(core, place, &mail);
}

void
core_accepts(struct core *core, struct listener *listener)
{
	listener->accepted = accepted;
	listener->owner = core;
}

static void
conn_gone(struct core *core)
{
	core->accepted--;
}

/* All connections are gone, and the controllers with them: nothing uses the volumes any more. */
void
core_maybe_drained(struct core *core)
{
	struct target_mail mail = { .kind = MAIL_DRAINED };

	if (!core->draining || core->conn_count > 0 || !list_empty(&core->assocs) || core->ordered_ios > 0 ||
	    !core->drain_timer.armed)
		return;
	timer_clear(&core->reactor->timers, &core->drain_timer);
	core_post(core, 0, &mail);
}

/* A connection of this core was closed and freed, or never became one. */
void
core_conn_gone(struct core *core)
{
	struct target_mail mail = { .kind = MAIL_CONN_GONE };

	core_post(core, 0, &mail);
	core_maybe_drained(core);
}

/* ---- the end ---- */

static void
drain_expired(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, drain_timer);

	/* Those that could not end by themselves; the rest of each follows its device. */
	timer_set(&core->reactor->timers, timer, core->reactor->now_ns + DRAIN_NS);
	list_for_each(&core->conns, node)
		conn_kill(container_of(node, struct conn, node));
	core_maybe_drained(core);
}

static void
drain(struct core *core)
{
	core->draining = true;
	core->drain_timer.fire = drain_expired;
	timer_set(&core->reactor->timers, &core->drain_timer, core->reactor->now_ns + DRAIN_NS);
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->phase == CONN_LIVE || conn->phase == CONN_LEAVING)
			conn_finish(conn);
		else if (conn->phase != CONN_FINISHING)
			conn_kill(conn);
	}
	core_maybe_drained(core);
}

static void
drained(struct core *core)
{
	if (--core->undrained == 0)
		events_finish(core);
}

void
target_drain(struct target *target, void (*on_drained)(void *owner), void *owner)
{
	struct core *core = target->cores[0];
	struct target_mail mail = { .kind = MAIL_DRAIN };

	if (core->undrained > 0)
		return;
	core->drained = on_drained;
	core->drained_owner = owner;
	core->undrained = core->reactor->count;
	for (uint32_t i = 0; i < TARGET_LISTENERS_MAX; i++)
		if (core->listeners[i].impl != NULL)
			core->reactor->world->unlisten(core->reactor, &core->listeners[i]);
	for (unsigned i = 0; i < core->reactor->count; i++)
		core_post(core, i, &mail);
}

/* ---- what it takes ---- */

size_t
target_queue_bytes(uint32_t entries)
{
	return entries * sizeof(struct request);
}

size_t
target_connection_bytes(void)
{
	return arena_takes(sizeof(struct conn), 0) + arena_takes(TARGET_INCAPSULE, 4096);
}

size_t
target_controller_bytes(void)
{
	return arena_takes(sizeof(struct assoc), 0) + arena_takes(ADMIN_OWN, 4096) + shown_bytes() +
	    registry_bytes() + wish_bytes();
}

size_t
target_subsys_bytes(void)
{
	return events_bytes();
}

size_t
target_volume_bytes(void)
{
	return reserve_bytes();
}

size_t
target_readers_bytes(void)
{
	return EVENTS_COPIES * sizeof(struct eventlog);
}

size_t
target_reactor_bytes(void)
{
	return sizeof(struct core) + sizeof(struct gather) + CTRL_PAGE_MAX + 2 * CTRL_ID_WORDS * sizeof(uint64_t) +
	    sight_bytes() + SCRATCH_PIECES * SCRATCH_BYTES + ADMIN_SMALL * BUFS_SMALL + ADMIN_LARGE * BUFS_LARGE +
	    TARGET_VOLUMES_MAX * (sizeof(struct blk_chan *) + sizeof(struct resv *) + sizeof(struct list)) +
	    SHARES * sizeof(struct share);
}

/* ---- start ---- */

int
target_create(struct arena *arena, const struct target_config *config, struct target **out, char why[256])
{
	struct target *target = arena_alloc(arena, sizeof(*target));
	int rc;

	snprintf(why, 256, "out of memory");
	if (target == NULL)
		return -ENOMEM;
	target->arena = arena;
	list_init(&target->state_files);
	target->keeper = config->keeper;
	if (config->state_dir != NULL && strlen(config->state_dir) >= sizeof(target->state_dir)) {
		snprintf(why, 256, "the name of the folder for states is too long");
		arena_free(arena, target);
		return -ENAMETOOLONG;
	}
	if (config->state_dir != NULL)
		memcpy(target->state_dir, config->state_dir, strlen(config->state_dir));
	rc = apply_first(target, config, why);
	if (rc == 0 && config->order != NULL)
		rc = ordered_load(target, config->order, why);
	if (rc != 0)
		arena_free(arena, target);
	else
		*out = target;
	return rc;
}

const struct target_listen *
target_bound(const struct target *target, uint32_t index)
{
	return &target->view->listen[target->portals[index]];
}


int
target_start(struct target *target, struct reactor *reactor, char why[256])
{
	struct core *core = arena_alloc(reactor->arena, sizeof(*core));
	int rc = -ENOMEM;

	snprintf(why, 256, "out of memory");
	if (core == NULL)
		return rc;
	core->target = target;
	core->reactor = reactor;
	core->key_next = reactor->index > 0 ? reactor->index : reactor->count;
	list_init(&core->conns);
	list_init(&core->assocs);
	for (unsigned i = 0; i < ASSOC_LISTS; i++)
		list_init(&core->assocs_by_key[i]);
	turn_begin(core);
	asked_begin(core);
	patience_begin(core);
	target->cores[reactor->index] = core;
	reactor->owner = core;
	reactor->on_mail = on_mail;
	core->gather = arena_alloc(reactor->arena, sizeof(*core->gather));
	core->page = arena_alloc(reactor->arena, CTRL_PAGE_MAX);
	if (core->gather != NULL && core->page != NULL && present_begin(core) == 0 && sight_begin(core) == 0 &&
	    share_begin(core) == 0 && scratch_begin(core) == 0 && admin_bufs_begin(core) == 0 &&
	    (reactor->index > 0 || registry_begin(core) == 0))
		rc = apply_begin(core, why);
	if (rc == 0)
		rc = ordered_core_begin(core, why);
	if (rc != 0)
		target_fini(target, reactor);
	return rc;
}

void
target_fini(struct target *target, struct reactor *reactor)
{
	struct core *core = target->cores[reactor->index];

	if (core == NULL)
		return;
	target->over = target->over || reactor->index == 0;
	turn_end(core);
	patience_end(core);
	core_log_end(core);
	ordered_core_end(core);
	apply_end(core);
	list_for_each(&core->assocs, node)
		arena_free(reactor->arena, container_of(node, struct assoc, node));
	arena_free(reactor->arena, core->gather);
	arena_free(reactor->arena, core->page);
	present_end(core);
	sight_end(core);
	scratch_end(core);
	share_end(core);
	admin_bufs_end(core);
	events_end(core);
	if (reactor->index == 0) {
		state_files_end(target);
		ordered_unload(target);
	}
	registry_end(core);
	arena_free(reactor->arena, core);
	target->cores[reactor->index] = NULL;
	reactor->owner = NULL;
}
