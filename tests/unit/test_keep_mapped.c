/*
 * keep: a part of the log of ordered writes in a mapped file over the kernel, with the processor's own instructions
 * where what is stored is written back.  Whether it is durable cannot be seen; tests/sim/test_keep.c has that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/writeback.h"
#include "keep/keep.h"
#include "rt_files_bench.h"

enum { SLOTS = ORDER_SLOTS_LEAST, WORDS = 200, PART = 1 };

static const struct order_head head = { .uuid = { 1 }, .parts = 2, .slots = SLOTS };

struct mapped {
	struct rt *rt;
	struct reactor *reactor;
	struct file *file;
	struct keep *keep;
	struct order_image *slots;
};

static void
begin(struct mapped *mapped, bool persistent)
{
	memset(mapped, 0, sizeof(*mapped));
	mapped->rt = files_open_rt(1, RT_FILES_AUTO);
	mapped->reactor = rt_reactor(mapped->rt, 0);
	MUST(mapped->reactor->world->file_open(mapped->reactor, files_path, order_log_bytes(&head), 4096,
	    &mapped->file) == 0);
	MUST(mapped->reactor->world->file_map(mapped->file, false) == 0);
	mapped->slots = (struct order_image *)(void *)((uint8_t *)mapped->file->map + order_part_at(&head, PART));
	mapped->keep = persistent ? keep_persistent_open(mapped->reactor, mapped->file, &head)
	    : keep_memory_open(mapped->reactor, &head);
	MUST(mapped->keep != NULL);
	mapped->keep->slots = mapped->slots;
}

static void
end(struct mapped *mapped)
{
	mapped->keep->ops->close(mapped->keep);
	mapped->reactor->world->file_close(mapped->file);
	rt_destroy(mapped->rt);
}

static void
commit(struct mapped *mapped, const struct order_commit *commit)
{
	MUST(mapped->keep->ops->at_once && mapped->keep->ops->commit(mapped->keep, commit));
}

static uint8_t
byte_of(size_t at)
{
	return (uint8_t)(at * 7 + at / 251);
}

/* All slots are stored in, and some of that is committed: from the part's last three slots on to its first five, and
 * every third word behind that. */
static void
play(struct mapped *mapped)
{
	uint32_t words[WORDS];

	for (size_t i = 0; i < SLOTS * sizeof(struct order_image); i++)
		((uint8_t *)mapped->slots)[i] = byte_of(i);
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = 10 + 3 * i;
	commit(mapped, &(struct order_commit){ .from = 2 * SLOTS - 3, .to = 2 * SLOTS + 5 });
	commit(mapped, &(struct order_commit){ .words = words, .word_count = WORDS });
}

/* As another process would read it. */
static void
check(void)
{
	uint8_t *log = malloc(order_log_bytes(&head));
	size_t from = order_part_at(&head, PART), to = from + SLOTS * sizeof(struct order_image);
	int fd = open(files_path, O_RDONLY);

	assert_non_null(log);
	assert_int_equal(pread(fd, log, order_log_bytes(&head), 0), order_log_bytes(&head));
	for (size_t i = 0; i < order_log_bytes(&head); i++)
		assert_int_equal(log[i], i >= from && i < to ? byte_of(i - from) : 0);
	close(fd);
	free(log);
}

static void
what_is_stored_is_there_and_nothing_else(void **state)
{
	static struct mapped mapped;

	begin(&mapped, false);
	play(&mapped);
	check();
	end(&mapped);
}

/* The instructions work on any memory, and this is not persistent. */
static void
to_write_it_back_changes_nothing(void **state)
{
	static struct mapped mapped;

	if (writeback_best() == WRITEBACK_NONE)
		skip();
	begin(&mapped, true);
	play(&mapped);
	check();
	end(&mapped);
}

static void
a_killed_process_leaves_it_to_the_next(void **state)
{
	static struct mapped mapped;
	pid_t parent = getpid(), child;
	int tell[2];
	char told;

	assert_int_equal(pipe(tell), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		begin(&mapped, false);
		play(&mapped);
		MUST(write(tell[1], "p", 1) == 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &told, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(tell[0]);
	check();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		with_file(what_is_stored_is_there_and_nothing_else),
		with_file(to_write_it_back_changes_nothing),
		with_file(a_killed_process_leaves_it_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
