/*
 * apply.h - what the files of a change of the view share; see apply.c.
 */
#ifndef WEIR_TARGET_APPLY_H
#define WEIR_TARGET_APPLY_H

#include "target/core.h"

/* A config that is being applied; core 0's. */
struct change {
	struct view *view;           /* that it leads to */
	uint32_t left;               /* cores that have not answered */
	int error;                   /* of the first that failed, */
	char why[256];               /* in words */
	struct errand errand;        /* which reads what was kept of what is new */
	struct view_numbers numbers;
	uint16_t asker;              /* the controller whose host wished it; 0: the operator */
	uint32_t portals_new;        /* bit n: portal n is of the new view alone */
	uint64_t volumes[TARGET_VOLUMES_MAX]; /* of the new view's namespaces */
	uint16_t opened[TARGET_VOLUMES_MAX]; /* the slots of those that are of no view yet */
	uint32_t opened_count;
};

/* apply_make.c: makes target->change: numbers, and a view; on failure nothing is left of it. */
int change_make(struct target *target, const struct target_config *config, char why[256]);
/* The volumes that it opened are the caller's again. */
void change_forget(struct target *target, struct change *change);
void change_free(struct target *target);

/* apply_core.c: the channel of a volume; those to all new volumes, or none; the view, and what follows. */
int apply_open_chan(struct core *core, uint16_t slot);
void apply_close_chan(struct core *core, uint32_t slot);
void apply_prepare(struct core *core);
void apply_discard(struct core *core);
void apply_take(struct core *core, const struct view *view);
void apply_retire(struct timer *timer);

#endif
