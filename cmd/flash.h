/*
 * flash.h - `weir flash`: modelled drives, by name or from a file.
 *
 * Each of its commands has a file with its options, and answers the exit code.
 */
#ifndef WEIR_CMD_FLASH_H
#define WEIR_CMD_FLASH_H

#include "flash/condition.h"
#include "flash/wear.h"

int flash_list(int argc, char **argv);
int flash_show(int argc, char **argv);
int flash_curve(int argc, char **argv);
int flash_condition(int argc, char **argv);

/*
 * flash_named.c: a profile that is built in, or a file; "-" is standard input.  0, or -1 after having said on stderr
 * what is wrong.
 */
int flash_named(const char *name, struct flash_profile *profile) __attribute__((warn_unused_result));

/* The name among the arguments: there is one, or the program ends with a message. */
struct argp_state;
void flash_name_take(struct argp_state *state, const char *arg, const char **name);
void flash_name_needed(struct argp_state *state, const char *name);

/* Of flash_profile_hash(), as it is printed everywhere. */
enum { FLASH_HASH_TEXT = 17 };
void flash_hash_text(const struct flash_profile *profile, char text[FLASH_HASH_TEXT]);

/* Such a drive of so many bytes; 0: 8 GiB, or as near to it as there is.  0, or -1 after having said why not. */
int flash_sized(const struct flash_profile *profile, uint64_t bytes, struct flash_geometry *geometry)
    __attribute__((warn_unused_result));

/* flash_state.c: what a drive is like before it is used. */
struct flash_state {
	struct flash_profile profile;
	struct flash_geometry geometry;
	struct condition condition;
	struct ftl_counts counts; /* of how it became so */
	struct flash_wear wear;   /* by that */
	uint8_t *image;           /* as condition.h keeps it; NULL: media are written in place, and are always so */
	size_t image_bytes;
};

/* "fresh", ...: its number, or the program ends with a message. */
enum condition_kind flash_kind_of(struct argp_state *state, const char *arg);

/* Makes it: profile, geometry and condition are given.  0, or -1 after having said what is wrong; flash_state_drop()
 * follows in any case. */
int flash_state_make(struct flash_state *state) __attribute__((warn_unused_result));

/*
 * Reads it: of that profile, or, where that is NULL, of one that is built in.  0, or -1 after having said what is
 * wrong; flash_state_drop() follows in any case.
 */
int flash_state_read(const char *path, const struct flash_profile *profile, struct flash_state *state)
    __attribute__((warn_unused_result));

void flash_state_drop(struct flash_state *state);

/* Puts a new translation layer of such a drive into that state. */
void flash_state_enter(const struct flash_state *state, struct ftl *ftl);

/* Of everything it has programmed, over what hosts wrote, in thousandths; 0: they wrote nothing. */
uint64_t flash_amplified(uint64_t programmed, uint64_t written);

/* "4.12" */
enum { FLASH_TIMES_TEXT = 24 };
const char *flash_times(uint64_t permille, char text[FLASH_TIMES_TEXT]);

#endif
