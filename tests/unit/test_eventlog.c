#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crc32c.h"
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
	struct ns_info ns = { .nsid = 9, .blocks = 77, .block_size = 4096, .shared = true, .ana_group = 3 };
	struct subsys_info subsys = { .ns_management = true };
	struct nvme_log_smart smart = { .available_spare = 100 };
	struct eventlog *log = log_create();
	const uint8_t *data;

	eventlog_power_on(log, &when, "1.2");
	eventlog_timestamp(log, &when, 42, 1234);
	eventlog_namespace(log, &when, 1, &subsys, &ns);
	eventlog_feature(log, &when, &sqe, 0x55);
	eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 9);
	eventlog_power_off(log, &when, &smart);
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
	assert_int_equal(get_le64(data + 8), 1234);  /* since the reset, not since the start */
	data = (const uint8_t *)event_at(log, 2) + 24;
	assert_int_equal(get_le32(data), 1);
	assert_int_equal(get_le64(data + 8), 77);
	assert_int_equal(get_le64(data + 24), 77);
	assert_int_equal(data[32], 1); /* the second format */
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

/* By the subsystem's formats: 512 and 4096 bytes, or each namespace its own. */
static void
a_namespaces_format_is_the_one_that_identify_says(void **state)
{
	struct subsys_info subsys = { 0 };
	struct eventlog *log = log_create();

	for (uint32_t i = 0; i < 4; i++) {
		struct ns_info ns = { .nsid = 1, .block_size = i % 2 == 0 ? 512 : 4096 };

		subsys.ns_management = i >= 2;
		eventlog_namespace(log, &when, 0, &subsys, &ns);
		assert_int_equal(((const uint8_t *)event_at(log, i))[24 + 32], i == 3);
	}
	test_free(log);
}

/* Asked each minute; in one run, in runs of three minutes, of nineteen hours, and whatever else there is to tell. */
static void
smart_is_due_within_24_power_on_hours(void **state)
{
	static const uint64_t minute = 60 * 1000, day = 24 * 60 * minute;

	for (uint64_t run = 3 * minute; run < 10 * day; run *= 20) {
		struct eventlog *log = log_create();
		uint64_t on = 0, last = 0;

		for (; on < 6 * day; on += minute) {
			struct eventlog_when at = { .uptime_ms = on - log->on_ms_before };
			struct nvme_log_smart smart = { .power_on_hours.low = le64_of(on / (60 * minute)) };

			if (at.uptime_ms >= run) {
				log->on_ms_before = on;
				at.uptime_ms = 0;
			}
			if (eventlog_smart_due(log, at.uptime_ms)) {
				assert_in_range(on - last, 22 * 60 * minute, day);
				last = on;
				eventlog_smart(log, &at, &smart);
			} else if (on / minute % 10 == 0) {
				eventlog_timestamp(log, &at, on, 0);
			}
		}
		assert_in_range(last, 5 * day, 6 * day);
		test_free(log);
	}
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

/* Of hosts and of the subsystem's own each the newest are there, in order and without a gap. */
static void
the_oldest_events_make_room(void **state)
{
	struct eventlog *log = log_create();
	uint32_t next[2] = { 0 }, own = 0;

	for (uint32_t i = 0; i < 5000; i++) {
		struct nvme_log_smart smart = { 0 };

		put_le32((uint8_t *)&smart, i);
		if (i % 7 == 0)
			eventlog_power_off(log, &when, &smart);
		else
			eventlog_timestamp(log, &when, i, 0);
		assert_true(log->used <= EVENTLOG_BYTES);
	}
	assert_true(log->used > EVENTLOG_BYTES - EVENTLOG_EVENT_MAX);
	for (uint32_t i = 0; i < log->count; i++) {
		const uint8_t *event = (const void *)event_at(log, i);
		uint32_t number = get_le32(event + 24), kind = event[0] == 3;

		assert_int_equal(event[0], number % 7 == 0 ? 1 : 3);
		if (next[kind] != 0)
			assert_int_equal(number, next[kind]);
		next[kind] = number + (kind == 0 ? 7 : number % 7 == 6 ? 2 : 1);
		own += kind == 0 ? 24 + get_le16(event + 22) : 0;
	}
	assert_int_equal(next[1], 5000);
	assert_int_equal(next[0], 5005);
	assert_true(own > EVENTLOG_OWN - EVENTLOG_EVENT_MAX && own < EVENTLOG_BYTES / 4 * 3);
	test_free(log);
}

/* Whatever a host can do again and again: its events push out those of hosts. */
static void
a_host_does_not_erase_the_subsystems_own_events(void **state)
{
	static const struct eventlog_when none = { .date_ms = 1 };
	struct nvme_sqe sqe = { .cdw10 = le32_of(NVME_FEATURE_WRITE_CACHE) };
	struct subsys_info subsys = { 0 };
	struct ns_info ns = { .nsid = 1 };
	struct nvme_log_smart smart = { 0 };
	struct eventlog *log = log_create();
	uint32_t own;

	eventlog_timestamp(log, &when, 1, 0);
	eventlog_power_on(log, &none, "1");
	eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 3);
	eventlog_power_off(log, &none, &smart);
	eventlog_power_on(log, &none, "1");
	log->clean = false;
	eventlog_power_on(log, &none, "1"); /* and the one before had no end */
	eventlog_namespace(log, &none, 0, &subsys, &ns);
	own = log->count - 1;
	for (uint32_t i = 0; i < 10000; i++) {
		eventlog_timestamp(log, &when, i, 0);
		eventlog_feature(log, &when, &sqe, 0);
		eventlog_reset(log, &when, "1");
		eventlog_hardware(log, &when, NVME_HARDWARE_FATAL_STATUS, 0);
		eventlog_host_lost(log, &when, "nqn.a");
		eventlog_namespace(log, &when, 1, &subsys, &ns);
	}
	assert_int_equal(own, 7);
	for (uint32_t i = 0; i < own; i++) {
		static const uint8_t types[] = { 0x04, 0x05, 0x01, 0x04, 0x05, 0x04, 0x06 };

		assert_int_equal(event_at(log, i)->type, types[i]);
		assert_int_equal(le16_get(event_at(log, i)->cntlid), i == 1 ? when.cntlid : 0);
	}
	for (uint32_t i = own; i < log->count; i++)
		assert_int_equal(le16_get(event_at(log, i)->cntlid), when.cntlid);
	test_free(log);
}

/* ---- media errors, told in moderation ---- */

static void
a_dying_medium_does_not_fill_the_log(void **state)
{
	struct eventlog_pace *pace = test_calloc(1, sizeof(*pace));
	unsigned told = 0;

	for (uint64_t ms = 0; ms < 24 * 3600 * 1000; ms += 100)
		told += eventlog_media_due(pace, 3, ms);
	assert_int_equal(told, 24 * 6);
	test_free(pace);
}

static void
each_namespace_is_told_of_and_all_together_are_bounded(void **state)
{
	struct eventlog_pace *pace = test_calloc(1, sizeof(*pace));
	uint64_t start = 5 * EVENTLOG_MEDIA_MS;

	for (uint32_t nsid = 1; nsid <= CTRL_NS_MAX; nsid++)
		assert_int_equal(eventlog_media_due(pace, nsid, start), nsid <= EVENTLOG_MEDIA_MAX);
	assert_false(eventlog_media_due(pace, CTRL_NS_MAX, start + EVENTLOG_MEDIA_MS - 1));
	assert_true(eventlog_media_due(pace, CTRL_NS_MAX, start + EVENTLOG_MEDIA_MS));
	assert_true(eventlog_media_due(pace, 1, start + EVENTLOG_MEDIA_MS));
	assert_false(eventlog_media_due(pace, 1, start + EVENTLOG_MEDIA_MS));
	test_free(pace);
}

/* ---- the file ---- */

static const uint8_t identity[16] = { 1, 2, 3 }, other[16] = { 1, 2, 4 };

enum { FILE_LEN = EVENTLOG_SLOTS * EVENTLOG_SLOT_LEN };

static void
a_copy_has_the_newest_event_first(void **state)
{
	struct eventlog *log = log_create(), *copy = log_create();

	eventlog_copy(log, &when, copy);
	assert_true(copy->count == 0 && copy->used == 0);
	eventlog_power_on(log, &when, "1");
	eventlog_timestamp(log, &when, 42, 1234);
	eventlog_host_lost(log, &when, "nqn.a");
	eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 9);
	memset(copy, 0xa5, sizeof(*copy));
	eventlog_copy(log, &when, copy);
	assert_int_equal(copy->count, log->count);
	assert_int_equal(copy->used, log->used);
	for (uint32_t n = 0; n < log->count; n++) {
		const struct nvme_persistent_event *event = event_at(log, n);

		assert_memory_equal(event_at(copy, log->count - 1 - n), event, 24u + le16_get(event->length));
	}
	test_free(copy);
	test_free(log);
}

/* Writes the image of the number where it belongs; returns its length. */
static size_t
file_write(uint8_t *file, const struct eventlog *log, uint64_t sequence)
{
	return eventlog_encode(log, identity, sequence, file + eventlog_slot(sequence));
}

static void
a_file_brings_the_log_back(void **state)
{
	struct eventlog *log = log_create(), *back = log_create();
	uint8_t *file = test_calloc(1, FILE_LEN);
	uint64_t sequence;

	assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FRESH);
	assert_true(sequence == 0 && back->count == 0 && back->clean);
	eventlog_power_on(log, &when, "1");
	while (log->used <= EVENTLOG_BYTES - 28) /* as many as there can be */
		eventlog_hardware(log, &when, NVME_HARDWARE_MEDIA, 0);
	log->now = (struct eventlog_counts){ 1, 2, 3, 4, 5, 6, 7 };
	eventlog_copy(log, &when, back);
	assert_int_equal(log->generation, 1);
	assert_int_equal(back->generation, 1);
	assert_int_equal(back->copied_ms, when.date_ms);
	assert_int_equal(file_write(file, log, 6), EVENTLOG_SLOT_LEN);
	assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FOUND);
	assert_int_equal(sequence, 6);
	assert_int_equal(back->count, log->count);
	assert_int_equal(back->used, log->used);
	assert_memory_equal(back->bytes, log->bytes, log->used);
	assert_int_equal(back->generation, 1);
	assert_memory_equal(&back->now, &log->now, sizeof(log->now));
	assert_memory_equal(&back->before, &log->now, sizeof(log->now));
	assert_false(back->clean);
	eventlog_power_on(back, &when, "1");
	assert_int_equal(back->power_cycles, 2);
	assert_int_equal(back->unsafe_shutdowns, 1);
	assert_int_equal(back->on_ms, 14000);
	assert_int_equal(get_le16((const uint8_t *)event_at(back, back->count - 2) + 24),
	    NVME_HARDWARE_UNSAFE_SHUTDOWN);
	test_free(file);
	test_free(back);
	test_free(log);
}

/* The image says whether the run that it tells of has ended well; the next start says it in an event. */
static void
who_was_shut_down_is_not_told_otherwise(void **state)
{
	struct nvme_log_smart smart = { .available_spare = 7 };
	struct eventlog *log = log_create();
	uint8_t *file = test_calloc(1, FILE_LEN);
	uint64_t sequence;

	eventlog_power_on(log, &when, "1");
	eventlog_power_off(log, &when, &smart);
	file_write(file, log, 1);
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FOUND);
	assert_true(log->clean);
	eventlog_power_on(log, &when, "1");
	assert_int_equal(log->count, 3);
	assert_int_equal(event_at(log, 1)->type, NVME_PERSISTENT_SMART);
	assert_int_equal(event_at(log, 2)->type, NVME_PERSISTENT_RESET);
	assert_int_equal(log->unsafe_shutdowns, 0);
	assert_false(log->clean);
	test_free(file);
	test_free(log);
}

/* The newer of both; and cut anywhere, or with a bit that fell over, the one before. */
static void
a_torn_image_leaves_the_one_before(void **state)
{
	struct eventlog *log = log_create(), *back = log_create();
	uint8_t *file = test_calloc(1, FILE_LEN), *old = test_malloc(EVENTLOG_SLOT_LEN), *whole = test_malloc(4096);
	size_t len, bytes;
	uint64_t sequence;

	file_write(file, log, 1);
	assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FOUND);
	for (uint32_t i = 0; i < 5; i++)
		eventlog_timestamp(log, &when, i, 0);
	assert_int_equal(file_write(file, log, 2), 4096);
	eventlog_timestamp(log, &when, 5, 0);
	memcpy(old, file + eventlog_slot(3), EVENTLOG_SLOT_LEN);
	len = file_write(file, log, 3);
	bytes = 512 + log->used;
	assert_int_equal(len, 4096);
	for (size_t cut = 0; cut <= bytes; cut++) {
		uint8_t keep = file[eventlog_slot(3) + cut];

		assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FOUND);
		assert_int_equal(sequence, 3);
		assert_int_equal(back->count, 6);
		if (cut == bytes)
			break; /* behind it is nothing that counts */
		for (unsigned bit = 0; bit < 8; bit++) {
			file[eventlog_slot(3) + cut] = keep ^ (uint8_t)(1 << bit);
			assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FOUND);
			assert_int_equal(sequence, 2);
			assert_int_equal(back->count, 5);
		}
		file[eventlog_slot(3) + cut] = keep;
	}
	memcpy(whole, file + eventlog_slot(3), len);
	for (size_t cut = 0; cut < len; cut++) { /* the rest is what was there before */
		memcpy(file + eventlog_slot(3) + len - cut - 1, old + len - cut - 1, 1);
		assert_int_equal(eventlog_decode(file, identity, back, &sequence), EVENTLOG_FOUND);
		assert_int_equal(sequence, memcmp(file + eventlog_slot(3), whole, len) != 0 ? 2 : 3);
	}
	test_free(whole);
	test_free(old);
	test_free(file);
	test_free(back);
	test_free(log);
}

static void
what_is_not_ours_is_told_from_what_is_broken(void **state)
{
	struct eventlog *log = log_create();
	uint8_t *file = test_calloc(1, FILE_LEN);
	uint64_t sequence;

	memset(file + EVENTLOG_SLOT_LEN, 7, 4096); /* the first image that was ever written, torn */
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FRESH);
	file[EVENTLOG_SLOT_LEN - 1] = 1;
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_DAMAGED);
	assert_true(log->count == 0 && log->clean && sequence == 0);
	memset(file, 0, FILE_LEN);
	eventlog_timestamp(log, &when, 1, 0);
	file_write(file, log, 7);
	file_write(file, log, 8);
	assert_int_equal(eventlog_decode(file, other, log, &sequence), EVENTLOG_FOREIGN);
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FOUND);
	memmove(file + EVENTLOG_SLOT_LEN, file, EVENTLOG_SLOT_LEN); /* an even number in the odd slot */
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FOUND);
	memset(file, 0, EVENTLOG_SLOT_LEN);
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FRESH);
	file_write(file, log, 8);
	file[7] = '2'; /* another version, and nothing else is wrong with it */
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_DAMAGED);
	put_le32(file + 508, crc32c(crc32c(0, file, 508), file + 512, get_le32(file + 112)));
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_FOREIGN);
	test_free(file);
	test_free(log);
}

/* An image with the right CRC whose events do not follow each other is none. */
static void
events_with_gaps_are_refused(void **state)
{
	struct eventlog *log = log_create();
	uint8_t *file = test_calloc(1, FILE_LEN);
	uint64_t sequence;
	uint32_t count;

	eventlog_timestamp(log, &when, 1, 0);
	eventlog_timestamp(log, &when, 2, 0);
	assert_true(eventlog_events(log->bytes, log->used, &count));
	assert_int_equal(count, 2);
	for (uint32_t used = 0; used <= log->used; used++)
		assert_int_equal(eventlog_events(log->bytes, used, &count), used % 40 == 0);
	log->bytes[22]++;
	file_write(file, log, 2);
	assert_int_equal(eventlog_decode(file, identity, log, &sequence), EVENTLOG_DAMAGED);
	test_free(file);
	test_free(log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_its_header_and_its_data),
		cmocka_unit_test(a_namespaces_format_is_the_one_that_identify_says),
		cmocka_unit_test(smart_is_due_within_24_power_on_hours),
		cmocka_unit_test(only_features_that_matter_later_are_kept),
		cmocka_unit_test(the_oldest_events_make_room),
		cmocka_unit_test(a_host_does_not_erase_the_subsystems_own_events),
		cmocka_unit_test(a_copy_has_the_newest_event_first),
		cmocka_unit_test(a_file_brings_the_log_back),
		cmocka_unit_test(a_dying_medium_does_not_fill_the_log),
		cmocka_unit_test(each_namespace_is_told_of_and_all_together_are_bounded),
		cmocka_unit_test(who_was_shut_down_is_not_told_otherwise),
		cmocka_unit_test(a_torn_image_leaves_the_one_before),
		cmocka_unit_test(what_is_not_ours_is_told_from_what_is_broken),
		cmocka_unit_test(events_with_gaps_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
