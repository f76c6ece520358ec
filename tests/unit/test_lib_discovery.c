/*
 * lib/discovery_log: entries of our own discovery service and of others, and the URIs that are made of them.
 */
#include <weir/names.h>

#include "ctrl_bench.h"
#include "lib/discovery_log.h"

static void
our_own_log_names_our_listeners(void **state)
{
	struct bench *b = bench_enabled(&discovery);
	struct discovery_header header;
	char text[400], again[400];

	assert_int_equal(get_log(b, NVME_LOG_DISCOVERY, 4096), NVME_SC_SUCCESS);
	discovery_header_decode(b->out, &header);
	assert_int_equal(header.generation, 7);
	assert_int_equal(header.format, 0);
	assert_true(header.entries >= 2);
	for (unsigned i = 0; i < 2; i++) {
		struct weir_discovered entry;
		struct weir_uri uri;

		discovery_entry_decode(b->out + DISCOVERY_HEADER_LEN + i * DISCOVERY_ENTRY_LEN, &entry);
		assert_int_equal(entry.transport, WEIR_TRANSPORT_TCP);
		assert_int_equal(entry.adrfam, portals[i].ipv6 ? 2 : 1);
		assert_string_equal(entry.address, portals[i].traddr);
		assert_string_equal(entry.service, "4420");
		assert_int_equal(entry.sectype, 0);
		assert_int_equal(entry.level, 0);
		assert_true(weir_discovered_uri(&entry, text, sizeof(text)) > 0);
		assert_int_equal(weir_uri_parse(text, &uri), 0);
		assert_string_equal(uri.address[0].host, portals[i].traddr);
		assert_int_equal(uri.address[0].port, 4420);
		assert_string_equal(uri.subnqn, entry.subtype == WEIR_SUBTYPE_NVM ? nvm.nqn : "");
		assert_int_equal(weir_discovered_uri(&entry, again, 5), strlen(text));
		assert_string_equal(again, "nvme");
	}
	test_free(b);
}

static struct weir_discovered
decoded(const struct nvme_log_discovery_entry *log)
{
	struct weir_discovered entry;

	discovery_entry_decode(log, &entry);
	return entry;
}

static void
texts_end_where_they_end_and_can_be_shown(void **state)
{
	struct nvme_log_discovery_entry log = {
		.trtype = 3, .adrfam = 1, .subtype = 2, .treq = 1, .portid = le16_of(2), .cntlid = le16_of(0xffff),
		.asqsz = le16_of(32), .eflags = le16_of(3), .trsvcid = "4420    ", .tsas = { 2 },
		.subnqn = "nqn.2026-11.a\x1b]0;title\x07",
	};
	struct weir_discovered entry;

	memset(log.traddr, ' ', sizeof(log.traddr));
	memcpy(log.traddr, "10.0.0.7", 8);
	entry = decoded(&log);
	assert_string_equal(entry.address, "10.0.0.7");
	assert_string_equal(entry.service, "4420");
	assert_string_equal(entry.subnqn, "nqn.2026-11.a?]0;title?");
	assert_int_equal(entry.treq, 1);
	assert_int_equal(entry.portid, 2);
	assert_int_equal(entry.cntlid, 0xffff);
	assert_int_equal(entry.admin_max, 32);
	assert_int_equal(entry.eflags, 3);
	assert_string_equal(weir_sectype_name(entry.sectype), "tls1.3");
	memset(&log, 'x', sizeof(log));
	entry = decoded(&log);
	assert_int_equal(strlen(entry.address), 256);
	assert_int_equal(strlen(entry.service), 32);
	assert_int_equal(strlen(entry.subnqn), 223);
	assert_int_equal(entry.sectype, 0); /* of another transport the bytes mean something else */
}

static void
what_has_no_uri_says_why(void **state)
{
	const struct weir_discovered good = {
		.transport = WEIR_TRANSPORT_TCP, .subtype = WEIR_SUBTYPE_NVM, .address = "a", .service = "1",
		.subnqn = "nqn.2026-11.a",
	};
	struct weir_discovered bad[9];
	char text[400];

	assert_int_equal(weir_discovered_uri(&good, text, sizeof(text)), strlen("nvme+tcp://a:1/nqn.2026-11.a"));
	assert_string_equal(text, "nvme+tcp://a:1/nqn.2026-11.a");
	for (unsigned i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].transport = WEIR_TRANSPORT_RDMA;
	strcpy(bad[1].service, "");
	strcpy(bad[2].service, "65537");
	strcpy(bad[3].service, "1x");
	strcpy(bad[4].service, "0");
	strcpy(bad[5].address, "");
	strcpy(bad[6].address, "a b");
	memset(bad[7].address, 'a', 256);
	strcpy(bad[8].subnqn, "");
	for (unsigned i = 0; i < 9; i++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(weir_discovered_uri(&bad[i], text, sizeof(text)), 0);
		assert_string_equal(text, "");
		assert_string_not_equal(weir_error(), "");
	}
	assert_int_equal(weir_discovered_uri(&bad[0], NULL, 0), 0);
}

static void
a_service_is_named_without_a_subsystem(void **state)
{
	struct weir_discovered entry = {
		.transport = WEIR_TRANSPORT_TCP, .subtype = WEIR_SUBTYPE_REFERRAL, .address = "fe80::1%eth0",
		.service = "8009", .subnqn = "nqn.2026-11.a.discovery.of.its.own",
	};
	char text[400];

	assert_true(weir_discovered_uri(&entry, text, sizeof(text)) > 0);
	assert_string_equal(text, "nvme+tcp://[fe80::1%25eth0]:8009");
	entry.subtype = WEIR_SUBTYPE_CURRENT_DISCOVERY;
	assert_true(weir_discovered_uri(&entry, text, sizeof(text)) > 0);
	assert_string_equal(text, "nvme+tcp://[fe80::1%25eth0]:8009");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_log_names_our_listeners),
		cmocka_unit_test(texts_end_where_they_end_and_can_be_shown),
		cmocka_unit_test(what_has_no_uri_says_why),
		cmocka_unit_test(a_service_is_named_without_a_subsystem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
