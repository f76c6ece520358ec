/*
 * conf/, fair sharing: what a file says of drives, groups, tenants and namespaces, and how it is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf_bench.h"

static struct conf *
read_text(struct arena *arena, const char *text)
{
	struct conf_errors errors;
	struct conf *conf;
	int error;

	arena_init(arena, 0);
	error = conf_parse(arena, text, strlen(text), &conf, &errors);
	for (uint32_t i = 0; i < errors.count; i++)
		print_error("%u: %s\n", errors.list[i].line, errors.list[i].text);
	assert_int_equal(error, 0);
	return conf;
}

static const char full[] =
    "subsystems:\n" /* what they name stands below */
    "  - nqn: nqn.2026-11.a\n"
    "    namespaces:\n"
    "      - { nsid: 1, volume: file:/a }\n"
    "      - nsid: 2\n"
    "        volume: file:/b\n"
    "        qos: { device: other, mode: off, limits: { read_bandwidth: 1G, burst: 2s } }\n"
    "      - { nsid: 3, volume: file:/c, qos: { mode: gimbal } }\n"
    "listeners: [ { address: 192.0.2.1 } ]\n"
    "qos:\n"
    "  tenants:\n"
    "    - { host: nqn.2026-11.h1, group: silver, weight: 10000 }\n"
    "    - { host: nqn.2026-11.h2, limits: { read_iops: 1, write_iops: 1000000000, write_bandwidth: 1T } }\n"
    "  groups:\n"
    "    - name: gold\n"
    "      weight: 4\n"
    "    - { name: silver, limits: { write_iops: 3 } }\n"
    "  devices:\n"
    "    - name: samsung\n"
    "    - name: other\n"
    "      read_cost: [9.3, 5.125, 2.9, 1.7, 1.2, 1.0]\n"
    "      write_cost: [0.001, 5, 4, 3, 2, 255.999]\n"
    "      write_cost_worst: 256\n"
    "      read_rate: [64K, 0, 1G, 1048577, 3M, 1T]\n"
    "      write_rate: [0, 0, 0, 0, 0, 0]\n"
    "      read_extra_us: [0, 1, 2.5, 4294967.295, 99.999, 0.001]\n"
    "      write_extra_us: [6, 5, 4, 3, 2, 1]\n"
    "      latency_min_us: 80.5\n"
    "      latency_max_us: 4000000\n"
    "      slots: 16\n"
    "      slots_least: 8\n"
    "      inflight: 2560K\n"
    "      rate_first: 1000M\n"
    "      rate_least: 1\n"
    "      rate_most: 1T\n"
    "      ewma_shift: 2\n"
    "      thresh_shift: 3\n"
    "      beta: 4\n"
    "      bucket: 1M\n"
    "      quantum: 4096\n"
    "      write_cost_steps: 5\n"
    "      write_cost_us: 1000.001\n"
    "      linger_us: 0\n"
    "      stall_us: 2000000\n"
    "  mode: caps\n";

static void
each_parameter_of_a_device_is_read(void **state)
{
	static const struct qos_params other = {
		.size_cost = { { 9523, 5248, 2970, 1741, 1229, 1024 }, { 1, 5120, 4096, 3072, 2048, 262143 } },
		.write_cost_worst = 262144,
		.size_rate = { { 65536, 0, UINT64_C(1) << 30, 1048577, 3 << 20, UINT64_C(1) << 40 } },
		.size_ns = { { 0, 1000, 2500, UINT32_MAX, 99999, 1 }, { 6000, 5000, 4000, 3000, 2000, 1000 } },
		.thresh_min_ns = 80500, .thresh_max_ns = 4000000000, .slots = 16, .slots_least = 8,
		.inflight_bytes = 20 * QOS_SLOT_BYTES, .rate_first = UINT64_C(1000) << 20, .rate_least = 1,
		.rate_most = UINT64_C(1) << 40, .ewma_shift = 2, .thresh_shift = 3, .beta = 4,
		.bucket_bytes = 1 << 20, .quantum_bytes = 4096, .write_cost_steps = 5, .write_cost_ns = 1000001,
		.linger_ns = 0, .stall_ns = 2000000000,
	};
	struct conf_device wanted[2] = { { .name = "samsung" }, { .name = "other", .params = other } };
	struct conf like = { .qos = { .mode = CONF_QOS_CAPS, .device_count = 2, .devices = wanted } };
	struct arena arena;
	struct conf *conf = read_text(&arena, full);

	(void)state;
	qos_params_default(&wanted[0].params);
	assert_int_equal(conf->qos.device_count, 2);
	conf->qos.group_count = conf->qos.tenant_count = 0;
	like.listener_count = conf->listener_count;
	like.listeners = conf->listeners;
	like.connections_max = conf->connections_max;
	like.handshake_ms = conf->handshake_ms;
	like.stall_ms = conf->stall_ms;
	conf->subsys_count = 0;
	assert_null(conf_difference(conf, &like));
	arena_drop(&arena);
}

static void
groups_and_tenants_have_weights_and_limits(void **state)
{
	struct arena arena;
	const struct conf_qos *qos = &read_text(&arena, full)->qos;

	(void)state;
	assert_int_equal(qos->group_count, 2);
	assert_string_equal(qos->groups[0].name, "gold");
	assert_int_equal(qos->groups[0].weight, 4);
	assert_int_equal(qos->groups[0].limits[QOS_READ].ios, 0);
	assert_int_equal(qos->groups[1].weight, 1);
	assert_int_equal(qos->groups[1].limits[QOS_WRITE].ios, 3);
	assert_int_equal(qos->tenant_count, 2);
	assert_string_equal(qos->tenants[0].host, "nqn.2026-11.h1");
	assert_int_equal(qos->tenants[0].group, 1);
	assert_int_equal(qos->tenants[0].weight, QOS_WEIGHT_MAX);
	assert_int_equal(qos->tenants[1].group, CONF_QOS_NONE);
	assert_int_equal(qos->tenants[1].weight, 1);
	assert_int_equal(qos->tenants[1].limits[QOS_READ].ios, 1);
	assert_int_equal(qos->tenants[1].limits[QOS_READ].bytes, 0);
	assert_int_equal(qos->tenants[1].limits[QOS_WRITE].ios, QOS_CAP_IOS_MAX);
	assert_int_equal(qos->tenants[1].limits[QOS_WRITE].bytes, QOS_CAP_BYTES_MAX);
	arena_drop(&arena);
}

static void
a_namespace_that_says_nothing_is_shared_as_all_are(void **state)
{
	struct arena arena;
	const struct conf_ns *ns = read_text(&arena, full)->subsys[0].ns;

	(void)state;
	assert_true(ns[0].mode == CONF_QOS_CAPS && ns[0].device == CONF_QOS_NONE && ns[0].burst_ms == 0);
	assert_true(ns[1].mode == CONF_QOS_OFF && ns[1].device == 1 && ns[1].burst_ms == 2000);
	assert_int_equal(ns[1].limits[QOS_READ].bytes, 1 << 30);
	assert_int_equal(ns[1].limits[QOS_WRITE].bytes, 0);
	assert_true(ns[2].mode == CONF_QOS_GIMBAL && ns[2].device == CONF_QOS_NONE);
	arena_drop(&arena);
}

static void
without_a_word_nothing_is_shared(void **state)
{
	struct arena arena;
	const struct conf *conf = read_text(&arena, "listeners: [ { address: 192.0.2.1 } ]\nsubsystems:\n"
	    "- { nqn: nqn.2026-11.a, namespaces: [ { nsid: 1, volume: file:/a } ] }\n");

	(void)state;
	assert_true(conf->qos.mode == CONF_QOS_OFF && conf->qos.device_count == 0 && conf->qos.group_count == 0 &&
	    conf->qos.tenant_count == 0);
	assert_true(conf->subsys[0].ns[0].mode == CONF_QOS_OFF && conf->subsys[0].ns[0].device == CONF_QOS_NONE);
	arena_drop(&arena);
}

/* What was measured is printed in any case; the rest, where somebody has decided otherwise. */
static void
what_is_printed_is_what_one_would_write(void **state)
{
	static const char text[] =
	    "listeners: [ { address: 192.0.2.1 } ]\n"
	    "subsystems: [ { nqn: nqn.2026-11.a, namespaces: [\n"
	    "  { nsid: 1, volume: file:/a, qos: { mode: gimbal } },\n"
	    "  { nsid: 2, volume: file:/b, qos: { mode: off, device: d,\n"
	    "    limits: { burst: 60s, write_iops: 9 } } } ] } ]\n"
	    "qos:\n"
	    "  devices: [ { name: d, beta: 8, linger_us: 1500, read_cost: [1.001, 2.50, 1, 1, 1, 1] } ]\n"
	    "  groups: [ { name: 'yes', weight: 1 }, { name: g, limits: {} } ]\n"
	    "  tenants: [ { host: nqn.2026-11.h, group: g, limits: { read_bandwidth: 1048576 } } ]\n"
	    "  mode: gimbal\n";
	static const char canonical[] =
	    "      - nsid: 2\n"
	    "        volume: file:/b\n"
	    "        qos:\n"
	    "          mode: \"off\"\n"
	    "          device: d\n"
	    "          limits:\n"
	    "            write_iops: 9\n"
	    "            burst: 1m\n"
	    "qos:\n"
	    "  mode: gimbal\n"
	    "  devices:\n"
	    "    - name: d\n"
	    "      read_cost: [1.001, 2.5, 1, 1, 1, 1]\n"
	    "      write_cost: [1, 1, 1, 1, 1, 1]\n"
	    "      write_cost_worst: 9\n"
	    "      read_rate: [0, 0, 0, 0, 0, 0]\n"
	    "      write_rate: [0, 0, 0, 0, 0, 0]\n"
	    "      read_extra_us: [0, 0, 0, 0, 0, 0]\n"
	    "      write_extra_us: [0, 0, 0, 0, 0, 0]\n"
	    "      latency_min_us: 250\n"
	    "      latency_max_us: 1500\n"
	    "      slots: 8\n"
	    "      slots_least: 4\n"
	    "      inflight: 2560K\n"
	    "      rate_first: 1000M\n"
	    "      rate_least: 50M\n"
	    "      rate_most: 4G\n"
	    "      linger_us: 1500\n"
	    "  groups:\n"
	    "    - name: \"yes\"\n"
	    "    - name: g\n"
	    "  tenants:\n"
	    "    - host: nqn.2026-11.h\n"
	    "      group: g\n"
	    "      limits:\n"
	    "        read_bandwidth: 1M\n";
	struct arena arena;
	const struct conf *conf = read_text(&arena, text);
	const char *printed;
	size_t bytes;

	(void)state;
	printed = strstr(conf_printed(&arena, conf, &bytes), "      - nsid: 2\n");
	assert_non_null(printed);
	assert_string_equal(printed, canonical);
	arena_drop(&arena);
}

/* Though they are kept in 1024ths. */
static void
costs_of_three_decimals_are_printed_as_they_were(void **state)
{
	(void)state;
	for (unsigned thousandths = 1000; thousandths <= 3000; thousandths++) {
		char text[256], cost[32];
		struct arena arena;
		const struct conf *conf;
		size_t bytes;

		sprintf(cost, "worst: %u.%03u", thousandths / 1000, thousandths % 1000);
		sprintf(text, "listeners: [ { address: 192.0.2.1 } ]\n"
		    "qos: { devices: [ { name: d, write_cost_%s } ] }\n", cost);
		conf = read_text(&arena, text);
		cost[strlen("worst: 1.000") - (thousandths % 10 != 0 ? 0 : thousandths % 100 != 0 ? 1 :
		    thousandths % 1000 != 0 ? 2 : 4)] = '\0';
		strcat(cost, "\n");
		assert_non_null(strstr(conf_printed(&arena, conf, &bytes), cost));
		arena_drop(&arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_parameter_of_a_device_is_read),
		cmocka_unit_test(groups_and_tenants_have_weights_and_limits),
		cmocka_unit_test(a_namespace_that_says_nothing_is_shared_as_all_are),
		cmocka_unit_test(without_a_word_nothing_is_shared),
		cmocka_unit_test(what_is_printed_is_what_one_would_write),
		cmocka_unit_test(costs_of_three_decimals_are_printed_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
