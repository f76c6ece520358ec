/*
 * test_blk_conform_sim.c - every block device does what blk.h says, in the simulation, where the power fails.
 */
#include "conform_devices.h"
#include "conform_sim.h"

int
main(void)
{
	return conform_run(&conform_sim, conform_devices, 1, 3);
}
