/*
 * lab_crew.h - measurements of an experiment, or repetitions of it, side by side, each in a process of its own.
 */
#ifndef WEIR_CMD_LAB_CREW_H
#define WEIR_CMD_LAB_CREW_H

#include "lab/crew.h"

enum { LAB_CREW_MAX = 64 };

struct crew {
	struct lab_crew lab;
	unsigned jobs;  /* at a time, LAB_CREW_MAX at most */
};

void crew_init(struct crew *crew, unsigned jobs);

#endif
