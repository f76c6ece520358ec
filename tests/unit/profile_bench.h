/*
 * profile_bench.h - profiles to try flash/ with: one of each media that has every number, some of them changed, and a
 * profile as text again.
 */
#ifndef TESTS_PROFILE_BENCH_H
#define TESTS_PROFILE_BENCH_H

#include "flash/profile.h"

/* A key in each line; by enum flash_media. */
extern const char *const profile_bases[2];

/*
 * A base with the values of some keys changed: "dies: 40", as many lines as are wanted.  A key that is not there comes
 * last; "dies" alone takes the line away.  In the arena.
 */
char *profile_with(struct arena *arena, const char *base, const char *changes);

/* The line in which a key stands; 0: in none. */
uint32_t profile_line(const char *text, const char *key);

/* Read, or the test ends with what is wrong with it. */
void profile_of(const char *text, struct flash_profile *profile);

/* As a file that flash_profile_read() reads.  In the arena. */
char *profile_text(struct arena *arena, const struct flash_profile *profile);

#endif
