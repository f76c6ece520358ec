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

/* Where ORDER was granted: of a command's byte 1, that is DW0[11:10], whether it is an ordered write, */
enum { WEIR_ORDERED_SHIFT = 2, WEIR_ORDERED_MASK = 3 << WEIR_ORDERED_SHIFT };
enum weir_is_ordered { WEIR_NOT_ORDERED, WEIR_ORDERED, WEIR_ORDERED_LAST };

/* of its CDW12[19:16], */
enum weir_ordered_flags {
	WEIR_ORDERED_SPLIT = 1 << 16,
	WEIR_ORDERED_IN_PLACE = 1 << 17,
	WEIR_ORDERED_FLUSH = 1 << 18,
	WEIR_ORDERED_MERGED = 1 << 19,
	WEIR_ORDERED_FLAGS = 15 << 16,
};

/* and of a completion's DW1 how many more entries it may have. */
enum { WEIR_ORDERED_LEFT_SHIFT = 16, WEIR_ORDERED_LEFT_MAX = 0xffff };

/* Admin opcodes; bits 1:0 say which way data goes. */
enum weir_admin_opcode {
	WEIR_ADMIN_FENCE = 0xd8, /* no data; CDW10 15:0 a controller, or: */
	/* Of all three, CDW13: who asks, see LIST in doc/extension.md. */
	WEIR_ADMIN_LIST = 0xda,  /* to the host; CDW10 15:0 a stream, and enum weir_list_flags; CDW11, CDW12 */
	WEIR_ADMIN_CUT = 0xdc,   /* no data; CDW10 a stream and a queue, CDW11 a group, CDW12 enum weir_cut_flags */
	WEIR_ADMIN_FLOOR = 0xe0, /* no data; CDW10 15:0 a stream, CDW11 a group, CDW12 enum weir_floor_flags */
};
enum { WEIR_FENCE_OLDER = 0xffff };
enum weir_list_flags { WEIR_LIST_STOP = 1 << 16, WEIR_LIST_STREAMS = 1 << 17, WEIR_LIST_TAKE = 1 << 18 };
enum weir_cut_flags { WEIR_CUT_GONE = 1 << 0, WEIR_CUT_FORCE = 1 << 1 };
enum weir_floor_flags { WEIR_FLOOR_ENDS = 1 << 0 };
static_assert((WEIR_ADMIN_FENCE & 3) == 0 && (WEIR_ADMIN_CUT & 3) == 0 && (WEIR_ADMIN_FLOOR & 3) == 0,
    "they carry no data");
static_assert((WEIR_ADMIN_LIST & 3) == 2, "it carries data to the host");

/* What LIST answers: a head, and entries or numbers of streams. */
struct weir_list_head {
	uint8_t log[16];      /* its UUID */
	le16 stream, term;
	le32 floor;
	le32 count;           /* in all */
	le32 guaranteed;
	le32 flags;           /* enum weir_list_state */
	le32 holder;          /* whose the stream is; 0: nobody's that it knows of */
	uint8_t reserved40[24];
};
static_assert(sizeof(struct weir_list_head) == 64, "head of a list");

enum weir_list_state { WEIR_LIST_STOPPED = 1 << 0, WEIR_LIST_NEW = 1 << 1, WEIR_LIST_LOST = 1 << 2 };

struct weir_list_entry {
	le32 first, last, prev;
	le16 num, count;
	le16 flags;           /* as in the log */
	uint8_t is;           /* enum weir_list_is */
	uint8_t reserved19;
	le32 nsid;
	le64 lba;
	le32 blocks;
	uint8_t reserved36[4];
};
static_assert(sizeof(struct weir_list_entry) == 40, "entry of a list");
static_assert(offsetof(struct weir_list_entry, lba) == 24, "LBA");

enum weir_list_is {
	WEIR_LIST_COUNTS = 1 << 0,
	WEIR_LIST_VALID = 1 << 1,
	WEIR_LIST_BACK = 1 << 2,
	WEIR_LIST_LEFT = 1 << 3,
};

#endif
