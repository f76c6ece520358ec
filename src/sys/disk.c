#include "sys/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

enum {
	ALIGN_MIN = 512,
	ALIGN_MAX = 4096,
	LOCK_LOOKS = 100, /* a second in all */
	LOCK_LOOK_NS = 10 * 1000 * 1000,
	PRIVATE = 0600, /* what hosts have written is for nobody else on this machine */
};

/* What the kernel says that direct I/O needs; 0: it does not say. */
static uint32_t
align_told(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx stx = { 0 };
	uint32_t align;

	/* The system call itself: the C library's struct may be older than the kernel's. */
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) != 0 ||
	    !(stx.stx_mask & STATX_DIOALIGN))
		return 0;
	align = stx.stx_dio_offset_align;
	if (align < stx.stx_dio_mem_align)
		align = stx.stx_dio_mem_align;
	return align;
#else
	return 0;
#endif
}

/* Reads the first bytes with each alignment in turn; 0: direct I/O does not work. */
static uint32_t
align_tried(int fd)
{
	uint8_t *buffer = aligned_alloc(2 * ALIGN_MAX, 2 * ALIGN_MAX);
	uint32_t align = ALIGN_MIN;

	if (buffer == NULL)
		return 0;
	/* The buffer is no better aligned than what is asked about. */
	while (align <= ALIGN_MAX && pread(fd, buffer + align, align, 0) < 0)
		align = align == ALIGN_MIN ? ALIGN_MAX : ALIGN_MAX + 1;
	free(buffer);
	return align <= ALIGN_MAX ? align : 0;
}

/* Settles whether the descriptor, opened for direct I/O, can do it. */
static int
settle_direct(struct disk *disk, uint32_t block)
{
	int flags;

	disk->align = align_told(disk->fd);
	if (disk->align == 0)
		disk->align = align_tried(disk->fd);
	disk->direct = disk->align > 0 && disk->align <= block;
	if (disk->direct)
		return 0;
	disk->align = 1;
	flags = fcntl(disk->fd, F_GETFL);
	return fcntl(disk->fd, F_SETFL, flags & ~O_DIRECT) == 0 ? 0 : -errno;
}

/* Asks for some bytes, if that is possible at once: whether there are any does not matter. */
static bool
has_to_wait(const struct disk *disk)
{
	_Alignas(ALIGN_MAX) uint8_t scrap[ALIGN_MAX]; /* nobody looks at it */
	struct iovec iov = { scrap, disk->align <= ALIGN_MAX ? disk->align : ALIGN_MAX };

	return preadv2(disk->fd, &iov, 1, 0, RWF_NOWAIT) < 0 && (errno == EOPNOTSUPP || errno == ENOSYS);
}

/* The name of a new file is on the medium only once its folder is.  Cuts the path. */
static int
sync_folder(char *real)
{
	int rc = 0, fd = open(dirname(real), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Some file systems cannot sync a folder, and say EINVAL. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* What was made may lie elsewhere: the path is perhaps a link. */
static int
sync_name(const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) != NULL ? sync_folder(real) : -errno;
}

int
disk_remove(const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) != NULL && unlink(real) == 0 ? sync_folder(real) : -errno;
}

static int
open_any(const char *path, int flags, bool *direct)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_DIRECT | flags, PRIVATE);

	*direct = fd >= 0;
	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDWR | O_CLOEXEC | flags, PRIVATE);
	return fd >= 0 ? fd : -errno;
}

/* A device may have several nodes. */
static void
identify(const struct stat *st, uint64_t id[2])
{
	bool device = S_ISBLK(st->st_mode);

	id[0] = device ? st->st_rdev : st->st_dev;
	id[1] = device ? UINT64_MAX : st->st_ino;
}

int
disk_id(const char *path, uint64_t id[2])
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -errno;
	identify(&st, id);
	return 0;
}

static int
measure(struct disk *disk)
{
	struct stat st;

	if (fstat(disk->fd, &st) != 0)
		return -errno;
	identify(&st, disk->id);
	disk->size = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		return 0;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	disk->device = true;
	return ioctl(disk->fd, BLKGETSIZE64, &disk->size) == 0 ? 0 : -errno;
}

int
disk_open(const char *path, uint64_t size, uint32_t block, struct disk *disk)
{
	bool direct;
	int rc;

	*disk = (struct disk){ .align = 1, .claim = -1 };
	disk->fd = open_any(path, 0, &direct);
	if (disk->fd == -ENOENT && size > 0) {
		disk->fd = open_any(path, O_CREAT, &direct);
		disk->was = -1;
	}
	if (disk->fd < 0)
		return disk->fd;
	rc = measure(disk);
	if (rc == 0 && direct)
		rc = settle_direct(disk, block);
	if (rc == 0)
		disk->waits = has_to_wait(disk);
	if (rc == 0 && disk->was < 0)
		rc = sync_name(path);
	if (rc != 0 && disk->was < 0)
		(void)!disk_remove(path);
	if (rc != 0)
		disk_close(disk);
	else if (disk->was == 0)
		disk->was = (int64_t)disk->size;
	return rc;
}

/* ---- what is only read ---- */

static int64_t
load(int fd, struct arena *arena, uint64_t most, void **bytes)
{
	struct stat st;
	size_t moved = 0;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if ((uint64_t)st.st_size > most)
		return -EFBIG;
	*bytes = arena_alloc(arena, (size_t)st.st_size + 1);
	if (*bytes == NULL)
		return -ENOMEM;
	while (moved < (size_t)st.st_size) {
		ssize_t got = read(fd, (uint8_t *)*bytes + moved, (size_t)st.st_size - moved);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -ESTALE;
		moved += got > 0 ? (size_t)got : 0;
	}
	return (int64_t)moved;
}

int64_t
disk_load(const char *path, struct arena *arena, uint64_t most, void **bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for who writes to it */
	int64_t got;

	if (fd < 0)
		return -errno;
	got = load(fd, arena, most, bytes);
	close(fd);
	return got;
}

int
disk_again(const struct disk *disk, const char *path)
{
	struct stat st;
	uint64_t id[2];
	int rc, fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) == 0 ? 0 : -errno;
	if (rc == 0) {
		identify(&st, id);
		rc = memcmp(id, disk->id, sizeof(id)) == 0 ? fd : -ESTALE;
	}
	if (rc < 0)
		close(fd);
	return rc;
}

/*
 * A device is claimed as file systems claim theirs, which do not ask for locks.  By a descriptor of its own, since of
 * one that is opened for each of our reactors only the first can be had so.
 */
static int
claim(struct disk *disk)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", disk->fd);
	disk->claim = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	return disk->claim >= 0 || errno == ENOENT ? 0 : -errno; /* there may be no /proc */
}

int
disk_lock(struct disk *disk, bool patient)
{
	const struct timespec pause = { .tv_nsec = LOCK_LOOK_NS };

	/* Of a process that was killed with requests in an io_uring the kernel keeps the files open
	 * until they have ended: some milliseconds, in which they may still write. */
	for (int looks = 0; flock(disk->fd, LOCK_EX | LOCK_NB) != 0; looks++) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return -errno;
		if (!patient || looks == LOCK_LOOKS)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return disk->device ? claim(disk) : 0;
}

int
disk_extend(struct disk *disk, uint64_t size)
{
	struct stat st;

	if (fstat(disk->fd, &st) != 0)
		return -errno;
	if (S_ISREG(st.st_mode)) /* it may have been made longer since, by somebody else */
		disk->size = (uint64_t)st.st_size;
	disk->was = (int64_t)disk->size;
	if (size <= disk->size)
		return 0;
	if (ftruncate(disk->fd, (off_t)size) != 0)
		return errno == EINVAL ? -ENOSPC : -errno;
	if (fsync(disk->fd) != 0) {
		int error = errno;

		(void)!ftruncate(disk->fd, (off_t)disk->size);
		return -error;
	}
	disk->size = size;
	return 0;
}

int
disk_undo(struct disk *disk, const char *path, int64_t was)
{
	if (disk->device)
		return 0;
	if (was < 0)
		return disk_remove(path);
	if ((uint64_t)was >= disk->size)
		return 0;
	if (ftruncate(disk->fd, (off_t)was) != 0 || fsync(disk->fd) != 0)
		return -errno;
	disk->size = (uint64_t)was;
	return 0;
}

void disk_forget(int fd) { (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); }

uint64_t
disk_data(int fd, uint64_t offset)
{
	off_t at = lseek(fd, (off_t)offset, SEEK_DATA);

	if (at < 0 && errno == ENXIO)
		return UINT64_MAX;
	return at < 0 ? offset : (uint64_t)at;
}

/* Who stores where there is no room ends by a signal. */
static int
have_blocks(const struct disk *disk, uint64_t bytes)
{
	int rc;

	if (disk->device)
		return 0;
	do {
		rc = fallocate(disk->fd, 0, 0, (off_t)bytes);
	} while (rc != 0 && errno == EINTR);
	return rc == 0 ? 0 : -errno;
}

int
disk_map(const struct disk *disk, uint64_t bytes, bool persistent, void **map)
{
	int flags = persistent ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED, rc;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, disk->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	rc = have_blocks(disk, bytes);
	if (rc == 0)
		*map = at;
	else
		disk_unmap(at, bytes);
	return rc;
}

void
disk_unmap(void *map, uint64_t bytes)
{
	int rc = munmap(map, bytes);

	assert(rc == 0 || errno == ENOMEM); /* short of memory for its own accounts the kernel leaves it */
}

void
disk_close(struct disk *disk)
{
	if (disk->claim >= 0)
		close(disk->claim);
	close(disk->fd);
	disk->fd = disk->claim = -1;
}

int
disk_fallocate_mode(enum disk_kind kind)
{
	return (kind == DISK_PUNCH ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE) | FALLOC_FL_KEEP_SIZE;
}

int64_t
disk_perform(const struct disk_req *req)
{
	int64_t rc = -1;

	switch (req->kind) {
	case DISK_READ:
		rc = preadv(req->fd, req->iov, req->count, (off_t)req->offset);
		break;
	case DISK_WRITE:
		rc = pwritev2(req->fd, req->iov, req->count, (off_t)req->offset,
		    req->durable ? RWF_DSYNC : 0);
		break;
	case DISK_SYNC:
		rc = fdatasync(req->fd);
		break;
	case DISK_PUNCH:
	case DISK_ZERO:
		rc = fallocate(req->fd, disk_fallocate_mode(req->kind), (off_t)req->offset, (off_t)req->bytes);
		break;
	}
	return rc >= 0 ? rc : -errno;
}
