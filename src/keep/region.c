/*
 * A part in the persistent memory of a drive: what has changed is stored there, a line for each entry and a word for
 * each that persists, and then read, behind which all of it is there (flash/pmr.h).
 */
#include <stddef.h>

#include "keep/keep.h"

struct keep_pmr {
	struct keep keep;
	struct keep_region *region;
	uint32_t at;              /* of the part, in the region */
	struct timer timer;       /* when the processor would go on */
};

static void
done(struct timer *timer)
{
	struct keep_pmr *pmr = container_of(timer, struct keep_pmr, timer);

	pmr->keep.done(&pmr->keep, 0);
}

static bool
commit(struct keep *keep, const struct order_commit *commit)
{
	struct keep_pmr *pmr = container_of(keep, struct keep_pmr, keep);
	struct keep_region *region = pmr->region;
	uint64_t now = keep->reactor->now_ns > region->last_ns ? keep->reactor->now_ns : region->last_ns;

	for (uint64_t at = commit->from; at < commit->to; at++) {
		uint32_t slot = (uint32_t)at & (keep->count - 1);

		now = pmr_store(region->pmr, pmr->at + slot * (uint32_t)sizeof(struct order_image),
		    &keep->slots[slot], sizeof(struct order_image), now);
	}
	for (uint32_t i = 0; i < commit->word_count; i++) {
		uint32_t word = commit->words[i] * (uint32_t)sizeof(struct order_image) +
		    (uint32_t)offsetof(struct order_image, persist);

		now = pmr_store(region->pmr, pmr->at + word, &keep->slots[commit->words[i]].persist,
		    sizeof(le32), now);
	}
	region->last_ns = pmr_fence(region->pmr, now);
	timer_set(&keep->reactor->timers, &pmr->timer, region->last_ns);
	return false;
}

static void
close_region(struct keep *keep)
{
	struct keep_pmr *pmr = container_of(keep, struct keep_pmr, keep);

	timer_clear(&keep->reactor->timers, &pmr->timer);
	arena_free(keep->reactor->arena, pmr);
}

struct keep *
keep_region_open(struct reactor *reactor, struct keep_region *region, const struct order_head *head, uint32_t part)
{
	static const struct keep_ops ops = { commit, close_region, false };
	struct keep_pmr *pmr = arena_alloc(reactor->arena, sizeof(*pmr));

	if (pmr == NULL)
		return NULL;
	pmr->keep = (struct keep){ .ops = &ops, .reactor = reactor, .count = head->slots };
	pmr->region = region;
	pmr->at = (uint32_t)order_part_at(head, part);
	pmr->timer.fire = done;
	return &pmr->keep;
}
