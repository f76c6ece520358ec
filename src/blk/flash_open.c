/*
 * flash_open.c - from a plan to a volume on a modelled drive: with which memory, and in which state.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/arena.h"
#include "blk/flash.h"
#include "blk/home.h"
#include "blk/room.h"

/* Contents in memory, sparse, as long as nobody else has them: the units of a row come from all over the drive. */
static int
make_store(struct flash_blk *fb, const struct flash_geometry *geometry)
{
	struct reactor *reactor = fb->opener;

	fb->store_bytes = geometry->units * geometry->unit_bytes;
	fb->store = reactor->world->pages_map(reactor, fb->store_bytes, true);
	return fb->store != NULL ? 0 : -ENOMEM;
}

static void
zero_store(void *owner, uint64_t offset, uint64_t bytes)
{
	struct flash_blk *fb = owner;

	room_zero(fb->opener, fb->store + offset, bytes);
}

static int
make_pmr(struct flash_blk *fb, uint64_t bytes)
{
	fb->pmr_bytes = bytes;
	fb->pmr = fb->opener->world->pages_map(fb->opener, bytes, true);
	return fb->pmr != NULL ? 0 : -ENOMEM;
}

/* What it is like before it is used; media that are written in place are always so. */
static int
make_condition(struct ftl *ftl, const struct flash_plan *plan, char why[BLK_WHY])
{
	char wrong[FLASH_WHY] = "they are of a drive with another profile";
	struct condition condition;
	int error = -EINVAL;

	if (plan->kept == NULL) {
		if (ftl != NULL)
			condition_make(ftl, &plan->condition);
		return 0;
	}
	if (ftl != NULL)
		error = condition_load(ftl, flash_profile_hash(&plan->profile), plan->kept, plan->kept_bytes,
		    &condition, wrong);
	if (error != 0)
		snprintf(why, BLK_WHY, "bytes of the state: %s", wrong);
	return error;
}

static int
make_drive(struct flash_blk *fb, const struct flash_plan *plan, const struct flash_geometry *geometry,
    char why[BLK_WHY])
{
	struct drive_options options = { .profile = plan->profile, .geometry = *geometry,
		.seed = plan->seed };
	struct arena *arena = fb->opener->arena;
	int error = plan->data && fb->inner == NULL ? make_store(fb, geometry) : 0;

	if (error == 0 && plan->profile.pmr_bytes > 0)
		error = make_pmr(fb, plan->profile.pmr_bytes);
	options.store = fb->store;
	options.zero = fb->store != NULL ? zero_store : NULL;
	options.owner = fb;
	options.pmr = fb->pmr;
	if (error == 0)
		error = range_init(&fb->range, arena, fb->blk.blocks, fb->blk.block_size, 1);
	if (error == 0)
		error = drive_create(arena, &options, &fb->drive);
	if (error == 0)
		error = make_condition(drive_ftl(fb->drive), plan, why);
	if (error == 0 && drive_ftl(fb->drive) != NULL)
		fb->prepared_bytes = ftl_counts(drive_ftl(fb->drive))->host_units * geometry->unit_bytes;
	return error;
}

/* What is below is taken in any case. */
static struct flash_blk *
make_blk(struct reactor *reactor, const struct flash_plan *plan, struct blk *inner, uint32_t block_size)
{
	struct flash_blk *fb = arena_alloc(reactor->arena, sizeof(*fb));

	if (fb == NULL) {
		if (inner != NULL)
			blk_discard(inner, reactor);
		return NULL;
	}
	fb->opener = reactor;
	fb->inner = inner;
	fb->blk = inner != NULL ? *inner : (struct blk){
		.blocks = plan->bytes / block_size, .block_size = block_size, .trim_zeroes = true,
		.cache_life = blk_new_life(reactor),
	};
	fb->blk.ops = &flash_ops;
	fb->blk.arena = reactor->arena;
	fb->blk.lends = false;
	fb->blk.volatile_cache |= plan->profile.power_loss_protection == 0;
	return fb;
}

int
flash_open(struct reactor *reactor, const struct flash_plan *plan, struct blk *inner, uint32_t block_size,
    struct blk **blk, char why[BLK_WHY])
{
	uint64_t unit = plan->profile.unit_bytes;
	uint64_t bytes = inner != NULL ? inner->blocks * block_size : plan->bytes;
	struct flash_geometry geometry;
	struct flash_blk *fb = make_blk(reactor, plan, inner, block_size);
	int error;

	if (fb == NULL)
		return -ENOMEM;
	assert(bytes <= INT64_MAX); /* open.c takes no larger ones, and nor are files */
	error = flash_geometry_init(&geometry, &plan->profile, (bytes + unit - 1) / unit * unit, why);
	if (error == 0)
		error = make_drive(fb, plan, &geometry, why);
	if (error == 0)
		error = home_open(reactor, 0, &fb->blk, blk);
	else
		blk_discard(&fb->blk, reactor);
	return error;
}

struct drive *
flash_drive(const struct blk *blk)
{
	const struct blk *inner = home_inner(blk);

	if (inner == NULL || inner->ops != &flash_ops)
		return NULL;
	return container_of(inner, const struct flash_blk, blk)->drive;
}
