/*
 * extension.h - what of Weir's extension lies on the wire (doc/extension.md).
 *
 * Layouts and numbers only; all of it is in the vendor-specific ranges of NVMe.
 */
#ifndef WEIR_WIRE_EXTENSION_H
#define WEIR_WIRE_EXTENSION_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"

/* What there is to be granted; of them a target offers some.  Unknown bits mean nothing. */
enum weir_capability {
	WEIR_CREDITS = 1 << 0,
	WEIR_ORDER = 1 << 1,
	WEIR_PUSH = 1 << 2,
	WEIR_VIEW = 1 << 3,
	WEIR_FENCE = 1 << 4,
};

#define WEIR_MAGIC { 'W', 'E', 'I', 'R' }
enum { WEIR_EXTENSION_VERSION = 1 };

/* Identify Controller, vendor-specific bytes, from 3072. */
struct weir_identify {
	char magic[4];
	le16 version;
	le16 length;          /* bytes that are meant, from the magic on */
	le32 capabilities;    /* enum weir_capability: what is offered */
	uint8_t reserved12[4];
	/* Limits; 0 where what they limit is not offered. */
	le32 streams;         /* ordered streams of a controller */
	le32 log_slots;       /* of the attribute log */
	le32 hops;            /* reads of one execution of a program */
	le32 programs;        /* that a controller may load */
	le32 scratch_bytes;   /* of an execution */
	uint8_t reserved36[28];
};
static_assert(sizeof(struct weir_identify) == 64, "Weir in Identify Controller");
static_assert(offsetof(struct weir_identify, capabilities) == 8, "capabilities");
static_assert(offsetof(struct weir_identify, streams) == 16, "limits");
static_assert(offsetof(struct weir_identify, scratch_bytes) == 32, "scratch bytes");

/* Identify Namespace, vendor-specific bytes, from 392. */
struct weir_identify_ns {
	char magic[4];
	le16 version;
	le16 length;          /* bytes that are meant, from the magic on */
	le64 cache_life;      /* another one when what was answered and not flushed may be lost; 0: not told */
};
static_assert(sizeof(struct weir_identify_ns) == 16, "Weir in Identify Namespace");
static_assert(offsetof(struct weir_identify_ns, cache_life) == 8, "cache life");

/* Of the vendor-specific bytes of a page; 0: it does not tell. */
static inline uint64_t
weir_cache_life(const uint8_t *vendor)
{
	static const char magic[4] = WEIR_MAGIC;
	struct weir_identify_ns weir;

	memcpy(&weir, vendor, sizeof(weir));
	return memcmp(weir.magic, magic, sizeof(magic)) == 0 && le16_get(weir.length) >= sizeof(weir) ?
	    le64_get(weir.cache_life) : 0;
}

/* What goes on at a namespace that hosts share: a log page, of the NSID of the command. */
enum { WEIR_LOG_VIEW = 0xd7, WEIR_VIEW_VERSION = 1 };
#define WEIR_VIEW_GUID \
	{ 0x25, 0x87, 0x43, 0x4d, 0x2b, 0x24, 0x42, 0x2d, 0x89, 0xe8, 0x3a, 0xf9, 0x99, 0x81, 0xc5, 0x7a }
#define WEIR_VIEW_ENDLESS UINT64_MAX

enum weir_view_flags {
	WEIR_VIEW_SHARED = 1 << 0,  /* I/O waits for its turn, or may: else all is 0 but what is of the medium */
	WEIR_VIEW_PACED = 1 << 1,   /* by what the device bears */
	WEIR_VIEW_STALLED = 1 << 2, /* an I/O has been at the device for too long */
	WEIR_VIEW_KNOWN = 1 << 3,   /* the host has done I/O: there is something of it */
	WEIR_VIEW_WEARS = 1 << 4,   /* the medium says how it is */
};

/* I/Os of one kind that have ended; and those of the last whole second. */
struct weir_log_view_done {
	le64 ios, bytes, failed;
	le64 lately_ios, lately_bytes;
	le64 p50_ns, p99_ns, p999_ns;
};
static_assert(sizeof(struct weir_log_view_done) == 64, "what has been done");

struct weir_log_view_kind {
	uint8_t state;        /* enum qos_state */
	uint8_t reserved1[7];
	le64 ewma_ns, thresh_ns;
	le64 headroom;        /* bytes a second, or WEIR_VIEW_ENDLESS */
	struct weir_log_view_done done;
};
static_assert(sizeof(struct weir_log_view_kind) == 96, "reads, or writes");

struct weir_log_view {
	uint8_t guid[16];
	le16 version;
	le16 length;          /* bytes that are meant, from the first on */
	le32 nsid;
	le32 flags;           /* enum weir_view_flags */
	uint8_t state;        /* enum qos_state */
	uint8_t reserved29[3];
	le64 rate;            /* bytes a second, or WEIR_VIEW_ENDLESS */
	le64 occupied, most;  /* bytes of reads; the latter may be WEIR_VIEW_ENDLESS */
	le32 write_cost;      /* 1024ths */
	le32 tenants, waiting, inflight;
	uint8_t reserved72[8];
	struct weir_log_view_kind kinds[2]; /* reads, writes */
	struct {
		le32 weight, credits, waiting, inflight;
		struct weir_log_view_done kinds[2];
	} host;               /* that asks */
	struct {
		le64 written_bytes, media_bytes;
		le32 used_percent;
		uint8_t spare_percent, spare_threshold_percent, reserved22[2];
	} medium;
	uint8_t reserved440[72];
};
static_assert(sizeof(struct weir_log_view) == 512, "view");
static_assert(offsetof(struct weir_log_view, rate) == 32, "rate");
static_assert(offsetof(struct weir_log_view, kinds) == 80, "kinds");
static_assert(offsetof(struct weir_log_view, host) == 272, "host");
static_assert(offsetof(struct weir_log_view, medium) == 416, "medium");
static_assert(offsetof(struct weir_log_view, reserved440) == 440, "reserved");

/* Says that it is this page, of that namespace. */
static inline void
weir_view_sign(struct weir_log_view *page, uint32_t nsid)
{
	static const uint8_t guid[sizeof(page->guid)] = WEIR_VIEW_GUID;

	memcpy(page->guid, guid, sizeof(guid));
	page->version = le16_of(WEIR_VIEW_VERSION);
	page->length = le16_of(sizeof(*page));
	page->nsid = le32_of(nsid);
}

/* CDW11 of Set: what is wanted; DW0 of Set and Get: what is granted. */
enum { WEIR_FEATURE = 0xd7 };

/* Where CREDITS was granted: of a command's byte 1, that is DW0[13:12], its priority: 0, served most, to 3. */
enum { WEIR_PRIORITY_SHIFT = 4, WEIR_PRIORITY_MASK = 3 << WEIR_PRIORITY_SHIFT };

/* And of a completion's DW1 the grant, I/Os that the queue may have under way on the namespace; 0: nothing is said.
 * After so long without one the host takes it that it has WEIR_CREDITS_FIRST. */
enum { WEIR_CREDITS_MASK = 0xffff, WEIR_CREDITS_FIRST = 32, WEIR_CREDITS_MS = 1000 };

/* Admin opcodes; bits 1:0 say which way data goes. */
enum weir_admin_opcode {
	WEIR_ADMIN_FENCE = 0xd8, /* no data; CDW10 15:0 a controller, or: */
};
enum { WEIR_FENCE_OLDER = 0xffff };
static_assert((WEIR_ADMIN_FENCE & 3) == 0, "it carries no data");

#endif
