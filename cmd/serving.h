/*
 * serving.h - a target as a configuration describes it, and the change to another one.
 */
#ifndef WEIR_CMD_SERVING_H
#define WEIR_CMD_SERVING_H

#include "conf/diff.h"
#include "hosted.h"
#include "keep/store.h"
#include "target/target.h"

/* A configuration with the memory it lies in; made empty, NULL: no memory. */
struct configured {
	struct arena arena;
	struct conf *conf;
	const char *const *specs; /* how volumes are opened where options said it, by namespace; NULL: as conf says */
};

struct configured *configured_make(void);
void configured_drop(struct configured *configured);

/* Whether one target can go from the addresses of one to those of the other in one change: 0, or -EADDRINUSE. */
int configured_listens(const struct conf *now, const struct conf *next, char why[256])
    __attribute__((warn_unused_result));

enum { SERVING_VOLUMES = 1024 }; /* places of a table; there may be more */

struct survey;
struct volume;

/* Files of a change. (apply_files.h) */
struct apply_files {
	struct arena arena;
	struct apply_file *list;
	uint32_t count, next; /* next: where the opening that is asked for is likely to be */
	struct reactor *reactor;
	struct errand errand; /* apart from all others */
	bool beside;          /* it is not done yet */
	void (*then)(struct apply_files *files);
	int rc;          /* why they are taken back, */
	char why[256];   /* in words */
};

/* What a namespace of the operator's is known by, as long as its volume is this one. */
struct identity {
	uint8_t uuid[16];   /* as hosts are told */
	uint8_t before[16]; /* in a record of an earlier version, which may be there still; or `uuid` */
	bool lasts;         /* it is so too after a restart */
};

struct serving {
	struct reactor *reactor; /* the first one */
	struct arena *arena;     /* the target's */
	struct target *target;
	struct store *order;     /* the log of ordered writes; NULL: there is none */
	struct list volumes;
	unsigned leavings;       /* of volumes that were closed, which are being removed */
	struct volume *volume_table[SERVING_VOLUMES]; /* by hash of what namespace they are of; `same` leads on */
	struct volume_file *file_table[SERVING_VOLUMES]; /* and of which files they have */
	struct target_applied applied;
	struct hosted hosted;    /* what hosts wish, and have made */
	bool starting;           /* a file that is lost costs its namespace, not the target */
	bool busy;               /* something is being applied: the wish at work, or where none is `next` */
	struct configured *now, *next;
	struct apply_files files;      /* of next; */
	bool making;                   /* they are being made, or taken back, or wait to begin: wishes are done */
	struct configured *parked;     /* one that waits until a wish is done, or what was taken away given up, */
	struct survey *survey;         /* or its disks have answered; */
	bool surveyed;                 /* they have */
	struct list surveys;           /* all of them, see survey.c */
	struct timer look;             /* whether that is so */
	uint64_t until_ns;             /* and so long at most; 0: nothing is waited for */
	bool awaits;                   /* it needed what a volume has when so many had been closed: */
	uint64_t awaited, closed;      /* and so many have been by now */
	/* What became of serving_apply(): rc 0, or a negative errno and why. */
	void (*told)(void *owner, int rc, const char *why);
	void *owner;
};

/* Opens the volumes of a configuration, which becomes the serving's, and makes a target of it, which is to
 * be started.  0, or a negative errno and why; serving_started() follows either way. */
int serving_make(struct serving *serving, struct reactor *reactor, struct arena *arena, struct configured *first,
    char why[256]) __attribute__((warn_unused_result));

/* The target is started; or it cannot be, and then files are as they were before. */
void serving_started(struct serving *serving, bool done);

/*
 * The same while it runs, on the first reactor: from one configuration to the next, whole or not at all; one
 * at a time, and after what a host wishes that is under way.  The configuration is the serving's from now
 * on, whatever comes.  0: `told` is called, later; otherwise why.
 */
int serving_apply(struct serving *serving, struct configured *next, void (*told)(void *owner, int rc, const char *why),
    void *owner, char why[256]) __attribute__((warn_unused_result));

/* Whether a configuration, as it was surveyed, has a place for all that hosts have made, and needs nothing that must
 * be given up first.  0, or a negative errno and why. */
int serving_fits(const struct serving *serving, const struct survey *survey, const struct conf *next, char why[256])
    __attribute__((warn_unused_result));

/* The target is about to end: a configuration whose disks have not answered is not applied, and `told` is called. */
void serving_stop(struct serving *serving);

/* Whether a configuration is being applied, or waits to be. */
bool serving_applies(const struct serving *serving);

/* The target, which changed something by itself, is done with it: what waited goes on. */
void serving_idle(struct serving *serving);

/* Whether an errand apart from others is not done: a disk has not answered. */
bool serving_waits(const struct serving *serving);

/* For the keeper of wishes: whether anything is being applied; */
bool serving_busy(const struct serving *serving);

/* the same configuration, with what hosts shall have made: 0: hosted_applied() is called, later; otherwise why; */
int serving_change(struct serving *serving, const struct made *made, char why[256]) __attribute__((warn_unused_result));

/* and what a namespace of the configuration is known by; false: it is not served. */
bool serving_identity(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    struct identity *identity);

/* What a host has made of the operator's namespace, or NULL: nothing is known of it. */
struct made_ns *identity_made(const struct made *made, const char *nqn, uint32_t nsid, const struct identity *identity);

/* The target is gone: gives back volumes and memory. */
void serving_end(struct serving *serving);

#endif
