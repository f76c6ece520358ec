/* rt: what is durable, and what was lost, of files in the page cache; with threads, whose fdatasync() is ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt_files_bench.h"

enum { BYTES = 1 << 20, MORE = 5 };

/* What the disk does: each sync takes one of the gate, where that is shut, and one fails. */
static struct {
	pthread_mutex_t lock;
	sem_t gate;
	bool shut;
	int error;    /* of the next one; 0: none */
	unsigned count;
	int fd;       /* of the last one */
	bool fails_silently;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
perform(long call, int fd)
{
	int error;

	pthread_mutex_lock(&disk.lock);
	disk.fd = fd;
	error = disk.error;
	disk.error = 0; /* the kernel tells a descriptor once */
	disk.count += call == SYS_fdatasync;
	pthread_mutex_unlock(&disk.lock);
	if (disk.shut && call == SYS_fdatasync)
		MUST(sem_wait(&disk.gate) == 0);
	if (error == 0)
		return (int)syscall(call, fd);
	errno = error;
	return -1;
}

/* What was written may not have reached the medium, which has what it had. */
int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	assert_true(offset == 0 && length == 0 && advice == POSIX_FADV_DONTNEED);
	if (disk.fails_silently)
		MUST(pwrite(fd, "kept", 4, 0) == 4);
	return 0;
}

int fdatasync(int fd) { return perform(SYS_fdatasync, fd); }
int fsync(int fd) { return perform(SYS_fsync, fd); }

static unsigned
syncs_since(unsigned before)
{
	return disk.count - before;
}

/* In blocks of a byte: through the page cache. */
static struct file *
open_cached(struct rt *rt, unsigned index)
{
	struct reactor *reactor = rt_reactor(rt, index);
	struct file *file;

	assert_int_equal(reactor->world->file_open(reactor, files_path, BYTES, 1, &file), 0);
	assert_false(file->direct);
	return file;
}

static int64_t
sync_file(struct file *file)
{
	return files_perform(file, (struct file_io){ .op = FILE_SYNC });
}

static int64_t
write_durably(struct file *file)
{
	struct iovec iov = { "safe", 4 };

	return files_perform(file, (struct file_io){ .op = FILE_WRITE, .durable = true, .iov = &iov, .iov_count = 1 });
}

static void
a_failed_sync_is_told_to_all_who_have_the_file_open_and_for_good(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_THREADS);
	struct file *first = open_cached(rt, 0), *second = open_cached(rt, 1), *later;

	disk.error = EIO;
	assert_int_equal(sync_file(first), -EIO);
	assert_true(first->lost);
	assert_int_equal(sync_file(first), -EIO);
	assert_false(second->lost);
	assert_int_equal(sync_file(second), -EIO);
	assert_true(second->lost);
	first->reactor->world->file_close(first);
	later = open_cached(rt, 0);
	assert_int_equal(sync_file(later), -EIO);
	later->reactor->world->file_close(later);
	second->reactor->world->file_close(second);
	first = open_cached(rt, 0);
	assert_int_equal(sync_file(first), 0);
	assert_false(first->lost);
	first->reactor->world->file_close(first);
	rt_destroy(rt);
}

/* The kernel tells each descriptor of what it could not write. */
static void
who_share_a_file_in_the_page_cache_have_a_descriptor_each(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_THREADS);
	struct reactor *annex = rt_reactor(rt, 0)->world->annex_open(rt_reactor(rt, 0));
	struct file *held, *first, *second;
	int fd;

	assert_non_null(annex);
	assert_int_equal(annex->world->file_open(annex, files_path, BYTES, 1, &held), 0);
	for (int times = 0; times < 3; times++) {
		assert_int_equal(annex->world->file_share(held, rt_reactor(rt, 0), &first), 0);
		assert_int_equal(annex->world->file_share(held, rt_reactor(rt, 1), &second), 0);
		assert_false(first->direct || second->direct);
		assert_int_equal(sync_file(first), 0);
		fd = disk.fd;
		assert_int_equal(sync_file(second), 0);
		assert_int_not_equal(disk.fd, fd);
		first->reactor->world->file_close(first);
		second->reactor->world->file_close(second);
	}
	annex->world->file_close(held);
	annex->world->annex_close(annex);
	rt_destroy(rt);
}

static void
a_durable_write_says_of_its_own_bytes_whether_they_are(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct file *file = open_cached(rt, 0);
	unsigned before = disk.count;

	assert_int_equal(write_durably(file), 4);
	assert_int_equal(syncs_since(before), 1);
	assert_false(file->lost);
	disk.error = ENOSPC;
	assert_int_equal(write_durably(file), -ENOSPC);
	assert_true(file->lost);
	assert_int_equal(write_durably(file), 4);
	assert_true(file->lost);
	file->reactor->world->file_close(file);
	rt_destroy(rt);
}

/* ---- many syncs ---- */

struct crowd {
	struct rt *rt;
	struct file *file;
	struct file_io read, syncs[1 + MORE];
	struct iovec iov;
	uint8_t byte;
	unsigned done;
};

static void
sync_done(struct file_io *io)
{
	struct crowd *crowd = io->owner;

	assert_int_equal(io->result, 0);
	if (++crowd->done == 1 + MORE)
		rt_stop(crowd->rt);
}

static void
sync_begin(struct crowd *crowd, unsigned i)
{
	crowd->syncs[i] = (struct file_io){ .op = FILE_SYNC, .done = sync_done, .owner = crowd };
	crowd->file->reactor->world->file_submit(crowd->file, &crowd->syncs[i]);
}

/* The first has begun, and cannot end yet. */
static void
read_done(struct file_io *io)
{
	for (unsigned i = 0; i < MORE; i++)
		sync_begin(io->owner, 1 + i);
	for (unsigned i = 0; i < 1 + MORE; i++)
		MUST(sem_post(&disk.gate) == 0);
}

static void
one_sync_serves_all_that_came_before_it_began(void **state)
{
	struct crowd crowd = { .rt = files_open_rt(1, RT_FILES_THREADS) };
	unsigned before = disk.count;

	assert_int_equal(sem_init(&disk.gate, 0, 0), 0);
	disk.shut = true;
	crowd.file = open_cached(crowd.rt, 0);
	crowd.iov = (struct iovec){ &crowd.byte, 1 };
	crowd.read = (struct file_io){
		.op = FILE_READ, .iov = &crowd.iov, .iov_count = 1, .done = read_done, .owner = &crowd,
	};
	sync_begin(&crowd, 0);
	crowd.file->reactor->world->file_submit(crowd.file, &crowd.read);
	assert_int_equal(rt_run(crowd.rt), 0);
	assert_int_equal(crowd.done, 1 + MORE);
	assert_int_equal(syncs_since(before), 2);
	disk.shut = false;
	crowd.file->reactor->world->file_close(crowd.file);
	rt_destroy(crowd.rt);
}

/* A process before this one was told of it, and the kernel says it once. */
static void
what_is_fetched_is_what_the_medium_has(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct file *file = open_cached(rt, 0);
	char got[4];

	assert_int_equal(write_durably(file), 4);
	assert_int_equal(file->reactor->world->file_fetch(file, 0, got, 4), 4);
	assert_memory_equal(got, "safe", 4);
	disk.fails_silently = true;
	assert_int_equal(file->reactor->world->file_fetch(file, 0, got, 4), 4);
	disk.fails_silently = false;
	assert_memory_equal(got, "kept", 4);
	file->reactor->world->file_close(file);
	rt_destroy(rt);
}

static void
a_growth_that_is_taken_back_does_not_hide_what_was_lost(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct file *file = open_cached(rt, 0);
	struct reactor *reactor = file->reactor;
	int64_t was;

	assert_int_equal(reactor->world->file_make(reactor, files_path, 2 * BYTES, &was), 0);
	assert_int_equal(was, BYTES);
	disk.error = EIO; /* of what a host has written meanwhile */
	assert_int_equal(reactor->world->file_undo(reactor, files_path, was, file->id), -EIO);
	assert_int_equal(files_perform(file, (struct file_io){ .op = FILE_SYNC }), -EIO);
	reactor->world->file_close(file);
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(a_failed_sync_is_told_to_all_who_have_the_file_open_and_for_good),
		with_file(who_share_a_file_in_the_page_cache_have_a_descriptor_each),
		with_file(a_durable_write_says_of_its_own_bytes_whether_they_are),
		with_file(one_sync_serves_all_that_came_before_it_began),
		with_file(what_is_fetched_is_what_the_medium_has),
		with_file(a_growth_that_is_taken_back_does_not_hide_what_was_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
