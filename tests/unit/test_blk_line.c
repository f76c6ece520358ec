/*
 * test_blk_line.c - I/Os that wait for the blocks they touch, without a device: many of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/arena.h"
#include "blk/line.h"

enum { PIECE = 512, SMALL = 16, LONGS = 4, MANY = 60 * 1000 };

struct bench {
	struct arena arena;
	struct range range;
	struct line line;
	struct blk_io *ios;
};

static void
begin(struct bench *bench, uint64_t blocks, unsigned count)
{
	arena_init(&bench->arena, 0);
	assert_int_equal(range_init(&bench->range, &bench->arena, blocks, 4096, 2), 0);
	line_init(&bench->line, &bench->range, PIECE, SMALL, LONGS);
	bench->ios = calloc(count, sizeof(*bench->ios));
	assert_non_null(bench->ios);
}

static void
end(struct bench *bench)
{
	assert_int_equal(bench->line.count, 0);
	free(bench->ios);
	range_fini(&bench->range, &bench->arena);
	arena_drop(&bench->arena);
}

static struct blk_io *
begin_io(struct bench *bench, unsigned i, enum blk_op op, uint64_t lba, uint32_t blocks)
{
	struct blk_io *io = &bench->ios[i];

	*io = (struct blk_io){ .op = op, .lba = lba, .blocks = blocks };
	assert_true(line_begin(io));
	return io;
}

static uint64_t
cpu_ms(void)
{
	return (uint64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

/* ---- leaving ---- */

/* A host with 128 queues may have more than these, and all of them go when it does: that a line were looked through
 * for each took half a minute. */
static void
leave_all(enum blk_op op, uint32_t blocks)
{
	struct bench bench;
	uint64_t then;

	begin(&bench, 4 * PIECE, MANY);
	assert_true(range_own(&bench.range, 0, 1, false));
	for (unsigned i = 0; i < MANY; i++)
		assert_false(line_enter(&bench.line, begin_io(&bench, i, op, 0, blocks)));
	then = cpu_ms();
	for (unsigned i = MANY; i-- > 0;)
		assert_true(line_leave(&bench.line, &bench.ios[i]));
	assert_in_range(cpu_ms() - then, 0, 1000);
	assert_false(line_leave(&bench.line, &bench.ios[0]));
	range_disown(&bench.range, 0, 1);
	assert_true(range_own(&bench.range, 0, 4 * PIECE, false));
	range_disown(&bench.range, 0, 4 * PIECE);
	end(&bench);
}

static void
tens_of_thousands_leave_at_once(void **state)
{
	leave_all(BLK_WRITE, 1);
	leave_all(BLK_WRITE_ZEROES, 4 * PIECE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tens_of_thousands_leave_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
