/*
 * history_versions.c - the versions of a block: which there are, which are forgotten, and what is found in place of one
 * that is not known.
 */
#include "trial/history_block.h"

#include <assert.h>
#include <string.h>

bool
version_is(const struct version *v, uint64_t value)
{
	switch (v->kind) {
	case VERSION_KNOWN:
		return v->value == value;
	case VERSION_OLD:
		return value != HISTORY_GARBAGE;
	case VERSION_ANY:
	case VERSION_LOST:
		break;
	}
	return true;
}

uint64_t
block_with(const struct block *b, uint64_t value)
{
	uint64_t found = 0;

	for (uint64_t rest = b->taken; rest != 0; rest &= rest - 1)
		if (version_is(&b->versions[first_of(rest)], value))
			found |= rest & -rest;
	return found;
}

uint64_t
block_others(const struct block *b, uint64_t value)
{
	uint64_t found = 0;

	for (uint64_t rest = b->taken; rest != 0; rest &= rest - 1) {
		const struct version *v = &b->versions[first_of(rest)];

		if (v->kind != VERSION_KNOWN || v->value != value)
			found |= rest & -rest;
	}
	return found;
}

void
block_begin(struct history *h, struct block *b)
{
	b->versions = arena_alloc(h->arena, VERSIONS_FIRST * sizeof(*b->versions));
	b->states = arena_alloc(h->arena, STATES_FIRST * sizeof(*b->states));
	assert(b->versions != NULL && b->states != NULL);
	b->version_room = VERSIONS_FIRST;
	b->state_room = STATES_FIRST;
	b->versions[0] = (struct version){ .value = HISTORY_ZEROS, .who = NOBODY };
	b->taken = 1;
	b->states[0].survivors = 1;
	b->state_count = 1;
	list_init(&b->node);
}

uint64_t
block_spoken_of(const struct block *b)
{
	uint64_t set = 0;

	for (unsigned slots = b->writing; slots != 0; slots &= slots - 1)
		set |= bit(b->slots[first_of(slots)].version);
	for (unsigned i = 0; i < b->state_count; i++) {
		const struct state *s = &b->states[i];

		set |= bit(s->holds) | s->survivors;
		for (unsigned slots = b->looking; slots != 0; slots &= slots - 1)
			set |= s->seen[first_of(slots)];
	}
	return set;
}

static uint64_t
replaced(uint64_t set, uint64_t old, uint64_t by)
{
	return set & old ? (set & ~old) | by : set;
}

static struct state
renamed(const struct state *s, uint64_t old, unsigned number)
{
	struct state t = *s;

	if (old & bit(s->holds))
		t.holds = (uint8_t)number;
	t.survivors = replaced(s->survivors, old, bit(number));
	for (unsigned slot = 0; slot < HISTORY_PENDING_MAX; slot++)
		t.seen[slot] = replaced(s->seen[slot], old, bit(number));
	return t;
}

/* The versions of `old` are one from here on, of which only is known that it was written by them. */
static void
forget(struct history *h, struct block *b, uint64_t old)
{
	unsigned number = first_of(old);
	struct version one = { .kind = VERSION_OLD, .begun = h->moment, .who = NOBODY };

	for (uint64_t rest = old; rest != 0; rest &= rest - 1) {
		const struct version *v = &b->versions[first_of(rest)];

		if (v->kind == VERSION_ANY || v->kind == VERSION_LOST)
			one.kind = VERSION_LOST;
		if (v->ended > one.ended)
			one.ended = v->ended;
	}
	b->versions[number] = one;
	for (unsigned i = 0; i < b->state_count; i++)
		b->states[i] = renamed(&b->states[i], old, number);
	b->taken = (b->taken & ~old) | bit(number);
	block_keep_all(h, b);
}

/* The `count` that ended first, of those that have. */
static uint64_t
oldest(const struct block *b, unsigned count)
{
	uint64_t set = 0;

	while (count-- > 0) {
		uint64_t next = 0, ended = NEVER;

		for (uint64_t rest = b->taken & ~set; rest != 0; rest &= rest - 1)
			if (b->versions[first_of(rest)].ended < ended) {
				next = rest & -rest;
				ended = b->versions[first_of(rest)].ended;
			}
		set |= next;
	}
	return set;
}

static void
grow_versions(struct history *h, struct block *b)
{
	size_t bytes = b->version_room * sizeof(*b->versions);
	struct version *versions = arena_alloc(h->arena, 2 * bytes);

	assert(versions != NULL);
	memcpy(versions, b->versions, bytes);
	arena_free(h->arena, b->versions);
	b->versions = versions;
	b->version_room = (uint8_t)(2 * b->version_room);
}

/* Makes room for versions: of those that nothing speaks of; else there is more of it; else the oldest are forgotten. */
static void
collect(struct history *h, struct block *b)
{
	bool left = block_durable(h, b, block_covered(b, h->lost, h->flushed, NULL));

	assert(left);
	b->taken = block_spoken_of(b) | b->kept;
	if (__builtin_popcountll(b->taken) <= b->version_room / 2)
		return;
	if (b->version_room < VERSIONS_MAX) {
		grow_versions(h, b);
		return;
	}
	b->kept = 0;
	b->taken = block_spoken_of(b);
	if (__builtin_popcountll(b->taken) > VERSIONS_MAX * 3 / 4)
		forget(h, b, oldest(b, VERSIONS_MAX / 2));
}

uint8_t
block_take_version(struct history *h, struct block *b, const struct version *version)
{
	uint64_t all = b->version_room == VERSIONS_MAX ? ~(uint64_t)0 : bit(b->version_room) - 1;
	unsigned number;

	if ((~b->taken & all) == 0)
		collect(h, b);
	number = first_of(~b->taken);
	b->taken |= bit(number);
	b->versions[number] = *version;
	return (uint8_t)number;
}

uint64_t
block_covered(const struct block *b, uint64_t after, uint64_t before, const struct history_flush *own)
{
	uint64_t latest = 0;

	if (after < b->unsynced)
		after = b->unsynced;
	for (uint64_t rest = b->taken; rest != 0; rest &= rest - 1) {
		const struct version *v = &b->versions[first_of(rest)];

		if (v->done && v->begun > after && v->ended < before && v->begun > latest &&
		    (own == NULL || (v->who == own->who && v->begun_ns >= own->came_ns)))
			latest = v->begun;
	}
	return latest;
}

/*
 * Versions with this value: known ones, and those of `unknown`, which may have it and are one each.  That is also what
 * one that stands for many is to those who began when it did so already, unless another of them came back since.
 */
static uint64_t
with_value(const struct history *h, const struct block *b, const struct pending *who, uint64_t value, uint64_t *unknown)
{
	uint64_t known = 0;

	*unknown = 0;
	for (uint64_t rest = b->taken; rest != 0; rest &= rest - 1) {
		const struct version *v = &b->versions[first_of(rest)];
		bool is_one = v->kind == VERSION_ANY ||
		    (v->kind != VERSION_KNOWN && v->begun < who->begun && h->lost < who->begun);

		if (version_is(v, value))
			*(is_one ? unknown : &known) |= rest & -rest;
	}
	return known;
}

/* The state in which this unknown version is the one that is called `number`. */
static struct state
named(const struct block *b, const struct state *s, unsigned slot, unsigned unknown, unsigned number)
{
	struct state t = renamed(s, bit(unknown), number);

	if (b->versions[unknown].kind == VERSION_ANY)
		return t;
	/* It stands for others as well, whom those may have seen who looked before, and who may come back. */
	t.survivors |= s->survivors;
	for (unsigned other = 0; other < HISTORY_PENDING_MAX; other++)
		if (other != slot)
			t.seen[other] |= s->seen[other];
	return t;
}

uint64_t
block_name(struct history *h, struct block *b, unsigned slot, uint64_t value)
{
	struct version name = { .value = value, .who = NOBODY };
	uint64_t unknown, known = with_value(h, b, &b->slots[slot], value, &unknown);
	uint8_t number;

	if (unknown == 0)
		return known;
	for (uint64_t rest = unknown; rest != 0; rest &= rest - 1)
		if (b->versions[first_of(rest)].ended > name.ended)
			name.ended = b->versions[first_of(rest)].ended;
	number = block_take_version(h, b, &name);
	known = with_value(h, b, &b->slots[slot], value, &unknown); /* making room may have changed them */
	h->left.count = 0;
	h->left.too_many = false;
	for (unsigned i = 0; i < b->state_count; i++) {
		states_add(b, &h->left, &b->states[i]);
		for (uint64_t rest = unknown & b->states[i].seen[slot]; rest != 0; rest &= rest - 1) {
			struct state s = named(b, &b->states[i], slot, first_of(rest), number);

			states_add(b, &h->left, &s);
		}
	}
	if (h->left.too_many) {
		block_lose_track(h, b);
		return with_value(h, b, &b->slots[slot], value, &unknown);
	}
	block_keep(h, b);
	return known;
}
