/*
 * reserved_load.c - reads and writes that reservations allow or forbid, and what a cell may hold.
 */
#include <assert.h>
#include <string.h>

#include "reserved.h"

/* ---- what a cell may hold ---- */

static void
cell_add(struct rsvd_cell *cell, uint32_t version, uint64_t end_ns)
{
	for (unsigned i = 0; i < cell->count; i++) {
		if (cell->values[i].version != version)
			continue;
		cell->values[i] = (struct rsvd_value){ version, end_ns, UINT64_MAX };
		return;
	}
	if (cell->count == RSVD_VALUES) {
		cell->any = true;
		return;
	}
	cell->values[cell->count++] = (struct rsvd_value){ version, end_ns, UINT64_MAX };
}

/* A write that began after others were over has replaced them. */
static void
cell_replace(struct rsvd_cell *cell, uint32_t version, uint64_t since_ns, uint64_t now_ns)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < cell->count; i++) {
		struct rsvd_value value = cell->values[i];

		if (value.end_ns < since_ns && value.until_ns == UINT64_MAX)
			value.until_ns = now_ns;
		/* Nobody's read lasts as long. */
		if (value.until_ns == UINT64_MAX || value.until_ns + 1000ull * RSVD_MS > now_ns)
			cell->values[kept++] = value;
	}
	cell->count = kept;
	cell_add(cell, version, now_ns);
}

static bool
cell_may(const struct rsvd_cell *cell, uint32_t version, uint64_t since_ns)
{
	for (unsigned i = 0; i < cell->count; i++)
		if (cell->values[i].version == version && cell->values[i].until_ns >= since_ns)
			return true;
	return cell->any || (version == 0 && cell->count == 0);
}

static bool
under_way(const struct reserved *r, unsigned ns, unsigned cell, uint32_t version)
{
	for (unsigned h = 0; h < RSVD_HOSTS; h++) {
		for (unsigned i = 0; i < RSVD_WORKS; i++) {
			const struct rsvd_work *w = &r->hosts[h].works[i];

			if (w->busy && w->writes && !w->settled && w->ns == ns && w->version == version &&
			    cell - w->cell < w->count)
				return true;
		}
	}
	return false;
}

static void
fill(const struct rsvd_work *w)
{
	for (uint32_t at = 0; at < w->count * RSVD_CELL; at += 8)
		put_le64(w->data + at, (uint64_t)w->version << 32 | (w->cell + at / RSVD_CELL));
}

/* A crash may have cut a write between two sectors of a cell. */
static void
check_sector(struct rsvd_work *w, unsigned at, const uint8_t *sector)
{
	struct reserved *r = w->host->r;
	uint64_t word = get_le64(sector);
	uint32_t version = (uint32_t)(word >> 32);

	for (uint32_t i = 0; i < RSVD_SECTOR; i += 8)
		if (get_le64(sector + i) != word || (version > 0 && (uint32_t)word != at)) {
			rsvd_wrong(r, "a sector of cell %u of %u is a mixture", at, w->ns);
			return;
		}
	if (!cell_may(&r->cells[w->ns][at], version, w->since_ns) && !under_way(r, w->ns, at, version))
		rsvd_wrong(r, "cell %u of %u holds version %u, which was refused, replaced, or ended before", at, w->ns,
		    version);
}

/* ---- the end of one ---- */

static void
written(struct rsvd_work *w, bool surely)
{
	struct reserved *r = w->host->r;
	uint64_t now_ns = sim_now(r->sim);

	/* What a former life of the target began was over when it ended. */
	if (w->life < r->crashes && r->crash_ns < now_ns)
		now_ns = r->crash_ns;
	for (unsigned i = 0; i < w->count; i++) {
		struct rsvd_cell *cell = &r->cells[w->ns][w->cell + i];

		if (surely)
			cell_replace(cell, w->version, w->since_ns, now_ns);
		else
			cell_add(cell, w->version, now_ns);
	}
}

static void
succeeded(struct rsvd_work *w)
{
	struct reserved *r = w->host->r;

	if (!(w->there & RSVD_IS))
		rsvd_wrong(r, "host %u used namespace %u, which is not there", w->host->index, w->ns);
	if (!(w->may & (w->writes ? MODEL_WRITES : MODEL_READS)))
		rsvd_wrong(r, "host %u %s namespace %u without a right to", w->host->index,
		    w->writes ? "wrote to" : "read", w->ns);
	if (w->writes) {
		r->counts.writes++;
		if (!w->settled)
			written(w, true);
		return;
	}
	r->counts.reads++;
	for (unsigned i = 0; i < w->count; i++)
		for (unsigned at = 0; at < RSVD_CELL; at += RSVD_SECTOR)
			check_sector(w, w->cell + i, w->data + i * RSVD_CELL + at);
}

static void
done(struct hio *io)
{
	struct rsvd_work *w = io->owner;
	struct rsvd_host *h = w->host;
	struct reserved *r = h->r;
	enum nvme_sc sc = nvme_sc(io->req.status);

	w->busy = false;
	if (nvme_ok(io->req.status)) {
		succeeded(w);
	} else if (sc == NVME_SC_RESV_CONFLICT) {
		r->counts.conflicts++;
		if (!(w->may & (w->writes ? MODEL_WRITES_NOT : MODEL_READS_NOT)))
			rsvd_wrong(r, "host %u is refused in namespace %u, and may", h->index, w->ns);
	} else if (sc == NVME_SC_INVALID_NS && w->there & RSVD_IS_NOT) {
		r->counts.absent++;
	} else if (sc == NVME_SC_HOST_ABORTED || (sc == NVME_SC_PREEMPT_ABORTED && w->aborted)) {
		r->counts.ended += sc == NVME_SC_PREEMPT_ABORTED;
		if (w->writes && !w->settled)
			written(w, false);
	} else {
		rsvd_wrong(r, "host %u: I/O ended with %03x", h->index, (unsigned)sc);
	}
	w->settled = false;
}

void
rsvd_work_settle(struct rsvd_host *h, unsigned ns)
{
	for (unsigned i = 0; i < RSVD_WORKS; i++) {
		struct rsvd_work *w = &h->works[i];

		if (!w->busy || !w->writes || w->ns != ns || w->settled)
			continue;
		written(w, false);
		w->settled = true;
		h->r->counts.settled++;
	}
}

/* ---- the beginning ---- */

void
rsvd_work_look(struct rsvd_work *w)
{
	const struct model *model = &w->host->r->models[w->ns];
	unsigned may = model_may(model, w->host->index);

	w->may |= may;
	w->there |= w->host->r->ns[w->ns].there;
	if (may & MODEL_WRITES)
		w->settled = false;
	for (unsigned h = 0; h < RSVD_HOSTS; h++)
		if (h != w->host->index && model->stages[h] == MODEL_UNDER_WAY &&
		    model->commands[h].op == MODEL_PREEMPT_ABORT)
			w->aborted = true;
}

static void
begin(struct rsvd_work *w)
{
	struct rsvd_host *h = w->host;
	struct qpair *qp = &h->io[rng_below(&h->rng, RSVD_QUEUES)];

	w->writes = rng_below(&h->rng, 3) > 0;
	w->ns = (unsigned)rng_below(&h->rng, RSVD_NS);
	w->count = 1 + (unsigned)rng_below(&h->rng, RSVD_SPAN);
	w->cell = (unsigned)rng_below(&h->rng, RSVD_CELLS - w->count + 1);
	w->life = h->r->crashes;
	w->since_ns = sim_now(h->r->sim);
	w->may = w->there = 0;
	w->settled = w->aborted = false;
	rsvd_work_look(w);
	w->io.req.sqe = (struct nvme_sqe){
		.opcode = w->writes ? NVME_WRITE : NVME_READ, .nsid = le32_of(w->ns + 1), .cdw10 = le32_of(w->cell),
		.cdw12 = le32_of((w->count - 1) | (w->writes ? NVME_RW_FUA : 0)),
	};
	w->io.req.data = w->writes ? HREQ_WRITE : HREQ_READ;
	w->io.req.length = w->count * RSVD_CELL;
	w->iov = (struct iovec){ w->data, w->io.req.length };
	w->io.req.iov = &w->iov;
	w->io.req.iov_count = 1;
	if (w->writes) {
		w->version = ++h->r->version;
		fill(w);
	}
	w->busy = qpair_submit(qp, &w->io);
}

void
rsvd_work_next(struct rsvd_host *h)
{
	for (unsigned i = 0; i < RSVD_WORKS; i++)
		if (!h->works[i].busy && rng_below(&h->rng, 2) == 0)
			begin(&h->works[i]);
}

void
rsvd_work_init(struct rsvd_host *h)
{
	for (unsigned i = 0; i < RSVD_WORKS; i++) {
		struct rsvd_work *w = &h->works[i];

		w->host = h;
		w->io.owner = w;
		w->io.done = done;
		w->data = arena_alloc_aligned(h->reactor->arena, RSVD_SPAN * RSVD_CELL, RSVD_CELL);
		assert(w->data != NULL);
	}
}
