/*
 * disk.c - preloaded into `weir`: what is asked of the folder WEIR_DISK, and when that is answered.
 *
 * While the file WEIR_DISK_ASKED is there, each call of the first thread, which is a reactor, that asks anything of a
 * path in the folder, or of a descriptor of a file there, adds a line to it.  What the kernel's ring is told is no such
 * call.
 *
 * While the FIFO WEIR_DISK_FIFO is there, who makes one of the calls that WEIR_DISK_HANGS names with such a path waits
 * until somebody opens that to write; for ever where nobody does.  Who waits has made the file of the same name with
 * `.waits` behind it.  An open() that only tries (O_NONBLOCK) is called `tries`.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool
is_in_folder(const char *path)
{
	const char *folder = getenv("WEIR_DISK");

	return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static void
note(const char *call, const char *path)
{
	const char *asked = getenv("WEIR_DISK_ASKED");
	char line[4096];
	int length;
	long fd;

	if (!is_in_folder(path) || asked == NULL || syscall(SYS_gettid) != getpid())
		return;
	fd = syscall(SYS_openat, AT_FDCWD, asked, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	length = snprintf(line, sizeof(line), "%s %.3000s\n", call, path);
	(void)!syscall(SYS_write, fd, line, length);
	syscall(SYS_close, fd);
}

static void
hang(const char *call, const char *path)
{
	const char *fifo = getenv("WEIR_DISK_FIFO"), *calls = getenv("WEIR_DISK_HANGS");
	char waits[4096];
	long fd;

	if (!is_in_folder(path) || fifo == NULL || calls == NULL || strstr(calls, call) == NULL)
		return;
	if (syscall(SYS_access, fifo, F_OK) != 0)
		return;
	snprintf(waits, sizeof(waits), "%s.waits", fifo);
	syscall(SYS_close, (int)syscall(SYS_openat, AT_FDCWD, waits, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	fd = syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		syscall(SYS_close, (int)fd);
}

/* By its path. */
static void
ask(const char *call, const char *path)
{
	note(call, path);
	hang(call, path);
}

static void
note_fd(const char *call, int fd)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = syscall(SYS_readlink, link, path, sizeof(path) - 1);
	if (length < 0)
		return;
	path[length] = '\0';
	note(call, path);
}

int
access(const char *path, int mode)
{
	ask(__func__, path);
	return (int)syscall(SYS_access, path, mode);
}

int
stat64(const char *path, struct stat64 *st)
{
	ask(__func__, path);
	return fstatat64(AT_FDCWD, path, st, 0);
}

int
fstat64(int fd, struct stat64 *st)
{
	note_fd(__func__, fd);
	return fstatat64(fd, "", st, AT_EMPTY_PATH);
}

int
statx(int folder, const char *path, int flags, unsigned mask, struct statx *st)
{
	note(__func__, path);
	return (int)syscall(SYS_statx, folder, path, flags, mask, st);
}

int
open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	ask(flags & O_NONBLOCK ? "tries" : __func__, path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
close(int fd)
{
	note_fd(__func__, fd);
	return (int)syscall(SYS_close, fd);
}

int
unlink(const char *path)
{
	ask(__func__, path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int
flock(int fd, int how)
{
	note_fd(__func__, fd);
	return (int)syscall(SYS_flock, fd, how);
}

int
fsync(int fd)
{
	note_fd(__func__, fd);
	return (int)syscall(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
	note_fd(__func__, fd);
	return (int)syscall(SYS_fdatasync, fd);
}

int
ftruncate64(int fd, off64_t length)
{
	note_fd(__func__, fd);
	return (int)syscall(SYS_ftruncate, fd, length);
}

off64_t
lseek64(int fd, off64_t offset, int whence)
{
	note_fd(__func__, fd);
	return syscall(SYS_lseek, fd, offset, whence);
}

ssize_t
preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
	note_fd(__func__, fd);
	return syscall(SYS_preadv, fd, iov, count, offset, 0);
}

ssize_t
preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	note_fd(__func__, fd);
	return syscall(SYS_preadv2, fd, iov, count, offset, 0, flags);
}
