/*
 * serve.h - what `weir serve` finds out before it starts: who it is, where it listens.
 */
#ifndef WEIR_CMD_SERVE_H
#define WEIR_CMD_SERVE_H

#include "rt/rt.h"
#include "target/target.h"

/*
 * identity.c: fills the identities of the subsystem and of its volumes, which are open; those of the
 * volumes lie in `ids`, one for each.
 */
void identify(struct target_options *options, uint8_t (*ids)[16]);

/*
 * listen.c: adds the sockets that we were handed to the places to listen, TARGET_LISTENERS_MAX of them
 * at most.  0, or a negative errno after having said on stderr what is wrong.
 */
int listen_inherit(struct target_listen *listen, uint32_t *count, struct rt_options *options)
    __attribute__((warn_unused_result));

/* Where nothing else was said. */
void listen_by_default(struct target_listen *listen, uint32_t *count);

#endif
