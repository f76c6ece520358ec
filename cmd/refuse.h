/*
 * refuse.h - why something is not done, in the operator's words.
 */
#ifndef WEIR_CMD_REFUSE_H
#define WEIR_CMD_REFUSE_H

/* Returns rc. */
int refuse(char why[256], int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
