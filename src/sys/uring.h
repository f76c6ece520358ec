/*
 * uring.h - disk requests through io_uring.
 *
 * One ring, one thread.  Requests are gathered and handed over by one system
 * call; completions are taken from shared memory.
 */
#ifndef WEIR_SYS_URING_H
#define WEIR_SYS_URING_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/disk.h"

struct arena;
struct uring;

/*
 * Room for `entries` requests in flight, for each of which the kernel may have a thread where it would have to wait:
 * none waits for those of others.  -EPERM, -ENOSYS, -ENOMEM where it is not to be had.
 */
int uring_open(struct arena *arena, unsigned entries, struct uring **uring) __attribute__((warn_unused_result));
void uring_close(struct uring *uring);

/*
 * Makes the descriptor known to the kernel for good, so that it need not be looked up for each
 * request: what disk_req.kept is to be, or 0 where it is not to be had.  uring_forget() before it is closed.
 */
int uring_keep(struct uring *uring, int fd);
void uring_forget(struct uring *uring, int kept);

/* Is readable when completions have come; for an engine. */
int uring_fd(const struct uring *uring);

/* Gathers; iov stays valid until the completion.  There must be room. */
void uring_push(struct uring *uring, const struct disk_req *req, void *token);

/* Hands over what was gathered; true: some is still left, because the kernel was short of memory. */
bool uring_submit(struct uring *uring);

/* A completion is there; no system call. */
bool uring_ready(const struct uring *uring);

/* Takes one: what disk_perform() would have said. */
bool uring_take(struct uring *uring, void **token, int64_t *result);

/* Hands over, and blocks until a completion is there. */
void uring_wait(struct uring *uring);

#endif
