#include "trace_play.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "stop.h"

enum { BATCH = 256, PAGE = 4096, PIECE_MAX = 1 << 20, LOOK_US = 20000, LOOK_TURNS = 64 };

#define LEAVE_NS UINT64_C(1000000000) /* how long a stop waits for what is under way */

/* A command. */
struct slot {
	struct play *play;
	struct slot *next;   /* while it is idle */
	struct weir_io io;
	struct iovec iov;
	uint64_t began_ns;
};

struct play {
	const struct play_order *order;
	struct play_outcome *outcome;
	struct slot *slots, *idle;
	uint8_t *buffers;
	uint32_t piece_blocks;      /* of a command, at most */
	unsigned in_flight, turns;
	bool broken;                /* nothing more can be done */
	/* What was read of the trace, and which of it is being played. */
	struct trace_request requests[BATCH];
	size_t count, at;
	uint64_t block, block_end;  /* of that one, what is not yet on its way; equal: none is being played */
	uint64_t due_ns;            /* when it is to begin */
	bool begun;
	uint64_t first_ns;          /* of the first, as the trace has it */
	struct bar bar;
};

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- commands ---- */

static void
failed(struct play *play, const struct slot *slot, int error, const char *why)
{
	struct perf_result *result = &play->outcome->result;

	if (result->errors++ == 0)
		snprintf(result->first_error, sizeof(result->first_error), "%s of %" PRIu32 " blocks at block %" PRIu64
		    ": %s", slot->io.op == WEIR_OP_WRITE ? "a write" : "a read", slot->io.blocks, slot->io.lba, why);
	play->broken |= error == -ETIMEDOUT || error == -ESHUTDOWN;
}

static void
done(void *arg, const struct weir_result *result)
{
	struct slot *slot = arg;
	struct play *play = slot->play;
	struct perf_result *all = &play->outcome->result;
	struct perf_side *side = slot->io.op == WEIR_OP_WRITE ? &all->write : &all->read;

	play->in_flight--;
	slot->next = play->idle;
	play->idle = slot;
	if (result->error != 0) {
		failed(play, slot, result->error, weir_result_text(result));
		return;
	}
	hist_add(&side->hist, now_ns() - slot->began_ns);
	side->bytes += slot->iov.iov_len;
}

/* The next piece of the request that is being played. */
static void
submit(struct play *play, bool is_write)
{
	const struct weir_namespace *ns = &play->order->volume->ns;
	uint64_t lba = play->block % ns->blocks, left = play->block_end - play->block, blocks = play->piece_blocks;
	struct slot *slot = play->idle;
	int rc;

	blocks = left < blocks ? left : blocks;
	blocks = ns->blocks - lba < blocks ? ns->blocks - lba : blocks;
	slot->iov.iov_len = blocks * ns->block_size;
	slot->io.op = is_write ? WEIR_OP_WRITE : WEIR_OP_READ;
	slot->io.lba = lba;
	slot->io.blocks = (uint32_t)blocks;
	slot->began_ns = now_ns();
	rc = weir_queue_submit(play->order->volume->queue, &slot->io);
	if (rc < 0) {
		failed(play, slot, rc, weir_error());
		play->broken = true;
		return;
	}
	play->idle = slot->next;
	play->in_flight++;
	play->block += blocks;
}

/* ---- requests ---- */

static bool
is_played(struct play *play, const struct trace_request *request)
{
	const struct play_order *order = play->order;
	const char *name = trace_reader_volume(trace_text_reader(order->text), request->volume);

	if (order->only != NULL && strcmp(order->only, name) != 0) {
		play->outcome->elsewhere++;
		return false;
	}
	if (request->is_write && !order->overwrite) {
		play->outcome->left_out++;
		return false;
	}
	return true;
}

static void
begin(struct play *play, const struct trace_request *request)
{
	uint32_t block_size = play->order->volume->ns.block_size;
	uint64_t since_ns;

	if (!play->begun)
		play->first_ns = request->time_ns;
	play->begun = true;
	since_ns = request->time_ns > play->first_ns ? request->time_ns - play->first_ns : 0;
	if (since_ns > play->outcome->trace_ns)
		play->outcome->trace_ns = since_ns;
	play->due_ns = play->outcome->result.begun_ns;
	if (play->order->speed > 0)
		play->due_ns += (uint64_t)((double)since_ns / play->order->speed);
	play->block = request->offset / block_size;
	play->block_end = (trace_request_end(request) - 1) / block_size + 1;
}

/* The next request that is to be played is being played afterwards, if there is one.  0 or a negative errno. */
static int
take(struct play *play)
{
	for (;;) {
		int rc;

		for (; play->at < play->count; play->at++)
			if (is_played(play, &play->requests[play->at])) {
				begin(play, &play->requests[play->at]);
				return 0;
			}
		rc = trace_text_next(play->order->text, play->requests, BATCH, &play->count);
		play->at = 0;
		if (rc < 0 || play->count == 0)
			return rc;
		bar_at(&play->bar, trace_text_done(play->order->text));
	}
}

static void
taken(struct play *play)
{
	uint64_t now = now_ns();

	play->outcome->played++;
	if (play->order->speed > 0)
		hist_add(&play->outcome->late, now > play->due_ns ? now - play->due_ns : 0);
	play->at++;
}

/* ---- the loop ---- */

/* For so long at most; whether it is to stop. */
static bool
wait(struct play *play, uint64_t until_ns)
{
	uint64_t now = now_ns(), us = until_ns > now ? (until_ns - now) / 1000 + 1 : 0;
	int some = weir_queue_poll(play->order->volume->queue, (int64_t)(us < LOOK_US ? us : LOOK_US));

	if (some > 0 && ++play->turns % LOOK_TURNS != 0)
		return false;
	bar_at(&play->bar, trace_text_done(play->order->text));
	if (stop_asked())
		play->outcome->result.stopped = true;
	return play->outcome->result.stopped;
}

/* All of it is given to the target, or it is broken or stopped. */
static int
give_all(struct play *play)
{
	int rc = take(play);

	while (rc == 0 && !play->broken && play->at < play->count) {
		bool early = play->due_ns > now_ns();

		if (early || play->idle == NULL) {
			if (wait(play, early ? play->due_ns : UINT64_MAX))
				return 0;
			continue;
		}
		submit(play, play->requests[play->at].is_write);
		if (play->block < play->block_end)
			continue;
		taken(play);
		rc = take(play);
	}
	return rc;
}

static void
wait_for_rest(struct play *play)
{
	uint64_t leave_ns = UINT64_MAX;

	while (play->in_flight > 0 && now_ns() < leave_ns)
		if ((wait(play, leave_ns) || play->broken) && leave_ns == UINT64_MAX)
			leave_ns = now_ns() + LEAVE_NS;
	play->outcome->result.unanswered = play->in_flight;
}

/* ---- all of it ---- */

static int
prepare(struct play *play)
{
	const struct play_order *order = play->order;
	const struct weir_namespace *ns = &order->volume->ns;
	uint32_t most = ns->transfer_max > 0 && ns->transfer_max < PIECE_MAX ? ns->transfer_max : PIECE_MAX;
	size_t bytes;
	struct rng rng;

	play->piece_blocks = most / ns->block_size;
	bytes = (size_t)play->piece_blocks * ns->block_size;
	play->slots = calloc(order->depth, sizeof(*play->slots));
	play->buffers = aligned_alloc(PAGE, (order->depth * bytes + PAGE - 1) / PAGE * PAGE);
	if (play->slots == NULL || play->buffers == NULL)
		return -ENOMEM;
	rng_seed(&rng, 1);
	for (size_t i = 0; order->overwrite && i + sizeof(uint64_t) <= order->depth * bytes; i += sizeof(uint64_t))
		memcpy(play->buffers + i, &(uint64_t) { rng_next(&rng) }, sizeof(uint64_t));
	for (unsigned i = order->depth; i-- > 0;) {
		struct slot *slot = &play->slots[i];

		slot->play = play;
		slot->iov.iov_base = play->buffers + i * bytes;
		slot->io = (struct weir_io) {
			.nsid = ns->nsid, .iov = &slot->iov, .iov_count = 1, .done = done, .arg = slot,
		};
		slot->next = play->idle;
		play->idle = slot;
	}
	return 0;
}

int
play(const struct play_order *order, struct play_outcome *outcome)
{
	struct play *play = calloc(1, sizeof(*play));
	int rc = play == NULL ? -ENOMEM : 0;

	*outcome = (struct play_outcome) { 0 };
	perf_result_init(&outcome->result);
	hist_init(&outcome->late);
	if (play != NULL) {
		play->order = order;
		play->outcome = outcome;
		rc = prepare(play);
	}
	if (rc == 0) {
		bar_begin(&play->bar, "playing", trace_text_total(order->text), !order->quiet);
		outcome->result.begun_ns = now_ns();
		rc = give_all(play);
		wait_for_rest(play);
		outcome->result.ended_ns = now_ns();
		bar_end(&play->bar);
		/* Those that are not waited for end here. */
		weir_queue_close(order->volume->queue);
		order->volume->queue = NULL;
	}
	if (play != NULL) {
		free(play->slots);
		free(play->buffers);
	}
	free(play);
	return rc;
}
