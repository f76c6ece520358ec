/*
 * ordered_bench.h - a host with a stream of ordered writes to two targets, in virtual time: it writes all of a volume,
 * a block at a time, and reads it back.  An orderer stands before each target; or they have logs themselves.
 */
#ifndef WEIR_TESTS_ORDERED_BENCH_H
#define WEIR_TESTS_ORDERED_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cluster.h"
#include "host/ordered.h"
#include "orderer.h"

enum {
	SERVERS = 2, PATHS = 2, BLOCK = 4096, BLOCKS = 256, ALL = SERVERS * BLOCKS, STRIPE = 8, MOST = 4, GROUP = 3,
	ITEMS = 64, DEPTH = 16, LANE_DEPTH = 24, MAIL_LANES = 0x100,
};

#define PLAY_MS UINT64_C(1000000)

/* Two servers, and the first once more. */
extern const char *const play_hosts[SERVERS + 1];

struct play {
	bool served;             /* by targets with logs: */
	struct cluster_target targets[SERVERS];
	struct store_spec logs[SERVERS];
	char specs[SERVERS][64];
	struct sim_process *processes[SERVERS], *host;
	struct cluster_target target; /* or else by this one, behind: */
	struct orderer orderers[SERVERS];
	struct forger forgers[SERVERS + 1]; /* the last one is a second path to the first server */
	unsigned paths;          /* to that */
	struct sim *sim;
	struct reactor *reactor, *lane_reactor;
	size_t before;           /* bytes that the latter had at first */
	struct subsys *subsys[SERVERS];
	struct subsys_find finds[SERVERS];
	struct lane *lanes[SERVERS];
	unsigned found, lanes_up;
	uint32_t nsids[SERVERS];
	bool keeps[SERVERS];
	struct order_member members[SERVERS];
	struct order_layout layout;
	struct order_item items[ITEMS];
	struct ordered *ordered;
	uint32_t next;           /* blocks that were submitted */
	uint32_t lost_at;        /* so many were written when the test cut something */
	uint32_t read;           /* blocks that were read back */
	unsigned wrong;
	/* Of hosts that were there before. */
	uint32_t durable;        /* the last group of which one was told that */
	uint32_t check, check_to; /* blocks that are to be zeros, as they are of groups that are not there */
	bool checking, reading;
	uint32_t kept, undone;   /* groups that were there when one came, and that were not, in all */
	bool ends;               /* the stream, when all of it is durable, and only then it is read back */
	bool finished, closing;
	struct timer ticker;
	struct iovec iov;
	uint32_t back[BLOCK / 4];
	uint32_t data[ALL][BLOCK / 4];
};

/* The test may set what it likes of it before it is started. */
struct play *play_create(void);
void play_start(struct play *p, uint64_t seed);

/* With targets that have logs of that kind, and volumes like that, which `%u` tells apart; instead of play_create(). */
struct play *play_create_served(enum store_kind kind, const char *spec);

/* Until that is so, or a minute has passed; or for so long. */
void play_run(struct play *p, bool (*until)(void *arg));
void play_wait(struct play *p, uint64_t time_ms);

/* All of it was written and read back; blocks up to `lost_at` were submitted; the lanes are closed. */
bool play_is_finished(void *arg);
bool play_has_written(void *arg);
bool play_is_closed(void *arg);

/* It finishes, and what was read is what was written. */
void play_end(struct play *p);

#endif
