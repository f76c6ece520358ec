/*
 * order_log_bench.h - a log of two parts, what a crash leaves of it, and what is known of the streams in it.
 */
#ifndef WEIR_TESTS_ORDER_LOG_BENCH_H
#define WEIR_TESTS_ORDER_LOG_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "order/group.h"
#include "order/log.h"

enum { SLOTS = 1024, SEED = 0x5eed, PARTS = 2, STREAMS = 6, GROUPS = 1 << 16, OWNER = 7, KEEPS = 1 };

/* What the test knows of a write. */
struct log_write {
	bool here;              /* it went to this server */
	bool appended, durable; /* its entry */
	bool in_flight;
	bool persists, persist_durable;
	bool in_place;
	uint64_t place, word;
};

struct log_stream {
	struct order_track tracks[PARTS];
	bool has[PARTS];        /* a track there */
	unsigned part;
	uint16_t term;
	uint32_t last, prev, floor, high, good;
	bool rests;
	struct log_write *writes;   /* by group */
	uint32_t left[GROUPS];  /* in place and cut off: groups */
	uint32_t lefts;
};

struct log_part {
	struct order_log log;
	struct order_image slots[SLOTS], kept[SLOTS]; /* in memory, and what a crash leaves */
	struct order_slot states[SLOTS];
	uint8_t is[SLOTS];
	uint32_t words[SLOTS];
	struct order_commit commit;
	uint32_t commit_words[SLOTS];
};

struct log_server {
	struct rng rng;
	struct log_part parts[PARTS];
	struct log_stream streams[STREAMS];
	struct order_known known[PARTS * SLOTS];
	struct order_listed room[PARTS * SLOTS];
	uint64_t refused, appended;
};

bool log_keeps(void *arg, uint32_t nsid);

struct log_server *log_begin(uint64_t seed);

void log_end(struct log_server *server);

/* What is to be durable next; false: there is nothing. */
bool log_take(struct log_part *part);

/* Any of its words of eight bytes comes: all, none, or by chance. */
void log_keep_some(struct log_server *server, struct log_part *part, bool whole);

void log_note_durable(struct log_server *server, unsigned which);

/* What is to be durable is. */
void log_commit(struct log_server *server, unsigned which);

/* A part has what a crash has left.  What it has of all streams goes behind `count` others; answers how many there
 * are then. */
uint32_t log_read_part(struct log_server *server, unsigned which, uint32_t count);

#endif
