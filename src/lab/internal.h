/*
 * internal.h - what the files of the rigs share.
 */
#ifndef WEIR_LAB_INTERNAL_H
#define WEIR_LAB_INTERNAL_H

#include "lab/load.h"
#include "lab/rig.h"

enum { LAB_SOCKET = 1024 * 1024 /* bytes that are written and not read yet, per direction */ };

/* rig.c: what the setup's world is with the variation. */
struct lab_world lab_world_varied(const struct lab *lab, const struct lab_setup *setup);
struct sim_options lab_sim_options(const struct lab *lab, const struct lab_world *world);

/* What a run of the setup depends on, and what the result must name; and that one is over. */
void lab_note(struct lab *lab, const struct lab_setup *setup);
void lab_ran(struct lab *lab, uint64_t hash, uint64_t events, uint64_t virtual_ns);

/* From a turn; a failure is told to the lab. */
int lab_open(struct lab *lab, struct reactor *reactor, const struct lab_device *device, struct blk **blk)
    __attribute__((warn_unused_result));

/* Reads the counters of all devices, as they are where phase `phase` begins. */
void lab_read(const struct lab *lab, struct blk *const *volumes, struct lab_outcome *outcome, unsigned phase);

/* Runs all phases, of which the first begins then; look(arg) where each piece of time ends, if there are such. */
void lab_play(struct lab *lab, struct sim *sim, uint64_t begin_ns, struct blk *const *volumes,
    struct lab_outcome *outcome, void (*look)(void *arg, unsigned bin), void *arg);

/* The rigs: false, and lab->why, where it could not be run. */
bool fabric_run(struct lab *lab, const struct lab_setup *setup, struct lab_outcome *outcome);
bool direct_run(struct lab *lab, const struct lab_setup *setup, struct lab_outcome *outcome);

#endif
