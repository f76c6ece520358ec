/*
 * anatt.c - ANA groups that are left in change: how long?
 *
 * Hosts are told ANATT, and wait for as long before they give up a path, or
 * reset their controller.  So a group that the config leaves in change at a
 * portal for longer is inaccessible there, until a config says another state,
 * or change anew; one that says nothing anew (target_config.again) leaves it so
 * (view.c).  Core 0's; it leads all cores to a view that is the same in all else.
 */
#include "target/core.h"
#include "target/wish.h"

enum { MS = 1000 * 1000, AGAIN_MS = 100 };

#define ANATT_NS ((uint64_t)CTRL_ANATT_S * 1000 * MS)

/* The groups of a view that is not in use yet, or of which nobody else looks at this. */
static struct ana_group *
groups_of(const struct view_subsys *subsys)
{
	return (struct ana_group *)(uintptr_t)subsys->info.ana;
}

static const struct ana_group *
group_before(const struct view_subsys *before, uint32_t id)
{
	for (uint32_t i = 0; before != NULL && i < before->info.ana_count; i++)
		if (before->info.ana[i].id == id)
			return &before->info.ana[i];
	return NULL;
}

void
anatt_note(struct core *core, const struct view *view, const struct view *old)
{
	for (uint32_t i = 0; i < view->subsys_count; i++) {
		const struct view_subsys *subsys = &view->subsys[i];
		const struct view_subsys *was = old != NULL ? view_subsys(old, subsys->info.nqn) : NULL;
		struct ana_group *groups = groups_of(subsys);

		for (uint32_t g = 0; g < subsys->info.ana_count; g++) {
			const struct ana_group *before = group_before(was, groups[g].id);

			for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++) {
				if (groups[g].state[n] != NVME_ANA_CHANGE)
					continue;
				groups[g].since_ns[n] = before != NULL && before->state[n] == NVME_ANA_CHANGE ?
				    before->since_ns[n] : core->reactor->now_ns;
			}
		}
	}
}

/* When the first of them ends; UINT64_MAX: none is in change. */
static uint64_t
first_end(const struct view *view)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < view->subsys_count; i++)
		for (uint32_t g = 0; g < view->subsys[i].info.ana_count; g++)
			for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++) {
				const struct ana_group *group = &view->subsys[i].info.ana[g];

				if (group->state[n] == NVME_ANA_CHANGE && group->since_ns[n] + ANATT_NS < first)
					first = group->since_ns[n] + ANATT_NS;
			}
	return first;
}

static void
wait_until(struct core *core, uint64_t at_ns)
{
	timer_clear(&core->reactor->timers, &core->anatt_timer);
	if (at_ns != UINT64_MAX)
		timer_set(&core->reactor->timers, &core->anatt_timer, at_ns);
}

/* In a view that nobody has yet. */
static void
end_group(struct core *core, struct view_subsys *subsys, struct ana_group *group)
{
	bool any = false;

	for (uint32_t n = 0; n < TARGET_LISTENERS_MAX; n++) {
		if (group->state[n] != NVME_ANA_CHANGE || group->since_ns[n] + ANATT_NS > core->reactor->now_ns)
			continue;
		group->state[n] = NVME_ANA_INACCESSIBLE;
		group->expired |= UINT32_C(1) << n;
		any = true;
		core_log(core, 1, "ANA group %u of %s has been in change for %u s at %s:%u: it is inaccessible there",
		    group->id, subsys->info.nqn, CTRL_ANATT_S, core->view->listen[n].host, core->view->listen[n].port);
	}
	group->changes += any;
	subsys->info.ana_changes += any;
}

static void
applied(struct target_applied *told, int rc, const char *why)
{
	const struct core *core = container_of(told, struct core, anatt_applied);
	struct target_keeper *keeper = core->target->keeper;

	(void)rc;
	(void)why;
	if (keeper != NULL && keeper->idle != NULL)
		keeper->idle(keeper);
}

static void
expired(struct timer *timer)
{
	struct core *core = container_of(timer, struct core, anatt_timer);
	struct target *target = core->target;
	struct view *view = NULL;

	if (core->draining)
		return;
	if (target->change == NULL)
		view = view_copy(target->arena, target->view);
	for (uint32_t i = 0; view != NULL && i < view->subsys_count; i++)
		for (uint32_t g = 0; g < view->subsys[i].info.ana_count; g++)
			end_group(core, &view->subsys[i], &groups_of(&view->subsys[i])[g]);
	/* What is being applied looks at all of it again; without memory it is late. */
	if (view == NULL || apply_view(core, view, &core->anatt_applied) != 0) {
		arena_free(target->arena, view);
		wait_until(core, core->reactor->now_ns + (uint64_t)AGAIN_MS * MS);
	}
}

void
anatt_wait(struct core *core)
{
	core->anatt_timer.fire = expired;
	core->anatt_applied.applied = applied;
	wait_until(core, first_end(core->target->view));
}
