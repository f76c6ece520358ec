/*
 * flash_named.c - the drive that the command line names: built in, or in a file; and of what size.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cmd.h"
#include "conf/tree.h"
#include "flash.h"

void
flash_name_take(struct argp_state *state, const char *arg, const char **name)
{
	if (*name != NULL)
		argp_error(state, "one profile, please; what is '%s'?", arg);
	*name = arg;
}

void
flash_name_needed(struct argp_state *state, const char *name)
{
	if (name == NULL)
		argp_error(state, "which profile? `weir flash list' says which there are; - is standard input");
}

void
flash_hash_text(const struct flash_profile *profile, char text[FLASH_HASH_TEXT])
{
	snprintf(text, FLASH_HASH_TEXT, "%016" PRIx64, flash_profile_hash(profile));
}

/* What looks like no path and is no file was meant as a name. */
static void
say_unknown(const char *name)
{
	enum { MOST = 64 };
	const char *names[MOST];
	unsigned count = 0, meant;

	for (; count < flash_profile_count && count < MOST; count++)
		names[count] = flash_profile_texts[count].name;
	meant = nearest(name, names, count);
	fprintf(stderr, "weir flash: there is neither a profile nor a file `%s'; ", name);
	if (meant < count)
		fprintf(stderr, "`%s' is meant?\n", names[meant]);
	else
		fprintf(stderr, "`weir flash list' says which profiles there are\n");
}

static int
read_text(struct arena *arena, const char *path, const char *text, size_t bytes, struct flash_profile *profile)
{
	struct conf_errors errors;
	int error = flash_profile_read(arena, text, bytes, &errors, profile);

	if (error != 0)
		config_complain(config_say, path, &errors, error);
	else if (profile->name[0] == '\0')
		name_of_path(path, "profile", profile->name, sizeof(profile->name));
	return error;
}

static int
read_file(struct arena *arena, const char *path, struct flash_profile *profile)
{
	char *text;
	size_t bytes;
	int error = config_load(path, &text, &bytes);

	if (error == -ENOENT && strpbrk(path, "/.") == NULL) {
		say_unknown(path);
		return error;
	}
	if (error != 0) {
		config_complain(config_say, path, &(struct conf_errors) { .count = 0 }, error);
		return error;
	}
	error = read_text(arena, path, text, bytes, profile);
	free(text);
	return error;
}

int
flash_named(const char *name, struct flash_profile *profile)
{
	struct arena arena;
	int error;

	arena_init(&arena, 0);
	error = flash_profile_find(&arena, name, profile);
	if (error == -ENOENT)
		error = read_file(&arena, name, profile);
	else if (error != 0)
		config_complain(config_say, name, &(struct conf_errors) { .count = 0 }, error);
	arena_drop(&arena);
	return error == 0 ? 0 : -1;
}

/* 8 GiB, where there is such a one. */
static uint64_t
bytes_default(const struct flash_profile *profile)
{
	uint64_t usual = UINT64_C(8) << 30, smallest = flash_geometry_smallest(profile);
	uint64_t sold = profile->capacity_mb * UINT64_C(1000000);

	if (smallest > usual)
		return smallest;
	return sold < usual ? sold : usual;
}

int
flash_sized(const struct flash_profile *profile, uint64_t bytes, struct flash_geometry *geometry)
{
	char why[FLASH_WHY], size[SIZE_TEXT];

	if (bytes == 0)
		bytes = bytes_default(profile);
	if (flash_geometry_init(geometry, profile, bytes, why) == 0)
		return 0;
	size_print(bytes, size);
	fprintf(stderr, "weir flash: %s of %s: %s\n", profile->name, size, why);
	return -1;
}
