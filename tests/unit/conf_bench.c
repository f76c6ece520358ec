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

/* ---- fair sharing ---- */

static void
limits_random(struct rng *rng, struct qos_limit limits[QOS_KINDS], uint32_t *burst_ms)
{
	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		limits[kind].ios = maybe(rng) ? 0 : 1 + below(rng, QOS_CAP_IOS_MAX);
		limits[kind].bytes = maybe(rng) ? 0 : 1 + (rng_below(rng, QOS_CAP_BYTES_MAX) >> below(rng, 40));
	}
	*burst_ms = maybe(rng) ? 0 : 1 + below(rng, CONF_TIME_MAX_MS);
}

/* A cost that three decimals can say. */
static uint32_t
cost_random(struct rng *rng, uint32_t least)
{
	uint32_t thousandths = least + below(rng, 255999 - least);

	return (thousandths * QOS_COST_ONE + 500) / 1000;
}

static void
device_random(struct rng *rng, struct conf_device *device, uint32_t number)
{
	struct qos_params *params = &device->params;

	snprintf(device->name, sizeof(device->name), maybe(rng) ? "d%u" : "0.-_%u", number);
	qos_params_default(params);
	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		for (unsigned size = 0; size < QOS_SIZES; size++) {
			params->size_cost[kind][size] = cost_random(rng, 1);
			params->size_ns[kind][size] = (uint32_t)rng_next(rng) >> below(rng, 32);
			params->size_rate[kind][size] = maybe(rng) ? 0 : 65536 + rng_below(rng, UINT64_C(1) << 39);
		}
	params->write_cost_worst = cost_random(rng, 1000);
	params->thresh_min_ns = 1 + below(rng, 1 << 30);
	params->thresh_max_ns = params->thresh_min_ns + 1 + below(rng, 1 << 30);
	params->slots = 1 + below(rng, QOS_SLOTS_MAX);
	params->slots_least = 1 + below(rng, params->slots);
	params->inflight_bytes = QOS_SLOT_BYTES + below(rng, 1 << 30);
	params->rate_least = 1 + rng_below(rng, 1 << 30);
	params->rate_first = params->rate_least + rng_below(rng, 1 << 30);
	params->rate_most = params->rate_first + (rng_below(rng, UINT64_C(1) << 39) >> below(rng, 39));
	if (maybe(rng))
		return;
	params->ewma_shift = below(rng, 11);
	params->thresh_shift = below(rng, 11);
	params->beta = 1 + below(rng, 1024);
	params->bucket_bytes = QOS_SLOT_BYTES + below(rng, 1 << 20);
	params->quantum_bytes = QOS_SIZE_LEAST + below(rng, 1 << 20);
	params->write_cost_steps = 1 + below(rng, 1024);
	params->write_cost_ns = 1000000 + below(rng, 999000001);
	params->linger_ns = below(rng, 1000000001);
	params->stall_ns = 1000000 + below(rng, 1 << 30);
}

static void
qos_random(struct arena *arena, struct rng *rng, struct conf_qos *qos)
{
	qos->mode = below(rng, 3);
	qos->device_count = below(rng, 3);
	qos->devices = need(arena_alloc(arena, 3 * sizeof(qos->devices[0])));
	for (uint32_t i = 0; i < qos->device_count; i++)
		device_random(rng, &qos->devices[i], i);
	qos->group_count = below(rng, 3);
	qos->groups = need(arena_alloc(arena, 3 * sizeof(qos->groups[0])));
	for (uint32_t i = 0; i < qos->group_count; i++) {
		struct conf_group *group = &qos->groups[i];

		snprintf(group->name, sizeof(group->name), maybe(rng) ? "g%u" : "%u", i);
		group->weight = maybe(rng) ? 1 : 1 + below(rng, QOS_WEIGHT_MAX);
		limits_random(rng, group->limits, &group->burst_ms);
	}
	qos->tenant_count = below(rng, 4);
	qos->tenants = need(arena_alloc(arena, 4 * sizeof(qos->tenants[0])));
	for (uint32_t i = 0; i < qos->tenant_count; i++) {
		struct conf_tenant *tenant = &qos->tenants[i];

		tenant->host = text_random(arena, rng, "nqn.2026-11.h", i, false);
		tenant->group = qos->group_count == 0 || maybe(rng) ? CONF_QOS_NONE : below(rng, qos->group_count);
		tenant->weight = maybe(rng) ? 1 : 1 + below(rng, QOS_WEIGHT_MAX);
		limits_random(rng, tenant->limits, &tenant->burst_ms);
	}
}

static void
ns_qos_random(struct rng *rng, const struct conf_qos *qos, struct conf_ns *ns)
{
	ns->mode = maybe(rng) ? qos->mode : below(rng, 3);
	ns->device = qos->device_count == 0 || maybe(rng) ? CONF_QOS_NONE : below(rng, qos->device_count);
	if (maybe(rng))
		limits_random(rng, ns->limits, &ns->burst_ms);
}

/* ---- what is served ---- */

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
ns_random(struct arena *arena, struct rng *rng, const struct conf *conf, const struct conf_subsys *subsys,
    struct conf_ns *ns, uint32_t number)
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
	ns_qos_random(rng, &conf->qos, ns);
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
		ns_random(arena, rng, conf, subsys, &subsys->ns[n], 6 * i + n);
}

struct conf *
conf_random(struct arena *arena, struct rng *rng)
{
	struct conf *conf = need(arena_alloc(arena, sizeof(*conf)));

	conf->state_dir = maybe(rng) ? text_random(arena, rng, "/var/lib/", 1, false) : NULL;
	conf->order_log.place = maybe(rng) ? text_random(arena, rng, "file:/var/", 1, false) : NULL;
	conf->order_log.slots = conf->order_log.place != NULL && maybe(rng) ? 1024u << below(rng, 15) : 0;
	conf->connections_max = maybe(rng) ? CONF_DEFAULT_CONNECTIONS : 1 + below(rng, CONF_CONNECTIONS_MAX);
	conf->handshake_ms = maybe(rng) ? CONF_DEFAULT_HANDSHAKE_MS : 1 + below(rng, CONF_TIME_MAX_MS);
	conf->stall_ms = maybe(rng) ? CONF_DEFAULT_STALL_MS : 60000 * (1 + below(rng, 60)) / (maybe(rng) ? 1 : 60);
	conf->listener_count = 1 + below(rng, 5);
	conf->listeners = need(arena_alloc(arena, conf->listener_count * sizeof(conf->listeners[0])));
	for (uint32_t i = 0; i < conf->listener_count; i++)
		listener_random(arena, rng, &conf->listeners[i], i);
	qos_random(arena, rng, &conf->qos);
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

static bool
same_limits(const struct qos_limit a[QOS_KINDS], const struct qos_limit b[QOS_KINDS])
{
	return memcmp(a, b, QOS_KINDS * sizeof(a[0])) == 0;
}

static bool
same_device(const struct conf_device *a, const struct conf_device *b)
{
	return same_text(a->name, b->name) && memcmp(&a->params, &b->params, sizeof(a->params)) == 0;
}

static bool
same_group(const struct conf_group *a, const struct conf_group *b)
{
	return same_text(a->name, b->name) && a->weight == b->weight && same_limits(a->limits, b->limits) &&
	    a->burst_ms == b->burst_ms;
}

static bool
same_tenant(const struct conf_tenant *a, const struct conf_tenant *b)
{
	return same_text(a->host, b->host) && a->group == b->group && a->weight == b->weight &&
	    same_limits(a->limits, b->limits) && a->burst_ms == b->burst_ms;
}

static const char *
qos_difference(const struct conf_qos *a, const struct conf_qos *b)
{
	const char *what = a->mode != b->mode ? "mode" : a->device_count != b->device_count ? "device_count" :
	    a->group_count != b->group_count ? "group_count" : a->tenant_count != b->tenant_count ? "tenant_count" :
	    NULL;

	for (uint32_t i = 0; what == NULL && i < a->device_count; i++)
		what = same_device(&a->devices[i], &b->devices[i]) ? NULL : "device";
	for (uint32_t i = 0; what == NULL && i < a->group_count; i++)
		what = same_group(&a->groups[i], &b->groups[i]) ? NULL : "group";
	for (uint32_t i = 0; what == NULL && i < a->tenant_count; i++)
		what = same_tenant(&a->tenants[i], &b->tenants[i]) ? NULL : "tenant";
	return what;
}

static const char *
ns_difference(const struct conf_ns *a, const struct conf_ns *b)
{
	return a->nsid != b->nsid ? "nsid" : !same_text(a->volume, b->volume) ? "volume" :
	    a->size != b->size ? "size" : a->block_size != b->block_size ? "block_size" :
	    memcmp(a->nguid, b->nguid, 16) != 0 ? "nguid" : memcmp(a->uuid, b->uuid, 16) != 0 ? "uuid" :
	    a->ana_group != b->ana_group ? "ana_group" :
	    a->write_protected != b->write_protected ? "write_protected" : a->mode != b->mode ? "mode" :
	    a->device != b->device ? "device" : !same_limits(a->limits, b->limits) || a->burst_ms != b->burst_ms ?
	    "limits" : NULL;
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
	    !same_text(a->order_log.place, b->order_log.place) ? "order_log" :
	    a->order_log.slots != b->order_log.slots ? "order_log slots" :
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
	return what != NULL ? what : qos_difference(&a->qos, &b->qos);
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
