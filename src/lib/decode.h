/*
 * decode.h - what the decoders of Identify and of log pages share.
 *
 * A page is a target's, so any bytes; a decoder cannot fail, and what it
 * answers is in its range whatever the page says.
 */
#ifndef WEIR_LIB_DECODE_H
#define WEIR_LIB_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/*
 * A field of `bytes` of text, that a NUL or spaces end, as a text of at most `room` bytes with its NUL: what is no
 * character, or cannot be shown, is '?'; of what is too long as many characters as fit.
 */
void lib_text(char *out, size_t room, const void *field, size_t bytes);

/* The value, or UINT64_MAX where it is larger. */
uint64_t lib_number(le128 number);

/* Copies `size` bytes from `at` on, as far as the page has them; zeros stand for the others.  Whether it has all. */
bool lib_take(const void *page, size_t bytes, uint64_t at, void *out, size_t size);

#endif
