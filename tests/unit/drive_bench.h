/*
 * drive_bench.h - a small drive under a random load, and an oracle of what may be read of it, and be left of it when
 * the power goes.
 *
 * The oracle knows the table of doc/flash.md, "When the power goes", and nothing of how a drive keeps to it.  Each word
 * that is written says of which write, unit and position it is.  Of each unit the writes and trims since the last cut
 * are kept: what is read must be what some of them leave, in some order in which none goes before one that was answered
 * before it came.
 */
#ifndef WEIR_TESTS_DRIVE_BENCH_H
#define WEIR_TESTS_DRIVE_BENCH_H

#include "base/rng.h"
#include "flash/drive.h"

enum {
	BENCH_DEPTH = 64,        /* commands under way at most */
	BENCH_HISTORY = 24,      /* writes and trims of a unit that are remembered */
	BENCH_EVENTS = 4096,     /* of all units */
	BENCH_SECTORS = 128,     /* of a unit at most */
	BENCH_PIECE = 4096,      /* of media that are written in place: a unit here, though theirs are smaller */
	BENCH_BYTES = 1536 * 1024, /* of a command that has contents */
};

/* A write or trim.  Times count submissions and answers, one by one. */
struct bench_event {
	uint64_t first, end;     /* sectors */
	uint64_t begun, ended;   /* UINT64_MAX: not answered */
	bool zeros;              /* a trim, or a write of zeros */
	bool fua;
};

struct bench_unit {
	uint16_t events[BENCH_HISTORY];
	uint8_t count, under_way;
	bool touched;            /* it is in the list of those that were written or trimmed since the last cut */
};

struct bench_cmd {
	struct drive_cmd cmd;
	struct iovec iov[3];
	uint8_t *bytes;
	uint64_t begun, at_ns;
	uint32_t number;         /* of all that were submitted */
	uint32_t event;
	bool under_way;
};

/* What is sent for a while. */
struct bench_mood {
	uint32_t depth;          /* under way at a time */
	uint32_t first, span;    /* units */
	uint32_t units_max;      /* of a command */
	uint32_t writes, reads, trims, flushes, fua; /* of 100; `fua` of 100 writes and trims */
	uint32_t sweeps;         /* of 100 trims: as large as the span */
	bool whole;              /* units only, no parts */
	uint8_t pause_bits;      /* between commands, up to 2^so many ns */
};

struct drive_bench {
	struct arena arena;
	struct flash_geometry geometry;
	struct flash_profile profile;
	struct drive *drive;
	struct rng rng;
	struct bench_mood mood;
	bool at_next;            /* the drive is run as drive_next() says, not in larger steps */

	uint32_t unit_count, sectors; /* sectors of a unit */
	uint8_t *store;
	uint32_t *base;          /* by sector: the event of which it was when the history began; 0: zeros */
	struct bench_unit *units;
	uint32_t *touched, touched_count;
	struct bench_event *events;
	uint32_t event_count;
	uint32_t event_first;    /* the first one's number, which is in what was written */
	uint64_t clock, flushed; /* what was answered before that time is durable */

	struct bench_cmd cmds[BENCH_DEPTH];
	uint32_t under_way, number;
	uint64_t now_ns, end_ns;
	uint64_t cuts, lost;     /* units that were not what was answered last */
	uint64_t hash;           /* of the numbers of commands and the times of their answers */
};

/* A drive of some dies and short blocks, whose times are near one another; without protection. */
void drive_bench_profile(struct flash_profile *profile);

void drive_bench_open(struct drive_bench *bench, const struct flash_profile *profile, uint32_t units, uint64_t seed);
void drive_bench_close(struct drive_bench *bench);

/* One command, and a slot for it; its answer is waited for if all are under way. */
struct bench_cmd *drive_bench_slot(struct drive_bench *bench);
void drive_bench_send(struct drive_bench *bench, struct bench_cmd *cmd, enum drive_op op, uint64_t first_sector,
    uint64_t sectors, bool fua);

/* So many ns pass, and what is answered is checked. */
void drive_bench_run(struct drive_bench *bench, uint64_t ns);

/* Until the next thing happens. */
void drive_bench_step(struct drive_bench *bench);

/* Until all is answered. */
void drive_bench_drain(struct drive_bench *bench);

/* Until the drive has nothing to do for itself either. */
void drive_bench_idle(struct drive_bench *bench);
void drive_bench_check(struct drive_bench *bench, bool idle);

/* All is flushed, and what was touched is read: that is where histories begin, which have room again. */
void drive_bench_settle(struct drive_bench *bench);
void drive_bench_read_all(struct drive_bench *bench);

/* Every unit is written. */
void drive_bench_fill(struct drive_bench *bench);

/* The power goes: all that was touched is held against what may be there. */
void drive_bench_cut(struct drive_bench *bench);

/* Of one command. */
static inline uint32_t
drive_bench_units_at_once(const struct drive_bench *bench)
{
	return BENCH_BYTES / DRIVE_SECTOR / bench->sectors;
}

/* ---- drive_load.c ---- */

/* Whatever a host might do next. */
void drive_bench_any_mood(struct drive_bench *bench);

/* Random commands of the mood.  What they read is checked when they are answered. */
void drive_bench_load(struct drive_bench *bench, uint32_t commands);

/* Until there were so many cuts, under any load and at any instant. */
void drive_bench_cuts(struct drive_bench *bench, uint32_t cuts);

/* ---- drive_shapes.c ---- */

enum { DRIVE_BENCH_SHAPES = 7 };

/* Drives that differ from drive_bench_profile(), and how often the power of each goes. */
struct drive_bench_shape {
	const char *name;
	void (*change)(struct flash_profile *profile);
	uint32_t units, cuts;
};
extern const struct drive_bench_shape drive_bench_shapes[DRIVE_BENCH_SHAPES];

/* One of them: it has SLC mode, a part of which is always there. */
void drive_bench_slc(struct flash_profile *profile);

#endif
