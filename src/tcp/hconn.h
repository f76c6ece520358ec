/*
 * hconn.h - the host's side of one NVMe/TCP connection.
 *
 * Commands and their data in, bytes out; bytes in, completions out.  It does
 * the handshake, in-capsule data, R2T and H2CData, takes C2HData straight to
 * the caller's buffers, and checks every rule that a target may break
 * (NVMe/TCP Transport 1.0, 3.2 to 3.7).  No socket, no clock, no memory of its
 * own, and it does not know what a command means.
 */
#ifndef WEIR_TCP_HCONN_H
#define WEIR_TCP_HCONN_H

#include "base/list.h"
#include "tcp/framer.h"
#include "tcp/gather.h"

enum hreq_state {
	HREQ_IDLE,    /* the owner's */
	HREQ_CAPSULE, /* its capsule is in line to be sent */
	HREQ_WAITING, /* sent; the target works on it */
	HREQ_DATA,    /* H2CData is in line to be sent */
};

enum {
	HREQ_IOV_MAX = 512, /* pieces of one command's data */
	HREQ_R2TS = 4,      /* R2Ts of one command that may be outstanding: MAXR2T says so */
};

enum hreq_data { HREQ_NONE, HREQ_READ, HREQ_WRITE };

/*
 * One command.  The owner fills sqe (without CID, PSDT and SGL), data, length and
 * iov, submits it, and may not touch it or its buffers until it is done.
 */
struct hreq {
	struct fifo_node tx_node;
	struct nvme_sqe sqe;
	enum hreq_data data : 8;
	enum hreq_state state : 8;
	bool answered;       /* failed before all its data was sent */
	bool data_bad;       /* a data digest of the read was wrong */
	bool ddgst_set;
	uint8_t r2ts;        /* so many of r2t[] are to be answered, from the first on */
	uint16_t cid;
	uint32_t iov_count;
	const struct iovec *iov;
	uint32_t length;     /* bytes of data */
	uint32_t moved;      /* bytes of it that were received or asked for by R2T */
	uint32_t data_at;    /* the next byte to be sent; each R2T goes on where the one before it ends */
	struct hreq_r2t {
		uint32_t end;
		uint16_t ttag;
	} r2t[HREQ_R2TS];
	/* The PDU in line: how it begins, where its data is and how much that is, what was sent, its data digest. */
	uint8_t ch[PDU_CH_LEN];
	uint32_t plen, pdo, data_len, sent, ddgst;
	/* the result, once it is done: */
	struct nvme_status status;
	uint32_t dw0, dw1;
};

struct hconn_options {
	bool hdgst, ddgst;
	uint32_t incapsule_max; /* bytes; raised for I/O queues when IOCCSZ is known */
	uint32_t data_max;      /* the largest transfer, bytes */
};

enum hconn_state {
	HCONN_HELLO,       /* ICReq goes out, ICResp is waited for */
	HCONN_OPEN,
	HCONN_TERMINATING, /* the target broke a rule: the TermReq goes out, and nothing but it */
	HCONN_ENDED,       /* nothing is sent or taken any more */
};

struct hconn {
	struct framer framer;
	struct hconn_options options;
	enum hconn_state state;
	uint8_t cpda;
	uint32_t maxh2cdata;
	struct hreq **reqs;   /* by the low bits of their CID; depth of them */
	uint16_t *free_cids;
	uint32_t depth, free_count;
	uint16_t cid_mask;    /* these bits; the others differ each time */
	struct hreq *filling;
	struct fifo out;
	struct pdu_fault fault;
	uint8_t control[2 * sizeof(struct pdu_ic) + 24]; /* an ICReq to be sent, or its end and a TermReq */
	uint32_t control_len, control_sent;
};

enum hconn_event {
	HCONN_MORE,    /* the bytes are used up */
	HCONN_UP,      /* the handshake is done: commands may be submitted */
	HCONN_DONE,    /* *req is done */
	HCONN_CLOSING, /* the target broke a rule or ended the connection: `fault` says which, in words */
};

/* `reqs` and `cids` hold `depth` entries each, 1 to 65535, and stay the caller's. */
void hconn_init(struct hconn *hc, const struct hconn_options *options, struct hreq **reqs,
    uint16_t *cids, uint32_t depth);

/* False: `depth` requests are in flight, or the connection is not open. */
bool hconn_submit(struct hconn *hc, struct hreq *req);

/*
 * Takes bytes from *at (*left of them) up to the next event.  After
 * HCONN_CLOSING it takes none: what is pending then is the TermReq, behind the
 * end of what had begun to be sent; send it while hconn_pending(), as long as
 * it may take, close, and collect the orphans.
 */
enum hconn_event hconn_next(struct hconn *hc, const uint8_t **at, size_t *left, struct hreq **req);

bool hconn_pending(const struct hconn *hc);
/* As tconn_gather(). */
void hconn_gather(struct hconn *hc, struct gather *g);

/* What was sent; requests answered before their data was out are put in `done`. */
void hconn_sent(struct hconn *hc, size_t bytes, struct fifo *done);

/* The connection is dead and does nothing more: takes out any one request in flight, or NULL.  If it was answered
 * while its data was still being sent (req->answered), its result stands in it. */
struct hreq *hconn_orphan(struct hconn *hc);

/* Between the two halves, hconn.c and hconn_send.c: the request is over; its capsule gets in line; so does its next
 * H2CData, for the first R2T. */
void hconn_release(struct hconn *hc, struct hreq *req);
void hconn_line_up_capsule(struct hconn *hc, struct hreq *req);
void hconn_line_up_data(struct hconn *hc, struct hreq *req);

#endif
