#include "trace/working_set.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"
#include "trace/sketch.h"

/* An offset has 18 bits within its piece, and 46 that say which piece it is. */
enum { PAGE_BITS = 12, PIECE_PAGES = 64, PIECE_BITS = 18, FIRST = 64 };

static_assert(1 << PAGE_BITS == WORKING_SET_PAGE && PIECE_PAGES << PAGE_BITS == 1 << PIECE_BITS, "bits of an offset");

/* A piece, with a bit for each of its pages that was touched; none: the place is free. */
struct place {
	uint64_t piece; /* volume and number */
	uint64_t pages;
};

struct working_set {
	struct arena *arena;
	uint64_t *room;
	struct place *table;    /* open addressing; NULL: there is a sketch instead */
	uint64_t places, used;  /* places: a power of two */
	uint64_t pages;         /* touched, while they are in the table */
	struct sketch *sketch;
};

struct working_set *
working_set_create(struct arena *arena, uint64_t *room)
{
	struct working_set *set = arena_alloc(arena, sizeof(*set));

	if (set == NULL)
		return NULL;
	set->arena = arena;
	set->room = room;
	return set;
}

/* ---- the table ---- */

/* Where a page of a volume is remembered. */
static uint64_t
piece_of(uint32_t volume, uint64_t page)
{
	return (uint64_t)volume << (64 - PIECE_BITS) | page / PIECE_PAGES;
}

static struct place *
find(struct place *table, uint64_t places, uint64_t piece)
{
	uint64_t at = sketch_hash(piece) & (places - 1);

	while (table[at].pages != 0 && table[at].piece != piece)
		at = (at + 1) & (places - 1);
	return &table[at];
}

static void
drop_table(struct working_set *set)
{
	arena_free(set->arena, set->table);
	*set->room += set->places;
	set->table = NULL;
	set->places = 0;
}

void
working_set_destroy(struct working_set *set)
{
	if (set == NULL)
		return;
	drop_table(set);
	arena_free(set->arena, set->sketch);
	arena_free(set->arena, set);
}

/* False: there is no room for that. */
static bool
grow(struct working_set *set)
{
	uint64_t places = set->places > 0 ? 2 * set->places : FIRST;
	struct place *table;

	if (places - set->places > *set->room)
		return false;
	table = arena_alloc(set->arena, places * sizeof(*table));
	if (table == NULL)
		return false;
	for (uint64_t i = 0; i < set->places; i++)
		if (set->table[i].pages != 0)
			*find(table, places, set->table[i].piece) = set->table[i];
	*set->room -= places;
	drop_table(set);
	set->table = table;
	set->places = places;
	return true;
}

/* ---- the sketch ---- */

static void
sketch_pages(struct sketch *sketch, uint64_t piece, uint64_t pages)
{
	uint64_t hash = sketch_hash(piece);

	for (; pages != 0; pages &= pages - 1)
		sketch_add(sketch, sketch_hash(hash + (uint64_t)__builtin_ctzll(pages) * 0x9e3779b97f4a7c15u));
}

/* What was in the table is in a sketch now. */
static int
give_up(struct working_set *set)
{
	set->sketch = arena_alloc(set->arena, sizeof(*set->sketch));
	if (set->sketch == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < set->places; i++)
		sketch_pages(set->sketch, set->table[i].piece, set->table[i].pages);
	drop_table(set);
	return 0;
}

/* ---- requests ---- */

static int
touch(struct working_set *set, uint64_t piece, uint64_t pages)
{
	struct place *place;
	int rc = 0;

	if (set->sketch == NULL && set->used >= set->places / 4 * 3 && !grow(set))
		rc = give_up(set);
	if (rc < 0)
		return rc;
	if (set->sketch != NULL) {
		sketch_pages(set->sketch, piece, pages);
		return 0;
	}
	place = find(set->table, set->places, piece);
	set->used += place->pages == 0;
	set->pages += (uint64_t)__builtin_popcountll(pages & ~place->pages);
	place->piece = piece;
	place->pages |= pages;
	return 0;
}

/* Pages `first` to `last` of a piece. */
static uint64_t
bits(unsigned first, unsigned last)
{
	return UINT64_MAX >> (PIECE_PAGES - 1 - (last - first)) << first;
}

int
working_set_add(struct working_set *set, const struct trace_request *request)
{
	uint64_t first = request->offset >> PAGE_BITS, last = (trace_request_end(request) - 1) >> PAGE_BITS;
	int rc = 0;

	assert(request->bytes > 0 && request->volume < WORKING_SET_VOLUMES);
	while (first <= last && rc == 0) {
		uint64_t end = first / PIECE_PAGES * PIECE_PAGES + PIECE_PAGES - 1;
		unsigned from = (unsigned)(first % PIECE_PAGES);
		unsigned to = (unsigned)((last < end ? last : end) % PIECE_PAGES);

		rc = touch(set, piece_of(request->volume, first), bits(from, to));
		first = end + 1;
	}
	return rc;
}

void
working_set_expect(const struct working_set *set, const struct trace_request *request)
{
	uint64_t piece = piece_of(request->volume, request->offset >> PAGE_BITS);

	if (set->places > 0)
		__builtin_prefetch(&set->table[sketch_hash(piece) & (set->places - 1)], 1);
}

uint64_t
working_set_bytes(const struct working_set *set)
{
	uint64_t pages = set->sketch != NULL ? (uint64_t)(sketch_count(set->sketch) + 0.5) : set->pages;

	return pages * WORKING_SET_PAGE;
}

bool
working_set_is_exact(const struct working_set *set)
{
	return set->sketch == NULL;
}
