/*
 * recon_load.c - what a host does to namespaces, and whether what comes of it
 * may be.
 *
 * A slot is written by one host alone, by one command at a time, whatever
 * namespace its volume is under: so what each volume may hold in it is known.
 */
#include <assert.h>
#include <string.h>

#include "recon.h"

enum { BLOCK = 4096, WORDS = BLOCK / 8 };

/* ---- versions ---- */

static void
slot_set(struct recon_slot *slot, uint32_t version)
{
	*slot = (struct recon_slot){ .versions = { version }, .count = 1 };
}

static void
slot_add(struct recon_slot *slot, uint32_t version)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->versions[i] == version)
			return;
	if (slot->count == RECON_VERSIONS)
		slot->any = true;
	else
		slot->versions[slot->count++] = version;
}

static void
slot_join(struct recon_slot *to, const struct recon_slot *from)
{
	to->any = to->any || from->any;
	for (unsigned i = 0; i < from->count; i++)
		slot_add(to, from->versions[i]);
}

static bool
slot_has(const struct recon_slot *slot, uint32_t version)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->versions[i] == version)
			return true;
	return slot->any;
}

static void
fill(uint8_t *data, uint32_t blocks, uint32_t version)
{
	for (uint32_t i = 0; i < blocks * WORDS; i++)
		put_le64(data + 8 * (size_t)i, version == 0 ? 0 : (uint64_t)version << 32 | i);
}

static bool
block_is(const uint8_t *data, uint32_t block, uint32_t version)
{
	for (uint32_t i = block * WORDS; i < (block + 1) * WORDS; i++)
		if (get_le64(data + 8 * (size_t)i) != (version == 0 ? 0 : (uint64_t)version << 32 | i))
			return false;
	return true;
}

/* Every block is whole, and of a version that the slot may hold. */
static bool
holds(const struct recon_slot *slot, const uint8_t *data, uint32_t blocks)
{
	for (uint32_t block = 0; block < blocks; block++) {
		uint32_t version = (uint32_t)(get_le64(data + (size_t)block * BLOCK) >> 32);

		if (!slot_has(slot, version) || !block_is(data, block, version))
			return false;
	}
	return true;
}

/* ---- what came of it ---- */

static struct recon_slot *
slot_of(const struct recon_work *w, int volume, unsigned slot)
{
	return &w->host->r->volumes[volume].slots[w->host->index][slot];
}

static uint64_t
lba_of(const struct recon_host *h, unsigned slot)
{
	return (uint64_t)(h->index * RECON_SLOTS + slot) * RECON_SLOT_BLOCKS;
}

/* `sure`: it was done, and there is one volume that it was done to. */
static void
changed(struct recon_work *w, int volume, bool sure)
{
	struct recon_slot *slot = slot_of(w, volume, w->slot);

	if (w->op == NVME_COPY && sure)
		*slot = *slot_of(w, volume, w->from);
	else if (w->op == NVME_COPY)
		slot_join(slot, slot_of(w, volume, w->from));
	else if (sure)
		slot_set(slot, w->version);
	else
		slot_add(slot, w->version);
}

static bool
changes(const struct recon_work *w)
{
	return w->op == NVME_WRITE || w->op == NVME_COPY || w->op == NVME_WRITE_ZEROES;
}

static void
judge(struct recon_work *w, uint32_t nsid, struct verdict *verdict)
{
	struct recon_host *h = w->host;
	struct recon_ask ask = {
		.host = h->index, .subsys = w->subsys, .listener = h->io_listener[w->queue], .nsid = nsid,
		.changes = changes(w), .whole = w->op == NVME_FLUSH, .lba = lba_of(h, w->slot),
		.from_lba = lba_of(h, w->op == NVME_COPY ? w->from : w->slot), .blocks = h->slot_blocks,
		.since_ns = w->since_ns,
	};

	recon_judge(h->r, &ask, verdict);
}

static void
read_done(struct recon_work *w, const struct verdict *verdict)
{
	bool fine = verdict->closed;

	w->host->r->counts.reads++;
	for (unsigned i = 0; i < verdict->volume_count; i++)
		fine = fine || holds(slot_of(w, verdict->volumes[i], w->slot), w->data, w->host->slot_blocks);
	if (!fine && verdict->volume_count > 0)
		recon_wrong(w->host->r, "host %u read %08x in slot %u of namespace %u of %u", w->host->index,
		    (unsigned)(get_le64(w->data) >> 32), w->slot, w->nsid, w->subsys);
}

static void
count_refusal(struct recon *r, struct nvme_status status)
{
	static const uint16_t known[] = {
		NVME_SC_INVALID_NS, NVME_SC_WRITE_PROTECTED, NVME_SC_LBA_RANGE, NVME_SC_ANA_INACCESSIBLE,
		NVME_SC_ANA_PERSISTENT_LOSS, NVME_SC_ANA_TRANSITION, NVME_SC_FUSED_FAILED,
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		r->counts.refused[i] += nvme_sc(status) == known[i];
}

/* Success: each namespace was flushed, or was not there; else one of them says why not. */
static void
flushed_all(struct recon_work *w, struct nvme_status status)
{
	bool each = true, one = false;

	for (unsigned i = 0; i < RECON_NS; i++) {
		struct verdict verdict;

		judge(w, recon_nsid(i), &verdict);
		each = each && (verdict.ok || recon_allows(&verdict, nvme_status_of(NVME_SC_INVALID_NS, true)));
		one = one || recon_allows(&verdict, status);
	}
	if (nvme_ok(status) ? !each : !one || nvme_sc(status) == NVME_SC_INVALID_NS)
		recon_wrong(w->host->r, "host %u, flush of all of %u by %u: status %03x", w->host->index, w->subsys,
		    w->host->io_listener[w->queue], (unsigned)nvme_sc(status));
	count_refusal(w->host->r, status);
}

/* It did end, with a status: of a fused pair, that of the half that says why. */
static void
answered(struct recon_work *w, struct nvme_status status)
{
	struct verdict verdict;

	if (w->nsid == UINT32_MAX && w->op == NVME_FLUSH) {
		flushed_all(w, status);
		return;
	}
	judge(w, w->nsid, &verdict);
	if (!recon_allows(&verdict, status))
		recon_wrong(w->host->r, "host %u, opcode %02x, namespace %u of %u by %u: status %03x", w->host->index,
		    w->op, w->nsid, w->subsys, w->host->io_listener[w->queue], (unsigned)nvme_sc(status));
	count_refusal(w->host->r, status);
	if (status.dnr == (status.sct == NVME_SCT_PATH) && !nvme_ok(status) && nvme_sc(status) != NVME_SC_FUSED_FAILED)
		recon_wrong(w->host->r, "status %03x %s Do Not Retry", (unsigned)nvme_sc(status),
		    status.dnr ? "with" : "without");
	if (!nvme_ok(status))
		return;
	if (w->op == NVME_READ)
		read_done(w, &verdict);
	else if (changes(w))
		for (unsigned i = 0; i < verdict.volume_count; i++)
			changed(w, verdict.volumes[i], verdict.volume_count == 1 && !verdict.closed);
}

/* Nobody knows what became of it. */
static void
aborted(struct recon_work *w)
{
	struct verdict verdict;

	judge(w, w->nsid, &verdict);
	for (unsigned i = 0; i < verdict.volume_count && changes(w); i++)
		changed(w, verdict.volumes[i], false);
}

/* Of a pair that was not done one half says why, the other that it was not alone. */
static void
pair_done(struct recon_work *w)
{
	struct nvme_status compare = w->compare.req.status, write = w->io.req.status;
	enum nvme_sc c = nvme_sc(compare), x = nvme_sc(write);
	struct verdict verdict;

	judge(w, w->nsid, &verdict);
	w->host->r->counts.pairs += nvme_ok(compare);
	if (nvme_ok(compare) && nvme_ok(write))
		answered(w, NVME_OK);
	else if (c == NVME_SC_COMPARE && x == NVME_SC_FUSED_FAILED && (verdict.volume_count > 1 || verdict.closed))
		return; /* it may have been held against another volume */
	else if (c == NVME_SC_FUSED_FAILED && x != NVME_SC_FUSED_FAILED && x != 0)
		answered(w, write);
	else if (x == NVME_SC_FUSED_FAILED && c != NVME_SC_FUSED_FAILED && c != 0)
		answered(w, compare);
	else
		recon_wrong(w->host->r, "a fused pair ended with %03x and %03x", (unsigned)c, (unsigned)x);
}

static void
ended(struct recon_work *w)
{
	struct recon_host *h = w->host;

	if (!w->busy)
		recon_wrong(h->r, "a command ended twice");
	w->busy = false;
	h->slot_busy[w->slot] = false;
	h->slot_busy[w->from] = false;
	h->r->counts.ios++;
}

static void
done(struct hio *io)
{
	struct recon_work *w = io->owner;
	bool lost;

	if (w->fused && !w->compared) {
		w->compared = true; /* one of the two: the other follows */
		return;
	}
	lost = nvme_sc(w->io.req.status) == NVME_SC_HOST_ABORTED ||
	    (w->fused && nvme_sc(w->compare.req.status) == NVME_SC_HOST_ABORTED);
	ended(w);
	if (lost)
		aborted(w);
	else if (w->fused)
		pair_done(w);
	else
		answered(w, io->req.status);
	if (!lost)
		recon_host_work(w->host);
}

/* The host's process is gone with all that was in flight. */
void
recon_host_crashed(struct recon_host *h)
{
	for (unsigned i = 0; i < RECON_WORKS; i++) {
		if (!h->works[i].busy)
			continue;
		ended(&h->works[i]);
		aborted(&h->works[i]);
	}
	h->running = h->trying = false;
	h->losing = true;
}

/* ---- the load ---- */

static bool
take_slot(struct recon_host *h, unsigned *slot)
{
	unsigned first = (unsigned)rng_below(&h->rng, RECON_SLOTS);

	for (unsigned i = 0; i < RECON_SLOTS; i++) {
		*slot = (first + i) % RECON_SLOTS;
		if (!h->slot_busy[*slot]) {
			h->slot_busy[*slot] = true;
			return true;
		}
	}
	return false;
}

/* What the slot holds for sure in the namespace, as far as is known now. */
static bool
expect(struct recon_work *w)
{
	struct verdict verdict;
	const struct recon_slot *slot;

	judge(w, w->nsid, &verdict);
	if (verdict.volume_count != 1 || verdict.closed)
		return false;
	slot = slot_of(w, verdict.volumes[0], w->slot);
	if (slot->count != 1 || slot->any)
		return false;
	w->expected = slot->versions[0];
	return true;
}

static void
choose(struct recon_work *w)
{
	struct recon_host *h = w->host;
	unsigned dice = (unsigned)rng_below(&h->rng, 100);

	w->op = dice < 40 ? NVME_READ : dice < 78 ? NVME_WRITE : dice < 82 ? NVME_FLUSH : dice < 86 ?
	    NVME_WRITE_ZEROES : dice < 92 ? NVME_COPY : NVME_WRITE;
	w->fused = dice >= 92 && h->slot_blocks < RECON_SLOT_BLOCKS && expect(w);
	w->compared = false;
	w->version = w->op == NVME_WRITE_ZEROES ? 0 : (h->index + 1) << 24 | ++h->version;
	if (w->op == NVME_FLUSH && rng_below(&h->rng, 3) == 0)
		w->nsid = UINT32_MAX;
	if (w->op == NVME_COPY && !take_slot(h, &w->from)) {
		w->from = w->slot;
		w->op = NVME_READ;
	}
}

static void
prepare(struct recon_work *w, struct hio *io, uint8_t op, enum hreq_data data, uint32_t bytes, struct iovec *iov)
{
	uint64_t lba = lba_of(w->host, w->slot);

	io->req.sqe = (struct nvme_sqe){
		.opcode = op, .nsid = le32_of(w->nsid), .cdw10 = le32_of((uint32_t)lba),
		.cdw12 = le32_of(op == NVME_FLUSH || op == NVME_COPY ? 0 : w->host->slot_blocks - 1),
	};
	if (op == NVME_FLUSH)
		io->req.sqe.cdw10 = le32_of(0);
	io->req.data = data;
	io->req.length = bytes;
	io->req.iov = iov;
	io->req.iov_count = bytes > 0 ? 1 : 0;
}

static bool
submit(struct recon_work *w)
{
	struct recon_host *h = w->host;
	struct qpair *qp = &h->io[w->queue];
	uint32_t bytes = h->slot_blocks * BLOCK;

	w->iov = (struct iovec){ w->data, bytes };
	if (w->op == NVME_READ) {
		prepare(w, &w->io, w->op, HREQ_READ, bytes, &w->iov);
	} else if (w->op == NVME_WRITE) {
		fill(w->data, h->slot_blocks, w->version);
		prepare(w, &w->io, w->op, HREQ_WRITE, bytes, &w->iov);
	} else if (w->op == NVME_COPY) {
		w->range = (struct nvme_copy_range){
			.slba = le64_of(lba_of(h, w->from)), .nlb = le16_of((uint16_t)(h->slot_blocks - 1)),
		};
		w->iov = (struct iovec){ &w->range, sizeof(w->range) };
		prepare(w, &w->io, w->op, HREQ_WRITE, sizeof(w->range), &w->iov);
	} else {
		prepare(w, &w->io, w->op, HREQ_NONE, 0, NULL);
	}
	if (!w->fused)
		return qpair_submit(qp, &w->io);
	fill(w->old, h->slot_blocks, w->expected);
	w->old_iov = (struct iovec){ w->old, bytes };
	prepare(w, &w->compare, NVME_COMPARE, HREQ_WRITE, bytes, &w->old_iov);
	w->compare.req.sqe.flags = NVME_FUSE_FIRST;
	w->io.req.sqe.flags = NVME_FUSE_SECOND;
	return qpair_submit(qp, &w->compare) && qpair_submit(qp, &w->io);
}

static void
next(struct recon_work *w)
{
	struct recon_host *h = w->host;

	if (h->r->stop || !h->running || h->losing || w->busy || !take_slot(h, &w->slot))
		return;
	w->queue = (unsigned)rng_below(&h->rng, h->queues);
	w->subsys = h->subsys;
	w->from = w->slot;
	w->nsid = recon_nsid((unsigned)rng_below(&h->rng, RECON_NS));
	w->since_ns = sim_now(h->r->sim);
	choose(w);
	w->busy = true;
	if (submit(w))
		return;
	ended(w); /* the queue is going down: the host hears of it soon */
	aborted(w);
}

void
recon_host_work(struct recon_host *h)
{
	for (unsigned i = 0; i < RECON_WORKS; i++)
		next(&h->works[i]);
}

void
recon_work_init(struct recon_host *h)
{
	for (unsigned i = 0; i < RECON_WORKS; i++) {
		struct recon_work *w = &h->works[i];

		memset(w, 0, sizeof(*w));
		w->host = h;
		w->io.owner = w->compare.owner = w;
		w->io.done = w->compare.done = done;
		w->data = arena_alloc_aligned(h->reactor->arena, RECON_SLOT_BLOCKS * BLOCK, BLOCK);
		w->old = arena_alloc_aligned(h->reactor->arena, RECON_SLOT_BLOCKS * BLOCK, BLOCK);
		assert(w->data != NULL && w->old != NULL);
	}
	memset(h->slot_busy, 0, sizeof(h->slot_busy));
}
