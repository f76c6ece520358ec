/*
 * flash_state.c - what a modelled drive is like before it is used: made, or read from a file.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "conf/tree.h"
#include "flash.h"

enum condition_kind
flash_kind_of(struct argp_state *state, const char *arg)
{
	enum condition_kind kind = condition_named(arg);

	if (kind == CONDITIONS)
		argp_error(state, "--state '%s': there is %s", arg, wordlist(condition_names, CONDITIONS).text);
	return kind;
}

uint64_t
flash_amplified(uint64_t programmed, uint64_t written)
{
	return written > 0 ? (programmed * 1000 + written / 2) / written : 0;
}

const char *
flash_times(uint64_t permille, char text[FLASH_TIMES_TEXT])
{
	uint64_t hundredths = (permille + 5) / 10;

	snprintf(text, FLASH_TIMES_TEXT, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
	return text;
}

static int
no_memory(void)
{
	fprintf(stderr, "weir flash: %s\n", strerror(ENOMEM));
	return -1;
}

/* ---- made ---- */

static void
look_at(struct flash_state *state, const struct ftl *ftl)
{
	state->counts = *ftl_counts(ftl);
	wear_of_ftl(ftl, &state->geometry, &state->profile, &state->wear);
}

static int
make_image(struct flash_state *state, struct ftl *ftl)
{
	condition_make(ftl, &state->condition);
	look_at(state, ftl);
	state->image_bytes = condition_bytes(ftl);
	state->image = malloc(state->image_bytes);
	if (state->image == NULL)
		return no_memory();
	condition_save(ftl, flash_profile_hash(&state->profile), &state->condition, state->image);
	return 0;
}

int
flash_state_make(struct flash_state *state)
{
	struct arena arena;
	struct ftl *ftl;
	int error = 0;

	state->image = NULL;
	if (state->profile.media == FLASH_IN_PLACE)
		return 0;
	arena_init(&arena, 0);
	if (ftl_create(&arena, &state->geometry, &state->profile, &ftl) != 0)
		error = no_memory();
	else
		error = make_image(state, ftl);
	arena_drop(&arena);
	return error;
}

void
flash_state_drop(struct flash_state *state)
{
	free(state->image);
	state->image = NULL;
}

void
flash_state_enter(const struct flash_state *state, struct ftl *ftl)
{
	struct condition condition;
	char why[FLASH_WHY];

	if (ftl != NULL && condition_load(ftl, flash_profile_hash(&state->profile), state->image, state->image_bytes,
	    &condition, why) != 0)
		abort(); /* it was made here, or could be read before */
}

/* ---- read ---- */

static int
refuse(const char *path, const char *what)
{
	fprintf(stderr, "weir flash: %s: %s\n", path, what);
	return -1;
}

static int
unusable(const char *path, const char *why)
{
	fprintf(stderr, "weir flash: %s: no drive can be made of its bytes: %s\n", path, why);
	return -1;
}

static int
read_all(FILE *file, const char *path, struct flash_state *state)
{
	struct stat status;

	if (fstat(fileno(file), &status) != 0)
		return refuse(path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(path, "it is no file");
	state->image_bytes = (size_t)status.st_size;
	state->image = malloc(state->image_bytes + 1);
	if (state->image == NULL)
		return no_memory();
	if (fread(state->image, 1, state->image_bytes, file) != state->image_bytes)
		return refuse(path, ferror(file) ? strerror(errno) : "it has become shorter");
	return 0;
}

static int
read_image(const char *path, struct flash_state *state)
{
	FILE *file = fopen(path, "re");
	int error;

	if (file == NULL)
		return refuse(path, strerror(errno));
	error = read_all(file, path, state);
	fclose(file);
	return error;
}

/* The profile with that hash, of those that are built in. */
static int
find_profile(const char *path, uint64_t hash, struct flash_profile *profile)
{
	for (unsigned i = 0; i < flash_profile_count; i++) {
		if (flash_named(flash_profile_texts[i].name, profile) != 0)
			return -1;
		if (flash_profile_hash(profile) == hash)
			return 0;
	}
	fprintf(stderr, "weir flash: %s: it is of a drive with the hash %016" PRIx64 ", and none with it is built in: "
	    "its profile is to be named\n", path, hash);
	return -1;
}

static int
look_into(const char *path, const struct flash_profile *profile, struct flash_state *state)
{
	uint64_t hash, capacity;

	if (!condition_drive(state->image, state->image_bytes, &hash, &capacity))
		return refuse(path, "it is no state of a modelled SSD");
	if (profile != NULL)
		state->profile = *profile;
	else if (find_profile(path, hash, &state->profile) != 0)
		return -1;
	if (flash_profile_hash(&state->profile) != hash) {
		fprintf(stderr, "weir flash: %s: it is of a drive with the hash %016" PRIx64 ", and %s has %016" PRIx64
		    "\n", path, hash, state->profile.name, flash_profile_hash(&state->profile));
		return -1;
	}
	return flash_sized(&state->profile, capacity, &state->geometry);
}

int
flash_state_read(const char *path, const struct flash_profile *profile, struct flash_state *state)
{
	struct arena arena;
	struct ftl *ftl;
	char why[FLASH_WHY];
	int error;

	*state = (struct flash_state){ .image = NULL };
	if (read_image(path, state) != 0 || look_into(path, profile, state) != 0)
		return -1;
	arena_init(&arena, 0);
	error = state->profile.media == FLASH_IN_PLACE ? -EINVAL :
	    ftl_create(&arena, &state->geometry, &state->profile, &ftl);
	if (error == -EINVAL)
		error = refuse(path, "it is no state of a modelled SSD");
	else if (error != 0)
		error = no_memory();
	else if (condition_load(ftl, flash_profile_hash(&state->profile), state->image, state->image_bytes,
	    &state->condition, why) != 0)
		error = unusable(path, why);
	else
		look_at(state, ftl);
	arena_drop(&arena);
	return error;
}
