#include "target/state_file.h"

#include <assert.h>
#include <errno.h>

static struct reactor *
reactor_of(const struct target *target)
{
	return target->cores[0]->reactor;
}

struct state_file *
state_file_make(struct target *target)
{
	struct state_file *state_file = arena_alloc(target->arena, sizeof(*state_file));

	if (state_file == NULL)
		return NULL;
	state_file->target = target;
	list_push(&target->state_files, &state_file->node);
	return state_file;
}

/* ---- in errands ---- */

static void
let_go(struct state_file *state_file)
{
	if (state_file->held != NULL)
		state_file->target->state_annex->world->file_close(state_file->held);
	state_file->held = NULL;
}

int
state_file_open(struct state_file *state_file, const char *path, uint64_t size, uint32_t block)
{
	struct target *target = state_file->target;
	int rc;

	if (target->state_annex == NULL)
		target->state_annex = reactor_of(target)->world->annex_open(reactor_of(target));
	if (target->state_annex == NULL)
		return -ENOMEM;
	let_go(state_file);
	rc = target->state_annex->world->file_open(target->state_annex, path, size, block, &state_file->held);
	if (rc != 0)
		state_file->held = NULL;
	return rc;
}

int64_t
state_file_read(struct state_file *state_file, size_t bytes, size_t align, uint8_t **out)
{
	struct reactor *annex = state_file->target->state_annex;
	int64_t got;

	*out = arena_alloc_aligned(annex->arena, bytes, align);
	if (*out == NULL)
		return -ENOMEM;
	got = annex->world->file_fetch(state_file->held, 0, *out, bytes);
	if (got < 0)
		arena_free(annex->arena, *out);
	return got;
}

void
state_file_read_end(struct state_file *state_file, uint8_t *bytes)
{
	arena_free(state_file->target->state_annex->arena, bytes);
}

/* ---- on core 0 ---- */

int
state_file_use(struct state_file *state_file)
{
	struct reactor *reactor = reactor_of(state_file->target);
	int rc = reactor->world->file_share(state_file->held, reactor, &state_file->file);

	if (rc != 0)
		state_file->file = NULL;
	return rc;
}

static void
end(struct state_file *state_file)
{
	list_remove(&state_file->node);
	arena_free(state_file->target->arena, state_file);
}

static void
run_close(struct errand *errand)
{
	let_go(container_of(errand, struct state_file, errand));
}

static void
closed(struct errand *errand)
{
	end(container_of(errand, struct state_file, errand));
}

void
state_file_close(struct state_file *state_file)
{
	struct target *target = state_file->target;
	struct reactor *reactor = reactor_of(target);

	state_file->closing = true;
	if (state_file->file != NULL)
		reactor->world->file_close(state_file->file);
	state_file->file = NULL;
	if (target->over)
		return;
	if (state_file->held == NULL) {
		end(state_file);
		return;
	}
	state_file->errand = (struct errand){ .run = run_close, .done = closed };
	reactor->world->errand(reactor, &state_file->errand);
}

void
state_files_end(struct target *target)
{
	list_for_each(&target->state_files, node) {
		struct state_file *state_file = container_of(node, struct state_file, node);

		assert(state_file->closing);
		let_go(state_file);
		end(state_file);
	}
	if (target->state_annex != NULL)
		target->state_annex->world->annex_close(target->state_annex);
	target->state_annex = NULL;
}
