/*
 * unpack.h - bytes that gzip, xz or zstd packed, or nobody: in pieces, and what comes out.
 *
 * Knows what packed them by how they begin.  One packed piece may follow
 * another, as these tools put them together.  It opens no file, and its memory
 * does not grow with what it is given: what needs more than UNPACK_MEMORY is
 * refused.
 */
#ifndef WEIR_CMD_UNPACK_H
#define WEIR_CMD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNPACK_BEGIN = 6 /* bytes that say what packed it */ };
#define UNPACK_MEMORY (UINT64_C(128) << 20)

struct unpack;

/* What begins so will be given to it; `begin` itself too.  NULL: no memory. */
struct unpack *unpack_create(const void *begin, size_t length);
void unpack_destroy(struct unpack *unpack); /* NULL is ignored */

/* What it is packed with, as "xz"; NULL: nothing. */
const char *unpack_packer(const struct unpack *unpack);

/*
 * Takes from `*packed`, which has `*length`, and moves both on; at most `room` bytes go to `text`, and `*made` says how
 * many.  With `end` nothing comes after them: then, where `*made` is 0, all has been made.  Otherwise that is to be
 * called with more bytes as soon as all of them are taken and less than `room` was made.  `*length` and `room` are less
 * than 4 GiB.  NULL, or what is wrong in plain words, which are static: then it is only to be destroyed.
 */
const char *unpack_some(struct unpack *unpack, const uint8_t **packed, size_t *length, bool end, void *text,
    size_t room, size_t *made) __attribute__((warn_unused_result));

#endif
