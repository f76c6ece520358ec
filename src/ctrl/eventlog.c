#include "ctrl/eventlog.h"

#include "wire/feature.h"

void
eventlog_init(struct eventlog *log)
{
	memset(log, 0, sizeof(*log));
	log->clean = true;
}

/* ---- events in memory: each as page 0Dh shows it, one behind the other ---- */

static uint32_t
event_bytes(const uint8_t *event)
{
	const struct nvme_persistent_event *head = (const void *)event;

	return head->header_length + (uint32_t)NVME_PERSISTENT_EVENT_BEHIND + le16_get(head->length);
}

/* What no host causes at will: of the subsystem itself, or of a medium, which is told in moderation. */
static bool
is_own(const uint8_t *event)
{
	const struct nvme_persistent_event *head = (const void *)event;

	return le16_get(head->cntlid) == 0 || head->type == NVME_PERSISTENT_SMART ||
	    (head->type == NVME_PERSISTENT_HARDWARE && get_le16(event + sizeof(*head)) == NVME_HARDWARE_MEDIA);
}

/* The oldest goes; of the subsystem's own, only where they have more than their share. */
static void
drop_one(struct eventlog *log)
{
	uint32_t own = 0, at = 0, bytes;

	for (uint32_t i = 0; i < log->used; i += event_bytes(log->bytes + i))
		own += is_own(log->bytes + i) ? event_bytes(log->bytes + i) : 0;
	while (own <= EVENTLOG_OWN && is_own(log->bytes + at))
		at += event_bytes(log->bytes + at);
	bytes = event_bytes(log->bytes + at);
	log->used -= bytes;
	log->count--;
	memmove(log->bytes + at, log->bytes + at + bytes, log->used - at);
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
	while (log->used + sizeof(head) + bytes > EVENTLOG_BYTES)
		drop_one(log);
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
eventlog_power_on(struct eventlog *log, const struct eventlog_when *when, const char *firmware)
{
	log->power_cycles++;
	log->on_ms_before = log->on_ms;
	log->before = log->now;
	if (!log->clean) {
		log->unsafe_shutdowns++;
		eventlog_hardware(log, when, NVME_HARDWARE_UNSAFE_SHUTDOWN, 0);
	}
	log->clean = false;
	eventlog_reset(log, when, firmware);
}

bool
eventlog_smart_due(const struct eventlog *log, uint64_t uptime_ms)
{
	uint64_t hours = (log->on_ms_before + uptime_ms) / 3600000, told = 0;

	for (uint32_t at = 0; at < log->used; at += event_bytes(log->bytes + at)) {
		const struct nvme_persistent_event *head = (const void *)(log->bytes + at);
		struct nvme_log_smart smart;

		if (head->type != NVME_PERSISTENT_SMART || le16_get(head->length) != sizeof(smart))
			continue;
		memcpy(&smart, head + 1, sizeof(smart));
		told = le64_get(smart.power_on_hours.low);
	}
	return hours >= told + EVENTLOG_SMART_HOURS;
}

void
eventlog_smart(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart)
{
	append(log, when, NVME_PERSISTENT_SMART, smart, sizeof(*smart));
}

void
eventlog_power_off(struct eventlog *log, const struct eventlog_when *when, const struct nvme_log_smart *smart)
{
	eventlog_smart(log, when, smart);
	log->clean = true;
}

void
eventlog_timestamp(struct eventlog *log, const struct eventlog_when *when, uint64_t previous_ms, uint64_t reset_ms)
{
	struct nvme_persistent_timestamp data = {
		le64_of(previous_ms & NVME_TIMESTAMP_MASK), le64_of(reset_ms),
	};

	append(log, when, NVME_PERSISTENT_TIMESTAMP, &data, sizeof(data));
}

void
eventlog_namespace(struct eventlog *log, const struct eventlog_when *when, uint32_t sel,
    const struct subsys_info *subsys, const struct ns_info *ns)
{
	struct nvme_persistent_namespace data = {
		.cdw10 = le32_of(sel), .nsze = le64_of(ns->blocks), .ncap = le64_of(ns->blocks),
		.flbas = subsys_format(subsys, ns->block_size), .nmic = ns->shared, .anagrpid = le32_of(ns->ana_group),
		.nsid = le32_of(ns->nsid),
	};

	append(log, when, NVME_PERSISTENT_NAMESPACE, &data, sizeof(data));
}

bool
eventlog_keeps_feature(uint8_t fid)
{
	return fid == NVME_FEATURE_WRITE_CACHE || fid == NVME_FEATURE_RESV_PERSISTENCE ||
	    fid == NVME_FEATURE_PROTECTION;
}

void
eventlog_feature(struct eventlog *log, const struct eventlog_when *when, const struct nvme_sqe *sqe, uint32_t dw0)
{
	struct nvme_persistent_feature data = {
		le32_of(2 | 1 << 3), sqe->cdw10, sqe->cdw11, le32_of(dw0),
	};

	if (eventlog_keeps_feature((uint8_t)le32_get(sqe->cdw10)))
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

bool
eventlog_media_due(struct eventlog_pace *pace, uint32_t nsid, uint64_t uptime_ms)
{
	uint64_t *again_ms = &pace->again_ms[nsid - 1];

	assert(nsid > 0 && nsid <= CTRL_NS_MAX);
	if (uptime_ms - pace->since_ms >= EVENTLOG_MEDIA_MS) {
		pace->since_ms = uptime_ms;
		pace->told = 0;
	}
	if (uptime_ms < *again_ms || pace->told == EVENTLOG_MEDIA_MAX)
		return false;
	*again_ms = uptime_ms + EVENTLOG_MEDIA_MS;
	pace->told++;
	return true;
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
eventlog_copy(struct eventlog *log, const struct eventlog_when *when, struct eventlog *copy)
{
	uint32_t bytes;

	log->generation++;
	log->on_ms = log->on_ms_before + when->uptime_ms;
	memcpy(copy, log, offsetof(struct eventlog, bytes));
	for (uint32_t at = 0; at < log->used; at += bytes) {
		bytes = event_bytes(log->bytes + at);
		memcpy(copy->bytes + log->used - at - bytes, log->bytes + at, bytes);
	}
	copy->copied_ms = when->date_ms;
}

bool
eventlog_events(const uint8_t *bytes, uint32_t used, uint32_t *count)
{
	uint32_t at = 0;

	for (*count = 0; at < used; (*count)++) {
		uint32_t each;

		if (used - at < EVENTLOG_EVENT_MIN)
			return false;
		each = event_bytes(bytes + at);
		if (each < EVENTLOG_EVENT_MIN || each > used - at)
			return false;
		at += each;
	}
	return true;
}
