#include "experiments.h"

const struct experiment *const experiments[] = {
	&known_delay,
	&fabric_depth,
	&flash_published,
	&flash_depth,
	&flash_depth_mixed,
	&flash_depth_write,
	&flash_size,
	&flash_interference,
	&flash_flush,
	&flash_flush_writers,
	&flash_waf,
	&flash_waf_sequential,
	&qos_fabric,
	&qos_matrix,
	&qos_matrix_faster,
	&qos_matrix_slower,
	&qos_victim,
	&qos_weights,
	&qos_caps,
	&qos_shift,
	&qos_cost,
	&qos_g1,
	&qos_g2,
	&qos_g3,
	&qos_g5,
	&qos_dynamic,
	&qos_sizes,
	&qos_priorities,
};

const unsigned experiment_count = sizeof(experiments) / sizeof(experiments[0]);
