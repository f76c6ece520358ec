/*
 * log.h - log pages, decoded (NVMe Base 2.0, 5.16).
 *
 * Decoders are given what weir_subsys_log() read, at any address, and how much
 * that is, and look at no byte behind it; what a page that was cut does not
 * have is zeros, or is not there.  They cannot fail: numbers are passed on as
 * they are, and in texts a '?' stands for what is no character or cannot be
 * shown.  They keep nothing; any thread may call them.
 *
 * What a page has many of is walked by a cursor:
 *
 *     struct weir_cursor cursor = WEIR_CURSOR;
 *     while (weir_ana_next(page, bytes, &cursor, &group))
 *             ...
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/subsys.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weir_lid {
	WEIR_LID_SUPPORTED = 0x00, WEIR_LID_ERROR = 0x01, WEIR_LID_SMART = 0x02, WEIR_LID_FIRMWARE = 0x03,
	WEIR_LID_CHANGED_NAMESPACES = 0x04, WEIR_LID_EFFECTS = 0x05, WEIR_LID_ANA = 0x0c, WEIR_LID_PERSISTENT = 0x0d,
	WEIR_LID_FEATURE_EFFECTS = 0x12, WEIR_LID_DISCOVERY = 0x70, WEIR_LID_RESERVATION = 0x80,
};

/* How far a page was walked; its members are the library's. */
struct weir_cursor {
	uint64_t at;
	uint32_t done;
};

#define WEIR_CURSOR { 0, 0 }

/* ---- 02h, 512 bytes ---- */

enum weir_critical_warning {
	WEIR_WARNING_SPARE = 1, WEIR_WARNING_TEMPERATURE = 2, WEIR_WARNING_RELIABILITY = 4, WEIR_WARNING_READ_ONLY = 8,
	WEIR_WARNING_BACKUP = 16, WEIR_WARNING_PMR = 32,
};

struct weir_smart { /* counts are cut at UINT64_MAX */
	uint8_t critical_warning; /* enum weir_critical_warning, or 0 */
	uint16_t kelvin;
	uint8_t spare_percent, spare_threshold_percent, used_percent;
	uint64_t read_units, written_units; /* of 512,000 bytes, rounded up */
	uint64_t reads, writes, busy_minutes, power_cycles, power_on_hours, unsafe_shutdowns;
	uint64_t media_errors, error_entries;
	uint32_t warning_minutes, critical_minutes;
	uint16_t sensor_kelvin[8]; /* 0: there is none */
};

void weir_smart_decode(const void *page, size_t bytes, struct weir_smart *smart);

/* ---- 01h, 64 bytes each, the newest first ---- */

struct weir_error_entry {
	uint64_t number;       /* of the error since the controller was made */
	uint16_t sqid, cid;
	weir_status status;
	uint16_t location;     /* byte b7:0, bit b10:8; 0xffff: none */
	uint64_t lba;
	uint32_t nsid;
	uint8_t opcode;        /* where version is 1 */
	uint8_t version;
};

/* The next whole entry that is not empty; false: there is none. */
bool weir_error_next(const void *page, size_t bytes, struct weir_cursor *cursor, struct weir_error_entry *entry);

/* ---- 03h, 512 bytes ---- */

struct weir_firmware {
	uint8_t active, next;  /* slots, from 1; next 0: the same */
	char revision[7][9];   /* of slot 1 first; "": the slot is empty, or is not there */
};

void weir_firmware_decode(const void *page, size_t bytes, struct weir_firmware *firmware);

/* ---- 04h, 4096 bytes ---- */

/* NSIDs that have changed since the page was read last, ascending; 0xffffffff, alone: more than a page holds. */
bool weir_changed_next(const void *page, size_t bytes, struct weir_cursor *cursor, uint32_t *nsid);

/* ---- 05h, 4096 bytes; 00h and 12h, 1024 bytes ---- */

/* Of the words of 05h and 12h. */
enum weir_effect {
	WEIR_EFFECT_SUPPORTED = 1 << 0,
	WEIR_EFFECT_CONTENT = 1 << 1,      /* changes what blocks hold; of features: what is read */
	WEIR_EFFECT_NS_CAPABILITY = 1 << 2,
	WEIR_EFFECT_INVENTORY = 1 << 3,    /* changes which namespaces there are */
	WEIR_EFFECT_CAPABILITY = 1 << 4,   /* of controllers */
	WEIR_EFFECT_ALONE = 3 << 16,       /* 1: no other of the namespace beside it, 2: no other at all */
	WEIR_EFFECT_SCOPE_NS = 1 << 20, WEIR_EFFECT_SCOPE_CONTROLLER = 1 << 21, WEIR_EFFECT_SCOPE_SUBSYS = 1 << 25,
};

/* Of 05h: what a command does, by its opcode; 0: it is not supported. */
uint32_t weir_effect_of(const void *page, size_t bytes, bool admin, uint8_t opcode);

/* Of 00h: b0 the page is supported, b1 its offset may be an index, b31:16 as the page defines; 0: it is not.
 * Of 12h, by the feature: enum weir_effect. */
uint32_t weir_supported_of(const void *page, size_t bytes, uint8_t id);

/* ---- 0Ch ---- */

enum weir_ana {
	WEIR_ANA_OPTIMIZED = 1, WEIR_ANA_NON_OPTIMIZED = 2, WEIR_ANA_INACCESSIBLE = 3, WEIR_ANA_PERSISTENT_LOSS = 4,
	WEIR_ANA_CHANGE = 15,
};

struct weir_ana_log {
	uint64_t change_count;
	uint16_t groups;       /* as the page says */
};

struct weir_ana_group {
	uint32_t group;
	uint64_t change_count;
	uint8_t state;         /* enum weir_ana */
	uint32_t nsid_count;   /* as many as are in the page */
	const void *nsids;     /* in the page, 4 bytes each: weir_ana_nsid() */
};

void weir_ana_decode(const void *page, size_t bytes, struct weir_ana_log *log);
bool weir_ana_next(const void *page, size_t bytes, struct weir_cursor *cursor, struct weir_ana_group *group);

/* 0: there are not so many.  The page is still there. */
uint32_t weir_ana_nsid(const struct weir_ana_group *group, uint32_t index);

/* ---- 0Dh: 512 bytes of header, and events, the newest first ---- */

enum weir_persistent_type {
	WEIR_PERSISTENT_SMART = 1, WEIR_PERSISTENT_FIRMWARE = 2, WEIR_PERSISTENT_TIMESTAMP = 3,
	WEIR_PERSISTENT_RESET = 4, WEIR_PERSISTENT_HARDWARE = 5, WEIR_PERSISTENT_NAMESPACE = 6,
	WEIR_PERSISTENT_FORMAT_START = 7, WEIR_PERSISTENT_FORMAT_DONE = 8, WEIR_PERSISTENT_SANITIZE_START = 9,
	WEIR_PERSISTENT_SANITIZE_DONE = 10, WEIR_PERSISTENT_FEATURE = 11, WEIR_PERSISTENT_TELEMETRY = 12,
	WEIR_PERSISTENT_THERMAL = 13, WEIR_PERSISTENT_VENDOR = 0xde,
};

struct weir_persistent_log {
	uint32_t events;       /* as the header says */
	uint64_t length;       /* of header and events, bytes: so much there is to read */
	uint8_t revision;
	uint64_t timestamp_ms; /* when it was read: since 1970, UTC, where the controller knows the date */
	uint64_t power_on_hours, power_cycles; /* cut at UINT64_MAX */
	uint16_t vid, ssvid;
	char serial[21], model[41], subnqn[257];
	uint16_t generation;
	uint32_t context;      /* RCI */
	uint8_t supported[32]; /* a bit per type */
};

struct weir_persistent_event {
	uint8_t type;          /* enum weir_persistent_type */
	uint8_t revision;      /* of the type */
	uint16_t cntlid, port;
	uint64_t timestamp_ms; /* as above */
	uint32_t vendor_bytes, data_bytes;
	const void *vendor, *data; /* in the page: what the vendor adds, what the type defines; NULL where 0 bytes */
};

void weir_persistent_decode(const void *page, size_t bytes, struct weir_persistent_log *log);

/* Of a page read from offset 0; an event that is not whole in it is not there. */
bool weir_persistent_next(const void *page, size_t bytes, struct weir_cursor *cursor,
    struct weir_persistent_event *event);

/* ---- 80h, 64 bytes ---- */

struct weir_reservation_notice {
	uint64_t number;       /* 0: the page is empty */
	uint8_t type;          /* weir_reservation_notice_name() */
	uint8_t left;          /* so many more pages there are to read */
	uint32_t nsid;
};

void weir_reservation_notice_decode(const void *page, size_t bytes, struct weir_reservation_notice *notice);

#ifdef __cplusplus
}
#endif

#endif
