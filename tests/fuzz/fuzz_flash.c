/*
 * fuzz_flash.c - any bytes are refused as a state of a modelled SSD, or are one, which can be written to.
 *
 * The input: changes of a state, 3 bytes each: where, and which byte is there.  The checksum matches.
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "flash/condition.h"

#include "fuzz.h"

enum { HASH = 9, CHANGE = 3, WRITES = 600 };

static const struct flash_geometry geometry = { .units = 2 * 96, .unit_bytes = 4096, .channels = 1, .dies = 2,
	.planes = 1, .blocks = 16, .block_units = 12, .row_units = 6, .page_units = 2, .unit_pages = 1, .block_rows = 2,
	.slc_row_units = 2, .slc_block_units = 4, .slc_blocks = 2, .slc_fixed_blocks = 1 };
static const struct flash_profile profile = { .gc_low = 2, .wear_gap = 2 };
static const struct condition fragmented = { CONDITION_FRAGMENTED, 100, 3 };

/* It is in order, is the same when it is kept and read again, and hosts can write to it. */
static void
judge(struct ftl *ftl, struct condition *how, uint8_t *state, uint8_t *again, size_t bytes)
{
	char why[FLASH_WHY];
	int read;

	assert(ftl_check(ftl) == NULL);
	condition_save(ftl, HASH, how, state);
	read = condition_load(ftl, HASH, state, bytes, how, why);
	assert(read == 0 && ftl_check(ftl) == NULL);
	condition_save(ftl, HASH, how, again);
	assert(memcmp(state, again, bytes) == 0);
	for (uint32_t i = 0; i < WRITES; i++)
		ftl_write(ftl, i * 7 % (uint32_t)geometry.units);
	assert(ftl_check(ftl) == NULL);
}

static void
change(struct ftl *ftl, const uint8_t *data, size_t size, uint8_t *state, uint8_t *again, size_t bytes)
{
	struct condition how;
	char why[FLASH_WHY];

	condition_make(ftl, &fragmented);
	condition_save(ftl, HASH, &fragmented, state);
	for (size_t at = 0; at + CHANGE <= size; at += CHANGE)
		state[get_le16(data + at) % (bytes - 4)] = data[at + 2];
	put_le32(state + bytes - 4, crc32c(0, state, bytes - 4));
	if (condition_load(ftl, HASH, state, bytes, &how, why) == 0)
		judge(ftl, &how, state, again, bytes);
	else
		assert(strlen(why) > 0 && ftl_check(ftl) == NULL && ftl_counts(ftl)->host_units == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct ftl *ftl;
	size_t bytes;
	uint8_t *state, *again;
	int made;

	arena_init(&arena, 0);
	made = ftl_create(&arena, &geometry, &profile, &ftl);
	assert(made == 0);
	bytes = condition_bytes(ftl);
	state = arena_alloc(&arena, bytes);
	again = arena_alloc(&arena, bytes);
	assert(state != NULL && again != NULL);
	change(ftl, data, size, state, again, bytes);
	arena_drop(&arena);
	return 0;
}
