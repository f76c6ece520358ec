/*
 * disk.h - one drive of a pool, or a RAID set that is taken for one: what it costs, what it bears, how worn it is.
 *
 * Wear goes by epochs, which end where a workload comes or goes (minTCO paper, 3.3): within one the drive is written
 * at one rate with one write amplification.  Time is in days since the pool's beginning, and is always given; money
 * is in US dollars; GB are 10^9 bytes.  Letters in brackets are the paper's.
 */
#ifndef WEIR_PLACE_DISK_H
#define WEIR_PLACE_DISK_H

#include <stdbool.h>

#include "place/waf.h"
#include "place/workload.h"

struct disk_model {
	const char *name;          /* for people; the caller's */
	double initial_usd;        /* [C_I] to buy it and to set it up */
	double usd_per_day;        /* [C'_M] power and labour */
	double endurance_gb;       /* [W] physical writes until it is worn out */
	double capacity_gb;
	double iops;               /* of reads */
	double write_penalty;      /* [rho] how many of these a write takes */
	double write_copies;       /* bytes written for each one, before write amplification: 1, but of a RAID set */
	struct waf waf;            /* [A(S)] */
};

/* NULL, or what is wrong with it; NULL, or what is odd about it. */
const char *disk_model_wrong(const struct disk_model *model);
const char *disk_model_odd(const struct disk_model *model);

enum raid { RAID_0, RAID_1, RAID_5, RAID_MODES };

extern const char *const raid_names[RAID_MODES];

/* A set of `disks` equal drives as one (Table I): cost, endurance and I/Os of all of them; room, copies and penalty as
 * the mode has them.  NULL, or why there is none of so many. */
const char *disk_model_raid(struct disk_model *set, const struct disk_model *model, enum raid mode, unsigned disks);

/* Why a workload cannot have a place on a disk. */
enum disk_refusal { DISK_TAKES, DISK_WORN, DISK_FULL, DISK_SLOW };

struct disk {
	const struct disk_model *model;
	double rate_gb_per_day;    /* [lambda_L] logical writes of all workloads on it */
	double seq_gb_per_day;     /* of these the sequential ones */
	double used_gb, used_iops; /* by working sets and peaks; I/Os as the model counts them */
	unsigned workloads, writers; /* of these those that write */
	double first_days;         /* [T_I] when it got its first workload; of one that is unused no meaning */
	double since_days;         /* [T_R] when its epoch began */
	double worn_gb;            /* [w] physical writes until then */
	double served_gb;          /* logical writes until then */
	bool used;                 /* it has had a workload */
};

/* Unused; `worn_gb` is what it has behind it, by its own counters where they are known. */
void disk_init(struct disk *disk, const struct disk_model *model, double worn_gb);

/* What a workload's peak takes of the model's I/Os (Equation 6). */
double disk_iops_for(const struct disk_model *model, const struct workload *workload);

/* [S_i], of one that is written: what its workloads have together. */
double disk_seq_ratio(const struct disk *disk);
/* [A_i]; 1 of one that is not written. */
double disk_waf(const struct disk *disk);
/* [lambda_P] */
double disk_physical_gb_per_day(const struct disk *disk);

/* [T_D] when it is worn out, if all stays as it is; INFINITY of one that is not written. */
double disk_death_days(const struct disk *disk);
bool disk_is_worn(const struct disk *disk, double now_days);
/* At `now_days`, which is not before its epoch. */
double disk_worn_gb(const struct disk *disk, double now_days);
double disk_served_gb(const struct disk *disk, double now_days);

/* [T_Lf] from its first workload until it is worn out; of one that is not written any more until it was last. */
double disk_lifetime_days(const struct disk *disk);
/* C_I + C'_M T_Lf; of an unused one C_I. */
double disk_tco_usd(const struct disk *disk);
/* Logical writes in all its life. */
double disk_total_gb(const struct disk *disk);

/* Of a fraction of its room and of its I/Os, at most 1, that may be taken. */
enum disk_refusal disk_refuses(const struct disk *disk, const struct workload *workload, double now_days,
    double room_max, double iops_max);

/* An epoch ends at `now_days`, which is not before it; the disk is not worn out by then. */
void disk_put(struct disk *disk, const struct workload *workload, double now_days);
/* The workload is on it.  As the last one leaves, or the last one that writes, sums are 0 again, exactly. */
void disk_drop(struct disk *disk, const struct workload *workload, double now_days);
/* It is worn out: what it was until then is settled, and it has no workloads any more. */
void disk_bury(struct disk *disk);
/* Logical writes of no workload's: a copy of one that comes here, which is sequential. */
void disk_copy(struct disk *disk, double gb);

#endif
