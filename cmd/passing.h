/*
 * passing.h - a line on a terminal that is written over, for what takes long.
 */
#ifndef WEIR_CMD_PASSING_H
#define WEIR_CMD_PASSING_H

/* In place of what it said before; NULL: away with that.  Nothing where standard error is no terminal. */
void passing(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
