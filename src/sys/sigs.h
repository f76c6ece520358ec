/*
 * sigs.h - signals as something to be read, not something that interrupts.
 */
#ifndef WEIR_SYS_SIGS_H
#define WEIR_SYS_SIGS_H

/*
 * Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 in this thread and those it makes
 * from now on, and answers a descriptor they are read from, which is the
 * caller's; or negative errno, and nothing is changed.  They stay blocked when
 * that is closed: one that comes while the process ends must not kill it.
 */
int sigs_open(void) __attribute__((warn_unused_result));

/* The next signal; 0: none. */
int sigs_take(int fd);
#endif
