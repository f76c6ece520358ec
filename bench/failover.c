/*
 * failover.c - weir-failover: I/O that goes on while paths are cut, looked at by who does it.
 *
 *     weir-failover [OPTION=VALUE...] URI
 *
 * A user of libweir as others are: `queues` threads have a queue each, `depth`
 * I/Os in flight on it, and one more thread has `probes` queues with one I/O in
 * flight, all slept for by their descriptors.
 *
 * Says what happens as lines of JSON, with CLOCK_MONOTONIC in ns.  A line on its
 * standard input asks how it goes; the end of it ends the load: everything is
 * read back by another queue, and the last line is the account.
 */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failover_load.h"

static struct {
	unsigned queues, depth, probes;
} shape = { 4, 8, 16 };
static struct load loads[QUEUES_MAX];
static struct weir_namespace ns;
static int notes;

/* ---- the library's events ---- */

static void
on_event(void *arg, const struct weir_event *event)
{
	static const char *const kinds[] = {
		"path_up", "path_lost", "all_lost", "given_up", "ana", "namespace", "health",
	};

	note(kinds[event->kind], clock_ns(), 0, (int)event->path, event->why != NULL ? event->why : "");
}

static void
on_log(void *arg, enum weir_log_level level, const char *text)
{
	note("log", clock_ns(), 0, -1, text);
}

/* ---- what is said ---- */

static void
quote(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text >= ' ')
			putchar(*text);
	putchar('"');
}

static void
say(const struct note *it)
{
	printf("{\"event\": \"%s\", \"ns\": %" PRIu64 ", \"since_ns\": %" PRIu64 ", \"path\": %d, \"text\": ",
	    it->kind, it->ns, it->since_ns, it->path);
	quote(it->text);
	printf("}\n");
	fflush(stdout);
}

static void
say_noted(void)
{
	struct note it;

	while (read(notes, &it, sizeof(it)) == sizeof(it))
		say(&it);
}

/* The longest I/O is that since it was asked for last. */
static void
say_so_far(void)
{
	say_noted();
	printf("{\"event\": \"so_far\", \"ns\": %" PRIu64 ", \"ios\": %" PRIu64 ", \"longest_ms\": %.3f}\n", clock_ns(),
	    load_ios_done(), (double)load_longest_ns() / 1e6);
	fflush(stdout);
}

static void
say_paths(const struct weir_subsys *subsys)
{
	static const char *const states[] = { "connecting", "live", "waiting" };
	struct weir_path_info paths[WEIR_PATHS_MAX];
	unsigned count = weir_subsys_paths(subsys, paths, WEIR_PATHS_MAX);

	printf("\"paths\": [");
	for (unsigned i = 0; i < count; i++) {
		printf("%s{\"state\": \"%s\", \"cntlid\": %u, \"fences\": %s, \"associations\": %u, \"losses\": %u, ",
		    i == 0 ? "" : ", ", states[paths[i].state], paths[i].cntlid, paths[i].fences ? "true" : "false",
		    paths[i].associations, paths[i].losses);
		printf("\"why\": ");
		quote(paths[i].why);
		printf("}");
	}
	printf("]");
}

/* Until the standard input ends. */
static void
attend(void)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = notes, .events = POLLIN } };
	char line[64];

	for (;;) {
		(void)poll(fds, 2, -1);
		say_noted();
		if (fds[0].revents == 0)
			continue;
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return;
		say_so_far();
	}
}

/* ---- the account ---- */

static void
account(struct weir_subsys *subsys, unsigned count)
{
	struct load sum = { .error = 0 };
	uint64_t resent = 0;

	for (unsigned i = 0; i < count; i++) {
		struct weir_queue_stats stats;

		weir_queue_stats(loads[i].queue, &stats);
		resent += stats.resent;
		sum.submitted += loads[i].submitted;
		sum.done += loads[i].done;
		sum.failed += loads[i].failed;
		sum.doubled += loads[i].doubled;
		sum.wrong += loads[i].wrong;
		sum.error = loads[i].error != 0 ? loads[i].error : sum.error;
	}
	sum.wrong += load_read_back(subsys, loads, count);
	say_noted();
	printf("{\"event\": \"account\", \"ios\": %" PRIu64 ", \"resent\": %" PRIu64 ", \"lost\": %" PRIu64
	    ", \"doubled\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"error\": ",
	    sum.done, resent, sum.submitted - sum.done, sum.doubled, sum.wrong, sum.failed);
	quote(sum.error != 0 ? strerror(-sum.error) : "");
	printf(", ");
	say_paths(subsys);
	printf("}\n");
	fflush(stdout);
}

/* ---- options ---- */

static void
take_option(struct weir_subsys_options *options, const char *text)
{
	const struct { const char *name; uint32_t *number; bool *flag; } known[] = {
		{ "queues", &shape.queues, NULL }, { "depth", &shape.depth, NULL },
		{ "probes", &shape.probes, NULL }, { "plain", NULL, &options->plain },
		{ "hdgst", NULL, &options->hdgst }, { "ddgst", NULL, &options->ddgst },
		{ "kato", &options->kato_ms, NULL }, { "connect", &options->connect_ms, NULL },
		{ "io-timeout", &options->io_timeout_ms, NULL }, { "reconnect", &options->reconnect_ms, NULL },
		{ "reconnect-max", &options->reconnect_max_ms, NULL }, { "loss", &options->loss_ms, NULL },
		{ "fence-margin", &options->fence_margin_ms, NULL },
	};
	size_t length = strcspn(text, "=");
	uint32_t value = text[length] != '\0' ? (uint32_t)strtoul(text + length + 1, NULL, 10) : 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) != length || strncmp(known[i].name, text, length) != 0)
			continue;
		if (known[i].number != NULL)
			*known[i].number = value;
		else
			*known[i].flag = value != 0;
		return;
	}
	errx(2, "there is no option %s", text);
}

static struct weir_subsys *
connect_to(struct weir_host *host, const char *uri, const struct weir_subsys_options *options)
{
	struct weir_subsys *subsys;
	struct weir_uri parsed;

	if (weir_uri_parse(uri, &parsed) != 0 || weir_subsys_connect(host, uri, options, &subsys) != 0)
		errx(1, "%s", weir_error());
	if (weir_subsys_namespace(subsys, parsed.nsid, &ns) != 0)
		errx(1, "%s", weir_error());
	return subsys;
}

int
main(int argc, char **argv)
{
	struct weir_host_options host_options = WEIR_OPTIONS(weir_host_options);
	struct weir_subsys_options options = WEIR_OPTIONS(weir_subsys_options);
	struct load_thread threads[QUEUES_MAX];
	struct weir_subsys *subsys;
	struct weir_host *host;
	unsigned count, thread_count = 0;

	if (argc < 2)
		errx(2, "usage: weir-failover [OPTION=VALUE...] URI");
	for (int i = 1; i < argc - 1; i++)
		take_option(&options, argv[i]);
	count = shape.queues + shape.probes;
	if (count == 0 || count > QUEUES_MAX || shape.depth == 0 || shape.depth > DEPTH_MAX)
		errx(2, "1 to %d queues and probes, of a depth from 1 to %d", QUEUES_MAX, DEPTH_MAX);
	notes = notes_open();
	host_options.queues_max = count + 1;
	host_options.log = on_log;
	options.queues = (uint16_t)(count + 1);
	options.event = on_event;
	if (weir_host_create(&host_options, &host) != 0)
		errx(1, "%s", weir_error());
	subsys = connect_to(host, argv[argc - 1], &options);
	for (unsigned i = 0; i < count; i++)
		load_prepare(&loads[i], subsys, &ns, i, i < shape.queues ? shape.depth : 1, i >= shape.queues);
	printf("{\"event\": \"ready\", ");
	say_paths(subsys);
	printf("}\n");
	fflush(stdout);
	for (unsigned i = 0; i < shape.queues; i++)
		load_start(&threads[thread_count++], &loads[i], 1);
	if (shape.probes > 0)
		load_start(&threads[thread_count++], &loads[shape.queues], shape.probes);
	attend();
	load_stop(threads, thread_count);
	account(subsys, count);
	for (unsigned i = 0; i < count; i++)
		load_close(&loads[i]);
	weir_subsys_disconnect(subsys);
	weir_host_destroy(host);
	return 0;
}
