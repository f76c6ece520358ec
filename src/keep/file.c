/*
 * A part in a file: what has changed is copied and written in runs of whole units of the disk, several at a time, and
 * then synced; if it is one run, which is the usual case, that is one durable write.
 *
 * Entries are copied before anything else can be appended: with their last one, in one unit, the next batch would come
 * to the disk, perhaps whole, and sooner than an entry before it.
 */
#include <assert.h>
#include <errno.h>

#include "keep/keep.h"

enum {
	RUNS = 16,
	RUN_BYTES = 32 * 1024,
	UNIT_MOST = 4096,
};
static_assert(ORDER_BATCH_MAX * sizeof(struct order_image) <= RUN_BYTES - UNIT_MOST, "a batch is in one run");

struct keep_file;

struct run {
	struct file_io io;
	struct iovec iov;
	uint8_t *bytes;       /* RUN_BYTES */
	struct keep_file *keep;
};

struct keep_file {
	struct keep keep;
	struct file *file;
	uint64_t at;          /* of the part, in the file */
	uint32_t unit, units; /* bytes that are written whole, and how many of them the part has */
	uint64_t *dirty;      /* bits by units: to be written yet */
	uint32_t first, last; /* dirty ones are among these */
	struct run runs[RUNS];
	struct file_io sync;
	unsigned under_way;
	bool to_sync;         /* something was written that is not durable yet */
	int error;            /* the first; then nothing is written any more */
};

/* ---- what has changed ---- */

static uint32_t
unit_of(const struct keep_file *file, uint32_t slot)
{
	return slot * (uint32_t)sizeof(struct order_image) / file->unit;
}

static void
set_dirty(struct keep_file *file, uint32_t slot)
{
	uint32_t unit = unit_of(file, slot);

	file->dirty[unit / 64] |= UINT64_C(1) << unit % 64;
	file->first = unit < file->first ? unit : file->first;
	file->last = unit > file->last ? unit : file->last;
}

static bool
is_dirty(const struct keep_file *file, uint32_t unit)
{
	return (file->dirty[unit / 64] >> unit % 64 & 1) != 0;
}

static bool
any_dirty(struct keep_file *file)
{
	while (file->first <= file->last && !is_dirty(file, file->first))
		file->first++;
	return file->first <= file->last;
}

/* ---- it is written ---- */

static void step(struct keep_file *file);

static void
note_error(struct keep_file *file, int64_t result)
{
	if (file->error == 0)
		file->error = (int)result;
}

/* What is left of a run that the world has moved a part of. */
static bool
goes_on(struct keep_file *file, struct run *run)
{
	size_t moved = (size_t)run->io.result;

	if (moved >= run->iov.iov_len || moved == 0 || moved % file->unit != 0)
		return false;
	run->iov.iov_base = (uint8_t *)run->iov.iov_base + moved;
	run->iov.iov_len -= moved;
	run->io.offset += moved;
	file->keep.reactor->world->file_submit(file->file, &run->io);
	return true;
}

static void
written(struct file_io *io)
{
	struct run *run = io->owner;
	struct keep_file *file = run->keep;

	if (io->result < 0)
		note_error(file, io->result);
	else if (goes_on(file, run))
		return;
	else if ((size_t)io->result != run->iov.iov_len)
		note_error(file, -EIO);
	file->under_way--;
	step(file);
}

static void
synced(struct file_io *io)
{
	struct keep_file *file = io->owner;

	if (io->result < 0)
		note_error(file, io->result);
	file->under_way--;
	step(file);
}

/* Dirty units from that one on that lie behind one another; they are not dirty any more. */
static uint32_t
take_units(struct keep_file *file, uint32_t first)
{
	uint32_t most = RUN_BYTES / file->unit, count = 0;

	while (count < most && first + count < file->units && is_dirty(file, first + count)) {
		file->dirty[(first + count) / 64] &= ~(UINT64_C(1) << (first + count) % 64);
		count++;
	}
	return count;
}

static void
write_run(struct keep_file *file, struct run *run, uint32_t unit)
{
	uint64_t from = (uint64_t)unit * file->unit;
	size_t bytes = (size_t)take_units(file, unit) * file->unit;
	bool all = !file->to_sync && !any_dirty(file);

	memcpy(run->bytes, (const uint8_t *)file->keep.slots + from, bytes);
	run->iov = (struct iovec){ run->bytes, bytes };
	run->io = (struct file_io){
		.op = FILE_WRITE, .durable = all, .offset = file->at + from, .iov = &run->iov, .iov_count = 1,
		.done = written, .owner = run,
	};
	file->to_sync = file->to_sync || !all;
	file->under_way++;
	file->keep.reactor->world->file_submit(file->file, &run->io);
}

static void
sync_file(struct keep_file *file)
{
	file->to_sync = false;
	file->sync = (struct file_io){ .op = FILE_SYNC, .done = synced, .owner = file };
	file->under_way++;
	file->keep.reactor->world->file_submit(file->file, &file->sync);
}

/* With runs that are free from that one on. */
static void
write_others(struct keep_file *file, unsigned run)
{
	for (; run < RUNS && any_dirty(file); run++)
		write_run(file, &file->runs[run], file->first);
}

/* A batch is less than a run, and two where the part's end is in it. */
static void
write_first(struct keep_file *file, const struct order_commit *commit)
{
	unsigned runs = 0;

	for (uint64_t at = commit->from; at < commit->to; at++) {
		uint32_t unit = unit_of(file, (uint32_t)at & (file->keep.count - 1));

		if (is_dirty(file, unit))
			write_run(file, &file->runs[runs++], unit);
	}
	write_others(file, runs);
}

/* All of a round is written before the next one is, or before it is synced. */
static void
step(struct keep_file *file)
{
	if (file->under_way > 0)
		return;
	if (file->error != 0) {
		file->keep.done(&file->keep, file->error);
		return;
	}
	if (any_dirty(file)) {
		write_others(file, 0);
		return;
	}
	if (file->to_sync)
		sync_file(file);
	else
		file->keep.done(&file->keep, 0);
}

static bool
commit(struct keep *keep, const struct order_commit *commit)
{
	struct keep_file *file = container_of(keep, struct keep_file, keep);

	assert(file->under_way == 0 && (commit->from < commit->to || commit->word_count > 0));
	file->first = file->units;
	file->last = 0;
	for (uint64_t at = commit->from; at < commit->to; at++)
		set_dirty(file, (uint32_t)at & (keep->count - 1));
	for (uint32_t i = 0; i < commit->word_count; i++)
		set_dirty(file, commit->words[i]);
	/* Once it has failed nothing is written any more; and that is said when the world has come back, not from
	 * inside. */
	if (file->error != 0)
		sync_file(file);
	else
		write_first(file, commit);
	return false;
}

/* ---- it begins and ends ---- */

static void
close_file(struct keep *keep)
{
	struct keep_file *file = container_of(keep, struct keep_file, keep);
	struct arena *arena = keep->reactor->arena;

	assert(file->under_way == 0);
	arena_free(arena, file->runs[0].bytes);
	arena_free(arena, file->dirty);
	arena_free(arena, file);
}

size_t
keep_file_bytes(const struct order_head *head)
{
	uint64_t bytes = (uint64_t)head->slots * sizeof(struct order_image);

	return sizeof(struct keep_file) + arena_takes(RUNS * RUN_BYTES, UNIT_MOST) + bytes / 512 / 8;
}

struct keep *
keep_file_open(struct reactor *reactor, struct file *file, const struct order_head *head, uint32_t part)
{
	static const struct keep_ops ops = { commit, close_file, false };
	struct keep_file *keep = arena_alloc(reactor->arena, sizeof(*keep));
	uint64_t bytes = (uint64_t)head->slots * sizeof(struct order_image);
	uint8_t *runs;

	if (keep == NULL)
		return NULL;
	assert(file->align <= UNIT_MOST);
	keep->keep = (struct keep){ .ops = &ops, .reactor = reactor, .count = head->slots };
	keep->file = file;
	keep->at = order_part_at(head, part);
	keep->unit = file->align > 512 ? file->align : 512;
	keep->units = (uint32_t)(bytes / keep->unit);
	keep->dirty = arena_alloc(reactor->arena, ((size_t)keep->units + 63) / 64 * sizeof(uint64_t));
	runs = arena_alloc_aligned(reactor->arena, (size_t)RUNS * RUN_BYTES, UNIT_MOST);
	if (keep->dirty == NULL || runs == NULL) {
		arena_free(reactor->arena, runs);
		arena_free(reactor->arena, keep->dirty);
		arena_free(reactor->arena, keep);
		return NULL;
	}
	for (unsigned i = 0; i < RUNS; i++) {
		keep->runs[i].bytes = runs + (size_t)i * RUN_BYTES;
		keep->runs[i].keep = keep;
	}
	return &keep->keep;
}
