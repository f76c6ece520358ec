/*
 * test_blk_home.c - devices with a home are used by all reactors as any other device is.
 */
#include "conform_devices.h"
#include "conform_fake.h"

int
main(void)
{
	return conform_run(&conform_fake, conform_homes, 1, 3);
}
