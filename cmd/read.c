/*
 * read.c - `weir read`: a volume, or a part of it, to a file or to whoever reads our output.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "stop.h"
#include "transfer.h"

struct read_options {
	struct transfer_options transfer;
	const char *uri_text, *path;
	struct weir_uri uri;
	uint64_t offset, length; /* bytes; length PUMP_UNKNOWN: up to the end */
	bool sparse;
};

enum key { KEY_OFFSET = 1000, KEY_LENGTH, KEY_SPARSE };

static const struct argp_option list[] = {
	{ "offset", KEY_OFFSET, "SIZE", 0, "begin so far into the volume", 0 },
	{ "length", KEY_LENGTH, "SIZE", 0, "read only so much", 0 },
	{ "sparse", KEY_SPARSE, NULL, 0, "leave holes in the file where the volume has zeros", 0 },
	{ 0 },
};

static void
parse_arg(struct read_options *options, char *arg, struct argp_state *state)
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
check(const struct read_options *options, struct argp_state *state)
{
	if (options->uri_text == NULL)
		argp_error(state, "which volume? nvme+tcp://HOST:PORT/SUBNQN?ns=1");
	if (options->path == NULL && isatty(STDOUT_FILENO))
		argp_error(state, "the output is a terminal: name a FILE, or redirect it; - is the terminal all the "
		    "same");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct read_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->transfer; return 0;
	case KEY_OFFSET: options->offset = option_size_of(state, "--offset", arg, 0); return 0;
	case KEY_LENGTH: options->length = option_size_of(state, "--length", arg, 1); return 0;
	case KEY_SPARSE: options->sparse = true; return 0;
	case ARGP_KEY_ARG: parse_arg(options, arg, state); return 0;
	case ARGP_KEY_END: check(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &transfer_argp, 0, NULL, 5 }, { NULL, 0, NULL, 0 } };

static const struct argp argp = {
	list, parse, "URI [FILE]",
	"Reads a volume, nvme+tcp://HOST:PORT/SUBNQN?ns=1, into a file or to standard output.", children, NULL, NULL,
};

/* How much there is to read; 0: it has been said why nothing. */
static uint64_t
extent(const struct read_options *options, const struct volume *volume)
{
	uint32_t block = volume->ns.block_size;
	uint64_t rest = volume->bytes - options->offset;

	if (options->offset % block != 0 || (options->length != PUMP_UNKNOWN && options->length % block != 0))
		fprintf(stderr, "weir: --offset and --length must be multiples of the volume's blocks of %" PRIu32
		    " bytes\n", block);
	else if (options->offset >= volume->bytes)
		fprintf(stderr, "weir: --offset %" PRIu64 ": the volume has %" PRIu64 " bytes\n", options->offset,
		    volume->bytes);
	else if (options->length != PUMP_UNKNOWN && options->length > rest)
		fprintf(stderr, "weir: --length %" PRIu64 ": behind the offset the volume has %" PRIu64 " bytes\n",
		    options->length, rest);
	else
		return options->length < rest ? options->length : rest;
	return 0;
}

/* After the volume: a file is not touched before there is something to write to it. */
static int
open_output(const struct read_options *options, struct file_end *output)
{
	bool to_file = options->path != NULL && strcmp(options->path, "-") != 0;
	const char *shown = to_file ? options->path : "standard output";
	int fd = to_file ? open(options->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : STDOUT_FILENO;
	uint64_t size;
	int rc = fd < 0 ? -errno : file_end_init(output, fd, &size);

	if (rc < 0) {
		fprintf(stderr, "weir: %s: %s\n", shown, strerror(-rc));
		return -1;
	}
	if (file_sink_init(output, options->sparse))
		return 0;
	fprintf(stderr, "weir: --sparse: %s is not a file that can have holes\n", shown);
	return -1;
}

static int
read_volume(const struct read_options *options, struct transfer *transfer, struct file_end *output)
{
	uint64_t bytes = extent(options, &transfer->from);
	struct volume_end volume;
	int rc;

	if (bytes == 0 || transfer_piece(transfer, &transfer->from, NULL) < 0 || open_output(options, output) < 0)
		return -1;
	volume_source_init(&volume, &transfer->from, options->offset);
	if (transfer_move(transfer, &volume.end, &output->end, bytes, options->sparse, NULL) < 0)
		return 0;
	rc = file_sink_end(output, bytes);
	if (rc < 0)
		transfer_fails(transfer, rc, "the end of the file: %s", strerror(-rc));
	return 0;
}

/* A disk may say at the end that it has not kept what it was given. */
static void
close_output(struct transfer *transfer, struct file_end *output)
{
	if (output->fd > STDERR_FILENO && close(output->fd) < 0)
		transfer_fails(transfer, -errno, "writing the file failed: %s", strerror(errno));
}

static int
read_and_say(const struct read_options *options, struct weir_host *host)
{
	struct transfer transfer = { .options = &options->transfer, .doing = "reading" };
	bool to_file = options->path != NULL && strcmp(options->path, "-") != 0;
	struct file_end output = { .fd = -1 };

	if (volume_open(&transfer.from, host, &options->transfer.host, &options->uri, options->transfer.depth) < 0)
		return EXIT_FAILED;
	stop_catch_signals();
	if (read_volume(options, &transfer, &output) < 0) {
		volume_close(&transfer.from);
		return EXIT_FAILED;
	}
	close_output(&transfer, &output);
	return transfer_end(&transfer, "read", to_file ? stdout : stderr);
}

int
cmd_read(int argc, char **argv)
{
	struct read_options options = { .length = PUMP_UNKNOWN };
	struct weir_host *host;
	int code;

	argp_err_exit_status = EXIT_USAGE;
	transfer_options_init(&options.transfer, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	signal(SIGPIPE, SIG_IGN);
	host = host_start(&options.transfer.host);
	if (host == NULL)
		return EXIT_FAILED;
	code = read_and_say(&options, host);
	weir_host_destroy(host);
	return code;
}
