#include "lib/decode.h"

#include "base/utf8.h"

void
lib_text(char *out, size_t room, const void *field, size_t bytes)
{
	const uint8_t *text = field;
	size_t length = strnlen(field, bytes), used = 0;

	while (length > 0 && text[length - 1] == ' ')
		length--;
	for (size_t at = 0; at < length;) {
		uint32_t code = 0;
		unsigned step = utf8_next(text + at, length - at, &code);
		bool seen = step > 0 && utf8_printable(code);
		size_t need = seen ? step : 1;

		if (used + need >= room)
			break;
		if (seen)
			memcpy(out + used, text + at, need);
		else
			out[used] = '?';
		used += need;
		at += step > 0 ? step : 1;
	}
	out[used] = '\0';
}

uint64_t
lib_number(le128 number)
{
	return le64_get(number.high) != 0 ? UINT64_MAX : le64_get(number.low);
}

bool
lib_take(const void *page, size_t bytes, uint64_t at, void *out, size_t size)
{
	size_t there = at < bytes ? bytes - (size_t)at : 0;

	if (there > size)
		there = size;
	memset(out, 0, size);
	if (there > 0)
		memcpy(out, (const uint8_t *)page + at, there);
	return there == size;
}
