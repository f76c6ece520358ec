/*
 * test_blk_compare.c - compare-and-write: on a volume that is not there, and where faults strike.
 */
#include <string.h>

#include "blk_bench.h"

static struct iovec expected[2];

/* One that expects blocks of `want` and makes them `byte`; the expected bytes come in two pieces. */
static struct test_io *
swap_start(unsigned chan, uint64_t lba, uint32_t blocks, int want, int byte)
{
	struct test_io *t = io_make(chan, BLK_WRITE, 0, lba, blocks);
	size_t bytes = t->iov[0].iov_len;

	memset(t->buffer, byte, bytes);
	for (size_t i = 0; i < 2; i++) {
		expected[i] = (struct iovec){ arena_alloc(&fw.arena, bytes), i == 0 ? 100 : bytes - 100 };
		memset(expected[i].iov_base, want, bytes);
	}
	t->io.op = BLK_COMPARE_WRITE;
	t->io.expected = expected;
	t->io.expected_count = 2;
	t->io.old = arena_alloc_aligned(&fw.arena, bytes, 4096);
	io_submit(t);
	return t;
}

static void
swap_ended(struct test_io *t, enum nvme_sc sc)
{
	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	arena_free(&fw.arena, t->io.old);
	for (size_t i = 0; i < 2; i++)
		arena_free(&fw.arena, expected[i].iov_base);
	io_ended(t, sc);
}

static void
a_volume_that_is_not_there_holds_zeros(void **state)
{
	blk_begin("null:16M");
	swap_ended(swap_start(0, 8, 2, 0, 'b'), NVME_SC_SUCCESS);
	swap_ended(swap_start(0, 8, 2, 1, 'b'), NVME_SC_COMPARE);
	blk_end();
}

static void
faults_of_reads_and_writes_strike_it(void **state)
{
	blk_begin("fault:read-error=5,write-error=7@mem:16M");
	swap_ended(swap_start(0, 4, 2, 0, 'b'), NVME_SC_READ_ERROR);
	swap_ended(swap_start(0, 7, 1, 0, 'b'), NVME_SC_WRITE_FAULT);
	swap_ended(swap_start(0, 8, 1, 0, 'b'), NVME_SC_SUCCESS);
	blk_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_volume_that_is_not_there_holds_zeros),
		cmocka_unit_test(faults_of_reads_and_writes_strike_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
