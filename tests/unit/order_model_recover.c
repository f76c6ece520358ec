/* Of the model of ordered writes: what is lost, how it is recovered, and whether what was promised is kept. */
#include <string.h>

#include "order/entry.h"
#include "order/group.h"
#include "order_model_inside.h"

/* ---- what is there ---- */

static uint64_t
mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t
rio_slot_hash(uint32_t slot, const struct order_image *image)
{
	uint64_t hash = mix(slot + 1, 0), word;

	for (unsigned i = 0; i < 8; i++) {
		memcpy(&word, (const char *)image + 8 * i, 8);
		hash = mix(hash, word);
	}
	return hash;
}

uint64_t
rio_hash(const struct rio *model)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < model->plan.servers; i++) {
		const struct rio_server *server = &model->servers[i];

		hash = mix(hash, server->kept_hash);
		for (unsigned drive = 0; drive < model->plan.drives; drive++)
			for (unsigned block = 0; block < RIO_BLOCKS; block++)
				hash = mix(hash, server->media[drive][block]);
	}
	for (unsigned i = 0; i < model->plan.streams; i++) {
		const struct rio_stream *stream = &model->streams[i];

		hash = mix(hash, (uint64_t)stream->sequencer.complete << 32 | stream->durable);
		hash = mix(hash, (uint64_t)stream->ended << 32 | stream->gone);
	}
	return hash;
}

/* What its drive has of a block of the volume for good, and whether it was reported. */
static uint32_t
on_medium(const struct rio *model, const struct rio_stream *stream, uint64_t lba, bool *reported)
{
	struct order_extent extent = order_layout_first(&model->layout, lba, 1);
	unsigned server = extent.member->server, drive = extent.member->nsid - 1;

	*reported = stream->reported[server][drive][extent.lba];
	return model->servers[server].media[drive][extent.lba];
}

static void
hold_block(struct rio *model, struct rio_stream *stream, uint64_t lba, uint32_t there)
{
	const struct rio_write *write = &stream->writes[model->writer[lba] % RIO_WRITES];
	bool reported, after = order_above(write->group, there);
	bool same = on_medium(model, stream, lba, &reported) == model->values[lba];

	if (!after && !same)
		rio_violation(model, "something up to the last group that is there is not");
	if (after && same && !write->in_place)
		rio_violation(model, "something after the last group that is there is");
	if (!after)
		return;
	model->writer[lba] = RIO_NONE;
	if (!write->in_place)
		return;
	if (same && !reported)
		rio_violation(model, "what was written in place was not reported");
	if (!same && model->under[lba] != RIO_UNKNOWN && on_medium(model, stream, lba, &reported) != model->under[lba])
		rio_violation(model, "what was written in place is something else");
	model->left[lba].stream = (int8_t)(stream - model->streams);
	model->left[lba].value = model->values[lba];
	model->left[lba].group = write->group;
}

/* Until it is written again its host has to hear of it, or until what is durable is above its group. */
static void
hold_left(struct rio *model, struct rio_stream *stream, uint64_t lba, uint32_t there)
{
	bool reported;
	uint32_t value = on_medium(model, stream, lba, &reported);

	if (!order_above(model->left[lba].group, there))
		model->left[lba].stream = RIO_NONE;
	else if (value == model->left[lba].value && !reported)
		rio_violation(model, "what was written in place before was not reported again");
}

void
rio_hold(struct rio *model, unsigned which, uint32_t there)
{
	struct rio_stream *stream = &model->streams[which];

	if (order_above(stream->durable, there))
		rio_violation(model, "what was told to be durable is not there");
	if (order_above(there, stream->ended))
		rio_violation(model, "a group is there that never ended");
	for (unsigned i = 0; i < stream->joined_count; i++)
		if (!order_after(stream->joined[i].first, there) && order_after(stream->joined[i].last, there))
			rio_violation(model, "of what was merged a part is there");
	for (uint64_t lba = 0; lba < model->layout.blocks * model->layout.count; lba++)
		if (model->writer[lba] != RIO_NONE && model->writer[lba] / RIO_WRITES == (int)which)
			hold_block(model, stream, lba, there);
		else if (model->left[lba].stream == (int)which)
			hold_left(model, stream, lba, there);
	stream->joined_count = 0;
	stream->durable = stream->ended = there;
}

void
rio_hold_all(struct rio *model)
{
	bool reported;

	for (uint64_t lba = 0; lba < model->layout.blocks * model->layout.count; lba++)
		if (model->writer[lba] != RIO_NONE &&
		    on_medium(model, &model->streams[0], lba, &reported) != model->values[lba])
			rio_violation(model, "what is durable is not there");
}

/* ---- a server begins ---- */

static uint32_t
read_log(struct rio *model, struct rio_server *server, struct order_known *known)
{
	const struct order_part part = { server->slots, RIO_SLOTS };
	struct order_scan scan;
	uint32_t count;

	memcpy(server->slots, server->kept, sizeof(server->slots));
	order_scan(&part, &scan);
	if (scan.corrupt)
		rio_violation(model, "the log is corrupt");
	order_log_init(&server->serve.log, server->slots, RIO_SLOTS, server->states, server->words);
	order_log_load(&server->serve.log, &scan);
	for (uint64_t place = scan.next; place < scan.torn_to; place++)
		rio_keep_empty(server, (uint32_t)(place % RIO_SLOTS));
	count = order_known_read(&part, &scan, 0, known);
	order_known_sort(known, count);
	return count;
}

void
rio_begin_server(struct rio *model, struct rio_server *server)
{
	static struct order_known known[RIO_SLOTS];
	static struct order_listed room[RIO_SLOTS];
	uint32_t count = read_log(model, server, known), same;
	struct order_stream read;

	memset(server->requests, 0, sizeof(server->requests));
	memset(server->flush_of, 0, sizeof(server->flush_of));
	server->pending_count = 0;
	order_serve_init(&server->serve);
	for (unsigned i = 0; i < model->plan.streams; i++) {
		/* Of two hosts, each with a stream of that number. */
		order_track_init(&server->serve.log, &server->streams[i].track, i, 5);
		order_serve_stream(&server->streams[i]);
	}
	for (uint32_t at = 0; at < count; at += same) {
		same = order_known_same(&known[at], count - at);
		order_stream_read(&known[at], same, rio_keeps, model, room, &read);
		if (read.lost != NULL)
			rio_violation(model, read.lost);
		if (read.owner >= model->plan.streams || read.stream != 5)
			rio_violation(model, "there is a stream of nobody");
		else
			order_track_adopt(&server->serve.log, &server->streams[read.owner].track, &known[at], same, 0);
	}
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
lose_commit(struct rio *model, struct rio_server *server)
{
	unsigned how = (unsigned)rng_below(&model->rng, 4);

	if (!server->serve.log.taken && !rio_take(server))
		return;
	for (uint64_t place = server->commit.from; place < server->commit.to; place++) {
		unsigned whole = (unsigned)rng_below(&model->rng, 3);

		if (how < 2)
			rio_keep_entry(server, place, how == 1 ? 0xff : 0);
		else
			rio_keep_entry(server, place, whole == 0 ? 0xff : (unsigned)rng_below(&model->rng, 256));
	}
	for (uint32_t i = 0; i < server->commit.word_count; i++)
		if (comes(model, how))
			rio_keep_word(server, server->commit_words[i]);
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
	struct rio_server *at = &model->servers[server];

	lose_way(model, &model->streams[which], server);
	order_serve_stop(&at->serve, &at->streams[which]);
	rio_turn(model, server);
}

void
rio_crash(struct rio *model, unsigned servers, unsigned hosts)
{
	for (unsigned server = 0; server < model->plan.servers; server++) {
		if ((servers >> server & 1) == 0)
			continue;
		lose_commit(model, &model->servers[server]);
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
	struct order_known known[RIO_SLOTS];
	struct order_listed room[RIO_SLOTS];
	uint32_t count;
	struct order_stream stream;
};

static void
look(struct rio *model, unsigned which, unsigned server, struct list_of *list)
{
	struct rio_server *at = &model->servers[server];

	list->stream = (struct order_stream){ 0 };
	list->count = order_track_list(&at->serve.log, &at->streams[which].track, 0, list->known);
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
	struct rio_server *at = &model->servers[server];

	return order_serve_is_still(&at->streams[which]) && at->flush_of[which] == 0;
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

static bool
begin_cut(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];
	struct rio_server *at = &model->servers[server];
	const char *wrong;

	look(model, which, server, &lists[0]);
	for (uint32_t i = 0; i < lists[0].count; i++)
		report(stream, server, &lists[0].known[i], way->cut);
	wrong = order_cut_begin(&way->cutting, &at->serve, &at->streams[which], lists[0].known, lists[0].count,
	    &lists[0].stream.list, way->cut, stream->gone, ORDER_NO_GROUP);
	if (wrong != NULL)
		rio_violation(model, wrong);
	way->last = way->cutting.last;
	way->is = RIO_CUTTING;
	return true;
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
		stream->any_cut = stream->any_cut || stream->gone;
		return true;
	case ORDER_CUT_GOES_ON:
		way->is = RIO_CUT;
		stream->any_cut = stream->any_cut || stream->gone;
		return true;
	}
	return false;
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

	order_sequencer_up(&stream->sequencer, server, way->last, model->servers[server].serve.log.guaranteed);
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
