/*
 * ctrlr_steps.h - a controller as its two files see it: ctrlr.c has its life,
 * ctrlr_steps.c how it comes up.
 */
#ifndef WEIR_HOST_CTRLR_STEPS_H
#define WEIR_HOST_CTRLR_STEPS_H

#include "host/ctrlr.h"

/* Of 64 bits, as every product with it then is: in 32 there is room for 4294 ms. */
#define CTRLR_NS_PER_MS UINT64_C(1000000)
#define CTRLR_POLL_NS (10 * CTRLR_NS_PER_MS)

enum ctrlr_state {
	CTRLR_RISING,  /* connecting, or at one of the steps; commands wait */
	CTRLR_UP,      /* ready() was called, or is being called */
	CTRLR_LEAVING, /* being shut down; commands are refused, from here on */
	CTRLR_LOSING,  /* the connection has ended; lost() will be called */
	CTRLR_LOST,    /* it was */
	CTRLR_CLOSED,  /* the connection has ended; closed() will be called, and then it is freed */
	CTRLR_DEAD,    /* destroyed; it will be freed */
};

struct ctrlr {
	struct reactor *reactor;
	struct ctrlr_options options;
	struct ctrlr_facts facts;
	struct gather *gather;
	struct qpair admin;
	struct nvme_identify_ctrl *identity;
	struct iovec identity_iov;
	enum ctrlr_state state;
	unsigned step;            /* the one at hand */
	uint64_t cap;
	uint32_t cc;              /* as it is enabled with */
	uint64_t enabled_by_ns;   /* until when it says it will be ready */
	struct hio command;       /* of the step at hand, and of shutting down */
	struct hio alive, event;
	struct timer poll_timer;  /* the next look at CSTS */
	struct timer limit_timer; /* of connecting, and of shutting down */
	struct timer alive_timer;
	unsigned in_flight;       /* commands of others */
	struct fifo waiting;      /* those that are to be sent yet */
	struct fifo refused;      /* those that will not be: done in the next turn */
	struct task later;        /* what is called back from there, and the end */
	int error;                /* what lost() will say */
	char why[200];
	void (*closed)(void *owner);
};

/* Sends a command of the controller's own, of which there is one at a time.  Where the connection is ending it does
 * nothing: it will be down. */
void ctrlr_ask(struct ctrlr *ctrlr, const struct nvme_sqe *sqe, bool identify, void (*heard)(struct hio *io));

/* It cannot go on; `what` is a reason in plain words. */
void ctrlr_lose(struct ctrlr *ctrlr, int error, const char *why);

/* So that the target hears of it from now on. */
void ctrlr_keep_alive(struct ctrlr *ctrlr);

void ctrlr_limit(struct ctrlr *ctrlr);    /* the time for connecting begins, anew */
void ctrlr_risen(struct ctrlr *ctrlr);    /* all steps are done */

/* Does the step at hand, and then those that follow; then it has risen, or is being lost. */
void ctrlr_step(struct ctrlr *ctrlr);

/* What is being waited for, in words. */
const char *ctrlr_step_name(const struct ctrlr *ctrlr);

#endif
