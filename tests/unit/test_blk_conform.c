/*
 * test_blk_conform.c - every block device does what blk.h says, in a world of memory.
 */
#include "conform_devices.h"
#include "conform_fake.h"

int
main(void)
{
	return conform_run(&conform_fake, conform_devices, 1, 2);
}
