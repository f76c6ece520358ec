#include "sys/inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A number of the environment; 0: not there, negative: nonsense. */
static long
number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (text == NULL)
		return 0;
	errno = 0;
	value = strtol(text, &end, 10);
	return errno != 0 || end == text || *end != '\0' || value < 0 ? -EINVAL : value;
}

static int
option_of(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

static int
take(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (option_of(fd, SO_ACCEPTCONN) != 1 || option_of(fd, SO_PROTOCOL) != IPPROTO_TCP)
		return -ENOTSOCK;
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return -errno;
	return 0;
}

int
inherit_listeners(void)
{
	long count;

	/* Meant for another process, the rest may say what it likes. */
	if (number_of("LISTEN_PID") != getpid())
		return 0;
	count = number_of("LISTEN_FDS");
	if (count < 0 || count > INHERIT_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		int rc = take(INHERIT_FIRST + i);

		if (rc != 0)
			return rc;
	}
	return (int)count;
}
