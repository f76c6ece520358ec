/*
 * view.h - what is served, as one immutable snapshot.
 *
 * Every core refers to one view; a new config makes a new one, which replaces
 * it everywhere (apply.c).  Only names and numbers: which channel leads to a
 * volume, and who holds a reservation, each core knows for itself.
 */
#ifndef WEIR_TARGET_VIEW_H
#define WEIR_TARGET_VIEW_H

#include "target/target.h"

enum view_gate {
	GATE_ANA = 1,     /* through some portal it cannot be reached: look at the group */
	GATE_PROTECT = 2, /* nothing may be written */
	GATE_ABSENT = 4,  /* there is no such namespace */
	GATE_LISTED = 16, /* it is active at some controllers alone: look at conn->active */
	GATE_RESV = 8,    /* somebody may hold it: never here, but in conn->gate */
};

/* A volume has a number that no other ever has; and by it a slot, which is another's when it is gone.  Whether it
 * still is the same is asked of the number alone. */
static inline uint16_t
volume_slot(uint64_t volume)
{
	return (uint16_t)(volume % TARGET_VOLUMES_MAX);
}

/* What an I/O command must know of its namespace, by NSID. */
struct view_ns {
	const struct ns_info *info; /* NULL: there is none, and then gate says so */
	uint64_t blocks;
	uint64_t volume; /* its number */
	const struct fair_volume *fair; /* NULL: nothing is held back */
	uint32_t block_size;
	uint32_t tagged; /* its NSID, as the log of ordered writes has it: order_entry_nsid() */
	uint8_t gate;
	uint8_t ana;    /* index into the subsystem's groups */
};

struct view_subsys {
	struct subsys_info info;
	uint8_t identity[16];
	uint16_t events;          /* number of its log of events, given by events_prepare() */
	uint32_t portals;         /* bit n: reached through portal n */
	bool hosts_listed;
	const char (*hosts)[NVME_NQN_FIELD];
	uint32_t host_count;
	uint32_t controllers_max;
	const struct view_ns *ns; /* [nsid - 1], ns_limit of them */
	uint32_t ns_limit;
};

struct view {
	size_t bytes;                 /* of it and all it points to, which lie behind it */
	struct view_subsys *subsys;
	uint32_t subsys_count;
	struct subsys_info discovery; /* without what depends on the host */
	struct target_listen listen[TARGET_LISTENERS_MAX]; /* by portal; of those that are not in use, nothing */
	struct portal_info portals[TARGET_LISTENERS_MAX];  /* the same, as hosts are told of it */
	uint32_t portals_used;        /* bit n */
	struct portal_info referrals[CTRL_REFERRALS_MAX];
	struct fair_terms fair;
	uint32_t connections_max, handshake_timeout_ms, stall_timeout_ms;
	bool authenticate;
};

/* How a config's listeners and volumes are numbered in the target. */
struct view_numbers {
	uint8_t portal[TARGET_LISTENERS_MAX]; /* by listener of the config */
	const uint64_t *volumes;              /* by namespace, in the order of the config */
	bool keeps;                           /* there is somewhere to keep reservations */
};

/* -EINVAL and `why` where the config breaks a rule. */
int view_check(const struct target_config *config, char why[256]) __attribute__((warn_unused_result));

/* The view of a config that was checked; `old`: the one it replaces, from which changes are counted on, or NULL: from
 * 1.  NULL: no memory.  Given back by arena_free(). */
struct view *view_make(struct arena *arena, const struct target_config *config,
    const struct view_numbers *numbers, const struct view *old) __attribute__((warn_unused_result));

/* Whether every host is told the same by both in the discovery log; a list of hosts in another order is the same. */
bool view_same_log(const struct view *a, const struct view *b);

/* Another one that is the same; NULL: no memory. */
struct view *view_copy(struct arena *arena, const struct view *view) __attribute__((warn_unused_result));

/* A listener as hosts are told of it. */
struct portal_info view_portal(const struct target_listen *listen);

/* The subsystem of the name, which ends with a NUL or after NVME_NQN_FIELD bytes; or NULL. */
const struct view_subsys *view_subsys(const struct view *view, const char *nqn);

bool view_allows(const struct view_subsys *subsys, const char hostnqn[NVME_NQN_FIELD]);

/* And through this portal. */
bool view_admits(const struct view_subsys *subsys, uint16_t portal, const char hostnqn[NVME_NQN_FIELD]);

#endif
