/*
 * persistent.c - the Persistent Event log, page 0Dh, decoded (weir/log.h).
 *
 * Header and events each say themselves how long they are: what a later
 * version adds is stepped over.
 */
#include <weir/log.h>

#include "lib/decode.h"
#include "wire/feature.h"
#include "wire/persistent.h"

void
weir_persistent_decode(const void *page, size_t bytes, struct weir_persistent_log *log)
{
	struct nvme_persistent_log head;

	lib_take(page, bytes, 0, &head, sizeof(head));
	*log = (struct weir_persistent_log){
		.events = le32_get(head.events),
		.length = le64_get(head.length),
		.revision = head.revision,
		.timestamp_ms = le64_get(head.timestamp) & NVME_TIMESTAMP_MASK,
		.power_on_hours = lib_number(head.power_on_hours),
		.power_cycles = le64_get(head.power_cycles),
		.vid = le16_get(head.vid),
		.ssvid = le16_get(head.ssvid),
		.generation = le16_get(head.generation),
		.context = le32_get(head.context),
	};
	lib_text(log->serial, sizeof(log->serial), head.sn, sizeof(head.sn));
	lib_text(log->model, sizeof(log->model), head.mn, sizeof(head.mn));
	lib_text(log->subnqn, sizeof(log->subnqn), head.subnqn, sizeof(head.subnqn));
	memcpy(log->supported, head.supported, sizeof(log->supported));
}

/* Where the first event is; an offset of 0 would be the header's. */
static uint64_t
first_event(const struct nvme_persistent_log *head)
{
	uint64_t at = offsetof(struct nvme_persistent_log, timestamp) + le16_get(head->header_length);

	return at > sizeof(*head) ? at : sizeof(*head);
}

bool
weir_persistent_next(const void *page, size_t bytes, struct weir_cursor *cursor, struct weir_persistent_event *event)
{
	struct nvme_persistent_event head;
	struct nvme_persistent_log log;
	uint32_t length, vendor;
	uint64_t at, body;

	lib_take(page, bytes, 0, &log, sizeof(log));
	at = cursor->at != 0 ? cursor->at : first_event(&log);
	if (cursor->done >= le32_get(log.events) || !lib_take(page, bytes, at, &head, sizeof(head)))
		return false;
	body = at + offsetof(struct nvme_persistent_event, additional) + head.header_length;
	if (body < at + sizeof(head)) /* it says that it is shorter than any version had it */
		body = at + sizeof(head);
	length = le16_get(head.length);
	vendor = le16_get(head.vendor_length) < length ? le16_get(head.vendor_length) : length;
	if (body + length > bytes)
		return false;
	*event = (struct weir_persistent_event){
		.type = head.type, .revision = head.revision,
		.cntlid = le16_get(head.cntlid), .port = le16_get(head.port),
		.timestamp_ms = le64_get(head.timestamp) & NVME_TIMESTAMP_MASK,
		.vendor_bytes = vendor, .data_bytes = length - vendor,
		.vendor = vendor > 0 ? (const uint8_t *)page + body : NULL,
		.data = length > vendor ? (const uint8_t *)page + body + vendor : NULL,
	};
	cursor->at = body + length;
	cursor->done++;
	return true;
}
