/*
 * name.c - asks the resolver, and where it has several answers, who of them answers (see the header).
 */
#include "sys/name.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/clock.h"

/* Somebody listens there. */
static bool
answers(const struct addrinfo *at, uint64_t end_ns)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = -1, rc = 0;
	struct pollfd look = { fd, POLLOUT, 0 };
	socklen_t size = sizeof(error);

	if (fd < 0)
		return false;
	if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
		error = 0;
	} else if (errno == EINPROGRESS) {
		do {
			uint64_t now_ns = clock_now_ns();

			rc = now_ns < end_ns ? poll(&look, 1, (int)((end_ns - now_ns) / 1000000) + 1) : 0;
		} while (rc < 0 && errno == EINTR);
		if (rc == 1)
			(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	}
	close(fd);
	return error == 0;
}

static const struct addrinfo *
choose(const struct addrinfo *list, uint32_t ms)
{
	uint64_t end_ns = clock_now_ns() + ms * UINT64_C(1000000);

	for (const struct addrinfo *at = list; list->ai_next != NULL && at != NULL; at = at->ai_next)
		if (answers(at, end_ns))
			return at;
	return list;
}

int
name_numeric(const char *name, uint16_t port, uint32_t ms, char *host, size_t bytes, const char **why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *list;
	const struct addrinfo *at;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(name, service, &hints, &list);
	if (rc == EAI_NONAME) {
		hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
		rc = getaddrinfo(name, service, &hints, &list);
	}
	if (rc == 0) {
		at = choose(list, ms);
		rc = getnameinfo(at->ai_addr, at->ai_addrlen, host, (socklen_t)bytes, NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(list);
	}
	if (rc == 0)
		return 0;
	*why = rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc);
	return rc == EAI_MEMORY ? -ENOMEM : -EHOSTUNREACH;
}
