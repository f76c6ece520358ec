/*
 * flash_device.h - modelled drives for experiments.
 */
#ifndef WEIR_LAB_FLASH_DEVICE_H
#define WEIR_LAB_FLASH_DEVICE_H

#include "lab/rig.h"

/* Of drives it knows which times can be varied, and what they count; other devices it opens as they are. */
extern const struct lab_maker lab_maker_flash;

#endif
