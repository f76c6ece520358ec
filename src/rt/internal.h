/*
 * internal.h - what the files of rt share: the process and its cores.
 *
 * A core is one reactor with what the kernel gave it.  Everything in it is its
 * own thread's, but `waker` and the rings between cores; what the process
 * shares (streams, open disks) lies in the arena of `struct rt` under its lock
 * and is touched only when something is opened or closed.  Nothing is done under
 * that lock that takes as long as a disk likes.
 */
#ifndef WEIR_RT_INTERNAL_H
#define WEIR_RT_INTERNAL_H

#include <pthread.h>
#include <unistd.h>

#include "base/ring.h"
#include "rt/rt.h"
#include "rt/wake.h"
#include "sys/engine.h"

struct errands;
struct inbox;
struct kfiles;
struct pool;

enum {
	HOT_MAX = 4,             /* streams that are polled directly, without asking the engine */
	LOOK_TURNS = 32,         /* how often the engine is asked nevertheless */
	LOOK_NS = 20 * 1000,
	LOOK_SELDOM_NS = 1000 * 1000, /* the same, where the engine could tell of nothing else */
	MAIL_SLOTS = 2048,       /* per ring */
	MAIL_SPARE = 1024,       /* letters of a reactor, for when there is no memory */
};

struct core {
	struct reactor reactor;  /* first: a reactor is its core */
	struct rt *rt;
	struct arena arena;
	struct engine *engine;
	struct sockring *sockring; /* NULL: there is none */
	struct waker waker;
	struct source waker_source;
	struct flag stop;
	struct flag called;      /* something is in its inbox */
	pthread_t thread;

	struct list hot;         /* streams that moved bytes lately, the latest at the end */
	unsigned hot_count;
	unsigned watched;        /* streams, hot or not, and what else is there that only the engine tells of */
	struct list lingering;   /* streams that were closed, the first at the front, by hot_node */
	unsigned linger_count;
	struct list accepting;   /* listeners that may have connections */
	struct kaccept *accept_now; /* the one whose accepted() runs; NULL once it is gone */
	struct source signals;
	int signal_fd;           /* of core 0; else -1 */
	bool signal_due;

	struct outbox *outbox;   /* one per reactor of the process */
	struct letters *letters; /* for mail where there is no memory for it */
	bool posted;             /* mail, in this turn */
	bool outbox_busy;        /* some waits for room in a ring */
	struct kfiles *files;    /* NULL before the first file is opened */
	struct errands *errands; /* NULL before the first */
	bool runs;               /* written while it has no turn */
	bool annex;              /* it never runs, and of all this has its reactor, rt and arena */

	struct source due;       /* of one that is taken: its timerfd (else -1), */
	int timer_fd;
	uint32_t pace_ns;        /* between two looks of one that is waited for */
	uint64_t armed_ns;       /* and for when that is set; UINT64_MAX: it is not */
	bool roused;             /* its own waker was called, and the engine has yet to say so */

	uint64_t moved;          /* counts whatever was of use: bytes, mail, connections */
	uint64_t turn_ns;        /* when the last turn began */
	uint64_t useful_ns;      /* when one last did something */
	uint64_t look_ns;
	unsigned look_turns;
	bool looked;             /* the sleep that has just ended was a look */
	bool was_busy;
};

struct rt {
	struct core **cores;     /* NULL: it is not taken, in a process that is attended */
	unsigned count;          /* of these */
	unsigned threads;        /* so many, from the first on, have a thread of ours: all, or one of those attended */
	unsigned ringed;         /* so many have rings between them: all, or none of those attended */
	struct ring *rings;      /* from * ringed + to */
	struct inbox *inboxes;   /* one for each of those attended, or NULL */
	uint64_t taken[RT_REACTORS_MAX / 64]; /* a bit for each of these that somebody has; under the lock */
	struct rt_options options;
	const struct engine_ops *engine;
	uint64_t spin_ns;
	struct arena arena;      /* of what is below and the streams; under the lock */
	pthread_mutex_t lock;
	struct list socks;       /* every stream, wherever it is attached */
	struct list disks;       /* open files, each opened and locked once */
	struct list devices;     /* that those lie on */
	uint64_t inherited;      /* a bit for each socket that we were handed, until a listener takes it */
	struct pool *pool;       /* the threads of files; NULL until needed */
};

static inline struct core *core_of(struct reactor *reactor) { return (struct core *)reactor; }

extern const struct world_ops rt_world;

/* rt.c */
/* rt->cores[index]: 0 or negative errno, and then what there is of it is left to be closed. */
int core_make(struct rt *rt, unsigned index) __attribute__((warn_unused_result));
void core_close(struct core *core);
/* Its thread begins, and is to end; the latter from any thread, and from a signal handler. */
int core_start(struct core *core) __attribute__((warn_unused_result));
void core_stop(struct core *core);
/* 0 or negative errno.  Where the process is attended all signals are for others. */
int thread_make(const struct rt *rt, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
    __attribute__((warn_unused_result));
void rt_say(const struct rt *rt, int level, const char *text);

/* loop.c */
void core_run(struct core *core);
/* True if it was of use. */
bool core_turn(struct core *core);
/* Another turn would do something: left by this one, or by others. */
bool core_is_due(const struct core *core);
bool core_is_called(const struct core *core);
/* The same, after asking the engine if the last turn has not. */
bool core_look(struct core *core);
/* Until something comes, at most until `end_ns`; false: a signal was handled instead. */
bool core_sleep(struct core *core, uint64_t end_ns);

/* streams.c */
int streams_adopt(struct core *core, int fd, bool connected, struct stream **stream)
    __attribute__((warn_unused_result)); /* takes fd in any case */
int world_connect(struct reactor *reactor, const char *host, uint16_t port, struct stream **stream)
    __attribute__((warn_unused_result));
void world_move(struct reactor *reactor, bool out, struct stream_move *moves, unsigned count);
/* Tells the owners of hot streams to look, if there are few; false: the engine must be asked. */
bool streams_poll(struct core *core);
/* No stream is hot: the engine reports all that follows. */
void streams_cool(struct core *core);
/* None waits for its peer any more. */
void streams_end_lingering(struct core *core);
void streams_close_all(struct rt *rt);

/* accept.c */
int world_listen(struct reactor *reactor, struct listener *listener) __attribute__((warn_unused_result));
void world_unlisten(struct reactor *reactor, struct listener *listener);
void accept_ready(struct core *core);

/* mail.c */
int mail_open(struct rt *rt) __attribute__((warn_unused_result));
/* There is no going on. */
void mail_lost(struct core *core) __attribute__((noreturn));
void world_post(struct reactor *reactor, unsigned to, const struct mail *mail);
void mail_deliver(struct core *core);
/* Puts into the rings what did not fit, and wakes those that were posted to. */
void mail_flush(struct core *core);
bool mail_waiting(const struct core *core);

/* inbox.c: mail, and calls, of a process that is attended */
int inboxes_open(struct rt *rt) __attribute__((warn_unused_result));
void inboxes_close(struct rt *rt);
/* From now on mail and calls for that core are kept. */
int inbox_open(struct core *core) __attribute__((warn_unused_result));
/* Runs the calls that are left, and drops mail; from now on nobody leaves it anything, or wakes it for that. */
void inbox_close(struct core *core);
void inbox_post(struct core *from, unsigned to, const struct mail *mail);
/* Hands over mail, then calls. */
void inbox_empty(struct core *core);

struct reactor *world_annex_open(struct reactor *reactor);
void world_annex_close(struct reactor *annex);

/* files.c, files_open.c */
/* Of RT_FILES_URING: does the kernel let us? */
int files_check(struct rt *rt) __attribute__((warn_unused_result));
int world_file_open(struct reactor *reactor, const char *path, uint64_t size, uint32_t block,
    struct file **file)
    __attribute__((warn_unused_result));
int world_file_share(struct file *file, struct reactor *reactor, struct file **shared)
    __attribute__((warn_unused_result));
int world_file_make(struct reactor *reactor, const char *path, uint64_t size, int64_t *was)
    __attribute__((warn_unused_result));
int world_file_extend(struct file *file, uint64_t size) __attribute__((warn_unused_result));
int world_file_id(struct reactor *reactor, const char *path, uint64_t id[2]) __attribute__((warn_unused_result));
int world_file_undo(struct reactor *reactor, const char *path, int64_t was, const uint64_t id[2])
    __attribute__((warn_unused_result));
int64_t world_file_fetch(struct file *file, uint64_t offset, void *to, size_t bytes)
    __attribute__((warn_unused_result));
int64_t world_file_load(struct reactor *reactor, const char *path, struct arena *arena, uint64_t most, void **bytes)
    __attribute__((warn_unused_result));
uint64_t world_file_data(struct file *file, uint64_t offset);
int world_file_map(struct file *file, bool persistent) __attribute__((warn_unused_result));
void world_file_write_back(struct file *file, const struct iovec *iov, int iov_count);
void world_file_submit(struct file *file, struct file_io *io);
void world_file_close(struct file *file);
/* Completions wait to be collected. */
bool files_ready(const struct core *core);
void files_collect(struct core *core); /* asks for it to be done in this turn's PHASE_COLLECT */
/* Waits for what is in flight, without calling done(). */
void files_close(struct core *core);

/* errands.c */
void world_errand(struct reactor *reactor, struct errand *errand);
/* One was run. */
bool errands_ready(const struct core *core);
void errands_collect(struct core *core);
/* The reactors have ended: runs what is left. */
void errands_end(struct core *core);

/* disks.c */
void disks_close(struct rt *rt);

/* files_threads.c */
void pool_stop(struct pool *pool);

#endif
