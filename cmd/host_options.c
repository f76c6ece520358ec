#include "host_options.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nqn.h"
#include "base/size.h"
#include "base/uuid.h"
#include "cmd.h"

enum { DAY_MS = 86400000, DURATION = 32 };

enum key {
	KEY_HOSTNQN = 2000, KEY_HOSTID, KEY_HDGST, KEY_DDGST, KEY_FLOW, KEY_POLICY, KEY_KATO, KEY_CONNECT, KEY_TIMEOUT,
	KEY_LOSS, KEY_VERBOSE,
};

static const struct argp_option list[] = {
	{ NULL, 0, NULL, 0, "How to connect:", 10 },
	{ "hostnqn", KEY_HOSTNQN, "NQN", 0, "who we say we are (default: this machine's, /etc/nvme/hostnqn)", 10 },
	{ "hostid", KEY_HOSTID, "UUID", 0, "the same as a number", 10 },
	{ "hdgst", KEY_HDGST, NULL, 0, "header digests", 10 },
	{ "ddgst", KEY_DDGST, NULL, 0, "data digests", 10 },
	{ "flow-control", KEY_FLOW, NULL, 0, "SQ flow control: every read has a completion", 10 },
	{ "path-policy", KEY_POLICY, "KIND", 0, "of several good paths: round-robin (default) or queue-depth", 10 },
	{ "kato", KEY_KATO, "TIME", 0, "keep-alive time (default 5s)", 10 },
	{ "connect-timeout", KEY_CONNECT, "TIME", 0, "how long to try (default 10s)", 10 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0, "after which an I/O without an answer is aborted (default 30s)", 10 },
	{ "loss-time", KEY_LOSS, "TIME", 0, "how long to wait when all paths are lost, or `forever' (default 60s)",
	    10 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "say what happens to connections", 10 },
	{ 0 },
};

/* Seconds, with up to three digits behind the point, or as many of what stands behind: ms, s, m or h. */
static bool
duration(const char *text, uint64_t *ms)
{
	static const struct { const char *name; uint64_t ms; } units[] = {
		{ "", 1000 }, { "s", 1000 }, { "ms", 1 }, { "m", 60000 }, { "h", 3600000 },
	};
	uint64_t whole = 0, part = 0, scale = 1;

	if (*text != '.' && (!number_parse(&text, &whole) || whole > UINT32_MAX))
		return false;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++) {
			if (scale == 1000)
				return false;
			part = part * 10 + (uint64_t)(*text - '0');
			scale *= 10;
		}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		*ms = whole * units[i].ms + part * units[i].ms / scale;
		return true;
	}
	return false;
}

/* "24h": in the largest unit that it is a whole number of. */
static void
duration_say(uint64_t ms, char text[DURATION])
{
	if (ms % 3600000 == 0 && ms > 0)
		snprintf(text, DURATION, "%" PRIu64 "h", ms / 3600000);
	else if (ms % 60000 == 0 && ms > 0)
		snprintf(text, DURATION, "%" PRIu64 "m", ms / 60000);
	else if (ms % 1000 == 0)
		snprintf(text, DURATION, "%" PRIu64 "s", ms / 1000);
	else
		snprintf(text, DURATION, "%" PRIu64 "ms", ms);
}

uint64_t
option_duration_of(struct argp_state *state, const char *option, const char *arg, uint64_t min, uint64_t max)
{
	char least[DURATION], most[DURATION];
	uint64_t ms = 0;

	if (!duration(arg, &ms))
		argp_error(state, "%s '%s': not a time like 200ms, 5s, 10m, 24h or 0.5", option, arg);
	duration_say(min, least);
	duration_say(max, most);
	if (ms < min || ms > max)
		argp_error(state, "%s '%s': it must be from %s to %s", option, arg, least, most);
	return ms;
}

uint64_t
option_size_of(struct argp_state *state, const char *option, const char *arg, uint64_t min)
{
	uint64_t bytes = 0;

	if (!size_parse(arg, &bytes) || bytes < min)
		argp_error(state, "%s '%s': not a size like 4k or 1G", option, arg);
	return bytes;
}

void
option_uri_of(struct argp_state *state, const char *arg, struct weir_uri *uri)
{
	char text[HOST_URI_TEXT];

	if (snprintf(text, sizeof(text), "%s%s", strstr(arg, "://") == NULL ? "nvme+tcp://" : "", arg) >=
	    (int)sizeof(text))
		argp_error(state, "a URI of more than %d bytes", HOST_URI_TEXT - 1);
	if (weir_uri_parse(text, uri) < 0)
		argp_error(state, "'%s': %s", arg, weir_error());
}

void
option_subsys_of(struct argp_state *state, const char *arg, struct weir_uri *uri)
{
	option_uri_of(state, arg, uri);
	if (uri->subnqn[0] == '\0')
		argp_error(state, "'%s' names no subsystem: `weir discover` says which there are", arg);
}

static void
parse_policy(struct host_options *host, const char *arg, struct argp_state *state)
{
	if (strcmp(arg, "round-robin") == 0)
		host->subsys.policy = WEIR_ROUND_ROBIN;
	else if (strcmp(arg, "queue-depth") == 0)
		host->subsys.policy = WEIR_QUEUE_DEPTH;
	else
		argp_error(state, "--path-policy '%s': round-robin or queue-depth", arg);
}

static const char *
nqn_of(struct argp_state *state, const char *arg)
{
	if (!nqn_usable(arg, strlen(arg)))
		argp_error(state, "--hostnqn '%s': not a name, which is 1 to 223 bytes without a space", arg);
	return arg;
}

static const char *
uuid_of(struct argp_state *state, const char *arg)
{
	uint8_t id[UUID_BYTES];

	if (!uuid_parse(arg, id))
		argp_error(state, "--hostid '%s': not a UUID like 5a8d7a60-9b1c-4a43-8e8f-6f1f2f0e7a11", arg);
	return arg;
}

static uint32_t
time_of(struct argp_state *state, const char *option, const char *arg, uint64_t min)
{
	return (uint32_t)option_duration_of(state, option, arg, min, DAY_MS);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct host_options *host = state->input;

	host->given = host->given || (key >= KEY_HOSTNQN && key <= KEY_VERBOSE);
	switch (key) {
	case KEY_HOSTNQN: host->hostnqn = nqn_of(state, arg); return 0;
	case KEY_HOSTID: host->hostid = uuid_of(state, arg); return 0;
	case KEY_HDGST: host->subsys.hdgst = true; return 0;
	case KEY_DDGST: host->subsys.ddgst = true; return 0;
	case KEY_FLOW: host->subsys.sq_flow = true; return 0;
	case KEY_POLICY: parse_policy(host, arg, state); return 0;
	case KEY_KATO: host->subsys.kato_ms = time_of(state, "--kato", arg, 100); return 0;
	case KEY_CONNECT: host->subsys.connect_ms = time_of(state, "--connect-timeout", arg, 100); return 0;
	case KEY_TIMEOUT: host->subsys.io_timeout_ms = time_of(state, "--timeout", arg, 100); return 0;
	case KEY_LOSS:
		host->subsys.loss_ms = strcmp(arg, "forever") == 0 ? UINT32_MAX : time_of(state, "--loss-time", arg, 1);
		return 0;
	case KEY_VERBOSE: host->verbose = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp host_options_argp = { list, parse, NULL, NULL, NULL, NULL, NULL };

const struct argp_child host_options_child[] = { { &host_options_argp, 0, NULL, 10 }, { NULL, 0, NULL, 0 } };

void
host_options_init(struct host_options *options, uint16_t queues)
{
	*options = (struct host_options) { .subsys = { .size = sizeof(options->subsys), .queues = queues } };
}

/* A bar that may stand on this line makes room. */
static void
say(void *arg, enum weir_log_level level, const char *text)
{
	const struct host_options *options = arg;

	if (options->verbose || (level < WEIR_LOG_INFO && !flag_is_set(&options->own_words)))
		fprintf(stderr, "%sweir: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", text);
}

/* What a person can do about it; "": nothing that we knew. */
static const char *
help(int error)
{
	switch (-error) {
	case ECONNREFUSED: return "is a target running there? `weir discover HOST` says what is served";
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH: return "is the address right, and does a firewall let its port through?";
	case ENODEV: return "`weir list URI`, without ?ns=, says which namespaces there are";
	default: return "";
	}
}

void
host_complain(const char *what, int error)
{
	const char *why = weir_error(), *hint = help(error);

	fprintf(stderr, "weir: %s%s%s\n", what, what[0] != '\0' ? ": " : "", why[0] != '\0' ? why : strerror(-error));
	if (hint[0] != '\0')
		fprintf(stderr, "weir: %s\n", hint);
}

/* Signals are for the thread that calls: it may be waiting for them. */
struct weir_host *
host_start(const struct host_options *options)
{
	struct weir_host_options host_options = {
		.size = sizeof(host_options), .queues_max = 2, .hostnqn = options->hostnqn, .hostid = options->hostid,
		.log = say, .log_arg = (void *)(uintptr_t)options,
	};
	struct weir_host *host;
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = weir_host_create(&host_options, &host);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return host;
	host_complain("", rc);
	return NULL;
}

struct weir_subsys *
host_reach(struct weir_host *host, const struct host_options *options, const struct weir_uri *uri)
{
	char text[HOST_URI_TEXT];
	struct weir_subsys *subsys;
	int rc;

	weir_uri_format(uri, text, sizeof(text));
	rc = weir_subsys_connect(host, text, &options->subsys, &subsys);
	if (rc == 0)
		return subsys;
	host_complain("", rc);
	if (rc == -ECONNREFUSED)
		fprintf(stderr, "weir: and may this host use it? It is %s\n",
		    uri->hostnqn[0] != '\0' ? uri->hostnqn : weir_host_nqn(host));
	return NULL;
}
