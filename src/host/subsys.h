/*
 * subsys.h - one subsystem as a host knows it: its paths, the namespaces that are used, who may do I/O how.
 *
 * Lives on reactor 0 of a host's process.  Makes its paths, makes them again
 * when they are lost, settles what was in flight on them (ghost.c), follows
 * ANA states, and tells all lanes by mail: what they go by is a view, which
 * nobody changes; a change is another view.
 *
 * All functions are called on reactor 0; callbacks come from its turns, never
 * from inside a call.
 */
#ifndef WEIR_HOST_SUBSYS_H
#define WEIR_HOST_SUBSYS_H

#include "host/ctrlr.h"

enum { SUBSYS_PATHS_MAX = 8, SUBSYS_NAMESPACES_MAX = 64, SUBSYS_LANES_MAX = 127 };

struct subsys;

enum subsys_policy { SUBSYS_ROUND_ROBIN, SUBSYS_QUEUE_DEPTH };

struct subsys_address {
	char host[64];             /* numeric */
	uint16_t port;
};

enum subsys_event_kind {
	SUBSYS_PATH_UP, SUBSYS_PATH_LOST, SUBSYS_ALL_LOST, SUBSYS_GIVEN_UP, SUBSYS_ANA, SUBSYS_NAMESPACE, SUBSYS_HEALTH,
	SUBSYS_PATH_REFUSED, SUBSYS_CACHE_LOST,
};

struct subsys_event {
	enum subsys_event_kind kind;
	unsigned path;
	uint32_t nsid, dw0;
	const char *why;
};

struct subsys_options {
	char subnqn[NVME_NQN_FIELD], hostnqn[NVME_NQN_FIELD];
	uint8_t hostid[16];
	enum subsys_policy policy;
	bool hdgst, ddgst, sq_flow, plain;
	uint16_t queues;           /* I/O queues to ask each controller for, 1 to SUBSYS_LANES_MAX */
	uint16_t cntlid;           /* as of struct ctrlr_options */
	/* as of struct weir_subsys_options, but that 0 is 0 */
	uint32_t kato_ms, connect_ms, io_timeout_ms, reconnect_ms, reconnect_max_ms, loss_ms, fence_margin_ms;
	/* Once: error 0 as soon as one path is live, and the others are, or were tried once, or have had half a second
	 * more; else why none is: only subsys_close() may follow. */
	void (*ready)(struct subsys *subsys, int error, const char *why);
	void (*event)(struct subsys *subsys, const struct subsys_event *event); /* NULL: nobody listens */
	void *owner;
};

/* 0, or -ENOMEM.  1 to SUBSYS_PATHS_MAX addresses. */
int subsys_open(struct reactor *reactor, const struct subsys_options *options, const struct subsys_address *addresses,
    unsigned count, struct subsys **subsys) __attribute__((warn_unused_result));

/* 0, -ENOSPC, or -EEXIST: there is a path by this address.  One that was refused is tried again. */
int subsys_add_path(struct subsys *subsys, const struct subsys_address *address) __attribute__((warn_unused_result));

/* All lanes have been closed.  Shuts the controllers down in order, then calls closed(): it is gone. */
void subsys_close(struct subsys *subsys, void (*closed)(void *owner));

void *subsys_owner(const struct subsys *subsys);
const struct subsys_options *subsys_options(const struct subsys *subsys);

/* ---- paths ---- */

enum path_state {
	PATH_CONNECTING, /* a controller is being opened, then asked about namespaces */
	PATH_LIVE,       /* lanes go by it */
	PATH_WAITING,    /* until it is tried for the first time, or again */
	PATH_REFUSED,    /* for good, the target says: it is not tried again */
	PATH_CLOSED,     /* the subsystem is being closed, and this path is */
};

struct subsys_path {
	enum path_state state;
	struct subsys_address address;
	uint16_t cntlid, queues;   /* of the last association */
	bool fences;
	uint32_t associations, losses;
	char why[160];             /* why the last one was lost or not made; "": nothing was ever wrong */
};

unsigned subsys_path_count(const struct subsys *subsys);
void subsys_path_get(const struct subsys *subsys, unsigned index, struct subsys_path *path);

/* The controller of a live path, to give admin commands to; NULL: the path is not live.  index < 0: of the first
 * that is. */
struct ctrlr *subsys_ctrlr(struct subsys *subsys, int index);

/* ---- namespaces ---- */

/* What of a namespace was found; the same on all paths. */
struct subsys_ns {
	uint32_t nsid;
	uint64_t blocks;
	uint32_t block_size;
	uint32_t transfer_max;     /* bytes of one command, that each live path takes; when it was found */
	uint32_t compare_write_blocks; /* 0: no Compare and Write */
	bool volatile_cache;
	struct nvme_identify_ns identify; /* as the first path that knows it said */
	uint8_t descriptors[NVME_IDENTIFY_LEN]; /* CNS 03h; zeros: the target has none */
};

/*
 * Asks for a namespace on all live paths, and on all others as they become
 * live, and keeps it known to all lanes.  found(): `ns` is valid until the next
 * turn; NULL: error says why not (-ENODEV, -ENOSPC, -EPROTO: a format that this
 * host does not know, -ENOTCONN: no path).  One that is known is found at once.
 */
struct subsys_find {
	uint32_t nsid;
	void (*found)(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why);
	void *owner;
	int error;                     /* the subsystem's, as the list, until found() */
	struct list node;
};
void subsys_find(struct subsys *subsys, struct subsys_find *find);

/* The mail of a host's reactors, both of lanes and of subsystems: reactor->on_mail. */
void host_on_mail(struct reactor *reactor, const struct mail *mail);

#endif
