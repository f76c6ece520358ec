/*
 * terms.c - what hosts may have of the devices that are at home on a core, as the view says.
 *
 * Devices that are at home elsewhere do not listen here.
 */
#include "target/core.h"

void
terms_take(struct core *core, const struct view *view)
{
	for (uint32_t i = 0; i < view->subsys_count; i++) {
		const struct view_subsys *subsys = &view->subsys[i];

		for (uint32_t k = 0; k < subsys->ns_limit; k++) {
			const struct view_ns *ns = &subsys->ns[k];

			if (ns->info != NULL)
				fair_apply(core->chans[volume_slot(ns->volume)], ns->fair,
				    ns->fair != NULL ? &view->fair : NULL);
		}
	}
}

void
terms_end(struct core *core, uint32_t slot)
{
	fair_apply(core->chans[slot], NULL, NULL);
}

void
terms_forget(struct core *core, const struct blk_tenant *tenant)
{
	for (uint32_t slot = 0; slot < TARGET_VOLUMES_MAX; slot++)
		if (core->chans[slot] != NULL)
			fair_forget(core->chans[slot], tenant);
}
