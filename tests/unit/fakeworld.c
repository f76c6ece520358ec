#include "fakeworld.h"

#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sim/memory.h"

struct fake_handle {
	struct file file;
	struct fake_file *of;
};

static struct fakeworld *
world_of(struct reactor *reactor)
{
	return container_of(reactor - reactor->index, struct fakeworld, reactors[0]);
}

/* ---- files ---- */

struct fake_file *
fake_file_find(struct fakeworld *fw, const char *path)
{
	for (int i = 0; i < FAKE_FILES; i++)
		if (fw->files[i].path[0] != '\0' && strcmp(fw->files[i].path, path) == 0)
			return &fw->files[i];
	return NULL;
}

static int
file_grow(struct fakeworld *fw, struct fake_file *file, uint64_t size)
{
	uint8_t *bytes = arena_alloc(&fw->arena, size);

	if (bytes == NULL)
		return -ENOMEM;
	if (file->size > 0)
		memcpy(bytes, file->bytes, file->size);
	arena_free(&fw->arena, file->bytes);
	file->bytes = bytes;
	file->size = size;
	return 0;
}

struct fake_file *
fake_file_make(struct fakeworld *fw, const char *path, uint64_t size)
{
	for (int i = 0; i < FAKE_FILES; i++) {
		struct fake_file *file = &fw->files[i];

		if (file->path[0] != '\0')
			continue;
		assert_true(strlen(path) < sizeof(file->path));
		strcpy(file->path, path);
		if (size > 0)
			assert_int_equal(file_grow(fw, file, size), 0);
		return file;
	}
	fail_msg("more than %d files", FAKE_FILES);
	return NULL;
}

/* Found, or made, and as long as it must be. */
static int
have_file(struct reactor *reactor, const char *path, uint64_t size)
{
	struct fakeworld *fw = world_of(reactor);
	struct fake_file *of = fake_file_find(fw, path);

	if (fw->fail_open != 0)
		return fw->fail_open;
	if (of == NULL && size == 0)
		return -ENOENT;
	if (of == NULL)
		of = fake_file_make(fw, path, 0);
	return of->size < size ? file_grow(fw, of, size) : 0;
}

static int
make_file(struct reactor *reactor, const char *path, uint64_t size, int64_t *was)
{
	const struct fake_file *of = fake_file_find(world_of(reactor), path);

	*was = of != NULL ? (int64_t)of->size : -1;
	return have_file(reactor, path, size);
}

static int
fake_file_open(struct reactor *reactor, const char *path, uint64_t size, uint32_t block, struct file **file)
{
	struct fakeworld *fw = world_of(reactor);
	struct fake_file *of = fake_file_find(fw, path);
	struct fake_handle *handle;
	int64_t was = of != NULL ? (int64_t)of->size : -1;
	int error;

	handle = arena_alloc(&fw->arena, sizeof(*handle));
	if (handle == NULL)
		return -ENOMEM;
	error = have_file(reactor, path, size);
	if (error != 0) {
		arena_free(&fw->arena, handle);
		return error;
	}
	of = fake_file_find(fw, path);
	handle->file = (struct file){
		.reactor = reactor, .size = of->size, .was = was, .align = 1, .device = of->device,
		.id = { 0, (uintptr_t)of },
	};
	handle->file.direct = fw->align > 0 && fw->align <= block;
	if (handle->file.direct)
		handle->file.align = fw->align;
	handle->of = of;
	of->lost = of->lost && of->handles > 0;
	of->handles++;
	*file = &handle->file;
	return 0;
}

static int
fake_file_share(struct file *file, struct reactor *reactor, struct file **shared)
{
	struct fake_handle *held = container_of(file, struct fake_handle, file);
	struct fake_handle *handle = arena_alloc(&world_of(reactor)->arena, sizeof(*handle));

	if (handle == NULL)
		return -ENOMEM;
	*handle = *held;
	handle->file.reactor = reactor;
	handle->of->handles++;
	*shared = &handle->file;
	return 0;
}

static int
fake_file_extend(struct file *file, uint64_t size)
{
	struct fake_file *of = container_of(file, struct fake_handle, file)->of;

	if (world_of(file->reactor)->fail_open != 0)
		return world_of(file->reactor)->fail_open;
	file->was = (int64_t)of->size;
	if (of->size < size && file_grow(world_of(file->reactor), of, size) != 0)
		return -ENOMEM;
	file->size = of->size;
	return 0;
}

static void
fake_file_close(struct file *file)
{
	struct fake_handle *handle = container_of(file, struct fake_handle, file);

	handle->of->handles--;
	arena_free(&world_of(file->reactor)->arena, handle);
}

static int64_t
fake_file_fetch(struct file *file, uint64_t offset, void *to, size_t bytes)
{
	const struct fake_handle *handle = container_of(file, struct fake_handle, file);
	uint64_t left = offset < handle->of->size ? handle->of->size - offset : 0;

	if (world_of(file->reactor)->fail_fetch != 0)
		return world_of(file->reactor)->fail_fetch;
	bytes = bytes < left ? bytes : left;
	world_of(file->reactor)->fetched += bytes;
	memcpy(to, handle->of->bytes + offset, bytes);
	return (int64_t)bytes;
}

static int64_t
fake_file_load(struct reactor *reactor, const char *path, struct arena *arena, uint64_t most, void **bytes)
{
	const struct fake_file *file = fake_file_find(world_of(reactor), path);

	if (file == NULL || file->size > most)
		return file == NULL ? -ENOENT : -EFBIG;
	*bytes = arena_alloc(arena, file->size + 1);
	if (*bytes == NULL)
		return -ENOMEM;
	memcpy(*bytes, file->bytes, file->size);
	return (int64_t)file->size;
}

static uint64_t
fake_file_data(struct file *file, uint64_t offset)
{
	const struct fake_file *of = container_of(file, struct fake_handle, file)->of;

	while (offset < of->size && of->bytes[offset] == 0)
		offset++;
	return offset < of->size ? offset / 4096 * 4096 : UINT64_MAX;
}

static int
fake_file_id(struct reactor *reactor, const char *path, uint64_t id[2])
{
	const struct fake_file *file = fake_file_find(world_of(reactor), path);

	id[0] = 0;
	id[1] = (uintptr_t)file;
	return file != NULL ? 0 : -ENOENT;
}

static int
fake_file_undo(struct reactor *reactor, const char *path, int64_t was, const uint64_t id[2])
{
	struct fake_file *file = fake_file_find(world_of(reactor), path);

	if (file == NULL)
		return -ENOENT;
	if (id[1] != (uintptr_t)file)
		return -ESTALE;
	file->size = was < 0 ? 0 : (uint64_t)was;
	if (was < 0) {
		file->path[0] = '\0';
		arena_free(&world_of(reactor)->arena, file->bytes);
		file->bytes = NULL;
	}
	return 0;
}

/* The outcome is decided here, so that failures set afterwards spare it; done() is told later. */
static int64_t
file_move(struct fakeworld *fw, struct fake_file *file, struct file_io *io)
{
	uint64_t bytes = 0, at = io->offset, limit = io->op == FILE_READ ? file->size : UINT64_MAX;

	for (int i = 0; i < io->iov_count; i++)
		bytes += io->iov[i].iov_len;
	if (io->op == FILE_WRITE && fw->disk_bytes > 0)
		limit = fw->disk_bytes;
	if (io->op == FILE_WRITE && at >= limit)
		return -ENOSPC;
	if (at + bytes > limit)
		bytes = at < limit ? limit - at : 0;
	if (fw->short_by > 0) {
		assert_true(fw->short_by < bytes);
		bytes -= fw->short_by;
		fw->short_by = 0;
	}
	for (int i = 0; at < io->offset + bytes; i++) {
		uint64_t left = io->offset + bytes - at;
		uint64_t n = left < io->iov[i].iov_len ? left : io->iov[i].iov_len;

		if (io->op == FILE_READ)
			memcpy(io->iov[i].iov_base, file->bytes + at, n);
		else
			memcpy(file->bytes + at, io->iov[i].iov_base, n);
		at += n;
	}
	fw->durable += io->durable;
	return (int64_t)bytes;
}

static int64_t
file_do(struct fakeworld *fw, struct fake_file *file, struct file_io *io)
{
	if (fw->fail[io->op] != 0 && fw->fails_late && io->op == FILE_WRITE)
		(void)file_move(fw, file, io);
	if (fw->fail[io->op] != 0)
		return fw->fail[io->op];
	if (fw->writes_zeros && (io->op == FILE_PUNCH || io->op == FILE_ZERO) && io->bytes > FILE_ZEROS_MAX)
		return -E2BIG;
	fw->done[io->op]++;
	switch (io->op) {
	case FILE_READ:
	case FILE_WRITE:
		return file_move(fw, file, io);
	case FILE_PUNCH:
	case FILE_ZERO:
		assert_true(io->offset + io->bytes <= file->size);
		memset(file->bytes + io->offset, 0, io->bytes);
		break;
	case FILE_SYNC:
		break;
	}
	return 0;
}

static void
fake_file_submit(struct file *file, struct file_io *io)
{
	struct fake_handle *handle = container_of(file, struct fake_handle, file);
	struct fakeworld *fw = world_of(file->reactor);

	io->result = file_do(fw, handle->of, io);
	if (io->result < 0 && (io->op == FILE_SYNC || (io->durable && io->result != -ENOSPC)))
		handle->of->lost = true;
	else if (io->op == FILE_SYNC && handle->of->lost)
		io->result = -EIO;
	file->lost = handle->of->lost;
	fifo_push(&fw->requests, &io->node);
	fw->in_flight++;
	if (!fw->hold_files)
		reactor_run_in(file->reactor, PHASE_COLLECT, &fw->finish[file->reactor->index].task);
}

void
fake_files_finish(struct fakeworld *fw)
{
	struct fifo batch;
	struct fifo_node *node;

	fifo_init(&batch);
	fifo_splice(&batch, &fw->requests);
	while ((node = fifo_pop(&batch)) != NULL) {
		struct file_io *io = container_of(node, struct file_io, node);

		fw->in_flight--;
		io->done(io);
	}
}

static void
finish_task(struct task *task)
{
	fake_files_finish(container_of(task, struct fake_finish, task)->world);
}

/* ---- memory, mail and the rest ---- */

static void *
map(struct fakeworld *fw, size_t bytes, int may)
{
	void *pages;

	if (fw->pages_most > 0 && bytes > fw->pages_most)
		return NULL;
	pages = mmap(NULL, bytes, may, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	fw->pages_mapped += bytes;
	return pages;
}

static void *
fake_pages_map(struct reactor *reactor, size_t bytes, bool apart)
{
	return map(world_of(reactor), bytes, PROT_READ | PROT_WRITE);
}

static void *
fake_pages_reserve(struct reactor *reactor, size_t bytes, size_t room)
{
	void *pages = map(world_of(reactor), room, PROT_NONE);

	assert_true(bytes <= room);
	if (pages != NULL)
		assert_int_equal(mprotect(pages, bytes, PROT_READ | PROT_WRITE), 0);
	return pages;
}

static int
fake_pages_use(struct reactor *reactor, void *pages, size_t bytes)
{
	assert_int_equal((uintptr_t)pages % 4096, 0);
	assert_int_equal(bytes % 4096, 0);
	if (world_of(reactor)->fail_use)
		return -ENOMEM;
	assert_int_equal(mprotect(pages, bytes, PROT_READ | PROT_WRITE), 0);
	return 0;
}

static void
fake_pages_unmap(struct reactor *reactor, void *pages, size_t bytes)
{
	assert_int_equal(munmap(pages, bytes), 0);
	world_of(reactor)->pages_mapped -= bytes;
}

static void
fake_pages_discard(struct reactor *reactor, void *pages, size_t bytes)
{
	assert_int_equal((uintptr_t)pages % 4096, 0);
	assert_int_equal(bytes % 4096, 0);
	assert_int_equal(madvise(pages, bytes, MADV_DONTNEED), 0);
	world_of(reactor)->pages_discarded += bytes;
}

static void
fake_post(struct reactor *reactor, unsigned to, const struct mail *mail)
{
	struct fakeworld *fw = world_of(reactor);

	assert_true(to < fw->count && fw->mail_count[to] < FAKE_MAIL);
	fw->mail[to][fw->mail_count[to]] = *mail;
	fw->mail[to][fw->mail_count[to]++].from = (uint16_t)reactor->index;
}

static void
fake_errand(struct reactor *reactor, struct errand *errand)
{
	fifo_push(&world_of(reactor)->errands, &errand->node);
}

static uint64_t
fake_boot(struct reactor *reactor)
{
	return 1 + world_of(reactor)->boots;
}

static uint64_t
fake_random(struct reactor *reactor)
{
	return rng_next(&world_of(reactor)->rng);
}

static uint64_t
fake_time_ns(struct reactor *reactor)
{
	return world_of(reactor)->now_ns + world_of(reactor)->reads_ns;
}

static uint64_t
fake_wall_ms(struct reactor *reactor)
{
	return world_of(reactor)->now_ns / 1000000;
}

static void
fake_log(struct reactor *reactor, int level, const char *text)
{
	(void)reactor;
	print_message("# log %d: %s\n", level, text);
}

static struct reactor *
fake_annex_open(struct reactor *reactor)
{
	world_of(reactor)->annexes++;
	return reactor;
}

static void
fake_annex_close(struct reactor *annex)
{
	world_of(annex)->annexes--;
}

static const struct world_ops fake_ops = {
	.file_open = fake_file_open,
	.file_share = fake_file_share,
	.file_id = fake_file_id,
	.file_make = make_file,
	.file_extend = fake_file_extend,
	.file_undo = fake_file_undo,
	.file_fetch = fake_file_fetch,
	.file_load = fake_file_load,
	.file_data = fake_file_data,
	.file_submit = fake_file_submit,
	.file_close = fake_file_close,
	.pages_map = fake_pages_map,
	.pages_reserve = fake_pages_reserve,
	.pages_use = fake_pages_use,
	.pages_unmap = fake_pages_unmap,
	.pages_discard = fake_pages_discard,
	.post = fake_post,
	.errand = fake_errand,
	.annex_open = fake_annex_open,
	.annex_close = fake_annex_close,
	.boot = fake_boot,
	.random = fake_random,
	.time_ns = fake_time_ns,
	.wall_ms = fake_wall_ms,
	.log = fake_log,
};

void
fakeworld_init(struct fakeworld *fw, unsigned reactors)
{
	const struct reactor_options options = { .small_bufs = 128, .large_bufs = 16 };

	assert_true(reactors <= FAKE_REACTORS);
	memset(fw, 0, sizeof(*fw));
	sim_arena_init(&fw->arena, 0);
	fifo_init(&fw->requests);
	fifo_init(&fw->errands);
	rng_seed(&fw->rng, 1);
	fw->count = reactors;
	for (unsigned i = 0; i < reactors; i++) {
		assert_int_equal(reactor_init(&fw->reactors[i], &fake_ops, &fw->arena, i, reactors, &options), 0);
		task_init(&fw->finish[i].task, finish_task);
		fw->finish[i].world = fw;
	}
}

void
fakeworld_fini(struct fakeworld *fw)
{
	assert_int_equal(fw->in_flight, 0);
	assert_true(fifo_empty(&fw->errands));
	assert_int_equal(fw->pages_mapped, 0);
	assert_int_equal(fw->annexes, 0);
	for (int i = 0; i < FAKE_FILES; i++) {
		assert_int_equal(fw->files[i].handles, 0);
		arena_free(&fw->arena, fw->files[i].bytes);
	}
	for (unsigned i = 0; i < fw->count; i++)
		reactor_fini(&fw->reactors[i]);
	assert_int_equal(fw->arena.bytes, 0);
	arena_drop(&fw->arena);
}

void
fake_turn(struct fakeworld *fw)
{
	struct fifo_node *node;

	while (!fw->hold_errands && (node = fifo_pop(&fw->errands)) != NULL) {
		struct errand *errand = container_of(node, struct errand, node);

		errand->run(errand);
		errand->done(errand);
	}
	fw->now_ns += FAKE_TURN_NS;
	for (unsigned i = 0; i < fw->count; i++) {
		struct reactor *reactor = &fw->reactors[i];
		struct mail batch[FAKE_MAIL];
		unsigned count = fw->mail_count[i];

		memcpy(batch, fw->mail[i], count * sizeof(batch[0]));
		fw->mail_count[i] = 0;
		for (unsigned m = 0; m < count; m++)
			reactor->on_mail(reactor, &batch[m]);
		reactor_turn(reactor, fw->now_ns);
	}
	fw->now_ns += fw->reads_ns;
}
