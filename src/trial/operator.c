/*
 * operator.c - who changes what a target of a trial serves, while it serves.
 *
 * He looks now and then whether it is what is wanted, and else applies that; what cannot be applied yet can be the next
 * time.  Volumes in files are closed when nobody uses them, and opened when they come back; those in RAM stay open to
 * the end, since nothing else has what is in them.
 */
#include <string.h>

#include "trial/internal.h"

static const uint64_t LOOK_NS = 1000 * 1000;

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct served *served = container_of(told, struct served, applied);

	served->applying = false;
	if (rc != 0) {
		trial_note(served->trial, served->name, "is not told anew: %s", why);
		return;
	}
	served->now = served->next;
	served->now_since_ns = sim_now(served->trial->sim);
	ills_look(served->trial);
}

static void
unused(struct target_applied *told, struct blk *blk)
{
	struct served *served = container_of(told, struct served, applied);

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];

		if (volume->blk != blk)
			continue;
		served_retire(volume);
		if (volume->in_ram && !served->trial->reading_back)
			continue;
		blk->ops->destroy(blk);
		volume->blk = NULL;
	}
}

static void
operate(struct timer *timer)
{
	struct served *served = container_of(timer, struct served, operator);
	struct reactor *reactor = served->reactor;
	struct whole whole;
	char why[256];

	timer_set(&reactor->timers, timer, reactor->now_ns + LOOK_NS);
	if (served->applying || memcmp(&served->now, &served->wanted, sizeof(served->now)) == 0)
		return;
	served->next = served->wanted;
	if (served_open_volumes(served, &served->next, reactor, why) != 0)
		return;
	served_config(served, &served->next, &whole);
	terms_draw(served, &whole);
	served->applied = (struct target_applied){ .applied = applied, .unused = unused };
	served->applying = target_apply(served->target, &whole.config, &served->applied, why) == 0;
	ills_look(served->trial);
}

void
operator_begin(struct served *served, struct reactor *reactor)
{
	served->reactor = reactor;
	served->operator = (struct timer){ .fire = operate };
	timer_set(&reactor->timers, &served->operator, reactor->now_ns + LOOK_NS);
}
