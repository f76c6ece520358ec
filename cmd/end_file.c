/*
 * end_file.c - a file, a device or a stream as an end of a pump; and ends that are nothing.
 *
 * What can be seeked is read and written where a piece belongs, and blocks no
 * longer than a disk does.  A stream is asked first whether it would block.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "ends.h"

static struct file_end *
file_end(struct end *end)
{
	return (struct file_end *)end;
}

/* ---- what is known of where it is ---- */

/* From `at` on; true: there are no data up to the end of the piece. */
static bool
in_hole(struct file_end *end, uint64_t at, uint32_t bytes)
{
	off_t data;
	struct stat st;

	if (at >= end->hole && at + bytes <= end->data)
		return true;
	data = lseek(end->fd, (off_t)at, SEEK_DATA);
	if (data < 0 && errno == ENXIO && fstat(end->fd, &st) == 0)
		data = st.st_size; /* a hole up to the end of the file */
	if (data < 0)
		return false;
	end->hole = at;
	end->data = (uint64_t)data;
	return at + bytes <= end->data;
}

static int
file_read(struct end *base, struct piece *piece)
{
	struct file_end *end = file_end(base);
	uint64_t at = end->base + piece->offset;

	if (in_hole(end, at, piece->wanted)) {
		piece->bytes = piece->wanted;
		piece->zeros = true;
		return STEP_DONE;
	}
	while (piece->bytes < piece->wanted) {
		ssize_t n = pread(end->fd, piece->data + piece->bytes, piece->wanted - piece->bytes,
		    (off_t)(at + piece->bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pump_failed(piece->pump, -errno, "reading at offset %" PRIu64 " of the file failed: %s",
			    at + piece->bytes, strerror(errno));
		if (n == 0)
			break;
		piece->bytes += (uint32_t)n;
	}
	return STEP_DONE;
}

static int
file_write(struct end *base, struct piece *piece)
{
	struct file_end *end = file_end(base);
	uint64_t at = end->base + piece->offset;

	if (piece->zeros && end->fresh)
		return STEP_DONE;
	piece_need_data(piece);
	while (piece->sent < piece->bytes) {
		ssize_t n = pwrite(end->fd, piece->data + piece->sent, piece->bytes - piece->sent,
		    (off_t)(at + piece->sent));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int error = n < 0 ? errno : ENOSPC;

			return pump_failed(piece->pump, -error, "writing at offset %" PRIu64 " of the file failed: %s",
			    at + piece->sent, strerror(error));
		}
		piece->sent += (uint32_t)n;
	}
	return STEP_DONE;
}

/* ---- streams ---- */

static bool
ready(int fd, short events)
{
	struct pollfd one = { fd, events, 0 };

	return poll(&one, 1, 0) > 0;
}

static int
stream_read(struct end *base, struct piece *piece)
{
	struct file_end *end = file_end(base);

	while (piece->bytes < piece->wanted) {
		ssize_t n;

		if (!ready(end->fd, POLLIN))
			return STEP_LATER;
		n = read(end->fd, piece->data + piece->bytes, piece->wanted - piece->bytes);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return STEP_LATER;
		if (n < 0)
			return pump_failed(piece->pump, -errno, "reading the input failed: %s", strerror(errno));
		if (n == 0)
			break;
		piece->bytes += (uint32_t)n;
	}
	return STEP_DONE;
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking. */
static int
stream_write(struct end *base, struct piece *piece)
{
	struct file_end *end = file_end(base);

	if (piece->sent == 0)
		piece_need_data(piece);
	while (piece->sent < piece->bytes) {
		size_t left = piece->bytes - piece->sent;
		ssize_t n;

		if (!ready(end->fd, POLLOUT))
			return STEP_LATER;
		n = write(end->fd, piece->data + piece->sent, end->pipe && left > PIPE_BUF ? PIPE_BUF : left);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return STEP_LATER;
		if (n < 0)
			return pump_failed(piece->pump, -errno, "writing the output failed: %s", strerror(errno));
		piece->sent += (uint32_t)n;
	}
	return STEP_DONE;
}

static const struct end_ops
    file_read_ops = { file_read, NULL },
    file_write_ops = { file_write, NULL },
    stream_read_ops = { stream_read, NULL },
    stream_write_ops = { stream_write, NULL };

/* ---- what it is ---- */

static int
rest_of(struct file_end *end, const struct stat *st, uint64_t *size)
{
	off_t at = lseek(end->fd, 0, SEEK_CUR);
	uint64_t bytes = (uint64_t)st->st_size;

	if (at < 0)
		return -errno;
	if (S_ISBLK(st->st_mode) && ioctl(end->fd, BLKGETSIZE64, &bytes) < 0)
		return -errno;
	end->seekable = true;
	end->base = (uint64_t)at;
	end->fresh = S_ISREG(st->st_mode) && bytes <= end->base;
	*size = bytes > end->base ? bytes - end->base : 0;
	return 0;
}

int
file_end_init(struct file_end *end, int fd, uint64_t *size)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	*end = (struct file_end) { .end = { .fd = -1 }, .fd = fd };
	*size = PUMP_UNKNOWN;
	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	end->pipe = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	if (!end->pipe && (flags & O_APPEND) == 0)
		return rest_of(end, &st, size);
	return 0;
}

void
file_source_init(struct file_end *end)
{
	end->end = (struct end) { .ops = &file_read_ops, .fd = -1 };
	if (!end->seekable)
		end->end = (struct end) { .ops = &stream_read_ops, .fd = end->fd, .events = POLLIN, .in_order = true };
}

bool
file_sink_init(struct file_end *end, bool sparse)
{
	end->end = (struct end) { .ops = &file_write_ops, .fd = -1 };
	if (!end->seekable)
		end->end = (struct end) { .ops = &stream_write_ops, .fd = end->fd, .events = POLLOUT,
		    .in_order = true };
	if (sparse && !end->fresh)
		return false;
	end->fresh = sparse;
	return true;
}

/* Who writes behind us on the same descriptor goes on where we ended. */
int
file_sink_end(struct file_end *end, uint64_t total)
{
	off_t last = (off_t)(end->base + total);

	if (!end->seekable)
		return 0;
	if (end->fresh && ftruncate(end->fd, last) < 0)
		return -errno;
	return lseek(end->fd, last, SEEK_SET) < 0 ? -errno : 0;
}

/* ---- nothing ---- */

static int
nothing_read(struct end *end, struct piece *piece)
{
	(void)end;
	piece->bytes = piece->wanted;
	return STEP_DONE;
}

static int
nothing_write(struct end *end, struct piece *piece)
{
	(void)end;
	(void)piece;
	return STEP_DONE;
}

static const struct end_ops nothing_read_ops = { nothing_read, NULL }, nothing_write_ops = { nothing_write, NULL };

struct end nothing_source = { .ops = &nothing_read_ops, .fd = -1 };
struct end nothing_sink = { .ops = &nothing_write_ops, .fd = -1 };
