/*
 * content.c - what stands in a block of a trial: its value, which was written nowhere else.
 *
 * Every eight bytes say it, each in its own way, so that a torn block is no value
 * at all; one that belongs elsewhere is a value that its history does not know.
 */
#include "base/bytes.h"
#include "trial/internal.h"

static uint64_t
salt(uint32_t at)
{
	return (uint64_t)(at + 8) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t
word(uint64_t value, uint32_t at)
{
	return value == HISTORY_ZEROS ? 0 : value ^ salt(at);
}

void
content_fill(uint8_t *block, uint64_t value)
{
	for (uint32_t at = 0; at < TRIAL_BLOCK; at += 8)
		put_le64(block + at, word(value, at));
}

uint64_t
content_value(const uint8_t *block)
{
	uint64_t first = get_le64(block), value = first == 0 ? HISTORY_ZEROS : first ^ salt(0);

	for (uint32_t at = 0; at < TRIAL_BLOCK; at += 8)
		if (get_le64(block + at) != word(value, at))
			return HISTORY_GARBAGE;
	return value;
}
