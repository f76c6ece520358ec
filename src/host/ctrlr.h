/*
 * ctrlr.h - one association with one controller of a target: its admin queue.
 *
 * Connects, enables, learns who the controller is, keeps it alive, carries
 * admin commands, hears events, shuts down, and says once when it is lost.
 * I/O queues are elsewhere, maybe on other reactors (lane.h): they are opened
 * with the facts found here.  It never connects again: who wants that opens
 * another one.  Of a discovery controller it is the same.
 *
 * All of it belongs to one reactor.
 */
#ifndef WEIR_HOST_CTRLR_H
#define WEIR_HOST_CTRLR_H

#include "host/qpair.h"
#include "wire/extension.h"
#include "wire/identify.h"

struct ctrlr;

/* What is known once it is ready. */
struct ctrlr_facts {
	uint16_t cntlid;
	bool discovery;
	bool fences, credits, orders; /* FENCE was granted, CREDITS, ORDER (doc/extension.md) */
	uint16_t queues;        /* I/O queues that were granted: at most as many as asked for */
	uint16_t entries_max;   /* commands that a queue may hold: MAXCMD, and CAP.MQES + 1; 2 at least */
	uint32_t incapsule_max; /* bytes of data in the capsule of an I/O command */
	uint32_t transfer_max;  /* bytes of one command */
	uint32_t kato_ms;       /* as agreed: 0, none */
	uint32_t quiet_ms;      /* after so long without a word of us the target is sure to have ended the association:
	                         * KATO as it rounds that (KAS), twice where all traffic counts (TBKAS); 0: never */
	uint32_t anatt_ms;      /* the longest that ANA groups are in change */
	bool ana;               /* there are ANA states: log page 0Ch */
	uint32_t ana_groups;    /* NANAGRPID: at most so many in that log */
	uint8_t aborts;         /* that may be outstanding: ACL + 1 */
	uint32_t events;        /* of those that were asked for: the changes it will tell of */
};

/* One admin command.  The owner fills sqe (without CID, PSDT and SGL), data, iov, iov_count, length and done, maybe a
 * time-out; it and its buffers are the controller's until done(). */
struct ctrlr_cmd {
	struct hio io;             /* io.req: sqe, data, iov, iov_count, length; then status, dw0, dw1; io.lost: the
	                            * association is over, and nobody knows whether it was executed.  Of one that was
	                            * never sent that is false, and the status NVME_SC_HOST_ABORTED */
	struct fifo_node waiting;  /* while the queue is full */
	/* Without an answer for so long after it was sent the controller is lost: nothing less gives the buffers back.
	 * 0: it has all the time.  Else `name` says what it is, in plain words. */
	uint32_t timeout_ms;
	const char *name;
	bool late;                 /* done: this is why the controller was lost */
	struct timer limit;
	void (*done)(struct ctrlr_cmd *cmd); /* from the reactor's turn; never from inside ctrlr_submit() */
	void *owner;
};

struct ctrlr_options {
	char addr[64];             /* numeric */
	uint16_t port;
	char subnqn[NVME_NQN_FIELD], hostnqn[NVME_NQN_FIELD];
	uint8_t hostid[16];
	uint16_t cntlid;           /* a static controller, or any of them (NVME_CNTLID_STATIC); 0: a dynamic one */
	uint16_t queues;           /* I/O queues to ask for; 0: none, as of a discovery controller */
	bool hdgst, ddgst, sq_flow;
	bool plain;                /* asks for nothing of Weir's extension, as if the target had none */
	uint32_t kato_ms;          /* 0: no keep alive */
	uint32_t connect_ms;       /* until ready; 0: 10 s.  A controller that says that it is not enabled yet has the
	                            * time in which it says it will be (CAP.TO), and these then begin anew */
	uint32_t events;           /* feature 0Bh: which changes to be told of; 0: none */
	/* Each of these is called from the reactor's turn, never from inside a call of this header. */
	void (*ready)(struct ctrlr *ctrlr);                       /* once */
	void (*lost)(struct ctrlr *ctrlr, int error, const char *why); /* once, before or after ready(); all commands
	                                                            * are done; only ctrlr_destroy() may follow */
	void (*event)(struct ctrlr *ctrlr, uint32_t dw0);         /* DW0 of an Asynchronous Event; another one is asked
	                                                           * for before this is called */
	void *owner;
};

/* 0: ready() or lost() will be called, unless it is destroyed before; -ENOMEM, or what connecting said at once.
 * The options are copied. */
int ctrlr_open(struct reactor *reactor, const struct ctrlr_options *options, struct ctrlr **ctrlr)
    __attribute__((warn_unused_result));

void *ctrlr_owner(const struct ctrlr *ctrlr);
const struct ctrlr_facts *ctrlr_facts(const struct ctrlr *ctrlr); /* from ready() on */

/* Identify Controller as it came, NVME_IDENTIFY_LEN bytes; from ready() on, while the controller is there. */
const struct nvme_identify_ctrl *ctrlr_identity(const struct ctrlr *ctrlr);

/* Whether the target said of its Connect that trying again is in vain (DNR); of one that is lost. */
bool ctrlr_final(const struct ctrlr *ctrlr);

/* With what status it refused its Connect; 0: it did not. */
struct nvme_status ctrlr_connect_status(const struct ctrlr *ctrlr);

/* Sends it, or keeps it until it is ready and the queue has room: they are sent in the order given.  Of one that is
 * lost, or closing, it is done with NVME_SC_HOST_ABORTED, in the next turn. */
void ctrlr_submit(struct ctrlr *ctrlr, struct ctrlr_cmd *cmd);

/*
 * Shuts it down in order (CC.SHN normal, then CSTS.SHST, five seconds at most, then the connection), and calls
 * closed(), from the reactor's turn: it is gone.  One that is not ready yet is only disconnected.  I/O queues have
 * been closed before; admin commands that are not answered by then are done as lost.  Where it is lost meanwhile it
 * is closed, too; one that lost() has told of is destroyed instead.  Any of the callbacks may call this.
 */
void ctrlr_close(struct ctrlr *ctrlr, void (*closed)(void *owner));

/* Ends it at once, by a reset of the connection; commands in flight are done as lost, before this returns, and those
 * that wait in the next turn.  Nothing else is called back.  Any of the callbacks may call this, but closed(). */
void ctrlr_destroy(struct ctrlr *ctrlr);

#endif
