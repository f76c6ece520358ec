/*
 * untimed.h - what writes cost a translation layer, without time: amplification of any spare, policy and load.
 *
 * A part of a built-in profile's drive: as many dies as are told, each with its blocks as they are at 256 MiB.  How
 * long anything takes it does not know.
 */
#ifndef WEIR_LAB_UNTIMED_H
#define WEIR_LAB_UNTIMED_H

#include "base/rng.h"
#include "flash/ftl.h"
#include "lab/rig.h"

struct untimed {
	struct lab *lab;
	struct arena arena;
	struct flash_profile profile;
	struct flash_geometry geometry;
	struct ftl *ftl;
	struct rng rng;
	uint64_t units;          /* that hosts see */
	struct ftl_counts since; /* what it had counted at untimed_mark() */
};

/* Instead of another spare: the profile's own. */
#define UNTIMED_AS_IT_IS UINT32_MAX

/* Full, written in sequence.  False: the lab says why not; nothing is to be closed. */
bool untimed_open(struct untimed *untimed, struct lab *lab, const char *profile, unsigned dies,
    uint32_t spare_permille, enum flash_policy policy) __attribute__((warn_unused_result));
/* What it counted becomes part of the history, and a measurement is over. */
void untimed_close(struct untimed *untimed);

/* `count` units, evenly over `units` from `first` on. */
void untimed_random(struct untimed *untimed, uint64_t count, uint64_t first, uint64_t units);

/* Programmed for each unit that hosts wrote, since untimed_mark(). */
void untimed_mark(struct untimed *untimed);
double untimed_amplification(const struct untimed *untimed);

/* Raw space over user space, minus one, without the blocks that are held back or always in SLC mode. */
double untimed_spare(const struct untimed *untimed);

#endif
