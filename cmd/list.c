/*
 * list.c - `weir list`: volumes, with what one wants to know before using them.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ana.h"
#include "cmd.h"
#include "find.h"
#include "progress.h"
#include "report.h"
#include "table.h"

enum { PLACES_MAX = 32, NSIDS_EACH = 64 };

struct list_options {
	struct host_options host;
	struct place_named places[PLACES_MAX];
	unsigned count;
	bool json;
};

enum key { KEY_JSON = 1000 };

static const struct argp_option list[] = {
	{ "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct list_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &options->host; return 0;
	case KEY_JSON: options->json = true; return 0;
	case ARGP_KEY_ARG:
		if (options->count == PLACES_MAX)
			argp_error(state, "%d at most", PLACES_MAX);
		find_parse(state, arg, &options->places[options->count++]);
		return 0;
	case ARGP_KEY_END:
		if (options->count == 0)
			argp_error(state, "of whom? nvme+tcp://HOST:PORT/SUBNQN, or HOST[:PORT] for all that it "
			    "serves");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	list, parse, "URI|HOST[:PORT]...",
	"Lists the namespaces of a subsystem, nvme+tcp://HOST:PORT/SUBNQN, or of all that a discovery service knows.",
	host_options_child, NULL, NULL,
};

/* ---- one subsystem ---- */

struct listing {
	const struct list_options *options;
	struct weir_host *host;
	struct report report; /* JSON */
	struct table table;   /* or words */
	unsigned found;
	bool incomplete;
};

/* One that is connected. */
struct seen {
	struct weir_subsys *subsys;
	struct weir_uri uri;
	struct weir_path_info paths[WEIR_PATHS_MAX];
	struct ana_page ana[WEIR_PATHS_MAX];
	unsigned path_count;
};

static const char *
path_says(const struct seen *seen, unsigned path, uint32_t group)
{
	if (seen->paths[path].state != WEIR_PATH_LIVE)
		return weir_path_state_name(seen->paths[path].state);
	return seen->ana[path].page != NULL ? ana_of_group(&seen->ana[path], group) : "live";
}

static void
add_row(struct listing *listing, const struct seen *seen, const struct weir_namespace *ns, const char *uri)
{
	char size[PROGRESS_WORD], used[PROGRESS_WORD], name[REPORT_UUID], states[256] = "";
	size_t length = 0;

	progress_size(ns->blocks * ns->block_size, size);
	progress_size(ns->used_blocks * ns->block_size, used);
	uuid_text(ns->uuid, name);
	if (name[0] == '\0')
		id_text(ns->nguid, sizeof(ns->nguid), name);
	for (unsigned i = 0; i < seen->path_count && length < sizeof(states); i++)
		length += (size_t)snprintf(states + length, sizeof(states) - length, "%s%s", i > 0 ? ", " : "",
		    path_says(seen, i, ns->ana_group));
	table_add(&listing->table, "%s", size);
	table_add(&listing->table, "%s", used);
	table_add(&listing->table, "%" PRIu32, ns->block_size);
	table_add(&listing->table, "%s", states);
	table_add(&listing->table, "%s", name[0] != '\0' ? name : "-");
	table_add(&listing->table, "%s", uri);
}

static void
report_paths(struct report *report, const struct seen *seen, uint32_t group)
{
	report_list(report, "paths");
	for (unsigned i = 0; i < seen->path_count; i++) {
		const struct weir_path_info *path = &seen->paths[i];

		report_open(report, NULL, NULL);
		report_text(report, "address", NULL, path->address.host);
		report_number(report, "port", NULL, path->address.port, "");
		report_text(report, "state", NULL, weir_path_state_name(path->state));
		report_text(report, "ana", NULL, seen->ana[i].page != NULL ? ana_of_group(&seen->ana[i], group) : "");
		report_close(report);
	}
	report_close(report);
}

static void
add_object(struct listing *listing, const struct seen *seen, const struct weir_namespace *ns, const char *uri)
{
	struct report *report = &listing->report;

	report_open(report, NULL, NULL);
	report_text(report, "uri", NULL, uri);
	report_text(report, "subnqn", NULL, seen->uri.subnqn);
	report_number(report, "nsid", NULL, ns->nsid, "");
	report_number(report, "bytes", NULL, ns->blocks * ns->block_size, "");
	report_number(report, "used_bytes", NULL, ns->used_blocks * ns->block_size, "");
	report_number(report, "block_size", NULL, ns->block_size, "");
	report_number(report, "metadata", NULL, ns->metadata, "");
	report_uuid(report, "uuid", NULL, ns->uuid);
	report_id(report, "nguid", NULL, ns->nguid, sizeof(ns->nguid));
	report_id(report, "eui64", NULL, ns->eui64, sizeof(ns->eui64));
	report_bool(report, "write_protected", NULL, ns->protected_now);
	report_number(report, "ana_group", NULL, ns->ana_group, "");
	report_paths(report, seen, ns->ana_group);
	report_close(report);
}

/* Straight from Identify, on the first path that is live: nothing is kept known of it. */
static int
read_namespace(const struct seen *seen, uint32_t nsid, struct weir_namespace *ns)
{
	uint8_t page[4096];
	int rc = weir_subsys_identify(seen->subsys, -1, 0x00, nsid, 0, page);

	if (rc < 0)
		return rc;
	weir_namespace_decode(page, nsid, ns);
	rc = weir_subsys_identify(seen->subsys, -1, 0x03, nsid, 0, page);
	if (rc == 0)
		weir_namespace_descriptors(page, ns);
	return 0; /* a target that has no descriptors is one all the same */
}

static void
add_namespace(struct listing *listing, struct seen *seen, uint32_t nsid)
{
	char text[HOST_URI_TEXT];
	struct weir_namespace ns;
	int rc = read_namespace(seen, nsid, &ns);

	if (rc < 0) {
		host_complain(seen->uri.subnqn, rc);
		listing->incomplete = true;
		return;
	}
	seen->uri.nsid = nsid;
	weir_uri_format(&seen->uri, text, sizeof(text));
	if (listing->options->json)
		add_object(listing, seen, &ns, text);
	else
		add_row(listing, seen, &ns, text);
	listing->found++;
}

static void
add_namespaces(struct listing *listing, struct seen *seen)
{
	uint32_t nsids[NSIDS_EACH], first = 1;
	int count;

	do {
		count = weir_subsys_namespaces(seen->subsys, first, nsids, NSIDS_EACH);
		if (count < 0) {
			host_complain(seen->uri.subnqn, count);
			listing->incomplete = true;
			return;
		}
		for (int i = 0; i < count; i++)
			add_namespace(listing, seen, nsids[i]);
		first = count > 0 ? nsids[count - 1] + 1 : 0;
	} while (count == NSIDS_EACH && first != 0);
}

static void
look_at_paths(struct seen *seen)
{
	struct weir_controller controller;
	uint8_t page[4096];

	seen->path_count = weir_subsys_paths(seen->subsys, seen->paths, WEIR_PATHS_MAX);
	for (unsigned i = 0; i < seen->path_count; i++) {
		if (seen->paths[i].state != WEIR_PATH_LIVE ||
		    weir_subsys_identify(seen->subsys, (int)i, 0x01, 0, 0, page) < 0)
			continue;
		weir_controller_decode(page, 0, &controller);
		if (ana_read(seen->subsys, (int)i, &controller, &seen->ana[i]) < 0)
			continue; /* it is live, and that is what will be said */
	}
}

static void
add_subsystem(struct listing *listing, const struct weir_uri *uri)
{
	struct seen seen = { .uri = *uri };
	uint32_t nsid = uri->nsid;

	seen.subsys = host_reach(listing->host, &listing->options->host, uri);
	if (seen.subsys == NULL) {
		listing->incomplete = true;
		return;
	}
	look_at_paths(&seen);
	if (nsid != 0)
		add_namespace(listing, &seen, nsid);
	else
		add_namespaces(listing, &seen);
	for (unsigned i = 0; i < seen.path_count; i++)
		free(seen.ana[i].page);
	weir_subsys_disconnect(seen.subsys);
}

static void
add_service(struct listing *listing, struct place_named place)
{
	struct weir_discovery discovery;
	struct weir_uri *uris;
	int count;

	if (find_discover(listing->host, &listing->options->host, &place, 1, &discovery) < 0) {
		listing->incomplete = true;
		return;
	}
	count = find_subsystems(&discovery, &place.uri, &uris);
	weir_discovery_free(&discovery);
	if (count < 0) {
		fprintf(stderr, "weir: no memory for what %s serves\n", place.text);
		listing->incomplete = true;
		return;
	}
	for (int i = 0; i < count; i++)
		add_subsystem(listing, &uris[i]);
	free(uris);
}

static void
list_all(struct listing *listing)
{
	const struct list_options *options = listing->options;

	for (unsigned i = 0; i < options->count; i++)
		if (options->places[i].uri.subnqn[0] != '\0')
			add_subsystem(listing, &options->places[i].uri);
		else
			add_service(listing, options->places[i]);
}

static int
print(struct listing *listing)
{
	report_close(&listing->report);
	report_end(&listing->report, true);
	if (listing->options->json)
		return listing->incomplete ? EXIT_FAILED : EXIT_OK;
	if (listing->found == 0) {
		if (!listing->incomplete)
			fprintf(stderr, "weir: there is no namespace for this host, %s\n",
			    weir_host_nqn(listing->host));
	} else if (table_end(&listing->table, stdout) < 0) {
		fprintf(stderr, "weir: no memory for a table of %u namespaces\n", listing->found);
		return EXIT_FAILED;
	}
	return listing->incomplete ? EXIT_FAILED : EXIT_OK;
}

int
cmd_list(int argc, char **argv)
{
	static const char *const heads[] = { ">SIZE", ">USED", ">BLOCK", "PATHS", "UUID OR NGUID", "URI" };
	struct list_options options = { 0 };
	struct listing listing = { .options = &options };
	int code;

	argp_err_exit_status = EXIT_USAGE;
	host_options_init(&options.host, 1);
	if (!options_parse(&argp, argc, argv, &options))
		return EXIT_USAGE;
	listing.host = host_start(&options.host);
	if (listing.host == NULL)
		return EXIT_FAILED;
	table_init(&listing.table, heads, 6);
	report_init(&listing.report, options.json);
	report_list(&listing.report, "namespaces");
	list_all(&listing);
	code = print(&listing);
	weir_host_destroy(listing.host);
	return code;
}
