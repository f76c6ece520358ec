/*
 * apply_files.h - the files that a change needs: volumes that it opens, what it makes longer, and the events of new
 * subsystems: beside the reactor, before the rest of it is done.
 *
 * That takes a disk's time for each of them, or what a modelled drive takes to become as it is to be, and may be in
 * vain: then it is taken back, there too.  What cannot be opened, and why, is told who asks for the volume.
 */
#ifndef WEIR_CMD_APPLY_FILES_H
#define WEIR_CMD_APPLY_FILES_H

#include "serving.h"

/* Those that a configuration needs and that are not open, or not so long, as far as the target knows; with memory of
 * their own.  0, or -ENOMEM. */
int apply_files_plan(struct apply_files *files, const struct serving *serving, const struct conf *next)
    __attribute__((warn_unused_result));

/* Makes them, or takes back what that did; `then` is called on the reactor, maybe from inside. */
void apply_files_make(struct apply_files *files, struct reactor *reactor, void (*then)(struct apply_files *files));
void apply_files_undo(struct apply_files *files, struct reactor *reactor, void (*then)(struct apply_files *files));

/* The volume of a namespace that was opened, or cannot be; NULL: it has none here. */
struct opening *apply_files_opening(struct apply_files *files, const char *nqn, uint32_t nsid);

/* Takes back at once: no errand runs any more. */
void apply_files_undo_now(struct apply_files *files, struct reactor *reactor);

/* What was made stays, or there is nothing left of it. */
void apply_files_end(struct apply_files *files);

#endif
