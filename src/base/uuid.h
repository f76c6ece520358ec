/*
 * uuid.h - a UUID as text (RFC 4122).
 *
 * It does not know whose it is.
 */
#ifndef WEIR_BASE_UUID_H
#define WEIR_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

enum { UUID_TEXT = 36, UUID_BYTES = 16 };

/* All of the text is a UUID, 8-4-4-4-12 hexadecimal digits in either case, and not that of zeros.  False: what is in
 * `id` means nothing. */
bool uuid_parse(const char *text, uint8_t id[UUID_BYTES]) __attribute__((warn_unused_result));

#endif
