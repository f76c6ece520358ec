/*
 * drive.h - a modelled SSD: a command comes in, when is it answered, and what is lost if the power goes now?
 *
 * Pure: it is told the time and says when it wants to be called next.  Contents are kept in memory that it is handed,
 * or not at all.  Source: doc/flash.md.
 */
#ifndef WEIR_FLASH_DRIVE_H
#define WEIR_FLASH_DRIVE_H

#include <sys/uio.h>

#include "base/list.h"
#include "flash/ftl.h"
#include "flash/pmr.h"

enum drive_op {
	DRIVE_READ,
	DRIVE_WRITE,
	DRIVE_FLUSH, /* all writes and trims that were answered before are durable */
	DRIVE_TRIM,  /* reads as zeros afterwards */
};

enum { DRIVE_SECTOR = 512 };

/* The drive's from drive_submit() until drive_run() answers it, or drive_cut(). */
struct drive_cmd {
	struct fifo_node node;
	uint8_t op;              /* enum drive_op */
	bool fua;                /* of a WRITE or TRIM: durable when it is answered */
	uint64_t offset, bytes;  /* multiples of DRIVE_SECTOR, within the drive; 0 of a FLUSH */
	const struct iovec *iov; /* contents of a READ or WRITE; NULL: nobody asks, or zeros */
	uint32_t iov_count;
	void *owner;
	uint64_t end_ns;         /* when it was answered */

	/* the drive's */
	uint64_t at_ns;          /* when it goes on */
	uint64_t sequence;       /* of what has to be durable before it is answered */
	uint32_t left;           /* reads of the media under way */
	uint32_t next;           /* the first unit of which nothing was begun */
	uint32_t last;           /* unit */
};

struct drive_options {
	struct flash_geometry geometry;
	struct flash_profile profile;
	uint64_t seed;           /* of what is left, by chance, when the power goes */
	uint8_t *store;          /* geometry.units * unit_bytes, the contents when the drive is made, and whenever the
				  * power is gone; the caller's, longer than the drive.  NULL: contents are nobody's
				  * business, and whoever reads them gets zeros */
	/* Makes a part of the store zeros, though it were long, and takes no memory for what is so already; NULL: the
	 * drive does it. */
	void (*zero)(void *owner, uint64_t offset, uint64_t bytes);
	void *owner;
	uint8_t *pmr;            /* profile.pmr_bytes, in the same way; NULL: it has no such region, whatever the
				  * profile says */
};

struct drive_counts {
	uint64_t read_commands, write_commands, flush_commands, trim_commands;
	uint64_t read_bytes, write_bytes;   /* that hosts asked for */
	uint64_t merged_units;              /* read because only a part was written */
	uint64_t absorbed_units;            /* written again before they were programmed */
	uint64_t journal_pages;
	uint64_t cuts;
};

struct drive;

/* 0, or -ENOMEM. */
int drive_create(struct arena *arena, const struct drive_options *options, struct drive **drive)
    __attribute__((warn_unused_result));
void drive_destroy(struct drive *drive);

/* At `now_ns`, which is not before the end of what drive_run() answered last, nor before what it was given where it
 * answered NULL.  It is answered by drive_run() alone. */
void drive_submit(struct drive *drive, struct drive_cmd *cmd, uint64_t now_ns);

/* When it next wants drive_run(); 0: at once; UINT64_MAX: nothing is under way. */
uint64_t drive_next(const struct drive *drive);

/* Goes on until a command is answered, or until `now_ns`, and answers NULL; in the order of their end. */
struct drive_cmd *drive_run(struct drive *drive, uint64_t now_ns);

/*
 * The power goes, at `now_ns`; commands are their makers' again, and none is answered.  What is lost is lost, and the
 * drive is as it is when it has power again, which is at once: neither saving what its buffer has nor starting takes
 * time.
 */
void drive_cut(struct drive *drive, uint64_t now_ns);

/* Its persistent memory region; NULL: it has none.  Commands and stores do not wait for one another. */
struct pmr *drive_pmr(struct drive *drive);

const struct drive_counts *drive_counts(const struct drive *drive);
const struct flash_geometry *drive_geometry(const struct drive *drive);
const struct flash_profile *drive_profile(const struct drive *drive);

/* NULL: its media are written in place.  To prepare it before there was a command, and to look at. */
struct ftl *drive_ftl(struct drive *drive);

/* What is wrong with it, or NULL; `idle`: nothing is under way either. */
const char *drive_check(const struct drive *drive, bool idle);

#endif
