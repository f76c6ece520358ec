/*
 * history_states.c - the states of a block: what may come of each, and which an answer leaves.
 */
#include "trial/history_block.h"

#include <assert.h>
#include <string.h>

/* How a state was reached while an answer is explained: it was one before; it is the first on its way from which the
 * answer can have come, or cannot have come yet. */
enum { STARTS = 1, FIRST = 2, NOT_YET = 4 };

/*
 * Whether all that can come of `s` can come of `t`, too, but for what they hold.  What nobody will hear of need not
 * have happened: it may happen as late as one likes.
 */
static bool
says_as_much(const struct block *b, const struct state *t, const struct state *s)
{
	if ((t->happened & ~s->happened) != 0 || (s->happened & ~t->happened & ~b->unknown) != 0 ||
	    (s->survivors & ~t->survivors) != 0)
		return false;
	for (unsigned slot = 0; slot < HISTORY_PENDING_MAX; slot++)
		if ((s->seen[slot] & ~t->seen[slot]) != 0)
			return false;
	return true;
}

static void
append(struct states *set, const struct state *state, unsigned flags)
{
	if (set->count == STATES_MAX) {
		set->too_many = true;
		return;
	}
	set->flags[set->count] = (uint8_t)flags;
	set->at[set->count++] = *state;
}

void
states_add(const struct block *b, struct states *set, const struct state *state)
{
	for (unsigned i = 0; i < set->count; i++)
		if (set->at[i].holds == state->holds && says_as_much(b, &set->at[i], state))
			return;
	append(set, state, 0);
}

/* On the way to an answer that neither can have given it does not matter what they hold, unless something compares. */
static void
add_not_yet(const struct block *b, struct states *set, const struct state *state)
{
	for (unsigned i = 0; i < set->count; i++)
		if (set->flags[i] & NOT_YET && says_as_much(b, &set->at[i], state))
			return;
	append(set, state, NOT_YET);
}

static bool
swaps(const struct block *b, unsigned slots)
{
	for (; slots != 0; slots &= slots - 1)
		if (b->slots[first_of(slots)].kind == HISTORY_SWAP)
			return true;
	return false;
}

static bool
can_move(const struct block *b, const struct state *s, unsigned slot)
{
	const struct pending *p = &b->slots[slot];

	if (s->happened & bit(slot) && (!p->repeats || s->holds == p->version))
		return false;
	return p->kind == HISTORY_WRITE || version_is(&b->versions[s->holds], p->expected);
}

static struct state
moved(const struct block *b, const struct state *s, unsigned slot)
{
	struct state t = *s;

	t.holds = b->slots[slot].version;
	t.happened |= (uint8_t)bit(slot);
	t.survivors |= bit(t.holds);
	for (unsigned slots = b->looking; slots != 0; slots &= slots - 1)
		t.seen[first_of(slots)] |= bit(t.holds);
	return t;
}

static bool
satisfies(const struct state *s, const struct answer *a)
{
	bool happened = s->happened & bit(a->slot), saw = s->seen[a->slot] & a->sights;

	return (happened || !a->happened) && !(happened && a->did_not) && (saw || !a->looked);
}

/* The answer can have come from this state. */
static void
leave(struct history *h, const struct block *b, const struct answer *a, const struct state *s)
{
	struct state left = *s;

	left.happened &= (uint8_t)~bit(a->slot);
	left.seen[a->slot] = 0;
	states_add(b, &h->left, &left);
}

/* One state's turn: what it says of the answer, and whence one comes from it. */
static void
step(struct history *h, const struct block *b, const struct answer *a, unsigned at, bool order_matters)
{
	struct states *reached = &h->reached;
	struct state s = reached->at[at];
	unsigned flags = reached->flags[at];

	/* Others may go on from there later; what the operation itself does must be done by now. */
	if (flags & (STARTS | FIRST) ||
	    (!(flags & NOT_YET) && b->writing & bit(a->slot) && s.holds == b->slots[a->slot].version))
		leave(h, b, a, &s);
	if (!(flags & NOT_YET) && !a->goes_on)
		return;
	for (unsigned slots = a->movers; slots != 0; slots &= slots - 1) {
		unsigned before = reached->count;
		struct state next;

		if (!can_move(b, &s, first_of(slots)))
			continue;
		next = moved(b, &s, first_of(slots));
		if (!satisfies(&next, a) && !order_matters)
			add_not_yet(b, reached, &next);
		else
			states_add(b, reached, &next);
		if (reached->count > before)
			reached->flags[before] = !satisfies(&next, a) ? NOT_YET : flags & NOT_YET ? FIRST : 0;
	}
}

bool
block_explain(struct history *h, const struct block *b, const struct answer *answer)
{
	bool order_matters = swaps(b, answer->movers);

	h->left.count = h->reached.count = 0;
	h->left.too_many = h->reached.too_many = false;
	for (unsigned i = 0; i < b->state_count; i++)
		append(&h->reached, &b->states[i], satisfies(&b->states[i], answer) ? STARTS : NOT_YET);
	for (unsigned at = 0; at < h->reached.count; at++)
		step(h, b, answer, at, order_matters);
	return !h->left.too_many && !h->reached.too_many;
}

void
block_reach(struct history *h, const struct block *b)
{
	struct states *reached = &h->reached;

	reached->too_many = false;
	reached->count = b->state_count;
	memcpy(reached->at, b->states, b->state_count * sizeof(*b->states));
	for (unsigned at = 0; at < reached->count; at++)
		for (unsigned slots = b->writing; slots != 0; slots &= slots - 1) {
			struct state s = reached->at[at];

			if (can_move(b, &s, first_of(slots))) {
				s = moved(b, &s, first_of(slots));
				states_add(b, reached, &s);
			}
		}
}

void
block_keep(struct history *h, struct block *b)
{
	const struct states *left = &h->left;

	assert(left->count > 0);
	if (left->count > b->state_room) {
		unsigned room = b->state_room;

		while (room < left->count)
			room *= 2;
		arena_free(h->arena, b->states);
		b->states = arena_alloc(h->arena, room * sizeof(*b->states));
		assert(b->states != NULL);
		b->state_room = (uint16_t)room;
	}
	memcpy(b->states, left->at, left->count * sizeof(*b->states));
	b->state_count = (uint16_t)left->count;
	if (left->count > h->most_states)
		h->most_states = left->count;
}

void
block_keep_all(struct history *h, struct block *b)
{
	h->left.count = 0;
	h->left.too_many = false;
	for (unsigned i = 0; i < b->state_count; i++)
		states_add(b, &h->left, &b->states[i]);
	block_keep(h, b);
}

void
block_free_slot(struct history *h, struct block *b, unsigned slot)
{
	uint8_t others = (uint8_t)~bit(slot);

	if (b->writing & bit(slot))
		b->versions[b->slots[slot].version].ended = h->moment;
	b->pending &= others;
	b->writing &= others;
	b->looking &= others;
	if (b->unknown == bit(slot))
		list_remove(&b->node);
	b->unknown &= others;
}

bool
block_durable(struct history *h, struct block *b, uint64_t begun)
{
	uint64_t gone = 0;

	for (uint64_t rest = b->taken; rest != 0; rest &= rest - 1)
		if (b->versions[first_of(rest)].ended < begun)
			gone |= rest & -rest;
	if (gone == 0)
		return true;
	h->left.count = 0;
	h->left.too_many = false;
	for (unsigned i = 0; i < b->state_count; i++) {
		struct state s = b->states[i];

		s.survivors &= ~gone;
		if (!(gone & bit(s.holds)))
			states_add(b, &h->left, &s);
	}
	if (h->left.count == 0)
		return false;
	block_keep(h, b);
	return true;
}

void
block_lose_track(struct history *h, struct block *b)
{
	uint8_t version = block_take_version(h, b, &(struct version){ .kind = VERSION_LOST, .begun = h->moment,
	    .ended = h->moment, .who = NOBODY });
	struct state s = { .holds = version, .happened = b->writing, .survivors = bit(version) };

	for (unsigned slots = b->writing; slots != 0; slots &= slots - 1) {
		b->slots[first_of(slots)].repeats = true;
		s.survivors |= bit(b->slots[first_of(slots)].version);
	}
	for (unsigned slots = b->looking; slots != 0; slots &= slots - 1)
		s.seen[first_of(slots)] = s.survivors;
	h->left.at[0] = s;
	h->left.count = 1;
	block_keep(h, b);
	h->track_lost++;
}
