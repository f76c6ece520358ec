/*
 * subsys.h - a subsystem as hosts see it: what a controller's answers are made of.
 *
 * A subsys_info and all it points to is a snapshot: nobody changes it while a
 * controller refers to it.  What changes comes as a new snapshot, which every
 * controller is given by ctrl_update(); the old one may go when the last has it.
 */
#ifndef WEIR_CTRL_SUBSYS_H
#define WEIR_CTRL_SUBSYS_H

#include <string.h>

#include "wire/fabrics.h"

enum {
	CTRL_STREAMS = 64,  /* of ordered writes that a host may have */
	CTRL_NS_MAX = 1024, /* NSIDs are 1 to this, so that page 04h can name each: NN and MNAN */
	CTRL_PORTALS_MAX = 16,
	CTRL_SHOWN_MAX = 64,     /* subsystems that a discovery log lists */
	CTRL_REFERRALS_MAX = 16,
	CTRL_ANA_MAX = 64,  /* ANA groups, and the largest id of one: ANAGRPMAX and NANAGRPID */
	CTRL_ANATT_S = 10,  /* how long a group may be in the change state: ANATT */
};

/* A namespace. */
struct ns_info {
	uint32_t nsid;       /* 1..CTRL_NS_MAX */
	uint32_t block_size; /* bytes: 512 or 4096 */
	uint64_t blocks;
	uint64_t cache_life; /* as of struct blk */
	uint8_t nguid[16], uuid[16]; /* not zero; as they lie on the wire; stable over restarts */
	bool volatile_cache, trim_zeroes;
	bool marks_bad;      /* takes Write Uncorrectable */
	bool shared;         /* more than one controller may have it */
	bool listed;         /* it is active at the controllers that the next four say, else at all */
	uint32_t host_count, other_count;
	const char (*hosts)[NVME_NQN_FIELD]; /* ascending; it is active at their controllers, */
	const uint64_t *others; /* but of these associations, ascending, the opposite is so */
	uint8_t protection;  /* enum nvme_protection */
	uint8_t rescap;      /* enum nvme_rescap; 0: takes no reservations */
	uint32_t ana_group;  /* an id; 0 where there are no groups */
};

/* Namespaces whose access changes together. */
struct ana_group {
	uint32_t id;         /* 1..CTRL_ANA_MAX */
	uint64_t changes;    /* of its states and its members, whoever has these attached, since it is there: 1.. */
	uint8_t state[CTRL_PORTALS_MAX]; /* enum nvme_ana_state, by the portal the host came through */
	uint64_t since_ns[CTRL_PORTALS_MAX]; /* of the change state: for whoever makes the snapshot */
	uint32_t expired;    /* the same: bit n: was in change for too long there, and is inaccessible for that */
};

/* Where hosts reach a target. */
enum portal_use { PORTAL_ANY, PORTAL_IO, PORTAL_DISCOVERY };

struct portal_info {
	char traddr[64]; /* numeric */
	char trsvcid[8];
	bool ipv6;
	enum portal_use use; /* for one thing only, or for both */
};

/* What a discovery log lists: bit n of `portals` says that portal n leads to it. */
struct subsys_shown {
	const struct subsys_info *subsys;
	uint32_t portals;
};

/* A subsystem, or the discovery one. */
struct subsys_info {
	char nqn[NVME_NQN_FIELD];
	char serial[21], model[41], firmware[9]; /* NUL-terminated; padded on the wire */
	bool discovery;
	const struct ns_info *ns; /* ascending nsid */
	uint32_t ns_count;
	const struct ana_group *ana; /* ascending id; none: ANA is not claimed, for the subsystem's life */
	uint32_t ana_count;
	uint64_t ana_changes;     /* of any of it */
	uint32_t io_queues_max;   /* a controller may have */
	uint32_t entries_max;     /* of an I/O queue: MQES + 1 */
	uint32_t incapsule_max;   /* bytes of in-capsule data on I/O queues */
	uint32_t fused_max;       /* bytes of a fused Compare and Write */
	uint32_t copy_max;        /* bytes of a Copy */
	uint32_t copy_ranges, copy_range_max; /* its ranges, and blocks of each */
	uint8_t mdts_shift;       /* > 0; largest transfer: 4096 << mdts_shift bytes */
	bool reservations;        /* are offered: then there are their log page and features */
	uint8_t nwpc;             /* enum nvme_nwpc: write protection that is offered; 0: none */
	bool ns_management;       /* hosts may create, delete, attach and detach namespaces, */
	uint64_t capacity_free;   /* still of so many bytes */
	uint16_t static_ids;      /* its controllers have these, 1 to so many, and hosts choose; 0: it is of the
	                           * dynamic model, and each is given its id */
	uint32_t order_slots;     /* of a part of the log of ordered writes; 0: these are not offered */
	bool event_log;           /* persistent events are kept: page 0Dh */
	/* of the discovery subsystem: */
	const struct portal_info *portals;
	uint32_t portal_count;
	const struct subsys_shown *shown;    /* what this host may see */
	uint32_t shown_count;
	const struct portal_info *referrals; /* other discovery subsystems */
	uint32_t referral_count;
	uint64_t genctr;          /* another one with every change of the log */
};

/* What is not the same in two snapshots of a subsystem: the same for all its controllers, so it is found out once. */
struct subsys_diff {
	const struct subsys_info *old, *new; /* `old` NULL: none were compared yet */
	uint32_t count;
	struct subsys_ns_diff {
		uint32_t nsid;
		const struct ns_info *was, *is; /* NULL: there is none */
	} ns[CTRL_NS_MAX]; /* ascending nsid */
};

/* Compares the two, unless they are what `diff` is of already. */
void subsys_compare(const struct subsys_info *old, const struct subsys_info *new, struct subsys_diff *diff);

/* The namespace, or NULL. */
const struct ns_info *subsys_ns(const struct subsys_info *subsys, uint32_t nsid);

/* Whether hosts would take the one for the other, by another snapshot. */
static inline bool
subsys_same_ns(const struct ns_info *a, const struct ns_info *b)
{
	return memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 && memcmp(a->nguid, b->nguid, sizeof(a->nguid)) == 0;
}

/* Whether the namespace is active at a controller of the host, of that association. */
bool subsys_attached(const struct ns_info *ns, const char *hostnqn, uint64_t association);

/* Whether there is no controller, now or later, at which the namespace is active by the one and not by the other. */
bool subsys_same_lists(const struct ns_info *a, const struct ns_info *b);

/* Which of its LBA formats a namespace has.  Where hosts create namespaces, all have 512 and 4096 bytes to choose
 * from; else each has its own one. */
static inline uint8_t
subsys_format(const struct subsys_info *subsys, uint32_t block_size)
{
	return subsys->ns_management && block_size == 4096;
}

/* Whether any namespace has a volatile write cache. */
bool subsys_volatile_cache(const struct subsys_info *subsys);

/* Whether any namespace takes Write Uncorrectable. */
bool subsys_marks_bad(const struct subsys_info *subsys);

/* Holds a snapshot to what is said above; our own mistake where it is not so. */
void subsys_assert(const struct subsys_info *subsys);

#endif
