/*
 * conf/: what a file says is what comes out, and printed and read again it is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/diff.h"
#include "conf_bench.h"

static const char full[] =
    "# everything\n"
    "timeouts: { handshake: 1500ms, stall: 2m }\n"
    "state_dir: /var/lib/weir\n"
    "order_log: { place: \"file:/var/lib/weir.order\", slots: 64K }\n"
    "listeners:\n"
    "  - { name: front, address: 192.0.2.1 }\n"
    "  - address: \"[2001:DB8:0:0::1]:4421\"\n"
    "    discovery: no\n"
    "  - { name: dc, address: 192.0.2.1, discovery: only }\n"
    "subsystems:\n"
    "  - nqn: nqn.2026-11.example:store\n"
    "    serial: W 1\n"
    "    model: My Weir\n"
    "    listeners: [ front ]\n"
    "    hosts: [ nqn.2026-11.h1, \"nqn.2026-11.h2\" ]\n"
    "    controllers: static\n"
    "    limits: { controllers: 10, queues: 4, queue_entries: 64 }\n"
    "    ana_groups:\n"
    "      - id: 64\n"
    "      - id: 2\n"
    "        state: non-optimized\n"
    "        on: { front: inaccessible }\n"
    "    namespaces:\n"
    "      - nsid: 7\n"
    "        volume: file:/srv/a b.img\n"
    "        size: 10G\n"
    "        block_size: 512\n"
    "        nguid: 0123-4567-89ab-cdef-0123456789ABCDEF\n"
    "        uuid: 8c8d1cb0-1ed2-4b0f-9b2e-4a5a7a3f5a10\n"
    "        ana_group: 64\n"
    "        write_protected: true\n"
    "      - { nsid: 8, volume: mem, size: 1m, ana_group: 2 }\n"
    "  - nqn: nqn.2026-11.b\n"
    "    hosts: []\n"
    "  - nqn: nqn.2026-11.c\n"
    "referrals: [ { address: 192.0.2.9 }, { address: \"[2001:db8::9]:4420\" } ]\n"
    "limits: { connections: 12 }\n"
    "qos:\n"
    "  devices: [ { name: d } ]\n"
    "  groups: [ { name: g } ]\n"
    "  tenants: [ { host: nqn.2026-11.h1, group: g } ]\n";

/* A configuration in an arena of its own; what is wrong is shown. */
static struct conf *
read_text(struct arena *arena, const char *text, size_t bytes)
{
	struct conf_errors errors;
	struct conf *conf;
	int error;

	arena_init(arena, 0);
	error = conf_parse(arena, text, bytes, &conf, &errors);
	for (uint32_t i = 0; i < errors.count; i++)
		print_error("%u: %s\n", errors.list[i].line, errors.list[i].text);
	assert_int_equal(error, 0);
	assert_int_equal(errors.count, 0);
	return conf;
}

static void
each_key_says_what_it_should(void **state)
{
	static const uint8_t nguid[16] = { 1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 0x23, 0x45, 0x67, 0x89, 0xab,
		0xcd, 0xef };
	static const uint8_t uuid[16] = { 0x8c, 0x8d, 0x1c, 0xb0, 0x1e, 0xd2, 0x4b, 0x0f, 0x9b, 0x2e, 0x4a, 0x5a, 0x7a,
		0x3f, 0x5a, 0x10 };
	enum conf_order_kind kind;
	const struct conf_subsys *s;
	struct arena arena;
	struct conf *conf;

	(void)state;
	conf = read_text(&arena, full, sizeof(full) - 1);
	assert_string_equal(conf->state_dir, "/var/lib/weir");
	assert_string_equal(conf->order_log.place, "file:/var/lib/weir.order");
	assert_int_equal(conf->order_log.slots, 65536);
	assert_string_equal(conf_order_path(conf->order_log.place, &kind), "/var/lib/weir.order");
	assert_int_equal(kind, CONF_ORDER_FILE);
	assert_string_equal(conf_order_path("persistent:/a", &kind), "/a");
	assert_int_equal(kind, CONF_ORDER_PERSISTENT);
	assert_int_equal(conf->handshake_ms, 1500);
	assert_int_equal(conf->stall_ms, 120000);
	assert_int_equal(conf->connections_max, 12);
	assert_int_equal(conf->listener_count, 3);
	assert_string_equal(conf->listeners[0].name, "front");
	assert_string_equal(conf->listeners[0].address.host, "192.0.2.1");
	assert_int_equal(conf->listeners[0].address.port, 4420);
	assert_int_equal(conf->listeners[0].discovery, CONF_DISCOVERY_YES);
	assert_string_equal(conf->listeners[1].name, "[2001:db8::1]:4421");
	assert_string_equal(conf->listeners[1].address.host, "2001:db8::1");
	assert_int_equal(conf->listeners[1].address.port, 4421);
	assert_int_equal(conf->listeners[1].discovery, CONF_DISCOVERY_NO);
	assert_int_equal(conf->listeners[2].address.port, 8009);
	assert_int_equal(conf->listeners[2].discovery, CONF_DISCOVERY_ONLY);
	assert_int_equal(conf->referral_count, 2);
	assert_string_equal(conf->referrals[0].host, "192.0.2.9");
	assert_int_equal(conf->referrals[0].port, 8009);
	assert_int_equal(conf->referrals[1].port, 4420);
	assert_int_equal(conf->subsys_count, 3);
	s = &conf->subsys[0];
	assert_string_equal(s->nqn, "nqn.2026-11.example:store");
	assert_string_equal(s->serial, "W 1");
	assert_string_equal(s->model, "My Weir");
	assert_true(!s->all_listeners && s->listeners == 1 && !s->any_host && s->host_count == 2);
	assert_string_equal(s->hosts[1], "nqn.2026-11.h2");
	assert_true(s->static_controllers && s->controllers_max == 10 && s->queues_max == 4 && s->entries_max == 64);
	assert_true(s->ana_count == 2 && s->ana[0].id == 2 && s->ana[1].id == 64); /* however they were written */
	assert_int_equal(conf_ana_on(&s->ana[0], 0), CONF_ANA_INACCESSIBLE);
	assert_int_equal(conf_ana_on(&s->ana[0], 1), CONF_ANA_NON_OPTIMIZED);
	assert_int_equal(conf_ana_on(&s->ana[1], 0), CONF_ANA_OPTIMIZED);
	assert_true(s->ns_count == 2 && s->ns[0].nsid == 7 && s->ns[0].size == UINT64_C(10) << 30);
	assert_string_equal(s->ns[0].volume, "file:/srv/a b.img");
	assert_true(s->ns[0].block_size == 512 && s->ns[0].ana_group == 64 && s->ns[0].write_protected);
	assert_memory_equal(s->ns[0].nguid, nguid, 16);
	assert_memory_equal(s->ns[0].uuid, uuid, 16);
	assert_true(s->ns[1].size == 1 << 20 && s->ns[1].block_size == 4096 && !s->ns[1].write_protected);
	s = &conf->subsys[1];
	assert_true(!s->any_host && s->host_count == 0 && s->all_listeners && s->listeners == 3);
	s = &conf->subsys[2];
	assert_true(s->any_host && s->serial == NULL && s->model == NULL && s->ns_count == 0);
	assert_true(!s->static_controllers && s->controllers_max == 1000 && s->queues_max == 128 &&
	    s->entries_max == 1024);
	assert_true(s->ana_count == 1 && s->ana[0].id == 1 && s->ana[0].state == CONF_ANA_OPTIMIZED);
	arena_drop(&arena);
}

static void
what_is_not_said_has_its_default(void **state)
{
	static const char text[] = "listeners: [ { address: 127.0.0.1:0 }, { address: 127.0.0.1:0, name: b } ]";
	struct arena arena;
	const struct conf *conf = read_text(&arena, text, sizeof(text) - 1);

	(void)state;
	assert_null(conf->state_dir);
	assert_null(conf->order_log.place);
	assert_int_equal(conf->connections_max, 4096);
	assert_int_equal(conf->handshake_ms, 10000);
	assert_int_equal(conf->stall_ms, 30000);
	assert_int_equal(conf->subsys_count, 0);
	assert_int_equal(conf->listener_count, 2); /* any free port, twice */
	assert_string_equal(conf->listeners[0].name, "127.0.0.1:0");
	arena_drop(&arena);
}

static void
an_alias_stands_for_a_copy(void **state)
{
	static const char text[] =
	    "\357\273\277listeners: [ { address: 192.0.2.1 } ]\n"
	    "subsystems:\n"
	    "  - { nqn: nqn.2026-11.a, hosts: &all [ nqn.2026-11.h1, &two nqn.2026-11.h2 ], limits: &l { "
	    "queues: &n 3, controllers: *n } }\n"
	    "  - { nqn: nqn.2026-11.b, hosts: *all, limits: *l }\n"
	    "  - { nqn: nqn.2026-11.c, hosts: [ *two ] }\n";
	struct arena arena;
	const struct conf *conf = read_text(&arena, text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(conf->subsys[1].host_count, 2);
	assert_string_equal(conf->subsys[1].hosts[1], "nqn.2026-11.h2");
	assert_int_equal(conf->subsys[1].controllers_max, 3);
	assert_int_equal(conf->subsys[2].host_count, 1);
	assert_string_equal(conf->subsys[2].hosts[0], "nqn.2026-11.h2");
	arena_drop(&arena);
}

/* Lists of lists of lists: as text they would be 10^15 long. */
static void
aliases_of_aliases_cost_nothing(void **state)
{
	char text[4096] = "listeners: [ { address: 192.0.2.1 } ]\nsubsystems: &a0 [ a, b ]\n";
	struct conf_errors errors;
	struct arena arena;
	struct conf *conf;

	(void)state;
	for (unsigned i = 1; i <= 15; i++) {
		sprintf(text + strlen(text), "k%u: &a%u [", i, i);
		for (unsigned j = 0; j < 10; j++)
			sprintf(text + strlen(text), " *a%u,", i - 1);
		strcat(text, " ]\n");
	}
	arena_init(&arena, 0);
	assert_int_equal(conf_parse(&arena, text, strlen(text), &conf, &errors), -EINVAL);
	arena_drop(&arena);
}

static void
addresses_are_numeric_and_have_one_text(void **state)
{
	static const struct { const char *text, *host; uint16_t port; } good[] = {
		{ "192.0.2.1", "192.0.2.1", 99 }, { "192.0.2.1:1", "192.0.2.1", 1 }, { "[::]:65535", "::", 65535 },
		{ "[0:0:0:0:0:0:0:1]", "::1", 99 }, { "[FE80::1%eth0.5]:4420", "fe80::1%eth0.5", 4420 },
		{ "[::ffff:192.0.2.1]", "::ffff:192.0.2.1", 99 },
	};
	static const char *const bad[] = {
		"", ":", "[]", "[", "::1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4:-1",
		    "[::1]x",
		"[::1]:", "[::1", "[1.2.3.4]", "[::1%]", "[::1%a/b]", "[::1%0123456789abcdef]", "1.2.3.4%lo", "a.b",
	};
	struct conf_address address;
	char text[CONF_ADDRESS_TEXT];

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct conf_address again;

		assert_true(conf_address_parse(good[i].text, 99, &address));
		assert_string_equal(address.host, good[i].host);
		assert_int_equal(address.port, good[i].port);
		conf_address_text(&address, text);
		assert_true(conf_address_parse(text, 1, &again));
		assert_memory_equal(again.host, address.host, strlen(address.host) + 1);
		assert_int_equal(again.port, address.port);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (conf_address_parse(bad[i], 99, &address))
			fail_msg("`%s`", bad[i]);
}

static void
a_volume_is_handed_on_with_its_size(void **state)
{
	static const struct { const char *volume; uint64_t size; const char *spec; } cases[] = {
		{ "mem", 1 << 20, "mem:1048576" },
		{ "null", 4096, "null:4096" },
		{ "file:/a", 0, "file:/a" },
		{ "file:/a,b", 1 << 20, "file:/a,b,size=1048576" },
		{ "fault:drop-write=1@mem", 1 << 20, "fault:drop-write=1@mem:1048576" },
		{ "fault:drop-write=1@fault:read-error=2@file:/a@b", 1 << 20,
		    "fault:drop-write=1@fault:read-error=2@file:/a@b,size=1048576" },
	};
	char spec[CONF_SPEC];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conf_volume_spec(&(struct conf_ns){ .volume = cases[i].volume, .size = cases[i].size }, spec);
		assert_string_equal(spec, cases[i].spec);
	}
}

static void
states_have_the_words_that_they_are_read_by(void **state)
{
	(void)state;
	assert_string_equal(conf_ana_text(CONF_ANA_OPTIMIZED), "optimized");
	assert_string_equal(conf_ana_text(CONF_ANA_NON_OPTIMIZED), "non-optimized");
	assert_string_equal(conf_ana_text(CONF_ANA_INACCESSIBLE), "inaccessible");
	assert_string_equal(conf_ana_text(CONF_ANA_PERSISTENT_LOSS), "persistent-loss");
	assert_string_equal(conf_ana_text(CONF_ANA_CHANGE), "change");
}

/* ---- print ---- */

static void
tell_it(void *arg, const struct conf_change *change)
{
	(void)arg;
	print_error("%s\n", change->text);
}

/* Printed and read again. */
static void
expect_again(struct arena *arena, const struct conf *conf)
{
	size_t bytes, bytes_again;
	char *text = conf_printed(arena, conf, &bytes), *text_again;
	struct arena other;
	struct conf *again = read_text(&other, text, bytes);
	const char *difference = conf_difference(conf, again);

	assert_true(bytes <= CONF_TEXT_MAX);
	if (difference != NULL)
		fail_msg("%s differs in\n%s", difference, text);
	assert_int_equal(conf_diff(conf, again, tell_it, NULL), 0);
	text_again = conf_printed(&other, again, &bytes_again);
	assert_int_equal(bytes_again, bytes);
	assert_memory_equal(text_again, text, bytes);
	arena_drop(&other);
}

/* And without quotes only where every program that reads YAML would see the same. */
static void
what_is_printed_is_what_one_would_write(void **state)
{
	static const char text[] =
	    "timeouts: { handshake: 1500ms, stall: 120s }\n"
	    "listeners:\n"
	    "  - { address: \"192.0.2.1\", name: '7', discovery: yes }\n"
	    "  - { address: \"[0:0::1]\", discovery: false }\n"
	    "subsystems:\n"
	    "  - nqn: nqn.2026-11.a\n"
	    "    serial: 0123\n"
	    "    model: yes\n"
	    "    listeners: [ '7' ]\n"
	    "    hosts: [ \"nqn.2026-11.a b\", 'nqn.2026-11.a:' ]\n"
	    "    controllers: 'static'\n"
	    "    limits: { queues: 128, controllers: 3 }\n"
	    "    ana_groups: [ { id: 1, state: optimized, on: { '7': change } } ]\n"
	    "    namespaces:\n"
	    "      - { size: 2048K, volume: null, nsid: 1, block_size: 4096, write_protected: false }\n"
	    "      - { nsid: 2, volume: 'file:/a\"\\', uuid: 8C8D1CB0-1ed2-4b0f-9b2e-4a5a7a3f5a10 }\n"
	    "  - { nqn: nqn.2026-11.b, hosts: [], controllers: dynamic, ana_groups: [ { id: 1 } ], namespaces: [] }\n";
	static const char canonical[] =
	    "listeners:\n"
	    "  - name: \"7\"\n"
	    "    address: 192.0.2.1:4420\n"
	    "  - address: \"[::1]:4420\"\n"
	    "    discovery: no\n"
	    "subsystems:\n"
	    "  - nqn: nqn.2026-11.a\n"
	    "    serial: \"0123\"\n"
	    "    model: \"yes\"\n"
	    "    listeners:\n"
	    "      - \"7\"\n"
	    "    hosts:\n"
	    "      - \"nqn.2026-11.a b\"\n"
	    "      - \"nqn.2026-11.a:\"\n"
	    "    controllers: static\n"
	    "    limits:\n"
	    "      controllers: 3\n"
	    "    ana_groups:\n"
	    "      - id: 1\n"
	    "        on:\n"
	    "          \"7\": change\n"
	    "    namespaces:\n"
	    "      - nsid: 1\n"
	    "        volume: \"null\"\n"
	    "        size: 2M\n"
	    "      - nsid: 2\n"
	    "        volume: \"file:/a\\\"\\\\\"\n"
	    "        uuid: \"8c8d1cb0-1ed2-4b0f-9b2e-4a5a7a3f5a10\"\n"
	    "  - nqn: nqn.2026-11.b\n"
	    "    hosts: []\n"
	    "timeouts:\n"
	    "  handshake: 1500ms\n"
	    "  stall: 2m\n";
	const struct conf *conf;
	struct arena arena;
	size_t bytes;

	(void)state;
	conf = read_text(&arena, text, sizeof(text) - 1);
	assert_string_equal(conf_printed(&arena, conf, &bytes), canonical);
	arena_drop(&arena);
}

static void
printed_and_read_again_it_is_the_same(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (unsigned i = 0; i < 1000; i++) {
		struct arena arena;

		arena_init(&arena, 0);
		expect_again(&arena, conf_random(&arena, &rng));
		arena_drop(&arena);
	}
}

/* ---- as much as there may be ---- */

/* `length` bytes that begin with a text, end with a number, and between them need a backslash each. */
static const char *
long_text(struct arena *arena, const char *before, unsigned length, unsigned number)
{
	char text[256], digits[16];
	size_t begin = strlen(before), end = (size_t)sprintf(digits, "%u", number);

	memset(text, '"', length);
	memcpy(text, before, begin);
	memcpy(text + length - end, digits, end);
	text[length] = '\0';
	return arena_strdup(arena, text);
}

static void
fill_ns(struct arena *arena, struct conf_ns *ns, unsigned subsys, unsigned i)
{
	*ns = (struct conf_ns){ .nsid = CONF_NS_MAX - i, .size = INT64_MAX - 511, .block_size = 512, .ana_group = 64,
		.write_protected = true, .mode = CONF_QOS_GIMBAL, .device = 63,
		.limits = { { 999999999, QOS_CAP_BYTES_MAX - 1 }, { 999999999, QOS_CAP_BYTES_MAX - 1 } },
		.burst_ms = 3599999,
		.volume = long_text(arena, "file:/", CONF_VOLUME_MAX, 1000000 * (subsys + 1) + i) };
	memcpy(ns->nguid, ns->volume + CONF_VOLUME_MAX - 16, 16);
	memcpy(ns->uuid, ns->nguid, 16);
}

static void
fill_subsys(struct arena *arena, struct conf_subsys *s, unsigned subsys)
{
	*s = (struct conf_subsys){ .nqn = long_text(arena, "nqn.2026-11.", CONF_NQN_MAX, subsys),
		.serial = long_text(arena, "", CONF_SERIAL_MAX, 1), .model = long_text(arena, "", CONF_MODEL_MAX, 1),
		.listeners = 0xffff, .controllers_max = 65519, .queues_max = 127, .entries_max = 1023,
		.host_count = CONF_HOSTS_ALL_MAX / CONF_SUBSYS_MAX, .ana_count = CONF_ANA_MAX,
		.ns_count = CONF_NS_ALL_MAX / CONF_SUBSYS_MAX };
	s->hosts = arena_alloc(arena, s->host_count * sizeof(s->hosts[0]));
	s->ana = arena_alloc(arena, s->ana_count * sizeof(s->ana[0]));
	s->ns = arena_alloc(arena, s->ns_count * sizeof(s->ns[0]));
	assert_true(s->hosts != NULL && s->ana != NULL && s->ns != NULL);
	for (unsigned i = 0; i < s->host_count; i++)
		s->hosts[i] = long_text(arena, "nqn.2026-11.", CONF_NQN_MAX, i);
	for (unsigned i = 0; i < s->ana_count; i++) {
		s->ana[i] = (struct conf_ana){ .id = i + 1, .state = CONF_ANA_PERSISTENT_LOSS };
		memset(s->ana[i].on, CONF_ANA_PERSISTENT_LOSS, sizeof(s->ana[i].on));
	}
	for (unsigned i = 0; i < s->ns_count; i++)
		fill_ns(arena, &s->ns[i], subsys, i);
}

static void
fill_qos(struct arena *arena, struct conf_qos *qos)
{
	const struct qos_limit limit = { 999999999, QOS_CAP_BYTES_MAX - 1 };

	*qos = (struct conf_qos){ .mode = CONF_QOS_CAPS, .device_count = CONF_DEVICES_MAX,
		.group_count = CONF_GROUPS_MAX, .tenant_count = CONF_TENANTS_MAX,
		.devices = arena_alloc(arena, CONF_DEVICES_MAX * sizeof(qos->devices[0])),
		.groups = arena_alloc(arena, CONF_GROUPS_MAX * sizeof(qos->groups[0])),
		.tenants = arena_alloc(arena, CONF_TENANTS_MAX * sizeof(qos->tenants[0])) };
	assert_true(qos->devices != NULL && qos->groups != NULL && qos->tenants != NULL);
	for (unsigned i = 0; i < CONF_DEVICES_MAX; i++) {
		sprintf(qos->devices[i].name, "%063u", i);
		qos_params_default(&qos->devices[i].params);
		for (unsigned size = 0; size < QOS_SIZES; size++) {
			qos->devices[i].params.size_ns[QOS_READ][size] = UINT32_MAX;
			qos->devices[i].params.size_ns[QOS_WRITE][size] = UINT32_MAX;
			qos->devices[i].params.size_rate[QOS_READ][size] = (UINT64_C(1) << 40) - 1;
			qos->devices[i].params.size_rate[QOS_WRITE][size] = (UINT64_C(1) << 40) - 1;
		}
	}
	for (unsigned i = 0; i < CONF_GROUPS_MAX; i++) {
		qos->groups[i] = (struct conf_group){ .weight = 9999, .limits = { limit, limit }, .burst_ms = 3599999 };
		sprintf(qos->groups[i].name, "%063u", i);
	}
	for (unsigned i = 0; i < CONF_TENANTS_MAX; i++)
		qos->tenants[i] = (struct conf_tenant){ .host = long_text(arena, "nqn.2026-11.", CONF_NQN_MAX, i),
			.group = CONF_GROUPS_MAX - 1, .weight = 9999, .limits = { limit, limit }, .burst_ms = 3599999 };
}

/* Whatever can be said, as often and as long as it can be: it stays below what can be read. */
static void
the_largest_configuration_can_be_printed_and_read_again(void **state)
{
	struct conf_listener listeners[CONF_LISTENERS_MAX] = { 0 };
	char names[CONF_LISTENERS_MAX][CONF_NAME_MAX + 1];
	struct conf conf = { .connections_max = 1, .handshake_ms = 1, .stall_ms = 1, .listeners = listeners,
		.listener_count = CONF_LISTENERS_MAX, .subsys_count = CONF_SUBSYS_MAX };
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned i = 0; i < CONF_LISTENERS_MAX; i++) {
		sprintf(names[i], "%063u", i);
		listeners[i].name = names[i];
		sprintf(listeners[i].address.host, "2001:db8:1111:1111:1111:1111:1111:%x", 0x1000 + i);
		listeners[i].address.port = 65535;
	}
	fill_qos(&arena, &conf.qos);
	conf.subsys = arena_alloc(&arena, CONF_SUBSYS_MAX * sizeof(conf.subsys[0]));
	assert_non_null(conf.subsys);
	for (unsigned i = 0; i < CONF_SUBSYS_MAX; i++)
		fill_subsys(&arena, &conf.subsys[i], i);
	expect_again(&arena, &conf);
	arena_drop(&arena);
}

/* ---- memory ---- */

static void
without_memory_nothing_is_answered(void **state)
{
	uint64_t failed = 0;
	int error;

	(void)state;
	do {
		struct conf_errors errors;
		struct arena arena;
		struct conf *conf;

		arena_init(&arena, 0);
		arena.fail_at = ++failed;
		error = conf_parse(&arena, full, sizeof(full) - 1, &conf, &errors);
		assert_true(error == -ENOMEM ? conf == NULL && errors.count == 0 : error == 0);
		arena_drop(&arena);
	} while (error != 0);
	assert_in_range(failed, 20, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_says_what_it_should),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(an_alias_stands_for_a_copy),
		cmocka_unit_test(aliases_of_aliases_cost_nothing),
		cmocka_unit_test(addresses_are_numeric_and_have_one_text),
		cmocka_unit_test(a_volume_is_handed_on_with_its_size),
		cmocka_unit_test(states_have_the_words_that_they_are_read_by),
		cmocka_unit_test(what_is_printed_is_what_one_would_write),
		cmocka_unit_test(printed_and_read_again_it_is_the_same),
		cmocka_unit_test(the_largest_configuration_can_be_printed_and_read_again),
		cmocka_unit_test(without_memory_nothing_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
