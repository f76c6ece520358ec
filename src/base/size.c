#include "base/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char units[] = "KMGT";

bool
number_parse(const char **text, uint64_t *value)
{
	const char *at = *text;
	uint64_t v = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*text = at;
	*value = v;
	return true;
}

bool
size_parse(const char *text, uint64_t *bytes)
{
	const char *unit;
	unsigned shift = 0;
	uint64_t v;

	if (!number_parse(&text, &v))
		return false;
	unit = *text != '\0' ? strchr(units, toupper((unsigned char)*text)) : NULL;
	if (unit != NULL) {
		shift = 10 * (unsigned)(unit - units + 1);
		text++;
	}
	if (*text != '\0' || v > UINT64_MAX >> shift)
		return false;
	*bytes = v << shift;
	return true;
}

void
size_print(uint64_t bytes, char text[SIZE_TEXT])
{
	unsigned unit = 0;

	for (; bytes != 0 && bytes % 1024 == 0 && units[unit] != '\0'; unit++)
		bytes /= 1024;
	if (unit == 0)
		snprintf(text, SIZE_TEXT, "%" PRIu64, bytes);
	else
		snprintf(text, SIZE_TEXT, "%" PRIu64 "%c", bytes, units[unit - 1]);
}
