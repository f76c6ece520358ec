#include "sys/boot.h"

#include <ctype.h>
#include <stdio.h>

#include "sys/clock.h"

enum { DIGITS = 32 };

/* A UUID: both halves of it, one over the other.  0: it is none. */
static uint64_t
fold(FILE *file)
{
	uint64_t halves[2] = { 0, 0 };
	int digits = 0, c;

	while (digits < DIGITS && (c = fgetc(file)) != EOF) {
		if (!isxdigit(c))
			continue;
		halves[digits / 16] <<= 4;
		halves[digits / 16] |= (uint64_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
		digits++;
	}
	return digits == DIGITS ? halves[0] ^ halves[1] : 0;
}

uint64_t
boot_number(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	uint64_t number = 0;

	if (file != NULL) {
		number = fold(file);
		fclose(file);
	}
	return number != 0 ? number : clock_random() | 1;
}
