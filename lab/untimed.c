#include "untimed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "place/waf_theory.h"

enum { DIE_BYTES = 256 * 1024 * 1024 };

/* Fewer dies are a smaller drive of the same kind. */
static void
shrink(struct flash_profile *p, unsigned dies)
{
	p->capacity_mb = (uint32_t)((uint64_t)p->capacity_mb * dies / p->dies);
	p->channels = dies < p->channels ? dies : p->channels;
	p->dies = dies;
}

static bool
refuse(struct untimed *u, const char *profile, const char *why)
{
	lab_refuse(u->lab, "%s: %s", profile, why);
	arena_drop(&u->arena);
	return false;
}

static void
note(struct lab *lab, const struct flash_profile *p)
{
	char text[LAB_PROFILE];

	snprintf(text, sizeof(text), "%s %016" PRIx64 ", but for dies, spare and policy", p->name,
	    flash_profile_hash(p));
	lab_note_profile(lab, text);
	snprintf(lab->world, sizeof(lab->world), "no time: what is written is on the media at once");
}

bool
untimed_open(struct untimed *u, struct lab *lab, const char *profile, unsigned dies, uint32_t spare_permille,
    enum flash_policy policy)
{
	char why[FLASH_WHY];
	int error;

	*u = (struct untimed){ .lab = lab };
	arena_init(&u->arena, 0);
	error = flash_profile_find(&u->arena, profile, &u->profile);
	if (error != 0)
		return refuse(u, profile, strerrordesc_np(-error));
	note(lab, &u->profile);
	shrink(&u->profile, dies);
	if (spare_permille != UNTIMED_AS_IT_IS)
		u->profile.spare_permille = spare_permille;
	u->profile.policy = policy;
	if (flash_geometry_init(&u->geometry, &u->profile, (uint64_t)DIE_BYTES * dies, why) != 0)
		return refuse(u, profile, why);
	error = ftl_create(&u->arena, &u->geometry, &u->profile, &u->ftl);
	if (error != 0)
		return refuse(u, profile, strerrordesc_np(-error));
	rng_seed(&u->rng, lab->seed);
	u->units = u->geometry.units;
	for (uint32_t unit = 0; unit < u->units; unit++)
		ftl_write(u->ftl, unit);
	return true;
}

void
untimed_close(struct untimed *u)
{
	const struct ftl_counts *counts = ftl_counts(u->ftl);
	const uint64_t counted[] = { counts->host_units, counts->gc_units, counts->wear_units, counts->erases };

	for (unsigned i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		u->lab->hash = (u->lab->hash ^ counted[i]) * UINT64_C(0x9e3779b97f4a7c15) + i;
	u->lab->events += counts->host_units;
	lab_measured(u->lab, 0);
	ftl_destroy(u->ftl);
	arena_drop(&u->arena);
}

void
untimed_random(struct untimed *u, uint64_t count, uint64_t first, uint64_t units)
{
	for (uint64_t i = 0; i < count; i++)
		ftl_write(u->ftl, (uint32_t)(first + rng_below(&u->rng, units)));
}

void
untimed_mark(struct untimed *u)
{
	u->since = *ftl_counts(u->ftl);
}

static uint64_t
programmed(const struct ftl_counts *c)
{
	return c->host_units + c->gc_units + c->fold_units + c->wear_units + c->pad_units;
}

double
untimed_amplification(const struct untimed *u)
{
	const struct ftl_counts *now = ftl_counts(u->ftl);

	return (double)(programmed(now) - programmed(&u->since)) / (double)(now->host_units - u->since.host_units);
}

double
untimed_spare(const struct untimed *u)
{
	return waf_spare(u->geometry.blocks, u->profile.reserve_blocks + u->geometry.slc_fixed_blocks,
	    u->geometry.block_units, (double)u->units / u->geometry.dies);
}
