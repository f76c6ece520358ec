/*
 * test_record.c - the file of what hosts have made takes the place of the one before, and one that may be gone after a
 * loss of power is made durable before anything is said to be kept.
 *
 * fsync() and renameat() are the test's: they count, and fail where they are told to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"

#define NQN "nqn.2026-11.local.weir:record"
#define WITH_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* What is synced, and what comes of it. */
static struct {
	unsigned files, folders;
	unsigned fail_files, fail_folders; /* so many, from now on */
	unsigned fail_renames; /* so many are done, and fail */
	int error;
} disk;

int
fsync(int fd)
{
	struct stat st;
	bool folder;

	assert_int_equal(fstat(fd, &st), 0);
	folder = S_ISDIR(st.st_mode);
	*(folder ? &disk.folders : &disk.files) += 1;
	if (*(folder ? &disk.fail_folders : &disk.fail_files) == 0)
		return 0;
	*(folder ? &disk.fail_folders : &disk.fail_files) -= 1;
	errno = disk.error;
	return -1;
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	long rc = syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);

	if (disk.fail_renames == 0 || rc != 0)
		return (int)rc;
	disk.fail_renames--;
	errno = disk.error;
	return -1;
}

struct kept {
	char dir[64];
	struct arena arena;
	struct made *made;
	struct record record;
};

static int
setup(void **state)
{
	struct kept *k = calloc(1, sizeof(*k));
	struct made *made;
	char why[256];

	if (k == NULL)
		return -1;
	snprintf(k->dir, sizeof(k->dir), P_tmpdir "/test_record.XXXXXX");
	arena_init(&k->arena, 0);
	k->made = made_copy(&k->arena, NULL, 0);
	memset(&disk, 0, sizeof(disk));
	disk.error = EIO;
	*state = k;
	if (k->made == NULL || mkdtemp(k->dir) == NULL)
		return -1;
	return record_begin(&k->record, k->dir, &k->arena, &made, why) == 0 && made == NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	struct kept *k = *state;
	char path[96];

	snprintf(path, sizeof(path), "%s/namespaces", k->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/namespaces.new", k->dir);
	unlink(path);
	rmdir(k->dir);
	record_end(&k->record);
	arena_drop(&k->arena);
	free(k);
	return 0;
}

/* The next state: one namespace more. */
static void
add(struct kept *k)
{
	struct made_ns like = {
		.nqn = NQN, .nsid = k->made->count + 1, .own = true, .kept = true, .block_size = 4096, .blocks = 256,
		.ana_group = 1, .shared = true, .uuid = { (uint8_t)(k->made->count + 1) },
	};

	k->made = made_copy(&k->arena, k->made, 1);
	assert_non_null(k->made);
	assert_non_null(made_add(&k->arena, k->made, &like));
}

/* There is room for the next one beside it. */
static void
has_room(struct kept *k)
{
	char beside[96];
	struct stat st;

	snprintf(beside, sizeof(beside), "%s/namespaces.new", k->dir);
	assert_int_equal(stat(beside, &st), 0);
	assert_in_range(st.st_blocks * 512, k->record.bytes, UINT32_MAX);
	assert_in_range(st.st_size, k->record.bytes + 1, UINT32_MAX);
}

/* So many namespaces are in the file: a start finds them. */
static void
holds(struct kept *k, uint32_t count)
{
	__typeof__(disk) before = disk;
	struct record found = { .there = false };
	struct made *made;
	char why[256];

	disk.fail_files = disk.fail_folders = 0;
	assert_int_equal(record_begin(&found, k->dir, &k->arena, &made, why), 0);
	assert_int_equal(made != NULL ? made->count : 0, count);
	record_end(&found);
	disk = before;
}

static void
a_record_is_made_durable_before_and_its_folder_after_it_takes_the_others_place(void **state)
{
	struct kept *k = *state;

	for (uint32_t i = 1; i <= 3; i++) {
		add(k);
		assert_int_equal(record_prepare(&k->record, k->made, false), 0);
		assert_true(disk.files == i && disk.folders == i - 1);
		assert_int_equal(record_commit(&k->record), 0);
		assert_true(disk.files == i && disk.folders == i && !k->record.doubt);
		has_room(k);
		holds(k, i);
	}
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	assert_true(disk.files == 3 && disk.folders == 3); /* it says so already */
}

/* Who wrote it may have been killed between the rename and the fsync of the folder. */
static void
a_record_that_is_found_is_durable_before_anything_is_done_by_it(void **state)
{
	struct kept *k = *state;
	struct record found = { .there = false };
	struct made *made;
	char why[256] = "";

	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	memset(&disk, 0, sizeof(disk));
	assert_int_equal(record_begin(&found, k->dir, &k->arena, &made, why), 0);
	assert_true(disk.files == 1 && disk.folders == 1 && made->count == 1);
	record_end(&found);
	for (unsigned i = 0; i < 2; i++) {
		disk.error = EIO;
		*(i == 0 ? &disk.fail_files : &disk.fail_folders) = 1;
		assert_int_equal(record_begin(&found, k->dir, &k->arena, &made, why), -EIO);
		assert_non_null(strstr(why, "/namespaces cannot be made durable: Input/output error"));
		record_end(&found);
	}
}

static void
what_could_not_be_synced_is_written_anew_by_the_next_who_keeps_the_same(void **state)
{
	struct kept *k = *state;

	add(k);
	disk.fail_folders = 2;
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), -EIO);
	assert_true(k->record.doubt && disk.folders == 1 && disk.files == 1);
	holds(k, 1);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), -EIO);
	assert_true(k->record.doubt && disk.folders == 2 && disk.files == 2);
	assert_int_equal(record_commit(&k->record), 0); /* before the next one is begun */
	assert_true(!k->record.doubt && disk.folders == 3 && disk.files == 3);
	holds(k, 1);
	has_room(k);
	assert_int_equal(record_commit(&k->record), 0);
	assert_int_equal(disk.folders, 3);
}

/* Nobody knows which one is there: what says what the old one says is written all the same. */
static void
what_could_not_take_the_others_place_may_have_and_so_the_next_one_does(void **state)
{
	struct kept *k = *state;
	struct made *none = k->made, *one;

	for (unsigned there = 0; there < 2; there++) {
		add(k);
		disk.fail_renames = 1;
		assert_int_equal(record_prepare(&k->record, k->made, false), 0);
		assert_int_equal(record_commit(&k->record), -EIO);
		assert_true(k->record.doubt);
		holds(k, there + 1);
		one = k->made;
		k->made = none;
		assert_int_equal(record_prepare(&k->record, k->made, false), 0);
		assert_int_equal(record_commit(&k->record), 0);
		assert_false(k->record.doubt);
		holds(k, there);
		k->made = none = one;
		assert_int_equal(record_prepare(&k->record, k->made, false), 0);
		assert_int_equal(record_commit(&k->record), 0);
		holds(k, there + 1);
	}
}

static void
a_folder_that_could_not_be_synced_is_synced_with_the_next_record(void **state)
{
	struct kept *k = *state;

	add(k);
	disk.fail_folders = 1;
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), -EIO);
	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	assert_true(!k->record.doubt && disk.folders == 2);
	holds(k, 2);
}

static void
what_is_written_takes_the_others_place_where_no_more_can_be_opened(void **state)
{
	struct kept *k = *state;
	struct rlimit may, none;

	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &may), 0);
	none = (struct rlimit){ 0, may.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(record_commit(&k->record), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &may), 0);
	assert_true(!k->record.doubt && disk.folders == 1);
	holds(k, 1);
}

/* Another target may have one of its name by then. */
static void
a_folder_that_is_moved_keeps_its_record_and_one_in_its_place_gets_none(void **state)
{
	struct kept *k = *state;
	char other[sizeof(k->dir)];

	snprintf(other, sizeof(other), "%s", k->dir);
	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	snprintf(k->dir, sizeof(k->dir), "test_record.moved");
	assert_int_equal(rename(other, k->dir), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(record_commit(&k->record), 0);
	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	holds(k, 2);
	assert_int_equal(rmdir(other), 0); /* it is empty */
}

static void
a_record_that_could_not_be_written_leaves_the_one_before(void **state)
{
	struct kept *k = *state;

	add(k);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	add(k);
	disk.fail_files = 1;
	disk.error = ENOSPC;
	assert_int_equal(record_prepare(&k->record, k->made, false), -ENOSPC);
	assert_int_equal(record_commit(&k->record), 0);
	assert_int_equal(disk.folders, 1); /* nothing took its place */
	holds(k, 1);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	record_discard(&k->record);
	has_room(k);
	holds(k, 1);
	assert_int_equal(record_prepare(&k->record, k->made, false), 0);
	assert_int_equal(record_commit(&k->record), 0);
	holds(k, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_A_FOLDER(a_record_is_made_durable_before_and_its_folder_after_it_takes_the_others_place),
		WITH_A_FOLDER(a_record_that_is_found_is_durable_before_anything_is_done_by_it),
		WITH_A_FOLDER(what_could_not_be_synced_is_written_anew_by_the_next_who_keeps_the_same),
		WITH_A_FOLDER(what_could_not_take_the_others_place_may_have_and_so_the_next_one_does),
		WITH_A_FOLDER(a_folder_that_could_not_be_synced_is_synced_with_the_next_record),
		WITH_A_FOLDER(what_is_written_takes_the_others_place_where_no_more_can_be_opened),
		WITH_A_FOLDER(a_folder_that_is_moved_keeps_its_record_and_one_in_its_place_gets_none),
		WITH_A_FOLDER(a_record_that_could_not_be_written_leaves_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
