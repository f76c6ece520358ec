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
	}
	if (text_end(memory, answer) != 0 && rc == 0)
		rc = -ENOMEM;
	return rc;
}

int
control_ask(const char *path, const char *word, const char *text, size_t bytes, char **answer, size_t *answer_bytes)
{
	char default_path[108], *whole = NULL;
	size_t whole_bytes = 0;
	bool ok;
	int fd, rc;

	if (path == NULL) {
		control_default_path(default_path);
		path = default_path;
	}
	fd = dial(path);
	rc = fd >= 0 ? exchange(fd, word, text, bytes, &whole, &whole_bytes) : fd;
	if (fd >= 0)
		close(fd);
	ok = rc == 0 && whole_bytes >= 3 && memcmp(whole, "ok\n", 3) == 0;
	if (fd >= 0 && whole_bytes == 0 && (rc == 0 || rc == -ECONNRESET)) {
		fprintf(stderr, "weir: the target at %s ended before it answered\n", path);
		free(whole);
		return -ENODATA;
	}
	if (rc == 0 && !ok && (whole_bytes < 6 || memcmp(whole, "error\n", 6) != 0))
		rc = -EPROTO;
	if (rc != 0) {
		fprintf(stderr, "weir: no target answers at %s: %s\n", path, strerror(-rc));
		free(whole);
		return rc;
	}
	*answer_bytes = whole_bytes - (ok ? 3 : 6);
	memmove(whole, whole + (ok ? 3 : 6), *answer_bytes);
	*answer = whole;
	return ok ? 0 : 1;
}
