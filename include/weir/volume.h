/*
 * weir/volume.h - a namespace as a file that is read and written: for people who want no more.
 *
 *     struct weir_volume *volume;
 *     if (weir_volume_open("nvme+tcp://10.0.0.7/nqn.2026-11.local.weir:default?ns=1", NULL, &volume) < 0)
 *             errx(1, "%s", weir_error());
 *     weir_volume_read(volume, buffer, 4096, 0);
 *
 * Offsets and lengths are bytes, multiples of the block size; any length is
 * taken.  All functions block, and may be called by any number of threads at a
 * time: each has a queue of its own meanwhile, of at most `queues`.  A thread of
 * the volume looks after those that nobody uses.
 */
#ifndef WEIR_VOLUME_H
#define WEIR_VOLUME_H

#include <weir/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_volume;

struct weir_volume_options {
	uint32_t size;
	uint32_t queues;                          /* threads with I/O at the same time, 1 to 127; 0: 8; others wait */
	struct weir_host *host;                   /* NULL: one of its own */
	const struct weir_subsys_options *subsys; /* NULL: defaults */
};

/* A URI that names no namespace means the first there is.  Errors as of weir_subsys_connect(). */
int weir_volume_open(const char *uri, const struct weir_volume_options *options, struct weir_volume **volume);

/* Nobody uses it any more.  What was not flushed may be in the target's cache.  NULL is ignored. */
void weir_volume_close(struct weir_volume *volume);

uint64_t weir_volume_size(const struct weir_volume *volume);       /* bytes, as they are now */
uint32_t weir_volume_block_size(const struct weir_volume *volume); /* bytes */
uint32_t weir_volume_nsid(const struct weir_volume *volume);
struct weir_subsys *weir_volume_subsys(struct weir_volume *volume); /* the volume's: not to be disconnected */

/* 0, or a negative errno (-EINVAL: not whole blocks; -ERANGE: beyond the end; those of weir/status.h); of what failed
 * any part may have been done.  The buffer is the library's until it returns. */
int weir_volume_read(struct weir_volume *volume, void *data, size_t bytes, uint64_t offset);
int weir_volume_write(struct weir_volume *volume, const void *data, size_t bytes, uint64_t offset);
int weir_volume_write_fua(struct weir_volume *volume, const void *data, size_t bytes, uint64_t offset);
int weir_volume_flush(struct weir_volume *volume);

/* Reads as zeros afterwards; `unmap`: the target may give the space back. */
int weir_volume_zero(struct weir_volume *volume, uint64_t bytes, uint64_t offset, bool unmap);

/* What is there is not needed any more: a hint. */
int weir_volume_trim(struct weir_volume *volume, uint64_t bytes, uint64_t offset);

/* Within the volume, without the data coming here where the target can copy.  -EINVAL: the ranges overlap. */
int weir_volume_copy(struct weir_volume *volume, uint64_t from, uint64_t bytes, uint64_t to);

#ifdef __cplusplus
}
#endif

#endif
