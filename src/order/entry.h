/*
 * entry.h - an entry of the log of ordered writes: 64 bytes that say which groups of a stream a write belongs to
 * (doc/formats/ordered-log.md).
 */
#ifndef WEIR_ORDER_ENTRY_H
#define WEIR_ORDER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "order/group.h"

enum {
	ORDER_ENTRY_LAST = 1 << 0,     /* the last piece of its last group */
	ORDER_ENTRY_SPLIT = 1 << 1,    /* of a write of several */
	ORDER_ENTRY_IN_PLACE = 1 << 2, /* what it wrote is not taken back */
	ORDER_ENTRY_FLUSH = 1 << 3,    /* it persists when it, and all before it on this server, is on the medium */
	ORDER_ENTRY_MERGED = 1 << 4,   /* several writes, all there or none of them */
	ORDER_ENTRY_MARK = 1 << 5,     /* no write: a term begins, or a floor is kept */
	ORDER_ENTRY_TAKING = 1 << 6,   /* of a mark: what is after its cut is being taken back, and not gone yet */
	ORDER_ENTRY_ANEW = 1 << 7,     /* appended anew: it may persist from the beginning */
	ORDER_ENTRY_FLAGS = (1 << 8) - 1,
	ORDER_ENTRY_OF_WRITES = ORDER_ENTRY_FLAGS & ~(ORDER_ENTRY_MARK | ORDER_ENTRY_TAKING | ORDER_ENTRY_ANEW),
};

/* As it lies in the log. */
struct order_image {
	le32 first, last, prev;
	le16 num, stream;
	le64 lba;
	le32 blocks, nsid, owner;
	le16 flags, term;
	le32 lap;        /* its last 32 bits */
	le16 lap_high, piece;
	le32 floor;
	le16 count, batch;
	le32 crc;     /* of the log's UUID, and of all before it here */
	le32 persist; /* the same as `lap`; else it does not */
};

_Static_assert(sizeof(struct order_image) == 64, "one cache line");

struct order_entry {
	uint32_t first, last;  /* groups */
	uint32_t prev;         /* the one before them of this stream on this server; ORDER_NO_GROUP: there was none */
	uint16_t num;          /* pieces of `last`, where its last one is in here; else 0 */
	uint16_t stream;
	uint64_t lba;
	uint32_t blocks;       /* 0: a flush alone, or a mark */
	uint32_t nsid, owner;
	uint16_t flags, term;
	uint64_t lap;          /* 48 bits */
	uint16_t piece;        /* so many of its first group came to this server before it */
	uint32_t floor;        /* that the server knew; of a mark what holds from now on */
	uint16_t count;        /* pieces in it, where it is of one group; 1 of several; of a mark 0 */
	uint16_t batch;        /* so many before it were appended with it, behind one barrier */
};

/* NULL, or what cannot be in an entry, in plain words. */
const char *order_entry_wrong(const struct order_entry *entry);

/* The same of what a write itself says; that it is no mark its caller knows. */
static inline const char *
order_groups_wrong(uint32_t first, uint32_t last, uint32_t prev, uint16_t num, uint16_t count, uint16_t flags)
{
	if (first == ORDER_NO_GROUP || last == ORDER_NO_GROUP || order_after(first, last))
		return "its groups are none";
	if ((flags & ORDER_ENTRY_TAKING) != 0)
		return "only a mark says that something is being taken back";
	if (prev != ORDER_NO_GROUP && !order_after(first, prev))
		return "the group before it is not before it";
	if (count == 0 || (first != last && (count != 1 || num > 1)))
		return "it has so many pieces of one group, or whole groups";
	if ((flags & ORDER_ENTRY_LAST) != 0 ? num < count : num != 0)
		return "the last piece of a group says how many there are";
	if (first != last && (~flags & (ORDER_ENTRY_LAST | ORDER_ENTRY_MERGED)) != 0)
		return "only what was merged has several groups, and ends the last one";
	if ((flags & ORDER_ENTRY_SPLIT) != 0 && (flags & ORDER_ENTRY_MERGED) != 0)
		return "what was split is not merged";
	return NULL;
}

/*
 * An entry's NSID, with a tag of which namespace had it, by its UUID and the size of its blocks: another one may get
 * that number.  NSIDs are below 2^16.
 */
uint32_t order_entry_nsid(uint32_t nsid, const uint8_t uuid[16], uint32_t block_size);

/* As it is appended to the log of that seed, order_head_seed(): it does not persist. */
void order_entry_write(const struct order_entry *entry, uint32_t seed, struct order_image *image);

/* The word that is written alone, later, where `image` says `persist`. */
le32 order_entry_persist(const struct order_entry *entry);

/* False: there is no entry in that slot, or a torn one, or another log's. */
bool order_entry_read(const struct order_image *image, uint32_t seed, struct order_entry *entry, bool *persists);

#endif
