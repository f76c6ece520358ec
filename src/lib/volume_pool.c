/*
 * volume_pool.c - queues that threads borrow, one each, and who looks after them meanwhile.
 *
 * Paths come and go also while nobody does I/O, and each queue has its part in
 * that.  So a caretaker attends to those that lie idle: it waits for their
 * descriptors while none is used, and looks every 20 ms while some are, since
 * then it would be woken by what is not for it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/volume.h"

enum { LOOK_MS = 20 };

/* ---- borrowing; all of it under the lock ---- */

static struct pooled *
find(struct weir_volume *volume, enum pooled_state state)
{
	for (unsigned i = 0; i < volume->pooled; i++)
		if (volume->pool[i].state == state)
			return &volume->pool[i];
	return NULL;
}

/* One more, for the caller; without the lock meanwhile. */
static int
open_one(struct weir_volume *volume, struct pooled *pooled)
{
	const struct weir_queue_options options = { .size = sizeof(options), .depth = VOLUME_DEPTH };
	struct weir_queue *queue = NULL;
	int rc;

	pooled->state = POOLED_OPENING;
	volume->queues++;
	pthread_mutex_unlock(&volume->lock);
	rc = weir_queue_open(volume->ws, &options, &queue);
	pthread_mutex_lock(&volume->lock);
	*pooled = (struct pooled){ queue, rc == 0 ? POOLED_BUSY : POOLED_NONE };
	if (rc != 0)
		volume->queues--;
	return rc;
}

/* It could not be opened: whoever has one can give it.  False: nobody has. */
static bool
there_are_others(struct weir_volume *volume, int error)
{
	/* The host or the target has no more. */
	if (volume->queues > 0 && (error == -EAGAIN || error == -EUSERS))
		volume->queues_max = volume->queues;
	return volume->queues > 0;
}

int
pool_take(struct weir_volume *volume, struct weir_queue **queue)
{
	struct pooled *pooled;
	bool tried = false;
	int rc = 0;

	pthread_mutex_lock(&volume->lock);
	while ((pooled = find(volume, POOLED_IDLE)) == NULL) {
		if (!tried && volume->queues < volume->queues_max) {
			pooled = find(volume, POOLED_NONE);
			rc = open_one(volume, pooled);
			if (rc == 0)
				break;
			tried = true;
		}
		if (tried && !there_are_others(volume, rc)) {
			pthread_cond_broadcast(&volume->given);
			pthread_mutex_unlock(&volume->lock);
			return rc;
		}
		if (find(volume, POOLED_IDLE) == NULL)
			pthread_cond_wait(&volume->given, &volume->lock);
	}
	pooled->state = POOLED_BUSY;
	volume->uses++;
	*queue = pooled->queue;
	pthread_mutex_unlock(&volume->lock);
	return 0;
}

static void
put_back(struct weir_volume *volume, struct pooled *pooled)
{
	pooled->state = POOLED_IDLE;
	pthread_cond_signal(&volume->given);
}

void
pool_give(struct weir_volume *volume, struct weir_queue *queue)
{
	pthread_mutex_lock(&volume->lock);
	for (unsigned i = 0; i < volume->pooled; i++)
		if (volume->pool[i].queue == queue)
			put_back(volume, &volume->pool[i]);
	pthread_mutex_unlock(&volume->lock);
}

/* ---- the caretaker ---- */

/* Under the lock: what there is to do for each that is idle, without the lock meanwhile. */
static void
tend(struct weir_volume *volume)
{
	for (unsigned i = 0; i < volume->pooled; i++) {
		struct pooled *pooled = &volume->pool[i];

		if (pooled->state != POOLED_IDLE)
			continue;
		pooled->state = POOLED_BUSY;
		pthread_mutex_unlock(&volume->lock);
		(void)weir_queue_poll(pooled->queue, 0);
		pthread_mutex_lock(&volume->lock);
		put_back(volume, pooled);
	}
}

/* Under the lock: the descriptors to wait for while nobody uses the volume; how many. */
static nfds_t
idle_fds(const struct weir_volume *volume, struct pollfd *fds)
{
	nfds_t count = 0;

	for (unsigned i = 0; i < volume->pooled; i++)
		if (volume->pool[i].state == POOLED_IDLE)
			fds[count++] = (struct pollfd){ weir_queue_fd(volume->pool[i].queue), POLLIN, 0 };
	return count;
}

static void *
caretake(void *arg)
{
	struct weir_volume *volume = arg;
	struct pollfd fds[RT_REACTORS_MAX + 1] = { { volume->wake_fd, POLLIN, 0 } };
	uint64_t uses = 0;

	pthread_mutex_lock(&volume->lock);
	while (!volume->ending) {
		nfds_t count = idle_fds(volume, fds + 1);
		bool used = volume->uses != uses || count != volume->queues;

		uses = volume->uses;
		pthread_mutex_unlock(&volume->lock);
		(void)poll(fds, used ? 1 : count + 1, used ? LOOK_MS : -1);
		pthread_mutex_lock(&volume->lock);
		tend(volume);
	}
	pthread_mutex_unlock(&volume->lock);
	return NULL;
}

/* Signals are for the threads of whoever uses the library. */
static int
hire(struct weir_volume *volume)
{
	sigset_t all, before;
	int rc;

	volume->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (volume->wake_fd < 0)
		return lib_fail(-errno, "there is no eventfd for a volume: %s", strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&volume->caretaker, NULL, caretake, volume);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return lib_fail(rc, "there is no thread for a volume: %s", strerror(-rc));
	volume->tended = true;
	return 0;
}

int
pool_open(struct weir_volume *volume)
{
	struct weir_queue *queue;
	int rc = pool_take(volume, &queue);

	if (rc != 0)
		return rc;
	pool_give(volume, queue);
	return hire(volume);
}

void
pool_close(struct weir_volume *volume)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&volume->lock);
	volume->ending = true;
	pthread_mutex_unlock(&volume->lock);
	if (volume->tended) {
		/* A counter that is read by nobody has room for one more. */
		if (write(volume->wake_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
			assert(false);
		pthread_join(volume->caretaker, NULL);
	}
	if (volume->wake_fd >= 0)
		close(volume->wake_fd);
	for (unsigned i = 0; i < volume->pooled; i++) {
		assert(volume->pool[i].state == POOLED_NONE || volume->pool[i].state == POOLED_IDLE);
		if (volume->pool[i].state == POOLED_IDLE)
			weir_queue_close(volume->pool[i].queue);
	}
}
