/* test_order_travel.c - ordered writes and lists on the wire, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "order/travel.h"

static void
an_ordered_write_is_what_the_page_says(void **state)
{
	const struct order_attribute attribute = {
		.first = 0x01020304, .last = 0x11121314, .prev = 0x21222324, .floor = 0x31323334, .num = 0x4142,
		.count = 0x5152, .flags = ORDER_ENTRY_LAST | ORDER_ENTRY_IN_PLACE | ORDER_ENTRY_MERGED,
	};
	struct nvme_sqe sqe = { .opcode = NVME_WRITE, .flags = 0x70, .cdw12 = le32_of(0x4005001f) };
	uint8_t bytes[64];

	(void)state;
	assert_false(order_travels(&sqe));
	order_put(&attribute, 0x6162, &sqe);
	assert_true(order_travels(&sqe));
	memcpy(bytes, &sqe, sizeof(bytes));
	assert_int_equal(bytes[1], 0x70 | 2 << 2);
	assert_int_equal(get_le32(bytes + 8), 0x01020304);
	assert_int_equal(get_le32(bytes + 12), 0x11121314);
	assert_int_equal(get_le32(bytes + 16), 0x21222324);
	assert_int_equal(get_le32(bytes + 20), 0x61624142);
	assert_int_equal(get_le32(bytes + 48), 0x400a001f);
	assert_int_equal(get_le32(bytes + 56), 0x31323334);
	assert_int_equal(get_le32(bytes + 60), 0x5152);
}

static void
what_was_put_is_got(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int i = 0; i < 10000; i++) {
		const struct order_attribute put = {
			.first = (uint32_t)rng_next(&rng), .last = (uint32_t)rng_next(&rng),
			.prev = (uint32_t)rng_next(&rng), .floor = (uint32_t)rng_next(&rng),
			.num = (uint16_t)rng_next(&rng), .count = (uint16_t)rng_next(&rng),
			.flags = (uint16_t)rng_below(&rng, ORDER_ENTRY_MARK),
		};
		struct nvme_sqe sqe = { .opcode = (uint8_t)rng_below(&rng, 2), .flags = (uint8_t)rng_below(&rng, 256) };
		uint16_t stream = (uint16_t)rng_next(&rng), got_stream;
		struct order_attribute got;

		sqe.cdw12 = le32_of((uint32_t)rng_next(&rng));
		order_put(&put, stream, &sqe);
		assert_true(order_get(&sqe, &got, &got_stream));
		assert_int_equal(got_stream, stream);
		assert_int_equal(got.first, put.first);
		assert_int_equal(got.last, put.last);
		assert_int_equal(got.prev, put.prev);
		assert_int_equal(got.floor, put.floor);
		assert_int_equal(got.num, put.num);
		assert_int_equal(got.count, put.count);
		assert_int_equal(got.flags, put.flags);
	}
}

static void
what_is_no_ordered_write_is_refused(void **state)
{
	const struct order_attribute attribute = { .first = 1, .last = 1, .count = 1 };
	struct nvme_sqe right = { .opcode = NVME_WRITE }, sqe;
	struct order_attribute got;
	uint16_t stream;

	(void)state;
	order_put(&attribute, 1, &right);
	assert_true(order_get(&right, &got, &stream));
	for (unsigned opcode = 2; opcode < 256; opcode++) {
		sqe = right;
		sqe.opcode = (uint8_t)opcode;
		assert_false(order_get(&sqe, &got, &stream));
	}
	sqe = right;
	sqe.flags |= WEIR_ORDERED_MASK; /* 3 */
	assert_false(order_get(&sqe, &got, &stream));
	sqe.flags = 0;
	assert_false(order_get(&sqe, &got, &stream));
	sqe = right;
	sqe.cdw15 = le32_of(1 | 1 << 16);
	assert_false(order_get(&sqe, &got, &stream));
}

static void
an_entry_is_listed_as_what_it_is(void **state)
{
	struct order_known known = {
		.entry = {
			.first = 0x01020304, .last = 0x11121314, .prev = 0x21222324, .num = 0x3132, .count = 0x4142,
			.flags = ORDER_ENTRY_LAST | ORDER_ENTRY_FLUSH, .nsid = 0x51525354, .lba = 0x6162636465666768,
			.blocks = 0x71727374,
		},
		.role = ORDER_COUNTS, .valid = true,
	};
	static const uint8_t is[] = {
		[ORDER_GONE] = 0, [ORDER_COUNTS] = 1, [ORDER_LEFT] = 8, [ORDER_BACK] = 4,
	};
	struct weir_list_entry entry;
	struct order_listed listed;
	uint8_t bytes[40];

	(void)state;
	order_put_known(&known, &entry);
	memcpy(bytes, &entry, sizeof(bytes));
	assert_int_equal(get_le32(bytes), 0x01020304);
	assert_int_equal(get_le32(bytes + 4), 0x11121314);
	assert_int_equal(get_le32(bytes + 8), 0x21222324);
	assert_int_equal(get_le16(bytes + 12), 0x3132);
	assert_int_equal(get_le16(bytes + 14), 0x4142);
	assert_int_equal(get_le16(bytes + 16), ORDER_ENTRY_LAST | ORDER_ENTRY_FLUSH);
	assert_int_equal(bytes[18], 3);
	assert_int_equal(get_le32(bytes + 20), 0x51525354);
	assert_int_equal(get_le64(bytes + 24), 0x6162636465666768);
	assert_int_equal(get_le32(bytes + 32), 0x71727374);
	assert_true(order_get_listed(&entry, &listed));
	assert_int_equal(listed.first, 0x01020304);
	assert_int_equal(listed.last, 0x11121314);
	assert_int_equal(listed.prev, 0x21222324);
	assert_int_equal(listed.num, 0x3132);
	assert_int_equal(listed.count, 0x4142);
	assert_true(listed.valid);
	for (unsigned role = ORDER_GONE; role <= ORDER_BACK; role++) {
		known.role = (uint8_t)role;
		known.valid = false;
		order_put_known(&known, &entry);
		assert_int_equal(entry.is, is[role]);
		assert_int_equal(order_get_listed(&entry, &listed), role == ORDER_COUNTS);
		assert_false(listed.valid);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordered_write_is_what_the_page_says),
		cmocka_unit_test(what_was_put_is_got),
		cmocka_unit_test(what_is_no_ordered_write_is_refused),
		cmocka_unit_test(an_entry_is_listed_as_what_it_is),
	};

	return cmocka_run_group_tests_name("order_travel", tests, NULL, NULL);
}
