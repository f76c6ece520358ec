/*
 * hash_trial.h - a trial of everything from a seed, and the hash of its trace, in a line.
 */
#ifndef WEIR_TESTS_HASH_TRIAL_H
#define WEIR_TESTS_HASH_TRIAL_H

#include "sim/sim.h"

/* `trace`, as of struct sim_options, is given no argument; NULL: nobody looks. */
void hash_trial(uint64_t seed, void (*trace)(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor,
    uint64_t a, uint64_t b));

#endif
