/*
 * test_streams.c - what is written in order, against examples and against a model that keeps each byte.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "trace/streams.h"

enum { KIB = 1024, MIB = 1 << 20 };

static const struct streams_options paper = STREAMS_PAPER;

static struct trace_request
write_at(uint64_t offset, uint32_t bytes)
{
	return (struct trace_request) { .offset = offset, .bytes = bytes, .is_write = true };
}

static void
add(struct streams *streams, uint64_t offset, uint32_t bytes)
{
	const struct trace_request request = write_at(offset, bytes);

	streams_add(streams, &request);
}

static void
test_a_write_goes_on_inside_at_the_end_and_in_the_gap(void **state)
{
	static const struct { uint64_t begins; const char *how; } cases[] = {
		{ 1 * MIB, "inside" }, { 1 * MIB + 4095, "inside" }, { 1 * MIB + 4096, "end" },
		{ 1 * MIB + 4097, "gap" }, { 1 * MIB + 4096 + 128 * KIB, "gap" },
		{ 1 * MIB + 4097 + 128 * KIB, "miss" }, { 1 * MIB - 1, "miss" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct streams streams;
		struct streams_counts counts;

		streams_init(&streams, &paper);
		add(&streams, 1 * MIB, 4096);
		add(&streams, cases[i].begins, 4096);
		counts = streams_count(&streams);
		assert_int_equal(counts.inside, strcmp(cases[i].how, "inside") == 0);
		assert_int_equal(counts.at_end, strcmp(cases[i].how, "end") == 0);
		assert_int_equal(counts.in_gap, strcmp(cases[i].how, "gap") == 0);
		assert_int_equal(counts.misses, 1 + (strcmp(cases[i].how, "miss") == 0));
	}
}

static void
test_a_stream_is_sequential_above_a_mebibyte_and_then_all_of_it_is(void **state)
{
	struct streams streams;
	struct streams_counts counts;

	streams_init(&streams, &paper);
	for (unsigned i = 0; i < 256; i++)
		add(&streams, i * 4096, 4096);
	counts = streams_count(&streams);
	assert_int_equal(counts.sequential_bytes, 0);
	add(&streams, MIB, 512);
	counts = streams_count(&streams);
	assert_int_equal(counts.streams, 1);
	assert_int_equal(counts.sequential_bytes, MIB + 512);
	assert_int_equal(counts.sequential_writes, 257);
	assert_true(streams_ratio(&counts) == 1);
}

static void
test_what_is_written_again_and_again_covers_no_more(void **state)
{
	struct streams streams;
	struct streams_counts counts;

	streams_init(&streams, &paper);
	for (unsigned i = 0; i < 1000; i++)
		add(&streams, 0, 64 * KIB);
	counts = streams_count(&streams);
	assert_int_equal(counts.inside, 999);
	assert_int_equal(counts.streams, 0);
	assert_true(streams_ratio(&counts) == 0);
}

static void
test_gaps_are_not_covered(void **state)
{
	struct streams streams;

	streams_init(&streams, &paper);
	for (unsigned i = 0; i < 256; i++)
		add(&streams, (uint64_t)i * 100 * KIB, 4 * KIB);
	assert_int_equal(streams_count(&streams).streams, 0);
	add(&streams, (uint64_t)256 * 100 * KIB, 4 * KIB);
	assert_int_equal(streams_count(&streams).sequential_bytes, 257 * 4 * KIB);
}

/* So many streams by turns, each of 2 MiB. */
static uint64_t
sequential_of(unsigned count, const struct streams_options *options)
{
	struct streams streams;

	streams_init(&streams, options);
	for (unsigned i = 0; i < 512; i++)
		for (unsigned j = 0; j < count; j++)
			add(&streams, ((uint64_t)j << 30) + i * 4096, 4096);
	return streams_count(&streams).streams;
}

static void
test_so_many_streams_are_followed_and_not_one_more(void **state)
{
	const struct streams_options few = { .slots = 3, .gap_bytes = 128 * KIB, .stream_bytes = MIB };
	const struct streams_options many = { .slots = 64, .gap_bytes = 128 * KIB, .stream_bytes = MIB };

	assert_int_equal(sequential_of(32, &paper), 32);
	assert_int_equal(sequential_of(33, &paper), 0);
	assert_int_equal(sequential_of(3, &few), 3);
	assert_int_equal(sequential_of(4, &few), 0);
	assert_int_equal(sequential_of(64, &many), 64);
}

static void
test_reads_and_other_volumes_do_not_go_on_with_it(void **state)
{
	struct streams streams;
	struct trace_request request = write_at(4096, 4096);

	streams_init(&streams, &paper);
	add(&streams, 0, 4096);
	request.is_write = false;
	streams_add(&streams, &request);
	request.is_write = true;
	request.volume = 1;
	streams_add(&streams, &request);
	assert_int_equal(streams_count(&streams).misses, 2);
	assert_int_equal(streams_count(&streams).writes, 2);
	add(&streams, 4096, 4096);
	assert_int_equal(streams_count(&streams).at_end, 1);
}

static void
test_of_nothing_written_there_is_no_ratio(void **state)
{
	struct streams streams;
	struct streams_counts counts;

	streams_init(&streams, &paper);
	counts = streams_count(&streams);
	assert_true(isnan(streams_ratio(&counts)));
}

/* ---- against a model: a list in order of use, and what each stream covers byte by byte ---- */

enum { SPACE = 4096, SLOTS = 5, GAP = 9, STREAM = 40 };

struct naive {
	bool open;
	uint64_t last, last_bytes;
	uint64_t bytes;
	uint8_t covers[SPACE];
};

struct model {
	struct naive list[SLOTS]; /* the one that was used last first */
	struct streams_counts counts;
};

static void
model_end(struct model *model, const struct naive *stream)
{
	uint64_t covered = 0;

	for (unsigned i = 0; i < SPACE; i++)
		covered += stream->covers[i];
	if (covered <= STREAM)
		return;
	model->counts.streams++;
	model->counts.sequential_bytes += stream->bytes;
}

static void
model_add(struct model *model, const struct trace_request *request)
{
	struct naive found = { 0 };
	unsigned at;

	for (at = 0; at < SLOTS; at++) {
		const struct naive *one = &model->list[at];

		if (one->open && one->last <= request->offset && request->offset <= one->last + one->last_bytes + GAP)
			break;
	}
	if (at == SLOTS) {
		at = SLOTS - 1;
		model_end(model, &model->list[at]);
		model->counts.misses++;
	} else {
		found = model->list[at];
	}
	memmove(&model->list[1], &model->list[0], at * sizeof(model->list[0]));
	found.open = true;
	found.last = request->offset;
	found.last_bytes = request->bytes;
	found.bytes += request->bytes;
	memset(found.covers + request->offset, 1, request->bytes);
	model->list[0] = found;
}

static void
test_it_says_what_a_model_says_that_keeps_each_byte(void **state)
{
	const struct streams_options options = { .slots = SLOTS, .gap_bytes = GAP, .stream_bytes = STREAM };
	uint64_t sequential = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct model *model = calloc(1, sizeof(*model));
		struct streams streams;
		struct rng rng;

		streams_init(&streams, &options);
		rng_seed(&rng, seed);
		for (unsigned i = 0; i < 300; i++) {
			struct naive *near = &model->list[rng_below(&rng, SLOTS)];
			uint64_t offset = near->open && rng_below(&rng, 4) > 0 ?
			    near->last + rng_below(&rng, near->last_bytes + GAP + 3) : rng_below(&rng, SPACE);
			struct trace_request request = write_at(offset % (SPACE - 16),
			    (uint32_t)rng_below(&rng, 15) + 1);

			streams_add(&streams, &request);
			model_add(model, &request);
		}
		for (unsigned i = 0; i < SLOTS; i++)
			model_end(model, &model->list[i]);
		assert_int_equal(streams_count(&streams).misses, model->counts.misses);
		assert_int_equal(streams_count(&streams).streams, model->counts.streams);
		assert_int_equal(streams_count(&streams).sequential_bytes, model->counts.sequential_bytes);
		sequential += model->counts.streams;
		free(model);
	}
	assert_true(sequential > 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_goes_on_inside_at_the_end_and_in_the_gap),
		cmocka_unit_test(test_a_stream_is_sequential_above_a_mebibyte_and_then_all_of_it_is),
		cmocka_unit_test(test_what_is_written_again_and_again_covers_no_more),
		cmocka_unit_test(test_gaps_are_not_covered),
		cmocka_unit_test(test_so_many_streams_are_followed_and_not_one_more),
		cmocka_unit_test(test_reads_and_other_volumes_do_not_go_on_with_it),
		cmocka_unit_test(test_of_nothing_written_there_is_no_ratio),
		cmocka_unit_test(test_it_says_what_a_model_says_that_keeps_each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
