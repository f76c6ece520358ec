/*
 * tconn.h - the target's side of one NVMe/TCP connection.
 *
 * Bytes in, commands and their data out; answers in, bytes out.  It does the
 * handshake, R2T and H2CData, C2HData and responses, digests and TermReqs
 * (NVMe/TCP Transport 1.0, 3.2 to 3.7).  It has no socket, no clock and no
 * memory of its own, and does not know what a command means.
 *
 * Bytes are offered with tconn_next() until it says TCONN_MORE; what is to be
 * sent is gathered with tconn_gather(), and tconn_sent() says how much of that
 * went out.
 */
#ifndef WEIR_TCP_TCONN_H
#define WEIR_TCP_TCONN_H

#include "base/list.h"
#include "tcp/framer.h"
#include "tcp/gather.h"

enum xfer_state {
	XFER_FREE,
	XFER_HELD,      /* the owner works on it */
	XFER_ASKING,    /* an R2T is to be sent */
	XFER_RECEIVING, /* data is on its way: after an R2T, or the rest of a capsule */
	XFER_ANSWERING, /* in line to be sent */
	XFER_PIECES,    /* the same, its data in several C2HData */
};

/* One command's passage through a connection; a part of the owner's request slot. */
struct xfer {
	struct fifo_node tx_node;
	enum xfer_state state : 8;
	bool with_data;      /* of an answer: C2HData comes first */
	bool ddgst_set;
	bool data_bad;       /* some data digest was wrong */
	uint8_t iov_count;
	uint16_t cid;
	uint16_t ttag;       /* the slot's index; that of the first R2T */
	uint16_t sqhd;       /* of its completion, as it was last gathered */
	le16 status;
	uint32_t dw0, dw1;
	uint32_t length;     /* bytes of data, either direction */
	uint32_t moved;      /* of a write: received; of an answer in pieces: sent in whole PDUs */
	uint32_t asked;      /* of a write: bytes that R2Ts ask for which are all out */
	uint32_t asking;     /* and that the R2Ts in line go up to */
	uint32_t ddgst;
	uint32_t wire_len;   /* bytes of the PDUs now in line, once they were gathered */
	uint32_t sent;       /* and of those, bytes that went out */
	struct iovec *iov;   /* the data: exactly `length` bytes; of what is received, NULL: it goes nowhere */
};

_Static_assert(offsetof(struct xfer, dw1) == offsetof(struct xfer, dw0) + 4, "looked at as one");

struct tconn_limits {
	uint32_t incapsule_max;  /* bytes, I/O queues; the admin queue always takes 8192 */
	uint32_t maxh2cdata;     /* bytes */
	uint32_t piece;          /* bytes: what is longer goes in pieces of this, where the host allows it, so that
	                          * what is short passes in between */
};

enum { TCONN_R2TS = 4 }; /* so many of one command are outstanding at most, whatever the host allows */
enum { TCONN_CRUMB = 64 }; /* bytes: whose H2CData have less makes much work of little data */

enum tconn_state {
	TCONN_HELLO,       /* waiting for ICReq: nothing was agreed */
	TCONN_OPEN,        /* commands flow */
	TCONN_TERMINATING, /* a TermReq goes out; nothing is heard any more */
	TCONN_ENDED,       /* the peer sent a TermReq, or ours is out: close */
};

struct tconn {
	struct framer framer;
	struct tconn_limits limits;
	enum tconn_state state;
	bool ddgst;
	bool plain;          /* a read is answered by C2HData alone, without digests and padding */
	uint8_t head_len;    /* of PDUs of 24 bytes, with their digest */
	uint8_t data_at;     /* where C2HData's data begins: aligned as the host asked */
	bool sq_flow;        /* SQ flow control: SQHD counts, and no SUCCESS flag */
	bool admin;          /* queue 0, or not connected yet */
	uint8_t r2ts;        /* of one command at a time; with 1 its data is asked for by one R2T */
	uint32_t r2t_bytes;  /* of each but the last of a command */
	uint16_t sqhd, sq_size;
	char *slots;         /* request slots, each with a struct xfer at its start */
	size_t slot_bytes;
	uint32_t slot_count;
	uint32_t slots_used; /* from the first on; what the others hold is anybody's, and nobody looks at it */
	uint64_t crumbs;     /* such H2CData that have come */
	struct xfer *filling; /* whose data the framer is receiving */
	struct fifo out;     /* xfers in line to be sent */
	struct xfer *long_one; /* the one in it that goes in pieces: after each it lets the others pass */
	struct fifo long_ones; /* those that go in pieces after it */
	struct fifo_node **line_end; /* of a line with a long one: where it ended when it was gathered */
	struct fifo asked;   /* within tconn_sent(): xfers whose R2Ts are out; perhaps they may ask for more */
	struct pdu_fault fault; /* why it is terminating; for the log */
	uint8_t control[2 * sizeof(struct pdu_ic) + 24]; /* an ICResp to be sent, or its end and a TermReq */
	uint32_t control_len, control_sent;
};

enum tconn_event {
	TCONN_MORE,    /* the bytes are used up */
	TCONN_COMMAND, /* a command; see tconn_item */
	TCONN_DATA,    /* all data of item->xfer has arrived (see xfer->data_bad) */
	TCONN_CLOSING, /* the state is no longer OPEN: stop reading */
};

struct tconn_item {
	const struct nvme_sqe *sqe; /* valid until the next call */
	const uint8_t *data;        /* in-capsule data that lies whole in the bytes, or NULL */
	uint32_t data_len;          /* in-capsule bytes, 0: none */
	bool data_ok;
	struct xfer *xfer;          /* of TCONN_DATA */
};

void tconn_init(struct tconn *tc, const struct tconn_limits *limits);

/* The request slots of the queue: `count` of them, `bytes` apart; slot 0 begins with the xfer at `slots`.
 * Their memory may hold anything.  Called when the depth is known; until then the owner gives one slot. */
void tconn_slots(struct tconn *tc, void *slots, size_t bytes, uint32_t count);

/* The next slot that was never used, zeroed, or NULL: there is none.  The owner uses no other, and keeps those
 * that are free again. */
struct xfer *tconn_slot_new(struct tconn *tc);

/* A Connect succeeded: the queue's rules. */
void tconn_connected(struct tconn *tc, bool admin, uint16_t sq_size, bool sq_flow);

enum tconn_event tconn_next(struct tconn *tc, const uint8_t **at, size_t *left, struct tconn_item *item);

/* Begins to use a slot for the command of the last TCONN_COMMAND. */
void tconn_hold(struct tconn *tc, struct xfer *xfer, const struct nvme_sqe *sqe);

/*
 * The in-capsule data of the last TCONN_COMMAND did not come whole: it goes to
 * xfer->iov (length bytes; iov NULL: nowhere), and TCONN_DATA follows.
 */
void tconn_incapsule(struct tconn *tc, struct xfer *xfer);

/* Asks the host for xfer->length bytes to xfer->iov by R2Ts, the first of them now; TCONN_DATA follows. */
void tconn_ask(struct tconn *tc, struct xfer *xfer);

/* The data that is on its way goes nowhere from now on: its place is the owner's again.  TCONN_DATA follows.  Between
 * PDUs: not while some of it is coming. */
void tconn_ignore(struct tconn *tc, struct xfer *xfer);

/* Answers a command; with_data: xfer->length bytes of xfer->iov go first, and the status is success. */
void tconn_answer(struct tconn *tc, struct xfer *xfer, struct nvme_status status, bool with_data);

/* The peer broke a rule that only the owner could see. */
void tconn_fault(struct tconn *tc, struct pdu_fault fault, const void *header, uint32_t header_len);

/* Whether anything is to be sent. */
bool tconn_pending(const struct tconn *tc);

/* Gathers what is to be sent behind what lies in `g`, as much as one send may carry: at least one command's
 * worth where there is room for one.  gather_reset() was called before the first.  Until tconn_sent() has heard
 * what became of it nothing else is done with `tc`: what goes out is what is first in line, in that order. */
void tconn_gather(struct tconn *tc, struct gather *g);

/* `bytes` of what was gathered went out: answers that are wholly sent move to `finished`. */
void tconn_sent(struct tconn *tc, size_t bytes, struct fifo *finished);

/* Takes all answers and R2Ts out of the line, but not the one that went out in part unless `all`. */
void tconn_drop(struct tconn *tc, bool all, struct fifo *dropped);

/* Takes those answers with data out of the line that `pick` wants and of which nothing was sent;
 * they may be answered anew. */
void tconn_withdraw(struct tconn *tc, bool (*pick)(const struct xfer *xfer, void *arg), void *arg,
    struct fifo *withdrawn);

/* Between the two halves: tconn.c is told by tconn_send.c that the R2Ts of all in tc->asked are out; and tells it of
 * an answer in pieces. */
void tconn_asked(struct tconn *tc);
void tconn_answer_long(struct tconn *tc, struct xfer *xfer);

#endif
