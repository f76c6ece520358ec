/*
 * discovery.c - which subsystems are there?  Asks a discovery service, and those it refers to (weir/discovery.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/discovery.h"

static void
go_to(struct ctrlr_options *ctrlr, const struct subsys_address *service)
{
	memcpy(ctrlr->addr, service->host, sizeof(ctrlr->addr));
	ctrlr->port = service->port;
}

int
discovery_find(const struct weir_host *host, const char *text, const struct weir_discovery_options *options,
    struct ctrlr_options *ctrlr)
{
	struct subsys_address service;
	struct weir_uri uri;
	int rc = weir_uri_parse(text, &uri);

	if (rc != 0)
		return rc;
	if (uri.subnqn[0] != '\0')
		return lib_fail(-EINVAL, "%s: it names a subsystem, no discovery service", text);
	*ctrlr = (struct ctrlr_options){
		.subnqn = NVME_DISCOVERY_NQN,
		.hdgst = options->hdgst,
		.ddgst = options->ddgst,
		.connect_ms = options_or(options->connect_ms, DISCOVERY_CONNECT_MS),
	};
	identity_of_uri(host, &uri, ctrlr->hostnqn, ctrlr->hostid);
	rc = resolve(&uri.address[0], ctrlr->connect_ms, &service);
	if (rc == 0)
		go_to(ctrlr, &service);
	return rc;
}

int
discovery_add(struct weir_discovery *discovery, const struct log_reader *reader, unsigned level)
{
	size_t count = discovery->count + reader->count;
	struct weir_discovered *entries = discovery->entries;

	if (reader->count == 0)
		return 0;
	entries = realloc(entries, count * sizeof(*entries));
	if (entries == NULL)
		return lib_fail(-ENOMEM, "there is no memory for what was discovered");
	discovery->entries = entries;
	for (uint32_t i = 0; i < reader->count; i++) {
		struct weir_discovered *entry = &entries[discovery->count++];

		discovery_entry_decode(reader->entries + (size_t)i * DISCOVERY_ENTRY_LEN, entry);
		entry->level = level;
	}
	return 0;
}

void
weir_discovery_free(struct weir_discovery *discovery)
{
	free(discovery->entries);
	*discovery = (struct weir_discovery){ 0 };
}

/* ---- one service ---- */

struct asking {
	struct call call;
	struct ctrlr_options options;
	struct ctrlr *ctrlr;
	struct log_reader reader;
	struct timer limit;     /* of reading: nothing keeps this controller alive */
};

static void
on_closed(void *owner)
{
	struct asking *a = owner;

	call_over(&a->call);
}

static void
on_read(struct log_reader *reader, int error, const char *why)
{
	struct asking *a = reader->owner;

	timer_clear(&host_reactor(a->call.host)->timers, &a->limit);
	if (error != 0)
		call_says(&a->call, error, "%s: %s", address_text(a->options.addr, a->options.port).text, why);
	ctrlr_close(a->ctrlr, on_closed);
}

static void
on_ready(struct ctrlr *ctrlr)
{
	struct asking *a = ctrlr_owner(ctrlr);
	struct reactor *reactor = host_reactor(a->call.host);

	timer_set(&reactor->timers, &a->limit, reactor->now_ns + a->options.connect_ms * UINT64_C(1000000));
	log_reader_start(&a->reader, ctrlr);
}

static void
on_lost(struct ctrlr *ctrlr, int error, const char *why)
{
	struct asking *a = ctrlr_owner(ctrlr);

	timer_clear(&host_reactor(a->call.host)->timers, &a->limit);
	call_says(&a->call, error, "%s: %s", address_text(a->options.addr, a->options.port).text, why);
	ctrlr_destroy(ctrlr);
	call_over(&a->call);
}

static void
too_late(struct timer *timer)
{
	on_lost(container_of(timer, struct asking, limit)->ctrlr, -ETIMEDOUT,
	    "the target did not answer in time: the discovery log");
}

static void
run_ask(struct call *call)
{
	struct asking *a = container_of(call, struct asking, call);
	int rc = ctrlr_open(host_reactor(call->host), &a->options, &a->ctrlr);

	if (rc == 0)
		return;
	call_says(call, rc, "%s: %s", address_text(a->options.addr, a->options.port).text, strerror(-rc));
	call_over(call);
}

/* Adds what it has to the discovery. */
static int
ask_service(struct weir_host *host, const struct ctrlr_options *options, unsigned level,
    struct weir_discovery *discovery)
{
	struct asking *a = calloc(1, sizeof(*a));
	int rc;

	if (a == NULL)
		return lib_fail(-ENOMEM, "there is no memory to ask a discovery service");
	a->options = *options;
	a->options.ready = on_ready;
	a->options.lost = on_lost;
	a->options.owner = a;
	a->reader.done = on_read;
	a->reader.owner = a;
	a->limit.fire = too_late;
	rc = call_make(host, &a->call, run_ask);
	if (rc == 0)
		rc = discovery_add(discovery, &a->reader, level);
	if (rc == 0 && level == 0)
		discovery->generation = a->reader.head.generation;
	log_reader_end(&a->reader);
	free(a);
	return rc;
}

/* ---- and those it refers to ---- */

/* Each service once, the first level before the second: so the list is its own queue. */
struct tour {
	struct ctrlr_options how; /* they are connected to, but for the address */
	struct subsys_address services[DISCOVERY_SERVICES_MAX];
	unsigned levels[DISCOVERY_SERVICES_MAX];
	unsigned count;
};

static void
tour_add(struct tour *tour, const struct subsys_address *service, unsigned level)
{
	for (unsigned i = 0; i < tour->count; i++)
		if (tour->services[i].port == service->port && strcmp(tour->services[i].host, service->host) == 0)
			return;
	if (tour->count == DISCOVERY_SERVICES_MAX)
		return;
	tour->services[tour->count] = *service;
	tour->levels[tour->count++] = level;
}

/* A service over TCP without TLS, which is all that we know. */
static bool
can_follow(const struct weir_discovered *entry)
{
	return entry->subtype == WEIR_SUBTYPE_REFERRAL && entry->transport == WEIR_TRANSPORT_TCP && entry->sectype == 0;
}

static void
follow(struct weir_host *host, struct tour *tour, const struct weir_discovered *entry)
{
	struct weir_uri uri;
	struct subsys_address service;
	char text[640];

	if (weir_discovered_uri(entry, text, sizeof(text)) >= sizeof(text) || weir_uri_parse(text, &uri) != 0 ||
	    resolve(&uri.address[0], tour->how.connect_ms, &service) != 0)
		host_log(host, WEIR_LOG_WARNING, "a referral to %s service %s cannot be followed: %s", entry->address,
		    entry->service, weir_error());
	else
		tour_add(tour, &service, entry->level + 1);
}

static int
ask_all(struct weir_host *host, struct tour *tour, unsigned referrals, struct weir_discovery *discovery)
{
	unsigned deepest = referrals < DISCOVERY_DEPTH_MAX ? referrals : DISCOVERY_DEPTH_MAX;

	for (unsigned i = 0; i < tour->count; i++) {
		unsigned before = discovery->count;
		int rc;

		go_to(&tour->how, &tour->services[i]);
		rc = ask_service(host, &tour->how, tour->levels[i], discovery);
		if (rc != 0 && (i == 0 || rc == -ENOMEM))
			return rc;
		if (rc != 0)
			host_log(host, WEIR_LOG_WARNING, "a referral is left out: %s", weir_error());
		for (unsigned n = before; n < discovery->count && tour->levels[i] < deepest; n++)
			if (can_follow(&discovery->entries[n]))
				follow(host, tour, &discovery->entries[n]);
	}
	return 0;
}

int
weir_discover(struct weir_host *host, const char *uri, const struct weir_discovery_options *given,
    struct weir_discovery *discovery)
{
	struct weir_discovery_options options;
	struct tour *tour;
	int rc = OPTIONS_TAKE(&options, given);

	*discovery = (struct weir_discovery){ 0 };
	if (rc != 0)
		return rc;
	tour = calloc(1, sizeof(*tour));
	if (tour == NULL)
		return lib_fail(-ENOMEM, "there is no memory to ask a discovery service");
	rc = discovery_find(host, uri, &options, &tour->how);
	if (rc == 0) {
		memcpy(tour->services[0].host, tour->how.addr, sizeof(tour->services[0].host));
		tour->services[0].port = tour->how.port;
		tour->count = 1;
		rc = ask_all(host, tour, options.referrals, discovery);
	}
	free(tour);
	if (rc != 0)
		weir_discovery_free(discovery);
	return rc;
}
