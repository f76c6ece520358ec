#include "rt_files_bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"

char files_path[] = P_tmpdir "/test_rt_files.XXXXXX";

int
files_make_path(void **state)
{
	int fd;

	strcpy(files_path, P_tmpdir "/test_rt_files.XXXXXX");
	fd = mkstemp(files_path);
	alarm(100);
	return fd < 0 ? -1 : close(fd);
}

int
files_remove_path(void **state)
{
	return unlink(files_path);
}

struct rt *
files_open_rt(unsigned reactors, enum rt_files files)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	options.reactors = reactors;
	options.spin_us = 10;
	options.reactor = (struct reactor_options){ 16, 16 };
	options.files = files;
	MUST(rt_create(&rt, &options) == 0);
	return rt;
}

static void
stop_when_done(struct file_io *io)
{
	rt_stop(rt_of(io->owner));
}

int64_t
files_perform(struct file *file, struct file_io io)
{
	struct rt *rt = rt_of(file->reactor);

	io.owner = file->reactor;
	io.done = stop_when_done;
	io.result = -1;
	file->reactor->world->file_submit(file, &io);
	MUST(rt_run(rt) == 0);
	return io.result;
}

int64_t
files_move(struct file *file, enum file_op op, void *bytes, uint64_t offset, size_t count)
{
	/* Pieces of unequal size, each a multiple of what direct I/O needs. */
	struct iovec iov[2] = { { bytes, 4096 }, { (uint8_t *)bytes + 4096, count - 4096 } };

	return files_perform(file, (struct file_io){
		.op = op, .offset = offset, .iov = iov, .iov_count = 2,
	});
}

uint8_t *
files_random_bytes(size_t count, uint64_t seed)
{
	uint8_t *bytes = aligned_alloc(4096, count);
	struct rng rng;

	MUST(bytes != NULL);
	rng_seed(&rng, seed);
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)rng_next(&rng);
	return bytes;
}

bool
files_is_zero(const uint8_t *bytes, size_t count)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}
