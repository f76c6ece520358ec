/*
 * plan.h - what one trial of a whole cluster is made of: its knobs, and the faults that happen when.
 *
 * A scenario says what may be: a span for each knob, and how often each fault
 * happens.  A seed draws a plan from it, in which nothing is left to chance but
 * what the simulation draws from the same seed.  Knobs and faults are rows of
 * two tables (plan.c), so that reading, printing, drawing and shortening know
 * none of them by name.  Pure.
 */
#ifndef WEIR_TRIAL_PLAN_H
#define WEIR_TRIAL_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "conf/amount.h"

enum knob {
	/* what there is */
	KNOB_TARGETS,        /* processes that serve one subsystem each */
	KNOB_TARGET_REACTORS,
	KNOB_LISTENERS,      /* of each target; a host has a path by each */
	KNOB_VOLUMES,        /* of each target */
	KNOB_HOSTS,
	KNOB_HOST_REACTORS,
	KNOB_LANES,          /* of each host to each target */
	/* the load */
	KNOB_DEPTH,          /* I/Os that a host has in flight on each lane */
	KNOB_BLOCKS,         /* of each volume that are used: few of them, many conflicts */
	KNOB_IO_BLOCKS,      /* of one I/O, at most */
	KNOB_PAUSE_US,       /* between an I/O and the next that takes its place, at most */
	KNOB_READ, KNOB_WRITE, KNOB_WRITE_FUA, KNOB_FLUSH, KNOB_ZEROES, KNOB_DEALLOCATE, KNOB_COPY, KNOB_VERIFY,
	KNOB_COMPARE, KNOB_COMPARE_AND_WRITE, KNOB_UNCORRECTABLE, /* shares of the load; all 0: reads */
	/* hosts */
	KNOB_HEADER_DIGEST, KNOB_DATA_DIGEST, /* so many of a hundred hosts use them */
	KNOB_SQ_FLOW, KNOB_QUEUE_DEPTH_POLICY, KNOB_NO_EXTENSION, /* the same */
	KNOB_KATO_MS, KNOB_IO_TIMEOUT_MS,
	KNOB_CLAIMS,         /* so many of a hundred hosts use reservations */
	/* targets */
	KNOB_SMALL_BUFS, KNOB_LARGE_BUFS, /* of each reactor */
	KNOB_QUEUE_ENTRIES,  /* 0: as the target likes */
	KNOB_STALL_MS,       /* 0: as the target likes */
	KNOB_MEMORY_MIB,     /* of each target reactor beside its buffers, at most; 0: no limit */
	/* the volumes' disks */
	KNOB_IN_RAM,         /* so many of a hundred volumes; the others lie in files */
	KNOB_DISK_US, KNOB_DISK_JITTER_US,
	KNOB_WRITEBACK_PPM,  /* written pages that become durable unasked */
	/* the network */
	KNOB_LATENCY_US, KNOB_JITTER_US, KNOB_MBIT, /* 0: as fast as you like */
	KNOB_SEGMENT, KNOB_SOCKET_MIN, KNOB_SOCKET_MAX, /* bytes */
	KNOB_SHORT_PPM, KNOB_SPURIOUS_PPM, KNOB_RESET_PPM,
	/* time */
	KNOB_MAIL_NS, KNOB_MAIL_JITTER_NS,
	KNOB_TURN_NS, KNOB_IO_NS,
	KNOB_UNTIL_MS,       /* load and faults; then all is mended and must come to rest */
	/* the volumes again */
	KNOB_FAIR,           /* so many of a hundred: their I/O waits for turns */
	KNOBS,
};

struct knob_row {
	const char *name, *unit; /* as in a file: `host-reactors`; "" where it is a number of things */
	uint64_t least, most;    /* that make sense */
	uint64_t calm;           /* where it does nothing by itself; where nothing is said; shortening tries it */
	bool or_zero;            /* below `least` too */
	const char *says;
};
extern const struct knob_row knob_rows[KNOBS];

/* Of two knobs the first is never larger than the second. */
struct knob_pair {
	enum knob smaller, larger;
};
enum { KNOB_PAIRS = 2 };
extern const struct knob_pair knob_pairs[KNOB_PAIRS];

enum fault_kind {
	FAULT_TARGET_KILLED,     /* the process dies and comes back; its machine keeps what was written */
	FAULT_TARGET_POWER,      /* its machine loses power */
	FAULT_HOST_KILLED,
	FAULT_HOST_LEAVES,       /* in order, and comes back */
	FAULT_ALL_LEAVE,         /* all hosts are killed and come back at once: a storm of connections */
	FAULT_LISTENER_SILENT,   /* what goes by it is held back, and comes when it is mended */
	FAULT_LISTENER_RESETS,
	FAULT_PARTED,            /* one host and one target: silence */
	FAULT_TARGET_PAUSED,     /* one reactor takes no turn */
	FAULT_HOST_PAUSED,
	FAULT_NETWORK_SLOW,      /* of one target: latency, a hundred times */
	FAULT_DISK_FAILS,        /* operations of one volume's file end with EIO, some when they have landed */
	FAULT_DISK_STALLS,       /* none ends before it is mended */
	FAULT_DISK_SLOW,         /* a hundred times */
	FAULT_DISK_LIES,         /* one block of one file changes by itself */
	FAULT_ANA,               /* one listener of one target becomes inaccessible, or in change, or non-optimized */
	FAULT_VOLUME_GONE,       /* a namespace is taken away, and comes back as it was */
	FAULT_VOLUME_GROWS,
	FAULT_HOST_BARRED,       /* is not in the list of hosts any more */
	FAULT_LISTENER_GONE,     /* is taken away by the operator, and comes back */
	FAULT_NO_MEMORY,         /* allocations of one reactor fail now and then */
	FAULT_NETWORK_FLIPS,     /* what a host sends and receives has wrong bits, where it uses digests */
	FAULTS,
};

struct fault_row {
	const char *name;        /* as in a file: `target-killed` */
	bool lasts;              /* it is mended after `for_ns`; else it is over at once */
	const char *says;
};
extern const struct fault_row fault_rows[FAULTS];

struct fault {
	uint64_t at_ns, for_ns;
	enum fault_kind kind;
	uint32_t whom, what;     /* any numbers: of which process, and which of its parts, modulo how many there are */
};

enum { PLAN_FAULTS_MAX = 16384, PLAN_NAME = 32, PLAN_SECONDS_MAX = 3600 };

struct plan {
	char scenario[PLAN_NAME];
	uint64_t seed;
	uint64_t knobs[KNOBS];
	uint32_t fault_count;
	struct fault faults[PLAN_FAULTS_MAX]; /* by time */
};

/* Faults of one kind: how long from one to the next, and how long each lasts.  every.from 0: none. */
struct fault_rate {
	struct span every_us, for_us;
};

struct scenario {
	char name[PLAN_NAME];             /* "": none was given */
	const char *says;
	struct span knobs[KNOBS];         /* each within its row, and no pair that cannot be */
	bool swarm;                       /* each seed leaves some kinds of faults, and some of the load, out */
	struct fault_rate rates[FAULTS];
	uint32_t fault_count;             /* that happen with every seed, whatever else does */
	const struct fault *faults;       /* by time, each before the least `until` */
};

/* As many faults as a plan may have of it at most; the listed ones too. */
uint64_t scenario_faults_most(const struct scenario *scenario);

/* What the seed makes of it: the same everywhere.  scenario_faults_most() is PLAN_FAULTS_MAX or less. */
void plan_draw(const struct scenario *scenario, uint64_t seed, struct plan *plan);

/* As scenario_read() reads it: a scenario from which the same seed draws this plan, to the last byte. */
void plan_print(const struct plan *plan, FILE *out);

/* Knobs within their rows and their pairs, faults by time and before `until`, and of those that last each does. */
bool plan_is_valid(const struct plan *plan);

#endif
