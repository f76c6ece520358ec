#include "hosted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
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

static void
answer(struct hosted *hosted, struct nvme_status status)
{
	struct target_wish *wish = hosted->now;

	state_drop(hosted->next);
	hosted->next = NULL;
	hosted->now = NULL;
	target_wish_done(hosted->serving->target, wish, status, wish->kind == WISH_CREATE ? hosted->created : 0);
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

static const char *
pool_of(const struct hosted *hosted)
{
	return hosted_subsys(hosted->serving->now->conf, hosted->now->nqn)->pool;
}

static int
forget(struct hosted *hosted)
{
	const struct made_ns *file = new_file(hosted);

	record_discard(&hosted->record);
	if (file != NULL)
		hosted_remove(hosted, pool_of(hosted), file->uuid);
	return 0;
}

static void
forgotten(struct hosted *hosted, int rc)
{
	(void)rc;
	volumes_kept(hosted->serving, false);
	answer(hosted, hosted->undone);
}

/* Nothing has changed; a file that was made for a new namespace goes. */
static void
undo(struct hosted *hosted, int rc)
{
	bool full = hosted->now->kind == WISH_CREATE && (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG);

	hosted->undone = full ? nvme_status_of(NVME_SC_NS_CAPACITY, true) : nvme_status_of(NVME_SC_INTERNAL, false);
	beside(hosted, forget, forgotten);
}

static void
refused(struct hosted *hosted, int rc, const char *why)
{
	char host[4 * NVME_NQN_FIELD];

	utf8_show(hosted->now->asker.hostnqn, host, sizeof(host));
	fprintf(stderr, "weir: what host %s wishes of namespaces of %s is not done: %s: %s\n", host, hosted->now->nqn,
	    why, strerrordesc_np(-rc));
	undo(hosted, rc);
}

/* Before there is a file of ours there is a record, or nobody would know whose it is. */
static int
note(struct hosted *hosted)
{
	const struct made *next = hosted->next->made;
	const struct made_ns *file = new_file(hosted);
	int rc = 0;

	if (file != NULL && !hosted->record.there)
		rc = record_prepare(&hosted->record, hosted->state->made, true);
	if (rc == 0)
		rc = record_commit(&hosted->record);
	if (rc == 0 && file != NULL)
		rc = hosted_make_file(next, file, pool_of(hosted));
	return rc == 0 ? record_prepare(&hosted->record, next, false) : rc;
}

static void
apply(struct hosted *hosted)
{
	char why[256] = "";
	int rc = serving_change(hosted->serving, hosted->next->made, why);

	hosted->noted = false;
	if (rc != 0)
		refused(hosted, rc, why);
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
		fprintf(stderr, "weir: what hosts have made of namespaces is not kept in %s: %s\n", hosted->record.dir,
		    strerrordesc_np(-rc));
	volumes_kept(hosted->serving, rc == 0);
	answer(hosted, rc == 0 ? NVME_OK : nvme_status_of(NVME_SC_INTERNAL, false));
}

static void
start(struct hosted *hosted, struct target_wish *wish)
{
	enum nvme_sc sc = NVME_SC_INTERNAL;

	hosted->now = wish;
	hosted->next = state_make(hosted->state->made, CONF_NS_MAX);
	if (hosted->next != NULL)
		sc = hosted_change(hosted, wish);
	if (sc != NVME_SC_SUCCESS)
		answer(hosted, nvme_status_of(sc, sc != NVME_SC_INTERNAL));
	else if (!made_same(hosted->next->made, hosted->state->made))
		beside(hosted, note, noted);
	else
		beside(hosted, keep_same, kept);
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

	if (serving_busy(hosted->serving) || (hosted->now != NULL && !hosted->noted))
		return;
	if (hosted->now != NULL) {
		apply(hosted);
		return;
	}
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
hosted_works(const struct hosted *hosted)
{
	return hosted->now != NULL;
}

void
hosted_applied(struct hosted *hosted, int rc)
{
	if (rc != 0) {
		undo(hosted, rc);
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
	hosted->errand = (struct errand){ .run = run_errand, .done = errand_done, .apart = true };
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
	return hosted_check(hosted, NULL, NULL, conf, why);
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
