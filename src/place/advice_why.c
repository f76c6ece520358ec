/*
 * advice_why.c - what a workload adds to what its disk costs, and what it would add elsewhere.
 */
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/advice_inside.h"

/* A disk's workloads with one more, as they come, or without it; how many. */
static uint32_t
list_with(const struct advice *advice, const uint32_t *list, uint32_t count, uint32_t workload, uint32_t *out)
{
	double arrival_days = advice->problem.workloads[workload].arrival_days;
	uint32_t put = 0, at = 0;

	while (at < count && advice->problem.workloads[list[at]].arrival_days <= arrival_days)
		out[put++] = list[at++];
	out[put++] = workload;
	while (at < count)
		out[put++] = list[at++];
	return put;
}

static uint32_t
list_without(const uint32_t *list, uint32_t count, uint32_t workload, uint32_t *out)
{
	uint32_t put = 0;

	for (uint32_t i = 0; i < count; i++)
		if (list[i] != workload)
			out[put++] = list[i];
	return put;
}

static double
usd_of(const struct advice *advice, uint32_t kind, const uint32_t *list, uint32_t count)
{
	struct advice_disk disk = advice_play(advice, kind, list, count);

	return advice_usd(&disk.money);
}

/* Whether it would have a place beside what is there. */
static enum disk_refusal
refusal(const struct advice *advice, uint32_t kind, const struct advice_disk *beside, const struct workload *workload)
{
	struct disk disk;

	disk_init(&disk, &advice->models[kind], 0);
	if (beside != NULL) {
		disk.used_gb = beside->room * disk.model->capacity_gb;
		disk.used_iops = beside->iops * disk.model->iops;
	}
	return advice_refuses(&advice->problem, &disk, workload);
}

static void
offer(struct advice_reason *reason, double usd, uint32_t disk, uint32_t kind)
{
	if (usd >= reason->next_usd)
		return;
	reason->next_usd = usd;
	reason->next_disk = disk;
	reason->next_kind = kind;
}

static uint32_t
disks_of(const struct search_plan *plan, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t disk = 0; disk < plan->disks; disk++)
		count += plan->kind_of[disk] == kind;
	return count;
}

static size_t
most_on_a_disk(const struct advice_layout *layout)
{
	uint32_t most = 0;

	for (uint32_t disk = 0; disk < layout->count; disk++)
		most = layout->disks[disk].workloads > most ? layout->disks[disk].workloads : most;
	return most;
}

/* What a disk costs with one workload in place of another; INFINITY: it has no room for that. */
static double
usd_in_place(const struct advice *advice, const struct advice_layout *layout, uint32_t disk, uint32_t out, uint32_t in,
    uint32_t *list)
{
	const struct workload *workloads = advice->problem.workloads;
	struct advice_disk d = layout->disks[disk];
	const struct disk_model *model = &advice->models[d.kind];
	uint32_t count = list_without(&layout->list[layout->first[disk]], d.workloads, out, list);

	d.room -= workloads[out].working_set_gb / model->capacity_gb;
	d.iops -= disk_iops_for(model, &workloads[out]) / model->iops;
	if (refusal(advice, d.kind, &d, &workloads[in]) != DISK_TAKES)
		return INFINITY;
	count = list_with(advice, list, count, in, list + d.workloads);
	return usd_of(advice, d.kind, list + d.workloads, count);
}

static void
find_exchange(struct advice_reason *reason, const struct advice *advice, const struct advice_layout *layout,
    const struct search_plan *plan, uint32_t workload, uint32_t *list)
{
	uint32_t own = plan->disk_of[workload];

	for (uint32_t other = 0; other < advice->problem.workload_count; other++) {
		uint32_t disk = plan->disk_of[other];
		double usd;

		if (disk == own || disk == SEARCH_NOWHERE)
			continue;
		usd = usd_in_place(advice, layout, own, workload, other, list) - advice_usd(&layout->disks[own].money) +
		    usd_in_place(advice, layout, disk, other, workload, list) - advice_usd(&layout->disks[disk].money);
		if (usd < reason->exchange_usd) {
			reason->exchange_usd = usd;
			reason->exchange = other;
		}
	}
}

/* Its own disk without it. */
static void
see_own(struct advice_reason *reason, const struct advice *advice, const struct advice_layout *layout, uint32_t own,
    uint32_t workload, uint32_t *list)
{
	const struct advice_disk *d = &layout->disks[own];
	uint32_t count = list_without(&layout->list[layout->first[own]], d->workloads, workload, list);
	struct advice_disk without = advice_play(advice, d->kind, list, count);

	reason->usd = advice_usd(&d->money) - advice_usd(&without.money);
	reason->wear = d->wear - (count > 0 ? without.wear : advice->problem.kinds[d->kind].worn_gb /
	    advice->models[d->kind].endurance_gb);
}

/* Other disks of the plan, and new ones. */
static void
see_others(struct advice_reason *reason, const struct advice *advice, const struct advice_layout *layout,
    const struct search_plan *plan, uint32_t workload, uint32_t *list)
{
	const struct workload *w = &advice->problem.workloads[workload];
	uint32_t own = plan->disk_of[workload], count;
	bool alone = layout->disks[own].workloads == 1;

	for (uint32_t disk = 0; disk < layout->count; disk++) {
		const struct advice_disk *d = &layout->disks[disk];
		enum disk_refusal why = refusal(advice, d->kind, d, w);

		if (disk == own)
			continue;
		reason->full += why == DISK_FULL;
		reason->slow += why == DISK_SLOW;
		if (why != DISK_TAKES)
			continue;
		count = list_with(advice, &layout->list[layout->first[disk]], d->workloads, workload, list);
		offer(reason, usd_of(advice, d->kind, list, count) - advice_usd(&d->money), disk, d->kind);
	}
	for (uint32_t kind = 0; kind < advice->problem.kind_count; kind++)
		if (!(alone && kind == plan->kind_of[own]) && refusal(advice, kind, NULL, w) == DISK_TAKES &&
		    disks_of(plan, kind) < advice->problem.kinds[kind].disks_max)
			offer(reason, usd_of(advice, kind, &workload, 1), SEARCH_NOWHERE, kind);
}

int
advice_why(struct advice_reason *reason, struct arena *arena, const struct advice *advice,
    const struct advice_layout *layout, const struct search_plan *plan, uint32_t workload, bool exchanges)
{
	uint32_t *list = arena_alloc(arena, 2 * (most_on_a_disk(layout) + 1) * sizeof(*list));

	if (list == NULL)
		return -ENOMEM;
	*reason = (struct advice_reason){
		.next_usd = INFINITY, .next_disk = SEARCH_NOWHERE, .exchange_usd = INFINITY, .exchange = SEARCH_NOWHERE,
	};
	see_own(reason, advice, layout, plan->disk_of[workload], workload, list);
	see_others(reason, advice, layout, plan, workload, list);
	if (exchanges)
		find_exchange(reason, advice, layout, plan, workload, list);
	arena_free(arena, list);
	return 0;
}
