/*
 * cmd/pump: every byte arrives once, where it belongs, in whatever order ends finish what they were asked for.
 *
 * The ends are made up here: they answer at once, later, or out of order, as
 * a seed has it.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "pump.h"

enum { BYTES_MAX = 1 << 16, PIECE = 512, ASKED_MAX = PUMP_DEPTH_MAX };

/* An end over memory. */
struct made_end {
	struct end end;
	struct rng *rng;
	uint8_t *memory;
	uint64_t bytes;         /* of a source: so many it has */
	uint64_t fails_at;      /* a piece with this byte fails; UINT64_MAX: none */
	struct piece *asked[ASKED_MAX];
	unsigned count, most;   /* of asked; and the most there ever were */
	uint64_t next;          /* an end in order: what it expects */
	bool at_once;
};

static struct made_end *
made(struct end *end)
{
	return (struct made_end *)end;
}

static bool
holds(const struct piece *piece, uint64_t at, uint32_t bytes)
{
	return piece->offset <= at && at < piece->offset + bytes;
}

static int
ask(struct made_end *end, struct piece *piece)
{
	assert_true(end->count < ASKED_MAX);
	end->asked[end->count++] = piece;
	end->most = end->count > end->most ? end->count : end->most;
	return STEP_ASKED;
}

static void
fill(struct made_end *end, struct piece *piece)
{
	uint64_t left = piece->offset < end->bytes ? end->bytes - piece->offset : 0;

	piece->bytes = left < piece->wanted ? (uint32_t)left : piece->wanted;
	memcpy(piece->data, end->memory + piece->offset, piece->bytes);
}

static int
source_step(struct end *base, struct piece *piece)
{
	struct made_end *end = made(base);

	if (base->in_order) {
		assert_int_equal(piece->offset, end->next);
		if (rng_below(end->rng, 4) == 0)
			return STEP_LATER;
		end->next += piece->wanted;
	}
	if (!end->at_once)
		return ask(end, piece);
	if (holds(piece, end->fails_at, piece->wanted))
		return -EIO;
	fill(end, piece);
	return STEP_DONE;
}

static int
sink_step(struct end *base, struct piece *piece)
{
	struct made_end *end = made(base);

	if (base->in_order) {
		assert_int_equal(piece->offset, end->next);
		if (rng_below(end->rng, 4) == 0)
			return STEP_LATER;
		end->next += piece->bytes;
	}
	if (!end->at_once)
		return ask(end, piece);
	memcpy(end->memory + piece->offset, piece->data, piece->bytes);
	return STEP_DONE;
}

/* One of those that were asked for is done, any of them; sometimes none. */
static struct piece *
take(struct made_end *end)
{
	unsigned i;
	struct piece *piece;

	if (end->count == 0 || rng_below(end->rng, 3) == 0)
		return NULL;
	i = (unsigned)rng_below(end->rng, end->count);
	piece = end->asked[i];
	end->asked[i] = end->asked[--end->count];
	return piece;
}

static int
source_poll(struct end *base)
{
	struct piece *piece = take(made(base));

	if (piece == NULL)
		return 0;
	if (holds(piece, made(base)->fails_at, piece->wanted)) {
		pump_failed(piece->pump, -EIO, "byte %u", (unsigned)made(base)->fails_at);
		piece_done(piece, -EIO);
		return 1;
	}
	fill(made(base), piece);
	piece_done(piece, 0);
	return 1;
}

static int
sink_poll(struct end *base)
{
	struct piece *piece = take(made(base));

	if (piece == NULL)
		return 0;
	if (holds(piece, made(base)->fails_at, piece->bytes)) {
		piece_done(piece, -ENOSPC);
		return 1;
	}
	memcpy(made(base)->memory + piece->offset, piece->data, piece->bytes);
	piece_done(piece, 0);
	return 1;
}

static const struct end_ops source_ops = { source_step, source_poll }, sink_ops = { sink_step, sink_poll };

/* A pipe whose ends are both ready, always. */
static int always[2];

struct bench {
	struct rng rng;
	struct made_end source, sink;
	struct pump pump;
	uint8_t from[BYTES_MAX], to[BYTES_MAX];
};

static void
bench_init(struct bench *bench, uint64_t seed, uint64_t bytes)
{
	memset(bench, 0, sizeof(*bench));
	rng_seed(&bench->rng, seed);
	for (unsigned i = 0; i < BYTES_MAX; i++)
		bench->from[i] = (uint8_t)rng_below(&bench->rng, 256);
	bench->source = (struct made_end) {
		.end = { &source_ops, always[0], 0, false }, .rng = &bench->rng, .memory = bench->from, .bytes = bytes,
		.fails_at = UINT64_MAX,
	};
	bench->sink = (struct made_end) {
		.end = { &sink_ops, always[1], POLLOUT, false }, .rng = &bench->rng, .memory = bench->to,
		.fails_at = UINT64_MAX,
	};
	bench->pump = (struct pump) {
		.source = &bench->source.end, .sink = &bench->sink.end, .total = bytes, .piece_bytes = PIECE,
		.stop_fd = -1,
		.depth = 1 + (unsigned)rng_below(&bench->rng, 40),
	};
}

static struct bench bench;

static void
all_of_it_arrives_in_whatever_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t bytes = seed * 1499 % BYTES_MAX;

		bench_init(&bench, seed, bytes);
		bench.source.at_once = seed % 3 == 0;
		bench.sink.at_once = seed % 4 == 0;
		bench.sink.end.events = 0;
		assert_int_equal(pump_run(&bench.pump), 0);
		assert_int_equal(bench.pump.done, bytes);
		assert_memory_equal(bench.from, bench.to, bytes);
		assert_true(bench.sink.most <= bench.pump.depth && bench.source.most <= bench.pump.depth);
	}
}

static void
streams_get_their_pieces_in_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		bench_init(&bench, seed, 50000);
		bench.source.at_once = bench.source.end.in_order = seed % 2 == 0;
		bench.sink.at_once = bench.sink.end.in_order = seed % 3 == 0;
		assert_int_equal(pump_run(&bench.pump), 0);
		assert_int_equal(bench.pump.done, 50000);
		assert_memory_equal(bench.from, bench.to, 50000);
	}
}

static void
a_source_may_end_whenever_it_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t bytes = seed * 512 + seed % 3; /* also just behind a piece */

		bench_init(&bench, seed, bytes);
		bench.pump.total = PUMP_UNKNOWN;
		bench.source.at_once = bench.source.end.in_order = true;
		assert_int_equal(pump_run(&bench.pump), 0);
		assert_true(bench.pump.ended);
		assert_int_equal(bench.pump.done, bytes);
		assert_int_equal(bench.pump.total, bytes);
		assert_memory_equal(bench.from, bench.to, bytes);
	}
}

static void
a_source_that_became_shorter_ends_where_it_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		bench_init(&bench, seed, 50000);
		bench.source.bytes = 30000 + seed;
		assert_int_equal(pump_run(&bench.pump), 0);
		assert_int_equal(bench.pump.done, 30000 + seed);
		assert_int_equal(bench.pump.total, 30000 + seed);
		assert_memory_equal(bench.from, bench.to, 30000 + seed);
	}
}

/* What is done is a beginning without a gap, and all that was asked for has been answered. */
static void
assert_failed(int error)
{
	assert_int_equal(pump_run(&bench.pump), error);
	assert_int_equal(bench.pump.error, error);
	assert_true(bench.pump.done <= 20480 && bench.pump.done % PIECE == 0);
	assert_memory_equal(bench.from, bench.to, bench.pump.done);
	assert_int_equal(bench.source.count + bench.sink.count, 0);
	assert_true(bench.pump.why[0] != '\0');
}

static void
the_first_failure_ends_it_and_says_how_far(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		bench_init(&bench, seed, 50000);
		bench.source.fails_at = 20480 + seed;
		bench.source.at_once = seed % 2 == 0;
		assert_failed(-EIO);
		bench_init(&bench, seed, 50000);
		bench.sink.fails_at = 20480 + seed;
		assert_failed(-ENOSPC);
	}
}

static unsigned turns_left;

static bool
stop_soon(void)
{
	return turns_left == 0 || --turns_left == 0;
}

static void
who_is_stopped_ends_what_is_on_its_way(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		bench_init(&bench, seed, BYTES_MAX);
		bench.sink.end.events = 0;
		bench.pump.depth = 4;
		bench.pump.stopped = stop_soon;
		turns_left = 1 + (unsigned)seed % 5;
		assert_int_equal(pump_run(&bench.pump), 0);
		assert_true(bench.pump.stopping && bench.pump.done < BYTES_MAX);
		assert_memory_equal(bench.from, bench.to, bench.pump.done);
		assert_int_equal(bench.to[bench.pump.done + 8 * PIECE], 0);
		assert_int_equal(bench.source.count + bench.sink.count, 0);
	}
}

static uint64_t zeros_seen, bytes_seen;

static int
see(void *arg, struct piece *piece)
{
	(void)arg;
	bytes_seen += piece->bytes;
	zeros_seen += piece->zeros ? piece->bytes : 0;
	return 0;
}

static int
refuse_all(void *arg, struct piece *piece)
{
	(void)arg;
	(void)piece;
	return -ENOMEM;
}

static void
zeros_are_found_and_each_piece_is_seen_once(void **state)
{
	(void)state;
	bench_init(&bench, 7, 50000);
	memset(bench.from + 10 * PIECE, 0, 5 * PIECE);
	bench.from[12 * PIECE + 511] = 1;
	bench.pump.find_zeros = true;
	bench.pump.full = see;
	zeros_seen = bytes_seen = 0;
	assert_int_equal(pump_run(&bench.pump), 0);
	assert_int_equal(bytes_seen, 50000);
	assert_int_equal(zeros_seen, 4 * PIECE);
	bench.pump.full = refuse_all;
	bench.pump.first = bench.pump.next = bench.pump.done = 0;
	assert_int_equal(pump_run(&bench.pump), -ENOMEM);
	assert_int_equal(bench.pump.done, 0);
}

static int
make_always(void **state)
{
	(void)state;
	return pipe(always) == 0 && write(always[1], "x", 1) == 1 ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_arrives_in_whatever_order),
		cmocka_unit_test(streams_get_their_pieces_in_order),
		cmocka_unit_test(a_source_may_end_whenever_it_does),
		cmocka_unit_test(a_source_that_became_shorter_ends_where_it_does),
		cmocka_unit_test(the_first_failure_ends_it_and_says_how_far),
		cmocka_unit_test(who_is_stopped_ends_what_is_on_its_way),
		cmocka_unit_test(zeros_are_found_and_each_piece_is_seen_once),
	};

	return cmocka_run_group_tests(tests, make_always, NULL);
}
