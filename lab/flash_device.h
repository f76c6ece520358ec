/*
 * flash_device.h - modelled drives for experiments.
 */
#ifndef WEIR_LAB_FLASH_DEVICE_H
#define WEIR_LAB_FLASH_DEVICE_H

#include "flash/profile.h"
#include "lab/rig.h"

/* Of drives it knows which times can be varied, and what they count; other devices it opens as they are. */
extern const struct lab_maker lab_maker_flash;

/* The profile of such a drive as it would be opened now, with all that is changed of it.  False: it is no drive. */
bool flash_device_profile(const struct lab *lab, const struct lab_device *device, struct flash_profile *profile);

#endif
