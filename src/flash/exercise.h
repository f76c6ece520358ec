/*
 * exercise.h - what does a drive give to hosts that always have so many commands under way?
 *
 * A closed loop in virtual time on a drive alone: a command that ends is followed by the next one at once.  It does not
 * know what state the drive is in, nor what is expected of it.
 */
#ifndef WEIR_FLASH_EXERCISE_H
#define WEIR_FLASH_EXERCISE_H

#include "base/hist.h"
#include "base/rng.h"
#include "flash/drive.h"

struct exercise_load {
	uint32_t bytes;        /* of each command */
	uint32_t depth;        /* commands under way */
	uint32_t read_percent; /* of commands; the others write */
	bool sequential;       /* one stream, from the drive's start to its end, again and again; else anywhere */
	uint64_t step_bytes;   /* commands begin at multiples of it; 0: of `bytes` */
	uint64_t seed;
	uint8_t *contents;     /* depth * bytes, the caller's: what commands read into and write from; NULL: nobody
				* asks what is read, and zeros are written */
	void (*ended)(const struct drive_cmd *cmd, void *arg); /* NULL: nobody wants to look at it */
	void *arg;
};

enum exercise_kind { EXERCISE_READS, EXERCISE_WRITES, EXERCISE_KINDS };

/* What ended since exercise_forget(). */
struct exercise_result {
	struct hist latency[EXERCISE_KINDS]; /* ns, from when it was submitted */
	uint64_t ns;
	uint64_t programmed_bytes;           /* by the drive, for whatever reason; 0: its media are written in place */
};

struct exercise;

/* Nothing is under way on the drive, which is the caller's and longer there.  0, or -ENOMEM. */
int exercise_create(struct arena *arena, struct drive *drive, const struct exercise_load *load,
    struct exercise **exercise) __attribute__((warn_unused_result));

/* Commands that are under way are under way no more: the drive is of no use any longer. */
void exercise_destroy(struct exercise *exercise);

/*
 * Before the first command: what the load would write is written without time, until each die has come to so few free
 * blocks that it collects, or all raw space was written.  Of reads, and of media that are written in place, nothing is.
 */
void exercise_use_spare(struct exercise *exercise);

/* Goes on until so many more commands have ended. */
void exercise_run(struct exercise *exercise, uint64_t commands);

/* Goes on until the drive's buffer was programmed for hosts twice over, and until as much as a block of each die was:
 * of reads, and of media that are written in place, neither means anything, and nothing is done. */
void exercise_fill_buffer(struct exercise *exercise);
void exercise_fill_blocks(struct exercise *exercise);

/* What is measured begins now. */
void exercise_forget(struct exercise *exercise);
const struct exercise_result *exercise_result(struct exercise *exercise);

#endif
