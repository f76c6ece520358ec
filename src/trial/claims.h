/*
 * claims.h - who may read and write a volume of a trial, and who might have at any instant since an I/O began.
 *
 * All that may be true of its reservations is a model's (resv_model.h); this
 * remembers until when each thing that hosts might do was so.  An I/O that was
 * let through, or refused, must have been right to be at some instant between
 * its begin and its end: which one, nobody knows.  Pure.
 */
#ifndef WEIR_TRIAL_CLAIMS_H
#define WEIR_TRIAL_CLAIMS_H

#include "trial/resv_model.h"

enum { CLAIMS_MAY = 5 };

struct claims {
	struct model model;
	/* By claimant, and of all other hosts: what they may do now; and of each of those bits until when it was so. */
	unsigned may[MODEL_HOSTS + 1];
	uint64_t until_ns[MODEL_HOSTS + 1][CLAIMS_MAY];
};

/* `persists`: there is somewhere to keep reservations. */
void claims_init(struct claims *claims, bool persists);

/* The model was told something, now. */
void claims_changed(struct claims *claims, uint64_t now_ns);

/* Whether one of these bits of MODEL_READS ... was so of the claimant (MODEL_NOBODY: of a host that is none) at some
 * instant since then. */
bool claims_may(const struct claims *claims, unsigned claimant, unsigned bits, uint64_t since_ns);

#endif
