#include "ctrl/eventlog.h"

#include <errno.h>

#include "base/crc32c.h"
#include "wire/feature.h"

void
eventlog_init(struct eventlog *log)
{
	memset(log, 0, sizeof(*log));
}

/* ---- events in memory: as page 0Dh shows them, one behind the other ---- */

static uint32_t
event_bytes(const uint8_t *event)
{
	const struct nvme_persistent_event *head = (const void *)event;

	return head->header_length + (uint32_t)NVME_PERSISTENT_EVENT_BEHIND + le16_get(head->length);
}

static void
drop_oldest(struct eventlog *log, uint32_t room)
{
	uint32_t gone = 0;

	while (log->used - gone + room > EVENTLOG_BYTES) {
		gone += event_bytes(log->bytes + gone);
		log->count--;
	}
	if (gone == 0)
		return;
	log->used -= gone;
	memmove(log->bytes, log->bytes + gone, log->used);
}

static void
append(struct eventlog *log, const struct eventlog_when *when, enum nvme_persistent_type type,
    const void *data, uint32_t bytes)
{
	struct nvme_persistent_event head = {
		.type = (uint8_t)type, .revision = 1, .header_length = sizeof(head) - NVME_PERSISTENT_EVENT_BEHIND,
		.cntlid = le16_of(when->cntlid), .timestamp = le64_of(when->date_ms & NVME_TIMESTAMP_MASK),
		.length = le16_of((uint16_t)bytes),
	};

	assert(sizeof(head) + bytes <= EVENTLOG_EVENT_MAX);
	drop_oldest(log, (uint32_t)sizeof(head) + bytes);
	memcpy(log->bytes + log->used, &head, sizeof(head));
	memcpy(log->bytes + log->used + sizeof(head), data, bytes);
	log->used += (uint32_t)sizeof(head) + bytes;
	log->count++;
	log->on_ms = log->on_ms_before + when->uptime_ms;
}

/* ---- what happens ---- */

void
eventlog_reset(struct eventlog *log, const struct eventlog_when *when, const char *firmware)
{
	struct nvme_persistent_reset data = {
		.cntlid = le16_of(when->cntlid), .power_cycles = le32_of((uint32_t)log->power_cycles),
		.power_on_ms = le64_of(log->on_ms_before + when->uptime_ms),
		.timestamp = le64_of(when->date_ms & NVME_TIMESTAMP_MASK),
	};

	memset(data.firmware, ' ', sizeof(data.firmware));
	memcpy(data.firmware, firmware, strnlen(firmware, sizeof(data.firmware)));
	append(log, when, NVME_PERSISTENT_RESET, &data, sizeof(data));
}

void
eventlog_power_on(struct eventlog *log, const struct eventlog_when *when, const char *firmware, bool clean)
{
	log->power_cycles++;
	log->on_ms_before = log->on_ms;
	if (!clean)
		eventlog_hardware(log, when, NVME_HARDWARE_UNSAFE_SHUTDOWN, 0);
	eventlog_reset(log, when, firmware);
}

void
eventlog_timestamp(struct eventlog *log, const struct eventlog_when *when, uint64_t previous_ms)
{
	struct nvme_persistent_timestamp data = {
		le64_of(previous_ms & NVME_TIMESTAMP_MASK), le64_of(when->uptime_ms),
	};

	append(log, when, NVME_PERSISTENT_TIMESTAMP, &data, sizeof(data));
}

void
eventlog_namespace(struct eventlog *log, const struct eventlog_when *when, uint32_t sel, const struct ns_info *ns)
{
	struct nvme_persistent_namespace data = {
		.cdw10 = le32_of(sel), .nsze = le64_of(ns->blocks), .ncap = le64_of(ns->blocks),
		.nmic = ns->shared, .anagrpid = le32_of(ns->ana_group), .nsid = le32_of(ns->nsid),
	};

	append(log, when, NVME_PERSISTENT_NAMESPACE, &data, sizeof(data));
}

void
eventlog_feature(struct eventlog *log, const struct eventlog_when *when, const struct nvme_sqe *sqe, uint32_t dw0)
{
	struct nvme_persistent_feature data = {
		le32_of(2 | 1 << 3), sqe->cdw10, sqe->cdw11, le32_of(dw0),
	};
	uint8_t fid = (uint8_t)le32_get(sqe->cdw10);

	if (fid == NVME_FEATURE_WRITE_CACHE || fid == NVME_FEATURE_RESV_PERSISTENCE || fid == NVME_FEATURE_PROTECTION)
		append(log, when, NVME_PERSISTENT_FEATURE, &data, sizeof(data));
}

void
eventlog_hardware(struct eventlog *log, const struct eventlog_when *when,
    enum nvme_persistent_hardware_code code, uint32_t nsid)
{
	struct {
		struct nvme_persistent_hardware error;
		le32 nsid;
	} data = { { .code = le16_of((uint16_t)code) }, le32_of(nsid) };

	append(log, when, NVME_PERSISTENT_HARDWARE, &data, nsid != 0 ? sizeof(data) : sizeof(data.error));
}

void
eventlog_smart(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart)
{
	append(log, when, NVME_PERSISTENT_SMART, smart, sizeof(*smart));
}

void
eventlog_host_lost(struct eventlog *log, const struct eventlog_when *when, const char *hostnqn)
{
	static const char what[] = "keep-alive time expired: ";
	struct {
		struct nvme_persistent_vendor vendor;
		char text[sizeof(what) + NVME_NQN_FIELD];
	} data = { .vendor = { .code = le16_of(1), .data_type = NVME_PERSISTENT_VENDOR_ASCII } };
	size_t length = strnlen(hostnqn, NVME_NQN_FIELD);

	memcpy(data.text, what, sizeof(what) - 1);
	memcpy(data.text + sizeof(what) - 1, hostnqn, length);
	length += sizeof(what) - 1;
	data.vendor.data_length = le16_of((uint16_t)length);
	append(log, when, NVME_PERSISTENT_VENDOR, &data, (uint32_t)(sizeof(data.vendor) + length));
}

void
eventlog_copy(struct eventlog *log, struct eventlog *copy)
{
	log->generation++;
	memcpy(copy, log, sizeof(*copy));
}

/* ---- the file ---- */

static const char magic[8] = "WEIREVT1";

struct file_header {
	char magic[8];
	le64 power_cycles, on_ms;
	le16 generation;
	uint8_t reserved26[34];
	le32 crc; /* of what is before it */
};
static_assert(sizeof(struct file_header) == EVENTLOG_FILE_HEADER, "header of an event file");

struct file_event { /* the event follows */
	le32 crc; /* of the length and the event */
	le32 length;
};
static_assert(sizeof(struct file_event) == 8, "event in a file");

size_t
eventlog_save(const struct eventlog *log, uint8_t *out)
{
	struct file_header head = {
		.power_cycles = le64_of(log->power_cycles), .on_ms = le64_of(log->on_ms),
		.generation = le16_of(log->generation),
	};
	uint8_t *to = out + sizeof(head);

	memcpy(head.magic, magic, sizeof(magic));
	head.crc = le32_of(crc32c(0, &head, offsetof(struct file_header, crc)));
	memcpy(out, &head, sizeof(head));
	for (uint32_t at = 0; at < log->used; at += event_bytes(log->bytes + at)) {
		uint32_t bytes = event_bytes(log->bytes + at);

		put_le32(to + 4, bytes);
		memcpy(to + sizeof(struct file_event), log->bytes + at, bytes);
		put_le32(to, crc32c(0, to + 4, 4 + bytes));
		to += sizeof(struct file_event) + bytes;
	}
	return (size_t)(to - out);
}

/* The bytes of the event at `at` with what stands before it, or 0: there is no whole one. */
static size_t
file_event_bytes(const uint8_t *at, size_t left)
{
	uint32_t bytes;

	if (left < sizeof(struct file_event) + EVENTLOG_EVENT_MIN)
		return 0;
	bytes = get_le32(at + 4);
	if (bytes < EVENTLOG_EVENT_MIN || bytes > EVENTLOG_EVENT_MAX || bytes > left - sizeof(struct file_event) ||
	    event_bytes(at + sizeof(struct file_event)) != bytes || get_le32(at) != crc32c(0, at + 4, 4 + bytes))
		return 0;
	return sizeof(struct file_event) + bytes;
}

int
eventlog_load(struct eventlog *log, const uint8_t *bytes, size_t len)
{
	const struct file_header *head = (const void *)bytes;
	size_t at = sizeof(*head), whole;

	eventlog_init(log);
	if (len < sizeof(*head) || memcmp(head->magic, magic, sizeof(magic)) != 0 ||
	    le32_get(head->crc) != crc32c(0, bytes, offsetof(struct file_header, crc)))
		return -EINVAL;
	log->power_cycles = le64_get(head->power_cycles);
	log->on_ms = log->on_ms_before = le64_get(head->on_ms);
	log->generation = le16_get(head->generation);
	while ((whole = file_event_bytes(bytes + at, len - at)) > 0) {
		uint32_t event = (uint32_t)(whole - sizeof(struct file_event));

		drop_oldest(log, event);
		memcpy(log->bytes + log->used, bytes + at + sizeof(struct file_event), event);
		log->used += event;
		log->count++;
		at += whole;
	}
	return 0;
}
