#include "order/serve.h"

#include <assert.h>
#include <stddef.h>

#include "order/group.h"

void
order_serve_init(struct order_serve *serve)
{
	list_init(&serve->appending);
	list_init(&serve->appended);
	list_init(&serve->flushes);
	list_init(&serve->persisting);
	list_init(&serve->answers);
	serve->broken = false;
}

void
order_serve_stream(struct order_served *stream)
{
	order_gate_init(&stream->gate, ORDER_NO_GROUP, ORDER_NO_GROUP);
	list_init(&stream->line);
	list_init(&stream->node);
	list_init(&stream->flush_node);
	stream->covered = NULL;
	stream->dirty = stream->flushing = 0;
	stream->nsid_count = stream->held = stream->under_way = 0;
	stream->stopped = true;
	stream->refused = false;
}

/* ---- how one ends ---- */

static struct order_write *
pop(struct list *line)
{
	struct list *node = list_pop(line);

	return node != NULL ? container_of(node, struct order_write, piece.node) : NULL;
}

static void
leave(struct order_write *write, enum order_outcome outcome)
{
	write->outcome = outcome;
	write->stream->held--;
	write->stream->under_way -= write->place != ORDER_NO_PLACE;
}

static void
answer(struct order_serve *serve, struct order_write *write, enum order_outcome outcome)
{
	leave(write, outcome);
	list_push(&serve->answers, &write->piece.node);
}

/* It does not persist. */
static void
end(struct order_serve *serve, struct order_write *write, enum order_outcome outcome)
{
	order_log_end(&serve->log, write->place, false);
	list_remove(&write->in_line);
	answer(serve, write, outcome);
}

static void
persist(struct order_serve *serve, struct order_write *write)
{
	if (serve->broken) {
		end(serve, write, ORDER_FAILED);
		return;
	}
	write->word = order_log_end(&serve->log, write->place, true);
	list_remove(&write->in_line);
	list_push(&serve->persisting, &write->piece.node);
}

/* ---- flushes ---- */

static bool
is_flush(const struct order_write *write)
{
	return (write->attribute.flags & ORDER_ENTRY_FLUSH) != 0;
}

/* When it has ended it is on its medium only after a flush. */
static bool
is_cached(const struct order_write *write)
{
	return !write->keeps && write->blocks > 0;
}

static struct order_write *
in_line(struct list *node)
{
	return container_of(node, struct order_write, in_line);
}

/* Those before which nothing is that has not ended; what persists then began to be flushed after that. */
static void
begin_flush(struct order_serve *serve, struct order_served *stream)
{
	if (stream->covered != NULL)
		return;
	list_for_each(&stream->line, node) {
		if (!in_line(node)->ended)
			break;
		stream->covered = in_line(node);
	}
	if (stream->covered == NULL)
		return;
	stream->flushing = stream->dirty;
	stream->dirty = 0;
	if (stream->flushing != 0)
		list_push(&serve->flushes, &stream->flush_node);
	else
		order_serve_flushed(serve, stream, true);
}

void
order_serve_flushed(struct order_serve *serve, struct order_served *stream, bool done)
{
	struct order_write *covered = stream->covered, *write;

	stream->covered = NULL;
	do {
		write = in_line(stream->line.next);
		if (done)
			persist(serve, write);
		else
			end(serve, write, ORDER_FAILED);
	} while (write != covered);
	if (!done)
		order_serve_stop(serve, stream);
	begin_flush(serve, stream);
}

struct order_served *
order_serve_flush(struct order_serve *serve)
{
	struct list *node = list_pop(&serve->flushes);

	return node != NULL ? container_of(node, struct order_served, flush_node) : NULL;
}

/* ---- it comes ---- */

/* Which it is among those that are to be flushed; as many as there are: none of them. */
static unsigned
find_nsid(const struct order_served *stream, uint32_t nsid)
{
	unsigned which = 0;

	while (which < stream->nsid_count && stream->nsids[which] != nsid)
		which++;
	return which;
}

const char *
order_serve_arrive(struct order_serve *serve, struct order_served *stream, struct order_write *write)
{
	unsigned which = find_nsid(stream, write->nsid);
	const char *wrong;

	write->stream = stream;
	write->ended = false;
	write->place = ORDER_NO_PLACE;
	list_init(&write->in_line);
	if (stream->stopped) {
		stream->held++;
		answer(serve, write, ORDER_ABORTED);
		return NULL;
	}
	if (write->blocks == 0 && !is_flush(write))
		return "only a flush has no blocks";
	if (is_cached(write) && which == ORDER_FLUSHED_MAX)
		return "its stream has written to more namespaces than can be flushed together";
	write->piece.ready = false;
	wrong = order_gate_admit(&stream->gate, &write->attribute, &write->piece);
	if (wrong != NULL)
		return wrong;
	if (is_cached(write) && which == stream->nsid_count)
		stream->nsids[stream->nsid_count++] = write->nsid;
	stream->held++;
	order_track_tell(&stream->track, write->attribute.floor);
	return NULL;
}

void
order_serve_ready(struct order_serve *serve, struct order_write *write)
{
	write->piece.ready = true;
	if (list_empty(&write->stream->node) && order_gate_open(&write->stream->gate))
		list_push(&serve->appending, &write->stream->node);
}

/* ---- it gets an entry ---- */

static void
append(struct order_serve *serve, struct order_served *stream)
{
	struct order_write *write = container_of(order_gate_next(&stream->gate), struct order_write, piece);
	const struct order_attribute *attribute = &write->attribute;
	struct order_entry entry = {
		.first = attribute->first, .last = attribute->last, .prev = attribute->prev, .num = attribute->num,
		.count = attribute->count, .flags = attribute->flags, .piece = write->piece.index,
		.lba = write->lba, .blocks = write->blocks, .nsid = write->nsid,
	};

	write->place = order_log_append(&serve->log, &stream->track, &entry);
	stream->under_way++;
	list_push(&stream->line, &write->in_line);
	list_push(&serve->appended, &write->piece.node);
}

static bool
has_room(struct order_serve *serve, struct order_served *stream)
{
	if (order_log_ask(&serve->log, &stream->track))
		return true;
	order_log_sweep(&serve->log);
	return order_log_ask(&serve->log, &stream->track);
}

/* In turns: each stream one, as long as there is room for it. */
void
order_serve_append(struct order_serve *serve)
{
	struct list *appending = &serve->appending, later, *node;

	list_init(&later);
	while (!list_empty(appending)) {
		struct order_served *stream = container_of(appending->next, struct order_served, node);

		stream->refused = !has_room(serve, stream);
		if (!stream->refused)
			append(serve, stream);
		if (stream->refused)
			list_move(&later, &stream->node);
		else if (order_gate_open(&stream->gate))
			list_move(appending, &stream->node);
		else
			list_remove(&stream->node);
	}
	while ((node = list_pop(&later)) != NULL)
		list_push(appending, node);
}

/* ---- it goes ---- */

static struct order_write *
first_of(const struct list *line)
{
	return list_empty(line) ? NULL : container_of(line->next, struct order_write, piece.node);
}

void
order_serve_durable(struct order_serve *serve)
{
	order_log_done(&serve->log);
	order_log_sweep(&serve->log);
}

static bool
persists_for_good(const struct order_serve *serve, const struct order_write *write)
{
	return write->word <= serve->log.words_durable;
}

void
order_serve_break(struct order_serve *serve)
{
	struct order_write *write;

	serve->broken = true;
	while ((write = pop(&serve->appended)) != NULL)
		end(serve, write, ORDER_FAILED);
	while ((write = pop(&serve->persisting)) != NULL)
		answer(serve, write, persists_for_good(serve, write) ? ORDER_DONE : ORDER_FAILED);
}

/* The next one that has a durable entry, and leaves its line. */
static struct order_write *
next_durable(struct order_serve *serve)
{
	const struct order_write *first = first_of(&serve->appended);

	return first != NULL && first->place < serve->log.durable ? pop(&serve->appended) : NULL;
}

struct order_write *
order_serve_go(struct order_serve *serve)
{
	struct order_write *write;

	while ((write = next_durable(serve)) != NULL) {
		if (write->stream->stopped)
			end(serve, write, ORDER_ABORTED);
		else if (write->blocks == 0)
			order_serve_ended(serve, write, true);
		else
			break;
	}
	return write;
}

/* ---- it has ended ---- */

void
order_serve_ended(struct order_serve *serve, struct order_write *write, bool done)
{
	struct order_served *stream = write->stream;

	if (!done) {
		end(serve, write, ORDER_FAILED);
		order_serve_stop(serve, stream);
		return;
	}
	write->ended = true;
	if (is_cached(write))
		stream->dirty |= UINT64_C(1) << find_nsid(stream, write->nsid);
	if (is_flush(write) && stream->stopped)
		end(serve, write, ORDER_ABORTED);
	else if (!is_flush(write) && write->keeps)
		persist(serve, write);
	else if (!is_flush(write))
		end(serve, write, ORDER_DONE);
	if (!list_empty(&stream->line))
		begin_flush(serve, stream);
}

struct order_write *
order_serve_answer(struct order_serve *serve)
{
	struct order_write *write = pop(&serve->answers);

	if (write != NULL)
		return write;
	write = first_of(&serve->persisting);
	if (write == NULL || !persists_for_good(serve, write))
		return NULL;
	list_remove(&write->piece.node);
	leave(write, ORDER_DONE);
	return write;
}

/* ---- streams that stop, and go on ---- */

void
order_serve_stop(struct order_serve *serve, struct order_served *stream)
{
	struct order_piece *piece;
	bool after = stream->covered == NULL;

	stream->stopped = true;
	stream->refused = false;
	list_remove(&stream->node);
	while ((piece = order_gate_clear(&stream->gate)) != NULL)
		answer(serve, container_of(piece, struct order_write, piece), ORDER_ABORTED);
	/* What drives are flushed for goes on; other flushes wait for what may never be. */
	list_for_each(&stream->line, node) {
		if (after && in_line(node)->ended)
			end(serve, in_line(node), ORDER_ABORTED);
		after = after || in_line(node) == stream->covered;
	}
}

bool
order_serve_is_stuck(const struct order_serve *serve, const struct order_served *stream)
{
	return stream->refused && order_gate_open(&stream->gate) && stream->under_way == 0 &&
	    stream->track.writes.count >= serve->log.guaranteed;
}

bool
order_serve_is_still(const struct order_served *stream)
{
	return stream->stopped && stream->held == 0;
}

bool
order_serve_cut(struct order_serve *serve, struct order_served *stream, uint32_t cut, uint32_t high, bool taking)
{
	struct order_track *track = &stream->track;
	uint16_t term = (uint16_t)(track->term + 1);

	assert(order_serve_is_still(stream));
	if (!order_log_cut(&serve->log, track, term, cut, high, taking)) {
		order_log_sweep(&serve->log);
		if (!order_log_cut(&serve->log, track, term, cut, high, taking))
			return false;
	}
	stream->mark = track->newest;
	return true;
}

bool
order_serve_is_cut(const struct order_serve *serve, const struct order_served *stream)
{
	return serve->log.durable > stream->mark;
}

void
order_serve_go_on(struct order_served *stream, uint32_t last)
{
	order_gate_init(&stream->gate, last, stream->track.floor);
	stream->nsid_count = 0;
	stream->dirty = 0;
	stream->stopped = false;
}
