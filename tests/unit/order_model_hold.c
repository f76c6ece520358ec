/* Of the model of ordered writes: what is there, and whether that is what was promised. */
#include <string.h>

#include "order/group.h"
#include "order_model_inside.h"

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

		for (unsigned part = 0; part < model->plan.parts; part++)
			hash = mix(hash, server->parts[part].kept_hash);
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
