/*
 * reactor.h - one shared-nothing thread of work, and the order of its turn.
 *
 * A process has one or more reactors, each with its own memory, streams,
 * timers and buffers; they speak by mail alone.  This file is the part of the
 * loop that the kernel's world and the simulated one have in common: a world
 * puts streams on the ready list and mail in the box, then lets the reactor
 * take a turn.
 */
#ifndef WEIR_WORLD_REACTOR_H
#define WEIR_WORLD_REACTOR_H

#include <assert.h>

#include "base/arena.h"
#include "base/timer.h"
#include "world/bufs.h"
#include "world/world.h"

/* What a turn does after it has told of events, in this order; timers come after the first. */
enum reactor_phase {
	PHASE_RECEIVE, /* read what streams have, those with little together */
	PHASE_SUBMIT,  /* hand what was gathered to devices: one doorbell or system call */
	PHASE_COLLECT, /* take completions */
	PHASE_SETTLE,  /* do what follows from them all together, before anybody is answered */
	PHASE_SEND,    /* one send per connection, those with little together */
	PHASE_COUNT,
};

/* Work to be done once in the given phase of this turn, or of the next if that is past. */
struct task {
	struct list node;
	void (*run)(struct task *task);
};

struct reactor {
	const struct world_ops *world;
	struct arena *arena;
	unsigned index, count; /* this one, and how many the process has */
	uint64_t now_ns;       /* read once per turn, before anything is processed */
	struct timers timers;
	struct bufs bufs;
	struct list ready;     /* streams with events to deliver */
	struct list tasks[PHASE_COUNT];
	uint8_t *scratch;      /* REACTOR_SCRATCH bytes to receive into, by reactor_scratch(); nobody's outside
	                        * PHASE_RECEIVE */
	void (*on_mail)(struct reactor *reactor, const struct mail *mail);
	void *owner;           /* the target's or the host's part of this reactor */

	uint64_t turns, busy_turns, syscalls, busy_ns; /* for `weir serve --stats`; the last for SMART too */
};

enum { REACTOR_SCRATCH = 256 * 1024 };

/* The scratch from its byte `at` on, to receive into: `bytes` of it, or as many as there are.  Engines make that place
 * in no other way, since how much they want may be what a peer said. */
static inline struct iovec
reactor_scratch(const struct reactor *reactor, size_t at, size_t bytes)
{
	assert(at <= REACTOR_SCRATCH);
	return (struct iovec){
		reactor->scratch + at, bytes < REACTOR_SCRATCH - at ? bytes : REACTOR_SCRATCH - at,
	};
}

struct reactor_options {
	uint32_t small_bufs, large_bufs; /* pieces in each pool */
};

/* 0, or -ENOMEM; the arena is the reactor's alone. */
int reactor_init(struct reactor *reactor, const struct world_ops *world, struct arena *arena,
    unsigned index, unsigned count, const struct reactor_options *options)
    __attribute__((warn_unused_result));
void reactor_fini(struct reactor *reactor);

static inline void task_init(struct task *task, void (*run)(struct task *))
{
	list_init(&task->node);
	task->run = run;
}

/* Asks for the task to be run; it is run once however often this is called before. */
static inline void
reactor_run_in(struct reactor *reactor, enum reactor_phase phase, struct task *task)
{
	if (list_empty(&task->node))
		list_push(&reactor->tasks[phase], &task->node);
}

static inline void task_cancel(struct task *task) { list_remove(&task->node); }

/* For worlds: `events` may hold; those that are wanted are delivered in the next turn. */
void reactor_stream_ready(struct stream *stream, unsigned events);

/* For worlds: the stream leaves (closed or detached). */
void reactor_stream_gone(struct stream *stream);

/* For worlds that know nothing better: world_ops.move, stream by stream. */
void reactor_move_each(struct reactor *reactor, bool out, struct stream_move *moves, unsigned count);

/*
 * One turn at `now_ns`: streams, PHASE_RECEIVE, timers, then the other phases.
 * Mail is delivered by the world before it.  True if anything was done; bytes
 * that were received are the world's to count.
 */
bool reactor_turn(struct reactor *reactor, uint64_t now_ns);

/* When a turn is due though nothing arrives: 0 at once, UINT64_MAX never. */
uint64_t reactor_next(const struct reactor *reactor);

#endif
