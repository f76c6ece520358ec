/*
 * faults.h - what the files of faults share: one that is under way, and what there is to be done for each kind.
 */
#ifndef WEIR_TRIAL_FAULTS_H
#define WEIR_TRIAL_FAULTS_H

#include "trial/internal.h"

struct under_way {
	struct list node;
	struct fault fault;
	uint64_t until_ns;
	/* Whom, and which of its parts; NULL: none. */
	struct served *served;
	struct user *user;
	struct volume *volume;
	unsigned part;
};

static inline struct under_way *
under_way_of(struct list *node)
{
	return container_of(node, struct under_way, node);
}

/* What it is of: the numbers that a plan says are taken modulo what there is. */
enum whom { OF_TARGET, OF_LISTENER, OF_VOLUME, OF_REACTOR, OF_HOST, OF_HOST_REACTOR, OF_BOTH, OF_ALL, OF_ANY };

struct fault_way {
	enum whom whom;
	bool (*begin)(struct trial *trial, struct under_way *f); /* false: it cannot be */
	bool (*mend)(struct trial *trial, struct under_way *f);  /* false: it takes its time; NULL: it does not last */
};
extern const struct fault_way fault_ways[FAULTS];

#endif
