/* pmr.c - what is on its way stands in a ring, in the order it was stored; all else is in the caller's memory. */
#include "flash/pmr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/rng.h"

/* What one store has in one line. */
struct pmr_post {
	uint64_t lasts_ns; /* a fence that went behind it is back then; UINT64_MAX: none did */
	uint32_t at;
	uint32_t bytes;    /* 0: it was lost */
	uint8_t data[PMR_LINE];
};

struct pmr {
	struct arena *arena;
	uint8_t *memory;
	uint32_t bytes, line_ns;
	uint64_t free_ns;            /* when all that was stored has left the processor */
	uint64_t first, fenced, end; /* of those on their way; before `fenced` a fence went behind them */
	struct rng rng;
	struct pmr_post posts[PMR_POSTED];
};

int
pmr_create(struct arena *arena, const struct pmr_options *options, struct pmr **made)
{
	struct pmr *pmr = arena_alloc(arena, sizeof(*pmr));

	if (pmr == NULL)
		return -ENOMEM;
	assert(options->bytes > 0 && options->bytes % PMR_LINE == 0);
	pmr->arena = arena;
	pmr->memory = options->memory;
	pmr->bytes = options->bytes;
	pmr->line_ns = (PMR_LINE * 1000 + options->link_mb_s - 1) / options->link_mb_s;
	rng_seed(&pmr->rng, options->seed);
	*made = pmr;
	return 0;
}

static struct pmr_post *
post_of(struct pmr *pmr, uint64_t number)
{
	return &pmr->posts[number % PMR_POSTED];
}

static void
arrive(struct pmr *pmr)
{
	const struct pmr_post *post = post_of(pmr, pmr->first);

	memcpy(pmr->memory + post->at, post->data, post->bytes);
	if (pmr->fenced == pmr->first++)
		pmr->fenced = pmr->first;
}

void
pmr_destroy(struct pmr *pmr)
{
	if (pmr == NULL)
		return;
	while (pmr->first != pmr->end)
		arrive(pmr);
	arena_free(pmr->arena, pmr);
}

uint32_t pmr_bytes(const struct pmr *pmr) { return pmr->bytes; }

/* Whatever a fence is back for has arrived. */
static void
settle(struct pmr *pmr, uint64_t now_ns)
{
	while (pmr->first != pmr->fenced && post_of(pmr, pmr->first)->lasts_ns <= now_ns)
		arrive(pmr);
}

static void
post_add(struct pmr *pmr, uint32_t at, const uint8_t *from, uint32_t bytes)
{
	struct pmr_post *post;

	if (pmr->end - pmr->first == PMR_POSTED)
		arrive(pmr);
	post = post_of(pmr, pmr->end++);
	post->lasts_ns = UINT64_MAX;
	post->at = at;
	post->bytes = bytes;
	memcpy(post->data, from, bytes);
}

static bool
lies_within(const struct pmr *pmr, uint32_t at, uint32_t bytes)
{
	return at <= pmr->bytes && bytes <= pmr->bytes - at;
}

/* What comes now follows what has not left yet. */
static void
leave_after(struct pmr *pmr, uint64_t now_ns)
{
	if (pmr->free_ns < now_ns)
		pmr->free_ns = now_ns;
}

uint64_t
pmr_store(struct pmr *pmr, uint32_t at, const void *from, uint32_t bytes, uint64_t now_ns)
{
	const uint8_t *next = from;

	assert(lies_within(pmr, at, bytes));
	settle(pmr, now_ns);
	leave_after(pmr, now_ns);
	while (bytes > 0) {
		uint32_t room = PMR_LINE - at % PMR_LINE, part = bytes < room ? bytes : room;

		post_add(pmr, at, next, part);
		at += part;
		next += part;
		bytes -= part;
		pmr->free_ns += pmr->line_ns;
	}
	return pmr->free_ns;
}

uint64_t
pmr_fence(struct pmr *pmr, uint64_t now_ns)
{
	settle(pmr, now_ns);
	leave_after(pmr, now_ns);
	while (pmr->fenced != pmr->end)
		post_of(pmr, pmr->fenced++)->lasts_ns = pmr->free_ns + PMR_ROUND_TRIP_NS;
	return pmr->free_ns + PMR_ROUND_TRIP_NS;
}

/* The part of the post that lies in what is read. */
static void
overlay(const struct pmr_post *post, uint32_t at, uint8_t *to, uint32_t bytes)
{
	uint32_t from = post->at > at ? post->at : at;
	uint32_t post_end = post->at + post->bytes, end = post_end < at + bytes ? post_end : at + bytes;

	if (from < end)
		memcpy(to + (from - at), post->data + (from - post->at), end - from);
}

uint64_t
pmr_load(struct pmr *pmr, uint32_t at, void *to, uint32_t bytes, uint64_t now_ns)
{
	uint64_t lines = (at + bytes - 1) / PMR_LINE - at / PMR_LINE + 1, first_ns;

	assert(bytes > 0 && lies_within(pmr, at, bytes));
	first_ns = pmr_fence(pmr, now_ns);
	memcpy(to, pmr->memory + at, bytes);
	for (uint64_t i = pmr->first; i != pmr->end; i++)
		overlay(post_of(pmr, i), at, to, bytes);
	return first_ns + (lines - 1) * PMR_ROUND_TRIP_NS;
}

/* ---- the power ---- */

/* It did not arrive, so nothing did that was stored to its line behind it. */
static void
lose(struct pmr *pmr, uint64_t number)
{
	uint32_t line = post_of(pmr, number)->at / PMR_LINE;

	for (uint64_t i = number; i != pmr->end; i++)
		if (post_of(pmr, i)->at / PMR_LINE == line)
			post_of(pmr, i)->bytes = 0;
}

void
pmr_cut(struct pmr *pmr, uint64_t now_ns)
{
	settle(pmr, now_ns);
	while (pmr->first != pmr->end) {
		if (post_of(pmr, pmr->first)->bytes > 0 && rng_below(&pmr->rng, 2) == 0)
			lose(pmr, pmr->first);
		arrive(pmr);
	}
	pmr->free_ns = 0;
}
