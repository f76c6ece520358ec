/*
 * open_flash.c - from `flash:PROFILE,SIZE` to a modelled drive: which profile, in which state, with whose contents.
 */
#include "blk/flash.h"
#include "blk/opening.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "world/reactor.h"

enum {
	TEXT_MAX = 64 * 1024, /* of a profile */
	PAGE = 4096,
};

/* ---- the profile ---- */

static int
refuse_text(const struct opening *o, const char *name, const struct conf_errors *errors)
{
	const struct conf_error *first = &errors->list[0];

	return opening_refuse(o, -EINVAL, "%.60s:%u: %.100s", name, first->line, first->text);
}

/* The whole text, with nothing behind it; or a negative errno. */
static int64_t
fetch_text(struct reactor *reactor, const char *path, char *text)
{
	const struct world_ops *world = reactor->world;
	struct file *file;
	int64_t got = world->file_open(reactor, path, 0, PAGE, &file);

	if (got != 0)
		return got;
	got = world->file_fetch(file, 0, text, TEXT_MAX);
	if (got >= 0 && file->size > TEXT_MAX)
		got = -EFBIG;
	world->file_close(file);
	return got;
}

static int
read_file(const struct opening *o, struct arena *scratch, const char *path, struct flash_profile *profile)
{
	char *text = arena_alloc_aligned(scratch, TEXT_MAX, PAGE);
	struct conf_errors errors;
	int64_t bytes;
	int error;

	if (text == NULL)
		return opening_refuse(o, -ENOMEM, "not enough memory");
	bytes = fetch_text(o->reactor, path, text);
	if (bytes < 0) {
		error = opening_refuse(o, (int)bytes, "%.80s: %s", path, strerrordesc_np((int)-bytes));
	} else {
		error = flash_profile_read(scratch, text, (size_t)bytes, &errors, profile);
		if (error == -EINVAL)
			(void)refuse_text(o, path, &errors);
	}
	return error;
}

static int
refuse_name(const struct opening *o, const char *name)
{
	char known[120] = "";

	for (unsigned i = 0; i < flash_profile_count; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", flash_profile_texts[i].name);
	}
	return opening_refuse(o, -EINVAL, "`%.40s` is not a profile (%s, or a file with a `/` in its name)", name,
	    known);
}

/* Nothing of what it took to read it stays. */
static int
read_profile(const struct opening *o, const char *name, struct flash_profile *profile)
{
	struct arena scratch;
	int error;

	arena_init(&scratch, 0);
	if (strchr(name, '/') != NULL) {
		error = read_file(o, &scratch, name, profile);
	} else {
		error = flash_profile_find(&scratch, name, profile);
		if (error == -ENOENT)
			error = refuse_name(o, name);
	}
	arena_drop(&scratch);
	return error;
}

/* ---- options ---- */

struct wish {
	struct flash_plan plan;
	enum condition_kind kind;
};

static int
read_state(const struct opening *o, const char *value, struct wish *wish)
{
	char why[FLASH_WHY];

	wish->kind = condition_named(value);
	if (wish->kind == CONDITIONS)
		return opening_refuse(o, -EINVAL, "`%.40s` is not a state (fresh, sequential, fragmented)", value);
	return condition_fits(wish->kind, &wish->plan.profile, why) == 0 ? 0 : opening_refuse(o, -EINVAL, "%s", why);
}

static int
read_option(const struct opening *o, const char *option, size_t length, void *arg)
{
	struct wish *wish = arg;
	struct flash_plan *plan = &wish->plan;
	char text[BLK_SPEC];
	const char *value = text;

	snprintf(text, sizeof(text), "%.*s", (int)length, option);
	if (strncmp(text, "state=", 6) == 0)
		return read_state(o, text + 6, wish);
	if (strncmp(text, "seed=", 5) == 0) {
		value += 5;
		if (!number_parse(&value, &plan->seed) || *value != '\0')
			return opening_refuse(o, -EINVAL, "`%.40s` needs a number", text);
		return 0;
	}
	if (strcmp(text, "data=no") == 0 || strcmp(text, "data=yes") == 0) {
		plan->data = text[5] == 'y';
		return 0;
	}
	if (strncmp(text, "size=", 5) == 0)
		return opening_size(o, text + 5, &plan->bytes);
	return opening_refuse(o, -EINVAL, "`%.40s` is not an option (state=STATE, seed=N, data=no)", text);
}

/* The word that begins there, up to a comma or `at`; answers where the next one does, or `at`. */
static const char *
take_word(const char *from, const char *at, char word[BLK_SPEC])
{
	size_t length = strcspn(from, ",");

	if (length > (size_t)(at - from))
		length = (size_t)(at - from);
	snprintf(word, BLK_SPEC, "%.*s", (int)length, from);
	return from + length < at ? from + length + 1 : at;
}

/* What stands behind the colon; `below`: and behind the `@`, or NULL. */
static int
read_plan(const struct opening *o, const char *rest, struct flash_plan *plan, const char **below)
{
	struct wish wish = { .kind = CONDITION_FRESH, .plan = { .data = true, .seed = 1 } };
	const char *at = strchr(rest, '@');
	char word[BLK_SPEC];
	int error;

	*below = at != NULL ? at + 1 : NULL;
	at = at != NULL ? at : rest + strlen(rest);
	rest = take_word(rest, at, word);
	error = read_profile(o, word, &wish.plan.profile);
	if (error == 0 && *below == NULL && rest[0] >= '0' && rest[0] <= '9') {
		rest = take_word(rest, at, word);
		error = opening_size(o, word, &wish.plan.bytes);
	}
	if (error == 0)
		error = opening_options(o, rest, at, read_option, &wish);
	if (error == 0 && (wish.plan.bytes == 0) != (*below != NULL))
		error = opening_refuse(o, -EINVAL, *below == NULL ? "no size (flash:PROFILE,SIZE)" :
		    "a size, which is that of what is behind the `@`");
	*plan = wish.plan;
	plan->condition = condition_of(wish.kind, plan->seed);
	return error;
}

int
flash_plan_read(struct reactor *reactor, const char *spec, uint32_t block_size, struct flash_plan *plan,
    const char **below, char why[BLK_WHY])
{
	const struct opening o = { reactor, spec, block_size, why };

	assert(strncmp(spec, FLASH_PREFIX, strlen(FLASH_PREFIX)) == 0);
	return read_plan(&o, spec + strlen(FLASH_PREFIX), plan, below);
}

int
opening_flash(const struct opening *o, const char *rest, struct blk **blk)
{
	struct flash_plan plan;
	char reason[BLK_WHY] = "";
	struct blk *inner = NULL;
	const char *below;
	int error = read_plan(o, rest, &plan, &below);

	if (error == 0 && below != NULL)
		error = blk_open(o->reactor, below, o->block_size, &inner, o->why);
	if (error != 0)
		return error;
	error = flash_open(o->reactor, &plan, inner, o->block_size, blk, reason);
	if (error != 0 && reason[0] != '\0')
		return opening_refuse(o, error, "%.150s", reason);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}
