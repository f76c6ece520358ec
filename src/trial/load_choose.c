/*
 * load_choose.c - what a work of the load does next: the operation by the plan's shares, the volume, the blocks.
 *
 * Ranges of all works of all hosts overlap on purpose; what a volume has grown by is used as soon as the host knows of
 * it, and now and then an I/O reaches over the end.  Two operations have terms
 * of their own.  Deallocating an unreadable block leaves it as it is, so
 * deallocating and making unreadable keep to a half of the volume each.  And what
 * a Copy takes must be certain: where it might not be, there is none.
 */
#include <assert.h>

#include "trial/internal.h"

enum { THROWS = 1024, RANGE_TRIES = 4, OVER_END = 64, COMPARE_WRITE_MAX = TARGET_FUSED_MAX / TRIAL_BLOCK };

static const struct choice {
	enum knob share;
	enum lane_op op;
	bool fua;
} choices[] = {
	{ KNOB_READ, LANE_READ, false },
	{ KNOB_WRITE, LANE_WRITE, false },
	{ KNOB_WRITE_FUA, LANE_WRITE, true },
	{ KNOB_FLUSH, LANE_FLUSH, false },
	{ KNOB_ZEROES, LANE_WRITE_ZEROES, false },
	{ KNOB_DEALLOCATE, LANE_DEALLOCATE, false },
	{ KNOB_COPY, LANE_COPY, false },
	{ KNOB_VERIFY, LANE_VERIFY, false },
	{ KNOB_COMPARE, LANE_COMPARE, false },
	{ KNOB_COMPARE_AND_WRITE, LANE_COMPARE_AND_WRITE, false },
	{ KNOB_UNCORRECTABLE, LANE_WRITE_UNCORRECTABLE, false },
};

/* Any of those that were found; NULL: none is. */
static struct volume *
choose_volume(struct work *work)
{
	const struct user *user = work->user;
	uint32_t found = work->seat->found, count = (uint32_t)trial_knob(user->trial, KNOB_VOLUMES);
	uint32_t from = count > 1 ? (uint32_t)rng_below(&work->user->rng, count) : 0;

	if (found == 0)
		return NULL;
	if (found >> from != 0)
		from += (uint32_t)__builtin_ctz(found >> from);
	else
		from = (uint32_t)__builtin_ctz(found);
	return &work->seat->served->volumes[from];
}

/* A Copy goes from a source whose content is certain: nothing of this host, or of an earlier life of it, may still be
 * written there, and what was written stays there. */
static bool
may_copy(const struct work *work)
{
	const struct seat *seat = work->seat;

	return !seat->adrift && !seat->served->unsettled[seat->user->index].waits &&
	    !(seat->copying >> work->volume->index & 1) && !(work->volume->in_ram && seat->user->targets_forget);
}

static void
choose_op(struct work *work)
{
	struct user *user = work->user;
	const struct choice *choice = &choices[user->dice[rng_next(&user->rng) % THROWS]];

	work->op = (uint8_t)choice->op;
	work->fua = choice->fua;
	if (work->op == LANE_WRITE_ZEROES)
		work->fua = rng_below(&user->rng, 4) == 0;
	if (work->op == LANE_COPY && !may_copy(work))
		work->op = LANE_READ;
	if (work->op == LANE_DEALLOCATE && work->volume->blocks < 2)
		work->op = LANE_WRITE_ZEROES;
}

/* Few of them are large: each power of two is as likely as the next. */
static uint32_t
choose_count(struct rng *rng, uint32_t most)
{
	unsigned bits = most > 1 ? 32 - (unsigned)__builtin_clz(most) : 1;

	return most > 1 ? 1 + (uint32_t)rng_below(rng, most >> rng_below(rng, bits)) : 1;
}

/* So many blocks at most, and where they lie. */
static void
choose_range(struct work *work, uint32_t most)
{
	struct rng *rng = &work->user->rng;
	uint32_t end = (uint32_t)(seat_blocks(work->seat, work->volume) - volume_base(work->volume));
	uint32_t half = work->volume->blocks / 2, from = 0, blocks = end;

	if (work->op == LANE_WRITE_UNCORRECTABLE)
		from = half;
	else if (work->op == LANE_DEALLOCATE)
		blocks = half;
	blocks -= from;
	if (work->op == LANE_COMPARE_AND_WRITE)
		most = most / 2 < COMPARE_WRITE_MAX ? most / 2 : COMPARE_WRITE_MAX;
	if (most > blocks)
		most = blocks;
	work->count = choose_count(rng, most);
	work->first = from + (uint32_t)rng_below(rng, blocks - work->count + 1);
	if (work->op != LANE_DEALLOCATE && rng_below(rng, OVER_END) == 0)
		work->first = end - (uint32_t)rng_below(rng, work->count);
}

static bool
has_room(const struct work *work)
{
	for (uint32_t i = 0; i < work->count; i++)
		if (!history_has_room(work->volume->history, work->first + i))
			return false;
	return true;
}

/* False: too much is under way wherever it looked. */
static bool
choose(struct work *work)
{
	uint32_t most = (uint32_t)trial_knob(work->user->trial, KNOB_IO_BLOCKS);

	choose_op(work);
	for (unsigned tries = 0; tries < RANGE_TRIES; tries++) {
		choose_range(work, tries == 0 ? most : 1);
		if (work->op == LANE_FLUSH || has_room(work))
			return true;
	}
	return false;
}

/* The next block that nobody has read back; false: there is none at this target.  One of which too much may still
 * happen can be anything. */
static bool
choose_read_back(struct work *work)
{
	struct served *served = work->seat->served;

	if (work->unread)
		return true;
	work->op = LANE_READ;
	work->fua = false;
	work->count = 1;
	for (unsigned i = 0; i < trial_knob(work->user->trial, KNOB_VOLUMES); i++) {
		work->volume = &served->volumes[i];
		while (work->seat->found >> i & 1 && work->volume->read_next < volume_served(work->volume)) {
			work->first = work->volume->read_next++;
			work->unread = has_room(work);
			if (work->unread)
				return true;
			load_has_read_back(work->volume);
		}
	}
	return false;
}

bool
load_choose(struct work *work)
{
	if (work->copy == COPY_READY)
		return has_room(work);
	if (work->user->trial->reading_back)
		return choose_read_back(work);
	work->volume = choose_volume(work);
	if (work->volume == NULL || !choose(work))
		return false;
	work->value = work->volume->next_value;
	work->volume->next_value += work->count;
	if (work->op == LANE_COPY) {
		work->copy = COPY_CHOSEN;
		work->seat->copying |= UINT32_C(1) << work->volume->index;
	}
	return true;
}

/* ---- the dice ---- */

/* For each throw of the dice a choice, as often as its share says. */
static const uint8_t *
make_dice(struct trial *trial)
{
	uint8_t *dice = arena_alloc(&trial->arena, THROWS);
	uint64_t sum = 0, done_sum = 0;
	uint32_t at = 0;

	assert(dice != NULL);
	for (unsigned i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		sum += trial_knob(trial, choices[i].share);
	for (unsigned i = 0; sum > 0 && i < sizeof(choices) / sizeof(choices[0]); i++) {
		done_sum += trial_knob(trial, choices[i].share);
		while (at < THROWS * done_sum / sum)
			dice[at++] = (uint8_t)i;
	}
	return dice;
}

static bool
targets_forget(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->fault_count; i++)
		if (plan->faults[i].kind == FAULT_TARGET_KILLED || plan->faults[i].kind == FAULT_TARGET_POWER)
			return true;
	return false;
}

void
load_choices_init(struct user *user)
{
	user->dice = make_dice(user->trial);
	user->targets_forget = targets_forget(user->trial->plan);
}
