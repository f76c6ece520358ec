/*
 * stream.c - one end of a simulated connection, as its owner sees it.
 *
 * Keeps to what world.h promises and no more: counts may be short without
 * need, and then the owner is called again later; bytes come in pieces that
 * have nothing to do with how they were written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/link.h"

static struct sim_stream *
sim_stream_of(const struct stream *stream)
{
	return (struct sim_stream *)(uintptr_t)stream; /* base is the first member */
}
_Static_assert(offsetof(struct sim_stream, base) == 0, "a stream is its simulation");

struct sim_stream *
sim_stream_create(struct sim_link *link, unsigned side, struct sim_reactor *reactor)
{
	struct sim_process *process = reactor->process;
	struct sim_stream *stream = sim_alloc(link->sim, sizeof(*stream));

	stream->base.ops = &sim_stream_ops;
	stream->base.reactor = &reactor->base;
	list_init(&stream->base.ready_node);
	list_init(&stream->accept_node);
	list_push(&process->streams, &stream->node);
	process->stream_count++;
	stream->process = process;
	stream->link = link;
	stream->side = side;
	link->ends[side].stream = stream;
	link->ends[side].process = process;
	return stream;
}

void
sim_stream_free(struct sim_stream *stream)
{
	struct sim_link *link = stream->link;

	reactor_stream_gone(&stream->base);
	list_remove(&stream->accept_node);
	list_remove(&stream->node);
	stream->process->stream_count--;
	link->ends[stream->side].stream = NULL;
	arena_free(&link->sim->arena, stream);
}

void
sim_stream_tell(struct sim_stream *stream, unsigned events)
{
	struct sim_reactor *reactor;

	stream->may |= events;
	if (stream->base.reactor == NULL)
		return;
	reactor_stream_ready(&stream->base, events);
	reactor = sim_reactor_of(stream->base.reactor);
	if ((stream->base.wanted & events) != 0)
		sim_reactor_wake(reactor, stream->link->sim->now_ns);
}

/* The time a call takes; streams are used in turns of their reactor only. */
static uint64_t
spend(struct sim_stream *stream, uint64_t bytes)
{
	const struct sim_options *options = &stream->link->sim->options;
	struct sim_reactor *reactor = sim_reactor_of(stream->base.reactor);

	assert(reactor->in_turn);
	return sim_reactor_spend(reactor, options->io_ns + bytes * options->byte_ps / 1000);
}

static uint64_t
iov_bytes(const struct iovec *iov, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* After a call that moved `moved` of `asked` bytes; `more`: something else is there to be told. */
static void
note_moved(struct sim_stream *stream, unsigned event, uint64_t moved, uint64_t asked, bool more)
{
	if (moved > 0 && (moved == asked || more)) {
		stream->may |= event;
		reactor_stream_ready(&stream->base, event);
	} else {
		stream->may &= ~event;
		stream->base.pending &= (uint8_t)~event;
	}
}

/* Now and then less is moved than could be, and the owner called again for the rest. */
static uint64_t
shorten(struct sim_stream *stream, unsigned event, uint64_t bytes)
{
	struct sim_link *link = stream->link;
	struct sim *sim = link->sim;
	uint64_t at_ns;

	if (bytes < 2 || !sim_chance(sim, sim->options.short_ppm))
		return bytes;
	at_ns = sim_reactor_of(stream->base.reactor)->clock_ns;
	at_ns += sim_delay(sim, 0, sim->options.jitter_ns);
	sim_link_event(link, SIM_AGAIN, stream->side, event, at_ns);
	return 1 + rng_below(&sim->rng, bytes - 1);
}

/* Copies between the ring at stream position `at` and the buffers. */
static void
ring_copy(struct sim_pipe *pipe, uint64_t at, const struct iovec *iov, uint64_t bytes, bool out)
{
	while (bytes > 0) {
		uint8_t *base = iov->iov_base;
		uint64_t part = iov->iov_len < bytes ? iov->iov_len : bytes;

		for (uint64_t done = 0, piece; done < part; done += piece, at += piece) {
			uint64_t offset = at % pipe->limit;

			piece = part - done < pipe->limit - offset ? part - done : pipe->limit - offset;
			if (out)
				memcpy(base + done, pipe->ring + offset, piece);
			else
				memcpy(pipe->ring + offset, base + done, piece);
		}
		bytes -= part;
		iov++;
	}
}

static void
trace_read(struct sim_stream *stream, const struct iovec *iov, uint64_t bytes)
{
	uint64_t hash = 0, left = bytes;

	for (; left > 0; iov++) {
		uint64_t part = iov->iov_len < left ? iov->iov_len : left;

		hash = sim_hash_bytes(hash, iov->iov_base, part);
		left -= part;
	}
	sim_trace(stream->link->sim, SIM_READ, stream->link->id, bytes, hash);
}

/* What is asked for may be more than what has come: only here is a place that is too small for it seen each time. */
static void
check_place(const struct reactor *reactor, const struct iovec *iov, int count)
{
	uintptr_t scratch = (uintptr_t)reactor->scratch;

	for (int i = 0; i < count; i++) {
		uintptr_t at = (uintptr_t)iov[i].iov_base;

		assert(at < scratch || at > scratch + REACTOR_SCRATCH ||
		    iov[i].iov_len <= scratch + REACTOR_SCRATCH - at);
	}
}

static ssize_t
stream_readv(struct stream *base, const struct iovec *iov, int count)
{
	struct sim_stream *stream = sim_stream_of(base);
	struct sim_link *link = stream->link;
	struct sim_pipe *pipe = &link->pipes[1 - stream->side];
	struct sim_side *end = &link->ends[stream->side];
	uint64_t asked = iov_bytes(iov, count), n = pipe->arrived - pipe->consumed, at_ns;
	bool rest;

	assert(asked > 0);
	check_place(base->reactor, iov, count);
	if (n > asked)
		n = asked;
	if (n == 0) {
		spend(stream, 0);
		note_moved(stream, STREAM_READABLE, 0, asked, false);
		return pipe->fin ? 0 : end->error != 0 ? end->error : -EAGAIN;
	}
	n = shorten(stream, STREAM_READABLE, n);
	at_ns = spend(stream, n);
	ring_copy(pipe, pipe->consumed, iov, n, true);
	trace_read(stream, iov, n);
	pipe->consumed += n;
	if (pipe->blocked && !pipe->space_due) {
		pipe->space_due = true;
		sim_link_event(link, SIM_SPACE, 1 - stream->side, 0, sim_link_arrival(link, stream->side, at_ns));
	}
	/* An end that has come too makes no event of its own: the next read tells of it. */
	rest = pipe->consumed == pipe->arrived && (pipe->fin || end->error != 0);
	note_moved(stream, STREAM_READABLE, n, asked, rest);
	return (ssize_t)n;
}

/* One bit of the piece is not what was written, now and then, where one of its ends is behind such a network. */
static void
flip(struct sim_link *link, unsigned side, uint64_t from, uint64_t to)
{
	struct sim *sim = link->sim;
	struct sim_pipe *pipe = &link->pipes[side];

	for (unsigned end = 0; end < 2; end++) {
		const struct sim_process *process = sim_link_process(link, end);
		uint64_t first, at, bit;

		if (process == NULL || process->flips_ppm == 0 || to <= process->flips_spared)
			continue;
		if (!sim_chance(sim, process->flips_ppm))
			continue;
		first = from < process->flips_spared ? process->flips_spared : from;
		at = first + rng_below(&sim->rng, to - first);
		bit = rng_below(&sim->rng, 8);
		pipe->ring[at % pipe->limit] ^= (uint8_t)(1u << bit);
		sim_trace(sim, SIM_FLIP, link->id, at, side * 8 + bit);
	}
}

/* The same of all that was just written, where somebody knows which bytes may be changed. */
static void
flip_known(struct sim_link *link, unsigned side, uint64_t bytes)
{
	const struct sim_options *options = &link->sim->options;
	struct sim_pipe *pipe = &link->pipes[side];

	for (uint64_t at = pipe->written - bytes, next; at < pipe->written; at = next) {
		uint64_t offset = at % pipe->limit, count = pipe->written - at;
		bool may = false;

		if (count > pipe->limit - offset)
			count = pipe->limit - offset;
		next = at + options->alike(options->arg, link->ends[0].process, link->id, side, pipe->ring + offset,
		    count, &may);
		assert(next > at && next - at <= count);
		if (may)
			flip(link, side, at, next);
	}
}

/* What was written goes on its way in pieces that were not the writer's. */
static void
send_segments(struct sim_link *link, unsigned side, uint64_t bytes, uint64_t at_ns)
{
	struct sim *sim = link->sim;
	uint32_t max = sim->options.segment_max;
	uint64_t end = link->pipes[side].written;

	if (sim->options.alike != NULL)
		flip_known(link, side, bytes);
	while (bytes > 0) {
		uint64_t kind = rng_below(&sim->rng, 16), piece = bytes;

		if (max > 0 && sim->options.segments_full)
			piece = max;
		else if (max > 0)
			piece = 1 + rng_below(&sim->rng, kind == 0 ? 8 : kind < 4 ? 1460 : max);
		if (piece > bytes)
			piece = bytes;
		if (sim->options.alike == NULL)
			flip(link, side, end - bytes, end - bytes + piece);
		sim_link_event(link, SIM_BYTES, side, piece, sim_link_arrival(link, side,
		    sim_link_departure(link, side, piece, at_ns)));
		bytes -= piece;
	}
}

static ssize_t
stream_writev(struct stream *base, const struct iovec *iov, int count)
{
	struct sim_stream *stream = sim_stream_of(base);
	struct sim_link *link = stream->link;
	struct sim *sim = link->sim;
	unsigned side = stream->side;
	struct sim_pipe *pipe = &link->pipes[side];
	uint64_t asked = iov_bytes(iov, count), room, n, at_ns;

	assert(asked > 0);
	room = link->open || side == 1 ? pipe->limit - (pipe->written - pipe->freed) : 0;
	n = room < asked ? room : asked;
	if (link->ends[side].error != 0)
		n = 0;
	if (n > 0)
		n = shorten(stream, STREAM_WRITABLE, n);
	at_ns = spend(stream, n);
	note_moved(stream, STREAM_WRITABLE, n, asked, false);
	if (link->ends[side].error != 0)
		return link->ends[side].error;
	sim_trace(sim, SIM_WRITE, link->id, n, side);
	if (n > 0) {
		ring_copy(pipe, pipe->written, iov, n, false);
		pipe->written += n;
		send_segments(link, side, n, at_ns);
	}
	if (n < asked) {
		pipe->blocked = true;
		if (pipe->consumed > pipe->freed && !pipe->space_due) {
			pipe->space_due = true;
			sim_link_event(link, SIM_SPACE, side, 0, at_ns + sim_link_delay(link));
		}
	}
	if (sim_chance(sim, sim->options.reset_ppm)) {
		sim_link_abort(link, 0, at_ns);
		sim_link_abort(link, 1, at_ns);
	}
	return n > 0 ? (ssize_t)n : -EAGAIN;
}

static void
stream_wants(struct stream *base, unsigned events)
{
	struct sim_stream *stream = sim_stream_of(base);
	unsigned newly = events & ~(unsigned)base->wanted;

	base->wanted = (uint8_t)events;
	if ((newly & stream->may) != 0)
		sim_stream_tell(stream, newly & stream->may);
}

static void
stream_close(struct stream *base, bool abort)
{
	struct sim_stream *stream = sim_stream_of(base);
	struct sim_link *link = stream->link;
	unsigned side = stream->side;
	uint64_t at_ns = spend(stream, 0);
	bool unread = link->pipes[1 - side].arrived > link->pipes[1 - side].consumed;

	sim_stream_free(stream);
	if (abort) {
		sim_link_abort(link, side, at_ns);
	} else if (link->ends[side].error == 0) {
		sim_link_event(link, SIM_FIN, side, 0, sim_link_arrival(link, side, at_ns));
		/* The peer learns, behind the last byte, that nobody will read what it wrote. */
		if (unread) {
			link->ends[side].refuses = true;
			sim_link_event(link, SIM_RESET, 1 - side, 0, sim_link_arrival(link, side, at_ns));
		}
	}
	sim_link_check(link);
}

static void
stream_detach(struct stream *base)
{
	reactor_stream_gone(base);
	base->reactor = NULL;
}

static int
stream_attach(struct stream *base, struct reactor *reactor)
{
	struct sim_stream *stream = sim_stream_of(base);

	assert(base->reactor == NULL && sim_reactor_of(reactor)->process == stream->process);
	base->reactor = reactor;
	/* Nobody has looked, as seen from here. */
	if (stream->link->open || stream->side == 1)
		stream->may = STREAM_READABLE | STREAM_WRITABLE;
	return 0;
}

static void
stream_name(const struct stream *base, bool peer, char *out, size_t bytes)
{
	const struct sim_stream *stream = sim_stream_of(base);

	snprintf(out, bytes, "%s", stream->link->ends[peer ? 1 - stream->side : stream->side].name);
}

const struct stream_ops sim_stream_ops = {
	.readv = stream_readv,
	.writev = stream_writev,
	.wants = stream_wants,
	.close = stream_close,
	.detach = stream_detach,
	.attach = stream_attach,
	.name = stream_name,
};
