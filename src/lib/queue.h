/*
 * queue.h - a queue: a reactor that was taken for its thread, and a lane on it (weir/queue.h).
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

struct weir_queue {
	struct reactor *reactor;
	struct lane *lane;         /* NULL: it is closed */
	struct queue_slot *free;   /* a slot for each I/O that may be taken on */
	bool turning;              /* callbacks come: nobody may poll */
	bool closing;
	bool told;                 /* whether it can be used; error, why */
	int error;
	char why[160];
	struct weir_subsys *ws;
	struct list node;          /* in ws->queues */
	uint64_t turns_before, syscalls_before; /* the reactor's, which others had before */
	struct queue_slot slots[];
};

#endif
