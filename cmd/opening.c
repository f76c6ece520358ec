#include "opening.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blk/fair.h"
#include "refuse.h"
#include "serve.h"
#include "volumes.h"
#include "world/reactor.h"

void
opening_init(struct opening *opening, struct reactor *reactor, const char *nqn, uint32_t nsid, const char *spec,
    uint32_t block_size, enum conf_qos_mode mode)
{
	*opening = (struct opening){
		.reactor = reactor, .nqn = nqn, .nsid = nsid, .block_size = block_size, .rc = -ECANCELED,
		.fair = mode != CONF_QOS_OFF,
		.why = "not opened",
	};
	snprintf(opening->spec, sizeof(opening->spec), "%s", spec);
}

static void
look(struct reactor *reactor, const char *path, const char *behind, uint64_t id[2])
{
	char name[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	snprintf(name, sizeof(name), "%.*s%s", CONF_SPEC, path, behind);
	if (reactor->world->file_id(reactor, name, id) != 0)
		memset(id, 0, sizeof(uint64_t[2])); /* what cannot be looked at is nobody's */
}

void
opening_look(struct reactor *reactor, const char *path, struct volume_names *names)
{
	char stem[CONF_SPEC];

	*names = (struct volume_names){ .of = { 0 } };
	look(reactor, path, "", names->file);
	look(reactor, path, BLK_BAD_SUFFIX, names->bad);
	if (volume_stem(path, stem))
		look(reactor, stem, "", names->of);
}

/* Also of what is not there yet: then realpath() leaves where it would be. */
static bool
leads_to(const char *path, char real[PATH_MAX])
{
	return realpath(path, real) != NULL || errno == ENOENT;
}

static bool
lies_in(const char *real, const char *folder)
{
	char whole[PATH_MAX];
	size_t length;

	if (realpath(folder, whole) == NULL)
		return false;
	length = strlen(whole);
	return strncmp(real, whole, length) == 0 && real[length] == '/';
}

static bool
is_link_to_nothing(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && access(path, F_OK) != 0;
}

int
opening_place(const char *path, const char *state_dir, char why[256])
{
	char real[PATH_MAX], stem[CONF_SPEC], bad[CONF_SPEC + sizeof(BLK_BAD_SUFFIX)];

	snprintf(bad, sizeof(bad), "%.*s" BLK_BAD_SUFFIX, CONF_SPEC, path);
	if (is_link_to_nothing(bad))
		return refuse(why, -EINVAL, "%.120s, where its bad blocks would be listed, is a link to what is not "
		    "there", bad);
	if (!leads_to(path, real))
		return 0; /* who opens it says why that cannot be */
	if (state_dir != NULL && lies_in(real, state_dir))
		return refuse(why, -EINVAL, "%.100s: it lies in %.100s, where the target keeps what is its own", path,
		    state_dir);
	if (!volume_stem(path, stem) && volume_stem(real, stem) && access(stem, F_OK) == 0)
		return refuse(why, -EINVAL, "%.80s: it is a link to %.130s, the list of bad blocks of another file",
		    path, real);
	return 0;
}

/* 0, or why not. */
static int
place(struct opening *opening)
{
	char path[BLK_SPEC];

	return blk_spec_path(opening->spec, path) ? opening_place(path, opening->state_dir, opening->why) : 0;
}

/* Those whose I/O waits for turns are spread over the reactors. */
static int
open_with(struct opening *opening, struct reactor *annex)
{
	int rc = blk_open(annex, opening->spec, opening->block_size, &opening->blk, opening->why);

	if (rc != 0 || !opening->fair)
		return rc;
	rc = fair_open(annex, opening->nsid % annex->count, opening->blk, &opening->blk);
	return rc == 0 ? 0 : refuse(opening->why, rc, "out of memory");
}

void
opening_run(struct opening *opening)
{
	struct reactor *annex;

	opening->rc = place(opening);
	if (opening->rc != 0)
		return;
	annex = opening->reactor->world->annex_open(opening->reactor);
	if (annex == NULL) {
		opening->rc = refuse(opening->why, -ENOMEM, "out of memory");
		return;
	}
	opening->rc = open_with(opening, annex);
	if (opening->rc != 0) {
		annex->world->annex_close(annex);
		return;
	}
	opening->annex = annex;
	if (opening->blk->path != NULL)
		opening_look(annex, opening->blk->path, &opening->names);
	identify_volume(opening->nqn, opening->blk, opening->id);
}

void
opening_close(struct opening *opening)
{
	if (opening->annex == NULL)
		return;
	opening->blk->ops->destroy(opening->blk);
	opening->annex->world->annex_close(opening->annex);
	opening->annex = NULL;
	opening->blk = NULL;
}

int
opening_undo(struct opening *opening)
{
	int rc = opening->annex != NULL ? blk_undo(opening->blk, opening->annex) : 0;

	opening_close(opening);
	return rc;
}
