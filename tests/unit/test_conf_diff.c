/*
 * conf/diff: each change is told once, in words, with what it takes, and in an order in which it can be made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/diff.h"
#include "conf_bench.h"

enum { TOLD_MAX = 64 };

struct told {
	unsigned count;
	struct { enum conf_ease ease; char text[1024]; } list[TOLD_MAX];
};

static void
note(void *arg, const struct conf_change *change)
{
	struct told *told = arg;

	if (told->count < TOLD_MAX) {
		told->list[told->count].ease = change->ease;
		snprintf(told->list[told->count].text, sizeof(told->list[0].text), "%.500s", change->text);
	}
	told->count++;
}

static struct conf *
read_text(struct arena *arena, const char *text)
{
	struct conf_errors errors;
	struct conf *conf;
	int error = conf_parse(arena, text, strlen(text), &conf, &errors);

	for (uint32_t i = 0; i < errors.count; i++)
		print_error("%u: %s\n", errors.list[i].line, errors.list[i].text);
	assert_int_equal(error, 0);
	return conf;
}

static void
diff_texts(const char *old, const char *new, struct told *told)
{
	struct arena arenas[2];
	uint32_t count;

	arena_init(&arenas[0], 0);
	arena_init(&arenas[1], 0);
	told->count = 0;
	count = conf_diff(read_text(&arenas[0], old), read_text(&arenas[1], new), note, told);
	assert_int_equal(count, told->count);
	arena_drop(&arenas[0]);
	arena_drop(&arenas[1]);
}

#define L "listeners:\n- { name: front, address: 192.0.2.1 }\n- { name: back, address: '[::1]', discovery: no }\n"
#define S L "subsystems:\n- nqn: nqn.2026-11.a\n"
#define N "  namespaces:\n  - { nsid: 1, volume: mem, size: 8M"
#define F "  namespaces:\n  - { nsid: 1, volume: 'file:/a'"

#define Q L "qos: { "

static const struct one {
	const char *old, *new;
	enum conf_ease ease;
	const char *text;
} ones[] = {
	{ L "state_dir: /a", L "state_dir: /b", CONF_RESTART,
	    "~ state_dir: /a -> /b (needs a restart)" },
	{ L, L "order_log: { place: 'file:/b' }", CONF_RESTART, "~ order_log: none -> file:/b (needs a restart)" },
	{ L "order_log: { place: 'file:/b', slots: 1K }", L "order_log: { place: 'file:/b' }", CONF_RESTART,
	    "~ order_log: file:/b -> file:/b (needs a restart)" },
	{ L, L "state_dir: /b", CONF_RESTART, "~ state_dir: none -> /b (needs a restart)" },
	{ L, L "limits: { connections: 7 }", CONF_LIVE, "~ connections at most: 4096 -> 7" },
	{ L, L "timeouts: { handshake: 1s }", CONF_LIVE, "~ handshake timeout: 10000 ms -> 1000 ms" },
	{ L, L "timeouts: { stall: 1s }", CONF_LIVE, "~ stall timeout: 30000 ms -> 1000 ms" },
	{ L, L "- { address: 192.0.2.3, discovery: only }", CONF_LIVE,
	    "+ listener 192.0.2.3:8009, discovery only" },
	{ L "- { name: x, address: 192.0.2.3, discovery: no }", L, CONF_LIVE,
	    "- listener x: 192.0.2.3:4420, no discovery" },
	{ L "- { name: x, address: 192.0.2.3, discovery: no }", L "- { name: y, address: 192.0.2.3, discovery: yes }",
	    CONF_LIVE, "~ discovery on listener y: no -> yes" },
	{ "listeners: [ { name: a, address: 192.0.2.1 } ]",
	    "listeners: [ { name: a, address: 192.0.2.1, discovery: no } ]", CONF_LIVE,
	    "~ discovery on listener a: yes -> no" },
	{ L, L "- { name: x, address: 192.0.2.3:0 }", CONF_LIVE, "+ listener x: 192.0.2.3:0" },
	{ L, L "referrals: [ { address: 192.0.2.9 } ]", CONF_LIVE,
	    "+ referral to 192.0.2.9:8009" },
	{ L "referrals: [ { address: 192.0.2.9 } ]", L, CONF_LIVE,
	    "- referral to 192.0.2.9:8009" },
	{ L, S, CONF_LIVE, "+ subsystem nqn.2026-11.a: any host" },
	{ L, S "  hosts: [ nqn.2026-11.h ]", CONF_LIVE, "+ subsystem nqn.2026-11.a: 1 host" },
	{ S, L, CONF_LIVE, "- subsystem nqn.2026-11.a" },
	{ S, S "  serial: A", CONF_RESTART,
	    "~ serial of nqn.2026-11.a: the default -> A (needs a restart)" },
	{ S "  model: A", S "  model: B", CONF_RESTART,
	    "~ model of nqn.2026-11.a: A -> B (needs a restart)" },
	{ S, S "  controllers: static", CONF_LIVE,
	    "~ controllers of nqn.2026-11.a: dynamic -> static, hosts are disconnected" },
	{ S "  controllers: static", S "  controllers: dynamic", CONF_LIVE,
	    "~ controllers of nqn.2026-11.a: static -> dynamic, hosts are disconnected" },
	{ S, S "  limits: { controllers: 3 }", CONF_LIVE,
	    "~ controllers of nqn.2026-11.a at most: 1000 -> 3" },
	{ S, S "  limits: { queues: 3 }", CONF_LIVE,
	    "~ queues of a controller of nqn.2026-11.a at most: 128 -> 3" },
	{ S "  host_namespaces: { volume: mem, size: 1G }\n", S "  host_namespaces: { volume: mem, size: 2G }\n",
	    CONF_LIVE,
	    "~ namespaces of hosts in nqn.2026-11.a: mem, 1G, 64 of them -> mem, 2G, 64 of them" },
	{ S "  host_namespaces: { volume: mem, size: 1G, count: 2 }\n",
	    S "  host_namespaces: { volume: mem, size: 1G }\n", CONF_LIVE,
	    "~ namespaces of hosts in nqn.2026-11.a: mem, 1G, 2 of them -> mem, 1G, 64 of them" },
	{ S, S "  limits: { queue_entries: 3 }", CONF_LIVE,
	    "~ entries of a queue of nqn.2026-11.a at most: 1024 -> 3" },
	{ S, S "  listeners: [ back ]", CONF_LIVE, "- nqn.2026-11.a on listener front" },
	{ S "  listeners: [ back ]", S, CONF_LIVE, "+ nqn.2026-11.a on listener front" },
	{ S, S "  hosts: [ nqn.2026-11.h ]", CONF_LIVE, "- any host of nqn.2026-11.a" },
	{ S "  hosts: [ nqn.2026-11.h ]", S, CONF_LIVE, "+ any host of nqn.2026-11.a" },
	{ S "  hosts: [ nqn.2026-11.h, nqn.2026-11.g ]", S "  hosts: [ nqn.2026-11.g ]", CONF_LIVE,
	    "- host nqn.2026-11.h of nqn.2026-11.a" },
	{ S "  hosts: []", S "  hosts: [ nqn.2026-11.g ]", CONF_LIVE,
	    "+ host nqn.2026-11.g of nqn.2026-11.a" },
	{ S, S "  ana_groups: [ { id: 1 }, { id: 2, state: change } ]", CONF_LIVE,
	    "+ ANA group 2 of nqn.2026-11.a: change" },
	{ S "  ana_groups: [ { id: 1 }, { id: 2 } ]", S, CONF_LIVE,
	    "- ANA group 2 of nqn.2026-11.a" },
	{ S, S "  ana_groups: [ { id: 1, on: { back: inaccessible } } ]", CONF_LIVE,
	    "~ ANA group 1 of nqn.2026-11.a on listener back: optimized -> inaccessible" },
	{ S "  listeners: [ back ]", S "  listeners: [ back ]\n  ana_groups: [ { id: 1, state: change } ]",
	    CONF_LIVE, "~ ANA group 1 of nqn.2026-11.a on listener back: optimized -> change" },
	{ S, S N " }", CONF_LIVE, "+ namespace 1 of nqn.2026-11.a: mem, 8M" },
	{ S, S F " }", CONF_LIVE, "+ namespace 1 of nqn.2026-11.a: file:/a, as large as it is" },
	{ S N " }", S, CONF_LOSS, "- namespace 1 of nqn.2026-11.a: mem (loses data)" },
	{ S F " }", S, CONF_LIVE, "- namespace 1 of nqn.2026-11.a: file:/a" },
	{ S F " }", S F ", size: 8M }", CONF_LIVE,
	    "~ size of namespace 1 of nqn.2026-11.a: as large as it is -> 8M" },
	{ S F ", size: 8M }", S F " }", CONF_LIVE,
	    "~ size of namespace 1 of nqn.2026-11.a: 8M -> as large as it is" },
	{ S F ", size: 8M }", S F ", size: 9M }", CONF_LIVE,
	    "~ size of namespace 1 of nqn.2026-11.a: 8M -> 9M" },
	{ S F ", size: 9M }", S F ", size: 8M }", CONF_HIDING,
	    "~ size of namespace 1 of nqn.2026-11.a: 9M -> 8M (hides data)" },
	{ S F " }", S F ", write_protected: yes }", CONF_LIVE,
	    "~ namespace 1 of nqn.2026-11.a: write protected" },
	{ S F ", write_protected: yes }", S F " }", CONF_LIVE,
	    "~ namespace 1 of nqn.2026-11.a: no longer write protected" },
	{ S "  ana_groups: [ { id: 1 }, { id: 2 } ]\n" F " }", S "  ana_groups: [ { id: 1 }, { id: 2 } ]\n" F
	    ", ana_group: 2 }", CONF_LIVE, "~ ANA group of namespace 1 of nqn.2026-11.a: 1 -> 2" },
	{ L, Q "mode: gimbal }", CONF_LIVE, "~ sharing where a namespace does not say: off -> gimbal" },
	{ L, Q "devices: [ { name: d, slots: 9 } ] }", CONF_LIVE, "+ device d" },
	{ Q "devices: [ { name: d, slots: 9 } ] }", L, CONF_LIVE, "- device d" },
	{ Q "devices: [ { name: d } ] }", Q "devices: [ { name: d, latency_min_us: 99.5 } ] }", CONF_LIVE,
	    "~ latency_min_us of device d: 250 -> 99.5" },
	{ Q "devices: [ { name: d } ] }", Q "devices: [ { name: d, read_cost: [9.3, 5.1, 2.9, 1.7, 1.2, 1] } ] }",
	    CONF_LIVE, "~ read_cost of device d: [1, 1, 1, 1, 1, 1] -> [9.3, 5.1, 2.9, 1.7, 1.2, 1]" },
	{ Q "devices: [ { name: d, stall_us: 2000 } ] }", Q "devices: [ { name: d } ] }", CONF_LIVE,
	    "~ stall_us of device d: 2000 -> 1000000" },
	{ L, Q "groups: [ { name: g, weight: 4, limits: { read_iops: 5, burst: 1s } } ] }", CONF_LIVE,
	    "+ group g: weight 4, limits 5 reads a second, bursts of 1000 ms" },
	{ Q "groups: [ { name: g } ] }", L, CONF_LIVE, "- group g: weight 1, limits none" },
	{ Q "groups: [ { name: g } ] }", Q "groups: [ { name: g, weight: 4 } ] }", CONF_LIVE,
	    "~ weight of group g: 1 -> 4" },
	{ Q "groups: [ { name: g } ] }", Q "groups: [ { name: g, limits: { write_bandwidth: 50M } } ] }", CONF_LIVE,
	    "~ limits of group g: none -> 50M a second of writes" },
	{ L, Q "tenants: [ { host: nqn.2026-11.h, weight: 2 } ] }", CONF_LIVE,
	    "+ tenant nqn.2026-11.h: group none, weight 2, limits none" },
	{ Q "tenants: [ { host: nqn.2026-11.h, limits: { write_iops: 5, read_bandwidth: 1G } } ] }", L, CONF_LIVE,
	    "- tenant nqn.2026-11.h: group none, weight 1, limits 1G a second of reads, 5 writes a second" },
	{ Q "tenants: [ { host: nqn.2026-11.h } ] }", Q "tenants: [ { host: nqn.2026-11.h, weight: 3 } ] }",
	    CONF_LIVE, "~ weight of tenant nqn.2026-11.h: 1 -> 3" },
	{ Q "groups: [ { name: g }, { name: h } ], tenants: [ { host: nqn.2026-11.h, group: g } ] }",
	    Q "groups: [ { name: h }, { name: g } ], tenants: [ { host: nqn.2026-11.h, group: h } ] }", CONF_LIVE,
	    "~ group of tenant nqn.2026-11.h: g -> h" },
	{ Q "tenants: [ { host: nqn.2026-11.h } ] }",
	    Q "tenants: [ { host: nqn.2026-11.h, limits: { burst: 20ms } } ] }", CONF_LIVE,
	    "~ limits of tenant nqn.2026-11.h: none -> bursts of 20 ms" },
	{ S F " }", S F ", qos: { mode: caps } }", CONF_OPENING,
	    "~ sharing of namespace 1 of nqn.2026-11.a: off -> caps (unless it was off when it was opened)" },
	{ S F ", qos: { mode: caps } }", S F ", qos: { mode: gimbal } }", CONF_LIVE,
	    "~ sharing of namespace 1 of nqn.2026-11.a: caps -> gimbal" },
	{ S F ", qos: { mode: gimbal } }", S F " }", CONF_LIVE,
	    "~ sharing of namespace 1 of nqn.2026-11.a: gimbal -> off" },
	{ S F " }", S F ", qos: { limits: { read_iops: 7 } } }", CONF_LIVE,
	    "~ limits of namespace 1 of nqn.2026-11.a: none -> 7 reads a second" },
	{ S F " }\nqos: { devices: [ { name: d } ] }", S F ", qos: { device: d } }\nqos: { devices: [ { name: d } ] }",
	    CONF_LIVE, "~ device of namespace 1 of nqn.2026-11.a: the default -> d" },
};

static void
each_change_is_told_alone(void **state)
{
	unsigned failures = 0;
	struct told told;

	(void)state;
	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++) {
		const struct one *one = &ones[i];

		diff_texts(one->old, one->new, &told);
		if (told.count == 1 && told.list[0].ease == one->ease &&
		    strcmp(told.list[0].text, one->text) == 0)
			continue;
		for (unsigned n = 0; n < told.count; n++)
			print_error("%s\n", told.list[n].text);
		print_error("wanted %s\n", one->text);
		failures++;
	}
	assert_int_equal(failures, 0);
}

static void
expect_two(const char *old, const char *new, const char *first, const char *second)
{
	struct told told;

	diff_texts(old, new, &told);
	assert_int_equal(told.count, 2);
	assert_string_equal(told.list[0].text, first);
	assert_string_equal(told.list[1].text, second);
}

static void
what_a_namespace_is_cannot_be_altered_only_replaced(void **state)
{
	static const char gone[] = "- namespace 1 of nqn.2026-11.a: file:/a";
	static const char come[] = "+ namespace 1 of nqn.2026-11.a: file:/a, as large as it is";

	(void)state;
	expect_two(S F " }", S "  namespaces: [ { nsid: 1, volume: 'file:/b' } ]", gone,
	    "+ namespace 1 of nqn.2026-11.a: file:/b, as large as it is");
	expect_two(S F " }", S "  namespaces: [ { nsid: 2, volume: 'file:/a' } ]", gone,
	    "+ namespace 2 of nqn.2026-11.a: file:/a, as large as it is");
	expect_two(S F " }", S F ", block_size: 512 }", gone, come);
	expect_two(S F " }", S F ", nguid: 0123456789abcdef0123456789abcdef }", gone, come);
	expect_two(S F " }", S F ", uuid: 01234567-89ab-cdef-0123-456789abcdef }", gone, come);
}

/* It is known by another name from then on. */
static void
memory_that_stays_is_not_lost(void **state)
{
	static const char gone[] = "- namespace 1 of nqn.2026-11.a: mem";
	static const char lost[] = "- namespace 1 of nqn.2026-11.a: mem (loses data)";
	static const char come[] = "+ namespace 1 of nqn.2026-11.a: mem, 8M";

	(void)state;
	expect_two(S N ", nguid: 0123456789abcdef0123456789abcdef }", S N " }", gone, come);
	expect_two(S N " }", S N ", uuid: 01234567-89ab-cdef-0123-456789abcdef }", gone, come);
	expect_two(S N ", block_size: 512 }", S N " }", lost, come);
	expect_two(S N " }", S "  namespaces: [ { nsid: 1, volume: 'volatile:@mem', size: 8M } ]", lost,
	    "+ namespace 1 of nqn.2026-11.a: volatile:@mem, 8M");
}

static void
what_is_taken_away_comes_first(void **state)
{
	static const char *const order[] = {
		"- referral to 192.0.2.8:", "- host nqn.2026-11.h ", "- namespace 1 of nqn.2026-11.a",
		"- namespace 1 of nqn.2026-11.b", "- subsystem nqn.2026-11.b", "- listener x: 192.0.2.3:",
		"~ connections", "+ ANA group 2 ", "~ ANA group of namespace 2 ", "- ANA group 1 ",
		"+ listener x: 192.0.2.4:", "+ namespace 1 of nqn.2026-11.a", "+ host nqn.2026-11.g ",
		"+ subsystem nqn.2026-11.c", "+ namespace 1 of nqn.2026-11.c", "+ referral to 192.0.2.9:",
	};
	struct told told;

	(void)state;
	diff_texts(L "- { name: x, address: 192.0.2.3 }\n"
	    "subsystems:\n"
	    "- nqn: nqn.2026-11.a\n"
	    "  hosts: [ nqn.2026-11.h ]\n"
	    "  namespaces: [ { nsid: 1, volume: 'file:/a' }, { nsid: 2, volume: 'file:/b' } ]\n"
	    "- nqn: nqn.2026-11.b\n"
	    "  namespaces: [ { nsid: 1, volume: 'file:/c' } ]\n"
	    "referrals: [ { address: 192.0.2.8 } ]\n",
	    L "- { name: x, address: 192.0.2.4 }\n"
	    "limits: { connections: 9 }\n"
	    "subsystems:\n"
	    "- nqn: nqn.2026-11.a\n"
	    "  hosts: [ nqn.2026-11.g ]\n"
	    "  ana_groups: [ { id: 2 } ]\n"
	    "  namespaces:\n"
	    "  - { nsid: 1, volume: 'file:/c', ana_group: 2 }\n"
	    "  - { nsid: 2, volume: 'file:/b', ana_group: 2 }\n"
	    "- nqn: nqn.2026-11.c\n"
	    "  namespaces: [ { nsid: 1, volume: 'file:/a' } ]\n"
	    "referrals: [ { address: 192.0.2.9 } ]\n", &told);
	assert_int_equal(told.count, sizeof(order) / sizeof(order[0]));
	for (unsigned i = 0; i < told.count; i++)
		if (strncmp(told.list[i].text, order[i], strlen(order[i])) != 0)
			fail_msg("%s: not %s", told.list[i].text, order[i]);
}

static void
the_same_said_otherwise_is_no_change(void **state)
{
	struct told told;

	(void)state;
	diff_texts(L
	    "subsystems:\n"
	    "- { nqn: nqn.2026-11.a, listeners: [ back, front ], hosts: [ nqn.2026-11.h, nqn.2026-11.g ], "
	    "ana_groups: [ { id: 1, on: { front: optimized } }, { id: 2, state: change } ] }\n"
	    "- { nqn: nqn.2026-11.b, namespaces: [ { nsid: 1, volume: mem, size: 1024K }, { nsid: 2, volume: null, "
	    "size: 2M } ] }\n",
	    "timeouts: { stall: 30000ms }\n"
	    "listeners: [ { name: b, address: '[0::1]', discovery: no }, { name: a, address: 192.0.2.1:4420 } ]\n"
	    "subsystems:\n"
	    "- { nqn: nqn.2026-11.b, namespaces: [ { nsid: 2, volume: 'null', size: 2M }, { nsid: 1, "
	    "volume: mem, size: 1M } ] }\n"
	    "- { nqn: nqn.2026-11.a, hosts: [ nqn.2026-11.g, nqn.2026-11.h ], ana_groups: [ { id: 2, on: { a: change, "
	    "b: change } }, { id: 1 } ] }\n",
	    &told);
	assert_int_equal(told.count, 0);
}

/* What is taken away one way is added the other way. */
static void
there_and_back_are_as_many_changes(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 2);
	for (unsigned i = 0; i < 1000; i++) {
		struct told there = { .count = 0 }, back = { .count = 0 };
		const struct conf *a, *b;
		struct arena arena;

		arena_init(&arena, 0);
		a = conf_random(&arena, &rng);
		b = conf_random(&arena, &rng);
		assert_int_equal(conf_diff(a, b, note, &there), conf_diff(b, a, note, &back));
		assert_int_equal(conf_diff(a, a, note, &there), 0);
		arena_drop(&arena);
	}
}

static void
expect_fit(const char *old, const char *new, const char *words)
{
	struct arena arenas[2];
	struct conf *confs[2];
	char why[256] = "";

	for (unsigned i = 0; i < 2; i++) {
		struct conf_errors errors = { .count = 0 };
		const char *text = i == 0 ? old : new;

		arena_init(&arenas[i], 0);
		assert_int_equal(conf_parse(&arenas[i], text, strlen(text), &confs[i], &errors), 0);
	}
	assert_int_equal(conf_fits(confs[0], confs[1], why), words == NULL);
	if (words != NULL && strstr(why, words) == NULL)
		fail_msg("%s: it says nothing of %s", why, words);
	arena_drop(&arenas[0]);
	arena_drop(&arenas[1]);
}

static void
a_file_that_another_volume_has_is_not_had_in_the_same_change(void **state)
{
#define A S "  namespaces:\n  - { nsid: 1, volume: 'file:/a' }\n  - { nsid: 2, volume: 'volatile:@file:/b' }\n"
	static const char otherwise[] = "namespace 1: /a: the namespace is served with it in another way: take";

	(void)state;
	expect_fit(A, A, NULL);
	expect_fit(A, S F ", size: 8M, write_protected: yes, nguid: 0123456789abcdef0123456789abcdef }", NULL);
	expect_fit(A, S "  namespaces: [ { nsid: 1, volume: 'file:/c' }, { nsid: 2, volume: mem, size: 8M } ]", NULL);
	expect_fit(S N " }", S F " }", NULL);
	expect_fit(S N " }", S "  namespaces: [ { nsid: 1, volume: 'volatile:@mem', size: 8M } ]", NULL);
	expect_fit(A, S F ", block_size: 512 }", otherwise);
	expect_fit(A, S "  namespaces: [ { nsid: 1, volume: 'fault:delay=1@volatile:@file:/a' } ]", otherwise);
	expect_fit(A, S "  namespaces: [ { nsid: 3, volume: mem, size: 8M }, { nsid: 2, volume: 'file:/b' } ]",
	    "namespace 2: /b: the namespace is served with it in another way");
	expect_fit(A, S "  namespaces: [ { nsid: 1, volume: 'file:/b' } ]",
	    "namespace 1: /b: is already served as namespace 2 of nqn.2026-11.a");
	expect_fit(A, S "- nqn: nqn.2026-11.b\n  namespaces: [ { nsid: 1, volume: 'file:/a' } ]",
	    "namespace 1: /a: is already served as namespace 1 of nqn.2026-11.a");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_change_is_told_alone),
		cmocka_unit_test(what_a_namespace_is_cannot_be_altered_only_replaced),
		cmocka_unit_test(memory_that_stays_is_not_lost),
		cmocka_unit_test(what_is_taken_away_comes_first),
		cmocka_unit_test(the_same_said_otherwise_is_no_change),
		cmocka_unit_test(there_and_back_are_as_many_changes),
		cmocka_unit_test(a_file_that_another_volume_has_is_not_had_in_the_same_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
