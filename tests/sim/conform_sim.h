/*
 * conform_sim.h - the simulation as tests/unit/conform.h has it: mail takes its time, and the power can fail.
 */
#ifndef TESTS_CONFORM_SIM_H
#define TESTS_CONFORM_SIM_H

#include "conform.h"

extern const struct conform_world conform_sim;

#endif
