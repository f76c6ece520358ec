#include "table.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void
table_init(struct table *table, const char *const *heads, unsigned columns)
{
	assert(columns > 0 && columns <= TABLE_COLUMNS);
	*table = (struct table) { .columns = columns, .heads = heads };
}

static bool
grow(struct table *table)
{
	size_t room = table->room > 0 ? table->room * 2 : 64;
	char **cells = reallocarray(table->cells, room, sizeof(*cells));

	if (cells == NULL)
		return false;
	table->cells = cells;
	table->room = room;
	return true;
}

void
table_add(struct table *table, const char *format, ...)
{
	char *text;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length >= 0 && (table->count < table->room || grow(table))) {
		table->cells[table->count++] = text;
		return;
	}
	if (length >= 0)
		free(text);
	table->short_of_memory = true;
}

/* Characters, not bytes: an NQN is UTF-8. */
static size_t
width(const char *text)
{
	size_t n = 0, left = strlen(text);
	uint32_t code;

	while (left > 0) {
		unsigned bytes = utf8_next((const uint8_t *)text, left, &code);

		bytes = bytes > 0 ? bytes : 1;
		text += bytes;
		left -= bytes;
		n++;
	}
	return n;
}

static bool
right(const struct table *table, unsigned column)
{
	return table->heads[column][0] == '>';
}

/* No blanks behind the last column. */
static void
print_cell(const struct table *table, unsigned column, const char *text, size_t wide, FILE *out)
{
	int blanks = (int)(wide - width(text));

	if (column > 0)
		fputs("  ", out);
	if (right(table, column))
		fprintf(out, "%*s%s", blanks, "", text);
	else if (column + 1 < table->columns)
		fprintf(out, "%s%*s", text, blanks, "");
	else
		fputs(text, out);
	if (column + 1 == table->columns)
		fputc('\n', out);
}

static void
print(const struct table *table, FILE *out)
{
	size_t widths[TABLE_COLUMNS];

	for (unsigned i = 0; i < table->columns; i++)
		widths[i] = width(table->heads[i] + right(table, i));
	for (size_t i = 0; i < table->count; i++) {
		size_t wide = width(table->cells[i]);

		if (wide > widths[i % table->columns])
			widths[i % table->columns] = wide;
	}
	for (unsigned i = 0; i < table->columns; i++)
		print_cell(table, i, table->heads[i] + right(table, i), widths[i], out);
	for (size_t i = 0; i < table->count; i++) {
		unsigned column = (unsigned)(i % table->columns);

		print_cell(table, column, table->cells[i], widths[column], out);
	}
}

int
table_end(struct table *table, FILE *out)
{
	bool whole = !table->short_of_memory;

	assert(!whole || table->count % table->columns == 0);
	if (whole)
		print(table, out);
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table) { .columns = table->columns, .heads = table->heads };
	return whole ? 0 : -ENOMEM;
}
