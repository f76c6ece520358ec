/*
 * stop.h - signals that ask a command to end in order.
 *
 * They are taken where the command looks for them, and nowhere else; the second one ends the program as it would have
 * without us.
 */
#ifndef WEIR_CMD_STOP_H
#define WEIR_CMD_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* From here on.  Threads that are made later have them blocked. */
void stop_catch_signals(void);

/* Whether it has been asked, once and for all. */
bool stop_asked(void);

/* Can be read when it has been asked and nobody knows; -1: signals are not caught. */
int stop_fd(void);

/* Waits until `fd` can be read (-1: there is none) for `ms` at most (-1: for ever), or until it has been asked;
 * whether it can be read. */
bool stop_wait(int fd, int ms);

#endif
