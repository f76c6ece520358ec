/*
 * mintco_set.h - what the experiments of group mintco have in common: drives and workloads.
 *
 * Drives are nine that could be bought in fall 2015 (mintco/fall-2015.csv), with two ways in which write amplification
 * falls: stated, as of waf_default, or measured on the modelled SSD with as much spare space as the drive has.  Their
 * endurance is what they are rated for, random writes, times A(0).  Workloads are drawn from the 16 of the minTCO
 * paper's Table IV (mintco/table-4.csv), or from those that the user has.
 */
#ifndef WEIR_MINTCO_SET_H
#define WEIR_MINTCO_SET_H

#include "base/rng.h"
#include "lab/experiment.h"
#include "place/disk.h"
#include "waf_curve.h"

enum { MINTCO_MODELS = 9, MINTCO_DISKS = 20, MINTCO_WORKLOADS = 100, MINTCO_SPARES = 3 };
#define MINTCO_DAYS 525.0

enum mintco_curve { MINTCO_STATED, MINTCO_MEASURED, MINTCO_CURVES };
extern const char *const mintco_curve_names[MINTCO_CURVES];

/* [C'_M] what a drive costs a day, and what else it may. */
#define MINTCO_USD_PER_DAY 0.18
enum { MINTCO_RATES = 4 };
extern const double mintco_usd_per_day[MINTCO_RATES];
enum { MINTCO_USUAL = 1 /* of these */ };

struct mintco_set {
	struct disk_model models[MINTCO_CURVES][MINTCO_MODELS]; /* a day costs MINTCO_USD_PER_DAY */
	struct lab_workloads population;
	bool is_users;             /* it is not Table IV */
	struct waf_curve curves[MINTCO_SPARES];
	unsigned curve_count;      /* of these, that were measured; 0 with --quick: then there is MINTCO_STATED alone */
};

/* How many of MINTCO_CURVES there are. */
unsigned mintco_curves(const struct mintco_set *set);

/* False: the lab says why. */
bool mintco_set_make(struct lab *lab, struct mintco_set *set) __attribute__((warn_unused_result));
/* What it was run with, and a table and a figure of the curves. */
void mintco_set_tell(struct lab *lab, struct result *result, const struct mintco_set *set);

/* A number that matters, by a curve; and, of Table IV's workloads, what must hold of it: of others nobody has said. */
void mintco_check(struct result *result, const struct mintco_set *set, unsigned curve, const char *what,
    const char *unit, unsigned decimals, double measured, enum result_bound bound, double expected);

/*
 * `count` workloads, which come one after the other after gaps that are exponential, the last ones at about `days` (0:
 * all at once).  From a population with as many or more, each at most once and as it is; from a smaller one with
 * repetition, and each then varied: write rate, peak and room times e^N(0, 0.5), the sequential share by N(0, 0.1).
 */
void mintco_draw(const struct mintco_set *set, struct rng *rng, struct workload *workloads, uint32_t count,
    double days);

/* Which model each of MINTCO_DISKS disks has: each one twice, the others by chance. */
void mintco_draw_models(struct rng *rng, unsigned model_of[MINTCO_DISKS]);

/* What was placed becomes part of the lab's history. */
void mintco_note(struct lab *lab, uint64_t hash, uint32_t workloads);

/* Evenly from 0 to 1, without 1. */
double mintco_chance(struct rng *rng);

#endif
