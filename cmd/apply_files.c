#include "apply_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve.h"
#include "survey.h"
#include "volumes.h"
#include "world/reactor.h"

struct apply_file {
	const char *path;
	uint64_t bytes;
	int64_t was; /* see struct file, */
	uint64_t id[2];
	bool done;
};

/* ---- which ---- */

/* Whether a volume that is served is to be larger than it is.  What has its name by now may be another file. */
static bool
grows(const struct survey *survey, const struct volume *volume, const struct conf_ns *ns)
{
	uint64_t id[2];

	if (volume->blk->blocks >= ns->size / ns->block_size)
		return false;
	survey_id(survey, volume->blk->path, id);
	return memcmp(id, volume->file.id, sizeof(id)) == 0;
}

static int
add(struct apply_files *files, const char *path, uint64_t bytes)
{
	struct apply_file *file = &files->list[files->count];

	*file = (struct apply_file){ .path = arena_strdup(&files->arena, path), .bytes = bytes };
	files->count += file->path != NULL;
	return file->path != NULL ? 0 : -ENOMEM;
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
plan_one(struct apply_files *files, const struct serving *serving, const struct survey *survey,
    const struct conf_subsys *subsys, const struct conf_ns *ns)
{
	const struct volume *volume = volume_find(serving, subsys, ns);
	char spec[CONF_SPEC], path[BLK_SPEC];

	conf_volume_spec(ns, spec);
	if (ns->size == 0 || !blk_spec_path(spec, path) || (volume != NULL && !grows(survey, volume, ns)))
		return 0;
	return add(files, path, ns->size);
}

int
apply_files_plan(struct apply_files *files, const struct serving *serving, const struct survey *survey,
    const struct conf *next)
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
			rc = plan_one(files, serving, survey, &next->subsys[i], &next->subsys[i].ns[k]);
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

static void
make_all(struct errand *errand)
{
	struct apply_files *files = container_of(errand, struct apply_files, errand);
	const struct world_ops *world = files->reactor->world;

	for (uint32_t i = 0; i < files->count; i++) {
		struct apply_file *file = &files->list[i];

		if (world->file_make(files->reactor, file->path, file->bytes, &file->was) != 0)
			return; /* with this one all comes to nothing, as a rule */
		file->done = world->file_id(files->reactor, file->path, file->id) == 0;
	}
}

/* The last first: one file may be there by two names. */
static void
undo_all(struct errand *errand)
{
	struct apply_files *files = container_of(errand, struct apply_files, errand);
	const struct world_ops *world = files->reactor->world;

	for (uint32_t i = files->count; i-- > 0;) {
		struct apply_file *file = &files->list[i];
		bool touched = file->done && (file->was < 0 || (uint64_t)file->was < file->bytes);
		int rc = touched ? world->file_undo(files->reactor, file->path, file->was, file->id) : 0;

		file->done = false;
		if (rc == -ESTALE)
			fprintf(stderr, "weir: %s is another file by now, and left alone\n", file->path);
		else if (rc != 0)
			fprintf(stderr, "weir: %s stays as the change that failed has made it: %s\n", file->path,
			    strerrordesc_np(-rc));
	}
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
