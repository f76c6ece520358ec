/*
 * statics.h - the ids of a subsystem's static controllers: who may have which.
 *
 * A set of numbers; it knows neither controllers nor hosts.
 */
#ifndef WEIR_TARGET_STATICS_H
#define WEIR_TARGET_STATICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct statics;

/*
 * Takes the id that is asked for, of 1 to `count`, or of those that are free the one that was used longest ago
 * (NVME_CNTLID_STATIC).  0: it is in use, none is free or there is none of that id; or there is no memory.
 * `*statics` is NULL at first, and given back by arena_free(); count may be another one each time, and
 * what is above a smaller one stays taken until it is left.
 */
uint16_t statics_take(struct statics **statics, struct arena *arena, uint16_t count, uint16_t asked);

/* One that was taken is free again. */
void statics_leave(struct statics *statics, uint16_t id);

/* What an id takes of memory. */
size_t statics_bytes(void);

#endif
