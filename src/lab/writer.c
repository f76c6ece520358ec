/*
 * One stream at work: groups at random places, by the way that the rig says; what is under way when, and what has come
 * of it.
 */
#include <errno.h>

#include "lab/ordered_inside.h"
#include "order/group.h"

/* ---- where ---- */

static uint64_t
group_blocks(const struct writer *w)
{
	const struct lab_ordered *told = w->rig->told;

	return (uint64_t)told->bytes / told->drive.block_size * told->batch;
}

/* The first block of a group: it lies on one drive, as stripes are as long. */
static uint64_t
place(struct writer *w)
{
	const struct order_layout *layout = &w->rig->layout;

	return rng_below(&w->rng, layout->blocks * layout->count / group_blocks(w)) * group_blocks(w);
}

/* ---- what has ended ---- */

static void
count(struct writer *w, uint64_t since_ns)
{
	if (!w->rig->measuring)
		return;
	hist_add(&w->latency, w->reactor->now_ns - since_ns);
	w->writes += w->rig->told->batch;
}

static void
count_begun(struct writer *w)
{
	w->sent += w->rig->measuring ? w->rig->told->batch : 0;
}

static void
count_command(struct writer *w, const struct lane_result *result)
{
	w->commands += w->rig->measuring;
	w->failed += result->error != 0;
}

/* ---- one by one, through the lane ---- */

static void go_on(struct writer *w);

static struct writer_io *
take(struct writer *w)
{
	struct writer_io *io = w->free;

	w->free = io->next;
	w->in_flight++;
	io->since_ns = w->reactor->now_ns;
	count_begun(w);
	io->extent = order_layout_first(&w->rig->layout, place(w), (uint32_t)group_blocks(w));
	assert(io->extent.blocks == group_blocks(w));
	return io;
}

static void
over(struct writer_io *io)
{
	struct writer *w = io->writer;

	count(w, io->since_ns);
	io->next = w->free;
	w->free = io;
	w->in_flight--;
	go_on(w);
}

static void
send(struct writer_io *io, enum lane_op op, uint32_t nsid,
    void (*done)(void *arg, const struct lane_result *result))
{
	struct lane_io ask = {
		.op = (uint8_t)op, .nsid = nsid, .blocks = op == LANE_FLUSH ? 0 : 1, .done = done, .arg = io,
	};

	if (op == LANE_WRITE) {
		ask.blocks = io->extent.blocks;
		ask.lba = io->extent.lba;
		ask.iov = &io->iov;
		ask.iov_count = 1;
	}
	if (lane_submit(io->writer->lanes[io->extent.member->server], &ask) != 0)
		lab_refuse(io->writer->rig->lab, "a command of a writer is refused");
}

static void
flushed(void *arg, const struct lane_result *result)
{
	struct writer_io *io = arg;

	count_command(io->writer, result);
	over(io);
}

static void
written(void *arg, const struct lane_result *result)
{
	struct writer_io *io = arg;
	const struct lab_ordered *told = io->writer->rig->told;

	count_command(io->writer, result);
	if (told->way == LAB_SYNC && (told->flushes || !io->extent.member->keeps))
		send(io, LANE_FLUSH, io->extent.member->nsid, flushed);
	else
		over(io);
}

/* ---- Horae ---- */

/* What order there is is kept: the group may go, and the next one ask. */
static void
kept(void *arg, const struct lane_result *result)
{
	struct writer_io *io = arg;
	struct writer *w = io->writer;

	count_command(w, result);
	w->asks = false;
	send(io, LANE_WRITE, io->extent.member->nsid, written);
	go_on(w);
}

static void
ask(struct writer *w)
{
	struct writer_io *io = take(w);

	w->asks = true;
	send(io, LANE_WRITE_ZEROES, w->rig->targets[io->extent.member->server].drives + 1, kept);
}

/* ---- what may go ---- */

static void
go_on(struct writer *w)
{
	const struct lab_ordered *told = w->rig->told;

	if (!w->begun)
		return;
	switch (told->way) {
	case LAB_ORDERLESS:
		while (w->in_flight < told->depth) {
			struct writer_io *io = take(w);

			send(io, LANE_WRITE, io->extent.member->nsid, written);
		}
		break;
	case LAB_HORAE:
		if (!w->asks && w->in_flight < told->depth)
			ask(w);
		break;
	case LAB_SYNC:
		if (w->in_flight == 0) {
			struct writer_io *io = take(w);

			send(io, LANE_WRITE, io->extent.member->nsid, written);
		}
		break;
	case LAB_ORDERED:
		ordered_soon(w->ordered);
		break;
	case LAB_WAYS:
		break;
	}
}

/* ---- ordered ---- */

/* By group: more than are not durable at a time. */
static uint64_t *
since_of(struct writer *w, uint32_t group)
{
	return &w->since_ns[group % (2 * w->rig->told->pieces)];
}

static bool
submit_group(struct writer *w, struct order_sequencer *sequencer)
{
	const struct lab_ordered *told = w->rig->told;
	uint32_t blocks = told->bytes / told->drive.block_size, group = 0;
	uint64_t at = place(w);

	for (uint32_t i = 0; i < told->batch; i++) {
		unsigned flags = i + 1 == told->batch ? ORDER_END : 0;
		enum order_submitted done = order_sequencer_submit(sequencer, at + (uint64_t)i * blocks, blocks,
		    w->buffer + (size_t)i * told->bytes, flags, &group);

		if (done != ORDER_TAKEN && i == 0)
			return false;
		assert(done == ORDER_TAKEN);
	}
	*since_of(w, group) = w->reactor->now_ns;
	w->submitted++;
	count_begun(w);
	return true;
}

static void
hear(struct writer *w, const struct order_sequencer *sequencer)
{
	while (w->seen != sequencer->complete) {
		uint64_t *since_ns;

		w->seen = order_next(w->seen);
		since_ns = since_of(w, w->seen);
		if (*since_ns == 0)
			continue;
		count(w, *since_ns);
		*since_ns = 0;
		w->told++;
	}
}

/* So that as many commands are under way as may be, and none waits that could have gone: what waits would be merged. */
static uint32_t
room(const struct writer *w, const struct order_session *session)
{
	uint32_t depth = w->rig->told->depth, busy = 0;

	for (unsigned server = 0; server < session->servers; server++) {
		if (order_session_waiting(session, server) != NULL)
			return 0;
		busy += session->links[server].in_flight;
	}
	if (w->rig->told->in_order)
		busy = w->submitted - w->told;
	return busy < depth ? depth - busy : 0;
}

static void
news(struct ordered *ordered)
{
	struct writer *w = ordered_owner(ordered);
	struct order_session *session = ordered_session(ordered);

	if (session->error != 0) {
		lab_refuse(w->rig->lab, "stream %u has failed: %s", w->index, session->why);
		w->begun = false;
		return;
	}
	if (order_session_is_ready(session)) {
		w->seen = session->there;
		ordered_go(ordered, &w->rig->layout, w->items, w->rig->told->pieces);
		w->ready = true;
	}
	if (!session->begun)
		return;
	hear(w, &session->sequencer);
	if (!w->begun)
		return;
	for (uint32_t left = room(w, session); left > 0 && submit_group(w, &session->sequencer); left--)
		;
}

static int
order(struct writer *w)
{
	const struct ordered_rig *rig = w->rig;
	const struct lab_ordered *told = rig->told;
	struct arena *arena = w->reactor->arena;
	struct ordered_server servers[LAB_TARGETS_MAX];
	const struct ordered_options options = {
		.stream = (uint16_t)(w->index + 1), .depth = told->depth, .servers = servers, .count = told->targets,
		.news = news, .owner = w,
	};

	for (unsigned t = 0; t < told->targets; t++)
		servers[t] = (struct ordered_server){
			w->lanes[t], { rig->nsids[t], rig->targets[t].drives, LAB_BYTES_MAX },
		};
	w->items = arena_alloc(arena, told->pieces * sizeof(*w->items));
	w->since_ns = arena_alloc(arena, (size_t)2 * told->pieces * sizeof(*w->since_ns));
	if (w->items == NULL || w->since_ns == NULL)
		return -ENOMEM;
	return ordered_open(w->reactor, &options, &w->ordered);
}

/* ---- the beginning ---- */

static void
begin(struct timer *timer)
{
	struct writer *w = container_of(timer, struct writer, timer);

	w->begun = true;
	go_on(w);
}

bool
writer_is_ready(const struct writer *w)
{
	return w->ready;
}

int
writer_open(struct writer *w)
{
	const struct lab_ordered *told = w->rig->told;
	size_t bytes = (size_t)told->bytes * told->batch;

	rng_seed(&w->rng, w->rig->lab->seed + w->index);
	hist_init(&w->latency);
	w->timer.fire = begin;
	w->ios = arena_alloc(w->reactor->arena, told->depth * sizeof(*w->ios));
	w->buffer = arena_alloc_aligned(w->reactor->arena, bytes, 4096);
	if (w->ios == NULL || w->buffer == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < told->depth; i++) {
		w->ios[i] = (struct writer_io){ .writer = w, .next = w->free, .iov = { w->buffer, bytes } };
		w->free = &w->ios[i];
	}
	timer_set(&w->reactor->timers, &w->timer, w->rig->begin_ns);
	if (told->way == LAB_ORDERED)
		return order(w);
	w->ready = true;
	return 0;
}
