/*
 * line.h - lines to the operator, on standard error.
 */
#ifndef WEIR_SYS_LINE_H
#define WEIR_SYS_LINE_H

/*
 * One line, which ends with '\n', of PIPE_BUF bytes at most; a longer one is cut.  Whoever reads is not waited for: what
 * cannot be written now is lost, and how many lines were is said before the next one that can be.  From any thread; no
 * two mix.
 */
void line_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
