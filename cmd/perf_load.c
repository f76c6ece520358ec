/*
 * perf_load.c - keeps `qd` I/Os in flight on every queue until time is up.
 *
 * Verification: the namespace is seen as slots of one I/O's size.  For each
 * the number of the last completed write is kept; what a write puts there
 * depends on slot, number and seed alone, so every read of a slot that was
 * written can be checked, and at the end all of them are read back.  A slot
 * has one I/O at a time, so there is only one right answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "perf.h"
#include "rt/rt.h"
#include "serve.h"
#include "sys/clock.h"

enum { NS_PER_S = 1000000000, FINAL_SIZE_MAX = 1024 };

struct work {
	struct hio io;
	struct perf *perf;
	unsigned queue;
	uint64_t slot, started_ns;
	bool write;
	struct iovec iov;
};

enum phase { LOADING, READING_BACK, ENDED };

struct perf {
	const struct perf_options *options;
	struct perf_result *result;
	struct rt *rt;
	struct host *host;
	struct work *works;
	uint8_t *buffers;
	uint64_t slots, blocks_per_slot;
	uint32_t *written;  /* number of the last write of each slot; 0: none */
	uint8_t *busy;      /* of each slot: an I/O is in flight */
	uint64_t next;      /* of sequential load and of reading back */
	struct rng rng;
	enum phase phase;
	unsigned in_flight;
	uint64_t begun_ns, end_ns;
	uint64_t left;      /* I/Os to begin still */
	struct perf_turns turns; /* before the load */
	struct timer second;
	uint64_t shown_ios;
	bool failed;
};

/* ---- content ---- */

static uint64_t
word_of(const struct perf *perf, uint64_t slot, uint32_t number)
{
	return (perf->options->seed + slot * 0x9e3779b97f4a7c15u + number) * 0xbf58476d1ce4e5b9u | 1;
}

static void
fill(const struct perf *perf, void *data, uint64_t slot, uint32_t number)
{
	uint64_t word = word_of(perf, slot, number), *at = data;

	for (size_t i = 0; i < perf->options->bs / 8; i++, word += 0x94d049bb133111ebu)
		at[i] = word;
}

static bool
as_written(const struct perf *perf, const void *data, uint64_t slot, uint32_t number)
{
	uint64_t word = word_of(perf, slot, number), wrong = 0;
	const uint64_t *at = data;

	for (size_t i = 0; i < perf->options->bs / 8; i++, word += 0x94d049bb133111ebu)
		wrong |= at[i] ^ word;
	return wrong == 0;
}

/* ---- the load ---- */

static void issue(struct work *work);

static void
closed(void *owner)
{
	rt_stop(((struct perf *)owner)->rt);
}

static uint64_t
now(const struct perf *perf)
{
	return rt_reactor(perf->rt, 0)->now_ns;
}

static struct perf_turns
turns(const struct perf *perf)
{
	const struct reactor *reactor = rt_reactor(perf->rt, 0);

	return (struct perf_turns){
		reactor->syscalls - perf->turns.syscalls, reactor->busy_turns - perf->turns.busy,
		reactor->busy_ns - perf->turns.busy_ns,
	};
}

static void
check(struct perf *perf, const struct work *work)
{
	struct perf_result *result = perf->result;

	if (perf->written == NULL || perf->written[work->slot] == 0)
		return;
	result->checked++;
	if (as_written(perf, work->iov.iov_base, work->slot, perf->written[work->slot]))
		return;
	if (result->wrong++ == 0)
		result->first_wrong = work->slot * perf->options->bs;
}

static void
count(struct perf *perf, const struct work *work)
{
	struct perf_side *side = work->write ? &perf->result->write : &perf->result->read;

	if (perf->phase != LOADING)
		return;
	hist_add(&side->hist, now(perf) - work->started_ns);
	side->bytes += perf->options->bs;
}

static void
failed(struct perf *perf, const struct work *work)
{
	struct nvme_status status = work->io.req.status;

	if (perf->failed)
		return;
	if (perf->result->errors++ == 0)
		snprintf(perf->result->first_error, sizeof(perf->result->first_error), "%s at offset %" PRIu64 ": %s",
		    work->write ? "write" : "read", work->slot * perf->options->bs,
		    nvme_status_text(status, false));
	/* What a failed write left there is not known. */
	if (work->write && perf->written != NULL)
		perf->written[work->slot] = 0;
}

static void
phase_over(struct perf *perf)
{
	if (perf->phase == LOADING) {
		perf->result->elapsed_ns = now(perf) - perf->begun_ns;
		perf->result->turns = turns(perf);
		timer_clear(&rt_reactor(perf->rt, 0)->timers, &perf->second);
		if (perf->options->progress)
			fprintf(stderr, "\r\033[K%s", perf->written != NULL ? "reading back ..." : "");
		perf->phase = perf->written != NULL ? READING_BACK : ENDED;
		perf->next = 0;
		for (unsigned i = 0; perf->phase == READING_BACK && i < perf->options->qd * perf->options->queues; i++)
			issue(&perf->works[i]);
		if (perf->in_flight > 0)
			return;
	}
	perf->phase = ENDED;
	if (perf->options->progress)
		fprintf(stderr, "\r\033[K");
	host_disconnect(perf->host, closed);
}

static void
done(struct hio *io)
{
	struct work *work = io->owner;
	struct perf *perf = work->perf;

	perf->in_flight--;
	perf->busy[work->slot] = 0;
	if (!nvme_ok(io->req.status))
		failed(perf, work);
	else if (!work->write)
		check(perf, work);
	if (nvme_ok(io->req.status))
		count(perf, work);
	if (perf->failed)
		return;
	issue(work);
	if (perf->in_flight == 0 && perf->phase != ENDED)
		phase_over(perf);
}

/* The slot of the next I/O, not one that has an I/O in flight; false: there is none any more. */
static bool
choose(struct perf *perf, struct work *work)
{
	if (perf->phase == READING_BACK) {
		while (perf->next < perf->slots && perf->written[perf->next] == 0)
			perf->next++;
		work->write = false;
		work->slot = perf->next;
		return perf->next++ < perf->slots;
	}
	if (perf->phase != LOADING || perf->left == 0 || now(perf) >= perf->end_ns)
		return false;
	perf->left--;
	work->write = rng_below(&perf->rng, 100) >= perf->options->mix;
	do {
		work->slot = perf->options->random ? rng_below(&perf->rng, perf->slots) :
		    perf->next++ % perf->slots;
	} while (perf->busy[work->slot]);
	return true;
}

static void
issue(struct work *work)
{
	struct perf *perf = work->perf;
	uint32_t blocks = (uint32_t)perf->blocks_per_slot;
	bool ok;

	if (!choose(perf, work))
		return;
	perf->busy[work->slot] = 1;
	perf->in_flight++;
	work->started_ns = now(perf);
	if (work->write && perf->written != NULL)
		fill(perf, work->iov.iov_base, work->slot, ++perf->written[work->slot]);
	ok = work->write ?
	    host_write(perf->host, work->queue, &work->io, work->slot * blocks, blocks, &work->iov, 1, false) :
	    host_read(perf->host, work->queue, &work->io, work->slot * blocks, blocks, &work->iov, 1);
	if (!ok) {
		/* The connection is being lost; lost() says so. */
		perf->busy[work->slot] = 0;
		perf->in_flight--;
	}
}

/* ---- progress ---- */

static void
every_second(struct timer *timer)
{
	struct perf *perf = container_of(timer, struct perf, second);
	uint64_t ios = perf->result->read.hist.count + perf->result->write.hist.count;

	fprintf(stderr, "\r\033[K%3" PRIu64, (now(perf) - perf->begun_ns + NS_PER_S / 2) / NS_PER_S);
	if (perf->options->ios == 0)
		fprintf(stderr, " of %" PRIu64, perf->options->seconds);
	fprintf(stderr, " s: %" PRIu64 " IOPS", ios - perf->shown_ios);
	perf->shown_ios = ios;
	timer_set(&rt_reactor(perf->rt, 0)->timers, timer, now(perf) + NS_PER_S);
}

/* ---- set-up ---- */

static int
refuse(struct perf *perf, const char *why)
{
	fprintf(stderr, "weir perf: %s\n", why);
	perf->failed = true;
	host_disconnect(perf->host, closed);
	return -1;
}

static int
prepare(struct perf *perf)
{
	const struct perf_options *options = perf->options;
	const struct host_ns *ns = host_namespace(perf->host);
	uint64_t bytes = ns->blocks * ns->block_size;
	struct arena *arena = rt_reactor(perf->rt, 0)->arena;
	unsigned count = options->qd * options->queues;

	if (options->size > 0 && options->size < bytes)
		bytes = options->size;
	if (options->bs % ns->block_size != 0 || options->bs > ns->transfer_max)
		return refuse(perf, "--bs is no multiple of the block size, or larger than the target takes at once");
	if (ns->queues < options->queues)
		return refuse(perf, "the target grants fewer queues");
	perf->blocks_per_slot = options->bs / ns->block_size;
	perf->slots = bytes / options->bs;
	if (options->verify && perf->slots > (uint64_t)FINAL_SIZE_MAX * 1024 * 1024 / options->bs)
		perf->slots = (uint64_t)FINAL_SIZE_MAX * 1024 * 1024 / options->bs;
	if (perf->slots < 2 * (uint64_t)count)
		return refuse(perf, "the namespace is too small for so many I/Os in flight");
	perf->busy = arena_alloc(arena, perf->slots);
	perf->written = options->verify ? arena_alloc(arena, perf->slots * sizeof(*perf->written)) : NULL;
	perf->works = arena_alloc(arena, count * sizeof(*perf->works));
	perf->buffers = arena_alloc_aligned(arena, count * options->bs, 4096);
	if (perf->busy == NULL || perf->works == NULL || perf->buffers == NULL ||
	    (options->verify && perf->written == NULL))
		return refuse(perf, "out of memory");
	for (unsigned i = 0; i < count; i++) {
		struct work *work = &perf->works[i];

		work->perf = perf;
		work->queue = i % options->queues;
		work->io.owner = work;
		work->io.done = done;
		work->iov = (struct iovec){ perf->buffers + i * options->bs, options->bs };
	}
	return 0;
}

static void
ready(struct host *host)
{
	struct perf *perf = host_owner(host);
	struct reactor *reactor = rt_reactor(perf->rt, 0);

	if (prepare(perf) != 0)
		return;
	perf->begun_ns = reactor->now_ns;
	perf->turns = turns(perf);
	perf->end_ns = perf->options->ios > 0 ? UINT64_MAX : reactor->now_ns + perf->options->seconds * NS_PER_S;
	perf->left = perf->options->ios > 0 ? perf->options->ios : UINT64_MAX;
	if (perf->options->progress) {
		perf->second.fire = every_second;
		timer_set(&reactor->timers, &perf->second, reactor->now_ns + NS_PER_S);
	}
	for (unsigned i = 0; i < perf->options->qd * perf->options->queues; i++)
		issue(&perf->works[i]);
}

static void
lost(struct host *host, int error, const char *why)
{
	struct perf *perf = host_owner(host);

	(void)error;
	perf->failed = true;
	fprintf(stderr, "%sweir perf: %s:%u: %s\n", perf->options->progress ? "\r\033[K" : "",
	    perf->options->uri.addr, perf->options->uri.port, why);
	host_destroy(host);
	rt_stop(perf->rt);
}

static struct host_options
host_options_of(const struct perf_options *options)
{
	struct host_options host = {
		.port = options->uri.port, .nsid = options->uri.nsid,
		.queues = (uint16_t)options->queues, .entries = (uint16_t)(options->qd + 1),
		.hdgst = options->hdgst, .ddgst = options->ddgst, .sq_flow = options->sq_flow,
		.kato_ms = 10000, .ready = ready, .lost = lost,
	};

	snprintf(host.addr, sizeof(host.addr), "%s", options->uri.addr);
	memcpy(host.subnqn, options->uri.subnqn, sizeof(host.subnqn));
	snprintf(host.hostnqn, sizeof(host.hostnqn), "%s", options->hostnqn);
	identify_host(options->hostnqn, host.hostid);
	return host;
}

int
perf_run(const struct perf_options *options, struct perf_result *result)
{
	struct perf perf = { .options = options, .result = result };
	struct host_options host = host_options_of(options);
	struct rt_options rt = rt_options_default();
	int rc;

	rt.reactor = (struct reactor_options){ BUFS_IOV_MAX, BUFS_IOV_MAX };
	rt.cpus = &options->cpu;
	rt.cpu_count = options->cpu >= 0;
	rt.sockets.congestion = options->congestion;
	hist_init(&result->read.hist);
	hist_init(&result->write.hist);
	result->verify = options->verify;
	rng_seed(&perf.rng, options->seed);
	rc = rt_create(&perf.rt, &rt);
	if (rc == 0) {
		host.owner = &perf;
		rc = host_connect(rt_reactor(perf.rt, 0), &host, &perf.host);
		if (rc != 0)
			fprintf(stderr, "weir perf: cannot connect to %s:%u: %s\n", host.addr, host.port,
			    strerror(-rc));
		else
			rc = rt_run(perf.rt);
	} else {
		fprintf(stderr, "weir perf: cannot start: %s\n", strerror(-rc));
	}
	rt_destroy(perf.rt);
	return rc == 0 && !perf.failed ? 0 : -1;
}
