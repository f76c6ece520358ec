/*
 * volume_io.c - blocking I/O of any length: in pieces that one command can have, some at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/queue.h"
#include "lib/volume.h"

enum { ZEROS = 64 * 1024, COPY_BYTES = 1024 * 1024 };

static const char *const words[WEIR_OP_COUNT] = {
	[WEIR_OP_READ] = "read", [WEIR_OP_WRITE] = "write", [WEIR_OP_FLUSH] = "flush",
	[WEIR_OP_WRITE_ZEROES] = "zeroing", [WEIR_OP_DEALLOCATE] = "trim", [WEIR_OP_COPY] = "copy",
};

/* ---- many pieces at a time ---- */

struct transfer {
	struct weir_volume *volume;
	struct weir_queue *queue;
	enum weir_op op;
	uint8_t flags;
	uint32_t piece_max;          /* bytes, where none go with it */
	uint8_t *data;               /* of what is left; NULL: none goes with it */
	uint64_t offset, left;       /* bytes */
	unsigned in_flight;
	uint64_t wrong_at;           /* bytes: of the first that went wrong, and how */
	struct weir_result wrong;
	bool refused;                /* it was not taken on: weir_error() says why */
	struct piece *free;
	struct piece {
		struct transfer *transfer;
		struct piece *next;
		uint64_t offset;
		struct iovec iov;
	} pieces[VOLUME_DEPTH];
};

static void
piece_done(void *arg, const struct weir_result *result)
{
	struct piece *piece = arg;
	struct transfer *t = piece->transfer;

	if (result->error != 0 && t->wrong.error == 0) {
		t->wrong = *result;
		t->wrong_at = piece->offset;
	}
	t->in_flight--;
	piece->next = t->free;
	t->free = piece;
}

/* While this is under way a path may come up that takes less at once.  One of no block would be refused. */
static uint32_t
piece_max(const struct transfer *t)
{
	uint32_t block = t->volume->block_size, most = t->piece_max;

	if (t->data != NULL)
		most = lane_transfer_max(t->queue->lane, t->volume->nsid) / block * block;
	return most > 0 ? most : block;
}

static int
submit_piece(struct transfer *t)
{
	uint32_t most = piece_max(t), bytes = t->left < most ? (uint32_t)t->left : most;
	struct piece *piece = t->free;
	const struct weir_io io = {
		.op = (uint8_t)t->op, .flags = t->flags, .nsid = t->volume->nsid, .iov = &piece->iov,
		.iov_count = t->data != NULL, .lba = t->offset / t->volume->block_size,
		.blocks = bytes / t->volume->block_size, .done = piece_done, .arg = piece,
	};
	int rc;

	piece->iov = (struct iovec){ t->data, bytes };
	piece->offset = t->offset;
	rc = weir_queue_submit(t->queue, &io);
	if (rc != 0)
		return rc;
	t->free = piece->next;
	t->in_flight++;
	t->offset += bytes;
	t->left -= bytes;
	if (t->data != NULL)
		t->data += bytes;
	return 0;
}

/* All of it, or until something goes wrong; what is in flight then is waited for. */
static void
move(struct transfer *t)
{
	for (;;) {
		while (t->left > 0 && t->free != NULL && t->wrong.error == 0) {
			int rc = submit_piece(t);

			if (rc == 0)
				continue;
			t->wrong = (struct weir_result){ .error = rc };
			t->wrong_at = t->offset;
			t->refused = true;
		}
		if (t->in_flight == 0)
			return;
		(void)weir_queue_poll(t->queue, -1);
	}
}

/* Why, in the words of whoever knows. */
static int
failed(enum weir_op op, uint64_t at, int error, const char *why)
{
	return lib_fail(error, "%s at %" PRIu64 ": %s", words[op], at, why);
}

static int
transfer(struct weir_volume *volume, enum weir_op op, uint8_t flags, uint32_t piece_max, void *data, uint64_t bytes,
    uint64_t offset)
{
	struct transfer t;
	int rc = volume_check(volume, words[op], bytes, offset);

	if (rc != 0 || bytes == 0)
		return rc;
	rc = pool_take(volume, &t.queue);
	if (rc != 0)
		return rc;
	t.volume = volume;
	t.op = op;
	t.flags = flags;
	t.piece_max = piece_max;
	t.data = data;
	t.offset = offset;
	t.left = bytes;
	t.in_flight = 0;
	t.wrong = (struct weir_result){ 0 };
	t.refused = false;
	t.free = NULL;
	for (unsigned i = VOLUME_DEPTH; i-- > 0; t.free = &t.pieces[i]) {
		t.pieces[i].transfer = &t;
		t.pieces[i].next = t.free;
	}
	move(&t);
	pool_give(volume, t.queue);
	if (t.wrong.error == 0)
		return 0;
	return failed(op, t.wrong_at, t.wrong.error, t.refused ? weir_error() : weir_result_text(&t.wrong));
}

int
weir_volume_read(struct weir_volume *volume, void *data, size_t bytes, uint64_t offset)
{
	return transfer(volume, WEIR_OP_READ, 0, 0, data, bytes, offset);
}

/* What a write is given is only read. */
int
weir_volume_write(struct weir_volume *volume, const void *data, size_t bytes, uint64_t offset)
{
	return transfer(volume, WEIR_OP_WRITE, 0, 0, (void *)(uintptr_t)data, bytes, offset);
}

int
weir_volume_write_fua(struct weir_volume *volume, const void *data, size_t bytes, uint64_t offset)
{
	return transfer(volume, WEIR_OP_WRITE, WEIR_FUA, 0, (void *)(uintptr_t)data, bytes, offset);
}

/* ---- one command after another ---- */

/* Borrows a queue for one command. */
static int
run_one(struct weir_volume *volume, const struct weir_io *io, uint64_t at)
{
	struct weir_queue *queue;
	int rc = pool_take(volume, &queue);

	if (rc != 0)
		return rc;
	rc = weir_queue_run(queue, io, NULL);
	pool_give(volume, queue);
	return rc != 0 ? failed((enum weir_op)io->op, at, rc, weir_error()) : 0;
}

int
weir_volume_flush(struct weir_volume *volume)
{
	return run_one(volume, &(struct weir_io){ .op = WEIR_OP_FLUSH, .nsid = volume->nsid }, 0);
}

/* Of a target that knows no Write Zeroes. */
static int
write_zeros(struct weir_volume *volume, uint64_t bytes, uint64_t offset)
{
	static const uint8_t zeros[ZEROS];
	int rc = 0;

	for (uint64_t at = 0, now; rc == 0 && at < bytes; at += now) {
		now = bytes - at < ZEROS ? bytes - at : ZEROS;
		rc = weir_volume_write(volume, zeros, now, offset + at);
	}
	return rc;
}

int
weir_volume_zero(struct weir_volume *volume, uint64_t bytes, uint64_t offset, bool unmap)
{
	uint64_t most = (uint64_t)volume->limits.zero_blocks * volume->block_size;

	if (most == 0)
		return write_zeros(volume, bytes, offset);
	/* No multiple of a block is lost: 2^31 is one of each. */
	return transfer(volume, WEIR_OP_WRITE_ZEROES, unmap ? WEIR_UNMAP : 0,
	    (uint32_t)(most < UINT32_MAX ? most : UINT32_C(1) << 31), NULL, bytes, offset);
}

/* As many ranges, one behind the other, as one command can have; how many, and their blocks. */
static uint32_t
cut(struct weir_range *ranges, unsigned most, uint64_t each, uint64_t total, uint64_t lba, uint64_t blocks,
    uint64_t *taken)
{
	unsigned count = 0;

	for (*taken = 0; count < most && *taken < blocks && *taken < total; count++) {
		uint64_t now = blocks - *taken;

		if (now > each)
			now = each;
		if (now > total - *taken)
			now = total - *taken;
		ranges[count] = (struct weir_range){ lba + *taken, (uint32_t)now };
		*taken += now;
	}
	return count;
}

int
weir_volume_trim(struct weir_volume *volume, uint64_t bytes, uint64_t offset)
{
	const struct volume_limits *limits = &volume->limits;
	struct weir_range ranges[WEIR_RANGES_MAX];
	int rc = volume_check(volume, words[WEIR_OP_DEALLOCATE], bytes, offset);
	uint64_t lba = offset / volume->block_size, blocks = bytes / volume->block_size;

	if (limits->trim_blocks == 0)
		return rc;
	for (uint64_t at = 0, now; rc == 0 && at < blocks; at += now) {
		struct weir_io io = { .op = WEIR_OP_DEALLOCATE, .nsid = volume->nsid, .ranges = ranges };

		io.range_count = cut(ranges, limits->trim_ranges, limits->trim_blocks, limits->trim_total, lba + at,
		    blocks - at, &now);
		rc = run_one(volume, &io, (lba + at) * volume->block_size);
	}
	return rc;
}

/* Of a target that cannot copy. */
static int
carry(struct weir_volume *volume, uint64_t from, uint64_t bytes, uint64_t to)
{
	size_t most = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
	void *data = malloc(most);
	int rc = 0;

	if (data == NULL)
		return lib_fail(-ENOMEM, "there is no memory to copy with");
	for (uint64_t at = 0, now; rc == 0 && at < bytes; at += now) {
		now = bytes - at < most ? bytes - at : most;
		rc = weir_volume_read(volume, data, now, from + at);
		if (rc == 0)
			rc = weir_volume_write(volume, data, now, to + at);
	}
	free(data);
	return rc;
}

static int
copy(struct weir_volume *volume, uint64_t from, uint64_t blocks, uint64_t to)
{
	const struct volume_limits *limits = &volume->limits;
	struct weir_range ranges[WEIR_RANGES_MAX];
	int rc = 0;

	for (uint64_t at = 0, now; rc == 0 && at < blocks; at += now) {
		struct weir_io io = { .op = WEIR_OP_COPY, .nsid = volume->nsid, .lba = to + at, .ranges = ranges };

		io.range_count = cut(ranges, limits->copy_ranges, limits->copy_blocks, limits->copy_total, from + at,
		    blocks - at, &now);
		rc = run_one(volume, &io, (to + at) * volume->block_size);
	}
	return rc;
}

int
weir_volume_copy(struct weir_volume *volume, uint64_t from, uint64_t bytes, uint64_t to)
{
	int rc = volume_check(volume, words[WEIR_OP_COPY], bytes, from);

	if (rc == 0)
		rc = volume_check(volume, words[WEIR_OP_COPY], bytes, to);
	if (rc != 0 || bytes == 0)
		return rc;
	if (from < to + bytes && to < from + bytes)
		return lib_fail(-EINVAL, "copy of %" PRIu64 " bytes from %" PRIu64 " to %" PRIu64 ": they overlap",
		    bytes, from, to);
	if (volume->limits.copy_blocks == 0)
		return carry(volume, from, bytes, to);
	return copy(volume, from / volume->block_size, bytes / volume->block_size, to / volume->block_size);
}
