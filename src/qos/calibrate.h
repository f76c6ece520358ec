/*
 * calibrate.h - what are the parameters of this device?
 *
 * The plan of finding out, and the arithmetic: it says what is to be measured next (gauge.h), is told what came of it,
 * and at the end has the parameters.  What is measured, and what each is good for, is in doc/qos.md.
 */
#ifndef WEIR_QOS_CALIBRATE_H
#define WEIR_QOS_CALIBRATE_H

#include "qos/gauge.h"

enum {
	CALIBRATE_DEPTHS = 10, /* of 128 KiB reads, that are tried */
	CALIBRATE_SLOTS = 4,   /* and numbers of slots, */
	CALIBRATE_BOUNDS = 4,  /* and bounds of what is in flight */
};

struct calibrate {
	unsigned step;         /* that is measured, or next */
	uint64_t part_ns;      /* the shortest takes so long */
	struct gauge_heard alone[QOS_KINDS][QOS_SIZES];  /* one at a time */
	struct gauge_heard full[QOS_KINDS][QOS_SIZES];   /* as many as make 1 MiB */
	struct gauge_heard most[QOS_SIZES];              /* of reads, eight times as many */
	struct gauge_heard depths[CALIBRATE_DEPTHS];
	struct gauge_heard mixed[QOS_KINDS];             /* of 4 KiB, with as many of both as can be */
	/* Of tenants that have little in common, what those have who have least: beside what one of them has alone, in
	 * thousandths; 0: not measured */
	uint64_t slots[CALIBRATE_SLOTS], bounds[CALIBRATE_BOUNDS];
};

/* All of it is to take so long, or a little more; a second at least.  `prepare`: before that all of the device is
 * written in order, and as much once more at random, however long that takes. */
void calibrate_init(struct calibrate *calibrate, uint64_t time_ns, bool prepare);

/* How many steps are left. */
unsigned calibrate_left(const struct calibrate *calibrate);

/* What is to be measured in this step; false: all has been. */
bool calibrate_next(const struct calibrate *calibrate, struct gauge_task *task);

/* What came of it: on to the next one. */
void calibrate_take(struct calibrate *calibrate, const struct gauge_heard heard[GAUGE_LOADS]);

/* The parameters, as far as they are known by now.  NULL, or why they cannot be, in plain words. */
const char *calibrate_params(const struct calibrate *calibrate, struct qos_params *params);

/* Of reads of 128 KiB: the least number that gives nearly the most, as an index of `depths`; how many they are. */
unsigned calibrate_saturated(const struct calibrate *calibrate);
uint32_t calibrate_depth(unsigned index);

#endif
