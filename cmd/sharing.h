/*
 * sharing.h - from a configuration's `qos:` to what a target is told of it.
 */
#ifndef WEIR_CMD_SHARING_H
#define WEIR_CMD_SHARING_H

#include "blk/fair.h"
#include "conf/conf.h"

/* What hosts may have, in the arena.  0, or -ENOMEM. */
int sharing_terms(const struct conf_qos *qos, struct arena *arena, struct fair_terms *terms)
    __attribute__((warn_unused_result));

/* What the I/O of a namespace may have, in the arena; NULL: all.  0, or -ENOMEM. */
int sharing_volume(const struct conf_qos *qos, const struct conf_ns *ns, struct arena *arena,
    const struct fair_volume **volume) __attribute__((warn_unused_result));

/* Whether a volume that is open can be shared as the namespace says: its I/O waits already.  0, or -EBUSY and why. */
int sharing_fits(const struct conf_subsys *subsys, const struct conf_ns *ns, const struct blk *blk, char why[256])
    __attribute__((warn_unused_result));

/* What that of one may have that a host has made. */
int sharing_usual(const struct conf_qos *qos, struct arena *arena, const struct fair_volume **volume)
    __attribute__((warn_unused_result));

#endif
