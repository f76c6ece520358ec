/*
 * cmd/table: columns are as wide as what is in them, counted in characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "table.h"

static char *text;
static size_t bytes;

static void
assert_prints(struct table *table, const char *expected)
{
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(table_end(table, out), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void
columns_are_as_wide_as_the_widest_cell(void **state)
{
	static const char *const heads[] = { "NAME", ">SIZE", "URI" };
	struct table table;

	(void)state;
	table_init(&table, heads, 3);
	table_add(&table, "a");
	table_add(&table, "%d", 1);
	table_add(&table, "x");
	table_add(&table, "a longer one");
	table_add(&table, "%d", 123456);
	table_add(&table, "y");
	assert_prints(&table,
	    "NAME            SIZE  URI\n"
	    "a                  1  x\n"
	    "a longer one  123456  y\n");
}

static void
characters_are_counted_and_not_bytes(void **state)
{
	static const char *const heads[] = { "A", "B" };
	struct table table;

	(void)state;
	table_init(&table, heads, 2);
	table_add(&table, "\u00e4\u00f6\u00fc");
	table_add(&table, "x");
	table_add(&table, "abc");
	table_add(&table, "y");
	assert_prints(&table, "A    B\n\u00e4\u00f6\u00fc  x\nabc  y\n");
}

static void
an_empty_table_has_its_heads(void **state)
{
	static const char *const heads[] = { "A", ">B" };
	struct table table;

	(void)state;
	table_init(&table, heads, 2);
	assert_prints(&table, "A  B\n");
}

static void
a_table_has_many_rows(void **state)
{
	static const char *const heads[] = { ">N" };
	struct table table;
	FILE *out;

	(void)state;
	table_init(&table, heads, 1);
	for (unsigned i = 0; i < 1000; i++)
		table_add(&table, "%u", i % 10);
	assert_int_equal(table.count, 1000);
	out = open_memstream(&text, &bytes);
	assert_int_equal(table_end(&table, out), 0);
	fclose(out);
	assert_int_equal(bytes, 1001 * 2);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_the_widest_cell),
		cmocka_unit_test(characters_are_counted_and_not_bytes),
		cmocka_unit_test(an_empty_table_has_its_heads),
		cmocka_unit_test(a_table_has_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
