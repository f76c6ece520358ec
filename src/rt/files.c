/*
 * files.c - what becomes of a request to a file.
 *
 * Makes of a file_io the request that an engine performs; to make zeros several
 * in turn, the next way where a file system or device does not know the first.
 * What a short read or write has left is its owner's affair.  It does not know
 * how a request is performed.
 *
 * A disk may not answer at all: of one device, and of one file, no more is under way than
 * leaves others theirs.  (Choudhury and Hahne, Dynamic Queue Length
 * Thresholds, 1998)
 */
#include "rt/files.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The ways to make a range read as zeros; the last one always works, and takes its time. */
static const enum disk_kind punch_ways[] = { DISK_PUNCH, DISK_ZERO, DISK_WRITE };
static const enum disk_kind zero_ways[] = { DISK_ZERO, DISK_PUNCH, DISK_WRITE };

enum { ZEROS_BYTES = 64 * 1024 };
#define TOLD_NS (60 * UINT64_C(1000000000)) /* how often it is said that a file fails */
static const _Alignas(4096) uint8_t zeros[ZEROS_BYTES];

static const enum disk_kind *
ways_of(const struct file_io *io)
{
	return io->op == FILE_PUNCH ? punch_ways : zero_ways;
}

static uint64_t
bytes_of(const struct file_io *io)
{
	uint64_t bytes = 0;

	if (io->op == FILE_PUNCH || io->op == FILE_ZERO)
		return io->bytes;
	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	return bytes;
}

static void
point_at_zeros(struct file_job *job)
{
	uint64_t left = job->io->bytes - job->moved;

	job->zeros.iov_base = (void *)zeros;
	job->zeros.iov_len = left < ZEROS_BYTES ? left : ZEROS_BYTES;
	job->req.kind = DISK_WRITE;
	job->req.iov = &job->zeros;
	job->req.count = 1;
}

static void
choose_way(struct file_job *job)
{
	const enum disk_kind *ways = ways_of(job->io);

	/* What is too long to be written asks each time: that it cannot be had is said when it is done. */
	while (job->io->bytes <= FILE_ZEROS_MAX && job->file->cannot & 1u << ways[job->attempt]) {
		job->attempt++;
		assert(job->attempt < sizeof(zero_ways) / sizeof(zero_ways[0])); /* no file refuses the last one */
	}
	job->req.kind = ways[job->attempt];
	job->req.bytes = job->io->bytes;
	if (job->req.kind == DISK_WRITE)
		point_at_zeros(job);
}

/* Makes the request that is next and gives it to the engine. */
static void
push(struct file_job *job)
{
	struct kfiles *files = job->file->files;
	struct file_io *io = job->io;

	job->req = (struct disk_req){
		.fd = job->file->fd, .kept = job->file->kept,
		.durable = io->durable && job->file->file.direct, .waits = job->file->disk->disk.waits,
		.offset = io->offset + job->moved,
	};
	switch (io->op) {
	case FILE_READ:
	case FILE_WRITE:
		job->req.kind = io->op == FILE_READ ? DISK_READ : DISK_WRITE;
		job->req.iov = io->iov;
		job->req.count = io->iov_count < SOCK_IOV_MAX ? io->iov_count : SOCK_IOV_MAX;
		break;
	case FILE_SYNC:
		job->req.kind = DISK_SYNC;
		break;
	case FILE_PUNCH:
	case FILE_ZERO:
		choose_way(job);
		break;
	}
	files->ops->push(files, job);
	reactor_run_in(&files->core->reactor, PHASE_SUBMIT, &files->submit);
}

/* Of this kind, and of every range of this file. */
static bool
is_refusal(int64_t result)
{
	return result == -EOPNOTSUPP || result == -ENOSYS || result == -ENODEV || result == -ENOTTY;
}

/* True: the file_io is done, and its result set. */
static bool
is_done(struct file_job *job)
{
	struct file_io *io = job->io;
	enum disk_kind kind = job->req.kind;
	int64_t result = job->result;

	if (result == -EINTR || result == -EAGAIN)
		return false;
	/* -EINVAL: it cannot be done with this range, which does not fit the blocks of the device, say. */
	if ((kind == DISK_PUNCH || kind == DISK_ZERO) && (is_refusal(result) || result == -EINVAL)) {
		if (result != -EINVAL)
			job->file->cannot |= 1u << kind;
		job->attempt++;
		io->result = -E2BIG;
		return io->bytes > FILE_ZEROS_MAX && ways_of(io)[job->attempt] == DISK_WRITE;
	}
	io->result = result;
	if (result < 0 || (io->op != FILE_PUNCH && io->op != FILE_ZERO))
		return true;
	/* Nothing written, inside the file: the medium is shorter than it said. */
	io->result = kind == DISK_WRITE && result == 0 ? -EIO : (int64_t)io->bytes;
	job->moved += (uint64_t)result;
	return kind != DISK_WRITE || result == 0 || job->moved == io->bytes;
}

static void
start(struct kfile *file, struct file_io *io)
{
	struct kfiles *files = file->files;
	struct file_job *job = container_of(fifo_pop(&files->free), struct file_job, node);

	files->in_flight++;
	file->in_flight++;
	file->device->busy++;
	job->file = file;
	job->disk = file->disk;
	job->io = io;
	if (io == &file->sync)
		sync_began(file);
	job->moved = 0;
	job->attempt = 0;
	push(job);
}

static bool
may_start(const struct kfile *file)
{
	return share_left(FILES_IN_FLIGHT - file->files->in_flight, file->device, file->in_flight);
}

/* One of each file in turn, so that none starves another; and not of those that have their share. */
static void
start_waiting(struct kfiles *files)
{
	struct list full, *node;

	list_init(&full);
	while ((node = list_pop(&files->waiting)) != NULL) {
		struct kfile *file = container_of(node, struct kfile, node);
		struct fifo_node *first;

		if (!may_start(file)) {
			list_push(&full, node);
			continue;
		}
		first = fifo_pop(&file->waiting);
		if (!fifo_empty(&file->waiting))
			list_push(&files->waiting, node);
		start(file, container_of(first, struct file_io, node));
	}
	while ((node = list_pop(&full)) != NULL)
		list_push(&files->waiting, node);
}

void
files_begin(struct kfile *file, struct file_io *io)
{
	/* Other files that wait have their share. */
	if (fifo_empty(&file->waiting) && may_start(file)) {
		start(file, io);
		return;
	}
	if (fifo_empty(&file->waiting))
		list_push(&file->files->waiting, &file->node);
	fifo_push(&file->waiting, &io->node);
}

void
world_file_submit(struct file *file, struct file_io *io)
{
	struct kfile *kfile = (struct kfile *)file;

	assert(io->op == FILE_SYNC || bytes_of(io) > 0);
	if (io->op == FILE_SYNC)
		sync_join(kfile, io);
	else
		files_begin(kfile, io);
}

static void
run_submit(struct task *task)
{
	struct kfiles *files = container_of(task, struct kfiles, submit);
	struct reactor *reactor = &files->core->reactor;

	reactor->syscalls++;
	if (files->ops->submit(files))
		reactor_run_in(reactor, PHASE_SUBMIT, task);
	/* What lay in the page cache may be done already. */
	if (files->ops->ready(files))
		reactor_run_in(reactor, PHASE_COLLECT, &files->collect);
}

/* What it means for a sync, and for what is to be durable, is kdisk_lose()'s to say. */
static void
complain(struct kfile *file, const struct file_io *io)
{
	static const char *const what[] = {
		[FILE_READ] = "it cannot be read", [FILE_WRITE] = "it cannot be written to",
		[FILE_PUNCH] = "blocks of it cannot be given back", [FILE_ZERO] = "blocks of it cannot be zeroed",
	};
	struct reactor *reactor = file->file.reactor;
	char text[512];

	if (file->told_ns != 0 && reactor->now_ns - file->told_ns < TOLD_NS)
		return;
	file->told_ns = reactor->now_ns;
	snprintf(text, sizeof(text), "%.300s: %s: %s", file->disk->path, what[io->op],
	    strerrordesc_np((int)-io->result));
	reactor->world->log(reactor, 0, text);
}

/* No job has it any more. */
static void
end(struct kfile *file, struct file_io *io)
{
	bool durable = io->op == FILE_WRITE && io->durable;

	if (io == &file->sync) {
		sync_ended(file);
		return;
	}
	if (durable && !file->file.direct && io->result > 0) {
		sync_join(file, io);
		return;
	}
	if (durable && file->file.direct)
		sync_unneeded(file, io);
	else if (io->result < 0 && io->result != -E2BIG && io->op != FILE_SYNC)
		complain(file, io);
	io->done(io);
}

static void
run_collect(struct task *task)
{
	struct kfiles *files = container_of(task, struct kfiles, collect);
	struct file_job *job;

	/* Those submitted by done() are handed over in the next turn: this ends. */
	while (files->ops->ready(files) && (job = files->ops->take(files)) != NULL) {
		struct kfile *file = job->file;

		if (!is_done(job)) {
			push(job);
			continue;
		}
		files->in_flight--;
		file->in_flight--;
		file->device->busy--;
		fifo_push(&files->free, &job->node);
		start_waiting(files);
		end(file, job->io);
	}
}

bool
files_ready(const struct core *core)
{
	return core->files != NULL && core->files->in_flight > 0 && core->files->ops->ready(core->files);
}

void
files_collect(struct core *core)
{
	reactor_run_in(&core->reactor, PHASE_COLLECT, &core->files->collect);
}

/* ---- beginning and end ---- */

static int
open_engine(struct kfiles *files)
{
	enum rt_files wish = files->core->rt->options.files;
	int rc;

	files->ops = wish == RT_FILES_THREADS ? &files_threads : &files_uring;
	rc = files->ops->open(files);
	if (rc != 0 && wish == RT_FILES_AUTO) {
		files->ops = &files_threads;
		rc = files->ops->open(files);
	}
	return rc;
}

int
files_need(struct core *core)
{
	struct arena *arena = &core->arena;
	struct kfiles *files;
	int rc = -ENOMEM;

	assert(!core->rt->options.attended);
	if (core->files != NULL)
		return 0;
	files = arena_alloc(arena, sizeof(*files));
	if (files == NULL)
		return -ENOMEM;
	files->core = core;
	list_init(&files->open);
	list_init(&files->devices);
	list_init(&files->waiting);
	fifo_init(&files->free);
	fifo_init(&files->gathered);
	task_init(&files->submit, run_submit);
	task_init(&files->collect, run_collect);
	files->all = arena_alloc(arena, FILES_IN_FLIGHT * sizeof(*files->all));
	if (files->all != NULL)
		rc = open_engine(files);
	if (rc != 0) {
		arena_free(arena, files->all);
		arena_free(arena, files);
		return rc;
	}
	for (int i = 0; i < FILES_IN_FLIGHT; i++) {
		files->all[i].core = core;
		fifo_push(&files->free, &files->all[i].node);
	}
	core->files = files;
	return 0;
}

/* The kernel and the threads write into memory of the process: they must be done before it goes. */
void
files_close(struct core *core)
{
	struct kfiles *files = core->files;

	if (files == NULL)
		return;
	while (files->in_flight > 0) {
		files->ops->wait(files);
		while (files->ops->ready(files) && files->ops->take(files) != NULL)
			files->in_flight--;
	}
	list_for_each(&files->open, node) {
		struct kfile *file = container_of(node, struct kfile, open_node);

		if (file->maps)
			disk_unmap(file->file.map, file->file.size);
		if (file->held == NULL && file->fd != file->disk->disk.fd)
			close(file->fd);
	}
	files->ops->close(files);
	core->files = NULL;
}

/* A wish that cannot be met is said at the start, not when the first file is opened. */
int
files_check(struct rt *rt)
{
	struct core *core = rt->cores[0];

	if (rt->options.files != RT_FILES_URING)
		return 0;
	return files_need(core);
}

const char *
rt_files_engine(struct reactor *reactor)
{
	const struct kfiles *files = core_of(reactor)->files;

	return files == NULL ? "none" : files->ops->name;
}

size_t rt_files_bytes(void) { return sizeof(struct kfiles) + FILES_IN_FLIGHT * sizeof(struct file_job); }
