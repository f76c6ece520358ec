/*
 * lib/log and lib/persistent: log pages of our own controller and of others, whole and cut.
 */
#include <weir/discovery.h>
#include <weir/log.h>
#include <weir/names.h>

#include "ctrl/eventlog.h"
#include "ctrl_bench.h"
#include "wire/nvme.h"
#include "wire/persistent.h"

static void
smart_counts_are_cut_where_they_are_too_large(void **state)
{
	struct nvme_log_smart log = {
		.critical_warning = 4, .temperature = { 0x2c, 1 }, .available_spare = 100, .spare_threshold = 5,
		.percentage_used = 7, .units_read = { le64_of(1), le64_of(0) },
		.units_written = { le64_of(2), le64_of(1) }, .host_reads = { le64_of(3), le64_of(0) },
		.error_entries = { le64_of(UINT64_MAX), le64_of(0) },
		.warning_minutes = le32_of(8), .sensor[7] = le16_of(300),
	};
	struct weir_smart smart;

	weir_smart_decode(&log, sizeof(log), &smart);
	assert_int_equal(smart.critical_warning, WEIR_WARNING_RELIABILITY);
	assert_int_equal(smart.kelvin, 300);
	assert_int_equal(smart.spare_percent, 100);
	assert_int_equal(smart.spare_threshold_percent, 5);
	assert_int_equal(smart.used_percent, 7);
	assert_int_equal(smart.read_units, 1);
	assert_int_equal(smart.written_units, UINT64_MAX);
	assert_int_equal(smart.reads, 3);
	assert_int_equal(smart.error_entries, UINT64_MAX);
	assert_int_equal(smart.warning_minutes, 8);
	assert_int_equal(smart.sensor_kelvin[7], 300);
	weir_smart_decode(&log, 33, &smart);
	assert_int_equal(smart.read_units, 1);
	assert_int_equal(smart.reads, 0);
	weir_smart_decode(NULL, 0, &smart);
	assert_int_equal(smart.critical_warning | smart.kelvin, 0);
}

static void
our_smart_log_is_told(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct weir_smart smart;

	b->stats.counts.reads = 5;
	b->stats.power_cycles = 3;
	b->stats.wear = (struct ctrl_wear){ .used = 101, .spare = 90, .spare_threshold = 20 };
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	weir_smart_decode(b->out, 512, &smart);
	assert_int_equal(smart.reads, 5);
	assert_int_equal(smart.power_cycles, 3);
	assert_int_equal(smart.spare_percent, 90);
	assert_int_equal(smart.spare_threshold_percent, 20);
	assert_int_equal(smart.used_percent, 101);
	test_free(b);
}

static void
errors_are_the_entries_that_are_not_empty(void **state)
{
	struct nvme_log_error_entry log[4] = {
		[1] = { .error_count = le64_of(9), .sqid = le16_of(2), .cid = le16_of(3),
			.status = nvme_status_put(nvme_status_of(NVME_SC_READ_ERROR, true)),
			.location = le16_of(0xffff), .lba = le64_of(77), .nsid = le32_of(1), .opcode = 2,
			.version = 1 },
		[3] = { .error_count = le64_of(8) },
	};
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_error_entry entry;

	assert_true(weir_error_next(log, sizeof(log), &cursor, &entry));
	assert_int_equal(entry.number, 9);
	assert_int_equal(entry.sqid, 2);
	assert_int_equal(entry.cid, 3);
	assert_int_equal(entry.status, NVME_SC_READ_ERROR | WEIR_STATUS_DNR);
	assert_int_equal(entry.location, 0xffff);
	assert_int_equal(entry.lba, 77);
	assert_int_equal(entry.nsid, 1);
	assert_int_equal(entry.opcode, 2);
	assert_int_equal(entry.version, 1);
	assert_true(weir_error_next(log, sizeof(log), &cursor, &entry));
	assert_int_equal(entry.number, 8);
	assert_false(weir_error_next(log, sizeof(log), &cursor, &entry));
	cursor = (struct weir_cursor)WEIR_CURSOR;
	assert_true(weir_error_next(log, sizeof(log) - 1, &cursor, &entry));
	assert_false(weir_error_next(log, sizeof(log) - 1, &cursor, &entry));
}

static void
firmware_is_in_slots(void **state)
{
	struct nvme_log_firmware log = { .afi = 0xb2, .revision = { "1.0     ", "2.0\x07    " } };
	struct bench *b = bench_enabled(&nvm);
	struct weir_firmware firmware;

	weir_firmware_decode(&log, sizeof(log), &firmware);
	assert_int_equal(firmware.active, 2);
	assert_int_equal(firmware.next, 3);
	assert_string_equal(firmware.revision[0], "1.0");
	assert_string_equal(firmware.revision[1], "2.0?");
	assert_string_equal(firmware.revision[2], "");
	assert_int_equal(get_log(b, NVME_LOG_FIRMWARE, 512), NVME_SC_SUCCESS);
	weir_firmware_decode(b->out, 512, &firmware);
	assert_int_equal(firmware.active, 1);
	assert_string_equal(firmware.revision[0], nvm.firmware);
	test_free(b);
}

static void
changed_namespaces_end_with_the_page_or_a_zero(void **state)
{
	le32 *list = test_calloc(1025, sizeof(*list));
	struct weir_cursor cursor = WEIR_CURSOR;
	uint32_t nsid, count = 0;

	list[0] = le32_of(3);
	list[1] = le32_of(70);
	assert_true(weir_changed_next(list, 4096, &cursor, &nsid) && nsid == 3);
	assert_true(weir_changed_next(list, 4096, &cursor, &nsid) && nsid == 70);
	assert_false(weir_changed_next(list, 4096, &cursor, &nsid));
	for (uint32_t i = 0; i < 1025; i++)
		list[i] = le32_of(i + 1);
	cursor = (struct weir_cursor)WEIR_CURSOR;
	while (weir_changed_next(list, 1025 * 4, &cursor, &nsid))
		assert_int_equal(nsid, ++count);
	assert_int_equal(count, 1024);
	cursor = (struct weir_cursor)WEIR_CURSOR;
	assert_true(weir_changed_next(list, 7, &cursor, &nsid));
	assert_false(weir_changed_next(list, 7, &cursor, &nsid));
	test_free(list);
}

static void
what_our_controller_supports_is_told(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint32_t effect;

	assert_int_equal(get_log(b, NVME_LOG_EFFECTS, 4096), NVME_SC_SUCCESS);
	assert_int_equal(weir_effect_of(b->out, 4096, true, NVME_ADMIN_IDENTIFY) & WEIR_EFFECT_SUPPORTED, 1);
	effect = weir_effect_of(b->out, 4096, false, NVME_WRITE);
	assert_int_equal(effect & (WEIR_EFFECT_SUPPORTED | WEIR_EFFECT_CONTENT), 3);
	assert_int_equal(weir_effect_of(b->out, 4096, false, NVME_READ) & WEIR_EFFECT_CONTENT, 0);
	assert_int_equal(weir_effect_of(b->out, 4096, false, 0xff), 0);
	assert_int_equal(weir_effect_of(b->out, 1024 + 4 * NVME_WRITE + 3, false, NVME_WRITE), 0);
	assert_int_equal(get_log(b, NVME_LOG_PAGES, 1024), NVME_SC_SUCCESS);
	assert_int_equal(weir_supported_of(b->out, 1024, NVME_LOG_SMART) & 1, 1);
	assert_int_equal(weir_supported_of(b->out, 1024, 0xff), 0);
	assert_int_equal(weir_supported_of(b->out, 4 * NVME_LOG_SMART, NVME_LOG_SMART), 0);
	test_free(b);
}

/* ---- ANA ---- */

/* Two groups, of two namespaces and of one: 16 + 32 + 8 + 32 + 4 bytes. */
static void
ana_page(uint8_t page[92])
{
	struct nvme_log_ana head = { .changes = le64_of(9), .group_count = le16_of(2) };
	struct nvme_log_ana_group groups[] = {
		{ .id = le32_of(1), .ns_count = le32_of(2), .changes = le64_of(4), .state = NVME_ANA_OPTIMIZED },
		{ .id = le32_of(7), .ns_count = le32_of(1), .changes = le64_of(9), .state = 0xf0 | NVME_ANA_CHANGE },
	};

	memcpy(page, &head, 16);
	memcpy(page + 16, &groups[0], 32);
	put_le32(page + 48, 11);
	put_le32(page + 52, 12);
	memcpy(page + 56, &groups[1], 32);
	put_le32(page + 88, 13);
}

static void
ana_groups_have_states_and_namespaces(void **state)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_ana_group group;
	struct weir_ana_log log;
	uint8_t page[92];

	ana_page(page);
	weir_ana_decode(page, sizeof(page), &log);
	assert_int_equal(log.change_count, 9);
	assert_int_equal(log.groups, 2);
	assert_true(weir_ana_next(page, sizeof(page), &cursor, &group));
	assert_int_equal(group.group, 1);
	assert_int_equal(group.change_count, 4);
	assert_int_equal(group.state, WEIR_ANA_OPTIMIZED);
	assert_int_equal(group.nsid_count, 2);
	assert_int_equal(weir_ana_nsid(&group, 0), 11);
	assert_int_equal(weir_ana_nsid(&group, 1), 12);
	assert_int_equal(weir_ana_nsid(&group, 2), 0);
	assert_true(weir_ana_next(page, sizeof(page), &cursor, &group));
	assert_int_equal(group.group, 7);
	assert_int_equal(group.state, WEIR_ANA_CHANGE);
	assert_int_equal(weir_ana_nsid(&group, 0), 13);
	assert_false(weir_ana_next(page, sizeof(page), &cursor, &group));
	put_le16(page + 8, 1);
	cursor = (struct weir_cursor)WEIR_CURSOR;
	assert_true(weir_ana_next(page, sizeof(page), &cursor, &group));
	assert_false(weir_ana_next(page, sizeof(page), &cursor, &group));
}

static void
of_an_ana_page_that_is_cut_there_is_what_is_in_it(void **state)
{
	uint8_t page[92];

	ana_page(page);
	put_le32(page + 20, UINT32_MAX); /* namespaces that the page cannot have */
	for (size_t bytes = 0; bytes <= sizeof(page); bytes++) {
		uint8_t *exactly = test_malloc(bytes + 1);
		struct weir_cursor cursor = WEIR_CURSOR;
		struct weir_ana_group group;

		memcpy(exactly, page, bytes);
		assert_int_equal(weir_ana_next(exactly, bytes, &cursor, &group), bytes >= 48);
		if (bytes >= 48) {
			assert_int_equal(group.nsid_count, (bytes - 48) / 4);
			assert_false(weir_ana_next(exactly, bytes, &cursor, &group));
		}
		test_free(exactly);
	}
}

/* ---- persistent events ---- */

static void
our_persistent_events_are_told(void **state)
{
	static const struct eventlog_when when = { .date_ms = 1700000000000, .uptime_ms = 2 * 3600000, .cntlid = 5 };
	struct eventlog *events = test_malloc(sizeof(*events));
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_persistent_event event;
	struct weir_persistent_log log;
	unsigned count = 0;

	next->subsys.event_log = true;
	bench_update(b, next);
	eventlog_init(events);
	eventlog_power_on(events, &when, "1");
	for (uint32_t i = 0; i < 10; i++)
		eventlog_timestamp(events, &when, i, 0);
	events->generation = 0x1234;
	events->copied_ms = 5;
	b->events = events;
	assert_int_equal(get_log(b, NVME_LOG_PERSISTENT | NVME_PERSISTENT_ESTABLISH << 8, 4096), NVME_SC_SUCCESS);
	weir_persistent_decode(b->out, 4096, &log);
	assert_int_equal(log.events, 11);
	assert_int_equal(log.length, 512 + 24 + 44 + 10 * 40);
	assert_int_equal(log.timestamp_ms, 5);
	assert_int_equal(log.power_on_hours, 2);
	assert_int_equal(log.power_cycles, 1);
	assert_int_equal(log.generation, 0x1234);
	assert_string_equal(log.serial, nvm.serial);
	assert_string_equal(log.model, nvm.model);
	assert_string_equal(log.subnqn, nvm.nqn);
	assert_int_equal(log.supported[0], 0x7a);
	while (weir_persistent_next(b->out, 4096, &cursor, &event)) {
		assert_int_equal(event.timestamp_ms, 1700000000000);
		assert_int_equal(event.vendor_bytes, 0);
		assert_int_equal(event.type, count > 0 ? WEIR_PERSISTENT_TIMESTAMP : WEIR_PERSISTENT_RESET);
		assert_int_equal(event.data_bytes, count > 0 ? 16 : 44);
		assert_int_equal(event.cntlid, 5);
		if (count > 0)
			assert_int_equal(get_le64(event.data), count - 1);
		count++;
	}
	assert_int_equal(count, 11);
	test_free(events);
	test_free(b);
}

/* A header and an event that are longer than ours, with bytes of a vendor; then one that says it is too short. */
static size_t
persistent_page(uint8_t page[1024])
{
	struct nvme_persistent_log log = { .events = le32_of(9), .header_length = le16_of(492 + 8) };
	struct nvme_persistent_event event = {
		.type = 13, .revision = 2, .header_length = 21 + 4, .cntlid = le16_of(3), .port = le16_of(2),
		.timestamp = le64_of(UINT64_MAX), .vendor_length = le16_of(2), .length = le16_of(5),
	};
	struct nvme_persistent_event tiny = { .type = 4, .vendor_length = le16_of(7), .length = le16_of(1) };

	memset(page, 0, 1024);
	memcpy(page, &log, sizeof(log));
	memcpy(page + 520, &event, sizeof(event));
	memcpy(page + 548, "vvdddx", 6);
	memcpy(page + 553, &tiny, sizeof(tiny));
	page[577] = 'y';
	return 578;
}

static void
what_a_later_version_adds_is_stepped_over(void **state)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_persistent_event event;
	uint8_t page[1024];
	size_t bytes = persistent_page(page);

	assert_true(weir_persistent_next(page, bytes, &cursor, &event));
	assert_int_equal(event.type, WEIR_PERSISTENT_THERMAL);
	assert_int_equal(event.revision, 2);
	assert_int_equal(event.cntlid, 3);
	assert_int_equal(event.port, 2);
	assert_int_equal(event.timestamp_ms, 0xffffffffffff);
	assert_int_equal(event.vendor_bytes, 2);
	assert_memory_equal(event.vendor, "vv", 2);
	assert_int_equal(event.data_bytes, 3);
	assert_memory_equal(event.data, "ddd", 3);
	assert_true(weir_persistent_next(page, bytes, &cursor, &event));
	assert_int_equal(event.type, WEIR_PERSISTENT_RESET);
	assert_int_equal(event.vendor_bytes, 1);
	assert_int_equal(*(const char *)event.vendor, 'y');
	assert_int_equal(event.data_bytes, 0);
	assert_null(event.data);
	assert_false(weir_persistent_next(page, bytes, &cursor, &event));
	cursor = (struct weir_cursor)WEIR_CURSOR;
	assert_true(weir_persistent_next(page, bytes - 1, &cursor, &event));
	assert_false(weir_persistent_next(page, bytes - 1, &cursor, &event));
}

static void
no_more_events_than_the_header_says(void **state)
{
	struct weir_cursor cursor = WEIR_CURSOR;
	struct weir_persistent_event event;
	uint8_t page[1024];

	persistent_page(page);
	put_le32(page + 4, 1);
	assert_true(weir_persistent_next(page, sizeof(page), &cursor, &event));
	assert_false(weir_persistent_next(page, sizeof(page), &cursor, &event));
}

/* ---- the rest ---- */

static void
a_reservation_notice_is_told(void **state)
{
	struct nvme_log_reservation log = {
		.count = le64_of(3), .type = NVME_RESV_PREEMPTED, .left = 2, .nsid = le32_of(9),
	};
	struct weir_reservation_notice notice;

	weir_reservation_notice_decode(&log, sizeof(log), &notice);
	assert_int_equal(notice.number, 3);
	assert_string_equal(weir_reservation_notice_name(notice.type), "reservation preempted");
	assert_int_equal(notice.left, 2);
	assert_int_equal(notice.nsid, 9);
}

static void
numbers_have_names_or_are_unknown(void **state)
{
	assert_string_equal(weir_transport_name(WEIR_TRANSPORT_TCP), "tcp");
	assert_string_equal(weir_subtype_name(WEIR_SUBTYPE_NVM), "nvm");
	assert_string_equal(weir_ana_name(WEIR_ANA_CHANGE), "change");
	assert_string_equal(weir_ana_name(5), "unknown");
	assert_string_equal(weir_ana_name(255), "unknown");
	assert_string_equal(weir_lid_name(WEIR_LID_DISCOVERY), "discovery");
	assert_string_equal(weir_lid_name(WEIR_LID_PERSISTENT), "persistent events");
	assert_string_equal(weir_persistent_name(WEIR_PERSISTENT_THERMAL), "thermal excursion");
	assert_string_equal(weir_persistent_name(WEIR_PERSISTENT_VENDOR), "vendor specific");
	assert_string_equal(weir_path_state_name(WEIR_PATH_LIVE), "live");
	assert_string_equal(weir_path_state_name(UINT32_MAX), "unknown");
	assert_string_equal(weir_opcode_name(true, 6), "identify");
	assert_string_equal(weir_opcode_name(false, 6), "unknown");
	for (unsigned bit = 0; bit < 8; bit++)
		assert_int_equal(strcmp(weir_warning_name(bit), "unknown") == 0, bit > 5);
	for (unsigned i = 0; i < 256; i++) {
		const char *names[] = {
			weir_transport_name((uint8_t)i), weir_adrfam_name((uint8_t)i),
			weir_subtype_name((uint8_t)i),
			weir_treq_name((uint8_t)i), weir_sectype_name((uint8_t)i),
			weir_controller_type_name((uint8_t)i),
			weir_ana_name((uint8_t)i), weir_lid_name((uint8_t)i), weir_persistent_name((uint8_t)i),
			weir_reservation_notice_name((uint8_t)i), weir_opcode_name(true, (uint8_t)i),
			weir_opcode_name(false, (uint8_t)i),
		};

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			assert_true(names[n] != NULL && names[n][0] != '\0');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smart_counts_are_cut_where_they_are_too_large),
		cmocka_unit_test(our_smart_log_is_told),
		cmocka_unit_test(errors_are_the_entries_that_are_not_empty),
		cmocka_unit_test(firmware_is_in_slots),
		cmocka_unit_test(changed_namespaces_end_with_the_page_or_a_zero),
		cmocka_unit_test(what_our_controller_supports_is_told),
		cmocka_unit_test(ana_groups_have_states_and_namespaces),
		cmocka_unit_test(of_an_ana_page_that_is_cut_there_is_what_is_in_it),
		cmocka_unit_test(our_persistent_events_are_told),
		cmocka_unit_test(what_a_later_version_adds_is_stepped_over),
		cmocka_unit_test(no_more_events_than_the_header_says),
		cmocka_unit_test(a_reservation_notice_is_told),
		cmocka_unit_test(numbers_have_names_or_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
