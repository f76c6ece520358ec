/*
 * failing_late.c - preloaded into `weir --files threads`: while the file WEIR_FAILING is there, a durable write of a
 * file whose path has WEIR_FAILING_PART in it, and a sync of such a folder, is done, and fails with EIO all the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int
fails(int fd)
{
	const char *failing = getenv("WEIR_FAILING"), *part = getenv("WEIR_FAILING_PART");
	char link[64], path[4096];
	ssize_t length;

	if (failing == NULL || part == NULL || access(failing, F_OK) != 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return strstr(path, part) != NULL;
}

ssize_t
pwritev64v2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	ssize_t done = syscall(SYS_pwritev2, fd, iov, count, offset, 0, flags);

	if (!fails(fd))
		return done;
	errno = EIO;
	return -1;
}

int
fsync(int fd)
{
	int done = (int)syscall(SYS_fsync, fd);
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode) || !fails(fd))
		return done;
	errno = EIO;
	return -1;
}
