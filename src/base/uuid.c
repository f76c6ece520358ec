#include "base/uuid.h"

#include <string.h>

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
uuid_parse(const char *text, uint8_t id[UUID_BYTES])
{
	uint8_t any = 0;
	unsigned bytes = 0;

	if (strlen(text) != UUID_TEXT)
		return false;
	for (unsigned i = 0; i < UUID_TEXT;) {
		int high = hex_value(text[i]), low = hex_value(text[i + 1]);

		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (text[i++] != '-')
				return false;
			continue;
		}
		if (high < 0 || low < 0)
			return false;
		id[bytes] = (uint8_t)(high << 4 | low);
		any |= id[bytes++];
		i += 2;
	}
	return any != 0;
}
