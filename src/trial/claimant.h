/*
 * claimant.h - what a host of a trial has at a target where it uses reservations.
 */
#ifndef WEIR_TRIAL_CLAIMANT_H
#define WEIR_TRIAL_CLAIMANT_H

#include "host/ctrlr.h"
#include "trial/internal.h"

enum { CLAIMANT_PAGE = 512 };

enum claimant_state {
	CLAIMANT_CLOSED,
	CLAIMANT_OPENING, /* the controller, or its queue */
	CLAIMANT_READY,
	CLAIMANT_CLOSING,
};

struct claimant {
	struct user *user;
	struct served *served;
	struct rng rng;
	enum claimant_state state;
	struct ctrlr *ctrlr;          /* NULL: there is none */
	struct qpair io;
	struct gather *gather;
	uint16_t listener, port;      /* its port at the target, and here */
	uint64_t next_ns;             /* nothing is begun before */
	/* One command at a time. */
	struct hio command;
	struct model_command what;
	struct volume *volume;        /* what it is about */
	uint64_t begun_ns;
	bool busy;                    /* it is under way */
	bool adrift;                  /* it is, and will not be answered: it went by this port */
	uint16_t adrift_port;
	uint8_t *page;
	struct iovec iov;
	/* The last act. */
	struct model_state last;      /* of the last report */
	bool looked;                  /* that was of this volume, and just before */
	uint32_t clear;               /* volumes with no registrants, by their bits */
};

/* The host's at this target: outlives the host's process. */
struct claimant *claimant_create(struct user *user, struct served *served);

/* In turns of the host's reactor 0: connects, sends what is next, learns that nothing comes any more. */
void claimant_look(struct claimant *claimant);

/* Closes its controller, where it `waits` after what is under way; true: nothing is left. */
bool claimant_leaves(struct claimant *claimant, bool waits);

/* Its process is dead. */
void claimant_killed(struct claimant *claimant);

/* All rests, and it has seen that nobody is registered with any volume; else false, with what it does instead. */
bool claimant_is_at_rest(const struct claimant *claimant, char why[160]);

#endif
