/*
 * trace/reader: whatever pieces a trace comes in, each line is a request, a heading, another command or counted as bad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "trace_bench.h"

static const char few[] =
    "# three requests to two devices\n"
    "\n"
    "1000 3 8 16 1\r\n"
    "2000 4 0 1 0\n"
    "  \t\n"
    "3000 3 no 1 0\n"
    "4000 3 9 2 0";

static void
each_line_is_counted_once(void **state)
{
	struct trace_outcome *all = trace_bench_read(TRACE_SSDSIM, few, strlen(few), 0);

	(void)state;
	assert_int_equal(all->count, 3);
	assert_int_equal(all->seen.lines, 7);
	assert_int_equal(all->seen.headings, 3);
	assert_int_equal(all->seen.other, 0);
	assert_int_equal(all->seen.bad, 1);
	assert_int_equal(all->seen.bads[0].line, 6);
	assert_string_equal(all->seen.bads[0].why, "its LBA is not a whole number");
	assert_string_equal(all->seen.bads[0].text, "3000 3 no 1 0");
	assert_int_equal(all->requests[0].offset, 8 * 512);
	assert_int_equal(all->requests[2].time_ns, 4000);
}

static void
a_byte_order_mark_is_skipped_once(void **state)
{
	static const char text[] = "\xef\xbb\xbf" "1000 3 8 16 1\n\xef\xbb\xbf" "2000 4 0 1 0\n";

	(void)state;
	for (uint64_t seed = 0; seed <= 50; seed++) {
		struct trace_outcome *all = trace_bench_read(TRACE_SSDSIM, text, strlen(text), seed);

		assert_int_equal(all->count, 1);
		assert_int_equal(all->requests[0].time_ns, 1000);
		assert_int_equal(all->seen.bad, 1);
		assert_int_equal(all->seen.bads[0].line, 2);
	}
}

static void
volumes_are_numbered_as_they_appear(void **state)
{
	struct trace_outcome *all = trace_bench_read(TRACE_SSDSIM, few, strlen(few), 0);

	(void)state;
	assert_int_equal(all->seen.volumes, 2);
	assert_string_equal(all->names[0], "3");
	assert_string_equal(all->names[1], "4");
	assert_int_equal(all->requests[0].volume, 0);
	assert_int_equal(all->requests[1].volume, 1);
	assert_int_equal(all->requests[2].volume, 0);
}

static void
it_does_not_matter_where_the_text_is_cut(void **state)
{
	struct trace_outcome *all = trace_bench_read(TRACE_SSDSIM, few, strlen(few), 0);

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct trace_outcome *cut = trace_bench_read(TRACE_SSDSIM, few, strlen(few), seed);

		trace_bench_same(all, cut);
	}
}

static void
half_a_line_waits_for_its_end(void **state)
{
	struct trace_reader *reader;
	struct trace_request request;
	struct arena arena;
	const char *bytes = "5 0 7";
	size_t length = 5;

	(void)state;
	arena_init(&arena, 0);
	reader = trace_reader_create(&arena, TRACE_SSDSIM);
	assert_non_null(reader);
	assert_int_equal(trace_read(reader, &bytes, &length, false, &request, 1), 0);
	assert_int_equal(length, 0);
	assert_int_equal(trace_reader_seen(reader)->lines, 0);
	bytes = "1 1 0";
	length = 5;
	assert_int_equal(trace_read(reader, &bytes, &length, false, &request, 1), 0);
	assert_int_equal(trace_read(reader, &bytes, &length, true, &request, 1), 1);
	assert_int_equal(request.offset, 71 * 512);
	assert_int_equal(trace_read(reader, &bytes, &length, true, &request, 1), 0);
	assert_int_equal(trace_reader_seen(reader)->lines, 1);
	arena_drop(&arena);
}

static void
no_more_is_read_than_there_is_room_for(void **state)
{
	const char *bytes = "1 0 0 1 0\n2 0 0 1 0\n3 0 0 1 0\n";
	struct trace_request requests[2];
	struct trace_reader *reader;
	struct arena arena;
	size_t length = strlen(bytes);

	(void)state;
	arena_init(&arena, 0);
	reader = trace_reader_create(&arena, TRACE_SSDSIM);
	assert_non_null(reader);
	assert_int_equal(trace_read(reader, &bytes, &length, true, requests, 2), 2);
	assert_string_equal(bytes, "3 0 0 1 0\n");
	assert_int_equal(trace_read(reader, &bytes, &length, true, requests, 2), 1);
	assert_int_equal(requests[0].time_ns, 3);
	assert_int_equal(length, 0);
	arena_drop(&arena);
}

static void
a_line_has_4096_bytes_at_most(void **state)
{
	enum { LONGER = TRACE_LINE + 1 };
	char *text = malloc(4 * LONGER);
	struct trace_outcome *all;
	size_t length = 0;

	(void)state;
	assert_non_null(text);
	/* The second extra column makes it just as long as it may be, or a byte more; and more than twice that. */
	for (int more = 0; more < 2; more++) {
		int begun = sprintf(text + length, "0,1,512,R,0.5,");

		memset(text + length + begun, 'x', (size_t)(TRACE_LINE + more - begun));
		length += (size_t)(TRACE_LINE + more);
		text[length++] = '\n';
	}
	memset(text + length, 'y', LONGER * 2 - 20);
	length += LONGER * 2 - 20;
	length += (size_t)sprintf(text + length, "\n0,2,512,R,1\n");
	all = trace_bench_read(TRACE_SPC, text, length, 0);
	assert_int_equal(all->count, 2);
	assert_int_equal(all->requests[1].offset, 1024);
	assert_int_equal(all->seen.bad, 2);
	assert_int_equal(all->seen.bads[1].line, 3);
	assert_string_equal(all->seen.bads[1].why, "it is longer than 4096 bytes");
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct trace_outcome *cut = trace_bench_read(TRACE_SPC, text, length, seed);

		trace_bench_same(all, cut);
	}
	free(text);
}

static void
the_longest_line_may_be_cut_just_before_its_newline(void **state)
{
	char text[TRACE_LINE + 2];
	const char *bytes = text;
	struct trace_request request;
	struct trace_reader *reader;
	struct arena arena;
	size_t length = TRACE_LINE;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "0,1,512,R,0.5,", 14);
	text[TRACE_LINE] = '\n';
	arena_init(&arena, 0);
	reader = trace_reader_create(&arena, TRACE_SPC);
	assert_non_null(reader);
	assert_int_equal(trace_read(reader, &bytes, &length, false, &request, 1), 0);
	assert_int_equal(trace_reader_seen(reader)->lines, 0);
	length = 1;
	assert_int_equal(trace_read(reader, &bytes, &length, true, &request, 1), 1);
	arena_drop(&arena);
}

static void
what_cannot_be_shown_of_a_bad_line_is_not(void **state)
{
	static const char text[] = "1 0 0 1 0\n7 \33[2J\0\377 0 1 0\r\n1 0 0 1 0\r\r\n";
	struct trace_outcome *all = trace_bench_read(TRACE_SSDSIM, text, sizeof(text) - 1, 0);

	(void)state;
	assert_int_equal(all->count, 1);
	assert_int_equal(all->seen.bad, 2);
	assert_string_equal(all->seen.bads[0].why, "there is a NUL byte in it");
	assert_string_equal(all->seen.bads[0].text, "7 ?[2J?? 0 1 0");
	assert_string_equal(all->seen.bads[1].text, "1 0 0 1 0?");
}

static void
the_first_bad_lines_are_kept_and_all_are_counted(void **state)
{
	char text[1024];
	struct trace_outcome *all;
	size_t length = 0;

	(void)state;
	for (int i = 0; i < 30; i++)
		length += (size_t)sprintf(text + length, "%d 0 0 0 0\n", i);
	all = trace_bench_read(TRACE_SSDSIM, text, length, 0);
	assert_int_equal(all->seen.bad, 30);
	assert_int_equal(all->seen.bads[TRACE_BAD_KEPT - 1].line, TRACE_BAD_KEPT);
}

static void
the_first_line_may_be_a_heading_and_no_other(void **state)
{
	static const char text[] = "\n# by hand\nASU,LBA,Size,Opcode,Timestamp\n0,1,512,R,0.5\n"
	    "ASU,LBA,Size,Opcode,Timestamp\n";
	struct trace_outcome *all = trace_bench_read(TRACE_SPC, text, sizeof(text) - 1, 0);

	(void)state;
	assert_int_equal(all->count, 1);
	assert_int_equal(all->seen.headings, 3);
	assert_int_equal(all->seen.bad, 1);
	assert_int_equal(all->seen.bads[0].line, 5);
	/* A number that is wrong is none. */
	all = trace_bench_read(TRACE_SPC, "-1,1,512,R,0.5\n", 15, 0);
	assert_int_equal(all->seen.headings, 0);
	assert_int_equal(all->seen.bad, 1);
}

static void
there_are_no_more_volumes_than_there_is_room_for(void **state)
{
	char *text = malloc((TRACE_VOLUMES + 2) * 20);
	struct trace_outcome *all;
	size_t length = 0;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i <= TRACE_VOLUMES; i++)
		length += (size_t)sprintf(text + length, "%d %d 0 1 0\n", i, i);
	length += (size_t)sprintf(text + length, "9 %d 0 1 0\n", TRACE_VOLUMES - 1);
	all = trace_bench_read(TRACE_SSDSIM, text, length, 0);
	assert_int_equal(all->seen.volumes, TRACE_VOLUMES);
	assert_int_equal(all->count, TRACE_VOLUMES + 1);
	assert_int_equal(all->requests[TRACE_VOLUMES].volume, TRACE_VOLUMES - 1);
	assert_int_equal(all->seen.bad, 1);
	assert_int_equal(all->seen.bads[0].line, TRACE_VOLUMES + 1);
	assert_string_equal(all->seen.bads[0].why, "there are more than 4096 volumes before it");
	free(text);
}

static void
what_a_volume_is_called_is_short_and_can_be_shown(void **state)
{
	static const char text[] =
	    "1,123456789012345678901234567890123456789012345678901234567890_,1,Read,0,512,0\n"
	    "1,123456789012345678901234567890123456789012345678901234567890__,1,Read,0,512,0\n"
	    "1,h\303\266st,1,Read,0,512,0\n";
	struct trace_outcome *all = trace_bench_read(TRACE_MSR, text, sizeof(text) - 1, 0);

	(void)state;
	assert_int_equal(all->count, 1);
	assert_int_equal(strlen(all->names[0]), TRACE_VOLUME_NAME - 1);
	assert_int_equal(all->seen.bad, 2);
	assert_string_equal(all->seen.bads[0].why, "what its volume is called is longer than 63 bytes");
	assert_string_equal(all->seen.bads[1].why, "what its volume is called cannot be shown");
}

static void
without_memory_there_is_no_reader(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena, 1000);
	assert_null(trace_reader_create(&arena, TRACE_MSR));
	trace_reader_destroy(NULL);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_counted_once),
		cmocka_unit_test(a_byte_order_mark_is_skipped_once),
		cmocka_unit_test(volumes_are_numbered_as_they_appear),
		cmocka_unit_test(it_does_not_matter_where_the_text_is_cut),
		cmocka_unit_test(half_a_line_waits_for_its_end),
		cmocka_unit_test(no_more_is_read_than_there_is_room_for),
		cmocka_unit_test(a_line_has_4096_bytes_at_most),
		cmocka_unit_test(the_longest_line_may_be_cut_just_before_its_newline),
		cmocka_unit_test(what_cannot_be_shown_of_a_bad_line_is_not),
		cmocka_unit_test(the_first_bad_lines_are_kept_and_all_are_counted),
		cmocka_unit_test(the_first_line_may_be_a_heading_and_no_other),
		cmocka_unit_test(there_are_no_more_volumes_than_there_is_room_for),
		cmocka_unit_test(what_a_volume_is_called_is_short_and_can_be_shown),
		cmocka_unit_test(without_memory_there_is_no_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
