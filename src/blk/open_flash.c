/*
 * open_flash.c - from `flash:PROFILE,SIZE` to a modelled drive: which profile, in which state, with whose contents, and
 * what of them is lost with the process.
 */
#include "blk/flash.h"
#include "blk/home.h"
#include "blk/opening.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "world/reactor.h"

enum { TEXT_MAX = 64 * 1024 }; /* of a profile */

/* ---- files ---- */

/* All of it, in memory of the arena's; or what it was refused with. */
static int64_t
fetch(const struct opening *o, struct arena *arena, const char *path, uint64_t most, void **bytes)
{
	int64_t got = o->reactor->world->file_load(o->reactor, path, arena, most, bytes);

	return got >= 0 ? got : opening_refuse(o, (int)got, "%.80s: %s", path, strerrordesc_np((int)-got));
}

/* ---- the profile ---- */

static int
refuse_text(const struct opening *o, const char *name, const struct conf_errors *errors)
{
	const struct conf_error *first = &errors->list[0];

	return opening_refuse(o, -EINVAL, "%.60s:%u: %.100s", name, first->line, first->text);
}

static int
read_file(const struct opening *o, struct arena *scratch, const char *path, struct flash_profile *profile)
{
	struct conf_errors errors;
	int64_t bytes;
	void *text;
	int error;

	if (o->reactor == NULL)
		return opening_refuse(o, -ENOTSUP, "its profile is in a file");
	bytes = fetch(o, scratch, path, TEXT_MAX, &text);
	if (bytes < 0)
		return (int)bytes;
	error = flash_profile_read(scratch, text, (size_t)bytes, &errors, profile);
	if (error == -EINVAL)
		(void)refuse_text(o, path, &errors);
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
	enum condition_kind kind; /* CONDITIONS: none is named */
	bool seeded;
	char from[BLK_SPEC];      /* empty: it is made so */
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
	if (strncmp(text, "from=", 5) == 0) {
		snprintf(wish->from, sizeof(wish->from), "%s", text + 5);
		return 0;
	}
	if (strncmp(text, "seed=", 5) == 0) {
		value += 5;
		wish->seeded = true;
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
	return opening_refuse(o, -EINVAL, "`%.40s` is not an option (state=STATE, from=FILE, seed=N, data=no)", text);
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

/* ---- the state ---- */

/* Whoever says how it was made, too, says what the file does. */
static int
check_made(const struct opening *o, const struct wish *wish)
{
	const struct condition *kept = &wish->plan.condition;

	if (wish->kind != CONDITIONS && wish->kind != kept->kind)
		return opening_refuse(o, -EINVAL, "what %.80s keeps is %s, not %s", wish->from,
		    condition_names[kept->kind], condition_names[wish->kind]);
	if (wish->seeded && kept->kind == CONDITION_FRAGMENTED && wish->plan.seed != kept->seed)
		return opening_refuse(o, -EINVAL, "what %.80s keeps is of seed %" PRIu64 ", not %" PRIu64, wish->from,
		    kept->seed, wish->plan.seed);
	return 0;
}

/* From a file, as `weir flash condition` keeps it: whether it is of this drive is seen when there is one. */
static int
read_kept(const struct opening *o, struct arena *scratch, struct wish *wish)
{
	struct flash_plan *plan = &wish->plan;
	void *bytes;
	int64_t count = fetch(o, scratch, wish->from, UINT64_MAX, &bytes);

	if (count < 0)
		return (int)count;
	if (!condition_made(bytes, (size_t)count, &plan->condition))
		return opening_refuse(o, -EINVAL, "%.80s: it is no state of a modelled SSD", wish->from);
	plan->kept = bytes;
	plan->kept_bytes = (size_t)count;
	return check_made(o, wish);
}

/* What has the contents; of a drive whose buffer is lost with its power, behind a cache as large that is. */
static int
open_below(const struct opening *o, const struct flash_plan *plan, const char *below, struct blk **inner)
{
	const struct volatile_plan buffer = { .keep = plan->profile.buffer_bytes, .seed = plan->seed };
	int error = blk_open(o->reactor, below, o->block_size, inner, o->why);

	return error == 0 && !plan->profile.power_loss_protection ? opening_volatile(o, &buffer, *inner, inner) : error;
}

/* What is below is taken in any case. */
static int
open_plan(const struct opening *o, const struct flash_plan *plan, struct blk *inner, struct blk **blk)
{
	char reason[BLK_WHY] = "";
	int error = flash_open(o->reactor, plan, inner, o->block_size, blk, reason);

	if (error != 0 && reason[0] != '\0')
		return opening_refuse(o, error, "%.150s", reason);
	return error == 0 ? 0 : opening_refuse(o, error, "not enough memory");
}

/* As it is said, where no file has it. */
static struct condition
condition_asked(const struct wish *wish)
{
	return condition_of(wish->kind != CONDITIONS ? wish->kind : CONDITION_FRESH, wish->plan.seed);
}

static int
open_wish(const struct opening *o, struct wish *wish, const char *below, struct blk **blk)
{
	struct blk *inner = NULL;
	struct arena scratch;
	int error = 0;

	arena_init(&scratch, 0);
	if (wish->from[0] != '\0')
		error = read_kept(o, &scratch, wish);
	else
		wish->plan.condition = condition_asked(wish);
	if (error == 0 && below != NULL)
		error = open_below(o, &wish->plan, below, &inner);
	if (error == 0)
		error = open_plan(o, &wish->plan, inner, blk);
	arena_drop(&scratch);
	return error;
}

/* ---- all of it ---- */

/* What stands behind the colon; `below`: and behind the `@`, or NULL. */
static int
read_wish(const struct opening *o, const char *rest, struct wish *wish, const char **below)
{
	struct flash_plan *plan = &wish->plan;
	const char *at = strchr(rest, '@');
	char word[BLK_SPEC];
	int error;

	*wish = (struct wish){ .kind = CONDITIONS, .plan = { .data = true, .seed = 1 } };
	*below = at != NULL ? at + 1 : NULL;
	at = at != NULL ? at : rest + strlen(rest);
	rest = take_word(rest, at, word);
	error = read_profile(o, word, &plan->profile);
	if (error == 0 && *below == NULL && rest[0] >= '0' && rest[0] <= '9') {
		rest = take_word(rest, at, word);
		error = opening_size(o, word, &plan->bytes);
	}
	if (error == 0)
		error = opening_options(o, rest, at, read_option, wish);
	if (error == 0 && (plan->bytes == 0) != (*below != NULL))
		error = opening_refuse(o, -EINVAL, *below == NULL ? "no size (flash:PROFILE,SIZE)" :
		    "a size, which is that of what is behind the `@`");
	return error;
}

int
flash_plan_read(struct reactor *reactor, const char *spec, uint32_t block_size, struct flash_plan *plan,
    const char **below, char why[BLK_WHY])
{
	const struct opening o = { reactor, spec, block_size, why };
	struct wish wish;
	int error;

	assert(strncmp(spec, FLASH_PREFIX, strlen(FLASH_PREFIX)) == 0);
	error = read_wish(&o, spec + strlen(FLASH_PREFIX), &wish, below);
	if (error == 0 && wish.from[0] != '\0' && reactor != NULL)
		error = opening_refuse(&o, -EINVAL, "a state that was kept is of volumes alone");
	*plan = wish.plan;
	plan->condition = condition_asked(&wish);
	return error;
}

/* By making one: nothing of it is touched, so that takes nothing. */
int
flash_bytes(const struct flash_plan *plan, uint64_t bytes, unsigned reactors, size_t *took, char why[BLK_WHY])
{
	struct drive_options options = { .profile = plan->profile };
	uint64_t unit = plan->profile.unit_bytes;
	struct arena arena;
	uint8_t contents;
	int error;

	bytes = plan->bytes > 0 ? plan->bytes : bytes;
	error = flash_geometry_init(&options.geometry, &plan->profile, (bytes + unit - 1) / unit * unit, why);
	if (error != 0)
		return error;
	if (plan->bytes > 0 && plan->data)
		options.store = &contents;
	arena_init(&arena, 0);
	error = drive_create(&arena, &options, &(struct drive *){ NULL });
	*took = arena.bytes + arena_takes(sizeof(struct flash_blk), 0) + arena_takes(sizeof(struct flash_chan), 0) +
	    home_bytes(reactors);
	arena_drop(&arena);
	if (error != 0)
		snprintf(why, BLK_WHY, "not enough memory");
	return error;
}

int
opening_flash(const struct opening *o, const char *rest, struct blk **blk)
{
	const char *below;
	struct wish wish;
	int error = read_wish(o, rest, &wish, &below);

	return error == 0 ? open_wish(o, &wish, below, blk) : error;
}
