/*
 * base/uuid: which texts are UUIDs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/uuid.h"

static void
digits_in_either_case_are_bytes_in_order(void **state)
{
	static const uint8_t bytes[UUID_BYTES] = {
		0x5a, 0x8d, 0x7a, 0x60, 0x9b, 0x1c, 0x4a, 0x43, 0x8e, 0x8f, 0x6f, 0x1f, 0x2f, 0x0e, 0x7a, 0x11,
	};
	uint8_t id[UUID_BYTES];

	assert_true(uuid_parse("5a8d7a60-9b1c-4a43-8e8f-6f1f2f0e7a11", id));
	assert_memory_equal(id, bytes, sizeof(id));
	assert_true(uuid_parse("5A8D7A60-9B1C-4A43-8E8F-6F1F2F0E7A11", id));
	assert_memory_equal(id, bytes, sizeof(id));
}

static void
whatever_else_is_none(void **state)
{
	static const char *const wrong[] = {
		"", "5a8d7a60", "00000000-0000-0000-0000-000000000000", "5a8d7a609b1c4a438e8f6f1f2f0e7a11",
		"5a8d7a60-9b1c-4a43-8e8f-6f1f2f0e7a1", "5a8d7a60-9b1c-4a43-8e8f-6f1f2f0e7a111",
		"5a8d7a60-9b1c-4a43-8e8f-6f1f2f0e7a1g", "5a8d7a6-09b1c-4a43-8e8f-6f1f2f0e7a11",
		"5a8d7a60-9b1c-4a43-8e8f 6f1f2f0e7a11",
	};
	uint8_t id[UUID_BYTES];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(uuid_parse(wrong[i], id));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_in_either_case_are_bytes_in_order),
		cmocka_unit_test(whatever_else_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
