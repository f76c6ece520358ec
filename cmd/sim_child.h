/*
 * sim_child.h - a trial in a process of its own, so that it may die.
 *
 * The plan goes with the fork, the result comes back in memory that both see,
 * and what the child says on stderr by a pipe, whose end is the child's.  So
 * no seed can leave anything behind for the next one.
 */
#ifndef WEIR_CMD_SIM_CHILD_H
#define WEIR_CMD_SIM_CHILD_H

#include <sys/types.h>

#include "sim.h"

enum { CHILDREN_MAX = 64, CHILD_SAYS = 4096 };

struct child {
	pid_t pid;                 /* 0: none */
	int fd;                    /* what it says */
	uint64_t late_ns;          /* when patience ends */
	char said[CHILD_SAYS];     /* its beginning */
	size_t said_bytes;
	struct outcome *outcome;   /* shared */
};

/* 0, or a negative errno. */
int child_init(struct child *child) __attribute__((warn_unused_result));

/* Kills it, where it runs, and gives all back. */
void child_fini(struct child *child);

/* Begins a trial; none is under way.  0, or a negative errno. */
int child_begin(struct child *child, const struct order *order, const struct plan *plan)
    __attribute__((warn_unused_result));

/* Whether it has ended, or was made to since it is late: then child->outcome says how, and there is none any more. */
bool child_ended(struct child *child);

/* Kills it. */
void child_kill(struct child *child);

/* Until one of them may have something to tell, someone asks us to stop (stop.h), it is `until_ns`, or a second has
 * gone by. */
void children_wait(const struct child *children, unsigned count, uint64_t until_ns);

#endif
