/*
 * weir/subsys.h - a subsystem of a target, reached by one or more paths, and its namespaces.
 *
 * A path is an address of the subsystem and the controller that is reached by
 * it.  Paths are lost and made again without anybody having to care: I/O goes
 * on by others, or waits.  What that promises is in doc/failover.md.
 *
 * All functions may be called by any thread; those that say so block.
 */
#ifndef WEIR_SUBSYS_H
#define WEIR_SUBSYS_H

#include <weir/host.h>
#include <weir/identify.h>
#include <weir/uri.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_subsys;

enum weir_policy {
	WEIR_ROUND_ROBIN, /* of the paths that are equally good each in turn */
	WEIR_QUEUE_DEPTH, /* the one with the fewest I/Os in flight */
};

enum weir_event_kind {
	WEIR_EVENT_PATH_UP,      /* path: it can be used */
	WEIR_EVENT_PATH_LOST,    /* path: it is gone; it is being made again */
	WEIR_EVENT_ALL_LOST,     /* no path is left: I/O waits */
	WEIR_EVENT_GIVEN_UP,     /* ... for longer than loss_ms, or none is tried again: I/O fails until one is back */
	WEIR_EVENT_ANA,          /* path: its ANA states have changed */
	WEIR_EVENT_NAMESPACE,    /* nsid: its size or identity has changed, or it is there or gone */
	WEIR_EVENT_HEALTH,       /* path: the target has something to say in its SMART or error log; dw0 of the event */
	WEIR_EVENT_PATH_REFUSED, /* path: the target has refused us for good; it is not tried again */
	WEIR_EVENT_CACHE_LOST,   /* nsid: a Flush has failed: what was written and not flushed may be gone */
};

struct weir_event {
	enum weir_event_kind kind;
	unsigned path;
	uint32_t nsid, dw0;
	const char *why;         /* plain words; valid during the call */
};

struct weir_subsys_options {
	uint32_t size;
	enum weir_policy policy;
	bool hdgst, ddgst;          /* header and data digests */
	bool sq_flow;               /* SQ flow control: each read has a completion */
	bool plain;                 /* nothing of Weir's extension is asked for, as if the target had none */
	uint16_t queues;            /* I/O queues to ask each controller for: that many can be open; 0: 16 */
	uint16_t cntlid;            /* 0: a dynamic controller; else that static one, 0xfffe: any */
	uint32_t kato_ms;           /* keep alive; 0: 5000 */
	uint32_t connect_ms;        /* until its controller is ready, and as long again until all that is asked of that
	                             * is answered; 0: 10000 */
	uint32_t io_timeout_ms;     /* an I/O without an answer is aborted, and then its path given up; of an admin
	                             * command the path is, at once; 0: 30000 */
	uint32_t reconnect_ms;      /* the first wait before a lost path is tried again, doubled each time; 0: 50 */
	uint32_t reconnect_max_ms;  /* 0: 5000 */
	uint32_t loss_ms;           /* how long I/O waits when there is no path; 0: 60000; UINT32_MAX: for ever */
	uint32_t fence_margin_ms;   /* added to the keep-alive time with targets that know no FENCE; 0: 1000 */
	/* From the service thread; it must not block nor call anything of this header but weir_subsys_paths(). */
	void (*event)(void *arg, const struct weir_event *event);
	void *event_arg;
};

/*
 * Connects to the subsystem of a URI by all its addresses; its `ns` is looked
 * up too, where it has one.  Blocks until one path is ready and the others are,
 * or have been tried once, or have had half a second more.  0, -EINVAL, -ENODEV (there
 * is no such namespace), -ECONNREFUSED (the target refused us), -ETIMEDOUT,
 * -EHOSTUNREACH ...: weir_error() says where and why.
 */
int weir_subsys_connect(struct weir_host *host, const char *uri, const struct weir_subsys_options *options,
    struct weir_subsys **subsys);

/* One more path, or one that was refused and is to be tried again; it is ready when its event says so.  Blocks while
 * the name is looked up.  -ENOSPC: there are WEIR_PATHS_MAX; -EEXIST: there is one by this address; -EHOSTUNREACH:
 * there is no such name. */
int weir_subsys_add_path(struct weir_subsys *subsys, const char *host, uint16_t port);

/* Ends it in order; all queues have been closed, and nobody else uses it.  Blocks for five seconds at most; not from a
 * callback.  NULL is ignored. */
void weir_subsys_disconnect(struct weir_subsys *subsys);

/* Valid while the subsystem is connected. */
const char *weir_subsys_nqn(const struct weir_subsys *subsys);

/* ---- paths ---- */

enum weir_path_state {
	WEIR_PATH_CONNECTING,
	WEIR_PATH_LIVE,
	WEIR_PATH_WAITING,    /* it is lost, or was not there: until it is tried again */
	WEIR_PATH_REFUSED,    /* the target has refused us for good: it is not tried again */
};

struct weir_path_info {
	enum weir_path_state state;
	struct weir_address address;
	uint16_t cntlid;          /* of the last association */
	uint16_t queues;          /* I/O queues that the controller has granted */
	bool fences;              /* the target knows FENCE */
	uint32_t associations;    /* so many were made */
	uint32_t losses;
	char why[160];            /* why the last one was lost, or could not be made; "": nothing was ever wrong */
};

/* Fills at most `max` and answers how many there are. */
unsigned weir_subsys_paths(const struct weir_subsys *subsys, struct weir_path_info *paths, unsigned max);

/* ---- namespaces ---- */

/* Active namespaces from `first` on, in order: at most `max` of them.  How many, or a negative errno.  Blocks. */
int weir_subsys_namespaces(struct weir_subsys *subsys, uint32_t first, uint32_t *nsids, unsigned max);

/*
 * What is to be known of a namespace before I/O to it; the first call of one
 * asks the target on each path (-ENODEV: there is none) and keeps it known and
 * its ANA state followed; it blocks.  At most 64 are known at a time (-ENOSPC).
 */
int weir_subsys_namespace(struct weir_subsys *subsys, uint32_t nsid, struct weir_namespace *ns);

/* ---- admin commands ---- */

struct weir_admin {
	uint8_t opcode;
	uint8_t write;           /* data goes to the target; else, with bytes > 0, from it */
	uint32_t nsid;
	uint32_t cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
	void *data;
	uint32_t bytes;
	uint32_t timeout_ms;     /* 0: io_timeout_ms; UINT32_MAX: for ever, as Format may take */
};

/* On a live path (of `path` < 0: the first).  Blocks until it is done.  0, or the negative errno in *result (may be
 * NULL); -ENOTCONN: the path is not live; -ECONNRESET: it was lost meanwhile, -ETIMEDOUT: there was no answer for
 * timeout_ms, and it was given up: whether the command was executed is not known.  Fabrics commands, Keep Alive and
 * Asynchronous Event Request are the library's own. */
int weir_subsys_admin(struct weir_subsys *subsys, int path, const struct weir_admin *admin,
    struct weir_result *result);

/* Identify (CNS, and NSID or CNTID): 4096 bytes, raw; weir/identify.h decodes them.  This and weir_subsys_log() block,
 * with the errors of weir_subsys_admin(); of `path` < 0 one that is lost meanwhile is followed by another. */
int weir_subsys_identify(struct weir_subsys *subsys, int path, uint8_t cns, uint32_t nsid, uint16_t cntid,
    void *page);

/* Get Log Page, in as many commands as it takes: `bytes` from `offset` on, both multiples of 4; events stay pending
 * (RAE).  weir/log.h decodes them. */
int weir_subsys_log(struct weir_subsys *subsys, int path, uint8_t lid, uint8_t lsp, uint32_t nsid, uint64_t offset,
    void *page, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
