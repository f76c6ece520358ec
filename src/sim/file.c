/*
 * file.c - file operations in flight: when they take effect, and how they fail.
 *
 * Operations of one file overtake each other; each takes effect at one instant
 * between submission and done().  One that is in flight at a crash may have
 * taken effect in whole, in part (by sectors, of 4 KiB where the options do not
 * say otherwise) or not at all.
 * Directories, and the sizes of files, are durable at once.  A sync that fails loses what
 * it was for, as a kernel's does.
 */
#include <errno.h>
#include <string.h>

#include "sim/disk.h"

enum { FILE_BYTES_MAX_SHIFT = 42 };

struct sim_handle {
	struct file base;
	struct list node;      /* in the process's handles */
	struct sim_reactor *reactor;
	struct sim_file *file;
	struct list ios;       /* submitted and without effect yet, in that order */
	unsigned pending;      /* submitted and not done() */
};

struct sim_io {
	struct list node;      /* in the handle's ios */
	struct fifo_node done; /* in the reactor's done, afterwards */
	struct file_io *io;    /* NULL: its process crashed before it took effect */
	struct sim_handle *handle;
	int64_t fault;         /* as the hook answered */
	uint64_t writes;       /* of the file, at submission: what a sync covers */
};

struct sim_file *
sim_file_find(struct sim *sim, const char *path)
{
	list_for_each(&sim->files, node) {
		struct sim_file *file = container_of(node, struct sim_file, node);

		if (strcmp(file->path, path) == 0)
			return file;
	}
	return NULL;
}

unsigned
sim_process_files(const struct sim_process *process, const struct sim_file *file)
{
	unsigned count = 0;

	list_for_each(&process->handles, node)
		count += file == NULL || container_of(node, struct sim_handle, node)->file == file;
	return count;
}

uint64_t sim_file_size(const struct sim_file *file) { return file->size; }
uint64_t sim_file_name(const char *path) { return sim_hash_bytes(0, path, strlen(path)); }

void
sim_file_peek(const struct sim_file *file, uint64_t offset, void *out, size_t bytes, bool durable)
{
	sim_disk_get(file, offset, out, bytes, durable);
}

void
sim_file_corrupt(struct sim_file *file, uint64_t offset, const void *data, size_t bytes)
{
	assert(offset <= file->size && bytes <= file->size - offset);
	sim_trace(file->sim, SIM_SPOIL, sim_file_name(file->path), offset, sim_hash_bytes(0, data, bytes));
	sim_disk_put(file, offset, data, bytes, true);
}

static int
refusal(struct sim *sim, const char *path)
{
	return sim->options.file_refusal != NULL ? sim->options.file_refusal(sim->options.arg, path) : 0;
}

/* Found, or made, and as long as it must be. */
static int
have_file(struct sim_process *process, const char *path, uint64_t size, struct sim_file **out)
{
	struct sim *sim = process->sim;
	struct sim_file *file = sim_file_find(sim, path);
	int rc = refusal(sim, path);

	if (rc != 0)
		return rc;
	if (size > (uint64_t)1 << FILE_BYTES_MAX_SHIFT)
		return -EFBIG;
	if (file == NULL && size == 0)
		return -ENOENT;
	if (file == NULL) {
		file = sim_alloc(sim, sizeof(*file));
		file->sim = sim;
		file->number = ++sim->file_count;
		file->path = sim_strdup(sim, path);
		list_init(&file->dirty);
		list_init(&file->lost_pages);
		list_push(&sim->files, &file->node);
	}
	if (file->size < size)
		file->size = size;
	file->process = process;
	*out = file;
	return 0;
}

int
sim_file_make(struct reactor *base, const char *path, uint64_t size, int64_t *was)
{
	struct sim_file *file = sim_file_find(sim_reactor_of(base)->process->sim, path);

	*was = file != NULL ? (int64_t)file->size : -1;
	return have_file(sim_reactor_of(base)->process, path, size, &file);
}

static struct sim_handle *
add_handle(struct sim_reactor *reactor, struct sim_file *file)
{
	struct sim_handle *handle = sim_alloc(file->sim, sizeof(*handle));

	handle->reactor = reactor;
	handle->file = file;
	list_init(&handle->ios);
	list_push(&reactor->process->handles, &handle->node);
	return handle;
}

int
sim_file_open(struct reactor *base, const char *path, uint64_t size, uint32_t block, struct file **out)
{
	struct sim_reactor *reactor = sim_reactor_of(base);
	struct sim_process *process = reactor->process;
	struct sim *sim = process->sim;
	struct sim_file *file = sim_file_find(sim, path);
	struct sim_handle *handle;
	bool direct = sim->options.file_direct && sim->options.file_align <= block;
	int64_t was = file != NULL ? (int64_t)file->size : -1;
	int rc = have_file(process, path, size, &file);

	if (rc != 0)
		return rc;
	if (sim_process_files(process, file) == 0)
		file->lost = false;
	handle = add_handle(reactor, file);
	handle->base = (struct file){
		.reactor = base, .size = file->size, .was = was,
		.align = direct ? sim->options.file_align : 1, .direct = direct, .id = { 0, file->number },
	};
	*out = &handle->base;
	return 0;
}

int
sim_file_share(struct file *base, struct reactor *reactor, struct file **out)
{
	struct sim_handle *held = container_of(base, struct sim_handle, base);
	struct sim_handle *handle = add_handle(sim_reactor_of(reactor), held->file);

	handle->base = *base;
	handle->base.reactor = reactor;
	*out = &handle->base;
	return 0;
}

int
sim_file_extend(struct file *base, uint64_t size)
{
	struct sim_file *file = container_of(base, struct sim_handle, base)->file;

	if (size > (uint64_t)1 << FILE_BYTES_MAX_SHIFT)
		return -EFBIG;
	base->was = (int64_t)file->size;
	if (file->size < size)
		file->size = size;
	base->size = file->size;
	return 0;
}

int
sim_file_id(struct reactor *base, const char *path, uint64_t id[2])
{
	const struct sim_file *file = sim_file_find(sim_reactor_of(base)->process->sim, path);

	if (file == NULL)
		return -ENOENT;
	id[0] = 0;
	id[1] = file->number;
	return 0;
}

/* Nothing was written where it was not there before. */
int
sim_file_undo(struct reactor *base, const char *path, int64_t was, const uint64_t id[2])
{
	struct sim_process *process = sim_reactor_of(base)->process;
	struct sim_file *file = sim_file_find(process->sim, path);

	if (file == NULL)
		return -ENOENT;
	if (id[1] != file->number)
		return -ESTALE;
	if (was >= 0) {
		file->size = file->size < (uint64_t)was ? file->size : (uint64_t)was;
		return 0;
	}
	if (sim_process_files(process, file) > 0 || !list_empty(&file->dirty) || !list_empty(&file->lost_pages))
		return -EBUSY;
	list_remove(&file->node);
	arena_free(&process->sim->arena, file->path);
	arena_free(&process->sim->arena, file);
	return 0;
}

void
sim_file_close(struct file *base)
{
	struct sim_handle *handle = container_of(base, struct sim_handle, base);

	assert(handle->pending == 0);
	list_remove(&handle->node);
	arena_free(&handle->file->sim->arena, handle);
}

int64_t
sim_file_fetch(struct file *base, uint64_t offset, void *to, size_t bytes)
{
	struct sim_handle *handle = container_of(base, struct sim_handle, base);
	struct sim_file *file = handle->file;
	int rc = refusal(file->sim, file->path);

	if (rc != 0)
		return rc;
	assert((offset | bytes | (uintptr_t)to) % base->align == 0);
	if (offset >= file->size)
		return 0;
	if (bytes > file->size - offset)
		bytes = (size_t)(file->size - offset);
	sim_disk_sync(file, file->writes);
	sim_disk_get(file, offset, to, bytes, false);
	return (int64_t)bytes;
}

uint64_t
sim_file_data(struct file *base, uint64_t offset)
{
	return sim_disk_data(container_of(base, struct sim_handle, base)->file, offset);
}

static bool
is_aligned(const struct sim_handle *handle, const struct file_io *io)
{
	uint64_t bits = io->offset;

	if (io->op != FILE_READ && io->op != FILE_WRITE)
		return true;
	for (int i = 0; i < io->iov_count; i++)
		bits |= io->iov[i].iov_len | (uintptr_t)io->iov[i].iov_base;
	return bits % handle->base.align == 0;
}

static uint64_t
io_bytes(const struct file_io *io)
{
	uint64_t bytes = 0;

	if (io->op == FILE_SYNC)
		return 0; /* what else stands in it says nothing */
	if (io->op == FILE_PUNCH || io->op == FILE_ZERO)
		return io->bytes;
	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	return bytes;
}

void
sim_file_submit(struct file *base, struct file_io *io)
{
	struct sim_handle *handle = container_of(base, struct sim_handle, base);
	struct sim_file *file = handle->file;
	struct sim *sim = file->sim;
	struct sim_io *sio = sim_alloc(sim, sizeof(*sio));
	struct sim_event *event = sim_event_take(sim, SIM_IO);
	uint64_t at_ns;

	assert(handle->reactor->in_turn && is_aligned(handle, io));
	sio->io = io;
	sio->handle = handle;
	sio->writes = file->writes;
	if (sim->options.file_fault != NULL)
		sio->fault = sim->options.file_fault(sim->options.arg, file->path, io);
	if (sio->fault == 0)
		sio->fault = sim_faults_draw(file, io, io_bytes(io), handle->base.align);
	list_push(&handle->ios, &sio->node);
	handle->pending++;
	event->io = sio;
	at_ns = sim_reactor_spend(handle->reactor, sim->options.io_ns);
	sim_event_put(sim, event, at_ns + sim_faults_delay(file));
}

/* ---- what an operation does ---- */

/* Moves bytes from or to the operation's buffers, at most `bytes`. */
static void
move(struct sim_file *file, const struct file_io *io, uint64_t bytes)
{
	uint64_t offset = io->offset;

	for (int i = 0; i < io->iov_count && bytes > 0; i++) {
		size_t part = io->iov[i].iov_len < bytes ? io->iov[i].iov_len : (size_t)bytes;

		if (io->op == FILE_READ)
			sim_disk_get(file, offset, io->iov[i].iov_base, part, false);
		else
			sim_disk_put(file, offset, io->iov[i].iov_base, part, io->durable);
		offset += part;
		bytes -= part;
	}
}

static bool is_late(const struct sim_io *sio) { return sio->fault < INT64_MIN / 2; }
static bool fails_at_once(const struct sim_io *sio) { return sio->fault < 0 && !is_late(sio); }

static int64_t
perform(struct sim_io *sio)
{
	struct file_io *io = sio->io;
	struct sim_file *file = sio->handle->file;
	uint64_t bytes = io_bytes(io);

	if (fails_at_once(sio))
		return sio->fault;
	if (io->offset > (uint64_t)1 << FILE_BYTES_MAX_SHIFT || bytes > (uint64_t)1 << FILE_BYTES_MAX_SHIFT)
		return -EFBIG;
	if (sio->fault > 0 && bytes > (uint64_t)sio->fault)
		bytes = (uint64_t)sio->fault;
	switch (io->op) {
	case FILE_READ:
		if (io->offset >= file->size)
			return 0;
		if (bytes > file->size - io->offset)
			bytes = file->size - io->offset;
		move(file, io, bytes);
		return (int64_t)bytes;
	case FILE_WRITE:
		move(file, io, bytes);
		if (file->size < io->offset + bytes)
			file->size = io->offset + bytes;
		sim_disk_writeback(file, io->offset, bytes);
		return (int64_t)bytes;
	case FILE_SYNC:
		sim_disk_sync(file, sio->writes);
		return file->lost ? -EIO : 0;
	case FILE_PUNCH:
	case FILE_ZERO:
		sim_disk_put(file, io->offset, NULL, (size_t)bytes, false);
		sim_disk_writeback(file, io->offset, bytes);
		return 0;
	}
	return -EINVAL;
}

/* What it means for the rest of the file that it failed. */
static void
settle(struct sim_io *sio)
{
	const struct file_io *io = sio->io;
	struct sim_file *file = sio->handle->file;
	bool no_room = io->result == -ENOSPC || io->result == -EDQUOT || io->result == -EFBIG;

	if (io->op != FILE_SYNC && (io->op != FILE_WRITE || !io->durable))
		return;
	if (io->op == FILE_SYNC && io->result < 0)
		sim_disk_lose(file, sio->writes);
	if (io->result < 0 && (io->op == FILE_SYNC || !no_room))
		file->lost = true;
	sio->handle->base.lost = file->lost;
}

void
sim_file_handle(struct sim *sim, struct sim_event *event)
{
	struct sim_io *sio = event->io;
	struct sim_reactor *reactor;

	if (sio->io != NULL && sim_faults_stall(sio->handle->file, event))
		return;
	sim_event_give(sim, event);
	if (sio->io == NULL) {
		arena_free(&sim->arena, sio);
		return;
	}
	reactor = sio->handle->reactor;
	sio->io->result = perform(sio);
	if (is_late(sio))
		sio->io->result = sim_late(0) - sio->fault;
	settle(sio);
	sim_trace(sim, SIM_IO, sim_reactor_name(reactor), sio->io->offset, (uint64_t)sio->io->result);
	list_remove(&sio->node);
	fifo_push(&reactor->done, &sio->done);
	sim_reactor_wake(reactor, sim->now_ns);
}

void
sim_file_done(struct sim_reactor *reactor)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&reactor->done)) != NULL) {
		struct sim_io *sio = container_of(node, struct sim_io, done);
		struct file_io *io = sio->io;

		sio->handle->pending--;
		arena_free(&reactor->process->sim->arena, sio);
		io->done(io);
	}
}

/* ---- a crash ---- */

/* What the crash found in flight took effect in some of its sectors. */
static void
tear(struct sim_file *file, const struct file_io *io)
{
	bool zeros = io->op == FILE_PUNCH || io->op == FILE_ZERO, lands = false;
	uint64_t unit = file->sim->options.file_sector > 0 ? file->sim->options.file_sector : DISK_PAGE;
	uint64_t offset = io->offset, left = io_bytes(io), sector = UINT64_MAX;
	const struct iovec *iov = io->iov;
	size_t at = 0;

	while (left > 0 && offset < file->size) {
		uint64_t part = unit - offset % unit;

		if (part > left)
			part = left;
		if (!zeros && part > iov->iov_len - at)
			part = iov->iov_len - at;
		if (sector != offset / unit) {
			sector = offset / unit;
			lands = sim_chance(file->sim, 500000);
		}
		if (lands)
			sim_disk_put(file, offset, zeros ? NULL : (uint8_t *)iov->iov_base + at, part, false);
		offset += part;
		left -= part;
		at += part;
		if (!zeros && at == iov->iov_len) {
			iov++;
			at = 0;
		}
	}
}

static void
handle_crash(struct sim *sim, struct sim_handle *handle)
{
	list_for_each(&handle->ios, node) {
		struct sim_io *sio = container_of(node, struct sim_io, node);

		if (!fails_at_once(sio) && sio->io->op != FILE_READ && sio->io->op != FILE_SYNC)
			tear(handle->file, sio->io);
		list_remove(&sio->node);
		sio->io = NULL; /* its event frees it */
	}
	list_remove(&handle->node);
	arena_free(&sim->arena, handle);
}

void
sim_file_crash(struct sim_process *process, bool keeps_writes)
{
	struct sim *sim = process->sim;

	for (unsigned i = 0; i < process->count; i++) {
		struct fifo_node *node;

		while ((node = fifo_pop(&process->reactors[i].done)) != NULL)
			arena_free(&sim->arena, container_of(node, struct sim_io, done));
	}
	list_for_each(&process->handles, node)
		handle_crash(sim, container_of(node, struct sim_handle, node));
	list_for_each(&sim->files, node) {
		struct sim_file *file = container_of(node, struct sim_file, node);

		if (file->process == process && !keeps_writes)
			sim_disk_crash(file);
	}
}
