/*
 * recon_host.h - what the files of a host share; see recon_host.c.
 */
#ifndef WEIR_TESTS_RECON_HOST_H
#define WEIR_TESTS_RECON_HOST_H

#include "recon.h"

/* DIRTY_...: the pages of recon_host.dirty. */
enum { RECON_PAGE = 16 * 1024, DIRTY_NS = 1, DIRTY_ANA = 2, DIRTY_LOG = 4 };

/* recon_beliefs.c: a command of the admin queue, and what follows it; whether it went well */
void recon_command(struct recon_host *h, const struct nvme_sqe *sqe, uint32_t read_bytes,
    void (*then)(struct recon_host *));
bool recon_command_ok(struct recon_host *h, const char *what);
/* The next page that it was told of; then its queues, if it has none yet. */
void recon_refresh(struct recon_host *h);
/* An Asynchronous Event Request, and the next one when it was answered. */
void recon_listen(struct recon_host *h);

/* recon_host.c: another queue */
void recon_open_next(struct recon_host *h);

#endif
