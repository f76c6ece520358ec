/*
 * queue.h - a queue: a lane on a reactor that was taken for its thread (weir/queue.h).
 */
#ifndef WEIR_LIB_QUEUE_H
#define WEIR_LIB_QUEUE_H

#include "lib/internal.h"

/* Whose callback it is, for an I/O that was taken on. */
struct queue_slot {
	struct weir_queue *queue;
	struct queue_slot *next; /* while it is free */
	void (*done)(void *arg, const struct weir_result *result);
	void *arg;
};

/* A reactor that was taken, and the queues of one thread on it. */
struct queue_seat {
	struct reactor *reactor;
	unsigned queues;
	bool turning;              /* callbacks come: nobody may poll */
	uint64_t taken, done;      /* I/Os of all its queues */
};

struct weir_queue {
	struct queue_seat *seat;
	struct lane *lane;         /* NULL: it is closed */
	struct queue_slot *free;   /* a slot for each I/O that may be taken on */
	bool closing;
	bool told;                 /* whether it can be used; error, why */
	int error;
	char why[160];
	struct weir_subsys *ws;
	struct list node;          /* in ws->queues */
	struct queue_slot slots[];
};

/* Before it is polled: with so much in flight a few microseconds more may let several answers come together. */
void queue_pace(struct queue_seat *seat, uint64_t in_flight);

/* A turn of the seat's reactor, as rt_turn(): not from its callbacks. */
bool queue_turn(struct queue_seat *seat, int64_t timeout_ns);

/* Ends its lane, with all that is in flight; weir_queue_close() is all that may follow. */
void queue_end(struct weir_queue *queue);

#endif
