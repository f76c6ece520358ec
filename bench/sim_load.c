#include "sim_load.h"

#include <assert.h>
#include <stdio.h>

#include "base/bytes.h"

#define LOAD_TARGET "10.0.0.2"
#define LOAD_NQN "nqn.2026-11.local.weir:load"

enum { PORT = 4420, WORDS = LOAD_BLOCK / 8 };

/* ---- the target ---- */

int
load_target_start(struct reactor *reactor, void *arg)
{
	struct load_target *t = arg;
	char spec[64], why[256];

	if (t->started++ == 0) {
		struct target_listen listen = { .host = LOAD_TARGET, .port = PORT };
		struct target_ns ns = { .nsid = 1, .id = { 1 } };
		struct target_subsys subsys = { .nqn = LOAD_NQN, .listeners = 1, .ns = &ns, .ns_count = 1 };
		struct target_config config = { .listen = &listen, .listen_count = 1, .subsys = &subsys,
			.subsys_count = 1 };
		int rc;

		snprintf(spec, sizeof(spec), t->in_file ? "file:volume.img,size=%uK" : "mem:%uK",
		    t->blocks * (LOAD_BLOCK / 1024));
		rc = blk_open(reactor, spec, LOAD_BLOCK, &t->volume, why);
		ns.volume = t->volume;
		if (rc == 0)
			rc = target_create(reactor->arena, &config, &t->target, why);
		if (rc != 0)
			return rc;
	}
	return target_start(t->target, reactor, why);
}

/* ---- contents: each word says where it stands and how often the block was written; zeros: never ---- */

static uint64_t
first_word(const struct load_host *h, uint32_t block)
{
	return (uint64_t)h->versions[block] << 32 | (uint64_t)h->index << 24 | (uint64_t)block * WORDS;
}

static void
fill(const struct load_host *h, uint32_t block, uint64_t *words)
{
	uint64_t first = first_word(h, block);

	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = first + i;
}

static bool
is_right(const struct load_host *h, uint32_t block, const uint64_t *words)
{
	uint64_t first = first_word(h, block), written = h->versions[block] > 0 ? UINT64_MAX : 0, wrong = 0;

	for (uint64_t i = 0; i < WORDS; i++)
		wrong |= words[i] ^ ((first + i) & written);
	return wrong == 0;
}

/* ---- a host ---- */

static void next(struct load_io *io);

static void
done(void *arg, const struct lane_result *result)
{
	struct load_io *io = arg;
	struct load_host *h = io->host;

	h->busy[io->block] = false;
	if (result->error != 0)
		h->failed++;
	else if (io->write)
		h->writes++;
	else
		h->reads++;
	if (result->error == 0 && !io->write && !is_right(h, io->block, io->iov.iov_base))
		h->wrong++;
	next(io);
}

static void
next(struct load_io *io)
{
	struct load_host *h = io->host;
	struct lane_io ask = { .nsid = 1, .blocks = 1, .iov = &io->iov, .iov_count = 1, .done = done, .arg = io };
	int rc;

	io->block = (uint32_t)rng_below(&h->rng, LOAD_BLOCKS);
	while (h->busy[io->block])
		io->block = (io->block + 1) % LOAD_BLOCKS;
	h->busy[io->block] = true;
	io->write = rng_below(&h->rng, 100) >= h->reads_percent;
	if (io->write) {
		h->versions[io->block]++;
		fill(h, io->block, io->iov.iov_base);
	}
	ask.op = io->write ? LANE_WRITE : LANE_READ;
	ask.lba = (uint64_t)h->index * LOAD_BLOCKS + io->block;
	rc = lane_submit(h->lane, &ask);
	assert(rc == 0);
}

/* Nothing here may fail: there is no fault in this world. */
static void
lane_ready(struct lane *lane, int error, const char *why)
{
	struct load_host *h = lane_owner(lane);

	(void)why;
	assert(error == 0);
	for (uint32_t i = 0; i < h->depth; i++)
		next(&h->ios[i]);
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct load_host *h = find->owner;
	struct lane_options options = { .depth = h->depth, .ready = lane_ready, .owner = h };
	int rc;

	(void)error;
	(void)why;
	assert(ns != NULL && ns->block_size == LOAD_BLOCK);
	rc = lane_open(h->reactor, h->subsys, &options, &h->lane);
	assert(rc == 0);
}

static void
ready(struct subsys *subsys, int error, const char *why)
{
	struct load_host *h = subsys_owner(subsys);

	(void)why;
	assert(error == 0);
	h->find = (struct subsys_find){ .nsid = 1, .found = found, .owner = h };
	subsys_find(subsys, &h->find);
}

int
load_host_start(struct reactor *reactor, void *arg)
{
	struct load_host *h = arg;
	struct subsys_options options = {
		.queues = 1, .kato_ms = 10000, .connect_ms = 5000, .io_timeout_ms = 30000, .reconnect_ms = 10,
		.reconnect_max_ms = 1000, .loss_ms = UINT32_MAX, .ready = ready, .owner = h,
	};
	struct subsys_address address = { .host = LOAD_TARGET, .port = PORT };

	assert(h->depth >= 1 && h->depth <= LOAD_DEPTH_MAX);
	h->reactor = reactor;
	reactor->on_mail = host_on_mail;
	rng_seed(&h->rng, reactor->world->random(reactor));
	for (uint32_t i = 0; i < h->depth; i++) {
		uint8_t *data = arena_alloc_aligned(reactor->arena, LOAD_BLOCK, LOAD_BLOCK);

		assert(data != NULL);
		h->ios[i] = (struct load_io){ .host = h, .iov = { data, LOAD_BLOCK } };
	}
	snprintf(options.subnqn, sizeof(options.subnqn), "%s", LOAD_NQN);
	snprintf(options.hostnqn, sizeof(options.hostnqn), "nqn.2026-11.local.weir:host%u", h->index);
	put_le64(options.hostid, h->index + 1);
	return subsys_open(reactor, &options, &address, 1, &h->subsys);
}
