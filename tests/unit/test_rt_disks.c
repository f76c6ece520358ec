/* rt: a disk that takes its time to make a file holds up nobody who has to do with others. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_files_bench.h"

enum { FILE_BYTES = 1 << 20 };

/* In place of the C library's: while `slow`, one is under way until it is let go. */
static struct {
	bool slow;
	sem_t entered, let_go;
} disk;

int
fsync(int fd)
{
	if (disk.slow) {
		disk.slow = false;
		sem_post(&disk.entered);
		MUST(sem_wait(&disk.let_go) == 0);
	}
	return (int)syscall(SYS_fsync, fd);
}

static void *
make_and_open(void *reactor_of_its_own)
{
	struct reactor *reactor = reactor_of_its_own;
	struct file *file;
	int64_t was;

	MUST(reactor->world->file_make(reactor, files_path, FILE_BYTES, &was) == 0);
	MUST(reactor->world->file_open(reactor, files_path, 0, 4096, &file) == 0);
	MUST(file->size == FILE_BYTES && file->was == FILE_BYTES);
	reactor->world->file_close(file);
	return NULL;
}

static void
a_slow_disk_keeps_no_other_file_and_no_stream_from_being_opened_and_closed(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_THREADS);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct listener listener = { .host = "127.0.0.1" };
	char other[64];
	struct stream *stream;
	struct file *file;
	pthread_t thread;

	alarm(20);
	snprintf(other, sizeof(other), "%s.2", files_path);
	sem_init(&disk.entered, 0, 0);
	sem_init(&disk.let_go, 0, 0);
	assert_int_equal(reactor->world->listen(reactor, &listener), 0);
	disk.slow = true;
	assert_int_equal(pthread_create(&thread, NULL, make_and_open, rt_reactor(rt, 1)), 0);
	assert_int_equal(sem_wait(&disk.entered), 0);
	assert_int_equal(reactor->world->file_open(reactor, other, FILE_BYTES, 4096, &file), 0);
	reactor->world->file_close(file);
	assert_int_equal(reactor->world->connect(reactor, "127.0.0.1", listener.port, &stream), 0);
	stream->ops->close(stream, true);
	assert_int_equal(sem_post(&disk.let_go), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(unlink(other), 0);
	reactor->world->unlisten(reactor, &listener);
	rt_destroy(rt);
	sem_destroy(&disk.entered);
	sem_destroy(&disk.let_go);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_slow_disk_keeps_no_other_file_and_no_stream_from_being_opened_and_closed, files_make_path,
		    files_remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
