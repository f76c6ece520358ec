/*
 * look.h - what goes on at a volume, and what is known there of a tenant?
 *
 * Its home knows, and is asked by mail: each core asks one question at a time for its hosts (sight.c), and reactor 0
 * beside that TARGET_LOOKS_MAX for who runs the target.
 */
#ifndef WEIR_TARGET_LOOK_H
#define WEIR_TARGET_LOOK_H

#include "target/core.h"

/* On that core, which is told: done() comes later, also where the volume is gone by then. */
void look_begin(struct core *core, struct target_look *look);

void look_mail(struct core *core, const struct target_mail *mail);

#endif
