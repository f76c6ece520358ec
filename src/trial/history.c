#include "trial/history_block.h"

#include <assert.h>

struct history *
history_create(struct arena *arena, uint32_t blocks)
{
	struct history *h = arena_alloc(arena, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->arena = arena;
	h->block_count = blocks;
	h->most_states = 1;
	list_init(&h->unknown);
	h->blocks = arena_alloc(arena, blocks * sizeof(*h->blocks));
	if (h->blocks == NULL) {
		arena_free(arena, h);
		return NULL;
	}
	return h;
}

const char *
history_wrong(const struct history *h)
{
	return h->is_wrong ? h->wrong : NULL;
}

uint64_t
history_track_lost(const struct history *h)
{
	return h->track_lost;
}

uint64_t
history_states(const struct history *h)
{
	return h->most_states;
}

static struct block *
block_at(struct history *h, uint32_t number)
{
	struct block *b = &h->blocks[number];

	assert(number < h->block_count);
	if (b->versions == NULL)
		block_begin(h, b);
	return b;
}

/* ---- operations ---- */

bool
history_has_room(const struct history *h, uint32_t block)
{
	return h->blocks[block].pending != bit(HISTORY_PENDING_MAX) - 1;
}

static bool
writes(enum history_kind kind)
{
	return kind == HISTORY_WRITE || kind == HISTORY_SWAP;
}

void
history_begin(struct history *h, struct history_op *op, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	struct pending *p;

	assert(history_has_room(h, op->block));
	op->slot = first_of(~(uint64_t)b->pending);
	p = &b->slots[op->slot];
	h->moment++;
	*p = (struct pending){ .kind = op->kind, .who = op->who, .value = op->value, .expected = op->expected,
		.begun = h->moment, .begun_ns = now_ns };
	if (writes(op->kind)) {
		p->version = block_take_version(h, b, &(struct version){ .value = op->value, .begun = h->moment,
		    .ended = NEVER, .begun_ns = now_ns, .who = op->who });
		b->writing |= (uint8_t)bit(op->slot);
	}
	b->pending |= (uint8_t)bit(op->slot);
	if (op->kind == HISTORY_WRITE)
		return;
	b->looking |= (uint8_t)bit(op->slot);
	for (unsigned i = 0; i < b->state_count; i++)
		b->states[i].seen[op->slot] = bit(b->states[i].holds);
}

void
history_shake(struct history *h, struct history_op *op)
{
	h->blocks[op->block].slots[op->slot].repeats = true;
}

/* One state, and nothing under way but this: most of the time. */
static bool
is_alone(const struct block *b, const struct history_op *op)
{
	return b->state_count == 1 && b->pending == bit(op->slot);
}

/* What nobody will hear of, and what has happened for sure, is over. */
static void
end_what_happened(struct history *h, struct block *b)
{
	for (unsigned slots = b->unknown; slots != 0; slots &= slots - 1) {
		unsigned slot = first_of(slots);
		bool everywhere = !b->slots[slot].repeats;

		for (unsigned i = 0; i < b->state_count && everywhere; i++)
			everywhere = b->states[i].happened & bit(slot);
		if (!everywhere)
			continue;
		for (unsigned i = 0; i < b->state_count; i++)
			b->states[i].happened &= (uint8_t)~bit(slot);
		block_free_slot(h, b, slot);
	}
}

/* The operation ends so.  False: that cannot be; it has ended nevertheless, and nothing is known of the block. */
static bool
conclude(struct history *h, struct block *b, const struct answer *answer, struct claim claim, uint64_t now_ns)
{
	bool told = block_explain(h, b, answer), right = !told || h->left.count > 0;

	h->moment++;
	if (!right)
		history_complain(h, b, answer->slot, claim, now_ns);
	if (told && right)
		block_keep(h, b);
	if (answer->happened)
		b->versions[b->slots[answer->slot].version].done = true;
	block_free_slot(h, b, answer->slot);
	if (!told || !right)
		block_lose_track(h, b);
	if (b->unknown != 0)
		end_what_happened(h, b);
	return right;
}

/* It has seen one of these, and written nothing. */
static struct answer
has_seen(const struct block *b, const struct history_op *op, uint64_t sights)
{
	bool swaps = op->kind == HISTORY_SWAP, once = swaps && !b->slots[op->slot].repeats;

	return (struct answer){ .slot = (uint8_t)op->slot, .looked = true, .did_not = once, .goes_on = swaps && !once,
		.movers = (uint8_t)(once ? b->writing & ~bit(op->slot) : b->writing), .sights = sights };
}

static bool
sees(struct history *h, struct history_op *op, uint64_t value, const char *what, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	struct answer answer;

	if (is_alone(b, op) && !writes(op->kind) && b->versions[b->states[0].holds].kind == VERSION_KNOWN &&
	    b->versions[b->states[0].holds].value == value) {
		h->moment++;
		b->states[0].seen[op->slot] = 0;
		block_free_slot(h, b, op->slot);
		return true;
	}
	answer = has_seen(b, op, block_name(h, b, op->slot, value));
	return conclude(h, b, &answer, (struct claim){ what, value }, now_ns);
}

bool
history_found(struct history *h, struct history_op *op, uint64_t value, uint64_t now_ns)
{
	assert(op->kind != HISTORY_WRITE);
	return sees(h, op, value, op->kind == HISTORY_READ ? "read" : "compared with", now_ns);
}

/* The one write there is was done: the block holds it. */
static void
done_alone(struct history *h, struct block *b, unsigned slot)
{
	struct state *s = &b->states[0];

	s->holds = b->slots[slot].version;
	s->survivors |= bit(s->holds);
	b->versions[s->holds].done = true;
	h->moment++;
	block_free_slot(h, b, slot);
}

/* It is durable, and what was definitely there before is gone for good: all, where it was alone, and has come last. */
static bool
outlives(struct history *h, struct block *b, const struct pending *p, bool alone, uint64_t now_ns)
{
	if (alone) {
		b->states[0].survivors = bit(p->version);
		return true;
	}
	if (block_durable(h, b, p->begun))
		return true;
	history_complain_lost(h, b, "write", p->who, p->begun_ns, now_ns);
	block_lose_track(h, b);
	return false;
}

bool
history_done(struct history *h, struct history_op *op, bool durable, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	struct pending *p = &b->slots[op->slot];
	struct answer answer = { .slot = (uint8_t)op->slot, .movers = b->writing, .happened = true,
		.goes_on = p->repeats };
	bool alone;

	if (op->kind == HISTORY_COMPARE)
		return sees(h, op, op->expected, "found as it expected", now_ns);
	assert(writes(op->kind));
	alone = is_alone(b, op) && op->kind == HISTORY_WRITE && b->states[0].happened == 0;
	if (alone)
		done_alone(h, b, op->slot);
	else if (!conclude(h, b, &answer, (struct claim){ "found and replaced", op->expected }, now_ns))
		return false;
	return !durable || outlives(h, b, p, alone, now_ns);
}

bool
history_differs(struct history *h, struct history_op *op, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	struct answer answer = has_seen(b, op, block_others(b, op->expected));

	assert(op->kind == HISTORY_SWAP || op->kind == HISTORY_COMPARE);
	return conclude(h, b, &answer, (struct claim){ "found something else than", op->expected }, now_ns);
}

static bool
may_have_seen(struct history *h, const struct block *b, const struct history_op *op, uint64_t sights)
{
	struct answer answer = has_seen(b, op, sights);

	return !block_explain(h, b, &answer) || h->left.count > 0;
}

bool
history_may_differ(struct history *h, const struct history_op *op)
{
	const struct block *b = block_at(h, op->block);

	return may_have_seen(h, b, op, block_others(b, op->expected));
}

bool
history_may_find(struct history *h, const struct history_op *op, uint64_t value)
{
	const struct block *b = block_at(h, op->block);

	return may_have_seen(h, b, op, block_with(b, value));
}

bool
history_had_no_effect(struct history *h, struct history_op *op, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	bool may = writes(op->kind) && b->slots[op->slot].repeats;
	struct answer answer = { .slot = (uint8_t)op->slot, .did_not = !may, .goes_on = may,
		.movers = may ? b->writing : 0 };

	return conclude(h, b, &answer, (struct claim){ "failed to write", op->value }, now_ns);
}

void
history_unknown(struct history *h, struct history_op *op, uint64_t now_ns)
{
	struct block *b = block_at(h, op->block);
	uint8_t slot = (uint8_t)bit(op->slot);

	if (!writes(op->kind)) {
		bool right = history_had_no_effect(h, op, now_ns);

		assert(right);
		return;
	}
	if (b->unknown == 0)
		list_push(&h->unknown, &b->node);
	b->unknown |= slot;
	b->looking &= (uint8_t)~slot;
	for (unsigned i = 0; i < b->state_count; i++)
		b->states[i].seen[op->slot] = 0;
	block_keep_all(h, b);
	end_what_happened(h, b);
}

void
history_settled(struct history *h, uint32_t who)
{
	list_for_each(&h->unknown, node) {
		struct block *b = container_of(node, struct block, node);

		for (unsigned slots = b->unknown; slots != 0; slots &= slots - 1) {
			struct answer answer = { .slot = (uint8_t)first_of(slots), .movers = b->writing,
				.goes_on = true };

			if (b->slots[answer.slot].who == who && b->unknown & bit(answer.slot))
				conclude(h, b, &answer, (struct claim){ "settled", 0 }, 0);
		}
	}
}

/* ---- what lasts ---- */

void
history_flush_begin(struct history *h, struct history_flush *flush, uint32_t who, uint64_t now_ns)
{
	*flush = (struct history_flush){ .who = who, .begun_ns = now_ns, .begun = ++h->moment, .after = h->lost };
}

bool
history_flush_done(struct history *h, const struct history_flush *flush, bool shaken, uint64_t now_ns)
{
	bool right = true;

	h->moment++;
	/* Usually nothing was lost since, and each block is told when it matters. */
	if (!shaken && flush->after == h->lost) {
		if (flush->begun > h->flushed)
			h->flushed = flush->begun;
		return true;
	}
	for (uint32_t i = 0; i < h->block_count; i++) {
		struct block *b = &h->blocks[i];

		if (block_durable(h, b, block_covered(b, flush->after, flush->begun, shaken ? flush : NULL)))
			continue;
		history_complain_lost(h, b, "Flush", flush->who, flush->begun_ns, now_ns);
		block_lose_track(h, b);
		right = false;
	}
	return right;
}

/* All that may be true becomes the only states, each as `become` makes it; `version` is its. */
static void
happens(struct history *h, struct block *b, uint8_t version,
    void (*become)(struct history *, const struct block *, const struct state *, uint8_t version))
{
	block_reach(h, b);
	h->left.count = 0;
	h->left.too_many = false;
	for (unsigned i = 0; i < h->reached.count; i++)
		become(h, b, &h->reached.at[i], version);
	if (h->reached.too_many || h->left.too_many)
		block_lose_track(h, b);
	else
		block_keep(h, b);
	if (b->unknown != 0)
		end_what_happened(h, b);
}

/* The version is there now, and all that look may see it. */
static void
put(struct history *h, const struct block *b, struct state s, uint8_t version)
{
	s.holds = version;
	s.survivors |= bit(version);
	for (unsigned slots = b->looking; slots != 0; slots &= slots - 1)
		s.seen[first_of(slots)] |= bit(version);
	states_add(b, &h->left, &s);
}

static void
survive(struct history *h, const struct block *b, const struct state *s, uint8_t version)
{
	(void)version;
	for (uint64_t rest = s->survivors; rest != 0; rest &= rest - 1) {
		struct state t = *s;

		t.survivors = 0;
		put(h, b, t, (uint8_t)first_of(rest));
	}
}

static void
wipe(struct history *h, const struct block *b, const struct state *s, uint8_t version)
{
	struct state t = *s;

	t.survivors = 0;
	put(h, b, t, version);
}

static void
corrupt(struct history *h, const struct block *b, const struct state *s, uint8_t version)
{
	put(h, b, *s, version);
}

void
history_power_lost(struct history *h, uint64_t now_ns)
{
	h->moment++;
	for (uint32_t i = 0; i < h->block_count; i++) {
		struct block *b = &h->blocks[i];
		bool left;

		if (b->versions == NULL)
			continue;
		left = block_durable(h, b, block_covered(b, h->lost, h->flushed, NULL));
		assert(left);
		b->kept = block_spoken_of(b);
		happens(h, b, 0, survive);
	}
	h->lost = h->moment;
	h->lost_ns = now_ns;
}

void
history_unsynced(struct history *h, uint32_t block)
{
	struct block *b = &h->blocks[block];
	bool left;

	if (b->versions == NULL)
		return;
	left = block_durable(h, b, block_covered(b, h->lost, h->flushed, NULL)); /* what was flushed is there */
	assert(left);
	b->unsynced = ++h->moment;
}

/* A version that no operation has written. */
static uint8_t
appears(struct history *h, struct block *b, enum version_kind kind)
{
	h->moment++;
	return block_take_version(h, b, &(struct version){ .kind = kind, .value = HISTORY_ZEROS, .who = NOBODY,
	    .begun = h->moment, .ended = h->moment });
}

void
history_wiped(struct history *h, uint64_t now_ns)
{
	for (uint32_t i = 0; i < h->block_count; i++) {
		struct block *b = &h->blocks[i];

		if (b->versions != NULL)
			happens(h, b, appears(h, b, VERSION_KNOWN), wipe);
	}
	h->lost = ++h->moment;
	h->lost_ns = now_ns;
}

void
history_corrupted(struct history *h, uint32_t block)
{
	struct block *b = block_at(h, block);

	happens(h, b, appears(h, b, VERSION_ANY), corrupt);
}
