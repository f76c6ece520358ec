/*
 * hosted_files.c - where the namespaces that hosts make have their place: files, and in configurations.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted.h"

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

/* What is asked for, or what the smallest volume has. */
static uint64_t
volume_bytes(const struct made_ns *ns)
{
	uint64_t bytes = ns->blocks * ns->block_size;

	return bytes < SMALLEST ? SMALLEST : bytes;
}

void
hosted_spec(const struct made *made, const struct made_ns *ns, const char *pool, char spec[CONF_SPEC])
{
	char name[NAME_BYTES];

	file_name(made->id, ns->uuid, name);
	if (hosted_folder(pool) == NULL)
		snprintf(spec, CONF_SPEC, "mem:%" PRIu64, volume_bytes(ns));
	else if (ns->fresh)
		snprintf(spec, CONF_SPEC, "%.*s/%s,size=%" PRIu64, CONF_POOL_MAX, pool, name, volume_bytes(ns));
	else
		snprintf(spec, CONF_SPEC, "%.*s/%s", CONF_POOL_MAX, pool, name);
}

/* A file that is not wanted any more, or never came to be. */
void
hosted_remove(const struct hosted *hosted, const char *pool, const uint8_t uuid[16])
{
	char path[CONF_SPEC], name[NAME_BYTES];

	file_name(hosted->state->made->id, uuid, name);
	snprintf(path, sizeof(path), "%.*s/%s", CONF_POOL_MAX, hosted_folder(pool), name);
	unlink(path);
}

static bool
is_named(const struct made *made, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < made->count; i++)
		if (made->ns[i].own && memcmp(made->ns[i].uuid, uuid, 16) == 0)
			return true;
	return false;
}

/* Of our own name, and of no namespace. */
static void
clean_folder(const struct hosted *hosted, const char *pool)
{
	const struct made *made = hosted->state->made;
	char before[32], name[NAME_BYTES];
	DIR *dir = opendir(hosted_folder(pool));
	struct dirent *entry;
	uint8_t uuid[16];

	snprintf(before, sizeof(before), "weir-%016" PRIx64 "-", made->id);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		size_t length = strlen(before);
		char text[MADE_UUID_TEXT] = "";

		if (strncmp(entry->d_name, before, length) != 0)
			continue;
		strncat(text, entry->d_name + length, sizeof(text) - 1);
		if (!made_uuid_parse(text, uuid) || is_named(made, uuid))
			continue;
		file_name(made->id, uuid, name);
		if (strcmp(name, entry->d_name) == 0)
			hosted_remove(hosted, pool, uuid);
	}
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

static int __attribute__((format(printf, 2, 3)))
refuse(char why[256], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, 256, format, args);
	va_end(args);
	return -EINVAL;
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

static int
check_one(const struct made *made, const struct made_ns *ns, const struct conf *now, const struct conf *next,
    char why[256])
{
	const struct conf_subsys *subsys = hosted_subsys(next, ns->nqn);
	const struct conf_subsys *had = now != NULL ? hosted_subsys(now, ns->nqn) : NULL;

	if (subsys == NULL)
		return refuse(why, "hosts have made namespaces in %.120s, which the configuration does not have", ns->nqn);
	if (subsys->pool == NULL || (now == NULL && hosted_folder(subsys->pool) == NULL) ||
	    (had != NULL && strcmp(subsys->pool, had->pool) != 0))
		return refuse(why, "hosts have made namespaces in %.120s, for which `host_namespaces` has no place", ns->nqn);
	if (hosted_conf_ns(subsys, ns->nsid) != NULL)
		return refuse(why, "namespace %u of %.120s is one that a host has made", ns->nsid, ns->nqn);
	if (made_bytes(made, ns->nqn) > subsys->pool_size)
		return refuse(why, "hosts have made namespaces of %" PRIu64 " bytes in %.120s, more than `host_namespaces` allows",
		    made_bytes(made, ns->nqn), ns->nqn);
	return 0;
}

static int
check_folder(const struct conf_subsys *subsys, char why[256])
{
	const char *folder = subsys->pool != NULL ? hosted_folder(subsys->pool) : NULL;

	if (folder == NULL || access(folder, R_OK | W_OK | X_OK) == 0)
		return 0;
	return refuse(why, "%.140s, where hosts may make namespaces: %s", folder, strerrordesc_np(errno));
}

int
hosted_check(const struct hosted *hosted, const struct conf *now, const struct conf *next, char why[256])
{
	const struct made *made = hosted->state->made;
	int rc = 0;

	for (uint32_t i = 0; i < made->count && rc == 0; i++)
		if (made->ns[i].own)
			rc = check_one(made, &made->ns[i], now, next, why);
	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		rc = check_folder(&next->subsys[i], why);
	return rc;
}
