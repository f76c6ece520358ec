/*
 * beliefs.c - does a host know what its target serves?
 *
 * Looked at when nothing is wrong any more: each path is live, has the state that the operator said last, and knows
 * each namespace with its size.  Who was not told, or has not understood, would believe for ever what was true once.
 */
#include <inttypes.h>
#include <stdio.h>

#include "host/internal.h"
#include "trial/internal.h"

static bool
knows_state(const struct assoc *assoc, enum nvme_ana_state state)
{
	for (unsigned i = 0; i < assoc->ana_count; i++)
		if (assoc->ana[i].state != state)
			return false;
	return assoc->ana_count > 0;
}

/* NULL: nobody has asked for it. */
static const struct subsys_ns *
find_ns(const struct subsys *subsys, uint32_t nsid, unsigned *slot)
{
	for (*slot = 0; *slot < SUBSYS_NAMESPACES_MAX; (*slot)++)
		if (subsys->ns[*slot] != NULL && subsys->ns[*slot]->nsid == nsid)
			return subsys->ns[*slot];
	return NULL;
}

uint64_t
seat_blocks(const struct seat *seat, const struct volume *volume)
{
	unsigned slot;
	const struct subsys_ns *ns = find_ns(seat->subsys, volume->nsid, &slot);

	return ns != NULL ? ns->blocks : volume_blocks(volume);
}

static bool
knows_volumes(const struct seat *seat, const struct path *path, char why[160])
{
	const struct served *served = seat->served;

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++) {
		unsigned slot;
		const struct subsys_ns *ns = find_ns(seat->subsys, served->volumes[i].nsid, &slot);

		if (ns != NULL && path->assoc->ns[slot].usable && ns->blocks == served->now.volume_blocks[i])
			continue;
		snprintf(why, 160, "host %u does not know volume %u of target %u, of %" PRIu64 " blocks, by path %u",
		    seat->user->index, i, served->index, served->now.volume_blocks[i], path->index);
		return false;
	}
	return true;
}

bool
seat_knows(const struct seat *seat, char why[160])
{
	const struct served *served = seat->served;

	for (unsigned i = 0; i < seat->subsys->path_count; i++) {
		const struct path *path = &seat->subsys->paths[i];

		if (path->state != PATH_LIVE) {
			snprintf(why, 160, "host %u has no live path %u to target %u: %.80s", seat->user->index, i,
			    served->index, path->why);
			return false;
		}
		if (!knows_state(path->assoc, served->now.ana[i])) {
			snprintf(why, 160, "host %u does not know the state of path %u to target %u", seat->user->index,
			    i, served->index);
			return false;
		}
		if (!knows_volumes(seat, path, why))
			return false;
	}
	return true;
}
