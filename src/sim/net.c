/*
 * net.c - the simulated network: who finds whom, and what arrives when.
 *
 * Every byte, end and reset takes its time; what one side sends arrives in
 * order, except that a reset overtakes.  Addresses are texts that are compared:
 * there is no routing.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/link.h"

void
sim_link_event(struct sim_link *link, enum sim_kind kind, unsigned side, uint64_t count, uint64_t at_ns)
{
	struct sim_event *event = sim_event_take(link->sim, kind);

	event->link = link;
	event->side = side;
	event->count = count;
	link->held++;
	sim_event_put(link->sim, event, at_ns);
}

uint64_t
sim_link_delay(const struct sim_link *link)
{
	const struct sim_options *options = &link->sim->options;
	uint64_t slow = 1;

	for (unsigned side = 0; side < 2; side++) {
		const struct sim_process *process = sim_link_process(link, side);

		if (process != NULL && slow < process->slow)
			slow = process->slow;
	}
	return slow * sim_delay(link->sim, options->latency_ns, options->jitter_ns);
}

/* When so many bytes have passed a card that is busy until then; what has no bytes keeps its place behind others. */
static uint64_t
pass(const struct sim *sim, uint64_t *busy_until_ns, uint64_t bytes, uint64_t at_ns)
{
	if (sim->options.mbit == 0)
		return at_ns;
	if (at_ns < *busy_until_ns)
		at_ns = *busy_until_ns;
	if (bytes == 0)
		return at_ns;
	*busy_until_ns = at_ns + bytes * 8000 / sim->options.mbit;
	return *busy_until_ns;
}

uint64_t
sim_link_departure(struct sim_link *link, unsigned side, uint64_t bytes, uint64_t at_ns)
{
	struct sim_process *process = sim_link_process(link, side);

	return process != NULL ? pass(link->sim, &process->sends_until_ns, bytes, at_ns) : at_ns;
}

uint64_t
sim_link_arrival(struct sim_link *link, unsigned side, uint64_t at_ns)
{
	struct sim_pipe *pipe = &link->pipes[side];

	at_ns = sim_link_departure(link, side, 0, at_ns) + sim_link_delay(link);
	if (at_ns < pipe->last_ns)
		at_ns = pipe->last_ns;
	pipe->last_ns = at_ns;
	return at_ns;
}

void
sim_link_check(struct sim_link *link)
{
	struct sim *sim = link->sim;

	if (link->held > 0 || link->ends[0].stream != NULL || link->ends[1].stream != NULL)
		return;
	list_remove(&link->node);
	arena_free(&sim->arena, link->pipes[0].ring);
	arena_free(&sim->arena, link->pipes[1].ring);
	arena_free(&sim->arena, link);
}

void
sim_link_abort(struct sim_link *link, unsigned side, uint64_t at_ns)
{
	link->ends[side].refuses = true;
	sim_link_event(link, SIM_RESET, 1 - side, 0, at_ns + sim_link_delay(link));
}

static void
pipe_init(struct sim *sim, struct sim_pipe *pipe)
{
	uint32_t min = sim->options.socket_bytes_min, max = sim->options.socket_bytes_max;

	pipe->limit = (uint32_t)sim_delay(sim, min, max - min);
	pipe->ring = sim_alloc(sim, pipe->limit);
}

int
sim_net_connect(struct reactor *base, const char *host, uint16_t port, struct stream **stream)
{
	struct sim_reactor *reactor = sim_reactor_of(base);
	struct sim_process *process = reactor->process;
	struct sim *sim = process->sim;
	struct sim_link *link;
	uint64_t at_ns;

	if (strlen(host) >= sizeof(link->host))
		return -EINVAL;
	link = sim_alloc(sim, sizeof(*link));
	link->sim = sim;
	link->id = ++sim->link_count;
	link->port = port;
	strcpy(link->host, host);
	snprintf(link->ends[0].name, sizeof(link->ends[0].name), "%.64s:%u", process->address,
	    process->next_port++);
	snprintf(link->ends[1].name, sizeof(link->ends[1].name), "%s:%u", host, port);
	pipe_init(sim, &link->pipes[0]);
	pipe_init(sim, &link->pipes[1]);
	list_push(&sim->links, &link->node);
	*stream = &sim_stream_create(link, 0, reactor)->base;
	at_ns = sim_reactor_spend(reactor, sim->options.io_ns);
	sim_link_event(link, SIM_SYN, 1, 0, sim_link_arrival(link, 0, at_ns));
	return 0;
}

/* ---- listeners ---- */

static struct sim_listener *
listener_find(const struct sim *sim, const char *host, uint16_t port)
{
	list_for_each(&sim->listeners, node) {
		struct sim_listener *each = container_of(node, struct sim_listener, node);

		if (each->port == port && strcmp(each->host, host) == 0)
			return each;
	}
	return NULL;
}

struct sim_process *
sim_link_process(const struct sim_link *link, unsigned side)
{
	const struct sim_listener *listener;

	if (link->ends[side].process != NULL)
		return link->ends[side].process;
	listener = listener_find(link->sim, link->host, link->port);
	if (listener != NULL)
		return listener->reactor->process;
	list_for_each(&link->sim->processes, node) {
		struct sim_process *process = container_of(node, struct sim_process, node);

		if (strcmp(process->address, link->host) == 0)
			return process;
	}
	return NULL;
}

int
sim_net_listen(struct reactor *base, struct listener *listener)
{
	struct sim_reactor *reactor = sim_reactor_of(base);
	struct sim *sim = reactor->process->sim;
	struct sim_listener *made;

	if (listener->port == 0)
		listener->port = sim->next_port++;
	if (listener_find(sim, listener->host, listener->port) != NULL)
		return -EADDRINUSE;
	made = sim_alloc(sim, sizeof(*made));
	made->reactor = reactor;
	made->listener = listener;
	made->port = listener->port;
	snprintf(made->host, sizeof(made->host), "%s", listener->host);
	list_push(&sim->listeners, &made->node);
	listener->impl = made;
	return 0;
}

static void
listener_free(struct sim_listener *listener)
{
	list_remove(&listener->node);
	arena_free(&listener->reactor->process->sim->arena, listener);
}

/* Streams that were not taken yet are reset. */
static void
listener_abort(struct sim_listener *listener, uint64_t at_ns)
{
	struct sim_reactor *reactor = listener->reactor;

	list_for_each(&reactor->accepts, node) {
		struct sim_stream *stream = container_of(node, struct sim_stream, accept_node);
		struct sim_link *link = stream->link;

		if (stream->listener != listener)
			continue;
		sim_stream_free(stream);
		sim_link_abort(link, 1, at_ns);
	}
	listener_free(listener);
}

void
sim_net_unlisten(struct reactor *base, struct listener *listener)
{
	struct sim_reactor *reactor = sim_reactor_of(base);

	listener_abort(listener->impl, sim_reactor_spend(reactor, 0));
	listener->impl = NULL;
}

void
sim_net_accept(struct sim_reactor *reactor)
{
	struct list *node;

	while ((node = list_pop(&reactor->accepts)) != NULL) {
		struct sim_stream *stream = container_of(node, struct sim_stream, accept_node);
		struct listener *listener = stream->listener->listener;

		stream->listener = NULL;
		listener->accepted(listener, &stream->base);
	}
}

static bool
may_be_called(const struct sim_stream *stream, const struct sim_reactor *reactor)
{
	return stream->base.reactor == &reactor->base && stream->base.wanted != 0;
}

void
sim_net_spurious(struct sim_reactor *reactor)
{
	struct sim_process *process = reactor->process;
	uint64_t count = 0, chosen;

	list_for_each(&process->streams, node)
		count += may_be_called(container_of(node, struct sim_stream, node), reactor);
	if (count == 0)
		return;
	chosen = rng_below(&process->sim->rng, count);
	list_for_each(&process->streams, node) {
		struct sim_stream *stream = container_of(node, struct sim_stream, node);

		if (may_be_called(stream, reactor) && chosen-- == 0) {
			reactor_stream_ready(&stream->base, stream->base.wanted);
			return;
		}
	}
}

void
sim_net_crash(struct sim_process *process, bool half_open)
{
	struct sim *sim = process->sim;

	list_for_each(&sim->listeners, node) {
		struct sim_listener *listener = container_of(node, struct sim_listener, node);

		if (listener->reactor->process == process)
			listener_free(listener);
	}
	list_for_each(&process->streams, node) {
		struct sim_stream *stream = container_of(node, struct sim_stream, node);
		struct sim_link *link = stream->link;
		unsigned side = stream->side;

		sim_stream_free(stream);
		if (!half_open)
			sim_link_abort(link, side, sim->now_ns);
		sim_link_check(link);
	}
}

/* ---- what arrives ---- */

/* A client's first packet: it is answered whether or not somebody listens. */
static void
arrive_syn(struct sim_link *link)
{
	struct sim *sim = link->sim;
	struct sim_listener *listener = listener_find(sim, link->host, link->port);
	struct sim_stream *stream;
	int error = listener == NULL || sim_link_is_reset(link) ? ECONNREFUSED : 0;

	sim_trace(sim, SIM_SYN, link->id, error == 0, 0);
	if (link->ends[0].stream == NULL)
		return; /* has given up */
	sim_link_event(link, SIM_CONNECTED, 0, (uint64_t)error, sim_link_arrival(link, 1, sim->now_ns));
	if (error != 0)
		return;
	stream = sim_stream_create(link, 1, listener->reactor);
	stream->may = STREAM_READABLE | STREAM_WRITABLE;
	stream->listener = listener;
	list_push(&listener->reactor->accepts, &stream->accept_node);
	sim_reactor_wake(listener->reactor, sim->now_ns);
}

static void
arrive_connected(struct sim_link *link, int error)
{
	struct sim_stream *stream = link->ends[0].stream;

	sim_trace(link->sim, SIM_CONNECTED, link->id, (uint64_t)error, 0);
	link->open = error == 0;
	if (stream == NULL)
		return;
	if (link->ends[0].error == 0) /* else a reset was faster */
		link->ends[0].error = -error;
	sim_stream_tell(stream, STREAM_READABLE | STREAM_WRITABLE);
}

static void
arrive_bytes(struct sim_link *link, unsigned from, uint64_t count)
{
	struct sim *sim = link->sim;
	struct sim_pipe *pipe = &link->pipes[from];
	struct sim_side *end = &link->ends[1 - from];

	if (pipe->cut)
		return;
	sim_trace(sim, SIM_BYTES, link->id, count, from);
	if (end->stream != NULL) {
		pipe->arrived += count;
		sim_stream_tell(end->stream, STREAM_READABLE);
	} else if (!end->refuses) {
		end->refuses = true;
		sim_link_event(link, SIM_RESET, from, 0, sim_link_arrival(link, 1 - from, sim->now_ns));
	}
}

static void
arrive_fin(struct sim_link *link, unsigned from)
{
	struct sim_pipe *pipe = &link->pipes[from];
	struct sim_stream *stream = link->ends[1 - from].stream;

	if (pipe->cut)
		return;
	sim_trace(link->sim, SIM_FIN, link->id, from, 0);
	pipe->fin = true;
	if (stream != NULL)
		sim_stream_tell(stream, STREAM_READABLE);
}

static void
arrive_reset(struct sim_link *link, unsigned side)
{
	struct sim *sim = link->sim;
	struct sim_pipe *pipe = &link->pipes[1 - side];
	struct sim_side *end = &link->ends[side];

	sim_trace(sim, SIM_RESET, link->id, side, 0);
	pipe->cut = true;
	if (end->stream == NULL || end->error != 0)
		return;
	end->error = pipe->fin ? -EPIPE : -ECONNRESET;
	/* Bytes that were not read yet may be lost with the connection, or not. */
	if (!pipe->fin && sim_chance(sim, 500000))
		pipe->consumed = pipe->arrived;
	sim_stream_tell(end->stream, STREAM_READABLE | STREAM_WRITABLE);
}

/* Nobody sends it again, but what comes later where it came from finds nobody there, and is answered with another. */
static void
lose_reset(struct sim_link *link, unsigned side)
{
	sim_trace(link->sim, SIM_RESET, link->id, side, 1);
	link->ends[1 - side].refuses = false;
}

static void
arrive_space(struct sim_link *link, unsigned side)
{
	struct sim_pipe *pipe = &link->pipes[side];
	struct sim_stream *stream = link->ends[side].stream;

	pipe->space_due = false;
	pipe->freed = pipe->consumed;
	sim_trace(link->sim, SIM_SPACE, link->id, side, pipe->freed);
	if (!pipe->blocked || pipe->written - pipe->freed == pipe->limit)
		return;
	pipe->blocked = false;
	if (stream != NULL)
		sim_stream_tell(stream, STREAM_WRITABLE);
}

static void
arrive_again(struct sim_link *link, unsigned side, unsigned events)
{
	sim_trace(link->sim, SIM_AGAIN, link->id, side, events);
	if (link->ends[side].stream != NULL)
		sim_stream_tell(link->ends[side].stream, events);
}

static unsigned
receiver(const struct sim_event *event)
{
	return event->kind == SIM_BYTES || event->kind == SIM_FIN ? 1 - event->side : event->side;
}

/* Whether it has to pass the card of whom it comes to first; it then comes again, behind what came before. */
static bool
passes_card(struct sim_event *event)
{
	struct sim *sim = event->link->sim;
	struct sim_process *process;
	uint64_t bytes = event->kind == SIM_BYTES ? event->count : 0;

	if (sim->options.mbit == 0 || event->passed || event->kind == SIM_AGAIN || event->kind == SIM_RESET)
		return false;
	process = sim_link_process(event->link, receiver(event));
	if (process == NULL || (bytes == 0 && process->receives_until_ns < sim->now_ns))
		return false;
	event->passed = true;
	sim_event_put(sim, event, pass(sim, &process->receives_until_ns, bytes, sim->now_ns));
	return true;
}

void
sim_net_handle(struct sim *sim, struct sim_event *event)
{
	struct sim_link *link = event->link;
	bool silent = sim_link_is_silent(link, receiver(event));

	if (silent && event->kind != SIM_RESET) {
		fifo_push(&sim->held_back, &event->node);
		return;
	}
	if (passes_card(event))
		return;
	if (silent)
		lose_reset(link, event->side);
	else if (event->kind == SIM_SYN)
		arrive_syn(link);
	else if (event->kind == SIM_CONNECTED)
		arrive_connected(link, (int)event->count);
	else if (event->kind == SIM_BYTES)
		arrive_bytes(link, event->side, event->count);
	else if (event->kind == SIM_FIN)
		arrive_fin(link, event->side);
	else if (event->kind == SIM_RESET)
		arrive_reset(link, event->side);
	else if (event->kind == SIM_SPACE)
		arrive_space(link, event->side);
	else
		arrive_again(link, event->side, (unsigned)event->count);
	sim_event_give(sim, event);
	link->held--;
	sim_link_check(link);
}
