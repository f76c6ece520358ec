/*
 * world.h - what an engine may ask of the world: streams, files, memory, mail.
 *
 * The rest of Weir sees time, sockets, disks and other threads only through
 * these operations.  `rt` implements them over the kernel, `sim` in virtual
 * time, and the code above cannot tell which.  Nothing here is called per I/O:
 * a stream moves a batch of PDUs at a time, a file is submitted to in batches.
 *
 * Every function belongs to one reactor and is called from its turn, but where something else is said.
 */
#ifndef WEIR_WORLD_WORLD_H
#define WEIR_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"

struct reactor;

/* ---- streams: ordered bytes to and from a peer ---- */

enum stream_events {
	STREAM_READABLE = 1,
	STREAM_WRITABLE = 2,
};

struct stream;

struct stream_ops {
	/* Bytes moved; 0 from readv: the peer has closed its side; -EAGAIN: nothing now;
	 * another negative errno: the stream is dead.  A short count means nothing more now. */
	ssize_t (*readv)(struct stream *stream, const struct iovec *iov, int count);
	ssize_t (*writev)(struct stream *stream, const struct iovec *iov, int count);

	/* Sets which of the events ready() is to be called for.  An event newly wanted is
	 * delivered soon if it may hold: at once where it did hold or nobody has looked,
	 * else when it does.  ready() may come without cause; a read then says -EAGAIN. */
	void (*wants)(struct stream *stream, unsigned events);

	/* Ends the stream and frees it; ready() is never called again.  Bytes written before
	 * still reach the peer, unless `abort`, which resets the connection. */
	void (*close)(struct stream *stream, bool abort);

	/* Leaves its reactor, to be given to another one by mail and attached there.
	 * Between the two nobody may use it. */
	void (*detach)(struct stream *stream);
	int (*attach)(struct stream *stream, struct reactor *reactor) __attribute__((warn_unused_result));

	/* "address:port" of the near or far end, for logs and the discovery log. */
	void (*name)(const struct stream *stream, bool peer, char *out, size_t bytes);
};

struct stream {
	const struct stream_ops *ops;
	struct reactor *reactor;
	void (*ready)(struct stream *stream, unsigned events); /* set by the owner */
	void *owner;

	struct list ready_node; /* in reactor->ready, while events are to be delivered */
	uint8_t wanted, pending;
};

/* One of several transfers that are made together: what readv() or writev() of `stream` is given, and answers. */
struct stream_move {
	struct stream *stream;
	const struct iovec *iov;
	int count;
	ssize_t result;
};

struct listener {
	void (*accepted)(struct listener *listener, struct stream *stream); /* takes the stream */
	void *owner;
	char host[108]; /* numeric, after listen() the address really bound; or the path of a local socket */
	uint16_t port;  /* after listen() never 0, but of a local socket */
	void *impl;     /* the world's */
};

/* ---- files: where persistent volumes lie ---- */

enum file_op {
	FILE_READ,
	FILE_WRITE,
	FILE_SYNC,  /* all completed writes durable.  Where that fails they may never be, though others are later: from
	             * then on every one of that file fails, on all reactors, until all have closed it */
	FILE_PUNCH, /* deallocate where that can be done; the range reads as zeros; the size stays */
	FILE_ZERO,  /* the range reads as zeros */
};

/* Of a PUNCH or ZERO: where zeros must be written so much is done at a time, and more than that ends with -E2BIG. */
enum { FILE_ZEROS_MAX = 2 * 1024 * 1024 };

struct file;

struct file_io {
	struct fifo_node node; /* the world's until done() */
	enum file_op op;
	bool durable;          /* of a WRITE: its own bytes, and no others, are on the medium before done() */
	uint64_t offset;       /* bytes */
	uint64_t bytes;        /* of PUNCH and ZERO */
	const struct iovec *iov;
	int iov_count;
	int64_t result;        /* bytes moved, fewer than asked for where the file ends or the world says no
	                        * more now, or negative errno; set before done() */
	void (*done)(struct file_io *io);
	void *owner;
};

struct file {
	struct reactor *reactor;
	uint64_t size;      /* bytes */
	int64_t was;        /* the size that file_open() or file_extend() found; -1: it made the file */
	uint64_t id[2];     /* which one it is, see file_id() */
	uint32_t align;     /* offsets, lengths and addresses must be multiples of it; 1: any */
	bool direct;        /* writes bypass the page cache */
	bool device;        /* a block device */
	void *map;          /* its bytes, see file_map(); or NULL */
	bool lost;          /* what was written before may never be durable: a sync or a durable write has failed, of
	                     * whomever, and not only for want of room for its own bytes; as it was when the last one
	                     * of this reactor ended */
};

/* ---- mail: a fixed-size message to another reactor of the process ---- */

struct mail {
	uint16_t kind; /* the owner of the process gives kinds and words their meaning */
	uint16_t from; /* set by post() */
	uint32_t arg;
	uint64_t words[5];
};
_Static_assert(sizeof(struct mail) == 48, "mail is of a fixed size");

/* ---- errands: what would block a reactor, like opening files and removing them ---- */

struct errand {
	struct fifo_node node;               /* the world's until done() */
	void (*run)(struct errand *errand);  /* on another thread: touches nothing that a reactor may meanwhile */
	void (*done)(struct errand *errand); /* on the reactor */
	void *owner;
	bool apart;    /* in no order with any other: it waits for none that hangs, but for those of its disk */
	uint64_t disk; /* by any number that its givers know it by: of those apart two are run at a time; 0: none is
	                * named, and its giver sees to it that there are few */
};

/* ---- the operations ---- */

struct world_ops {
	/* Listens on listener->host and port (0: any free one).  A local socket that nobody listens at
	 * any more is replaced; only its owner may connect. */
	int (*listen)(struct reactor *reactor, struct listener *listener) __attribute__((warn_unused_result));
	void (*unlisten)(struct reactor *reactor, struct listener *listener);

	/* Begins to connect.  The stream wants nothing yet; it becomes writable when connected,
	 * and a read or write says the error if that fails. */
	int (*connect)(struct reactor *reactor, const char *host, uint16_t port, struct stream **stream)
	    __attribute__((warn_unused_result));

	/* Does what readv() of each stream does, or writev() if `out`, in their order; each stream
	 * is there once.  Nothing is called back meanwhile.  Where the world can, it costs one
	 * system call. */
	void (*move)(struct reactor *reactor, bool out, struct stream_move *moves, unsigned count);

	/* Opens a file for direct I/O where that works in multiples of `block` bytes or less.
	 * size > 0: makes it, sparse, where it is not there, and extends it to this size where
	 * it is smaller. */
	int (*file_open)(struct reactor *reactor, const char *path, uint64_t size, uint32_t block,
	    struct file **file) __attribute__((warn_unused_result));
	/* The same file once more, for another reactor: asks the disk nothing, whatever the path leads to by now.
	 * `file` was opened with an annex, and is closed after those that share it. */
	int (*file_share)(struct file *file, struct reactor *reactor, struct file **shared)
	    __attribute__((warn_unused_result));
	/* Makes a file and extends it as file_open() does, size > 0, and leaves it closed; `was` as in struct file.
	 * This and file_undo() may be called by an errand: who opens the file then does not wait for the disk. */
	int (*file_make)(struct reactor *reactor, const char *path, uint64_t size, int64_t *was)
	    __attribute__((warn_unused_result));
	/* Makes it so large, where it is smaller: whatever its path leads to by now; `was` is what it found. */
	int (*file_extend)(struct file *file, uint64_t size) __attribute__((warn_unused_result));
	/* Which file a path leads to: two are the same where both numbers are.  -ENOENT: none. */
	int (*file_id)(struct reactor *reactor, const char *path, uint64_t id[2]) __attribute__((warn_unused_result));
	/* Takes back what file_open() did to a file where nothing was written since: makes it as short as it was, or
	 * removes it, as `was` says.  -ESTALE: the path leads to another one than `id`, and nothing is done. */
	int (*file_undo)(struct reactor *reactor, const char *path, int64_t was, const uint64_t id[2])
	    __attribute__((warn_unused_result));
	/* Reads at once, and blocks meanwhile: for what must be known before anything is served, before reactors run
	 * too.  What it reads is durable, though a process that was killed, or whose writes failed, may have left
	 * something else in a cache.  Buffer, offset and bytes are aligned.  Bytes read, or a negative errno. */
	int64_t (*file_fetch)(struct file *file, uint64_t offset, void *to, size_t bytes)
	    __attribute__((warn_unused_result));
	/* All of a file that is only to be known, not served, into memory of the arena's: it may be read-only, and is
	 * not locked.  Blocks as file_fetch() does.  Bytes; -EFBIG: there are more than `most`; or another negative
	 * errno. */
	int64_t (*file_load)(struct reactor *reactor, const char *path, struct arena *arena, uint64_t most,
	    void **bytes) __attribute__((warn_unused_result));
	/* The first byte from `offset` on that may be other than zero, or `offset`: all before it lie in holes.
	 * UINT64_MAX: there is none.  Blocks as file_fetch() does. */
	uint64_t (*file_data)(struct file *file, uint64_t offset);
	/*
	 * All of it is memory from then on, at file->map and at a page's border, and has all its blocks: what is stored
	 * there is in the file, for whoever reads it, and stays when the process is killed.  It is durable as what is
	 * written is, by FILE_SYNC, and until then a loss of power may leave any of it.  `persistent`: what was stored
	 * and then written back is durable, by file_write_back(); -EOPNOTSUPP: the file system, or the processor,
	 * cannot do that.  Another negative errno: it cannot be mapped, or there is no room for its blocks.
	 *
	 * Once, and then it is not extended; it lasts until it is closed.  Those that share it afterwards have the same
	 * memory.  What is touched may be fetched from a disk: the thread stands still meanwhile.
	 */
	int (*file_map)(struct file *file, bool persistent) __attribute__((warn_unused_result));
	/* These bytes of the file's map are durable when it returns, where that is persistent; else nothing is said.  A
	 * loss of power before may leave any of what was stored, but each 8 bytes that were stored as one whole. */
	void (*file_write_back)(struct file *file, const struct iovec *iov, int iov_count);
	/* Cannot fail: every outcome arrives by io->done(), never from inside. */
	void (*file_submit)(struct file *file, struct file_io *io);
	/* Nothing may be in flight. */
	void (*file_close)(struct file *file);

	/* Zeroed pages shared by all reactors of the process, for RAM volumes.  `apart`: each takes memory only when it
	 * is touched itself, for what is touched here and there; else many may at once, which is faster. */
	void *(*pages_map)(struct reactor *reactor, size_t bytes, bool apart);
	/* The same for what may grow and must not move: with address space for `room` bytes in all, of
	 * which those behind the first take nothing and may not be touched.  NULL: not to be had, maybe
	 * with less room. */
	void *(*pages_reserve)(struct reactor *reactor, size_t bytes, size_t room);
	/* Makes a part of that, in multiples of 4096, zeroed pages.  0, or -ENOMEM. */
	int (*pages_use)(struct reactor *reactor, void *pages, size_t bytes) __attribute__((warn_unused_result));
	/* Whole, as they were mapped or reserved. */
	void (*pages_unmap)(struct reactor *reactor, void *pages, size_t bytes);
	/* Gives whole pages back; they read as zeros.  Start and length are multiples of 4096. */
	void (*pages_discard)(struct reactor *reactor, void *pages, size_t bytes);

	/* Sends to reactor `to` of this process; to itself too.  Arrives once, in order per sender. */
	void (*post)(struct reactor *reactor, unsigned to, const struct mail *mail);

	/* Has it run, after those that the reactor gave before it and that are not apart, and is done some turn later.
	 * Where nothing runs yet or any more, and where there is no thread for it, it is run and done at once. */
	void (*errand)(struct reactor *reactor, struct errand *errand);

	/*
	 * A reactor that never runs, with an arena of its own: for what an errand makes and uses in place of its
	 * reactor, and others when it is done.  Of these operations it is given to those on files and pages, boot()
	 * and random(), by one thread at a time; nothing is submitted to a file that it opens, which others may share.
	 * This and its end may be called by an errand.  NULL: no memory.
	 */
	struct reactor *(*annex_open)(struct reactor *reactor);
	/* All its files are closed; its arena goes with it. */
	void (*annex_close)(struct reactor *annex);

	/* Which start of the machine this is: another number after each, and the same in all processes until then, as
	 * long as the kernel keeps what it has in memory.  Never 0. */
	uint64_t (*boot)(struct reactor *reactor);

	uint64_t (*random)(struct reactor *reactor);
	/* What time it is by now: later than now_ns where the turn has lasted, as a thread may stand still anywhere. */
	uint64_t (*time_ns)(struct reactor *reactor);
	uint64_t (*wall_ms)(struct reactor *reactor); /* since 1970-01-01, for timestamps */

	/* A line for the operator; `level`: 0 error, 1 warning, 2 information. */
	void (*log)(struct reactor *reactor, int level, const char *text);
};

#endif
