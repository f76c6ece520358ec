/*
 * volumes.h - the volumes that are open, and of which namespaces they are.
 *
 * Opens them as a configuration says, or what hosts have made; closes them when
 * the target is done with them.
 */
#ifndef WEIR_CMD_VOLUMES_H
#define WEIR_CMD_VOLUMES_H

#include "opening.h"
#include "serving.h"

/* A file that a volume has. */
struct volume_file {
	uint64_t id[2];           /* as the world knows it; zeros: none, or not yet */
	struct volume *volume;
	struct volume_file *next; /* with this hash */
};

/* One that is open. */
struct volume {
	struct list node;
	struct volume *same;  /* the next one with this hash */
	struct blk *blk;
	struct reactor *annex; /* with which it was opened */
	struct opening *opening; /* by which, and to which it goes back if the change fails; NULL: none that is kept */
	struct serving *serving;
	struct errand errand;  /* which closes it */
	struct leavings *leavings; /* what goes then, see volumes.c; NULL: nothing */
	char nqn[CONF_NQN_MAX + 1], volume[CONF_VOLUME_MAX + 1]; /* as configured: of which namespace */
	uint32_t nsid, block_size;
	uint8_t id[16];
	struct volume_file file, bad; /* its own, and its list of bad blocks */
	bool made;    /* by a host: `id` is its UUID */
	bool doomed;  /* and by a host deleted: its file goes with it */
	bool held;    /* by the configuration that holds */
	bool wanted;  /* by the configuration that is being made */
	bool unused;  /* the target is done with it */
	bool changed; /* opened or made larger by the configuration that is being made */
	bool retired; /* by the one that holds: it is closed as soon as the target is done with it */
	bool closing; /* beside the reactor, and its device is looked at no more */
};

/* The one that a namespace of the configuration has, or NULL. */
struct volume *volume_find(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns);

/* The same, open, and at least as large as it is to be; `given`: how it is opened, where options said it.  NULL: rc
 * and why. */
struct volume *volume_ready(struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    const char *given, int *rc, char why[256]);

/* The same of one that a host has made, or is about to. */
struct volume *volume_ready_made(struct serving *serving, const struct conf_subsys *subsys, const struct made *made,
    const struct made_ns *ns, int *rc, char why[256]);

/* A change begins, and nothing of it has failed yet: none is wanted.  The one before was settled or undone. */
void volumes_unwanted(struct serving *serving);

/* It cannot be: files that it made are removed, and volumes that it made larger are as they were. */
void volumes_undo(struct serving *serving);

/* It is done, and what it made stays whatever comes; or was not, and is undone: which are held now, and which will be
 * closed when they are unused. */
void volumes_settle(struct serving *serving, bool done);

/* What hosts have made is recorded, and then what they deleted goes with all that is its; or it is not, and then that
 * lies there until the next start. */
void volumes_kept(struct serving *serving, bool kept);

/* Gives up those that were opened after the one that was the last then. */
void volumes_withdraw(struct serving *serving, const struct list *since);

/* Whether any is being closed, or a file that is to go is there yet. */
bool volumes_wait(const struct serving *serving);

/* Closes all: the target is gone, and no errand runs any more. */
void volumes_end(struct serving *serving);

/* ---- serving_config.c ---- */

/* What is being made, of a configuration and what hosts have made. */
struct making {
	struct serving *serving;
	struct arena *arena;
	const struct configured *from;
	const struct made *made;
	const struct target_wish *wish; /* for which it is made, of the configuration that holds; NULL: for none */
};

/* What the target is told, in the arena; with its volumes open.  0, or a negative errno and why. */
int serving_config(const struct making *making, struct target_config *config, char why[256])
    __attribute__((warn_unused_result));

/* What a namespace of the configuration is known by on this volume. */
struct identity identity_of(const struct conf_ns *ns, const struct volume *volume);

/* ---- shared_files.c ---- */

/* That no volume has the file at this path, by what it leads to, which a namespace is to have: not even its own.  0, or
 * -EBUSY and why. */
int volume_alone(const struct serving *serving, const char *nqn, uint32_t nsid, const char *path,
    const struct volume_names *names, char why[256]) __attribute__((warn_unused_result));

/* The path of the file whose list of bad blocks the one at `path` would be by its name; false: of none. */
bool volume_stem(const char *path, char stem[CONF_SPEC]);

/* Which file it is that a volume has opened. */
void volume_note_file(struct serving *serving, struct volume *volume, const struct volume_names *names);

/* It is closed. */
void volume_forget_file(struct serving *serving, struct volume *volume);

/* Whether a configuration needs the file, or the UUID, of a volume that is being given up. */
bool volumes_await(const struct serving *serving, const struct survey *survey, const struct conf *next);

/* Whether none needs that of a volume that is served, and would have to be given up first.  0, or -EBUSY and why. */
int volumes_fit(const struct serving *serving, const struct survey *survey, const struct conf *next, char why[256])
    __attribute__((warn_unused_result));

/* ---- */

/* Of struct target_applied. */
void volumes_unused(struct target_applied *applied, struct blk *blk);

#endif
