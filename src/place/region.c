/*
 * A part in the persistent memory of a drive: what has changed is stored there, a line for each entry and a word for
 * each that persists, and then read, behind which all of it is there (flash/pmr.h).
 */
#include <stddef.h>

#include "place/place.h"

struct place_pmr {
	struct place place;
	struct place_region *region;
	uint32_t at;              /* of the part, in the region */
	struct timer timer;       /* when the processor would go on */
};

static void
done(struct timer *timer)
{
	struct place_pmr *pmr = container_of(timer, struct place_pmr, timer);

	pmr->place.done(&pmr->place, 0);
}

static bool
commit(struct place *place, const struct order_commit *commit)
{
	struct place_pmr *pmr = container_of(place, struct place_pmr, place);
	struct place_region *region = pmr->region;
	uint64_t now = place->reactor->now_ns > region->last_ns ? place->reactor->now_ns : region->last_ns;

	for (uint64_t at = commit->from; at < commit->to; at++) {
		uint32_t slot = (uint32_t)at & (place->count - 1);

		now = pmr_store(region->pmr, pmr->at + slot * (uint32_t)sizeof(struct order_image),
		    &place->slots[slot], sizeof(struct order_image), now);
	}
	for (uint32_t i = 0; i < commit->word_count; i++) {
		uint32_t word = commit->words[i] * (uint32_t)sizeof(struct order_image) +
		    (uint32_t)offsetof(struct order_image, persist);

		now = pmr_store(region->pmr, pmr->at + word, &place->slots[commit->words[i]].persist,
		    sizeof(le32), now);
	}
	region->last_ns = pmr_fence(region->pmr, now);
	timer_set(&place->reactor->timers, &pmr->timer, region->last_ns);
	return false;
}

static void
close_region(struct place *place)
{
	struct place_pmr *pmr = container_of(place, struct place_pmr, place);

	timer_clear(&place->reactor->timers, &pmr->timer);
	arena_free(place->reactor->arena, pmr);
}

struct place *
place_region_open(struct reactor *reactor, struct place_region *region, const struct order_head *head, uint32_t part)
{
	static const struct place_ops ops = { commit, close_region, false };
	struct place_pmr *pmr = arena_alloc(reactor->arena, sizeof(*pmr));

	if (pmr == NULL)
		return NULL;
	pmr->place = (struct place){ .ops = &ops, .reactor = reactor, .count = head->slots };
	pmr->region = region;
	pmr->at = (uint32_t)order_part_at(head, part);
	pmr->timer.fire = done;
	return &pmr->place;
}
