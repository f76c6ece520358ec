/*
 * advice_disks.c - what becomes of each disk of a plan: by replay of its workloads.
 */
#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "place/advice_inside.h"

static const double DAYS_PER_YEAR = 365;

double
advice_days(const struct advice *advice)
{
	return advice->order->years * DAYS_PER_YEAR;
}

double
advice_usd(const struct advice_money *money)
{
	return money->bought_usd + money->replaced_usd + money->power_usd + money->labour_usd;
}

/* With the workloads that have come by then; `worn_days`, where it is wanted, is when it is worn out by these. */
static struct disk
play(const struct advice *advice, uint32_t kind, const uint32_t *list, uint32_t count, double until_days,
    double *worn_days)
{
	const struct search_kind *k = &advice->problem.kinds[kind];
	struct disk disk;

	disk_init(&disk, k->model, k->worn_gb);
	for (uint32_t i = 0; i < count; i++) {
		const struct workload *w = &advice->problem.workloads[list[i]];

		if (w->arrival_days > until_days)
			break;
		if (worn_days != NULL && isinf(*worn_days) && disk.used && disk_is_worn(&disk, w->arrival_days))
			*worn_days = disk_death_days(&disk);
		disk_put(&disk, w, w->arrival_days);
	}
	if (worn_days != NULL && isinf(*worn_days))
		*worn_days = disk_death_days(&disk);
	return disk;
}

struct advice_disk
advice_play(const struct advice *advice, uint32_t kind, const uint32_t *list, uint32_t count)
{
	const struct advice_kind *k = &advice->order->kinds[kind];
	const struct disk_model *model = &advice->models[kind];
	struct advice_disk d = { .kind = kind, .workloads = count, .worn_days = INFINITY };
	double days = advice_days(advice), power = k->model->power_usd_per_day, drives;
	struct disk disk = play(advice, kind, list, count, days, &d.worn_days);

	if (count == 0)
		return d;
	drives = advice->order->set > 0 ? advice->order->set : 1;
	d.room = disk.used_gb / model->capacity_gb;
	d.iops = disk.used_iops / model->iops;
	d.write_gb_per_day = disk.rate_gb_per_day;
	d.seq_ratio = disk_seq_ratio(&disk);
	d.waf = disk_waf(&disk);
	d.first_days = disk.first_days;
	d.wear = disk_worn_gb(&disk, days) / model->endurance_gb;
	d.money.bought_usd = k->owned ? 0 : model->initial_usd;
	d.money.replaced_usd = d.wear > 1 ? (d.wear - 1) * model->initial_usd : 0;
	d.money.power_usd = power * drives * (days - disk.first_days);
	d.money.labour_usd = (model->usd_per_day - power * drives) * (days - disk.first_days);
	return d;
}

/* The workloads that have a place, by disk, and as they come. */
static void
sort_in(struct advice_layout *layout, const struct search_plan *plan, const uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (plan->disk_of[i] != SEARCH_NOWHERE)
			layout->first[plan->disk_of[i] + 1]++;
	for (uint32_t disk = 0; disk < plan->disks; disk++)
		layout->first[disk + 1] += layout->first[disk];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t disk = plan->disk_of[order[i]];

		if (disk != SEARCH_NOWHERE)
			layout->list[layout->first[disk] + layout->disks[disk].workloads++] = order[i];
	}
}

int
advice_lay_out(struct advice_layout *layout, struct arena *arena, const struct advice *advice,
    const struct search_plan *plan)
{
	uint32_t count = advice->problem.workload_count;
	uint32_t *order = advice_by_arrival(arena, &advice->problem);

	*layout = (struct advice_layout){
		.first = arena_alloc(arena, (plan->disks + 1) * sizeof(*layout->first)),
		.list = arena_alloc(arena, count * sizeof(*layout->list)),
		.disks = arena_alloc(arena, plan->disks * sizeof(*layout->disks)), .count = plan->disks,
	};
	if (order == NULL || layout->first == NULL || layout->list == NULL || layout->disks == NULL)
		return -ENOMEM;
	sort_in(layout, plan, order, count);
	arena_free(arena, order);
	for (uint32_t disk = 0; disk < plan->disks; disk++)
		layout->disks[disk] = advice_play(advice, plan->kind_of[disk], &layout->list[layout->first[disk]],
		    layout->disks[disk].workloads);
	return 0;
}

double
advice_wear(const struct advice *advice, const struct advice_layout *layout, uint32_t disk, double days)
{
	const struct advice_disk *d = &layout->disks[disk];
	struct disk now = play(advice, d->kind, &layout->list[layout->first[disk]], d->workloads, days, NULL);

	return (now.used ? disk_worn_gb(&now, days) : now.worn_gb) / advice->models[d->kind].endurance_gb;
}
