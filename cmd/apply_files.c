#include "apply_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve.h"
#include "survey.h"
#include "sys/line.h"
#include "volumes.h"
#include "world/reactor.h"

struct apply_file {
	const char *path;
	uint64_t bytes;
	int64_t was; /* see struct file, */
	uint64_t id[2];
	bool done;
	struct opening *opening; /* of a volume, which is all there is then; or NULL */
	struct volume *grows;    /* one that is served, and whose file this is; or NULL */
};

/* ---- which ---- */

static int
add(struct apply_files *files, const char *path, uint64_t bytes)
{
	struct apply_file *file = &files->list[files->count];

	*file = (struct apply_file){ .path = arena_strdup(&files->arena, path), .bytes = bytes };
	files->count += file->path != NULL;
	return file->path != NULL ? 0 : -ENOMEM;
}

static int
add_opening(struct apply_files *files, const struct serving *serving, const char *nqn, const struct conf_ns *ns,
    const char *spec)
{
	struct opening *opening = arena_alloc(&files->arena, sizeof(*opening));

	if (opening == NULL)
		return -ENOMEM;
	opening_init(opening, serving->reactor, nqn, ns->nsid, spec, ns->block_size, ns->mode);
	opening->state_dir = serving->now->conf->state_dir;
	files->list[files->count++] = (struct apply_file){ .opening = opening };
	return 0;
}

/* A volume that is served is to be larger than it is. */
static int
add_growth(struct apply_files *files, struct volume *volume, uint64_t bytes)
{
	struct apply_file *file = &files->list[files->count];
	int rc = add(files, volume->blk->path, bytes);

	file->grows = rc == 0 ? volume : NULL;
	memcpy(file->id, volume->file.id, sizeof(file->id));
	return rc;
}

/* What is kept of a subsystem that is not served yet. */
static int
plan_events(struct apply_files *files, const struct serving *serving, const struct conf_subsys *subsys)
{
	const struct conf *now = serving->now->conf;
	char path[TARGET_EVENTS_PATH];
	uint8_t identity[16];

	if (now->state_dir == NULL || hosted_subsys(now, subsys->nqn) != NULL)
		return 0;
	identify_subsys(subsys->nqn, identity);
	target_events_path(now->state_dir, identity, path);
	return add(files, path, TARGET_EVENTS_BYTES);
}

static int
plan_one(struct apply_files *files, const struct serving *serving, const struct conf_subsys *subsys,
    const struct conf_ns *ns)
{
	struct volume *volume = volume_find(serving, subsys, ns);
	char spec[CONF_SPEC];

	conf_volume_spec(ns, spec);
	if (volume == NULL)
		return add_opening(files, serving, subsys->nqn, ns, spec);
	return volume->blk->path != NULL && volume->blk->blocks < ns->size / ns->block_size ?
	    add_growth(files, volume, ns->size) : 0;
}

int
apply_files_plan(struct apply_files *files, const struct serving *serving, const struct conf *next)
{
	uint32_t most = 1;
	int rc;

	for (uint32_t i = 0; i < next->subsys_count; i++)
		most += 1 + next->subsys[i].ns_count;
	*files = (struct apply_files){ .count = 0 };
	arena_init(&files->arena, 0);
	files->list = arena_alloc(&files->arena, most * sizeof(*files->list));
	rc = files->list != NULL ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < next->subsys_count && rc == 0; i++)
		rc = plan_events(files, serving, &next->subsys[i]);
	for (uint32_t i = 0; i < next->subsys_count; i++)
		for (uint32_t k = 0; k < next->subsys[i].ns_count && rc == 0; k++)
			rc = plan_one(files, serving, &next->subsys[i], &next->subsys[i].ns[k]);
	if (rc != 0)
		apply_files_end(files);
	return rc;
}

void
apply_files_end(struct apply_files *files)
{
	arena_drop(&files->arena);
	files->list = NULL;
	files->count = 0;
}

/* ---- beside the reactor ---- */

/* False: with this one all comes to nothing. */
static bool
make_one(struct reactor *reactor, struct apply_file *file)
{
	const struct world_ops *world = reactor->world;

	if (file->opening != NULL) {
		opening_run(file->opening);
		return file->opening->rc == 0;
	}
	if (file->grows != NULL) {
		struct volume *volume = file->grows;

		file->was = (int64_t)file->bytes;
		file->done = true;
		/* What has failed volume_ready() will be told too. */
		return blk_stretch(volume->blk, volume->annex, file->bytes / volume->block_size, &file->was) == 0;
	}
	/* What cannot be made is left for who needs it, who says why. */
	file->done = world->file_make(reactor, file->path, file->bytes, &file->was) == 0 &&
	    world->file_id(reactor, file->path, file->id) == 0;
	return true;
}

static void
make_all(struct errand *errand)
{
	struct apply_files *files = container_of(errand, struct apply_files, errand);

	for (uint32_t i = 0; i < files->count; i++)
		if (!make_one(files->reactor, &files->list[i]))
			return;
}

static void
undo_one(struct reactor *reactor, struct apply_file *file)
{
	bool touched = file->done && (file->was < 0 || (uint64_t)file->was < file->bytes);
	const char *path = file->path;
	int rc = 0;

	if (file->opening != NULL) {
		path = file->opening->spec;
		rc = opening_undo(file->opening);
	} else if (touched) {
		rc = reactor->world->file_undo(reactor, path, file->was, file->id);
	}
	file->done = false;
	if (rc == -ESTALE)
		line_say("weir: %s is another file by now, and left alone\n", path);
	else if (rc != 0)
		line_say("weir: %s stays as the change that failed has made it: %s\n", path, strerrordesc_np(-rc));
}

/* The last first: one file may be there by two names. */
static void
undo_all(struct errand *errand)
{
	struct apply_files *files = container_of(errand, struct apply_files, errand);

	for (uint32_t i = files->count; i-- > 0;)
		undo_one(files->reactor, &files->list[i]);
}

static void
done(struct errand *errand)
{
	struct apply_files *files = container_of(errand, struct apply_files, errand);

	files->beside = false;
	files->then(files);
}

static void
beside(struct apply_files *files, struct reactor *reactor, void (*run)(struct errand *errand),
    void (*then)(struct apply_files *files))
{
	files->reactor = reactor;
	files->then = then;
	files->errand = (struct errand){ .run = run, .done = done, .apart = true };
	files->beside = files->count > 0;
	if (files->count == 0)
		then(files);
	else
		reactor->world->errand(reactor, &files->errand);
}

void
apply_files_make(struct apply_files *files, struct reactor *reactor, void (*then)(struct apply_files *files))
{
	beside(files, reactor, make_all, then);
}

void
apply_files_undo(struct apply_files *files, struct reactor *reactor, void (*then)(struct apply_files *files))
{
	beside(files, reactor, undo_all, then);
}

void
apply_files_undo_now(struct apply_files *files, struct reactor *reactor)
{
	files->reactor = reactor;
	undo_all(&files->errand);
}

/* They are asked for in the order in which they were planned. */
struct opening *
apply_files_opening(struct apply_files *files, const char *nqn, uint32_t nsid)
{
	for (uint32_t i = 0; i < files->count; i++) {
		uint32_t at = (files->next + i) % files->count;
		struct opening *opening = files->list[at].opening;

		if (opening != NULL && opening->nsid == nsid && strcmp(opening->nqn, nqn) == 0) {
			files->next = at + 1;
			return opening;
		}
	}
	return NULL;
}
