/*
 * conform_devices.h - the block devices that there are, to be held against conform.h.
 */
#ifndef TESTS_CONFORM_DEVICES_H
#define TESTS_CONFORM_DEVICES_H

#include "conform.h"

/* Each ends with one that has no name: those that blk_open() opens, and such with a home (blk/home.h). */
extern const struct conform_device conform_devices[], conform_homes[];

#endif
