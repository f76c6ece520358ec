/*
 * ordered.h - a host that writes in order to drives of targets, in one of several ways, in virtual time: the real host,
 * the real target with its log in a modelled persistent memory, a network, and modelled drives.
 *
 * As other rigs it is a function of what it is told and of the seed.
 */
#ifndef WEIR_LAB_ORDERED_H
#define WEIR_LAB_ORDERED_H

#include "lab/rig.h"

enum { LAB_TARGETS_MAX = 2, LAB_ORDERED_STREAMS_MAX = 16 };

enum lab_way {
	LAB_ORDERLESS, /* nobody has said what comes first: as many writes as may be under way are */
	LAB_ORDERED,   /* Weir's ordered writes (doc/ordered-writes.md) */
	/* A message that is waited for stores in the target's persistent memory what order there is; then the group
	 * goes, and is not waited for (Horae over a fabric, as Rio's paper has it, section 6.1). */
	LAB_HORAE,
	LAB_SYNC,      /* each group is waited for, and where the drive may lose it a flush behind it: as Linux does */
	LAB_WAYS,
};

extern const char *const lab_ways[LAB_WAYS];

struct lab_ordered {
	enum lab_way way;
	bool flushes;                 /* of LAB_SYNC: though the drive keeps what it has answered */
	bool in_order;                /* of LAB_ORDERED: `depth` groups at most are not told complete, in place of
				       * commands that are not answered */
	struct lab_world world;
	struct lab_device drive;      /* each of: */
	unsigned drives, targets;     /* the first is the first target's, the second the second's, and so on */
	uint64_t span;                /* bytes of each that are written to, from its beginning; 0: all */
	unsigned streams;             /* of the one host; each has a reactor and a queue at each target */
	uint32_t depth;               /* commands under way, of each stream */
	uint32_t bytes;               /* of a write */
	uint32_t batch;               /* writes behind one another that are a group, at a random place, on one drive */
	uint32_t slots;               /* entries in a target's log */
	uint32_t pieces;              /* that a stream holds until they are durable */
	uint32_t pmr_mb_s;            /* at which lines leave for the persistent memory; a barrier takes 600 ns more */
	uint64_t settle_ns, measure_ns;
};

/* One stream, one drive at one target, single writes of 4 KiB and 64 of them under way, 20 us there and back; a log of
 * 65536 entries. */
void lab_ordered_init(struct lab_ordered *ordered, enum lab_way way, const char *drive);

/* Its world, with what varies of it. */
struct lab_world lab_ordered_world(const struct lab *lab, const struct lab_ordered *ordered);

/* What came of it, while it was measured.  Messages are NVMe/TCP PDUs, and bytes are theirs: nothing of TCP or below
 * is counted. */
struct lab_ordered_ran {
	double writes;                /* a second */
	double mean_us, p99_us;       /* of a group, until its stream was told that it was there */
	/* for each write: */
	double commands;              /* I/O commands of whatever kind */
	double sent_messages, sent_bytes, received_messages, received_bytes; /* of the host */
	double flushes;               /* a second, by the drives */
	uint64_t failed;
};

/* False: the laboratory says why. */
bool lab_ordered_run(struct lab *lab, const struct lab_ordered *ordered, struct lab_ordered_ran *ran)
    __attribute__((warn_unused_result));

#endif
