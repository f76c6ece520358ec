/*
 * place/csv: rows come as RFC 4180 has them, and what is none is said by line, and does not hide what is below it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read_bench.h"

enum { A, B, C, NAMES };
static const char *const names[NAMES] = { "a", "b", "c" };

static struct csv csv;
static struct csv_said said;

static bool
begin(const char *text)
{
	memset(&said, 0, sizeof(said));
	return csv_begin(&csv, text, strlen(text), names, NAMES, &said);
}

static void
row_is(uint32_t line, const char *a, const char *b)
{
	assert_true(csv_next(&csv));
	assert_int_equal(csv.line, line);
	assert_string_equal(csv_text(&csv, A), a);
	assert_string_equal(csv_text(&csv, B), b);
}

static void
columns_come_in_any_order_and_cells_as_they_were_meant(void **state)
{
	assert_true(begin("\xef\xbb\xbf# a comment, with commas\r\n\r\n B ,A\r\n1 , x y\t\r\n"
	    "\"2, \"\"two\"\"\",\"  # kept \" \n,\n#,not a row\n\"over\nlines\",4\n5,6"));
	assert_true(csv_has(&csv, A) && csv_has(&csv, B) && !csv_has(&csv, C));
	row_is(4, "x y", "1");
	row_is(5, "  # kept ", "2, \"two\"");
	row_is(8, "4", "over lines");
	row_is(10, "6", "5");
	assert_string_equal(csv_text(&csv, C), "");
	assert_false(csv_next(&csv));
	assert_int_equal(said.wrong.count + said.odd.count, 0);
}

static void
a_row_that_cannot_be_read_is_said_and_those_below_it_are_read(void **state)
{
	assert_true(begin("a,b\n1\n1,2,3\nx\"y\",2\n\"x\"y,2\n\x80,2\n\x01,2\nx\ry,2\n\"open,2\n5,6\n"));
	row_is(10, "5", "6");
	assert_false(csv_next(&csv));
	read_says(&said.wrong, 2, "it has 1 cell, and the heading has 2");
	read_says(&said.wrong, 3, "it has 3 cells, and the heading has 2");
	read_says(&said.wrong, 4, "a quote is within a cell");
	read_says(&said.wrong, 5, "more behind a closing quote");
	read_says(&said.wrong, 6, "UTF-8");
	read_says(&said.wrong, 7, "control character");
	read_says(&said.wrong, 8, "control character");
	read_says(&said.wrong, 9, "a quote is opened, and not closed");
	assert_int_equal(said.wrong.count, 8);
}

static void
too_much_of_a_row_is_refused(void **state)
{
	static char text[CSV_ROW + 64];

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "a\n", 2);
	assert_true(begin(text));
	assert_false(csv_next(&csv));
	read_says(&said.wrong, 2, "longer than 16384 bytes");
	memset(text, ',', CSV_COLUMNS);
	text[CSV_COLUMNS] = '\0';
	assert_false(begin(text));
	read_says(&said.wrong, 1, "more than 64 cells");
}

static void
a_heading_that_is_none_is_refused(void **state)
{
	assert_false(begin("# only a comment\n"));
	read_says(&said.wrong, 0, "there is no heading");
	assert_false(begin("a,b,A\n"));
	read_says(&said.wrong, 1, "columns 1 and 3 are both called 'A'");
	assert_false(begin("a,,b\n"));
	read_says(&said.wrong, 1, "column 2 has no name");
	assert_false(begin("a;b;c\n1;2;3\n"));
	read_says(&said.wrong, 1, "not by ';'");
	assert_true(begin("a,colour\n1,red\n"));
	read_says(&said.odd, 1, "column 'colour' is not known, and not used");
	assert_false(csv_needs(&csv, C));
	read_says(&said.wrong, 1, "there is no column 'c'");
	assert_true(csv_needs_either(&csv, A, C));
	assert_false(csv_needs_either(&csv, B, C));
	read_says(&said.wrong, 1, "there is no column 'b', nor 'c'");
	assert_true(begin("a,b\n"));
	assert_false(csv_needs_either(&csv, A, B));
	read_says(&said.wrong, 1, "say the same");
}

static void
numbers_are_decimal_and_nothing_else_is_one(void **state)
{
	static const struct { const char *cell; double value; } good[] = {
		{ "0", 0 }, { "12.5", 12.5 }, { "-3", -3 }, { "+.5", 0.5 }, { "7.", 7 }, { "1e3", 1000 },
		{ "2.5E-1", 0.25 },
	};
	static const char *const bad[] = {
		"nan", "inf", "0x10", "1 2", "1.5TB", "--1", ".", "e5", "1e", "1e+", "1e999",
	};
	char text[64];

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		double value = 77;

		snprintf(text, sizeof(text), "a\n%s\n", good[i].cell);
		assert_true(begin(text) && csv_next(&csv));
		assert_int_equal(csv_number(&csv, A, &value), CSV_GOOD);
		assert_true(value == good[i].value);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		double value = 77;

		snprintf(text, sizeof(text), "a\n%s\n", bad[i]);
		assert_true(begin(text) && csv_next(&csv));
		assert_int_equal(csv_number(&csv, A, &value), CSV_WRONG);
		assert_true(value == 77);
		read_says(&said.wrong, 2, bad[i]);
	}
	assert_true(begin("a,b\n\"1,5\",\n") && csv_next(&csv));
	double value = 77;

	assert_int_equal(csv_number(&csv, A, &value), CSV_WRONG);
	read_says(&said.wrong, 2, "a decimal point is '.'");
	assert_int_equal(csv_number(&csv, B, &value), CSV_EMPTY);
	assert_int_equal(csv_within(&csv, B, 0, 1, "", &value), CSV_EMPTY);
	assert_true(begin("a\n5\n") && csv_next(&csv));
	assert_int_equal(csv_within(&csv, A, 0, 4, "W", &value), CSV_WRONG);
	assert_true(value == 77);
	read_says(&said.wrong, 2, "a: 5 is not from 0 to 4 W");
}

static void
of_many_remarks_the_first_are_kept_and_all_are_counted(void **state)
{
	char text[256] = "a,b\n";

	for (unsigned i = 0; i < 30; i++)
		strcat(text, "1\n");
	assert_true(begin(text));
	assert_false(csv_next(&csv));
	assert_int_equal(said.wrong.count, 30);
	assert_int_equal(said.wrong.first[CSV_SAID - 1].line, CSV_SAID + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_come_in_any_order_and_cells_as_they_were_meant),
		cmocka_unit_test(a_row_that_cannot_be_read_is_said_and_those_below_it_are_read),
		cmocka_unit_test(too_much_of_a_row_is_refused),
		cmocka_unit_test(a_heading_that_is_none_is_refused),
		cmocka_unit_test(numbers_are_decimal_and_nothing_else_is_one),
		cmocka_unit_test(of_many_remarks_the_first_are_kept_and_all_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
