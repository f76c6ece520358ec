/*
 * wisher.h - a keeper for simulated targets: does what hosts wish of namespaces, with volumes that remember nothing.
 *
 * Namespace 1 is the operator's, whose host is not to be disturbed: it cannot be protected.
 */
#ifndef WEIR_TESTS_WISHER_H
#define WEIR_TESTS_WISHER_H

#include "made/made.h"
#include "target/wish.h"

enum { WISHER_NS_MAX = 12, WISHER_VOLUMES = 64 };

struct wisher {
	struct target_keeper keeper;
	struct target_applied applied;
	struct reactor *reactor;
	struct target **target;
	struct fifo waiting;
	struct target_wish *now;
	bool idle;                     /* set before the beginning: it does nothing */
	struct arena arenas[2];
	struct made *made[2];          /* [current] holds; the other is what shall */
	unsigned current;
	uint32_t nsid;                 /* that is being created */
	struct target_config config;
	struct target_listen listen;
	struct target_subsys subsys;
	struct target_ns ns[1 + WISHER_NS_MAX];
	struct wisher_volume {
		struct blk *blk;       /* NULL: free */
		uint8_t uuid[16];
		bool leaving;
	} volumes[WISHER_VOLUMES];
	uint64_t uuids, done, refused, failed;
};

/* Makes it the keeper of the config, of one subsystem with one namespace, that is about to become *target. */
int wisher_begin(struct wisher *wisher, struct reactor *reactor, struct target_config *config, struct target **target);
void wisher_end(struct wisher *wisher);

#endif
