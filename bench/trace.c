/*
 * trace.c - the program weir-trace-bench: how fast is a trace read?
 *
 *   weir-trace-bench FORMAT [--mib N] [--seed N]
 *
 * Writes so much text of that format into memory, as the traces there are have it, and reads it in pieces of 1 MiB as
 * they would come from a file, one thread in all.  Prints as one JSON object what that took of this processor's time.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "cpu.h"
#include "trace/reader.h"

enum { LINE_ROOM = 512, PIECE = 1 << 20, BATCH = 1024 };
#define SECOND UINT64_C(1000000000)

/* One request, which a format says in its way. */
struct drawn {
	struct rng rng;
	uint64_t time_ns, lba, sectors;
	unsigned device;
	bool is_write;
};

static void
draw(struct drawn *drawn)
{
	static const unsigned char sectors[] = { 1, 2, 8, 8, 8, 8, 16, 16, 32, 64, 128 };

	drawn->time_ns += rng_below(&drawn->rng, 2000000);
	drawn->device = (unsigned)rng_below(&drawn->rng, 8);
	drawn->sectors = sectors[rng_below(&drawn->rng, sizeof(sectors))];
	/* Every other one goes on where the last one ended. */
	if (rng_below(&drawn->rng, 2) == 0)
		drawn->lba = rng_below(&drawn->rng, UINT64_C(1) << 31);
	else
		drawn->lba += drawn->sectors;
	drawn->is_write = rng_below(&drawn->rng, 10) < 7;
}

/* ---- how each format says it: how many bytes of text that is ---- */

static int
say_msr(struct drawn *d, char *text)
{
	static const char *const hosts[] = { "usr", "proj", "prn", "hm", "rsrch", "prxy", "src1", "web" };

	return sprintf(text, "%" PRIu64 ",%s,%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
	    UINT64_C(128166372003061629) + d->time_ns / 100, hosts[d->device], d->device & 1,
	    d->is_write ? "Write" : "Read", d->lba * 512, d->sectors * 512, rng_below(&d->rng, 100000));
}

static int
say_spc(struct drawn *d, char *text)
{
	return sprintf(text, "%u,%" PRIu64 ",%" PRIu64 ",%c,%" PRIu64 ".%06" PRIu64 "\n", d->device, d->lba,
	    d->sectors * 512, d->is_write ? 'W' : 'R', d->time_ns / SECOND, d->time_ns % SECOND / 1000);
}

static int
say_fiu(struct drawn *d, char *text)
{
	static const char *const names[] = { "nfsd", "kjournald", "pdflush", "gzip", "bash", "httpd", "imapd", "find" };

	return sprintf(text,
	    "%" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %c %u 0 %016" PRIx64 "%016" PRIx64 "\n",
	    UINT64_C(89967404326888) + d->time_ns, 1000 + rng_below(&d->rng, 30000), names[d->device], d->lba,
	    d->sectors, d->is_write ? 'W' : 'R', d->device, rng_next(&d->rng), rng_next(&d->rng));
}

static int
say_ssdsim(struct drawn *d, char *text)
{
	return sprintf(text, "%" PRIu64 " %u %" PRIu64 " %" PRIu64 " %d\n", d->time_ns, d->device, d->lba, d->sectors,
	    !d->is_write);
}

static int
say_vscsi(struct drawn *d, char *text)
{
	return sprintf(text, "1,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 "\n", 5633898 + d->time_ns / SECOND,
	    d->is_write ? "2a" : "28", d->sectors * 512, d->lba);
}

/* Queued, and what comes of it. */
static int
say_blkparse(struct drawn *d, char *text)
{
	static const char actions[] = "QGIDC";
	uint64_t time_ns = d->time_ns;
	int length = 0;

	for (const char *action = actions; *action != '\0'; action++, time_ns += rng_below(&d->rng, 100000))
		length += sprintf(text + length,
		    "  8,%-3u %2u %8" PRIu64 " %5" PRIu64 ".%09" PRIu64 " %5u  %c   %c %" PRIu64 " + %" PRIu64
		    " [kworker/u8:2]\n", d->device, d->device & 3, d->time_ns % 10000000, time_ns / SECOND,
		    time_ns % SECOND, 697, *action, d->is_write ? 'W' : 'R', d->lba, d->sectors);
	return length;
}

static int (*const say[TRACE_FORMATS])(struct drawn *drawn, char *text) = {
	[TRACE_MSR] = say_msr,       [TRACE_SPC] = say_spc,     [TRACE_FIU] = say_fiu,
	[TRACE_SSDSIM] = say_ssdsim, [TRACE_VSCSI] = say_vscsi, [TRACE_BLKPARSE] = say_blkparse,
};

/* ---- reading ---- */

struct bench {
	enum trace_format format;
	uint64_t mib, seed;
	char *text;
	size_t length;
	uint64_t requests, sum; /* written; read */
};

static bool
text_write(struct bench *bench)
{
	size_t room = bench->mib << 20;
	struct drawn drawn = { .lba = 0 };

	rng_seed(&drawn.rng, bench->seed);
	bench->text = malloc(room + LINE_ROOM * sizeof("QGIDC"));
	if (bench->text == NULL)
		return false;
	for (; bench->length < room; bench->requests++) {
		draw(&drawn);
		bench->length += (size_t)say[bench->format](&drawn, bench->text + bench->length);
	}
	return true;
}

static uint64_t
text_read(struct bench *bench, struct trace_reader *reader)
{
	static struct trace_request requests[BATCH];
	uint64_t begun_ns = cpu_ns(), read = 0;
	size_t done = 0, count;

	while (done < bench->length) {
		const char *piece = bench->text + done;
		size_t left = bench->length - done, length = left < PIECE ? left : PIECE;

		done += length;
		do {
			count = trace_read(reader, &piece, &length, done == bench->length, requests, BATCH);
			for (size_t i = 0; i < count; i++)
				bench->sum += requests[i].offset + requests[i].bytes + requests[i].time_ns;
			read += count;
		} while (count == BATCH);
	}
	return read == bench->requests && trace_reader_seen(reader)->bad == 0 ? cpu_ns() - begun_ns : 0;
}

static int
bench_run(struct bench *bench)
{
	struct trace_reader *reader;
	struct arena arena;
	uint64_t spent_ns;

	arena_init(&arena, 0);
	reader = trace_reader_create(&arena, bench->format);
	if (reader == NULL || !text_write(bench)) {
		fprintf(stderr, "weir-trace-bench: no memory\n");
		return 1;
	}
	spent_ns = text_read(bench, reader);
	if (spent_ns == 0) {
		fprintf(stderr, "weir-trace-bench: what was read is not what was written\n");
		return 1;
	}
	printf("{\"format\": \"%s\", \"bytes\": %zu, \"requests\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	    ", \"sum\": %" PRIu64 "}\n", trace_format_names[bench->format], bench->length, bench->requests, spent_ns,
	    bench->sum);
	arena_drop(&arena);
	free(bench->text);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "mib", required_argument, NULL, 'm' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	struct bench bench = { .mib = 256, .seed = 1 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (option == 'm')
			bench.mib = strtoull(optarg, NULL, 0);
		else if (option == 's')
			bench.seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	if (optind + 1 != argc)
		return 2;
	while (bench.format < TRACE_FORMATS && strcmp(argv[optind], trace_format_names[bench.format]) != 0)
		bench.format++;
	return bench.format < TRACE_FORMATS ? bench_run(&bench) : 2;
}
