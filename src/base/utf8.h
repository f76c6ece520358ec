/*
 * utf8.h - bytes that are characters, and what of somebody else's text can be shown.
 */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the first character, 1 to 4, or 0: not UTF-8. */
unsigned utf8_next(const uint8_t *text, size_t bytes, uint32_t *code);

/* Letters and signs, and no kind of control, line end or mark. */
bool utf8_printable(uint32_t code);

/*
 * The text as what it is: in one line, and without power over a terminal.  Each byte of what is not UTF-8, or cannot
 * be seen, is \xNN.  Of a text that is too long for `room` bytes as many whole ones as fit.
 */
void utf8_show(const char *text, char *out, size_t room);

#endif
