/*
 * sockring.h - several reads or writes of sockets by one system call.
 *
 * What sock_read() and sock_write() do, for many sockets at once, through
 * io_uring: nothing is left in flight when the call returns.  One ring, one
 * thread at a time.
 */
#ifndef WEIR_SYS_SOCKRING_H
#define WEIR_SYS_SOCKRING_H

#include "sys/sock.h"

struct arena;
struct sockring;

enum { SOCKRING_MAX = 64 };

/* -EPERM, -ENOSYS, -ENOMEM where it is not to be had. */
int sockring_open(struct arena *arena, struct sockring **ring) __attribute__((warn_unused_result));
void sockring_close(struct sockring *ring);

/* Prepares one of at most SOCKRING_MAX transfers; `iov` stays valid until sockring_run(). */
void sockring_push(struct sockring *ring, int fd, bool out, const struct iovec *iov, int count, ssize_t *result);

/* Makes them, in order, and sets their results; the number of system calls. */
unsigned sockring_run(struct sockring *ring);

#endif
