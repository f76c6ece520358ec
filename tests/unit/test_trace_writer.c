/*
 * test_trace_writer.c - what is written in a format is what is read of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "trace/writer.h"

enum { REQUESTS = 200, VOLUMES = 4 };

/* In order of volumes as they first appear, so that numbers are the same. */
static void
make(struct trace_request *requests, enum trace_format format, uint64_t seed)
{
	struct rng rng;
	uint64_t now = 0;

	rng_seed(&rng, seed);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		now += rng_below(&rng, UINT64_C(3000000000)) / 100 * 100;
		requests[i] = (struct trace_request) {
			.time_ns = now, .offset = rng_below(&rng, UINT64_C(1) << 45) * 512,
			.bytes = (uint32_t)(rng_below(&rng, 4096) + 1) * 512, .is_write = rng_below(&rng, 2) == 0,
			.volume = format == TRACE_VSCSI ? 0 : i < VOLUMES ? i : (uint32_t)rng_below(&rng, VOLUMES),
		};
	}
}

static void
test_what_is_written_is_what_is_read(void **state)
{
	static char text[REQUESTS * TRACE_WRITE_MAX];
	struct trace_request written[REQUESTS], read[REQUESTS + 1];

	for (unsigned i = 0; i < TRACE_FORMATS; i++) {
		enum trace_format format = (enum trace_format)i, guessed = TRACE_FORMATS;
		const char *at = text;
		struct trace_reader *reader;
		struct arena arena;
		size_t length;

		make(written, format, i);
		length = strlen(strcpy(text, trace_write_heading(format)));
		for (unsigned j = 0; j < REQUESTS; j++)
			length += trace_write(format, &written[j], j, text + length);
		assert_true(trace_guess(text, length, &guessed));
		assert_int_equal(guessed, format);
		arena_init(&arena, 0);
		reader = trace_reader_create(&arena, format);
		assert_int_equal(trace_read(reader, &at, &length, true, read, REQUESTS + 1), REQUESTS);
		assert_int_equal(trace_reader_seen(reader)->bad, 0);
		for (unsigned j = 0; j < REQUESTS; j++) {
			assert_int_equal(read[j].time_ns - read[0].time_ns, written[j].time_ns - written[0].time_ns);
			assert_int_equal(read[j].offset, written[j].offset);
			assert_int_equal(read[j].bytes, written[j].bytes);
			assert_int_equal(read[j].volume, written[j].volume);
			assert_int_equal(read[j].is_write, written[j].is_write);
		}
		trace_reader_destroy(reader);
		assert_int_equal(arena.bytes, 0);
		arena_drop(&arena);
	}
}

static void
test_no_line_is_longer_than_there_is_room(void **state)
{
	const struct trace_request large = {
		.time_ns = UINT64_MAX, .offset = UINT64_MAX, .bytes = UINT32_MAX, .volume = UINT32_MAX,
		.is_write = true,
	};
	char text[TRACE_WRITE_MAX];

	for (unsigned i = 0; i < TRACE_FORMATS; i++) {
		size_t length = trace_write((enum trace_format)i, &large, UINT64_MAX - 1, text);

		assert_in_range(length, 1, TRACE_WRITE_MAX - 1);
		assert_true(text[length - 1] == '\n' && strlen(text) == length);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_what_is_read),
		cmocka_unit_test(test_no_line_is_longer_than_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
