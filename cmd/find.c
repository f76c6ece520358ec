#include "find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

enum { DISCOVERY_PORT = 8009 };

/* In nvme+tcp://HOST[:PORT][/...]; of an address in brackets, behind them. */
static bool
says_port(const char *text)
{
	const char *host = strstr(text, "://"), *end, *bracket;

	host = host != NULL ? host + 3 : text;
	end = host + strcspn(host, "/?");
	bracket = memrchr(host, ']', (size_t)(end - host));
	return memchr(bracket != NULL ? bracket : host, ':', (size_t)(end - (bracket != NULL ? bracket :
	    host))) != NULL;
}

void
find_parse(struct argp_state *state, const char *text, struct place_named *place)
{
	option_uri_of(state, text, &place->uri);
	place->text = text;
	place->port_said = says_port(text);
}

struct weir_discovery_options
find_options(const struct host_options *options, unsigned referrals)
{
	return (struct weir_discovery_options) {
		.size = sizeof(struct weir_discovery_options), .connect_ms = options->subsys.connect_ms,
		.referrals = referrals, .hdgst = options->subsys.hdgst, .ddgst = options->subsys.ddgst,
	};
}

static int
ask(struct weir_host *host, const struct host_options *options, const struct weir_uri *uri, unsigned referrals,
    struct weir_discovery *discovery)
{
	struct weir_discovery_options how = find_options(options, referrals);
	char text[HOST_URI_TEXT];

	weir_uri_format(uri, text, sizeof(text));
	return weir_discover(host, text, &how, discovery);
}

int
find_discover(struct weir_host *host, const struct host_options *options, struct place_named *place,
    unsigned referrals, struct weir_discovery *discovery)
{
	char first[512];
	int rc;

	if (!place->port_said)
		place->uri.address[0].port = DISCOVERY_PORT;
	rc = ask(host, options, &place->uri, referrals, discovery);
	if (rc == 0)
		return 0;
	if (!place->port_said && rc != -EINVAL) {
		snprintf(first, sizeof(first), "%s", weir_error());
		place->uri.address[0].port = DEFAULT_PORT;
		rc = ask(host, options, &place->uri, referrals, discovery);
		if (rc == 0)
			return 0;
		fprintf(stderr, "weir: %s\n", first);
	}
	host_complain("", rc);
	return -1;
}

/* ---- subsystems of several addresses ---- */

static struct weir_uri *
known(struct weir_uri *uris, int count, const char *subnqn)
{
	for (int i = 0; i < count; i++)
		if (strcmp(uris[i].subnqn, subnqn) == 0)
			return &uris[i];
	return NULL;
}

static void
add_address(struct weir_uri *uri, const struct weir_address *address)
{
	for (unsigned i = 0; i < uri->addresses; i++)
		if (uri->address[i].port == address->port && strcmp(uri->address[i].host, address->host) == 0)
			return;
	if (uri->addresses < WEIR_PATHS_MAX)
		uri->address[uri->addresses++] = *address;
}

int
find_subsystems(const struct weir_discovery *discovery, const struct weir_uri *service, struct weir_uri **uris)
{
	struct weir_uri *found = calloc(discovery->count + 1, sizeof(*found));
	int count = 0;

	if (found == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < discovery->count; i++) {
		const struct weir_discovered *entry = &discovery->entries[i];
		char text[HOST_URI_TEXT];
		struct weir_uri uri, *before;

		if (entry->subtype != WEIR_SUBTYPE_NVM || weir_discovered_uri(entry, text, sizeof(text)) == 0 ||
		    weir_uri_parse(text, &uri) < 0)
			continue;
		before = known(found, count, uri.subnqn);
		if (before != NULL) {
			add_address(before, &uri.address[0]);
			continue;
		}
		memcpy(uri.hostnqn, service->hostnqn, sizeof(uri.hostnqn));
		found[count++] = uri;
	}
	*uris = found;
	return count;
}
