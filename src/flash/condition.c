#include "flash/condition.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "flash/ftl_inside.h"

enum { VERSION = 1, HEADER = 80, GEOMETRY = 24, RECIPE = 60, SUM = 4, AHEAD = 16 };

static const char magic[8] = "WEIRFTL";

const char *const condition_names[CONDITIONS] = { "fresh", "sequential", "fragmented" };

/* ---- asked for ---- */

enum condition_kind
condition_named(const char *name)
{
	for (unsigned kind = 0; kind < CONDITIONS; kind++)
		if (strcmp(condition_names[kind], name) == 0)
			return (enum condition_kind)kind;
	return CONDITIONS;
}

struct condition
condition_of(enum condition_kind kind, uint64_t seed)
{
	struct condition condition = { .kind = kind };

	if (kind == CONDITION_FRAGMENTED) {
		condition.overwrite_percent = CONDITION_OVERWRITE_PERCENT;
		condition.seed = seed;
	}
	return condition;
}

int
condition_fits(enum condition_kind kind, const struct flash_profile *profile, char why[FLASH_WHY])
{
	if (profile->media != FLASH_IN_PLACE || kind == CONDITION_FRESH)
		return 0;
	snprintf(why, FLASH_WHY, "it is written in place, and always as it is when it is fresh");
	return -EINVAL;
}

/* ---- made ---- */

/* What is written next is known some writes ahead, and asked of memory then. */
static void
overwrite(struct ftl *f, uint64_t count, uint64_t seed)
{
	uint32_t units[AHEAD];
	struct rng rng;

	rng_seed(&rng, seed);
	for (uint64_t done = 0; done < count; done += AHEAD) {
		uint32_t now = count - done < AHEAD ? (uint32_t)(count - done) : AHEAD;

		for (uint32_t i = 0; i < now; i++) {
			units[i] = (uint32_t)rng_below(&rng, f->g.units);
			__builtin_prefetch(&f->map[units[i]], 1);
		}
		for (uint32_t i = 0; i < now; i++)
			ftl_write(f, units[i]);
	}
}

/* At the end it was left alone, and nothing is under way: a victim is closed again, so that what is kept and read goes
 * on as this does. */
void
condition_make(struct ftl *f, const struct condition *condition)
{
	assert(condition->kind < CONDITIONS && f->counts.host_units == 0);
	for (uint32_t unit = 0; condition->kind != CONDITION_FRESH && unit < f->g.units; unit++)
		ftl_write(f, unit);
	if (condition->kind == CONDITION_FRAGMENTED)
		overwrite(f, f->g.units * condition->overwrite_percent / 100, condition->seed);
	ftl_rest(f);
	ftl_finish_rows(f);
	ftl_cut(f);
}

/* ---- kept ---- */

size_t
condition_bytes(const struct ftl *f)
{
	return HEADER + ftl_image_bytes(f) + SUM;
}

static void
geometry_put(const struct flash_geometry *g, uint8_t out[RECIPE - GEOMETRY])
{
	const uint32_t shape[] = { g->unit_bytes, g->dies, g->blocks, g->block_units, g->row_units, g->slc_row_units,
		g->slc_block_units };

	put_le64(out, g->units);
	for (unsigned i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		put_le32(out + 8 + 4 * i, shape[i]);
}

static void
header_put(const struct flash_geometry *g, uint64_t hash, const struct condition *condition, uint8_t out[HEADER])
{
	memset(out, 0, HEADER);
	memcpy(out, magic, sizeof(magic));
	put_le32(out + 8, VERSION);
	put_le64(out + 16, hash);
	geometry_put(g, out + GEOMETRY);
	put_le32(out + RECIPE, condition->kind);
	put_le32(out + RECIPE + 4, condition->overwrite_percent);
	put_le64(out + RECIPE + 12, condition->seed);
}

void
condition_save(const struct ftl *f, uint64_t hash, const struct condition *condition, uint8_t *out)
{
	size_t bytes = condition_bytes(f);

	header_put(&f->g, hash, condition, out);
	ftl_image_put(f, out + HEADER);
	put_le32(out + bytes - SUM, crc32c(0, out, bytes - SUM));
}

static bool
is_recipe(const struct condition *condition)
{
	if (condition->kind == CONDITION_FRAGMENTED)
		return true;
	return condition->kind < CONDITIONS && condition->overwrite_percent == 0 && condition->seed == 0;
}

static bool
is_state(const uint8_t *in, size_t bytes)
{
	return bytes >= HEADER && memcmp(in, magic, sizeof(magic)) == 0;
}

bool
condition_drive(const uint8_t *in, size_t bytes, uint64_t *hash, uint64_t *capacity)
{
	uint64_t units;

	if (!is_state(in, bytes))
		return false;
	*hash = get_le64(in + 16);
	units = get_le64(in + GEOMETRY);
	return !__builtin_mul_overflow(units, get_le32(in + GEOMETRY + 8), capacity);
}

static void
recipe_get(const uint8_t in[HEADER], struct condition *condition)
{
	*condition = (struct condition){ .kind = get_le32(in + RECIPE), .overwrite_percent = get_le32(in + RECIPE + 4),
		.seed = get_le64(in + RECIPE + 12) };
}

bool
condition_made(const uint8_t *in, size_t bytes, struct condition *condition)
{
	if (!is_state(in, bytes))
		return false;
	recipe_get(in, condition);
	return is_recipe(condition);
}

/* What is wrong with all but what the state says; NULL: nothing. */
static const char *
outside_check(const struct ftl *f, uint64_t hash, const uint8_t *in, size_t bytes, struct condition *condition)
{
	uint8_t geometry[RECIPE - GEOMETRY], header[HEADER];

	if (!is_state(in, bytes))
		return "they are no state of a modelled SSD";
	if (get_le32(in + 8) != VERSION)
		return "they are of another version of Weir";
	if (get_le64(in + 16) != hash)
		return "they are of a drive with another profile";
	geometry_put(&f->g, geometry);
	if (memcmp(in + GEOMETRY, geometry, sizeof(geometry)) != 0)
		return "they are of a drive of another size";
	if (bytes != condition_bytes(f))
		return "there are too few, or too many, of them";
	if (get_le32(in + bytes - SUM) != crc32c(0, in, bytes - SUM))
		return "they are damaged: their checksum does not match";
	recipe_get(in, condition);
	header_put(&f->g, hash, condition, header);
	return is_recipe(condition) && memcmp(in, header, HEADER) == 0 ? NULL : "they do not say how it was made";
}

int
condition_load(struct ftl *f, uint64_t hash, const uint8_t *in, size_t bytes, struct condition *condition,
    char why[FLASH_WHY])
{
	const char *wrong = outside_check(f, hash, in, bytes, condition);

	ftl_reset(f);
	if (wrong == NULL)
		wrong = ftl_image_get(f, in + HEADER);
	if (wrong == NULL)
		return 0;
	snprintf(why, FLASH_WHY, "%s", wrong);
	return -EINVAL;
}
