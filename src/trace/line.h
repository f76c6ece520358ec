/*
 * line.h - one line of a trace, column by column: whole numbers, times, words.
 *
 * Inside src/trace.  The first column that is wrong says why, and then nothing
 * more is read of the line: whoever reads it asks once, at its end.  It does not
 * know which columns there are: that is each format's (msr.c, spc.c, ...).
 */
#ifndef WEIR_TRACE_LINE_H
#define WEIR_TRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line {
	const char *at;     /* what of it is still to be read */
	const char *end;    /* the byte there can be read, and is a newline or a carriage return, or a blank */
	char separator;     /* ',', about which there may be blanks; or ' ': blanks and tabs, one at least */
	bool open;          /* a comma was the last: a column has to follow */
	const char *why;    /* static; NULL: nothing is wrong so far */
};

/* What is said of a column that is wrong. */
struct line_words {
	const char *missing, *wrong, *negative, *large;
};

#define LINE_NUMBER(what) \
	{ what " is missing", what " is not a whole number", what " is negative", what " is too large" }
#define LINE_TIME(what) \
	{ what " is missing", what " is not a number", what " is negative", what " is beyond 2^64 ns" }
#define LINE_WORD(what, known) \
	{ what " is missing", what " is not " known, what " is not " known, what " is not " known }

struct line_field {
	const char *at;
	size_t length;
};

/* What a line says if it is right. */
struct line_said {
	uint64_t time_ns, offset; /* bytes */
	uint32_t bytes;
	bool is_write;
	struct line_field volume[2]; /* what it is called, perhaps in two columns, with `joint` between them */
	char joint;
};

enum line_kind {
	LINE_REQUEST,
	LINE_OTHER,  /* a request that neither reads nor writes bytes */
	LINE_APART,  /* sound, and no request that arrives */
	LINE_BAD     /* line->why says why */
};

/* Remembers the first reason; LINE_BAD. */
enum line_kind line_wrong(struct line *line, const char *why);

/* A whole number, 0 where it is wrong. */
uint64_t line_number(struct line *line, const struct line_words *words);

/* A time in ns: with a point seconds, without one of such units.  0 where it is wrong. */
uint64_t line_moment(struct line *line, const struct line_words *words, uint64_t unit_ns);

/* Anything up to the next separator, empty where it is wrong; the same, but digits alone. */
struct line_field line_word(struct line *line, const struct line_words *words);
struct line_field line_digits(struct line *line, const struct line_words *words);

/* Whether it is this word, which is in small letters, in any case. */
bool line_is(const struct line_field *field, const char *word);

/* No column is to follow.  The kind of line it is: `kind`, or LINE_BAD if anything was wrong. */
enum line_kind line_ends(struct line *line, enum line_kind kind);

/* Where it lies, in blocks of 2^`shift` bytes, and how long it is; wrong where that cannot be. */
enum { LINE_BYTES = 0, LINE_SECTORS = 9 };
void line_extent(struct line *line, struct line_said *said, uint64_t offset, unsigned offset_shift, uint64_t size,
    unsigned size_shift);

#endif
