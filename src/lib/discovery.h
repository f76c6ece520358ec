/*
 * discovery.h - what asking a discovery service once and watching one have in common.
 */
#ifndef WEIR_LIB_DISCOVERY_H
#define WEIR_LIB_DISCOVERY_H

#include "lib/internal.h"
#include "lib/log_reader.h"

enum { DISCOVERY_SERVICES_MAX = 64, DISCOVERY_DEPTH_MAX = 16, DISCOVERY_CONNECT_MS = 10000 };

/* How the service of a URI is connected to: 0, -EINVAL, or what looking up its name said; callbacks and owner are the
 * caller's to set. */
int discovery_find(const struct weir_host *host, const char *uri, const struct weir_discovery_options *options,
    struct ctrlr_options *ctrlr);

/* Adds what was read to a discovery: 0, or -ENOMEM. */
int discovery_add(struct weir_discovery *discovery, const struct log_reader *reader, unsigned level);

#endif
