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
	CALIBRATE_DEPTHS = 11, /* of reads, that are tried */
	CALIBRATE_SLOTS = 10,  /* and numbers of slots, */
	CALIBRATE_TRIES = 4,   /* of which so many are */
};

/* The largest reads that are tried, and the smallest. */
enum calibrate_end { CALIBRATE_LARGE, CALIBRATE_SMALL, CALIBRATE_ENDS };

/* Who shares it: two readers, of both sizes; two and two; and two that read and two that write 4 KiB. */
enum { CALIBRATE_TWO, CALIBRATE_SIZES, CALIBRATE_KINDS, CALIBRATE_SEARCHES };

/* Numbers of slots, by index: with which they are near to one another, or the least; and far. */
struct calibrate_search {
	unsigned near, far;
};

struct calibrate {
	unsigned step;         /* that is measured, or next */
	uint64_t part_ns;      /* the shortest takes so long */
	struct gauge_heard alone[QOS_KINDS][QOS_SIZES];  /* one at a time */
	struct gauge_heard full[QOS_KINDS][QOS_SIZES];   /* as many as make 1 MiB */
	struct gauge_heard most[QOS_SIZES];              /* of reads, eight times as many */
	struct gauge_heard depths[CALIBRATE_ENDS][CALIBRATE_DEPTHS];
	struct gauge_heard mixed[QOS_KINDS];             /* of 4 KiB, with as many of both as can be */
	struct gauge_heard many_writes;                  /* as many as there, alone */
	struct calibrate_search searches[CALIBRATE_SEARCHES];
};

/* All of it is to take so long at most, or a little more; a second at least.  `prepare`: before that all of the device
 * is written in order, and as much once more at random, however long that takes. */
void calibrate_init(struct calibrate *calibrate, uint64_t time_ns, bool prepare);

/* How many steps are left, at most. */
unsigned calibrate_left(const struct calibrate *calibrate);

/* What is to be measured in this step; false: all has been. */
bool calibrate_next(const struct calibrate *calibrate, struct gauge_task *task);

/* What came of it: on to the next one. */
void calibrate_take(struct calibrate *calibrate, const struct gauge_heard heard[GAUGE_LOADS]);

/* The parameters, as far as they are known by now.  NULL, or why they cannot be, in plain words. */
const char *calibrate_params(const struct calibrate *calibrate, struct qos_params *params);

/* The least number of reads of 128 KiB, or of 4 KiB, that gives nearly the most; and in `rate`
 * what they give, bytes a second. */
uint32_t calibrate_saturates(const struct calibrate *calibrate, enum calibrate_end end, uint64_t *rate);

#endif
