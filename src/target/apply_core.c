/*
 * apply_core.c - what one core does of a change: its channels, its connections.
 *
 * It does not know what the others do; core 0 hears when this one is ready.
 */
#include "target/apply.h"
#include "target/assoc.h"
#include "target/command.h"

enum { RETIRE_NS = 1000 * 1000 };

/* ---- channels ---- */

int
apply_open_chan(struct core *core, uint16_t slot)
{
	struct blk *blk = core->target->volumes[slot].blk;

	share_ready(core, slot);
	reserve_take(core, slot, reserve_state(core->target, slot));
	return blk->ops->open_chan(blk, core->reactor, &core->chans[slot]);
}

void
apply_close_chan(struct core *core, uint32_t slot)
{
	if (core->chans[slot] == NULL)
		return;
	reserve_take(core, slot, NULL);
	core->chans[slot]->blk->ops->close_chan(core->chans[slot]);
	core->chans[slot] = NULL;
}

void
apply_prepare(struct core *core)
{
	const struct change *change = core->target->change;
	struct target_mail mail = { .kind = MAIL_PREPARED };

	for (uint32_t i = 0; i < change->opened_count && mail.failure == 0; i++)
		mail.failure = apply_open_chan(core, change->opened[i]);
	core_post(core, 0, &mail);
}

void
apply_discard(struct core *core)
{
	const struct change *change = core->target->change;
	struct target_mail mail = { .kind = MAIL_DISCARDED };

	for (uint32_t i = 0; i < change->opened_count; i++)
		apply_close_chan(core, change->opened[i]);
	core_post(core, 0, &mail);
}

/* ---- the view ---- */

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
	struct subsys_diff diff = { .old = NULL };

	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);
		const struct view_subsys *old = conn->subsys;

		if (old == NULL)
			continue;
		conn->subsys = view_subsys(view, old->info.nqn);
		if (conn->subsys == NULL)
			continue; /* it goes, and looks at its namespaces no more */
		subsys_compare(&old->info, &conn->subsys->info, &diff);
		present_update(conn, &diff);
	}
	list_for_each(&core->conns, node) {
		struct conn *conn = container_of(node, struct conn, node);

		if (conn->phase != CONN_DEAD && !may_stay(view, conn))
			conn_kill(conn);
	}
}

/* Closes what was given up and is idle; looks again soon where something is not. */
void
apply_retire(struct timer *timer)
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
		apply_close_chan(core, slot);
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

		for (uint32_t k = 0; k < subsys->ns_limit; k++) {
			uint16_t slot = volume_slot(subsys->ns[k].volume);

			if (subsys->ns[k].info != NULL)
				wanted[slot / 64] |= UINT64_C(1) << slot % 64;
		}
	}
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++)
		if (core->chans[slot] != NULL && !(wanted[slot / 64] >> slot % 64 & 1)) {
			core->retiring[slot / 64] |= UINT64_C(1) << slot % 64;
			terms_end(core, slot);
		}
	apply_retire(&core->retire_timer);
}

void
apply_take(struct core *core, const struct view *view)
{
	struct target_mail mail = { .kind = MAIL_SWITCHED };

	events_core_view(core, view);
	core->view = view;
	if (core->registry != NULL)
		registry_view(core);
	assoc_view(core, view);
	conns_take(core, view);
	terms_take(core, view);
	/* First this, then which volumes are idle already: unused() comes after applied(). */
	core_post(core, 0, &mail);
	give_up_others(core, view);
}
