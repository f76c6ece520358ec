/*
 * test_line.c - lines to the operator (sys/line): who does not read them holds up nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/line.h"

enum { MANY = 2000, LONG = 100 }; /* more than a pipe holds */

/* Standard error, while a test runs: a pipe, which is read when the test says so. */
static int before, ends[2];

static int
begin(void **state)
{
	(void)state;
	before = dup(STDERR_FILENO);
	return pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0 ? 0 : -1;
}

static int
end(void **state)
{
	(void)state;
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* All that is in the pipe, which is not waited for. */
static const char *
drain(void)
{
	static char text[1024 * 1024];
	struct pollfd in = { .fd = ends[0], .events = POLLIN };
	size_t bytes = 0;

	while (poll(&in, 1, 0) == 1 && (in.revents & POLLIN) != 0) {
		ssize_t got = read(ends[0], text + bytes, sizeof(text) - bytes - 1);

		assert_true(got > 0);
		bytes += (size_t)got;
	}
	text[bytes] = '\0';
	return text;
}

static void
a_line_is_written_as_it_is_and_a_long_one_is_cut(void **state)
{
	char text[2 * PIPE_BUF];
	const char *said;

	(void)state;
	line_say("weir: %d\n", 1);
	assert_string_equal(drain(), "weir: 1\n");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	line_say("%s\n", text);
	said = drain();
	assert_true(strlen(said) == PIPE_BUF && said[PIPE_BUF - 1] == '\n' && said[PIPE_BUF - 2] == 'x');
}

static void
lines_that_nobody_reads_are_lost_and_counted(void **state)
{
	char after[256];
	size_t written;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		line_say("%0*u\n", LONG - 1, i);
	written = strlen(drain()) / LONG;
	assert_in_range(written, 1, MANY - 1);
	line_say("weir: again\n");
	snprintf(after, sizeof(after), "weir: warning: %zu lines before this one could not be written\nweir: again\n",
	    MANY - written);
	assert_string_equal(drain(), after);
	line_say("weir: and again\n");
	assert_string_equal(drain(), "weir: and again\n");
}

static void
many_lines_are_said_in_pieces_of_whole_ones(void **state)
{
	static char text[MANY * LONG + 1];
	const char *said;
	char after[256];
	size_t written;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		snprintf(text + i * LONG, LONG + 1, "%0*u\n", LONG - 1, i);
	line_say_all("", 0);
	line_say_all(text, PIPE_BUF / LONG * 2 * LONG);
	said = drain();
	assert_int_equal(strlen(said), PIPE_BUF / LONG * 2 * LONG);
	assert_memory_equal(said, text, strlen(said));
	line_say_all(text, MANY * LONG);
	said = drain();
	written = strlen(said) / LONG;
	assert_in_range(written, 1, MANY - 1);
	assert_memory_equal(said, text, written * LONG);
	line_say("weir: again\n");
	snprintf(after, sizeof(after), "weir: warning: %zu lines before this one could not be written\nweir: again\n",
	    MANY - written);
	assert_string_equal(drain(), after);
}

static void
where_nobody_can_read_any_more_it_is_nothing(void **state)
{
	(void)state;
	close(ends[0]);
	line_say("weir: nobody hears it\n"); /* nor is there a SIGPIPE */
	ends[0] = dup(before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_is_written_as_it_is_and_a_long_one_is_cut, begin, end),
		cmocka_unit_test_setup_teardown(lines_that_nobody_reads_are_lost_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(many_lines_are_said_in_pieces_of_whole_ones, begin, end),
		cmocka_unit_test_setup_teardown(where_nobody_can_read_any_more_it_is_nothing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
