/*
 * fuzz_profile.c - any bytes as a profile of a drive: refused in words and by line, or read, and then it comes out of
 * its own printing as the same drive, and can be laid out at its smallest.
 */
#include <assert.h>
#include <string.h>

#include "conf_bench.h"
#include "flash/geometry.h"
#include "fuzz.h"
#include "profile_bench.h"

static void
accepted(struct arena *arena, const struct flash_profile *profile)
{
	struct flash_profile again;
	struct flash_geometry g;
	char why[FLASH_WHY];

	profile_of(profile_text(arena, profile), &again);
	assert(flash_profile_hash(&again) == flash_profile_hash(profile));
	assert(flash_geometry_init(&g, profile, flash_geometry_smallest(profile), why) == 0);
	assert(g.units > 0 && (uint64_t)flash_die_units(&g) * g.dies <= FLASH_PLACES_MAX);
	if (flash_geometry_init(&g, profile, UINT64_C(64) << 30, why) == 0)
		assert((uint64_t)g.blocks * g.block_units * g.dies <= FLASH_PLACES_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flash_profile profile;
	struct conf_errors errors;
	struct arena arena;

	arena_init(&arena, 0);
	if (flash_profile_read(&arena, (const char *)data, size, &errors, &profile) == 0)
		accepted(&arena, &profile);
	else
		conf_errors_are_sound(&errors, size);
	arena_drop(&arena);
	return 0;
}
