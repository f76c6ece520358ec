/*
 * hosted.h - namespaces that hosts make: the keeper of their wishes (target/wish.h).
 *
 * Does one after the other, and none while a configuration is being applied whose
 * files are there.  What is opened and how it is applied is serving's; what takes a
 * disk's time is done beside the reactor; how they wait is hosted_lane.h's.
 * (doc/namespaces.md)
 */
#ifndef WEIR_CMD_HOSTED_H
#define WEIR_CMD_HOSTED_H

#include "conf/conf.h"
#include "hosted_lane.h"
#include "record.h"
#include "target/wish.h"

struct serving;
struct survey;

/* A state with the memory it lies in. */
struct hosted_state {
	struct arena arena;
	struct made *made;
};

struct hosted {
	struct target_keeper keeper;
	struct serving *serving;
	struct list lanes, files;       /* wishes that wait, and what they wait for, see hosted_lane.h */
	struct pool_jobs jobs;          /* which is made, or removed; */
	struct pool_jobs leavings;      /* and what was deleted, see volumes.c */
	bool over;                      /* some of them are: they end first */
	bool stopping;                  /* none is begun any more */
	struct task task;               /* begins with the next */
	struct target_wish *now;        /* that is at work; NULL: none is */
	struct lane *lane;              /* it came from */
	bool noted;                     /* it waits to be applied */
	struct errand errand;           /* what is done of it beside the reactor, apart from all others: */
	bool beside;                    /* it is not done yet */
	int (*job)(struct hosted *hosted);
	void (*then)(struct hosted *hosted, int rc);
	int rc;
	struct nvme_status undone;      /* what it ends with, where it comes to nothing */
	struct hosted_state *state, *next; /* what holds; what shall, if `now` is done */
	uint32_t created;               /* NSID of the namespace that `now` makes */
	struct record record;
};

/* Reads what was kept, and holds the configuration to it.  0, or a negative errno and why. */
int hosted_begin(struct hosted *hosted, struct serving *serving, const struct conf *conf, char why[256])
    __attribute__((warn_unused_result));

/* Removes files of namespaces that were given up, or never came to be: once all that are kept are open. */
void hosted_clean(struct hosted *hosted, const struct conf *conf);

/* Whether a configuration has a place for all that hosts have made; `now` NULL: it is the first one.  0, or -EINVAL
 * and why. */
int hosted_check(const struct hosted *hosted, const struct conf *now, const struct conf *next, char why[256])
    __attribute__((warn_unused_result));

/* Whether hosts can make namespaces where it says, as a survey says; NULL: as the folders say now.  0, or -EINVAL and
 * why. */
int hosted_check_folders(const struct survey *survey, const struct conf *now, const struct conf *next, char why[256])
    __attribute__((warn_unused_result));

/* The folder where hosts may make namespaces of a subsystem, if it is not that which they have already; or NULL. */
const char *hosted_new_folder(const struct conf *now, const struct conf_subsys *subsys);

/* Goes on soon with the wish at work, or else the next one: nothing is being applied. */
void hosted_next(struct hosted *hosted);

/* The target is about to end: what waits, or comes, is not begun. */
void hosted_stop(struct hosted *hosted);

/* Whether a wish is at work. */
bool hosted_works(const struct hosted *hosted);

/* The volume in a file that the wish at work makes, as it was opened; NULL: it makes none, or another one. */
struct opening *hosted_opening(const struct hosted *hosted, const char *nqn, uint32_t nsid);

/* Whether a disk that was asked for anything has not answered yet. */
bool hosted_waits(const struct hosted *hosted);

/* Tells the operator why a wish comes to nothing, with the errno `rc` unless `why` says it all (0); and what its host
 * is told. */
void hosted_complain(struct hosted *hosted, const struct target_wish *wish, int rc, const char *why);
struct nvme_status hosted_failure(const struct target_wish *wish, int rc);

/* The wish at work has been applied, or not, and why. */
void hosted_applied(struct hosted *hosted, int rc, const char *why);

void hosted_end(struct hosted *hosted);

/* What a wish makes of `state`, in `next`, a copy of it. */
enum nvme_sc hosted_change(struct hosted *hosted, const struct target_wish *wish);

/* ---- where they have their place ---- */

/* Of a configuration, or NULL. */
const struct conf_subsys *hosted_subsys(const struct conf *conf, const char *nqn);
const struct conf_ns *hosted_conf_ns(const struct conf_subsys *subsys, uint32_t nsid);

bool hosted_group_there(const struct conf_subsys *subsys, uint32_t id);

/* The folder of a pool, or NULL: it is in memory. */
const char *hosted_folder(const char *pool);

/* All that lies anywhere of a namespace: its reservations, its list of bad blocks, and last its file, whose name
 * says at the next start that the others are to go. */
void hosted_remove_file(const char *state_dir, const char *path, const uint8_t uuid[16]);

/* The same in two steps: first what lies in the state folder, then what lies in the pool. */
void hosted_remove_reservations(const char *state_dir, const uint8_t uuid[16]);
void hosted_remove_volume(const char *path);

/* What is asked for, or what the smallest volume has. */
uint64_t hosted_volume_bytes(const struct made_ns *ns);

/* The file that a namespace has, or shall have. */
void hosted_path(const struct made *made, const uint8_t uuid[16], const char *pool, char path[CONF_SPEC]);

/* Makes the file of a new namespace, durably.  0 or a negative errno. */
int hosted_make_file(const char *path, uint64_t bytes, uint32_t block_size) __attribute__((warn_unused_result));

/* How the volume of a host's namespace is opened. */
void hosted_spec(const struct made *made, const struct made_ns *ns, const char *pool, char spec[CONF_SPEC]);

#endif
