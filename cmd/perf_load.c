/*
 * perf_load.c - what is read and written, and whether it is right.
 *
 * Verification: the namespace is seen as slots of one I/O's size.  For each
 * the number of the last completed write is kept; what a write puts there
 * depends on slot, number and seed alone, so every read of a slot that was
 * written can be checked, and at the end all of them are read back.  A slot
 * has one I/O at a time, so there is only one right answer.
 */
#include "perf_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_streams.h"

enum { FINAL_SIZE_MAX = 1024, PAGE = 4096 };
#define NS_PER_S UINT64_C(1000000000)
#define LEAVE_NS NS_PER_S

struct work {
	struct weir_io io;
	struct load *load;
	struct weir_queue *queue;
	struct work *next;      /* while it is idle */
	uint64_t slot, started_ns;
	struct iovec iov;
};

/* ---- content ---- */

static uint64_t
word_of(const struct load *load, uint64_t slot, uint32_t number)
{
	return (load->job->seed + (load->first + slot) * 0x9e3779b97f4a7c15u + number) * 0xbf58476d1ce4e5b9u | 1;
}

static void
fill(const struct load *load, void *data, uint64_t slot, uint32_t number)
{
	uint64_t word = word_of(load, slot, number), *at = data;

	for (size_t i = 0; i < load->job->bs / 8; i++, word += 0x94d049bb133111ebu)
		at[i] = word;
}

static bool
as_written(const struct load *load, const void *data, uint64_t slot, uint32_t number)
{
	uint64_t word = word_of(load, slot, number), wrong = 0;
	const uint64_t *at = data;

	for (size_t i = 0; i < load->job->bs / 8; i++, word += 0x94d049bb133111ebu)
		wrong |= at[i] ^ word;
	return wrong == 0;
}

uint64_t
perf_load_offset(const struct load *load, uint64_t slot)
{
	return (load->first + slot) * load->job->bs;
}

/* ---- an I/O ---- */

static bool
is_write(const struct work *work)
{
	return work->io.op == WEIR_OP_WRITE;
}

static void
check(struct load *load, const struct work *work)
{
	struct perf_result *result = &load->result;

	if (load->written == NULL || load->written[work->slot] == 0)
		return;
	result->checked++;
	if (as_written(load, work->iov.iov_base, work->slot, load->written[work->slot]))
		return;
	if (result->wrong++ == 0)
		result->first_wrong = perf_load_offset(load, work->slot);
}

static void
count(struct load *load, const struct work *work, uint64_t now_ns)
{
	struct perf_side *side = is_write(work) ? &load->result.write : &load->result.read;

	if (load->phase != LOADING)
		return;
	hist_add(&side->hist, now_ns - work->started_ns);
	side->bytes += load->job->bs;
}

static void
failed(struct load *load, const struct work *work, int error, const char *why)
{
	if (load->result.errors++ == 0)
		snprintf(load->result.first_error, sizeof(load->result.first_error), "%s at offset %" PRIu64 ": %s",
		    is_write(work) ? "write" : "read", perf_load_offset(load, work->slot), why);
	/* What a failed write left there is not known. */
	if (is_write(work) && load->written != NULL)
		load->written[work->slot] = 0;
	if (error == -ETIMEDOUT || error == -ESHUTDOWN)
		load->broken = true;
}

bool
perf_load_has_more(struct load *load)
{
	if (load->broken)
		return false;
	if (load->phase == READING_BACK) {
		while (load->next < load->slots && load->written[load->next] == 0)
			load->next++;
		return load->next < load->slots;
	}
	return load->phase == LOADING && load->left > 0 && perf_now(load->clock) < load->end_ns;
}

bool
perf_load_may_begin(struct load *load)
{
	if (!perf_load_has_more(load))
		return false;
	load->due_ns = load->phase == LOADING ? pace_take(&load->pace, perf_now(load->clock)) : 0;
	return load->due_ns == 0;
}

uint64_t
perf_load_choose(struct load *load)
{
	uint64_t slot;

	load->left--;
	do {
		slot = load->job->random ? rng_below(&load->rng, load->slots) : load->next++ % load->slots;
	} while (load->busy[slot]);
	return slot;
}

/* What the next I/O is, and where. */
static void
choose(struct load *load, struct work *work)
{
	if (load->phase == READING_BACK) {
		work->io.op = WEIR_OP_READ;
		work->slot = load->next++;
		return;
	}
	work->io.op = rng_below(&load->rng, 100) >= perf_job_reads(load->job) ? WEIR_OP_WRITE : WEIR_OP_READ;
	work->slot = perf_load_choose(load);
}

void
perf_load_began(struct load *load, uint64_t slot, uint64_t now_ns)
{
	if (load->in_flight++ == 0)
		load->last_ns = now_ns;
	load->busy[slot] = 1;
}

void
perf_load_ended(struct load *load, uint64_t now_ns)
{
	load->in_flight--;
	if (now_ns - load->last_ns > load->result.pause_ns)
		load->result.pause_ns = now_ns - load->last_ns;
	load->last_ns = now_ns;
}

/* False: it has to wait, or there is nothing more. */
static bool
issue(struct work *work)
{
	struct load *load = work->load;
	int rc;

	if (!perf_load_may_begin(load))
		return false;
	choose(load, work);
	work->io.lba = (load->first + work->slot) * load->blocks_per_slot;
	work->started_ns = perf_now(load->clock);
	if (is_write(work) && load->written != NULL)
		fill(load, work->iov.iov_base, work->slot, ++load->written[work->slot]);
	perf_load_began(load, work->slot, work->started_ns);
	rc = weir_queue_submit(work->queue, &work->io);
	if (rc == 0)
		return true;
	load->busy[work->slot] = 0;
	load->in_flight--;
	load->broken = true;
	failed(load, work, rc, weir_error());
	return false;
}

static void
done(void *arg, const struct weir_result *result)
{
	struct work *work = arg;
	struct load *load = work->load;
	uint64_t now_ns = perf_now(load->clock);

	perf_load_ended(load, now_ns);
	load->busy[work->slot] = 0;
	if (result->error != 0) {
		failed(load, work, result->error, weir_result_text(result));
	} else {
		if (!is_write(work))
			check(load, work);
		count(load, work, now_ns);
	}
	if (issue(work))
		return;
	work->next = load->idle;
	load->idle = work;
}

/* ---- the load ---- */

static void
fill_up(struct load *load)
{
	if (load->streams != NULL)
		perf_streams_fill(load);
	while (load->idle != NULL) {
		struct work *work = load->idle;

		load->idle = work->next;
		if (issue(work))
			continue;
		work->next = load->idle;
		load->idle = work;
		return;
	}
}

void
perf_load_begin(struct load *load)
{
	uint64_t now_ns = perf_now(load->clock);

	load->result.begun_ns = now_ns;
	load->end_ns = load->job->ios > 0 ? UINT64_MAX : now_ns + load->job->seconds * NS_PER_S;
	pace_begin(&load->pace, now_ns);
	fill_up(load);
}

void
perf_load_stop(struct load *load)
{
	if (load->phase == ENDED || load->leave_ns != 0)
		return;
	load->broken = load->result.stopped = true;
	load->leave_ns = perf_now(load->clock) + LEAVE_NS;
}

static bool
waits(const struct load *load)
{
	bool some = load->in_flight > 0 || (load->phase == SETTLING && !perf_streams_settled(load));

	return some && (load->leave_ns == 0 || perf_now(load->clock) < load->leave_ns);
}

bool
perf_load_go_on(struct load *load)
{
	bool measured = load->phase == LOADING;

	if (load->idle == NULL && load->streams == NULL && load->leave_ns == 0)
		return false;
	fill_up(load);
	if (waits(load) || load->phase == ENDED || perf_load_has_more(load))
		return false;
	if (measured)
		load->result.ended_ns = perf_now(load->clock);
	if (measured && load->streams != NULL) {
		perf_streams_settle(load);
		load->phase = SETTLING;
		return true;
	}
	if (!measured || load->written == NULL || load->broken) {
		load->result.unanswered = load->in_flight;
		load->phase = ENDED;
		return measured;
	}
	load->phase = READING_BACK;
	load->next = 0;
	fill_up(load);
	return true;
}

/* ---- set-up ---- */

static bool
fits(const struct perf_job *job, const struct weir_namespace *ns, char why[PERF_WHY])
{
	if (ns->block_size == 0 || ns->metadata != 0)
		snprintf(why, PERF_WHY, "namespace %" PRIu32 " has a format that cannot be used", ns->nsid);
	else if (job->bs % ns->block_size != 0)
		snprintf(why, PERF_WHY, "bs is no multiple of the block size, %" PRIu32 " bytes", ns->block_size);
	else if (job->bs > ns->transfer_max)
		snprintf(why, PERF_WHY, "bs is larger than the target takes at once, %" PRIu32 " bytes",
		    ns->transfer_max);
	else
		return true;
	return false;
}

static void
make_works(struct load *load, struct weir_queue *const *queues, unsigned queue_count)
{
	const struct perf_job *job = load->job;

	for (unsigned i = job->qd * queue_count; i-- > 0;) {
		struct work *work = &load->works[i];

		work->load = load;
		work->queue = queues[i % queue_count];
		work->iov = (struct iovec){ load->buffers + i * job->bs, job->bs };
		work->io = (struct weir_io){
			.nsid = load->nsid, .blocks = load->blocks_per_slot, .iov = &work->iov, .iov_count = 1,
			.flags = (unsigned char)(job->priority * WEIR_PRIORITY_1), .done = done, .arg = work,
		};
		work->next = load->idle;
		load->idle = work;
	}
}

int
perf_load_make(struct load *load, const struct perf_job *job, const struct weir_namespace *ns, struct load_share share,
    struct perf_clock *clock, struct weir_queue *const *queues, unsigned line_count, char why[PERF_WHY])
{
	uint64_t bytes = ns->blocks * ns->block_size, most = (uint64_t)FINAL_SIZE_MAX * 1024 * 1024 / job->bs, slots;
	unsigned count = line_count * (job->ordered ? perf_streams_kept(job) : job->qd);

	*load = (struct load){ .job = job, .clock = clock, .nsid = ns->nsid };
	if (!fits(job, ns, why))
		return -EINVAL;
	if (job->size > 0 && job->size < bytes)
		bytes = job->size;
	slots = bytes / job->bs;
	if (job->verify && slots > most)
		slots = most;
	load->first = slots / share.parts * share.part;
	load->slots = slots / share.parts;
	if (load->slots < 2 * (uint64_t)count) {
		snprintf(why, PERF_WHY, "the namespace is too small for so many I/Os in flight");
		return -EINVAL;
	}
	load->blocks_per_slot = (uint32_t)(job->bs / ns->block_size);
	load->left = job->ios > 0 ? share.ios : UINT64_MAX;
	perf_result_init(&load->result);
	load->result.verify = job->verify;
	rng_seed(&load->rng, job->seed + share.index);
	load->busy = calloc(load->slots, 1);
	if (load->busy == NULL) {
		snprintf(why, PERF_WHY, "out of memory");
		return -ENOMEM;
	}
	if (job->ordered)
		return 0;
	load->written = job->verify ? calloc(load->slots, sizeof(*load->written)) : NULL;
	load->works = calloc(count, sizeof(*load->works));
	load->buffers = aligned_alloc(PAGE, (count * job->bs + PAGE - 1) / PAGE * PAGE);
	if (load->works == NULL || load->buffers == NULL || (job->verify && load->written == NULL)) {
		snprintf(why, PERF_WHY, "out of memory");
		return -ENOMEM;
	}
	memset(load->buffers, 0, count * job->bs);
	make_works(load, queues, line_count);
	return 0;
}

void
perf_load_free(struct load *load)
{
	perf_streams_close(load);
	free(load->busy);
	free(load->written);
	free(load->works);
	free(load->buffers);
}
