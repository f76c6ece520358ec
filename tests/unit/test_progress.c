/*
 * cmd/progress: what a person reads while something long goes on, at any time and in any width.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "progress.h"

#define SECOND UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static void
half_of_it_is_half_a_bar(void **state)
{
	struct progress progress;
	char text[PROGRESS_TEXT];

	(void)state;
	progress_init(&progress, 2 * GIB, 5 * SECOND);
	progress_at(&progress, GIB, 6 * SECOND);
	progress_line(&progress, "copying", 200, text);
	assert_string_equal(text, "copying: [####################....................]  50 %  1 GiB of 2 GiB, "
	    "1073 MB/s, 1 s left");
}

static void
a_narrow_terminal_has_no_bar_and_no_line_is_too_long(void **state)
{
	struct progress progress;
	char text[PROGRESS_TEXT];

	(void)state;
	progress_init(&progress, 2 * GIB, 0);
	progress_at(&progress, GIB, SECOND);
	progress_line(&progress, "copying", 60, text);
	assert_string_equal(text, "copying:  50 %  1 GiB of 2 GiB, 1073 MB/s, 1 s left");
	for (unsigned columns = 0; columns < 200; columns++) {
		progress_line(&progress, "copying", columns, text);
		assert_true(strlen(text) <= columns);
	}
}

static void
it_is_never_done_before_it_is(void **state)
{
	struct progress progress;
	char text[PROGRESS_TEXT];

	(void)state;
	progress_init(&progress, 1000 * GIB, 0);
	progress_at(&progress, 1000 * GIB - 1, SECOND);
	progress_line(&progress, "reading", 60, text);
	assert_non_null(strstr(text, " 99 %"));
	progress_at(&progress, 1000 * GIB, 2 * SECOND);
	progress_line(&progress, "reading", 60, text);
	assert_non_null(strstr(text, "100 %"));
	assert_non_null(strstr(text, "0 s left"));
}

static void
what_nobody_knows_the_end_of_has_no_percent(void **state)
{
	struct progress progress;
	char text[PROGRESS_TEXT];

	(void)state;
	progress_init(&progress, PROGRESS_UNKNOWN, 0);
	progress_at(&progress, 3 * GIB / 2, 125 * SECOND);
	progress_line(&progress, "writing", 80, text);
	assert_string_equal(text, "writing: 1.5 GiB, 12 MB/s, 2:05");
}

static void
the_rate_is_that_of_the_last_seconds(void **state)
{
	struct progress progress;

	(void)state;
	progress_init(&progress, 100 * GIB, 0);
	for (unsigned i = 1; i <= 100; i++) /* ten seconds of 1000 bytes each, then of nothing */
		progress_at(&progress, (i < 100 ? i : 100) * 100, i * SECOND / 10);
	assert_in_range(progress_rate(&progress), 990, 1010);
	for (unsigned i = 101; i <= 150; i++)
		progress_at(&progress, 10000, i * SECOND / 10);
	assert_int_equal(progress_rate(&progress), 0);
	assert_in_range(progress_mean(&progress), 660, 670);
}

static void
what_stands_still_says_so(void **state)
{
	struct progress progress;
	char text[PROGRESS_TEXT];

	(void)state;
	progress_init(&progress, GIB, 0);
	progress_line(&progress, "reading", 80, text);
	assert_non_null(strstr(text, "stalled"));
}

static void
sizes_and_times_are_short(void **state)
{
	static const struct { uint64_t bytes; const char *text; } sizes[] = {
		{ 0, "0 bytes" }, { 1, "1 byte" }, { 1023, "1023 bytes" }, { 1024, "1 KiB" }, { 1536, "1.5 KiB" },
		{ 64 << 20, "64 MiB" }, { UINT64_MAX, "16.0 EiB" }, { 1024 * GIB, "1 TiB" },
	};
	static const struct { uint64_t seconds; const char *text; } times[] = {
		{ 0, "0 s" }, { 59, "59 s" }, { 60, "1:00" }, { 3599, "59:59" }, { 3600, "1:00:00" }, { 90061,
		    "25:01:01" },
	};
	char text[PROGRESS_WORD];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		progress_size(sizes[i].bytes, text);
		assert_string_equal(text, sizes[i].text);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		progress_time(times[i].seconds, text);
		assert_string_equal(text, times[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_it_is_half_a_bar),
		cmocka_unit_test(a_narrow_terminal_has_no_bar_and_no_line_is_too_long),
		cmocka_unit_test(it_is_never_done_before_it_is),
		cmocka_unit_test(what_nobody_knows_the_end_of_has_no_percent),
		cmocka_unit_test(the_rate_is_that_of_the_last_seconds),
		cmocka_unit_test(what_stands_still_says_so),
		cmocka_unit_test(sizes_and_times_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
