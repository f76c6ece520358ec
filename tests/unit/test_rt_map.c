/* rt: a file as memory, and who finds what was stored there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/writeback.h"
#include "rt_files_bench.h"

enum { FILE_BYTES = 1 << 20, AT = 300000 / 4096 * 4096, PIECE = 16384 };

static struct file *
open_file(struct reactor *reactor)
{
	struct file *file;

	MUST(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file) == 0);
	return file;
}

static struct file *
open_mapped(struct reactor *reactor)
{
	struct file *file = open_file(reactor);

	MUST(file->map == NULL && reactor->world->file_map(file, false) == 0 && file->map != NULL);
	return file;
}

static void
what_is_stored_is_read_and_what_is_written_is_there(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t *in = aligned_alloc(4096, PIECE), *out = files_random_bytes(PIECE, 3);
	struct file *file = open_mapped(reactor);
	uint8_t *map = file->map;

	assert_int_equal((uintptr_t)map % 4096, 0);
	assert_true(files_is_zero(map, FILE_BYTES));
	memcpy(map + AT, out, PIECE);
	assert_int_equal(files_move(file, FILE_READ, in, AT, PIECE), PIECE);
	assert_memory_equal(in, out, PIECE);
	assert_int_equal(files_move(file, FILE_WRITE, out, FILE_BYTES - PIECE, PIECE), PIECE);
	assert_memory_equal(map + FILE_BYTES - PIECE, out, PIECE);
	reactor->world->file_close(file);
	rt_destroy(rt);
	free(in);
	free(out);
}

/* Where a file system has none left, that is said, and not by a signal at a store. */
static void
all_its_blocks_are_there_before_anything_is_stored(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file = open_file(reactor);
	struct stat st;

	assert_int_equal(stat(files_path, &st), 0);
	assert_true(st.st_blocks * 512 < FILE_BYTES);
	assert_int_equal(reactor->world->file_map(file, false), 0);
	assert_int_equal(stat(files_path, &st), 0);
	assert_true(st.st_blocks * 512 >= FILE_BYTES);
	assert_int_equal(st.st_size, FILE_BYTES);
	reactor->world->file_close(file);
	rt_destroy(rt);
}

static bool
is_mapped(void *at)
{
	return msync(at, 4096, MS_ASYNC) == 0;
}

static void
it_is_there_until_the_file_is_closed(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file = open_mapped(reactor);
	void *map = file->map;

	assert_true(is_mapped(map));
	reactor->world->file_close(file);
	assert_false(is_mapped(map));
	file = open_mapped(reactor); /* and is left open */
	map = file->map;
	rt_destroy(rt);
	assert_false(is_mapped(map));
}

static void
those_that_share_it_have_the_same_memory(void **state)
{
	struct rt *rt = files_open_rt(2, RT_FILES_AUTO);
	struct reactor *annex = rt_reactor(rt, 0)->world->annex_open(rt_reactor(rt, 0));
	const struct world_ops *world = annex->world;
	struct file *held = open_mapped(annex), *shared[2];

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(world->file_share(held, rt_reactor(rt, i), &shared[i]), 0);
		assert_ptr_equal(shared[i]->map, held->map);
	}
	world->file_close(shared[0]);
	assert_true(is_mapped(held->map));
	memset(shared[1]->map, 1, PIECE);
	if (writeback_best() != WRITEBACK_NONE)
		world->file_write_back(shared[1], &(struct iovec){ shared[1]->map, PIECE }, 1);
	assert_int_equal(((uint8_t *)held->map)[PIECE - 1], 1);
	world->file_close(shared[1]);
	world->file_close(held);
	world->annex_close(annex);
	rt_destroy(rt);
}

static bool
is_persistent(void)
{
	struct statx stx;

	MUST(statx(AT_FDCWD, files_path, 0, STATX_BASIC_STATS, &stx) == 0);
	return (stx.stx_attributes & STATX_ATTR_DAX) != 0;
}

/* File systems that have none say so, and nothing was done. */
static void
persistent_memory_is_not_pretended(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file = open_file(reactor);
	int rc = reactor->world->file_map(file, true);
	struct stat st;

	if (rc == 0) {
		assert_true(is_persistent());
		memset(file->map, 1, PIECE);
		reactor->world->file_write_back(file, &(struct iovec){ file->map, PIECE }, 1);
	} else {
		assert_int_equal(rc, -EOPNOTSUPP);
		assert_null(file->map);
		assert_int_equal(stat(files_path, &st), 0);
		assert_true(st.st_blocks * 512 < FILE_BYTES);
		assert_int_equal(reactor->world->file_map(file, false), 0);
	}
	reactor->world->file_close(file);
	rt_destroy(rt);
}

/* Stores, says so, and waits to be killed; it ends with us at the latest. */
static void
store_and_wait(pid_t parent, int tell, const uint8_t *bytes)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct file *file = open_mapped(rt_reactor(rt, 0));

	memcpy((uint8_t *)file->map + AT, bytes, PIECE);
	MUST(write(tell, "s", 1) == 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static void
what_a_killed_process_has_stored_is_there_for_the_next(void **state)
{
	uint8_t *bytes = files_random_bytes(PIECE, 9);
	pid_t parent = getpid(), child;
	struct file *file;
	struct rt *rt;
	int tell[2];
	char told;

	assert_int_equal(pipe(tell), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		store_and_wait(parent, tell[1], bytes);
	close(tell[1]);
	assert_int_equal(read(tell[0], &told, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(tell[0]);
	rt = files_open_rt(1, RT_FILES_AUTO);
	file = open_mapped(rt_reactor(rt, 0));
	assert_memory_equal((uint8_t *)file->map + AT, bytes, PIECE);
	file->reactor->world->file_close(file);
	rt_destroy(rt);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(what_is_stored_is_read_and_what_is_written_is_there),
		with_file(all_its_blocks_are_there_before_anything_is_stored),
		with_file(it_is_there_until_the_file_is_closed),
		with_file(those_that_share_it_have_the_same_memory),
		with_file(persistent_memory_is_not_pretended),
		with_file(what_a_killed_process_has_stored_is_there_for_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
