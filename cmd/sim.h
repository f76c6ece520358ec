/*
 * sim.h - what the files of `weir sim` share: what is to be tried, and what came of one trial.
 *
 *   sim.c           options, and what there is to choose from
 *   sim_scenario.c  the scenarios that are named
 *   sim_trial.c     one seed, here
 *   sim_trace.c     its trace as text
 *   sim_search.c    many seeds, each in a process of its own (sim_child.c)
 *   sim_shorten.c   a plan that goes wrong, made shorter
 *   sim_outcome.c   how it ended, in words
 */
#ifndef WEIR_CMD_SIM_H
#define WEIR_CMD_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "report.h"
#include "trial/scenario.h"
#include "trial/trial.h"

enum { SIM_COMMAND = 4608 };

struct order {
	struct arena arena;           /* of the scenarios */
	const char *named;            /* the scenario, as on the command line: a name, a path, "-" or "all" */
	struct scenario **scenarios;
	unsigned scenario_count;
	bool from_file;
	uint64_t first, last;         /* seeds; last UINT64_MAX: there is no last one */
	uint64_t until_ms;            /* 0: as the scenario says */
	uint64_t max_events;          /* 0: as the trial likes */
	bool json;
	/* of one trial */
	const char *trace;            /* a path; "-": standard output; NULL: none */
	bool log;
	/* of a search */
	unsigned jobs;
	uint64_t findings_max;        /* so many end it; UINT64_MAX: none does */
	uint64_t time_ms;             /* UINT64_MAX: as long as it takes */
	uint64_t patience_ms;         /* of the machine's time, for one seed */
	bool shorten;
	const char *out;              /* a folder */
};

/* sim_scenario.c: finds and reads those that are named.  0, or -1 after having said what is wrong. */
int order_find(struct order *order) __attribute__((warn_unused_result));

/* How to play it again: a command for a shell.  `path` NULL: the scenario as it was named, else this file. */
void order_replay(const struct order *order, const struct scenario *scenario, uint64_t seed, const char *path,
    char command[SIM_COMMAND]);

/* ---- one trial ---- */

enum outcome_end {
	OUTCOME_RIGHT,
	OUTCOME_WRONG,    /* an oracle says so */
	OUTCOME_LIMIT,    /* it would not end */
	OUTCOME_DIED,     /* of an assertion, or of a signal */
	OUTCOME_LATE,     /* it took more of the machine's time than there is patience for */
};

struct outcome {
	enum outcome_end end;
	struct trial_result result; /* of OUTCOME_DIED and OUTCOME_LATE `oracle` and `why` alone */
};

/* Of what the trial itself says. */
enum outcome_end outcome_end_of(const struct trial_result *result);
const char *outcome_text(enum outcome_end end);

/* Whether it is the same thing that is wrong, as far as can be seen. */
bool outcome_alike(const struct outcome *a, const struct outcome *b);

/* Tells the keys of an open group: how it ended, and why. */
void outcome_report(struct report *report, const struct outcome *outcome);

/* The same: what was tried. */
void counts_report(struct report *report, const struct trial_counts *counts);
void counts_add(struct trial_counts *counts, const struct trial_counts *more);

/* Virtual time: "virtual_ns" for programs. */
void outcome_report_time(struct report *report, uint64_t ns);

/* ---- what can be done; each answers the exit code ---- */

/* The plan of the first seed. */
int sim_show(const struct order *order);
int sim_trial(const struct order *order);
int sim_search(const struct order *order);

/* ---- sim_trace.c ---- */

struct trace {
	FILE *file;         /* NULL: nobody wants it */
	const char *path;
	bool log;           /* on stderr too */
	int error;          /* that writing had first: an errno, or 0 */
};

/* 0, or -1 after having said why it cannot be written. */
int trace_open(struct trace *trace, const char *path) __attribute__((warn_unused_result));
int trace_close(struct trace *trace) __attribute__((warn_unused_result));
void trace_watch(struct trace *trace, struct trial_watch *watch);

/* ---- sim_shorten.c ---- */

struct shortened {
	char path[4200];    /* where the plan is; "": it could not be written, which was said */
	uint32_t tries, faults, knobs; /* of the plan: knobs that are not calm */
};

/* Plays what fails again and again, each time with less, and writes what is left to a file; `plan` becomes it. */
void shorten(const struct order *order, const struct scenario *scenario, struct plan *plan,
    const struct outcome *outcome, struct shortened *shortened);

#endif
