/*
 * write.c - `weir write`: a file, or what we are given as input, to a volume.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "stop.h"
#include "transfer.h"

struct write_options {
	struct transfer_options transfer;
	const char *uri_text, *path;
	struct weir_uri uri;
	uint64_t offset, length; /* bytes; length PUMP_UNKNOWN: up to the end of the input */
	bool sparse, pad, verify, fua;
};

enum key { KEY_OFFSET = 1000, KEY_LENGTH, KEY_SPARSE, KEY_PAD, KEY_VERIFY, KEY_FUA };

static const struct argp_option list[] = {
	{ "offset", KEY_OFFSET, "SIZE", 0, "begin so far into the volume", 0 },
	{ "length", KEY_LENGTH, "SIZE", 0, "take only so much of the input", 0 },
	{ "sparse", KEY_SPARSE, NULL, 0, "zeros are not sent: the target makes them, and need not keep them", 0 },
	{ "pad", KEY_PAD, NULL, 0, "an input that ends within a block is filled up with zeros", 0 },
	{ "verify", KEY_VERIFY, NULL, 0, "read all of it afterwards, and compare", 0 },
	{ "fua", KEY_FUA, NULL, 0, "each piece is durable before the next takes its place (it is at the end, anyway)",
	    0 },
	{ 0 },
};

static void
parse_arg(struct write_options *options, char *arg, struct argp_state *state)
{
	if (options->uri_text == NULL) {
		options->uri_text = arg;
		option_subsys_of(state, arg, &options->uri);
	} else if (options->path == NULL) {
		options->path = arg;
	} else {
		argp_error(state, "one URI and one file; what is '%s'?", arg);
	}
}

static void
check(const struct write_options *options, struct argp_state *state)
{
	if (options->uri_text == NULL)
		argp_error(state, "which volume? nvme+tcp://HOST:PORT/SUBNQN?ns=1");
	if (options->path == NULL && isatty(STDIN_FILENO))
		argp_error(state, "the input is a terminal: name a FILE, or redirect it; - is the terminal all the "
		    "same");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct write_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->transfer; return 0;
	case KEY_OFFSET: options->offset = option_size_of(state, "--offset", arg, 0); return 0;
	case KEY_LENGTH: options->length = option_size_of(state, "--length", arg, 1); return 0;
	case KEY_SPARSE: options->sparse = true; return 0;
	case KEY_PAD: options->pad = true; return 0;
	case KEY_VERIFY: options->verify = true; return 0;
	case KEY_FUA: options->fua = true; return 0;
	case ARGP_KEY_ARG: parse_arg(options, arg, state); return 0;
	case ARGP_KEY_END: check(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &transfer_argp, 0, NULL, 5 }, { NULL, 0, NULL, 0 } };

static const struct argp argp = {
	list, parse, "URI [FILE]",
	"Writes a file or standard input to a volume, nvme+tcp://HOST:PORT/SUBNQN?ns=1.\n"
	"What the volume holds there is OVERWRITTEN.", children, NULL, NULL,
};

static const char *
shown(const struct write_options *options)
{
	return options->path == NULL || strcmp(options->path, "-") == 0 ? "standard input" : options->path;
}

/* Before anything is touched: whether it can come out well, as far as that is known. */
static int
check_fit(const struct write_options *options, const struct volume *volume, uint64_t size)
{
	uint64_t wanted = options->length < size ? options->length : size, room = volume->bytes - options->offset;
	uint32_t block = volume->ns.block_size;
	uint64_t whole = wanted / block * block;

	if (options->offset % block != 0)
		fprintf(stderr, "weir: --offset must be a multiple of the volume's blocks of %" PRIu32 " bytes\n",
		    block);
	else if (options->offset >= volume->bytes)
		fprintf(stderr, "weir: --offset %" PRIu64 ": the volume has %" PRIu64 " bytes\n", options->offset,
		    volume->bytes);
	else if (wanted != PUMP_UNKNOWN && wanted > room)
		fprintf(stderr, "weir: %s: %" PRIu64 " bytes are more than the %" PRIu64 " that the volume has room "
		    "for; nothing was written. --length takes a part\n", shown(options), wanted, room);
	else if (wanted != PUMP_UNKNOWN && wanted > whole && !options->pad)
		fprintf(stderr, "weir: %s: %" PRIu64 " bytes end within a block of %" PRIu32 "; nothing was written. "
		    "--pad fills it up with zeros, --length %" PRIu64 " leaves the rest out\n", shown(options), wanted,
		    block, whole);
	else if (options->length != PUMP_UNKNOWN && options->length > size)
		fprintf(stderr, "weir: %s has only %" PRIu64 " bytes, not %" PRIu64 "; nothing was written\n",
		    shown(options), size, options->length);
	else
		return 0;
	return -1;
}

static int
open_input(const struct write_options *options, struct file_end *input, uint64_t *size)
{
	bool file = options->path != NULL && strcmp(options->path, "-") != 0;
	int fd = file ? open(options->path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int rc = fd < 0 ? -errno : file_end_init(input, fd, size);

	if (rc == 0) {
		file_source_init(input);
		return 0;
	}
	fprintf(stderr, "weir: %s: %s\n", shown(options), strerror(-rc));
	if (fd > STDERR_FILENO)
		close(fd);
	return -1;
}

/* Of an input whose size nobody knew, the volume is full: is that all of it? */
static void
look_for_more(struct transfer *transfer, const struct file_end *input)
{
	char byte;

	if (stop_wait(input->fd, -1) && read(input->fd, &byte, 1) == 1)
		transfer_fails(transfer, -EFBIG, "the input is longer than the volume has room for: what did not fit "
		    "is lost");
}

static void
look_at_end(const struct write_options *options, struct transfer *transfer)
{
	uint64_t tail = transfer->bytes % transfer->to.ns.block_size;

	if (options->length != PUMP_UNKNOWN && transfer->bytes < options->length)
		transfer_fails(transfer, -ENODATA, "the input had only %" PRIu64 " bytes, not %" PRIu64,
		    transfer->bytes,
		    options->length);
	if (tail == 0 || options->pad)
		return;
	transfer->bytes -= tail;
	transfer_fails(transfer, -EINVAL, "the input ends within a block: its last %" PRIu64 " bytes were not written, "
	    "for which there is --pad", tail);
}

static void
write_volume(const struct write_options *options, struct transfer *transfer, struct file_end *input, uint64_t size)
{
	struct volume *volume = &transfer->to;
	uint64_t room = volume->bytes - options->offset;
	uint64_t total = options->length < room ? options->length : room;
	struct volume_end sink, again;
	bool ended;
	int rc;

	volume_sink_init(&sink, volume, options->offset);
	sink.fua = options->fua;
	sink.unmap = options->sparse;
	sink.pad = options->pad;
	rc = transfer_move(transfer, &input->end, &sink.end, size < total ? size : total, options->sparse, &ended);
	if (rc == 0)
		look_at_end(options, transfer);
	if (rc == 0 && !ended && size == PUMP_UNKNOWN && options->length == PUMP_UNKNOWN)
		look_for_more(transfer, input);
	if (transfer->bytes == 0 || transfer_flush(transfer, volume) < 0 || rc < 0 || !options->verify)
		return;
	volume_source_init(&again, volume, options->offset);
	transfer_sum(transfer, &again.end, volume->ns.block_size, transfer->bytes, false);
}

static int
write_and_say(const struct write_options *options, struct weir_host *host, struct file_end *input, uint64_t size)
{
	struct transfer transfer = {
		.options = &options->transfer, .doing = "writing", .sums_wanted = options->verify,
	};

	if (volume_open(&transfer.to, host, &options->transfer.host, &options->uri, options->transfer.depth) < 0)
		return EXIT_FAILED;
	stop_catch_signals();
	if (check_fit(options, &transfer.to, size) < 0 || transfer_piece(&transfer, &transfer.to, NULL) < 0) {
		volume_close(&transfer.to);
		return EXIT_FAILED;
	}
	write_volume(options, &transfer, input, size);
	return transfer_end(&transfer, "written", stdout);
}

int
cmd_write(int argc, char **argv)
{
	struct write_options options = { .length = PUMP_UNKNOWN };
	struct file_end input;
	struct weir_host *host;
	uint64_t size;
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	transfer_options_init(&options.transfer, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	if (open_input(&options, &input, &size) < 0)
		return EXIT_FAILED;
	host = host_start(&options.transfer.host);
	if (host != NULL)
		code = write_and_say(&options, host, &input, size);
	weir_host_destroy(host);
	if (input.fd > STDERR_FILENO)
		close(input.fd);
	return code;
}
