/*
 * files.h - what serves the files of one reactor: the common part and its two engines.
 *
 * An engine performs one request and says what came of it.  What a request is
 * part of, whether another must follow, and how many may be under way, is
 * files.c's and the same for both.
 */
#ifndef WEIR_RT_FILES_H
#define WEIR_RT_FILES_H

#include "base/list.h"
#include "base/writeback.h"
#include "rt/internal.h"
#include "sys/disk.h"

enum { FILES_IN_FLIGHT = 1024 }; /* per reactor; of one device and of one file see share_left(); more wait in order */

struct kdisk;
struct kfiles;
struct uring;

/* What files lie on, which fails as a whole; as long as one of them is open. */
struct device {
	struct list node;
	uint64_t id;
	unsigned users;          /* files */
	unsigned busy;           /* with so many requests */
};

/*
 * Whether one more may be at a file, if so many are free and so many are at its device and at itself.  What a device
 * has is less than what it leaves, so the others' share outlives one that does not answer, and what a file has is less
 * than half of what its device may have still.
 */
static inline bool
share_left(unsigned spare, const struct device *device, unsigned of_file)
{
	return spare > device->busy && 2 * of_file < spare - device->busy;
}

/* What one reactor has of a file. */
struct kfile {
	struct file file;      /* first: a file is its kfile */
	struct kfiles *files;
	struct kdisk *disk;
	struct device *device; /* in files->devices: how busy this reactor has it */
	int fd;                /* the kdisk's, or one of its own */
	struct kfile *held;    /* an annex's, of which it is a share; or NULL */
	int *spare;            /* of an annex's: the descriptors that shares have not taken; under the lock of rt */
	unsigned spare_count;
	bool maps;             /* file.map is its own */
	enum writeback way;    /* how what is stored there is written back */
	struct list open_node; /* in files->open */
	struct fifo waiting;   /* file_ios that found no file_job free for this file */
	struct list node;      /* in files->waiting */
	unsigned in_flight;
	int kept;              /* what the engine calls it; 0: by its descriptor */
	unsigned cannot;       /* bits of enum disk_kind that this file has refused */
	uint64_t told_ns;      /* when it was last said that something of it has failed; 0: never */
	struct file_io sync;   /* files_sync.c: the one that is under way, if `syncs`, */
	bool syncs;
	struct fifo syncing;   /* those that it is for, */
	struct fifo to_sync;   /* and those that came since it began */
};

/* One file_io under way: one request, or to make zeros one at a time until all is done. */
struct file_job {
	struct fifo_node node;   /* the engine's, or in kfiles->free */
	struct core *core;       /* whose it is, for other threads */
	struct kfile *file;
	struct kdisk *disk;      /* of that file */
	struct file_io *io;
	uint64_t moved;          /* of PUNCH and ZERO: zeros that were written */
	unsigned attempt;        /* of PUNCH and ZERO: which way is tried */
	struct disk_req req;
	struct iovec zeros;      /* of PUNCH and ZERO by writing: the next ones */
	int64_t result;          /* of the request */
};

struct files_ops {
	const char *name;
	/* 0 or negative errno: then nothing is left to close. */
	int (*open)(struct kfiles *files) __attribute__((warn_unused_result));
	/* Nothing is in flight. */
	void (*close)(struct kfiles *files);
	/* Of a file that is opened: what disk_req.kept is to be; and that it is about to be closed. */
	int (*keep)(struct kfiles *files, int fd);
	void (*forget)(struct kfiles *files, int kept);
	/* Gathers one request, then hands all over; true: some is left to hand over later. */
	void (*push)(struct kfiles *files, struct file_job *job);
	bool (*submit)(struct kfiles *files);
	/* Is one done?  Takes it. */
	bool (*ready)(const struct kfiles *files);
	struct file_job *(*take)(struct kfiles *files);
	/* Hands over and blocks until one is done; only at the end. */
	void (*wait)(struct kfiles *files);
};

extern const struct files_ops files_uring, files_threads;

struct kfiles {
	struct core *core;
	const struct files_ops *ops;
	struct task submit, collect;
	struct file_job *all;     /* FILES_IN_FLIGHT of them */
	struct fifo free;
	unsigned in_flight;
	struct list open;        /* files, until they are closed */
	struct list devices;     /* that those lie on */
	struct list waiting;     /* files with requests that found none free, or too few */

	struct uring *uring;
	struct source uring_source;
	struct pool *pool;
	struct fifo gathered;    /* for the threads */
};

/* disks.c: a file of the process, opened and locked once, used by its reactors together. */
struct kdisk {
	struct list node;        /* in rt->disks */
	unsigned users;
	pthread_mutex_t lock;    /* held while it is locked, extended or shortened: as long as the disk takes */
	struct disk disk;        /* what does not change is anybody's, the rest under the lock */
	bool ours;               /* other processes are kept out */
	bool lost;               /* a sync has failed; under the lock of rt */
	char *path;              /* by which it was opened first */
	struct device *device;   /* in rt->devices: how busy the threads have it; the pool's */
	struct fifo jobs;        /* of file_jobs that wait for a thread; this and the rest is the pool's */
	struct list ready;       /* in pool->ready, while there are any */
	unsigned running;        /* threads that do one */
};

/* files.c: what serves the files of a reactor is there; 0 or a negative errno. */
int files_need(struct core *core) __attribute__((warn_unused_result));

/* has it begun, now or when it is its turn. */
void files_begin(struct kfile *file, struct file_io *io);

/* files_sync.c: the io, which is a sync or a write that was done, is done when a sync that began since has ended. */
void sync_join(struct kfile *file, struct file_io *io);
/* file->sync begins; it has ended. */
void sync_began(struct kfile *file);
void sync_ended(struct kfile *file);
/* A durable write that is one request has ended. */
void sync_unneeded(struct kfile *file, const struct file_io *io);

/*
 * `now`: as it is then, and what this call found in `was`.  `now->fd` is for this user: the kernel tells each
 * descriptor once of what it failed to write, so those who use the page cache have one each.
 */
int kdisk_open(struct rt *rt, const char *path, uint64_t size, uint32_t block, struct kdisk **kdisk, struct disk *now)
    __attribute__((warn_unused_result));
/* `now` as above, but for its descriptor. */
int kdisk_extend(struct rt *rt, struct kdisk *kdisk, uint64_t size, struct disk *now)
    __attribute__((warn_unused_result));
int kdisk_undo(struct rt *rt, const char *path, int64_t was, const uint64_t id[2])
    __attribute__((warn_unused_result));
void kdisk_close(struct rt *rt, struct kdisk *kdisk, int fd);

/* The device of that number; NULL: no memory. */
struct device *device_take(struct arena *arena, struct list *devices, uint64_t id);
void device_give(struct arena *arena, struct device *device);

/* What was written may be lost, of which the operator is told once; `error` is the errno that says why.  Any thread. */
void kdisk_lose(struct rt *rt, struct kdisk *kdisk, int error);
bool kdisk_is_lost(struct rt *rt, const struct kdisk *kdisk);

#endif
