/*
 * growth.c - does the memory of a host grow over its life?
 *
 * Whatever befell it, in the end it has its paths, each lane is connected by each of them, it knows all that is served,
 * and has nothing to do.  Then it may have no more than when that was so for the first time.  One that uses
 * reservations is not asked: it may, or may not, have connections for those.
 */
#include <stdio.h>

#include "host/internal.h"
#include "trial/internal.h"

static size_t
taken(const struct user *user)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < trial_knob(user->trial, KNOB_HOST_REACTORS); i++)
		bytes += sim_process_reactor(user->process, i)->arena->bytes - user->before[i];
	return bytes;
}

/* Each lane is connected by each path. */
static bool
is_connected(const struct seat *seat)
{
	for (unsigned i = 0; i < trial_knob(seat->user->trial, KNOB_LANES); i++)
		for (unsigned k = 0; k < seat->subsys->path_count; k++)
			if (seat->lanes[i].lane == NULL || seat->lanes[i].lane->strands[k].state != STRAND_USABLE)
				return false;
	return true;
}

static bool
has_all(const struct user *user)
{
	char why[160];

	for (unsigned i = 0; i < trial_knob(user->trial, KNOB_TARGETS) && user->state == USER_AT_WORK; i++)
		if (!is_connected(&user->seats[i]) || !seat_knows(&user->seats[i], why))
			return false;
	return user->state == USER_AT_WORK;
}

void
growth_look(struct user *user)
{
	if (user->had == 0 && user->claimant == MODEL_NOBODY && has_all(user))
		user->had = taken(user);
}

bool
growth_is_none(const struct user *user, char why[160])
{
	if (user->claimant != MODEL_NOBODY || taken(user) <= user->had)
		return true;
	snprintf(why, 160, "host %u has %zu bytes, and had %zu when it first knew all that is served", user->index,
	    taken(user), user->had);
	return false;
}
