/*
 * size.h - sizes in bytes as people write them: 4096, 10G.
 */
#ifndef WEIR_BASE_SIZE_H
#define WEIR_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { SIZE_TEXT = 24 };

/* A decimal number from 0 to 2^64 - 1, and where it ends; false: none begins there, and nothing was changed. */
bool number_parse(const char **text, uint64_t *value);

/* A number, alone or with K, M, G or T (powers of 1024, in either case) right behind it; false: not a size. */
bool size_parse(const char *text, uint64_t *bytes);

/* The same size with the largest unit that leaves a whole number, so that size_parse() reads it back. */
void size_print(uint64_t bytes, char text[SIZE_TEXT]);

#endif
