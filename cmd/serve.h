/*
 * serve.h - what `weir serve` finds out before it starts: who it is, where it listens.
 */
#ifndef WEIR_CMD_SERVE_H
#define WEIR_CMD_SERVE_H

#include "rt/rt.h"
#include "target/target.h"

/* identity.c: who a subsystem is, and a volume of it, which is open. */
void identify_subsys(const char *nqn, uint8_t id[16]);
void identify_volume(const char *nqn, const struct blk *blk, uint8_t id[16]);

/*
 * listen.c: adds the sockets that we were handed to the places to listen, TARGET_LISTENERS_MAX of them
 * at most.  0, or a negative errno after having said on stderr what is wrong.
 */
int listen_inherit(struct target_listen *listen, uint32_t *count, struct rt_options *options)
    __attribute__((warn_unused_result));

/* Where nothing else was said. */
void listen_by_default(struct target_listen *listen, uint32_t *count);

#endif
