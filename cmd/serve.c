/*
 * serve.c - `weir serve`: the target over the kernel's world.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "control.h"
#include "rt/rt.h"
#include "serve.h"
#include "sys/clock.h"

enum { STOP_NS = 900 * 1000 * 1000 };

enum key {
	KEY_LISTEN = 1000, KEY_NS, KEY_BLOCK_SIZE, KEY_SUBNQN, KEY_REACTORS, KEY_CPUS, KEY_FILES, KEY_SOCKETS,
	KEY_DATA_DIR, KEY_STATE_DIR, KEY_CONFIG, KEY_CONTROL, KEY_STATS, KEY_EXPLAIN, KEY_HANDSHAKE, KEY_STALL,
	KEY_CONNECTIONS, KEY_CONGESTION,
};

struct serve {
	struct served told;     /* by options that a configuration says too */
	const char *told_first; /* the first of these options; NULL: none was given */
	const char *config;     /* the file */
	const char *data_dir;
	bool stats, explain;
	struct rt_options rt_options;
	int cpus[RT_REACTORS_MAX];
	char default_spec[512];

	struct rt *rt;
	struct arena arena;
	struct serving serving;
	struct control control;
	struct timer stop_limit;
	uint64_t stop_count;
};

/* ---- options ---- */

static const struct argp_option options[] = {
	{ "listen", KEY_LISTEN, "ADDR:PORT", 0,
	    "listen here (default 127.0.0.1:4420; port 0: any free one); may be repeated", 0 },
	{ "ns", KEY_NS, "SPEC", 0,
	    "a namespace: mem:SIZE, null:SIZE, file:PATH[,size=SIZE], fault:FAULTS@SPEC, volatile:OPTIONS@SPEC; "
	    "may be repeated", 0 },
	{ "config", KEY_CONFIG, "FILE", 0, "serve what this file says, weir.yaml(5); read again at SIGHUP", 0 },
	{ "control", KEY_CONTROL, "PATH", 0,
	    "the socket of weir apply and weir diff (default, with --config: see weir-apply(1)); none: no socket", 0 },
	{ "block-size", KEY_BLOCK_SIZE, "BYTES", 0, "512 or 4096 (default)", 0 },
	{ "subnqn", KEY_SUBNQN, "NQN", 0, "the subsystem's name (default " DEFAULT_SUBNQN ")", 0 },
	{ "data-dir", KEY_DATA_DIR, "DIR", 0, "where the default volume lies when no --ns is given", 0 },
	{ "state-dir", KEY_STATE_DIR, "DIR", 0, "what must outlive a restart, e.g. reservations (default: nowhere)", 0 },
	{ "reactors", KEY_REACTORS, "N", 0, "threads that serve (default 1)", 0 },
	{ "cpus", KEY_CPUS, "LIST", 0, "pin the threads to these processors, e.g. 0,2-5", 0 },
	{ "sockets", KEY_SOCKETS, "ENGINE", 0,
	    "how several sockets are read and written at once: auto, uring or calls", 0 },
	{ "files", KEY_FILES, "ENGINE", 0, "how files are read and written: auto, uring or threads", 0 },
	{ "handshake-timeout", KEY_HANDSHAKE, "MS", 0, "from accept to Connect (default 10000)", 0 },
	{ "stall-timeout", KEY_STALL, "MS", 0, "a transfer without progress (default 30000)", 0 },
	{ "max-connections", KEY_CONNECTIONS, "N", 0, "refuse more (default 4096)", 0 },
	{ "tcp-congestion", KEY_CONGESTION, "NAME", 0,
	    "congestion control of the connections (default: the system's)", 0 },
	{ "stats", KEY_STATS, NULL, 0, "print counters as JSON at SIGUSR1 and at the end", 0 },
	{ "explain-memory", KEY_EXPLAIN, NULL, 0, "print what memory this configuration takes, and exit", 0 },
	{ 0 },
};

static error_t
parse_listen(struct serve *serve, const char *arg, struct argp_state *state)
{
	struct target_listen *listen = &serve->told.listen[serve->told.listen_count];

	if (serve->told.listen_count == TARGET_LISTENERS_MAX)
		argp_error(state, "more than %d --listen", TARGET_LISTENERS_MAX);
	listen->port = DEFAULT_PORT;
	if (!option_address(arg, listen->host, sizeof(listen->host), &listen->port))
		argp_error(state, "--listen '%s': not an ADDR:PORT", arg);
	serve->told.listen_count++;
	return 0;
}

/* Which of the words it is; an option takes no others. */
static unsigned
parse_word(const char *option, const char *const words[3], const char *arg, struct argp_state *state)
{
	for (unsigned i = 0; i < 3; i++)
		if (strcmp(arg, words[i]) == 0)
			return i;
	argp_error(state, "%s '%s': %s, %s or %s", option, arg, words[0], words[1], words[2]);
	return 0;
}

static const char *const files_words[] = {
	[RT_FILES_AUTO] = "auto", [RT_FILES_URING] = "uring", [RT_FILES_THREADS] = "threads",
};
static const char *const sockets_words[] = {
	[RT_MOVES_AUTO] = "auto", [RT_MOVES_URING] = "uring", [RT_MOVES_CALLS] = "calls",
};

/* Options that say what a configuration would say. */
static error_t
parse_told(int key, char *arg, struct serve *serve, struct argp_state *state)
{
	struct served *told = &serve->told;

	switch (key) {
	case KEY_LISTEN:
		return parse_listen(serve, arg, state);
	case KEY_NS:
		if (told->spec_count == SERVED_SPECS_MAX)
			argp_error(state, "more than %d --ns", SERVED_SPECS_MAX);
		told->specs[told->spec_count++] = arg;
		return 0;
	case KEY_BLOCK_SIZE:
		if (strcmp(arg, "512") != 0 && strcmp(arg, "4096") != 0)
			argp_error(state, "--block-size '%s': 512 or 4096", arg);
		told->block_size = arg[0] == '5' ? 512 : 4096;
		return 0;
	case KEY_SUBNQN:
		told->subnqn = arg;
		return 0;
	case KEY_HANDSHAKE:
		told->handshake_ms = (uint32_t)option_number_of(state, "--handshake-timeout", arg, 1, 3600000);
		return 0;
	case KEY_STALL:
		told->stall_ms = (uint32_t)option_number_of(state, "--stall-timeout", arg, 1, 3600000);
		return 0;
	case KEY_CONNECTIONS:
		told->connections_max = (uint32_t)option_number_of(state, "--max-connections", arg, 1, 1000000);
		return 0;
	case KEY_DATA_DIR:
		serve->data_dir = arg;
		return 0;
	case KEY_STATE_DIR:
		told->state_dir = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *
option_name(int key)
{
	for (const struct argp_option *option = options; option->name != NULL; option++)
		if (option->key == key)
			return option->name;
	return NULL;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct serve *serve = state->input;

	switch (key) {
	case KEY_LISTEN:
	case KEY_NS:
	case KEY_BLOCK_SIZE:
	case KEY_SUBNQN:
	case KEY_HANDSHAKE:
	case KEY_STALL:
	case KEY_CONNECTIONS:
	case KEY_DATA_DIR:
	case KEY_STATE_DIR:
		if (serve->told_first == NULL)
			serve->told_first = option_name(key);
		return parse_told(key, arg, serve, state);
	case KEY_CONFIG:
		serve->config = arg;
		return 0;
	case KEY_CONTROL:
		serve->control.path = arg;
		return 0;
	case ARGP_KEY_END:
		if (serve->config != NULL && serve->told_first != NULL)
			argp_error(state, "--%s and --config: the file says that", serve->told_first);
		return 0;
	case KEY_REACTORS:
		serve->rt_options.reactors = (unsigned)option_number_of(state, "--reactors", arg, 1, 64);
		return 0;
	case KEY_CPUS:
		if (!option_cpus(arg, serve->cpus, RT_REACTORS_MAX, &serve->rt_options.cpu_count))
			argp_error(state, "--cpus '%s': not a list like 0,2-5", arg);
		serve->rt_options.cpus = serve->cpus;
		return 0;
	case KEY_FILES:
		serve->rt_options.files = parse_word("--files", files_words, arg, state);
		return 0;
	case KEY_SOCKETS:
		serve->rt_options.moves = parse_word("--sockets", sockets_words, arg, state);
		return 0;
	case KEY_CONGESTION:
		serve->rt_options.sockets.congestion = arg;
		return 0;
	case KEY_STATS:
		serve->stats = true;
		return 0;
	case KEY_EXPLAIN:
		serve->explain = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "what is '%s'?", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, NULL,
	"Serves volumes as NVMe/TCP subsystems until SIGTERM or SIGINT.", NULL, NULL, NULL,
};

/* ---- statistics ---- */

static void
print_stats(void *owner, const struct target_stats *sum)
{
	(void)owner;
	printf("{\"now_ns\":%" PRIu64 ",\"turns\":%" PRIu64 ",\"busy_turns\":%" PRIu64 ",\"busy_ns\":%" PRIu64
	    ",\"syscalls\":%" PRIu64 ",\"reads\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"connections\":%" PRIu64 "}\n",
	    clock_now_ns(), sum->turns, sum->busy_turns, sum->busy_ns, sum->syscalls, sum->reads, sum->writes,
	    sum->connections);
	fflush(stdout);
}

/* ---- volumes ---- */

static int
make_dir(const char *dir)
{
	char path[512];

	if (strlen(dir) >= sizeof(path))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%s", dir);
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

static int
default_volume(struct serve *serve)
{
	char dir[200];
	const char *base;
	int rc;

	if (serve->data_dir != NULL)
		snprintf(dir, sizeof(dir), "%s", serve->data_dir);
	else if ((base = getenv("XDG_DATA_HOME")) != NULL && base[0] == '/')
		snprintf(dir, sizeof(dir), "%s/weir", base);
	else if ((base = getenv("HOME")) != NULL && base[0] == '/')
		snprintf(dir, sizeof(dir), "%s/.local/share/weir", base);
	else
		snprintf(dir, sizeof(dir), "/var/lib/weir");
	rc = serve->data_dir != NULL && strlen(serve->data_dir) >= sizeof(dir) ? -ENAMETOOLONG : make_dir(dir);
	if (rc != 0) {
		fprintf(stderr, "weir: cannot make the data directory %s: %s\n", dir, strerror(-rc));
		return rc;
	}
	snprintf(serve->default_spec, sizeof(serve->default_spec), "file:%s/volume.img,size=1G", dir);
	serve->told.specs[serve->told.spec_count++] = serve->default_spec;
	return 0;
}

static int
make_state_dir(const char *dir)
{
	static const char *const folders[] = { "reservations", "events" };
	char path[512];
	int rc = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && dir != NULL && rc == 0; i++) {
		rc = -ENAMETOOLONG;
		if (snprintf(path, sizeof(path), "%s/%s", dir, folders[i]) < (int)sizeof(path))
			rc = make_dir(path);
	}
	if (rc != 0)
		fprintf(stderr, "weir: cannot make the state directory %s: %s\n", dir, strerror(-rc));
	return rc;
}

/* What is served first: as the file says, or the options. */
static int
configure(struct serve *serve, struct configured *first)
{
	struct served *told = &serve->told;

	if (serve->config == NULL) {
		if (listen_inherit(told->listen, &told->listen_count, &serve->rt_options) != 0)
			return -EINVAL;
		listen_by_default(told->listen, &told->listen_count);
		if (told->spec_count == 0 && default_volume(serve) != 0)
			return -EINVAL;
		if (served_conf(told, first) != 0)
			return -EINVAL;
	} else if (config_read(&first->arena, serve->config, &first->conf) != 0 ||
	    listen_inherit_conf(first->conf, &serve->rt_options) != 0) {
		return -EINVAL;
	}
	return make_state_dir(first->conf->state_dir);
}

/* ---- life ---- */

static void
drained(void *owner)
{
	rt_stop(((struct serve *)owner)->rt);
}

/* Everything that was promised to a host is on its way or on the disk: nothing is lost by leaving at once. */
static void
leave_now(void)
{
	fflush(stdout);
	_exit(EXIT_OK);
}

static void
stop_expired(struct timer *timer)
{
	(void)timer;
	fprintf(stderr, "weir: a volume did not finish its I/O in time; leaving it\n");
	leave_now();
}

static void
stop_begin(struct serve *serve, struct reactor *reactor)
{
	serve->stop_limit.fire = stop_expired;
	timer_set(&reactor->timers, &serve->stop_limit, reactor->now_ns + STOP_NS);
	control_stop(&serve->control);
	target_drain(serve->serving.target, drained, serve);
}

static void
on_signal(struct reactor *reactor, int signal)
{
	struct serve *serve = rt_owner(rt_of(reactor));

	if (signal == SIGUSR1) {
		if (serve->stats)
			target_ask_stats(serve->serving.target, print_stats, serve);
	} else if (signal == SIGHUP) {
		control_reload(&serve->control, serve->config);
	} else if (signal == SIGTERM || signal == SIGINT) {
		if (serve->stop_count++ == 0)
			stop_begin(serve, reactor);
		else
			leave_now(); /* asked twice */
	}
}

static void
warn_open(const struct serve *serve, const struct target_listen *listen)
{
	const struct conf *conf = serve->serving.now->conf;

	if (strncmp(listen->host, "127.", 4) == 0 || strcmp(listen->host, "::1") == 0)
		return;
	for (uint32_t i = 0; i < conf->subsys_count; i++) {
		if (conf->subsys[i].any_host) {
			fprintf(stderr, "weir: warning: %s is reachable from the network, and every host is allowed\n",
			    listen->host);
			return;
		}
	}
}

static int
start(struct serve *serve, struct configured *first)
{
	char why[256];
	int rc = serving_make(&serve->serving, rt_reactor(serve->rt, 0), &serve->arena, first, why);
	struct target *target = serve->serving.target;

	for (unsigned i = serve->rt_options.reactors; rc == 0 && i-- > 0;)
		rc = target_start(target, rt_reactor(serve->rt, i), why);
	if (rc == 0)
		rc = control_begin(&serve->control, &serve->serving, serve->config != NULL, why);
	if (rc != 0) {
		fprintf(stderr, "weir: %s\n", why);
		return rc;
	}
	for (uint32_t i = 0; i < first->conf->listener_count; i++) {
		const struct target_listen *listen = target_bound(target, i);

		warn_open(serve, listen);
		printf(strchr(listen->host, ':') != NULL ? "weir: listening on [%s]:%u\n" :
		    "weir: listening on %s:%u\n", listen->host, listen->port);
	}
	puts("weir: ready");
	if (fflush(stdout) == 0)
		return 0;
	/* Who waits for that line would wait for ever. */
	rc = -errno;
	fprintf(stderr, "weir: cannot write to standard output: %s\n", strerror(-rc));
	return rc;
}

static void
stop(struct serve *serve)
{
	control_end(&serve->control);
	if (serve->serving.target != NULL)
		for (unsigned i = 0; i < serve->rt_options.reactors; i++)
			target_fini(serve->serving.target, rt_reactor(serve->rt, i));
	serving_end(&serve->serving);
	rt_destroy(serve->rt);
	arena_drop(&serve->arena);
}

static int
run(struct serve *serve, struct configured *first)
{
	int rc = rt_create(&serve->rt, &serve->rt_options);

	if (rc != 0) {
		fprintf(stderr, "weir: cannot start%s: %s\n", serve->rt_options.files == RT_FILES_URING ||
		    serve->rt_options.moves == RT_MOVES_URING ? " with io_uring, as was asked" : "", strerror(-rc));
		configured_drop(first);
		return rc;
	}
	rc = start(serve, first);
	if (rc == 0) {
		rc = rt_run(serve->rt);
		if (rc != 0)
			fprintf(stderr, "weir: cannot run: %s\n", strerror(-rc));
		if (serve->stats) {
			struct target_stats sum;

			target_stats(serve->serving.target, &sum);
			print_stats(serve, &sum);
		}
	}
	stop(serve);
	return rc;
}

/* Connections and files that may be open at once: as many as the system lets us, and a word where that is too few. */
static void
raise_files(const struct conf *conf)
{
	uint64_t need = 64 + conf->connections_max;
	struct rlimit limit;

	for (uint32_t i = 0; i < conf->subsys_count; i++)
		need += 3 * (uint64_t)(conf->subsys[i].ns_count + conf->subsys[i].pool_count);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < need)
		fprintf(stderr, "weir: warning: %" PRIu64 " connections and files may be needed, and %" PRIu64
		    " are allowed (ulimit -n)\n", need, (uint64_t)limit.rlim_cur);
}

int
cmd_serve(int argc, char **argv)
{
	struct serve serve = {
		.told = { .block_size = 4096, .subnqn = DEFAULT_SUBNQN },
		.rt_options = rt_options_default(),
	};
	struct configured *first;

	argv[0] = (char *)"weir serve";
	serve.rt_options.reactor = (struct reactor_options){ SERVE_SMALL_BUFS, SERVE_LARGE_BUFS };
	serve.rt_options.on_signal = on_signal;
	serve.rt_options.owner = &serve;
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &serve) != 0)
		return EXIT_USAGE;
	if (serve.explain) {
		explain_memory(serve.rt_options.reactors, serve.told.spec_count > 0 ? serve.told.spec_count : 1);
		return EXIT_OK;
	}
	first = configured_make();
	if (first == NULL || configure(&serve, first) != 0) {
		configured_drop(first);
		return EXIT_FAILED;
	}
	raise_files(first->conf);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails its writes, not us */
	arena_init(&serve.arena, 0);
	return run(&serve, first) == 0 ? EXIT_OK : EXIT_FAILED;
}
