#include "streams.h"

#include <assert.h>
#include <stdlib.h>

#include "sent_watch.h"
#include "tcp/hconn.h"
#include "tcp/tconn.h"

enum { DEPTH = 8, DATA = 16384, PIECE = 1024, TURN = 96 };

struct slot {
	struct xfer xfer;
	uint8_t opcode;
	struct iovec iov;
	uint8_t data[DATA];
};

static void
note(struct outcome *o, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		o->hash = (o->hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
}

static void
note_event(struct outcome *o, uint32_t what, uint32_t value)
{
	o->events++;
	note(o, &what, sizeof(what));
	note(o, &value, sizeof(value));
}

/* ---- the target ---- */

struct end {
	struct tconn tc;
	struct gather gather;
	struct watch watch;
	struct slot *slots;
	uint8_t data[DATA]; /* what is read */
};

/*
 * At most so many bytes of what is in line, and what goes out must be right; 0: all.  Only commands and data that
 * came whole are followed by a send: when else there is one would depend on how the bytes were cut.
 */
static void
send_some(struct end *end, size_t most)
{
	struct gather *g = &end->gather;
	struct fifo finished;
	struct fifo_node *node;
	bool again = true;

	fifo_init(&finished);
	for (unsigned i = 0; i < end->tc.slots_used; i++)
		if (!end->watch.of[i].answered)
			end->watch.of[i].came = end->slots[i].xfer.moved;
	while (again && tconn_pending(&end->tc)) {
		size_t bytes;

		gather_reset(g);
		tconn_gather(&end->tc, g);
		assert(g->count > g->first && g->bytes > 0);
		bytes = most > 0 && most < g->bytes ? most : g->bytes;
		watch_sent(&end->watch, g->iov + g->first, bytes, 0);
		tconn_sent(&end->tc, bytes, &finished);
		again = most == 0;
	}
	while ((node = fifo_pop(&finished)) != NULL)
		container_of(node, struct xfer, tx_node)->state = XFER_FREE;
}

static void
answer(struct end *end, struct slot *slot)
{
	bool read = slot->opcode == NVME_READ && slot->xfer.length > 0 && slot->xfer.length <= DATA;

	if (read)
		slot->iov.iov_base = end->data;
	slot->xfer.iov = &slot->iov;
	slot->xfer.iov_count = 1;
	watch_answer(&end->watch, (unsigned)(slot - end->slots), end->data, read ? slot->xfer.length : 0);
	tconn_answer(&end->tc, &slot->xfer, NVME_OK, read);
}

/* A slot for it; NULL: it is one more than the queue holds, or its CID is in use. */
static struct slot *
slot_for(struct end *end, uint16_t cid)
{
	struct slot *slot = NULL;

	for (unsigned i = 0; i < end->tc.slots_used; i++) {
		if (end->slots[i].xfer.state == XFER_FREE)
			slot = slot != NULL ? slot : &end->slots[i];
		else if (end->slots[i].xfer.cid == cid)
			return NULL;
	}
	if (slot != NULL)
		return slot;
	return (struct slot *)(void *)tconn_slot_new(&end->tc);
}

static bool
command(struct end *end, const struct tconn_item *item, struct outcome *o)
{
	struct slot *slot = slot_for(end, le16_get(item->sqe->cid));
	bool asks;

	if (slot == NULL)
		return false;
	note(o, item->sqe, sizeof(*item->sqe));
	tconn_hold(&end->tc, &slot->xfer, item->sqe);
	slot->opcode = item->sqe->opcode;
	slot->xfer.length = le32_get(item->sqe->sgl1.length);
	slot->iov = (struct iovec){ slot->data, slot->xfer.length };
	slot->xfer.iov = &slot->iov;
	slot->xfer.iov_count = 1;
	asks = item->data_len == 0 && slot->opcode == NVME_WRITE && slot->xfer.length > 0 && slot->xfer.length <= DATA;
	watch_begin(&end->watch, (unsigned)(slot - end->slots), slot->xfer.cid, asks ? slot->xfer.length : 0);
	if (asks) {
		tconn_ask(&end->tc, &slot->xfer);
	} else if (item->data_len > 0 && item->data == NULL) {
		tconn_incapsule(&end->tc, &slot->xfer);
	} else {
		if (item->data_len > 0) {
			note(o, item->data, item->data_len);
			note_event(o, 2, item->data_ok);
		}
		answer(end, slot);
	}
	return true;
}

/* Data that came whole. */
static void
arrived(struct end *end, struct slot *slot, struct outcome *o)
{
	note(o, slot->data, slot->xfer.length);
	note_event(o, 2, !slot->xfer.data_bad);
	end->watch.of[slot - end->slots].came = slot->xfer.length;
	answer(end, slot);
}

static struct end *
end_create(const uint8_t *data, size_t size)
{
	const struct tconn_limits limits = { .incapsule_max = 8192, .maxh2cdata = 4096, .piece = PIECE };
	struct end *end = calloc(1, sizeof(*end));
	struct pdu_ic ic = { 0 };

	assert(end != NULL);
	end->slots = malloc(DEPTH * sizeof(*end->slots));
	assert(end->slots != NULL);
	/* They were another connection's, and waited for data. */
	for (unsigned i = 0; i < DEPTH; i++)
		end->slots[i].xfer = (struct xfer){ .state = XFER_RECEIVING, .length = DATA, .asked = DATA };
	for (unsigned i = 0; i < DATA; i++)
		end->data[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(&ic, data, size < sizeof(ic) ? size : sizeof(ic));
	end->watch = (struct watch){
		.hdgst = ic.dgst & 1, .ddgst = ic.dgst & 2, .pda = ic.pda,
		.r2ts = le32_get(ic.limit) < TCONN_R2TS ? le32_get(ic.limit) + 1 : TCONN_R2TS,
		.piece = PIECE, .slots = DEPTH,
	};
	tconn_init(&end->tc, &limits);
	tconn_slots(&end->tc, end->slots, sizeof(*end->slots), DEPTH);
	tconn_connected(&end->tc, false, DEPTH, false);
	return end;
}

/* A command says in CDW15 how much is sent at each event from then on. */
struct outcome
play_target(const uint8_t *data, size_t size, size_t step)
{
	struct end *end = end_create(data, size);
	struct outcome o = { 0 };
	struct tconn_item item;
	bool open = true;
	size_t most = 0;

	for (size_t at = 0; open && at < size; at += step) {
		const uint8_t *piece = data + at;
		size_t left = step < size - at ? step : size - at;
		enum tconn_event event;

		while (open && (event = tconn_next(&end->tc, &piece, &left, &item)) != TCONN_MORE) {
			/* Data that comes later is an event of its own; with its capsule it is none. */
			bool whole = event != TCONN_COMMAND || item.data_len == 0 || item.data != NULL;

			if (event == TCONN_COMMAND) {
				most = le32_get(item.sqe->cdw15);
				open = command(end, &item, &o);
			} else if (event == TCONN_DATA) {
				arrived(end, container_of(item.xfer, struct slot, xfer), &o);
			} else {
				open = false;
			}
			if (whole)
				send_some(end, most);
		}
	}
	send_some(end, 0);
	o.fes = end->tc.fault.fes;
	o.fei = end->tc.fault.fei;
	free(end->slots);
	free(end);
	return o;
}

/* ---- the host: four reads and four writes of 16 KiB are in flight ---- */

struct job {
	struct hreq req;
	struct iovec iov;
	uint8_t data[DATA];
};

static void
submit_jobs(struct hconn *hc, struct job *jobs)
{
	for (unsigned i = 0; i < DEPTH; i++) {
		jobs[i].iov = (struct iovec){ jobs[i].data, DATA };
		jobs[i].req.sqe.opcode = i < DEPTH / 2 ? NVME_READ : NVME_WRITE;
		jobs[i].req.data = i < DEPTH / 2 ? HREQ_READ : HREQ_WRITE;
		jobs[i].req.length = DATA;
		jobs[i].req.iov = &jobs[i].iov;
		jobs[i].req.iov_count = 1;
		if (!hconn_submit(hc, &jobs[i].req))
			return;
	}
}

static void
host_done(struct outcome *o, const struct hreq *req)
{
	const struct job *job = container_of(req, const struct job, req);

	struct outcome one = { 0 };

	assert(req->state == HREQ_IDLE);
	note_event(&one, 3u | (uint32_t)req->cid << 8, nvme_sc(req->status));
	note(&one, job->data, DATA);
	/* A command answered before its data was sent is done later: the order is no part of it. */
	o->hash += one.hash;
	o->events++;
}

static void
host_send(struct hconn *hc, struct gather *g, struct outcome *o)
{
	struct fifo done;
	struct fifo_node *node;

	fifo_init(&done);
	while (hconn_pending(hc)) {
		gather_reset(g);
		hconn_gather(hc, g);
		assert(g->bytes > 0);
		hconn_sent(hc, g->bytes, &done);
	}
	while ((node = fifo_pop(&done)) != NULL)
		host_done(o, container_of(node, struct hreq, tx_node));
}

/* The next piece: no larger than a step, and not beyond the end of a turn. */
static size_t
piece_of(size_t at, size_t size, size_t step)
{
	size_t turn = TURN - at % TURN, left = size - at < turn ? size - at : turn;

	return step < left ? step : left;
}

/* What is sent, and when, decides what the target may say: so that is at the end of turns, which come after so many
 * bytes however they are cut. */
struct outcome
play_host(const uint8_t *data, size_t size, size_t step)
{
	struct hconn_options options = { .incapsule_max = 8192, .data_max = DATA };
	struct job *jobs = calloc(DEPTH, sizeof(*jobs));
	struct gather *g = calloc(1, sizeof(*g));
	struct hreq *reqs[DEPTH], *req;
	uint16_t cids[DEPTH];
	struct outcome o = { 0 };
	struct hconn hc;
	bool open = true;

	assert(jobs != NULL && g != NULL);
	options.hdgst = size > 0 && data[0] & 1;
	options.ddgst = size > 0 && data[0] & 2;
	hconn_init(&hc, &options, reqs, cids, DEPTH);
	host_send(&hc, g, &o);
	for (size_t at = 1, bytes; open && at < size; at += bytes) {
		const uint8_t *piece = data + at;
		size_t left = bytes = piece_of(at, size, step);
		enum hconn_event event;

		while (open && (event = hconn_next(&hc, &piece, &left, &req)) != HCONN_MORE) {
			if (event == HCONN_UP)
				submit_jobs(&hc, jobs);
			else if (event == HCONN_DONE)
				host_done(&o, req);
			else
				open = false;
		}
		if ((at + bytes) % TURN == 0)
			host_send(&hc, g, &o);
	}
	/* Whatever came: every command is done once, or still in flight. */
	while ((req = hconn_orphan(&hc)) != NULL) {
		assert(req->state == HREQ_IDLE);
		if (req->answered)
			host_done(&o, req);
	}
	assert(hc.free_count == DEPTH);
	o.fes = hc.fault.fes;
	o.fei = hc.fault.fei;
	free(jobs);
	free(g);
	return o;
}
