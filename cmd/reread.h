/*
 * reread.h - the file of a configuration, read again while hosts are served: beside the reactor.
 *
 * Its disk may take its time, or not answer at all.  It is asked apart from everything else, and nobody waits for the
 * answer longer than for that of a survey.  What comes later is of no use, but the file is not read once more before.
 */
#ifndef WEIR_CMD_REREAD_H
#define WEIR_CMD_REREAD_H

#include "conf/conf.h"
#include "serving.h"

struct reread {
	struct reactor *reactor;
	const char *path;
	struct errand errand;
	struct timer patience;
	bool busy, late;         /* it is being read; and nobody waits for it any more */
	void (*then)(void *owner, struct configured *next);
	void *owner;
	/* the errand's while it is busy */
	bool stays;
	int error;
	struct configured *next;
	struct conf_errors errors;
};

/*
 * Reads it; it is not busy.  `then` is called on the reactor, maybe from inside: with what is the owner's from now on,
 * or NULL after it was said what is wrong.  If it took too long, that is said, and it is called again with NULL when
 * that is over.
 */
void reread_begin(struct reread *reread, struct reactor *reactor, const char *path,
    void (*then)(void *owner, struct configured *next), void *owner);

/* Whether what it says is waited for. */
bool reread_waits(const struct reread *reread);

/* It is not any more. */
void reread_stop(struct reread *reread);

/* The reactor runs no more, nor any thread of it. */
void reread_end(struct reread *reread);

#endif
