/*
 * rt.h - a process over the kernel: reactors on threads, and the world they see.
 *
 * Between rt_create() and rt_run(), and again after rt_run() has returned, the
 * one caller may use all reactors and all operations of the world: nothing
 * moves meanwhile.  During rt_run() each reactor is its own thread's.  When it
 * returns all errands have been run; done() of the last may not have been called.
 *
 * An *attended* process lives in a program that is somebody else's: reactor 0
 * has a thread of ours from rt_start() to rt_end(), each of the others is
 * taken by a thread of the caller's, which attends to it by calling rt_turn().
 * It prints nothing, handles no signal, and has no files.  Its program may fork:
 * a child that has its sockets too keeps no connection from being reset or ended.
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

/* 150 us, and where the process may use one processor only, and has not said what is to run there, none at all. */
static const uint32_t RT_SPIN_AUTO = UINT32_MAX;

struct rt_options {
	unsigned reactors;              /* 1 to RT_REACTORS_MAX */
	const int *cpus;                /* reactor i is pinned to cpus[i % cpu_count] */
	unsigned cpu_count;             /* 0: the kernel places them */
	struct reactor_options reactor;
	enum rt_files files;
	enum rt_moves moves;
	uint32_t spin_us;               /* how long to look for work before sleeping, or RT_SPIN_AUTO */
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
	/* In place of lines on standard error, from any thread of the process; NULL: those, or nothing where it is
	 * attended.  `level` as in world_ops. */
	void (*log)(void *owner, int level, const char *text);
	/* Of `reactors`, which is a maximum then, number 0 is for rt_start() and the others for rt_take(): one that is
	 * not taken has nothing.  on_signal is NULL. */
	bool attended;
};

/* One reactor, not pinned, spinning as the machine allows. */
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

/* Runs all reactors, number 0 on the calling thread, until rt_stop().  May be run again.  Not of one that is attended.
 * -EAGAIN: a thread could not be made; -EINVAL: a reactor could not be pinned. */
int rt_run(struct rt *rt) __attribute__((warn_unused_result));

/* From any thread, and from a signal handler. */
void rt_stop(struct rt *rt);

/* Closes what is still open.  A half-built one and NULL are accepted. */
void rt_destroy(struct rt *rt);

/* ---- of one that is attended ---- */

/* Runs reactor 0 on a thread of its own, which has all signals blocked, until rt_end(); before that the caller may use
 * reactor 0.  -EAGAIN: there is no thread; -EINVAL: it could not be pinned.  Before anybody else uses the process. */
int rt_start(struct rt *rt) __attribute__((warn_unused_result));

/*
 * Stops reactor 0 and waits for it, once.  Then what was left to it, errands without done() and calls, is run on the
 * calling thread, which may use reactor 0 again.  Mail to it is dropped from then on.
 */
void rt_end(struct rt *rt);

/*
 * A reactor for the calling thread, from any thread; it takes no mail unless its on_mail is set before anybody is told
 * of it.  It is used by one thread at a time: who hands it to another has its own means to do so.  0, -EAGAIN: all are
 * taken, or negative errno: -ENOMEM, -EMFILE, -ENOSPC (fs.epoll.max_user_watches).
 */
int rt_take(struct rt *rt, struct reactor **reactor) __attribute__((warn_unused_result));

/*
 * Gives it back, outside of its turn; all its streams, listeners and timers are gone, and nobody calls it any more.
 * Errands and calls that are left to it are run, without done(); mail that was posted to it is dropped, what it has
 * posted arrives.  Streams that it had closed do not wait for their peers any more.
 */
void rt_give(struct reactor *reactor);

/*
 * One turn; true: it was of use.  If not, and `timeout_ns` is not 0, there are more until one was, the time is over
 * (negative: never is), or a signal was handled: for `spin_us` one after another, then after sleeping in the kernel.
 * Never sleeps with 0, and was of no use then only if there was nothing to do.
 *
 * `now_ns` of the reactor is that of the last turn: what is begun between two is best begun by a task in the next.
 */
bool rt_turn(struct reactor *reactor, int64_t timeout_ns);

/* While rt_turn() waits, it looks no sooner than so long after a look that found nothing; 0, as at first: at once.
 * Who has much under way gains by it: what comes meanwhile is taken together, by one system call. */
void rt_pace(struct reactor *reactor, uint32_t ns);

/*
 * A descriptor that stays the reactor's.  When rt_turn() has returned, poll() finds it readable as soon as there is
 * something to do: bytes, room or an end on a stream, mail, a call, a timer that is due, what the turn has left.  It
 * may be so without cause; it is not so again once rt_turn() has answered false.  Nothing is to be read from it.
 * Streams that are used, tasks that are asked for and timers that are set outside of a turn need one: rt_turn().
 */
int rt_fd(struct reactor *reactor);

/* Run once by a reactor, outside of all else in its turn; from then on it is its owner's. */
struct rt_call {
	struct fifo_node node; /* ours until it is run */
	void (*run)(struct rt_call *call, struct reactor *reactor);
	void *owner;
};

/*
 * Has it run in a turn of reactor `index`, which is woken, in the order in which calls came; from any thread.  Number 0
 * may be called from rt_create() on until rt_end() is called, another one while it is taken.
 */
void rt_call(struct rt *rt, unsigned index, struct rt_call *call);

#endif
