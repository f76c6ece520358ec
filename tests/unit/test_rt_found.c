/* rt: how files are made and found, before anything is done with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt_files_bench.h"

enum { FILE_BYTES = 8 << 20, PIECE = 16384 };

static void
a_file_that_cannot_be_opened_says_why(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file;

	assert_int_equal(reactor->world->file_open(reactor, "no/such/folder/file", 4096, 4096, &file), -ENOENT);
	assert_int_equal(reactor->world->file_open(reactor, "no-such-file", 0, 4096, &file), -ENOENT);
	assert_int_equal(reactor->world->file_open(reactor, ".", 0, 4096, &file), -EISDIR);
	assert_int_equal(reactor->world->file_open(reactor, "/dev/null", 4096, 4096, &file), -ENOTBLK);
	rt_destroy(rt);
}

/* Whatever the umask allows. */
static void
what_is_made_is_for_its_owner_alone(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	mode_t mask = umask(0);
	struct file *file;
	struct stat st;

	assert_int_equal(unlink(files_path), 0);
	assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
	umask(mask);
	assert_int_equal(stat(files_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	reactor->world->file_close(file);
	rt_destroy(rt);
}

static void
holes_are_passed_over(void **state)
{
	enum { AT = 4 << 20 };
	struct rt *rt = files_open_rt(1, RT_FILES_AUTO);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint8_t *out = files_random_bytes(PIECE, 8);
	struct file *file;
	uint64_t at;

	assert_int_equal(reactor->world->file_open(reactor, files_path, FILE_BYTES, 4096, &file), 0);
	assert_int_equal(files_move(file, FILE_WRITE, out, AT, PIECE), PIECE);
	at = reactor->world->file_data(file, 4096);
	assert_true(at == AT || at == 4096); /* not every file system knows where its holes are */
	assert_int_equal(reactor->world->file_data(file, AT + 5), AT + 5);
	if (at == AT)
		assert_true(reactor->world->file_data(file, AT + (1 << 20)) == UINT64_MAX);
	assert_true(reactor->world->file_data(file, FILE_BYTES) == UINT64_MAX);
	reactor->world->file_close(file);
	rt_destroy(rt);
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(a_file_that_cannot_be_opened_says_why),
		with_file(what_is_made_is_for_its_owner_alone),
		with_file(holes_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
