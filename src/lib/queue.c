/*
 * queue.c - asynchronous I/O of one thread (weir/queue.h).
 *
 * Submitting translates and no more; all else happens in turns of the reactor.
 * It does not know paths, nor what becomes of an I/O when one is lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/queue.h"
#include "lib/status.h"
#include "sys/clock.h"

enum { DEEP = 32, DEEP_PACE_NS = 10 * 1000 };

enum { DEPTH = 128, CLOSE_TURN_MS = 100 };

static_assert((int)WEIR_OP_READ == LANE_READ && (int)WEIR_OP_WRITE == LANE_WRITE && (int)WEIR_OP_FLUSH == LANE_FLUSH &&
    (int)WEIR_OP_WRITE_ZEROES == LANE_WRITE_ZEROES && (int)WEIR_OP_DEALLOCATE == LANE_DEALLOCATE &&
    (int)WEIR_OP_COMPARE == LANE_COMPARE && (int)WEIR_OP_COMPARE_AND_WRITE == LANE_COMPARE_AND_WRITE &&
    (int)WEIR_OP_VERIFY == LANE_VERIFY && (int)WEIR_OP_COPY == LANE_COPY &&
    (int)WEIR_OP_WRITE_UNCORRECTABLE == LANE_WRITE_UNCORRECTABLE && (int)WEIR_OP_COUNT == LANE_OPS, "ops");
static_assert((int)WEIR_FUA == LANE_FUA && (int)WEIR_UNMAP == LANE_UNMAP &&
    (int)WEIR_PRIORITY_1 == 1 << LANE_PRIORITY_SHIFT, "flags");
static_assert(sizeof(struct weir_range) == sizeof(struct lane_range) &&
    offsetof(struct weir_range, lba) == offsetof(struct lane_range, lba) &&
    offsetof(struct weir_range, blocks) == offsetof(struct lane_range, blocks) &&
    (int)WEIR_RANGES_MAX == LANE_RANGES_MAX, "ranges are handed on as they are");

/* ---- I/O ---- */

static void
io_done(void *arg, const struct lane_result *result)
{
	struct queue_slot *slot = arg;
	struct weir_queue *queue = slot->queue;
	struct weir_result told = { .dw0 = result->dw0, .dw1 = result->dw1 };

	if (result->error != 0 || !nvme_ok(result->status))
		told = lib_result(result->error, result->status, result->dw0, result->dw1);
	slot->next = queue->free;
	queue->free = slot;
	queue->seat->done++;
	slot->done(slot->arg, &told);
}

/* Why an I/O was not taken on, which is no news to be quick about. */
static int
refused(const struct weir_queue *queue, const struct weir_io *io, int error)
{
	if (queue->closing)
		return lib_fail(-ESHUTDOWN, "the queue is being closed");
	if (error == -EAGAIN && weir_queue_in_flight(queue) == 0)
		return lib_fail(-EINVAL, "it takes the place of two I/Os, and this queue holds one");
	if (error == -EAGAIN)
		return lib_fail(error, "as many I/Os as the queue holds are in flight");
	if (error == -EOPNOTSUPP)
		return lib_fail(error, "the target has no Compare and Write");
	if (error != -EINVAL)
		return lib_fail(error, "the I/O cannot be taken on: %s", strerror(-error));
	return lib_fail(error, "this I/O cannot be right: namespace %u is not known, the buffers are not as long as "
	    "the blocks, or it is larger than one command can be", io->nsid);
}

int
weir_queue_submit(struct weir_queue *queue, const struct weir_io *io)
{
	struct queue_slot *slot = queue->free;
	const struct lane_io lane_io = {
		.op = io->op, .flags = io->flags, .iov_count = io->iov_count, .range_count = io->range_count,
		.nsid = io->nsid, .blocks = io->blocks, .lba = io->lba, .iov = io->iov,
		.ranges = (const struct lane_range *)io->ranges, .done = io_done, .arg = slot,
	};
	int rc;

	assert(io->done != NULL);
	if (slot == NULL || queue->closing)
		return refused(queue, io, -EAGAIN);
	if (io->iov_count > WEIR_IOV_MAX)
		return refused(queue, io, -EINVAL);
	rc = lane_submit(queue->lane, &lane_io);
	if (rc != 0)
		return refused(queue, io, rc);
	queue->seat->taken++;
	queue->free = slot->next;
	slot->done = io->done;
	slot->arg = io->arg;
	return 0;
}

/* ---- turns ---- */

bool
queue_turn(struct queue_seat *seat, int64_t timeout_ns)
{
	bool useful;

	seat->turning = true;
	useful = rt_turn(seat->reactor, timeout_ns);
	seat->turning = false;
	return useful;
}

/* Until an I/O more than `before` is done, or none is in flight; or a signal was handled. */
static void
wait_for_ever(struct queue_seat *seat, uint64_t before)
{
	while (queue_turn(seat, -1))
		if (seat->done != before || seat->done == seat->taken)
			return;
}

/* Until an I/O more than `before` is done, or the time is over, or a signal was handled. */
static void
wait_until(struct queue_seat *seat, uint64_t before, int64_t timeout_us)
{
	uint64_t now_ns = clock_now_ns(), end_ns;

	end_ns = (uint64_t)timeout_us < (INT64_MAX - now_ns) / 1000 ? now_ns + (uint64_t)timeout_us * 1000 : INT64_MAX;
	while (now_ns < end_ns && queue_turn(seat, (int64_t)(end_ns - now_ns)) && seat->done == before)
		now_ns = clock_now_ns();
}

void
queue_pace(struct queue_seat *seat, uint64_t in_flight)
{
	rt_pace(seat->reactor, in_flight >= DEEP ? DEEP_PACE_NS : 0);
}

int
weir_queue_poll(struct weir_queue *queue, int64_t timeout_us)
{
	struct queue_seat *seat = queue->seat;
	uint64_t before = seat->done;

	if (seat->turning)
		return lib_fail(-EDEADLK, "a queue cannot be polled from its own callbacks");
	queue_pace(seat, seat->taken - seat->done);
	if (timeout_us > 0)
		wait_until(seat, before, timeout_us);
	else if (timeout_us < 0 && seat->done < seat->taken)
		wait_for_ever(seat, before);
	else
		(void)queue_turn(seat, 0);
	return (int)(seat->done - before);
}

int
weir_queue_fd(const struct weir_queue *queue)
{
	return rt_fd(queue->seat->reactor);
}

uint32_t
weir_queue_in_flight(const struct weir_queue *queue)
{
	return lane_in_flight(queue->lane);
}

struct run {
	struct weir_result result;
	bool over;
};

static void
run_done(void *arg, const struct weir_result *result)
{
	struct run *run = arg;

	run->result = *result;
	run->over = true;
}

/* Waits for room.  A namespace that was found since the last turn is known here in the next. */
static int
submit_patiently(struct weir_queue *queue, const struct weir_io *io)
{
	int rc = weir_queue_submit(queue, io);

	if (rc == -EINVAL) {
		(void)weir_queue_poll(queue, 0);
		rc = weir_queue_submit(queue, io);
	}
	while (rc == -EAGAIN) {
		(void)weir_queue_poll(queue, -1);
		rc = weir_queue_submit(queue, io);
	}
	return rc;
}

int
weir_queue_run(struct weir_queue *queue, const struct weir_io *io, struct weir_result *result)
{
	struct run run = { .over = false };
	struct weir_io mine = *io;
	int rc;

	if (queue->seat->turning)
		return lib_fail(-EDEADLK, "a queue cannot be waited for in its own callbacks");
	mine.done = run_done;
	mine.arg = &run;
	rc = submit_patiently(queue, &mine);
	if (rc != 0)
		run = (struct run){ { .error = rc }, true };
	while (!run.over)
		(void)weir_queue_poll(queue, -1);
	if (result != NULL)
		*result = run.result;
	if (rc == 0 && run.result.error != 0)
		return lib_fail(run.result.error, "%s", weir_result_text(&run.result));
	return run.result.error;
}

void
weir_queue_stats(const struct weir_queue *queue, struct weir_queue_stats *stats)
{
	const struct reactor *reactor = queue->seat->reactor;

	*stats = (struct weir_queue_stats){
		.ios = lane_done(queue->lane),
		.resent = lane_resent(queue->lane),
		.turns = reactor->turns,
		.syscalls = reactor->syscalls,
		.busy_turns = reactor->busy_turns,
		.busy_ns = reactor->busy_ns,
	};
}

/* ---- the beginning and the end ---- */

static void
on_ready(struct lane *lane, int error, const char *why)
{
	struct weir_queue *queue = lane_owner(lane);

	queue->told = true;
	queue->error = error;
	snprintf(queue->why, sizeof(queue->why), "%s", why != NULL ? why : "");
}

static void
on_closed(void *owner)
{
	((struct weir_queue *)owner)->lane = NULL;
}

void
queue_end(struct weir_queue *queue)
{
	queue->closing = true;
	lane_close(queue->lane, on_closed);
	while (queue->lane != NULL)
		(void)queue_turn(queue->seat, CLOSE_TURN_MS * INT64_C(1000000));
}

/* Each of the paths says within connect_ms what becomes of it, and a lane within as long again. */
static int
join(struct weir_queue *queue, uint32_t depth)
{
	const struct lane_options options = { .depth = depth, .ready = on_ready, .owner = queue };
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + queue->ws->connect_ms * UINT64_C(2000000);
	int rc = lane_open(queue->seat->reactor, queue->ws->subsys, &options, &queue->lane);

	if (rc != 0)
		return lib_fail(rc, "there is no memory for a queue of %u", depth);
	while (!queue->told && now_ns < end_ns) {
		(void)queue_turn(queue->seat, (int64_t)(end_ns - now_ns));
		now_ns = clock_now_ns();
	}
	if (queue->told && queue->error == 0)
		return 0;
	queue_end(queue);
	if (!queue->told || queue->error == 0)
		return lib_fail(-ETIMEDOUT, "%s: no path took a queue in time", queue->ws->nqn);
	return lib_fail(queue->error, "%s: %s", queue->ws->nqn, queue->why);
}

static struct weir_queue *
queue_make(struct weir_subsys *ws, uint32_t depth)
{
	struct weir_queue *queue = calloc(1, sizeof(*queue) + depth * sizeof(queue->slots[0]));

	if (queue == NULL)
		return NULL;
	queue->ws = ws;
	for (uint32_t i = depth; i-- > 0;) {
		queue->slots[i].queue = queue;
		queue->slots[i].next = queue->free;
		queue->free = &queue->slots[i];
	}
	return queue;
}

/* The one that `with` has, or one of its own. */
static int
sit_down(struct weir_queue *queue, struct weir_queue *with)
{
	struct weir_host *host = queue->ws->host;
	struct queue_seat *seat = with != NULL ? with->seat : calloc(1, sizeof(*seat));
	int rc;

	if (seat == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a queue");
	queue->seat = seat;
	if (seat->queues++ > 0)
		return 0;
	rc = rt_take(host->rt, &seat->reactor);
	if (rc == 0) {
		seat->reactor->on_mail = host_on_mail;
		return 0;
	}
	free(seat);
	if (rc == -EAGAIN)
		return lib_fail(rc, "%u queues are open, as many as this host may have", host->queues_max);
	return lib_fail(rc, "a queue cannot be made: %s", strerror(-rc));
}

static void
stand_up(struct weir_queue *queue)
{
	struct queue_seat *seat = queue->seat;

	if (--seat->queues > 0)
		return;
	rt_give(seat->reactor);
	free(seat);
}

int
weir_queue_open(struct weir_subsys *ws, const struct weir_queue_options *given, struct weir_queue **out)
{
	struct weir_queue_options options;
	struct weir_queue *queue;
	uint32_t depth;
	int rc = OPTIONS_TAKE(&options, given);

	if (rc != 0)
		return rc;
	depth = options_or(options.depth, DEPTH);
	if (depth > LANE_DEPTH_MAX)
		return lib_fail(-EINVAL, "depth is %u; it is %d at most", depth, LANE_DEPTH_MAX);
	if (host_is_service(ws->host))
		return lib_fail(-EDEADLK, "this cannot be called from a callback of the service thread");
	if (options.with != NULL && (options.with->ws->host != ws->host || options.with->seat->turning))
		return lib_fail(-EINVAL, "queues that share are of the same host, and opened outside of callbacks");
	queue = queue_make(ws, depth);
	if (queue == NULL)
		return lib_fail(-ENOMEM, "there is no memory for a queue of %u", depth);
	rc = sit_down(queue, options.with);
	if (rc == 0 && (rc = join(queue, depth)) != 0)
		stand_up(queue);
	if (rc != 0) {
		free(queue);
		return rc;
	}
	pthread_mutex_lock(&ws->host->lock);
	list_push(&ws->queues, &queue->node);
	pthread_mutex_unlock(&ws->host->lock);
	*out = queue;
	return 0;
}

void
weir_queue_close(struct weir_queue *queue)
{
	if (queue == NULL)
		return;
	assert(!queue->seat->turning && !host_is_service(queue->ws->host));
	if (queue->lane != NULL)
		queue_end(queue);
	pthread_mutex_lock(&queue->ws->host->lock);
	list_remove(&queue->node);
	pthread_mutex_unlock(&queue->ws->host->lock);
	stand_up(queue);
	free(queue);
}
