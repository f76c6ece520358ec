/*
 * profiles/frozen.txt: each profile that is built in is there, frozen or open, and a frozen one is what it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "flash/profile.h"

/* A line of the file is sound: what is built in, once, and what it is said to be. */
static void
line_check(const char *line, unsigned *seen)
{
	char name[FLASH_NAME_MAX], hash[32], is[32], held[200] = "";
	struct flash_profile profile;
	struct arena arena;

	if (sscanf(line, "%31s %31s %199[^\n]", name, hash, held) < 2)
		fail_msg("not a name and a hash: %s", line);
	arena_init(&arena, 0);
	if (flash_profile_find(&arena, name, &profile) != 0)
		fail_msg("%s: there is no such profile", name);
	arena_drop(&arena);
	for (unsigned i = 0; i < flash_profile_count; i++)
		if (strcmp(flash_profile_texts[i].name, name) == 0)
			seen[i]++;
	if (strcmp(hash, "open") == 0)
		return;
	snprintf(is, sizeof(is), "%016" PRIx64, flash_profile_hash(&profile));
	if (strcmp(hash, is) != 0)
		fail_msg("%s is frozen as %s, and is %s: what else is wanted is another profile", name, hash, is);
	if (held[0] == '\0')
		fail_msg("%s is frozen, and nobody says what it was held against", name);
}

static void
each_profile_is_frozen_as_it_is_or_open(void **state)
{
	unsigned seen[16] = { 0 };
	char line[512];
	FILE *file = fopen(FROZEN, "r");

	(void)state;
	assert_non_null(file);
	assert_true(flash_profile_count <= 16);
	while (fgets(line, sizeof(line), file) != NULL)
		if (line[0] != '#')
			line_check(line, seen);
	fclose(file);
	for (unsigned i = 0; i < flash_profile_count; i++)
		if (seen[i] != 1)
			fail_msg("%s is there %u times", flash_profile_texts[i].name, seen[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_profile_is_frozen_as_it_is_or_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
