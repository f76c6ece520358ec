/*
 * line.h - lines to the operator, who is not waited for.
 */
#ifndef WEIR_SYS_LINE_H
#define WEIR_SYS_LINE_H

#include <stddef.h>

/*
 * One line on standard error, which ends with '\n', of PIPE_BUF bytes at most; a longer one is cut.  Whoever reads is
 * not waited for: what cannot be written now is lost, and how many lines were is said before the next one that can be.
 * From any thread; no two mix.
 */
void line_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with as many lines as there are in the text, of `bytes` bytes; others may come between them. */
void line_say_all(const char *text, size_t bytes);

/* One line on standard output, or nothing where it cannot be written now. */
void line_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
