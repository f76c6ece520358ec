/*
 * test_tcp_line.c - what a target sends when the wire takes it in parts, cut anywhere, while commands and data come
 * in: every PDU whole, right to the byte, and once.
 *
 * A random play of one connection: long and short reads, writes that are asked for in several R2Ts, and answers
 * without data; some are withdrawn and answered anew.  What goes out is judged by sent_watch.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "sent_watch.h"
#include "tcp/tconn.h"

enum { SEEDS = 1500, STEPS = 400, DEPTH = 8, PIECE = 256, DATA = 12 * PIECE, COMMANDS = 60 };

struct cmd {
	struct xfer xfer;
	struct iovec iov[2];
	bool held;      /* withdrawn: to be answered again */
};

struct play {
	struct rng rng;
	struct tconn tc;
	struct gather gather;
	struct watch watch;
	struct cmd cmds[DEPTH];
	uint16_t cid;
	unsigned begun, over;
	uint8_t data[2 * DATA];    /* what is read, from anywhere in its first half */
	uint8_t taken[DEPTH][DATA]; /* what was written */
};

static uint32_t
below(struct play *p, uint32_t n)
{
	return (uint32_t)rng_below(&p->rng, n);
}

/* ---- what comes in ---- */

static enum tconn_event
hear(struct play *p, const void *pdu, size_t left, struct tconn_item *item)
{
	const uint8_t *at = pdu;
	enum tconn_event event = tconn_next(&p->tc, &at, &left, item);

	assert_int_equal(left, 0);
	return event;
}

static void
hello(struct play *p)
{
	struct pdu_ic ic = { .ch = { PDU_ICREQ, 0, sizeof(ic), 0, le32_of(sizeof(ic)) } };
	struct tconn_item item;

	ic.pda = p->watch.pda;
	ic.dgst = (uint8_t)(p->watch.hdgst | p->watch.ddgst << 1);
	ic.limit = le32_of(p->watch.r2ts - 1);
	if (p->watch.r2ts > TCONN_R2TS)
		p->watch.r2ts = TCONN_R2TS;
	assert_int_equal(hear(p, &ic, sizeof(ic), &item), TCONN_MORE);
}

static void
answer(struct play *p, struct cmd *cmd, bool with_data)
{
	cmd->held = false;
	tconn_answer(&p->tc, &cmd->xfer, NVME_OK, with_data);
}

/* Data of `length` bytes, in two places. */
static void
lie_in(struct play *p, struct cmd *cmd, uint8_t *data, uint32_t length)
{
	uint32_t first = below(p, length);

	cmd->iov[0] = (struct iovec){ data, first };
	cmd->iov[1] = (struct iovec){ data + first, length - first };
	cmd->xfer.iov = cmd->iov + (first == 0);
	cmd->xfer.iov_count = 2 - (first == 0);
	cmd->xfer.length = length;
}

static void
begin(struct play *p, unsigned slot)
{
	uint32_t length = below(p, 2) == 0 ? 1 + below(p, PIECE) : 1 + below(p, DATA);
	struct nvme_sqe sqe = { .cid = le16_of(p->cid++) };
	struct cmd *cmd = &p->cmds[slot];
	uint8_t *data = p->data + below(p, DATA);
	unsigned kind = below(p, 5);

	p->begun++;
	p->tc.sqhd++;
	tconn_hold(&p->tc, &cmd->xfer, &sqe);
	watch_begin(&p->watch, slot, le16_get(sqe.cid), kind < 2 ? length : 0);
	if (kind < 2) {
		lie_in(p, cmd, p->taken[slot], length);
		tconn_ask(&p->tc, &cmd->xfer);
	} else if (kind < 4) {
		lie_in(p, cmd, data, length);
		watch_answer(&p->watch, slot, data, length);
		answer(p, cmd, true);
	} else {
		watch_answer(&p->watch, slot, NULL, 0);
		answer(p, cmd, false);
	}
}

/* A command begins in a slot whose last one is done, or in the next that none had. */
static void
begin_any(struct play *p)
{
	unsigned slot = 0;

	while (slot < p->tc.slots_used && p->cmds[slot].xfer.state != XFER_FREE)
		slot++;
	if (p->begun == COMMANDS || (slot == p->tc.slots_used && tconn_slot_new(&p->tc) == NULL))
		return;
	begin(p, slot);
}

/* Some of the data that R2Ts ask for which are out. */
static void
give_data(struct play *p, unsigned slot)
{
	struct watched *of = &p->watch.of[slot];
	uint32_t unit = p->watch.r2ts > 1 ? PIECE : UINT32_MAX, nth = of->came / unit;
	uint32_t end = of->asks - nth * unit > unit ? (nth + 1) * unit : of->asks, left = end - of->came;
	uint32_t bytes = below(p, 3) == 0 ? 1 + below(p, left) : left, head = p->watch.hdgst ? 28 : 24;
	unsigned flags = (p->watch.hdgst ? PDU_HDGST : 0u) | (p->watch.ddgst ? PDU_DDGST : 0u) |
	    (bytes == left ? PDU_LAST : 0u);
	uint32_t plen = head + bytes + (p->watch.ddgst ? PDU_DIGEST_LEN : 0);
	struct pdu_data pdu = {
		.ch = { PDU_H2C_DATA, (uint8_t)flags, 24, (uint8_t)head, le32_of(plen) },
		.cccid = le16_of(of->cid), .ttag = le16_of((uint16_t)(slot + nth * DEPTH)),
		.offset = le32_of(of->came), .length = le32_of(bytes),
	};
	uint8_t wire[28 + DATA + PDU_DIGEST_LEN];
	struct tconn_item item;

	memcpy(wire, &pdu, sizeof(pdu));
	put_le32(wire + 24, crc32c(0, &pdu, sizeof(pdu)));
	memcpy(wire + head, p->data + of->came, bytes);
	put_le32(wire + head + bytes, crc32c(0, p->data + of->came, bytes));
	of->came += bytes;
	if (hear(p, wire, plen, &item) == TCONN_DATA) {
		assert_int_equal(of->came, of->asks);
		assert_memory_equal(p->taken[slot], p->data, of->asks);
		watch_answer(&p->watch, slot, NULL, 0);
		answer(p, &p->cmds[slot], false);
	}
	assert_int_equal(p->tc.fault.fes, PDU_FES_NONE);
}

static void
give_any_data(struct play *p)
{
	unsigned first = below(p, DEPTH);

	for (unsigned i = 0; i < DEPTH; i++) {
		struct watched *of = &p->watch.of[(first + i) % DEPTH];

		if (of->known && of->asked > of->came) {
			give_data(p, (first + i) % DEPTH);
			return;
		}
	}
}

/* ---- what goes out ---- */

/* All that is in line, or any part of it. */
static void
send_some(struct play *p, bool all)
{
	struct gather *g = &p->gather;
	struct fifo_node *node;
	struct fifo finished;
	size_t bytes;

	fifo_init(&finished);
	gather_reset(g);
	tconn_gather(&p->tc, g);
	if (g->bytes == 0)
		return;
	bytes = all ? g->bytes : 1 + below(p, (uint32_t)g->bytes);
	watch_sent(&p->watch, g->iov + g->first, bytes, p->tc.sqhd);
	tconn_sent(&p->tc, bytes, &finished);
	while ((node = fifo_pop(&finished)) != NULL) {
		struct cmd *cmd = container_of(node, struct cmd, xfer.tx_node);

		assert_true(p->watch.of[cmd - p->cmds].over);
		cmd->xfer.state = XFER_FREE;
		p->over++;
	}
}

static bool
pick_some(const struct xfer *xfer, void *arg)
{
	(void)xfer;
	return below(arg, 2) == 0;
}

static void
withdraw(struct play *p)
{
	struct fifo_node *node;
	struct fifo fifo;

	fifo_init(&fifo);
	tconn_withdraw(&p->tc, pick_some, p, &fifo);
	while ((node = fifo_pop(&fifo)) != NULL)
		container_of(node, struct cmd, xfer.tx_node)->held = true;
}

static void
answer_held(struct play *p)
{
	for (unsigned i = 0; i < DEPTH; i++)
		if (p->cmds[i].held)
			answer(p, &p->cmds[i], true);
}

static void
step(struct play *p)
{
	switch (below(p, 12)) {
	case 0:
		withdraw(p);
		return;
	case 1:
		answer_held(p);
		return;
	case 2:
	case 3:
	case 4:
		begin_any(p);
		return;
	case 5:
	case 6:
	case 7:
	case 8:
		give_any_data(p);
		return;
	default:
		send_some(p, below(p, 3) == 0);
	}
}

/* What is left to be done, to its end. */
static void
finish(struct play *p)
{
	for (unsigned i = 0; p->over < p->begun; i++) {
		assert_true(i < 100000);
		answer_held(p);
		give_any_data(p);
		send_some(p, below(p, 2) == 0);
	}
	assert_false(tconn_pending(&p->tc));
	assert_int_equal(p->watch.have, 0);
	assert_null(p->tc.long_one);
}

static void
play(struct play *p, uint64_t seed)
{
	const struct tconn_limits limits = { .incapsule_max = 8192, .maxh2cdata = DATA, .piece = PIECE };

	memset(p->cmds, 0, sizeof(p->cmds));
	p->cid = 0;
	p->begun = p->over = 0;
	rng_seed(&p->rng, seed);
	p->watch = (struct watch){
		.hdgst = seed & 1, .ddgst = seed % 8 >= 6, .sq_flow = seed & 2, .pda = seed % 5 == 4 ? 31 : 0,
		.r2ts = 1 + (uint32_t)(seed / 8 % 5), .piece = PIECE, .slots = DEPTH,
	};
	tconn_init(&p->tc, &limits);
	tconn_slots(&p->tc, p->cmds, sizeof(p->cmds[0]), DEPTH);
	tconn_connected(&p->tc, false, UINT16_MAX, p->watch.sq_flow);
	p->watch.sqhd_last = p->tc.sqhd;
	hello(p);
	for (unsigned i = 0; i < STEPS; i++)
		step(p);
	finish(p);
}

static void
what_is_sent_in_parts_is_every_pdu_once_and_right_to_the_byte(void **state)
{
	struct play *p = calloc(1, sizeof(*p));

	(void)state;
	assert_non_null(p);
	for (unsigned i = 0; i < sizeof(p->data); i++)
		p->data[i] = (uint8_t)(i * 7 + i / 256);
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		play(p, seed);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_in_parts_is_every_pdu_once_and_right_to_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
