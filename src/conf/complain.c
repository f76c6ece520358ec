/*
 * complain.c - what is wrong with a configuration, in words and by line.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/internal.h"

void
complain(struct conf_errors *errors, uint32_t line, const char *format, ...)
{
	struct conf_error *error;
	va_list args;

	if (errors->count == CONF_ERRORS_MAX) {
		errors->more = true;
		return;
	}
	error = &errors->list[errors->count++];
	error->line = line;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

void
complaints_sort(struct conf_errors *errors)
{
	for (uint32_t i = 1; i < errors->count; i++) {
		struct conf_error error = errors->list[i];
		uint32_t at = i;

		for (; at > 0 && errors->list[at - 1].line > error.line; at--)
			errors->list[at] = errors->list[at - 1];
		errors->list[at] = error;
	}
}

struct quoted
quote(const char *text)
{
	enum { LONG = 64 };
	struct quoted q;
	size_t length = strlen(text);
	bool cut = length > LONG;

	if (cut)
		for (length = LONG; ((uint8_t)text[length] & 0xc0) == 0x80; length--)
			;
	snprintf(q.text, sizeof(q.text), "`%.*s%s`", (int)length, text, cut ? "..." : "");
	return q;
}

/* How many letters must be put in, left out or replaced to make `b` of `a`. */
static unsigned
distance(const char *a, const char *b)
{
	enum { LONG = 31 };
	size_t a_length = strlen(a), b_length = strlen(b);
	unsigned row[LONG + 1];

	if (a_length > LONG || b_length > LONG)
		return LONG;
	for (unsigned j = 0; j <= b_length; j++)
		row[j] = j;
	for (unsigned i = 1; i <= a_length; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= b_length; j++) {
			unsigned best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_length];
}

unsigned
nearest(const char *text, const char *const *words, unsigned count)
{
	unsigned found = count;
	unsigned best = 4; /* as many as three mistakes, and fewer than half of the word */

	for (unsigned i = 0; i < count; i++) {
		unsigned d = distance(text, words[i]);

		if (d < best && d < strlen(words[i]) / 2) {
			best = d;
			found = i;
		}
	}
	return found;
}

struct wordlist
wordlist(const char *const *words, unsigned count)
{
	static const char more[] = " ...";
	struct wordlist list = { "" };
	size_t used = 0, room = sizeof(list.text) - sizeof(more);

	for (unsigned i = 0; i < count; i++) {
		const char *before = i == 0 ? "" : i + 1 < count ? ", " : " or ";
		size_t length = strlen(before) + strlen(words[i]);

		if (length > room - used) {
			memcpy(list.text + used, more, sizeof(more));
			break;
		}
		used += (size_t)snprintf(list.text + used, length + 1, "%s%s", before, words[i]);
	}
	return list;
}
