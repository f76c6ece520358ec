/* files_uring.c - files through io_uring: a ring per reactor, watched by its engine. */
#include "rt/files.h"
#include "sys/uring.h"

/* The turn that follows finds the completion; that the engine returned is all that is needed. */
static void
uring_event(struct source *source, unsigned events)
{
}

static int
ring_open(struct kfiles *files)
{
	struct core *core = files->core;
	int rc = uring_open(&core->arena, FILES_IN_FLIGHT, &files->uring);

	if (rc != 0)
		return rc;
	files->uring_source.event = uring_event;
	rc = core->rt->engine->add(core->engine, uring_fd(files->uring), &files->uring_source);
	if (rc != 0)
		uring_close(files->uring);
	return rc;
}

static void
ring_close(struct kfiles *files)
{
	struct core *core = files->core;

	core->rt->engine->remove(core->engine, uring_fd(files->uring));
	uring_close(files->uring);
}

static int ring_keep(struct kfiles *files, int fd) { return uring_keep(files->uring, fd); }

static void ring_forget(struct kfiles *files, int kept) { uring_forget(files->uring, kept); }

static void
ring_push(struct kfiles *files, struct file_job *job)
{
	uring_push(files->uring, &job->req, job);
}

static bool ring_submit(struct kfiles *files) { return uring_submit(files->uring); }

static bool ring_ready(const struct kfiles *files) { return uring_ready(files->uring); }

static struct file_job *
ring_take_job(struct kfiles *files)
{
	void *token;
	int64_t result;
	struct file_job *job;

	if (!uring_take(files->uring, &token, &result))
		return NULL;
	job = token;
	job->result = result;
	return job;
}

static void ring_wait(struct kfiles *files) { uring_wait(files->uring); }

const struct files_ops files_uring = {
	.name = "io_uring",
	.open = ring_open,
	.close = ring_close,
	.keep = ring_keep,
	.forget = ring_forget,
	.push = ring_push,
	.submit = ring_submit,
	.ready = ring_ready,
	.take = ring_take_job,
	.wait = ring_wait,
};
