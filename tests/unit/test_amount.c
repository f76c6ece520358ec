/*
 * conf/amount: amounts with units become whole numbers of the unit that is asked for, or are refused in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/amount.h"

static void
amounts_and_spans_are_counted_in_the_unit_that_is_asked_for(void **state)
{
	static const struct { const char *text, *unit; uint64_t from, to; } cases[] = {
		{ "5", "", 5, 5 }, { "5-100", "", 5, 100 }, { "5 - 100", "", 5, 100 }, { "0", "MiB", 0, 0 },
		{ "5.000", "", 5, 5 }, { "5-100 us", "us", 5, 100 }, { "5us-2ms", "us", 5, 2000 },
		{ "500 us - 2 s", "us", 500, 2000000 }, { "0-1 s", "ms", 0, 1000 }, { "12.5 ms", "us", 12500, 12500 },
		{ "0.000000001 s", "ns", 1, 1 }, { "12.345678 ms", "ns", 12345678, 12345678 },
		{ "2000 us", "ms", 2, 2 },
		{ "0.5 KiB - 1 MiB", "bytes", 512, 1048576 }, { "512 bytes", "bytes", 512, 512 },
		{ "1024 KiB", "MiB", 1, 1 }, { "30%", "%", 30, 30 }, { "0-2.5 %", "ppm", 0, 25000 },
		{ "10000 ppm", "%", 1, 1 }, { "1-2.5 Gbit", "Mbit", 1000, 2500 },
		{ "9223372036854775807 ns", "ns", INT64_MAX, INT64_MAX },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span span = { 77, 77 };
		char why[AMOUNT_WHY];

		if (!amount_span(cases[i].text, cases[i].unit, &span, why))
			fail_msg("%s: %s", cases[i].text, why);
		assert_int_equal(span.from, cases[i].from);
		assert_int_equal(span.to, cases[i].to);
	}
}

static void
what_is_none_is_refused_in_words(void **state)
{
	static const struct { const char *text, *unit, *why; } cases[] = {
		{ "", "us", "is an amount like `5 us`, or a span like `5-100 us`" },
		{ "few", "", "is an amount like `5`, or a span like `5-100`" },
		{ "-5", "", "is an amount like `5`, or a span like `5-100`" },
		{ "5-", "", "is an amount like `5`, or a span like `5-100`" },
		{ "5.", "", "is an amount like `5`, or a span like `5-100`" },
		{ ".5 ms", "ms", "is an amount like `5 ms`, or a span like `5-100 ms`" },
		{ "99999999999999999999 s", "ms", "is too large a number" },
		{ "5", "us", "needs a unit: ns, us, ms or s" },
		{ "5 us - 100", "us", "needs a unit: ns, us, ms or s" },
		{ "5 m", "us", "has one of the units ns, us, ms or s" },
		{ "5 MiB", "us", "has one of the units ns, us, ms or s" },
		{ "5 us", "bytes", "has one of the units bytes, KiB, MiB or GiB" },
		{ "5 us", "", "is a number without a unit" },
		{ "1.5", "", "is a whole number" },
		{ "1.5 ms", "ms", "is a whole number of ms" },
		{ "1 ns", "us", "is a whole number of us" },
		{ "9223372036854775808 ns", "ns", "is too large a number" },
		{ "18446744073709551615 s", "ns", "is too large a number" },
		{ "100-5 us", "us", "goes from the smaller to the larger" },
		{ "5 us-4999 ns", "ns", "goes from the smaller to the larger" },
		{ "1-2-3", "", "ends with an amount" },
		{ "5 us us", "us", "ends with an amount" },
		{ "1.0000000001 s", "ns", "has nine decimals at most" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span span = { 77, 77 };
		char why[AMOUNT_WHY] = "";

		assert_false(amount_span(cases[i].text, cases[i].unit, &span, why));
		assert_string_equal(why, cases[i].why);
	}
}

static void
one_amount_alone_is_not_a_span(void **state)
{
	static const struct { const char *text, *unit; uint64_t value; const char *why; } cases[] = {
		{ "1.7 ms", "ns", 1700000, NULL }, { "14.2 %", "permille", 142, NULL },
		{ "533 MB/s", "MB/s", 533, NULL }, { "3.2 GB/s", "MB/s", 3200, NULL },
		{ "30.72 TB", "MB", 30720000, NULL }, { "32 GiB", "MiB", 32768, NULL }, { "0", "ns", 0, NULL },
		{ "55.00000000000 us", "ns", 55000, NULL },
		{ "55.0000000001 us", "ns", 0, "has nine decimals at most" },
		{ "5-100 us", "ns", 0, "is one amount, with nothing behind it" },
		{ "-55 us", "ns", 0, "is an amount like `5 ns`" },
		{ "soon", "ns", 0, "is an amount like `5 ns`" },
		{ "5", "ns", 0, "needs a unit: ns, us, ms or s" },
		{ "14.25 %", "permille", 0, "is a whole number of permille" },
		{ "533 MiB/s", "MB/s", 0, "has one of the units MB/s or GB/s" },
		{ "533 Mbit", "MB/s", 0, "has one of the units MB/s or GB/s" },
		{ "960 GiB", "MB", 0, "has one of the units MB, GB or TB" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 77;
		char why[AMOUNT_WHY] = "";

		assert_int_equal(amount_read(cases[i].text, cases[i].unit, &value, why), cases[i].why == NULL);
		assert_int_equal(value, cases[i].why == NULL ? cases[i].value : 77);
		assert_string_equal(why, cases[i].why == NULL ? "" : cases[i].why);
	}
}

static void
what_is_printed_is_short_and_is_read_back(void **state)
{
	static const struct { uint64_t value; const char *unit, *text; } cases[] = {
		{ 0, "ns", "0 ns" }, { 999, "ns", "999 ns" }, { 1000, "ns", "1 us" }, { 1700000, "ns", "1.7 ms" },
		{ 1234567, "ns", "1234.567 us" }, { 4050, "us", "4.05 ms" },
		{ INT64_MAX, "ns", "9223372036854775.807 us" },
		{ 98304, "bytes", "96 KiB" }, { 4224, "bytes", "4.125 KiB" }, { 4097, "bytes", "4097 bytes" },
		{ 32768, "MiB", "32 GiB" }, { 142, "permille", "14.2 %" }, { 5, "permille", "5 permille" },
		{ 1, "ppm", "1 ppm" }, { 960000, "MB", "960 GB" }, { 30720000, "MB", "30.72 TB" },
		{ 533, "MB/s", "533 MB/s" }, { 3200, "MB/s", "3.2 GB/s" }, { 1500, "Mbit", "1.5 Gbit" },
		{ 17, "", "17" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[AMOUNT_TEXT], why[AMOUNT_WHY];
		uint64_t value;

		amount_print(cases[i].value, cases[i].unit, text);
		assert_string_equal(text, cases[i].text);
		assert_true(amount_read(text, cases[i].unit, &value, why));
		assert_int_equal(value, cases[i].value);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_and_spans_are_counted_in_the_unit_that_is_asked_for),
		cmocka_unit_test(what_is_none_is_refused_in_words),
		cmocka_unit_test(one_amount_alone_is_not_a_span),
		cmocka_unit_test(what_is_printed_is_short_and_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
