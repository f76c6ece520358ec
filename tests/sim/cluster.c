#include "cluster.h"

#include <assert.h>
#include <stdio.h>

#include "host/internal.h"

enum { RETRY_NS = 2 * 1000 * 1000, BLOCK = 4096 };

/* ---- the target ---- */

int
cluster_target_start(struct reactor *reactor, void *arg)
{
	struct cluster_target *t = arg;
	struct target_listen listen = { .port = CLUSTER_PORT };
	char why[256];
	int rc;

	/* The first reactor of a new life makes what they share; a former life's went with its arenas. */
	if (t->started++ % t->reactors == 0) {
		struct target_ns ns[] = { { .nsid = 1, .id = { 1 } }, { .nsid = 2, .id = { 2 } } };
		struct target_subsys subsys = { .nqn = CLUSTER_NQN, .listeners = 1, .ns = ns,
			.ns_count = t->other != NULL ? 2 : 1, .static_controllers = t->statics > 0,
			.controllers_max = t->statics };
		struct target_config config = {
			.listen = &listen, .listen_count = 1, .subsys = &subsys, .subsys_count = 1,
			.stall_timeout_ms = t->stall_timeout_ms, .authenticate = t->authenticate,
		};

		snprintf(listen.host, sizeof(listen.host), "%s", t->host);
		rc = blk_open(reactor, t->spec, 4096, &t->volume, why);
		ns[0].volume = t->volume;
		if (rc == 0 && t->other != NULL)
			rc = blk_open(reactor, t->other, 4096, &ns[1].volume, why);
		if (rc == 0 && t->wisher != NULL)
			rc = wisher_begin(t->wisher, reactor, &config, &t->target);
		if (rc == 0)
			rc = target_create(reactor->arena, &config, &t->target, why);
		if (rc != 0)
			return rc;
	}
	return target_start(t->target, reactor, why);
}

bool
cluster_target_idle(const struct cluster_target *t, struct sim_process *process)
{
	struct target_stats stats;
	bool idle = sim_process_streams(process) == 0;

	target_stats(t->target, &stats);
	for (unsigned i = 0; i < t->reactors; i++)
		idle = idle && bufs_idle(&sim_process_reactor(process, i)->bufs);
	return idle && stats.connections == 0;
}

/* ---- the content of a slot: its number and version, and words that follow from them ---- */

static void
fill(const struct cluster_host *h, uint8_t *data, unsigned slot, uint32_t version)
{
	for (uint32_t at = 0; at < h->slot_bytes; at += 8)
		put_le64(data + at, (uint64_t)version << 32 | (h->first_slot + slot) << 16 | (at / 8 & 0xffff));
}

/* The version of one block of a slot, 0 for zeros; UINT32_MAX: no version, or two of them mixed. */
static uint32_t
version_of(const struct cluster_host *h, const uint8_t *data, unsigned slot, uint32_t block)
{
	uint32_t version = (uint32_t)(get_le64(data + block) >> 32);

	for (uint32_t at = block; at < block + BLOCK; at += 8) {
		uint64_t want = version == 0 ? 0 :
		    (uint64_t)version << 32 | (h->first_slot + slot) << 16 | (at / 8 & 0xffff);

		if (get_le64(data + at) != want)
			return UINT32_MAX;
	}
	return version;
}

/* Whether that version of the slot is that it is unreadable. */
static bool
is_mark(const struct cluster_host *h, unsigned slot, uint32_t version)
{
	return h->marks && version > 0 && (version + slot) % 5 == 0;
}

/* ---- the load ---- */

static void next(struct cluster_work *work);

static void
closed(void *owner)
{
	struct cluster_host *h = owner;

	h->host = NULL;
	h->finished = true;
}

static void
check_read(struct cluster_host *h, const struct cluster_work *work)
{
	const struct cluster_slot *slot = &h->slots[work->slot];

	h->reads++;
	/* A write of several blocks may be cut between two of them by a crash, one block never. */
	for (uint32_t block = 0; block < h->slot_bytes; block += BLOCK) {
		uint32_t found = version_of(h, work->data, work->slot, block);

		if (found < work->oldest || found > slot->issued || is_mark(h, work->slot, found))
			h->wrong++;
	}
}

/* A block was unreadable: some version that it may have says so. */
static void
check_unreadable(struct cluster_host *h, const struct cluster_work *work)
{
	uint32_t version = work->oldest;

	h->unreadable++;
	while (version <= h->slots[work->slot].issued && !is_mark(h, work->slot, version))
		version++;
	if (version > h->slots[work->slot].issued)
		h->wrong++;
}

static void
succeeded(struct cluster_host *h, struct cluster_work *work)
{
	struct cluster_slot *slot = &h->slots[work->slot];

	if (work->op == NVME_READ) {
		check_read(h, work);
	} else if (work->op == NVME_WRITE) {
		slot->acked = work->version;
	} else if (work->op == NVME_WRITE_UNCORRECTABLE) {
		slot->acked = slot->durable = work->version; /* no flush is needed */
	} else {
		for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
			if (h->slots[i].durable < work->flush_acked[i])
				h->slots[i].durable = work->flush_acked[i];
	}
}

static void
done(struct hio *io)
{
	struct cluster_work *work = io->owner;
	struct cluster_host *h = work->owner;

	h->in_flight--;
	h->slots[work->slot].busy = false;
	if (nvme_ok(io->req.status))
		succeeded(h, work);
	else if (work->op == NVME_READ && nvme_sc(io->req.status) == NVME_SC_READ_ERROR)
		check_unreadable(h, work);
	else if (nvme_sc(io->req.status) != NVME_SC_HOST_ABORTED)
		h->failures++;
	h->done_ios++;
	next(work);
}

/* Every slot has one I/O at a time, so that there is an order to check against. */
static bool
choose(struct cluster_host *h, struct cluster_work *work)
{
	unsigned count = h->slot_count > 0 ? h->slot_count : CLUSTER_SLOTS;
	uint64_t dice = rng_below(&h->rng, 100);

	work->slot = (unsigned)rng_below(&h->rng, count);
	while (h->slots[work->slot].busy)
		work->slot = (work->slot + 1) % count;
	work->op = dice < 45 ? NVME_READ : dice < 92 ? NVME_WRITE : NVME_FLUSH;
	h->slots[work->slot].busy = true;
	return true;
}

/* The host's library has no word for it. */
static bool
make_unreadable(struct cluster_host *h, unsigned queue, struct cluster_work *work, uint64_t lba, uint32_t blocks)
{
	work->op = NVME_WRITE_UNCORRECTABLE;
	work->io.req.data = HREQ_NONE;
	work->io.req.sqe = (struct nvme_sqe){
		.opcode = work->op, .nsid = le32_of(host_nsid(h->host)), .cdw10 = le32_of((uint32_t)lba),
		.cdw12 = le32_of(blocks - 1),
	};
	return qpair_submit(host_queue(h->host, queue), &work->io);
}

static void
next(struct cluster_work *work)
{
	struct cluster_host *h = work->owner;
	uint32_t blocks = h->slot_bytes / BLOCK;
	struct cluster_slot *slot;
	unsigned queue;
	uint64_t lba;
	bool ok;

	if (h->host == NULL)
		return;
	if (h->done_ios >= h->ios) {
		if (h->in_flight == 0 && !h->leaving) {
			h->leaving = true;
			host_disconnect(h->host, closed);
		}
		return;
	}
	choose(h, work);
	slot = &h->slots[work->slot];
	lba = (uint64_t)(h->first_slot + work->slot) * blocks;
	queue = (unsigned)rng_below(&h->rng, host_namespace(h->host)->queues);
	work->iov = (struct iovec){ work->data, h->slot_bytes };
	if (work->op == NVME_READ) {
		work->oldest = slot->acked;
		ok = host_read(h->host, queue, &work->io, lba, blocks, &work->iov, 1);
	} else if (work->op == NVME_WRITE) {
		work->version = ++slot->issued;
		fill(h, work->data, work->slot, work->version);
		if (is_mark(h, work->slot, work->version))
			ok = make_unreadable(h, queue, work, lba, blocks);
		else
			ok = host_write(h->host, queue, &work->io, lba, blocks, &work->iov, 1, false);
	} else {
		for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
			work->flush_acked[i] = h->slots[i].acked;
		ok = host_flush(h->host, queue, &work->io);
	}
	if (ok)
		h->in_flight++;
	else
		slot->busy = false; /* the connection is being lost */
}

/* ---- connecting, and again after a loss ---- */

static void
ready(struct host *host)
{
	struct cluster_host *h = host_owner(host);

	for (unsigned i = 0; i < CLUSTER_WORKS; i++)
		next(&h->works[i]);
}

static void
lost(struct host *host, int error, const char *why)
{
	struct cluster_host *h = host_owner(host);

	(void)error;
	(void)why;
	h->host = NULL;
	h->losses++;
	h->leaving = false;
	host_destroy(host);
	/* A target that crashed may have forgotten what was not flushed. */
	for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
		h->slots[i].acked = h->slots[i].durable;
	timer_set(&h->reactor->timers, &h->retry, h->reactor->now_ns + RETRY_NS);
}

static void
connect_again(struct timer *timer)
{
	struct cluster_host *h = container_of(timer, struct cluster_host, retry);
	struct host_options options = {
		.port = CLUSTER_PORT, .nsid = 1, .queues = h->queues, .entries = 32,
		.hdgst = h->hdgst, .ddgst = h->ddgst, .sq_flow = h->sq_flow,
		.kato_ms = 200, .connect_ms = 300, .ready = ready, .lost = lost, .owner = h,
	};

	options.cntlid = h->cntlid;
	snprintf(options.addr, sizeof(options.addr), "%s", h->addr);
	snprintf(options.subnqn, sizeof(options.subnqn), "%s", CLUSTER_NQN);
	snprintf(options.hostnqn, sizeof(options.hostnqn), "nqn.2026-11.local.weir:host%u", h->first_slot);
	put_le64(options.hostid, h->first_slot + 1);
	if (host_connect(h->reactor, &options, &h->host) != 0)
		timer_set(&h->reactor->timers, timer, h->reactor->now_ns + RETRY_NS);
}

int
cluster_host_start(struct reactor *reactor, void *arg)
{
	struct cluster_host *h = arg;

	h->reactor = reactor;
	rng_seed(&h->rng, reactor->world->random(reactor));
	for (unsigned i = 0; i < CLUSTER_WORKS; i++) {
		struct cluster_work *work = &h->works[i];

		work->owner = h;
		work->io.owner = work;
		work->io.done = done;
		work->data = arena_alloc_aligned(reactor->arena, h->slot_bytes, 4096);
		assert(work->data != NULL);
	}
	h->retry.fire = connect_again;
	connect_again(&h->retry);
	return 0;
}
