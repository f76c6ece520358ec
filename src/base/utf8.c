/*
 * utf8.c - which bytes are characters, and which of those are text that one can see.
 */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

unsigned
utf8_next(const uint8_t *text, size_t bytes, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned length;
	uint32_t c;

	if (bytes == 0)
		return 0;
	c = text[0];
	length = c < 0x80 ? 1 : (c & 0xe0) == 0xc0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : (c & 0xf8) == 0xf0 ? 4 : 0;
	if (length == 0 || length > bytes)
		return 0;
	if (length > 1)
		c &= 0x7fu >> length;
	for (unsigned i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return length;
}

bool
utf8_printable(uint32_t code)
{
	return code >= 0x20 && code != 0x7f && !(code >= 0x80 && code <= 0x9f) && code != 0x2028 && code != 0x2029 &&
	    code != 0xfeff && code != 0xfffe && code != 0xffff;
}

void
utf8_show(const char *text, char *out, size_t room)
{
	size_t left = strlen(text), used = 0;

	while (left > 0) {
		uint32_t code = 0;
		unsigned length = utf8_next((const uint8_t *)text, left, &code);
		bool seen = length > 0 && utf8_printable(code);
		size_t bytes = length > 0 ? length : 1;

		if (used + (seen ? bytes : 4 * bytes) >= room)
			break;
		if (seen)
			memcpy(out + used, text, bytes);
		for (size_t i = 0; i < bytes && !seen; i++)
			snprintf(out + used + 4 * i, 5, "\\x%02x", (uint8_t)text[i]);
		used += seen ? bytes : 4 * bytes;
		text += bytes;
		left -= bytes;
	}
	out[used] = '\0';
}
