/*
 * failover_load.h - the load of weir-failover: queues, the threads that use them, and what they find.
 *
 * Reads, writes and flushes are of slots that have one I/O at a time, and what
 * a slot holds says which slot and which version of it it is, so a read knows
 * what must be there.
 *
 * What a probe has in flight is alone in its queue: where weir_queue_stats()
 * says that something was sent again between its submission and its end, it
 * was.  So it is known which I/O was, and when it was done.
 */
#ifndef FAILOVER_LOAD_H
#define FAILOVER_LOAD_H

#include <pthread.h>

#include <weir/weir.h>

enum { SLOT_BYTES = 32 * 1024, SLOTS_EACH = 64, DEPTH_MAX = 32, QUEUES_MAX = 64 };

/* `version` is the last that was acknowledged; unless it is known the next I/O is a write. */
struct slot {
	uint32_t issued, version;
	bool known, busy;
};

struct io {
	struct load *load;
	struct slot *slot;
	uint64_t submitted_ns, resent_before;
	uint32_t version;
	uint8_t op;
	bool busy;
	uint8_t *data;
	struct iovec iov[2];
};

/* One queue, its slots, and what came of it; its thread's alone until that was joined. */
struct load {
	struct weir_queue *queue;
	const struct weir_namespace *ns;
	unsigned depth, first_slot;
	bool is_probe;
	uint64_t dice, rest_until_ns;
	uint64_t submitted, done, failed, doubled, wrong;
	int error;
	struct slot slots[SLOTS_EACH];
	struct io ios[DEPTH_MAX];
};

/* One thread with some queues. */
struct load_thread {
	pthread_t id;
	struct load *loads;
	unsigned count;
};

/* Opens the queue; ends the process if it cannot. */
void load_prepare(struct load *load, struct weir_subsys *subsys, const struct weir_namespace *ns, unsigned at,
    unsigned depth, bool is_probe);
void load_close(struct load *load);

void load_start(struct load_thread *thread, struct load *first, unsigned count);
/* All at once: what is in flight is waited for, a minute and a half at most. */
void load_stop(struct load_thread *threads, unsigned count);

/* I/Os that ended well so far, and the longest of them since this was asked for last. */
uint64_t load_ios_done(void);
uint64_t load_longest_ns(void);

/* How many slots are not as they were left, by a queue that has written none of them. */
unsigned load_read_back(struct weir_subsys *subsys, const struct load *loads, unsigned count);

/* ---- what threads, the library's among them, have to say: by a pipe, for they must not block ---- */

struct note {
	char kind[16];
	uint64_t ns, since_ns; /* CLOCK_MONOTONIC */
	int path;
	char text[200];
};

/* The end that is read, without waiting. */
int notes_open(void);
void note(const char *kind, uint64_t at_ns, uint64_t since_ns, int path, const char *text);
uint64_t clock_ns(void);

#endif
