/*
 * condition.h - what a drive is like before it is used: fresh, filled, or filled and written all over.
 *
 * A state takes seconds to make, so it can be kept: as bytes, with what it was made of and for which drive
 * (doc/formats/flash-state.md).  It does not know of files, nor of time.
 */
#ifndef WEIR_FLASH_CONDITION_H
#define WEIR_FLASH_CONDITION_H

#include "flash/ftl.h"

enum condition_kind {
	CONDITION_FRESH,      /* nothing was ever written */
	CONDITION_SEQUENTIAL, /* all units, in order */
	CONDITION_FRAGMENTED, /* and then units that chance chooses, evenly */
	CONDITIONS,
};

/* By kind: fresh, sequential, fragmented. */
extern const char *const condition_names[CONDITIONS];

struct condition {
	uint32_t kind;              /* enum condition_kind */
	uint32_t overwrite_percent; /* of all units, so many are written by chance; 0 where it is not fragmented */
	uint64_t seed;              /* and so chance chooses; 0 where it is not fragmented */
};

/* So much of a fragmented drive is written by chance, where nothing else is asked for: after that no more changes
 * anything. */
enum { CONDITION_OVERWRITE_PERCENT = 300 };

/* By its name; CONDITIONS: there is none of that name. */
enum condition_kind condition_named(const char *name);

/* How such a state is made; the seed is of no meaning where chance has no part in it. */
struct condition condition_of(enum condition_kind kind, uint64_t seed);

/* Whether a drive of that profile can be so: media that are written in place are always as they are when they are
 * fresh.  0; -EINVAL, with `why`. */
int condition_fits(enum condition_kind kind, const struct flash_profile *profile, char why[FLASH_WHY])
    __attribute__((warn_unused_result));

/* Of a translation layer to which nothing was written. */
void condition_make(struct ftl *ftl, const struct condition *condition);

/* How many bytes a state takes, of this drive. */
size_t condition_bytes(const struct ftl *ftl);

/* The state of a translation layer that condition_make() or condition_load() was called of, and nothing since; `hash`
 * is the profile's.  `out` has condition_bytes(). */
void condition_save(const struct ftl *ftl, uint64_t hash, const struct condition *condition, uint8_t *out);

/* Of which drive the bytes say to be: the profile's hash, and its capacity in bytes.  False: they are no state. */
bool condition_drive(const uint8_t *in, size_t bytes, uint64_t *hash, uint64_t *capacity);

/* How what the bytes keep was made, as they say themselves.  False: they are no state. */
bool condition_made(const uint8_t *in, size_t bytes, struct condition *condition);

/*
 * The state, and in `condition` how it was made.  0; -EINVAL, with `why`, a sentence about the bytes ("they are of
 * another drive"): they are no state, not of this drive, or damaged; then nothing was ever written to it.
 */
int condition_load(struct ftl *ftl, uint64_t hash, const uint8_t *in, size_t bytes, struct condition *condition,
    char why[FLASH_WHY]) __attribute__((warn_unused_result));

#endif
