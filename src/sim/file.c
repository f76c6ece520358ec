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

struct sim_io {
	struct list node;      /* in the handle's ios */
	struct fifo_node done; /* in the reactor's done, afterwards */
	struct file_io *io;    /* NULL: its process crashed before it took effect */
	struct sim_handle *handle;
	int64_t fault;         /* as the hook answered */
	uint64_t writes;       /* of the file, at submission: what a sync covers */
};

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
	if (io->op == FILE_SYNC)
		sim_disk_stored(file);
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
	if (handle->maps)
		sim_disk_unmap(handle->file);
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
