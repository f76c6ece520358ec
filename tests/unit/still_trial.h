/*
 * still_trial.h - a trial whose hosts do nothing by themselves: what they begin, and how it ends, is a test's to say.
 *
 * One target, which runs, with one volume in a file; two hosts, which have never
 * connected.  What they are answered is invented: the trial is to judge it.
 */
#ifndef TESTS_STILL_TRIAL_H
#define TESTS_STILL_TRIAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trial/internal.h"

enum { STILL_HOSTS = 2, STILL_DEPTH = 4, STILL_BLOCKS = 8, STILL_IO_BLOCKS = 2 };

struct still {
	struct plan plan;
	struct trial_result result;
	struct trial trial;
	struct served *target;
	struct volume *volume;
};
extern struct still still;

int still_setup(void **state);
int still_teardown(void **state);

/* From the beginning. */
void still_again(void);

/* So much virtual time goes by. */
void still_pass(uint64_t ns);

/* All that hosts were answered may be; else: the oracle that complained first. */
bool still_is_right(void);
const char *still_oracle(void);

/* A host has handed an I/O to its lane. */
struct work *still_begins(unsigned host, enum lane_op op, uint32_t first, uint32_t count);

/* A path of the host is lost: what it has under way may be sent again. */
void still_shaken(unsigned host);

/* How an I/O ended: without a word of the target's, or with a status. */
void still_ends(struct work *work, int error);
void still_refused(struct work *work, int error, enum nvme_sc sc, bool dnr);

/* One after the other: a write of a block, and its value; a read that finds that, and whether all is right then. */
uint64_t still_written(unsigned host, uint32_t block);
bool still_reads(unsigned host, uint32_t block, uint64_t value);

/* The target dies, and with `power` its machine; and is there again. */
void still_dies(bool power);

#endif
