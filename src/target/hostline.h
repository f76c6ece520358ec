/*
 * hostline.h - commands in line, host by host.
 *
 * Who has many there waits behind his own: the first of each host stands in the
 * line, the others behind it.  Nothing is allocated; a command is found by its
 * connection's host id, and is in one such line at a time.
 */
#ifndef WEIR_TARGET_HOSTLINE_H
#define WEIR_TARGET_HOSTLINE_H

#include "target/conn.h"

/* `line` is a list of requests, by waiter.node.  It takes as long as there are hosts in it. */
void hostline_push(struct list *line, struct request *req);

/* The next one, or NULL.  Its host has its next turn after all others that are there. */
struct request *hostline_pop(struct list *line);

#endif
