#include "pump.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100, LOOK_TURNS = 16, PAGE = 4096 };

int
pump_failed(struct pump *pump, int error, const char *format, ...)
{
	va_list args;

	if (pump->error != 0)
		return error;
	pump->error = error;
	va_start(args, format);
	vsnprintf(pump->why, sizeof(pump->why), format, args);
	va_end(args);
	return error;
}

void
piece_need_data(struct piece *piece)
{
	if (piece->zeros)
		memset(piece->data, 0, piece->bytes);
}

static bool
all_zeros(const uint8_t *data, uint32_t bytes)
{
	return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

/* Fewer bytes than were wanted: the source has no more. */
static void
piece_is_full(struct piece *piece)
{
	struct pump *pump = piece->pump;
	int rc;

	assert(piece->bytes <= piece->wanted);
	if (piece->bytes < piece->wanted) {
		uint64_t end = piece->offset + piece->bytes;

		pump->ended = true;
		pump->total = end < pump->total ? end : pump->total;
	}
	piece->state = piece->bytes > 0 ? PIECE_FULL : PIECE_DONE;
	if (piece->bytes == 0)
		return;
	if (pump->find_zeros && !piece->zeros)
		piece->zeros = all_zeros(piece->data, piece->bytes);
	rc = pump->full != NULL ? pump->full(pump->arg, piece) : 0;
	if (rc < 0)
		pump_failed(pump, rc, "%s", strerror(-rc));
}

static void
piece_step_done(struct piece *piece)
{
	if (piece->state == PIECE_FILLING)
		piece_is_full(piece);
	else
		piece->state = PIECE_DONE;
}

void
piece_done(struct piece *piece, int error)
{
	assert(piece->asked);
	piece->asked = false;
	if (error < 0)
		pump_failed(piece->pump, error, "%s", strerror(-error));
	else
		piece_step_done(piece);
}

static struct piece *
piece_of(const struct pump *pump, uint64_t number)
{
	return &pump->pieces[number % pump->depth];
}

static bool
over(const struct pump *pump)
{
	return pump->error != 0 || pump->stopping;
}

/* Whether it moved on. */
static bool
step(struct end *end, struct piece *piece)
{
	int rc = end->ops->step(end, piece);

	if (rc < 0) {
		pump_failed(piece->pump, rc, "%s", strerror(-rc));
		return true;
	}
	if (rc == STEP_ASKED)
		piece->asked = true;
	else if (rc == STEP_DONE)
		piece_step_done(piece);
	return rc != STEP_LATER;
}

static bool
may_begin(const struct pump *pump)
{
	if (over(pump) || pump->ended || pump->next - pump->first == pump->depth)
		return false;
	if (pump->source->in_order && pump->next > pump->first &&
	    piece_of(pump, pump->next - 1)->state == PIECE_FILLING)
		return false;
	return pump->next * pump->piece_bytes < pump->total;
}

static void
begin(struct pump *pump)
{
	struct piece *piece = piece_of(pump, pump->next);
	uint64_t offset = pump->next++ * pump->piece_bytes, left = pump->total - offset;

	piece->state = PIECE_FILLING;
	piece->zeros = piece->asked = false;
	piece->bytes = piece->sent = 0;
	piece->offset = offset;
	piece->wanted = left < pump->piece_bytes ? (uint32_t)left : pump->piece_bytes;
}

/* One piece, as far as it comes; whether it moved. */
static bool
advance(struct pump *pump, uint64_t number)
{
	struct piece *piece = piece_of(pump, number);
	bool moved = false;

	if (piece->state == PIECE_FILLING && !piece->asked && !over(pump))
		moved = step(pump->source, piece);
	if (piece->state == PIECE_FULL && (!pump->sink->in_order || number == pump->first) && pump->error == 0)
		piece->state = PIECE_EMPTYING;
	if (piece->state == PIECE_EMPTYING && !piece->asked && pump->error == 0)
		moved = step(pump->sink, piece) || moved;
	return moved;
}

/* When it is over, what nobody was asked for is dropped. */
static bool
is_settled(const struct pump *pump, const struct piece *piece)
{
	return piece->state == PIECE_DONE || (over(pump) && !piece->asked &&
	    (pump->error != 0 || piece->state == PIECE_FILLING || pump->sink->events != 0));
}

static void
settle(struct pump *pump)
{
	while (pump->first < pump->next && is_settled(pump, piece_of(pump, pump->first))) {
		struct piece *piece = piece_of(pump, pump->first);

		if (piece->state == PIECE_DONE && pump->done == piece->offset)
			pump->done += piece->bytes;
		pump->first++;
	}
}

static bool
turn(struct pump *pump)
{
	bool moved = false;

	while (may_begin(pump)) {
		begin(pump);
		moved = advance(pump, pump->next - 1) || moved;
	}
	if (pump->source->ops->poll != NULL)
		moved = pump->source->ops->poll(pump->source) > 0 || moved;
	if (pump->sink->ops->poll != NULL)
		moved = pump->sink->ops->poll(pump->sink) > 0 || moved;
	settle(pump);
	for (uint64_t i = pump->first; i < pump->next; i = i + 1 > pump->first ? i + 1 : pump->first) {
		moved = advance(pump, i) || moved;
		settle(pump);
	}
	return moved;
}

/* A stream is waited for only while a piece is to be moved there and may be. */
static bool
waits_for(const struct pump *pump, const struct end *end, enum piece_state state)
{
	if (end->fd < 0)
		return false;
	for (uint64_t i = pump->first; i < pump->next; i++)
		if (end->events == 0 || piece_of(pump, i)->state == state)
			return true;
	return false;
}

static void
wait_for_ends(struct pump *pump)
{
	const struct end *ends[2] = { pump->source, pump->sink };
	const enum piece_state states[2] = { PIECE_FILLING, PIECE_EMPTYING };
	struct pollfd fds[3] = { { pump->stopping ? -1 : pump->stop_fd, POLLIN, 0 } };
	nfds_t count = 1;

	for (unsigned i = 0; i < 2; i++) {
		short events = ends[i]->events != 0 ? ends[i]->events : POLLIN;

		if (waits_for(pump, ends[i], states[i]))
			fds[count++] = (struct pollfd) { ends[i]->fd, events, 0 };
	}
	(void)poll(fds, count, TICK_MS);
}

/* One that never has to wait looks now and then all the same. */
static void
move(struct pump *pump)
{
	for (unsigned turns = 1;; turns++) {
		bool moved = turn(pump);

		if (pump->tick != NULL)
			pump->tick(pump->arg, pump->done);
		if (pump->first == pump->next && !may_begin(pump))
			return;
		if (!moved)
			wait_for_ends(pump);
		if (!moved || turns % LOOK_TURNS == 0)
			pump->stopping = pump->stopped != NULL && pump->stopped();
	}
}

static int
make_pieces(struct pump *pump)
{
	pump->pieces = calloc(pump->depth, sizeof(*pump->pieces));
	pump->memory = aligned_alloc(PAGE, ((size_t)pump->depth * pump->piece_bytes + PAGE - 1) / PAGE * PAGE);
	if (pump->pieces == NULL || pump->memory == NULL)
		return pump_failed(pump, -ENOMEM, "no memory for %u pieces of %u bytes: --depth and --bs say how many",
		    pump->depth, pump->piece_bytes);
	for (unsigned i = 0; i < pump->depth; i++) {
		pump->pieces[i].pump = pump;
		pump->pieces[i].data = pump->memory + (size_t)i * pump->piece_bytes;
	}
	return 0;
}

int
pump_run(struct pump *pump)
{
	assert(pump->depth > 0 && pump->depth <= PUMP_DEPTH_MAX && pump->piece_bytes > 0);
	if (make_pieces(pump) == 0)
		move(pump);
	free(pump->pieces);
	free(pump->memory);
	pump->pieces = NULL;
	pump->memory = NULL;
	return pump->error;
}
