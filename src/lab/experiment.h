/*
 * experiment.h - how an experiment is declared.
 *
 * It asks one question, says what is known of the answer, and has a function
 * that runs what it takes and builds the result.  Most are sweeps (sweep.h):
 * measurements that differ in two things, of which one is drawn along the x axis.
 */
#ifndef WEIR_LAB_EXPERIMENT_H
#define WEIR_LAB_EXPERIMENT_H

#include "lab/crew.h"
#include "lab/result.h"

struct experiment {
	const char *name, *group; /* words with hyphens; no two of either are the same */
	const char *question;     /* one line */
	const char *known;        /* what the paper or the data sheet says, and where; or what would be wrong */
	bool takes_workloads;     /* lab->workloads instead of its own */
	/* Runs it and builds the result; where lab_run() cannot, it returns at once. */
	void (*run)(struct lab *lab, struct result *result);
};

/* Runs it once: what it was run with, and the hash of its history, are part of the result.  False: lab->why. */
bool experiment_run(const struct experiment *experiment, struct lab *lab, struct result *result);

/*
 * Runs it again with each constant that it depended on `percent` larger, and smaller, and adds to the result of the
 * first time, which is in it, how that changed its metrics: a table, and a figure for each metric.  What the
 * repetitions need is taken from `scratch`, and dropped after each.  `crew` NULL: they are done here, one by one; what
 * comes of them is the same.
 */
bool experiment_vary(const struct experiment *experiment, struct lab *lab, struct result *result, int percent,
    struct arena *scratch, struct lab_crew *crew);

#endif
