/*
 * apply_make.c - what a config changes: the view it leads to, and what in it is new.
 *
 * Gives numbers to volumes and addresses, those that stay keeping theirs.  It
 * does not know who takes the view, nor when.
 */
#include <errno.h>
#include <stdio.h>

#include "target/apply.h"

/* ---- numbers of volumes and portals ---- */

static struct target_volume *
volume_find(struct target *target, const struct blk *blk)
{
	struct target_volume *volume = &target->volumes[volume_slot(blk->number)];

	return volume->blk == blk ? volume : NULL;
}

/* Numbers whose slot another one has are passed over, and never given. */
static struct target_volume *
volume_add(struct target *target, struct blk *blk)
{
	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++) {
		uint64_t number = target->volume_next++;
		struct target_volume *volume = &target->volumes[volume_slot(number)];

		if (volume->blk != NULL)
			continue;
		*volume = (struct target_volume){ .blk = blk };
		blk->number = number;
		return volume;
	}
	return NULL;
}

/* Gives every volume of the config a number. */
static int
number_volumes(struct target *target, const struct target_config *config, struct change *change, char why[256])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++)
		target->volumes[i].wanted = false;
	for (uint32_t i = 0; i < config->subsys_count; i++) {
		for (uint32_t k = 0; k < config->subsys[i].ns_count; k++) {
			struct blk *blk = config->subsys[i].ns[k].volume;
			struct target_volume *volume = volume_find(target, blk);

			if (volume != NULL && volume->left > 0) {
				snprintf(why, 256, "%.180s: it is still being given up", blk->spec);
				return -EBUSY;
			}
			if (volume == NULL) {
				volume = volume_add(target, blk);
				if (volume != NULL)
					change->opened[change->opened_count++] = volume_slot(blk->number);
			}
			if (volume == NULL || volume->wanted) {
				snprintf(why, 256, "%.180s: %s", blk->spec, volume != NULL ? "in two namespaces" :
				    "too many volumes, with those that are being given up");
				return -EINVAL;
			}
			volume->wanted = true;
			change->volumes[count++] = blk->number;
		}
	}
	change->numbers.volumes = change->volumes;
	return 0;
}

/* The portal of an address that is listened on already; TARGET_LISTENERS_MAX: of none. */
static uint32_t
portal_find(const struct view *view, const struct target_listen *listen)
{
	uint32_t n = 0;

	if (view == NULL)
		return TARGET_LISTENERS_MAX;
	while (n < TARGET_LISTENERS_MAX && !(view->portals_used >> n & 1 &&
	    view->listen[n].port == listen->port && strcmp(view->listen[n].host, listen->host) == 0))
		n++;
	return n;
}

/* An address keeps its number; a new one gets a free one. */
static int
number_portals(const struct view *old, const struct target_config *config, struct change *change, char why[256])
{
	uint32_t taken = old != NULL ? old->portals_used : 0;

	for (uint32_t i = 0; i < config->listen_count; i++) {
		uint32_t n = portal_find(old, &config->listen[i]);

		if (n == TARGET_LISTENERS_MAX) {
			n = 0;
			while (n < TARGET_LISTENERS_MAX && taken >> n & 1)
				n++;
			if (n == TARGET_LISTENERS_MAX) {
				snprintf(why, 256, "more than %d listeners, with those that are being given up",
				    TARGET_LISTENERS_MAX);
				return -EINVAL;
			}
			change->portals_new |= UINT32_C(1) << n;
		}
		taken |= UINT32_C(1) << n;
		change->numbers.portal[i] = (uint8_t)n;
	}
	return 0;
}

/* ---- the change ---- */

void
change_forget(struct target *target, struct change *change)
{
	for (uint32_t i = 0; i < change->opened_count; i++) {
		reserve_forget(target, change->opened[i]);
		target->volumes[change->opened[i]].blk = NULL;
	}
	for (uint32_t i = 0; i < TARGET_VOLUMES_MAX; i++)
		target->volumes[i].wanted = target->volumes[i].blk != NULL && target->volumes[i].left == 0;
	events_forget_new(target);
}

void
change_free(struct target *target)
{
	arena_free(target->arena, target->change->view);
	arena_free(target->arena, target->change);
	target->change = NULL;
}

int
change_make(struct target *target, const struct target_config *config, char why[256])
{
	struct change *change;
	int rc = view_check(config, why);

	if (rc != 0)
		return rc;
	change = arena_alloc(target->arena, sizeof(*change));
	snprintf(why, 256, "out of memory");
	if (change == NULL)
		return -ENOMEM;
	target->change = change;
	rc = number_volumes(target, config, change, why);
	if (rc == 0)
		rc = number_portals(target->view, config, change, why);
	if (rc == 0) {
		change->numbers.keeps = target->state_dir[0] != '\0';
		change->view = view_make(target->arena, config, &change->numbers, target->view);
		rc = change->view != NULL ? reserve_names(target, change->view, why) : -ENOMEM;
	}
	if (rc != 0) {
		change_forget(target, change);
		change_free(target);
	}
	return rc;
}
