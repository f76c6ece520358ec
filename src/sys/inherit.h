/*
 * inherit.h - what a process was handed by whoever started it.
 *
 * Listening sockets that outlive one process, so that a successor takes over
 * without a connection refused in between.  The convention is that of
 * sd_listen_fds(3): descriptors from 3 on, LISTEN_FDS of them, for the process
 * LISTEN_PID.
 */
#ifndef WEIR_SYS_INHERIT_H
#define WEIR_SYS_INHERIT_H

enum { INHERIT_FIRST = 3, INHERIT_MAX = 64 };

/*
 * How many listening sockets are ours from INHERIT_FIRST on, made non-blocking and not passed on
 * any further; 0 where there are none.  -EINVAL: the environment makes no sense; -ENOTSOCK: one of
 * them is no listening TCP socket.
 */
int inherit_listeners(void) __attribute__((warn_unused_result));

#endif
