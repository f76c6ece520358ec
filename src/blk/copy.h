/*
 * copy.h - bytes into the memory of a volume.
 */
#ifndef WEIR_BLK_COPY_H
#define WEIR_BLK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Fills the memory from the buffers. */
void copy_in(void *to, const struct iovec *iov, uint32_t iov_count);

/*
 * The same past the cache: for a destination that nobody touched of late the
 * stores need not fetch the lines they overwrite.  `shared`: all of it is
 * visible to every processor when this returns; otherwise to this thread.
 */
void copy_in_cold(void *to, const struct iovec *iov, uint32_t iov_count, bool shared);

/* Fills the buffers from memory. */
void copy_out(const struct iovec *iov, uint32_t iov_count, const void *from);

/* Whether the memory holds the same bytes as the buffers. */
bool copy_equals(const struct iovec *iov, uint32_t iov_count, const void *from);

/* Zeros in the buffers. */
void copy_zeros(const struct iovec *iov, uint32_t iov_count);

#endif
