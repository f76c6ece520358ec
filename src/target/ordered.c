/*
 * ordered.c - ordered writes between their requests, their streams and their devices.
 *
 * A command comes, and its stream says whether it can be what comes next; when its data is there its stream knows that
 * too.  What the stream then lets go is submitted here, and what it says is over is answered here.
 * (doc/extension.md, An ordered write)
 */
#include "target/ordered.h"

#include <assert.h>
#include <errno.h>

#include "target/command.h"
#include "wire/extension.h"

enum { SECTOR = 512 };

/* ---- which namespace an entry is of ---- */

static_assert(CTRL_NS_MAX < 1 << 16, "a tag finds room beside an NSID");

const struct view_ns *
ordered_ns(const struct view *view, const struct order_owner *as, uint32_t tagged)
{
	const struct view_subsys *subsys = as != NULL ? view_subsys(view, as->subsystem) : NULL;
	uint32_t nsid = tagged & 0xffff;
	const struct view_ns *ns;

	if (subsys == NULL || nsid - 1 >= subsys->ns_limit)
		return NULL;
	ns = &subsys->ns[nsid - 1];
	return ns->info != NULL && ns->tagged == tagged ? ns : NULL;
}

bool
ordered_is_in(const struct view_ns *ns, const struct order_entry *entry)
{
	return entry->lba < ns->blocks && entry->blocks <= ns->blocks - entry->lba;
}

/* ---- a connection ---- */

int
ordered_conn(struct conn *conn, uint16_t entries)
{
	struct arena *arena = conn->core->reactor->arena;

	conn->ordered_writes = arena_alloc(arena, entries * sizeof(*conn->ordered_writes));
	return conn->ordered_writes != NULL ? 0 : -ENOMEM;
}

void
ordered_conn_free(struct conn *conn)
{
	assert(list_empty(&conn->streams));
	arena_free(conn->core->reactor->arena, conn->ordered_writes);
}

/* Those whose data is on its way go with it: nobody answers them, and its stream has let go of them. */
static void
forget(struct ordered_part *part, const struct conn *conn)
{
	list_for_each(&part->serve.answers, node) {
		struct order_write *write = container_of(node, struct order_write, piece.node);
		struct ordered_write *ordered = container_of(write, struct ordered_write, write);

		if (ordered->req->conn != conn || ordered->req->stage == STAGE_ORDER)
			continue;
		list_remove(node);
		ordered->over = true;
	}
}

void
ordered_conn_ends(struct conn *conn)
{
	struct list *node;

	conn->stream_last = NULL;
	while ((node = list_pop(&conn->streams)) != NULL) {
		struct ordered_stream *stream = container_of(node, struct ordered_stream, conn_node);

		stream->conn = NULL;
		ordered_stream_stop(stream);
		forget(stream->part, conn);
	}
}

static struct ordered_stream *
stream_of(struct conn *conn, uint16_t number)
{
	if (conn->stream_last != NULL && conn->stream_last->served.track.stream == number)
		return conn->stream_last;
	list_for_each(&conn->streams, node) {
		struct ordered_stream *stream = container_of(node, struct ordered_stream, conn_node);

		if (stream->served.track.stream != number)
			continue;
		conn->stream_last = stream;
		return stream;
	}
	return NULL;
}

/* It is read no more before a buffer is free, and what a stream waits for may be behind that: one that does stops, and
 * gives back what it holds. */
void
ordered_conn_stalls(struct conn *conn)
{
	list_for_each(&conn->streams, node) {
		struct ordered_stream *stream = container_of(node, struct ordered_stream, conn_node);

		if (!list_empty(&stream->served.gate.pieces_held) && !order_gate_open(&stream->served.gate))
			ordered_stream_stop(stream);
	}
}

/* ---- it comes ---- */

/* With all of its data: from here on it is its stream's. */
static void
ready(struct request *req)
{
	struct ordered_write *ordered = req->ordered;
	struct ordered_stream *stream = container_of(ordered->write.stream, struct ordered_stream, served);

	req->stage = STAGE_ORDER;
	req->conn->device_count++;
	order_serve_ready(&stream->part->serve, &ordered->write);
	ordered_pump(stream->part);
}

static void
begin(struct request *req, const struct capsule *capsule)
{
	req->io.iov_count = 0;
	if (req->sqe.opcode == NVME_FLUSH) {
		ready(req);
	} else if (capsule->len == 0) {
		request_fetch(req);
	} else {
		request_lend(req, capsule);
		if (capsule->transient) {
			list_push(&req->conn->lent_writes, &req->ordered->lent_node);
			req->ordered->just_checked = true;
		}
		ready(req);
	}
}

/*
 * Where entries are durable at once they go to their devices now, which copy what they need of the buffer; none tells
 * from inside submit() that it has ended.  All are of one part: streams go on in that of their queue's core.
 */
void
ordered_received(struct conn *conn)
{
	struct ordered_write *ordered = container_of(conn->lent_writes.next, struct ordered_write, lent_node);
	struct ordered_part *part = container_of(ordered->write.stream, struct ordered_stream, served)->part;
	struct list *node;

	if (part->keep->ops->at_once)
		ordered_settle(part);
	while ((node = list_pop(&conn->lent_writes)) != NULL) {
		struct ordered_write *waits = container_of(node, struct ordered_write, lent_node);

		waits->just_checked = false;
		if (waits->req->stage == STAGE_ORDER)
			waits->req->io.keep(&waits->req->io);
	}
}

/* Its namespace is there: it was checked. */
static void
fill(struct request *req, struct ordered_write *ordered)
{
	const struct view_ns *ns = &req->conn->subsys->ns[le32_get(req->sqe.nsid) - 1];
	const struct blk *blk = req->conn->core->chans[volume_slot(req->volume)]->blk;

	ordered->req = req;
	ordered->over = ordered->just_checked = false;
	list_init(&ordered->lent_node);
	ordered->status = NVME_OK;
	ordered->write.lba = req->io.lba;
	ordered->write.blocks = req->sqe.opcode == NVME_WRITE ? req->io.blocks : 0;
	ordered->write.nsid = ns->tagged;
	ordered->write.keeps = !blk->volatile_cache;
}

/* Its tenant's priority is the stream's: that of the first command after it was cut. */
static void
give_priority(struct ordered_stream *stream, struct request *req)
{
	if (!stream->has_priority)
		stream->priority = req->io.priority;
	stream->has_priority = true;
	req->io.priority = stream->priority;
}

/* Changes nothing where it says no. */
static struct nvme_status
arrive(struct request *req, struct ordered_stream *stream, struct ordered_write *ordered)
{
	struct nvme_status status;
	const char *wrong;

	if (le32_get(req->sqe.nsid) == UINT32_MAX)
		return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	status = io_check(req);
	if (!nvme_ok(status))
		return status;
	fill(req, ordered);
	wrong = order_serve_arrive(&stream->part->serve, &stream->served, &ordered->write);
	if (wrong != NULL) {
		core_log_peer(req->conn->core, "an ordered write of stream %u was refused: %s",
		    stream->served.track.stream, wrong);
		return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	}
	if (!list_empty(&stream->part->serve.appending))
		ordered_pump(stream->part); /* its floor may have made room */
	return NVME_OK;
}

void
ordered_command(struct request *req, const struct capsule *capsule)
{
	struct ordered_write *ordered = &req->conn->ordered_writes[req - req->conn->slots];
	struct ordered_stream *stream;
	struct nvme_status status;
	uint16_t number;

	if (req->conn->phase != CONN_LIVE) {
		request_untimely(req);
		return;
	}
	if (!order_get(&req->sqe, &ordered->write.attribute, &number)) {
		request_answer(req, nvme_status_of(NVME_SC_INVALID_FIELD, true));
		return;
	}
	stream = stream_of(req->conn, number);
	status = stream != NULL && !stream->served.stopped ? arrive(req, stream, ordered) :
	    nvme_status_of(NVME_SC_SEQUENCE, true);
	if (!nvme_ok(status)) {
		request_answer(req, status);
		return;
	}
	req->ordered = ordered;
	give_priority(stream, req);
	begin(req, capsule);
}

void
ordered_data(struct request *req)
{
	struct ordered_write *ordered = req->ordered;

	if (req->xfer.data_bad && !ordered->over)
		ordered_stream_stop(container_of(ordered->write.stream, struct ordered_stream, served));
	if (req->xfer.data_bad || ordered->over) {
		request_answer(req, req->xfer.data_bad ? nvme_status_of(NVME_SC_TRANSIENT_TRANSPORT, false) :
		    nvme_status_of(NVME_SC_SEQUENCE, true));
		return;
	}
	request_use_bufs(req);
	ready(req);
}

/* ---- it goes ---- */

static void
count(struct request *req)
{
	struct target_stats *stats = req->conn->stats;

	stats->writes++;
	stats->write_blocks512 += req->xfer.length / SECTOR;
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct request *req = io->owner;
	struct ordered_write *ordered = req->ordered;
	struct ordered_stream *stream = container_of(ordered->write.stream, struct ordered_stream, served);
	struct ordered_part *part = stream->part;

	(void)io_returned(req, status);
	req->stage = STAGE_ORDER;
	req->conn->device_count++;
	if (io->credits != 0)
		credits_tell(req);
	if (nvme_ok(status) && io->op == BLK_WRITE)
		count(req);
	if (nvme_ok(status) && durable_late(req, done)) {
		req->conn->device_count--;
		return;
	}
	ordered->status = req->volume == VOLUME_ENDED ? io_ended() : status;
	order_serve_ended(&part->serve, &ordered->write, nvme_ok(status));
	ordered_follow(part);
}

void
ordered_write_goes(struct ordered_part *part, struct order_write *write)
{
	struct ordered_write *ordered = container_of(write, struct ordered_write, write);
	struct request *req = ordered->req;
	struct nvme_status status;

	req->conn->device_count--; /* the stream's no more: the device's */
	if (ordered->just_checked) {
		io_submit_to(req, req->conn->core->chans[volume_slot(req->volume)], done);
		return;
	}
	status = io_submit(req, false, done);
	if (nvme_ok(status))
		return;
	req->conn->device_count++;
	ordered->status = status;
	order_serve_ended(&part->serve, write, false);
}

/* ---- a flush of all that the stream has written to ---- */

bool
ordered_submit(struct ordered_stream *stream, struct ordered_io *io, uint32_t nsid,
    void (*on_done)(struct blk_io *io, struct nvme_status status))
{
	struct core *core = stream->part->core;
	const struct view_ns *ns = ordered_ns(core->view, stream->as, nsid);
	const struct conn *conn = stream->conn;

	if (ns == NULL)
		return false;
	io->stream = stream;
	io->chan = core->chans[volume_slot(ns->volume)];
	io->io.done = on_done;
	io->io.priority = stream->priority;
	io->io.tenant = conn != NULL ? conn->tenant : NULL;
	io->io.queue = conn != NULL ? (uint32_t)conn->key << 16 | conn->qid : 0;
	io->chan->busy++;
	core->ordered_ios++;
	blk_submit(io->chan, &io->io);
	return true;
}

void
ordered_returned(struct ordered_io *io)
{
	struct core *core = io->stream->part->core;

	io->chan->busy--;
	core->ordered_ios--;
	core_maybe_drained(core);
}

static void
flush_over(struct ordered_stream *stream)
{
	if (--stream->flush_left == 0)
		order_serve_flushed(&stream->part->serve, &stream->served, !stream->flush_failed);
}

static void
flushed(struct blk_io *io, struct nvme_status status)
{
	struct ordered_io *flush = container_of(io, struct ordered_io, io);
	struct ordered_stream *stream = flush->stream;

	ordered_returned(flush);
	stream->flush_failed = stream->flush_failed || !nvme_ok(status);
	flush_over(stream);
	ordered_follow(stream->part);
}

void
ordered_flush(struct ordered_stream *stream)
{
	const struct order_served *served = &stream->served;

	stream->flush_failed = false;
	stream->flush_left = 1; /* this call */
	for (uint32_t i = 0; i < served->nsid_count; i++) {
		if (!(served->flushing >> i & 1))
			continue;
		stream->flushes[i].io = (struct blk_io){ .op = BLK_FLUSH };
		if (ordered_submit(stream, &stream->flushes[i], served->nsids[i], flushed))
			stream->flush_left++;
		else
			stream->flush_failed = true;
	}
	flush_over(stream);
}

/* ---- it is answered ---- */

static struct nvme_status
status_of(const struct ordered_write *ordered)
{
	switch (ordered->write.outcome) {
	case ORDER_DONE:
		return NVME_OK;
	case ORDER_FAILED:
		return nvme_ok(ordered->status) ? nvme_status_of(NVME_SC_INTERNAL, false) : ordered->status;
	case ORDER_ABORTED:
		break;
	}
	return nvme_status_of(NVME_SC_SEQUENCE, true);
}

void
ordered_answer(struct order_write *write, uint32_t left)
{
	struct ordered_write *ordered = container_of(write, struct ordered_write, write);
	struct request *req = ordered->req;
	struct conn *conn = req->conn;
	bool finishing = conn->phase == CONN_FINISHING;

	if (req->stage != STAGE_ORDER) {
		ordered->over = true; /* its data is on its way */
		return;
	}
	list_remove(&ordered->lent_node);
	conn->device_count--;
	left = left < WEIR_ORDERED_LEFT_MAX ? left : WEIR_ORDERED_LEFT_MAX;
	if (write->outcome == ORDER_DONE)
		req->xfer.dw1 |= left << WEIR_ORDERED_LEFT_SHIFT;
	request_answer(req, status_of(ordered)); /* a dead connection may be gone now */
	if (finishing)
		conn_send_soon(conn);
}
