#include "sys/sock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	BACKLOG = 1024,
	LOCK_TRIES = 100,    /* 10 ms after one another */
	DISCARD_ROUNDS = 1024, DISCARD_BYTES = 16 * 1024, /* 16 MiB in all: a peer that floods does not hold us */
};

static int
set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0 ? 0 : -errno;
}

static int
set_options(int fd, const struct sock_options *options)
{
	int rc;

	if (options == NULL)
		return 0;
	rc = set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (rc == 0 && options->sndbuf > 0)
		rc = set_int(fd, SOL_SOCKET, SO_SNDBUF, (int)options->sndbuf);
	if (rc == 0 && options->rcvbuf > 0)
		rc = set_int(fd, SOL_SOCKET, SO_RCVBUF, (int)options->rcvbuf);
	if (rc == 0 && options->congestion != NULL &&
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
	        (socklen_t)strlen(options->congestion)) != 0)
		rc = -errno;
	return rc;
}

/* What getaddrinfo() says, as an errno. */
static int
errno_of_lookup(int code)
{
	switch (code) {
	case EAI_SYSTEM:
		return -errno;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EAGAIN;
	default:
		return -EADDRNOTAVAIL;
	}
}

static int
look_up(const char *host, uint16_t port, int flags, struct addrinfo **found)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags | AI_NUMERICSERV,
	};
	char text[8];
	int rc;

	snprintf(text, sizeof(text), "%u", port);
	rc = getaddrinfo(host, text, &hints, found);
	return rc == 0 ? 0 : errno_of_lookup(rc);
}

static int
begin_listen(int fd, const struct addrinfo *at, const struct sock_options *options)
{
	int rc = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (rc == 0)
		rc = set_options(fd, options);
	if (rc == 0 && bind(fd, at->ai_addr, at->ai_addrlen) != 0)
		rc = -errno;
	if (rc == 0 && listen(fd, BACKLOG) != 0)
		rc = -errno;
	return rc;
}

static int
begin_connect(int fd, const struct addrinfo *at, const struct sock_options *options)
{
	int rc = set_options(fd, options);

	if (rc == 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0 && errno != EINPROGRESS)
		rc = -errno;
	return rc;
}

/* The first address at which `begin` succeeds; of a name with both, IPv4 is tried first. */
static int
open_first(const struct addrinfo *all, const struct sock_options *options,
    int (*begin)(int, const struct addrinfo *, const struct sock_options *))
{
	int rc = -EADDRNOTAVAIL;

	for (int pass = 0; pass < 2; pass++) {
		for (const struct addrinfo *at = all; at != NULL; at = at->ai_next) {
			int fd;

			if ((at->ai_family == AF_INET) != (pass == 0))
				continue;
			fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
			if (fd < 0) {
				rc = -errno;
				continue;
			}
			rc = begin(fd, at, options);
			if (rc == 0)
				return fd;
			close(fd);
		}
	}
	return rc;
}

int
sock_listen(const char *host, uint16_t port, const struct sock_options *options)
{
	struct addrinfo *found;
	int rc = look_up(host, port, AI_PASSIVE, &found);

	if (rc != 0)
		return rc;
	rc = open_first(found, options, begin_listen);
	freeaddrinfo(found);
	return rc;
}

/* Whether a process answers there. */
static bool
answers(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool yes = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

static int
bind_local(int fd, const struct sockaddr_un *at)
{
	return bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ? 0 : -errno;
}

/*
 * The folder of a path, locked: from bind() to listen() a socket looks as dead as one that its process left behind,
 * and two that find the same dead one would each remove what the other has made.  Others may hold the lock for as
 * long as they like; then it is done without.  -1: it cannot be locked.
 */
static int
lock_folder(const char *path)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	const char *name = strrchr(path, '/');
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)] = ".";
	int fd;

	if (name != NULL)
		snprintf(folder, sizeof(folder), "%.*s", name > path ? (int)(name - path) : 1, path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	return fd;
}

static int
listen_local(const struct sockaddr_un *at)
{
	const char *path = at->sun_path;
	struct stat st;
	int fd, rc;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* What is made at bind() has the mode of the socket. */
	rc = fchmod(fd, 0600) == 0 ? bind_local(fd, at) : -errno;
	if (rc == -EADDRINUSE && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && !answers(at)) {
		unlink(path); /* of one that is no more */
		rc = bind_local(fd, at);
	}
	if (rc == 0 && listen(fd, BACKLOG) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int
sock_listen_local(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder, rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path));
	folder = lock_folder(path);
	rc = listen_local(&at);
	if (folder >= 0)
		close(folder);
	return rc;
}

int
sock_connect(const char *host, uint16_t port, const struct sock_options *options)
{
	struct addrinfo *found;
	int rc = look_up(host, port, 0, &found);

	if (rc != 0)
		return rc;
	rc = open_first(found, options, begin_connect);
	freeaddrinfo(found);
	return rc;
}

int
sock_accept(int listening, const struct sock_options *options)
{
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int rc;

	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	rc = set_options(fd, options);
	if (rc != 0) {
		close(fd);
		return rc == -EINVAL ? -ECONNABORTED : rc; /* the peer is gone already */
	}
	return fd;
}

ssize_t
sock_read(int fd, const struct iovec *iov, int count)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };
	ssize_t n;

	do {
		if (count == 1)
			n = recv(fd, iov->iov_base, iov->iov_len, 0);
		else
			n = recvmsg(fd, &msg, 0);
	} while (n < 0 && errno == EINTR);
	return n >= 0 ? n : errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

ssize_t
sock_write(int fd, const struct iovec *iov, int count)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };
	ssize_t n;

	do {
		if (count == 1)
			n = send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL);
		else
			n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n >= 0 ? n : errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

int
sock_address(int fd, bool peer, char *host, size_t bytes, uint16_t *port)
{
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);
	char text[8];
	int rc;

	rc = peer ? getpeername(fd, (struct sockaddr *)&at, &length) :
	    getsockname(fd, (struct sockaddr *)&at, &length);
	if (rc != 0)
		return -errno;
	rc = getnameinfo((struct sockaddr *)&at, length, host, (socklen_t)bytes, text, sizeof(text),
	    NI_NUMERICHOST | NI_NUMERICSERV);
	if (rc != 0)
		return errno_of_lookup(rc);
	*port = (uint16_t)strtoul(text, NULL, 10);
	return 0;
}

const char *
sock_numeric(char *host, size_t bytes)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found, *at;
	char text[NI_MAXHOST];
	int rc = getaddrinfo(host, NULL, &hints, &found);

	if (rc != 0)
		return rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc);
	for (at = found; at->ai_family != AF_INET && at->ai_next != NULL; at = at->ai_next)
		;
	if (at->ai_family != AF_INET)
		at = found;
	rc = getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (rc == 0 && strlen(text) >= bytes)
		rc = EAI_OVERFLOW;
	if (rc != 0)
		return gai_strerror(rc);
	memcpy(host, text, strlen(text) + 1);
	return NULL;
}

void
sock_finish(int fd)
{
	/* Fails where the connection is gone; the read that follows finds that out too. */
	(void)shutdown(fd, SHUT_WR);
}

bool
sock_discard(int fd)
{
	uint8_t nowhere[DISCARD_BYTES];

	for (int i = 0; i < DISCARD_ROUNDS; i++) {
		/* Of TCP, MSG_TRUNC drops the bytes without a copy (tcp(7)). */
		ssize_t n = recv(fd, nowhere, sizeof(nowhere), MSG_TRUNC);

		if (n == 0)
			return false;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
	}
	return true;
}

void
sock_abort(int fd)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	/* SO_LINGER is about the last close(), which need not be ours: it is for kernels that do not disconnect.
	 * Where neither can be said, the connection is closed as any other. */
	if (connect(fd, &nobody, sizeof(nobody)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}
