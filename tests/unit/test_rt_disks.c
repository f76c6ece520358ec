/* rt: a disk that takes its time, or does not answer at all, holds up nobody who has to do with others. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt_files_bench.h"

enum { FILE_BYTES = 1 << 20, HUNG_BYTES = 2 << 20, HUNG = 3, ASKED = 600 };

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

/* The same: of a file of HUNG_BYTES it does not return before it is let go. */
int
fdatasync(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	if (st.st_size == HUNG_BYTES) {
		MUST(sem_wait(&disk.let_go) == 0);
		sem_post(&disk.let_go);
	}
	return 0;
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

static void
count_down(struct file_io *io)
{
	unsigned *left = io->owner;

	--*left;
}

/* One after the other, so that each hangs with all that it can have. */
static void
others_are_served_while_three_disks_do_not_answer(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file_io *asked = calloc((size_t)HUNG * ASKED, sizeof(*asked));
	struct file *hung[HUNG], *good;
	unsigned left = HUNG * ASKED;
	char path[64];

	alarm(20);
	assert_non_null(asked);
	sem_init(&disk.let_go, 0, 0);
	assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &good), 0);
	for (unsigned i = 0; i < HUNG; i++) {
		snprintf(path, sizeof(path), "%s.%u", files_path, i);
		assert_int_equal(reactor->world->file_open(reactor, path, HUNG_BYTES, 4096, &hung[i]), 0);
		for (unsigned k = 0; k < ASKED; k++) {
			struct file_io *io = &asked[i * ASKED + k];

			*io = (struct file_io){ .op = FILE_SYNC, .done = count_down, .owner = &left };
			reactor->world->file_submit(hung[i], io);
		}
		for (unsigned k = 0; k < 10; k++)
			assert_int_equal(files_perform(good, (struct file_io){ .op = FILE_SYNC }), 0);
	}
	assert_int_equal(left, HUNG * ASKED);
	sem_post(&disk.let_go);
	while (left > 0)
		assert_int_equal(files_perform(good, (struct file_io){ .op = FILE_SYNC }), 0);
	for (unsigned i = 0; i < HUNG; i++) {
		reactor->world->file_close(hung[i]);
		snprintf(path, sizeof(path), "%s.%u", files_path, i);
		assert_int_equal(unlink(path), 0);
	}
	reactor->world->file_close(good);
	rt_destroy(rt);
	free(asked);
	sem_destroy(&disk.let_go);
}

static void
a_file_is_made_or_made_larger_and_never_smaller(void **state)
{
	static const uint64_t sizes[][2] = { { 8192, 8192 }, { 4096, 8192 }, { 12288, 12288 } };
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file;
	int64_t was;

	assert_int_equal(unlink(files_path), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(reactor->world->file_make(reactor, files_path, sizes[i][0], &was), 0);
		assert_int_equal(was, i == 0 ? -1 : 8192);
		assert_int_equal(reactor->world->file_open(reactor, files_path, 0, 4096, &file), 0);
		assert_int_equal(file->size, sizes[i][1]);
		reactor->world->file_close(file);
	}
	assert_int_equal(reactor->world->file_make(reactor, "/nowhere/at/all", 8192, &was), -ENOENT);
	rt_destroy(rt);
}

/* One that was moved there meanwhile, say. */
static void
what_was_made_is_taken_back_and_no_other_file_of_its_name(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct reactor *reactor = rt_reactor(rt, 0);
	char beside[64];
	uint64_t id[2], other[2];
	struct stat st;
	int64_t was;

	snprintf(beside, sizeof(beside), "%s.beside", files_path);
	assert_int_equal(unlink(files_path), 0);
	assert_int_equal(reactor->world->file_make(reactor, files_path, 8192, &was), 0);
	assert_int_equal(reactor->world->file_id(reactor, files_path, id), 0);
	assert_int_equal(rename(files_path, beside), 0);
	assert_int_equal(reactor->world->file_make(reactor, files_path, 8192, &was), 0);
	assert_int_equal(reactor->world->file_id(reactor, files_path, other), 0);
	assert_int_equal(reactor->world->file_undo(reactor, files_path, -1, id), -ESTALE);
	assert_int_equal(reactor->world->file_undo(reactor, files_path, 4096, id), -ESTALE);
	assert_int_equal(stat(files_path, &st), 0);
	assert_int_equal(st.st_size, 8192);
	assert_int_equal(reactor->world->file_undo(reactor, beside, -1, id), 0);
	assert_int_equal(stat(beside, &st), -1);
	assert_int_equal(reactor->world->file_undo(reactor, files_path, 4096, other), 0);
	assert_int_equal(stat(files_path, &st), 0);
	assert_int_equal(st.st_size, 4096);
	rt_destroy(rt);
}

/* An errand has opened it. */
static void *
open_with(void *annex_of_reactor)
{
	struct reactor *annex = annex_of_reactor;
	struct file *file;

	MUST(annex->world->file_open(annex, files_path, FILE_BYTES, 4096, &file) == 0);
	return file;
}

static void
what_an_annex_holds_is_shared_wherever_its_path_leads(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_AUTO), *other = files_open_rt(1, RT_FILES_THREADS);
	struct reactor *annex = rt_reactor(rt, 0)->world->annex_open(rt_reactor(rt, 0));
	uint8_t *bytes = files_random_bytes(8192, 1), *back = files_random_bytes(8192, 2);
	struct file *held, *shared[2], *alien;
	char beside[64];
	pthread_t thread;

	assert_non_null(annex);
	assert_int_equal(pthread_create(&thread, NULL, open_with, annex), 0);
	assert_int_equal(pthread_join(thread, (void **)&held), 0);
	snprintf(beside, sizeof(beside), "%s.beside", files_path);
	assert_int_equal(rename(files_path, beside), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(annex->world->file_share(held, rt_reactor(rt, i), &shared[i]), 0);
	assert_true(shared[0]->size == FILE_BYTES && shared[1]->id[1] == held->id[1]);
	assert_int_equal(files_move(shared[0], FILE_WRITE, bytes, 4096, 8192), 8192);
	assert_int_equal(files_move(shared[1], FILE_READ, back, 4096, 8192), 8192);
	assert_memory_equal(bytes, back, 8192);
	for (unsigned i = 0; i < 2; i++)
		annex->world->file_close(shared[i]);
	assert_int_equal(rt_reactor(other, 0)->world->file_open(rt_reactor(other, 0), beside, 0, 4096, &alien), -EBUSY);
	annex->world->file_close(held);
	annex->world->annex_close(annex);
	assert_int_equal(rt_reactor(other, 0)->world->file_open(rt_reactor(other, 0), beside, 0, 4096, &alien), 0);
	alien->reactor->world->file_close(alien);
	assert_int_equal(rename(beside, files_path), 0);
	rt_destroy(rt);
	rt_destroy(other);
	free(bytes);
	free(back);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_made_is_taken_back_and_no_other_file_of_its_name,
		    files_make_path, files_remove_path),
		cmocka_unit_test_setup_teardown(what_an_annex_holds_is_shared_wherever_its_path_leads,
		    files_make_path, files_remove_path),
		cmocka_unit_test_setup_teardown(a_file_is_made_or_made_larger_and_never_smaller, files_make_path,
		    files_remove_path),
		cmocka_unit_test_setup_teardown(
		    a_slow_disk_keeps_no_other_file_and_no_stream_from_being_opened_and_closed, files_make_path,
		    files_remove_path),
		cmocka_unit_test_setup_teardown(others_are_served_while_three_disks_do_not_answer, files_make_path,
		    files_remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
