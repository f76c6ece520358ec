/* Of the model of ordered writes: what hosts do. */
#include <string.h>

#include "order/entry.h"
#include "order/group.h"
#include "order_model_inside.h"

static bool
is_free(const struct rio *model, uint64_t block)
{
	int writer = model->writer[block];
	const struct rio_stream *stream;

	if (writer == RIO_NONE)
		return true;
	stream = &model->streams[writer / RIO_WRITES];
	return !stream->gone && stream->writes[writer % RIO_WRITES].ended &&
	    !order_above(stream->writes[writer % RIO_WRITES].group, stream->durable);
}

/* Blocks that are free from one on, up to as many; those in place are the first eighth of the volume. */
static uint32_t
free_run(const struct rio *model, uint64_t lba, uint32_t most, bool in_place)
{
	uint64_t all = model->layout.blocks * model->layout.count, to = in_place ? all / 8 : all;
	uint32_t run = 0;

	while (run < most && lba + run < to && (in_place || lba >= all / 8) && is_free(model, lba + run))
		run++;
	return run;
}

static uint64_t
choose(struct rio *model, struct rio_stream *stream, bool in_place)
{
	uint64_t all = model->layout.blocks * model->layout.count;

	if (!in_place && rio_chance(model, model->plan.joined) && stream->next < all)
		return stream->next;
	return in_place ? rng_below(&model->rng, all / 8) : all / 8 + rng_below(&model->rng, all - all / 8);
}

static void
note_end(struct rio_stream *stream, uint32_t group)
{
	for (unsigned i = stream->write_count; i-- > 0 && stream->writes[i].group == group;)
		stream->writes[i].ended = true;
	stream->ended = group;
}

static void
note(struct rio *model, unsigned which, uint64_t lba, uint32_t blocks, uint32_t group, unsigned flags)
{
	struct rio_stream *stream = &model->streams[which];
	unsigned at = stream->write_count++;

	stream->writes[at] = (struct rio_write){
		.group = group, .in_place = (flags & ORDER_IN_PLACE) != 0,
	};
	stream->next = lba + blocks;
	for (uint32_t i = 0; i < blocks; i++) {
		model->under[lba + i] = model->writer[lba + i] != RIO_NONE ? model->values[lba + i] : RIO_UNKNOWN;
		model->left[lba + i].stream = RIO_NONE;
		model->writer[lba + i] = (int16_t)(which * RIO_WRITES + at);
		model->values[lba + i] = stream->data[at][i];
	}
	if ((flags & ORDER_END) != 0)
		note_end(stream, group);
}

static bool
submit(struct rio *model, unsigned which, unsigned flags)
{
	struct rio_stream *stream = &model->streams[which];
	unsigned at = stream->write_count;
	uint32_t blocks, group;
	uint64_t lba;

	if (stream->gone || at == RIO_WRITES)
		return false;
	lba = choose(model, stream, (flags & ORDER_IN_PLACE) != 0);
	blocks = 1 + (uint32_t)rng_below(&model->rng, RIO_RUN);
	/* Half of them to where a stripe ends: next to what comes there, and not split. */
	if (rio_chance(model, 50) && blocks > model->layout.stripe - lba % model->layout.stripe)
		blocks = model->layout.stripe - (uint32_t)(lba % model->layout.stripe);
	blocks = free_run(model, lba, blocks, (flags & ORDER_IN_PLACE) != 0);
	if (blocks == 0)
		return false;
	/* No two writes are the same, also not of those that nobody tells of any more. */
	model->serial++;
	for (uint32_t i = 0; i < RIO_RUN; i++)
		stream->data[at][i] = model->serial * RIO_RUN + i;
	if (order_sequencer_submit(&stream->sequencer, lba, blocks, stream->data[at], flags, &group) != ORDER_TAKEN) {
		model->refused++;
		return false;
	}
	note(model, which, lba, blocks, group, flags);
	return true;
}

/* Without another write. */
static bool
end_group(struct rio *model, unsigned which, unsigned flags)
{
	struct rio_stream *stream = &model->streams[which];

	if (stream->gone || stream->sequencer.in_group == 0)
		return false;
	note_end(stream, stream->sequencer.group);
	order_sequencer_end(&stream->sequencer, flags);
	return true;
}

bool
rio_submit_something(struct rio *model, unsigned which)
{
	unsigned flags = rio_chance(model, model->plan.in_place) ? ORDER_IN_PLACE : 0;

	if (model->no_more || rio_chance(model, 30))
		return false;
	if (rio_chance(model, model->plan.group_end))
		flags |= ORDER_END | (rio_chance(model, model->plan.durable) ? ORDER_DURABLE : 0);
	return submit(model, which, flags) || (rio_chance(model, 10) && end_group(model, which, flags));
}

static void
fill_message(struct rio_message *message, struct order_item *item)
{
	const uint32_t *data;
	uint32_t at = 0;

	*message = (struct rio_message){
		.item = item, .attribute = item->attribute, .lba = item->lba, .blocks = item->blocks_in_all,
		.nsid = item->member->nsid,
	};
	for (const struct order_item *one = item; one != NULL; one = one->more) {
		data = (const uint32_t *)(const void *)one->data;
		for (uint32_t i = 0; i < one->blocks; i++)
			message->values[at++] = data[i];
	}
}

static void
count_kinds(struct rio_stream *stream, const struct order_attribute *attribute)
{
	stream->merged += (attribute->flags & ORDER_ENTRY_MERGED) != 0;
	stream->split += (attribute->flags & ORDER_ENTRY_SPLIT) != 0;
	if (attribute->first != attribute->last && stream->joined_count < RIO_WRITES) {
		stream->joined[stream->joined_count].first = attribute->first;
		stream->joined[stream->joined_count++].last = attribute->last;
	}
}

bool
rio_send(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];
	struct order_item *item;

	if (way->is != RIO_GOES || way->in_flight >= model->plan.depth)
		return false;
	item = order_sequencer_next(&stream->sequencer, server);
	if (item == NULL)
		return false;
	fill_message(&way->wire[(way->wire_from + way->wire_count++) % RIO_WIRE], item);
	way->in_flight++;
	count_kinds(stream, &item->attribute);
	return true;
}

void
rio_look_at_ends(struct rio *model, unsigned which)
{
	struct rio_stream *stream = &model->streams[which];
	const struct order_sequencer *sequencer = &stream->sequencer;

	if (order_after(stream->durable, sequencer->durable))
		rio_violation(model, "what is durable goes back");
	if (order_above(sequencer->durable, sequencer->complete))
		rio_violation(model, "durable and not complete");
	stream->durable = sequencer->durable;
}

bool
rio_get_back(struct rio *model, unsigned which, unsigned server)
{
	struct rio_stream *stream = &model->streams[which];
	struct rio_way *way = &stream->ways[server];
	struct rio_answer answer;

	if (way->is != RIO_GOES || way->back_count == 0)
		return false;
	answer = way->back[way->back_from];
	way->back_from = (way->back_from + 1) % RIO_WIRE;
	way->back_count--;
	way->in_flight--;
	if (answer.outcome != ORDER_DONE) {
		rio_lose(model, which, server);
		return true;
	}
	if (!order_sequencer_answered(&stream->sequencer, answer.item, answer.left))
		rio_violation(model, "a flush was answered before what is before it");
	rio_look_at_ends(model, which);
	return true;
}

bool
rio_tell_floor(struct rio *model, unsigned which, unsigned server)
{
	struct rio_way *way = rio_way_of(model, which, server);

	if (way->is != RIO_GOES || way->floor_told || rio_chance(model, 80))
		return false;
	way->floor_told = order_sequencer_floor(&model->streams[which].sequencer, server, &way->floor);
	return way->floor_told;
}

/* ---- to its end ---- */

void
rio_forget(struct rio *model, unsigned which)
{
	struct rio_stream *stream = &model->streams[which];

	if (stream->gone || stream->sequencer.durable != stream->sequencer.ended || stream->sequencer.in_group > 0)
		return;
	for (unsigned i = 0; i < RIO_ALL; i++)
		if (model->writer[i] != RIO_NONE && model->writer[i] / RIO_WRITES == (int)which)
			model->writer[i] = RIO_NONE;
	stream->write_count = stream->joined_count = 0;
}

static bool
is_done(struct rio *model)
{
	for (unsigned i = 0; i < model->plan.streams; i++) {
		struct rio_stream *stream = &model->streams[i];
		uint32_t group;

		if (stream->gone || stream->sequencer.in_group > 0)
			return false;
		if (stream->sequencer.durable != stream->sequencer.ended) {
			order_sequencer_flush(&stream->sequencer, &group);
			return false;
		}
	}
	return true;
}

void
rio_finish(struct rio *model)
{
	enum { STEPS = 20000 };

	model->no_more = true;
	for (unsigned i = 0; i < STEPS && model->violation == NULL; i++) {
		rio_step(model);
		for (unsigned which = 0; which < model->plan.streams; which++)
			end_group(model, which, 0);
		if (is_done(model)) {
			rio_hold_all(model);
			model->no_more = false;
			return;
		}
	}
	rio_violation(model, "it never ends");
}
