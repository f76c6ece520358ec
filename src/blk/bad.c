#include "blk/bad.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "blk/range.h"
#include "world/reactor.h"

uint64_t
bad_end(const struct bad *bad)
{
	return bad->count > 0 ? bad->parts[bad->count - 1].end : 0;
}

int
bad_grow(struct bad *bad, uint64_t blocks)
{
	uint64_t first = bad_end(bad), end = blocks > 2 * first ? blocks : 2 * first;
	struct bad_part *part = &bad->parts[bad->count];

	if (blocks <= first)
		return 0;
	assert(bad->count < BAD_PARTS);
	end = (end + BAD_PAGE_BLOCKS - 1) / BAD_PAGE_BLOCKS * BAD_PAGE_BLOCKS;
	part->bits = bad->reactor->world->pages_map(bad->reactor, (end - first) / 8, false);
	if (part->bits == NULL)
		return -ENOMEM;
	part->first = first;
	part->end = end;
	bad->count++;
	return 0;
}

int
bad_init(struct bad *bad, struct reactor *reactor, struct range *range, uint64_t blocks)
{
	*bad = (struct bad){ .reactor = reactor, .range = range };
	return bad_grow(bad, blocks);
}

void
bad_fini(struct bad *bad)
{
	for (unsigned i = 0; i < bad->count; i++) {
		struct bad_part *part = &bad->parts[i];

		bad->reactor->world->pages_unmap(bad->reactor, part->bits, (part->end - part->first) / 8);
	}
	bad->count = 0;
}

/* Those that are there never change, so this meets no bad_grow() on another reactor: it stops before the new one. */
static const struct bad_part *
part_of(const struct bad *bad, uint64_t lba)
{
	const struct bad_part *part = bad->parts;

	while (lba >= part->end)
		part++;
	return part;
}

uint64_t bad_room(const struct bad *bad, uint64_t lba) { return part_of(bad, lba)->end; }

/* Atomic: of those who read a block together one may take its doubt away while others look for it. */
static bool
is_marked(const struct bad *bad, uint64_t lba)
{
	const struct bad_part *part = part_of(bad, lba);

	lba -= part->first;
	return __atomic_load_n(&part->bits[lba / 8], __ATOMIC_RELAXED) >> lba % 8 & 1;
}

/* Kept out of bad_any(), which nearly always has its answer without. */
static __attribute__((noinline)) bool
search(const struct bad *bad, uint64_t lba, uint32_t blocks, uint64_t *first)
{
	for (uint64_t end = lba + blocks; lba < end; lba++) {
		if (is_marked(bad, lba)) {
			*first = lba;
			return true;
		}
	}
	return false;
}

bool
bad_any(const struct bad *bad, uint64_t lba, uint32_t blocks, uint64_t *first)
{
	return blocks > 0 && range_is_noted(bad->range, lba, blocks) && search(bad, lba, blocks, first);
}

void
bad_put_bits(uint8_t *bits, uint64_t lba, uint32_t blocks, bool marked)
{
	for (uint64_t end = lba + blocks; lba < end; lba++) {
		uint8_t bit = (uint8_t)(1u << lba % 8), *at = &bits[lba / 8];

		__atomic_store_n(at, marked ? *at | bit : *at & (uint8_t)~bit, __ATOMIC_RELAXED);
	}
}

void
bad_set(struct bad *bad, uint64_t lba, uint32_t blocks, bool marked)
{
	if (marked)
		range_note(bad->range, lba, blocks);
	while (blocks > 0) {
		const struct bad_part *part = part_of(bad, lba);
		uint32_t step = blocks < part->end - lba ? blocks : (uint32_t)(part->end - lba);

		bad_put_bits(part->bits, lba - part->first, step, marked);
		lba += step;
		blocks -= step;
	}
}

const uint8_t *
bad_page(const struct bad *bad, uint64_t page)
{
	const struct bad_part *part = part_of(bad, page * BAD_PAGE_BLOCKS);

	return part->bits + (page * BAD_PAGE_BLOCKS - part->first) / 8;
}
