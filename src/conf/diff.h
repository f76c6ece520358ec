/*
 * diff.h - what is to be done so that a target of one configuration becomes that of another.
 *
 * The changes come in an order in which they can be made: what is taken away
 * first (so nobody is let in before others are shut out, and a file is closed
 * before it is opened elsewhere), then what is altered, then what is added.
 */
#ifndef WEIR_CONF_DIFF_H
#define WEIR_CONF_DIFF_H

#include "conf/conf.h"

enum conf_ease {
	CONF_LIVE,    /* a running target can do it */
	CONF_HIDING,  /* it can, and hosts do not reach any more what may be wanted, but is still there */
	CONF_LOSS,    /* it can, and something is lost that may be wanted */
	CONF_OPENING, /* it can, unless it has been otherwise since it was opened */
	CONF_RESTART, /* it cannot: only a new one has it */
};

struct conf_change {
	enum conf_ease ease;
	char text[1024]; /* a line for people, without its end: +, - or ~, and what */
};

/*
 * Tells each change, and answers how many there are: 0 where both make the same target.  A listener is the
 * same while its address is (where that has no port: and its name); a subsystem, while its NQN is; a namespace,
 * while its nsid, volume, block size, NGUID and UUID are, otherwise one is removed and one added.  What a
 * listener or a subsystem that is added or removed brings along is not told again, except for namespaces.
 */
uint32_t conf_diff(const struct conf *old, const struct conf *new,
    void (*tell)(void *arg, const struct conf_change *change), void *arg);

/*
 * Whether a running target of the one can become the other in one change, as far as the texts say; else `why`: it
 * would have to have a file while another volume has it that is to go.
 */
bool conf_fits(const struct conf *old, const struct conf *new, char why[256]);

#endif
