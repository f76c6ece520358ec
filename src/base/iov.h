/*
 * iov.h - places in what several buffers hold together.
 */
#ifndef WEIR_BASE_IOV_H
#define WEIR_BASE_IOV_H

#include <stdint.h>
#include <sys/uio.h>

/* The buffer in which byte `*skip` of all lies, which must be there; `*skip` becomes its place in it. */
static inline const struct iovec *
iov_seek(const struct iovec *iov, uint64_t *skip)
{
	for (; *skip >= iov->iov_len; iov++)
		*skip -= iov->iov_len;
	return iov;
}

#endif
