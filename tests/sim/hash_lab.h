/*
 * hash_lab.h - a measurement, for hash.c.
 */
#ifndef WEIR_TESTS_HASH_LAB_H
#define WEIR_TESTS_HASH_LAB_H

#include "sim/sim.h"

/* Runs one of this seed with each rig, and prints a line on both; `trace` may be NULL. */
void hash_lab(uint64_t seed, void (*trace)(void *, uint64_t, enum sim_kind, uint64_t, uint64_t, uint64_t));

#endif
