/*
 * test_blk.c - the devices, alone in a world of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "blk/blk.h"
#include "blk/line.h"
#include "fakeworld.h"

enum { BS = 4096, CHANS = 2, IO_MAX = 1024 * 1024 };

static struct fakeworld fw;
static struct blk *blk;
static struct blk_chan *chans[CHANS];

/* An I/O of a test, its buffer, and what became of it. */
struct test_io {
	struct blk_io io;
	struct blk_chan *chan;
	struct iovec iov[2];
	uint8_t *buffer, *kept;
	unsigned done;
	bool in_submit;
	enum nvme_sc sc;
};

static void
test_done(struct blk_io *io, struct nvme_status status)
{
	struct test_io *t = io->owner;

	assert_false(t->in_submit);
	t->done++;
	t->sc = nvme_sc(status);
}

static void
test_keep(struct blk_io *io)
{
	struct test_io *t = io->owner;

	assert_true(t->in_submit);
	t->kept = arena_alloc(&fw.arena, t->iov[0].iov_len);
	memcpy(t->kept, t->iov[0].iov_base, t->iov[0].iov_len);
	t->iov[0].iov_base = t->kept;
	io->flags &= ~(uint32_t)BLK_TRANSIENT;
}

static struct test_io *
io_make(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct test_io *t = arena_alloc(&fw.arena, sizeof(*t));
	size_t bytes = (size_t)blocks * blk->block_size;

	assert_non_null(t);
	t->chan = chans[chan];
	t->io = (struct blk_io){
		.op = op, .flags = flags, .lba = lba, .blocks = blocks, .iov = t->iov,
		.done = test_done, .keep = test_keep, .owner = t,
	};
	memset(&t->io.at, 0xee, sizeof(t->io.at));
	if (op != BLK_WRITE && (op != BLK_READ || (flags & BLK_MAY_LEND) != 0))
		return t;
	t->buffer = arena_alloc_aligned(&fw.arena, bytes, 4096);
	assert_non_null(t->buffer);
	t->iov[0] = (struct iovec){ t->buffer, bytes };
	t->io.iov_count = 1;
	return t;
}

static void
io_submit(struct test_io *t)
{
	t->in_submit = true;
	blk_submit(t->chan, &t->io);
	t->in_submit = false;
}

static struct test_io *
io_start(unsigned chan, enum blk_op op, uint32_t flags, uint64_t lba, uint32_t blocks)
{
	struct test_io *t = io_make(chan, op, flags, lba, blocks);

	io_submit(t);
	return t;
}

static struct test_io *
write_start(unsigned chan, uint32_t flags, uint64_t lba, uint32_t blocks, int byte)
{
	struct test_io *t = io_make(chan, BLK_WRITE, flags, lba, blocks);

	memset(t->buffer, byte, t->iov[0].iov_len);
	io_submit(t);
	return t;
}

static void
io_end(struct test_io *t)
{
	assert_int_equal(t->done, 1);
	assert_int_equal(t->io.flags & BLK_LENT, 0);
	arena_free(&fw.arena, t->buffer);
	arena_free(&fw.arena, t->kept);
	arena_free(&fw.arena, t);
}

/* It is over, with this status. */
static void
io_ended(struct test_io *t, enum nvme_sc sc)
{
	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	assert_int_equal(t->sc, sc);
	io_end(t);
}

static void
io_release(struct test_io *t)
{
	assert_int_not_equal(t->io.flags & BLK_LENT, 0);
	t->chan->blk->ops->release(t->chan, &t->io);
}

static void
write_now(uint64_t lba, uint32_t blocks, int byte)
{
	io_ended(write_start(0, 0, lba, blocks, byte), NVME_SC_SUCCESS);
}

static void
assert_bytes(const uint8_t *bytes, size_t count, int byte)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(bytes[i], byte);
}

static void
assert_block(uint64_t lba, int byte)
{
	struct test_io *t = io_start(0, BLK_READ, 0, lba, 1);

	for (int turns = 0; t->done == 0 && turns < 1000; turns++)
		fake_turn(&fw);
	assert_bytes(t->buffer, blk->block_size, byte);
	io_ended(t, NVME_SC_SUCCESS);
}

static void
open_chans(void)
{
	for (unsigned i = 0; i < CHANS; i++)
		assert_int_equal(blk->ops->open_chan(blk, &fw.reactors[i], &chans[i]), 0);
}

static void
begin(const char *spec)
{
	char why[256];

	fakeworld_init(&fw, CHANS);
	if (blk_open(&fw.reactors[0], spec, BS, &blk, why) != 0)
		fail_msg("%s", why);
	assert_string_equal(blk->spec, spec);
	open_chans();
}

static void
begin_file(void)
{
	fakeworld_init(&fw, CHANS);
	fake_file_make(&fw, "/v", 4 * IO_MAX);
	assert_int_equal(blk_open(&fw.reactors[0], "file:/v", BS, &blk, (char[256]){ 0 }), 0);
	open_chans();
}

static void
end(void)
{
	for (unsigned i = 0; i < CHANS; i++)
		blk->ops->close_chan(chans[i]);
	blk->ops->destroy(blk);
	fakeworld_fini(&fw);
}

static bool
waits(const struct test_io *t)
{
	return t->done == 0 && (t->io.flags & LINE_WAITING) != 0;
}

static void
turns(unsigned count)
{
	while (count-- > 0)
		fake_turn(&fw);
}

/* ---- memory ---- */

static void
what_was_written_is_read_also_by_another_reactor(void **state)
{
	struct test_io *r;

	begin("mem:16M");
	write_now(3, 2, 'a');
	r = io_start(1, BLK_READ, 0, 2, 4);
	fake_turn(&fw);
	assert_bytes(r->buffer, BS, 0);
	assert_bytes(r->buffer + BS, 2 * BS, 'a');
	assert_bytes(r->buffer + 3 * BS, BS, 0);
	io_ended(r, NVME_SC_SUCCESS);
	end();
}

static void
a_large_volume_takes_ragged_buffers(void **state)
{
	struct test_io *w;
	uint8_t bytes[2 * BS];

	begin("mem:64M"); /* written past the cache */
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	w = io_make(0, BLK_WRITE, 0, 9, 2);
	w->iov[0] = (struct iovec){ bytes, 1237 };
	w->iov[1] = (struct iovec){ bytes + 1237, sizeof(bytes) - 1237 };
	w->io.iov_count = 2;
	io_submit(w);
	io_ended(w, NVME_SC_SUCCESS);
	w = io_start(0, BLK_READ, BLK_MAY_LEND, 9, 2);
	fake_turn(&fw);
	assert_memory_equal(w->iov[0].iov_base, bytes, sizeof(bytes));
	io_release(w);
	io_ended(w, NVME_SC_SUCCESS);
	end();
}

static void
a_write_waits_until_the_lent_read_is_released(void **state)
{
	struct test_io *r, *w;

	begin("mem:16M");
	write_now(8, 1, 'a');
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 8, 1);
	fake_turn(&fw);
	assert_int_equal(r->done, 1);
	assert_int_equal(r->io.iov_count, 1);
	assert_int_equal(r->iov[0].iov_len, BS);
	w = write_start(0, 0, 8, 1, 'b');
	turns(10);
	assert_true(waits(w));
	assert_bytes(r->iov[0].iov_base, BS, 'a');
	io_release(r);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(8, 'b');
	end();
}

static void
a_write_waits_for_a_read_lent_by_another_reactor(void **state)
{
	struct test_io *r, *w;

	begin("mem:16M");
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, 0, 8, 1, 'b');
	turns(10);
	assert_true(waits(w));
	assert_bytes(r->iov[0].iov_base, BS, 0);
	io_release(r);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	end();
}

static void
a_waiting_writer_is_not_starved_by_readers(void **state)
{
	struct test_io *r[2], *w;

	begin("mem:16M");
	r[0] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, 0, 8, 1, 'b');
	r[1] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	turns(3);
	assert_true(waits(w));
	assert_true(waits(r[1]));
	io_release(r[0]);
	turns(3);
	assert_int_equal(w->done, 1);
	assert_int_equal(r[1]->done, 1);
	assert_bytes(r[1]->iov[0].iov_base, BS, 'b');
	io_release(r[1]);
	io_ended(r[0], NVME_SC_SUCCESS);
	io_ended(r[1], NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	end();
}

static void
transient_data_is_kept_when_the_range_is_busy(void **state)
{
	struct test_io *r, *w, *free_one;

	begin("mem:16M");
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, BLK_TRANSIENT, 8, 1, 'b');
	assert_non_null(w->kept);
	free_one = write_start(0, BLK_TRANSIENT, 800, 1, 'c');
	assert_null(free_one->kept);
	memset(w->buffer, 'x', BS);
	memset(free_one->buffer, 'x', BS);
	fake_turn(&fw);
	io_release(r);
	io_ended(w, NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(free_one, NVME_SC_SUCCESS);
	assert_block(8, 'b');
	assert_block(800, 'c');
	end();
}

static void
a_later_write_does_not_overtake_one_that_waits(void **state)
{
	struct test_io *r, *w[3];

	begin("mem:16M");
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 15, 1);
	w[0] = write_start(0, 0, 15, 2, 'a'); /* waits for the read */
	w[1] = write_start(0, 0, 16, 1, 'b'); /* its own stripe is free */
	w[2] = write_start(0, 0, 17, 1, 'c'); /* touches neither, but a slot that w[0] waits for */
	turns(3);
	assert_true(waits(w[0]));
	assert_true(waits(w[1]));
	io_release(r);
	for (int i = 0; i < 3; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(15, 'a');
	assert_block(16, 'b');
	assert_block(17, 'c');
	end();
}

static void
more_than_the_window_wait_in_their_order(void **state)
{
	enum { N = 3 * LINE_WINDOW };
	struct test_io *r, *w[N];

	begin("mem:16M");
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 0, 1);
	for (int i = 0; i < N; i++)
		w[i] = write_start(0, 0, 0, 1, i);
	turns(2);
	io_release(r);
	for (int i = 0; i < N; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(0, N - 1);
	end();
}

static void
a_waiting_io_can_be_cancelled_and_readers_go_on(void **state)
{
	struct test_io *r[2], *w;

	begin("mem:16M");
	r[0] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	w = write_start(0, 0, 8, 1, 'b');
	fake_turn(&fw);
	chans[0]->blk->ops->cancel(chans[0], &w->io);
	assert_int_equal(w->done, 0);
	io_ended(w, NVME_SC_ABORT_REQUESTED);
	r[1] = io_start(1, BLK_READ, BLK_MAY_LEND, 8, 1);
	fake_turn(&fw);
	assert_int_equal(r[1]->done, 1);
	chans[1]->blk->ops->cancel(chans[1], &r[1]->io); /* too late to matter */
	for (int i = 0; i < 2; i++) {
		io_release(r[i]);
		io_ended(r[i], NVME_SC_SUCCESS);
	}
	assert_block(8, 0);
	end();
}

static void
zeroes_are_written_in_pieces_and_large_ones_give_memory_back(void **state)
{
	struct test_io *z;

	begin("mem:16M");
	for (uint64_t lba = 0; lba < 4096; lba += 256)
		write_now(lba, 256, 'a');
	z = io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 1, 2000);
	assert_int_equal(z->done, 0);
	io_ended(z, NVME_SC_SUCCESS);
	assert_int_equal(fw.pages_discarded, 2000 * BS);
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 3000, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.pages_discarded, 2000 * BS);
	assert_block(0, 'a');
	assert_block(1, 0);
	assert_block(2000, 0);
	assert_block(2001, 'a');
	assert_block(3000, 0);
	end();
}

static void
a_trim_of_many_ranges_waits_where_it_must(void **state)
{
	const struct blk_range ranges[] = { { 1, 1 }, { 7, 0 }, { 500, 2 }, { 1, 3 }, { 9, 0 } };
	struct test_io *r, *t;

	begin("mem:16M");
	write_now(0, 5, 'a');
	write_now(500, 3, 'b');
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 501, 1);
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 5;
	io_submit(t);
	turns(5);
	assert_int_equal(t->done, 0);
	assert_bytes(r->iov[0].iov_base, BS, 'b');
	chans[0]->blk->ops->cancel(chans[0], &t->io); /* it has begun */
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(t, NVME_SC_SUCCESS);
	assert_block(0, 'a');
	assert_block(3, 0);
	assert_block(4, 'a');
	assert_block(501, 0);
	assert_block(502, 'b');
	t = io_make(0, BLK_TRIM, 0, 0, 0); /* of nothing */
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	end();
}

static void
blocks_of_512_bytes_are_zeroed_to_the_byte(void **state)
{
	char why[256];

	fakeworld_init(&fw, CHANS);
	assert_int_equal(blk_open(&fw.reactors[0], "mem:16M", 512, &blk, why), 0);
	open_chans();
	write_now(0, 400, 'a');
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 3, 300), NVME_SC_SUCCESS);
	assert_block(2, 'a');
	assert_block(3, 0);
	assert_block(302, 0);
	assert_block(303, 'a');
	end();
}

/* ---- null ---- */

static void
null_lends_zeros_and_forgets_writes(void **state)
{
	struct test_io *r;

	begin("null:1T");
	write_now(5, 256, 'a');
	r = io_start(0, BLK_READ, BLK_MAY_LEND, (UINT64_C(1) << 28) - 256, 256);
	fake_turn(&fw);
	assert_int_equal(r->iov[0].iov_len, IO_MAX);
	assert_bytes(r->iov[0].iov_base, IO_MAX, 0);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	assert_block(5, 0);
	end();
}

/* ---- files ---- */

static void
a_file_keeps_what_was_written_and_syncs_when_told(void **state)
{
	begin_file();
	assert_true(blk->volatile_cache);
	assert_false(blk->lends);
	write_now(7, 2, 'a');
	assert_int_equal(fw.durable, 0);
	io_ended(write_start(1, BLK_FUA | BLK_TRANSIENT, 8, 1, 'b'), NVME_SC_SUCCESS);
	assert_int_equal(fw.durable, 1);
	assert_block(7, 'a');
	assert_block(8, 'b');
	assert_bytes(fake_file_find(&fw, "/v")->bytes + 7 * BS, BS, 'a');
	assert_int_equal(fw.done[FILE_SYNC], 0);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	end();
}

static void
transient_data_for_a_file_is_always_kept(void **state)
{
	struct test_io *w;

	begin_file();
	w = write_start(0, BLK_TRANSIENT, 0, 1, 'a');
	assert_non_null(w->kept);
	io_ended(w, NVME_SC_SUCCESS);
	end();
}

static void
a_read_in_flight_keeps_a_write_of_another_reactor_waiting(void **state)
{
	struct test_io *r, *w;

	begin_file();
	fw.hold_files = true;
	r = io_start(1, BLK_READ, 0, 3, 1);
	w = write_start(0, 0, 3, 1, 'a');
	turns(10);
	assert_true(waits(w));
	fake_files_finish(&fw);
	assert_int_equal(r->done, 1);
	fw.hold_files = false;
	turns(60); /* until the writer looks again */
	assert_int_equal(w->done, 1);
	assert_bytes(r->buffer, BS, 0);
	io_ended(r, NVME_SC_SUCCESS);
	io_ended(w, NVME_SC_SUCCESS);
	end();
}

static void
no_more_than_256_requests_of_a_channel_are_in_flight(void **state)
{
	enum { N = 700 };
	struct test_io *w[N];

	begin_file();
	fw.hold_files = true;
	for (int i = 0; i < N; i++)
		w[i] = i % 16 < 15 ? io_start(0, BLK_READ, 0, (uint64_t)i, 1) : io_start(0, BLK_FLUSH, 0, 0, 0);
	assert_int_equal(fw.in_flight, 256);
	chans[0]->blk->ops->cancel(chans[0], &w[N - 1]->io);
	for (unsigned i = 0; fw.in_flight > 0; i++) {
		fake_files_finish(&fw);
		assert_true(fw.in_flight <= 256);
	}
	io_ended(w[N - 1], NVME_SC_ABORT_REQUESTED);
	for (int i = 0; i < N - 1; i++)
		io_ended(w[i], NVME_SC_SUCCESS);
	end();
}

static void
a_trim_punches_each_range_and_zeroes_are_synced_for_fua(void **state)
{
	const struct blk_range ranges[] = { { 1, 1 }, { 4, 0 }, { 6, 2 } };
	struct test_io *t;

	begin_file();
	write_now(0, 10, 'a');
	t = io_make(0, BLK_TRIM, 0, 0, 0);
	t->io.ranges = ranges;
	t->io.range_count = 3;
	io_submit(t);
	io_ended(t, NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 2);
	assert_block(1, 0);
	assert_block(5, 'a');
	assert_block(7, 0);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 0, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_ZERO], 1);
	assert_int_equal(fw.done[FILE_SYNC], 1);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 0, 1), NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_PUNCH], 3);
	fw.fail[FILE_PUNCH] = -EOPNOTSUPP; /* then zeros must do */
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_DEALLOCATE, 8, 2), NVME_SC_SUCCESS);
	assert_block(9, 0);
	end();
}

static void
a_short_write_goes_on_where_it_stopped(void **state)
{
	struct test_io *w;

	begin_file();
	w = io_make(0, BLK_WRITE, 0, 0, 4);
	memset(w->buffer, 'a', 4 * BS);
	w->iov[1] = (struct iovec){ w->buffer + BS, 3 * BS };
	w->iov[0].iov_len = BS;
	w->io.iov_count = 2;
	fw.short_by = BS + 100;
	io_submit(w);
	io_ended(w, NVME_SC_SUCCESS);
	assert_int_equal(fw.done[FILE_WRITE], 2);
	assert_bytes(fake_file_find(&fw, "/v")->bytes, 4 * BS, 'a');
	end();
}

static void
a_full_disk_is_capacity_exceeded(void **state)
{
	begin_file();
	fw.disk_bytes = 10 * BS;
	io_ended(write_start(0, 0, 10, 1, 'a'), NVME_SC_CAPACITY);
	io_ended(write_start(0, 0, 8, 4, 'a'), NVME_SC_CAPACITY); /* half of it fits */
	fw.disk_bytes = 0;
	write_now(10, 1, 'b');
	assert_block(10, 'b');
	end();
}

static void
a_file_that_became_shorter_is_a_read_error(void **state)
{
	begin_file();
	fake_file_find(&fw, "/v")->size = 2 * IO_MAX + 100;
	io_ended(io_start(0, BLK_READ, 0, 700, 1), NVME_SC_READ_ERROR);
	io_ended(io_start(0, BLK_READ, 0, 510, 4), NVME_SC_READ_ERROR);
	end();
}

static void
an_error_of_the_file_is_the_status_of_that_io_alone(void **state)
{
	begin_file();
	fw.fail[FILE_READ] = -EIO;
	fw.fail[FILE_WRITE] = -EIO;
	fw.fail[FILE_SYNC] = -EIO;
	io_ended(io_start(0, BLK_READ, 0, 0, 1), NVME_SC_READ_ERROR);
	io_ended(write_start(0, 0, 0, 1, 'a'), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_WRITE_ZEROES, BLK_FUA, 0, 1), NVME_SC_WRITE_FAULT);
	memset(fw.fail, 0, sizeof(fw.fail));
	write_now(0, 1, 'b');
	assert_block(0, 'b');
	end();
}

/* ---- faults ---- */

static void
a_dropped_write_is_acknowledged(void **state)
{
	struct test_io *r;

	begin("fault:drop-write=2@mem:16M");
	assert_true(blk->lends);
	write_now(0, 1, 'a');
	write_now(1, 1, 'b');
	write_now(2, 1, 'c');
	assert_block(0, 'a');
	assert_block(1, 0);
	assert_block(2, 'c');
	r = io_start(0, BLK_READ, BLK_MAY_LEND, 2, 1);
	fake_turn(&fw);
	assert_bytes(r->iov[0].iov_base, BS, 'c');
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	end();
}

static void
faulty_blocks_fail_what_touches_them(void **state)
{
	struct test_io *w, *r;

	begin("fault:read-error=5,write-error=9,flush-error=2@mem:16M");
	io_ended(io_start(0, BLK_READ, BLK_MAY_LEND, 4, 2), NVME_SC_READ_ERROR);
	io_ended(io_start(0, BLK_READ, 0, 6, 1), NVME_SC_SUCCESS);
	io_ended(write_start(0, 0, 9, 1, 'a'), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_WRITE_ZEROES, 0, 0, 10), NVME_SC_WRITE_FAULT);
	write_now(5, 4, 'b');
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_WRITE_FAULT);
	io_ended(io_start(0, BLK_FLUSH, 0, 0, 0), NVME_SC_SUCCESS);
	r = io_start(1, BLK_READ, BLK_MAY_LEND, 20, 1);
	w = write_start(0, 0, 20, 1, 'b');
	blk->ops->cancel(chans[0], &w->io);
	io_ended(w, NVME_SC_ABORT_REQUESTED);
	w = write_start(0, 0, 9, 1, 'b');
	blk->ops->cancel(chans[0], &w->io); /* its fate is sealed */
	io_ended(w, NVME_SC_WRITE_FAULT);
	io_release(r);
	io_ended(r, NVME_SC_SUCCESS);
	end();
}

/* ---- opening ---- */

static void
sizes_are_numbers_with_a_unit(void **state)
{
	uint64_t bytes;

	assert_true(blk_parse_size("4096", &bytes) && bytes == 4096);
	assert_true(blk_parse_size("3K", &bytes) && bytes == 3072);
	assert_true(blk_parse_size("1M", &bytes) && bytes == 1 << 20);
	assert_true(blk_parse_size("2G", &bytes) && bytes == UINT64_C(2) << 30);
	assert_true(blk_parse_size("1T", &bytes) && bytes == UINT64_C(1) << 40);
	assert_false(blk_parse_size("", &bytes));
	assert_false(blk_parse_size("K", &bytes));
	assert_false(blk_parse_size("1X", &bytes));
	assert_false(blk_parse_size("1GB", &bytes));
	assert_false(blk_parse_size("-1", &bytes));
	assert_false(blk_parse_size(" 1", &bytes));
	assert_false(blk_parse_size("18446744073709551616", &bytes));
	assert_false(blk_parse_size("99999999T", &bytes));
}

static void
what_is_wrong_with_a_specification_is_said_in_words(void **state)
{
	static const struct { const char *spec; uint32_t block_size; int error; const char *why; } cases[] = {
		{ "mem:1X", BS, -EINVAL, "mem:1X: `1X` is not a size (a number with K, M, G or T)" },
		{ "mem:", BS, -EINVAL, "mem:: `` is not a size (a number with K, M, G or T)" },
		{ "mem:512K", BS, -EINVAL, "mem:512K: smaller than 1M, the smallest volume" },
		{ "null:1048577", BS, -EINVAL,
		  "null:1048577: the size is not a multiple of the block size, 4096" },
		{ "null:9999999T", BS, -EINVAL, "null:9999999T: too large" },
		{ "mem:1M", 1024, -EINVAL, "mem:1M: a block has 512 or 4096 bytes, not 1024" },
		{ "ram:1M", BS, -EINVAL,
		  "ram:1M: not a volume; there are mem:SIZE, null:SIZE, file:PATH[,size=SIZE] and fault:OPTIONS@SPEC" },
		{ "file:/x", BS, -ENOENT, "file:/x: no such file; add ,size=1G to create it" },
		{ "file:", BS, -EINVAL, "file:: no path" },
		{ "file:,size=1G", BS, -EINVAL, "file:,size=1G: no path" },
		{ "file:/x,size=1Q", BS, -EINVAL, "file:/x,size=1Q: `1Q` is not a size (a number with K, M, G or T)" },
		{ "file:/small", BS, -EINVAL,
		  "file:/small: the file has 4096 bytes; the smallest volume has 1M (add ,size=1G to extend it)" },
		{ "file:/odd", BS, -EINVAL,
		  "file:/odd: its size, 1049600 bytes, is not a multiple of the block size, 4096" },
		{ "fault:mem:1M", BS, -EINVAL, "fault:mem:1M: no `@SPEC` that says which device is to fail" },
		{ "fault:drop-write=0@mem:1M", BS, -EINVAL,
		  "fault:drop-write=0@mem:1M: `drop-write=0` needs a number from 1" },
		{ "fault:read-error=x@mem:1M", BS, -EINVAL,
		  "fault:read-error=x@mem:1M: `read-error=x` needs a block number" },
		{ "fault:explode@mem:1M", BS, -EINVAL,
		  "fault:explode@mem:1M: `explode` is not a fault "
		  "(drop-write=N, flush-error=N, read-error=LBA, write-error=LBA)" },
		{ "fault:drop-write=1@mem:1", BS, -EINVAL, "mem:1: smaller than 1M, the smallest volume" },
	};
	char why[256];

	fakeworld_init(&fw, 1);
	fake_file_make(&fw, "/small", 4096);
	fake_file_make(&fw, "/odd", 1049600);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(blk_open(&fw.reactors[0], cases[i].spec, cases[i].block_size, &blk, why),
		    cases[i].error);
		assert_string_equal(why, cases[i].why);
	}
	fakeworld_fini(&fw);
}

static void
a_file_is_made_extended_and_refused_as_it_must_be(void **state)
{
	char why[256];

	fakeworld_init(&fw, 1);
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b,size=2M", BS, &blk, why), 0);
	assert_int_equal(blk->blocks, 512);
	assert_int_equal(fake_file_find(&fw, "/a,b")->size, 2 << 20);
	blk->ops->destroy(blk);
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b,size=4M", 512, &blk, why), 0);
	assert_int_equal(blk->blocks, 8192);
	blk->ops->destroy(blk);
	fw.align = 4096; /* too much for direct I/O: through the page cache, then */
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b", 512, &blk, why), 0);
	assert_int_equal(blk->blocks, 8192);
	blk->ops->destroy(blk);
	fw.fail_open = -EACCES;
	assert_int_equal(blk_open(&fw.reactors[0], "file:/a,b", BS, &blk, why), -EACCES);
	assert_string_equal(why, "file:/a,b: Permission denied");
	fakeworld_fini(&fw);
}

static void
no_memory_at_any_point_leaves_nothing_behind(void **state)
{
	static const char *const specs[] = { "mem:1M", "null:1M", "file:/f", "fault:drop-write=1@mem:1M" };
	char why[256];

	fakeworld_init(&fw, 1);
	fake_file_make(&fw, "/f", 1 << 20);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		size_t before = fw.arena.bytes;
		uint64_t nth = 0;
		int error;

		do {
			fw.arena.fail_at = ++nth;
			error = blk_open(&fw.reactors[0], specs[i], BS, &blk, why);
			if (error != 0)
				continue;
			error = blk->ops->open_chan(blk, &fw.reactors[0], &chans[0]);
			if (error == 0)
				chans[0]->blk->ops->close_chan(chans[0]);
			blk->ops->destroy(blk);
		} while (error == -ENOMEM);
		assert_int_equal(error, 0);
		assert_true(nth > 2);
		fw.arena.fail_at = 0;
		assert_int_equal(fw.arena.bytes, before);
	}
	fakeworld_fini(&fw);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_also_by_another_reactor),
		cmocka_unit_test(a_large_volume_takes_ragged_buffers),
		cmocka_unit_test(a_write_waits_until_the_lent_read_is_released),
		cmocka_unit_test(a_write_waits_for_a_read_lent_by_another_reactor),
		cmocka_unit_test(a_waiting_writer_is_not_starved_by_readers),
		cmocka_unit_test(transient_data_is_kept_when_the_range_is_busy),
		cmocka_unit_test(a_later_write_does_not_overtake_one_that_waits),
		cmocka_unit_test(more_than_the_window_wait_in_their_order),
		cmocka_unit_test(a_waiting_io_can_be_cancelled_and_readers_go_on),
		cmocka_unit_test(zeroes_are_written_in_pieces_and_large_ones_give_memory_back),
		cmocka_unit_test(a_trim_of_many_ranges_waits_where_it_must),
		cmocka_unit_test(blocks_of_512_bytes_are_zeroed_to_the_byte),
		cmocka_unit_test(null_lends_zeros_and_forgets_writes),
		cmocka_unit_test(a_file_keeps_what_was_written_and_syncs_when_told),
		cmocka_unit_test(transient_data_for_a_file_is_always_kept),
		cmocka_unit_test(a_read_in_flight_keeps_a_write_of_another_reactor_waiting),
		cmocka_unit_test(no_more_than_256_requests_of_a_channel_are_in_flight),
		cmocka_unit_test(a_trim_punches_each_range_and_zeroes_are_synced_for_fua),
		cmocka_unit_test(a_short_write_goes_on_where_it_stopped),
		cmocka_unit_test(a_full_disk_is_capacity_exceeded),
		cmocka_unit_test(a_file_that_became_shorter_is_a_read_error),
		cmocka_unit_test(an_error_of_the_file_is_the_status_of_that_io_alone),
		cmocka_unit_test(a_dropped_write_is_acknowledged),
		cmocka_unit_test(faulty_blocks_fail_what_touches_them),
		cmocka_unit_test(sizes_are_numbers_with_a_unit),
		cmocka_unit_test(what_is_wrong_with_a_specification_is_said_in_words),
		cmocka_unit_test(a_file_is_made_extended_and_refused_as_it_must_be),
		cmocka_unit_test(no_memory_at_any_point_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
