/*
 * ceiling.c - weir-ceiling: options, signals, clocks and reports.
 *
 * One program for both ends of the ceiling, the idle connections and the probe
 * of the distance between two processors; bench/README.md says what for.
 */
#include "ceiling.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

/* What signal handlers may touch. */
static volatile sig_atomic_t report_flag, stop_flag;

static const char *const engine_names[] = { [ENGINE_POLL] = "poll", [ENGINE_EPOLL] = "epoll",
	[ENGINE_URING] = "uring" };
static const char *const rw_names[] = { [RW_READ] = "read", [RW_WRITE] = "write" };
static const char *const copy_names[] = { [COPY_MEMCPY] = "memcpy", [COPY_NT] = "nt" };

static const char usage[] =
"Usage: weir-ceiling server [--listen ADDR:PORT] [--size BYTES] [--io-size BYTES]\n"
"                           [--copy memcpy|nt] [--spin-us N] [common]\n"
"       weir-ceiling client --connect ADDR:PORT [--subnqn NQN] [--rw read|write]\n"
"                           [--io-size BYTES] [--connections N] [--qd N] [--queue-size N]\n"
"                           [--time S] [--warm-up S] [--count N] [--seed N] [--sequential]\n"
"                           [--pattern] [--hdgst] [--ddgst] [--flow-control] [common]\n"
"       weir-ceiling idle --connect ADDR:PORT [--connections N] [--queue-size N]\n"
"       weir-ceiling probe --cpus A,B\n"
"       weir-ceiling awake --cpus A,B\n"
"Common: --engine poll|epoll|uring --cpu N --congestion NAME\n"
"Counters are printed as one JSON line at the end, and by a server at SIGUSR1.\n";

void
die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("weir-ceiling: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void
on_signal(int number)
{
	if (number == SIGUSR1)
		report_flag = 1;
	else
		stop_flag = 1;
}

static void
catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

bool
report_wanted(void)
{
	if (!report_flag)
		return false;
	report_flag = 0;
	return true;
}

bool
stop_wanted(void)
{
	return stop_flag;
}

void
pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("processor %d: %s", cpu, strerror(errno));
}

void
socket_prepare(int fd, const struct options *options)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (options->congestion != NULL && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
	    (socklen_t)strlen(options->congestion)) != 0)
		die("congestion control %s: %s", options->congestion, strerror(errno));
}

static uint64_t
clock_of(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t
clock_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

uint64_t
cpu_clock_ns(void)
{
	return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Measured over 20 ms at the first call: good to some 1e-5. */
double
tsc_per_ns(void)
{
	static double ratio;
	uint64_t begin_ns = clock_ns(), begin_tsc = tsc(), end_ns;

	if (ratio > 0)
		return ratio;
	do {
		end_ns = clock_ns();
	} while (end_ns - begin_ns < 20000000);
	ratio = (double)(tsc() - begin_tsc) / (double)(end_ns - begin_ns);
	return ratio;
}

void
report_begin(const char *role, const struct options *options, const struct counters *counters,
    uint64_t elapsed_ns, uint64_t cpu_ns)
{
	uint64_t ios = counters->reads + counters->writes;

	printf("{\"role\":\"%s\",\"engine\":\"%s\",\"elapsed_ns\":%llu,\"cpu_ns\":%llu,\"ios\":%llu,\"reads\":%llu,"
	    "\"writes\":%llu,\"turns\":%llu,\"busy_turns\":%llu,\"busy_ns\":%.0f,\"syscalls\":%llu,\"sends\":%llu,"
	    "\"batch\":%.2f",
	    role, engine_names[options->engine], (unsigned long long)elapsed_ns,
	    (unsigned long long)cpu_ns, (unsigned long long)ios,
	    (unsigned long long)counters->reads, (unsigned long long)counters->writes,
	    (unsigned long long)counters->turns, (unsigned long long)counters->busy_turns,
	    (double)counters->busy_tsc / tsc_per_ns(), (unsigned long long)counters->syscalls,
	    (unsigned long long)counters->sends,
	    counters->sends > 0 ? (double)ios / (double)counters->sends : 0);
}

/* ---- options ---- */

enum {
	OPT_LISTEN = 256, OPT_CONNECT, OPT_SUBNQN, OPT_ENGINE, OPT_CPU, OPT_CPUS, OPT_CONGESTION, OPT_SIZE,
	OPT_IO_SIZE, OPT_COPY, OPT_SPIN, OPT_RW, OPT_CONNECTIONS, OPT_QD, OPT_QUEUE_SIZE, OPT_TIME, OPT_WARM_UP,
	OPT_COUNT, OPT_SEED, OPT_SEQUENTIAL, OPT_PATTERN, OPT_HDGST, OPT_DDGST, OPT_FLOW_CONTROL,
};

static const struct option names[] = {
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "connect", required_argument, NULL, OPT_CONNECT },
	{ "subnqn", required_argument, NULL, OPT_SUBNQN },
	{ "engine", required_argument, NULL, OPT_ENGINE },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "congestion", required_argument, NULL, OPT_CONGESTION },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "io-size", required_argument, NULL, OPT_IO_SIZE },
	{ "copy", required_argument, NULL, OPT_COPY },
	{ "spin-us", required_argument, NULL, OPT_SPIN },
	{ "rw", required_argument, NULL, OPT_RW },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "qd", required_argument, NULL, OPT_QD },
	{ "queue-size", required_argument, NULL, OPT_QUEUE_SIZE },
	{ "time", required_argument, NULL, OPT_TIME },
	{ "warm-up", required_argument, NULL, OPT_WARM_UP },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "sequential", no_argument, NULL, OPT_SEQUENTIAL },
	{ "pattern", no_argument, NULL, OPT_PATTERN },
	{ "hdgst", no_argument, NULL, OPT_HDGST },
	{ "ddgst", no_argument, NULL, OPT_DDGST },
	{ "flow-control", no_argument, NULL, OPT_FLOW_CONTROL },
	{ NULL, 0, NULL, 0 },
};

static uint64_t
number(const char *name, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text || *text == '-' || value < min || value > max)
		die("--%s %s: not a number from %llu to %llu", name, text, (unsigned long long)min,
		    (unsigned long long)max);
	return value;
}

static uint64_t
nanoseconds(const char *name, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end != '\0' || end == text || !(seconds >= 0 && seconds < 1e6))
		die("--%s %s: not a number of seconds", name, text);
	return (uint64_t)(seconds * 1e9);
}

static unsigned
choice(const char *name, const char *text, const char *const *of, size_t count)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(of[i], text) == 0)
			return i;
	}
	die("--%s %s: not known", name, text);
}

static void
address(struct options *options, const char *name, char *text)
{
	char *colon = strrchr(text, ':');

	if (colon == NULL)
		die("--%s %s: not ADDR:PORT", name, text);
	*colon = '\0';
	options->host = text;
	options->port = (uint16_t)number(name, colon + 1, 0, UINT16_MAX);
}

static void
processors(struct options *options, const char *name, char *text)
{
	char *comma = strchr(text, ',');

	if (comma == NULL)
		die("--%s %s: not A,B", name, text);
	*comma = '\0';
	options->cpu = (int)number(name, text, 0, CPU_SETSIZE - 1);
	options->other_cpu = (int)number(name, comma + 1, 0, CPU_SETSIZE - 1);
}

static void
parse_one(struct options *options, int option, const char *name, char *arg)
{
	switch (option) {
	case OPT_LISTEN: case OPT_CONNECT: address(options, name, arg); break;
	case OPT_SUBNQN: options->subnqn = arg; break;
	case OPT_ENGINE: options->engine = choice(name, arg, engine_names, 3); break;
	case OPT_CPU: options->cpu = (int)number(name, arg, 0, CPU_SETSIZE - 1); break;
	case OPT_CPUS: processors(options, name, arg); break;
	case OPT_CONGESTION: options->congestion = arg; break;
	case OPT_SIZE: options->size = number(name, arg, 1 << 20, UINT64_C(1) << 40); break;
	case OPT_IO_SIZE: options->io_size = (uint32_t)number(name, arg, BLOCK, 1 << 20); break;
	case OPT_COPY: options->copy = choice(name, arg, copy_names, 2); break;
	case OPT_SPIN: options->spin_ns = number(name, arg, 0, 1000000000) * 1000; break;
	case OPT_RW: options->rw = choice(name, arg, rw_names, 2); break;
	case OPT_CONNECTIONS: options->connections = (uint32_t)number(name, arg, 1, LINKS_MAX); break;
	case OPT_QD: options->depth = (uint32_t)number(name, arg, 1, DEPTH_MAX); break;
	case OPT_QUEUE_SIZE: options->queue_size = (uint32_t)number(name, arg, 2, 1024); break;
	case OPT_TIME: options->time_ns = nanoseconds(name, arg); break;
	case OPT_WARM_UP: options->warm_up_ns = nanoseconds(name, arg); break;
	case OPT_COUNT: options->count = number(name, arg, 1, UINT64_MAX); break;
	case OPT_SEED: options->seed = number(name, arg, 1, UINT64_MAX); break;
	case OPT_SEQUENTIAL: options->sequential = true; break;
	case OPT_PATTERN: options->pattern = true; break;
	case OPT_HDGST: options->hdgst = true; break;
	case OPT_DDGST: options->ddgst = true; break;
	case OPT_FLOW_CONTROL: options->flow_control = true; break;
	default: die("see weir-ceiling --help");
	}
}

static void
parse(struct options *options, int argc, char **argv)
{
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "", names, &index)) != -1)
		parse_one(options, option, option == '?' ? "" : names[index].name, optarg);
	if (optind < argc)
		die("'%s' is not an option; see weir-ceiling --help", argv[optind]);
	if ((options->io_size & (options->io_size - 1)) != 0 || (options->size & (options->size - 1)) != 0)
		die("sizes are powers of two");
	if (options->rw == RW_WRITE && options->io_size != BLOCK)
		die("writes are of %d bytes", BLOCK);
	/* A queue holds one command less than its entries while SQ flow control is on. */
	if (options->queue_size <= options->depth)
		options->queue_size = options->depth + 1;
}

static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const struct options *);
	} modes[] = {
		{ "server", server_run }, { "client", client_run }, { "idle", idle_run }, { "probe", probe_run },
		{ "awake", awake_run },
	};
	struct options options = {
		.host = "127.0.0.1", .subnqn = "nqn.2026-11.local.weir:default", .cpu = -1, .other_cpu = -1,
		.size = 1 << 30, .io_size = BLOCK, .connections = 1, .depth = 1, .time_ns = 2000000000,
		.warm_up_ns = 100000000, .seed = 1,
	};

	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		fputs(usage, argc < 2 ? stderr : stdout);
		return argc < 2;
	}
	/* A server sleeps when it is alone; a client always spins. */
	options.spin_ns = strcmp(argv[1], "server") == 0 ? 200 * 1000 : UINT64_C(1) << 40;
	parse(&options, argc - 1, argv + 1);
	raise_file_limit();
	catch_signals();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0)
			return modes[i].run(&options);
	}
	die("'%s' is not a mode; see weir-ceiling --help", argv[1]);
}
