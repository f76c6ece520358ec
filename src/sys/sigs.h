/*
 * sigs.h - signals as something to be read, not something that interrupts.
 */
#ifndef WEIR_SYS_SIGS_H
#define WEIR_SYS_SIGS_H

#include <signal.h>

/*
 * Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 in this thread and those it makes
 * from now on, keeps in `before` what was blocked, and answers a descriptor
 * they are read from; or negative errno, and nothing is changed.
 */
int sigs_open(sigset_t *before) __attribute__((warn_unused_result));

/* The next signal; 0: none. */
int sigs_take(int fd);

/* Restores what was blocked before. */
void sigs_close(int fd, const sigset_t *before);

#endif
