/*
 * rt.h - a process over the kernel: reactors on threads, and the world they see.
 *
 * Between rt_create() and rt_run(), and again after rt_run() has returned, the
 * one caller may use all reactors and all operations of the world: nothing
 * moves meanwhile.  During rt_run() each reactor is its own thread's.  When it
 * returns all errands have been run; done() of the last may not have been called.
 *
 * A turn: look at the sockets, deliver mail, accept, then reactor_turn().  A
 * reactor that found nothing to do for `spin_us` sleeps in the kernel until a
 * socket, a file, a mail, a signal or a timer wakes it.
 */
#ifndef WEIR_RT_RT_H
#define WEIR_RT_RT_H

#include <stdint.h>

#include "sys/sock.h"
#include "world/reactor.h"

struct rt;

enum rt_files {
	RT_FILES_AUTO,    /* io_uring, and threads where it is forbidden */
	RT_FILES_URING,
	RT_FILES_THREADS,
};

/* How several sockets are read or written at a time. */
enum rt_moves {
	RT_MOVES_AUTO,  /* as with URING, and as with CALLS where io_uring is forbidden */
	RT_MOVES_URING, /* by one system call for all, through io_uring */
	RT_MOVES_CALLS, /* by a system call for each */
};

enum {
	RT_REACTORS_MAX = 128,
	RT_INHERITED_MAX = 64,
	RT_LINGER_MAX = 128, /* sockets of each reactor that were closed and wait for their peer to close too */
};

/* Mail from one reactor to another that has yet to be taken.  What runs on reactors has a bound for what it posts,
 * below this: mail cannot be lost, and there is no going on where it cannot be kept. */
enum { RT_MAIL_MAX = 1 << 30 };

struct rt_options {
	unsigned reactors;              /* 1 to RT_REACTORS_MAX */
	const int *cpus;                /* reactor i is pinned to cpus[i % cpu_count] */
	unsigned cpu_count;             /* 0: the kernel places them */
	struct reactor_options reactor;
	enum rt_files files;
	enum rt_moves moves;
	uint32_t spin_us;               /* how long to look for work before sleeping */
	struct sock_options sockets;
	/* Listening sockets that we were handed: to listen where one of them does is to take it, once.  They
	 * are the process's from rt_create() on. */
	int inherited_first;
	unsigned inherited_count;       /* RT_INHERITED_MAX at most */
	/* Called on reactor 0 for SIGTERM, SIGINT, SIGHUP and SIGUSR1, which this thread has blocked from then on:
	 * what comes after rt_run() does nothing.  NULL: they do what they do by themselves. */
	void (*on_signal)(struct reactor *reactor, int signal);
	void *owner;                    /* of the process: rt_owner() */
	/* Where rt_create() fails: what there is none of, in words; NULL: nobody asks. */
	const char **missing;
};

/* One reactor, not pinned, 150 us of spinning. */
struct rt_options rt_options_default(void);

/* 0 or negative errno: -ENOMEM, -EMFILE, or of RT_FILES_URING and RT_MOVES_URING what
 * io_uring said. */
int rt_create(struct rt **rt, const struct rt_options *options) __attribute__((warn_unused_result));

struct reactor *rt_reactor(struct rt *rt, unsigned index);
struct rt *rt_of(struct reactor *reactor);
void *rt_owner(const struct rt *rt);

/* "io_uring", "threads", or "none" while no file is open: how this reactor serves files. */
const char *rt_files_engine(struct reactor *reactor);

/* For sums: bytes of a stream, of the mail from one reactor to so many, of a reactor that serves files, of an
 * annex. */
size_t rt_stream_bytes(void);
size_t rt_mail_bytes(unsigned reactors);
size_t rt_files_bytes(void);
size_t rt_annex_bytes(void);

/* Runs all reactors, number 0 on the calling thread, until rt_stop().  May be run again.
 * -EAGAIN: a thread could not be made; -EINVAL: a reactor could not be pinned. */
int rt_run(struct rt *rt) __attribute__((warn_unused_result));

/* From any thread, and from a signal handler. */
void rt_stop(struct rt *rt);

/* Closes what is still open.  A half-built one and NULL are accepted. */
void rt_destroy(struct rt *rt);

#endif
