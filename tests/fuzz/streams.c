#include "streams.h"

#include <assert.h>
#include <stdlib.h>

#include "tcp/hconn.h"
#include "tcp/tconn.h"

enum { DEPTH = 8, DATA = 16384 };

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

static void
send_all(struct tconn *tc, struct gather *g)
{
	struct fifo finished;
	struct fifo_node *node;

	fifo_init(&finished);
	while (tconn_pending(tc)) {
		gather_reset(g);
		tconn_gather(tc, g);
		assert(g->count > g->first && g->bytes > 0);
		tconn_sent(tc, g->bytes, &finished);
	}
	while ((node = fifo_pop(&finished)) != NULL)
		container_of(node, struct xfer, tx_node)->state = XFER_FREE;
}

static void
answer(struct tconn *tc, struct slot *slot)
{
	bool read = slot->opcode == NVME_READ && slot->xfer.length > 0 && slot->xfer.length <= DATA;

	slot->xfer.iov = &slot->iov;
	slot->xfer.iov_count = 1;
	tconn_answer(tc, &slot->xfer, NVME_OK, read);
}

static bool
command(struct tconn *tc, struct slot *slots, const struct tconn_item *item, struct outcome *o)
{
	struct slot *slot = slots;

	while (slot < slots + tc->slots_used && slot->xfer.state != XFER_FREE)
		slot++;
	if (slot == slots + tc->slots_used && tconn_slot_new(tc) == NULL)
		return false; /* more than the queue holds */
	note(o, item->sqe, sizeof(*item->sqe));
	tconn_hold(tc, &slot->xfer, item->sqe);
	slot->opcode = item->sqe->opcode;
	slot->xfer.length = le32_get(item->sqe->sgl1.length);
	slot->iov = (struct iovec){ slot->data, slot->xfer.length };
	slot->xfer.iov = &slot->iov;
	slot->xfer.iov_count = 1;
	if (item->data_len > 0 && item->data == NULL) {
		tconn_incapsule(tc, &slot->xfer);
	} else if (item->data_len > 0) {
		note(o, item->data, item->data_len);
		note_event(o, 2, item->data_ok);
		answer(tc, slot);
	} else if (slot->opcode == NVME_WRITE && slot->xfer.length > 0 && slot->xfer.length <= DATA) {
		tconn_ask(tc, &slot->xfer);
	} else {
		answer(tc, slot);
	}
	return true;
}

struct outcome
play_target(const uint8_t *data, size_t size, size_t step)
{
	const struct tconn_limits limits = { .incapsule_max = 8192, .maxh2cdata = 4096, .piece = 1024 };
	struct slot *slots = malloc(DEPTH * sizeof(*slots));
	struct gather *g = calloc(1, sizeof(*g));
	struct outcome o = { 0 };
	struct tconn_item item;
	struct tconn tc;
	bool open = true;

	assert(slots != NULL && g != NULL);
	/* They were another connection's, and waited for data. */
	for (unsigned i = 0; i < DEPTH; i++)
		slots[i].xfer = (struct xfer){ .state = XFER_RECEIVING, .length = DATA, .asked = DATA };
	tconn_init(&tc, &limits);
	tconn_slots(&tc, slots, sizeof(*slots), DEPTH);
	tconn_connected(&tc, false, DEPTH, false);
	for (size_t at = 0; open && at < size; at += step) {
		const uint8_t *piece = data + at;
		size_t left = step < size - at ? step : size - at;
		enum tconn_event event;

		while (open && (event = tconn_next(&tc, &piece, &left, &item)) != TCONN_MORE) {
			if (event == TCONN_COMMAND) {
				open = command(&tc, slots, &item, &o);
			} else if (event == TCONN_DATA) {
				struct slot *slot = container_of(item.xfer, struct slot, xfer);

				note(&o, slot->data, slot->xfer.length);
				note_event(&o, 2, !slot->xfer.data_bad);
				answer(&tc, slot);
			} else {
				open = false;
			}
			send_all(&tc, g);
		}
		send_all(&tc, g);
	}
	o.fes = tc.fault.fes;
	o.fei = tc.fault.fei;
	free(slots);
	free(g);
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
	for (size_t at = 1; open && at < size; at += step) {
		const uint8_t *piece = data + at;
		size_t left = step < size - at ? step : size - at;
		enum hconn_event event;

		while (open && (event = hconn_next(&hc, &piece, &left, &req)) != HCONN_MORE) {
			if (event == HCONN_UP)
				submit_jobs(&hc, jobs);
			else if (event == HCONN_DONE)
				host_done(&o, req);
			else
				open = false;
			host_send(&hc, g, &o);
		}
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
