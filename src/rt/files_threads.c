/*
 * files_threads.c - files through some threads, where io_uring is forbidden.
 *
 * One pool for the process.  A disk may not answer at all: of one device, and of one file, no
 * more threads are at it than leave others theirs.  Requests go to it under a lock, once per turn; a
 * request that is done comes back through a ring from its thread to its
 * reactor, which is woken as by mail.
 */
#include <errno.h>
#include <poll.h>

#include "rt/files.h"

enum { THREADS = 32 };

struct worker {
	struct pool *pool;
	struct ring *done;  /* one per reactor; as long as a reactor has requests, so never full */
	pthread_t thread;
};

struct pool {
	struct rt *rt;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list ready;  /* files that have jobs, by kdisk.ready; each has its turn */
	unsigned idle;
	bool stopping;
	unsigned started;
	struct worker workers[THREADS];
};

/* A file that has a job, and has not its share of threads. */
static struct kdisk *
next_disk(struct pool *pool)
{
	list_for_each(&pool->ready, node) {
		struct kdisk *disk = container_of(node, struct kdisk, ready);

		if (share_left(pool->idle, disk->device, disk->running))
			return disk;
	}
	return NULL;
}

/* Where more can be done one is woken, who wakes the next. */
static void
wake_one(struct pool *pool)
{
	if (next_disk(pool) != NULL)
		pthread_cond_signal(&pool->work);
}

static struct file_job *
take_job(struct pool *pool, struct kdisk *disk)
{
	struct fifo_node *node = fifo_pop(&disk->jobs);

	list_remove(&disk->ready);
	if (!fifo_empty(&disk->jobs))
		list_push(&pool->ready, &disk->ready);
	disk->running++;
	disk->device->busy++;
	pool->idle--;
	wake_one(pool);
	return container_of(node, struct file_job, node);
}

static struct file_job *
next_job(struct pool *pool)
{
	struct file_job *job = NULL;
	struct kdisk *disk;

	pthread_mutex_lock(&pool->lock);
	while ((disk = next_disk(pool)) == NULL && !pool->stopping)
		pthread_cond_wait(&pool->work, &pool->lock);
	if (disk != NULL)
		job = take_job(pool, disk);
	pthread_mutex_unlock(&pool->lock);
	return job;
}

static void
perform(struct pool *pool, struct file_job *job)
{
	job->result = disk_perform(&job->req);
	pthread_mutex_lock(&pool->lock);
	job->disk->running--;
	job->disk->device->busy--;
	pool->idle++;
	pthread_mutex_unlock(&pool->lock);
}

static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	struct file_job *job;

	while ((job = next_job(worker->pool)) != NULL) {
		struct core *core = job->core;
		bool fits;

		perform(worker->pool, job);
		/* From now on it is its reactor's, which may close the file. */
		fits = ring_put(&worker->done[core->reactor.index], &job);
		assert(fits);
		(void)waker_call(&core->waker);
	}
	return NULL;
}

static int
worker_start(struct worker *worker, struct pool *pool)
{
	struct rt *rt = pool->rt;
	size_t each = FILES_IN_FLIGHT * sizeof(struct file_job *);
	uint8_t *slots;

	worker->pool = pool;
	worker->done = arena_alloc_aligned(&rt->arena, rt->count * sizeof(*worker->done), 64);
	slots = arena_alloc_aligned(&rt->arena, rt->count * each, 64);
	if (worker->done == NULL || slots == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < rt->count; i++)
		ring_init(&worker->done[i], slots + i * each, FILES_IN_FLIGHT, sizeof(struct file_job *));
	return -pthread_create(&worker->thread, NULL, worker_main, worker);
}

void
pool_stop(struct pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->started; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
}

/* Under the lock of rt. */
static int
pool_start(struct rt *rt)
{
	struct pool *pool = arena_alloc(&rt->arena, sizeof(*pool));
	int rc = 0;

	if (pool == NULL)
		return -ENOMEM;
	pool->rt = rt;
	list_init(&pool->ready);
	pool->idle = THREADS;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	while (rc == 0 && pool->started < THREADS) {
		rc = worker_start(&pool->workers[pool->started], pool);
		pool->started += rc == 0;
	}
	if (rc != 0) {
		pool_stop(pool);
		return rc;
	}
	rt->pool = pool;
	return 0;
}

static int
pool_open(struct kfiles *files)
{
	struct rt *rt = files->core->rt;
	int rc = 0;

	pthread_mutex_lock(&rt->lock);
	if (rt->pool == NULL)
		rc = pool_start(rt);
	files->pool = rt->pool;
	pthread_mutex_unlock(&rt->lock);
	return rc;
}

static void
pool_close(struct kfiles *files)
{
	files->pool = NULL;
}

static void
pool_push(struct kfiles *files, struct file_job *job)
{
	fifo_push(&files->gathered, &job->node);
}

static bool
pool_submit(struct kfiles *files)
{
	struct pool *pool = files->pool;
	struct fifo_node *node;

	if (fifo_empty(&files->gathered))
		return false;
	pthread_mutex_lock(&pool->lock);
	while ((node = fifo_pop(&files->gathered)) != NULL) {
		struct kdisk *disk = container_of(node, struct file_job, node)->disk;

		if (fifo_empty(&disk->jobs))
			list_push(&pool->ready, &disk->ready);
		fifo_push(&disk->jobs, node);
	}
	wake_one(pool);
	pthread_mutex_unlock(&pool->lock);
	return false;
}

static bool
pool_ready(const struct kfiles *files)
{
	for (int i = 0; i < THREADS; i++)
		if (ring_has(&files->pool->workers[i].done[files->core->reactor.index]))
			return true;
	return false;
}

static struct file_job *
pool_take(struct kfiles *files)
{
	struct file_job *job;

	for (int i = 0; i < THREADS; i++)
		if (ring_take(&files->pool->workers[i].done[files->core->reactor.index], &job))
			return job;
	return NULL;
}

/* The reactor's thread has ended: its eventfd is all that can be waited for. */
static void
pool_wait(struct kfiles *files)
{
	struct waker *waker = &files->core->waker;
	struct pollfd pollfd = { .fd = waker->fd, .events = POLLIN };
	uint64_t count;

	(void)pool_submit(files);
	waker_doze(waker);
	if (!pool_ready(files)) {
		(void)poll(&pollfd, 1, -1);
		(void)!read(waker->fd, &count, sizeof(count));
	}
	waker_rise(waker);
}

const struct files_ops files_threads = {
	.name = "threads",
	.open = pool_open,
	.close = pool_close,
	.push = pool_push,
	.submit = pool_submit,
	.ready = pool_ready,
	.take = pool_take,
	.wait = pool_wait,
};
