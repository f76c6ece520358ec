/*
 * orderer.h - a forger that makes a plain target one with ordered writes.
 *
 * It grants ORDER, answers LIST, CUT and FLOOR, forgets a stream that ends, and lets ordered writes pass as plain
 * ones, in their order, when its gate lets them: what the target answers then persists.  Its log is its own memory;
 * nothing is ever taken back.
 */
#ifndef WEIR_TESTS_ORDERER_H
#define WEIR_TESTS_ORDERER_H

#include "forger.h"
#include "order/known.h"
#include "order/gate.h"
#include "wire/nvme.h"

enum { ORDERER_ENTRIES = 4096, ORDERER_ASKED = 64, ORDERER_QUEUES = 64 };

/* A command whose answer is to be changed. */
struct orderer_asked {
	const void *pair;
	struct nvme_sqe sqe;     /* as it came */
	bool busy;
};

struct orderer_entry {
	struct order_attribute attribute;
	struct order_piece piece;
	const void *pair;        /* by which it came, until it is answered; NULL: it was, */
	uint16_t cid;
	bool fails;              /* it is answered so, */
	bool done;               /* or with success */
	uint64_t lba;
	uint32_t blocks, nsid;
};

/* Zeroed by the test, which sets the first lines. */
struct orderer {
	uint8_t log;             /* of the UUID */
	unsigned fails;          /* so many ordered writes fail */
	bool withholds;          /* ORDER is not granted */
	bool fenceless;          /* nor is FENCE */
	uint32_t kato_ms;        /* that the target is told; 0: what the host says */

	const void *pair, *path; /* the connection at hand, and the forger that it goes through */
	struct order_gate gate;
	struct orderer_entry entries[ORDERER_ENTRIES];
	uint32_t entry_count, floor;
	uint16_t term, stream;
	bool stopped;
	const void *goes_by;     /* the connection by which the stream goes on */
	struct orderer_asked asked[ORDERER_ASKED]; /* a ring */
	unsigned asked_count;
	struct { const void *pair, *path; uint16_t qid; } queues[ORDERER_QUEUES]; /* that were connected; a ring */
	unsigned queue_count;
	unsigned lists, cuts, floors, writes, merged, refused;
};

/* A forger of which the test has set host, target and port, and the orderer as its owner; it may have several. */
int orderer_start(struct reactor *reactor, void *arg);

#endif
