/*
 * ceiling.h - the parts of weir-ceiling: what this machine can do when nobody
 * does any NVMe work.
 *
 * A link is a socket with a receive buffer and the answer that is being built;
 * an engine moves bytes on links in turns.  Both ends run on the same engines,
 * so that socket options and batching are the same by construction.  Nothing
 * here knows the target's own code.
 */
#ifndef WEIR_BENCH_CEILING_H
#define WEIR_BENCH_CEILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "wire/fabrics.h"
#include "wire/pdu.h"

enum {
	BLOCK = 4096,
	TURN_BYTES = 256 * 1024, /* read until EAGAIN or this much */
	CAPSULE_MAX = 72 + 8192 + 2 * PDU_DIGEST_LEN,
	RBUF_BYTES = TURN_BYTES + CAPSULE_MAX,
	OUT_IOVS = 1024,         /* what one sendmsg() takes */
	OUT_BYTES = 64 * 1024,   /* headers, completions and small data of one answer */
	QUEUES_MAX = 128,        /* I/O queues of one controller */
	DEPTH_MAX = 256,
	LINKS_MAX = 2048,
	SLEEP_MS = 100,          /* at most: a signal that comes just before is seen this late */
};

enum engine_kind { ENGINE_POLL, ENGINE_EPOLL, ENGINE_URING };
enum rw { RW_READ, RW_WRITE };
enum copy { COPY_MEMCPY, COPY_NT };

struct options {
	const char *host;
	uint16_t port;
	const char *subnqn;
	const char *congestion;
	enum engine_kind engine;
	int cpu, other_cpu;   /* -1: wherever */
	uint64_t size;        /* server: bytes of the volume */
	uint32_t io_size;
	enum copy copy;
	uint64_t spin_ns;     /* without work for so long: sleep */
	bool hdgst, ddgst, flow_control;
	enum rw rw;
	bool sequential, pattern;
	uint32_t connections, depth, queue_size;
	uint64_t count;       /* this many I/Os instead of a time */
	uint64_t time_ns, warm_up_ns, seed;
};

/* What an end has done so far. */
struct counters {
	uint64_t reads, writes, turns, busy_turns, busy_tsc, syscalls, sends;
};

struct link;

struct link_ops {
	/* Bytes came to rbuf[0..rlen).  Negative: the peer broke the protocol, or wants to go. */
	int (*take)(struct link *link);
	/* Builds what there is to send with link_header() and link_data(); called when nothing waits. */
	int (*fill)(struct link *link);
	/* The peer has gone; the link is closed and freed after this. */
	void (*gone)(struct link *link);
};

/*
 * What can wait to be sent is in iov[iov_first..iov_count).  A link that
 * `holds` is not read from while something waits: a server's answers are bounded.
 */
struct link {
	const struct link_ops *ops;
	void *owner;
	struct engine *engine;
	int fd;
	bool io;        /* an I/O queue's, not an admin queue's */
	bool holds;
	bool hdgst, ddgst, flow_control;
	bool more;      /* fill() has more to send than fitted */
	bool sending;   /* something waits, or the kernel has it */
	bool again;     /* in engine->again */
	bool dead;
	uint16_t sq_head, sq_size;
	uint32_t rlen, iov_first, iov_count, out_len;
	size_t out_bytes; /* what of it still waits */
	uint32_t ops_out; /* io_uring: operations in the kernel */
	struct iovec iov[OUT_IOVS];
	struct msghdr msg;
	uint8_t out[OUT_BYTES];
	uint8_t rbuf[RBUF_BYTES];
};

struct engine {
	enum engine_kind kind;
	struct counters counters;
	uint64_t turn_tsc;     /* when the turn before ended */
	uint64_t spin_tsc, busy_at;
	struct link *hot;      /* the one I/O link, which ENGINE_POLL polls without asking epoll */
	unsigned io_links, empty_turns;
	int epoll;
	int listening;         /* -1: a client */
	void (*accepted)(struct engine *engine, int fd);
	struct link *again[LINKS_MAX];
	unsigned again_count;
	struct uring *uring;
	void *owner;
};

/* engine.c: `listening` may be -1.  Fails by ending the program, like everything here. */
void engine_init(struct engine *engine, const struct options *options, int listening,
    void (*accepted)(struct engine *, int));
struct link *link_create(struct engine *engine, int fd, const struct link_ops *ops, void *owner);
void link_set_io(struct link *link);
/* Builds and sends without waiting to be asked: the client's first move. */
void link_start(struct link *link);
/* One turn; sleeps in the kernel if there was no work for long.  True if it was of use. */
bool engine_turn(struct engine *engine);
/* Work for one link in a turn: what epoll and poll do after something came.  True if bytes moved. */
bool link_serve(struct link *link, bool readable);
void link_close(struct link *link);

/* engine_uring.c */
void uring_init(struct engine *engine);
void uring_add(struct link *link);
void uring_start(struct link *link);
bool uring_turn(struct engine *engine, bool sleep);

/* The answer that is being built.  Headers lie one after another and become one iovec where they touch. */
static inline bool
link_has_room(const struct link *link)
{
	return link->iov_count + 4 <= OUT_IOVS && link->out_len + CAPSULE_MAX <= OUT_BYTES;
}

static inline void
link_data(struct link *link, const void *data, size_t bytes)
{
	uint32_t count = link->iov_count;

	if (count > 0 && (uint8_t *)link->iov[count - 1].iov_base + link->iov[count - 1].iov_len == data)
		link->iov[count - 1].iov_len += bytes;
	else
		link->iov[link->iov_count++] = (struct iovec){ (void *)(uintptr_t)data, bytes };
	link->out_bytes += bytes;
}

static inline void
link_clear(struct link *link)
{
	link->iov_first = link->iov_count = link->out_len = 0;
	link->out_bytes = 0;
	link->more = false;
}

static inline void *
link_header(struct link *link, size_t bytes)
{
	uint8_t *at = link->out + link->out_len;

	link_data(link, at, bytes);
	link->out_len += (uint32_t)bytes;
	return at;
}

/* Drops the first `bytes` of what was received. */
static inline void
link_consume(struct link *link, uint32_t bytes)
{
	link->rlen -= bytes;
	if (link->rlen > 0 && bytes > 0)
		memmove(link->rbuf, link->rbuf + bytes, link->rlen);
}

/* bringup.c: a controller and its I/O queues, over blocking sockets. */
struct volume {
	uint64_t bytes;
	uint32_t lba_bytes;
};

/* Opens one controller with `count` I/O queues (at most QUEUES_MAX); returns the admin queue's socket. */
int controller_open(const struct options *options, unsigned count, int fds[], struct volume *volume);

/* client.c, server.c, probe.c: the modes. */
int client_run(const struct options *options);
int idle_run(const struct options *options);
int server_run(const struct options *options);
int probe_run(const struct options *options);
int awake_run(const struct options *options);

/*
 * admin.c: the server's answer to one PDU that is neither Read nor Write, of
 * `bytes` bytes (all of it).  Negative: not for a server.
 */
int admin_answer(struct link *link, const struct options *options, const uint8_t *pdu, uint32_t bytes);

/* ceiling.c */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void pin(int cpu);
void socket_prepare(int fd, const struct options *options);
/* SIGUSR1 (cleared by asking) and SIGTERM or SIGINT. */
bool report_wanted(void);
bool stop_wanted(void);
void report_begin(const char *role, const struct options *options, const struct counters *counters,
    uint64_t elapsed_ns, uint64_t cpu_ns);
uint64_t clock_ns(void);
uint64_t cpu_clock_ns(void); /* of this process */
double tsc_per_ns(void);

static inline uint64_t tsc(void) { return __builtin_ia32_rdtsc(); }

/* The word that --pattern expects at a place of the volume. */
static inline uint64_t
pattern_word(uint64_t offset)
{
	return (offset / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
