/*
 * calibrate.h - what `weir calibrate` finds of a device, in virtual time.
 *
 * The same plan and arithmetic (qos/calibrate.h), on the device alone, from one reactor as in the direct rig.
 */
#ifndef WEIR_LAB_CALIBRATE_H
#define WEIR_LAB_CALIBRATE_H

#include "lab/rig.h"
#include "qos/calibrate.h"

/* As the device is; in so much time at most.  False: the lab says why. */
bool lab_calibrate(struct lab *lab, const struct lab_device *device, uint64_t time_ns, struct calibrate *calibrate)
    __attribute__((warn_unused_result));

#endif
