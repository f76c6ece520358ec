/*
 * fits.c - what a running target of one configuration cannot make of another in one change, as far as the texts say.
 *
 * That a file has more names than one is not known here, nor what hosts have
 * made: the running target knows.
 */
#include <stdio.h>
#include <string.h>

#include "conf/diff.h"
#include "conf/internal.h"

/* Whose file that was. */
struct owner {
	const struct conf_subsys *subsys;
	const struct conf_ns *ns;
};

static bool
is_same(const struct owner *a, const struct owner *b)
{
	return a->ns->nsid == b->ns->nsid && strcmp(a->subsys->nqn, b->subsys->nqn) == 0;
}

static bool
owner_of(const struct conf *conf, const char *path, struct owner *owner)
{
	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		for (uint32_t k = 0; k < conf->subsys[i].ns_count; k++) {
			const char *other = volume_path(conf->subsys[i].ns[k].volume);

			*owner = (struct owner){ &conf->subsys[i], &conf->subsys[i].ns[k] };
			if (other != NULL && strcmp(other, path) == 0)
				return true;
		}
	}
	return false;
}

static bool
ns_fits(const struct conf *old, const struct owner *now, char why[256])
{
	const char *path = volume_path(now->ns->volume);
	struct owner had;

	if (path == NULL || !owner_of(old, path, &had))
		return true;
	if (!is_same(now, &had))
		snprintf(why, 256, "namespace %u: %.80s: is already served as namespace %u of %.100s", now->ns->nsid,
		    path, had.ns->nsid, had.subsys->nqn);
	else if (had.ns->block_size != now->ns->block_size || strcmp(had.ns->volume, now->ns->volume) != 0)
		snprintf(why, 256, "namespace %u: %.80s: the namespace is served with it in another way: "
		    "take the namespace away in one change, and bring it back in the next", now->ns->nsid, path);
	else
		return true;
	return false;
}

bool
conf_fits(const struct conf *old, const struct conf *new, char why[256])
{
	for (uint32_t i = 0; i < new->subsys_count; i++) {
		for (uint32_t k = 0; k < new->subsys[i].ns_count; k++) {
			const struct owner now = { &new->subsys[i], &new->subsys[i].ns[k] };

			if (!ns_fits(old, &now, why))
				return false;
		}
	}
	return true;
}
