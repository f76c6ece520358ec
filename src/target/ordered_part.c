/*
 * ordered_part.c - a part of the log at its core: what streams have told is appended, committed, and goes on.
 *
 * All that came in a turn is appended behind one barrier.  A commit is one at a time; what comes meanwhile is in the
 * next one.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "target/ordered.h"

enum { STUCK_NS = 200 * 1000 * 1000 };

/* ---- streams of a part ---- */

struct ordered_part *
ordered_part(struct core *core, uint32_t number)
{
	list_for_each(&core->ordered_parts, node) {
		struct ordered_part *part = container_of(node, struct ordered_part, node);

		if (part->number == number)
			return part;
	}
	return NULL;
}

struct ordered_stream *
ordered_find(const struct ordered_part *part, uint32_t owner, uint16_t number)
{
	list_for_each(&part->streams, node) {
		struct ordered_stream *stream = container_of(node, struct ordered_stream, node);

		if (stream->served.track.owner == owner && stream->served.track.stream == number)
			return stream;
	}
	return NULL;
}

struct ordered_stream *
ordered_begin_stream(struct ordered_part *part, uint32_t owner, uint16_t number, const struct order_owner *as)
{
	struct ordered_stream *stream = arena_alloc(part->core->reactor->arena, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->part = part;
	stream->as = as;
	list_init(&stream->conn_node);
	list_init(&stream->mind_node);
	order_track_init(&part->serve.log, &stream->served.track, owner, number);
	order_serve_stream(&stream->served);
	list_push(&part->streams, &stream->node);
	return stream;
}

void
ordered_end_stream(struct ordered_stream *stream)
{
	struct ordered_part *part = stream->part;

	order_track_close(&part->serve.log, &stream->served.track, true);
	(void)order_track_leave(&part->serve.log, &stream->served.track);
	list_remove(&stream->node);
	list_remove(&stream->mind_node);
	arena_free(part->core->reactor->arena, stream);
}

/* It has nothing here any more. */
static void
leave(struct ordered_stream *stream)
{
	struct core *core = stream->part->core;
	struct target_mail mail = {
		.kind = MAIL_ORDER_LEFT,
		.order_hold = {
			.owner = stream->served.track.owner, .stream = stream->served.track.stream,
			.part = (uint16_t)stream->part->number,
		},
	};

	core_post(core, 0, &mail);
	list_remove(&stream->node);
	list_remove(&stream->mind_node);
	arena_free(core->reactor->arena, stream);
}

void
ordered_stream_stop(struct ordered_stream *stream)
{
	order_serve_stop(&stream->part->serve, &stream->served);
	ordered_pump(stream->part);
}

/* ---- a commit ---- */

static void
durable(struct ordered_part *part)
{
	part->committing = false;
	if (part->empty.from < part->empty.to)
		part->empty.to = part->empty.from;
	else
		order_serve_durable(&part->serve);
}

/* True: something was, and is durable now. */
static bool
commit(struct ordered_part *part)
{
	struct order_commit taken;

	if (part->committing || part->serve.broken)
		return false;
	if (part->empty.from < part->empty.to)
		taken = part->empty;
	else if (!order_log_take(&part->serve.log, &taken))
		return false;
	part->committing = true;
	if (part->keep->ops->commit(part->keep, &taken)) {
		durable(part);
		return true;
	}
	part->core->ordered_ios++;
	return false;
}

/* No later one may ever be durable: what is on its way goes nowhere, and no stream goes on. */
static void
broken(struct ordered_part *part, int error)
{
	core_log(part->core, 0, "the log of ordered writes cannot be written, so none are done until the target has "
	    "begun anew: %s", strerrordesc_np(-error));
	order_serve_break(&part->serve);
	list_for_each(&part->streams, node)
		order_serve_stop(&part->serve, &container_of(node, struct ordered_stream, node)->served);
}

/* At once the next one: what has come meanwhile waits for it. */
static void
committed(struct keep *keep, int error)
{
	struct ordered_part *part = keep->owner;
	struct core *core = part->core;

	core->ordered_ios--;
	if (error == 0) {
		durable(part);
		(void)commit(part);
	} else {
		part->committing = false;
		broken(part, error);
	}
	ordered_follow(part);
	core_maybe_drained(core);
}

/* ---- what was told goes on ---- */

/* What is left to each stream does not change while answers are given. */
static bool
answer_all(struct ordered_part *part)
{
	const struct order_served *of = NULL;
	struct order_write *write;
	uint32_t left = 0;

	while ((write = order_serve_answer(&part->serve)) != NULL) {
		if (of != write->stream)
			left = order_log_left(&part->serve.log, &write->stream->track);
		of = write->stream;
		ordered_answer(write, left);
	}
	return of != NULL;
}

static void
drain(struct ordered_part *part)
{
	struct order_serve *serve = &part->serve;
	struct order_write *write;
	struct order_served *stream;
	bool more = true;

	while (more) {
		more = false;
		while ((write = order_serve_go(serve)) != NULL) {
			ordered_write_goes(part, write);
			more = true;
		}
		while ((stream = order_serve_flush(serve)) != NULL) {
			ordered_flush(container_of(stream, struct ordered_stream, served));
			more = true;
		}
		more = answer_all(part) || more;
	}
}

/* Whether something of it waits, for other streams or to be durable, that is not one of its writes. */
static bool
is_minded(const struct ordered_stream *stream)
{
	bool elsewhere = false;

	for (unsigned i = 0; i < ORDERED_PART_WORDS; i++)
		elsewhere = elsewhere || stream->elsewhere[i] != 0;
	return elsewhere || stream->asked != NULL || stream->closed;
}

void
ordered_mind(struct ordered_stream *stream)
{
	if (list_empty(&stream->mind_node))
		list_push(&stream->part->minded, &stream->mind_node);
	ordered_pump(stream->part);
}

static void
mind(struct ordered_stream *stream)
{
	ordered_tell_floor(stream);
	if (stream->asked != NULL)
		ordered_asked_go_on(stream); /* it may be no more */
	else if (stream->closed && order_track_leave(&stream->part->serve.log, &stream->served.track))
		leave(stream);
	else if (!is_minded(stream))
		list_remove(&stream->mind_node);
}

void
ordered_settle(struct ordered_part *part)
{
	do {
		if (!part->serve.broken)
			order_serve_append(&part->serve);
		drain(part);
	} while (commit(part));
}

static void look_for_stuck(struct ordered_part *part);

/* What was asked may have something to be committed, and what is minded may wait for just that. */
static void
pump(struct task *task)
{
	struct ordered_part *part = container_of(task, struct ordered_part, task);

	do {
		ordered_settle(part);
		list_for_each(&part->minded, node)
			mind(container_of(node, struct ordered_stream, mind_node));
	} while (commit(part));
	look_for_stuck(part);
}

void
ordered_pump(struct ordered_part *part)
{
	reactor_run_in(part->core->reactor, PHASE_SUBMIT, &part->task);
}

void
ordered_follow(struct ordered_part *part)
{
	reactor_run_in(part->core->reactor, PHASE_SETTLE, &part->task);
}

/* ---- streams that wait for each other ---- */

static void
look_for_stuck(struct ordered_part *part)
{
	struct reactor *reactor = part->core->reactor;

	if (!list_empty(&part->serve.appending) && !part->stuck.armed)
		timer_set(&reactor->timers, &part->stuck, reactor->now_ns + STUCK_NS);
}

/* One that was so the last time, and still is. */
static void
stuck(struct timer *timer)
{
	struct ordered_part *part = container_of(timer, struct ordered_part, stuck);

	list_for_each(&part->streams, node) {
		struct ordered_stream *stream = container_of(node, struct ordered_stream, node);
		bool is = order_serve_is_stuck(&part->serve, &stream->served);

		if (is && stream->was_stuck) {
			core_log_peer(part->core, "stream %u was stopped: the log of ordered writes has no room, and "
			    "it has more there than is guaranteed", stream->served.track.stream);
			ordered_stream_stop(stream);
		}
		stream->was_stuck = is;
	}
	look_for_stuck(part);
}

/* ---- what it takes ---- */

size_t
target_order_bytes(uint32_t slots)
{
	return sizeof(struct ordered_part) + slots * (sizeof(struct order_slot) + sizeof(uint8_t) + sizeof(uint32_t));
}

size_t
target_stream_bytes(void)
{
	return arena_takes(sizeof(struct ordered_stream), 0);
}

/* ---- it begins and ends ---- */

static void
end_part(struct ordered_part *part)
{
	struct arena *arena = part->core->reactor->arena;
	struct list *node;

	task_cancel(&part->task);
	timer_clear(&part->core->reactor->timers, &part->stuck);
	while ((node = list_pop(&part->streams)) != NULL)
		arena_free(arena, container_of(node, struct ordered_stream, node));
	if (part->keep != NULL)
		part->keep->ops->close(part->keep);
	arena_free(arena, part->states);
	arena_free(arena, part->is);
	arena_free(arena, part->words);
	list_remove(&part->node);
	arena_free(arena, part);
}

static struct ordered_part *
begin_part(struct core *core, struct store *store, uint32_t number)
{
	struct arena *arena = core->reactor->arena;
	struct ordered_part *part = arena_alloc(arena, sizeof(*part));
	uint32_t slots = store->head.slots;

	if (part == NULL)
		return NULL;
	part->core = core;
	part->number = number;
	list_init(&part->streams);
	list_init(&part->minded);
	list_push(&core->ordered_parts, &part->node);
	task_init(&part->task, pump);
	part->stuck.fire = stuck;
	order_serve_init(&part->serve);
	part->states = arena_alloc_raw(arena, slots * sizeof(*part->states));
	part->is = arena_alloc_raw(arena, slots * sizeof(*part->is));
	part->words = arena_alloc_raw(arena, slots * sizeof(*part->words));
	if (part->states == NULL || part->is == NULL || part->words == NULL || store_need(store, number) != 0)
		return NULL;
	part->keep = store_keep(store, core->reactor, number);
	if (part->keep == NULL)
		return NULL;
	part->keep->done = committed;
	part->keep->owner = part;
	return part;
}

static int
load_part(struct core *core, const struct ordered_all *all, uint32_t number)
{
	struct ordered_part *part = begin_part(core, all->store, number);
	const struct order_scan *scan = &all->scans[number];
	const struct order_head *head = &all->store->head;

	if (part == NULL)
		return -ENOMEM;
	order_log_init(&part->serve.log, all->store->slots[number], head->slots, order_head_seed(head), part->states,
	    part->is, part->words);
	if (!ordered_load_part(part, all))
		return -ENOMEM;
	part->empty.from = scan->next;
	part->empty.to = scan->torn_to > scan->next ? scan->torn_to : scan->next;
	if (part->empty.from < part->empty.to)
		ordered_pump(part);
	return 0;
}

/* Its own part, and those that were of reactors which there are not any more and have something. */
int
ordered_core_begin(struct core *core, char why[256])
{
	const struct ordered_all *all = core->target->ordered;
	uint32_t own = core->reactor->index;
	int rc = 0;

	list_init(&core->ordered_parts);
	if (all == NULL)
		return 0;
	if (core->reactor->count > all->store->head.parts) {
		snprintf(why, 256, "the log of ordered writes has %u parts, and there are %u reactors",
		    all->store->head.parts, core->reactor->count);
		return -EINVAL;
	}
	for (uint32_t i = own; rc == 0 && i < all->store->head.parts; i += core->reactor->count)
		if (i == own || all->store->slots[i] != NULL)
			rc = load_part(core, all, i);
	if (rc == 0)
		ordered_loaded(core);
	return rc;
}

void
ordered_core_end(struct core *core)
{
	struct list *parts = &core->ordered_parts;

	while (parts->next != NULL && !list_empty(parts))
		end_part(container_of(parts->next, struct ordered_part, node));
}

bool
ordered_core_busy(const struct core *core)
{
	return core->ordered_ios > 0;
}
