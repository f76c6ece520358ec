#include "place/csv.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* ---- remarks ---- */

void
csv_remark(struct csv_remarks *remarks, uint32_t line, const char *format, ...)
{
	struct csv_remark *remark;
	va_list arguments;

	if (remarks->count++ >= CSV_SAID)
		return;
	remark = &remarks->first[remarks->count - 1];
	remark->line = line;
	va_start(arguments, format);
	vsnprintf(remark->why, sizeof(remark->why), format, arguments);
	va_end(arguments);
}

int
csv_cut(const char *text)
{
	size_t left = strlen(text), bytes = 0;
	uint32_t code;

	while (bytes < 40 && bytes < left)
		bytes += utf8_next((const uint8_t *)text + bytes, left - bytes, &code);
	return (int)bytes;
}

/* ---- one row ---- */

/* How many bytes end a line here; 0: it does not end here. */
static unsigned
line_end(const struct csv *csv)
{
	size_t left = (size_t)(csv->end - csv->text);

	if (left >= 1 && csv->text[0] == '\n')
		return 1;
	return left >= 2 && csv->text[0] == '\r' && csv->text[1] == '\n' ? 2 : 0;
}

static void
skip_blanks(struct csv *csv)
{
	while (csv->text < csv->end && (*csv->text == ' ' || *csv->text == '\t'))
		csv->text++;
}

/* One more letter of a cell; a tab and a line end are a blank.  NULL, or why it cannot be read. */
static const char *
letter(struct csv *csv, char **put)
{
	unsigned bytes = line_end(csv);
	uint32_t code;

	if (*put + 5 > csv->row + CSV_ROW)
		return "it is longer than 16384 bytes";
	if (bytes > 0 || *csv->text == '\t') {
		csv->next_line += bytes > 0;
		csv->text += bytes > 0 ? bytes : 1;
		*(*put)++ = ' ';
		return NULL;
	}
	bytes = utf8_next((const uint8_t *)csv->text, (size_t)(csv->end - csv->text), &code);
	if (bytes == 0)
		return "it has bytes that are no text in UTF-8";
	if (!utf8_printable(code))
		return "it has a control character";
	memcpy(*put, csv->text, bytes);
	*put += bytes;
	csv->text += bytes;
	return NULL;
}

static const char *
quoted(struct csv *csv, char **put)
{
	const char *why = NULL;

	csv->text++;
	while (why == NULL) {
		if (csv->text == csv->end)
			return "a quote is opened, and not closed";
		if (*csv->text == '"') {
			csv->text++;
			if (csv->text == csv->end || *csv->text != '"') {
				skip_blanks(csv);
				return NULL;
			}
		}
		why = letter(csv, put);
	}
	return why;
}

static const char *
plain(struct csv *csv, char **put)
{
	const char *begin = *put, *why = NULL;

	while (why == NULL && csv->text < csv->end && *csv->text != ',' && line_end(csv) == 0) {
		if (*csv->text == '"')
			return "a quote is within a cell: all of it is in quotes then, and its own are doubled";
		why = letter(csv, put);
	}
	while (*put > begin && (*put)[-1] == ' ')
		(*put)--;
	return why;
}

/* The cells of the row that begins here, and moves on behind it.  NULL, or why it cannot be read. */
static const char *
read_row(struct csv *csv)
{
	char *put = csv->row;

	for (csv->cells = 0;;) {
		const char *why;

		if (csv->cells == CSV_COLUMNS)
			return "it has more than 64 cells";
		skip_blanks(csv);
		csv->cell[csv->cells++] = put;
		why = csv->text < csv->end && *csv->text == '"' ? quoted(csv, &put) : plain(csv, &put);
		if (why != NULL)
			return why;
		*put++ = '\0';
		if (csv->text == csv->end || line_end(csv) > 0)
			break;
		if (*csv->text++ != ',')
			return "there is more behind a closing quote";
	}
	csv->text += line_end(csv);
	csv->next_line++;
	return NULL;
}

static bool
is_empty(const struct csv *csv)
{
	for (unsigned i = 0; i < csv->cells; i++)
		if (csv->cell[i][0] != '\0')
			return false;
	return true;
}

/* A row with something in it. */
static bool
find_row(struct csv *csv)
{
	while (csv->text < csv->end) {
		const char *begin = csv->text, *newline = memchr(begin, '\n', (size_t)(csv->end - begin)), *why;

		csv->line = csv->next_line;
		why = *begin == '#' ? "" : read_row(csv);
		if (why == NULL) {
			if (!is_empty(csv))
				return true;
			continue;
		}
		if (why[0] != '\0')
			csv_wrong(csv, "%s", why);
		csv->text = newline != NULL ? newline + 1 : csv->end; /* on with the next line */
		csv->next_line = csv->line + 1;
	}
	return false;
}

bool
csv_next(struct csv *csv)
{
	while (find_row(csv)) {
		if (csv->cells == csv->columns)
			return true;
		csv_wrong(csv, "it has %u cell%s, and the heading has %u", csv->cells,
		    csv->cells == 1 ? "" : "s", csv->columns);
	}
	return false;
}

/* ---- the heading ---- */

static bool
is_named(const struct csv *csv, unsigned column, const char *name)
{
	return strcasecmp(csv->cell[column], name) == 0;
}

/* What a column is called, where that says something; false: it has been said that it does not. */
static bool
take_column(struct csv *csv, unsigned column)
{
	for (unsigned other = 0; other < column; other++)
		if (is_named(csv, other, csv->cell[column])) {
			csv_wrong(csv, "columns %u and %u are both called '%.*s'", other + 1,
			    column + 1, csv_cut(csv->cell[column]), csv->cell[column]);
			return false;
		}
	for (unsigned name = 0; name < csv->name_count; name++)
		if (is_named(csv, column, csv->names[name])) {
			csv->at[name] = (int)column;
			return true;
		}
	csv_odd(csv, "column '%.*s' is not known, and not used", csv_cut(csv->cell[column]), csv->cell[column]);
	return true;
}

/* What a spreadsheet writes where commas are for decimals. */
static bool
other_separator(struct csv *csv)
{
	if (csv->columns > 1 || strchr(csv->cell[0], ';') == NULL)
		return false;
	csv_wrong(csv, "the heading is one cell: cells are separated by ',', not by ';'");
	return true;
}

bool
csv_begin(struct csv *csv, const char *text, size_t bytes, const char *const *names, unsigned name_count,
    struct csv_said *said)
{
	bool good = true;

	assert(name_count <= CSV_COLUMNS);
	if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		bytes -= 3;
	}
	csv->text = text;
	csv->end = text + bytes;
	csv->line = csv->next_line = 1;
	csv->names = names;
	csv->name_count = name_count;
	csv->said = said;
	for (unsigned i = 0; i < name_count; i++)
		csv->at[i] = -1;
	if (!find_row(csv)) {
		csv_remark(&said->wrong, 0, "there is no heading, which names the columns");
		return false;
	}
	csv->columns = csv->cells;
	if (other_separator(csv))
		return false;
	for (unsigned i = 0; i < csv->columns; i++)
		if (csv->cell[i][0] == '\0') {
			csv_remark(&said->wrong, csv->line, "column %u has no name", i + 1);
			good = false;
		} else {
			good &= take_column(csv, i);
		}
	return good;
}

bool
csv_has(const struct csv *csv, unsigned name)
{
	return csv->at[name] >= 0;
}

bool
csv_needs(struct csv *csv, unsigned name)
{
	if (!csv_has(csv, name))
		csv_wrong(csv, "there is no column '%s'", csv->names[name]);
	return csv_has(csv, name);
}

bool
csv_needs_either(struct csv *csv, unsigned name, unsigned other)
{
	if (csv_has(csv, name) != csv_has(csv, other))
		return true;
	if (csv_has(csv, name))
		csv_wrong(csv, "columns '%s' and '%s' say the same: one of them is enough",
		    csv->names[name], csv->names[other]);
	else
		csv_wrong(csv, "there is no column '%s', nor '%s'", csv->names[name],
		    csv->names[other]);
	return false;
}

/* ---- cells ---- */

const char *
csv_text(const struct csv *csv, unsigned name)
{
	return csv_has(csv, name) ? csv->cell[csv->at[name]] : "";
}

/* Digits with at most one point, and an exponent: what strtod() takes beyond that is no number here. */
static bool
is_number(const char *text)
{
	bool digits = false;

	text += *text == '-' || *text == '+';
	for (; isdigit((unsigned char)*text); text++)
		digits = true;
	if (*text == '.')
		text++;
	for (; isdigit((unsigned char)*text); text++)
		digits = true;
	if (digits && (*text == 'e' || *text == 'E') && text[1] != '\0') {
		text += text[1] == '-' || text[1] == '+' ? 2 : 1;
		digits = isdigit((unsigned char)*text);
		while (isdigit((unsigned char)*text))
			text++;
	}
	return digits && *text == '\0';
}

enum csv_cell
csv_number(struct csv *csv, unsigned name, double *value)
{
	const char *text = csv_text(csv, name);
	double number;

	if (text[0] == '\0')
		return CSV_EMPTY;
	if (!is_number(text)) {
		csv_wrong(csv, "%s: '%.*s' is not a number%s", csv->names[name], csv_cut(text), text,
		    strchr(text, ',') != NULL ? ": a decimal point is '.', and nothing stands between thousands" : "");
		return CSV_WRONG;
	}
	number = strtod(text, NULL);
	if (!isfinite(number)) {
		csv_wrong(csv, "%s: '%.*s' is too large", csv->names[name], csv_cut(text), text);
		return CSV_WRONG;
	}
	*value = number;
	return CSV_GOOD;
}

enum csv_cell
csv_within(struct csv *csv, unsigned name, double least, double most, const char *unit, double *value)
{
	double number = *value;
	enum csv_cell cell = csv_number(csv, name, &number);

	if (cell == CSV_GOOD && !(number >= least && number <= most)) {
		csv_wrong(csv, "%s: %g is not from %g to %g%s%s", csv->names[name], number,
		    least, most, unit[0] != '\0' ? " " : "", unit);
		return CSV_WRONG;
	}
	*value = number;
	return cell;
}

size_t
csv_lines(const char *text, size_t bytes)
{
	size_t lines = 1;

	for (size_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	return lines;
}
