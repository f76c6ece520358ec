/*
 * command.h - what is done for each command of an I/O queue, and for Connect: from
 * its capsule or its data to its answer.
 *
 * What admin commands do is in assoc.h, how a request gets here and away in conn.h.
 */
#ifndef WEIR_TARGET_COMMAND_H
#define WEIR_TARGET_COMMAND_H

#include "target/conn.h"

/* connect.c: Fabrics commands */
void fabrics_command(struct request *req, const struct capsule *capsule);
void fabrics_data(struct request *req); /* of a Connect: what was asked for is in conn->reserve */
void connect_attached(struct core *core, const struct target_mail *mail);
void connect_joined(struct core *core, const struct target_mail *mail);

/* io.c: I/O commands */
void io_command(struct request *req, const struct capsule *capsule);
void io_data(struct request *req);
void io_again(struct request *req);
struct nvme_status io_check(struct request *req);
/* The SGL carries so many bytes, neither more nor less; `offset`: it may point into the capsule. */
static inline struct nvme_status
io_check_sgl(struct request *req, uint64_t bytes, bool offset)
{
	uint8_t id = req->sqe.sgl1.id;

	if (id != NVME_SGL_TRANSPORT && (id != NVME_SGL_OFFSET || !offset))
		return nvme_status_of(NVME_SC_SGL_TYPE, true);
	if (bytes > (uint64_t)4096 << TARGET_MDTS_SHIFT)
		return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	if (le32_get(req->sqe.sgl1.length) != bytes)
		return nvme_status_of(NVME_SC_SGL_LENGTH, true);
	req->xfer.length = (uint32_t)bytes;
	return NVME_OK;
}
/* The namespace that the command was checked for is still there; else why it ends. */
struct nvme_status io_ns_again(const struct request *req, const struct view_ns **ns);
struct nvme_status io_ended(void);
static inline void
io_submit_to(struct request *req, struct blk_chan *chan, void (*done)(struct blk_io *io, struct nvme_status status))
{
	req->stage = STAGE_DEVICE;
	req->chan = chan;
	req->io.done = done;
	req->io.owner = req;
	req->conn->device_count++;
	chan->busy++;
	blk_submit(chan, &req->io);
}

/* To the device of the command's namespace; `begun`: something of the command has been there.  Anything but NVME_OK:
 * that is not there any more, or not so.  done() begins with io_returned(), and if that was true ends with
 * conn_send_soon(): the connection is about to end and looks whether this was the last. */
struct nvme_status io_submit(struct request *req, bool begun,
    void (*done)(struct blk_io *io, struct nvme_status status));
/* The same for a command of one I/O, which it answers where that cannot be. */
void io_submit_late(struct request *req);
static inline bool
io_returned(struct request *req, struct nvme_status status)
{
	struct conn *conn = req->conn;

	conn->device_count--;
	if (!(req->io.flags & BLK_LENT))
		req->chan->busy--;
	req->stage = STAGE_NEW;
	/* What a host made unreadable is no fault of the medium (Base 2.0, 5.16.1.3, leaves it open). */
	if (status.sct == NVME_SCT_MEDIA && !(req->io.flags & BLK_BAD))
		conn->stats->media_errors += nvme_sc(status) != NVME_SC_COMPARE;
	return conn->phase == CONN_FINISHING; /* a dead one may be gone after the answer */
}

/* credits.c: a command's I/O has ended well, and its device says how many its queue may have under way.  A read, which
 * may need no completion, has one where its host does not know that, or might have forgotten it soon. */
void credits_tell(struct request *req);

/* durable.c: what must be durable before it is answered */
uint32_t durable_fua(const struct request *req);
/* Of a command that reads: what it reads is made durable before it reads. */
static inline bool
durable_asked(const struct request *req)
{
	return le32_get(req->sqe.cdw12) & NVME_RW_FUA;
}
void durable_first(struct request *req);
/* A write is done.  true: the host turned its cache off meanwhile, what was written is made durable, and done() is
 * called once more. */
bool durable_late(struct request *req, void (*done)(struct blk_io *io, struct nvme_status status));

/* ranges.c: commands whose data is a list of ranges */
struct nvme_status ranges_check_dsm(struct request *req, const struct view_ns *ns);
void ranges_begin_dsm(struct request *req, const struct capsule *capsule);
void ranges_dsm_data(struct request *req);
struct nvme_status ranges_check_copy(struct request *req, const struct view_ns *ns);
void ranges_begin_copy(struct request *req, const struct capsule *capsule);
void ranges_copy_data(struct request *req);
/* Data that came in the capsule, `len` bytes of it at most: where it can stay. */
void *ranges_keep(struct request *req, const struct capsule *capsule, size_t len);

/* walk.c: commands done piece by piece */
void walk_check(struct request *req);
void walk_begin(struct request *req, bool begun);
void walk_copy(struct request *req, void *data);

/* fused.c: Compare and Write, fused */
bool fused_follows(const struct request *req);
void fused_command(struct request *req, const struct capsule *capsule);
void fused_orphan(struct conn *conn);
uint32_t fused_asks(const struct request *req);
void fused_ask(struct request *req);
void fused_data(struct request *req);

/* errors.c: what failed, to the controller of an I/O queue; false: it is counted, and has no line in the log */
bool errors_tell(const struct request *req, struct nvme_status status);
void errors_heard(struct conn *conn);
/* How many failed of which it was told nothing else; before the queue leaves it. */
void errors_tell_missed(struct conn *conn);

/* scratch.c: true: req->io.old is one; false: `granted` will be called. */
bool scratch_take(struct request *req, void (*granted)(struct bufs_waiter *));
void scratch_leave(struct request *req);
void scratch_give(struct request *req);
bool scratch_wanted(const struct core *core);
int scratch_begin(struct core *core) __attribute__((warn_unused_result));
void scratch_end(struct core *core);

/* reserve_lend.c, reserve_core.c: reservations, as each core has them */
struct nvme_status reserve_check(struct request *req, const struct view_ns *ns);
struct nvme_status reserve_check_report(struct request *req, const struct view_ns *ns);
void reserve_begin(struct request *req, const struct capsule *capsule);
void reserve_begin_report(struct request *req, const struct capsule *capsule);
void reserve_data(struct request *req);
void reserve_set_ptpl(struct request *req, uint32_t nsid);
bool reserve_ptpl(const struct core *core, const struct view_subsys *subsys, uint32_t nsid);
/* From now on this holds; NULL: nothing. */
void reserve_take(struct core *core, uint32_t slot, const struct resv *state);
void reserve_core_mail(struct core *core, const struct target_mail *mail);
int reserve_core_begin(struct core *core) __attribute__((warn_unused_result));
void reserve_core_end(struct core *core);

#endif
