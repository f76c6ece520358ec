/*
 * cmd/trace_text, cmd/trace_in: traces in files, packed and not, of any format; and files that are none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/arena.h"
#include "trace_text.h"

enum { LINES = 100000, ROOM = 100 };

static char folder[] = "/tmp/weir-trace-XXXXXX";
static char path[64];

static int
folder_make(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	sprintf(path, "%s/trace", folder);
	return 0;
}

static int
folder_remove(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void
file_write(const char *text, size_t length)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* Of SSDsim, a write of each block; the third line of a thousand is bad. */
static char *
lines_write(size_t *length)
{
	char *text = malloc(LINES * 32);

	assert_non_null(text);
	*length = 0;
	for (int i = 0; i < LINES; i++)
		*length += (size_t)sprintf(text + *length, i % 1000 == 2 ? "%d bad\n" : "%d 0 %d 1 0\n", i, i);
	return text;
}

/* All its requests, whose sum is told; how many there are. */
static size_t
requests_read(struct trace_text *text, uint64_t *offsets)
{
	struct trace_request requests[ROOM];
	size_t count, all = 0;

	*offsets = 0;
	do {
		assert_int_equal(trace_text_next(text, requests, ROOM, &count), 0);
		for (size_t i = 0; i < count; i++)
			*offsets += requests[i].offset;
		all += count;
	} while (count > 0);
	return all;
}

static void
lines_are_read(struct trace_text *text, size_t length)
{
	uint64_t offsets, expected = 0;

	for (uint64_t i = 0; i < LINES; i++)
		expected += i % 1000 == 2 ? 0 : i * 512;
	assert_int_equal(trace_text_format(text), TRACE_SSDSIM);
	assert_int_equal(requests_read(text, &offsets), LINES - LINES / 1000);
	assert_int_equal(offsets, expected);
	assert_int_equal(trace_reader_seen(trace_text_reader(text))->lines, LINES);
	assert_int_equal(trace_text_bytes(text), length);
	assert_int_equal(trace_text_done(text), trace_text_total(text));
}

static void
a_trace_is_read_from_a_file_and_its_format_is_seen(void **state)
{
	struct trace_text *text;
	struct arena arena;
	size_t length;
	char *lines = lines_write(&length);

	(void)state;
	arena_init(&arena, 0);
	file_write(lines, length);
	assert_int_equal(trace_text_open(&arena, path, TRACE_TEXT_GUESS, &text), 0);
	assert_string_equal(trace_text_name(text), path);
	assert_int_equal(trace_text_total(text), length);
	lines_are_read(text, length);
	trace_text_close(text);
	assert_int_equal(arena.bytes, 0);
	free(lines);
}

static void
packed_it_is_the_same_and_how_far_it_is_counts_packed_bytes(void **state)
{
	struct trace_text *text;
	struct arena arena;
	size_t length;
	char *lines = lines_write(&length);
	gzFile file = gzopen(path, "wb");

	(void)state;
	assert_non_null(file);
	assert_int_equal(gzwrite(file, lines, (unsigned)length), length);
	assert_int_equal(gzclose(file), Z_OK);
	arena_init(&arena, 0);
	assert_int_equal(trace_text_open(&arena, path, TRACE_TEXT_GUESS, &text), 0);
	assert_in_range(trace_text_total(text), 1, length / 2);
	lines_are_read(text, length);
	trace_text_close(text);
	trace_text_close(NULL);
	arena_drop(&arena);
	free(lines);
}

static void
each_bad_line_that_was_kept_is_told_with_its_number(void **state)
{
	char said[4096] = "", expected[256];
	FILE *out = fmemopen(said, sizeof(said), "w");
	struct trace_text *text;
	struct arena arena;
	size_t length;
	char *lines = lines_write(&length);
	uint64_t offsets;

	(void)state;
	assert_non_null(out);
	arena_init(&arena, 0);
	file_write(lines, length);
	assert_int_equal(trace_text_open(&arena, path, TRACE_SSDSIM, &text), 0);
	requests_read(text, &offsets);
	trace_text_complain(text, out);
	fclose(out);
	sprintf(expected, "%s:3: its device is not a whole number: 2 bad\n%s:1003: ", path, path);
	assert_memory_equal(said, expected, strlen(expected));
	sprintf(expected, "\n%s: and %d more that cannot be read\n", path, LINES / 1000 - TRACE_BAD_KEPT);
	assert_string_equal(said + strlen(said) - strlen(expected), expected);
	trace_text_close(text);
	arena_drop(&arena);
	free(lines);
}

static void
what_is_no_trace_is_refused_though_its_format_is_told(void **state)
{
	static const char words[] = "It was a dark and stormy night.\nThe rain fell in torrents.\n";
	struct trace_request requests[ROOM];
	char *said = NULL;
	size_t count, said_bytes;
	FILE *out = open_memstream(&said, &said_bytes);
	struct trace_text *text;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	file_write(words, strlen(words));
	assert_int_equal(trace_text_open(&arena, path, TRACE_TEXT_GUESS, &text), -EINVAL);
	assert_null(text);
	assert_int_equal(trace_text_open(&arena, path, TRACE_MSR, &text), 0);
	assert_int_equal(trace_text_next(text, requests, ROOM, &count), -ENODATA);
	assert_int_equal(trace_reader_seen(trace_text_reader(text))->bad, 1);
	trace_text_complain(text, out);
	fclose(out);
	assert_string_equal(said, "");
	free(said);
	trace_text_close(text);
	file_write("", 0);
	assert_int_equal(trace_text_open(&arena, path, TRACE_TEXT_GUESS, &text), -EINVAL);
	assert_int_equal(trace_text_open(&arena, path, TRACE_MSR, &text), 0);
	assert_int_equal(trace_text_next(text, requests, ROOM, &count), -ENODATA);
	trace_text_close(text);
	assert_int_equal(arena.bytes, 0);
}

static void
what_cannot_be_opened_or_read_is_an_error(void **state)
{
	struct trace_text *text;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(trace_text_open(&arena, "/nowhere/at/all", TRACE_MSR, &text), -ENOENT);
	assert_int_equal(trace_text_open(&arena, folder, TRACE_MSR, &text), -EISDIR);
	assert_int_equal(arena.bytes, 0);
	arena.bytes_max = 1000;
	assert_int_equal(trace_text_open(&arena, path, TRACE_MSR, &text), -ENOMEM);
}

static void
what_is_packed_and_cut_off_is_an_error_behind_what_is_there(void **state)
{
	static const char whole[] = "1 0 1 1 0\n2 0 2 1 0\n";
	struct trace_request requests[ROOM];
	char packed[256];
	struct trace_text *text;
	struct arena arena;
	size_t count, length;
	FILE *file;

	(void)state;
	gzFile gzip = gzopen(path, "wb");
	assert_non_null(gzip);
	assert_int_equal(gzwrite(gzip, whole, sizeof(whole) - 1), sizeof(whole) - 1);
	assert_int_equal(gzclose(gzip), Z_OK);
	file = fopen(path, "rb");
	assert_non_null(file);
	length = fread(packed, 1, sizeof(packed), file);
	fclose(file);
	/* Without its sum. */
	file_write(packed, length - 8);
	arena_init(&arena, 0);
	assert_int_equal(trace_text_open(&arena, path, TRACE_SSDSIM, &text), 0);
	assert_int_equal(trace_text_next(text, requests, ROOM, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(trace_text_next(text, requests, ROOM, &count), -EBADMSG);
	trace_text_close(text);
	arena_drop(&arena);
}

static void
a_pipe_has_no_size(void **state)
{
	static const char lines[] = "1 0 1 1 0\n2 0 2 1 0\n";
	int ends[2], kept = dup(STDIN_FILENO);
	struct trace_text *text;
	struct arena arena;
	uint64_t offsets;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], lines, sizeof(lines) - 1), sizeof(lines) - 1);
	close(ends[1]);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(trace_text_open(&arena, "-", TRACE_TEXT_GUESS, &text), 0);
	assert_string_equal(trace_text_name(text), "standard input");
	assert_int_equal(trace_text_total(text), TRACE_TEXT_UNKNOWN);
	assert_int_equal(requests_read(text, &offsets), 2);
	assert_int_equal(trace_text_done(text), sizeof(lines) - 1);
	trace_text_close(text);
	dup2(kept, STDIN_FILENO);
	close(kept);
	arena_drop(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_read_from_a_file_and_its_format_is_seen),
		cmocka_unit_test(packed_it_is_the_same_and_how_far_it_is_counts_packed_bytes),
		cmocka_unit_test(each_bad_line_that_was_kept_is_told_with_its_number),
		cmocka_unit_test(what_is_no_trace_is_refused_though_its_format_is_told),
		cmocka_unit_test(what_cannot_be_opened_or_read_is_an_error),
		cmocka_unit_test(what_is_packed_and_cut_off_is_an_error_behind_what_is_there),
		cmocka_unit_test(a_pipe_has_no_size),
	};

	return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
