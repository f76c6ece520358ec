/*
 * eventlog_image.c - the persistent events of a subsystem as they lie on a medium.
 *
 * Two slots, each a whole image; what was written last stays untouched until
 * what is written now is durable (doc/formats/events.md).  Where the slots lie,
 * and the barriers, are the caller's.
 */
#include "base/crc32c.h"
#include "ctrl/eventlog.h"

static const char magic[8] = "WEIREVT1";

struct image {
	char magic[8]; /* the last one is the version; the others, `bytes` and `crc` are the same in all versions */
	le64 sequence;
	uint8_t identity[16];
	le64 power_cycles, unsafe_shutdowns, on_ms;
	le64 reads, writes, read_blocks512, write_blocks512, media_errors, errors, busy_s;
	le32 bytes;    /* of events, which follow */
	le16 generation;
	uint8_t clean, reserved119[389];
	le32 crc;      /* of what is before it and of the events */
};
static_assert(sizeof(struct image) == 512, "image of events");
static_assert(offsetof(struct image, bytes) == 112, "bytes of events");
static_assert(offsetof(struct image, crc) == 508, "CRC of events");
static_assert(sizeof(struct image) + EVENTLOG_BYTES == EVENTLOG_SLOT_LEN, "a full log fills a slot");

static uint32_t
crc_of(const struct image *image)
{
	return crc32c(crc32c(0, image, offsetof(struct image, crc)), image + 1, le32_get(image->bytes));
}

size_t
eventlog_encode(const struct eventlog *log, const uint8_t identity[16], uint64_t sequence, uint8_t *out)
{
	const struct eventlog_counts *counts = &log->now;
	struct image *image = (void *)out;
	size_t len = sizeof(*image) + log->used;
	size_t rounded = (len + EVENTLOG_IMAGE_ALIGN - 1) / EVENTLOG_IMAGE_ALIGN * EVENTLOG_IMAGE_ALIGN;

	*image = (struct image){
		.sequence = le64_of(sequence), .power_cycles = le64_of(log->power_cycles),
		.unsafe_shutdowns = le64_of(log->unsafe_shutdowns), .on_ms = le64_of(log->on_ms),
		.reads = le64_of(counts->reads), .writes = le64_of(counts->writes),
		.read_blocks512 = le64_of(counts->read_blocks512), .write_blocks512 = le64_of(counts->write_blocks512),
		.media_errors = le64_of(counts->media_errors), .errors = le64_of(counts->errors),
		.busy_s = le64_of(counts->busy_s), .bytes = le32_of(log->used),
		.generation = le16_of(log->generation), .clean = log->clean,
	};
	memcpy(image->magic, magic, sizeof(magic));
	memcpy(image->identity, identity, sizeof(image->identity));
	memcpy(image + 1, log->bytes, log->used);
	memset(out + len, 0, rounded - len);
	image->crc = le32_of(crc_of(image));
	return rounded;
}

/* ---- reading ---- */

static bool
is_zeros(const uint8_t *slot)
{
	for (size_t i = 0; i < EVENTLOG_SLOT_LEN; i++)
		if (slot[i] != 0)
			return false;
	return true;
}

/* Whether the slot is the work of somebody who knew how; not, whether for us. */
static bool
is_whole(const struct image *image)
{
	return memcmp(image->magic, magic, sizeof(magic) - 1) == 0 && le32_get(image->bytes) <= EVENTLOG_BYTES &&
	    le32_get(image->crc) == crc_of(image);
}

static bool
is_ours(const struct image *image, const uint8_t identity[16])
{
	return memcmp(image->magic, magic, sizeof(magic)) == 0 && memcmp(image->identity, identity, 16) == 0;
}

static bool
is_valid(const struct image *image, uint64_t slot)
{
	uint64_t sequence = le64_get(image->sequence);
	uint32_t count;

	return sequence > 0 && sequence % EVENTLOG_SLOTS == slot && image->clean <= 1 &&
	    eventlog_events((const uint8_t *)(image + 1), le32_get(image->bytes), &count);
}

static void
take(const struct image *image, struct eventlog *log)
{
	bool whole;

	log->power_cycles = le64_get(image->power_cycles);
	log->unsafe_shutdowns = le64_get(image->unsafe_shutdowns);
	log->on_ms = log->on_ms_before = le64_get(image->on_ms);
	log->now = (struct eventlog_counts){
		.reads = le64_get(image->reads), .writes = le64_get(image->writes),
		.read_blocks512 = le64_get(image->read_blocks512), .write_blocks512 = le64_get(image->write_blocks512),
		.media_errors = le64_get(image->media_errors), .errors = le64_get(image->errors),
		.busy_s = le64_get(image->busy_s),
	};
	log->before = log->now;
	log->generation = le16_get(image->generation);
	log->clean = image->clean;
	log->used = le32_get(image->bytes);
	memcpy(log->bytes, image + 1, log->used);
	whole = eventlog_events(log->bytes, log->used, &log->count);
	assert(whole);
}

enum eventlog_found
eventlog_decode(const uint8_t *slots, const uint8_t identity[16], struct eventlog *log, uint64_t *sequence)
{
	const struct image *best = NULL;

	eventlog_init(log);
	*sequence = 0;
	for (uint64_t i = 0; i < EVENTLOG_SLOTS; i++) {
		const struct image *image = (const void *)(slots + i * EVENTLOG_SLOT_LEN);

		if (!is_whole(image))
			continue;
		if (!is_ours(image, identity))
			return EVENTLOG_FOREIGN;
		if (is_valid(image, i) && (best == NULL || le64_get(image->sequence) > le64_get(best->sequence)))
			best = image;
	}
	if (best == NULL) /* the first image goes to slot 1: what is torn there was the first */
		return is_zeros(slots) ? EVENTLOG_FRESH : EVENTLOG_DAMAGED;
	take(best, log);
	*sequence = le64_get(best->sequence);
	return EVENTLOG_FOUND;
}
