/*
 * front.h - a policy at work before a device of the direct rig: it is asked whenever there is cause, and when it wants
 * to be.
 */
#ifndef WEIR_LAB_FRONT_H
#define WEIR_LAB_FRONT_H

#include "lab/load.h"

struct lab_front {
	struct policy *policy;
	struct reactor *reactor;
	struct timer timer;              /* until the policy wants to be asked */
	unsigned tenants[LAB_JOBS_MAX];  /* of each job on the device */
};

/* Of that device of the setup.  0, or -ENOMEM. */
int lab_front_init(struct lab_front *front, const struct lab_setup *setup, unsigned device, struct reactor *reactor)
    __attribute__((warn_unused_result));

/* One of a job's I/Os, from when it arrives until it is over. */
struct lab_front_io {
	struct policy_io policy;
	struct lab_io *io;
	void (*go)(struct lab_io *io);   /* to the device, perhaps from inside */
};

/* Both from a turn. */
void lab_front_arrive(struct lab_front *front, struct lab_front_io *fio, struct lab_io *io, unsigned job);
void lab_front_done(struct lab_front *front, struct lab_front_io *fio);

/* Whether the next ones may go: after what ended has been counted, and another one has perhaps arrived. */
void lab_front_go_on(struct lab_front *front);

#endif
