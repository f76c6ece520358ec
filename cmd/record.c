#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refuse.h"
#include "text.h"

enum {
	PATH_BYTES = sizeof(((struct record *)NULL)->dir) + 24,
	MORE_BYTES = 4096, /* that the next one may have more than this one */
};

/* The record, and the next one beside it. */
static const char name[] = "namespaces", beside[] = "namespaces.new";

/*
 * Room for the next one, in the file that it will be: on a disk that is full a host could not delete what fills it
 * otherwise.  As much as there is.
 */
static void
reserve(const struct record *record)
{
	int fd = openat(record->fd, beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (posix_fallocate(fd, 0, (off_t)record->bytes + MORE_BYTES) != 0)
		(void)posix_fallocate(fd, 0, (off_t)record->bytes + 1);
	close(fd);
}

/* ---- reading ---- */

/* All of it, malloc()ed. */
static int
read_all(int fd, char **text, size_t *bytes)
{
	off_t size = lseek(fd, 0, SEEK_END);
	ssize_t got = 1;

	*bytes = 0;
	*text = size >= 0 && size <= MADE_TEXT_MAX ? malloc((size_t)size + 1) : NULL;
	if (*text == NULL)
		return size < 0 ? -errno : size > MADE_TEXT_MAX ? -EFBIG : -ENOMEM;
	while (got > 0 && *bytes < (size_t)size) {
		got = pread(fd, *text + *bytes, (size_t)size - *bytes, (off_t)*bytes);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			*bytes += (size_t)got;
	}
	return got < 0 ? -errno : 0;
}

static int
sync_folder(struct record *record)
{
	int rc = fsync(record->fd) == 0 ? 0 : -errno;

	record->doubt = rc != 0;
	return rc;
}

/* Who wrote it may have been killed before it was durable; and files are removed that it does not name. */
static int
settle(struct record *record, int fd, const char *path, char why[256])
{
	int rc = fsync(fd) == 0 ? sync_folder(record) : -errno;

	return rc == 0 ? 0 : refuse(why, rc, "%.180s cannot be made durable: %s", path, strerrordesc_np(-rc));
}

int
record_begin(struct record *record, const char *dir, struct arena *arena, struct made **made, char why[256])
{
	char path[PATH_BYTES];
	bool read;
	int fd, rc;

	*made = NULL;
	if (dir == NULL)
		return 0;
	if (strlen(dir) >= sizeof(record->dir)) {
		snprintf(why, 256, "the name of the folder for states is too long");
		return -ENAMETOOLONG;
	}
	memcpy(record->dir, dir, strlen(dir) + 1);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	record->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (record->fd < 0)
		return refuse(why, -errno, "%.180s cannot be opened: %s", dir, strerrordesc_np(errno));
	fd = openat(record->fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	rc = fd < 0 ? -errno : read_all(fd, &record->text, &record->bytes);
	record->there = true;
	read = rc == 0;
	if (read)
		rc = made_parse(arena, record->text, record->bytes, made);
	if (read && rc == -EUCLEAN)
		snprintf(why, 256,
		    "the namespaces that hosts have made, kept in %.120s, are damaged; without the file there are "
		    "none, and the files they lie in stay", path);
	else if (read && rc == -EINVAL)
		snprintf(why, 256, "%.180s is not a record of namespaces, or one of a later version", path);
	else if (rc != 0)
		snprintf(why, 256, "%.180s cannot be read: %s", path, strerrordesc_np(-rc));
	if (rc == 0)
		rc = settle(record, fd, path, why);
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		reserve(record);
	return rc;
}

/* ---- writing ---- */

static int
print(const struct made *made, char **text, size_t *bytes)
{
	FILE *memory = open_memstream(text, bytes);

	if (memory != NULL)
		made_print(made, text_put, memory);
	return text_end(memory, text);
}

/* Over what was there, which gives its room: all of it, since what an fsync() could not write no later one will. */
static int
write_all(int fd, const char *text, size_t bytes)
{
	const off_t length = (off_t)bytes;

	while (bytes > 0) {
		ssize_t put_now = write(fd, text, bytes);

		if (put_now < 0 && errno != EINTR)
			return -errno;
		if (put_now > 0) {
			text += put_now;
			bytes -= (size_t)put_now;
		}
	}
	return ftruncate(fd, length) == 0 && fsync(fd) == 0 ? 0 : -errno;
}

/* What shall be said, beside what is. */
static int
write_beside(struct record *record)
{
	int fd = openat(record->fd, beside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : write_all(fd, record->next, record->next_bytes);

	if (fd >= 0 && close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		record_discard(record);
	return rc;
}

/* The same, once more. */
static int
prepare_again(struct record *record)
{
	record->next = malloc(record->bytes);
	if (record->next == NULL)
		return -ENOMEM;
	memcpy(record->next, record->text, record->bytes);
	record->next_bytes = record->bytes;
	return write_beside(record);
}

static bool
anything_kept(const struct made *made)
{
	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].kept)
			return true;
	return false;
}

void
record_discard(struct record *record)
{
	if (record->next == NULL)
		return;
	free(record->next);
	record->next = NULL;
	reserve(record);
}

int
record_prepare(struct record *record, const struct made *made, bool always)
{
	bool nothing = !record->there && !record->doubt && !anything_kept(made);
	int rc;

	if (record->dir[0] == '\0' || (nothing && !always))
		return 0;
	rc = print(made, &record->next, &record->next_bytes);
	if (rc != 0 || (record->there && record->next_bytes == record->bytes &&
	    memcmp(record->next, record->text, record->bytes) == 0)) {
		free(record->next);
		record->next = NULL;
		return rc;
	}
	return write_beside(record);
}

int
record_commit(struct record *record)
{
	int rc = record->next == NULL && record->doubt && record->there ? prepare_again(record) : 0;

	if (rc != 0 || record->next == NULL)
		return rc;
	if (renameat(record->fd, beside, record->fd, name) != 0) {
		rc = -errno;
		record->doubt = true;
		record_discard(record);
		return rc;
	}
	free(record->text);
	record->text = record->next;
	record->bytes = record->next_bytes;
	record->next = NULL;
	record->there = true;
	reserve(record);
	return sync_folder(record);
}

void
record_end(struct record *record)
{
	free(record->text);
	free(record->next);
	record->text = record->next = NULL;
	if (record->dir[0] != '\0' && record->fd >= 0)
		close(record->fd);
	record->fd = -1;
}
