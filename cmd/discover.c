/*
 * discover.c - `weir discover`: which subsystems there are, and by which addresses.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "find.h"
#include "table.h"

#define DEFAULT_SERVICE "nvme+tcp://127.0.0.1"

enum { REFERRALS_MAX = 8 };

struct discover_options {
	struct host_options host;
	struct place_named place;
	unsigned referrals;
	bool watch, json;
};

enum key { KEY_REFERRALS = 1000, KEY_WATCH, KEY_JSON };

static const struct argp_option list[] = {
	{ "referrals", KEY_REFERRALS, "DEPTH", 0, "how deep to follow to other discovery services (default 1; 0: not)",
	    0 },
	{ "watch", KEY_WATCH, NULL, 0, "stay, and say what comes and goes", 0 },
	{ "json", KEY_JSON, NULL, 0, "print JSON; with --watch an object per line", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct discover_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case KEY_REFERRALS:
		options->referrals = (unsigned)option_number_of(state, "--referrals", arg, 0, REFERRALS_MAX);
		return 0;
	case KEY_WATCH: options->watch = true; return 0;
	case KEY_JSON: options->json = true; return 0;
	case ARGP_KEY_ARG:
		if (options->place.text != NULL)
			argp_error(state, "one discovery service, please; what is '%s'?", arg);
		find_parse(state, arg, &options->place);
		return 0;
	case ARGP_KEY_END:
		if (options->place.text == NULL)
			find_parse(state, DEFAULT_SERVICE, &options->place);
		if (options->place.uri.subnqn[0] != '\0')
			argp_error(state, "'%s' is a subsystem: `weir list` says what is in it", options->place.text);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	list, parse, "[URI|HOST[:PORT]]",
	"Says which subsystems a discovery service knows, nvme+tcp://HOST:PORT or HOST[:PORT], by default the one on "
	    "this "
	"machine. Where no port is said 8009 is tried, and then 4420.", host_options_child, NULL, NULL,
};

/* ---- an entry ---- */

static const char *
kind(const struct weir_discovered *entry)
{
	switch (entry->subtype) {
	case WEIR_SUBTYPE_REFERRAL: return "referral";
	case WEIR_SUBTYPE_NVM: return "subsystem";
	case WEIR_SUBTYPE_CURRENT_DISCOVERY: return "discovery";
	default: return "unknown";
	}
}

/* tcp, tcp+tls1.3 */
static void
transport(const struct weir_discovered *entry, char text[32])
{
	bool secure = entry->transport == WEIR_TRANSPORT_TCP && entry->sectype != 0;

	snprintf(text, 32, "%s%s%s", weir_transport_name(entry->transport), secure ? "+" : "",
	    secure ? weir_sectype_name(entry->sectype) : "");
}

static void
address(const struct weir_discovered *entry, char text[320])
{
	bool brackets = strchr(entry->address, ':') != NULL && entry->transport == WEIR_TRANSPORT_TCP;

	snprintf(text, 320, "%s%s%s%s%s", brackets ? "[" : "", entry->address, brackets ? "]" : "",
	    entry->service[0] != '\0' ? ":" : "", entry->service);
}

/* Others take it as it stands: it says again who asks, where that was said.  0: there is none. */
static size_t
entry_uri(const struct discover_options *options, const struct weir_discovered *entry, char text[HOST_URI_TEXT])
{
	size_t length = weir_discovered_uri(entry, text, HOST_URI_TEXT);
	struct weir_uri uri;

	if (length == 0 || options->place.uri.hostnqn[0] == '\0' || weir_uri_parse(text, &uri) < 0)
		return length;
	memcpy(uri.hostnqn, options->place.uri.hostnqn, sizeof(uri.hostnqn));
	return weir_uri_format(&uri, text, HOST_URI_TEXT);
}

static struct json_object *
json_entry(const struct discover_options *options, const struct weir_discovered *entry)
{
	struct json_object *object = json_object_new_object();
	char uri[HOST_URI_TEXT], how[32];

	transport(entry, how);
	json_object_object_add(object, "kind", json_object_new_string(kind(entry)));
	json_object_object_add(object, "transport", json_object_new_string(how));
	json_object_object_add(object, "address", json_object_new_string(entry->address));
	json_object_object_add(object, "service", json_object_new_string(entry->service));
	json_object_object_add(object, "subnqn", json_object_new_string(entry->subnqn));
	json_object_object_add(object, "uri", entry_uri(options, entry, uri) > 0 ?
	    json_object_new_string(uri) : NULL);
	json_object_object_add(object, "port_id", json_object_new_int(entry->portid));
	json_object_object_add(object, "controller_id", json_object_new_int(entry->cntlid));
	json_object_object_add(object, "treq", json_object_new_int(entry->treq));
	json_object_object_add(object, "sectype", json_object_new_int(entry->sectype));
	json_object_object_add(object, "eflags", json_object_new_int(entry->eflags));
	json_object_object_add(object, "level", json_object_new_int((int)entry->level));
	return object;
}

static void
put_json(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}

static void
print_json(const struct discover_options *options, const struct weir_discovery *discovery)
{
	struct json_object *object = json_object_new_object(), *entries = json_object_new_array();

	for (unsigned i = 0; i < discovery->count; i++)
		json_object_array_add(entries, json_entry(options, &discovery->entries[i]));
	json_object_object_add(object, "generation", json_object_new_uint64(discovery->generation));
	json_object_object_add(object, "entries", entries);
	put_json(object);
}

/* What cannot be connected to from here has no URI: its name stands there. */
static void
shown_uri(const struct discover_options *options, const struct weir_discovered *entry, char text[HOST_URI_TEXT])
{
	if (entry_uri(options, entry, text) == 0)
		snprintf(text, HOST_URI_TEXT, "(%s)", entry->subnqn);
}

static int
print_table(const struct discover_options *options, const struct weir_discovery *discovery)
{
	static const char *const heads[] = { "KIND", "TRANSPORT", "ADDRESS", "URI" };
	struct table table;

	table_init(&table, heads, 4);
	for (unsigned i = 0; i < discovery->count; i++) {
		const struct weir_discovered *entry = &discovery->entries[i];
		char uri[HOST_URI_TEXT], where[320], how[32];

		shown_uri(options, entry, uri);
		address(entry, where);
		transport(entry, how);
		table_add(&table, "%*s%s", (int)entry->level * 2, "", kind(entry));
		table_add(&table, "%s", how);
		table_add(&table, "%s", where);
		table_add(&table, "%s", uri);
	}
	return table_end(&table, stdout);
}

/* To more than the service that was asked, which lists itself. */
static bool
leads_somewhere(const struct weir_discovery *discovery)
{
	for (unsigned i = 0; i < discovery->count; i++)
		if (discovery->entries[i].subtype != WEIR_SUBTYPE_CURRENT_DISCOVERY)
			return true;
	return false;
}

static const char *
asker(const struct discover_options *options, const struct weir_host *host)
{
	return options->place.uri.hostnqn[0] != '\0' ? options->place.uri.hostnqn : weir_host_nqn(host);
}

static int
print(const struct discover_options *options, struct weir_host *host, const struct weir_discovery *discovery)
{
	if (options->json) {
		print_json(options, discovery);
		return EXIT_OK;
	}
	if (!leads_somewhere(discovery))
		fprintf(stderr, "weir: it knows no subsystem that this host, %s, may use\n", asker(options, host));
	if (discovery->count == 0)
		return EXIT_OK;
	if (print_table(options, discovery) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "weir: %u entries could not be printed\n", discovery->count);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* ---- watching ---- */

/* Between the library's thread and ours: the newest that was heard of. */
struct mailbox {
	pthread_mutex_t lock;
	struct weir_discovery newest;
	bool full; /* it has not been taken */
};

static int
copy_discovery(const struct weir_discovery *from, struct weir_discovery *to)
{
	*to = *from;
	to->entries = malloc((from->count + 1) * sizeof(*to->entries));
	if (to->entries == NULL)
		return -ENOMEM;
	if (from->count > 0)
		memcpy(to->entries, from->entries, from->count * sizeof(*to->entries));
	return 0;
}

/* The main thread waits for this signal as for those that end it. */
static void
heard(void *arg, const struct weir_discovery *discovery)
{
	struct mailbox *box = arg;
	struct weir_discovery copy;

	if (copy_discovery(discovery, &copy) < 0) {
		fprintf(stderr, "weir: no memory for what has changed\n");
		return;
	}
	pthread_mutex_lock(&box->lock);
	if (box->full)
		free(box->newest.entries);
	box->newest = copy;
	box->full = true;
	pthread_mutex_unlock(&box->lock);
	kill(getpid(), SIGUSR1);
}

static bool
take(struct mailbox *box, struct weir_discovery *discovery)
{
	bool full;

	pthread_mutex_lock(&box->lock);
	full = box->full;
	*discovery = box->newest;
	box->full = false;
	pthread_mutex_unlock(&box->lock);
	return full;
}

static bool
is_same(const struct weir_discovered *one, const struct weir_discovered *other)
{
	return one->transport == other->transport && one->subtype == other->subtype && one->portid == other->portid &&
	    one->cntlid == other->cntlid && one->level == other->level &&
	    strcmp(one->address, other->address) == 0 && strcmp(one->service, other->service) == 0 &&
	    strcmp(one->subnqn, other->subnqn) == 0;
}

static bool
has(const struct weir_discovery *discovery, const struct weir_discovered *entry)
{
	for (unsigned i = 0; i < discovery->count; i++)
		if (is_same(&discovery->entries[i], entry))
			return true;
	return false;
}

static void
print_change(const struct discover_options *options, bool added, const struct weir_discovered *entry)
{
	time_t now = time(NULL);
	char when[32], uri[HOST_URI_TEXT];
	struct tm tm;

	if (options->json) {
		struct json_object *object = json_object_new_object();

		json_object_object_add(object, "event", json_object_new_string(added ? "added" : "removed"));
		json_object_object_add(object, "entry", json_entry(options, entry));
		put_json(object);
		return;
	}
	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now, &tm));
	shown_uri(options, entry, uri);
	printf("%s %c %s %s\n", when, added ? '+' : '-', kind(entry), uri);
	fflush(stdout);
}

static void
print_changes(const struct discover_options *options, const struct weir_discovery *before,
    const struct weir_discovery *now)
{
	for (unsigned i = 0; i < before->count; i++)
		if (!has(now, &before->entries[i]))
			print_change(options, false, &before->entries[i]);
	for (unsigned i = 0; i < now->count; i++)
		if (!has(before, &now->entries[i]))
			print_change(options, true, &now->entries[i]);
}

/* What other services know is not watched. */
static void
forget_referred(struct weir_discovery *discovery)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < discovery->count; i++)
		if (discovery->entries[i].level == 0)
			discovery->entries[kept++] = discovery->entries[i];
	discovery->count = kept;
}

/* Until a signal says to end.  `seen` is what has been printed. */
static void
follow(const struct discover_options *options, struct mailbox *box, struct weir_discovery *seen,
    const sigset_t *signals)
{
	int sig;

	while (sigwait(signals, &sig) == 0 && sig == SIGUSR1) {
		struct weir_discovery now;

		if (!take(box, &now))
			continue;
		print_changes(options, seen, &now);
		weir_discovery_free(seen);
		*seen = now;
	}
}

static int
watch(const struct discover_options *options, struct weir_host *host, struct weir_discovery *seen)
{
	struct weir_discovery_options how = find_options(&options->host, options->referrals);
	struct mailbox box = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct weir_discovery_watch *handle;
	char text[HOST_URI_TEXT];
	sigset_t signals;
	int rc;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	weir_uri_format(&options->place.uri, text, sizeof(text));
	rc = weir_discovery_watch(host, text, &how, heard, &box, &handle);
	if (rc < 0) {
		host_complain("", rc);
		return EXIT_FAILED;
	}
	forget_referred(seen);
	follow(options, &box, seen, &signals);
	weir_discovery_unwatch(handle);
	/* timeout(1) sends its signal to us and to our group.  One that is left pending can keep the leak checker of a
	 * build with sanitizers from ever ending. */
	while (sigtimedwait(&signals, NULL, &(struct timespec){ 0, 0 }) > 0)
		;
	if (box.full)
		free(box.newest.entries);
	return EXIT_OK;
}

int
cmd_discover(int argc, char **argv)
{
	struct discover_options options = { .referrals = 1 };
	struct weir_discovery discovery;
	struct weir_host *host;
	int code = EXIT_FAILED;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	host = host_start(&options.host);
	if (host == NULL)
		return EXIT_FAILED;
	if (find_discover(host, &options.host, &options.place, options.referrals, &discovery) == 0) {
		code = print(&options, host, &discovery);
		if (options.watch && code == EXIT_OK)
			code = watch(&options, host, &discovery);
		weir_discovery_free(&discovery);
	}
	weir_host_destroy(host);
	return code;
}
