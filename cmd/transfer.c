#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "cmd.h"
#include "stop.h"

enum { PIECE_DEFAULT = 256 << 10, PIECE_MAX = 16 << 20, DEPTH_DEFAULT = 16 };

/* ---- options ---- */

enum key { KEY_DEPTH = 1500, KEY_BS, KEY_QUIET, KEY_JSON };

static const struct argp_option list[] = {
	{ "depth", KEY_DEPTH, "N", 0, "pieces on their way at a time (default 16)", 5 },
	{ "bs", KEY_BS, "SIZE", 0, "bytes of a piece (default 256k, or what the target takes at once)", 5 },
	{ "quiet", KEY_QUIET, NULL, 0, "only say what goes wrong", 5 },
	{ "json", KEY_JSON, NULL, 0, "print what came of it as one JSON object", 5 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct transfer_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case KEY_DEPTH: options->depth = (unsigned)option_number_of(state, "--depth", arg, 1, PUMP_DEPTH_MAX); return 0;
	case KEY_BS:
		options->bs = option_size_of(state, "--bs", arg, 512);
		if (options->bs > PIECE_MAX)
			argp_error(state, "--bs '%s': 16M at most", arg);
		return 0;
	case KEY_QUIET: options->quiet = true; return 0;
	case KEY_JSON: options->json = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp transfer_argp = { list, parse, NULL, NULL, host_options_child, NULL, NULL };

void
transfer_options_init(struct transfer_options *options, uint16_t queues)
{
	*options = (struct transfer_options) { .depth = DEPTH_DEFAULT };
	host_options_init(&options->host, queues);
}

/* ---- errors ---- */

int
transfer_fails(struct transfer *transfer, int error, const char *format, ...)
{
	va_list args;

	if (transfer->error != 0)
		return -1;
	transfer->error = error;
	va_start(args, format);
	vsnprintf(transfer->why, sizeof(transfer->why), format, args);
	va_end(args);
	return -1;
}

/* ---- sums ---- */

static uint32_t *
sum_of(struct sums *sums, uint64_t number)
{
	if (number >= sums->room) {
		uint64_t room = number + 1 > sums->room * 2 ? number + 1 : sums->room * 2;
		uint32_t *grown = reallocarray(sums->sum, room, sizeof(*grown));

		if (grown == NULL)
			return NULL;
		sums->sum = grown;
		sums->room = room;
	}
	sums->count = number + 1 > sums->count ? number + 1 : sums->count;
	return &sums->sum[number];
}

static int
sum_take(struct transfer *transfer, struct piece *piece)
{
	uint32_t *sum = sum_of(&transfer->sums, piece->offset / transfer->piece_bytes);

	if (sum == NULL)
		return -ENOMEM;
	piece_need_data(piece);
	*sum = crc32c(0, piece->data, piece->bytes);
	return 0;
}

/* Behind what was moved there may be the rest of a block. */
static int
sum_compare(void *arg, struct piece *piece)
{
	struct transfer *transfer = arg;
	struct sums *sums = &transfer->sums;
	uint64_t left = transfer->bytes - piece->offset;
	uint32_t bytes = piece->bytes < left ? piece->bytes : (uint32_t)left;

	piece_need_data(piece);
	if (crc32c(0, piece->data, bytes) == sums->sum[piece->offset / transfer->piece_bytes])
		return 0;
	if (sums->wrong++ == 0 || piece->offset < sums->first_wrong)
		sums->first_wrong = piece->offset;
	return 0;
}

static int
take_only(void *arg, struct piece *piece)
{
	return sum_take(arg, piece);
}

static int
take_and_count(void *arg, struct piece *piece)
{
	struct transfer *transfer = arg;

	if (piece->zeros)
		transfer->zeros += piece->bytes;
	return transfer->sums_wanted ? sum_take(transfer, piece) : 0;
}

/* ---- the bar ---- */

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
show(void *arg, uint64_t done)
{
	bar_at(&((struct transfer *)arg)->bar, done);
}

/* ---- moving ---- */

static uint32_t
fits(const struct volume *volume, uint64_t bytes)
{
	if (volume == NULL)
		return (uint32_t)bytes;
	if (volume->ns.transfer_max > 0 && bytes > volume->ns.transfer_max)
		bytes = volume->ns.transfer_max;
	return (uint32_t)(bytes / volume->ns.block_size * volume->ns.block_size);
}

int
transfer_piece(struct transfer *transfer, const struct volume *one, const struct volume *other)
{
	uint64_t wanted = transfer->options->bs > 0 ? transfer->options->bs : PIECE_DEFAULT;
	uint32_t bytes = fits(one, fits(other, fits(one, wanted)));

	if (bytes > 0 && (transfer->options->bs == 0 || bytes == wanted)) {
		transfer->piece_bytes = bytes;
		return 0;
	}
	fprintf(stderr, "weir: --bs %" PRIu64 ": it must be a multiple of the blocks, and no more than the target "
	    "takes at once, which is %" PRIu32 "\n", wanted, fits(one, fits(other, PIECE_MAX)));
	return -1;
}

static int
run(struct transfer *transfer, struct pump *pump)
{
	uint64_t began_ns = now_ns();

	pump->piece_bytes = transfer->piece_bytes;
	pump->depth = transfer->options->depth;
	pump->arg = transfer;
	pump->stopped = stop_asked;
	pump->stop_fd = stop_fd();
	bar_begin(&transfer->bar, transfer->doing, pump->total, !transfer->options->quiet);
	pump->tick = transfer->bar.shown ? show : NULL;
	if (pump_run(pump) < 0)
		transfer_fails(transfer, pump->error, "%s", pump->why);
	bar_end(&transfer->bar);
	transfer->elapsed_ns += now_ns() - began_ns;
	transfer->stopped = transfer->stopped || (pump->stopping && pump->error == 0 && pump->done < pump->total);
	return transfer->error != 0 || transfer->stopped ? -1 : 0;
}

int
transfer_move(struct transfer *transfer, struct end *source, struct end *sink, uint64_t total, bool find_zeros,
    bool *ended)
{
	struct pump pump = {
		.source = source, .sink = sink, .total = total, .find_zeros = find_zeros, .full = take_and_count,
	};
	int rc = run(transfer, &pump);

	transfer->bytes = pump.done;
	if (ended != NULL)
		*ended = pump.ended;
	return rc;
}

int
transfer_sum(struct transfer *transfer, struct end *source, uint32_t block_size, uint64_t bytes, bool take)
{
	struct pump pump = {
		.source = source, .sink = &nothing_sink, .total = (bytes + block_size - 1) / block_size * block_size,
		.full = take ? take_only : sum_compare,
	};
	uint64_t elapsed_ns = transfer->elapsed_ns;
	int rc;

	transfer->doing = take ? "reading once more" : "verifying";
	rc = run(transfer, &pump);
	transfer->elapsed_ns = elapsed_ns;
	if (rc == 0 && pump.done < pump.total)
		return transfer_fails(transfer, -EIO, "of %" PRIu64 " bytes only %" PRIu64 " are there", bytes,
		    pump.done);
	if (rc == 0 && transfer->sums.wrong > 0)
		return transfer_fails(transfer, -EILSEQ, "VERIFICATION FAILED: %" PRIu64 " piece%s of %" PRIu32
		    " bytes are not as they were written, the first at byte %" PRIu64 " of what was moved",
		    transfer->sums.wrong, transfer->sums.wrong == 1 ? "" : "s", transfer->piece_bytes,
		    transfer->sums.first_wrong);
	transfer->verified = rc == 0 && !take;
	return rc;
}

int
transfer_flush(struct transfer *transfer, struct volume *volume)
{
	const struct weir_io io = { .op = WEIR_OP_FLUSH, .nsid = volume->ns.nsid };
	uint64_t began_ns = now_ns();
	int rc = weir_queue_run(volume->queue, &io, NULL);

	transfer->elapsed_ns += now_ns() - began_ns;
	if (rc == 0)
		return 0;
	return transfer_fails(transfer, rc, "flushing failed, so what was written may not be durable: %s",
	    weir_error());
}

/* ---- the report ---- */

static double
mb_s(const struct transfer *transfer)
{
	return transfer->elapsed_ns == 0 ? 0 : (double)transfer->bytes * 1e3 / (double)transfer->elapsed_ns;
}

static struct json_object *
json_number(double value, int digits)
{
	char text[48];

	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_object_new_double_s(value, text);
}

static void
print_json(const struct transfer *transfer, FILE *out)
{
	struct json_object *object = json_object_new_object();
	double seconds = (double)transfer->elapsed_ns / 1e9;

	json_object_object_add(object, "bytes", json_object_new_uint64(transfer->bytes));
	json_object_object_add(object, "zeros", json_object_new_uint64(transfer->zeros));
	json_object_object_add(object, "seconds", json_number(seconds, 6));
	json_object_object_add(object, "mb_s", json_number(mb_s(transfer), 1));
	json_object_object_add(object, "verified", json_object_new_boolean(transfer->verified));
	json_object_object_add(object, "wrong_pieces", json_object_new_uint64(transfer->sums.wrong));
	json_object_object_add(object, "stopped", json_object_new_boolean(transfer->stopped));
	json_object_object_add(object, "error",
	    transfer->error != 0 ? json_object_new_string(transfer->why) : NULL);
	fprintf(out, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

static void
print_words(const struct transfer *transfer, const char *done)
{
	char size[PROGRESS_WORD];
	double seconds = (double)transfer->elapsed_ns / 1e9;

	progress_size(transfer->bytes, size);
	if (transfer->error != 0 || transfer->stopped) {
		fprintf(stderr, "weir: %s; %s%s %s\n", transfer->error != 0 ? transfer->why : "stopped",
		    transfer->bytes > 0 ? "the first " : "", transfer->bytes > 0 ? size : "nothing", done);
		return;
	}
	if (transfer->options->quiet || transfer->options->json)
		return;
	fprintf(stderr, "weir: %s %s in %.*f s, %.0f MB/s", size, done, seconds < 1 ? 3 : 1, seconds, mb_s(transfer));
	if (transfer->zeros > 0) {
		progress_size(transfer->zeros, size);
		fprintf(stderr, ", of it %s zeros", size);
	}
	fprintf(stderr, "%s\n", transfer->verified ? "; verified" : "");
}

/* Whoever has read enough of our output needs no words. */
int
transfer_end(struct transfer *transfer, const char *done, FILE *json)
{
	if (transfer->error != -EPIPE)
		print_words(transfer, done);
	if (transfer->options->json)
		print_json(transfer, json);
	volume_close(&transfer->from);
	volume_close(&transfer->to);
	free(transfer->sums.sum);
	return transfer->error == 0 && !transfer->stopped ? EXIT_OK : EXIT_FAILED;
}
