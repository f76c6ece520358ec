/*
 * apply.c - from one view to the next, on all cores, whole or not at all.
 *
 * Core 0 leads.  First what can fail: the view is made, what was kept of new
 * volumes is read, new addresses are listened on, every core opens its channels
 * to new volumes (PREPARE).  If any of it fails, it is undone (DISCARD) and
 * nothing has changed.  Then what cannot:
 * every core takes the view, tells its controllers, and ends whoever may not be
 * connected any more (SWITCH).  When all have, the old view goes, and the
 * addresses that it had alone; and each core closes its channels to volumes that
 * were given up as soon as nothing of them is in flight or lent (RETIRED).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/core.h"

enum { RETIRE_NS = 1000 * 1000, SLOT_NONE = UINT16_MAX };

/* A config that is being applied; core 0's. */
struct change {
	struct view *view;           /* that it leads to */
	uint32_t left;               /* cores that have not answered */
	int error;                   /* of the first that failed */
	struct view_numbers numbers;
	uint16_t asker;              /* the controller whose host wished it; 0: the operator */
	uint32_t portals_new;        /* bit n: portal n is of the new view alone */
	uint16_t slots[TARGET_VOLUMES_MAX]; /* of the new view's namespaces */
	uint16_t opened[TARGET_VOLUMES_MAX]; /* of them those that are of no view yet */
	uint32_t opened_count;
};

static void
to_all(struct core *core, enum target_mail_kind kind)
{
	struct target_mail mail = { .kind = (uint16_t)kind };

	if (kind == MAIL_SWITCH)
		mail.view = core->target->view;
	core->target->change->left = core->reactor->count;
	for (unsigned i = 0; i < core->reactor->count; i++)
		core_post(core, i, &mail);
}

/* ---- numbers of volumes and portals ---- */

static uint16_t
volume_find(const struct target *target, const struct blk *blk)
{
	return target->volumes[blk->number].blk == blk ? (uint16_t)blk->number : SLOT_NONE;
}

static uint16_t
volume_add(struct target *target, struct blk *blk)
{
	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++) {
		uint32_t slot = (target->volume_next + i) % TARGET_VOLUMES_MAX;

		if (target->volumes[slot].blk != NULL)
			continue;
		target->volumes[slot] = (struct target_volume){ .blk = blk };
		blk->number = slot;
		target->volume_next = slot + 1;
		return (uint16_t)slot;
	}
	return SLOT_NONE;
}

/* Gives every volume of the config a number. */
static int
number_volumes(struct target *target, const struct target_config *config, struct change *change, char why[256])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++)
		target->volumes[i].wanted = false;
	for (uint32_t i = 0; i < config->subsys_count; i++) {
		for (uint32_t k = 0; k < config->subsys[i].ns_count; k++) {
			struct blk *blk = config->subsys[i].ns[k].volume;
			uint16_t slot = volume_find(target, blk);

			if (slot != SLOT_NONE && target->volumes[slot].left > 0) {
				snprintf(why, 256, "%.180s: it is still being given up", blk->spec);
				return -EBUSY;
			}
			if (slot == SLOT_NONE) {
				slot = volume_add(target, blk);
				if (slot != SLOT_NONE)
					change->opened[change->opened_count++] = slot;
			}
			if (slot == SLOT_NONE || target->volumes[slot].wanted) {
				snprintf(why, 256, "%.180s: %s", blk->spec, slot != SLOT_NONE ? "in two namespaces" :
				    "too many volumes, with those that are being given up");
				return -EINVAL;
			}
			target->volumes[slot].wanted = true;
			change->slots[count++] = slot;
		}
	}
	change->numbers.slots = change->slots;
	return 0;
}

/* The portal of an address that is listened on already; TARGET_LISTENERS_MAX: of none. */
static uint32_t
portal_find(const struct view *view, const struct target_listen *listen)
{
	uint32_t n = 0;

	if (view == NULL)
		return TARGET_LISTENERS_MAX;
	while (n < TARGET_LISTENERS_MAX && !(view->portals_used >> n & 1 &&
	    view->listen[n].port == listen->port && strcmp(view->listen[n].host, listen->host) == 0))
		n++;
	return n;
}

/* An address keeps its number; a new one gets a free one. */
static int
number_portals(const struct view *old, const struct target_config *config, struct change *change, char why[256])
{
	uint32_t taken = old != NULL ? old->portals_used : 0;

	for (uint32_t i = 0; i < config->listen_count; i++) {
		uint32_t n = portal_find(old, &config->listen[i]);

		if (n == TARGET_LISTENERS_MAX) {
			n = 0;
			while (n < TARGET_LISTENERS_MAX && taken >> n & 1)
				n++;
			if (n == TARGET_LISTENERS_MAX) {
				snprintf(why, 256, "more than %d listeners, with those that are being given up", TARGET_LISTENERS_MAX);
				return -EINVAL;
			}
			change->portals_new |= UINT32_C(1) << n;
		}
		taken |= UINT32_C(1) << n;
		change->numbers.portal[i] = (uint8_t)n;
	}
	return 0;
}

/* ---- undoing ---- */

static void
forget_opened(struct target *target, struct change *change)
{
	for (uint32_t i = 0; i < change->opened_count; i++) {
		reserve_forget(target, change->opened[i]);
		target->volumes[change->opened[i]].blk = NULL;
	}
	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++)
		target->volumes[i].wanted = target->volumes[i].blk != NULL && target->volumes[i].left == 0;
	events_forget_new(target);
}

/* A target that is being drained has closed them all. */
static void
unlisten(struct core *core, uint32_t portals)
{
	for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++)
		if (portals >> n & 1 && core->listeners[n].impl != NULL)
			core->reactor->world->unlisten(core->reactor, &core->listeners[n]);
}

static void
change_free(struct target *target)
{
	arena_free(target->arena, target->change->view);
	arena_free(target->arena, target->change);
	target->change = NULL;
}

/* ---- what can fail ---- */

/* Numbers, and a view; on failure nothing is left of it. */
static int
change_make(struct target *target, const struct target_config *config, char why[256])
{
	struct change *change;
	int rc = view_check(config, why);

	if (rc != 0)
		return rc;
	change = arena_alloc(target->arena, sizeof(*change));
	snprintf(why, 256, "out of memory");
	if (change == NULL)
		return -ENOMEM;
	target->change = change;
	rc = number_volumes(target, config, change, why);
	if (rc == 0)
		rc = number_portals(target->view, config, change, why);
	if (rc == 0) {
		change->numbers.keeps = target->state_dir[0] != '\0';
		change->view = view_make(target->arena, config, &change->numbers, target->view);
		rc = change->view != NULL ? reserve_names(target, change->view, why) : -ENOMEM;
	}
	if (rc != 0) {
		forget_opened(target, change);
		change_free(target);
	}
	return rc;
}

/* Listens on the new addresses; all of them, or none. */
static int
listen_new(struct core *core, struct change *change, char why[256])
{
	for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++) {
		struct target_listen *at = &change->view->listen[n];
		struct listener *listener = &core->listeners[n];
		int rc;

		if (!(change->portals_new >> n & 1))
			continue;
		*listener = (struct listener){ .port = at->port };
		snprintf(listener->host, sizeof(listener->host), "%s", at->host);
		core_accepts(core, listener);
		rc = core->reactor->world->listen(core->reactor, listener);
		if (rc != 0) {
			snprintf(why, 256, "cannot listen on %s:%u: %s", at->host, at->port, strerror(-rc));
			unlisten(core, change->portals_new & ((UINT32_C(1) << n) - 1));
			return rc;
		}
		snprintf(at->host, sizeof(at->host), "%.*s", (int)sizeof(at->host) - 1, listener->host);
		at->port = listener->port;
		change->view->portals[n] = view_portal(at);
	}
	return 0;
}

/* What was kept of the volumes and of the subsystems that are new. */
static int
load_new(struct core *core, struct view *view, char why[256])
{
	const struct change *change = core->target->change;
	int rc = 0;

	for (uint32_t i = 0; i < change->opened_count && rc == 0; i++)
		rc = reserve_load(core, change->opened[i], why);
	return rc == 0 ? events_prepare(core, view, why) : rc;
}

static int
open_chan(struct core *core, uint16_t slot)
{
	struct blk *blk = core->target->volumes[slot].blk;

	reserve_take(core, slot, reserve_state(core->target, slot));
	return blk->ops->open_chan(blk, core->reactor, &core->chans[slot]);
}

static void
close_chan(struct core *core, uint32_t slot)
{
	if (core->chans[slot] == NULL)
		return;
	reserve_take(core, slot, NULL);
	core->chans[slot]->blk->ops->close_chan(core->chans[slot]);
	core->chans[slot] = NULL;
}

static void
prepare(struct core *core)
{
	const struct change *change = core->target->change;
	struct target_mail mail = { .kind = MAIL_PREPARED };

	for (uint32_t i = 0; i < change->opened_count && mail.failure == 0; i++)
		mail.failure = open_chan(core, change->opened[i]);
	core_post(core, 0, &mail);
}

static void
discard(struct core *core)
{
	const struct change *change = core->target->change;
	struct target_mail mail = { .kind = MAIL_DISCARDED };

	for (uint32_t i = 0; i < change->opened_count; i++)
		close_chan(core, change->opened[i]);
	core_post(core, 0, &mail);
}

/* No core has a channel to the new volumes any more: they are the caller's again. */
static void
discarded(struct core *core)
{
	struct target *target = core->target;
	struct change *change = target->change;
	struct target_applied *applied = target->applied;
	struct blk **unused = (void *)core->page; /* where nothing else is now */
	uint32_t count = change->opened_count;
	int error = change->error;
	char why[256];

	static_assert(TARGET_VOLUMES_MAX * sizeof(*unused) <= CTRL_PAGE_MAX, "all volumes there can be");
	if (--change->left > 0)
		return;
	snprintf(why, sizeof(why), "a volume cannot be opened: %s", strerrordesc_np(-error));
	unlisten(core, change->portals_new);
	for (uint32_t i = 0; i < count; i++)
		unused[i] = target->volumes[change->opened[i]].blk;
	forget_opened(target, change);
	change_free(target);
	applied->applied(applied, error, why);
	for (uint32_t i = 0; i < count; i++)
		applied->unused(applied, unused[i]);
}

/* All is there: every core shall take the view. */
static void
switch_all(struct core *core)
{
	struct target *target = core->target;
	struct change *change = target->change;
	struct view *old = target->view;

	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++) {
		struct target_volume *volume = &target->volumes[i];

		if (volume->blk == NULL || volume->wanted || volume->left > 0)
			continue;
		volume->left = core->reactor->count;
		volume->applied = target->applied;
	}
	anatt_note(core, change->view, old);
	events_switch(core, old, change->view, change->asker);
	/* `change` keeps the old one, which goes when no core refers to it any more. */
	target->view = change->view;
	memcpy(target->portals, change->numbers.portal, sizeof(target->portals));
	change->view = old;
	to_all(core, MAIL_SWITCH);
}

/* Every core is ready, or one is not. */
static void
prepared(struct core *core, int error)
{
	struct change *change = core->target->change;

	if (error != 0 && change->error == 0)
		change->error = error;
	if (--change->left > 0)
		return;
	if (change->error != 0)
		to_all(core, MAIL_DISCARD);
	else
		switch_all(core);
}

int
apply_view(struct core *core, struct view *view, struct target_applied *applied)
{
	struct target *target = core->target;
	struct change *change = arena_alloc(target->arena, sizeof(*change));

	assert(target->change == NULL);
	if (change == NULL)
		return -ENOMEM;
	change->view = view;
	memcpy(change->numbers.portal, target->portals, sizeof(target->portals));
	target->change = change;
	target->applied = applied;
	switch_all(core);
	return 0;
}

/* ---- what cannot ---- */

static bool
may_stay(const struct view *view, const struct conn *conn)
{
	if (!(view->portals_used >> conn->portal & 1))
		return false;
	/* Its controller will close it too, by a mail that may come after much else. */
	return !conn->attached ||
	    (conn->subsys != NULL && view_admits(conn->subsys, conn->portal, conn->hostnqn));
}

static void
conns_take(struct core *core, const struct view *view)
{
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->subsys != NULL)
			conn->subsys = view_subsys(view, conn->subsys->info.nqn);
		present_conn(conn);
	}
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->phase != CONN_DEAD && !may_stay(view, conn))
			conn_kill(conn);
	}
}

/* Closes what was given up and is idle; looks again soon where something is not. */
static void
retire(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, retire_timer);
	struct target_mail mail = { .kind = MAIL_RETIRED };
	bool more = false;

	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++) {
		if (!(core->retiring[slot / 64] >> slot % 64 & 1))
			continue;
		if (core->chans[slot]->busy > 0 || reserve_busy(core, slot)) {
			more = true;
			continue;
		}
		core->retiring[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		close_chan(core, slot);
		mail.slot = (uint16_t)slot;
		core_post(core, 0, &mail);
	}
	if (more)
		timer_set(&core->reactor->timers, timer, core->reactor->now_ns + RETIRE_NS);
}

/* Those with a channel here that are not of the view. */
static void
give_up_others(struct core *core, const struct view *view)
{
	uint64_t wanted[TARGET_VOLUMES_MAX / 64] = { 0 };

	for (uint32_t i = 0; i < view->subsys_count; i++) {
		const struct view_subsys *subsys = &view->subsys[i];

		for (uint32_t k = 0; k < subsys->ns_limit; k++)
			if (subsys->ns[k].info != NULL)
				wanted[subsys->ns[k].slot / 64] |= UINT64_C(1) << subsys->ns[k].slot % 64;
	}
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++)
		if (core->chans[slot] != NULL && !(wanted[slot / 64] >> slot % 64 & 1))
			core->retiring[slot / 64] |= UINT64_C(1) << slot % 64;
	retire(&core->retire_timer);
}

static void
take_view(struct core *core, const struct view *view)
{
	struct target_mail mail = { .kind = MAIL_SWITCHED };

	events_core_view(core, view);
	core->view = view;
	if (core->registry != NULL)
		registry_view(core);
	assoc_view(core, view);
	conns_take(core, view);
	/* First this, then which volumes are idle already: unused() comes after applied(). */
	core_post(core, 0, &mail);
	give_up_others(core, view);
}

static void
switched(struct core *core)
{
	struct target *target = core->target;
	struct change *change = target->change;

	if (--change->left > 0)
		return;
	unlisten(core, change->view->portals_used & ~target->view->portals_used);
	change_free(target);
	anatt_wait(core);
	target->applied->applied(target->applied, 0, NULL);
}

static void
retired(struct core *core, uint16_t slot)
{
	struct target_volume *volume = &core->target->volumes[slot];
	struct blk *blk = volume->blk;

	if (--volume->left > 0)
		return;
	reserve_forget(core->target, slot);
	volume->blk = NULL;
	volume->applied->unused(volume->applied, blk);
}

void
apply_mail(struct core *core, const struct target_mail *mail)
{
	switch ((enum target_mail_kind)mail->kind) {
	case MAIL_PREPARE:
		prepare(core);
		return;
	case MAIL_PREPARED:
		prepared(core, mail->failure);
		return;
	case MAIL_DISCARD:
		discard(core);
		return;
	case MAIL_DISCARDED:
		discarded(core);
		return;
	case MAIL_SWITCH:
		take_view(core, mail->view);
		return;
	case MAIL_SWITCHED:
		switched(core);
		return;
	case MAIL_RETIRED:
		retired(core, mail->slot);
		return;
	default:
		assert(false); /* not for us */
	}
}

/* ---- beginning ---- */

bool
target_busy(const struct target *target)
{
	return target->change != NULL;
}

int
target_apply(struct target *target, const struct target_config *config, struct target_applied *applied,
    char why[256])
{
	struct core *core = target->cores[0];
	int rc;

	if (target->change != NULL || core->draining) {
		snprintf(why, 256, core->draining ? "the target is stopping" : "another configuration is being applied");
		return -EBUSY;
	}
	rc = change_make(target, config, why);
	if (rc != 0)
		return rc;
	target->change->asker = config->asker;
	rc = load_new(core, target->change->view, why);
	if (rc == 0)
		rc = listen_new(core, target->change, why);
	if (rc != 0) {
		forget_opened(target, target->change);
		change_free(target);
		return rc;
	}
	target->applied = applied;
	to_all(core, MAIL_PREPARE);
	return 0;
}

/* The first view, before any core runs; `change` stands until core 0 listens. */
int
apply_first(struct target *target, const struct target_config *config, char why[256])
{
	int rc = change_make(target, config, why);

	if (rc != 0)
		return rc;
	target->view = target->change->view;
	memcpy(target->portals, target->change->numbers.portal, sizeof(target->portals));
	return 0;
}

/* A core's part of it. */
int
apply_begin(struct core *core, char why[256])
{
	struct target *target = core->target;
	int rc = 0;

	core->view = target->view;
	core->retire_timer.fire = retire;
	core->chans = arena_alloc(core->reactor->arena, TARGET_VOLUMES_MAX * sizeof(struct blk_chan *));
	if (core->chans == NULL || reserve_core_begin(core) != 0)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++) {
		if (target->volumes[slot].blk == NULL)
			continue;
		rc = open_chan(core, (uint16_t)slot);
		if (rc != 0) {
			snprintf(why, 256, "cannot open %.180s: %s", target->volumes[slot].blk->spec, strerror(-rc));
			return rc;
		}
	}
	if (core->reactor->index > 0)
		return 0;
	anatt_note(core, target->view, NULL);
	anatt_wait(core);
	rc = load_new(core, target->view, why);
	for (unsigned i = 0; i < core->reactor->count && rc == 0; i++)
		for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX && target->cores[i] != NULL; slot++)
			if (target->volumes[slot].reserve != NULL)
				reserve_take(target->cores[i], slot, reserve_state(target, slot));
	if (rc != 0)
		return rc;
	rc = listen_new(core, target->change, why);
	if (rc == 0)
		events_switch(core, NULL, target->view, 0);
	target->change->view = NULL;
	change_free(target);
	return rc;
}

void
apply_end(struct core *core)
{
	timer_clear(&core->reactor->timers, &core->retire_timer);
	timer_clear(&core->reactor->timers, &core->anatt_timer);
	events_core_end(core);
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX && core->chans != NULL; slot++)
		close_chan(core, slot);
	arena_free(core->reactor->arena, core->chans);
	reserve_core_end(core);
	reserve_end(core);
}
