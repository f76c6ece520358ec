#include "conf_bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random configurations ---- */

static void *
need(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static uint32_t
below(struct rng *rng, uint32_t limit)
{
	return (uint32_t)rng_below(rng, limit);
}

static bool
maybe(struct rng *rng)
{
	return rng_next(rng) & 1;
}

/* Some text of what may stand there: `kinds` lets more kinds of characters in. */
static const char *
text_random(struct arena *arena, struct rng *rng, const char *before, uint32_t number, bool ascii)
{
	static const char *const pieces[] = {
		"a", "Zz", "0", "-", "_", ".", ":", "/", " x", ": x", " #x", "\"", "\\", "'", "{", "]", "&", "*", "!",
		"%", "@", "`", "|", ">", "?", ",", "~", "null", "yes", "\\n", "\303\251", "\342\202\254",
		    "\360\237\222\276",
	};
	char text[64];
	int used = snprintf(text, sizeof(text), "%s%u", before, number);

	for (uint32_t n = below(rng, 4); n > 0; n--)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s",
		    pieces[below(rng, sizeof(pieces) / sizeof(pieces[0]) - (ascii ? 3 : 0))]);
	return need(arena_strdup(arena, text));
}

static void
listener_random(struct arena *arena, struct rng *rng, struct conf_listener *l, uint32_t i)
{
	static const char *const six[] = { "2001:db8::%x", "::%x", "fe80::%x%%eth0", "fe80::1:0:0:%x" };
	char text[CONF_ADDRESS_TEXT];

	if (maybe(rng))
		snprintf(l->address.host, sizeof(l->address.host), "192.0.2.%u", i + 1);
	else
		snprintf(l->address.host, sizeof(l->address.host), six[below(rng, 4)], i + 16);
	l->address.port = (uint16_t)(below(rng, 4) == 0 ? 8009 : maybe(rng) ? 4420 : 1 + below(rng, 65535));
	l->discovery = below(rng, 3);
	if (i == 0 && l->discovery == CONF_DISCOVERY_ONLY)
		l->discovery = CONF_DISCOVERY_NO;
	conf_address_text(&l->address, text);
	if (maybe(rng))
		snprintf(text, sizeof(text), "%s%u", below(rng, 3) == 0 ? "[x]:%" : maybe(rng) ? "-." : "name", i);
	l->name = need(arena_strdup(arena, text));
}

static void
ns_random(struct arena *arena, struct rng *rng, const struct conf_subsys *subsys, struct conf_ns *ns, uint32_t number)
{
	static const char *const kinds[] = {
		"mem", "null", "fault:drop-write=1@mem", "file:/srv/", "fault:read-error=5,flush-error=1@file:/",
	};
	uint32_t kind = below(rng, 5);

	ns->nsid = 1 + number % CONF_NS_MAX;
	ns->volume = kind < 3 ? kinds[kind] : text_random(arena, rng, kinds[kind], number, false);
	ns->block_size = maybe(rng) ? 512 : 4096;
	if (kind < 3 || maybe(rng))
		ns->size = (((uint64_t)1 << 20) + (rng_next(rng) >> below(rng, 63) >> 1)) / 4096 * 4096;
	if (ns->size > INT64_MAX)
		ns->size = (uint64_t)1 << 40;
	if (maybe(rng)) {
		for (unsigned i = 0; i < 15 && maybe(rng); i++)
			ns->nguid[i] = (uint8_t)rng_next(rng);
		ns->nguid[15] = (uint8_t)(1 + number % 255);
	}
	if (maybe(rng)) {
		ns->uuid[0] = (uint8_t)rng_next(rng);
		ns->uuid[15] = (uint8_t)(1 + number % 255);
	}
	ns->ana_group = subsys->ana[below(rng, subsys->ana_count)].id;
	ns->write_protected = maybe(rng);
}

static void
ana_random(struct rng *rng, const struct conf *conf, const struct conf_subsys *subsys, struct conf_ana *ana,
    uint32_t id)
{
	static const uint8_t states[] = { 1, 2, 3, 4, 15 };

	ana->id = id;
	ana->state = states[below(rng, 5)];
	for (uint32_t i = 0; i < conf->listener_count; i++)
		if (subsys->listeners & UINT32_C(1) << i && below(rng, 3) == 0)
			ana->on[i] = states[below(rng, 5)];
}

static void
subsys_random(struct arena *arena, struct rng *rng, const struct conf *conf, struct conf_subsys *subsys, uint32_t i)
{
	uint32_t low;

	subsys->nqn = text_random(arena, rng, "nqn.2026-11.example:", i, false);
	subsys->serial = maybe(rng) ? text_random(arena, rng, maybe(rng) ? "W" : "", i, true) : NULL;
	subsys->model = maybe(rng) ? text_random(arena, rng, "Weir ", i, true) : NULL;
	subsys->all_listeners = maybe(rng);
	for (uint32_t l = 0; l < conf->listener_count; l++)
		if (conf->listeners[l].discovery != CONF_DISCOVERY_ONLY && (subsys->all_listeners || maybe(rng) ||
		    l == 0))
			subsys->listeners |= UINT32_C(1) << l;
	subsys->any_host = maybe(rng);
	if (!subsys->any_host) {
		subsys->host_count = below(rng, 5);
		subsys->hosts = need(arena_alloc(arena, (subsys->host_count + 1) * sizeof(subsys->hosts[0])));
		for (uint32_t h = 0; h < subsys->host_count; h++)
			subsys->hosts[h] = text_random(arena, rng, "nqn.2026-11.h", h, false);
	}
	subsys->static_controllers = maybe(rng);
	subsys->controllers_max = maybe(rng) ? 1000 : 1 + below(rng, CONF_CONTROLLERS_MAX);
	subsys->queues_max = maybe(rng) ? 128 : 1 + below(rng, 128);
	subsys->entries_max = maybe(rng) ? 1024 : 2 + below(rng, 1023);
	subsys->ana_count = 1 + (maybe(rng) ? 0 : below(rng, 5));
	subsys->ana = need(arena_alloc(arena, subsys->ana_count * sizeof(subsys->ana[0])));
	low = below(rng, 2 * subsys->ana_count);
	for (uint32_t a = 0; a < subsys->ana_count; a++)
		ana_random(rng, conf, subsys, &subsys->ana[a],
		    a < low ? 1 + a : CONF_ANA_MAX + 1 + a - subsys->ana_count);
	if (subsys->ana_count == 1 && maybe(rng))
		subsys->ana[0] = (struct conf_ana){ .id = 1, .state = CONF_ANA_OPTIMIZED };
	if (maybe(rng) && (conf->state_dir != NULL || maybe(rng))) {
		subsys->pool = maybe(rng) || conf->state_dir == NULL ? "mem" : "file:/srv/a pool: of \"hosts\"";
		subsys->pool_size = (1 + rng_below(rng, 1 << 30)) << 20;
		subsys->pool_count = maybe(rng) ? CONF_DEFAULT_POOL_COUNT : 1 + (uint32_t)rng_below(rng, 64);
	}
	subsys->ns_count = below(rng, 6);
	subsys->ns = need(arena_alloc(arena, (subsys->ns_count + 1) * sizeof(subsys->ns[0])));
	for (uint32_t n = 0; n < subsys->ns_count; n++)
		ns_random(arena, rng, subsys, &subsys->ns[n], 6 * i + n);
}

struct conf *
conf_random(struct arena *arena, struct rng *rng)
{
	struct conf *conf = need(arena_alloc(arena, sizeof(*conf)));

	conf->state_dir = maybe(rng) ? text_random(arena, rng, "/var/lib/", 1, false) : NULL;
	conf->connections_max = maybe(rng) ? CONF_DEFAULT_CONNECTIONS : 1 + below(rng, CONF_CONNECTIONS_MAX);
	conf->handshake_ms = maybe(rng) ? CONF_DEFAULT_HANDSHAKE_MS : 1 + below(rng, CONF_TIME_MAX_MS);
	conf->stall_ms = maybe(rng) ? CONF_DEFAULT_STALL_MS : 60000 * (1 + below(rng, 60)) / (maybe(rng) ? 1 : 60);
	conf->listener_count = 1 + below(rng, 5);
	conf->listeners = need(arena_alloc(arena, conf->listener_count * sizeof(conf->listeners[0])));
	for (uint32_t i = 0; i < conf->listener_count; i++)
		listener_random(arena, rng, &conf->listeners[i], i);
	conf->subsys_count = below(rng, 5);
	conf->subsys = need(arena_alloc(arena, (conf->subsys_count + 1) * sizeof(conf->subsys[0])));
	for (uint32_t i = 0; i < conf->subsys_count; i++)
		subsys_random(arena, rng, conf, &conf->subsys[i], i);
	conf->referral_count = below(rng, 3);
	conf->referrals = need(arena_alloc(arena, 3 * sizeof(conf->referrals[0])));
	for (uint32_t i = 0; i < conf->referral_count; i++) {
		snprintf(conf->referrals[i].host, sizeof(conf->referrals[i].host), i == 0 ? "198.51.100.1" :
		    "2001:db8::2");
		conf->referrals[i].port = (uint16_t)(8009 + below(rng, 2));
	}
	return conf;
}

/* ---- the same ---- */

static bool
same_text(const char *a, const char *b)
{
	return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static bool
same_address(const struct conf_address *a, const struct conf_address *b)
{
	return strcmp(a->host, b->host) == 0 && a->port == b->port;
}

static const char *
ns_difference(const struct conf_ns *a, const struct conf_ns *b)
{
	return a->nsid != b->nsid ? "nsid" : !same_text(a->volume, b->volume) ? "volume" :
	    a->size != b->size ? "size" : a->block_size != b->block_size ? "block_size" :
	    memcmp(a->nguid, b->nguid, 16) != 0 ? "nguid" : memcmp(a->uuid, b->uuid, 16) != 0 ? "uuid" :
	    a->ana_group != b->ana_group ? "ana_group" :
	    a->write_protected != b->write_protected ? "write_protected" : NULL;
}

static const char *
subsys_difference(const struct conf_subsys *a, const struct conf_subsys *b)
{
	const char *what = !same_text(a->nqn, b->nqn) ? "nqn" : !same_text(a->serial, b->serial) ? "serial" :
	    !same_text(a->model, b->model) ? "model" : a->all_listeners != b->all_listeners ? "all_listeners" :
	    a->listeners != b->listeners ? "listeners" : a->any_host != b->any_host ? "any_host" :
	    a->host_count != b->host_count ? "host_count" : a->controllers_max != b->controllers_max ? "controllers" :
	    a->static_controllers != b->static_controllers ? "static" :
	    a->queues_max != b->queues_max ? "queues" : a->entries_max != b->entries_max ? "queue_entries" :
	    a->ana_count != b->ana_count ? "ana_count" : !same_text(a->pool, b->pool) ? "pool" :
	    a->pool_size != b->pool_size ? "pool_size" : a->pool_count != b->pool_count ? "pool_count" :
	    a->ns_count != b->ns_count ? "ns_count" : NULL;

	for (uint32_t i = 0; what == NULL && i < a->host_count; i++)
		what = same_text(a->hosts[i], b->hosts[i]) ? NULL : "host";
	for (uint32_t i = 0; what == NULL && i < a->ana_count; i++)
		what = a->ana[i].id != b->ana[i].id ? "ana id" : a->ana[i].state != b->ana[i].state ? "ana state" :
		    memcmp(a->ana[i].on, b->ana[i].on, sizeof(a->ana[i].on)) != 0 ? "ana on" : NULL;
	for (uint32_t i = 0; what == NULL && i < a->ns_count; i++)
		what = ns_difference(&a->ns[i], &b->ns[i]);
	return what;
}

const char *
conf_difference(const struct conf *a, const struct conf *b)
{
	const char *what = !same_text(a->state_dir, b->state_dir) ? "state_dir" :
	    a->connections_max != b->connections_max ? "connections" :
	    a->handshake_ms != b->handshake_ms ? "handshake" : a->stall_ms != b->stall_ms ? "stall" :
	    a->listener_count != b->listener_count ? "listener_count" :
	    a->subsys_count != b->subsys_count ? "subsys_count" :
	    a->referral_count != b->referral_count ? "referral_count" : NULL;

	for (uint32_t i = 0; what == NULL && i < a->listener_count; i++)
		what = !same_text(a->listeners[i].name, b->listeners[i].name) ? "name" :
		    !same_address(&a->listeners[i].address, &b->listeners[i].address) ? "address" :
		    a->listeners[i].discovery != b->listeners[i].discovery ? "discovery" : NULL;
	for (uint32_t i = 0; what == NULL && i < a->subsys_count; i++)
		what = subsys_difference(&a->subsys[i], &b->subsys[i]);
	for (uint32_t i = 0; what == NULL && i < a->referral_count; i++)
		what = same_address(&a->referrals[i], &b->referrals[i]) ? NULL : "referral";
	return what;
}

/* ---- text ---- */

struct sink {
	char *text;
	size_t bytes;
};

static void
count(void *arg, const char *text, size_t bytes)
{
	struct sink *sink = arg;

	(void)text;
	sink->bytes += bytes;
}

static void
keep(void *arg, const char *text, size_t bytes)
{
	struct sink *sink = arg;

	memcpy(sink->text + sink->bytes, text, bytes);
	sink->bytes += bytes;
}

char *
conf_printed(struct arena *arena, const struct conf *conf, size_t *bytes)
{
	struct sink sink = { NULL, 0 };

	conf_print(conf, count, &sink);
	sink.text = need(arena_alloc(arena, sink.bytes + 1));
	sink.bytes = 0;
	conf_print(conf, keep, &sink);
	*bytes = sink.bytes;
	return sink.text;
}

/* ---- what refuses one ---- */

void
conf_errors_are_sound(const struct conf_errors *errors, size_t bytes)
{
	assert(errors->count > 0 && errors->count <= CONF_ERRORS_MAX);
	for (uint32_t i = 0; i < errors->count; i++) {
		assert(errors->list[i].line <= bytes + 1 && errors->list[i].text[0] != '\0');
		assert(i == 0 || errors->list[i].line >= errors->list[i - 1].line);
	}
}
