#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctrl/eventlog.h"
#include "wire/feature.h"

static const struct eventlog_when when = { .date_ms = 0x123456789abc, .uptime_ms = 7000, .cntlid = 5 };

/* The n-th event from the oldest on. */
static const struct nvme_persistent_event *
event_at(const struct eventlog *log, uint32_t n)
{
	const uint8_t *at = log->bytes;

	assert_true(n < log->count);
	while (n-- > 0)
		at += 24 + get_le16(at + 22);
	return (const void *)at;
}

static struct eventlog *
log_create(void)
{
	struct eventlog *log = test_malloc(sizeof(*log));

	eventlog_init(log);
	return log;
}

/* One of each kind: what is said of it lies where the specification says. */
static void
each_event_has_its_header_and_its_data(void **state)
{
	static const uint8_t types[] = { 0x04, 0x03, 0x06, 0x0b, 0x05, 0x01, 0xde };
	static const uint16_t lengths[] = { 44, 16, 48, 16, 8, 512, 6 + 25 + 5 };
	struct nvme_sqe sqe = { .cdw10 = le32_of(NVME_FEATURE_PROTECTION), .cdw11 = le32_of(1) };
	struct ns_info ns = { .nsid = 9, .blocks = 77, .shared = true, .ana_group = 3 };
	struct nvme_log_smart smart = { .available_spare = 100 };
	struct eventlog *log = log_create();
	const uint8_t *data;

	eventlog_power_on(log, &when, "1.2", true);
	eventlog_timestamp(log, &when, 42);
	eventlog_namespace(log, &when, 1, &ns);
	eventlog_feature(log, &when, &sqe, 0x55);
	eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 9);
	eventlog_smart(log, &when, &smart);
	eventlog_host_lost(log, &when, "nqn.a");
	assert_int_equal(log->count, 7);
	for (uint32_t i = 0; i < 7; i++) {
		const struct nvme_persistent_event *event = event_at(log, i);

		assert_int_equal(event->type, types[i]);
		assert_int_equal(event->revision, 1);
		assert_int_equal(event->header_length, 21);
		assert_int_equal(le16_get(event->cntlid), 5);
		assert_int_equal(le64_get(event->timestamp), 0x123456789abc);
		assert_int_equal(le16_get(event->vendor_length), 0);
		assert_int_equal(le16_get(event->length), lengths[i]);
	}
	data = (const uint8_t *)event_at(log, 0) + 24;
	assert_memory_equal(data, "1.2     ", 8);
	assert_int_equal(get_le16(data + 8), 5);
	assert_int_equal(get_le32(data + 24), 1);    /* power cycles */
	assert_int_equal(get_le64(data + 28), 7000);
	data = (const uint8_t *)event_at(log, 1) + 24;
	assert_int_equal(get_le64(data), 42);
	assert_int_equal(get_le64(data + 8), 7000);
	data = (const uint8_t *)event_at(log, 2) + 24;
	assert_int_equal(get_le32(data), 1);
	assert_int_equal(get_le64(data + 8), 77);
	assert_int_equal(get_le64(data + 24), 77);
	assert_int_equal(data[34], 1);
	assert_int_equal(get_le32(data + 36), 3);
	assert_int_equal(get_le32(data + 44), 9);
	data = (const uint8_t *)event_at(log, 3) + 24;
	assert_int_equal(get_le32(data), 2 | 8);
	assert_int_equal(get_le32(data + 4), 0x84);
	assert_int_equal(get_le32(data + 8), 1);
	assert_int_equal(get_le32(data + 12), 0x55);
	data = (const uint8_t *)event_at(log, 4) + 24;
	assert_int_equal(get_le16(data), 0x0a);
	assert_int_equal(get_le32(data + 4), 9);
	assert_int_equal(((const uint8_t *)event_at(log, 5))[24 + 3], 100);
	data = (const uint8_t *)event_at(log, 6) + 24;
	assert_int_equal(get_le16(data + 4), 25 + 5);
	assert_memory_equal(data + 6, "keep-alive time expired: nqn.a", 30);
	test_free(log);
}

static void
only_features_that_matter_later_are_kept(void **state)
{
	struct eventlog *log = log_create();

	for (uint32_t fid = 0; fid < 256; fid++) {
		struct nvme_sqe sqe = { .cdw10 = le32_of(fid) };

		eventlog_feature(log, &when, &sqe, 0);
	}
	assert_int_equal(log->count, 3);
	assert_int_equal(get_le32((const uint8_t *)event_at(log, 0) + 28), NVME_FEATURE_WRITE_CACHE);
	test_free(log);
}

static void
the_oldest_events_make_room(void **state)
{
	struct nvme_log_smart smart = { 0 };
	struct eventlog *log = log_create();

	for (uint32_t i = 0; i < 5000; i++) {
		if (i % 7 == 0)
			eventlog_smart(log, &when, &smart);
		else
			eventlog_timestamp(log, &when, i);
		assert_true(log->used <= EVENTLOG_BYTES);
	}
	assert_true(log->used > EVENTLOG_BYTES - EVENTLOG_EVENT_MAX);
	for (uint32_t i = 0; i < log->count; i++) { /* the newest are there, in order, without a gap */
		uint32_t number = 5000 - log->count + i;
		const uint8_t *event = (const void *)event_at(log, i);

		assert_int_equal(event[0], number % 7 == 0 ? 1 : 3);
		if (event[0] == 3)
			assert_int_equal(get_le64(event + 24), number);
	}
	test_free(log);
}

static void
a_file_brings_the_log_back(void **state)
{
	struct eventlog *log = log_create(), *back = log_create();
	uint8_t *file = test_malloc(EVENTLOG_FILE_MAX);
	size_t len;

	eventlog_power_on(log, &when, "1", true);
	while (log->count > 0 && log->used < EVENTLOG_BYTES - 40) /* as many as there can be */
		eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 0);
	eventlog_copy(log, back);
	assert_int_equal(log->generation, 1);
	assert_int_equal(back->generation, 1);
	len = eventlog_save(log, file);
	assert_true(len <= EVENTLOG_FILE_MAX);
	assert_int_equal(eventlog_load(back, file, len), 0);
	assert_int_equal(back->count, log->count);
	assert_int_equal(back->used, log->used);
	assert_memory_equal(back->bytes, log->bytes, log->used);
	assert_int_equal(back->generation, 1);
	eventlog_power_on(back, &when, "1", false);
	assert_int_equal(back->power_cycles, 2);
	assert_int_equal(back->on_ms, 14000);
	assert_int_equal(get_le16((const uint8_t *)event_at(back, back->count - 2) + 24),
	    NVME_HARDWARE_UNSAFE_SHUTDOWN);
	test_free(file);
	test_free(back);
	test_free(log);
}

/* Cut anywhere, the events before the cut are there; a bit that fell over costs what begins with its event. */
static void
a_torn_file_loses_its_end_alone(void **state)
{
	enum { EVENTS = 5, EACH = 8 + 24 + 16 };
	struct eventlog *log = log_create(), *back = log_create();
	uint8_t *file = test_malloc(EVENTLOG_FILE_MAX);
	size_t len;

	for (uint32_t i = 0; i < EVENTS; i++)
		eventlog_timestamp(log, &when, i);
	len = eventlog_save(log, file);
	assert_int_equal(len, 64 + EVENTS * EACH);
	for (size_t cut = 0; cut <= len; cut++) {
		int error = eventlog_load(back, file, cut);

		assert_int_equal(error, cut < 64 ? -22 : 0);
		assert_int_equal(back->count, cut < 64 ? 0 : (cut - 64) / EACH);
		assert_memory_equal(back->bytes, log->bytes, back->used);
	}
	for (size_t bit = 0; bit < len * 8; bit++) {
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(eventlog_load(back, file, len), bit < 64 * 8 ? -22 : 0);
		assert_int_equal(back->count, bit < 64 * 8 ? 0 : (bit / 8 - 64) / EACH);
		file[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	test_free(file);
	test_free(back);
	test_free(log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_its_header_and_its_data),
		cmocka_unit_test(only_features_that_matter_later_are_kept),
		cmocka_unit_test(the_oldest_events_make_room),
		cmocka_unit_test(a_file_brings_the_log_back),
		cmocka_unit_test(a_torn_file_loses_its_end_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
