/*
 * inplace.h - media that are written where they stand: when a read or write of so many units is over.
 *
 * Units lie in turn on the channels.  A unit is ready for its channel once it has been sensed, and each channel moves
 * what commands want of it one after another, in the order of the commands; what was moved is then written.  So the
 * time is known when a command begins, and nothing is due in between.  It does not know what is read or written.
 * Source: doc/flash.md, "Time".
 */
#ifndef WEIR_FLASH_INPLACE_H
#define WEIR_FLASH_INPLACE_H

#include "base/arena.h"
#include "flash/geometry.h"

struct inplace;

/* Unit n is on channel n % channels.  0, or -ENOMEM. */
int inplace_create(struct arena *arena, const struct flash_geometry *geometry, const struct flash_profile *profile,
    struct inplace **inplace) __attribute__((warn_unused_result));
void inplace_destroy(struct inplace *inplace);

/* When `count` units, at least 1, from `first` on are over, begun at `now_ns`, which never goes back. */
uint64_t inplace_read(struct inplace *inplace, uint64_t first, uint32_t count, uint64_t now_ns);
uint64_t inplace_write(struct inplace *inplace, uint64_t first, uint32_t count, uint64_t now_ns);

/* The power is gone, and with it what was under way. */
void inplace_cut(struct inplace *inplace);

#endif
