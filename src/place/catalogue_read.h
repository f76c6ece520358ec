/*
 * catalogue_read.h - a file of drives that can be bought: what each costs, holds, bears and does.
 *
 * CSV (csv.h) with a row for each model; what is in brackets may be absent or empty:
 *
 *   model                      each its own
 *   [class] [year] [source]    words and a year, for people
 *   [estimated]                names of columns, with blanks between them, whose figure here nobody published
 *   usd, [setup_usd]           price of one, and to put it in
 *   capacity_gb                GB are 10^9 bytes
 *   read_iops, write_iops      of 4 KiB, random, sustained
 *   [active_w, idle_w] [duty_pct]   its average power is idle_w + duty (active_w - idle_w)
 *
 * How much can be written is one of
 *   endurance_gb               physical writes: what its flash bears
 *   endurance_pbw              PB that hosts can write, of random writes (JESD219): times A(0) these are physical
 *   endurance_dwpd, [warranty_years]  the same as drive writes per day, of 5 years; beside endurance_pbw it must agree
 *
 * and how much it writes for each byte (waf.h) none, which is waf_default, or one of
 *   spare_pct                  raw over user space, less one: A(0) is what theory says of it
 *   waf_random, [waf_turn], [waf_sequential]   A(0), the share where it begins to fall (0.5), A(1) (1.2)
 *   waf_epsilon, waf_alpha, waf_beta, waf_eta, waf_mu, waf_gamma   as regression found it
 *
 * A pool that is there is a file of `model`, [count], and [worn_gb] (physical) or [worn_pct] of its endurance.
 */
#ifndef WEIR_PLACE_CATALOGUE_READ_H
#define WEIR_PLACE_CATALOGUE_READ_H

#include "place/csv.h"
#include "place/disk.h"

struct arena;

enum { CATALOGUE_MODELS = 256, CATALOGUE_POOL = 4096, CATALOGUE_COUNT_MAX = 1000000 };

/* What a day costs, and what is taken where a row does not say it. */
struct catalogue_terms {
	double usd_per_kwh;
	double pue;                /* what the room takes for each watt that the drive takes */
	double labour_usd_per_day; /* of one drive */
	double setup_usd;          /* of one drive whose row does not say it */
	double watts;              /* the same, on average */
	double duty;               /* of the time that it is active, 0 to 1 */
};

/* 0.10 USD, 1.58, 0.14 USD, 25 USD, 10 W and 0.3: about 0.18 USD a day.  doc/placement.md says why. */
extern const struct catalogue_terms catalogue_terms_usual;

struct catalogue_model {
	struct disk_model disk;    /* C_I is price and setup, C'_M power and labour */
	const char *class, *source, *estimated; /* "": not said */
	unsigned year;             /* 0: not said */
	double usd, setup_usd;
	double watts;              /* on average */
	double power_usd_per_day;  /* of C'_M what is not labour */
	double rated_gb;           /* that hosts can write, as its data sheet has it; 0: not said */
	uint32_t line;
};

struct catalogue {
	struct catalogue_model *list; /* in the order of the file; all of it is the arena's */
	uint32_t count;
};

/* As workloads_read(). */
int catalogue_read(struct catalogue *catalogue, struct arena *arena, const char *text, size_t bytes,
    const struct catalogue_terms *terms, struct csv_said *said) __attribute__((warn_unused_result));

/* The model called so, in whatever case; NULL: there is none. */
const struct catalogue_model *catalogue_find(const struct catalogue *catalogue, const char *name);

/* Drives that are there, alike: so many of a model, each with so much behind it. */
struct catalogue_owned {
	const struct catalogue_model *model;
	uint32_t count;
	double worn_gb;
	uint32_t line;
};

struct catalogue_pool {
	struct catalogue_owned *list; /* the arena's */
	uint32_t count;
};

/* Of models of the catalogue. */
int catalogue_pool_read(struct catalogue_pool *pool, struct arena *arena, const char *text, size_t bytes,
    const struct catalogue *catalogue, struct csv_said *said) __attribute__((warn_unused_result));

/* What is built in: catalogue/ssds.csv. */
struct catalogue_text {
	const char *name, *text;
};
extern const struct catalogue_text catalogue_texts[];
extern const unsigned catalogue_count;

#endif
