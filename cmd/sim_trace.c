/*
 * sim_trace.c - the trace of a trial as text, an entry a line, and between them what processes log and what is done
 * to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd.h"
#include "sim.h"

enum actor { PROCESS, REACTOR, LINK, FILE_OF_PATH };
enum form { NONE, NUMBER, ERROR, HASH };

/* What sim/sim.h says of each kind. */
static const struct kind {
	const char *name;
	enum actor actor;
	struct { enum form form; const char *name; } a, b;
} kinds[] = {
	[SIM_TURN] = { "turn", REACTOR, { NUMBER, "life" }, { NONE, "" } },
	[SIM_MAIL] = { "mail", REACTOR, { NUMBER, "kind" }, { NUMBER, "from" } },
	[SIM_SYN] = { "syn", LINK, { NUMBER, "accepted" }, { NONE, "" } },
	[SIM_CONNECTED] = { "connected", LINK, { ERROR, "error" }, { NONE, "" } },
	[SIM_BYTES] = { "bytes", LINK, { NUMBER, "count" }, { NUMBER, "from" } },
	[SIM_FIN] = { "fin", LINK, { NUMBER, "from" }, { NONE, "" } },
	[SIM_RESET] = { "reset", LINK, { NUMBER, "to" }, { NUMBER, "lost" } },
	[SIM_SPACE] = { "space", LINK, { NUMBER, "to" }, { NUMBER, "bytes" } },
	[SIM_AGAIN] = { "again", LINK, { NUMBER, "to" }, { NUMBER, "events" } },
	[SIM_IO] = { "io", REACTOR, { NUMBER, "offset" }, { ERROR, "result" } },
	[SIM_ERRAND] = { "errand", REACTOR, { NONE, "" }, { NONE, "" } },
	[SIM_READ] = { "read", LINK, { NUMBER, "bytes" }, { HASH, "hash" } },
	[SIM_WRITE] = { "write", LINK, { NUMBER, "bytes" }, { NUMBER, "from" } },
	[SIM_LOG] = { "log", REACTOR, { NUMBER, "level" }, { HASH, "hash" } },
	[SIM_START] = { "start", PROCESS, { NUMBER, "life" }, { NUMBER, "reactors" } },
	[SIM_CRASH] = { "crash", PROCESS, { NUMBER, "flags" }, { NONE, "" } },
	[SIM_PAUSE] = { "pause", REACTOR, { NUMBER, "until" }, { NONE, "" } },
	[SIM_PART] = { "part", PROCESS, { NUMBER, "from" }, { NUMBER, "parted" } },
	[SIM_SLOW] = { "slow", PROCESS, { NUMBER, "factor" }, { NONE, "" } },
	[SIM_FAULTS] = { "faults", FILE_OF_PATH, { HASH, "errors" }, { HASH, "others" } },
	[SIM_SPOIL] = { "spoil", FILE_OF_PATH, { NUMBER, "offset" }, { HASH, "hash" } },
	[SIM_FLIPS] = { "flips", PROCESS, { NUMBER, "ppm" }, { NUMBER, "spared" } },
	[SIM_FLIP] = { "flip", LINK, { NUMBER, "at" }, { NUMBER, "bit" } },
};

static_assert(sizeof(kinds) / sizeof(kinds[0]) == SIM_KINDS, "each kind has its words");

static void
put_value(FILE *file, enum form form, const char *name, uint64_t value)
{
	switch (form) {
	case NONE: break;
	case NUMBER: fprintf(file, " %s=%" PRIu64, name, value); break;
	case ERROR: fprintf(file, " %s=%" PRId64, name, (int64_t)value); break;
	case HASH: fprintf(file, " %s=%016" PRIx64, name, value); break;
	}
}

static void
put_time(FILE *file, uint64_t now_ns)
{
	fprintf(file, "%" PRIu64 ".%09" PRIu64 " ", now_ns / 1000000000, now_ns % 1000000000);
}

/* Right after it: why it cannot be written is not known any more in the end. */
static void
line_written(struct trace *trace)
{
	if (trace->error == 0 && ferror(trace->file))
		trace->error = errno;
}

static void
on_entry(void *arg, uint64_t now_ns, enum sim_kind number, uint64_t actor, uint64_t a, uint64_t b)
{
	struct trace *trace = arg;
	const struct kind *kind = &kinds[number];

	put_time(trace->file, now_ns);
	fprintf(trace->file, "%s ", kind->name);
	switch (kind->actor) {
	case PROCESS: fprintf(trace->file, "process %" PRIu64, actor); break;
	case REACTOR: fprintf(trace->file, "reactor %" PRIu64 ".%" PRIu64, actor >> 16, actor & UINT16_MAX); break;
	case LINK: fprintf(trace->file, "link %" PRIu64, actor); break;
	case FILE_OF_PATH: fprintf(trace->file, "file %016" PRIx64, actor); break;
	}
	put_value(trace->file, kind->a.form, kind->a.name, a);
	put_value(trace->file, kind->b.form, kind->b.name, b);
	putc('\n', trace->file);
	line_written(trace);
}

static void
put_words(FILE *file, uint64_t now_ns, const char *who, const char *text)
{
	put_time(file, now_ns);
	fprintf(file, "# %s: %s\n", who, text);
}

static void
on_words(void *arg, uint64_t now_ns, const char *who, const char *text)
{
	struct trace *trace = arg;

	if (trace->file != NULL) {
		put_words(trace->file, now_ns, who, text);
		line_written(trace);
	}
	if (trace->log)
		put_words(stderr, now_ns, who, text);
}

void
trace_watch(struct trace *trace, struct trial_watch *watch)
{
	if (trace->file != NULL)
		watch->trace = on_entry;
	if (trace->file != NULL || trace->log)
		watch->log = on_words;
	watch->arg = trace;
}

/* ---- the file ---- */

static int
cannot(const struct trace *trace, int error)
{
	fprintf(stderr, "weir sim: %s: %s\n", trace->path, strerror(error));
	return -1;
}

/* Of a trial that dies, of whatever signal, the trace is wanted most of all: no line of it stays in our memory. */
int
trace_open(struct trace *trace, const char *path)
{
	trace->path = path;
	trace->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	if (trace->file == NULL)
		return cannot(trace, errno);
	setvbuf(trace->file, NULL, _IOLBF, BUFSIZ);
	return 0;
}

int
trace_close(struct trace *trace)
{
	FILE *file = trace->file;
	int error = trace->error;

	trace->file = NULL;
	if (file == NULL)
		return 0;
	if (file == stdout) /* more is said there */
		return 0;
	if (fclose(file) != 0 && error == 0)
		error = errno;
	return error != 0 ? cannot(trace, error) : 0;
}
