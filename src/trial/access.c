/*
 * access.c - may a target answer like this, by what its operator has said?
 *
 * A command is judged by what the target serves at a moment between its beginning and its end: either of what was and
 * what comes, while the operator is changing it.  So what is known is what was so all the while, by the listener that
 * the command went by: whether its host was let in, its namespace there and so large, and its access state one in which
 * I/O is done.
 */
#include <inttypes.h>

#include "trial/internal.h"

/* Of a target that serves this, all the while. */
static const char *
wrong(const struct serving *serving, const struct access *access)
{
	bool barred = serving->host_barred[access->user->index], gone = serving->volume_gone[access->volume->index];
	bool reached = serving_gives_access(serving, access->listener);
	bool inside = access->end <= serving->volume_blocks[access->volume->index];

	switch (nvme_sc(access->status)) {
	case NVME_SC_SUCCESS: case NVME_SC_COMPARE:
		return barred ? "was done, though its host was barred" :
		    gone ? "was done, though its namespace was gone" :
		    !reached ? "was done, though its listener gave no access" :
		    inside ? NULL : "was done, though it reaches over the end";
	case NVME_SC_ANA_INACCESSIBLE: case NVME_SC_ANA_TRANSITION: case NVME_SC_ANA_PERSISTENT_LOSS:
		return barred || !reached ? NULL : "was refused for its access state, though its listener gave access";
	case NVME_SC_INVALID_NS:
		return barred || gone ? NULL : "was refused as one to no namespace, though it was there";
	case NVME_SC_LBA_RANGE:
		return barred || gone || !inside ? NULL : "was refused as out of range, though it is inside";
	default:
		return NULL;
	}
}

const char *
access_wrong(const struct served *served, const struct access *access)
{
	if (access->begun_ns <= served->now_since_ns ||
	    (served->applying && wrong(&served->next, access) == NULL))
		return NULL;
	return wrong(&served->now, access);
}

void
access_check(const struct served *served, const struct access *access)
{
	const char *why = access_wrong(served, access);

	if (why != NULL)
		trial_wrong(served->trial, "ana", "%s of host %u to volume %u of target %u by listener %u, begun at %"
		    PRIu64 " us, %s", access->what, access->user->index, access->volume->index, served->index,
		    access->listener, access->begun_ns / 1000, why);
}
