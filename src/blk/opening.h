/*
 * opening.h - what open.c and those files share that read the longer specifications.
 */
#ifndef WEIR_BLK_OPENING_H
#define WEIR_BLK_OPENING_H

#include "blk/devices.h"

/* What is being opened, for messages. */
struct opening {
	struct reactor *reactor;
	const char *spec;
	uint32_t block_size;
	char *why;
};

/* Says why not, with the specification before it; answers `error`. */
int opening_refuse(const struct opening *o, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 0, or -EINVAL, said: no size, too small, or no multiple of the block size. */
int opening_size(const struct opening *o, const char *text, uint64_t *bytes);

/* The options before `at`, one by one: 0, or what the first one that is refused was refused with. */
int opening_options(const struct opening *o, const char *options, const char *at,
    int (*read)(const struct opening *o, const char *option, size_t length, void *plan), void *plan);

/* Puts a cache that is lost with the process over `inner`, which is taken in any case. */
int opening_volatile(const struct opening *o, const struct volatile_plan *plan, struct blk *inner, struct blk **blk);

/* flash:PROFILE,... : what is behind the colon. */
int opening_flash(const struct opening *o, const char *rest, struct blk **blk);

#endif
