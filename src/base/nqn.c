#include "base/nqn.h"

#include <string.h>

#include "base/utf8.h"

/* 0: a digit. */
static const char shape[] = "nqn.0000-00.";

enum { SHAPE = sizeof(shape) - 1 };

static bool
can_be_seen(const char *text, size_t bytes)
{
	uint32_t code = 0;
	unsigned length;

	for (size_t at = 0; at < bytes; at += length) {
		length = utf8_next((const uint8_t *)text + at, bytes - at, &code);
		if (length == 0 || !utf8_printable(code))
			return false;
	}
	return true;
}

bool
nqn_valid(const char *text, size_t bytes)
{
	if (bytes <= SHAPE || bytes > NQN_MAX)
		return false;
	for (unsigned i = 0; i < SHAPE; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return can_be_seen(text + SHAPE, bytes - SHAPE);
}

bool
nqn_usable(const char *text, size_t bytes)
{
	return nqn_valid(text, bytes) ||
	    (bytes > 0 && bytes <= NQN_MAX && memchr(text, ' ', bytes) == NULL && can_be_seen(text, bytes));
}
