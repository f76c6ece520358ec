/*
 * base/writeback: which lines are written back, in each way that this processor has.  That it is done cannot be seen;
 * that it was asked for can, at the border of what the process may touch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/writeback.h"

enum { PAGE = 4096, PAGES = 3, LINE = 64 };

/* The page in the middle is ours, those around it nobody's. */
static uint8_t *
middle(void)
{
	uint8_t *pages = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return pages + PAGE;
}

static void drop(uint8_t *page) { assert_int_equal(munmap(page - PAGE, PAGES * PAGE), 0); }

/* Whether a process that does so lives on. */
static bool
lives_on(enum writeback way, const uint8_t *at, size_t bytes)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		writeback_lines(way, at, bytes);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
	return status == 0;
}

/* None before the first byte and none behind the last one. */
static void
lines_of_other_bytes_are_left_alone(void **state)
{
	enum writeback best = writeback_best();
	uint8_t *page = middle(), was[PAGE];

	for (unsigned i = 0; i < PAGE; i++)
		page[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(was, page, PAGE);
	for (unsigned way = WRITEBACK_CLFLUSH; way <= best; way++)
		for (size_t bytes = 0; bytes <= 3 * LINE; bytes++) {
			writeback_lines(way, page, bytes);
			writeback_lines(way, page + PAGE - bytes, bytes);
		}
	for (unsigned way = WRITEBACK_CLFLUSH; way <= best; way++)
		writeback_lines(way, page, PAGE);
	if (best != WRITEBACK_NONE)
		writeback_fence();
	assert_memory_equal(page, was, PAGE);
	drop(page);
}

static void
the_lines_of_the_first_and_of_the_last_byte_are_among_them(void **state)
{
	enum writeback best = writeback_best();
	uint8_t *page = middle();

	for (unsigned way = WRITEBACK_CLFLUSH; way <= best; way++)
		for (size_t bytes = 1; bytes <= 2 * LINE + 1; bytes += 8) {
			assert_true(lives_on(way, page + PAGE - bytes, bytes));
			assert_false(lives_on(way, page + PAGE - bytes, bytes + 1));
			assert_true(lives_on(way, page, bytes));
			assert_false(lives_on(way, page - 1, bytes + 1));
		}
	drop(page);
}

/* As the kernel has found it to be. */
static void
the_best_way_is_the_processors(void **state)
{
	static char line[1 << 16];
	FILE *cpu = fopen("/proc/cpuinfo", "r");
	enum writeback best = WRITEBACK_NONE;

	if (cpu == NULL)
		skip();
	while (fgets(line, sizeof(line), cpu) != NULL) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		best = strstr(line, " clwb") != NULL ? WRITEBACK_CLWB :
		    strstr(line, " clflushopt") != NULL ? WRITEBACK_CLFLUSHOPT :
		    strstr(line, " clflush") != NULL ? WRITEBACK_CLFLUSH : WRITEBACK_NONE;
		break;
	}
	fclose(cpu);
	assert_int_equal(writeback_best(), best);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_other_bytes_are_left_alone),
		cmocka_unit_test(the_lines_of_the_first_and_of_the_last_byte_are_among_them),
		cmocka_unit_test(the_best_way_is_the_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
