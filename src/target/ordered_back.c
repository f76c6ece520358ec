/*
 * ordered_back.c - what a stream wrote after its cut is taken back: its blocks read as zeros, and that is durable.
 *
 * Zeros are written where they can be deallocated, since what is merely deallocated may still be read on some drives.
 * What of it there is the ask of its cut says, which is lent to this core meanwhile.
 */
#include "target/ordered.h"

static void step(struct ordered_stream *stream);

static void
over(struct ordered_stream *stream)
{
	stream->backing = false;
	ordered_back_done(stream, !stream->back_failed);
}

static void
returned(struct blk_io *io, struct nvme_status status)
{
	struct ordered_io *back = container_of(io, struct ordered_io, io);
	struct ordered_stream *stream = back->stream;

	ordered_returned(back);
	back->stream = NULL;
	if (!nvme_ok(status)) {
		core_log_storage(stream->part->core, "what was written after the last group of stream %u could not be "
		    "taken back: %s", stream->served.track.stream, nvme_status_text(status, false));
		stream->back_failed = !stream->asked->force;
	}
	stream->back_left--;
	step(stream);
}

static struct ordered_io *
free_one(struct ordered_stream *stream)
{
	for (unsigned i = 0; i < ORDERED_BACK_TOGETHER; i++)
		if (stream->back[i].stream == NULL)
			return &stream->back[i];
	return NULL;
}

/* It is to be flushed in the end.  Of those for which there is no room each entry is. */
static void
note_nsid(struct ordered_stream *stream, uint32_t nsid)
{
	uint32_t i = 0;

	while (i < stream->back_nsid_count && stream->back_nsids[i] != nsid)
		i++;
	if (i == ORDER_FLUSHED_MAX)
		stream->back_nsids_more = true;
	else if (i == stream->back_nsid_count)
		stream->back_nsids[stream->back_nsid_count++] = nsid;
}

/* The next entry that is concerned, of which the namespace is answered; 0: there is none. */
static uint32_t
next_entry(struct ordered_stream *stream, struct blk_io *io)
{
	const struct ordered_ask *ask = stream->asked;

	while (stream->back_next < ask->count) {
		const struct order_known *known = &ask->known[stream->back_next++];

		if (!order_is_taken_back(known, stream->cut.after))
			continue;
		*io = (struct blk_io){
			.op = stream->back_flushes ? BLK_FLUSH : BLK_WRITE_ZEROES, .lba = known->entry.lba,
			.flags = stream->back_flushes ? 0 : BLK_DEALLOCATE, .blocks = known->entry.blocks,
		};
		note_nsid(stream, known->entry.nsid);
		return known->entry.nsid;
	}
	return 0;
}

static uint32_t
next_flush(struct ordered_stream *stream, struct blk_io *io)
{
	if (stream->back_nsids_more)
		return next_entry(stream, io);
	*io = (struct blk_io){ .op = BLK_FLUSH };
	return stream->back_next < stream->back_nsid_count ? stream->back_nsids[stream->back_next++] : 0;
}

/* Its owner could not write there now. */
static bool
is_held_back(const struct core *core, const struct order_owner *as, const struct view_ns *ns)
{
	const struct resv *resv = core->resv[volume_slot(ns->volume)];

	return (ns->gate & GATE_PROTECT) != 0 ||
	    (resv != NULL && (resv_access(resv, as->host_id) & RESV_WRITE) == 0);
}

/* Where the blocks are not there any more, or somebody has them who may keep others out, they stay as they are: with
 * the operator's word, or it fails. */
static bool
begin(struct ordered_stream *stream, struct ordered_io *io, uint32_t nsid)
{
	const struct core *core = stream->part->core;
	const struct view_ns *ns = ordered_ns(core->view, stream->as, nsid);
	const struct order_entry blocks = { .lba = io->io.lba, .blocks = io->io.blocks };

	if (ns != NULL && (io->io.op == BLK_FLUSH ||
	    (ordered_is_in(ns, &blocks) && !is_held_back(core, stream->as, ns))))
		return ordered_submit(stream, io, nsid, returned);
	stream->back_failed = !stream->asked->force;
	return false;
}

static void
step(struct ordered_stream *stream)
{
	struct ordered_io *io;
	uint32_t nsid;

	while (!stream->back_failed && (io = free_one(stream)) != NULL) {
		nsid = stream->back_flushes ? next_flush(stream, &io->io) : next_entry(stream, &io->io);
		if (nsid == 0)
			break;
		stream->back_left += begin(stream, io, nsid);
	}
	if (stream->back_left > 0)
		return;
	if (!stream->back_failed && !stream->back_flushes) {
		stream->back_flushes = true;
		stream->back_next = 0;
		step(stream);
		return;
	}
	over(stream);
}

void
ordered_back(struct ordered_stream *stream)
{
	stream->backing = true;
	stream->back_failed = stream->back_flushes = stream->back_nsids_more = false;
	stream->back_next = stream->back_left = stream->back_nsid_count = 0;
	for (unsigned i = 0; i < ORDERED_BACK_TOGETHER; i++)
		stream->back[i].stream = NULL;
	step(stream);
}
