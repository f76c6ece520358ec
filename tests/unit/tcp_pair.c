#include "tcp_pair.h"

#include <assert.h>
#include <stdlib.h>

/* The slots' memory was another connection's, which waited for data in each of them. */
static void
leave_behind(struct pair *pair)
{
	for (unsigned i = 0; i < PAIR_DEPTH; i++) {
		struct pair_slot *slot = &pair->slots[i];

		memset(slot, 0xaa, offsetof(struct pair_slot, data));
		slot->iov[0] = (struct iovec){ pair->volume, PAIR_STALE };
		slot->xfer = (struct xfer){
			.state = XFER_RECEIVING, .cid = 0, .ttag = (uint16_t)i, .iov = slot->iov, .iov_count = 1,
			.length = PAIR_STALE, .asked = PAIR_STALE, .asking = PAIR_STALE,
		};
	}
}

struct pair_slot *
pair_slot(struct pair *pair, unsigned index)
{
	while (pair->tc.slots_used <= index)
		(void)tconn_slot_new(&pair->tc);
	return &pair->slots[index];
}

struct pair *
pair_create(uint64_t seed, bool hdgst, bool ddgst, bool sq_flow)
{
	const struct hconn_options options = {
		.hdgst = hdgst, .ddgst = ddgst, .incapsule_max = 8192, .data_max = PAIR_DATA,
	};
	const struct tconn_limits limits = { .incapsule_max = 8192, .maxh2cdata = 128 * 1024, .piece = PAIR_PIECE };
	struct pair *pair = calloc(1, sizeof(*pair));

	assert(pair != NULL);
	rng_seed(&pair->rng, seed);
	pair->segment_max = 70000;
	hconn_init(&pair->hc, &options, pair->reqs, pair->cids, PAIR_DEPTH);
	tconn_init(&pair->tc, &limits);
	leave_behind(pair);
	tconn_slots(&pair->tc, pair->slots, sizeof(pair->slots[0]), PAIR_DEPTH);
	tconn_connected(&pair->tc, false, PAIR_DEPTH, sq_flow);
	return pair;
}

/* ---- the target's owner: a volume in memory ---- */

static void
answer(struct pair *pair, struct pair_slot *slot)
{
	uint32_t offset = le32_get(slot->sqe.cdw10);
	struct nvme_status status = pair->verdict != NULL ? pair->verdict(pair, &slot->sqe) : NVME_OK;

	if (slot->xfer.data_bad)
		status = nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false);
	if (nvme_ok(status) && slot->sqe.opcode == NVME_WRITE)
		memcpy(pair->volume + offset, slot->data, slot->xfer.length);
	if (!nvme_ok(status) || slot->sqe.opcode != NVME_READ) {
		tconn_answer(&pair->tc, &slot->xfer, status, false);
		return;
	}
	/* Lent, in up to three pieces. */
	slot->iov[0] = (struct iovec){ pair->volume + offset, slot->xfer.length / 3 };
	slot->iov[1] = (struct iovec){ pair->volume + offset + slot->iov[0].iov_len, slot->xfer.length / 3 };
	slot->iov[2] = (struct iovec){ (uint8_t *)slot->iov[1].iov_base + slot->iov[1].iov_len,
		slot->xfer.length - 2 * (slot->xfer.length / 3) };
	slot->xfer.iov = slot->iov;
	slot->xfer.iov_count = 3;
	tconn_answer(&pair->tc, &slot->xfer, status, true);
}

static void
command(struct pair *pair, const struct tconn_item *item)
{
	unsigned index = 0;
	struct pair_slot *slot;

	while (index < PAIR_DEPTH && pair_slot(pair, index)->xfer.state != XFER_FREE)
		index++;
	assert(index < PAIR_DEPTH);
	slot = &pair->slots[index];
	pair->commands++;
	tconn_hold(&pair->tc, &slot->xfer, item->sqe);
	slot->sqe = *item->sqe;
	slot->xfer.length = le32_get(item->sqe->sgl1.length);
	slot->iov[0] = (struct iovec){ slot->data, slot->xfer.length };
	slot->xfer.iov = slot->iov;
	slot->xfer.iov_count = 1;
	if (item->data_len > 0 && item->data == NULL) {
		tconn_incapsule(&pair->tc, &slot->xfer);
	} else if (item->data_len > 0) {
		memcpy(slot->data, item->data, item->data_len);
		slot->xfer.data_bad = !item->data_ok;
		answer(pair, slot);
	} else if (slot->sqe.opcode == NVME_WRITE) {
		tconn_ask(&pair->tc, &slot->xfer);
	} else {
		answer(pair, slot);
	}
}

/* ---- the wire ---- */

/* Puts what was gathered on the wire, or a random part of it; answers how much. */
static size_t
put(struct pair *pair, struct pair_wire *wire)
{
	const struct gather *g = &pair->gather;
	size_t limit = g->bytes, moved = 0;

	if (rng_below(&pair->rng, 2) == 0)
		limit = 1 + rng_below(&pair->rng, g->bytes);
	for (unsigned i = g->first; i < g->count && moved < limit; i++) {
		size_t step = g->iov[i].iov_len < limit - moved ? g->iov[i].iov_len : limit - moved;

		assert(wire->tail + step <= PAIR_WIRE);
		memcpy(wire->bytes + wire->tail, g->iov[i].iov_base, step);
		wire->tail += step;
		moved += step;
	}
	return moved;
}

/* A piece of what is on the wire: straight to its place as far as the framer wants that, then here. */
static size_t
get(struct pair *pair, struct pair_wire *wire, struct framer *framer, const uint8_t **at)
{
	size_t there = wire->tail - wire->head, take = there, direct = 0;
	struct iovec iov[4];
	int count = framer_direct(framer, iov, 4);

	if (there > 1)
		take = 1 + rng_below(&pair->rng, there < pair->segment_max ? there : pair->segment_max);
	for (int i = 0; i < count && direct < take; i++) {
		size_t step = iov[i].iov_len < take - direct ? iov[i].iov_len : take - direct;

		memcpy(iov[i].iov_base, wire->bytes + wire->head + direct, step);
		direct += step;
	}
	if (direct > 0)
		framer_landed(framer, direct);
	*at = wire->bytes + wire->head + direct;
	wire->head += take;
	return take - direct;
}

static void
feed_target(struct pair *pair)
{
	struct tconn_item item;
	const uint8_t *at;
	size_t left = get(pair, &pair->to_target, &pair->tc.framer, &at);

	for (;;) {
		switch (tconn_next(&pair->tc, &at, &left, &item)) {
		case TCONN_MORE:
			return;
		case TCONN_COMMAND:
			command(pair, &item);
			break;
		case TCONN_DATA:
			answer(pair, container_of(item.xfer, struct pair_slot, xfer));
			break;
		case TCONN_CLOSING:
			pair->target_closing = true;
			return;
		}
	}
}

static void
complete(struct pair *pair, struct hreq *req)
{
	pair->completions++;
	if (pair->completed != NULL)
		pair->completed(pair, req);
}

static void
feed_host(struct pair *pair)
{
	const uint8_t *at;
	size_t left = get(pair, &pair->to_host, &pair->hc.framer, &at);
	struct hreq *req;

	for (;;) {
		switch (hconn_next(&pair->hc, &at, &left, &req)) {
		case HCONN_MORE:
			return;
		case HCONN_UP:
			pair->up = true;
			break;
		case HCONN_DONE:
			complete(pair, req);
			break;
		case HCONN_CLOSING:
			pair->host_closing = true;
			return;
		}
	}
}

void
pair_gather_target(struct pair *pair)
{
	gather_reset(&pair->gather);
	tconn_gather(&pair->tc, &pair->gather);
}

void
pair_gather_host(struct pair *pair)
{
	gather_reset(&pair->gather);
	hconn_gather(&pair->hc, &pair->gather);
}

static void
send_target(struct pair *pair)
{
	struct fifo finished;
	struct fifo_node *node;

	fifo_init(&finished);
	pair_gather_target(pair);
	tconn_sent(&pair->tc, put(pair, &pair->to_host), &finished);
	while ((node = fifo_pop(&finished)) != NULL)
		container_of(node, struct xfer, tx_node)->state = XFER_FREE;
}

static void
send_host(struct pair *pair)
{
	struct fifo done;
	struct fifo_node *node;

	fifo_init(&done);
	pair_gather_host(pair);
	hconn_sent(&pair->hc, put(pair, &pair->to_target), &done);
	while ((node = fifo_pop(&done)) != NULL)
		complete(pair, container_of(node, struct hreq, tx_node));
}

void
pair_run(struct pair *pair)
{
	for (;;) {
		unsigned ways = 0;
		void (*way[4])(struct pair *);

		if (pair->to_target.head == pair->to_target.tail)
			pair->to_target.head = pair->to_target.tail = 0;
		else
			way[ways++] = feed_target;
		if (pair->to_host.head == pair->to_host.tail)
			pair->to_host.head = pair->to_host.tail = 0;
		else
			way[ways++] = feed_host;
		if (tconn_pending(&pair->tc))
			way[ways++] = send_target;
		if (hconn_pending(&pair->hc))
			way[ways++] = send_host;
		if (ways == 0)
			return;
		way[rng_below(&pair->rng, ways)](pair);
	}
}

struct pair *
pair_connected(uint64_t seed, bool hdgst, bool ddgst, bool sq_flow)
{
	struct pair *pair = pair_create(seed, hdgst, ddgst, sq_flow);

	pair_run(pair);
	assert(pair->up);
	return pair;
}

void
pair_answer(struct pair *pair, unsigned slot, struct iovec *iov)
{
	struct nvme_sqe sqe = { .opcode = NVME_READ, .cid = le16_of((uint16_t)slot) };
	struct xfer *xfer = &pair_slot(pair, slot)->xfer;

	tconn_hold(&pair->tc, xfer, &sqe);
	xfer->iov = iov;
	xfer->iov_count = 1;
	xfer->length = (uint32_t)iov->iov_len;
	tconn_answer(&pair->tc, xfer, NVME_OK, true);
}

static bool
pick_any(const struct xfer *xfer, void *arg)
{
	(void)xfer;
	(void)arg;
	return true;
}

void
pair_withdraw(struct pair *pair, struct fifo *withdrawn)
{
	tconn_withdraw(&pair->tc, pick_any, NULL, withdrawn);
}

void
pair_request(struct hreq *req, uint8_t opcode, uint32_t offset, struct iovec *iov, uint32_t count,
    uint32_t length)
{
	req->sqe = (struct nvme_sqe){ .opcode = opcode, .cdw10 = le32_of(offset) };
	req->data = opcode == NVME_READ ? HREQ_READ : opcode == NVME_WRITE ? HREQ_WRITE : HREQ_NONE;
	req->length = length;
	req->iov = iov;
	req->iov_count = count;
}
