/*
 * qpair.h - one queue pair of the host: a stream, the protocol on it, Connect.
 *
 * Owned by the reactor that made it.  From qpair_open() it goes by itself
 * through TCP, ICReq and Connect to `up`, and from anywhere to `down`, once;
 * every request in flight is done by then.
 */
#ifndef WEIR_HOST_QPAIR_H
#define WEIR_HOST_QPAIR_H

#include "tcp/hconn.h"
#include "wire/fabrics.h"
#include "world/reactor.h"

enum { QPAIR_TRANSFER_MAX = 1024 * 1024 }; /* bytes of one command */

/* A request with the one who waits for it. */
struct hio {
	struct hreq req;
	bool lost;                    /* once it is done: its connection ended before it was answered, so nobody knows
	                               * whether it was executed; req.status is NVME_SC_HOST_ABORTED */
	void (*done)(struct hio *io); /* from the reactor's turn; never from inside a submit */
	void *owner;
};

struct qpair_options {
	const char *host;
	uint16_t port;
	bool hdgst, ddgst, sq_flow;
	uint16_t qid, entries;     /* the queue holds `entries` commands */
	uint16_t cntlid;           /* FFFFh on the admin queue */
	uint32_t kato_ms;
	uint32_t incapsule_max;    /* bytes */
	const char *subnqn, *hostnqn;
	uint8_t hostid[16];
};

enum qpair_state {
	QPAIR_DIALLING,   /* TCP is being connected */
	QPAIR_HELLO,      /* ICReq is out */
	QPAIR_CONNECTING, /* Connect is out */
	QPAIR_UP,
	QPAIR_ENDING,     /* the target broke a rule: it is told by a TermReq, and its close waited for, half a second
	                   * at most; what was in flight is done after that */
	QPAIR_DOWN,
};

struct qpair {
	struct reactor *reactor;
	struct qpair_options options;
	enum qpair_state state;
	struct stream *stream;
	struct hconn hc;
	struct gather *gather;     /* the reactor's */
	struct task send;
	struct timer ending;
	bool blocked;              /* the stream takes no more */
	bool held;                 /* qpair_hold() */
	struct hio connect;
	struct nvme_status connect_status; /* where the target refused it; else 0 */
	struct nvme_connect_data *data;
	struct iovec data_iov;
	struct hreq **reqs;
	uint16_t *cids;
	uint16_t cntlid;           /* what Connect answered */
	char why[160];             /* why it is down, in plain words */
	void (*up)(struct qpair *qp);
	void (*down)(struct qpair *qp, int error); /* negative errno */
	void *owner;
};

/* 0, -ENOMEM, or what connecting said at once; then the qpair needs no closing. */
int qpair_open(struct qpair *qp, struct reactor *reactor, struct gather *gather,
    const struct qpair_options *options) __attribute__((warn_unused_result));

/* Whether it is up and `n` more commands fit. */
bool qpair_room(const struct qpair *qp, unsigned n);

/* Sends it, at the end of this turn; false: as many as the queue holds are in flight, or it is not up.  Two that
 * are submitted one after the other follow each other on the wire, as the halves of a fused command must. */
bool qpair_submit(struct qpair *qp, struct hio *io);

/* From now on nothing of it is sent, not even what was submitted in this turn; or all that has waited is. */
void qpair_hold(struct qpair *qp, bool held);

/*
 * Both end it without calling down(); what is in flight is done as lost.  They free its memory.
 * The first in good order: what was written still reaches the target.  So nothing may be in flight that somebody
 * sends again elsewhere.  The other one gives it up, as down() has done: by a reset, after which nothing more of
 * it is sent.
 */
void qpair_close(struct qpair *qp);
void qpair_abort(struct qpair *qp);

#endif
