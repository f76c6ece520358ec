/*
 * text.h - text that is printed into memory: open_memstream(), and what may be wrong with it at the end.
 */
#ifndef WEIR_CMD_TEXT_H
#define WEIR_CMD_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* For printers that hand out pieces: into the FILE. */
void text_put(void *file, const char *text, size_t bytes);

/* Closes it; NULL: it was not opened.  0, and `*text` is the caller's to free(); or -ENOMEM, and it is NULL. */
int text_end(FILE *memory, char **text) __attribute__((warn_unused_result));

#endif
