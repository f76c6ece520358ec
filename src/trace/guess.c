/*
 * guess.c - which format is this?  The one that reads most of the first lines.
 *
 * A line is of one format, or of none: nothing that one of them reads has the
 * columns of another.  So there is no order in which they are tried.
 */
#include <string.h>

#include "trace/format.h"

enum { GUESS_LINES = 100 };

struct score {
	bool begun;                   /* there was a line that is neither empty nor a comment */
	unsigned lines;               /* that are neither empty, nor a comment, nor may be a heading */
	unsigned read[TRACE_FORMATS];
};

/* `end` is where a newline is. */
static void
line_score(struct score *score, const char *at, const char *end)
{
	bool read = false, text = false;

	for (enum trace_format format = 0; format < TRACE_FORMATS; format++) {
		struct line line = { .why = NULL };
		struct line_said said;
		enum line_kind kind = format_line(format, at, end, &line, &said, &text);

		if (text && kind != LINE_BAD) {
			score->read[format]++;
			read = true;
		}
	}
	if (text && (read || score->begun || !format_heads(at)))
		score->lines++;
	score->begun |= text;
}

/* The one line there is has no newline. */
static void
lone_score(struct score *score, const char *bytes, size_t length)
{
	char copy[TRACE_LINE + 2];

	if (length > TRACE_LINE + 1)
		length = TRACE_LINE + 1;
	memcpy(copy, bytes, length);
	copy[length] = '\n';
	line_score(score, copy, copy + length);
}

bool
trace_guess(const char *bytes, size_t length, enum trace_format *format)
{
	const char *end = bytes + length, *begin = format_begin(bytes, end), *at = begin, *newline;
	struct score score = { .lines = 0 };
	enum trace_format best = 0;

	for (unsigned i = 0; i < GUESS_LINES && at < end; i++, at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (newline == NULL)
			break;
		line_score(&score, at, newline);
	}
	if (at == begin && at < end)
		lone_score(&score, at, (size_t)(end - at));
	for (enum trace_format other = 1; other < TRACE_FORMATS; other++)
		if (score.read[other] > score.read[best])
			best = other;
	if (score.read[best] * 2 <= score.lines)
		return false;
	*format = best;
	return true;
}
