/*
 * rig.h - runs a measurement in virtual time, on devices that somebody makes.
 *
 * The same setup and seed give the same history with every compiler.  As in the
 * simulation, where this machine has no memory left, it aborts.
 */
#ifndef WEIR_LAB_RIG_H
#define WEIR_LAB_RIG_H

#include "base/arena.h"
#include "lab/measure.h"
#include "sim/sim.h"

enum { LAB_CONSTANTS_MAX = 64, LAB_PROFILES_MAX = 16, LAB_PROFILE = 128, LAB_WORLD = 320 };

/* One named constant, of a device or of the world, that is so many percent more (or less) than it is. */
struct lab_variation {
	const char *constant; /* NULL: all is as it is */
	int percent;          /* above -100 */
};

struct lab_crew;
struct workload;

/* Where devices come from.  All but open() may be NULL. */
struct lab_maker {
	/* What `device` says, in the arena of the reactor, which may not be needed again: nobody closes it.
	 * `variation` NULL: as it is; else one of its constants is changed. */
	int (*open)(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
	    struct blk **blk, char why[LAB_WHY]) __attribute__((warn_unused_result));
	/* The n-th constant of such a device that can be varied, a name that stays; NULL: there are no more. */
	const char *(*constant)(const struct lab_device *device, unsigned n);
	/* Adds what an open device has counted so far. */
	void (*read)(const struct blk *blk, struct lab_reading *reading);
	/* What a result must name: "tlc-plp 0123456789abcdef"; "": nothing. */
	void (*profile)(const struct lab_device *device, char text[LAB_PROFILE]);
};

/* blk_open(), and nothing else. */
extern const struct lab_maker lab_maker_plain;

/* How far an experiment is. */
struct lab_progress {
	uint64_t measured, of; /* measurements that are over, of so many as far as is known */
	uint64_t virtual_ns;   /* that have gone by in them */
};

/* Workloads that the user has, for experiments that take them (experiment.h); they stay the caller's. */
struct lab_workloads {
	const struct workload *list;
	uint32_t count;               /* 0: the user has none */
	const char *name;
};

/* Who experiments: with what, and what was used. */
struct lab {
	struct arena *arena;          /* of setups, outcomes and results */
	const struct lab_maker *maker;
	uint64_t seed;
	struct lab_variation variation;
	struct lab_crew *crew;        /* crew.h: for what can be done side by side; NULL: there is none */
	bool quick;                   /* experiments that take long do a small part, which is said in the result */
	struct lab_workloads workloads;
	/* As sim_options.trace, of each run; NULL: nobody looks.  `arg` is whatever the rig has there. */
	void (*trace)(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b);
	/* Whenever that changes; NULL: nobody looks. */
	void (*watch)(void *arg, const struct lab_progress *progress);
	void *watch_arg;
	char why[2 * LAB_WHY];        /* it could not be run: why; "": it could */

	/* of all runs since lab_init() */
	const char *constants[LAB_CONSTANTS_MAX]; /* that could be varied */
	unsigned constant_count;
	char profiles[LAB_PROFILES_MAX][LAB_PROFILE];
	unsigned profile_count;
	char world[LAB_WORLD];              /* what the last one was charged, in words */
	uint64_t hash, events, runs;
	struct lab_progress progress;
};

void lab_init(struct lab *lab, struct arena *arena, const struct lab_maker *maker, uint64_t seed);

/* NULL: lab->why says why.  The setup, which must stay, has been run to its end. */
struct lab_outcome *lab_run(struct lab *lab, const struct lab_setup *setup) __attribute__((warn_unused_result));

/* So many measurements more are to come; for who looks at how far it is. */
void lab_expect(struct lab *lab, uint64_t measurements);

/* One is over; for experiments that need no rig.  lab_run() says it by itself. */
void lab_measured(struct lab *lab, uint64_t virtual_ns);

/* It depends on this constant, by its name, which is kept.  lab_run() says it by itself. */
void lab_note_constant(struct lab *lab, const char *name);

void *lab_alloc(struct lab *lab, size_t bytes);

/* The result is to name this profile; for experiments that need no rig.  lab_run() does it by itself. */
void lab_note_profile(struct lab *lab, const char text[LAB_PROFILE]);

/* It cannot be run. */
void lab_refuse(struct lab *lab, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
