/*
 * hung_folder.c - preloaded into `weir`: whoever asks anything of a path in the folder WEIR_HUNG_FOLDER, while the FIFO
 * WEIR_HUNG_FIFO is there, waits until somebody opens that to write; for ever where nobody does.  Who waits has made
 * the file of the same name with `.waits` behind it.  With WEIR_HUNG_OPEN in the environment only open() waits, and where
 * that is `late`, not the one that only tries (O_NONBLOCK).
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void
hang(const char *path)
{
	const char *folder = getenv("WEIR_HUNG_FOLDER"), *fifo = getenv("WEIR_HUNG_FIFO");
	char waits[4096];
	long fd;

	if (folder == NULL || fifo == NULL || strncmp(path, folder, strlen(folder)) != 0)
		return;
	snprintf(waits, sizeof(waits), "%s.waits", fifo);
	if (syscall(SYS_access, fifo, F_OK) == 0)
		close((int)syscall(SYS_openat, AT_FDCWD, waits, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	fd = syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close((int)fd);
}

static bool
is_late(void)
{
	const char *open = getenv("WEIR_HUNG_OPEN");

	return open != NULL && strcmp(open, "late") == 0;
}

int
access(const char *path, int mode)
{
	if (getenv("WEIR_HUNG_OPEN") == NULL)
		hang(path);
	return (int)syscall(SYS_access, path, mode);
}

int
stat64(const char *path, struct stat64 *st)
{
	if (getenv("WEIR_HUNG_OPEN") == NULL)
		hang(path);
	return fstatat64(AT_FDCWD, path, st, 0);
}

int
unlink(const char *path)
{
	if (getenv("WEIR_HUNG_OPEN") == NULL)
		hang(path);
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int
open64(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (!is_late() || !(flags & O_NONBLOCK))
		hang(path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
