/*
 * perf.c - `weir perf`: loads on namespaces, verified and measured.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "cmd.h"
#include "perf_file.h"
#include "perf_plot.h"
#include "perf_report.h"

enum key {
	KEY_SET = 1000, KEY_JSON = 2000, KEY_JOB, KEY_CPUS, KEY_CONGESTION, KEY_INTERVAL, KEY_HISTOGRAM, KEY_SVG,
};

static const struct argp_option options[] = {
	{ "rw", KEY_SET, "KIND", 0, "read, write, randread, randwrite or randrw (default randread)", 0 },
	{ "mix", KEY_SET + 1, "PERCENT", 0, "of randrw, how much is read (default 70)", 0 },
	{ "bs", KEY_SET + 2, "SIZE", 0, "bytes of one I/O, e.g. 4k (default) or 1m", 0 },
	{ "qd", KEY_SET + 3, "N", 0, "I/Os in flight on each queue (default 32)", 0 },
	{ "queues", KEY_SET + 4, "N", 0, "I/O queues to each URI (default 1)", 0 },
	{ "threads", KEY_SET + 5, "N", 0, "threads that share the queues (default 1)", 0 },
	{ "time", KEY_SET + 6, "SECONDS", 0, "how long (default 10)", 0 },
	{ "ios", KEY_SET + 7, "N", 0, "so many I/Os, however long they take", 0 },
	{ "size", KEY_SET + 8, "SIZE", 0, "use only this much of the namespace, from its start", 0 },
	{ "rate", KEY_SET + 9, "IOPS[,SIZE]", 0, "so many I/Os, and so many bytes, per second at most", 0 },
	{ "verify", KEY_SET + 10, NULL, 0, "check what is read against what was written, and all of it at the end", 0 },
	{ "seed", KEY_SET + 11, "N", 0, "of the random numbers (default 1)", 0 },
	{ "priority", KEY_SET + 12, "N", 0, "among this host's I/Os, where hosts share a volume: 0 (default) to 3", 0 },
	{ "ordered", KEY_SET + 13, NULL, 0, "by streams of ordered writes, of a target that has a log of them", 0 },
	{ "group", KEY_SET + 14, "N", 0, "writes of each of their groups (default 1)", 0 },
	{ "flush-every", KEY_SET + 15, "N", 0,
	    "each group of so many is to be durable by itself (default 0: none)", 0 },
	{ "streams", KEY_SET + 16, "N", 0, "of ordered writes, to each URI (default 1)", 0 },
	{ "job", KEY_JOB, "FILE", 0, "the loads that this file has (- is standard input), instead of one of URIs", 0 },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "print a line each time so much has gone by", 0 },
	{ "cpus", KEY_CPUS, "LIST", 0, "pin the threads to these processors, e.g. 1 or 0,2-3", 0 },
	{ "tcp-congestion", KEY_CONGESTION, "NAME", 0,
	    "congestion control of the connections (default: the system's)", 0 },
	{ "histogram", KEY_HISTOGRAM, NULL, 0, "show how the latencies are distributed", 0 },
	{ "svg", KEY_SVG, "FILE", 0, "the same as a picture", 0 },
	{ "json", KEY_JSON, NULL, 0, "print the result as one JSON object", 0 },
	{ 0 },
};

struct perf {
	struct perf_plan plan;
	struct perf_job job;        /* what the command line says */
	const char *set;            /* the first option that says something of it, or NULL */
	const char *file_path;      /* of the job file; NULL: there is none, and `job` is all */
	struct arena arena;         /* of `file` */
	struct perf_file file;
	bool json, histogram;
	const char *svg;            /* a path; NULL: no picture */
	FILE *picture;              /* it, open */
	bool picture_is_new;        /* there was none before */
	char command[512];          /* as it was typed */
};

static void
set_of_job(struct perf *perf, int key, const char *arg, struct argp_state *state)
{
	const char *name = perf_job_keys[key - KEY_SET];
	char why[PERF_WHY] = "";

	if (!perf_job_set(&perf->job, name, arg != NULL ? arg : "true", why))
		argp_error(state, "--%s '%s': %s", name, arg, why);
	if (perf->set == NULL)
		perf->set = name;
}

/* All has been read: what of it does not go together. */
static void
check_all(struct perf *perf, struct argp_state *state)
{
	char why[PERF_WHY] = "";

	if (perf->file_path != NULL && perf->job.uri_count > 0)
		argp_error(state, "either URIs or --job: the file names its own");
	else if (perf->file_path != NULL && perf->set != NULL)
		argp_error(state, "either --%s or --job: the file says it of each job", perf->set);
	else if (perf->file_path == NULL && perf->job.uri_count == 0)
		argp_error(state, "which namespace? nvme+tcp://HOST:PORT/SUBNQN?ns=1");
	else if (perf->file_path == NULL && !perf_job_check(&perf->job, why))
		argp_error(state, "--%s", why);
}

/* The whole process, and its threads one by one. */
static void
parse_cpus(struct perf_plan *plan, const char *arg, struct argp_state *state)
{
	int missing;
	cpu_set_t all;

	if (!option_cpus(arg, plan->cpus, PERF_CPUS_MAX, &plan->cpu_count))
		argp_error(state, "--cpus '%s': not processors like 1 or 0,2-3", arg);
	missing = option_cpu_missing(plan->cpus, plan->cpu_count);
	if (missing >= 0)
		argp_error(state, "--cpus '%s': there is no processor %d for this process", arg, missing);
	CPU_ZERO(&all);
	for (unsigned i = 0; i < plan->cpu_count; i++)
		CPU_SET((size_t)plan->cpus[i], &all);
	(void)sched_setaffinity(0, sizeof(all), &all);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct perf *perf = state->input;
	char why[PERF_WHY] = "";

	if (key >= KEY_SET && key < KEY_JSON) {
		set_of_job(perf, key, arg, state);
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &perf->plan.host; return 0;
	case KEY_JSON: perf->json = true; return 0;
	case KEY_JOB: perf->file_path = arg; return 0;
	case KEY_CPUS: parse_cpus(&perf->plan, arg, state); return 0;
	case KEY_HISTOGRAM: perf->histogram = true; return 0;
	case KEY_SVG: perf->svg = arg; return 0;
	case KEY_CONGESTION: perf->plan.congestion = arg; return 0;
	case KEY_INTERVAL:
		perf->plan.interval_ns = option_number_of(state, "--interval", arg, 1, 86400) * UINT64_C(1000000000);
		return 0;
	case ARGP_KEY_ARG:
		if (!perf_job_add_uri(&perf->job, arg, why))
			argp_error(state, "'%s': %s", arg, why);
		return 0;
	case ARGP_KEY_END:
		check_all(perf, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "URI...\n--job FILE",
	"Loads namespaces (nvme+tcp://HOST:PORT/SUBNQN?ns=1) and prints what it measured.\n"
	"Anything but read and randread OVERWRITES them.", host_options_child, NULL, NULL,
};

/* 0, or -1 after having said what is wrong with it. */
static int
read_file(struct perf *perf)
{
	struct conf_errors errors;
	size_t bytes;
	char *text;
	int error = config_text(perf->file_path, &text, &bytes);

	if (error != 0)
		return -1;
	error = perf_file_parse(&perf->arena, text, bytes, &perf->file, &errors);
	free(text);
	if (error != 0)
		config_complain(config_say, perf->file_path, &errors, error);
	perf->plan.jobs = perf->file.jobs;
	perf->plan.after = perf->file.after;
	perf->plan.job_count = perf->file.job_count;
	return error != 0 ? -1 : 0;
}

static void
on_interval(void *arg, double seconds, const struct perf_result *since)
{
	perf_report_interval(((const struct perf *)arg)->json, seconds, since);
}

/* ---- the picture ---- */

static int
no_picture(const struct perf *perf)
{
	fprintf(stderr, "weir perf: %s: %s\n", perf->svg, strerror(errno));
	return -1;
}

/* Before something is measured in vain; what is there stays until there is something better.  0, or -1 after having
 * said why. */
static int
open_picture(struct perf *perf)
{
	int fd;

	perf->picture_is_new = access(perf->svg, F_OK) != 0;
	fd = open(perf->svg, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	perf->picture = fd >= 0 ? fdopen(fd, "w") : NULL;
	return perf->picture != NULL ? 0 : no_picture(perf);
}

static bool
is_file(FILE *file)
{
	struct stat st;

	return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
}

/* 0, or -1 after having said why it could not be written. */
static int
draw(struct perf *perf, const struct perf_result *total)
{
	time_t now = time(NULL);
	struct tm parts;
	char date[32] = "";
	int rc = is_file(perf->picture) ? ftruncate(fileno(perf->picture), 0) : 0;

	if (localtime_r(&now, &parts) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S %z", &parts);
	plot_svg(perf->picture, &(struct plot){ perf->command, date, &total->read.hist, &total->write.hist });
	if (fflush(perf->picture) != 0)
		rc = -1;
	perf->picture_is_new = false;
	return rc == 0 ? 0 : no_picture(perf);
}

/* One that nothing came of is not left behind empty. */
static void
close_picture(const struct perf *perf)
{
	fclose(perf->picture);
	if (perf->picture_is_new)
		(void)unlink(perf->svg);
}

/* ---- all of it ---- */

static int
run(struct perf *perf, struct perf_outcome *outcomes, struct perf_result *total)
{
	const struct perf_plan *plan = &perf->plan;
	bool ran = false, failed = perf_run(plan, outcomes) != 0;

	perf_result_init(total);
	for (unsigned i = 0; i < plan->job_count; i++) {
		ran |= outcomes[i].ran;
		for (unsigned uri = 0; outcomes[i].ran && uri < plan->jobs[i].uri_count; uri++)
			perf_result_add(total, &outcomes[i].uris[uri]);
	}
	if (!ran)
		return EXIT_FAILED;
	if (perf->json)
		perf_report_json(plan, outcomes, total);
	else
		perf_report_table(plan, outcomes, total);
	if (perf->histogram && !perf->json) {
		plot_bars(stdout, "read", &total->read.hist);
		plot_bars(stdout, "write", &total->write.hist);
	}
	if (perf->picture != NULL && draw(perf, total) != 0)
		failed = true;
	return !failed && !total->stopped && total->errors == 0 && total->wrong == 0 ? EXIT_OK : EXIT_FAILED;
}

static int
run_all(struct perf *perf)
{
	struct perf_outcome *outcomes = calloc(perf->plan.job_count, sizeof(*outcomes));
	struct perf_result *total = calloc(1, sizeof(*total));
	int code = EXIT_FAILED;

	if (outcomes != NULL && total != NULL) {
		code = run(perf, outcomes, total);
		perf_outcomes_free(outcomes, perf->plan.job_count);
	}
	free(outcomes);
	free(total);
	return code;
}

int
cmd_perf(int argc, char **argv)
{
	static const int none = -1;
	struct perf perf = { .plan.progress = isatty(STDERR_FILENO) };
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	perf_job_init(&perf.job);
	host_options_init(&perf.plan.host, 1);
	for (int i = 0, at = 0; i < argc && at < (int)sizeof(perf.command); i++)
		at += snprintf(perf.command + at, sizeof(perf.command) - (size_t)at, "%s%s", i > 0 ? " " : "",
		    argv[i]);
	if (!options_parse(&argp, argc, argv, &perf))
		return EXIT_USAGE;
	perf.plan.jobs = &perf.job;
	perf.plan.after = &none;
	perf.plan.job_count = 1;
	perf.plan.interval = on_interval;
	perf.plan.interval_arg = &perf;
	perf.plan.progress &= perf.plan.interval_ns == 0;
	arena_init(&perf.arena, 0);
	if ((perf.file_path == NULL || read_file(&perf) == 0) && (perf.svg == NULL || open_picture(&perf) == 0))
		code = run_all(&perf);
	if (perf.picture != NULL)
		close_picture(&perf);
	arena_drop(&perf.arena);
	return code;
}
