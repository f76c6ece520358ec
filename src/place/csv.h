/*
 * csv.h - a table as people and spreadsheets write one: text in memory, row by row, in constant memory.
 *
 * As RFC 4180 has it, in UTF-8.  The first row is the heading, which names columns in any order.  A line that begins
 * with '#' is a comment; lines and rows with nothing in them are none; a byte order mark is let pass; blanks around
 * what is not in quotes are not part of it, and a line end within quotes is a blank.  What is wrong is said by line and
 * column, and reading goes on, so that who mends a file sees all that is to be mended.  It does not know what columns
 * mean: workloads_read.h and catalogue_read.h do.
 */
#ifndef WEIR_PLACE_CSV_H
#define WEIR_PLACE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_COLUMNS = 64, CSV_ROW = 16384 /* bytes of its cells */, CSV_SAID = 20, CSV_WHY = 240 };

/* ---- what is wrong with a file, and what is odd about it ---- */

struct csv_remark {
	uint32_t line;             /* from 1; 0: of the whole file */
	char why[CSV_WHY];
};

struct csv_remarks {
	uint32_t count;            /* of these the first CSV_SAID are kept */
	struct csv_remark first[CSV_SAID];
};

struct csv_said {
	struct csv_remarks wrong;  /* then what was read cannot be used */
	struct csv_remarks odd;    /* possible, and perhaps not meant */
};

void csv_remark(struct csv_remarks *remarks, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How many bytes of somebody's text are shown in one: whole letters, about forty; for "%.*s". */
int csv_cut(const char *text);

/* ---- rows ---- */

struct csv {
	const char *text, *end;    /* what is not read yet */
	uint32_t line;             /* where the row begins, that the cells are of */
	uint32_t next_line;
	const char *const *names;  /* of the columns that the caller knows */
	unsigned name_count;
	int at[CSV_COLUMNS];       /* by name: which column of the file that is, or -1 */
	unsigned columns, cells;
	const char *cell[CSV_COLUMNS];
	char row[CSV_ROW];
	struct csv_said *said;
};

/* Reads the heading; of columns that are not in `names` (CSV_COLUMNS at most) it is said that nobody knows them.  Text,
 * names and `said` stay the caller's.  False: there is none, as has been said. */
bool csv_begin(struct csv *csv, const char *text, size_t bytes, const char *const *names, unsigned name_count,
    struct csv_said *said);

/* Whether the file has this column; the same, and else it is said that it must. */
bool csv_has(const struct csv *csv, unsigned name);
bool csv_needs(struct csv *csv, unsigned name);
/* It has one of these two, and not both. */
bool csv_needs_either(struct csv *csv, unsigned name, unsigned other);

/* The next row that can be read; what cannot has been said.  False: there is none. */
bool csv_next(struct csv *csv);

/* Of the row, what is wrong with it or odd about it: a format and what belongs to it. */
#define csv_wrong(csv, ...) csv_remark(&(csv)->said->wrong, (csv)->line, __VA_ARGS__)
#define csv_odd(csv, ...) csv_remark(&(csv)->said->odd, (csv)->line, __VA_ARGS__)

/* A cell of it, until the next row; "" where it is empty or the file has no such column. */
const char *csv_text(const struct csv *csv, unsigned name);

enum csv_cell { CSV_EMPTY, CSV_GOOD, CSV_WRONG /* as has been said */ };

/* What a cell is as a decimal number; where it is not CSV_GOOD the value is as it was.  Within: from `least` to `most`,
 * which are said in `unit`. */
enum csv_cell csv_number(struct csv *csv, unsigned name, double *value);
enum csv_cell csv_within(struct csv *csv, unsigned name, double least, double most, const char *unit, double *value);

/* How many lines there are at most: for how many rows there must be room. */
size_t csv_lines(const char *text, size_t bytes);

#endif
