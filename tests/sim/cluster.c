#include "cluster.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

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
		if (rc == 0 && t->order != NULL)
			rc = store_open(reactor, t->order, &config.order, why);
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

	if (work->op == LANE_READ) {
		check_read(h, work);
	} else if (work->op == LANE_WRITE) {
		slot->acked = work->shaken ? slot->acked : work->version;
	} else if (work->op == LANE_WRITE_UNCORRECTABLE) {
		slot->acked = slot->durable = work->version; /* no flush is needed */
	} else {
		for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
			if (h->slots[i].durable < work->flush_acked[i])
				h->slots[i].durable = work->flush_acked[i];
	}
}

static void
done(void *arg, const struct lane_result *result)
{
	struct cluster_work *work = arg;
	struct cluster_host *h = work->owner;

	assert(work->busy);
	work->busy = false;
	h->in_flight--;
	h->slots[work->slot].busy = false;
	if (result->error == 0)
		succeeded(h, work);
	else if (work->op == LANE_READ && nvme_sc(result->status) == NVME_SC_READ_ERROR)
		check_unreadable(h, work);
	else if (work->op == LANE_FLUSH && result->error == -EIO && nvme_ok(result->status))
		h->told++;
	else
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
	work->op = dice < 45 && !h->no_reads ? LANE_READ : dice < 92 ? LANE_WRITE : LANE_FLUSH;
	h->slots[work->slot].busy = true;
	return true;
}

static void leave(struct cluster_host *h);

static void
next(struct cluster_work *work)
{
	struct cluster_host *h = work->owner;
	uint32_t blocks = h->slot_bytes / BLOCK;
	struct lane_io io = { .nsid = 1, .blocks = blocks, .iov = &work->iov, .iov_count = 1, .done = done,
		.arg = work };
	struct cluster_slot *slot;
	int rc;

	if (h->done_ios >= h->ios) {
		if (h->in_flight == 0 && !h->leaving)
			leave(h);
		return;
	}
	choose(h, work);
	slot = &h->slots[work->slot];
	io.lba = (uint64_t)(h->first_slot + work->slot) * blocks;
	work->iov = (struct iovec){ work->data, h->slot_bytes };
	if (work->op == LANE_READ) {
		work->oldest = slot->acked;
	} else if (work->op == LANE_WRITE) {
		work->version = ++slot->issued;
		fill(h, work->data, work->slot, work->version);
		if (is_mark(h, work->slot, work->version))
			work->op = LANE_WRITE_UNCORRECTABLE;
	} else {
		for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
			work->flush_acked[i] = h->slots[i].acked;
	}
	io.op = work->op;
	work->busy = true;
	work->shaken = false;
	h->in_flight++;
	rc = lane_submit(h->lanes[rng_below(&h->rng, h->queues)], &io);
	assert(rc == 0);
}

/* ---- coming ---- */

static void begin(struct cluster_host *h);

/* It was refused, or cut off while it came. */
static void
again(void *owner)
{
	struct cluster_host *h = owner;

	h->losses++;
	timer_set(&h->reactor->timers, &h->retry, h->reactor->now_ns + RETRY_NS);
}

static void open_lane(struct cluster_host *h, unsigned index);

static void
lane_again(void *owner)
{
	struct cluster_host *h = owner;

	for (unsigned i = 0; i < h->queues; i++)
		if (h->lanes[i] == NULL)
			open_lane(h, i);
}

static void
lane_ready(struct lane *lane, int error, const char *why)
{
	struct cluster_host *h = lane_owner(lane);

	(void)why;
	if (error != 0) {
		for (unsigned i = 0; i < h->queues; i++)
			if (h->lanes[i] == lane)
				h->lanes[i] = NULL;
		lane_close(lane, lane_again);
	} else if (++h->lanes_up == h->queues) {
		h->loading = true;
		for (unsigned i = 0; i < CLUSTER_WORKS; i++)
			next(&h->works[i]);
	}
}

static void
open_lane(struct cluster_host *h, unsigned index)
{
	struct lane_options options = { .depth = 32, .ready = lane_ready, .owner = h };
	int rc = lane_open(h->reactor, h->subsys, &options, &h->lanes[index]);

	assert(rc == 0);
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct cluster_host *h = find->owner;

	(void)error;
	(void)why;
	if (ns == NULL) {
		subsys_find(h->subsys, find);
		return;
	}
	for (unsigned i = 0; i < h->queues; i++)
		open_lane(h, i);
}

static void
ready(struct subsys *subsys, int error, const char *why)
{
	struct cluster_host *h = subsys_owner(subsys);

	(void)why;
	if (error != 0) {
		subsys_close(subsys, again);
		return;
	}
	h->find = (struct subsys_find){ .nsid = 1, .found = found, .owner = h };
	subsys_find(subsys, &h->find);
}

/* The target may have crashed, and forgotten what was not flushed; what it says from now on is of its new life. */
static void
event(struct subsys *subsys, const struct subsys_event *event)
{
	struct cluster_host *h = subsys_owner(subsys);

	if (event->kind != SUBSYS_PATH_LOST)
		return;
	h->losses++;
	for (unsigned i = 0; i < CLUSTER_SLOTS; i++)
		h->slots[i].acked = h->slots[i].durable;
	for (unsigned i = 0; i < CLUSTER_WORKS; i++) {
		struct cluster_work *work = &h->works[i];

		work->shaken = true;
		work->oldest = h->slots[work->slot].durable;
		for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
			work->flush_acked[slot] = h->slots[slot].durable;
	}
}

static void
begin(struct cluster_host *h)
{
	struct subsys_options options = {
		.hdgst = h->hdgst, .ddgst = h->ddgst, .sq_flow = h->sq_flow, .queues = h->queues, .cntlid = h->cntlid,
		.kato_ms = 200, .connect_ms = 300, .io_timeout_ms = 30000, .reconnect_ms = 2, .reconnect_max_ms = 20,
		.loss_ms = UINT32_MAX, .ready = ready, .event = event, .owner = h,
	};
	struct subsys_address address = { .port = CLUSTER_PORT };
	int rc;

	snprintf(address.host, sizeof(address.host), "%s", h->addr);
	snprintf(options.subnqn, sizeof(options.subnqn), "%s", CLUSTER_NQN);
	snprintf(options.hostnqn, sizeof(options.hostnqn), "nqn.2026-11.local.weir:host%u", h->first_slot);
	put_le64(options.hostid, h->first_slot + 1);
	rc = subsys_open(h->reactor, &options, &address, 1, &h->subsys);
	assert(rc == 0);
}

static void
begin_again(struct timer *timer)
{
	begin(container_of(timer, struct cluster_host, retry));
}

/* ---- going ---- */

static void
subsys_closed(void *owner)
{
	struct cluster_host *h = owner;

	h->finished = true;
}

static void
lane_closed(void *owner)
{
	struct cluster_host *h = owner;

	if (++h->lanes_closed == h->queues)
		subsys_close(h->subsys, subsys_closed);
}

static void
leave(struct cluster_host *h)
{
	h->leaving = true;
	for (unsigned i = 0; i < h->queues; i++)
		lane_close(h->lanes[i], lane_closed);
}

int
cluster_host_start(struct reactor *reactor, void *arg)
{
	struct cluster_host *h = arg;

	assert(h->queues >= 1 && h->queues <= CLUSTER_LANES);
	h->reactor = reactor;
	reactor->on_mail = host_on_mail;
	rng_seed(&h->rng, reactor->world->random(reactor));
	for (unsigned i = 0; i < CLUSTER_WORKS; i++) {
		h->works[i].owner = h;
		h->works[i].data = arena_alloc_aligned(reactor->arena, h->slot_bytes, 4096);
		assert(h->works[i].data != NULL);
	}
	h->retry.fire = begin_again;
	begin(h);
	return 0;
}
