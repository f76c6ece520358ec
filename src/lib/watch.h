/*
 * watch.h - a discovery service that is watched (weir/discovery.h).
 */
#ifndef WEIR_LIB_WATCH_H
#define WEIR_LIB_WATCH_H

#include "lib/discovery.h"

struct weir_discovery_watch {
	struct list node;           /* in host->watches */
	struct weir_host *host;
	void (*changed)(void *arg, const struct weir_discovery *discovery);
	void *arg;

	/* The service thread's: */
	struct ctrlr_options options;
	struct ctrlr *ctrlr;        /* NULL: it waits to be opened again */
	struct log_reader reader;
	bool ready, reading;
	bool again;                 /* it has changed while it was read */
	bool silent;                /* it was lost or could not be reached, and that was said */
	struct timer retry;
	uint32_t wait_ms;
	struct call *ending;
};

#endif
