/*
 * ftl_play.h - a translation layer driven as a drive does, in random order, and a plain model of what lies where.
 *
 * Rows are begun on any die, told in any order, and come to nothing when the power goes; units are collected, written
 * anew while they are moved, and trimmed; blocks are erased when they may be.  What is at a place is a number: the
 * model knows of each unit which one should be found.
 */
#ifndef WEIR_TESTS_FTL_PLAY_H
#define WEIR_TESTS_FTL_PLAY_H

#include "ftl_bench.h"

enum { PLAY_ROW = 32, PLAY_ROWS = 24, PLAY_WAIT = 4 * PLAY_ROW };

struct play_row {
	uint32_t die, count;
	flash_place place;
	uint32_t units[PLAY_ROW];
	flash_place from[PLAY_ROW];
	uint64_t data[PLAY_ROW];
};

struct play_moved {
	flash_place from;
	uint32_t unit;
	uint64_t data;
};

/* What was collected on a die and waits for a row. */
struct play_wait {
	uint32_t count;
	struct play_moved units[PLAY_WAIT];
};

struct play {
	struct ftl_bench b;
	struct play_row rows[PLAY_ROWS]; /* begun, and not told */
	uint32_t row_count;
	struct play_wait *waits; /* by die */
	uint64_t *media;  /* by place; 0: erased */
	uint64_t *newest; /* by unit: what should be found; 0: nothing */
	uint64_t *barred; /* by unit: what came before it was trimmed, or overtaken */
	uint64_t writes;  /* numbers that were given */
	uint64_t rows_begun;
	uint32_t hot;     /* hosts write these units only, if not 0 */
	bool impatient;   /* hosts do not wait for collection where they can do without */
};

/* After ftl_bench_shape() of p->b, and changes. */
void play_open(struct play *p);
void play_close(struct play *p);

/* What can be done on the die, of these; false: nothing of the kind. */
bool play_host_row(struct play *p, uint32_t die);
bool play_collect(struct play *p, uint32_t die);
bool play_gc_row(struct play *p, uint32_t die, bool padded);
bool play_erase(struct play *p, uint32_t die);

/* Of the rows that were begun one is told. */
bool play_tell(struct play *p);
void play_trim(struct play *p, uint32_t unit);
void play_cut(struct play *p);

/* Any of these. */
void play_step(struct play *p);

/* As a drive does: of each die what it can do, in order, with hosts last.  Hosts begin `rows` rows so, or it fails. */
void play_orderly(struct play *p, uint64_t rows);

/* Each unit lies where what was written last is. */
void play_judge(const struct play *p);

#endif
