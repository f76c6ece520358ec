#include "opening.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "refuse.h"
#include "serve.h"
#include "volumes.h"
#include "world/reactor.h"

void
opening_init(struct opening *opening, struct reactor *reactor, const char *nqn, uint32_t nsid, const char *spec,
    uint32_t block_size)
{
	*opening = (struct opening){
		.reactor = reactor, .nqn = nqn, .nsid = nsid, .block_size = block_size, .rc = -ECANCELED,
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

void
opening_run(struct opening *opening)
{
	struct reactor *annex = opening->reactor->world->annex_open(opening->reactor);

	if (annex == NULL) {
		opening->rc = refuse(opening->why, -ENOMEM, "out of memory");
		return;
	}
	opening->rc = blk_open(annex, opening->spec, opening->block_size, &opening->blk, opening->why);
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
