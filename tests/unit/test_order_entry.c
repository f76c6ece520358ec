/* test_order_entry.c - entries of the log of ordered writes: to the byte, torn ones, and what cannot be one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "order/entry.h"
#include "order/head.h"

enum { SEED = 0x5eed };

static const struct order_entry some = {
	.first = 0x01020304, .last = 0x01020304, .prev = 0x01020303, .num = 0x0506, .stream = 0x0708,
	.lba = 0x1112131415161718, .blocks = 0x21222324, .nsid = 0x25262728, .owner = 0x292a2b2c,
	.flags = ORDER_ENTRY_LAST | ORDER_ENTRY_FLUSH, .term = 0x2e2f, .lap = 0x313233343536,
	.piece = 0x3738, .floor = 0x3a3b3c3d, .count = 0x3e, .batch = 0x4142,
};

static bool
is_same(const struct order_entry *a, const struct order_entry *b)
{
	return a->first == b->first && a->last == b->last && a->prev == b->prev && a->num == b->num &&
	    a->stream == b->stream && a->lba == b->lba && a->blocks == b->blocks && a->nsid == b->nsid &&
	    a->owner == b->owner && a->flags == b->flags && a->term == b->term && a->lap == b->lap &&
	    a->piece == b->piece &&
	    a->floor == b->floor && a->count == b->count && a->batch == b->batch;
}

static void
it_lies_as_the_page_says(void **state)
{
	static const uint8_t bytes[56] = {
		4, 3, 2, 1, 4, 3, 2, 1, 3, 3, 2, 1, 6, 5, 8, 7, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
		0x24, 0x23, 0x22, 0x21, 0x28, 0x27, 0x26, 0x25, 0x2c, 0x2b, 0x2a, 0x29, 9, 0, 0x2f, 0x2e,
		0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x38, 0x37, 0x3d, 0x3c, 0x3b, 0x3a, 0x3e, 0, 0x42, 0x41,
	};
	struct order_image image;
	struct order_entry read;
	bool persists;

	(void)state;
	order_entry_write(&some, SEED, &image);
	assert_memory_equal(&image, bytes, sizeof(bytes));
	assert_int_equal(offsetof(struct order_image, crc), sizeof(bytes));
	assert_int_equal(le32_get(image.crc), crc32c(SEED, bytes, sizeof(bytes)));
	assert_true(order_entry_read(&image, SEED, &read, &persists));
	assert_true(is_same(&read, &some));
	assert_false(persists);
	image.persist = order_entry_persist(&some);
	assert_int_equal(le32_get(image.persist), 0x33343536);
	assert_true(order_entry_read(&image, SEED, &read, &persists) && persists);
}

/* Only its own lap's word says that it persists: what the slot had before does not. */
static void
a_word_of_another_lap_says_nothing(void **state)
{
	struct order_entry entry = some, read;
	struct order_image image;
	bool persists;

	(void)state;
	for (uint64_t lap = 1; lap < 1000; lap++) {
		entry.lap = lap;
		order_entry_write(&entry, SEED, &image);
		assert_true(order_entry_read(&image, SEED, &read, &persists) && !persists);
		for (uint32_t before = 0; before < lap; before++) {
			image.persist = le32_of(before);
			assert_true(order_entry_read(&image, SEED, &read, &persists) && !persists);
		}
	}
	entry.lap = UINT64_C(5) << 32; /* whose word is 0 */
	order_entry_write(&entry, SEED, &image);
	assert_true(order_entry_read(&image, SEED, &read, &persists) && !persists);
}

/* Of an entry over another one any of its eight words may have come. */
static void
a_torn_one_is_none(void **state)
{
	struct order_entry before = some, after = some, read;
	struct order_image old, new, torn;
	struct rng rng;
	bool persists;

	(void)state;
	rng_seed(&rng, 1);
	for (int round = 0; round < 300; round++) {
		before.lap = 1 + rng_below(&rng, 100);
		after.lap = before.lap + 1;
		after.first = after.last = before.last + 1 + (uint32_t)rng_below(&rng, 100);
		after.lba = rng_below(&rng, UINT64_C(1) << 40);
		order_entry_write(&before, SEED, &old);
		old.persist = order_entry_persist(&before);
		order_entry_write(&after, SEED, &new);
		for (unsigned words = 0; words < 256; words++) {
			memcpy(&torn, &old, sizeof(torn));
			for (unsigned word = 0; word < 8; word++)
				if ((words >> word & 1) != 0)
					memcpy((char *)&torn + 8 * word, (char *)&new + 8 * word, 8);
			if (!order_entry_read(&torn, SEED, &read, &persists))
				continue;
			/* all that the digest is over has come, or nothing of it has */
			assert_true(is_same(&read, &after) || is_same(&read, &before));
			assert_true(!persists || is_same(&read, &before));
		}
	}
}

static void
one_bit_makes_it_none(void **state)
{
	struct order_entry read;
	struct order_image image;
	bool persists;

	(void)state;
	for (unsigned bit = 0; bit < 8 * offsetof(struct order_image, persist); bit++) {
		order_entry_write(&some, SEED, &image);
		((uint8_t *)&image)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(order_entry_read(&image, SEED, &read, &persists));
	}
	memset(&image, 0, sizeof(image));
	assert_false(order_entry_read(&image, SEED, &read, &persists));
	memset(&image, 0xff, sizeof(image));
	assert_false(order_entry_read(&image, SEED, &read, &persists));
}

/* What a log has left in its place is none of the next one there. */
static void
one_of_another_log_is_none(void **state)
{
	static const struct order_head one = { .uuid = { 1 } }, other = { .uuid = { 2 } };
	struct order_entry read;
	struct order_image image;
	bool persists;

	(void)state;
	order_entry_write(&some, order_head_seed(&one), &image);
	assert_true(order_entry_read(&image, order_head_seed(&one), &read, &persists));
	assert_false(order_entry_read(&image, order_head_seed(&other), &read, &persists));
}

#define WITH(...) { .first = 5, .last = 5, .prev = 4, .num = 2, .blocks = 8, .lap = 1, .count = 1, \
	.flags = ORDER_ENTRY_LAST, __VA_ARGS__ }
#pragma GCC diagnostic ignored "-Woverride-init" /* what a case says takes the place of what all have */

static void
what_cannot_be_is_none(void **state)
{
	static const struct order_entry wrong[] = {
		WITH(.flags = ORDER_ENTRY_LAST | (ORDER_ENTRY_FLAGS + 1)), WITH(.lap = 0),
		WITH(.lap = UINT64_C(1) << 48),
		WITH(.first = 0, .last = 0), WITH(.last = 0), WITH(.first = 6), WITH(.prev = 5), WITH(.prev = 6),
		WITH(.count = 0), WITH(.count = 3), WITH(.num = 0), WITH(.flags = 0),
		WITH(.last = 6, .num = 1, .count = 2, .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED),
		WITH(.last = 6, .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED),
		WITH(.last = 6, .num = 1), WITH(.last = 6, .num = 0, .flags = ORDER_ENTRY_MERGED),
		WITH(.flags = ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED | ORDER_ENTRY_SPLIT), WITH(.blocks = 0),
		WITH(.flags = ORDER_ENTRY_MARK), WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .count = 0),
		WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .blocks = 0),
		WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .count = 0, .blocks = 0, .last = 6),
		WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .count = 0, .blocks = 0, .piece = 1),
		WITH(.flags = ORDER_ENTRY_MARK | ORDER_ENTRY_LAST, .num = 0, .count = 0, .blocks = 0),
		WITH(.flags = ORDER_ENTRY_LAST | ORDER_ENTRY_TAKING),
		WITH(.flags = ORDER_ENTRY_TAKING, .num = 0, .count = 0, .blocks = 0),
	};
	static const struct order_entry right[] = {
		WITH(.lap = 1), WITH(.lap = (UINT64_C(1) << 48) - 1), WITH(.piece = 3), WITH(.prev = 0),
		WITH(.blocks = 0, .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_FLUSH),
		WITH(.num = 0, .flags = ORDER_ENTRY_SPLIT), WITH(.count = 2),
		WITH(.last = 6, .num = 1, .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED),
		WITH(.first = UINT32_MAX, .last = 2, .num = 1, .prev = UINT32_MAX - 1,
		    .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED),
		WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .count = 0, .blocks = 0),
		WITH(.flags = ORDER_ENTRY_MARK | ORDER_ENTRY_TAKING, .num = 0, .count = 0, .blocks = 0),
		WITH(.flags = ORDER_ENTRY_MARK, .num = 0, .count = 0, .blocks = 0, .first = 0, .last = 0, .prev = 0),
	};
	struct order_entry read;
	struct order_image image;
	bool persists;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		order_entry_write(&wrong[i], SEED, &image);
		if (order_entry_wrong(&wrong[i]) == NULL || order_entry_read(&image, SEED, &read, &persists))
			fail_msg("wrong %zu", i);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		order_entry_write(&right[i], SEED, &image);
		if (order_entry_wrong(&right[i]) != NULL || !order_entry_read(&image, SEED, &read, &persists))
			fail_msg("right %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_lies_as_the_page_says),
		cmocka_unit_test(a_word_of_another_lap_says_nothing),
		cmocka_unit_test(a_torn_one_is_none),
		cmocka_unit_test(one_bit_makes_it_none),
		cmocka_unit_test(one_of_another_log_is_none),
		cmocka_unit_test(what_cannot_be_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
