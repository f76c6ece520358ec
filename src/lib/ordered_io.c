/*
 * ordered_io.c - what is written to an ordered volume and read from it, and how its user hears (weir/ordered.h).
 */
#include <errno.h>
#include <inttypes.h>

#include "lib/ordered.h"
#include "order/group.h"
#include "sys/clock.h"

int
ordered_failed(const struct weir_ordered *o)
{
	const struct order_session *session = ordered_session(o->ordered);

	if (session->error == 0)
		return 0;
	return lib_fail(session->error, "ordered stream %u: %s: %s", o->options.stream,
	    o->targets[session->failed].ws->nqn, session->why);
}

static struct order_sequencer *
sequencer_of(const struct weir_ordered *o)
{
	return &ordered_session(o->ordered)->sequencer;
}

/* ---- numbers ---- */

/* Up to that group now; false: of the user's it is where it was. */
static bool
move_to(const struct weir_ordered *o, struct ordered_number *number, uint32_t group)
{
	uint32_t steps = order_steps(number->group, group);

	while (number->flushes < o->flush_count &&
	    !order_after(o->flushes[number->flushes % o->options.pieces], group)) {
		number->flushes++;
		steps--;
	}
	number->group = group;
	number->number += steps;
	return steps > 0;
}

/* ---- what has come ---- */

void
ordered_news(struct ordered *ordered)
{
	struct weir_ordered *o = ordered_owner(ordered);
	const struct order_session *session = ordered_session(ordered);
	bool complete, durable;

	if (session->error != 0 || !session->begun)
		return;
	complete = move_to(o, &o->complete, session->sequencer.complete);
	durable = move_to(o, &o->durable, session->sequencer.durable);
	o->news += complete || durable;
	if (complete && o->options.complete != NULL)
		o->options.complete(o->options.arg, o->complete.number);
	if (durable && o->options.durable != NULL)
		o->options.durable(o->options.arg, o->durable.number);
}

/* ---- writing ---- */

static int
check_range(const struct weir_ordered *o, const char *what, size_t bytes, uint64_t offset)
{
	uint32_t block_length = o->layout.block_length;

	if (((bytes | offset) & (block_length - 1)) != 0)
		return lib_fail(-EINVAL, "%s of %zu bytes at %" PRIu64 ": blocks have %u", what, bytes, offset,
		    block_length);
	if (offset > weir_ordered_size(o) || bytes > weir_ordered_size(o) - offset)
		return lib_fail(-ERANGE, "%s of %zu bytes at %" PRIu64 ": the volume has %" PRIu64, what, bytes,
		    offset, weir_ordered_size(o));
	return 0;
}

static void
note_end(struct weir_ordered *o)
{
	(void)move_to(o, &o->ended, sequencer_of(o)->ended);
}

int
weir_ordered_write(struct weir_ordered *o, const void *data, size_t bytes, uint64_t offset, unsigned flags,
    uint64_t *group)
{
	uint64_t lba = offset >> o->block_shift, blocks = bytes >> o->block_shift;
	uint32_t is;
	int rc = ordered_failed(o);

	if (rc == 0)
		rc = check_range(o, "a write", bytes, offset);
	if (rc != 0)
		return rc;
	if (o->finishing)
		return lib_fail(-ESHUTDOWN, "the stream ends: nothing more is written");
	if (bytes == 0 || blocks > UINT32_MAX)
		return lib_fail(-EINVAL, "a write of %zu bytes", bytes);
	if ((flags & WEIR_GROUP_DURABLE) != 0 && (flags & WEIR_GROUP_END) == 0)
		return lib_fail(-EINVAL, "a group becomes durable with its end");
	switch (order_sequencer_submit(sequencer_of(o), lba, (uint32_t)blocks, data, flags, &is)) {
	case ORDER_TAKEN:
		break;
	case ORDER_FULL:
		ordered_soon(o->ordered);
		return lib_fail(-EAGAIN, "as many pieces are kept as may be, until some group is durable");
	case ORDER_TOO_LARGE:
		return lib_fail(-E2BIG, "its group has more pieces than may be kept, or than targets guarantee");
	}
	if (group != NULL)
		*group = o->ended.number + 1;
	note_end(o);
	ordered_soon(o->ordered);
	return 0;
}

int
weir_ordered_end(struct weir_ordered *o, unsigned flags)
{
	int rc = ordered_failed(o);

	if (rc != 0)
		return rc;
	order_sequencer_end(sequencer_of(o), flags);
	note_end(o);
	ordered_soon(o->ordered);
	return 0;
}

int
weir_ordered_flush(struct weir_ordered *o, uint64_t *group)
{
	uint32_t before = sequencer_of(o)->ended, is;
	int rc = ordered_failed(o);

	if (rc != 0)
		return rc;
	if (!order_sequencer_flush(sequencer_of(o), &is))
		return lib_fail(-EAGAIN, "as many pieces are kept as may be, until some group is durable");
	if (sequencer_of(o)->ended != before)
		o->flushes[o->flush_count++ % o->options.pieces] = is;
	note_end(o);
	if (group != NULL)
		*group = o->ended.number + (sequencer_of(o)->in_group > 0);
	ordered_soon(o->ordered);
	return 0;
}

/* ---- polling ---- */

static uint64_t
end_of(int64_t timeout_us)
{
	uint64_t now_ns = clock_now_ns();

	if (timeout_us < 0 || (uint64_t)timeout_us >= (INT64_MAX - now_ns) / 1000)
		return INT64_MAX;
	return now_ns + (uint64_t)timeout_us * 1000;
}

static uint64_t
in_flight(const struct order_session *session)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < session->servers; i++)
		count += session->links[i].in_flight;
	return count;
}

/* Until there is something new, or the time is over, or a signal was handled. */
static void
poll_until(struct weir_ordered *o, uint64_t end_ns)
{
	const struct order_session *session = ordered_session(o->ordered);
	uint64_t before = o->news, now_ns = clock_now_ns();

	queue_pace(ordered_seat(o), in_flight(session));
	do {
		int64_t left_ns = now_ns < end_ns ? (int64_t)(end_ns - now_ns) : 0;

		if (!queue_turn(ordered_seat(o), left_ns) && left_ns > 0)
			return;
		now_ns = clock_now_ns();
	} while (o->news == before && session->error == 0 && now_ns < end_ns);
}

int
weir_ordered_poll(struct weir_ordered *o, int64_t timeout_us)
{
	uint64_t before = o->news;
	int rc = ordered_failed(o);

	if (rc != 0)
		return rc;
	if (ordered_seat(o)->turning)
		return lib_fail(-EDEADLK, "an ordered volume cannot be polled from its own callbacks");
	poll_until(o, end_of(timeout_us));
	rc = ordered_failed(o);
	return rc != 0 ? rc : o->news != before;
}

int
weir_ordered_fd(const struct weir_ordered *o)
{
	return weir_queue_fd(o->targets[0].queue);
}

struct weir_queue *
weir_ordered_queue(const struct weir_ordered *o)
{
	return o->targets[0].queue;
}

/* What is waited for is asked for: as soon as there is room to. */
static int
ask_for(struct weir_ordered *o, uint64_t *group)
{
	int rc;

	if (*group > o->ended.number)
		return lib_fail(-EINVAL, "group %" PRIu64 " has not ended; the last one that has is %" PRIu64, *group,
		    o->ended.number);
	if (*group == 0) {
		rc = weir_ordered_end(o, WEIR_GROUP_DURABLE);
		if (rc != 0)
			return rc;
		*group = o->ended.number;
	}
	if (sequencer_of(o)->in_group > 0 && !sequencer_of(o)->keeps)
		return lib_fail(-EBUSY, "group %" PRIu64 " has begun: only when it ends can another be asked for",
		    o->ended.number + 1);
	rc = weir_ordered_flush(o, NULL);
	return rc == -EAGAIN ? 0 : rc;
}

int
weir_ordered_wait(struct weir_ordered *o, uint64_t group, int64_t timeout_us)
{
	uint64_t end_ns = end_of(timeout_us);
	int rc = ordered_failed(o);

	if (ordered_seat(o)->turning)
		return lib_fail(-EDEADLK, "an ordered volume cannot be waited for in its own callbacks");
	while (rc == 0 && (group == 0 || group > o->durable.number)) {
		rc = ask_for(o, &group);
		if (rc != 0 || group <= o->durable.number)
			break;
		poll_until(o, end_ns);
		rc = ordered_failed(o);
		if (rc == 0 && group > o->durable.number && clock_now_ns() >= end_ns)
			rc = lib_fail(-ETIMEDOUT, "group %" PRIu64 " is not durable yet", group);
	}
	return rc;
}

int
weir_ordered_finish(struct weir_ordered *o, int64_t timeout_us)
{
	uint64_t end_ns = end_of(timeout_us);
	int rc;

	if (ordered_seat(o)->turning)
		return lib_fail(-EDEADLK, "an ordered volume cannot be finished in its own callbacks");
	o->finishing = true;
	rc = weir_ordered_wait(o, 0, timeout_us);
	return rc == 0 ? ordered_forget(o, end_ns) : rc;
}

/* ---- what it is ---- */

uint64_t
weir_ordered_size(const struct weir_ordered *o)
{
	return o->layout.blocks * o->layout.count * o->layout.block_length;
}

uint32_t
weir_ordered_block_size(const struct weir_ordered *o)
{
	return o->layout.block_length;
}

void
weir_ordered_state(const struct weir_ordered *o, struct weir_ordered_state *state)
{
	const struct order_session *session = ordered_session(o->ordered);
	const struct order_sequencer *sequencer = &session->sequencer;

	*state = (struct weir_ordered_state){
		.written = o->ended.number, .complete = o->complete.number, .durable = o->durable.number,
		.last = session->there, .pieces = sequencer->item_count - sequencer->free_count,
		.targets = o->target_count, .commands = ordered_sent(o->ordered),
	};
	for (unsigned i = 0; i < o->target_count; i++)
		state->away += session->links[i].is != ORDER_LINK_GOES;
}

/* ---- reading ---- */

int
weir_ordered_read(struct weir_ordered *o, void *data, size_t bytes, uint64_t offset)
{
	uint32_t block_length = o->layout.block_length;
	int rc = check_range(o, "a read", bytes, offset);

	for (size_t at = 0; rc == 0 && at < bytes;) {
		uint64_t left = (bytes - at) / block_length;
		struct order_extent extent = order_layout_first(&o->layout, (offset + at) / block_length,
		    left < UINT32_MAX ? (uint32_t)left : UINT32_MAX);
		struct iovec iov = { (char *)data + at, (size_t)extent.blocks * block_length };
		struct weir_io io = {
			.op = WEIR_OP_READ, .nsid = extent.member->nsid, .lba = extent.lba, .blocks = extent.blocks,
			.iov = &iov, .iov_count = 1,
		};

		rc = weir_queue_run(o->targets[extent.member->server].queue, &io, NULL);
		at += iov.iov_len;
	}
	return rc;
}
