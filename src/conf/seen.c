/*
 * seen.c - what a file has said before, and must not say again.
 *
 * A table by hash, so that a long list costs no more for each of its entries than a short one.  Whose words they are,
 * and what is wrong with saying them twice, is not known here.
 */
#include <string.h>

#include "conf/internal.h"

enum { PLACES = 1024 };

struct seen {
	struct said {
		struct said *next;
		const void *bytes;
		size_t length;
	} *places[PLACES];
};

struct seen *
seen_make(struct reader *r)
{
	struct seen *seen = arena_alloc(r->scratch, sizeof(*seen));

	r->no_memory = r->no_memory || seen == NULL;
	return seen;
}

static struct said **
place_of(struct seen *seen, const uint8_t *bytes, size_t length)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 16777619;
	return &seen->places[hash % PLACES];
}

bool
seen_before(struct reader *r, struct seen *seen, const void *bytes, size_t length)
{
	struct said **place = place_of(seen, bytes, length), *said;

	for (said = *place; said != NULL; said = said->next)
		if (said->length == length && memcmp(said->bytes, bytes, length) == 0)
			return true;
	said = arena_alloc(r->scratch, sizeof(*said));
	if (said == NULL) {
		r->no_memory = true;
		return false;
	}
	*said = (struct said){ *place, bytes, length };
	*place = said;
	return false;
}
