/*
 * volume.h - a volume: a namespace, and queues that threads borrow (weir/volume.h).
 */
#ifndef WEIR_LIB_VOLUME_H
#define WEIR_LIB_VOLUME_H

#include "lib/internal.h"

enum { VOLUME_DEPTH = 16 }; /* pieces of one call in flight */

/* What the target says of one command of a kind; blocks. */
struct volume_limits {
	uint32_t zero_blocks;         /* 0: the target knows no Write Zeroes */
	uint32_t trim_blocks;         /* of one range; 0: it knows no deallocation */
	uint64_t trim_total;
	unsigned trim_ranges;
	uint32_t copy_blocks;         /* of one range; 0: it knows no Copy */
	uint64_t copy_total;
	unsigned copy_ranges;
};

struct pooled {
	struct weir_queue *queue;     /* while it is idle or busy */
	enum pooled_state { POOLED_NONE, POOLED_OPENING, POOLED_IDLE, POOLED_BUSY } state;
};

struct weir_volume {
	struct weir_host *host;
	bool own_host;
	struct weir_subsys *ws;
	uint32_t nsid, block_size;
	struct volume_limits limits;

	pthread_mutex_t lock;         /* of all below */
	pthread_cond_t given;
	uint64_t size;                /* bytes */
	uint32_t changes;             /* of ws, when that was so */
	unsigned queues, queues_max;  /* opened or being so, and how many may be */
	uint64_t uses;                /* so often was one borrowed */
	bool ending;
	bool tended;                  /* there is a caretaker */
	pthread_t caretaker;
	int wake_fd;                  /* wakes it */
	unsigned pooled;              /* entries of: */
	struct pooled pool[];
};

/* ---- volume_pool.c ---- */

/* The first queue, and what looks after those that nobody uses. */
int pool_open(struct weir_volume *volume);
void pool_close(struct weir_volume *volume);

/* A queue for the calling thread alone; waits for one where there are as many as may be. */
int pool_take(struct weir_volume *volume, struct weir_queue **queue);
void pool_give(struct weir_volume *volume, struct weir_queue *queue);

/* ---- volume.c ---- */

/* 0; or it is no range of the volume: -EINVAL, -ERANGE. */
int volume_check(struct weir_volume *volume, const char *what, uint64_t bytes, uint64_t offset);

#endif
