/*
 * sock.h - TCP sockets as the reactors use them: non-blocking, without delay.
 *
 * Descriptors in, numbers out; who waits for them and why is not known here.
 */
#ifndef WEIR_SYS_SOCK_H
#define WEIR_SYS_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { SOCK_IOV_MAX = 1024 }; /* pieces one system call takes */

struct sock_options {
	const char *congestion;  /* a name for TCP_CONGESTION; NULL: the administrator's default */
	uint32_t sndbuf, rcvbuf; /* bytes; 0: the kernel's, which grow by themselves */
};

/* A listening socket, or negative errno; `host` is a name or an address, port 0 any free one. */
int sock_listen(const char *host, uint16_t port, const struct sock_options *options)
    __attribute__((warn_unused_result));

/* The next connection, or negative errno; -EAGAIN: none. */
/* At a path of the file system, for processes of the same user; one that nobody listens at is replaced. */
int sock_listen_local(const char *path) __attribute__((warn_unused_result));

/* `options` NULL: of a local socket. */
int sock_accept(int listening, const struct sock_options *options) __attribute__((warn_unused_result));

/* A socket that is connecting, or negative errno.  Looking a name up may block. */
int sock_connect(const char *host, uint16_t port, const struct sock_options *options)
    __attribute__((warn_unused_result));

/* Bytes moved or negative errno; `count` is at most SOCK_IOV_MAX.  Never a SIGPIPE. */
ssize_t sock_read(int fd, const struct iovec *iov, int count);
ssize_t sock_write(int fd, const struct iovec *iov, int count);

/* The address and port of one end. */
int sock_address(int fd, bool peer, char *host, size_t bytes, uint16_t *port)
    __attribute__((warn_unused_result));

/*
 * The address that a name stands for, or an address in any form, as sock_address() says it: of a name with both an
 * IPv4 one.  May block.  NULL; or what is wrong, and nothing was changed.
 */
const char *sock_numeric(char *host, size_t bytes) __attribute__((warn_unused_result));

/* Says that we send no more, once all that was written is sent. */
void sock_finish(int fd);

/* Throws away what has come; false: the peer will send no more. */
bool sock_discard(int fd);

/* Resets the connection, whoever else has the socket; a close() follows. */
void sock_abort(int fd);

#endif
