/*
 * test_flash_condition.c - a state that was kept goes on as the one that it was made of, and nothing else is taken
 * for it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "flash/condition.h"
#include "ftl_bench.h"

enum { HASH = 77, BLOCK_UNITS = 64, RESERVED = 12, STATE = 80, HEADER_DIE = 56, DIE = 16, BLOCK = 20 };

static const struct condition fragmented = { CONDITION_FRAGMENTED, 150, 5 };

struct kept {
	uint8_t *bytes;
	size_t count;
};

static void
open_drive(struct ftl_bench *b, bool slc)
{
	ftl_bench_shape(b, 3, 48, BLOCK_UNITS, 3 * 38 * BLOCK_UNITS);
	b->profile.wear_gap = 4;
	if (slc) {
		b->geometry.row_units = 12;
		b->geometry.block_units = 60;
		b->geometry.block_rows = 5;
		b->geometry.slc_row_units = 4;
		b->geometry.slc_block_units = 20;
		b->geometry.slc_blocks = 5;
		b->geometry.slc_fixed_blocks = 1;
		b->geometry.units = 3 * 38 * 60;
	}
	ftl_bench_open(b);
}

static struct kept
keep(struct ftl_bench *b, const struct condition *condition)
{
	struct kept kept = { .count = condition_bytes(b->ftl) };

	kept.bytes = arena_alloc(&b->arena, kept.count);
	assert_non_null(kept.bytes);
	condition_save(b->ftl, HASH, condition, kept.bytes);
	return kept;
}

static void
seal(struct kept *kept)
{
	put_le32(kept->bytes + kept->count - 4, crc32c(0, kept->bytes, kept->count - 4));
}

/* That these bytes are refused, in these words, and leave a drive to which nothing was written. */
static void
refused(const struct kept *kept, size_t count, bool slc, const char *words)
{
	struct condition how;
	struct ftl_bench b;
	char why[FLASH_WHY];

	open_drive(&b, slc);
	ftl_bench_random(&b, 10, 0, 10);
	assert_int_equal(condition_load(b.ftl, HASH, kept->bytes, count, &how, why), -EINVAL);
	assert_string_equal(why, words);
	assert_null(ftl_check(b.ftl));
	assert_int_equal(ftl_counts(b.ftl)->host_units, 0);
	assert_int_equal(ftl_free_blocks(b.ftl, 0), b.geometry.blocks - b.geometry.slc_fixed_blocks);
	ftl_bench_close(&b);
}

static void
what_is_read_goes_on_as_what_was_kept(void **state)
{
	(void)state;
	for (int slc = 0; slc < 2; slc++) {
		struct ftl_bench made, read;
		struct condition how;
		struct kept kept, later, again;
		char why[FLASH_WHY];

		open_drive(&made, slc == 1);
		condition_make(made.ftl, &fragmented);
		assert_null(ftl_check(made.ftl));
		kept = keep(&made, &fragmented);
		open_drive(&read, slc == 1);
		assert_int_equal(condition_load(read.ftl, HASH, kept.bytes, kept.count, &how, why), 0);
		assert_null(ftl_check(read.ftl));
		assert_memory_equal(&how, &fragmented, sizeof(how));
		assert_int_equal(ftl_counts(made.ftl)->host_units, made.geometry.units * 5 / 2);

		ftl_bench_random(&made, 30000, 0, made.geometry.units / 2);
		ftl_bench_random(&read, 30000, 0, made.geometry.units / 2);
		for (int i = 0; i < 2; i++)
			ftl_finish_rows(i == 0 ? made.ftl : read.ftl);
		ftl_cut(made.ftl);
		ftl_cut(read.ftl);
		later = keep(&made, &fragmented);
		again = keep(&read, &fragmented);
		assert_memory_equal(later.bytes, again.bytes, later.count);
		arena_free(&made.arena, kept.bytes);
		arena_free(&made.arena, later.bytes);
		arena_free(&read.arena, again.bytes);
		ftl_bench_close(&made);
		ftl_bench_close(&read);
	}
}

static void
each_condition_is_what_its_name_says(void **state)
{
	const struct condition fresh = { .kind = CONDITION_FRESH }, sequential = { .kind = CONDITION_SEQUENTIAL };
	struct ftl_bench b;

	(void)state;
	open_drive(&b, false);
	condition_make(b.ftl, &fresh);
	assert_int_equal(ftl_map(b.ftl)[0], FTL_NOWHERE);
	condition_make(b.ftl, &sequential);
	for (uint32_t unit = 4; unit < b.geometry.units; unit++) /* page by page over the dies */
		assert_int_equal(flash_die_of(&b.geometry, ftl_map(b.ftl)[unit]),
		    (flash_die_of(&b.geometry, ftl_map(b.ftl)[unit - 4]) + 1) % 3);
	assert_int_equal(ftl_counts(b.ftl)->gc_units, 0);
	ftl_bench_close(&b);
}

/* But for a block of each die that was not full. */
static void
what_was_in_slc_mode_is_folded(void **state)
{
	const struct condition conditions[] = { { .kind = CONDITION_SEQUENTIAL }, fragmented };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t in_slc_mode = 0;
		struct ftl_bench b;

		open_drive(&b, true);
		condition_make(b.ftl, &conditions[i]);
		for (uint32_t block = 0; block < b.geometry.dies * b.geometry.blocks; block++)
			in_slc_mode += ftl_is_slc(b.ftl, block);
		assert_in_range(in_slc_mode, 0, b.geometry.dies);
		assert_true(ftl_counts(b.ftl)->fold_units > 0);
		assert_null(ftl_check(b.ftl));
		ftl_bench_close(&b);
	}
}

static void
what_is_not_of_this_drive_is_refused(void **state)
{
	struct ftl_bench b;
	struct kept kept;

	(void)state;
	open_drive(&b, false);
	condition_make(b.ftl, &fragmented);
	kept = keep(&b, &fragmented);
	refused(&kept, 0, false, "they are no state of a modelled SSD");
	refused(&kept, kept.count - 1, false, "there are too few, or too many, of them");
	refused(&kept, kept.count, true, "they are of a drive of another size");
	kept.bytes[kept.count / 2] ^= 1;
	refused(&kept, kept.count, false, "they are damaged: their checksum does not match");
	kept.bytes[kept.count / 2] ^= 1;
	kept.bytes[16] ^= 1;
	refused(&kept, kept.count, false, "they are of a drive with another profile");
	kept.bytes[16] ^= 1;
	kept.bytes[8]++;
	refused(&kept, kept.count, false, "they are of another version of Weir");
	kept.bytes[8]--;
	kept.bytes[RESERVED]++;
	seal(&kept);
	refused(&kept, kept.count, false, "they do not say how it was made");
	arena_free(&b.arena, kept.bytes);
	ftl_bench_close(&b);
}

/* With a checksum that matches. */
static void
what_cannot_be_is_refused(void **state)
{
	enum { FIRST = STATE + HEADER_DIE + DIE };
	static const struct {
		uint32_t at, value;
		const char *words;
	} lies[] = {
		{ 60, 3, "they do not say how it was made" },
		{ STATE + 48, 3, "there is no such die" },
		{ STATE + HEADER_DIE + 8, 5000000, "a die has no such debt" },
		{ STATE + HEADER_DIE + 12, 2, "a die has no such debt" },
		{ FIRST, 48, "a die has not each of its blocks once" },
		{ FIRST + 4, FTL_VICTIM, "a block has no such state" },
		{ FIRST + 4, FTL_FREE | FTL_SLC << 8, "a block is in SLC mode, and the drive has none" },
		{ FIRST + 16, UINT32_MAX, "a block is worn more than any can be" },
		{ FIRST + 8, 3, "a block has been filled further than it can be" },
		{ FIRST + 8, BLOCK_UNITS, "a block is filled further, or less, than its state says" },
	};
	struct ftl_bench b;
	struct kept kept;
	size_t map;

	(void)state;
	open_drive(&b, false);
	condition_make(b.ftl, &fragmented);
	kept = keep(&b, &fragmented);
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint32_t truth = get_le32(kept.bytes + lies[i].at);

		put_le32(kept.bytes + lies[i].at, lies[i].value);
		seal(&kept);
		refused(&kept, kept.count, false, lies[i].words);
		put_le32(kept.bytes + lies[i].at, truth);
	}
	map = kept.count - 4 - (size_t)b.geometry.units * 4;
	memcpy(kept.bytes + map, kept.bytes + map + 4, 4);
	seal(&kept);
	refused(&kept, kept.count, false, "two units lie at one place");
	put_le32(kept.bytes + map, get_le32(kept.bytes + FIRST) * BLOCK_UNITS); /* of a free block */
	seal(&kept);
	refused(&kept, kept.count, false, "a unit lies where nothing was programmed");
	arena_free(&b.arena, kept.bytes);
	ftl_bench_close(&b);
}

static void
what_is_always_in_slc_mode_is_nothing_else(void **state)
{
	struct ftl_bench b;
	struct kept kept;
	uint8_t *block;

	(void)state;
	open_drive(&b, true);
	condition_make(b.ftl, &fragmented);
	kept = keep(&b, &fragmented);
	for (block = kept.bytes + STATE + HEADER_DIE + DIE; get_le32(block) != 0;)
		block += BLOCK;
	block[4] = FTL_CLOSED;
	block[5] = FTL_HOST;
	put_le32(block + 8, b.geometry.block_units);
	seal(&kept);
	refused(&kept, kept.count, true, "a block is always in SLC mode, and is not");
	arena_free(&b.arena, kept.bytes);
	ftl_bench_close(&b);
}

static void
bytes_say_of_which_drive_they_are(void **state)
{
	uint64_t hash, capacity;
	struct ftl_bench b;
	struct kept kept;

	open_drive(&b, false);
	condition_make(b.ftl, &fragmented);
	kept = keep(&b, &fragmented);
	assert_true(condition_drive(kept.bytes, kept.count, &hash, &capacity));
	assert_int_equal(hash, HASH);
	assert_int_equal(capacity, b.geometry.units * b.geometry.unit_bytes);
	assert_false(condition_drive(kept.bytes, 79, &hash, &capacity));
	put_le32(kept.bytes + 28, UINT32_MAX); /* units that no number of bytes has room for */
	assert_false(condition_drive(kept.bytes, kept.count, &hash, &capacity));
	kept.bytes[0] ^= 1;
	assert_false(condition_drive(kept.bytes, kept.count, &hash, &capacity));
	arena_free(&b.arena, kept.bytes);
	ftl_bench_close(&b);
}

/* A die of 16 blocks of 8 units, none of them free: one row of what is collected can be programmed. */
static void
full_put(uint8_t *die, uint8_t *map, uint32_t least)
{
	put_le32(die, 100);
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t *block = die + DIE + i * BLOCK;

		memset(block, 0, BLOCK);
		put_le32(block, i);
		block[4] = i == 0 ? FTL_OPEN : FTL_CLOSED;
		block[5] = i == 0 ? FTL_GC : FTL_HOST;
		put_le32(block + 8, i == 0 ? 4 : 8);
		put_le32(block + 12, i == 1 ? 100 : 0); /* the one that has the least is the youngest */
		for (uint32_t unit = 0; i > 0 && unit < (i == 1 ? least : 5); unit++, map += 4)
			put_le32(map, i * 8 + unit);
	}
}

static void
open_full(struct ftl_bench *b, uint32_t least)
{
	ftl_bench_shape(b, 1, 16, 8, least + 14 * 5);
	b->geometry.row_units = 4;
	b->geometry.block_rows = 2;
	b->profile.gc_low = 2;
	b->profile.policy = FLASH_COST_BENEFIT;
	ftl_bench_open(b);
}

/* By age another block would be collected, which there is no space for. */
static void
without_a_free_block_what_there_is_space_for_is_collected(void **state)
{
	const struct condition fresh = { .kind = CONDITION_FRESH };

	(void)state;
	for (uint32_t least = 4; least <= 5; least++) {
		struct ftl_bench b;
		struct condition how;
		struct kept kept;
		char why[FLASH_WHY];

		open_full(&b, least);
		kept = keep(&b, &fresh);
		full_put(kept.bytes + STATE + HEADER_DIE, kept.bytes + STATE + HEADER_DIE + DIE + 16 * BLOCK, least);
		seal(&kept);
		assert_int_equal(condition_load(b.ftl, HASH, kept.bytes, kept.count, &how, why),
		    least == 4 ? 0 : -EINVAL);
		if (least == 4)
			ftl_bench_random(&b, 1000, 0, b.geometry.units);
		else
			assert_string_equal(why, "a die is fuller than it can be");
		assert_null(ftl_check(b.ftl));
		arena_free(&b.arena, kept.bytes);
		ftl_bench_close(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_goes_on_as_what_was_kept),
		cmocka_unit_test(each_condition_is_what_its_name_says),
		cmocka_unit_test(what_was_in_slc_mode_is_folded),
		cmocka_unit_test(what_is_not_of_this_drive_is_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(what_is_always_in_slc_mode_is_nothing_else),
		cmocka_unit_test(bytes_say_of_which_drive_they_are),
		cmocka_unit_test(without_a_free_block_what_there_is_space_for_is_collected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
