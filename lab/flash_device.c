/*
 * flash_device.c - modelled drives for experiments: `flash:PROFILE,SIZE[,...]` as everywhere.
 *
 * A drive as its profile says, or with one of the profile's times changed, or all of them together.  A state takes
 * seconds to make and no time enters into it, so each is made once in this process.
 */
#include "flash_device.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blk/flash.h"
#include "flash/condition.h"

/* ---- states ---- */

struct kept {
	struct kept *next;
	uint64_t hash, bytes;    /* of the profile as it is; of the drive */
	struct condition condition;
	size_t size;
	uint8_t state[];
};

static struct kept *all_kept;

static const struct kept *
find_kept(const struct flash_plan *plan, uint64_t hash)
{
	const struct kept *kept = all_kept;

	while (kept != NULL && (kept->hash != hash || kept->bytes != plan->bytes ||
	    kept->condition.kind != plan->condition.kind || kept->condition.seed != plan->condition.seed))
		kept = kept->next;
	return kept;
}

static void
keep(const struct flash_plan *plan, uint64_t hash, const struct ftl *ftl)
{
	size_t size = condition_bytes(ftl);
	struct kept *kept = malloc(sizeof(*kept) + size);

	if (kept == NULL)
		abort();
	*kept = (struct kept){ all_kept, hash, plan->bytes, plan->condition, size };
	condition_save(ftl, hash, &plan->condition, kept->state);
	all_kept = kept;
}

/* `hash`: of the profile as it is, as no time of it is part of a state. */
static void
prepare(const struct flash_plan *plan, uint64_t hash, struct ftl *ftl)
{
	const struct kept *kept;
	struct condition condition;
	char why[FLASH_WHY];

	if (ftl == NULL || plan->condition.kind == CONDITION_FRESH)
		return;
	kept = find_kept(plan, hash);
	if (kept == NULL) {
		condition_make(ftl, &plan->condition);
		keep(plan, hash, ftl);
	} else if (condition_load(ftl, hash, kept->state, kept->size, &condition, why) != 0) {
		abort();
	}
}

/* ---- what varies ---- */

enum { PROFILES = 8, NUMBERS = 64, NAME = FLASH_NAME_MAX + 32 };

static bool
is_time_of(const struct flash_profile *profile, const struct flash_number *number)
{
	return number->time && (number->of & 1u << profile->media) != 0 && flash_number_value(profile, number) > 0;
}

/* A name that stays: of the profile, and of the number. */
static const char *
constant_name(const struct flash_profile *profile, unsigned number)
{
	static char names[PROFILES][NUMBERS][NAME];
	unsigned which = 0;

	while (which < flash_profile_count && strcmp(flash_profile_texts[which].name, profile->name) != 0)
		which++;
	assert(which < PROFILES && number < NUMBERS);
	snprintf(names[which][number], NAME, "%s.%s", profile->name, flash_profile_number(number)->name);
	return names[which][number];
}

/* False: it is no drive, or none whose profile Weir has. */
static bool
find_profile(const struct lab_device *device, struct flash_profile *profile)
{
	char name[BLK_SPEC];
	struct arena arena;
	int error;

	if (sscanf(device->spec, FLASH_PREFIX "%255[^,@]", name) != 1)
		return false;
	arena_init(&arena, 0);
	error = flash_profile_find(&arena, name, profile);
	arena_drop(&arena);
	return error == 0;
}

static const char *
device_constant(const struct lab_device *device, unsigned n)
{
	struct flash_profile profile;

	if (!find_profile(device, &profile))
		return NULL;
	for (unsigned i = 0; flash_profile_number(i) != NULL; i++)
		if (is_time_of(&profile, flash_profile_number(i)) && n-- == 0)
			return constant_name(&profile, i);
	return NULL;
}

/* So much of what it is, or the nearest that it can be. */
static void
scale(struct flash_profile *profile, const struct flash_number *number, uint64_t numerator, uint64_t denominator)
{
	uint32_t *value = flash_number_of(profile, number);
	uint64_t varied = (*value * numerator + denominator / 2) / denominator;

	*value = varied < number->least ? number->least : varied > number->most ? number->most : (uint32_t)varied;
	if (profile->media == FLASH_NAND)
		profile->channel_write_mb_s = profile->channel_mb_s; /* it has one number for both */
}

static void
vary(struct flash_profile *profile, const struct lab_variation *variation)
{
	scale(profile, flash_number_find(strchr(variation->constant, '.') + 1), (uint64_t)(100 + variation->percent),
	    100);
}

/* All takes so much longer: times become more, and rates less. */
static void
stretch(struct flash_profile *profile, uint32_t percent)
{
	for (unsigned i = 0; flash_profile_number(i) != NULL; i++) {
		const struct flash_number *number = flash_profile_number(i);

		if (!is_time_of(profile, number))
			continue;
		if (strcmp(number->unit, "ns") == 0)
			scale(profile, number, percent, 100);
		else
			scale(profile, number, 100, percent);
	}
}

bool
flash_device_profile(const struct lab *lab, const struct lab_device *device, struct flash_profile *profile)
{
	const char *name;

	if (!find_profile(device, profile))
		return false;
	if (device->times_percent > 0)
		stretch(profile, device->times_percent);
	for (unsigned i = 0; lab->variation.constant != NULL && (name = device_constant(device, i)) != NULL; i++)
		if (strcmp(name, lab->variation.constant) == 0)
			vary(profile, &lab->variation);
	return true;
}

/* ---- the maker ---- */

static int
device_open(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
    struct blk **blk, char why[LAB_WHY])
{
	struct flash_profile profile;
	struct flash_plan plan, fresh;
	struct blk *inner = NULL;
	const char *below;
	int error;

	if (!find_profile(device, &profile))
		return blk_open(reactor, device->spec, device->block_size, blk, why);
	error = flash_plan_read(reactor, device->spec, device->block_size, &plan, &below, why);
	if (error == 0 && below != NULL)
		error = blk_open(reactor, below, device->block_size, &inner, why);
	if (error != 0)
		return error;
	fresh = plan;
	fresh.condition = (struct condition){ .kind = CONDITION_FRESH };
	if (device->times_percent > 0)
		stretch(&fresh.profile, device->times_percent);
	if (variation != NULL)
		vary(&fresh.profile, variation);
	error = flash_open(reactor, &fresh, inner, device->block_size, blk, why);
	if (error != 0)
		return error;
	snprintf((*blk)->spec, sizeof((*blk)->spec), "%s", device->spec);
	plan.bytes = (*blk)->blocks * device->block_size;
	prepare(&plan, flash_profile_hash(&plan.profile), drive_ftl(flash_drive(*blk)));
	return 0;
}

static void
count(struct lab_reading *reading, const char *name, uint64_t value)
{
	assert(reading->count < LAB_COUNTERS_MAX);
	reading->counters[reading->count++] = (struct lab_counter){ name, value };
}

static void
device_read(const struct blk *blk, struct lab_reading *reading)
{
	struct drive *drive = flash_drive(blk);
	const struct ftl_counts *ftl;

	if (drive == NULL)
		return;
	count(reading, "bytes read", drive_counts(drive)->read_bytes);
	count(reading, "bytes written", drive_counts(drive)->write_bytes);
	count(reading, "flushes", drive_counts(drive)->flush_commands);
	count(reading, "units merged", drive_counts(drive)->merged_units);
	count(reading, "journal pages", drive_counts(drive)->journal_pages);
	if (drive_ftl(drive) == NULL)
		return;
	ftl = ftl_counts(drive_ftl(drive));
	count(reading, "units of hosts programmed", ftl->host_units);
	count(reading, "units collected", ftl->gc_units);
	count(reading, "units folded", ftl->fold_units);
	count(reading, "units padded", ftl->pad_units);
	count(reading, "erases", ftl->erases);
}

static void
device_profile(const struct lab_device *device, char text[LAB_PROFILE])
{
	struct flash_profile profile;

	if (find_profile(device, &profile))
		snprintf(text, LAB_PROFILE, "%s %016" PRIx64, profile.name, flash_profile_hash(&profile));
}

const struct lab_maker lab_maker_flash = {
	.open = device_open, .constant = device_constant, .read = device_read, .profile = device_profile,
};
