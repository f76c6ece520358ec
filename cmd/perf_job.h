/*
 * perf_job.h - one load of `weir perf`: what is to be done, as the command line or a job file says it.
 *
 * Pure: words in, a checked struct out.
 */
#ifndef WEIR_CMD_PERF_JOB_H
#define WEIR_CMD_PERF_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERF_URIS_MAX = 16, PERF_JOBS_MAX = 32, PERF_QD_MAX = 1023, PERF_QUEUES_MAX = 127, PERF_WHY = 256,
};

struct perf_job {
	const char *name;
	const char *uris[PERF_URIS_MAX];
	unsigned uri_count;
	const char *rw;               /* as --rw has it */
	bool random;
	int fixed_mix;                /* percent of reads that --rw means; -1: `mix` says */
	uint32_t mix;
	uint32_t qd, queues;          /* queues: to each URI */
	uint32_t threads;
	uint64_t bs, size;            /* bytes; size 0: all */
	uint64_t seconds, ios;        /* so many of all URIs instead of `seconds`; 0: as many as go */
	uint64_t seed;
	uint32_t priority;            /* 0, served most, to 3: among I/Os of this host that wait for their turn */
	uint64_t rate_iops, rate_bytes; /* per second, of all URIs; 0: no limit */
	bool verify, hdgst, ddgst, sq_flow;
	bool ordered;                 /* by streams of ordered writes (weir/ordered.h) */
	uint32_t group;               /* writes of each of their groups */
	uint32_t flush_every;         /* each group of so many is to be durable by itself; 0: none */
	uint32_t streams;             /* to each URI */
};

/* The defaults. */
void perf_job_init(struct perf_job *job);

/* What the keys are called, as options and in job files; ends with NULL. */
extern const char *const perf_job_keys[];

/*
 * Sets what `key` is; flags are "yes" or "true", "no" or "false".  Keeps nothing of `text`.  False, and nothing was
 * changed: `why` says what is wrong, without the key.
 */
bool perf_job_set(struct perf_job *job, const char *key, const char *text, char why[PERF_WHY]);

/* One more of its URIs; `text` is the caller's, and has to stay as long as the job.  False: `why`, as above. */
bool perf_job_add_uri(struct perf_job *job, const char *text, char why[PERF_WHY]);

/* All has been said: what does not go together, and what follows from it.  `why` begins with the key. */
bool perf_job_check(struct perf_job *job, char why[PERF_WHY]);

/* What its I/Os go by, of each URI: queues, or streams. */
static inline uint32_t
perf_job_lines(const struct perf_job *job)
{
	return job->ordered ? job->streams : job->queues;
}

/* Percent of reads. */
static inline unsigned
perf_job_reads(const struct perf_job *job)
{
	return job->fixed_mix >= 0 ? (unsigned)job->fixed_mix : job->mix;
}

#endif
