/*
 * errands.c - what would block a reactor, done by threads of its own.
 *
 * One of them has the errands that are done in order, one at a time.  Those
 * that are apart have up to ERRANDS_APART others: one that hangs holds up none
 * of the rest.  Of these one disk has no more than ERRANDS_OF_DISK, however many
 * errands wait for it: a disk that hangs costs its own users alone.  What waits
 * does so on the reactor's side.  A thread is made when there is first something
 * for it, and ends with rt_run(), or when its reactor is given back.
 */
#include <errno.h>
#include <stdlib.h>

#include "rt/internal.h"

enum { ERRANDS_APART = 16, ERRANDS_OF_DISK = 2 };

/* A thread, which has one errand at a time. */
struct lane {
	struct core *core;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct errand *next;  /* to be run; under the lock */
	bool stopping;        /* under the lock */
	struct ring done;     /* of one errand */
	struct errand *slots[1];
	const struct errand *now; /* it has; NULL: none.  From here on the reactor's */
};

struct errands {
	struct fifo waiting[2]; /* in order; and apart, which have no order */
	struct lane *ordered;   /* NULL: not needed yet */
	struct lane *apart[ERRANDS_APART];
	unsigned apart_count;
};

static struct errand *
next_errand(struct lane *lane)
{
	struct errand *errand;

	pthread_mutex_lock(&lane->lock);
	while (lane->next == NULL && !lane->stopping)
		pthread_cond_wait(&lane->work, &lane->lock);
	errand = lane->next;
	lane->next = NULL;
	pthread_mutex_unlock(&lane->lock);
	return errand;
}

static void *
lane_main(void *arg)
{
	struct lane *lane = arg;
	struct errand *errand;

	while ((errand = next_errand(lane)) != NULL) {
		bool fits;

		errand->run(errand);
		fits = ring_put(&lane->done, &errand);
		assert(fits);
		(void)waker_call(&lane->core->waker);
	}
	return NULL;
}

/* NULL: there is no thread to be had. */
static struct lane *
lane_open(struct core *core)
{
	struct lane *lane = aligned_alloc(64, sizeof(*lane));

	if (lane == NULL)
		return NULL;
	lane->core = core;
	lane->next = NULL;
	lane->now = NULL;
	lane->stopping = false;
	ring_init(&lane->done, lane->slots, 1, sizeof(lane->slots[0]));
	pthread_mutex_init(&lane->lock, NULL);
	pthread_cond_init(&lane->work, NULL);
	if (thread_make(core->rt, &lane->thread, NULL, lane_main, lane) == 0)
		return lane;
	pthread_cond_destroy(&lane->work);
	pthread_mutex_destroy(&lane->lock);
	free(lane);
	return NULL;
}

/* Ends when what it has is done. */
static void
lane_close(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
	lane->stopping = true;
	pthread_cond_signal(&lane->work);
	pthread_mutex_unlock(&lane->lock);
	pthread_join(lane->thread, NULL);
	pthread_cond_destroy(&lane->work);
	pthread_mutex_destroy(&lane->lock);
	free(lane);
}

static bool
may_run(const struct errands *errands, const struct errand *errand)
{
	unsigned out = 0;

	for (unsigned i = 0; i < errands->apart_count && errand->apart && errand->disk != 0; i++)
		out += errands->apart[i]->now != NULL && errands->apart[i]->now->disk == errand->disk;
	return out < ERRANDS_OF_DISK;
}

/* The first that may run, out of the line; or NULL. */
static struct errand *
take(const struct errands *errands, struct fifo *waiting)
{
	struct errand *found = NULL;
	struct fifo_node *node;
	struct fifo passed;

	fifo_init(&passed);
	while (found == NULL && (node = fifo_pop(waiting)) != NULL) {
		struct errand *errand = container_of(node, struct errand, node);

		if (may_run(errands, errand))
			found = errand;
		else
			fifo_push(&passed, node);
	}
	fifo_splice(&passed, waiting);
	fifo_splice(waiting, &passed);
	return found;
}

/* The next one, if it has none. */
static void
hand_over(const struct errands *errands, struct lane *lane, struct fifo *waiting)
{
	struct errand *errand = lane->now == NULL ? take(errands, waiting) : NULL;

	if (errand == NULL)
		return;
	lane->now = errand;
	pthread_mutex_lock(&lane->lock);
	lane->next = errand;
	pthread_cond_signal(&lane->work);
	pthread_mutex_unlock(&lane->lock);
}

/* One that has nothing to do, or else any; NULL: there is none, and no thread to be had.  None is made for what may not
 * run yet. */
static struct lane *
lane_apart(struct core *core, struct errands *errands, const struct errand *errand)
{
	if (!may_run(errands, errand))
		return errands->apart[0];
	for (unsigned i = 0; i < errands->apart_count; i++)
		if (errands->apart[i]->now == NULL)
			return errands->apart[i];
	if (errands->apart_count < ERRANDS_APART) {
		struct lane *lane = lane_open(core);

		if (lane != NULL)
			return errands->apart[errands->apart_count++] = lane;
	}
	return errands->apart[0];
}

static struct errands *
errands_of(struct core *core)
{
	struct errands *errands = core->errands;

	if (errands != NULL)
		return errands;
	errands = calloc(1, sizeof(*errands));
	if (errands == NULL)
		return NULL;
	fifo_init(&errands->waiting[false]);
	fifo_init(&errands->waiting[true]);
	return core->errands = errands;
}

static struct lane *
lane_for(struct core *core, const struct errand *errand)
{
	struct errands *errands = errands_of(core);

	if (errands == NULL)
		return NULL;
	if (errand->apart)
		return lane_apart(core, errands, errand);
	if (errands->ordered == NULL)
		errands->ordered = lane_open(core);
	return errands->ordered;
}

void
world_errand(struct reactor *reactor, struct errand *errand)
{
	struct core *core = core_of(reactor);
	struct lane *lane = core->runs ? lane_for(core, errand) : NULL;

	if (lane == NULL) {
		errand->run(errand);
		errand->done(errand);
		return;
	}
	fifo_push(&core->errands->waiting[errand->apart], &errand->node);
	hand_over(core->errands, lane, &core->errands->waiting[errand->apart]);
}

bool
errands_ready(const struct core *core)
{
	const struct errands *errands = core->errands;

	if (errands == NULL)
		return false;
	for (unsigned i = 0; i < errands->apart_count; i++)
		if (ring_has(&errands->apart[i]->done))
			return true;
	return errands->ordered != NULL && ring_has(&errands->ordered->done);
}

static void
collect(struct core *core, struct lane *lane, struct fifo *waiting)
{
	struct errand *errand;

	if (lane == NULL || !ring_take(&lane->done, &errand))
		return;
	lane->now = NULL;
	core->moved++;
	hand_over(core->errands, lane, waiting);
	errand->done(errand);
}

void
errands_collect(struct core *core)
{
	struct errands *errands = core->errands;

	collect(core, errands->ordered, &errands->waiting[false]);
	for (unsigned i = 0; i < errands->apart_count; i++)
		collect(core, errands->apart[i], &errands->waiting[true]);
}

void
errands_end(struct core *core)
{
	struct errands *errands = core->errands;
	struct fifo_node *node;

	if (errands == NULL)
		return;
	if (errands->ordered != NULL)
		lane_close(errands->ordered);
	for (unsigned i = 0; i < errands->apart_count; i++)
		lane_close(errands->apart[i]);
	for (unsigned i = 0; i < 2; i++)
		while ((node = fifo_pop(&errands->waiting[i])) != NULL)
			container_of(node, struct errand, node)->run(container_of(node, struct errand, node));
	free(errands);
	core->errands = NULL;
}
