/* rt: how a range is made zeros where a file system or a device does not do that for every range; with threads, whose
 * fallocate() is ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "rt_files_bench.h"

enum { BYTES = 1 << 20, BLOCK = 512, COARSE = 4096 };

/* What the disk does: in blocks of its own, or not at all. */
static struct {
	int error;      /* of all; 0: none */
	unsigned asked; /* counted: all, */
	unsigned made;  /* and those that were done */
} disk;

int
fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	disk.asked++;
	errno = disk.error != 0 ? disk.error : EINVAL;
	if (disk.error != 0 || (offset | bytes) % COARSE != 0)
		return -1;
	disk.made++;
	return 0; /* nobody reads those */
}

static struct file *
open_fine(struct rt *rt)
{
	struct reactor *reactor = rt_reactor(rt, 0);
	struct file *file;

	disk.error = 0;
	disk.asked = disk.made = 0;
	assert_int_equal(reactor->world->file_open(reactor, files_path, BYTES, BLOCK, &file), 0);
	return file;
}

static void
zero(struct file *file, enum file_op op, uint64_t offset, uint64_t bytes)
{
	assert_int_equal(files_perform(file, (struct file_io){ .op = op, .offset = offset, .bytes = bytes }), bytes);
}

static void
a_range_that_does_not_fit_the_blocks_of_the_disk_says_nothing_of_others(void **state)
{
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);
	struct file *file = open_fine(rt);
	uint8_t *bytes = files_random_bytes(2 * COARSE, 1);

	assert_int_equal(files_move(file, FILE_WRITE, bytes, 0, 2 * COARSE), 2 * COARSE);
	zero(file, FILE_PUNCH, BLOCK, BLOCK);
	assert_int_equal(disk.made, 0);
	assert_int_equal(files_move(file, FILE_READ, bytes, 0, 2 * COARSE), 2 * COARSE);
	assert_true(files_is_zero(bytes + BLOCK, BLOCK) && !files_is_zero(bytes, BLOCK) &&
	    !files_is_zero(bytes + 2 * BLOCK, BLOCK));
	zero(file, FILE_PUNCH, 0, COARSE);
	assert_int_equal(disk.made, 1);
	zero(file, FILE_ZERO, COARSE - BLOCK, 2 * BLOCK);
	zero(file, FILE_ZERO, COARSE, COARSE);
	assert_int_equal(disk.made, 2);
	free(bytes);
	file->reactor->world->file_close(file);
	rt_destroy(rt);
}

static void
what_a_file_cannot_at_all_is_asked_of_it_once(void **state)
{
	static const int errors[] = { EOPNOTSUPP, ENOSYS, ENODEV, ENOTTY };
	struct rt *rt = files_open_rt(1, RT_FILES_THREADS);

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct file *file = open_fine(rt);

		disk.error = errors[i];
		for (int times = 0; times < 3; times++)
			zero(file, FILE_PUNCH, 0, COARSE);
		assert_int_equal(disk.asked, 2); /* for a hole, and for zeros */
		file->reactor->world->file_close(file);
	}
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(a_range_that_does_not_fit_the_blocks_of_the_disk_says_nothing_of_others),
		with_file(what_a_file_cannot_at_all_is_asked_of_it_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
