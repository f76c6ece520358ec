/*
 * sent_watch.h - what a target sends on one connection, held against what it has to say.
 *
 * Every PDU is built a second time, from what the commands are alone, and must be the same to the byte; which of
 * them comes when is the target's choice, within what it asked for and owes.  It knows no tconn, and asserts.
 */
#ifndef WEIR_TEST_SENT_WATCH_H
#define WEIR_TEST_SENT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { WATCH_DEPTH = 16, WATCH_PLEN = 64 * 1024 };

/* One command; `data`, of `length` bytes, is the caller's and stays as it is until the command is `over`. */
struct watched {
	bool known, over;      /* it was begun; all of its answer went out */
	bool answered;
	uint16_t cid;
	uint32_t asks;         /* bytes that it is to be asked for, in R2Ts */
	uint32_t asked;        /* by those that are out: told from what was sent */
	uint32_t came;         /* of these: told by the caller */
	const uint8_t *data;
	uint32_t length;       /* of data in its answer */
	uint32_t moved;        /* of these, sent */
};

struct watch {
	/* The terms: set before the first byte. */
	bool hdgst, ddgst, sq_flow;
	uint8_t pda;           /* as in ICReq */
	uint32_t r2ts;         /* of one command at a time, as the host allows it */
	uint32_t piece;        /* bytes of a C2HData at most, and of an R2T where the host takes several */
	uint32_t slots;        /* TTAGs of one command are so far apart */

	uint16_t sqhd_last;
	bool ended;            /* a TermReq was sent */
	struct watched of[WATCH_DEPTH]; /* by slot */
	uint32_t have;         /* bytes of the PDU that is being sent */
	uint8_t pdu[WATCH_PLEN];
};

/* A command begins in `slot`, whose last one is over: it is asked for `asks` bytes. */
void watch_begin(struct watch *w, unsigned slot, uint16_t cid, uint32_t asks);

/* It is answered with success, and with data before. */
void watch_answer(struct watch *w, unsigned slot, const void *data, uint32_t length);

/* The first `bytes` of what lies there were sent.  `sqhd` is the greatest that may be told; it goes round at 65536. */
void watch_sent(struct watch *w, const struct iovec *iov, size_t bytes, uint16_t sqhd);

#endif
