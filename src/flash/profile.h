/*
 * profile.h - what a modelled drive is made of: all its numbers, and whether there can be such a drive.
 *
 * Read from YAML, as people write it (weir-profile(5)); those in profiles/ are built in.  It does not know what the
 * numbers do.  One table (profile.c) drives reading, printing and the hash: none of them knows a number by name.
 */
#ifndef WEIR_FLASH_PROFILE_H
#define WEIR_FLASH_PROFILE_H

#include "conf/amount.h"
#include "conf/conf.h"

enum { FLASH_NAME_MAX = 32, FLASH_SAYS_MAX = 120 }; /* with the NUL */

enum flash_media {
	FLASH_NAND,     /* pages, blocks, a map */
	FLASH_IN_PLACE, /* written where it stands: no map, no collection */
};

enum { FLASH_ROW_UNITS_MAX = 256 };

enum flash_policy { FLASH_GREEDY, FLASH_COST_BENEFIT };

/*
 * Times in nanoseconds, rates in MB/s (1e6 bytes), shares in thousandths.  The hash is over these in this order.  What
 * media that are written in place do not have is 0, but for `power_loss_protection`: what they answer is on the media.
 */
struct flash_profile {
	char name[FLASH_NAME_MAX]; /* "": none was given */
	char says[FLASH_SAYS_MAX]; /* one line for people */
	uint32_t media;            /* enum flash_media */

	/* The drive as it is sold; what is modelled has all its dies and fewer blocks (geometry.h). */
	uint32_t capacity_mb;      /* for hosts, in 1e6 bytes */
	uint32_t channels, dies;   /* dies in all, a multiple of channels */
	uint32_t die_mib;          /* what one die holds */
	uint32_t planes;
	uint32_t page_bytes;       /* a power of two */
	uint32_t pages;            /* of a block, on one plane; a multiple of `bits` */
	uint32_t bits;             /* pages of a word line, programmed together */
	uint32_t unit_bytes;       /* a power of two: a part of a page, or pages of as many planes */
	uint32_t spare_permille;   /* raw over user space, minus one, without reserve_blocks and what slc_fixed takes */
	uint32_t reserve_blocks;   /* of each die, held back beside that */
	uint32_t scale_blocks;     /* of each die, those in reserve among them: as few are left before blocks shrink */

	uint32_t read_ns;          /* sensing */
	uint32_t read_spread_ns;   /* by the page: from read_ns - spread to read_ns + spread */
	uint32_t program_ns, erase_ns;
	uint32_t channel_mb_s;     /* between a die and the controller */
	uint32_t channel_write_mb_s; /* the other way; the same for NAND */
	uint32_t overhead_permille;  /* bytes moved beside the data: error correction */
	uint32_t programs_max;     /* dies that program, erase or read what they move at a time */

	uint32_t suspends_program, suspends_erase; /* 0 or 1 */
	uint32_t suspend_ns, resume_ns, suspends_max; /* of one program, or erase */

	uint32_t controller_read_ns, controller_write_ns;
	uint32_t front_end_iops;   /* commands begun a second at most */
	uint32_t commands_max;     /* inside at a time */
	uint32_t link_mb_s;

	uint32_t buffer_bytes;     /* of the drive as it is sold and as it is modelled: a row of each die at least */
	uint32_t power_loss_protection; /* 0 or 1 */
	uint32_t flush_ns;         /* what a flush takes in any case */
	uint32_t journal_ns;       /* a page of the map's journal; 0: there is none */

	uint32_t slc_permille, slc_fixed_permille; /* data in SLC mode over the user space: at most, and of that what
						    * has flash of its own, `bits` times as much; 0: none is */
	uint32_t slc_program_ns;

	uint32_t policy;           /* enum flash_policy */
	uint32_t gc_low;           /* free blocks of a die at which collection begins */
	uint32_t wear_gap;         /* erases; 0: wear is not levelled */
	uint32_t endurance;        /* program and erase cycles of a block; in place, how often all may be written */
	uint32_t pmr_bytes;        /* of its persistent memory region; 0: there is none */
	uint32_t erase_scales;     /* 1: an erase takes as much less as a block is smaller */
};

/*
 * Reads and checks a file's text.  0; -EINVAL: `errors` says where and why; -ENOMEM.  What it found to read stays in
 * the arena in any case, but not in the profile.
 */
int flash_profile_read(struct arena *arena, const char *text, size_t bytes, struct conf_errors *errors,
    struct flash_profile *profile) __attribute__((warn_unused_result));

/* Raw space that there is for so much of hosts: spare_permille, and what is always in SLC mode. */
static inline uint32_t
flash_raw_permille(const struct flash_profile *p)
{
	return 1000 + p->spare_permille + p->bits * p->slc_fixed_permille;
}

/* Of all numbers, not of the name nor what it says: two profiles with the same hash are the same drive. */
uint64_t flash_profile_hash(const struct flash_profile *profile);

/* No time of a profile is longer, nor what a row takes on its channel: sums of some of them find room in 64 bits. */
#define FLASH_TIME_MAX_NS UINT32_C(4000000000)

/* The numbers, in the order of the struct. */
struct flash_number {
	const char *name;  /* as in the file */
	const char *field; /* as in the struct, with its unit */
	const char *unit;  /* as conf/amount.h has it; "": it counts things */
	const char *const *words; /* it is the index of one of these, and those beyond `most` are the same
				   * once more; NULL: it is a number */
	size_t offset;     /* of a uint32_t in struct flash_profile */
	uint32_t least, most;
	uint8_t words_count;
	uint8_t of, needed; /* by media, 1 << enum flash_media: which have it, and which cannot do without */
	bool time;         /* it says how long something takes: a time, or a rate; experiments ask what it matters */
};

/* NULL: there are no more. */
const struct flash_number *flash_profile_number(unsigned index);
/* By name as in the file; NULL: there is none. */
const struct flash_number *flash_number_find(const char *name);

static inline uint32_t *
flash_number_of(struct flash_profile *profile, const struct flash_number *number)
{
	return (uint32_t *)(void *)((char *)profile + number->offset);
}

static inline uint32_t
flash_number_value(const struct flash_profile *profile, const struct flash_number *number)
{
	return *(const uint32_t *)(const void *)((const char *)profile + number->offset);
}

/* As in a file: "1.7 ms", "greedy". */
void flash_number_text(const struct flash_profile *profile, const struct flash_number *number, char text[AMOUNT_TEXT]);

/* Those that are built in (profiles/NAME.yaml). */
struct flash_profile_text {
	const char *name, *text;
};
extern const struct flash_profile_text flash_profile_texts[];
extern const unsigned flash_profile_count;

/* One that is built in, by name.  0; -ENOENT; -ENOMEM. */
int flash_profile_find(struct arena *arena, const char *name, struct flash_profile *profile)
    __attribute__((warn_unused_result));

#endif
