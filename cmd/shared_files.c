/*
 * shared_files.c - that no file is two volumes, nor a volume and the bad blocks of another.
 *
 * What guards blocks, and says who may write them, is of a volume: of two over the same file neither would know of the
 * other.  Which file it is says the world: it may have several names.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "refuse.h"
#include "volumes.h"
#include "world/reactor.h"

static bool
is_there(const uint64_t id[2])
{
	return (id[0] | id[1]) != 0;
}

static bool
is_same(const uint64_t a[2], const uint64_t b[2])
{
	return is_there(a) && memcmp(a, b, sizeof(uint64_t[2])) == 0;
}

/* What is not there yet, or cannot be looked at, is nobody's. */
static void
look(struct reactor *reactor, const char *path, const char *behind, uint64_t id[2])
{
	char name[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	snprintf(name, sizeof(name), "%.*s%s", CONF_SPEC, path, behind);
	if (reactor->world->file_id(reactor, name, id) != 0)
		memset(id, 0, sizeof(uint64_t[2]));
}

/* Whose list of bad blocks a file would be, by its name: it may be made later. */
static void
look_before(struct reactor *reactor, const char *path, uint64_t id[2])
{
	size_t length = strlen(path), behind = strlen(BLK_BAD_SUFFIX);
	char stem[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	memset(id, 0, sizeof(uint64_t[2]));
	if (length <= behind || strcmp(path + length - behind, BLK_BAD_SUFFIX) != 0)
		return;
	snprintf(stem, sizeof(stem), "%.*s", (int)(length - behind), path);
	look(reactor, stem, "", id);
}

/* Who has the file at `path`, or what would be its list of bad blocks; NULL: nobody. */
static struct volume *
holder(const struct serving *serving, const char *path)
{
	struct reactor *reactor = serving->reactor;
	uint64_t file[2], bad[2], of[2];

	look(reactor, path, "", file);
	look(reactor, path, BLK_BAD_SUFFIX, bad);
	look_before(reactor, path, of);
	list_for_each(&serving->volumes, node) {
		struct volume *volume = container_of(node, struct volume, node);

		if (is_same(file, volume->file) || is_same(file, volume->bad) || is_same(bad, volume->file) ||
		    is_same(bad, volume->bad) || is_same(of, volume->file))
			return volume;
	}
	return NULL;
}

/* That may be said in other words: with other filters, or another size of blocks. */
static bool
is_its_own(const struct volume *other, const char *nqn, uint32_t nsid)
{
	return !other->retired && other->nsid == nsid && strcmp(other->nqn, nqn) == 0;
}

int
volume_alone(const struct serving *serving, const char *nqn, uint32_t nsid, const char *path, char why[256])
{
	const struct volume *other = holder(serving, path);

	if (other == NULL || is_its_own(other, nqn, nsid))
		return 0;
	return refuse(why, -EBUSY, other->retired ?
	    "%.80s: namespace %u of %.100s, which is being given up, still uses it: try again" :
	    "%.80s: is already served as namespace %u of %.100s", path, other->nsid, other->nqn);
}

void
volume_note_file(const struct serving *serving, struct volume *volume)
{
	look(serving->reactor, volume->blk->path, "", volume->file);
	look(serving->reactor, volume->blk->path, BLK_BAD_SUFFIX, volume->bad);
}

static bool
any_retired(const struct serving *serving)
{
	list_for_each(&serving->volumes, node)
		if (container_of(node, struct volume, node)->retired)
			return true;
	return false;
}

static bool
awaits(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	char spec[CONF_SPEC], path[BLK_SPEC];
	const struct volume *other = NULL;

	conf_volume_spec(ns, spec);
	if (volume_find(serving, subsys, ns) == NULL && blk_spec_path(spec, path))
		other = holder(serving, path);
	return other != NULL && other->retired;
}

bool
volumes_await(const struct serving *serving, const struct conf *next)
{
	if (!any_retired(serving))
		return false;
	for (uint32_t i = 0; i < next->subsys_count; i++)
		for (uint32_t k = 0; k < next->subsys[i].ns_count; k++)
			if (awaits(serving, &next->subsys[i], &next->subsys[i].ns[k]))
				return true;
	return false;
}
