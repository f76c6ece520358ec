/*
 * test_blk_home_sim.c - devices with a home, where mail takes more or less time, and what is under way is cut off.
 */
#include "conform_devices.h"
#include "conform_sim.h"

int
main(void)
{
	return conform_run(&conform_sim, conform_homes, 1, 3);
}
