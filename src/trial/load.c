/*
 * load.c - what a host of a trial does with its lanes: one I/O after another, each told to the history of its volume.
 *
 * A work has one I/O in flight by its lane, and begins the next one when that has
 * ended, perhaps after a rest.  What it does next is load_choose.c's, what is
 * known when that ends load_ends.c's.  What a Copy takes is written just before,
 * durably, to blocks that are this host's alone and lie behind those of the load.
 */
#include <assert.h>
#include <errno.h>

#include "base/bytes.h"
#include "trial/internal.h"

static const uint64_t US = 1000;
/* Rests: until a block has room again; after a failure, since all might be done with at once; and until a volume is
 * found that is to be read back. */
static const uint64_t NO_ROOM_US = 100, FAILED_US = 3000, READ_US = 2000;

/* What an operation is to the history of a block.  A Verify that succeeds compares with "unreadable", and differs. */
static const enum history_kind kinds[LANE_OPS] = {
	[LANE_READ] = HISTORY_READ, [LANE_COMPARE] = HISTORY_COMPARE, [LANE_VERIFY] = HISTORY_COMPARE,
	[LANE_COMPARE_AND_WRITE] = HISTORY_SWAP, [LANE_WRITE] = HISTORY_WRITE, [LANE_WRITE_ZEROES] = HISTORY_WRITE,
	[LANE_DEALLOCATE] = HISTORY_WRITE, [LANE_COPY] = HISTORY_WRITE, [LANE_WRITE_UNCORRECTABLE] = HISTORY_WRITE,
};

static void next(struct work *work);

static void
rest(struct work *work, uint64_t most_us)
{
	struct reactor *reactor = work->lane->reactor;

	timer_set(&reactor->timers, &work->rest,
	    reactor->now_ns + rng_below(&work->user->rng, most_us * US + 1) + 1);
}

static void
rested(struct timer *timer)
{
	next(container_of(timer, struct work, rest));
}

/* ---- data ---- */

/* In one piece or three, whose ends are not those of blocks. */
static uint32_t
cut_up(struct work *work, size_t bytes)
{
	uint64_t dice = rng_next(&work->user->rng);
	size_t first = 1 + (dice >> 8 & 1023), second = bytes / 2 + (dice >> 32 & 511);

	work->iov[0] = (struct iovec){ work->data, bytes };
	if (dice % 4 != 0)
		return 1;
	work->iov[0].iov_len = first;
	work->iov[1] = (struct iovec){ work->data + first, second - first };
	work->iov[2] = (struct iovec){ work->data + second, bytes - second };
	return 3;
}

/* What is not read is seen. */
static void
spoil(uint8_t *data, uint32_t blocks)
{
	for (size_t at = 0; at < (size_t)blocks * TRIAL_BLOCK; at += 512)
		put_le64(data + at, ~(uint64_t)0);
}

/* What is expected of a block: what was there when it was looked at last. */
static uint64_t
expected(const struct work *work, uint32_t i)
{
	uint64_t seen = work->volume->seen[work->first + i];

	return work->op == LANE_VERIFY ? HISTORY_UNREADABLE :
	    seen == HISTORY_UNREADABLE || seen == HISTORY_GARBAGE ? HISTORY_ZEROS : seen;
}

static uint64_t
value(const struct work *work, uint32_t i)
{
	switch ((enum lane_op)work->op) {
	case LANE_WRITE: case LANE_COPY: case LANE_COMPARE_AND_WRITE:
		return work->value + i;
	case LANE_WRITE_UNCORRECTABLE:
		return HISTORY_UNREADABLE;
	case LANE_READ: case LANE_FLUSH: case LANE_WRITE_ZEROES: case LANE_DEALLOCATE: case LANE_COMPARE:
	case LANE_VERIFY: case LANE_OPS:
		break;
	}
	return HISTORY_ZEROS;
}

static void
fill(struct work *work)
{
	uint8_t *at = work->data;

	if (work->op == LANE_COMPARE || work->op == LANE_COMPARE_AND_WRITE)
		for (uint32_t i = 0; i < work->count; i++, at += TRIAL_BLOCK)
			content_fill(at, expected(work, i));
	if (work->op == LANE_COMPARE)
		return;
	for (uint32_t i = 0; i < work->count; i++, at += TRIAL_BLOCK)
		content_fill(at, work->value + i);
}

/* ---- beginning ---- */

static uint64_t
source_lba(const struct work *work)
{
	return (uint64_t)work->user->index * trial_knob(work->user->trial, KNOB_IO_BLOCKS);
}

static void
done(void *arg, const struct lane_result *result)
{
	struct ticket *ticket = arg;
	struct work *work = ticket->work;
	struct user *user = work->user;
	uint64_t pause_us = trial_knob(user->trial, KNOB_PAUSE_US);

	if (!work->busy || ticket != &work->tickets[work->begun % TRIAL_TICKETS] ||
	    work->generation != user->generation) {
		trial_wrong(user->trial, "once", "an I/O of host %u ended twice, with error %d", user->index,
		    result->error);
		return;
	}
	work->busy = false;
	user->in_flight--;
	ills_ended(work, result);
	load_ended(work, result);
	if (result->error != 0 && result->error != -EILSEQ)
		rest(work, FAILED_US);
	else if (pause_us > 0 && work->copy != COPY_READY)
		rest(work, pause_us);
	else
		next(work);
}

void
load_begun(struct work *work, uint64_t now_ns)
{
	struct history *history = work->volume->history;

	if (work->op == LANE_FLUSH) {
		history_flush_begin(history, &work->flush, work->user->index, now_ns);
		work->flush.came_ns = work->user->came_ns;
		return;
	}
	for (uint32_t i = 0; i < work->count; i++) {
		struct history_op *op = &work->ops[i];

		*op = (struct history_op){
			.block = work->first + i, .kind = kinds[work->op], .who = work->user->index,
			.value = value(work, i), .expected = expected(work, i),
		};
		history_begin(history, op, now_ns);
	}
}

/* The blocks that it is about, and its data where it has any: of one direction or the other. */
static void
put_data(struct work *work, struct lane_io *io)
{
	size_t bytes = (size_t)work->count * TRIAL_BLOCK;

	if (work->op == LANE_READ)
		spoil(work->data, work->count);
	else
		fill(work);
	io->iov = work->iov;
	io->iov_count = cut_up(work, work->op == LANE_COMPARE_AND_WRITE ? 2 * bytes : bytes);
}

/* One after another, of any lengths. */
static void
put_ranges(struct work *work, struct lane_io *io, uint64_t lba)
{
	uint32_t left = work->count;

	io->ranges = work->ranges;
	io->blocks = 0;
	while (left > 0) {
		bool last = io->range_count == TRIAL_RANGES - 1;
		uint32_t blocks = last ? left : 1 + (uint32_t)rng_below(&work->user->rng, left);

		work->ranges[io->range_count++] = (struct lane_range){ lba, blocks };
		lba += blocks;
		left -= blocks;
	}
}

static void
make(struct work *work, struct lane_io *io)
{
	*io = (struct lane_io){
		.op = work->op, .flags = work->fua ? LANE_FUA : 0, .nsid = work->volume->nsid, .blocks = work->count,
		.lba = volume_base(work->volume) + work->first,
		.done = done, .arg = &work->tickets[work->begun % TRIAL_TICKETS],
	};
	switch ((enum lane_op)work->op) {
	case LANE_READ: case LANE_WRITE: case LANE_COMPARE: case LANE_COMPARE_AND_WRITE:
		put_data(work, io);
		break;
	case LANE_DEALLOCATE:
		put_ranges(work, io, io->lba);
		break;
	case LANE_COPY:
		if (work->copy == COPY_READY) {
			put_ranges(work, io, source_lba(work));
			break;
		}
		io->op = LANE_WRITE;
		io->flags = LANE_FUA;
		io->lba = source_lba(work);
		put_data(work, io);
		break;
	case LANE_FLUSH:
		io->blocks = 0;
		break;
	case LANE_WRITE_ZEROES:
		io->flags |= work->serial % 2 == 0 ? LANE_UNMAP : 0;
		break;
	case LANE_VERIFY: case LANE_WRITE_UNCORRECTABLE: case LANE_OPS:
		break;
	}
}

/* False: the lane cannot take it now, or does not know the volume yet. */
static bool
submit(struct work *work)
{
	struct user *user = work->user;
	struct lane_io io;

	work->serial = ++user->serial;
	work->begun++;
	make(work, &io);
	if (lane_submit(work->lane->lane, &io) != 0)
		return false;
	work->busy = true;
	work->shaken = false;
	work->generation = user->generation;
	work->begun_ns = work->lane->reactor->now_ns;
	user->in_flight++;
	if (work->op == LANE_COPY)
		work->copy = work->copy == COPY_READY ? COPY_UNDER_WAY : COPY_SOURCE;
	if (work->copy != COPY_SOURCE)
		load_begun(work, work->begun_ns);
	return true;
}

static bool
may_begin(const struct work *work)
{
	const struct user *user = work->user;

	if (!work->lane->up || user->state == USER_LEAVING)
		return false;
	return user->trial->reading_back ? user->reads_back : !user->trial->resting;
}

/* Who cannot go on with a Copy lets others. */
static void
next(struct work *work)
{
	bool begins = may_begin(work);

	if (begins && load_choose(work) && submit(work))
		return;
	load_copied(work);
	if (begins)
		rest(work, work->user->reads_back ? READ_US : NO_ROOM_US);
}

void
load_begin(struct seat_lane *lane)
{
	for (uint32_t i = 0; i < trial_knob(lane->seat->user->trial, KNOB_DEPTH); i++)
		if (!lane->works[i].busy && !lane->works[i].rest.armed)
			next(&lane->works[i]);
}

/* ---- from outside ---- */

void
load_shaken_lane(struct seat_lane *lane)
{
	for (uint32_t i = 0; i < trial_knob(lane->seat->user->trial, KNOB_DEPTH); i++) {
		struct work *work = &lane->works[i];

		if (!work->busy || work->shaken)
			continue;
		work->shaken = true;
		work->shaken_ns = sim_now(work->user->trial->sim);
		/* A Compare and Write is not sent again. */
		if (kinds[work->op] != HISTORY_WRITE || work->op == LANE_FLUSH || work->copy == COPY_SOURCE)
			continue;
		for (uint32_t k = 0; k < work->count; k++)
			history_shake(work->volume->history, &work->ops[k]);
	}
}

void
load_shaken(struct seat *seat)
{
	for (unsigned i = 0; i < trial_knob(seat->user->trial, KNOB_LANES); i++)
		load_shaken_lane(&seat->lanes[i]);
}

void
load_read_back(struct user *user)
{
	user->trial->reading_back = true;
	user->reads_back = true;
}

/* ---- making one ---- */

static void
work_init(struct work *work, struct seat *seat, unsigned lane, size_t blocks)
{
	struct trial *trial = seat->user->trial;

	work->user = seat->user;
	work->seat = seat;
	work->lane = &seat->lanes[lane];
	work->rest.fire = rested;
	for (unsigned i = 0; i < TRIAL_TICKETS; i++)
		work->tickets[i].work = work;
	/* A Compare and Write of a block has two. */
	work->data = arena_alloc_aligned(&trial->arena, (blocks > 1 ? blocks : 2) * TRIAL_BLOCK, TRIAL_BLOCK);
	work->ops = arena_alloc(&trial->arena, blocks * sizeof(*work->ops));
	assert(work->data != NULL && work->ops != NULL);
}

static void
make_seen(struct trial *trial, struct served *served)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];

		if (volume->seen == NULL)
			volume->seen = arena_alloc(&trial->arena, volume->blocks_most * sizeof(*volume->seen));
		assert(volume->seen != NULL);
	}
}

struct work *
load_works_of(const struct seat *seat, unsigned lane)
{
	const struct user *user = seat->user;
	size_t lanes = trial_knob(user->trial, KNOB_LANES), number = (size_t)(seat - user->seats) * lanes + lane;

	return &user->works[number * trial_knob(user->trial, KNOB_DEPTH)];
}

void
load_init(struct user *user)
{
	struct trial *trial = user->trial;
	size_t blocks = trial_knob(trial, KNOB_IO_BLOCKS), depth = trial_knob(trial, KNOB_DEPTH);

	assert(blocks >= 1 && blocks <= TRIAL_IO_BLOCKS_MAX);
	user->work_count = (uint32_t)(trial_knob(trial, KNOB_TARGETS) * trial_knob(trial, KNOB_LANES) * depth);
	user->works = arena_alloc(&trial->arena, user->work_count * sizeof(*user->works));
	assert(user->works != NULL);
	load_choices_init(user);
	for (unsigned t = 0; t < trial_knob(trial, KNOB_TARGETS); t++) {
		struct seat *seat = &user->seats[t];

		make_seen(trial, &trial->targets[t]);
		seat_init(user, t);
		for (unsigned l = 0; l < trial_knob(trial, KNOB_LANES); l++)
			for (size_t i = 0; i < depth; i++)
				work_init(&seat->lanes[l].works[i], seat, l, blocks);
	}
}
