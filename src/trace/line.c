#include "trace/line.h"

#include <string.h>

enum { SURE_DIGITS = 19 /* of these a number has no more than 64 bits */, SECOND_DIGITS = 9 };
#define SECOND_NS UINT64_C(1000000000)
#define SIZE_MAX_BYTES (UINT64_C(1) << 30)
#define END_MAX_BYTES (UINT64_C(1) << 63)

enum line_kind
line_wrong(struct line *line, const char *why)
{
	if (line->why == NULL)
		line->why = why;
	line->at = line->end;
	return LINE_BAD;
}

static const char *
blanks_skip(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

/* To where a column begins; false: there is none, or nothing more is read. */
static bool
column_begins(struct line *line, const struct line_words *words)
{
	if (line->why != NULL)
		return false;
	line->at = blanks_skip(line->at);
	if (line->at < line->end && *line->at != line->separator)
		return true;
	line_wrong(line, words->missing);
	return false;
}

/* A column was read up to `at`: whether it ends there. */
static bool
column_ends(struct line *line, const char *at)
{
	const char *next = blanks_skip(at);

	line->open = false;
	if (next >= line->end) {
		line->at = line->end;
		return true;
	}
	line->at = next;
	if (line->separator == ' ')
		return next > at;
	line->at = next + 1;
	line->open = *next == ',';
	return line->open;
}

/* Its digits from `at` to `end` may be more than a number has room for. */
static bool
long_number(const char *at, const char *end, uint64_t *value)
{
	for (*value = 0; at < end; at++)
		if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
			return false;
	return true;
}

/* Reads digits, one at least; where they end.  NULL: wrong. */
static const char *
digits_read(struct line *line, const struct line_words *words, uint64_t *value)
{
	const char *at = line->at;
	unsigned digit;

	*value = 0;
	while ((digit = (unsigned)(unsigned char)*at - '0') < 10) {
		*value = *value * 10 + digit;
		at++;
	}
	if (at - line->at > SURE_DIGITS && !long_number(line->at, at, value)) {
		line_wrong(line, words->large);
		return NULL;
	}
	if (at > line->at)
		return at;
	line_wrong(line, *at == '-' && at[1] >= '0' && at[1] <= '9' ? words->negative : words->wrong);
	return NULL;
}

uint64_t
line_number(struct line *line, const struct line_words *words)
{
	const char *at;
	uint64_t value;

	if (!column_begins(line, words) || (at = digits_read(line, words, &value)) == NULL)
		return 0;
	if (column_ends(line, at))
		return value;
	line_wrong(line, words->wrong);
	return 0;
}

/* The digits behind a point, as ns: what is less is dropped.  Where they end; NULL: there is none. */
static const char *
fraction_read(const char *at, uint64_t *ns)
{
	const char *from = at;
	unsigned digit, places = 0;

	*ns = 0;
	for (; (digit = (unsigned)(unsigned char)*at - '0') < 10; at++)
		if (places < SECOND_DIGITS) {
			*ns = *ns * 10 + digit;
			places++;
		}
	for (; places < SECOND_DIGITS; places++)
		*ns *= 10;
	return at > from ? at : NULL;
}

uint64_t
line_moment(struct line *line, const struct line_words *words, uint64_t unit_ns)
{
	uint64_t time_ns, fraction_ns = 0;
	const char *at;

	if (!column_begins(line, words) || (at = digits_read(line, words, &time_ns)) == NULL)
		return 0;
	if (*at == '.') {
		unit_ns = SECOND_NS;
		at = fraction_read(at + 1, &fraction_ns);
	}
	if (at == NULL || !column_ends(line, at))
		line_wrong(line, words->wrong);
	else if (__builtin_mul_overflow(time_ns, unit_ns, &time_ns) ||
	    __builtin_add_overflow(time_ns, fraction_ns, &time_ns))
		line_wrong(line, words->large);
	return line->why == NULL ? time_ns : 0;
}

struct line_field
line_word(struct line *line, const struct line_words *words)
{
	struct line_field field = { line->at, 0 };
	const char *at;

	if (!column_begins(line, words))
		return field;
	field.at = at = line->at;
	while (at < line->end && *at != line->separator && *at != ' ' && *at != '\t')
		at++;
	field.length = (size_t)(at - field.at);
	if (!column_ends(line, at))
		line_wrong(line, words->wrong);
	return field;
}

struct line_field
line_digits(struct line *line, const struct line_words *words)
{
	struct line_field field = line_word(line, words);

	for (size_t i = 0; i < field.length; i++)
		if (field.at[i] < '0' || field.at[i] > '9')
			line_wrong(line, words->wrong);
	return field;
}

bool
line_is(const struct line_field *field, const char *word)
{
	size_t i = 0;

	while (i < field->length && word[i] != '\0' && (field->at[i] | 0x20) == word[i])
		i++;
	return i == field->length && word[i] == '\0';
}

enum line_kind
line_ends(struct line *line, enum line_kind kind)
{
	if (line->why == NULL && (line->open || line->at < line->end))
		line_wrong(line, "something follows its last column");
	return line->why == NULL ? kind : LINE_BAD;
}

void
line_extent(struct line *line, struct line_said *said, uint64_t offset, unsigned offset_shift, uint64_t size,
    unsigned size_shift)
{
	if (size == 0)
		line_wrong(line, "its size is 0");
	else if (size > SIZE_MAX_BYTES >> size_shift)
		line_wrong(line, "its size is more than 1 GiB");
	else if (offset > (END_MAX_BYTES - (size << size_shift)) >> offset_shift)
		line_wrong(line, "it ends beyond 2^63 bytes");
	if (line->why != NULL)
		return;
	said->offset = offset << offset_shift;
	said->bytes = (uint32_t)(size << size_shift);
}
