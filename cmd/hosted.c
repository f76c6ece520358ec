#include "hosted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serving.h"
#include "sys/clock.h"

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

static struct nvme_status
status_of(int rc)
{
	if (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		return nvme_status_of(NVME_SC_NS_CAPACITY, true);
	return nvme_status_of(NVME_SC_INTERNAL, false);
}

static void
answer(struct hosted *hosted, struct nvme_status status)
{
	struct target_wish *wish = hosted->now;

	hosted->now = NULL;
	target_wish_done(hosted->serving->target, wish, status, wish->kind == WISH_CREATE ? hosted->created : 0);
}

/* Nothing has changed; a file that was made for a new namespace goes. */
static void
undo(struct hosted *hosted, struct nvme_status status)
{
	const struct conf_subsys *subsys = hosted_subsys(hosted->serving->now->conf, hosted->now->nqn);
	const struct made *made = hosted->next != NULL ? hosted->next->made : NULL;

	record_discard(&hosted->record);
	for (uint32_t i = 0; made != NULL && i < made->count; i++)
		if (made->ns[i].fresh && made->ns[i].kept)
			hosted_remove(hosted, subsys->pool, made->ns[i].uuid);
	state_drop(hosted->next);
	hosted->next = NULL;
	answer(hosted, status);
}

/* Before there is a file of ours there is a record, or nobody would know whose it is. */
static int
record_first(struct hosted *hosted)
{
	const struct made *next = hosted->next->made;
	bool file = next->count > 0 && next->ns[next->count - 1].fresh && next->ns[next->count - 1].kept;
	int rc = 0;

	if (file && !hosted->record.there)
		rc = record_prepare(&hosted->record, hosted->state->made, true);
	return rc == 0 ? record_commit(&hosted->record) : rc;
}

static void
start(struct hosted *hosted, struct target_wish *wish)
{
	enum nvme_sc sc = NVME_SC_INTERNAL;
	char why[256] = "it cannot be recorded";
	int rc;

	hosted->now = wish;
	hosted->next = state_make(hosted->state->made, CONF_NS_MAX);
	if (hosted->next != NULL)
		sc = hosted_change(hosted, wish);
	if (sc == NVME_SC_SUCCESS && made_same(hosted->next->made, hosted->state->made) && record_commit(&hosted->record) != 0)
		sc = NVME_SC_INTERNAL;
	if (sc != NVME_SC_SUCCESS || made_same(hosted->next->made, hosted->state->made)) {
		state_drop(hosted->next);
		hosted->next = NULL;
		answer(hosted, sc == NVME_SC_SUCCESS ? NVME_OK : nvme_status_of(sc, sc != NVME_SC_INTERNAL));
		return;
	}
	rc = record_first(hosted);
	if (rc == 0)
		rc = record_prepare(&hosted->record, hosted->next->made, false);
	if (rc == 0)
		rc = serving_change(hosted->serving, hosted->next->made, why);
	if (rc == 0)
		return;
	fprintf(stderr, "weir: what host %s wishes of namespaces of %s is not done: %s: %s\n", wish->asker.hostnqn, wish->nqn,
	    why, strerrordesc_np(-rc));
	undo(hosted, status_of(rc));
}

/* Round robin by subsystem: in each, a controller has one here at most.  NULL: none waits. */
static struct target_wish *
next_wish(struct hosted *hosted)
{
	for (unsigned i = 0; i < CONF_SUBSYS_MAX; i++) {
		hosted->turn = (hosted->turn + 1) % CONF_SUBSYS_MAX;
		if (!fifo_empty(&hosted->waiting[hosted->turn]))
			return container_of(fifo_pop(&hosted->waiting[hosted->turn]), struct target_wish, node);
	}
	return NULL;
}

/* One wish in a turn of the reactor, which has I/O to serve. */
static void
run(struct task *task)
{
	struct hosted *hosted = container_of(task, struct hosted, task);
	struct target_wish *wish;

	if (hosted->now != NULL || serving_busy(hosted->serving))
		return;
	wish = next_wish(hosted);
	if (wish == NULL)
		return;
	hosted_next(hosted);
	start(hosted, wish);
}

void
hosted_next(struct hosted *hosted)
{
	reactor_run_in(hosted->serving->reactor, PHASE_COLLECT, &hosted->task);
}

bool
hosted_applied(struct hosted *hosted, int rc)
{
	if (rc != 0) {
		undo(hosted, status_of(rc));
		return false;
	}
	state_drop(hosted->state);
	hosted->state = hosted->next;
	hosted->next = NULL;
	for (uint32_t i = 0; i < hosted->state->made->count; i++)
		hosted->state->made->ns[i].fresh = false;
	rc = record_commit(&hosted->record);
	if (rc != 0)
		fprintf(stderr, "weir: what hosts have made of namespaces is not kept in %s: %s\n", hosted->record.dir,
		    strerrordesc_np(-rc));
	answer(hosted, rc == 0 ? NVME_OK : nvme_status_of(NVME_SC_INTERNAL, false));
	return rc == 0;
}

static void
wished(struct target_keeper *keeper, struct target_wish *wish)
{
	struct hosted *hosted = container_of(keeper, struct hosted, keeper);

	const struct conf *conf = hosted->serving->now->conf;
	const struct conf_subsys *subsys = hosted_subsys(conf, wish->nqn);

	fifo_push(&hosted->waiting[subsys != NULL ? subsys - conf->subsys : 0], &wish->node);
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

	hosted->keeper = (struct target_keeper){ wished, idle };
	hosted->serving = serving;
	task_init(&hosted->task, run);
	for (unsigned i = 0; i < CONF_SUBSYS_MAX; i++)
		fifo_init(&hosted->waiting[i]);
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
	return hosted_check(hosted, NULL, conf, why);
}

void
hosted_end(struct hosted *hosted)
{
	task_cancel(&hosted->task);
	record_end(&hosted->record);
	state_drop(hosted->state);
	state_drop(hosted->next);
	hosted->state = hosted->next = NULL;
}
