/*
 * hung_unlink.c - preloaded into `weir`: to remove the file of a volume, *.img, waits until somebody opens the FIFO
 * WEIR_UNLINK_FIFO to write, for ever where nobody does.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
unlink(const char *path)
{
	const char *fifo = getenv("WEIR_UNLINK_FIFO");

	if (fifo != NULL && strstr(path, ".img") != NULL)
		close(open(fifo, O_RDONLY | O_CLOEXEC));
	return (int)syscall(SYS_unlink, path);
}
