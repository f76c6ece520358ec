#include "sys/line.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t lost; /* lines since the last one that was written */

/*
 * A pipe that may be written to takes PIPE_BUF bytes at once; so do terminals and sockets, as good as always.  It is not
 * set to O_NONBLOCK, for that would be so for all who share it.
 */
static bool
put(const char *text)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t bytes = strlen(text);

	return poll(&out, 1, 0) == 1 && out.revents == POLLOUT && write(STDERR_FILENO, text, bytes) == (ssize_t)bytes;
}

void
line_say(const char *format, ...)
{
	char text[PIPE_BUF + 1], before[80];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length >= (int)sizeof(text))
		text[sizeof(text) - 2] = '\n';
	pthread_mutex_lock(&lock);
	snprintf(before, sizeof(before), "weir: warning: %" PRIu64 " lines before this one could not be written\n", lost);
	if (lost > 0 && put(before))
		lost = 0;
	if (lost > 0 || !put(text))
		lost++;
	pthread_mutex_unlock(&lock);
}
