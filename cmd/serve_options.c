/*
 * serve_options.c - what does the command line of `weir serve` say?
 *
 * Each word is checked by itself; whether it can be done is found out later (serve.c).
 */
#include <argp.h>
#include <string.h>

#include "base/size.h"
#include "cmd.h"
#include "serve.h"

enum key {
	KEY_LISTEN = 1000, KEY_NS, KEY_BLOCK_SIZE, KEY_SUBNQN, KEY_REACTORS, KEY_CPUS, KEY_FILES, KEY_SOCKETS,
	KEY_DATA_DIR, KEY_STATE_DIR, KEY_CONFIG, KEY_CONTROL, KEY_STATS, KEY_EXPLAIN, KEY_HANDSHAKE, KEY_STALL,
	KEY_CONNECTIONS, KEY_CONGESTION, KEY_STOP, KEY_ORDER_LOG,
};

enum { STOP_MS = 900 };

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
	{ "state-dir", KEY_STATE_DIR, "DIR", 0,
	    "what must outlive a restart, e.g. reservations (default: nowhere)", 0 },
	{ "order-log", KEY_ORDER_LOG, "PLACE", 0,
	    "offer ordered writes; their log is file:PATH[,slots=N], memory: or persistent: (default: none)", 0 },
	{ "reactors", KEY_REACTORS, "N", 0, "threads that serve (default 1)", 0 },
	{ "cpus", KEY_CPUS, "LIST", 0, "pin the threads to these processors, e.g. 0,2-5", 0 },
	{ "sockets", KEY_SOCKETS, "ENGINE", 0,
	    "how several sockets are read and written at once: auto, uring or calls", 0 },
	{ "files", KEY_FILES, "ENGINE", 0, "how files are read and written: auto, uring or threads", 0 },
	{ "handshake-timeout", KEY_HANDSHAKE, "MS", 0, "from accept to Connect (default 10000)", 0 },
	{ "stall-timeout", KEY_STALL, "MS", 0, "a transfer without progress (default 30000)", 0 },
	{ "stop-timeout", KEY_STOP, "MS", 0, "for I/O that was begun, when it is told to end (default 900)", 0 },
	{ "max-connections", KEY_CONNECTIONS, "N", 0, "refuse more (default 4096)", 0 },
	{ "tcp-congestion", KEY_CONGESTION, "NAME", 0,
	    "congestion control of the connections (default: the system's)", 0 },
	{ "stats", KEY_STATS, NULL, 0, "print counters as JSON at SIGUSR1 and at the end", 0 },
	{ "explain-memory", KEY_EXPLAIN, NULL, 0, "print what memory this configuration takes, and exit", 0 },
	{ 0 },
};

/* Of the path a comma may be a part. */
static void
parse_order_log(struct served *told, const char *arg, struct argp_state *state)
{
	const char *slots = strstr(arg, ",slots="), *path;
	enum conf_order_kind kind;
	uint64_t count = 0;

	path = conf_order_path(arg, &kind);
	if (path == NULL || path[0] == '\0')
		argp_error(state, "--order-log '%s': file:, memory: or persistent:, and PATH[,slots=N]", arg);
	if (slots != NULL && (!size_parse(slots + strlen(",slots="), &count) || !conf_order_slots(count)))
		argp_error(state, "--order-log '%s': slots are a power of two, 1024 to 16M", arg);
	told->order_slots = (uint32_t)count;
	told->order_log = arg;
	told->order_log_length = slots != NULL ? (size_t)(slots - arg) : strlen(arg);
}

static error_t
parse_listen(struct serve_options *said, const char *arg, struct argp_state *state)
{
	struct target_listen *listen = &said->told.listen[said->told.listen_count];

	if (said->told.listen_count == TARGET_LISTENERS_MAX)
		argp_error(state, "more than %d --listen", TARGET_LISTENERS_MAX);
	listen->port = DEFAULT_PORT;
	if (!option_address(arg, listen->host, sizeof(listen->host), &listen->port))
		argp_error(state, "--listen '%s': not an ADDR:PORT", arg);
	said->told.listen_count++;
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
parse_told(int key, char *arg, struct serve_options *said, struct argp_state *state)
{
	struct served *told = &said->told;

	switch (key) {
	case KEY_LISTEN:
		return parse_listen(said, arg, state);
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
		said->data_dir = arg;
		return 0;
	case KEY_STATE_DIR:
		told->state_dir = arg;
		return 0;
	case KEY_ORDER_LOG:
		parse_order_log(told, arg, state);
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
	struct serve_options *said = state->input;
	int missing;

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
	case KEY_ORDER_LOG:
		if (said->told_first == NULL)
			said->told_first = option_name(key);
		return parse_told(key, arg, said, state);
	case KEY_CONFIG:
		said->config = arg;
		return 0;
	case KEY_CONTROL:
		said->control = arg;
		return 0;
	case ARGP_KEY_END:
		if (said->config != NULL && said->told_first != NULL)
			argp_error(state, "--%s and --config: the file says that", said->told_first);
		return 0;
	case KEY_REACTORS:
		said->rt.reactors = (unsigned)option_number_of(state, "--reactors", arg, 1, 64);
		return 0;
	case KEY_CPUS:
		if (!option_cpus(arg, said->cpus, RT_REACTORS_MAX, &said->rt.cpu_count))
			argp_error(state, "--cpus '%s': not a list like 0,2-5", arg);
		missing = option_cpu_missing(said->cpus, said->rt.cpu_count);
		if (missing >= 0)
			argp_error(state, "--cpus '%s': there is no processor %d for this process", arg, missing);
		said->rt.cpus = said->cpus;
		return 0;
	case KEY_FILES:
		said->rt.files = parse_word("--files", files_words, arg, state);
		return 0;
	case KEY_SOCKETS:
		said->rt.moves = parse_word("--sockets", sockets_words, arg, state);
		return 0;
	case KEY_CONGESTION:
		said->rt.sockets.congestion = arg;
		return 0;
	case KEY_STOP:
		said->stop_ms = (uint32_t)option_number_of(state, "--stop-timeout", arg, 1, 3600000);
		return 0;
	case KEY_STATS:
		said->stats = true;
		return 0;
	case KEY_EXPLAIN:
		said->explain = true;
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

int
serve_options_parse(int argc, char **argv, struct serve_options *said)
{
	*said = (struct serve_options){
		.told = { .block_size = 4096, .subnqn = DEFAULT_SUBNQN }, .rt = rt_options_default(),
		.stop_ms = STOP_MS,
	};
	argp_err_exit_status = EXIT_USAGE;
	return options_parse(&argp, argc, argv, said) ? 0 : EXIT_USAGE;
}
