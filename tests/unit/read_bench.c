#include "read_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
read_says(const struct csv_remarks *remarks, uint32_t line, const char *words)
{
	for (uint32_t i = 0; i < remarks->count && i < CSV_SAID; i++)
		if (remarks->first[i].line == line && strstr(remarks->first[i].why, words) != NULL)
			return;
	fprintf(stderr, "of line %u nothing says '%s'; there is:\n", line, words);
	for (uint32_t i = 0; i < remarks->count && i < CSV_SAID; i++)
		fprintf(stderr, "  %u: %s\n", remarks->first[i].line, remarks->first[i].why);
	abort();
}

static void
are_sound(const struct csv_remarks *remarks, size_t lines)
{
	for (uint32_t i = 0; i < remarks->count && i < CSV_SAID; i++) {
		const char *why = remarks->first[i].why;

		if (remarks->first[i].line > lines || why[0] == '\0')
			abort();
		for (size_t at = 0; why[at] != '\0'; at++)
			if ((unsigned char)why[at] < ' ' || why[at] == 0x7f)
				abort();
	}
}

void
read_said_is_sound(const struct csv_said *said, const char *text, size_t bytes)
{
	are_sound(&said->wrong, csv_lines(text, bytes));
	are_sound(&said->odd, csv_lines(text, bytes));
}
