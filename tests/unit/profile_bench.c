#include "profile_bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

const char *const profile_bases[2] = {
	[FLASH_NAND] =
	    "media: nand\n"
	    "capacity: 960 GB\n"
	    "channels: 8\n"
	    "dies: 32\n"
	    "die: 32 GiB\n"
	    "planes: 2\n"
	    "page: 16 KiB\n"
	    "pages: 768\n"
	    "bits: 3\n"
	    "unit: 4 KiB\n"
	    "spare: 6 %\n"
	    "reserve-blocks: 3\n"
	    "scale-blocks: 198\n"
	    "read: 55 us\n"
	    "read-spread: 5 us\n"
	    "program: 1.7 ms\n"
	    "erase: 3.5 ms\n"
	    "channel: 533 MB/s\n"
	    "overhead: 6 %\n"
	    "programs-max: 20\n"
	    "suspends-program: yes\n"
	    "suspends-erase: yes\n"
	    "suspend: 40 us\n"
	    "resume: 30 us\n"
	    "suspends-max: 8\n"
	    "controller-read: 22 us\n"
	    "controller-write: 15 us\n"
	    "front-end-iops: 900000\n"
	    "commands-max: 256\n"
	    "link: 3.2 GB/s\n"
	    "buffer: 32 MiB\n"
	    "power-loss-protection: no\n"
	    "flush: 300 us\n"
	    "journal: 350 us\n"
	    "slc: 4 %\n"
	    "slc-fixed: 1 permille\n"
	    "slc-program: 500 us\n"
	    "policy: greedy\n"
	    "gc-low: 2\n"
	    "wear-gap: 100\n"
	    "endurance: 5100\n"
	    "pmr: 4 MiB\n"
	    "erase-scales: yes\n",
	[FLASH_IN_PLACE] =
	    "media: in-place\n"
	    "capacity: 375 GB\n"
	    "channels: 7\n"
	    "dies: 28\n"
	    "die: 16 GiB\n"
	    "unit: 512 bytes\n"
	    "read: 1 us\n"
	    "program: 200 ns\n"
	    "channel: 342 MB/s\n"
	    "channel-write: 293 MB/s\n"
	    "controller-read: 3.4 us\n"
	    "controller-write: 3.3 us\n"
	    "front-end-iops: 600000\n"
	    "commands-max: 256\n"
	    "link: 3.2 GB/s\n"
	    "flush: 5 us\n"
	    "endurance: 32800\n"
	    "pmr: 4 MiB\n",
};

/* Of a line, or of what is left of it. */
static size_t
line_length(const char *line)
{
	return strcspn(line, "\n") + (strchr(line, '\n') != NULL);
}

static bool
line_has(const char *line, const char *key, size_t length)
{
	return strncmp(line, key, length) == 0 && line[length] == ':';
}

uint32_t
profile_line(const char *text, const char *key)
{
	uint32_t number = 1;

	for (; *text != '\0'; text += line_length(text), number++)
		if (line_has(text, key, strlen(key)))
			return number;
	return 0;
}

/* One of the changes to the text, which has room. */
static void
change(char *text, const char *line, size_t length)
{
	size_t key = strcspn(line, ":\n"), old;
	char *at = text;

	while (*at != '\0' && !line_has(at, line, key))
		at += line_length(at);
	old = line_length(at);
	if (key + 1 >= length)
		length = 0;
	memmove(at + length, at + old, strlen(at + old) + 1);
	memcpy(at, line, length);
}

char *
profile_with(struct arena *arena, const char *base, const char *changes)
{
	char *text = arena_alloc(arena, TEXT_MAX);

	assert(text != NULL && strlen(base) + strlen(changes) < TEXT_MAX - 1);
	strcpy(text, base);
	for (; *changes != '\0'; changes += line_length(changes))
		change(text, changes, line_length(changes));
	return text;
}

void
profile_of(const char *text, struct flash_profile *profile)
{
	struct conf_errors errors;
	struct arena arena;
	int error;

	arena_init(&arena, 0);
	error = flash_profile_read(&arena, text, strlen(text), &errors, profile);
	for (uint32_t i = 0; i < errors.count; i++)
		fprintf(stderr, "line %u: %s\n", errors.list[i].line, errors.list[i].text);
	arena_drop(&arena);
	assert(error == 0);
}

char *
profile_text(struct arena *arena, const struct flash_profile *profile)
{
	char *text = arena_alloc(arena, TEXT_MAX), *at = text;
	const struct flash_number *number;

	assert(text != NULL);
	if (profile->name[0] != '\0')
		at += sprintf(at, "name: %s\n", profile->name);
	for (unsigned i = 0; (number = flash_profile_number(i)) != NULL; i++) {
		char value[AMOUNT_TEXT];

		/* What it has not is below the least that it could have. */
		if (!(number->of & 1 << profile->media) || flash_number_value(profile, number) < number->least)
			continue;
		flash_number_text(profile, number, value);
		at += sprintf(at, "%s: %s\n", number->name, value);
	}
	return text;
}
