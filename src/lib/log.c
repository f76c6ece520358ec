/*
 * log.c - log pages, decoded (weir/log.h): those of one table or a list of equal entries.
 */
#include <weir/log.h>

#include "lib/decode.h"
#include "lib/status.h"
#include "wire/identify.h"
#include "wire/log.h"

void
weir_smart_decode(const void *page, size_t bytes, struct weir_smart *smart)
{
	struct nvme_log_smart log;

	lib_take(page, bytes, 0, &log, sizeof(log));
	*smart = (struct weir_smart){
		.critical_warning = log.critical_warning,
		.kelvin = get_le16(log.temperature),
		.spare_percent = log.available_spare,
		.spare_threshold_percent = log.spare_threshold,
		.used_percent = log.percentage_used,
		.read_units = lib_number(log.units_read),
		.written_units = lib_number(log.units_written),
		.reads = lib_number(log.host_reads),
		.writes = lib_number(log.host_writes),
		.busy_minutes = lib_number(log.busy_minutes),
		.power_cycles = lib_number(log.power_cycles),
		.power_on_hours = lib_number(log.power_on_hours),
		.unsafe_shutdowns = lib_number(log.unsafe_shutdowns),
		.media_errors = lib_number(log.media_errors),
		.error_entries = lib_number(log.error_entries),
		.warning_minutes = le32_get(log.warning_minutes),
		.critical_minutes = le32_get(log.critical_minutes),
	};
	for (unsigned i = 0; i < 8; i++)
		smart->sensor_kelvin[i] = le16_get(log.sensor[i]);
}

bool
weir_error_next(const void *page, size_t bytes, struct weir_cursor *cursor, struct weir_error_entry *entry)
{
	struct nvme_log_error_entry log;

	do {
		if (!lib_take(page, bytes, cursor->at, &log, sizeof(log)))
			return false;
		cursor->at += sizeof(log);
	} while (le64_get(log.error_count) == 0);
	*entry = (struct weir_error_entry){
		.number = le64_get(log.error_count),
		.sqid = le16_get(log.sqid),
		.cid = le16_get(log.cid),
		.status = lib_status(nvme_status_get(log.status)),
		.location = le16_get(log.location),
		.lba = le64_get(log.lba),
		.nsid = le32_get(log.nsid),
		.opcode = log.opcode,
		.version = log.version,
	};
	return true;
}

void
weir_firmware_decode(const void *page, size_t bytes, struct weir_firmware *firmware)
{
	struct nvme_log_firmware log;

	lib_take(page, bytes, 0, &log, sizeof(log));
	firmware->active = log.afi & 7;
	firmware->next = log.afi >> 4 & 7;
	for (unsigned i = 0; i < 7; i++)
		lib_text(firmware->revision[i], sizeof(firmware->revision[i]), log.revision[i],
		    sizeof(log.revision[i]));
}

bool
weir_changed_next(const void *page, size_t bytes, struct weir_cursor *cursor, uint32_t *nsid)
{
	le32 next;

	if (cursor->done == NVME_NS_LIST_MAX || !lib_take(page, bytes, cursor->at, &next, sizeof(next)) ||
	    le32_get(next) == 0)
		return false;
	*nsid = le32_get(next);
	cursor->at += sizeof(next);
	cursor->done++;
	return true;
}

/* ---- tables of words, by a number ---- */

static uint32_t
word_at(const void *page, size_t bytes, size_t at)
{
	le32 word;

	return lib_take(page, bytes, at, &word, sizeof(word)) ? le32_get(word) : 0;
}

uint32_t
weir_effect_of(const void *page, size_t bytes, bool admin, uint8_t opcode)
{
	size_t table = admin ? offsetof(struct nvme_log_effects, admin) : offsetof(struct nvme_log_effects, io);

	return word_at(page, bytes, table + opcode * sizeof(le32));
}

uint32_t
weir_supported_of(const void *page, size_t bytes, uint8_t id)
{
	return word_at(page, bytes, id * sizeof(le32));
}

/* ---- ANA ---- */

void
weir_ana_decode(const void *page, size_t bytes, struct weir_ana_log *log)
{
	struct nvme_log_ana head;

	lib_take(page, bytes, 0, &head, sizeof(head));
	*log = (struct weir_ana_log){ .change_count = le64_get(head.changes), .groups = le16_get(head.group_count) };
}

bool
weir_ana_next(const void *page, size_t bytes, struct weir_cursor *cursor, struct weir_ana_group *group)
{
	uint64_t at = cursor->at != 0 ? cursor->at : sizeof(struct nvme_log_ana), room;
	struct nvme_log_ana_group head;
	struct weir_ana_log log;

	weir_ana_decode(page, bytes, &log);
	if (cursor->done >= log.groups || !lib_take(page, bytes, at, &head, sizeof(head)))
		return false;
	at += sizeof(head);
	room = (bytes - at) / sizeof(le32);
	*group = (struct weir_ana_group){
		.group = le32_get(head.id),
		.change_count = le64_get(head.changes),
		.state = head.state & 0xf,
		.nsid_count = le32_get(head.ns_count) < room ? le32_get(head.ns_count) : (uint32_t)room,
		.nsids = (const uint8_t *)page + at,
	};
	cursor->at = at + le32_get(head.ns_count) * sizeof(le32);
	cursor->done++;
	return true;
}

uint32_t
weir_ana_nsid(const struct weir_ana_group *group, uint32_t index)
{
	return index < group->nsid_count ? get_le32((const uint8_t *)group->nsids + index * sizeof(le32)) : 0;
}

/* ---- reservations ---- */

void
weir_reservation_notice_decode(const void *page, size_t bytes, struct weir_reservation_notice *notice)
{
	struct nvme_log_reservation log;

	lib_take(page, bytes, 0, &log, sizeof(log));
	*notice = (struct weir_reservation_notice){
		.number = le64_get(log.count), .type = log.type, .left = log.left, .nsid = le32_get(log.nsid),
	};
}
