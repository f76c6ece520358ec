/*
 * pool_jobs.h - what is done in the folders where hosts have their namespaces: beside the reactor, by errands apart.
 *
 * A folder may lie on a disk that does not answer, and threads are few.  So of one folder one job is out at a time, and
 * of all no more than is said; the others stand in line.  Which jobs there are is not known here.
 */
#ifndef WEIR_CMD_POOL_JOBS_H
#define WEIR_CMD_POOL_JOBS_H

#include "world/reactor.h"

/* Of the world's sixteen threads for errands apart. */
enum { POOL_JOBS_MAKE = 3, POOL_JOBS_REMOVE = 2 };

struct pool_jobs {
	struct reactor *reactor;
	struct list line, out; /* jobs, in the order in which they were given */
	unsigned out_count, out_max;
};

struct pool_job {
	struct list node;
	struct pool_jobs *jobs;
	struct errand errand;
	const char *folder;                 /* the giver's; two that are spelt alike are the same */
	void (*run)(struct pool_job *job);  /* beside the reactor */
	void (*done)(struct pool_job *job); /* on it, later; the job is the giver's again */
	bool out, late;                     /* it has begun; and nobody waits for it any more */
};

void pool_jobs_init(struct pool_jobs *jobs, struct reactor *reactor, unsigned out_max);

/* `folder`, `run` and `done` are set. */
void pool_jobs_give(struct pool_jobs *jobs, struct pool_job *job);

/* Nobody waits for it any more; `done` is called all the same. */
void pool_job_late(struct pool_job *job);

/* True: it has not begun, and is the giver's again. */
bool pool_job_take_back(struct pool_job *job);

/* Whether a job in this folder has been waited for in vain, and is not done yet. */
bool pool_jobs_hang(const struct pool_jobs *jobs, const char *folder);

/* Whether any is not done yet. */
bool pool_jobs_any(const struct pool_jobs *jobs);

#endif
