/*
 * slow_unlink.c - preloaded into `weir`: to remove the file of a volume, *.img, takes as many milliseconds as
 * WEIR_UNLINK_MS says.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int
unlink(const char *path)
{
	const char *said = getenv("WEIR_UNLINK_MS");
	long ms = said != NULL ? atol(said) : 0;
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	if (strstr(path, ".img") != NULL)
		nanosleep(&pause, NULL);
	return (int)syscall(SYS_unlink, path);
}
