#include "hosted_lane.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serving.h"

enum { NS_PER_MS = 1000000 };

/* ---- lanes ---- */

static struct lane *
find(const struct hosted *hosted, const char *nqn)
{
	list_for_each(&hosted->lanes, node) {
		struct lane *lane = container_of(node, struct lane, node);

		if (strcmp(lane->nqn, nqn) == 0)
			return lane;
	}
	return NULL;
}

static struct lane *
lane_of(struct hosted *hosted, const char *nqn)
{
	struct lane *lane = find(hosted, nqn);

	if (lane != NULL)
		return lane;
	lane = calloc(1, sizeof(*lane));
	if (lane == NULL)
		return NULL;
	lane->hosted = hosted;
	snprintf(lane->nqn, sizeof(lane->nqn), "%s", nqn);
	host_turns_init(&lane->waiting);
	list_push(&hosted->lanes, &lane->node);
	return lane;
}

/* Where a wish of it is at work it goes with that. */
static void
drop_if_empty(struct lane *lane)
{
	if (lane == lane->hosted->lane || lane->file != NULL || !host_turns_empty(&lane->waiting))
		return;
	list_remove(&lane->node);
	free(lane);
}

int
lane_push(struct hosted *hosted, struct target_wish *wish)
{
	struct lane *lane = lane_of(hosted, wish->nqn);
	int rc = lane != NULL ? host_turns_push(&lane->waiting, wish->hostid, &wish->node) : -ENOMEM;

	if (lane != NULL)
		drop_if_empty(lane);
	return rc;
}

static bool
is_ready(const struct lane *lane)
{
	return lane->file != NULL ? lane->file->ready : !host_turns_empty(&lane->waiting);
}

struct lane *
lane_next(struct hosted *hosted)
{
	list_for_each(&hosted->lanes, node) {
		struct lane *lane = container_of(node, struct lane, node);

		if (!is_ready(lane))
			continue;
		list_remove(&lane->node);
		list_push(&hosted->lanes, &lane->node);
		return lane;
	}
	return NULL;
}

struct target_wish *
lane_take(struct lane *lane)
{
	if (lane->file != NULL)
		return lane->file->wish;
	return container_of(host_turns_pop(&lane->waiting), struct target_wish, node);
}

/* Its volume is a namespace's, or closed; or nothing runs any more. */
static void
file_free(struct lane_file *file)
{
	opening_close(&file->opening);
	timer_clear(&file->hosted->serving->reactor->timers, &file->patience);
	list_remove(&file->node);
	free(file);
}

void
lane_answered(struct lane *lane)
{
	struct hosted *hosted = lane->hosted;

	if (lane->file != NULL)
		file_free(lane->file);
	lane->file = NULL;
	drop_if_empty(lane);
	serving_idle(hosted->serving);
}

/* ---- files ---- */

/* The wish is, and goes on without its file. */
static void
answer(struct lane_file *file, struct nvme_status status)
{
	struct lane *lane = file->lane;

	file->lane = NULL;
	lane->file = NULL;
	target_wish_done(file->hosted->serving->target, file->wish, status, 0);
	lane_answered(lane);
}

/* Beside the reactor. */
static void
run(struct pool_job *job)
{
	struct lane_file *file = container_of(job, struct lane_file, job);

	if (file->removing) {
		opening_close(&file->opening);
		hosted_remove_file(file->hosted->record.dir, file->path, file->uuid);
		return;
	}
	file->rc = hosted_make_file(file->path, file->bytes, file->block_size);
	if (file->rc == 0)
		opening_run(&file->opening);
}

static void
give(struct lane_file *file)
{
	struct reactor *reactor = file->hosted->serving->reactor;

	if (file->lane != NULL)
		timer_set(&reactor->timers, &file->patience,
		    reactor->now_ns + (uint64_t)LANE_PATIENCE_MS * NS_PER_MS);
	pool_jobs_give(&file->hosted->jobs, &file->job);
}

static void
remove_file(struct lane_file *file, struct nvme_status undone)
{
	file->ready = false;
	file->removing = true;
	file->undone = undone;
	give(file);
}

static void
done(struct pool_job *job)
{
	struct lane_file *file = container_of(job, struct lane_file, job);
	struct hosted *hosted = file->hosted;

	timer_clear(&hosted->serving->reactor->timers, &file->patience);
	if (file->removing) {
		if (file->lane != NULL)
			answer(file, file->undone);
		file_free(file);
	} else if (file->lane == NULL) {
		remove_file(file, file->undone);
	} else if (file->rc == 0) {
		file->ready = true;
		hosted_next(hosted);
	} else {
		hosted_complain(hosted, file->wish, file->rc, "its file cannot be made");
		remove_file(file, hosted_failure(file->wish, file->rc));
	}
}

/* What is to be removed is not taken back: it would lie there until the next start. */
static void
impatient(struct timer *timer)
{
	struct lane_file *file = container_of(timer, struct lane_file, patience);
	bool over = !file->removing && pool_job_take_back(&file->job);

	pool_job_late(&file->job);
	target_log_storage(file->hosted->serving->target, "%s, where hosts make namespaces of %s: %s for %u seconds",
	    hosted_folder(file->pool), file->lane->nqn,
	    over ? "disks that were asked before have not answered" : "the disk has not answered",
	    LANE_PATIENCE_MS / 1000);
	answer(file, file->removing ? file->undone : nvme_status_of(NVME_SC_INTERRUPTED, false));
	if (over)
		file_free(file);
}

int
lane_make_file(struct lane *lane, struct target_wish *wish, const struct made *made, const struct made_ns *ns,
    const char *pool)
{
	struct lane_file *file = calloc(1, sizeof(*file));
	char spec[CONF_SPEC];

	if (file == NULL)
		return -ENOMEM;
	file->hosted = lane->hosted;
	file->lane = lane;
	file->wish = wish;
	file->patience.fire = impatient;
	file->job = (struct pool_job){ .folder = file->pool, .run = run, .done = done };
	snprintf(file->nqn, sizeof(file->nqn), "%s", ns->nqn);
	snprintf(file->pool, sizeof(file->pool), "%s", pool);
	hosted_path(made, ns->uuid, pool, file->path);
	memcpy(file->uuid, ns->uuid, sizeof(file->uuid));
	file->bytes = hosted_volume_bytes(ns);
	file->block_size = ns->block_size;
	hosted_spec(made, ns, pool, spec);
	opening_init(&file->opening, lane->hosted->serving->reactor, file->nqn, ns->nsid, spec, ns->block_size,
	    lane->hosted->serving->now->conf->qos.mode);
	list_push(&lane->hosted->files, &file->node);
	lane->file = file;
	give(file);
	return 0;
}

/* ---- what is not to be any more ---- */

/* Where the target stops, all are. */
static bool
is_over(const struct hosted *hosted, const struct target_wish *wish)
{
	return wish->over || hosted->stopping;
}

static bool
is_node_over(void *arg, const struct fifo_node *node)
{
	return is_over(arg, container_of(node, const struct target_wish, node));
}

static void
end_waiting(struct lane *lane)
{
	struct fifo_node *node;
	struct fifo over;

	fifo_init(&over);
	host_turns_take(&lane->waiting, is_node_over, lane->hosted, &over);
	while ((node = fifo_pop(&over)) != NULL)
		target_wish_done(lane->hosted->serving->target, container_of(node, struct target_wish, node),
		    nvme_status_of(NVME_SC_INTERRUPTED, false), 0);
}

/* Its wish is answered at once, whatever the disk does; what is there then goes. */
static void
let_go(struct lane_file *file)
{
	struct nvme_status status = nvme_status_of(NVME_SC_INTERRUPTED, false);
	bool begun = file->removing || file->ready || !pool_job_take_back(&file->job);

	timer_clear(&file->hosted->serving->reactor->timers, &file->patience);
	answer(file, status);
	if (file->ready)
		remove_file(file, status);
	else if (!begun)
		file_free(file);
}

void
lane_remove_file(struct lane *lane, struct nvme_status undone)
{
	assert(lane->file != NULL && lane->file->ready);
	if (is_over(lane->hosted, lane->file->wish))
		let_go(lane->file);
	else
		remove_file(lane->file, undone);
}

void
lanes_end_over(struct hosted *hosted)
{
	list_for_each(&hosted->lanes, node) {
		struct lane *lane = container_of(node, struct lane, node);

		end_waiting(lane);
		if (lane->file != NULL && lane != hosted->lane && is_over(hosted, lane->file->wish))
			let_go(lane->file);
		else
			drop_if_empty(lane);
	}
}

void
lanes_end(struct hosted *hosted)
{
	list_for_each(&hosted->files, node)
		file_free(container_of(node, struct lane_file, node));
	list_for_each(&hosted->lanes, node) {
		struct lane *lane = container_of(node, struct lane, node);

		host_turns_end(&lane->waiting);
		free(lane);
	}
	list_init(&hosted->lanes);
}
