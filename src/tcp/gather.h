/*
 * gather.h - what is sent at one time: entries for writev, and the headers
 * among them, of one connection or of several, one behind the other.
 *
 * PDU headers are written when a batch is sent, one after the other, so that
 * a completion and the next header are one entry; a request stores none.
 * What was not sent is built again next time, the same to the byte.
 * One per reactor, empty between two moves.
 */
#ifndef WEIR_TCP_GATHER_H
#define WEIR_TCP_GATHER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

enum {
	GATHER_IOV = 1024,         /* the kernel's limit */
	GATHER_HEADS = 96 * 1024,
	GATHER_BYTES = 4 * 1024 * 1024, /* more than a socket takes at once */
	GATHER_ITEM_IOV = 24,      /* the most entries one command adds */
	GATHER_ITEM_HEADS = 512,   /* the most header bytes one command adds */
};

struct gather {
	unsigned first, count; /* iov[first .. count - 1] is the last connection's */
	size_t bytes;          /* of the last connection */
	size_t heads_used;     /* of all */
	struct iovec iov[GATHER_IOV];
	uint8_t heads[GATHER_HEADS];
};

static inline void gather_reset(struct gather *g) { g->first = g->count = 0; g->heads_used = g->bytes = 0; }

/* What follows is another connection's: first, count and bytes are its own. */
static inline void gather_next(struct gather *g) { g->first = g->count; g->bytes = 0; }

/* Room for one more command, whatever it is. */
static inline bool
gather_room(const struct gather *g)
{
	return g->count + GATHER_ITEM_IOV <= GATHER_IOV &&
	    g->heads_used + GATHER_ITEM_HEADS <= GATHER_HEADS && g->bytes < GATHER_BYTES;
}

/* `bytes` bytes of header to write to, which follow what was gathered so far. */
static inline uint8_t *
gather_head(struct gather *g, size_t bytes)
{
	uint8_t *at = g->heads + g->heads_used;
	struct iovec *last = g->count > g->first ? &g->iov[g->count - 1] : NULL;

	if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == at)
		last->iov_len += bytes;
	else
		g->iov[g->count++] = (struct iovec){ at, bytes };
	g->heads_used += bytes;
	g->bytes += bytes;
	return at;
}

/* The same as an entry of its own: what lies before is data, or nothing. */
static inline uint8_t *
gather_new_head(struct gather *g, size_t bytes)
{
	uint8_t *at = g->heads + g->heads_used;

	g->iov[g->count++] = (struct iovec){ at, bytes };
	g->heads_used += bytes;
	g->bytes += bytes;
	return at;
}

static inline void
gather_data(struct gather *g, const struct iovec *iov, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		g->iov[g->count++] = iov[i];
		g->bytes += iov[i].iov_len;
	}
}

/* Drops the first `skip` of the bytes gathered, which were sent before. */
static inline void
gather_skip(struct gather *g, size_t skip)
{
	g->bytes -= skip;
	while (g->first < g->count && skip >= g->iov[g->first].iov_len)
		skip -= g->iov[g->first++].iov_len;
	if (skip > 0) {
		g->iov[g->first].iov_base = (uint8_t *)g->iov[g->first].iov_base + skip;
		g->iov[g->first].iov_len -= skip;
	}
}

/* `bytes` went out, first what was left of a PDU that has a place of its own, of which `*sent` of `len` were out;
 * answers how many are behind it. */
static inline size_t
gather_sent(uint32_t *sent, uint32_t len, size_t bytes)
{
	size_t step = len - *sent;

	step = bytes < step ? bytes : step;
	*sent += (uint32_t)step;
	return bytes - step;
}

#endif
