/*
 * plan.h - what the files of `weir plan` share.
 */
#ifndef WEIR_CMD_PLAN_H
#define WEIR_CMD_PLAN_H

#include <stdio.h>

#include "base/arena.h"
#include "place/advice.h"
#include "place/workloads_read.h"

enum { PLAN_MODELS = 64 /* that may be named */, PLAN_WORDS = 800 };

/* Of more workloads it is not asked why each is where it is, or with which it could be exchanged: it takes too long. */
enum { PLAN_REASONS = 10000, PLAN_EXCHANGES = 1000 };

/* What may be bought: so many of a model; 0: none. */
struct plan_limit {
	const char *name;
	uint32_t disks_max;
};

/* The command line. */
struct plan_given {
	const char *workloads, *catalogue, *pool, *html; /* files, or NULL */
	char **traces;
	unsigned trace_count;
	struct plan_limit limits[PLAN_MODELS];
	unsigned limit_count;
	struct catalogue_terms terms;
	double years, room_max, iops_max;
	unsigned set;
	enum raid raid;
	uint64_t seed;
	bool json, why, example;
	bool plans; /* there is an option or an argument that is of plans */
};

struct planned {
	const struct plan_given *given;
	struct arena arena;
	struct workloads workloads;
	struct catalogue catalogue;
	struct advice_order order;
	struct advice advice;
	struct advice_layout layout;   /* of the best plan, where there is one */
	struct advice_reason *reasons; /* by workload of the problem; NULL: there are too many */
	const char **warnings;         /* as they were said, for reports */
	unsigned warning_count;
	bool lines_left;               /* of traces there are such as could not be read */
};

/* plan_read.c: what is to be planned, from files.  0, or a negative errno after it has been said what is wrong. */
int plan_read(struct planned *p) __attribute__((warn_unused_result));

/* plan_traces.c: adds workloads of traces; the same. */
int plan_traces(struct planned *p) __attribute__((warn_unused_result));

/* plan_example.c: workloads that could be, as a file of them. */
void plan_example(FILE *out, uint64_t seed);

/* ---- plan_words.c: what is said in all forms alike ---- */

/* "any mix", "only NAME". */
void plan_what(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS]);
const char *plan_model(const struct planned *p, uint32_t kind);
/* Why a workload of the problem is where it is; one that has a place, of a plan that has reasons. */
void plan_why(const struct planned *p, uint32_t workload, char words[PLAN_WORDS]);
/* Why one has no place, and by how much. */
void plan_refusal(const struct planned *p, const struct advice_refused *refused, char words[PLAN_WORDS]);
/* Why a plan is not the best: what it costs more, and for what, or what it has no place for. */
void plan_against(const struct planned *p, const struct advice_plan *plan, char words[PLAN_WORDS]);
/* By how much it costs more than the best, in percent. */
double plan_more_pct(const struct planned *p, const struct advice_plan *plan);
/* Whether it is the cheapest way of its kind. */
bool plan_is_best_of_kind(const struct planned *p, const struct advice_plan *plan);
/* "6.1 years", "3.2 days", "never". */
void plan_years(double years, char words[32]);
/* How many disks of a kind the best plan has. */
uint32_t plan_disks(const struct planned *p, uint32_t kind);
double plan_drives(const struct planned *p); /* that are a disk: of RAID a set of them */

/* ---- what comes of it: for people, programs, and as a page.  0 or a negative errno ---- */

int plan_show(const struct planned *p) __attribute__((warn_unused_result));
int plan_json(const struct planned *p) __attribute__((warn_unused_result));
void plan_html(FILE *out, const struct planned *p);

/* How that looks: plan.css. */
struct plan_page_text {
	const char *name, *text;
};
extern const struct plan_page_text plan_page_texts[];
extern const unsigned plan_page_count;

/* plan_figures.c: pictures (SVG) in the page, with its colours. */

struct plan_bar {
	const char *label;
	double parts[4];           /* one after the other; those behind the first may be 0 */
	char value[48];            /* beside it */
};

struct plan_bars {
	const char *unit;          /* of the axis */
	const char *const *names;  /* of parts; NULL: there is one, and no legend */
	const struct plan_bar *bars;
	unsigned count;
	double limit;              /* a line is drawn there; NAN: none */
};

void plan_bars(FILE *out, const char *title, const struct plan_bars *bars);

/* How worn the disks of the best plan are, over the years. */
void plan_wear(FILE *out, const struct planned *p);

/* Text in HTML. */
void plan_escape(FILE *out, const char *text);

#endif
