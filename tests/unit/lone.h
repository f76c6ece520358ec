/*
 * lone.h - a toy of a device that one reactor alone may use, over memory.
 *
 * It has one channel, on the reactor it was told, and asserts that nobody else comes.  It takes its time: each I/O
 * begins some microseconds after it came, so they begin in another order than they came in; some of those that have
 * not begun can be ended.
 */
#ifndef TESTS_LONE_H
#define TESTS_LONE_H

#include "blk/blk.h"

/* 0, or -ENOMEM.  Of 4 MiB. */
int lone_open(struct reactor *reactor, unsigned home, uint32_t block_size, struct blk **blk)
    __attribute__((warn_unused_result));

/* Whether it has its channel. */
bool lone_is_open(const struct blk *blk);

#endif
