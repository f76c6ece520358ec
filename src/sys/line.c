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
 * A pipe that may be written to takes PIPE_BUF bytes at once; so do terminals and sockets, as good as always.  It is
 * not set to O_NONBLOCK, for that would be so for all who share it.
 */
static bool
put(int fd, const char *text, size_t bytes)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	return poll(&out, 1, 0) == 1 && out.revents == POLLOUT && write(fd, text, bytes) == (ssize_t)bytes;
}

/* Up to PIPE_BUF bytes, which are so many lines. */
static void
say(const char *text, size_t bytes, uint64_t lines)
{
	char before[80];
	int length;

	pthread_mutex_lock(&lock);
	length = snprintf(before, sizeof(before),
	    "weir: warning: %" PRIu64 " lines before this one could not be written\n", lost);
	if (lost > 0 && put(STDERR_FILENO, before, (size_t)length))
		lost = 0;
	if (lost > 0 || !put(STDERR_FILENO, text, bytes))
		lost += lines;
	pthread_mutex_unlock(&lock);
}

/* Its bytes. */
static size_t
make(char text[PIPE_BUF + 1], const char *format, va_list args)
{
	int length = vsnprintf(text, PIPE_BUF + 1, format, args);

	if (length <= PIPE_BUF)
		return (size_t)length;
	text[PIPE_BUF - 1] = '\n';
	return PIPE_BUF;
}

void
line_say(const char *format, ...)
{
	char text[PIPE_BUF + 1];
	va_list args;
	size_t bytes;

	va_start(args, format);
	bytes = make(text, format, args);
	va_end(args);
	say(text, bytes, 1);
}

void
line_say_all(const char *text, size_t bytes)
{
	while (bytes > 0) {
		const char *end = memrchr(text, '\n', bytes < PIPE_BUF ? bytes : PIPE_BUF);
		size_t piece = end != NULL ? (size_t)(end - text) + 1 : bytes < PIPE_BUF ? bytes : PIPE_BUF;
		uint64_t lines = 0;

		for (size_t i = 0; i < piece; i++)
			lines += text[i] == '\n';
		say(text, piece, lines);
		text += piece;
		bytes -= piece;
	}
}

void
line_print(const char *format, ...)
{
	char text[PIPE_BUF + 1];
	va_list args;
	size_t bytes;

	va_start(args, format);
	bytes = make(text, format, args);
	va_end(args);
	(void)put(STDOUT_FILENO, text, bytes);
}
