/*
 * hosted_files.c - where the namespaces that hosts make have their place: files, and in configurations.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted.h"
#include "refuse.h"
#include "survey.h"
#include "sys/disk.h"
#include "sys/line.h"

enum { SMALLEST = 1024 * 1024, NAME_BYTES = 64 };

/* ---- files ---- */

const char *
hosted_folder(const char *pool)
{
	return strncmp(pool, "file:", 5) == 0 ? pool + 5 : NULL;
}

static void
file_name(uint64_t id, const uint8_t uuid[16], char name[NAME_BYTES])
{
	char text[MADE_UUID_TEXT];

	made_uuid_text(uuid, text);
	snprintf(name, NAME_BYTES, "weir-%016" PRIx64 "-%s.img", id, text);
}

uint64_t
hosted_volume_bytes(const struct made_ns *ns)
{
	uint64_t bytes = ns->blocks * ns->block_size;

	return bytes < SMALLEST ? SMALLEST : bytes;
}

void
hosted_path(const struct made *made, const uint8_t uuid[16], const char *pool, char path[CONF_SPEC])
{
	char name[NAME_BYTES];

	file_name(made->id, uuid, name);
	snprintf(path, CONF_SPEC, "%.*s/%s", CONF_POOL_MAX, hosted_folder(pool), name);
}

int
hosted_make_file(const char *path, uint64_t bytes, uint32_t block_size)
{
	struct disk disk;
	int rc = disk_open(path, bytes, block_size, &disk);

	if (rc != 0)
		return rc;
	rc = disk_extend(&disk, bytes);
	disk_close(&disk);
	return rc;
}

void
hosted_spec(const struct made *made, const struct made_ns *ns, const char *pool, char spec[CONF_SPEC])
{
	char name[NAME_BYTES];

	file_name(made->id, ns->uuid, name);
	if (hosted_folder(pool) == NULL)
		snprintf(spec, CONF_SPEC, "mem:%" PRIu64, hosted_volume_bytes(ns));
	else
		snprintf(spec, CONF_SPEC, "%.*s/%s", CONF_POOL_MAX, pool, name);
}

/* Durably before the file goes, or a loss of power could leave what nobody looks for. */
void
hosted_remove_reservations(const char *state_dir, const uint8_t uuid[16])
{
	char folder[CONF_STATE_DIR_MAX + 32], text[MADE_UUID_TEXT];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s/reservations", CONF_STATE_DIR_MAX, state_dir);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	made_uuid_text(uuid, text);
	if (fd >= 0 && unlinkat(fd, text, 0) == 0)
		(void)fsync(fd);
	else if (errno != ENOENT)
		line_say("weir: warning: reservations of a namespace that is deleted stay in %s/%s: %s\n", folder, text,
		    strerrordesc_np(errno));
	if (fd >= 0)
		close(fd);
}

static void
remove_one(const char *path)
{
	if (unlink(path) != 0 && errno != ENOENT)
		line_say("weir: error: %s, of a namespace that is deleted, stays: %s\n", path, strerrordesc_np(errno));
}

void
hosted_remove_volume(const char *path)
{
	char bad[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	snprintf(bad, sizeof(bad), "%.*s" BLK_BAD_SUFFIX, CONF_SPEC, path);
	remove_one(bad);
	remove_one(path);
}

void
hosted_remove_file(const char *state_dir, const char *path, const uint8_t uuid[16])
{
	hosted_remove_reservations(state_dir, uuid);
	hosted_remove_volume(path);
}

static bool
is_named(const struct made *made, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].own && memcmp(made->ns[i].uuid, uuid, 16) == 0)
			return true;
	return false;
}

/* Whether the file is one of our own names, of a volume or its bad blocks, and of no namespace. */
static bool
is_stray(const struct made *made, const char *entry, uint8_t uuid[16])
{
	char name[NAME_BYTES], text[MADE_UUID_TEXT];
	size_t before = strlen("weir--") + 16;

	if (strlen(entry) <= before)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1, entry + before);
	if (!made_uuid_parse(text, uuid) || is_named(made, uuid))
		return false;
	file_name(made->id, uuid, name);
	return strncmp(entry, name, strlen(name)) == 0 &&
	    (entry[strlen(name)] == '\0' || strcmp(entry + strlen(name), BLK_BAD_SUFFIX) == 0);
}

/* With what holds it for us, which is to be closed; or it is not there: then fd is -1. */
static int
hold(const char *path, struct disk *disk)
{
	int rc = disk_open(path, 0, SMALLEST, disk);

	if (rc == 0 && (rc = disk_lock(disk, false)) != 0)
		disk_close(disk);
	if (rc != 0)
		disk->fd = -1;
	return rc != -ENOENT ? rc : 0;
}

/* Not where another target serves it: it may have this one's number, of a copy of its record. */
static int
remove_stray(const struct hosted *hosted, const char *pool, const uint8_t uuid[16])
{
	char path[CONF_SPEC], bad[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];
	struct disk volume, list = { .fd = -1 };
	int rc;

	hosted_path(hosted->state->made, uuid, pool, path);
	snprintf(bad, sizeof(bad), "%s" BLK_BAD_SUFFIX, path);
	rc = hold(path, &volume);
	if (rc == 0)
		rc = hold(bad, &list);
	if (rc == 0)
		hosted_remove_file(hosted->record.dir, path, uuid);
	if (list.fd >= 0)
		disk_close(&list);
	if (volume.fd >= 0)
		disk_close(&volume);
	return rc;
}

static void
clean_folder(const struct hosted *hosted, const char *pool)
{
	DIR *dir = opendir(hosted_folder(pool));
	struct dirent *entry;
	uint8_t uuid[16];
	int rc;

	while (dir != NULL && (errno = 0, entry = readdir(dir)) != NULL) {
		if (!is_stray(hosted->state->made, entry->d_name, uuid))
			continue;
		rc = remove_stray(hosted, pool, uuid);
		if (rc == 0)
			fprintf(stderr, "weir: %s/%s is removed: it is of no namespace that hosts have made\n",
			    hosted_folder(pool), entry->d_name);
		else
			fprintf(stderr, "weir: %s/%s is of no namespace that hosts have made, and left alone: %s\n",
			    hosted_folder(pool), entry->d_name,
			    rc == -EBUSY ? "somebody else uses it" : strerrordesc_np(-rc));
	}
	if (errno != 0)
		fprintf(stderr, "weir: warning: %s cannot be looked through for files that no namespace has: %s\n",
		    pool, strerror(errno));
	if (dir != NULL)
		closedir(dir);
}

void
hosted_clean(struct hosted *hosted, const struct conf *conf)
{
	for (uint32_t i = 0; i < conf->subsys_count && hosted->record.there; i++)
		if (conf->subsys[i].pool != NULL && hosted_folder(conf->subsys[i].pool) != NULL)
			clean_folder(hosted, conf->subsys[i].pool);
}

/* ---- what a configuration may be ---- */

const struct conf_subsys *
hosted_subsys(const struct conf *conf, const char *nqn)
{
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		if (strcmp(conf->subsys[i].nqn, nqn) == 0)
			return &conf->subsys[i];
	return NULL;
}

const struct conf_ns *
hosted_conf_ns(const struct conf_subsys *subsys, uint32_t nsid)
{
	for (uint32_t i = 0; i < subsys->ns_count; i++)
		if (subsys->ns[i].nsid == nsid)
			return &subsys->ns[i];
	return NULL;
}

bool
hosted_group_there(const struct conf_subsys *subsys, uint32_t id)
{
	for (uint32_t i = 0; i < subsys->ana_count; i++)
		if (subsys->ana[i].id == id)
			return true;
	return false;
}

static int
check_one(const struct made_ns *ns, const struct conf *now, const struct conf *next, char why[256])
{
	const struct conf_subsys *subsys = hosted_subsys(next, ns->nqn);
	const struct conf_subsys *had = now != NULL ? hosted_subsys(now, ns->nqn) : NULL;

	if (subsys == NULL)
		return refuse(why, -EINVAL,
		    "hosts have made namespaces in %.120s, which the configuration does not have", ns->nqn);
	if (subsys->pool == NULL || (now == NULL && hosted_folder(subsys->pool) == NULL) ||
	    (had != NULL && strcmp(subsys->pool, had->pool) != 0))
		return refuse(why, -EINVAL,
		    "hosts have made namespaces in %.120s, for which `host_namespaces` has no place", ns->nqn);
	if (hosted_conf_ns(subsys, ns->nsid) != NULL)
		return refuse(why, -EINVAL, "namespace %u of %.100s is one that a host has made: the configuration's "
		    "needs another number, or its host deletes it first", ns->nsid, ns->nqn);
	if (!hosted_group_there(subsys, ns->ana_group))
		return refuse(why, -EINVAL, "namespace %u of %.120s, which a host has made, is in ANA group %u",
		    ns->nsid, ns->nqn, ns->ana_group);
	return 0;
}

/* Once for all of them: each sum looks at all that there are. */
static int
check_sums(const struct made *made, const struct conf_subsys *subsys, char why[256])
{
	uint64_t bytes = made_bytes(made, subsys->nqn);
	uint32_t count = made_count(made, subsys->nqn);

	if (bytes > subsys->pool_size)
		return refuse(why, -EINVAL,
		    "hosts have made namespaces of %" PRIu64 " bytes in %.120s, more than `host_namespaces` allows",
		    bytes, subsys->nqn);
	if (count > subsys->pool_count)
		return refuse(why, -EINVAL,
		    "hosts have made %u namespaces in %.120s, more than the `count` of `host_namespaces`", count,
		    subsys->nqn);
	return 0;
}

const char *
hosted_new_folder(const struct conf *now, const struct conf_subsys *subsys)
{
	const struct conf_subsys *had = now != NULL ? hosted_subsys(now, subsys->nqn) : NULL;

	if (subsys->pool == NULL || (had != NULL && had->pool != NULL && strcmp(had->pool, subsys->pool) == 0))
		return NULL;
	return hosted_folder(subsys->pool);
}

static int
check_folder(const struct survey *survey, const struct conf *now, const struct conf_subsys *subsys, char why[256])
{
	const char *folder = hosted_new_folder(now, subsys);
	int rc;

	if (folder == NULL)
		return 0;
	if (survey != NULL)
		rc = survey_folder(survey, folder);
	else
		rc = access(folder, R_OK | W_OK | X_OK) == 0 ? 0 : -errno;
	if (rc == 0)
		return 0;
	return refuse(why, -EINVAL, "%.140s, where hosts may make namespaces: %s", folder, strerrordesc_np(-rc));
}

int
hosted_check(const struct hosted *hosted, const struct conf *now, const struct conf *next, char why[256])
{
	const struct made *made = hosted->state->made;
	int rc = 0;

	for (uint32_t i = 0; i < made->count && rc == 0; i++)
		if (made->ns[i].own)
			rc = check_one(&made->ns[i], now, next, why);
	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		if (next->subsys[i].pool != NULL)
			rc = check_sums(made, &next->subsys[i], why);
	return rc;
}

int
hosted_check_folders(const struct survey *survey, const struct conf *now, const struct conf *next, char why[256])
{
	int rc = 0;

	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		rc = check_folder(survey, now, &next->subsys[i], why);
	return rc;
}
