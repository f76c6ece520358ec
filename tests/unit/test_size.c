/*
 * base/size: what is a size and what is not, and that one printed is read back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/size.h"

static void
sizes_are_numbers_with_a_unit(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_true(size_parse("4096", &bytes) && bytes == 4096);
	assert_true(size_parse("3K", &bytes) && bytes == 3072);
	assert_true(size_parse("3k", &bytes) && bytes == 3072);
	assert_true(size_parse("1M", &bytes) && bytes == 1 << 20);
	assert_true(size_parse("2G", &bytes) && bytes == UINT64_C(2) << 30);
	assert_true(size_parse("1T", &bytes) && bytes == UINT64_C(1) << 40);
	assert_true(size_parse("18446744073709551615", &bytes) && bytes == UINT64_MAX);
	assert_true(size_parse("16777215T", &bytes) && bytes == UINT64_C(16777215) << 40);
}

static void
what_is_not_a_size_changes_nothing(void **state)
{
	static const char *const wrong[] = {
		"", "K", "1X", "1GB", "-1", "+1", " 1", "1 ", "1 G", "0x10", "1.5G", "18446744073709551616",
		"99999999T", "16777216T", "99999999999999999999999999",
	};
	uint64_t bytes = 7;

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (size_parse(wrong[i], &bytes) || bytes != 7)
			fail_msg("`%s`", wrong[i]);
}

static void
a_number_says_where_it_ends(void **state)
{
	const char *text = "120,5";
	uint64_t value;

	(void)state;
	assert_true(number_parse(&text, &value) && value == 120);
	assert_string_equal(text, ",5");
	assert_false(number_parse(&text, &value));
	assert_string_equal(text, ",5");
	assert_int_equal(value, 120);
}

static void
a_size_is_printed_with_the_largest_unit_and_read_back(void **state)
{
	static const struct { uint64_t bytes; const char *text; } cases[] = {
		{ 0, "0" }, { 1023, "1023" }, { 1024, "1K" }, { 1536, "1536" }, { 10240, "10K" },
		{ UINT64_C(10) << 30, "10G" }, { UINT64_C(1536) << 20, "1536M" }, { UINT64_C(2048) << 40, "2048T" },
		{ UINT64_MAX, "18446744073709551615" },
	};
	char text[SIZE_TEXT];
	struct rng rng;
	uint64_t back;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_print(cases[i].bytes, text);
		assert_string_equal(text, cases[i].text);
	}
	rng_seed(&rng, 1);
	for (int i = 0; i < 10000; i++) {
		uint64_t bytes = rng_next(&rng) >> rng_below(&rng, 64) << rng_below(&rng, 64);

		size_print(bytes, text);
		assert_true(size_parse(text, &back));
		assert_int_equal(back, bytes);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_numbers_with_a_unit),
		cmocka_unit_test(what_is_not_a_size_changes_nothing),
		cmocka_unit_test(a_number_says_where_it_ends),
		cmocka_unit_test(a_size_is_printed_with_the_largest_unit_and_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
