/*
 * io.c - I/O commands: checked, and made into I/O of a block device.
 *
 * A table says for each opcode what it is checked for and how it begins; every
 * one ends in done().  (NVM Command Set 1.0, 3)
 */
#include <assert.h>

#include "target/command.h"

enum { SECTOR = 512 };

struct io_rule {
	/* Checks what is special to the command; fills op, flags, lba, blocks of req->io. */
	struct nvme_status (*check)(struct request *req, const struct view_ns *ns);
	uint8_t needs; /* of a reservation: bits of enum resv_access */
	bool changes;  /* blocks: not where they are write protected */
	void (*begin)(struct request *req, const struct capsule *capsule);
	void (*data)(struct request *req); /* what begin() asked the host for is in req->bufs */
};

/* ---- completion ---- */

static void flush_next(struct request *req);

static void
count(struct target_stats *stats, const struct request *req)
{
	if (req->io.op == BLK_READ) {
		stats->reads++;
		stats->read_blocks512 += req->xfer.length / SECTOR;
	} else if (req->io.op == BLK_WRITE) {
		stats->writes++;
		stats->write_blocks512 += req->xfer.length / SECTOR;
	}
}

static void
done(struct blk_io *io, struct nvme_status status)
{
	struct request *req = io->owner;
	struct conn *conn = req->conn;
	bool finishing = io_returned(req, status);

	if (io->credits != 0)
		credits_tell(req);
	if (!nvme_ok(status)) {
		request_answer(req, req->volume == VOLUME_ENDED ? io_ended() : status);
	} else if (io->op == BLK_READ) {
		count(conn->stats, req);
		request_answer_data(req, io->iov, io->iov_count);
	} else if (io->op == BLK_FLUSH) {
		flush_next(req);
	} else {
		count(conn->stats, req);
		if (!durable_late(req, done))
			request_answer(req, NVME_OK);
	}
	if (finishing)
		conn_send_soon(conn);
}

/* Whether the command would change blocks, not only give hints about them. */
static bool
changes(const struct request *req, const struct io_rule *rule)
{
	return rule->changes && (req->sqe.opcode != NVME_DATASET_MGMT || le32_get(req->sqe.cdw11) & NVME_DSM_AD);
}

/* The namespace through this portal, or as it is: not when its access, who holds it, or its protection say no.
 * `begun`: a reservation that came since then does not end the command (Base 2.1, Reservations), nor does another ANA
 * state: its host would take it for one that was not done, and do it once more, later. */
static __attribute__((noinline)) struct nvme_status
check_gate(const struct request *req, const struct view_ns *ns, const struct io_rule *rule, bool begun)
{
	const struct conn *conn = req->conn;
	const struct resv *resv = conn->core->resv[volume_slot(ns->volume)];

	if (ns->gate & (GATE_ABSENT | GATE_LISTED) && !conn_has(conn, ns))
		return nvme_status_of(NVME_SC_INVALID_NS, true);
	if (!begun && ns->gate & GATE_ANA) {
		enum nvme_ana_state state = conn->subsys->info.ana[ns->ana].state[conn->portal];
		struct nvme_status status = ctrl_ana_status(state);

		if (!nvme_ok(status))
			return status;
	}
	if (!begun && resv != NULL && (resv_access(resv, conn->hostid) & rule->needs) != rule->needs)
		return nvme_status_of(NVME_SC_RESV_CONFLICT, true);
	if (ns->gate & GATE_PROTECT && changes(req, rule))
		return nvme_status_of(NVME_SC_WRITE_PROTECTED, true);
	return NVME_OK;
}

/* Whether anything but the namespace's bounds may hold commands back. */
static inline bool
has_gate(const struct request *req, const struct view_ns *ns)
{
	return (ns->gate | req->conn->gate) != 0;
}

static const struct io_rule *rule_of(const struct request *req);

/* What a command of a host that was put out is answered; not to be repeated without the host's looking. */
struct nvme_status
io_ended(void)
{
	return nvme_status_of(NVME_SC_PREEMPT_ABORTED, true);
}

static inline struct nvme_status
ns_again(const struct request *req, const struct view_ns **ns)
{
	*ns = conn_ns(req->conn, le32_get(req->sqe.nsid));
	if (req->volume == VOLUME_ENDED)
		return io_ended();
	if (*ns == NULL || (*ns)->volume != req->volume || !conn_has(req->conn, *ns))
		return nvme_status_of(NVME_SC_INVALID_NS, true);
	return NVME_OK;
}

struct nvme_status
io_ns_again(const struct request *req, const struct view_ns **ns)
{
	return ns_again(req, ns);
}

/* A command that waited, for its data or for memory, is submitted: what it was checked against may have gone. */
static inline struct nvme_status
check_again(const struct request *req, bool begun)
{
	const struct view_ns *ns;
	struct nvme_status status = ns_again(req, &ns);

	if (!nvme_ok(status))
		return status;
	if (req->io.op != BLK_TRIM && (req->io.lba >= ns->blocks || req->io.blocks > ns->blocks - req->io.lba))
		return nvme_status_of(NVME_SC_LBA_RANGE, true);
	return has_gate(req, ns) ? check_gate(req, ns, rule_of(req), begun) : NVME_OK;
}

/* To the device of the command's namespace, at once after the check. */
static inline void
submit(struct request *req)
{
	io_submit_to(req, req->conn->core->chans[volume_slot(req->volume)], done);
}

struct nvme_status
io_submit(struct request *req, bool begun, void (*on_done)(struct blk_io *, struct nvme_status))
{
	struct nvme_status status = check_again(req, begun);

	if (nvme_ok(status))
		io_submit_to(req, req->conn->core->chans[volume_slot(req->volume)], on_done);
	return status;
}

void
io_submit_late(struct request *req)
{
	struct nvme_status status = io_submit(req, false, done);

	if (!nvme_ok(status))
		request_answer(req, status);
}

/* ---- commands of one range ---- */

static struct nvme_status
check_range(struct request *req, const struct view_ns *ns)
{
	uint64_t slba = nvme_slba(&req->sqe);
	uint32_t blocks = nvme_blocks(&req->sqe);

	if (slba >= ns->blocks || blocks > ns->blocks - slba)
		return nvme_status_of(NVME_SC_LBA_RANGE, true);
	req->io.lba = slba;
	req->io.blocks = blocks;
	return NVME_OK;
}

static struct nvme_status
check_transfer(struct request *req, const struct view_ns *ns)
{
	uint64_t bytes = (uint64_t)nvme_blocks(&req->sqe) * ns->block_size;
	struct nvme_status status = io_check_sgl(req, bytes, req->sqe.opcode != NVME_READ);

	return nvme_ok(status) ? check_range(req, ns) : status;
}

static struct nvme_status
check_read(struct request *req, const struct view_ns *ns)
{
	req->io.op = BLK_READ;
	return check_transfer(req, ns);
}

static struct nvme_status
check_write(struct request *req, const struct view_ns *ns)
{
	req->io.op = BLK_WRITE;
	req->io.flags = durable_fua(req);
	return check_transfer(req, ns);
}

static struct nvme_status
check_write_zeroes(struct request *req, const struct view_ns *ns)
{
	uint32_t cdw12 = le32_get(req->sqe.cdw12);

	req->io.op = BLK_WRITE_ZEROES;
	req->io.flags = durable_fua(req) | (cdw12 & NVME_WZ_DEAC ? BLK_DEALLOCATE : 0u);
	return check_range(req, ns);
}

static struct nvme_status
check_write_uncorrectable(struct request *req, const struct view_ns *ns)
{
	if (req->conn->core->chans[volume_slot(ns->volume)]->blk->bad == NULL)
		return nvme_status_of(NVME_SC_INVALID_OPCODE, true);
	req->io.op = BLK_MARK_BAD;
	return check_range(req, ns);
}

/* Nothing can be generated or stripped where nothing is transferred (NVM Command Set 1.0, 3.2.6). */
static struct nvme_status
check_verify(struct request *req, const struct view_ns *ns)
{
	if (le32_get(req->sqe.cdw12) & NVME_RW_PRACT)
		return nvme_status_of(NVME_SC_INVALID_FIELD, true);
	return check_range(req, ns);
}

static void
read_granted(struct bufs_waiter *waiter)
{
	struct request *req = request_of(waiter);

	if (!request_served(req)) {
		request_free(req);
		return;
	}
	request_use_bufs(req);
	io_submit_late(req);
}

static inline void
read_lent(struct request *req, struct blk_chan *chan)
{
	req->io.flags = BLK_MAY_LEND;
	req->io.iov = req->iov;
	req->io.iov_count = 2;
	io_submit_to(req, chan, done);
}

/* What is copied because its host is lent nothing is not the volume's. */
static __attribute__((noinline)) void
read_copied(struct request *req, struct blk_chan *chan)
{
	struct share *share = chan->blk->lends ? &req->conn->core->shares[SHARE_REFUSED] : share_of(req);

	if (chan->blk->lends && borrow_may_again(req->conn))
		read_lent(req, chan);
	else if (asked_send(req, share, read_granted))
		read_granted(&req->waiter);
}

static inline void
read_blocks(struct request *req)
{
	struct blk_chan *chan = req->conn->core->chans[volume_slot(req->volume)];

	if (chan->blk->lends && !req->conn->lent_nothing)
		read_lent(req, chan);
	else
		read_copied(req, chan);
}

static void
begin_read(struct request *req, const struct capsule *capsule)
{
	(void)capsule;
	if (durable_asked(req))
		durable_first(req);
	else
		read_blocks(req);
}

static void
begin_write(struct request *req, const struct capsule *capsule)
{
	if (capsule->len > 0) {
		request_lend(req, capsule);
		submit(req);
	} else {
		request_fetch(req);
	}
}

static void
begin_compare(struct request *req, const struct capsule *capsule)
{
	if (capsule->len > 0) {
		request_keep(req, capsule);
		walk_check(req);
	} else {
		request_fetch(req);
	}
}

static void
begin_verify(struct request *req, const struct capsule *capsule)
{
	(void)capsule;
	walk_check(req);
}

static void
write_data(struct request *req)
{
	request_use_bufs(req);
	io_submit_late(req);
}

/* Nothing comes from the host beside the command. */
static void
begin_at_once(struct request *req, const struct capsule *capsule)
{
	(void)capsule;
	submit(req);
}

/* ---- Flush: of one namespace or, one after the other, of all ---- */

static struct nvme_status
check_flush(struct request *req, const struct view_ns *ns)
{
	(void)ns;
	req->io.op = BLK_FLUSH;
	req->io.lba = req->io.blocks = 0;
	return NVME_OK;
}

/* The next namespace of a flush of all, which may come and go meanwhile, or NULL; io.lba is the one before it. */
static const struct view_ns *
next_to_flush(struct request *req)
{
	const struct view_subsys *subsys = req->conn->subsys;

	while (subsys != NULL && req->io.lba < subsys->ns_limit) {
		const struct view_ns *ns = &subsys->ns[req->io.lba++];

		if (conn_has(req->conn, ns))
			return ns;
	}
	return NULL;
}

/* What holds one of them back holds back the whole: success says that all is durable.  Kept out of done(), which
 * then saves no registers for it. */
static __attribute__((noinline)) void
flush_next(struct request *req)
{
	bool all = le32_get(req->sqe.nsid) == UINT32_MAX;
	const struct view_ns *ns = all ? next_to_flush(req) : NULL;
	struct nvme_status status = NVME_OK;

	if (ns != NULL && has_gate(req, ns))
		status = check_gate(req, ns, rule_of(req), false);
	if (ns == NULL || !nvme_ok(status)) {
		request_answer(req, status);
		return;
	}
	req->volume = ns->volume;
	submit(req);
}

static void
begin_flush(struct request *req, const struct capsule *capsule)
{
	(void)capsule;
	if (le32_get(req->sqe.nsid) == UINT32_MAX)
		flush_next(req);
	else
		submit(req);
}

/* The peer takes answers again: what was given back in the meantime is read, or reported, anew.  Or what is to be read
 * is durable now. */
void
io_again(struct request *req)
{
	struct nvme_status status;

	if (req->sqe.opcode == NVME_RESV_REPORT) {
		reserve_begin_report(req, NULL);
		return;
	}
	req->io.op = BLK_READ;
	status = check_again(req, true);
	if (nvme_ok(status))
		read_blocks(req);
	else
		request_answer(req, status);
}

/* ---- dispatch ---- */

static const struct io_rule rules[256] = {
	[NVME_FLUSH] = { check_flush, RESV_WRITE, false, begin_flush, NULL },
	[NVME_WRITE] = { check_write, RESV_WRITE, true, begin_write, write_data },
	[NVME_READ] = { check_read, RESV_READ, false, begin_read, NULL },
	[NVME_WRITE_UNCORRECTABLE] = { check_write_uncorrectable, RESV_WRITE, true, begin_at_once, NULL },
	[NVME_COMPARE] = { check_transfer, RESV_READ, false, begin_compare, walk_check },
	[NVME_WRITE_ZEROES] = { check_write_zeroes, RESV_WRITE, true, begin_at_once, NULL },
	[NVME_DATASET_MGMT] = { ranges_check_dsm, RESV_WRITE, true, ranges_begin_dsm, ranges_dsm_data },
	[NVME_VERIFY] = { check_verify, RESV_READ, false, begin_verify, NULL },
	[NVME_COPY] = { ranges_check_copy, RESV_READ | RESV_WRITE, true, ranges_begin_copy,
	    ranges_copy_data },
	[NVME_RESV_REGISTER] = { reserve_check, 0, false, reserve_begin, reserve_data },
	[NVME_RESV_REPORT] = { reserve_check_report, 0, false, reserve_begin_report, NULL },
	[NVME_RESV_ACQUIRE] = { reserve_check, 0, false, reserve_begin, reserve_data },
	[NVME_RESV_RELEASE] = { reserve_check, 0, false, reserve_begin, reserve_data },
};

static const struct io_rule *
rule_of(const struct request *req)
{
	return &rules[req->sqe.opcode];
}

/* Whether the command may be done; an opcode that has no rule is not. */
static inline struct nvme_status
check(struct request *req)
{
	const struct io_rule *rule = &rules[req->sqe.opcode];
	const struct view_subsys *subsys = req->conn->subsys;
	uint32_t nsid = le32_get(req->sqe.nsid);
	const struct view_ns *ns;

	if (rule->check == NULL)
		return nvme_status_of(NVME_SC_INVALID_OPCODE, true);
	if (nsid - 1 >= subsys->ns_limit)
		return req->sqe.opcode == NVME_FLUSH && nsid == UINT32_MAX ? rule->check(req, NULL) :
		    nvme_status_of(NVME_SC_INVALID_NS, true);
	ns = &subsys->ns[nsid - 1];
	req->volume = ns->volume;
	if (has_gate(req, ns)) {
		struct nvme_status status = check_gate(req, ns, rule, false);

		if (!nvme_ok(status))
			return status;
	}
	return rule->check(req, ns);
}

struct nvme_status
io_check(struct request *req)
{
	return check(req);
}

void
io_command(struct request *req, const struct capsule *capsule)
{
	struct nvme_status status = check(req);

	if (nvme_ok(status))
		rules[req->sqe.opcode].begin(req, capsule);
	else
		request_answer(req, status);
}

/* What was asked for by R2T is in req->bufs. */
void
io_data(struct request *req)
{
	rules[req->sqe.opcode].data(req);
}
