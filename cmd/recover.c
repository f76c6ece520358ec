/*
 * recover.c - `weir recover`: ends by hand what a host that is gone has left of its streams of ordered writes.
 *
 * Which groups are there only all targets of a stream know together: if one of them does not answer, none is touched.
 * How a stream is recovered the library knows (weir/ordered.h).
 */
#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "host_options.h"
#include "table.h"

enum { STREAMS = 65536, WHY = HOST_URI_TEXT + 128 };

static_assert(WEIR_MEMBERS_MAX <= 64, "a bit of each target");

struct recover_target {
	struct weir_uri uri;
	char text[HOST_URI_TEXT]; /* it, with all that was left out */
	struct weir_subsys *subsys;
};

/* What was written in place after the last group of the stream at hand. */
struct lefts {
	struct weir_left *left;
	size_t count, room;
	bool short_of_memory;
};

struct recover {
	struct host_options host;
	struct recover_target targets[WEIR_MEMBERS_MAX];
	unsigned count;
	bool wanted[STREAMS], any_wanted; /* --stream */
	bool force, forget, list, json;
	uint64_t known[STREAMS];          /* who knows of each: a bit of each target */
	uint16_t numbers[STREAMS];        /* of one target */
	struct lefts lefts;
	struct json_object *streams;      /* what was said of each */
	struct table table;               /* --list */
	bool failed;
};

enum key { KEY_STREAM = 1000, KEY_FORCE, KEY_FORGET, KEY_LIST, KEY_JSON };

static const struct argp_option argp_options[] = {
	{ "stream", KEY_STREAM, "N", 0, "this one; may be said again (default: all of this host that any target knows)",
	    0 },
	{ "force", KEY_FORCE, NULL, 0, "go on with a stream of which a target has lost entries, or knows nothing", 0 },
	{ "forget", KEY_FORGET, NULL, 0, "and have the targets forget them: nobody will go on with them", 0 },
	{ "list", KEY_LIST, NULL, 0, "only say which streams there are, and change nothing", 0 },
	{ "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
	{ 0 },
};

static void
parse_target(struct recover *recover, const char *arg, struct argp_state *state)
{
	struct recover_target *target = &recover->targets[recover->count];

	if (recover->count == WEIR_MEMBERS_MAX)
		argp_error(state, "%d at most", WEIR_MEMBERS_MAX);
	option_subsys_of(state, arg, &target->uri);
	if (target->uri.nsid != 0)
		argp_error(state, "'%s': a stream is of all namespaces of a subsystem; leave out ?ns=", arg);
	weir_uri_format(&target->uri, target->text, sizeof(target->text));
	for (unsigned i = 0; i < recover->count; i++)
		if (strcmp(recover->targets[i].text, target->text) == 0)
			argp_error(state, "'%s' is named twice", arg);
	recover->count++;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct recover *recover = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &recover->host; return 0;
	case KEY_STREAM:
		recover->wanted[option_number_of(state, "--stream", arg, 0, STREAMS - 1)] = true;
		recover->any_wanted = true;
		return 0;
	case KEY_FORCE: recover->force = true; return 0;
	case KEY_FORGET: recover->forget = true; return 0;
	case KEY_LIST: recover->list = true; return 0;
	case KEY_JSON: recover->json = true; return 0;
	case ARGP_KEY_ARG: parse_target(recover, arg, state); return 0;
	case ARGP_KEY_END:
		if (recover->count == 0)
			argp_error(state, "where? nvme+tcp://HOST:PORT/SUBNQN, of each target that the streams were "
			    "written to");
		if (recover->list && recover->force)
			argp_error(state, "--list changes nothing: there is nothing to --force");
		if (recover->list && recover->forget)
			argp_error(state, "--list changes nothing: say --forget without it");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options, parse, "URI...",
	"Recovers streams of ordered writes of a host that is gone. Say all targets that they were written to, each "
	"once, nvme+tcp://HOST:PORT/SUBNQN, and the name of that host.", host_options_child, NULL, NULL,
};

/* ---- which streams there are ---- */

/* False: it has been said why. */
static bool
ask(struct recover *recover, unsigned index, struct weir_host *host)
{
	struct recover_target *target = &recover->targets[index];
	int count;

	target->subsys = host_reach(host, &recover->host, &target->uri);
	if (target->subsys == NULL)
		return false;
	count = weir_ordered_streams(target->subsys, recover->numbers, STREAMS);
	for (int i = 0; i < count; i++)
		recover->known[recover->numbers[i]] |= UINT64_C(1) << index;
	if (count == -EOPNOTSUPP)
		fprintf(stderr, "weir: %s: it has no log of ordered writes\n", target->text);
	else if (count < 0)
		host_complain(target->text, count);
	return count >= 0;
}

/* Each is asked, so that all that is wrong is said; whether all have answered. */
static bool
ask_all(struct recover *recover, struct weir_host *host)
{
	bool all = true;

	for (unsigned i = 0; i < recover->count; i++)
		all = ask(recover, i, host) && all;
	return all;
}

/* ---- what is said of a stream ---- */

/* For JSON: an object of it, which stays the list's. */
static struct json_object *
add_object(struct recover *recover, unsigned stream)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "stream", json_object_new_int((int)stream));
	json_object_array_add(recover->streams, object);
	return object;
}

/* `hint` says what can be done about it; NULL: nothing that we knew. */
static struct json_object *
say_failed(struct recover *recover, unsigned stream, const char *why, const char *hint)
{
	struct json_object *object = add_object(recover, stream);

	json_object_object_add(object, "error", json_object_new_string(why));
	fprintf(stderr, "weir: stream %u: %s\n", stream, why);
	if (hint != NULL)
		fprintf(stderr, "weir: %s\n", hint);
	recover->failed = true;
	return object;
}

static const char *
name_of(const struct recover *recover, const struct weir_subsys *subsys)
{
	unsigned i = 0;

	while (recover->targets[i].subsys != subsys)
		i++;
	return recover->targets[i].text;
}

static void
add_lefts(const struct recover *recover, struct json_object *object)
{
	struct json_object *in_place = json_object_new_array();

	for (size_t i = 0; i < recover->lefts.count; i++) {
		const struct weir_left *left = &recover->lefts.left[i];
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "target", json_object_new_string(name_of(recover, left->subsys)));
		json_object_object_add(one, "nsid", json_object_new_uint64(left->nsid));
		json_object_object_add(one, "lba", json_object_new_uint64(left->lba));
		json_object_object_add(one, "blocks", json_object_new_uint64(left->blocks));
		json_object_array_add(in_place, one);
	}
	json_object_object_add(object, "in_place", in_place);
}

static void
add_recovered(struct recover *recover, unsigned stream, uint32_t last)
{
	struct json_object *object = add_object(recover, stream);

	json_object_object_add(object, "last", json_object_new_uint64(last));
	add_lefts(recover, object);
}

static void
print_lefts(const struct recover *recover)
{
	for (size_t i = 0; i < recover->lefts.count; i++) {
		const struct weir_left *left = &recover->lefts.left[i];

		printf("  %s nsid %" PRIu32 ", LBA %" PRIu64 ", %" PRIu32 " block%s\n", name_of(recover, left->subsys),
		    left->nsid, left->lba, left->blocks, left->blocks != 1 ? "s" : "");
	}
	fflush(stdout);
}

static void
print_recovered(const struct recover *recover, unsigned stream, uint32_t last)
{
	size_t count = recover->lefts.count;

	if (recover->json)
		return;
	printf("stream %u%s: ", stream, recover->forget ? ", now forgotten" : "");
	if (last == 0)
		printf("none of its groups is there");
	else
		printf("all is there up to group %" PRIu32, last);
	if (count > 0)
		printf("; %zu later write%s in place may have been done, or in part, or not:", count,
		    count > 1 ? "s" : "");
	putchar('\n');
	print_lefts(recover);
}

/* ---- a stream ---- */

static void
take_left(void *arg, const struct weir_left *left)
{
	struct lefts *lefts = arg;

	if (lefts->count == lefts->room) {
		size_t room = lefts->room > 0 ? lefts->room * 2 : 64;
		struct weir_left *more = reallocarray(lefts->left, room, sizeof(*more));

		if (more == NULL) {
			lefts->short_of_memory = true;
			return;
		}
		lefts->left = more;
		lefts->room = room;
	}
	lefts->left[lefts->count++] = *left;
}

static const char *
hint_of(const struct recover *recover, int error)
{
	if (error == -EIO && !recover->force)
		return "--force goes on with it; of what was written before nothing is promised then";
	if (error == -ETIMEDOUT && recover->forget)
		return "it stays at this one, and maybe others: name those that --list shows when this is tried again";
	if (error == -ETIMEDOUT)
		return "nothing has changed, or it is gone on with when this is tried again";
	return NULL;
}

/* If something was left, it is recovered all the same: what failed is that it be forgotten. */
static void
say_not_done(struct recover *recover, unsigned stream, int error)
{
	struct json_object *object = say_failed(recover, stream, weir_error(), hint_of(recover, error));

	if (recover->lefts.count == 0)
		return;
	add_lefts(recover, object);
	if (recover->json)
		return;
	printf("stream %u: recovered; later writes in place may have been done, or in part, or not:\n", stream);
	print_lefts(recover);
}

static void
recover_known(struct recover *recover, unsigned stream)
{
	struct weir_ordered_options options = WEIR_OPTIONS(weir_ordered_options);
	struct weir_subsys *targets[WEIR_MEMBERS_MAX];
	uint32_t last;
	int rc;

	for (unsigned i = 0; i < recover->count; i++)
		targets[i] = recover->targets[i].subsys;
	options.stream = (uint16_t)stream;
	options.force = recover->force;
	options.timeout_ms = recover->host.subsys.loss_ms;
	options.left = take_left;
	options.arg = &recover->lefts;
	recover->lefts.count = 0;
	recover->lefts.short_of_memory = false;
	rc = (recover->forget ? weir_ordered_forget : weir_ordered_recover)(targets, recover->count, &options, &last);
	if (rc < 0) {
		say_not_done(recover, stream, rc);
	} else if (recover->lefts.short_of_memory) {
		say_failed(recover, stream, "no memory for what was written in place after its last group",
		    recover->forget ? NULL : "it is recovered, and that is said when this is tried again");
	} else {
		add_recovered(recover, stream, last);
		print_recovered(recover, stream, last);
	}
}

/* ---- those that are meant ---- */

static bool
is_known(struct recover *recover, unsigned stream)
{
	if (recover->known[stream] != 0)
		return true;
	say_failed(recover, stream, "no target knows of it", NULL);
	return false;
}

/* Of the wrong targets one would be without the parts that groups have elsewhere, and take back all of them. */
static bool
is_known_to_all(struct recover *recover, unsigned stream)
{
	unsigned i = 0;
	char why[WHY];

	while (i < recover->count && (recover->known[stream] >> i & 1) != 0)
		i++;
	if (i == recover->count)
		return true;
	snprintf(why, sizeof(why), "%s knows nothing of it: it was not written there, it was to forget it, or the log "
	    "there is a new one", recover->targets[i].text);
	say_failed(recover, stream, why, "name all targets that it was written to, and no other; if it was being "
	    "forgotten, those that know it; or say --force, and groups of which a part was there are taken back");
	return false;
}

static void
recover_one(struct recover *recover, unsigned stream)
{
	if (is_known(recover, stream) && (recover->force || is_known_to_all(recover, stream)))
		recover_known(recover, stream);
}

static void
list_one(struct recover *recover, unsigned stream)
{
	struct json_object *targets;

	if (!is_known(recover, stream))
		return;
	targets = json_object_new_array();
	for (unsigned i = 0; i < recover->count; i++) {
		if ((recover->known[stream] >> i & 1) == 0)
			continue;
		json_object_array_add(targets, json_object_new_string(recover->targets[i].text));
		if (recover->json)
			continue;
		table_add(&recover->table, "%u", stream);
		table_add(&recover->table, "%s", recover->targets[i].text);
	}
	json_object_object_add(add_object(recover, stream), "targets", targets);
}

/* How many there are. */
static unsigned
each_that_is_meant(struct recover *recover, void (*one)(struct recover *recover, unsigned stream))
{
	unsigned count = 0;

	for (unsigned stream = 0; stream < STREAMS; stream++) {
		if (recover->any_wanted ? !recover->wanted[stream] : recover->known[stream] == 0)
			continue;
		one(recover, stream);
		count++;
	}
	return count;
}

static void
print_json(const struct recover *recover)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "streams", json_object_get(recover->streams));
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static void
print_list(struct recover *recover)
{
	if (table_end(&recover->table, stdout) == 0)
		return;
	fprintf(stderr, "weir: no memory for a table of streams\n");
	recover->failed = true;
}

static void
run(struct recover *recover, struct weir_host *host)
{
	bool all = ask_all(recover, host);
	unsigned count;

	recover->failed = !all;
	if (!all && !recover->list) {
		fprintf(stderr, "weir: nothing has changed: which groups are there only all targets together know\n");
		return;
	}
	count = each_that_is_meant(recover, recover->list ? list_one : recover_one);
	if (recover->json)
		print_json(recover);
	else if (recover->table.count > 0)
		print_list(recover);
	if (count == 0 && all && !recover->json)
		fprintf(stderr, "weir: no target knows a stream of this host, %s\n", weir_host_nqn(host));
}

int
cmd_recover(int argc, char **argv)
{
	static const char *const heads[] = { ">STREAM", "TARGET" };
	struct recover *recover = calloc(1, sizeof(*recover));
	int code = EXIT_FAILED;
	struct weir_host *host;

	if (recover == NULL) {
		fprintf(stderr, "weir: no memory\n");
		return EXIT_FAILED;
	}
	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&recover->host, 1);
	if (!options_parse(&argp, argc, argv, recover)) {
		free(recover);
		return EXIT_USAGE;
	}
	host = host_start(&recover->host);
	if (host != NULL) {
		table_init(&recover->table, heads, 2);
		recover->streams = json_object_new_array();
		run(recover, host);
		code = recover->failed ? EXIT_FAILED : EXIT_OK;
		json_object_put(recover->streams);
		weir_host_destroy(host);
	}
	free(recover->lefts.left);
	free(recover);
	return code;
}
