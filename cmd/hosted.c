#include "hosted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serving.h"
#include "sys/clock.h"
#include "volumes.h"

/* ---- states ---- */

static void
state_drop(struct hosted_state *state)
{
	if (state == NULL)
		return;
	arena_drop(&state->arena);
	free(state);
}

static struct hosted_state *
state_make(const struct made *like, uint32_t more)
{
	struct hosted_state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return NULL;
	arena_init(&state->arena, 0);
	state->made = made_copy(&state->arena, like, more);
	if (state->made != NULL)
		return state;
	state_drop(state);
	return NULL;
}

/* ---- one after the other ---- */

/* Has `job` done beside the reactor, and goes on with `then`; which may be from inside. */
static void
beside(struct hosted *hosted, int (*job)(struct hosted *hosted), void (*then)(struct hosted *hosted, int rc))
{
	hosted->job = job;
	hosted->then = then;
	hosted->beside = true;
	hosted->serving->reactor->world->errand(hosted->serving->reactor, &hosted->errand);
}

static void
run_errand(struct errand *errand)
{
	struct hosted *hosted = container_of(errand, struct hosted, errand);

	hosted->rc = hosted->job(hosted);
}

static void
errand_done(struct errand *errand)
{
	struct hosted *hosted = container_of(errand, struct hosted, errand);

	hosted->beside = false;
	hosted->then(hosted, hosted->rc);
}

/* The wish at work is not any more, nor what would have come of it. */
static void
leave(struct hosted *hosted)
{
	state_drop(hosted->next);
	hosted->next = NULL;
	hosted->now = NULL;
	hosted->lane = NULL;
}

static void
answer(struct hosted *hosted, struct nvme_status status)
{
	struct target_wish *wish = hosted->now;
	struct lane *lane = hosted->lane;

	leave(hosted);
	target_wish_done(hosted->serving->target, wish, status, wish->kind == WISH_CREATE ? hosted->created : 0);
	lane_answered(lane);
}

/* Nothing comes of it, and a file that was made for it goes. */
static void
give_up(struct hosted *hosted, struct nvme_status status)
{
	struct lane *lane = hosted->lane;

	if (lane->file == NULL) {
		answer(hosted, status);
		return;
	}
	leave(hosted);
	lane_remove_file(lane, status);
	serving_idle(hosted->serving);
}

/* The namespace whose file is made for this wish, or NULL. */
static const struct made_ns *
new_file(const struct hosted *hosted)
{
	const struct made *next = hosted->next->made;
	const struct made_ns *last = next->count > 0 ? &next->ns[next->count - 1] : NULL;

	return last != NULL && last->fresh && last->kept ? last : NULL;
}

static int
forget(struct hosted *hosted)
{
	record_discard(&hosted->record);
	return 0;
}

static void
forgotten(struct hosted *hosted, int rc)
{
	(void)rc;
	volumes_kept(hosted->serving, false);
	give_up(hosted, hosted->undone);
}

struct nvme_status
hosted_failure(const struct target_wish *wish, int rc)
{
	bool full = wish->kind == WISH_CREATE && (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG);

	return full ? nvme_status_of(NVME_SC_NS_CAPACITY, true) : nvme_status_of(NVME_SC_INTERNAL, false);
}

/* Nothing has changed; a file that was made for a new namespace goes. */
static void
undo(struct hosted *hosted, struct nvme_status status)
{
	hosted->undone = status;
	beside(hosted, forget, forgotten);
}

void
hosted_complain(struct hosted *hosted, const struct target_wish *wish, int rc, const char *why)
{
	target_log_peer(hosted->serving->target, "what host %s wishes of namespaces of %s is not done: %s%s%s",
	    wish->asker.hostnqn, wish->nqn, why, rc != 0 ? ": " : "", rc != 0 ? strerrordesc_np(-rc) : "");
}

static void
refused(struct hosted *hosted, int rc, const char *why)
{
	hosted_complain(hosted, hosted->now, rc, why);
	undo(hosted, hosted_failure(hosted->now, rc));
}

/* Why it cannot be served says it all. */
static void
not_served(struct hosted *hosted, int rc, const char *why)
{
	hosted_complain(hosted, hosted->now, 0, why);
	undo(hosted, hosted_failure(hosted->now, rc));
}

/* Before there is a file of ours there is a record, or nobody would know whose it is. */
static int
note_target(struct hosted *hosted)
{
	int rc = 0;

	if (!hosted->record.there)
		rc = record_prepare(&hosted->record, hosted->state->made, true);
	return rc == 0 ? record_commit(&hosted->record) : rc;
}

/* Others are done while its folder is waited for; when it has its file it is judged anew. */
static void
target_noted(struct hosted *hosted, int rc)
{
	const struct made_ns *file = new_file(hosted);
	struct target_wish *wish = hosted->now;
	struct lane *lane = hosted->lane;

	if (rc != 0) {
		refused(hosted, rc, "it cannot be recorded");
		return;
	}
	if (wish->over || hosted->stopping) {
		give_up(hosted, nvme_status_of(NVME_SC_INTERRUPTED, false));
		return;
	}
	rc = lane_make_file(lane, wish, hosted->next->made, file,
	    hosted_subsys(hosted->serving->now->conf, wish->nqn)->pool);
	if (rc != 0) {
		refused(hosted, rc, "its file cannot be made");
		return;
	}
	leave(hosted);
	serving_idle(hosted->serving);
}

static int
note(struct hosted *hosted)
{
	int rc = record_commit(&hosted->record);

	return rc == 0 ? record_prepare(&hosted->record, hosted->next->made, false) : rc;
}

static void
apply(struct hosted *hosted)
{
	char why[256] = "";
	int rc;

	hosted->noted = false;
	if (hosted->stopping) {
		undo(hosted, nvme_status_of(NVME_SC_INTERRUPTED, false));
		return;
	}
	rc = serving_change(hosted->serving, hosted->next->made, why);
	if (rc != 0)
		not_served(hosted, rc, why);
}

static void
noted(struct hosted *hosted, int rc)
{
	hosted->noted = rc == 0;
	if (rc != 0)
		refused(hosted, rc, "it cannot be recorded");
	else if (!serving_busy(hosted->serving))
		apply(hosted);
}

static int
keep(struct hosted *hosted)
{
	return record_commit(&hosted->record);
}

/* It is so already; but what says so may be what could not be kept. */
static int
keep_same(struct hosted *hosted)
{
	int rc = record_prepare(&hosted->record, hosted->state->made, false);

	return rc == 0 ? record_commit(&hosted->record) : rc;
}

static void
kept(struct hosted *hosted, int rc)
{
	if (rc != 0)
		target_log_storage(hosted->serving->target, "what hosts have made of namespaces is not kept in %s: %s",
		    hosted->record.dir, strerrordesc_np(-rc));
	volumes_kept(hosted->serving, rc == 0);
	answer(hosted, rc == 0 ? NVME_OK : nvme_status_of(NVME_SC_INTERNAL, false));
}

static void
start(struct hosted *hosted, struct lane *lane)
{
	enum nvme_sc sc = NVME_SC_INTERNAL;

	hosted->lane = lane;
	hosted->now = lane_take(lane);
	hosted->next = state_make(hosted->state->made, CONF_NS_MAX);
	if (hosted->next != NULL)
		sc = hosted_change(hosted, hosted->now);
	if (sc == NVME_SC_INTERNAL)
		hosted_complain(hosted, hosted->now, -ENOMEM, "what it comes to cannot be worked out");
	if (sc != NVME_SC_SUCCESS)
		give_up(hosted, nvme_status_of(sc, sc != NVME_SC_INTERNAL && sc != NVME_SC_INTERRUPTED));
	else if (made_same(hosted->next->made, hosted->state->made))
		beside(hosted, keep_same, kept);
	else if (new_file(hosted) != NULL && lane->file == NULL)
		beside(hosted, note_target, target_noted);
	else
		beside(hosted, note, noted);
}

/* One wish in a turn of the reactor, which has I/O to serve. */
static void
run(struct task *task)
{
	struct hosted *hosted = container_of(task, struct hosted, task);
	struct lane *lane;

	if (hosted->over || hosted->stopping) {
		hosted->over = false;
		lanes_end_over(hosted);
	}
	if (serving_busy(hosted->serving) || (hosted->now != NULL && !hosted->noted))
		return;
	if (hosted->now != NULL) {
		apply(hosted);
		return;
	}
	lane = lane_next(hosted);
	if (lane == NULL)
		return;
	hosted_next(hosted);
	start(hosted, lane);
}

void
hosted_next(struct hosted *hosted)
{
	reactor_run_in(hosted->serving->reactor, PHASE_COLLECT, &hosted->task);
}

void
hosted_stop(struct hosted *hosted)
{
	hosted->stopping = true;
	hosted_next(hosted);
}

bool
hosted_works(const struct hosted *hosted)
{
	return hosted->now != NULL;
}

struct opening *
hosted_opening(const struct hosted *hosted, const char *nqn, uint32_t nsid)
{
	struct lane *lane = hosted->lane;

	return lane != NULL && lane->file != NULL && hosted->created == nsid && strcmp(lane->nqn, nqn) == 0 ?
	    &lane->file->opening : NULL;
}

bool
hosted_waits(const struct hosted *hosted)
{
	return hosted->beside || pool_jobs_any(&hosted->jobs) || pool_jobs_any(&hosted->leavings);
}

void
hosted_applied(struct hosted *hosted, int rc, const char *why)
{
	if (rc != 0) {
		not_served(hosted, rc, why);
		return;
	}
	state_drop(hosted->state);
	hosted->state = hosted->next;
	hosted->next = NULL;
	for (uint32_t i = 0; i < hosted->state->made->count; i++)
		hosted->state->made->ns[i].fresh = false;
	beside(hosted, keep, kept);
}

static void
wished(struct target_keeper *keeper, struct target_wish *wish)
{
	struct hosted *hosted = container_of(keeper, struct hosted, keeper);

	int rc = lane_push(hosted, wish);

	if (rc == 0) {
		hosted_next(hosted);
		return;
	}
	hosted_complain(hosted, wish, rc, "it cannot wait for its turn");
	target_wish_done(hosted->serving->target, wish, nvme_status_of(NVME_SC_INTERNAL, false), 0);
}

static void
over(struct target_keeper *keeper)
{
	struct hosted *hosted = container_of(keeper, struct hosted, keeper);

	hosted->over = true;
	hosted_next(hosted);
}

static void
idle(struct target_keeper *keeper)
{
	serving_idle(container_of(keeper, struct hosted, keeper)->serving);
}

/* ---- beginning and end ---- */

int
hosted_begin(struct hosted *hosted, struct serving *serving, const struct conf *conf, char why[256])
{
	struct made *made;
	int rc;

	hosted->keeper = (struct target_keeper){ wished, over, idle };
	hosted->errand = (struct errand){ .run = run_errand, .done = errand_done, .apart = true };
	hosted->serving = serving;
	task_init(&hosted->task, run);
	list_init(&hosted->lanes);
	list_init(&hosted->files);
	pool_jobs_init(&hosted->jobs, serving->reactor, POOL_JOBS_MAKE);
	pool_jobs_init(&hosted->leavings, serving->reactor, POOL_JOBS_REMOVE);
	hosted->state = state_make(NULL, 0);
	if (hosted->state == NULL)
		rc = -ENOMEM;
	else
		rc = record_begin(&hosted->record, conf->state_dir, &hosted->state->arena, &made, why);
	if (rc == -ENOMEM)
		snprintf(why, 256, "out of memory");
	if (rc != 0)
		return rc;
	if (made != NULL)
		hosted->state->made = made;
	else
		hosted->state->made->id = clock_random();
	rc = hosted_check(hosted, NULL, conf, why);
	return rc == 0 ? hosted_check_folders(NULL, NULL, conf, why) : rc;
}

void
hosted_end(struct hosted *hosted)
{
	task_cancel(&hosted->task);
	lanes_end(hosted);
	record_end(&hosted->record);
	state_drop(hosted->state);
	state_drop(hosted->next);
	hosted->state = hosted->next = NULL;
}
