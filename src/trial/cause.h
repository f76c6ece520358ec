/*
 * cause.h - may an I/O have failed so?  Whether what would have been a reason was there while it was under way.
 *
 * What is said of blocks, and of reservations, others judge (history.h, claims.h).
 * For all else there is one reason for each way to fail, and it must have been
 * there at some moment between the I/O's beginning and its end.  Pure.
 */
#ifndef WEIR_TRIAL_CAUSE_H
#define WEIR_TRIAL_CAUSE_H

#include "host/lane.h"

/* A host that never gives up. */
#define CAUSE_NEVER UINT64_MAX

/* What is known of one I/O.  Of what comes and goes: when it was so last; 0: never, now_ns: it is so now. */
struct cause_facts {
	uint64_t begun_ns, now_ns;
	bool leaves;              /* its queue is being closed */
	uint64_t io_timeout_ns, loss_ns; /* of its host; CAUSE_NEVER */
	uint64_t recovery_ns;     /* then nothing is left of what had befallen a path that the host says it has */
	uint64_t lost_ns;         /* a path was lost for the first time since it began; 0: none was */
	uint64_t well_since_ns;   /* the host has a path that nothing befalls; CAUSE_NEVER: none is known */
	uint64_t away_ns, back_ns; /* when the host had no path for the last time: since then, until then */
	uint64_t held_ns;         /* its host sends nothing, since what it gave up may happen: until then at most */
	uint64_t came_ns;         /* the host did */
	uint64_t gone_ns;         /* its namespace was not served */
	uint64_t barred_ns;       /* its host was not let in */
	uint64_t paused_ns;       /* threads of its host stood still */
	uint64_t spoilt_ns;       /* what its host sends and receives was changed on its way */
	uint64_t short_ns;        /* its target was short of memory */
	uint64_t disk_fails_ns;   /* operations of its volume's disk */
	uint64_t disk_failed_ns;  /* some had, since the volume was opened */
	uint64_t cache_lost_ns;   /* what was not flushed was lost */
};

/* What there was instead of a reason, as in "..., though it had a path"; NULL: it may have failed so. */
const char *cause_lacks(enum lane_op op, const struct lane_result *result, const struct cause_facts *facts);

#endif
