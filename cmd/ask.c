/*
 * ask.c - the asker's side of the control socket (control.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "text.h"

/* Where anybody may make a socket, as in /tmp, another user's may wait for what we have to tell. */
static int
look_whose(int fd, const char *path)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && (peer.uid == geteuid() || peer.uid == 0))
		return 0;
	fprintf(stderr, "weir: the socket at %s is of another user (%u), who is told nothing\n", path, peer.uid);
	return -EPERM;
}

static int
dial(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int
send_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int
receive_all(int fd, FILE *to)
{
	char piece[4096];

	for (;;) {
		ssize_t n = recv(fd, piece, sizeof(piece), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 0 : -errno;
		fwrite(piece, 1, (size_t)n, to);
	}
}

static int
exchange(int fd, const char *word, const char *text, size_t bytes, char **answer, size_t *answer_bytes)
{
	FILE *memory = open_memstream(answer, answer_bytes);
	int rc = memory != NULL ? send_all(fd, word, strlen(word)) : -ENOMEM;

	if (rc == 0)
		rc = send_all(fd, "\n", 1);
	if (rc == 0)
		rc = send_all(fd, text, bytes);
	/* One who is refused while he still speaks is told why all the same. */
	if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET) {
		shutdown(fd, SHUT_WR);
		rc = receive_all(fd, memory);
		if (rc == -ECONNRESET && ftell(memory) > 0)
			rc = 0; /* he was, and that was the end of it */
	}
	if (text_end(memory, answer) != 0 && rc == 0)
		rc = -ENOMEM;
	return rc;
}

static bool
starts(const char *whole, size_t bytes, const char *word)
{
	return bytes >= strlen(word) && memcmp(whole, word, strlen(word)) == 0;
}

/* 0: it is one; or a negative errno after having said so. */
static int
look(const char *path, int rc, const char *whole, size_t bytes)
{
	if (bytes == 0 && (rc == 0 || rc == -ECONNRESET)) {
		fprintf(stderr, "weir: the target at %s ended before it answered\n", path);
		return -ENODATA;
	}
	if (rc == 0 && starts(whole, bytes, "busy\n")) {
		fprintf(stderr, "weir: the target at %s is busy: %.*s", path, (int)bytes - 5, whole + 5);
		return -EBUSY;
	}
	if (rc == 0 && !starts(whole, bytes, "ok\n") && !starts(whole, bytes, "error\n"))
		rc = -EPROTO;
	if (rc != 0)
		fprintf(stderr, "weir: no target answers at %s: %s\n", path, strerror(-rc));
	return rc;
}

int
control_ask(const char *path, const char *word, const char *text, size_t bytes, char **answer, size_t *answer_bytes)
{
	char default_path[108], *whole = NULL;
	size_t whole_bytes = 0;
	int fd, rc;
	bool ok;

	if (path == NULL) {
		control_default_path(default_path);
		path = default_path;
	}
	fd = dial(path);
	if (fd < 0) {
		fprintf(stderr, "weir: no target answers at %s: %s\n", path, strerror(-fd));
		return fd;
	}
	rc = look_whose(fd, path);
	if (rc == 0) {
		rc = exchange(fd, word, text, bytes, &whole, &whole_bytes);
		rc = look(path, rc, whole, whole_bytes);
	}
	close(fd);
	if (rc != 0) {
		free(whole);
		return rc;
	}
	ok = whole[0] == 'o';
	*answer_bytes = whole_bytes - (ok ? 3 : 6);
	memmove(whole, whole + (ok ? 3 : 6), *answer_bytes);
	*answer = whole;
	return ok ? 0 : 1;
}
