/*
 * mail.c - messages between the reactors of the process.
 *
 * A ring from each to each.  What does not fit waits in the sender's outbox,
 * and all that follows for the same receiver waits behind it, so that the
 * order is kept.  A process that is attended has inboxes instead (inbox.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "rt/internal.h"

struct letter {
	struct fifo_node node;
	struct mail mail;
};

/* What memory was taken for at the start: of mail that memory is not found for when it is to be kept, so much is
 * kept. */
struct letters {
	struct letter list[MAIL_SPARE];
	struct fifo free;
};

struct outbox {
	struct fifo waiting;
	uint32_t count;
	bool posted; /* in this turn */
};

static struct ring *
ring_between(const struct core *from, const struct core *to)
{
	return &from->rt->rings[from->reactor.index * from->rt->ringed + to->reactor.index];
}

int
mail_open(struct rt *rt)
{
	size_t rings = (size_t)rt->count * rt->count, each = MAIL_SLOTS * sizeof(struct mail);
	uint8_t *slots;

	rt->rings = arena_alloc_aligned(&rt->arena, rings * sizeof(*rt->rings), 64);
	/* One block, so that it is fresh pages of which only what is used is touched. */
	slots = arena_alloc_aligned(&rt->arena, rings * each, 64);
	if (rt->rings == NULL || slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rings; i++)
		ring_init(&rt->rings[i], slots + i * each, MAIL_SLOTS, sizeof(struct mail));
	for (unsigned i = 0; i < rt->count; i++) {
		struct core *core = rt->cores[i];

		core->outbox = arena_alloc(&core->arena, rt->count * sizeof(*core->outbox));
		core->letters = arena_alloc_raw(&core->arena, sizeof(*core->letters));
		if (core->outbox == NULL || core->letters == NULL)
			return -ENOMEM;
		fifo_init(&core->letters->free);
		for (unsigned n = 0; n < MAIL_SPARE; n++)
			fifo_push(&core->letters->free, &core->letters->list[n].node);
		for (unsigned to = 0; to < rt->count; to++)
			fifo_init(&core->outbox[to].waiting);
	}
	rt->ringed = rt->count;
	return 0;
}

static struct letter *
letter_take(struct core *core)
{
	struct letter *letter = arena_alloc(&core->arena, sizeof(*letter));
	struct fifo_node *spare = letter == NULL ? fifo_pop(&core->letters->free) : NULL;

	return spare != NULL ? container_of(spare, struct letter, node) : letter;
}

static void
letter_give(struct core *core, struct letter *letter)
{
	if (letter >= core->letters->list && letter < core->letters->list + MAIL_SPARE)
		fifo_push(&core->letters->free, &letter->node);
	else
		arena_free(&core->arena, letter);
}

/* Mail cannot be lost and the sender cannot wait: where it cannot be kept, our own sums were wrong. */
void
mail_lost(struct core *core)
{
	core->reactor.world->log(&core->reactor, 0, "mail between reactors cannot be kept");
	abort();
}

static void
keep(struct core *core, struct outbox *box, const struct mail *mail)
{
	struct letter *letter = NULL;

	if (box->count < RT_MAIL_MAX)
		letter = letter_take(core);
	if (letter == NULL)
		mail_lost(core);
	letter->mail = *mail;
	fifo_push(&box->waiting, &letter->node);
	box->count++;
	core->outbox_busy = true;
}

void
world_post(struct reactor *reactor, unsigned to, const struct mail *mail)
{
	struct core *core = core_of(reactor);
	struct mail stamped = *mail;
	struct outbox *box;

	assert(to < reactor->count);
	stamped.from = (uint16_t)reactor->index;
	if (core->rt->inboxes != NULL) {
		inbox_post(core, to, &stamped);
		return;
	}
	box = &core->outbox[to];
	box->posted = true;
	core->posted = true;
	if (box->count > 0 || !ring_put(ring_between(core, core->rt->cores[to]), &stamped))
		keep(core, box, &stamped);
}

/* True if something still waits. */
static bool
flush_one(struct core *core, struct core *to, struct outbox *box)
{
	while (box->count > 0) {
		struct letter *first = container_of(box->waiting.head, struct letter, node);

		if (!ring_put(ring_between(core, to), &first->mail))
			break;
		fifo_pop(&box->waiting);
		letter_give(core, first);
		box->count--;
		box->posted = true;
	}
	if (box->posted && to != core)
		core->reactor.syscalls += waker_call(&to->waker);
	box->posted = false;
	return box->count > 0;
}

void
mail_flush(struct core *core)
{
	if (!core->posted && !core->outbox_busy)
		return;
	core->posted = core->outbox_busy = false;
	for (unsigned i = 0; i < core->rt->ringed; i++)
		core->outbox_busy |= flush_one(core, core->rt->cores[i], &core->outbox[i]);
}

/* No more than a ring holds, so that two who answer each other do not hold the turn. */
static void
empty_rings(struct core *core)
{
	for (unsigned i = 0; i < core->rt->ringed; i++) {
		struct ring *ring = ring_between(core->rt->cores[i], core);
		struct mail mail;

		for (int left = MAIL_SLOTS; left > 0 && ring_take(ring, &mail); left--) {
			core->moved++;
			core->reactor.on_mail(&core->reactor, &mail);
		}
	}
}

void
mail_deliver(struct core *core)
{
	if (core->rt->ringed > 0)
		empty_rings(core);
	else if (flag_is_set(&core->called))
		inbox_empty(core);
}

bool
mail_waiting(const struct core *core)
{
	for (unsigned i = 0; i < core->rt->ringed; i++)
		if (ring_has(ring_between(core->rt->cores[i], core)))
			return true;
	return flag_is_set(&core->called);
}

size_t
rt_mail_bytes(unsigned reactors)
{
	return reactors * (sizeof(struct ring) + MAIL_SLOTS * sizeof(struct mail) + sizeof(struct outbox)) +
	    sizeof(struct letters);
}
