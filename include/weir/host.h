/*
 * weir/host.h - this host: who it is, and the thread that keeps its connections.
 *
 * A host has a service thread, which keeps connections alive, makes them
 * again, and hears events; it sleeps when there is nothing to do.  I/O is done
 * by the threads that open queues (weir/queue.h), or by whoever calls
 * (weir/volume.h).  A process has as many hosts as it likes; most have one.
 *
 * All functions may be called by any thread, but weir_host_destroy() not from
 * a callback, and while nobody else uses the host or what is open of it.
 */
#ifndef WEIR_HOST_H
#define WEIR_HOST_H

#include <weir/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_host;

/* Options of calls are structs whose first member is their size; zeros are the defaults:
 *     struct weir_host_options options = WEIR_OPTIONS(weir_host_options); */
#ifdef __cplusplus
#define WEIR_OPTIONS(type) ([] { struct type options = {}; options.size = sizeof(options); return options; }())
#else
#define WEIR_OPTIONS(type) { .size = sizeof(struct type) }
#endif

enum weir_log_level { WEIR_LOG_ERROR, WEIR_LOG_WARNING, WEIR_LOG_INFO };

struct weir_host_options {
	uint32_t size;
	uint32_t queues_max;   /* queues open at a time, of all subsystems: 1 to 127; 0: 32 */
	const char *hostnqn;   /* NULL: the line in /etc/nvme/hostnqn, else one made of the machine's identity */
	const char *hostid;    /* a UUID; NULL: /etc/nvme/hostid where hostnqn is NULL too, else one made of hostnqn */
	/* What people should read: lost paths, paths that are back.  From the service thread, or from one that is
	 * within a call; it must not block.  NULL: nobody wants to know. */
	void (*log)(void *arg, enum weir_log_level level, const char *text);
	void *log_arg;
	uint32_t spin_us;      /* how long a thread that waits looks by itself before it sleeps; 0: 150, or, where the
	                        * process may use one processor only, not at all; UINT32_MAX: not at all */
	const char *congestion; /* control of its connections, a name that the kernel knows, like cubic; NULL: the
	                        * system's.  Copied */
};

/* `options` NULL: defaults; texts in it are copied.  0, -EINVAL, -ENOMEM, -EMFILE, -EAGAIN (no thread). */
int weir_host_create(const struct weir_host_options *options, struct weir_host **host);

/* Ends all that is still open, in order; queues must have been closed by their threads.  NULL is ignored. */
void weir_host_destroy(struct weir_host *host);

/* What targets are told; valid while the host is. */
const char *weir_host_nqn(const struct weir_host *host);
void weir_host_id(const struct weir_host *host, uint8_t id[16]);

/* The version of the library, "0.1.0". */
const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
