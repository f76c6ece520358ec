/*
 * errands.c - what would block a reactor, done by a thread of its own.
 *
 * The thread has one errand at a time; the others wait on the reactor's side,
 * in order.  It is made with a reactor's first errand and ends with rt_run().
 */
#include <errno.h>
#include <stdlib.h>

#include "rt/internal.h"

struct errands {
	struct core *core;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct errand *next;  /* to be run; under the lock */
	bool stopping;        /* under the lock */
	struct ring done;     /* of one errand */
	struct errand *slots[1];
	struct fifo waiting;  /* from here on the reactor's */
	bool under_way;
};

static struct errand *
next_errand(struct errands *errands)
{
	struct errand *errand;

	pthread_mutex_lock(&errands->lock);
	while (errands->next == NULL && !errands->stopping)
		pthread_cond_wait(&errands->work, &errands->lock);
	errand = errands->next;
	errands->next = NULL;
	pthread_mutex_unlock(&errands->lock);
	return errand;
}

static void *
errands_main(void *arg)
{
	struct errands *errands = arg;
	struct errand *errand;

	while ((errand = next_errand(errands)) != NULL) {
		bool fits;

		errand->run(errand);
		fits = ring_put(&errands->done, &errand);
		assert(fits);
		(void)waker_call(&errands->core->waker);
	}
	return NULL;
}

static int
errands_open(struct core *core)
{
	struct errands *errands = aligned_alloc(64, sizeof(*errands));
	int rc;

	if (errands == NULL)
		return -ENOMEM;
	errands->core = core;
	errands->next = NULL;
	errands->stopping = errands->under_way = false;
	fifo_init(&errands->waiting);
	ring_init(&errands->done, errands->slots, 1, sizeof(errands->slots[0]));
	pthread_mutex_init(&errands->lock, NULL);
	pthread_cond_init(&errands->work, NULL);
	rc = -pthread_create(&errands->thread, NULL, errands_main, errands);
	if (rc == 0) {
		core->errands = errands;
		return 0;
	}
	pthread_cond_destroy(&errands->work);
	pthread_mutex_destroy(&errands->lock);
	free(errands);
	return rc;
}

static void
hand_over(struct errands *errands)
{
	struct fifo_node *node = errands->under_way ? NULL : fifo_pop(&errands->waiting);

	if (node == NULL)
		return;
	errands->under_way = true;
	pthread_mutex_lock(&errands->lock);
	errands->next = container_of(node, struct errand, node);
	pthread_cond_signal(&errands->work);
	pthread_mutex_unlock(&errands->lock);
}

void
world_errand(struct reactor *reactor, struct errand *errand)
{
	struct core *core = core_of(reactor);

	if (!core->rt->running || (core->errands == NULL && errands_open(core) != 0)) {
		errand->run(errand);
		errand->done(errand);
		return;
	}
	fifo_push(&core->errands->waiting, &errand->node);
	hand_over(core->errands);
}

bool
errands_ready(const struct core *core)
{
	return core->errands != NULL && ring_has(&core->errands->done);
}

void
errands_collect(struct core *core)
{
	struct errands *errands = core->errands;
	struct errand *errand;

	if (!ring_take(&errands->done, &errand))
		return;
	errands->under_way = false;
	core->moved++;
	hand_over(errands);
	errand->done(errand);
}

void
errands_end(struct core *core)
{
	struct errands *errands = core->errands;
	struct fifo_node *node;

	if (errands == NULL)
		return;
	pthread_mutex_lock(&errands->lock);
	errands->stopping = true;
	pthread_cond_signal(&errands->work);
	pthread_mutex_unlock(&errands->lock);
	pthread_join(errands->thread, NULL);
	while ((node = fifo_pop(&errands->waiting)) != NULL)
		container_of(node, struct errand, node)->run(container_of(node, struct errand, node));
	pthread_cond_destroy(&errands->work);
	pthread_mutex_destroy(&errands->lock);
	free(errands);
	core->errands = NULL;
}
