/*
 * state_file.h - a file of the state folder, as core 0 uses it.
 *
 * The disk of that folder may take any time, or not answer at all, and core 0 has hosts to serve.  So all that asks
 * it for anything but reads and writes is done by errands, in order, with an annex that all these files have
 * together.  Core 0 shares the file that is so held, and gives it back, without asking the disk.  What lies in it is
 * not known here.
 */
#ifndef WEIR_TARGET_STATE_FILE_H
#define WEIR_TARGET_STATE_FILE_H

#include "target/core.h"

struct state_file {
	struct list node;      /* in core 0's target->state_files */
	struct target *target;
	struct errand errand;  /* which closes it */
	struct file *held;     /* an errand's while one is out; NULL: it is not open */
	struct file *file;     /* what core 0 submits to; NULL: nothing yet */
	bool closing;
};

/* One that is not open.  NULL: no memory. */
struct state_file *state_file_make(struct target *target);

/* Called by an errand in order, or before anything is served.  Opens it anew, as world_ops.file_open says.  0, or a
 * negative errno. */
int state_file_open(struct state_file *state_file, const char *path, uint64_t size, uint32_t block)
    __attribute__((warn_unused_result));

/* The same way, of one that is open: its first bytes, `align`ed.  So many were there, and state_file_read_end()
 * follows; or a negative errno. */
int64_t state_file_read(struct state_file *state_file, size_t bytes, size_t align, uint8_t **out)
    __attribute__((warn_unused_result));
void state_file_read_end(struct state_file *state_file, uint8_t *bytes);

/* On core 0, after the errand: it can be submitted to.  0, or -ENOMEM. */
int state_file_use(struct state_file *state_file) __attribute__((warn_unused_result));

/* Nothing is submitted any more: it goes, in its time. */
void state_file_close(struct state_file *state_file);

/* Nothing runs any more, nor will: all that are there go at once. */
void state_files_end(struct target *target);

#endif
