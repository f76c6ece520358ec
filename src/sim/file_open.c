/*
 * file_open.c - the files of a simulation by their names, and who has them open.
 *
 * What is done here is done at once: nothing of it is in flight.
 */
#include <errno.h>
#include <string.h>

#include "sim/disk.h"

enum { CACHE_LINE = 64 };

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
	handle->persistent = held->persistent;
	*out = &handle->base;
	return 0;
}

int
sim_file_extend(struct file *base, uint64_t size)
{
	struct sim_file *file = container_of(base, struct sim_handle, base)->file;

	if (size > (uint64_t)1 << FILE_BYTES_MAX_SHIFT)
		return -EFBIG;
	assert(base->map == NULL);
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
	if (handle->maps)
		sim_disk_unmap(handle->file);
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
	sim_disk_stored(file);
	sim_disk_sync(file, file->writes);
	sim_disk_get(file, offset, to, bytes, false);
	return (int64_t)bytes;
}

int64_t
sim_file_load(struct reactor *base, const char *path, struct arena *arena, uint64_t most, void **bytes)
{
	struct sim *sim = sim_reactor_of(base)->process->sim;
	struct sim_file *file = sim_file_find(sim, path);
	int rc = refusal(sim, path);

	if (rc != 0 || file == NULL)
		return rc != 0 ? rc : -ENOENT;
	if (file->size > most)
		return -EFBIG;
	*bytes = arena_alloc(arena, file->size + 1);
	if (*bytes == NULL)
		return -ENOMEM;
	sim_disk_get(file, 0, *bytes, file->size, false);
	return (int64_t)file->size;
}

uint64_t
sim_file_data(struct file *base, uint64_t offset)
{
	struct sim_file *file = container_of(base, struct sim_handle, base)->file;

	sim_disk_stored(file);
	return sim_disk_data(file, offset);
}

int
sim_file_map(struct file *base, bool persistent)
{
	struct sim_handle *handle = container_of(base, struct sim_handle, base);
	struct sim_file *file = handle->file;
	int rc;

	assert(base->map == NULL && base->size == file->size);
	if (persistent && !file->sim->options.file_persistent)
		return -EOPNOTSUPP;
	rc = file->size > 0 ? sim_disk_map(file) : -EINVAL;
	if (rc != 0)
		return rc;
	handle->maps = true;
	handle->persistent = persistent;
	base->map = file->map;
	return 0;
}

/* A line of the cache at a time. */
void
sim_file_write_back(struct file *base, const struct iovec *iov, int iov_count)
{
	struct sim_handle *handle = container_of(base, struct sim_handle, base);
	struct sim_file *file = handle->file;

	assert(base->map != NULL);
	for (int i = 0; i < iov_count && handle->persistent; i++) {
		uint64_t from = (uint64_t)((uint8_t *)iov[i].iov_base - file->map), to = from + iov[i].iov_len;

		from -= from % CACHE_LINE;
		to += (CACHE_LINE - to % CACHE_LINE) % CACHE_LINE;
		sim_disk_keep(file, from, (to < file->map_bytes ? to : file->map_bytes) - from);
	}
}
