/*
 * internal.h - what host/'s files see of each other.
 */
#ifndef WEIR_HOST_INTERNAL_H
#define WEIR_HOST_INTERNAL_H

#include "host/host.h"

uint32_t host_nsid(const struct host *host);
struct qpair *host_queue(struct host *host, unsigned queue);

#endif
