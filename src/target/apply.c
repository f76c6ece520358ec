/*
 * apply.c - from one view to the next, on all cores, whole or not at all.
 *
 * Core 0 leads.  First what can fail: the view is made, what was kept of new
 * volumes is read (in an errand: hosts are served meanwhile), new addresses are
 * listened on, every core opens its channels to new volumes (PREPARE).  If any of it fails, it is undone (DISCARD) and
 * nothing has changed.  Then what cannot:
 * every core takes the view, tells its controllers, and ends whoever may not be
 * connected any more (SWITCH).  When all have, the old view goes, and the
 * addresses that it had alone; and each core closes its channels to volumes that
 * were given up as soon as nothing of them is in flight or lent (RETIRED).
 *
 * apply_make.c says what is new in a config, apply_core.c is one core's part.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/apply.h"
#include "target/assoc.h"
#include "target/command.h"

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

/* Or about to begin with that. */
static bool
stopping(const struct core *core)
{
	return core->draining || core->undrained > 0;
}

/* A target that is being drained has closed them all. */
static void
unlisten(struct core *core, uint32_t portals)
{
	for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++)
		if (portals >> n & 1 && core->listeners[n].impl != NULL)
			core->reactor->world->unlisten(core->reactor, &core->listeners[n]);
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
		/* The host stays as it was said, as the next config will say it: of a zone there are two forms. */
		at->port = listener->port;
		change->view->portals[n] = view_portal(at);
	}
	return 0;
}

/* ---- what was kept of the volumes and of the subsystems that are new ---- */

/* `reads`: there may be any. */
static int
load_begin(struct core *core, struct view *view, bool *reads, char why[256])
{
	const struct change *change = core->target->change;
	int rc = 0;

	*reads = false;
	for (uint32_t i = 0; i < change->opened_count && rc == 0; i++)
		rc = reserve_load_begin(core, change->opened[i], reads);
	if (rc != 0)
		snprintf(why, 256, "out of memory");
	return rc == 0 ? events_prepare(core, view, reads, why) : rc;
}

/* In an errand, or before anything is served. */
static void
load(struct errand *errand)
{
	struct change *change = container_of(errand, struct change, errand);
	struct target *target = errand->owner;

	change->error = 0;
	for (uint32_t i = 0; i < change->opened_count && change->error == 0; i++)
		change->error = reserve_load(target, change->opened[i], change->why);
	if (change->error == 0)
		change->error = events_load(target, change->why);
}

/* It is used from now on. */
static int
load_end(struct target *target)
{
	struct change *change = target->change;
	int rc = change->error;

	for (uint32_t i = 0; i < change->opened_count && rc == 0; i++)
		rc = reserve_loaded(target, change->opened[i]);
	if (rc == 0)
		rc = events_loaded(target);
	if (rc != 0 && change->why[0] == '\0')
		snprintf(change->why, sizeof(change->why), "what was kept cannot be read: %s", strerrordesc_np(-rc));
	return rc;
}

/* Nothing has changed: the new volumes are the caller's again. */
static void
undone(struct core *core, int error)
{
	struct target *target = core->target;
	struct change *change = target->change;
	struct target_applied *applied = target->applied;
	struct blk **unused = (void *)core->page; /* where nothing else is now */
	uint32_t count = change->opened_count;
	char why[256];

	static_assert(TARGET_VOLUMES_MAX * sizeof(*unused) <= CTRL_PAGE_MAX, "all volumes there can be");
	memcpy(why, change->why, sizeof(why));
	for (uint32_t i = 0; i < count; i++)
		unused[i] = target->volumes[change->opened[i]].blk;
	change_forget(target, change);
	change_free(target);
	applied->applied(applied, error, why);
	for (uint32_t i = 0; i < count; i++)
		applied->unused(applied, unused[i]);
}

static void
loaded(struct errand *errand)
{
	struct change *change = container_of(errand, struct change, errand);
	struct core *core = ((struct target *)errand->owner)->cores[0];
	int rc = load_end(core->target);

	if (rc == 0 && stopping(core)) {
		snprintf(change->why, sizeof(change->why), "the target is stopping");
		rc = -EBUSY;
	}
	if (rc == 0)
		rc = listen_new(core, change, change->why);
	if (rc == 0)
		to_all(core, MAIL_PREPARE);
	else
		undone(core, rc);
}

/* ---- all cores ---- */

/* No core has a channel to the new volumes any more. */
static void
discarded(struct core *core)
{
	struct change *change = core->target->change;

	if (--change->left > 0)
		return;
	snprintf(change->why, sizeof(change->why), "a volume cannot be opened: %s", strerrordesc_np(-change->error));
	unlisten(core, change->portals_new);
	undone(core, change->error);
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
		apply_prepare(core);
		return;
	case MAIL_PREPARED:
		prepared(core, mail->failure);
		return;
	case MAIL_DISCARD:
		apply_discard(core);
		return;
	case MAIL_DISCARDED:
		discarded(core);
		return;
	case MAIL_SWITCH:
		apply_take(core, mail->view);
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
	bool reads;
	int rc;

	if (target->change != NULL || stopping(core)) {
		snprintf(why, 256, stopping(core) ? "the target is stopping" :
		    "another configuration is being applied");
		return -EBUSY;
	}
	rc = change_make(target, config, why);
	if (rc != 0)
		return rc;
	target->change->asker = config->asker;
	target->applied = applied;
	rc = load_begin(core, target->change->view, &reads, why);
	if (rc == 0 && reads) {
		target->change->errand = (struct errand){ .run = load, .done = loaded, .owner = target };
		core->reactor->world->errand(core->reactor, &target->change->errand);
		return 0;
	}
	if (rc == 0)
		rc = listen_new(core, target->change, why);
	if (rc == 0) {
		to_all(core, MAIL_PREPARE);
		return 0;
	}
	change_forget(target, target->change);
	change_free(target);
	return rc;
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

/* Counting goes on from the date: a host that comes back after another start of the target finds a greater number than
 * it knows, and reads the log anew. */
static void
begin_generation(struct core *core, struct view *view)
{
	view->discovery.genctr = core->reactor->world->wall_ms(core->reactor);
}

/* Nothing is served yet that could not wait. */
static int
load_first(struct core *core, char why[256])
{
	struct target *target = core->target;
	struct change *change = target->change;
	bool reads;
	int rc = load_begin(core, target->view, &reads, why);

	if (rc != 0 || !reads)
		return rc;
	change->errand.owner = target;
	load(&change->errand);
	rc = load_end(target);
	if (rc != 0)
		memcpy(why, change->why, sizeof(change->why));
	return rc;
}

/* A core's part of it. */
int
apply_begin(struct core *core, char why[256])
{
	struct target *target = core->target;
	int rc = 0;

	core->view = target->view;
	core->retire_timer.fire = apply_retire;
	core->chans = arena_alloc(core->reactor->arena, TARGET_VOLUMES_MAX * sizeof(struct blk_chan *));
	if (core->chans == NULL || reserve_core_begin(core) != 0)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++) {
		if (target->volumes[slot].blk == NULL)
			continue;
		rc = apply_open_chan(core, (uint16_t)slot);
		if (rc != 0) {
			snprintf(why, 256, "cannot open %.180s: %s", target->volumes[slot].blk->spec, strerror(-rc));
			return rc;
		}
	}
	terms_take(core, core->view);
	if (core->reactor->index > 0)
		return 0;
	begin_generation(core, target->change->view);
	anatt_note(core, target->view, NULL);
	anatt_wait(core);
	rc = load_first(core, why);
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
		apply_close_chan(core, slot);
	arena_free(core->reactor->arena, core->chans);
	reserve_core_end(core);
	reserve_end(core);
}
