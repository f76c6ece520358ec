/*
 * experiments.h - which experiments there are.
 */
#ifndef WEIR_LAB_EXPERIMENTS_H
#define WEIR_LAB_EXPERIMENTS_H

#include "lab/experiment.h"

/* By group; within it in the order in which they are to be read. */
extern const struct experiment *const experiments[];
extern const unsigned experiment_count;

/* ---- house: of Weir itself ---- */

extern const struct experiment known_delay, fabric_depth;

/* ---- flash: of modelled drives ---- */

extern const struct experiment flash_published, flash_depth, flash_depth_mixed, flash_depth_write, flash_size;
extern const struct experiment flash_interference, flash_flush, flash_flush_writers, flash_waf, flash_waf_sequential;

/* ---- qos: of the switch, and what it is compared with ---- */

extern const struct experiment qos_fabric, qos_matrix, qos_matrix_faster, qos_matrix_slower, qos_matrix_fabric;
extern const struct experiment qos_victim, qos_weights, qos_caps, qos_shift, qos_cost, qos_g1, qos_g2, qos_g3, qos_g5;
extern const struct experiment qos_dynamic, qos_sizes, qos_priorities, qos_crowds, qos_tuning;

/* ---- order: ordered writes, and what others do instead ---- */

extern const struct experiment rio, rio_faster, rio_slower;

/* ---- mintco: where workloads are placed, and what that costs ---- */

extern const struct experiment mintco_rank, mintco_lookahead, mintco_perf, mintco_raid, mintco_offline;

#endif
