#include "trace_bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"

enum { PIECE_MAX = 200, ROOM_MAX = 5, CUTS = 2 };

/* A block of exactly the size, so that a sanitizer sees what lies beyond. */
static void
piece_read(struct trace_reader *reader, const char *text, size_t length, bool end, size_t room,
    struct trace_outcome *outcome)
{
	char *copy = malloc(length + (length == 0));
	const char *bytes = copy;
	size_t count;

	assert(copy != NULL);
	memcpy(copy, text, length);
	do {
		assert(outcome->count + room <= TRACE_BENCH_REQUESTS);
		count = trace_read(reader, &bytes, &length, end, outcome->requests + outcome->count, room);
		assert(count <= room && bytes + length >= copy && (count == room || length == 0));
		outcome->count += count;
	} while (count == room);
	free(copy);
}

static void
outcome_is_sound(const struct trace_outcome *outcome)
{
	const struct trace_read *seen = &outcome->seen;

	assert(seen->lines == outcome->count + seen->headings + seen->other + seen->bad);
	assert(seen->volumes <= TRACE_VOLUMES && seen->volumes <= outcome->count);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct trace_request *request = &outcome->requests[i];

		assert(request->bytes > 0 && request->bytes <= 1u << 30 && request->volume < seen->volumes);
		assert(request->offset <= (UINT64_C(1) << 63) - request->bytes);
	}
	for (uint64_t i = 0; i < seen->bad && i < TRACE_BAD_KEPT; i++) {
		assert(seen->bads[i].line > (i > 0 ? seen->bads[i - 1].line : 0) && seen->bads[i].line <= seen->lines);
		assert(seen->bads[i].why != NULL && seen->bads[i].why[0] != '\0');
		for (const char *at = seen->bads[i].text; *at != '\0'; at++)
			assert(*at >= ' ' && *at <= '~');
	}
	for (uint32_t i = 0; i < seen->volumes; i++)
		assert(outcome->names[i][0] != '\0' && memchr(outcome->names[i], '\0', TRACE_VOLUME_NAME) != NULL);
}

struct trace_outcome *
trace_bench_read(enum trace_format format, const char *text, size_t length, uint64_t seed)
{
	static struct trace_outcome outcomes[2];
	struct trace_outcome *outcome = &outcomes[seed != 0];
	struct trace_reader *reader;
	struct arena arena;
	struct rng rng;
	size_t done = 0;

	outcome->count = 0;
	arena_init(&arena, 0);
	reader = trace_reader_create(&arena, format);
	assert(reader != NULL);
	rng_seed(&rng, seed);
	while (seed != 0 && done < length) {
		size_t piece = rng_below(&rng, PIECE_MAX), left = length - done;

		piece = piece < left ? piece : left;
		piece_read(reader, text + done, piece, false, 1 + rng_below(&rng, ROOM_MAX), outcome);
		done += piece;
	}
	piece_read(reader, text + done, length - done, true, ROOM_MAX, outcome);
	outcome->seen = *trace_reader_seen(reader);
	for (uint32_t i = 0; i < outcome->seen.volumes; i++)
		strcpy(outcome->names[i], trace_reader_volume(reader, i));
	trace_reader_destroy(reader);
	assert(arena.bytes == 0);
	arena_drop(&arena);
	outcome_is_sound(outcome);
	return outcome;
}

void
trace_bench_same(const struct trace_outcome *a, const struct trace_outcome *b)
{
	assert(a->count == b->count && a->seen.lines == b->seen.lines && a->seen.headings == b->seen.headings);
	assert(a->seen.other == b->seen.other && a->seen.bad == b->seen.bad && a->seen.volumes == b->seen.volumes);
	for (size_t i = 0; i < a->count; i++) {
		const struct trace_request *one = &a->requests[i], *other = &b->requests[i];

		assert(one->time_ns == other->time_ns && one->offset == other->offset && one->bytes == other->bytes);
		assert(one->volume == other->volume && one->is_write == other->is_write);
	}
	for (uint32_t i = 0; i < a->seen.volumes; i++)
		assert(strcmp(a->names[i], b->names[i]) == 0);
	for (uint64_t i = 0; i < a->seen.bad && i < TRACE_BAD_KEPT; i++) {
		assert(a->seen.bads[i].line == b->seen.bads[i].line && a->seen.bads[i].why == b->seen.bads[i].why);
		assert(strcmp(a->seen.bads[i].text, b->seen.bads[i].text) == 0);
	}
}

void
trace_bench_hold(enum trace_format format, const char *text, size_t length)
{
	struct trace_outcome *whole = trace_bench_read(format, text, length, 0);
	enum trace_format guess;

	for (uint64_t seed = 1; seed <= CUTS; seed++) {
		struct trace_outcome *cut = trace_bench_read(format, text, length, seed);

		trace_bench_same(whole, cut);
	}
	if (trace_guess(text, length, &guess) && guess == format)
		assert(whole->count + whole->seen.other + whole->seen.headings > 0);
}
