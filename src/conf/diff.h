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

enum conf_change_kind {
	/* what is taken away */
	CONF_REFERRAL_REMOVED,
	CONF_HOST_DISALLOWED,    /* `host`; NULL: any host was allowed, and now only those of the list */
	CONF_NS_REMOVED,
	CONF_SUBSYS_UNLISTED,    /* no longer on `listener`, which stays */
	CONF_SUBSYS_REMOVED,     /* after its namespaces */
	CONF_LISTENER_REMOVED,
	/* what is altered */
	CONF_STATE_DIR,
	CONF_CONNECTIONS,
	CONF_HANDSHAKE,
	CONF_STALL,
	CONF_LISTENER_DISCOVERY,
	CONF_SUBSYS_SERIAL,
	CONF_SUBSYS_MODEL,
	CONF_SUBSYS_STATIC,      /* its controllers are static now, or no longer: its hosts are disconnected */
	CONF_SUBSYS_CONTROLLERS,
	CONF_SUBSYS_QUEUES,
	CONF_SUBSYS_ENTRIES,
	CONF_POOL,               /* where hosts may make namespaces */
	CONF_ANA_ADDED,
	CONF_ANA_STATE,          /* of group `ana` on `listener` */
	CONF_NS_RESIZED,
	CONF_NS_PROTECTED,       /* or no longer */
	CONF_NS_MOVED,           /* to another ANA group */
	CONF_ANA_REMOVED,        /* after its namespaces have left it */
	/* what is added */
	CONF_LISTENER_ADDED,
	CONF_SUBSYS_ADDED,       /* with its hosts and ANA groups; its namespaces follow */
	CONF_SUBSYS_LISTED,      /* on `listener`, which was there */
	CONF_NS_ADDED,
	CONF_HOST_ALLOWED,       /* `host`; NULL: from now on any host */
	CONF_REFERRAL_ADDED,
};

enum conf_ease {
	CONF_LIVE,    /* a running target can do it */
	CONF_HIDING,  /* it can, and hosts do not reach any more what may be wanted, but is still there */
	CONF_LOSS,    /* it can, and something is lost that may be wanted */
	CONF_RESTART, /* it cannot: only a new one has it */
};

/* Pointers are into the configurations; what a kind has no use for is NULL. */
struct conf_change {
	enum conf_change_kind kind;
	enum conf_ease ease;
	const struct conf_listener *listener;         /* of the new one; where it was removed, of the old */
	const struct conf_subsys *subsys_old, *subsys;
	const struct conf_ana *ana_old, *ana;
	const struct conf_ns *ns_old, *ns;
	const struct conf_address *referral;
	const char *host;
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
