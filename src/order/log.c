#include "order/log.h"

#include <assert.h>
#include <stddef.h>

#include "order/group.h"
#include "order/log_inside.h"

/* ---- slots ---- */

uint32_t
order_slot_of(const struct order_log *log, uint64_t place)
{
	return (uint32_t)place & (log->count - 1);
}

static uint32_t
first_in(const struct order_log *log, uint32_t slot)
{
	return le32_get(log->slots[slot].first);
}

/* ---- what is needed of a stream: its writes, in the order of groups, and its marks, in that of terms ---- */

static struct order_chain *
chain_of(const struct order_log *log, uint32_t slot)
{
	struct order_track *track = log->states[slot].track;

	return log->is[slot] == ORDER_SLOT_MARK ? &track->marks : &track->writes;
}

/* Of writes that are needed, those that were kept for. */
static uint32_t
spent(const struct order_log *log, const struct order_track *track)
{
	return track->writes.count < log->guaranteed ? track->writes.count : log->guaranteed;
}

uint32_t
order_unspent(const struct order_log *log, const struct order_track *track)
{
	return track->leaving == 0 ? log->guaranteed - spent(log, track) : 0;
}

/* So many more writes of a stream are needed, modulo 2^32. */
static void
count_writes(struct order_log *log, struct order_track *track, uint32_t more)
{
	uint32_t before = spent(log, track);

	track->writes.count += more;
	log->needed += more;
	if (track->leaving == 0)
		log->unspent -= spent(log, track) - before;
}

/* And one more entry, as each write makes one. */
static void
count_one(struct order_log *log, struct order_track *track, bool mark)
{
	if (mark) {
		track->marks.count++;
		log->marks++;
		return;
	}
	log->unspent -= track->writes.count < log->guaranteed && track->leaving == 0;
	track->writes.count++;
	log->needed++;
}

void
order_need(struct order_log *log, struct order_track *track, uint32_t slot, enum order_slot_is is)
{
	struct order_chain *chain = is == ORDER_SLOT_MARK ? &track->marks : &track->writes;

	log->is[slot] = (uint8_t)is;
	log->states[slot] = (struct order_slot){ track, chain->latest, ORDER_NO_SLOT };
	*(chain->latest != ORDER_NO_SLOT ? &log->states[chain->latest].after : &chain->oldest) = slot;
	chain->latest = slot;
	count_one(log, track, is == ORDER_SLOT_MARK);
}

void
order_keep_newest(struct order_log *log, struct order_track *track, uint32_t slot)
{
	log->states[slot].track = track;
	log->is[slot] = ORDER_SLOT_NEWEST;
}

bool
order_keeps_newest(const struct order_log *log, const struct order_track *track)
{
	uint32_t slot = order_slot_of(log, track->newest);

	return log->is[slot] == ORDER_SLOT_NEWEST && log->states[slot].track == track;
}

/* It is in no chain any more.  The newest one still stands for the floor. */
static void
let_go(struct order_log *log, uint32_t slot)
{
	bool newest = order_slot_of(log, log->states[slot].track->newest) == slot;

	log->is[slot] = newest ? ORDER_SLOT_NEWEST : ORDER_SLOT_FREE;
}

static void
need_no_more(struct order_log *log, uint32_t slot)
{
	const struct order_slot *state = &log->states[slot];
	struct order_chain *chain = chain_of(log, slot);

	*(state->before != ORDER_NO_SLOT ? &log->states[state->before].after : &chain->oldest) = state->after;
	*(state->after != ORDER_NO_SLOT ? &log->states[state->after].before : &chain->latest) = state->before;
	if (log->is[slot] == ORDER_SLOT_MARK) {
		state->track->marks.count--;
		log->marks--;
	} else {
		count_writes(log, state->track, -1U);
	}
	let_go(log, slot);
}

/* Its place in that order is that of another slot now. */
static void
need_instead(struct order_log *log, uint32_t slot, uint32_t copy)
{
	const struct order_slot *state = &log->states[slot];
	struct order_chain *chain = chain_of(log, slot);

	log->states[copy] = *state;
	log->is[copy] = log->is[slot];
	*(state->before != ORDER_NO_SLOT ? &log->states[state->before].after : &chain->oldest) = copy;
	*(state->after != ORDER_NO_SLOT ? &log->states[state->after].before : &chain->latest) = copy;
	log->is[slot] = ORDER_SLOT_FREE;
}

/* A mark is for nothing where a later term has taken back as much or more. */
void
order_need_mark(struct order_log *log, struct order_track *track, uint32_t slot)
{
	uint32_t cut = le32_get(log->slots[slot].last);
	bool taking = (le16_get(log->slots[slot].flags) & ORDER_ENTRY_TAKING) != 0;

	while (!taking && track->marks.latest != ORDER_NO_SLOT &&
	    !order_after(cut, le32_get(log->slots[track->marks.latest].last)))
		need_no_more(log, track->marks.latest);
	order_need(log, track, slot, ORDER_SLOT_MARK);
}

static bool
is_below(const struct order_log *log, uint32_t slot, uint32_t floor)
{
	return log->is[slot] == ORDER_SLOT_WRITE && !order_above(first_in(log, slot), floor);
}

/* Nothing is needed that is not after the floor that stands.  Of what is in flight the host cannot say so. */
static void
forget_below(struct order_log *log, struct order_track *track)
{
	struct order_chain *writes = &track->writes;
	uint32_t slot = writes->oldest, gone = 0;

	for (uint32_t after; slot != ORDER_NO_SLOT && is_below(log, slot, track->stands); slot = after, gone++) {
		after = log->states[slot].after;
		let_go(log, slot);
	}
	if (gone == 0)
		return;
	writes->oldest = slot;
	*(slot != ORDER_NO_SLOT ? &log->states[slot].before : &writes->latest) = ORDER_NO_SLOT;
	count_writes(log, track, -gone);
}

static void
forget_after(struct order_log *log, struct order_track *track, uint32_t cut)
{
	for (uint32_t slot = track->writes.latest, before; slot != ORDER_NO_SLOT; slot = before) {
		bool in_place = (le16_get(log->slots[slot].flags) & ORDER_ENTRY_IN_PLACE) != 0;

		before = log->states[slot].before;
		if (!in_place && order_above(le32_get(log->slots[slot].last), cut))
			need_no_more(log, slot);
	}
}

/* ---- appending ---- */

/* Slots, of the log and of a batch, that are not taken by others: or what is needed could not be appended anew, and the
 * end of a full log would stay where it is for ever. */
enum {
	KEPT_BY_WRITES = ORDER_BATCH_MAX / 2,
	KEPT_BY_MARKS = ORDER_BATCH_MAX / 4,
	KEPT_BY_COPIES = 0,
};

static bool
has_slot(const struct order_log *log, uint32_t kept)
{
	return log->next - log->begun < ORDER_BATCH_MAX - kept && log->next - log->tail < log->count - kept;
}

static void
set_newest(struct order_log *log, struct order_track *track, uint64_t place)
{
	if (order_keeps_newest(log, track))
		log->is[order_slot_of(log, track->newest)] = ORDER_SLOT_FREE;
	track->newest = place;
}

/* An entry, as it goes into the next slot; the floor that was told stands with it. */
static uint64_t
put(struct order_log *log, struct order_track *track, struct order_entry *entry)
{
	const struct order_part part = { log->slots, log->count, log->seed };
	uint64_t place = log->next++;

	entry->owner = track->owner;
	entry->stream = track->stream;
	entry->floor = track->floor;
	entry->lap = order_lap_of(&part, place);
	entry->batch = (uint16_t)(place - log->begun);
	order_entry_write(entry, log->seed, &log->slots[order_slot_of(log, place)]);
	set_newest(log, track, place);
	track->stands = track->floor;
	return place;
}

static void
put_mark(struct order_log *log, struct order_track *track)
{
	struct order_entry mark = {
		.first = track->cut, .last = track->cut, .term = track->term,
		.flags = (uint16_t)(ORDER_ENTRY_MARK | (track->taking ? ORDER_ENTRY_TAKING : 0)),
	};

	order_need_mark(log, track, order_slot_of(log, put(log, track, &mark)));
	forget_below(log, track);
}

static uint32_t
room_of(const struct order_log *log)
{
	uint32_t most = log->count - log->count / 4;
	uint32_t used = log->needed + log->marks + log->tracks + log->unspent;

	return used < most ? most - used : 0;
}

uint32_t
order_log_left(const struct order_log *log, const struct order_track *track)
{
	uint32_t has = track->writes.count, kept = order_unspent(log, track), room = room_of(log) + kept;
	/* As many as then are left for others; so it comes to half of what was. */
	uint32_t half = room > has ? (room - has + 1) / 2 : 0;

	return half > kept ? half : kept;
}

bool
order_log_opens(const struct order_log *log)
{
	return room_of(log) > log->guaranteed;
}

bool
order_log_ask(struct order_log *log, struct order_track *track)
{
	if (order_unspent(log, track) == 0 && order_log_left(log, track) == 0) {
		/* Its floor has to stand, or it could have been told in vain. */
		if (track->floor != track->stands && has_slot(log, KEPT_BY_MARKS))
			put_mark(log, track);
		if (order_log_left(log, track) == 0)
			return false;
	}
	return has_slot(log, KEPT_BY_WRITES);
}

bool
order_log_stand(struct order_log *log, struct order_track *track)
{
	if (track->floor == track->stands)
		return true;
	if (!has_slot(log, KEPT_BY_MARKS))
		return false;
	put_mark(log, track);
	return true;
}

uint64_t
order_log_append(struct order_log *log, struct order_track *track, struct order_entry *entry)
{
	bool stood = track->stands == track->floor;
	uint64_t place;

	assert(has_slot(log, KEPT_BY_WRITES));
	entry->term = track->term;
	place = put(log, track, entry);
	order_need(log, track, order_slot_of(log, place), ORDER_SLOT_FLIGHT);
	if (!stood)
		forget_below(log, track);
	return place;
}

uint64_t
order_log_end(struct order_log *log, uint64_t place, bool persists)
{
	uint32_t slot = order_slot_of(log, place);
	struct order_image *image = &log->slots[slot];

	assert(log->is[slot] == ORDER_SLOT_FLIGHT);
	log->is[slot] = ORDER_SLOT_WRITE;
	if (persists) {
		image->persist = image->lap;
		log->words[log->word_count++] = slot;
		log->words_made++;
	}
	/* The oldest of a chain is in flight, or above what stands, whatever was done last: only if this was that one
	 * can anything be forgotten now. */
	if (log->states[slot].before == ORDER_NO_SLOT)
		forget_below(log, log->states[slot].track);
	return log->words_made;
}

void
order_track_hold(struct order_log *log, struct order_track *track, uint32_t floor)
{
	order_track_tell(track, floor);
	/* Not what was told: that may stand nowhere yet. */
	if (order_above(floor, track->stands))
		track->stands = floor;
	forget_below(log, track);
}

bool
order_log_cut(struct order_log *log, struct order_track *track, uint16_t term, uint32_t cut, uint32_t high,
    bool taking)
{
	if (!has_slot(log, KEPT_BY_MARKS))
		return false;
	log->unspent -= order_unspent(log, track);
	track->leaving = 0;
	log->unspent += order_unspent(log, track);
	track->term = term;
	track->cut = cut;
	track->high = high;
	track->taking = taking;
	put_mark(log, track);
	if (!taking)
		forget_after(log, track, cut);
	return true;
}

/* ---- appending anew ---- */

/* The same, with the floor that was told last.  False: it is not as it was written any more, so it stays where it is,
 * and who loads the log next sees that something is lost. */
static bool
put_copy(struct order_log *log, struct order_track *track, uint32_t slot)
{
	struct order_image *copy;
	struct order_entry entry;
	bool persists;
	uint64_t place;

	if (!order_entry_read(&log->slots[slot], log->seed, &entry, &persists))
		return false;
	entry.flags |= ORDER_ENTRY_ANEW;
	place = put(log, track, &entry);
	copy = &log->slots[order_slot_of(log, place)];
	if (persists)
		copy->persist = copy->lap;
	need_instead(log, slot, order_slot_of(log, place));
	forget_below(log, track);
	return true;
}

/* The floor stands in the newest one, and has to go on doing so. */
static bool
is_to_stay(const struct order_track *track, enum order_slot_is is, uint64_t place)
{
	return (track->newest == place && track->leaving != 1) || is == ORDER_SLOT_WRITE ||
	    (is == ORDER_SLOT_MARK && order_above(track->high, track->stands));
}

static void
drop(struct order_log *log, uint32_t slot)
{
	if (log->is[slot] != ORDER_SLOT_NEWEST)
		need_no_more(log, slot);
	log->is[slot] = ORDER_SLOT_FREE;
}

/* With the floor that it has it is not needed; it may be in the way still, of one before it that is. */
static void
put_mark_for(struct order_log *log, struct order_track *track, uint32_t slot)
{
	put_mark(log, track);
	if (log->is[slot] != ORDER_SLOT_FREE)
		drop(log, slot);
}

static bool
keep(struct order_log *log, struct order_track *track, uint32_t slot)
{
	bool copies = log->is[slot] != ORDER_SLOT_NEWEST && !is_below(log, slot, track->floor);
	bool again = track->newest == log->swept && track->leaving > 1;

	if (copies && !put_copy(log, track, slot))
		return false;
	if (!copies)
		put_mark_for(log, track, slot);
	if (again)
		track->leaving = 1;
	return true;
}

/* False: the end of the log stays where it is. */
static bool
sweep_one(struct order_log *log)
{
	uint32_t slot = order_slot_of(log, log->swept);
	enum order_slot_is is = log->is[slot];
	struct order_track *track;

	if (is == ORDER_SLOT_FLIGHT)
		return false;
	if (is == ORDER_SLOT_FREE) {
		log->swept++;
		return true;
	}
	track = log->states[slot].track;
	if (!is_to_stay(track, is, log->swept))
		drop(log, slot);
	else if (!has_slot(log, KEPT_BY_COPIES) || !keep(log, track, slot))
		return false;
	log->swept++;
	return true;
}

void
order_log_sweep(struct order_log *log)
{
	enum { STEPS = 512 };

	/* What is not durable yet, two batches at most, is beyond where it sweeps. */
	_Static_assert(2 * ORDER_BATCH_MAX <= ORDER_SLOTS_LEAST - ORDER_SLOTS_LEAST / 4, "durable when swept");
	for (unsigned steps = 0; steps < STEPS && log->count - (log->next - log->swept) < log->count / 4; steps++)
		if (!sweep_one(log))
			break;
	if (!log->taken && log->begun == log->next)
		log->tail = log->swept;
}

/* ---- commits ---- */

bool
order_log_take(struct order_log *log, struct order_commit *commit)
{
	if (log->taken || (log->begun == log->next && log->word_count == 0))
		return false;
	*commit = (struct order_commit){ log->begun, log->next, log->words, log->word_count };
	log->begun = log->next;
	log->word_count = 0;
	log->words_taken = log->words_made;
	log->swept_taken = log->swept;
	log->taken = true;
	return true;
}

void
order_log_done(struct order_log *log)
{
	assert(log->taken);
	log->taken = false;
	log->durable = log->begun;
	log->words_durable = log->words_taken;
	log->tail = log->swept_taken;
}
