/*
 * persistent.h - the Persistent Event log, page 0Dh: its header and its events
 * (NVMe Base 2.0, 5.16.1.14).
 *
 * Layouts and names only.
 */
#ifndef WEIR_WIRE_PERSISTENT_H
#define WEIR_WIRE_PERSISTENT_H

#include "wire/log.h"

enum nvme_persistent_action { /* LSP of the Get Log Page */
	NVME_PERSISTENT_READ = 0,
	NVME_PERSISTENT_ESTABLISH = 1,
	NVME_PERSISTENT_RELEASE = 2,
	NVME_PERSISTENT_ESTABLISH_HEADER = 3, /* and of the page its header alone is read */
};
#define NVME_PERSISTENT_HEADER_ALONE (UINT32_C(1) << 16) /* word of page 00h: the last one is supported */

struct nvme_persistent_log {
	uint8_t lid, reserved1[3];
	le32 events;      /* TNEV */
	le64 length;      /* TLL: of header and events */
	uint8_t revision, reserved17;
	le16 header_length; /* behind this field */
	le64 timestamp;
	le128 power_on_hours;
	le64 power_cycles;
	le16 vid, ssvid;
	char sn[20], mn[40], subnqn[256];
	le16 generation;
	le32 context;     /* RCI */
	uint8_t reserved378[102], supported[32]; /* a bit per type */
};
static_assert(sizeof(struct nvme_persistent_log) == 512, "persistent event log header");
static_assert(offsetof(struct nvme_persistent_log, timestamp) == 20, "header timestamp");
static_assert(offsetof(struct nvme_persistent_log, generation) == 372, "generation number");
static_assert(offsetof(struct nvme_persistent_log, supported) == 480, "supported events");

enum { NVME_PERSISTENT_REVISION = 2, NVME_PERSISTENT_HEADER_BEHIND = 20 };
#define NVME_PERSISTENT_CONTEXT (UINT32_C(1) << 18 | UINT32_C(1) << 16) /* there is one, of a subsystem's port */

enum nvme_persistent_type {
	NVME_PERSISTENT_SMART = 0x01,
	NVME_PERSISTENT_TIMESTAMP = 0x03,
	NVME_PERSISTENT_RESET = 0x04,
	NVME_PERSISTENT_HARDWARE = 0x05,
	NVME_PERSISTENT_NAMESPACE = 0x06,
	NVME_PERSISTENT_FEATURE = 0x0b,
	NVME_PERSISTENT_VENDOR = 0xde,
};

struct nvme_persistent_event { /* its data follows */
	uint8_t type, revision, header_length /* behind this field */, additional;
	le16 cntlid;
	le64 timestamp;
	le16 port;
	uint8_t reserved16[4];
	le16 vendor_length, length; /* of the data */
};
static_assert(sizeof(struct nvme_persistent_event) == 24, "persistent event header");
static_assert(offsetof(struct nvme_persistent_event, length) == 22, "event length");

enum { NVME_PERSISTENT_EVENT_BEHIND = 3 };

struct nvme_persistent_timestamp {
	le64 previous, ms_since_reset;
};
static_assert(sizeof(struct nvme_persistent_timestamp) == 16, "timestamp change event");

struct nvme_persistent_reset { /* one controller's */
	char firmware[8];
	le16 cntlid;
	uint8_t activation, in_progress, reserved12[12];
	le32 power_cycles;
	le64 power_on_ms, timestamp;
};
static_assert(sizeof(struct nvme_persistent_reset) == 44, "power-on or reset event");

enum nvme_persistent_hardware_code {
	NVME_HARDWARE_UNSAFE_SHUTDOWN = 0x08,
	NVME_HARDWARE_FATAL_STATUS = 0x09,
	NVME_HARDWARE_MEDIA = 0x0a,
};

struct nvme_persistent_hardware {
	le16 code;
	uint8_t reserved2[2];
};
static_assert(sizeof(struct nvme_persistent_hardware) == 4, "hardware error event");

struct nvme_persistent_namespace {
	le32 cdw10; /* of the Namespace Management that did it, or would have */
	uint8_t reserved4[4];
	le64 nsze;
	uint8_t reserved16[8];
	le64 ncap;
	uint8_t flbas, dps, nmic, reserved35;
	le32 anagrpid;
	le16 nvmsetid;
	uint8_t reserved42[2];
	le32 nsid;
};
static_assert(sizeof(struct nvme_persistent_namespace) == 48, "change namespace event");

struct nvme_persistent_feature {
	le32 layout; /* b2:0 dwords, b3 whether DW0 of the completion follows them */
	le32 cdw10, cdw11, dw0;
};
static_assert(sizeof(struct nvme_persistent_feature) == 16, "set feature event");

struct nvme_persistent_vendor { /* text follows */
	le16 code;
	uint8_t data_type, uuid;
	le16 data_length;
};
static_assert(sizeof(struct nvme_persistent_vendor) == 6, "vendor specific event");

enum { NVME_PERSISTENT_VENDOR_ASCII = 2 };

#endif
