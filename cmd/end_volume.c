/*
 * end_volume.c - a namespace as an end of a pump.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"

enum { ONCS_WRITE_ZEROES = 1 << 3, ONCS_COPY = 1 << 8 };

/* ---- opening it ---- */

static int
find_namespace(struct volume *volume, uint32_t nsid)
{
	struct weir_controller controller;
	uint8_t page[4096];
	int rc = 0;

	if (nsid == 0)
		rc = weir_subsys_namespaces(volume->subsys, 1, &nsid, 1);
	if (rc == 0 && nsid == 0) {
		fprintf(stderr, "weir: %s has no namespace for this host\n", volume->nqn);
		return -1;
	}
	rc = rc < 0 ? rc : weir_subsys_namespace(volume->subsys, nsid, &volume->ns);
	rc = rc < 0 ? rc : weir_subsys_identify(volume->subsys, -1, 0x01, 0, 0, page);
	if (rc < 0) {
		host_complain("", rc);
		return -1;
	}
	if (volume->ns.metadata != 0) {
		fprintf(stderr, "weir: namespace %" PRIu32 " of %s has %u bytes of metadata with each block, which "
		    "cannot be moved here\n", nsid, volume->nqn, volume->ns.metadata);
		return -1;
	}
	weir_controller_decode(page, 0x20000, &controller);
	volume->write_zeroes = controller.oncs & ONCS_WRITE_ZEROES;
	volume->copies = controller.oncs & ONCS_COPY;
	volume->bytes = volume->ns.blocks * volume->ns.block_size;
	return 0;
}

int
volume_open(struct volume *volume, struct weir_host *host, const struct host_options *options,
    const struct weir_uri *uri, unsigned depth)
{
	struct weir_queue_options queue_options = { .size = sizeof(queue_options), .depth = depth };
	int rc;

	*volume = (struct volume) { .subsys = host_reach(host, options, uri) };
	if (volume->subsys == NULL)
		return -1;
	snprintf(volume->nqn, sizeof(volume->nqn), "%s", weir_subsys_nqn(volume->subsys));
	if (find_namespace(volume, uri->nsid) == 0) {
		rc = weir_queue_open(volume->subsys, &queue_options, &volume->queue);
		if (rc == 0)
			return 0;
		host_complain("", rc);
	}
	volume_close(volume);
	return -1;
}

void
volume_close(struct volume *volume)
{
	if (volume->queue != NULL)
		weir_queue_close(volume->queue);
	if (volume->subsys != NULL)
		weir_subsys_disconnect(volume->subsys);
	*volume = (struct volume) { 0 };
}

/* ---- I/O ---- */

static const char *
verb(uint8_t op)
{
	static const char *const verbs[WEIR_OP_COUNT] = {
		[WEIR_OP_READ] = "reading", [WEIR_OP_WRITE] = "writing", [WEIR_OP_WRITE_ZEROES] = "writing zeros",
		[WEIR_OP_COPY] = "copying",
	};

	return verbs[op];
}

static void
fail(struct piece *piece, const struct volume_end *end, uint8_t op, const struct weir_result *result)
{
	pump_failed(piece->pump, result->error, "%s at offset %" PRIu64 " of namespace %" PRIu32 " failed: %s%s",
	    verb(op), end->base + piece->offset, end->volume->ns.nsid,
	    result->status != 0 && result->error != -ETIMEDOUT ? "the target says: " : "", weir_result_text(result));
}

static struct volume_end *
volume_end(struct end *end)
{
	return (struct volume_end *)end;
}

static void
read_done(void *arg, const struct weir_result *result)
{
	struct piece *piece = arg;

	if (result->error < 0)
		fail(piece, volume_end(piece->pump->source), WEIR_OP_READ, result);
	else
		piece->bytes = piece->wanted;
	piece_done(piece, result->error);
}

static void
sink_done(struct piece *piece, uint8_t op, const struct weir_result *result)
{
	if (result->error < 0)
		fail(piece, volume_end(piece->pump->sink), op, result);
	piece_done(piece, result->error);
}

static void
write_done(void *arg, const struct weir_result *result)
{
	sink_done(arg, WEIR_OP_WRITE, result);
}

static void
zeroes_done(void *arg, const struct weir_result *result)
{
	sink_done(arg, WEIR_OP_WRITE_ZEROES, result);
}

static void
copy_done(void *arg, const struct weir_result *result)
{
	sink_done(arg, WEIR_OP_COPY, result);
}

static int
submit(struct volume_end *end, struct piece *piece, struct weir_io *io)
{
	const struct weir_namespace *ns = &end->volume->ns;
	int rc;

	io->nsid = ns->nsid;
	io->lba = (end->base + piece->offset) / ns->block_size;
	io->arg = piece;
	rc = weir_queue_submit(end->volume->queue, io);
	if (rc == -EAGAIN)
		return STEP_LATER;
	if (rc < 0)
		return pump_failed(piece->pump, rc, "%s at offset %" PRIu64 " of namespace %" PRIu32 ": %s",
		    verb(io->op), end->base + piece->offset, ns->nsid, weir_error());
	return STEP_ASKED;
}

static int
volume_read(struct end *base, struct piece *piece)
{
	struct volume_end *end = volume_end(base);
	struct weir_io io = {
		.op = WEIR_OP_READ, .iov = &piece->iov, .iov_count = 1, .done = read_done,
		.blocks = piece->wanted / end->volume->ns.block_size,
	};

	piece->iov = (struct iovec) { piece->data, piece->wanted };
	return submit(end, piece, &io);
}

static int
write_zeroes(struct volume_end *end, struct piece *piece, uint32_t blocks)
{
	struct weir_io io = {
		.op = WEIR_OP_WRITE_ZEROES, .flags = (uint8_t)(WEIR_UNMAP | (end->fua ? WEIR_FUA : 0)),
		.blocks = blocks, .done = zeroes_done,
	};

	return submit(end, piece, &io);
}

static int
volume_write(struct end *base, struct piece *piece)
{
	struct volume_end *end = volume_end(base);
	uint32_t block_size = end->volume->ns.block_size, blocks = piece->bytes / block_size;
	struct weir_io io = {
		.op = WEIR_OP_WRITE, .flags = end->fua ? WEIR_FUA : 0, .iov = &piece->iov, .iov_count = 1,
		.done = write_done,
	};

	if (end->pad && piece->bytes % block_size != 0)
		blocks++;
	if (blocks == 0)
		return STEP_DONE;
	if (piece->zeros && end->unmap && end->volume->write_zeroes)
		return write_zeroes(end, piece, blocks);
	piece_need_data(piece);
	piece->iov = (struct iovec) { piece->data, (size_t)blocks * block_size };
	if (piece->bytes < piece->iov.iov_len)
		memset(piece->data + piece->bytes, 0, piece->iov.iov_len - piece->bytes);
	io.blocks = blocks;
	return submit(end, piece, &io);
}

static int
volume_copy(struct end *base, struct piece *piece)
{
	struct volume_end *end = volume_end(base);
	const struct weir_namespace *ns = &end->volume->ns;
	uint64_t lba = (end->copy_from + piece->offset) / ns->block_size;
	uint32_t left = piece->bytes / ns->block_size;
	struct weir_range ranges[WEIR_RANGES_MAX];
	struct weir_io io = { .op = WEIR_OP_COPY, .ranges = ranges, .done = copy_done };

	for (; left > 0; io.range_count++) {
		uint32_t blocks = left < ns->copy_max ? left : ns->copy_max;

		assert(io.range_count < WEIR_RANGES_MAX);
		ranges[io.range_count] = (struct weir_range) { lba, blocks };
		lba += blocks;
		left -= blocks;
	}
	return submit(end, piece, &io);
}

static int
volume_poll(struct end *base)
{
	return weir_queue_poll(volume_end(base)->volume->queue, 0);
}

static const struct end_ops
    read_ops = { volume_read, volume_poll },
    write_ops = { volume_write, volume_poll },
    copy_ops = { volume_copy, volume_poll };

static void
init(struct volume_end *end, const struct end_ops *ops, struct volume *volume, uint64_t base)
{
	*end = (struct volume_end) {
		.end = { .ops = ops, .fd = weir_queue_fd(volume->queue) }, .volume = volume, .base = base,
	};
}

void
volume_source_init(struct volume_end *end, struct volume *volume, uint64_t base)
{
	init(end, &read_ops, volume, base);
}

void
volume_sink_init(struct volume_end *end, struct volume *volume, uint64_t base)
{
	init(end, &write_ops, volume, base);
}

void
volume_copy_init(struct volume_end *end, struct volume *volume, uint64_t from, uint64_t base)
{
	init(end, &copy_ops, volume, base);
	end->copy_from = from;
}

/* Ranges of copy_max blocks each, so many of them, and not more than copy_total blocks in all. */
uint64_t
volume_copy_max(const struct volume *volume)
{
	const struct weir_namespace *ns = &volume->ns;
	uint64_t ranges = ns->copy_ranges < WEIR_RANGES_MAX ? ns->copy_ranges : WEIR_RANGES_MAX;
	uint64_t blocks = ranges * ns->copy_max;

	return (blocks < ns->copy_total ? blocks : ns->copy_total) * ns->block_size;
}
