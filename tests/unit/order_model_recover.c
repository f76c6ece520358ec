/* Of the model of ordered writes: what is lost, and how it is recovered. */
#include <string.h>

#include "order/entry.h"
#include "order/group.h"
#include "order_model_inside.h"

/* ---- a server begins ---- */

static uint32_t
read_log(struct rio *model, struct rio_part *part, uint32_t number, struct order_known *known)
{
	const struct order_part read = { part->slots, RIO_SLOTS, SEED };
	struct order_scan scan;

	memcpy(part->slots, part->kept, sizeof(part->slots));
	memset(part->has, 0, sizeof(part->has));
	order_scan(&read, &scan);
	if (scan.corrupt)
		rio_violation(model, "the log is corrupt");
	order_log_init(&part->serve.log, part->slots, RIO_SLOTS, SEED, part->states, part->is, part->words);
	order_log_load(&part->serve.log, &scan);
	order_serve_init(&part->serve);
	for (uint64_t place = scan.next; place < scan.torn_to; place++)
		rio_keep_empty(part, (uint32_t)(place % RIO_SLOTS));
	return order_known_read(&read, &scan, number, known);
}

/* Of two hosts, each with a stream of that number. */
static void
begin_stream(struct rio_part *part, unsigned which)
{
	part->has[which] = true;
	order_track_init(&part->serve.log, &part->streams[which].track, which, 5);
	order_serve_stream(&part->streams[which]);
}

static bool
is_in(const struct order_known *known, uint32_t count, uint32_t part)
{
	for (uint32_t i = 0; i < count; i++)
		if (known[i].part == part)
			return true;
	return false;
}

/* It goes on where its last term began. */
static void
adopt(struct rio *model, struct rio_server *server, unsigned which, const struct order_known *known, uint32_t count)
{
	server->home[which] = known[count - 1].part;
	for (uint32_t i = 0; i < model->plan.parts; i++) {
		struct rio_part *part = &server->parts[i];

		if (!is_in(known, count, i))
			continue;
		begin_stream(part, which);
		order_track_adopt(&part->serve.log, &part->streams[which].track, known, count, i);
		if (i != server->home[which])
			order_track_close(&part->serve.log, &part->streams[which].track, true);
	}
}

void
rio_begin_server(struct rio *model, struct rio_server *server)
{
	static struct order_known known[RIO_PARTS * RIO_SLOTS];
	static struct order_listed room[RIO_PARTS * RIO_SLOTS];
	uint32_t count = 0, same;
	struct order_stream read;

	memset(server->requests, 0, sizeof(server->requests));
	memset(server->flush_of, 0, sizeof(server->flush_of));
	server->pending_count = 0;
	for (unsigned part = 0; part < model->plan.parts; part++)
		count += read_log(model, &server->parts[part], part, &known[count]);
	order_known_sort(known, count);
	for (uint32_t at = 0; at < count; at += same) {
		same = order_known_same(&known[at], count - at);
		order_stream_read(&known[at], same, rio_keeps, model, room, &read);
		if (read.lost != NULL)
			rio_violation(model, read.lost);
		if (read.owner >= model->plan.streams || read.stream != 5)
			rio_violation(model, "there is a stream of nobody");
		else
			adopt(model, server, read.owner, &known[at], same);
	}
	for (unsigned i = 0; i < model->plan.streams; i++)
		if (!server->parts[server->home[i]].has[i])
			begin_stream(&server->parts[server->home[i]], i);
}

/* ---- what is lost ---- */

/* 0: nothing of what is undecided comes, 1: all of it, else any. */
static bool
comes(struct rio *model, unsigned how)
{
	return how == 0 ? false : how == 1 ? true : rng_below(&model->rng, 2) == 0;
}

static void
lose_cache(struct rio *model, struct rio_server *server)
{
	unsigned how = (unsigned)rng_below(&model->rng, 4);

	for (unsigned left = server->pending_count; left > 0; left--) {
		unsigned at = how == 1 ? server->pending_count - left : (unsigned)rng_below(&model->rng, left);
		const struct rio_pending *pending = &server->pending[at];

		if (comes(model, how))
			server->media[pending->drive][pending->block] = pending->value;
		if (how != 1)
			server->pending[at] = server->pending[left - 1];
	}
}

/* Of a commit any words of eight bytes come. */
static void
lose_commit(struct rio *model, struct rio_part *part)
{
	unsigned how = (unsigned)rng_below(&model->rng, 4);

	if (!part->serve.log.taken && !rio_take(part))
		return;
	for (uint64_t place = part->commit.from; place < part->commit.to; place++) {
		unsigned whole = (unsigned)rng_below(&model->rng, 3);

		if (how < 2)
			rio_keep_entry(part, place, how == 1 ? 0xff : 0);
		else
			rio_keep_entry(part, place, whole == 0 ? 0xff : (unsigned)rng_below(&model->rng, 256));
	}
	for (uint32_t i = 0; i < part->commit.word_count; i++)
		if (comes(model, how))
			rio_keep_word(part, part->commit_words[i]);
}

static void
lose_way(struct rio *model, struct rio_stream *stream, unsigned server)
{
	struct rio_way *way = &stream->ways[server];

	way->epoch++;
	way->is = RIO_STOPPED;
	way->in_flight = way->wire_count = way->back_count = 0;
	way->floor_told = false;
	if (!stream->gone)
		order_sequencer_down(&stream->sequencer, server);
	(void)model;
}

void
rio_lose(struct rio *model, unsigned which, unsigned server)
{
	struct rio_part *home = rio_home(model, server, which);

	lose_way(model, &model->streams[which], server);
	order_serve_stop(&home->serve, &home->streams[which]);
	rio_turn(model, server);
}

void
rio_crash(struct rio *model, unsigned servers, unsigned hosts)
{
	for (unsigned server = 0; server < model->plan.servers; server++) {
		if ((servers >> server & 1) == 0)
			continue;
		for (unsigned part = 0; part < model->plan.parts; part++)
			lose_commit(model, &model->servers[server].parts[part]);
		lose_cache(model, &model->servers[server]);
		rio_begin_server(model, &model->servers[server]);
	}
	for (unsigned i = 0; i < model->plan.streams; i++) {
		bool gone = (hosts >> i & 1) != 0;

		model->streams[i].gone = model->streams[i].gone || gone;
		for (unsigned server = 0; server < model->plan.servers; server++)
			if ((servers >> server & 1) != 0)
				lose_way(model, &model->streams[i], server);
			else if (gone)
				rio_lose(model, i, server);
	}
}

/* ---- recovery ---- */

struct list_of {
	struct order_known known[RIO_PARTS * RIO_SLOTS];
	struct order_listed room[RIO_PARTS * RIO_SLOTS];
	uint32_t count;
	struct order_stream stream;
};

static void
look(struct rio *model, unsigned which, unsigned server, struct list_of *list)
{
	struct rio_server *at = &model->servers[server];

	list->stream = (struct order_stream){ 0 };
	list->count = 0;
	for (unsigned i = 0; i < model->plan.parts; i++)
		if (at->parts[i].has[which])
			list->count += order_track_list(&at->parts[i].serve.log, &at->parts[i].streams[which].track, i,
			    &list->known[list->count]);
	if (list->count == 0)
		return;
	order_known_sort(list->known, list->count);
	order_stream_read(list->known, list->count, rio_keeps, model, list->room, &list->stream);
	if (list->stream.lost != NULL)
		rio_violation(model, list->stream.lost);
}

static bool
is_still(struct rio *model, unsigned which, unsigned server)
{
	return order_serve_is_still(&rio_home(model, server, which)->streams[which]) &&
	    model->servers[server].flush_of[which] == 0;
}

static struct list_of lists[RIO_SERVERS];

static bool
list_one(struct rio *model, unsigned which, unsigned server)
{
	struct rio_way *way = &model->streams[which].ways[server];
	struct order_there there;

	if (!is_still(model, which, server))
		return false;
	look(model, which, server, &lists[0]);
	there = order_server_prefix(&lists[0].stream.list);
	if (!order_sequencer_cut(&model->streams[which].sequencer, server, &there, &way->cut))
		rio_violation(model, "a server has lost what was durable");
	rio_look_at_ends(model, which);
	way->is = RIO_LISTED;
	return true;
}

/* The host is gone: what all servers have together. */
static bool
list_all(struct rio *model, unsigned which)
{
	struct rio_stream *stream = &model->streams[which];
	struct order_list of[RIO_SERVERS];
	uint32_t there;

	for (unsigned server = 0; server < model->plan.servers; server++)
		if (stream->ways[server].is == RIO_STOPPED && !is_still(model, which, server))
			return false;
	for (unsigned server = 0; server < model->plan.servers; server++) {
		look(model, which, server, &lists[server]);
		of[server] = lists[server].stream.list;
	}
	there = order_prefix(of, model->plan.servers);
	if (stream->any_cut && there != stream->there)
		rio_violation(model, "the last group that is there is another one");
	stream->there = there;
	for (unsigned server = 0; server < model->plan.servers; server++) {
		struct rio_way *way = &stream->ways[server];

		if (way->is != RIO_STOPPED)
			continue;
		way->cut = there;
		way->is = RIO_LISTED;
	}
	return true;
}

static void
report(struct rio_stream *stream, unsigned server, const struct order_known *known, uint32_t cut)
{
	const struct order_entry *entry = &known->entry;

	if ((entry->flags & ORDER_ENTRY_IN_PLACE) == 0 || !order_above(entry->last, cut) || known->role == ORDER_GONE)
		return;
	for (uint32_t i = 0; i < entry->blocks; i++)
		stream->reported[server][entry->nsid - 1][entry->lba + i] = true;
}

/* What parts know of groups of earlier terms. */
static uint32_t
greatest_of(struct rio *model, unsigned which, unsigned server)
{
	uint32_t high = ORDER_NO_GROUP;

	for (unsigned i = 0; i < model->plan.parts; i++) {
		const struct rio_part *part = &model->servers[server].parts[i];

		if (part->has[which] && order_above(part->streams[which].track.high, high))
			high = part->streams[which].track.high;
	}
	return high;
}

/* It goes on in any part. */
static struct rio_part *
move_home(struct rio *model, unsigned which, unsigned server)
{
	struct rio_part *home;

	model->servers[server].home[which] = (unsigned)rng_below(&model->rng, model->plan.parts);
	home = rio_home(model, server, which);
	if (!home->has[which])
		begin_stream(home, which);
	return home;
}

static bool
begin_cut(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];
	uint32_t high = greatest_of(model, which, server);
	struct rio_part *home;
	const char *wrong;

	look(model, which, server, &lists[0]);
	for (uint32_t i = 0; i < lists[0].count; i++)
		report(stream, server, &lists[0].known[i], way->cut);
	home = move_home(model, which, server);
	wrong = order_cut_begin(&way->cutting, &home->serve, &home->streams[which], lists[0].known, lists[0].count,
	    &lists[0].stream, way->cut, stream->gone, high);
	if (wrong != NULL)
		rio_violation(model, wrong);
	way->last = way->cutting.last;
	way->is = RIO_CUTTING;
	return true;
}

static void
close_others(struct rio *model, unsigned which, unsigned server)
{
	for (unsigned i = 0; i < model->plan.parts; i++) {
		struct rio_part *part = &model->servers[server].parts[i];

		if (part->has[which] && part != rio_home(model, server, which))
			order_track_close(&part->serve.log, &part->streams[which].track, true);
	}
}

static bool
go_on(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];
	uint8_t was = way->cutting.is;

	switch (order_cut_next(&way->cutting)) {
	case ORDER_CUT_WAITS: return way->cutting.is != was;
	case ORDER_CUT_TAKES_BACK:
		look(model, which, server, &lists[0]);
		for (uint32_t i = 0; i < lists[0].count; i++)
			if (order_is_taken_back(&lists[0].known[i], way->cut))
				rio_zero(model, server, which, &lists[0].known[i].entry);
		way->is = RIO_TAKING_BACK;
		break;
	case ORDER_CUT_GOES_ON:
		close_others(model, which, server);
		way->is = RIO_CUT;
		break;
	}
	stream->any_cut = stream->any_cut || stream->gone;
	return true;
}

static bool
taken_back(struct rio *model, unsigned which, unsigned server)
{
	struct rio_way *way = &model->streams[which].ways[server];

	rio_zeroed(model, server, which);
	order_cut_taken_back(&way->cutting);
	way->is = RIO_CUTTING;
	return true;
}

static void
up(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];

	order_sequencer_up(&stream->sequencer, server, way->last, rio_home(model, server, which)->serve.log.guaranteed);
	way->is = RIO_GOES;
}

/* A new host, when all servers were cut. */
static bool
begin_host(struct rio *model, unsigned which)
{
	struct rio_stream *stream = &model->streams[which];

	for (unsigned server = 0; server < model->plan.servers; server++)
		if (stream->ways[server].is != RIO_CUT)
			return false;
	rio_hold(model, which, stream->there);
	memset(stream->reported, 0, sizeof(stream->reported));
	order_sequencer_init(&stream->sequencer, &model->layout, stream->items, RIO_ITEMS, stream->there);
	for (unsigned server = 0; server < model->plan.servers; server++)
		up(model, which, server);
	stream->gone = stream->any_cut = false;
	return true;
}

static bool
end_one(struct rio *model, unsigned which, unsigned server)
{
	if (model->streams[which].gone)
		return begin_host(model, which);
	up(model, which, server);
	return true;
}

bool
rio_recover(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];

	switch (way->is) {
	case RIO_STOPPED: return stream->gone ? list_all(model, which) : list_one(model, which, server);
	case RIO_LISTED: return begin_cut(model, which, server);
	case RIO_CUTTING: return go_on(model, which, server);
	case RIO_TAKING_BACK: return taken_back(model, which, server);
	case RIO_CUT: return end_one(model, which, server);
	case RIO_GOES: return false;
	}
	return false;
}

bool
rio_is_well(const struct rio *model)
{
	for (unsigned i = 0; i < model->plan.streams; i++)
		for (unsigned server = 0; server < model->plan.servers; server++)
			if (model->streams[i].ways[server].is != RIO_GOES)
				return false;
	return true;
}
