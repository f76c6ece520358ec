/*
 * look.h - what goes on at a volume, and what is known there of a tenant?
 *
 * Its home knows, and is asked by mail.  Who asks keeps a `struct look` until it is told.
 */
#ifndef WEIR_TARGET_LOOK_H
#define WEIR_TARGET_LOOK_H

#include "target/core.h"

#define LOOK_NOWHERE UINT64_MAX /* a volume that there is not: nothing is known of it */

struct look {
	uint64_t volume;                 /* its number */
	const struct blk_tenant *of;     /* the tenant that is looked at; NULL: none */
	void (*done)(struct core *core, struct look *look); /* on the asker's core, which has it again */

	/* The home's, meanwhile. */
	bool shared;                     /* it has a switch: `device` is known; */
	bool known;                      /* and it knows the tenant: `tenant`; */
	bool worn;                       /* it wears: `health` */
	struct fair_view device;
	struct fair_tenant_view tenant;
	struct blk_health health;
};

/* done() comes later, also where the volume is gone by then: nothing is known of it. */
void look_begin(struct core *core, struct look *look);

void look_mail(struct core *core, const struct target_mail *mail);

#endif
