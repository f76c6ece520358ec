/*
 * scan.h - which entries does a part of the log have after whatever happened, and where does it go on?
 * (doc/formats/ordered-log.md, Reading)
 *
 * Entries of a part have places: the slot, and how often the part was filled before.  Nothing is changed here, and
 * nothing kept.
 */
#ifndef WEIR_ORDER_SCAN_H
#define WEIR_ORDER_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "order/entry.h"

enum {
	ORDER_SLOTS_LEAST = 1024,
	ORDER_BATCH_MAX = 128, /* entries behind one barrier */
};

/* As it lies there. */
struct order_part {
	const struct order_image *slots;
	uint32_t count; /* a power of two, ORDER_SLOTS_LEAST at least */
	uint32_t seed;  /* order_head_seed() of the log */
};

struct order_scan {
	uint64_t from, next; /* the places that there can be entries at, and at which the next one goes */
	uint64_t torn_to;    /* what came of a torn batch is from `next` to before that, and never was: to be emptied */
	uint32_t holes;      /* places of these at which there is none */
	bool corrupt;        /* what was durable once is not there, the last time at: */
	uint64_t corrupt_at;
};

static inline uint64_t
order_lap_of(const struct order_part *part, uint64_t place)
{
	return (place >> __builtin_ctz(part->count)) + 1;
}

/* The entry of that place.  False: there is none, or not any more. */
bool order_part_entry(const struct order_part *part, uint64_t place, struct order_entry *entry, bool *persists);

/* Looks at every slot twice. */
void order_scan(const struct order_part *part, struct order_scan *scan);

#endif
