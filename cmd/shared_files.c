/*
 * shared_files.c - that no file is two volumes, nor a volume and the bad blocks of another, nor a UUID that of two.
 *
 * What guards blocks, and says who may write them, is of a volume: of two over the same file neither would know of the
 * other.  That is so too of the two that a namespace would have while it changes from one to the other.  Which file it
 * is says the world: it may have several names.  What is kept by a UUID is of one volume in the same way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refuse.h"
#include "survey.h"
#include "volumes.h"
#include "world/reactor.h"

static bool
is_there(const uint64_t id[2])
{
	return (id[0] | id[1]) != 0;
}

/* Where the one with this id is, or would be. */
static struct volume_file **
table_at(const struct serving *serving, const uint64_t id[2])
{
	struct volume_file **at;

	at = (struct volume_file **)&serving->file_table[(id[0] * 31 + id[1]) % SERVING_VOLUMES];
	while (*at != NULL && memcmp((*at)->id, id, sizeof((*at)->id)) != 0)
		at = &(*at)->next;
	return at;
}

/* Whose it is, of volumes and lists of bad blocks; NULL: nobody's. */
static const struct volume_file *
find(const struct serving *serving, const uint64_t id[2])
{
	return is_there(id) ? *table_at(serving, id) : NULL;
}

bool
volume_stem(const char *path, char stem[CONF_SPEC])
{
	size_t length = strlen(path), behind = strlen(BLK_BAD_SUFFIX);

	if (length <= behind || strcmp(path + length - behind, BLK_BAD_SUFFIX) != 0)
		return false;
	snprintf(stem, CONF_SPEC, "%.*s", (int)(length - behind), path);
	return true;
}

/* Who has what a path leads to, or what would be its list of bad blocks; NULL: nobody. */
static struct volume *
holder(const struct serving *serving, const struct volume_names *names)
{
	const struct volume_file *found = find(serving, names->file);

	if (found == NULL)
		found = find(serving, names->bad);
	if (found == NULL && (found = find(serving, names->of)) != NULL && found == &found->volume->bad)
		found = NULL; /* whose list has no list */
	return found != NULL ? found->volume : NULL;
}

/* As a survey found them. */
static void
surveyed(const struct survey *survey, const char *path, struct volume_names *names)
{
	char other[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	*names = (struct volume_names){ .of = { 0 } };
	survey_id(survey, path, names->file);
	snprintf(other, sizeof(other), "%.*s" BLK_BAD_SUFFIX, CONF_SPEC, path);
	survey_id(survey, other, names->bad);
	if (volume_stem(path, other))
		survey_id(survey, other, names->of);
}

/* What that volume has, and a namespace is to have; `what`: which that is. */
static int
clash(const struct volume *other, const char *nqn, uint32_t nsid, const char *what, char why[256])
{
	if (other->retired)
		return refuse(why, -EBUSY,
		    "%.80s: namespace %u of %.100s, which is being given up, still uses it: try again", what,
		    other->nsid, other->nqn);
	if (other->nsid != nsid || strcmp(other->nqn, nqn) != 0)
		return refuse(why, -EBUSY, "%.80s: is already served as namespace %u of %.100s", what, other->nsid,
		    other->nqn);
	return refuse(why, -EBUSY, "%.80s: the namespace is served with it in another way: "
	    "take the namespace away in one change, and bring it back in the next", what);
}

/* The log of ordered writes lies there. */
static bool
is_order_log(const struct serving *serving, const uint64_t id[2])
{
	const struct store *order = serving->order;

	return order != NULL && order->held != NULL && is_there(id) &&
	    memcmp(order->held->id, id, sizeof(order->held->id)) == 0;
}

int
volume_alone(const struct serving *serving, const char *nqn, uint32_t nsid, const char *path,
    const struct volume_names *names, char why[256])
{
	const struct volume *other = holder(serving, names);

	if (is_order_log(serving, names->file) || is_order_log(serving, names->bad))
		return refuse(why, -EBUSY, "%.80s: the log of ordered writes lies there", path);
	return other != NULL ? clash(other, nqn, nsid, path, why) : 0;
}

static void
note(const struct serving *serving, struct volume *volume, struct volume_file *file)
{
	struct volume_file **at = table_at(serving, file->id);

	if (!is_there(file->id) || *at != NULL)
		return;
	file->volume = volume;
	*at = file;
}

void
volume_note_file(struct serving *serving, struct volume *volume, const struct volume_names *names)
{
	memcpy(volume->file.id, names->file, sizeof(names->file));
	memcpy(volume->bad.id, names->bad, sizeof(names->bad));
	note(serving, volume, &volume->file);
	note(serving, volume, &volume->bad);
}

static void
forget(const struct serving *serving, struct volume_file *file)
{
	struct volume_file **at = table_at(serving, file->id);

	if (*at == file)
		*at = file->next;
}

void
volume_forget_file(struct serving *serving, struct volume *volume)
{
	forget(serving, &volume->file);
	forget(serving, &volume->bad);
	serving->closed++;
}

/* A volume whose reservations are kept under this UUID. */
struct keeper {
	uint8_t uuid[16];
	const struct volume *volume;
};

/* All of them, in the order of their UUIDs: as many namespaces ask as there are volumes. */
struct keepers {
	struct keeper *list; /* malloc()ed */
	size_t count;
};

static int
by_uuid(const void *a, const void *b)
{
	const struct keeper *one = a, *other = b;

	return memcmp(one->uuid, other->uuid, sizeof(one->uuid));
}

/* Of all volumes, or those that are being given up.  0, or -ENOMEM. */
static int
keepers_find(const struct serving *serving, bool retired, struct keepers *keepers)
{
	size_t count = 0;

	list_for_each(&serving->volumes, node)
		count += !retired || container_of(node, struct volume, node)->retired;
	*keepers = (struct keepers){ .list = malloc((count + 1) * sizeof(*keepers->list)) };
	if (keepers->list == NULL)
		return -ENOMEM;
	list_for_each(&serving->volumes, node) {
		const struct volume *volume = container_of(node, struct volume, node);
		struct keeper *next = &keepers->list[keepers->count];

		next->volume = volume;
		if (!volume->closing && (!retired || volume->retired))
			keepers->count += target_keeps(serving->target, volume->blk, next->uuid);
	}
	qsort(keepers->list, keepers->count, sizeof(*keepers->list), by_uuid);
	return 0;
}

/* Whose reservations are kept under this UUID; NULL: nobody's. */
static const struct volume *
keeper_of(const struct keepers *keepers, const uint8_t uuid[16])
{
	const struct keeper *found;
	struct keeper like;

	memcpy(like.uuid, uuid, sizeof(like.uuid));
	found = bsearch(&like, keepers->list, keepers->count, sizeof(like), by_uuid);
	return found != NULL ? found->volume : NULL;
}

/* Who has what a namespace of a configuration needs, its file or its UUID, and which that is; NULL: nobody, or it has
 * its volume. */
static const struct volume *
in_the_way(const struct serving *serving, const struct survey *survey, const struct keepers *keepers,
    const struct conf_subsys *subsys, const struct conf_ns *ns, char what[BLK_SPEC])
{
	static const uint8_t none[16];
	const struct volume *other = NULL;
	struct volume_names names;
	char spec[CONF_SPEC];

	if (volume_find(serving, subsys, ns) != NULL)
		return NULL;
	conf_volume_spec(ns, spec);
	if (blk_spec_path(spec, what)) {
		surveyed(survey, what, &names);
		other = holder(serving, &names);
	}
	if (other != NULL || memcmp(ns->uuid, none, sizeof(none)) == 0)
		return other;
	strcpy(what, "UUID ");
	made_uuid_text(ns->uuid, what + strlen(what));
	return keeper_of(keepers, ns->uuid);
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
subsystem_awaits(const struct serving *serving, const struct survey *survey, const struct keepers *keepers,
    const struct conf_subsys *subsys)
{
	char what[BLK_SPEC];

	for (uint32_t i = 0; i < subsys->ns_count; i++) {
		const struct volume *other = in_the_way(serving, survey, keepers, subsys, &subsys->ns[i], what);

		if (other != NULL && other->retired)
			return true;
	}
	return false;
}

bool
volumes_await(const struct serving *serving, const struct survey *survey, const struct conf *next)
{
	struct keepers keepers;
	bool awaits = false;

	if (!any_retired(serving))
		return false;
	if (keepers_find(serving, true, &keepers) != 0)
		return true; /* there may be memory when it is asked again */
	for (uint32_t i = 0; i < next->subsys_count && !awaits; i++)
		awaits = subsystem_awaits(serving, survey, &keepers, &next->subsys[i]);
	free(keepers.list);
	return awaits;
}

/* What is kept of a volume that stays is kept by its UUID. */
static int
same_uuid(const struct serving *serving, const struct conf_subsys *subsys, const struct conf_ns *ns,
    const struct volume *volume, char why[256])
{
	struct identity next = identity_of(ns, volume);
	bool keeps = serving->now->conf->state_dir != NULL && next.lasts;
	uint8_t kept[16];

	if (target_keeps(serving->target, volume->blk, kept) == keeps &&
	    (!keeps || memcmp(kept, next.uuid, sizeof(kept)) == 0))
		return 0;
	return refuse(why, -EBUSY, "namespace %u of %.80s: its UUID cannot change while it is served, for reservations "
	    "are kept by it: take the namespace away in one change, and bring it back in the next", ns->nsid,
	    subsys->nqn);
}

static int
fits(const struct serving *serving, const struct survey *survey, const struct keepers *keepers,
    const struct conf_subsys *subsys, const struct conf_ns *ns, char why[256])
{
	char what[BLK_SPEC], reason[256];
	const struct volume *volume = volume_find(serving, subsys, ns), *other;

	if (volume != NULL)
		return same_uuid(serving, subsys, ns, volume, why);
	other = in_the_way(serving, survey, keepers, subsys, ns, what);
	if (other == NULL || other->retired)
		return 0;
	(void)clash(other, subsys->nqn, ns->nsid, what, reason);
	return refuse(why, -EBUSY, "namespace %u: %.230s", ns->nsid, reason);
}

/* Of a namespace that has no volume yet, as if it had: nobody before it has its file. */
static int
fits_beside(const struct serving *serving, const struct survey *survey, const struct conf_subsys *subsys,
    const struct conf_ns *ns, struct volume *one, char why[256])
{
	char spec[CONF_SPEC], path[BLK_SPEC], reason[256];
	struct volume_names names;
	const struct volume *other;

	conf_volume_spec(ns, spec);
	if (volume_find(serving, subsys, ns) != NULL || !blk_spec_path(spec, path))
		return 0;
	surveyed(survey, path, &names);
	other = holder(serving, &names);
	if (other != NULL && other->blk == NULL) {
		(void)clash(other, subsys->nqn, ns->nsid, path, reason);
		return refuse(why, -EBUSY, "namespace %u: %.230s", ns->nsid, reason);
	}
	snprintf(one->nqn, sizeof(one->nqn), "%s", subsys->nqn);
	one->nsid = ns->nsid;
	if (!is_there(names.file))
		memcpy(names.file, names.of, sizeof(names.file)); /* it will be in the way of that one */
	memcpy(one->file.id, names.file, sizeof(names.file));
	memcpy(one->bad.id, names.bad, sizeof(names.bad));
	note(serving, one, &one->file);
	note(serving, one, &one->bad);
	return 0;
}

static uint32_t
count_namespaces(const struct conf *conf)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < conf->subsys_count; i++)
		count += conf->subsys[i].ns_count;
	return count;
}

/* And of those that it brings none is another one by another name. */
static int
fit_together(const struct serving *serving, const struct survey *survey, const struct conf *next, char why[256])
{
	struct volume *news = calloc(count_namespaces(next) + 1, sizeof(*news)), *one = news;
	int rc = news != NULL ? 0 : refuse(why, -ENOMEM, "out of memory");

	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		for (uint32_t k = 0; k < next->subsys[i].ns_count && rc == 0; k++)
			rc = fits_beside(serving, survey, &next->subsys[i], &next->subsys[i].ns[k], one++, why);
	while (one != news) {
		one--;
		forget(serving, &one->file);
		forget(serving, &one->bad);
	}
	free(news);
	return rc;
}

int
volumes_fit(const struct serving *serving, const struct survey *survey, const struct conf *next, char why[256])
{
	struct keepers keepers;
	int rc = keepers_find(serving, false, &keepers);

	if (rc != 0)
		return refuse(why, rc, "out of memory");
	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		for (uint32_t k = 0; k < next->subsys[i].ns_count && rc == 0; k++)
			rc = fits(serving, survey, &keepers, &next->subsys[i], &next->subsys[i].ns[k], why);
	free(keepers.list);
	return rc == 0 ? fit_together(serving, survey, next, why) : rc;
}
