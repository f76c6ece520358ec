/*
 * names.c - words for the numbers of the specifications (weir/names.h).
 *
 * NVMe Base 2.0, NVM Command Set 1.0; TRTYPE and what goes with it: NVMe over Fabrics, the discovery log.
 */
#include <stddef.h>

#include <weir/log.h>
#include <weir/names.h>
#include <weir/subsys.h>

#include "base/nqn.h"
#include "wire/log.h"
#include "wire/nvme.h"
#include "wire/persistent.h"

/* What the public headers say again, for those who have not ours. */
static_assert((int)WEIR_ANA_NON_OPTIMIZED == (int)NVME_ANA_NON_OPTIMIZED &&
    (int)WEIR_ANA_INACCESSIBLE == (int)NVME_ANA_INACCESSIBLE &&
    (int)WEIR_ANA_PERSISTENT_LOSS == (int)NVME_ANA_PERSISTENT_LOSS && (int)WEIR_ANA_CHANGE == (int)NVME_ANA_CHANGE,
    "ANA states");
static_assert((int)WEIR_LID_SMART == (int)NVME_LOG_SMART && (int)WEIR_LID_EFFECTS == (int)NVME_LOG_EFFECTS &&
    (int)WEIR_LID_ANA == (int)NVME_LOG_ANA && (int)WEIR_LID_PERSISTENT == (int)NVME_LOG_PERSISTENT &&
    (int)WEIR_LID_FEATURE_EFFECTS == (int)NVME_LOG_FEATURE_EFFECTS &&
    (int)WEIR_LID_DISCOVERY == (int)NVME_LOG_DISCOVERY && (int)WEIR_LID_RESERVATION == (int)NVME_LOG_RESERVATION,
    "log pages");
static_assert((int)WEIR_PERSISTENT_TIMESTAMP == (int)NVME_PERSISTENT_TIMESTAMP &&
    (int)WEIR_PERSISTENT_NAMESPACE == (int)NVME_PERSISTENT_NAMESPACE &&
    (int)WEIR_PERSISTENT_FEATURE == (int)NVME_PERSISTENT_FEATURE &&
    (int)WEIR_PERSISTENT_VENDOR == (int)NVME_PERSISTENT_VENDOR, "persistent events");
static_assert((uint32_t)WEIR_EFFECT_INVENTORY == NVME_EFFECT_INVENTORY &&
    (uint32_t)WEIR_EFFECT_SCOPE_NS == NVME_SCOPE_NS && (uint32_t)WEIR_EFFECT_SCOPE_SUBSYS == NVME_SCOPE_SUBSYS,
    "effects");
static_assert((int)WEIR_NQN_MAX == (int)NQN_MAX, "length of an NQN");

/* The name with the number, of as many as the table has. */
#define NAME(table, number) name_in(table, sizeof(table) / sizeof((table)[0]), number)

static const char *
name_in(const char *const *table, size_t count, size_t number)
{
	return number < count && table[number] != NULL ? table[number] : "unknown";
}

const char *
weir_transport_name(uint8_t trtype)
{
	static const char *const names[] = { [1] = "rdma", [2] = "fc", [NVME_TRTYPE_TCP] = "tcp", [254] = "loop" };

	return NAME(names, trtype);
}

const char *
weir_adrfam_name(uint8_t adrfam)
{
	static const char *const names[] = {
		[NVME_ADRFAM_IPV4] = "ipv4", [NVME_ADRFAM_IPV6] = "ipv6", [3] = "ib", [4] = "fc", [254] = "loop",
	};

	return NAME(names, adrfam);
}

const char *
weir_subtype_name(uint8_t subtype)
{
	static const char *const names[] = {
		[NVME_SUBTYPE_REFERRAL] = "referral", [NVME_SUBTYPE_NVM] = "nvm", [NVME_SUBTYPE_CURRENT] = "discovery",
	};

	return NAME(names, subtype);
}

const char *
weir_treq_name(uint8_t treq)
{
	static const char *const names[] = { "not specified", "required", "not required" };

	return NAME(names, treq & 3);
}

const char *
weir_sectype_name(uint8_t sectype)
{
	static const char *const names[] = { "none", "tls1.2", "tls1.3" };

	return NAME(names, sectype);
}

const char *
weir_controller_type_name(uint8_t type)
{
	static const char *const names[] = { "not reported", "io", "discovery", "administrative" };

	return NAME(names, type);
}

const char *
weir_ana_name(uint8_t state)
{
	static const char *const names[] = {
		[NVME_ANA_OPTIMIZED] = "optimized", [NVME_ANA_NON_OPTIMIZED] = "non-optimized",
		[NVME_ANA_INACCESSIBLE] = "inaccessible", [NVME_ANA_PERSISTENT_LOSS] = "persistent loss",
		[NVME_ANA_CHANGE] = "change",
	};

	return NAME(names, state);
}

const char *
weir_path_state_name(unsigned state)
{
	static const char *const names[] = {
		[WEIR_PATH_CONNECTING] = "connecting", [WEIR_PATH_LIVE] = "live",
		[WEIR_PATH_WAITING] = "waiting", [WEIR_PATH_REFUSED] = "refused",
	};

	return NAME(names, state);
}

const char *
weir_lid_name(uint8_t lid)
{
	static const char *const names[] = {
		[NVME_LOG_PAGES] = "supported log pages", [NVME_LOG_ERROR] = "error", [NVME_LOG_SMART] = "smart",
		[NVME_LOG_FIRMWARE] = "firmware slots", [NVME_LOG_CHANGED_NS] = "changed namespaces",
		[NVME_LOG_EFFECTS] = "commands supported and effects", [0x06] = "device self-test",
		[0x07] = "telemetry of the host", [0x08] = "telemetry of the controller", [0x09] = "endurance group",
		[0x0a] = "predictable latency of an NVM set", [0x0b] = "predictable latency events",
		[NVME_LOG_ANA] = "asymmetric namespace access", [NVME_LOG_PERSISTENT] = "persistent events",
		[0x0e] = "LBA status", [0x0f] = "endurance group events", [0x10] = "media unit status",
		[0x11] = "supported capacity configurations",
		[NVME_LOG_FEATURE_EFFECTS] = "features supported and effects",
		[NVME_LOG_MI_EFFECTS] = "NVMe-MI commands supported and effects",
		[0x14] = "command and feature lockdown",
		[0x15] = "boot partition", [0x16] = "rotational media", [NVME_LOG_DISCOVERY] = "discovery",
		[NVME_LOG_RESERVATION] = "reservation notification", [0x81] = "sanitize status",
		[0xbf] = "changed zones",
	};

	return NAME(names, lid);
}

const char *
weir_warning_name(unsigned bit)
{
	static const char *const names[] = {
		"spare", "temperature", "reliability", "read-only", "backup", "persistent memory",
	};

	return NAME(names, bit);
}

const char *
weir_persistent_name(uint8_t type)
{
	static const char *const names[] = {
		[NVME_PERSISTENT_SMART] = "SMART snapshot", [0x02] = "firmware commit",
		[NVME_PERSISTENT_TIMESTAMP] = "timestamp change", [NVME_PERSISTENT_RESET] = "power on or reset",
		[NVME_PERSISTENT_HARDWARE] = "hardware error", [NVME_PERSISTENT_NAMESPACE] = "change of a namespace",
		[0x07] = "format start", [0x08] = "format completion", [0x09] = "sanitize start",
		[0x0a] = "sanitize completion", [NVME_PERSISTENT_FEATURE] = "set feature",
		[0x0c] = "telemetry log create", [0x0d] = "thermal excursion",
		[NVME_PERSISTENT_VENDOR] = "vendor specific", [0xdf] = "TCG defined",
	};

	return NAME(names, type);
}

const char *
weir_reservation_notice_name(uint8_t type)
{
	static const char *const names[] = {
		"none", [NVME_RESV_REGISTRATION_PREEMPTED] = "registration preempted",
		[NVME_RESV_RELEASED] = "reservation released", [NVME_RESV_PREEMPTED] = "reservation preempted",
	};

	return NAME(names, type);
}

static const char *const admin_names[] = {
	[0x00] = "delete I/O submission queue", [0x01] = "create I/O submission queue",
	[NVME_ADMIN_GET_LOG_PAGE] = "get log page", [0x04] = "delete I/O completion queue",
	[0x05] = "create I/O completion queue", [NVME_ADMIN_IDENTIFY] = "identify", [NVME_ADMIN_ABORT] = "abort",
	[NVME_ADMIN_SET_FEATURES] = "set features", [NVME_ADMIN_GET_FEATURES] = "get features",
	[NVME_ADMIN_ASYNC_EVENT] = "asynchronous event request",
	[NVME_ADMIN_NS_MANAGEMENT] = "namespace management", [0x10] = "firmware commit",
	[0x11] = "firmware image download", [0x14] = "device self-test",
	[NVME_ADMIN_NS_ATTACHMENT] = "namespace attachment", [NVME_ADMIN_KEEP_ALIVE] = "keep alive",
	[0x19] = "directive send", [0x1a] = "directive receive", [0x1c] = "virtualization management",
	[0x1d] = "NVMe-MI send", [0x1e] = "NVMe-MI receive", [0x20] = "capacity management", [0x24] = "lockdown",
	[0x7c] = "doorbell buffer config", [NVME_FABRICS] = "fabrics", [0x80] = "format NVM",
	[0x81] = "security send", [0x82] = "security receive", [0x84] = "sanitize", [0x86] = "get LBA status",
};

static const char *const io_names[] = {
	[NVME_FLUSH] = "flush", [NVME_WRITE] = "write", [NVME_READ] = "read",
	[NVME_WRITE_UNCORRECTABLE] = "write uncorrectable", [NVME_COMPARE] = "compare",
	[NVME_WRITE_ZEROES] = "write zeroes", [NVME_DATASET_MGMT] = "dataset management", [NVME_VERIFY] = "verify",
	[NVME_RESV_REGISTER] = "reservation register", [NVME_RESV_REPORT] = "reservation report",
	[NVME_RESV_ACQUIRE] = "reservation acquire", [NVME_RESV_RELEASE] = "reservation release",
	[NVME_COPY] = "copy", [NVME_FABRICS] = "fabrics",
};

const char *
weir_opcode_name(bool admin, uint8_t opcode)
{
	return admin ? NAME(admin_names, opcode) : NAME(io_names, opcode);
}
