/*
 * log.h - the log pages (NVMe Base 2.0, 5.16) and the events that point to them (5.2).
 *
 * Layouts and names only.
 */
#ifndef WEIR_WIRE_LOG_H
#define WEIR_WIRE_LOG_H

#include <assert.h>
#include <stddef.h>

#include "base/bytes.h"

enum nvme_lid {
	NVME_LOG_PAGES = 0x00,
	NVME_LOG_ERROR = 0x01,
	NVME_LOG_SMART = 0x02,
	NVME_LOG_FIRMWARE = 0x03,
	NVME_LOG_CHANGED_NS = 0x04,
	NVME_LOG_EFFECTS = 0x05,
	NVME_LOG_ANA = 0x0c,
	NVME_LOG_PERSISTENT = 0x0d,
	NVME_LOG_FEATURE_EFFECTS = 0x12,
	NVME_LOG_MI_EFFECTS = 0x13,
	NVME_LOG_DISCOVERY = 0x70,
	NVME_LOG_RESERVATION = 0x80,
};

#define NVME_LOG_RAE (UINT32_C(1) << 15) /* CDW10: the read leaves the event pending */
#define NVME_LOG_OFFSET_TYPE (UINT32_C(1) << 23) /* CDW14: the offset is an index */

struct nvme_log_error_entry {
	le64 error_count; /* 0: the entry is empty */
	le16 sqid, cid, status, location;
	le64 lba;
	le32 nsid;
	uint8_t vendor, trtype, csi, opcode;
	le64 command_specific;
	uint8_t reserved40[23];
	uint8_t version;
};
static_assert(sizeof(struct nvme_log_error_entry) == 64, "error entry");
static_assert(offsetof(struct nvme_log_error_entry, lba) == 16, "error LBA");
static_assert(offsetof(struct nvme_log_error_entry, opcode) == 31, "error opcode");

static_assert(offsetof(struct nvme_log_error_entry, command_specific) == 32, "error command specific");
static_assert(offsetof(struct nvme_log_error_entry, version) == 63, "error version");

enum { NVME_ERROR_NO_LOCATION = 0xffff };
enum { NVME_ERROR_VERSION = 1 }; /* later than Base 2.0, which has bytes 30, 31 and 63 reserved: the opcode is told */

enum nvme_smart_warning { NVME_SMART_SPARE = 1 << 0, NVME_SMART_TEMPERATURE = 1 << 1, NVME_SMART_RELIABILITY = 1 << 2 };

struct nvme_log_smart {
	uint8_t critical_warning;
	uint8_t temperature[2]; /* kelvin; not aligned */
	uint8_t available_spare, spare_threshold, percentage_used, reserved6[26];
	le128 units_read, units_written; /* 1000 x 512 bytes, rounded up */
	le128 host_reads, host_writes, busy_minutes, power_cycles, power_on_hours, unsafe_shutdowns;
	le128 media_errors, error_entries;
	le32 warning_minutes, critical_minutes;
	le16 sensor[8];
	uint8_t reserved216[296];
};
static_assert(sizeof(struct nvme_log_smart) == 512, "SMART log");
static_assert(offsetof(struct nvme_log_smart, units_read) == 32, "data units read");
static_assert(offsetof(struct nvme_log_smart, busy_minutes) == 96, "busy time");
static_assert(offsetof(struct nvme_log_smart, error_entries) == 176, "error entries");
static_assert(offsetof(struct nvme_log_smart, sensor) == 200, "sensors");

struct nvme_log_firmware {
	uint8_t afi, reserved1[7];
	char revision[7][8];
	uint8_t reserved64[448];
};
static_assert(sizeof(struct nvme_log_firmware) == 512, "firmware slot log");

struct nvme_log_effects {
	le32 admin[256], io[256];
	uint8_t reserved2048[2048];
};
static_assert(sizeof(struct nvme_log_effects) == 4096, "commands supported and effects");

enum { NVME_LOG_MI_EFFECTS_LEN = 4096 }; /* a word for each NVMe-MI command; the rest is reserved */

#define NVME_EFFECT_SUPPORTED (UINT32_C(1) << 0) /* also of pages and of features */
#define NVME_EFFECT_CONTENT (UINT32_C(1) << 1)   /* changes what blocks hold */
#define NVME_EFFECT_INVENTORY (UINT32_C(1) << 3) /* changes which namespaces there are */
#define NVME_SCOPE_NS (UINT32_C(1) << 20)        /* what a command, or a feature, reaches: one of these */
#define NVME_SCOPE_CTRL (UINT32_C(1) << 21)
#define NVME_SCOPE_SUBSYS (UINT32_C(1) << 25)

enum { NVME_LOG_TABLE_LEN = 256 * 4 }; /* pages 00h and 12h: a word for each id */

#define NVME_ANA_RGO (UINT32_C(1) << 8) /* CDW10 of page 0Ch: the groups without their namespaces */

enum nvme_ana_state {
	NVME_ANA_OPTIMIZED = 1,
	NVME_ANA_NON_OPTIMIZED = 2,
	NVME_ANA_INACCESSIBLE = 3,
	NVME_ANA_PERSISTENT_LOSS = 4,
	NVME_ANA_CHANGE = 15,
};

struct nvme_log_ana_group { /* its NSIDs follow */
	le32 id, ns_count;
	le64 changes;
	uint8_t state, reserved17[15];
};
static_assert(sizeof(struct nvme_log_ana_group) == 32, "ANA group descriptor");
static_assert(offsetof(struct nvme_log_ana_group, state) == 16, "ANA state");

struct nvme_log_ana { /* groups follow */
	le64 changes;
	le16 group_count;
	uint8_t reserved10[6];
};
static_assert(sizeof(struct nvme_log_ana) == 16, "ANA log header");

/* What happened to a reservation: page 80h; bit n of feature 82h masks number n. */
enum nvme_resv_notice {
	NVME_RESV_REGISTRATION_PREEMPTED = 1,
	NVME_RESV_RELEASED = 2,
	NVME_RESV_PREEMPTED = 3,
	NVME_RESV_NOTICES = 3,
};

struct nvme_log_reservation {
	le64 count; /* of this notification; 0: the page is empty */
	uint8_t type, left, reserved10[2];
	le32 nsid;
	uint8_t reserved16[48];
};
static_assert(sizeof(struct nvme_log_reservation) == 64, "reservation notification");
static_assert(offsetof(struct nvme_log_reservation, nsid) == 12, "notification NSID");

enum nvme_trtype { NVME_TRTYPE_TCP = 3 };
enum nvme_adrfam { NVME_ADRFAM_IPV4 = 1, NVME_ADRFAM_IPV6 = 2 };
enum nvme_subtype { NVME_SUBTYPE_REFERRAL = 1, NVME_SUBTYPE_NVM = 2, NVME_SUBTYPE_CURRENT = 3 };
enum nvme_treq { NVME_TREQ_NO_SQ_FLOW = 4 }; /* of a secure channel nothing is said */
enum nvme_eflags { NVME_EFLAGS_DUPLICATE = 1, NVME_EFLAGS_EPCSD = 2 };

struct nvme_log_discovery_entry {
	uint8_t trtype, adrfam, subtype, treq;
	le16 portid, cntlid, asqsz, eflags;
	uint8_t reserved12[20];
	char trsvcid[32];
	uint8_t reserved64[192];
	char subnqn[256];
	char traddr[256];
	uint8_t tsas[256]; /* TCP: byte 0 is SECTYPE */
};
static_assert(sizeof(struct nvme_log_discovery_entry) == 1024, "discovery entry");
static_assert(offsetof(struct nvme_log_discovery_entry, trsvcid) == 32, "TRSVCID");
static_assert(offsetof(struct nvme_log_discovery_entry, subnqn) == 256, "discovery SUBNQN");
static_assert(offsetof(struct nvme_log_discovery_entry, traddr) == 512, "TRADDR");

struct nvme_log_discovery {
	le64 genctr, numrec;
	le16 recfmt;
	uint8_t reserved18[1006];
	struct nvme_log_discovery_entry entries[];
};
static_assert(sizeof(struct nvme_log_discovery) == 1024, "discovery log header");

/* Asynchronous events: DW0 is type | information << 8 | log page << 16. */
enum nvme_event_type {
	NVME_EVENT_ERROR = 0,
	NVME_EVENT_SMART = 1,
	NVME_EVENT_NOTICE = 2,
	NVME_EVENT_COMMAND_SET = 6,
};
enum nvme_event_error { NVME_ERROR_TRANSIENT = 4 };
enum nvme_event_smart { NVME_SMART_EVENT_RELIABILITY = 0, NVME_SMART_EVENT_TEMPERATURE = 1 };
enum nvme_event_command_set { NVME_COMMAND_SET_RESERVATION = 0 };
enum nvme_event_notice { NVME_NOTICE_NS = 0x00, NVME_NOTICE_ANA = 0x03, NVME_NOTICE_DISCOVERY = 0xf0 };

/* Feature 0Bh, and OAES of Identify Controller. */
#define NVME_ASYNC_SMART UINT32_C(0xff)
#define NVME_ASYNC_NS (UINT32_C(1) << 8)
#define NVME_ASYNC_ANA (UINT32_C(1) << 11)
#define NVME_ASYNC_DISCOVERY (UINT32_C(1) << 31)

#endif
