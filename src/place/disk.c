#include "place/disk.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

const char *const raid_names[RAID_MODES] = { [RAID_0] = "RAID 0", [RAID_1] = "RAID 1", [RAID_5] = "RAID 5" };

/* What no drive is or has; dollars, GB, I/Os per second. */
static const double MOST = 1e15;

static bool
is_from(double least, double value)
{
	return value >= least && value <= MOST;
}

static bool
is_above_0(double value)
{
	return value > 0 && value <= MOST;
}

const char *
disk_model_wrong(const struct disk_model *model)
{
	if (!is_from(0, model->initial_usd))
		return "its price is not a number of dollars from 0 up";
	if (!is_from(0, model->usd_per_day))
		return "what it costs a day is not a number of dollars from 0 up";
	if (!is_above_0(model->endurance_gb))
		return "its endurance is not a number of GB above 0";
	if (!is_above_0(model->capacity_gb))
		return "its capacity is not a number of GB above 0";
	if (!is_above_0(model->iops))
		return "its I/Os per second are not a number above 0";
	if (!is_above_0(model->write_penalty))
		return "how many reads a write takes is not a number above 0";
	if (!is_from(1, model->write_copies))
		return "how often it writes each byte is not a number from 1 up";
	return waf_wrong(&model->waf);
}

const char *
disk_model_odd(const struct disk_model *model)
{
	double writes = model->endurance_gb / model->capacity_gb;

	if (model->capacity_gb < 10 || model->capacity_gb > 1e6)
		return "its capacity is not from 10 GB to 1000 TB: is it in another unit?";
	if (writes < 50 || writes > 1e6)
		return "its endurance is not 50 to 1,000,000 times its capacity: is one of them in another unit?";
	if (model->iops < 100 || model->iops > 50e6)
		return "its I/Os per second are not from 100 to 50 million: are they in thousands?";
	if (model->initial_usd == 0)
		return "it costs nothing";
	if (model->initial_usd > 0 && (model->initial_usd / model->capacity_gb > 50 ||
	    model->initial_usd / model->capacity_gb < 0.005))
		return "it costs more than 50 dollars a GB, or less than half a cent";
	if (model->usd_per_day > 50)
		return "it costs more than 50 dollars a day: is that a year?";
	return NULL;
}

const char *
disk_model_raid(struct disk_model *set, const struct disk_model *model, enum raid mode, unsigned disks)
{
	double n = disks;

	if (disks == 0 || (mode == RAID_1 && disks % 2 != 0) || (mode == RAID_5 && disks < 3))
		return mode == RAID_1 ? "RAID 1 takes an even number of disks, 2 at least" :
		    mode == RAID_5 ? "RAID 5 takes 3 disks at least" : "RAID 0 takes a disk at least";
	*set = *model;
	set->initial_usd *= n;
	set->usd_per_day *= n;
	set->endurance_gb *= n;
	set->iops *= n;
	switch (mode) {
	case RAID_0:
		set->capacity_gb *= n;
		break;
	case RAID_1:
		set->capacity_gb *= n / 2;
		set->write_copies *= 2;
		set->write_penalty *= 2;
		break;
	case RAID_5:
		set->capacity_gb *= n - 1;
		set->write_copies *= n / (n - 1);
		set->write_penalty *= 4;
		break;
	case RAID_MODES:
		assert(false);
	}
	return NULL;
}

void
disk_init(struct disk *disk, const struct disk_model *model, double worn_gb)
{
	*disk = (struct disk){ .model = model, .worn_gb = worn_gb };
}

double
disk_iops_for(const struct disk_model *model, const struct workload *workload)
{
	double writes = workload->peak_iops * workload->write_ratio;

	return writes * model->write_penalty + (workload->peak_iops - writes);
}

double
disk_seq_ratio(const struct disk *disk)
{
	double ratio = disk->rate_gb_per_day > 0 ? disk->seq_gb_per_day / disk->rate_gb_per_day : 0;

	return ratio <= 0 ? 0 : ratio < 1 ? ratio : 1; /* sums are rounded */
}

double
disk_waf(const struct disk *disk)
{
	return disk->rate_gb_per_day > 0 ? waf_at(&disk->model->waf, disk_seq_ratio(disk)) : 1;
}

double
disk_physical_gb_per_day(const struct disk *disk)
{
	return disk->rate_gb_per_day * disk->model->write_copies * disk_waf(disk);
}

double
disk_death_days(const struct disk *disk)
{
	double left_gb = disk->model->endurance_gb - disk->worn_gb;

	if (left_gb <= 0)
		return disk->since_days;
	return disk->rate_gb_per_day > 0 ? disk->since_days + left_gb / disk_physical_gb_per_day(disk) : INFINITY;
}

bool
disk_is_worn(const struct disk *disk, double now_days)
{
	return disk_death_days(disk) <= now_days;
}

double
disk_worn_gb(const struct disk *disk, double now_days)
{
	return disk->worn_gb + disk_physical_gb_per_day(disk) * (now_days - disk->since_days);
}

double
disk_served_gb(const struct disk *disk, double now_days)
{
	return disk->served_gb + disk->rate_gb_per_day * (now_days - disk->since_days);
}

double
disk_lifetime_days(const struct disk *disk)
{
	if (!disk->used)
		return 0;
	return (disk->rate_gb_per_day > 0 ? disk_death_days(disk) : disk->since_days) - disk->first_days;
}

double
disk_tco_usd(const struct disk *disk)
{
	return disk->model->initial_usd + disk->model->usd_per_day * disk_lifetime_days(disk);
}

double
disk_total_gb(const struct disk *disk)
{
	double left_gb = disk->model->endurance_gb - disk->worn_gb;

	if (disk->rate_gb_per_day == 0 || left_gb <= 0)
		return disk->served_gb;
	return disk->served_gb + left_gb / (disk_waf(disk) * disk->model->write_copies);
}

enum disk_refusal
disk_refuses(const struct disk *disk, const struct workload *workload, double now_days, double room_max,
    double iops_max)
{
	const struct disk_model *model = disk->model;

	if (disk_is_worn(disk, now_days))
		return DISK_WORN;
	if (disk->used_gb + workload->working_set_gb > model->capacity_gb * room_max)
		return DISK_FULL;
	if (disk->used_iops + disk_iops_for(model, workload) > model->iops * iops_max)
		return DISK_SLOW;
	return DISK_TAKES;
}

static void
begin_epoch(struct disk *disk, double now_days)
{
	assert(now_days >= disk->since_days || !disk->used);
	if (disk->used) {
		disk->worn_gb = disk_worn_gb(disk, now_days);
		disk->served_gb = disk_served_gb(disk, now_days);
	}
	disk->since_days = now_days;
}

void
disk_put(struct disk *disk, const struct workload *workload, double now_days)
{
	begin_epoch(disk, now_days);
	if (!disk->used)
		disk->first_days = now_days;
	disk->used = true;
	disk->rate_gb_per_day += workload->write_gb_per_day;
	disk->seq_gb_per_day += workload->write_gb_per_day * workload->seq_ratio;
	disk->used_gb += workload->working_set_gb;
	disk->used_iops += disk_iops_for(disk->model, workload);
	disk->workloads++;
	disk->writers += workload->write_gb_per_day > 0;
}

void
disk_drop(struct disk *disk, const struct workload *workload, double now_days)
{
	assert(disk->workloads > 0);
	begin_epoch(disk, now_days);
	disk->rate_gb_per_day -= workload->write_gb_per_day;
	disk->seq_gb_per_day -= workload->write_gb_per_day * workload->seq_ratio;
	disk->used_gb -= workload->working_set_gb;
	disk->used_iops -= disk_iops_for(disk->model, workload);
	disk->writers -= workload->write_gb_per_day > 0;
	disk->workloads--;
	/* Sums are rounded: what is left is at least what so many have, and at most all of it. */
	disk->rate_gb_per_day = disk->writers > 0 ? fmax(disk->rate_gb_per_day, disk->writers * WORKLOAD_RATE_MIN) : 0;
	disk->seq_gb_per_day = fmin(fmax(disk->seq_gb_per_day, 0), disk->rate_gb_per_day);
	disk->used_gb = disk->workloads > 0 ? fmax(disk->used_gb, 0) : 0;
	disk->used_iops = disk->workloads > 0 ? fmax(disk->used_iops, 0) : 0;
}

void
disk_bury(struct disk *disk)
{
	disk->served_gb = disk_total_gb(disk);
	disk->since_days = disk_death_days(disk);
	disk->worn_gb = disk->model->endurance_gb;
	disk->rate_gb_per_day = disk->seq_gb_per_day = disk->used_gb = disk->used_iops = 0;
	disk->workloads = disk->writers = 0;
}

void
disk_copy(struct disk *disk, double gb)
{
	disk->worn_gb += gb * disk->model->write_copies * waf_at(&disk->model->waf, 1);
}
