/*
 * copy.c - `weir copy`: an image file to a volume, a volume to an image file, a volume to another.
 *
 * Where both are the same namespace and the target can, it copies by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "stop.h"
#include "transfer.h"

/* One side of it, as it was named. */
struct place {
	const char *text;
	bool is_volume;
	struct weir_uri uri;
	uint64_t offset; /* bytes */
};

struct copy_options {
	struct transfer_options transfer;
	struct place from, to;
	uint64_t length; /* bytes; PUMP_UNKNOWN: all there is */
	bool dense, unverified;
};

enum key { KEY_FROM_OFFSET = 1000, KEY_TO_OFFSET, KEY_LENGTH, KEY_DENSE, KEY_UNVERIFIED };

static const struct argp_option list[] = {
	{ "from-offset", KEY_FROM_OFFSET, "SIZE", 0, "begin so far into FROM", 0 },
	{ "to-offset", KEY_TO_OFFSET, "SIZE", 0, "begin so far into TO", 0 },
	{ "length", KEY_LENGTH, "SIZE", 0, "copy only so much", 0 },
	{ "no-sparse", KEY_DENSE, NULL, 0, "send zeros as any other bytes", 0 },
	{ "no-verify", KEY_UNVERIFIED, NULL, 0, "do not read TO afterwards to compare", 0 },
	{ 0 },
};

static void
parse_place(struct place *place, char *arg, struct argp_state *state)
{
	place->text = arg;
	place->is_volume = strstr(arg, "://") != NULL;
	if (place->is_volume)
		option_subsys_of(state, arg, &place->uri);
}

static void
check(const struct copy_options *options, struct argp_state *state)
{
	if (options->to.text == NULL)
		argp_error(state, "from where to where? Each is a file, or nvme+tcp://HOST:PORT/SUBNQN?ns=1");
	if (!options->from.is_volume && !options->to.is_volume)
		argp_error(state, "neither is a volume, nvme+tcp://HOST:PORT/SUBNQN?ns=1; for files there is cp");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct copy_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->transfer; return 0;
	case KEY_FROM_OFFSET: options->from.offset = option_size_of(state, "--from-offset", arg, 0); return 0;
	case KEY_TO_OFFSET: options->to.offset = option_size_of(state, "--to-offset", arg, 0); return 0;
	case KEY_LENGTH: options->length = option_size_of(state, "--length", arg, 1); return 0;
	case KEY_DENSE: options->dense = true; return 0;
	case KEY_UNVERIFIED: options->unverified = true; return 0;
	case ARGP_KEY_ARG:
		if (options->to.text != NULL)
			argp_error(state, "from one place to one other; what is '%s'?", arg);
		parse_place(options->from.text == NULL ? &options->from : &options->to, arg, state);
		return 0;
	case ARGP_KEY_END: check(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &transfer_argp, 0, NULL, 5 }, { NULL, 0, NULL, 0 } };

static const struct argp argp = {
	list, parse, "FROM TO",
	"Copies a file to a volume, a volume to a file, or a volume to another; a volume is "
	"nvme+tcp://HOST:PORT/SUBNQN?ns=1. What TO holds is OVERWRITTEN.", children, NULL, NULL,
};

/* ---- what is copied, and whether it fits ---- */

struct copy {
	const struct copy_options *options;
	struct transfer transfer;
	struct file_end from_file, to_file; /* those of them that are files; fd -1: not open */
	uint64_t from_bytes, to_bytes;      /* behind the offsets; to_bytes PUMP_UNKNOWN: it grows */
	uint64_t bytes;                     /* to be copied */
	bool anew, made;                    /* the file that is written is begun anew; it was not there before */
};

static int
open_source(struct copy *copy, struct weir_host *host)
{
	const struct place *from = &copy->options->from;
	const struct transfer_options *options = &copy->options->transfer;
	uint64_t size;
	int fd, rc;

	if (from->is_volume) {
		if (volume_open(&copy->transfer.from, host, &options->host, &from->uri, options->depth) < 0)
			return -1;
		size = copy->transfer.from.bytes;
	} else {
		fd = open(from->text, O_RDONLY | O_CLOEXEC);
		rc = fd < 0 ? -errno : file_end_init(&copy->from_file, fd, &size);
		if (rc < 0 || !copy->from_file.seekable) {
			fprintf(stderr, "weir: %s: %s\n", from->text, rc < 0 ? strerror(-rc) :
			    "not a file or a disk; `weir write` takes pipes");
			return -1;
		}
		copy->from_file.base = from->offset;
	}
	if (from->offset < size) {
		copy->from_bytes = size - from->offset;
		return 0;
	}
	fprintf(stderr, "weir: %s has %" PRIu64 " bytes: there is nothing to copy%s\n", from->text, size,
	    from->offset > 0 ? " behind --from-offset" : "");
	return -1;
}

/* A file that is written from its start is made anew, when nothing speaks against it; else what is around stays. */
static int
open_file_sink(struct copy *copy)
{
	const struct place *to = &copy->options->to;
	int fd = open(to->text, O_RDWR | O_CLOEXEC);
	uint64_t size = 0;
	struct stat st;
	int rc;

	copy->made = fd < 0 && errno == ENOENT;
	if (copy->made)
		fd = open(to->text, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	rc = fd < 0 ? -errno : file_end_init(&copy->to_file, fd, &size);

	if (rc < 0 || !copy->to_file.seekable) {
		fprintf(stderr, "weir: %s: %s\n", to->text, rc < 0 ? strerror(-rc) :
		    "not a file or a disk; `weir read` writes to pipes");
		return -1;
	}
	copy->to_file.base = to->offset;
	copy->to_bytes = PUMP_UNKNOWN;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode))
		copy->to_bytes = size > to->offset ? size - to->offset : 0;
	else
		copy->anew = to->offset == 0;
	copy->to_file.fresh = copy->anew;
	return 0;
}

static int
open_sink(struct copy *copy, struct weir_host *host)
{
	const struct place *to = &copy->options->to;
	const struct transfer_options *options = &copy->options->transfer;
	uint64_t size;

	if (!to->is_volume)
		return open_file_sink(copy);
	if (volume_open(&copy->transfer.to, host, &options->host, &to->uri, options->depth) < 0)
		return -1;
	size = copy->transfer.to.bytes;
	copy->to_bytes = size > to->offset ? size - to->offset : 0;
	return 0;
}

/* Both are parts of one namespace. */
static bool
is_same(const struct copy *copy)
{
	const struct volume *from = &copy->transfer.from, *to = &copy->transfer.to;

	return from->subsys != NULL && to->subsys != NULL && strcmp(from->nqn, to->nqn) == 0 &&
	    from->ns.nsid == to->ns.nsid;
}

static bool
overlaps(const struct copy *copy)
{
	uint64_t from = copy->options->from.offset, to = copy->options->to.offset;

	return is_same(copy) && from < to + copy->bytes && to < from + copy->bytes;
}

static int
refuse_copy(const struct copy *copy, const char *why)
{
	fprintf(stderr, "weir: %s: %s; nothing was written\n", copy->options->to.text, why);
	return -1;
}

/* Of the volumes among them. */
static uint32_t
block_size(const struct copy *copy)
{
	uint32_t from = copy->transfer.from.ns.block_size, to = copy->transfer.to.ns.block_size;

	return from > to ? from : to;
}

static int
check_extent(struct copy *copy)
{
	const struct copy_options *options = copy->options;
	uint32_t from_block = copy->transfer.from.ns.block_size, to_block = copy->transfer.to.ns.block_size;
	char why[240];

	copy->bytes = options->length == PUMP_UNKNOWN ? copy->from_bytes : options->length;
	if (copy->bytes > copy->from_bytes)
		snprintf(why, sizeof(why), "--length %" PRIu64 ": %" PRIu64 " bytes are there to be copied",
		    copy->bytes, copy->from_bytes);
	else if (copy->bytes > copy->to_bytes)
		snprintf(why, sizeof(why), "it has room for %" PRIu64 " bytes, and %" PRIu64 " are to be copied",
		    copy->to_bytes, copy->bytes);
	else if ((from_block != 0 && (options->from.offset % from_block != 0 || copy->bytes % from_block != 0)) ||
	    (to_block != 0 && (options->to.offset % to_block != 0 || copy->bytes % to_block != 0)))
		snprintf(why, sizeof(why), "offsets and what is copied (%" PRIu64 " bytes) must be multiples of the "
		    "blocks of %" PRIu32 " bytes; `weir write --pad` fills up the last", copy->bytes, block_size(copy));
	else if (overlaps(copy))
		snprintf(why, sizeof(why), "FROM and TO are the same volume, and what is read there would be "
		    "overwritten: --from-offset, --to-offset and --length say which parts");
	else
		return 0;
	return refuse_copy(copy, why);
}

/* ---- copying ---- */

static int
move(struct copy *copy)
{
	const struct copy_options *options = copy->options;
	struct transfer *transfer = &copy->transfer;
	struct volume_end source, sink;
	struct end *from = &copy->from_file.end, *to = &copy->to_file.end;

	if (options->from.is_volume) {
		volume_source_init(&source, &transfer->from, options->from.offset);
		from = &source.end;
	} else {
		file_source_init(&copy->from_file);
	}
	if (options->to.is_volume) {
		volume_sink_init(&sink, &transfer->to, options->to.offset);
		sink.unmap = !options->dense;
		to = &sink.end;
	} else if (!file_sink_init(&copy->to_file, !options->dense && copy->to_file.fresh)) {
		return -1;
	}
	transfer->sums_wanted = !options->unverified;
	return transfer_move(transfer, from, to, copy->bytes, !options->dense, NULL);
}

/* By the target, without the data coming here. */
static int
move_there(struct copy *copy)
{
	struct transfer *transfer = &copy->transfer;
	uint64_t most = volume_copy_max(&transfer->to);
	uint32_t piece_bytes = transfer->piece_bytes;
	struct volume_end sink;
	int rc;

	transfer->piece_bytes = most < (1 << 20) ? (uint32_t)most : 1 << 20;
	volume_copy_init(&sink, &transfer->to, copy->options->from.offset, copy->options->to.offset);
	rc = transfer_move(transfer, &nothing_source, &sink.end, copy->bytes, false, NULL);
	transfer->piece_bytes = piece_bytes;
	return rc;
}

static int
make_durable(struct copy *copy)
{
	struct transfer *transfer = &copy->transfer;
	int rc;

	if (copy->options->to.is_volume)
		return transfer_flush(transfer, &transfer->to);
	rc = file_sink_end(&copy->to_file, transfer->bytes);
	if (rc == 0 && fdatasync(copy->to_file.fd) < 0)
		rc = -errno;
	return rc < 0 ? transfer_fails(transfer, rc, "%s: %s", copy->options->to.text, strerror(-rc)) : 0;
}

static void
verify(struct copy *copy, bool there)
{
	const struct copy_options *options = copy->options;
	struct transfer *transfer = &copy->transfer;
	struct volume_end volume;

	if (there) {
		volume_source_init(&volume, &transfer->from, options->from.offset);
		if (transfer_sum(transfer, &volume.end, block_size(copy), copy->bytes, true) < 0)
			return;
	}
	if (!options->to.is_volume) {
		file_source_init(&copy->to_file);
		transfer_sum(transfer, &copy->to_file.end, 1, copy->bytes, false);
		return;
	}
	volume_source_init(&volume, &transfer->to, options->to.offset);
	transfer_sum(transfer, &volume.end, block_size(copy), copy->bytes, false);
}

static int
copy_all(struct copy *copy, struct weir_host *host)
{
	struct transfer *transfer = &copy->transfer;
	bool there;
	int rc;

	if (open_source(copy, host) < 0 || open_sink(copy, host) < 0 || check_extent(copy) < 0)
		return -1;
	if (transfer_piece(transfer, transfer->from.subsys != NULL ? &transfer->from : NULL,
	    transfer->to.subsys != NULL ? &transfer->to : NULL) < 0)
		return -1;
	if (copy->anew && ftruncate(copy->to_file.fd, 0) < 0) {
		fprintf(stderr, "weir: %s: %s\n", copy->options->to.text, strerror(errno));
		return -1;
	}
	stop_catch_signals();
	there = is_same(copy) && transfer->to.copies && volume_copy_max(&transfer->to) > 0;
	rc = there ? move_there(copy) : move(copy);
	if (rc == 0 && transfer->bytes < copy->bytes)
		rc = transfer_fails(transfer, -ENODATA, "%s became shorter meanwhile", copy->options->from.text);
	if (transfer->bytes > 0 && make_durable(copy) == 0 && rc == 0 && !copy->options->unverified)
		verify(copy, there);
	return 0;
}

int
cmd_copy(int argc, char **argv)
{
	struct copy_options options = { .length = PUMP_UNKNOWN };
	struct copy copy = {
		.options = &options, .transfer = { .options = &options.transfer, .doing = "copying" },
		.from_file = { .fd = -1 }, .to_file = { .fd = -1 },
	};
	struct weir_host *host;
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	transfer_options_init(&options.transfer, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	host = host_start(&options.transfer.host);
	if (host == NULL)
		return EXIT_FAILED;
	if (copy_all(&copy, host) == 0) {
		code = transfer_end(&copy.transfer, "copied", stdout);
	} else {
		if (copy.made)
			(void)unlink(options.to.text);
		volume_close(&copy.transfer.from);
		volume_close(&copy.transfer.to);
	}
	if (copy.from_file.fd >= 0)
		close(copy.from_file.fd);
	if (copy.to_file.fd >= 0)
		close(copy.to_file.fd);
	weir_host_destroy(host);
	return code;
}
