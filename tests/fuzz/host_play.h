/*
 * host_play.h - the host's side of a connection with commands in flight, and what a target may know of them.
 *
 * Held to be true: each PDU that the host sends is right to the byte; buffers change only while their command is in
 * flight, and only as far as data came; each command is done once.  It knows no rule about what a target may send.
 */
#ifndef TESTS_FUZZ_HOST_PLAY_H
#define TESTS_FUZZ_HOST_PLAY_H

#include "tcp/hconn.h"

enum { PLAY_SLOTS = 8, PLAY_DATA = 12 * 1024, PLAY_PIECES = 5, PLAY_WIRE = 32 * 1024, PLAY_GUARD = 16 };

/* One command; its data lies in pieces, with guards around each. */
struct play_slot {
	struct hreq req;
	struct iovec iov[PLAY_PIECES];
	uint8_t memory[PLAY_DATA + (PLAY_PIECES + 1) * PLAY_GUARD];
	uint8_t shadow[PLAY_DATA];   /* what has to stand in the pieces, one behind the other */
	bool known;                  /* it was submitted at least once: cid is that of then */
	bool in_flight;
	bool at_target;              /* its capsule was sent to its end, and it was not answered */
	bool answered;               /* so it was, while its data was going out: one more PDU may come */
	bool to_be_done;             /* the host is to say so, with this status: */
	bool data_bad;
	struct nvme_status status;
	uint32_t moved;              /* came, of a read; was asked for, of a write */
	uint32_t taken;              /* of a write, sent in answer to R2Ts */
	uint16_t cid;
	unsigned r2ts;               /* outstanding: */
	struct { uint32_t end; uint16_t ttag; } r2t[HREQ_R2TS];
};

struct play {
	struct hconn hc;
	struct hconn_options options;
	uint8_t cpda;
	uint32_t maxh2cdata;
	struct gather gather;
	struct hreq *reqs[PLAY_SLOTS];
	uint16_t cids[PLAY_SLOTS];
	struct play_slot slots[PLAY_SLOTS];
	bool strayed;                /* of what came nobody knows what it means: contents of reads are not judged */
	uint8_t out[PLAY_WIRE];      /* the PDU that the host is sending */
	uint32_t out_have;
	bool hello_out, term_out;
	const uint8_t *quoted;       /* what a TermReq has to quote; NULL: not known */
};

/* Any free slot, or NULL. */
struct play_slot *play_free_slot(struct play *p);

/* A command of so many bytes (1 to PLAY_DATA), whose pieces are cut by `seed`; false: the host does not take it. */
bool play_submit(struct play *p, struct play_slot *slot, enum hreq_data data, uint32_t length, unsigned seed);

/* At most so many bytes go out; 0: all. */
void play_send(struct play *p, size_t most);

/* The host says that it is done. */
void play_done(struct play *p, struct hreq *req);

/* The connection is dead: what is in flight is taken out, each once, and nothing is left. */
void play_end(struct play *p);

#endif
