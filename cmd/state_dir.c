/*
 * state_dir.c - the folder of what must outlive a restart: it is there, and is ours alone.
 *
 * What lies in it is not known here.  Some of it is of the whole target (the record of namespaces), some of a
 * subsystem or a volume: two targets that share none of these would still write over each other's record.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"
#include "sys/disk.h"

enum { PATH_BYTES = 512, LOCK_BLOCK = 512 /* nothing is read or written */ };

/* Made durably, if it is not there: its name lies in the folder above it. */
static int
make_one(const char *path)
{
	const char *name = strrchr(path, '/');
	char above[PATH_BYTES] = ".";
	int fd, rc = 0;

	if (mkdir(path, 0755) != 0)
		return errno == EEXIST ? 0 : -errno;
	if (name != NULL)
		snprintf(above, sizeof(above), "%.*s", name > path ? (int)(name - path) : 1, path);
	fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* It may be one that nobody may list; and some file systems cannot sync a folder, and say EINVAL. */
	if (fd < 0 ? errno != EACCES : fsync(fd) != 0 && errno != EINVAL)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (rc != 0) /* or the next start would take it for durable */
		(void)rmdir(path);
	return rc;
}

int
folder_make(const char *path)
{
	char part[PATH_BYTES];
	int rc;

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		rc = make_one(part);
		if (rc != 0)
			return rc;
		*p = '/';
	}
	return make_one(part);
}

static int
make(const char *dir)
{
	static const char *const folders[] = { "reservations", "events" };
	char path[PATH_BYTES];
	int rc = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && rc == 0; i++) {
		rc = -ENAMETOOLONG;
		if (snprintf(path, sizeof(path), "%s/%s", dir, folders[i]) < (int)sizeof(path))
			rc = folder_make(path);
	}
	if (rc != 0)
		fprintf(stderr, "weir: cannot make the state directory %s: %s\n", dir, strerror(-rc));
	return rc;
}

/* The descriptor stays open, and so the lock is held, until the process ends; who follows it waits for that as for
 * the files of its volumes. */
static int
lock(const char *dir)
{
	char path[PATH_BYTES];
	struct disk disk;
	int rc = -ENAMETOOLONG;

	if (snprintf(path, sizeof(path), "%s/lock", dir) < (int)sizeof(path))
		rc = disk_open(path, 1, LOCK_BLOCK, &disk);
	if (rc == 0)
		rc = disk_lock(&disk, true);
	if (rc == -EBUSY)
		fprintf(stderr, "weir: the state directory %s is busy: it belongs to another weir that runs\n", dir);
	else if (rc != 0)
		fprintf(stderr, "weir: cannot lock the state directory %s: %s\n", dir, strerror(-rc));
	return rc;
}

int
state_dir_take(const char *dir)
{
	int rc = make(dir);

	return rc == 0 ? lock(dir) : rc;
}
