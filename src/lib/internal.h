/*
 * internal.h - what the files of lib share: a host, its subsystems, and calls to its service thread.
 *
 * A host is an attended process (rt/rt.h): reactor 0 runs on the service
 * thread, and all that is of `src/host` but lanes lives there.  Others reach it
 * by a *call*: something run there, for whose end they wait.
 */
#ifndef WEIR_LIB_INTERNAL_H
#define WEIR_LIB_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>

#include <weir/weir.h>

#include "base/list.h"
#include "host/lane.h"
#include "host/subsys.h"
#include "lib/error.h"
#include "rt/rt.h"

struct weir_host {
	struct rt *rt;
	pthread_t service;
	char nqn[NVME_NQN_FIELD];
	uint8_t id[16];
	uint32_t queues_max;
	char congestion[16];    /* TCP_CA_NAME_MAX; "": the system's */
	void (*log)(void *arg, enum weir_log_level level, const char *text);
	void *log_arg;
	pthread_mutex_t lock;   /* of the lists below, and of those of subsystems */
	struct list subsystems; /* of struct weir_subsys */
	struct list watches;    /* of struct weir_discovery_watch */
};

struct weir_subsys {
	struct list node;       /* in host->subsystems */
	struct weir_host *host;
	struct subsys *subsys;  /* the service thread's */
	char nqn[NVME_NQN_FIELD];
	uint32_t connect_ms;
	void (*event)(void *arg, const struct weir_event *event);
	void *event_arg;
	struct call *connecting; /* the service thread's, until the subsystem is ready */
	struct list queues;     /* of struct weir_queue, under host->lock */
	uint32_t changes;       /* of namespaces, so far; under host->lock */
};

/* ---- call.c ---- */

struct call {
	struct rt_call rt;
	struct weir_host *host;
	void (*run)(struct call *call); /* on the service thread: there, or later, call_end() is called, once */
	sem_t over;
	int error;
	char why[256];
};

/* Has it run and waits for its end: 0, or what that said, which lib_fail() knows.  Not from the service thread. */
int call_make(struct weir_host *host, struct call *call, void (*run)(struct call *call));

/* Says how it ended, to be told by call_over(). */
void call_says(struct call *call, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* It is over, and no longer ours. */
void call_over(struct call *call);

bool host_is_service(const struct weir_host *host);

/* ---- options.c ---- */

/* Copies a struct of options, whose first member is its size; what an older caller's has not is 0.  `theirs` NULL: all
 * is.  0, or -EINVAL: it is of a later library, and asks for what this one does not know. */
int options_take(void *ours, uint32_t bytes, const void *theirs, const char *what);

#define OPTIONS_TAKE(ours, theirs) options_take((ours), sizeof(*(ours)), (theirs), "options")

static inline uint32_t options_or(uint32_t value, uint32_t fallback) { return value != 0 ? value : fallback; }

/* ---- identity.c ---- */

/* Who this host is; `etc` is /etc.  Both NULL: see weir/host.h.  0, or -EINVAL. */
int identity_find(const char *etc, const char *hostnqn, const char *hostid, char nqn[NVME_NQN_FIELD], uint8_t id[16]);

/* The host identifier that goes with a name where none was said: its UUID where it has one, else made of it. */
void identity_of_nqn(const char *nqn, uint8_t id[16]);

/* Who asks by a URI: the host, or whom the URI names. */
void identity_of_uri(const struct weir_host *host, const struct weir_uri *uri, char nqn[NVME_NQN_FIELD],
    uint8_t id[16]);

/* ---- resolve.c ---- */

/* The numeric address of a host.  Of a name that stands for several, the first that takes a connection within `ms`. */
int resolve(const struct weir_address *address, uint32_t ms, struct subsys_address *numeric);

/* The same of all of a URI, each once; how many, or a negative errno.  What is left out of several is said in the
 * host's log. */
int resolve_all(struct weir_host *host, const struct weir_uri *uri, uint32_t ms,
    struct subsys_address numeric[WEIR_PATHS_MAX]);

/* "10.0.0.7:4420", "[::1]:4420". */
struct address_text {
	char text[80];
};
struct address_text address_text(const char *host, uint16_t port);

/* ---- host.c ---- */

void host_log(struct weir_host *host, enum weir_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline struct reactor *host_reactor(struct weir_host *host) { return rt_reactor(host->rt, 0); }

#endif
