/*
 * disk.h - files and block devices as places of numbered bytes.
 *
 * Opens one for this process alone, finds out what direct I/O needs, and
 * performs one request in the calling thread.  Knows nothing of queues.
 */
#ifndef WEIR_SYS_DISK_H
#define WEIR_SYS_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct arena;

struct disk {
	int fd;
	uint64_t id[2]; /* see disk_id() */
	uint64_t size;
	int64_t was;    /* its size when it was opened or extended; -1: it was not there, and was made */
	uint32_t align; /* of offsets, lengths and addresses; 1: any */
	bool direct;
	bool device;    /* a block device */
	bool waits;     /* to read and write it cannot be begun without waiting for it */
	int claim;      /* another descriptor of a device that is locked, which keeps file systems off it; or -1 */
};

/* Which one a path leads to: two are the same where both numbers are, whatever their names.  0 or negative errno. */
int disk_id(const char *path, uint64_t id[2]) __attribute__((warn_unused_result));

/*
 * Opens a regular file or a block device, without a lock; direct where that works in
 * multiples of `block` bytes or less.  `size` > 0: made where it is not there, durably, for
 * its owner alone to read.
 * 0 or negative errno.
 */
int disk_open(const char *path, uint64_t size, uint32_t block, struct disk *disk)
    __attribute__((warn_unused_result));

/* All of a regular file, into memory of the arena's, for who may only read it: it is not locked.  Bytes; -EFBIG: there
 * are more than `most`; -ESTALE: it became shorter meanwhile; or another negative errno. */
int64_t disk_load(const char *path, struct arena *arena, uint64_t most, void **bytes)
    __attribute__((warn_unused_result));

/* Another descriptor of it, for its page cache: one that the kernel tells by itself of what it could not write.
 * -ESTALE: the path leads to another file by now; or another negative errno. */
int disk_again(const struct disk *disk, const char *path) __attribute__((warn_unused_result));

/* Keeps other processes out until it is closed; -EBUSY: another one does, and did for a second where it was to be
 * `patient`: the caller stands still as long; or it is a device that is mounted or a part of another one. */
int disk_lock(struct disk *disk, bool patient) __attribute__((warn_unused_result));

/* Makes a file larger, sparse; a device that is smaller is -ENOSPC. */
int disk_extend(struct disk *disk, uint64_t size) __attribute__((warn_unused_result));

/* Takes back what opening and extending did to a file that nobody has written to since: it is as short as it was,
 * durably; or gone, where `was` is -1. */
int disk_undo(struct disk *disk, const char *path, int64_t was) __attribute__((warn_unused_result));

/* Removes a file, durably; a link that leads to it stays. */
int disk_remove(const char *path) __attribute__((warn_unused_result));

/* What the page cache has of the file goes, as far as it was written: what is read next is what the medium has.  Of
 * pages that could not be written the kernel says so once, keeps them, and takes them for written. */
void disk_forget(int fd);

/* The first byte from `offset` on that is not in a hole, as far as is known; UINT64_MAX: none. */
uint64_t disk_data(int fd, uint64_t offset);

/*
 * Its first bytes as memory, at a page's border, which the file has blocks for from then on: to store there needs no
 * room.  `persistent`: what was stored is durable when it was written back (base/writeback.h); -EOPNOTSUPP: not there.
 */
int disk_map(const struct disk *disk, uint64_t bytes, bool persistent, void **map) __attribute__((warn_unused_result));
void disk_unmap(void *map, uint64_t bytes);

void disk_close(struct disk *disk);

enum disk_kind {
	DISK_READ,
	DISK_WRITE,
	DISK_SYNC,
	DISK_PUNCH, /* fallocate(): deallocate, keep the size */
	DISK_ZERO,  /* fallocate(): zeros, keep the size */
};

/* One system call's worth. */
struct disk_req {
	enum disk_kind kind;
	int fd;
	int kept;       /* its place + 1 in a ring that knows it; 0: none does (uring.h) */
	bool durable;
	bool waits;     /* see struct disk: not in the thread that hands it over */
	const struct iovec *iov;
	int count;
	uint64_t offset, bytes; /* bytes: of PUNCH and ZERO */
};

/* What the system call said: bytes moved, 0, or negative errno.  Blocks. */
int64_t disk_perform(const struct disk_req *req);

/* The mode of fallocate() for PUNCH and ZERO. */
int disk_fallocate_mode(enum disk_kind kind);

#endif
