#include "trace_in.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unpack.h"

enum { BUFFER = 256 * 1024 };

struct trace_in {
	const char *name;
	int fd;
	bool end;                /* of the file */
	uint64_t done, total;
	struct unpack *unpack;
	const uint8_t *at;       /* what of the buffer is still to be unpacked, */
	size_t length;           /* and how much */
	uint8_t buffer[BUFFER];
};

static int
complain(const struct trace_in *in, int error)
{
	fprintf(stderr, "weir: %s: %s\n", in->name, strerror(-error));
	return error;
}

/* More of the file behind what the buffer has, which there is room for. */
static int
buffer_fill(struct trace_in *in)
{
	ssize_t bytes;

	do
		bytes = read(in->fd, in->buffer + in->length, sizeof(in->buffer) - in->length);
	while (bytes < 0 && errno == EINTR);
	if (bytes < 0)
		return complain(in, -errno);
	in->at = in->buffer;
	in->length += (size_t)bytes;
	in->done += (uint64_t)bytes;
	in->end = bytes == 0;
	return 0;
}

/* How it begins says how it is packed. */
static int
begin_read(struct trace_in *in)
{
	while (in->length < UNPACK_BEGIN && !in->end) {
		int error = buffer_fill(in);

		if (error != 0)
			return error;
	}
	in->unpack = unpack_create(in->buffer, in->length);
	return in->unpack != NULL ? 0 : complain(in, -ENOMEM);
}

/* A regular file has a size, of which some may have been read before. */
static uint64_t
total_of(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat about;

	if (at < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size < at)
		return TRACE_IN_UNKNOWN;
	return (uint64_t)(about.st_size - at);
}

int
trace_in_open(const char *path, struct trace_in **in)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct trace_in *made = malloc(sizeof(*made));
	int error;

	*in = NULL;
	if (made == NULL) {
		fprintf(stderr, "weir: %s: %s\n", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	made->name = is_stdin ? "standard input" : path;
	made->unpack = NULL;
	made->end = false;
	made->length = 0;
	made->done = 0;
	made->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	error = made->fd < 0 ? complain(made, -errno) : 0;
	made->total = total_of(made->fd);
	if (error == 0)
		error = begin_read(made);
	if (error == 0)
		*in = made;
	else
		trace_in_close(made);
	return error;
}

void
trace_in_close(struct trace_in *in)
{
	if (in == NULL)
		return;
	unpack_destroy(in->unpack);
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in);
}

int
trace_in_read(struct trace_in *in, char *text, size_t room, size_t *bytes)
{
	for (;;) {
		const char *why = unpack_some(in->unpack, &in->at, &in->length, in->end, text, room, bytes);
		int error;

		if (why != NULL) {
			fprintf(stderr, "weir: %s: it is packed with %s, and %s\n", in->name,
			    unpack_packer(in->unpack), why);
			return -EBADMSG;
		}
		if (*bytes > 0 || in->end)
			return 0;
		assert(in->length == 0);
		error = buffer_fill(in);
		if (error != 0)
			return error;
	}
}

uint64_t
trace_in_done(const struct trace_in *in)
{
	return in->done;
}

uint64_t
trace_in_total(const struct trace_in *in)
{
	return in->total;
}

const char *
trace_in_name(const struct trace_in *in)
{
	return in->name;
}
