/*
 * ghost.c - when is a lost association over?
 *
 * The one question that a write's being sent again hangs on, and its two
 * answers: FENCE, and time (doc/failover.md).  It knows associations; how lanes
 * park what is theirs it does not.
 */
#include <errno.h>

#include "host/internal.h"

static const uint64_t AGAIN_NS = 10 * NS_PER_MS, LOOK_NS = 100 * NS_PER_MS;

static void
over(struct assoc *ghost)
{
	struct subsys *subsys = ghost->subsys;

	ghost_end(ghost);
	lanes_over(ghost);
	if (subsys->view->held)
		lanes_publish(subsys);
	assoc_free(ghost);
}

void
ghost_end(struct assoc *ghost)
{
	ghost->state = ASSOC_GONE;
	timer_clear(&ghost->subsys->reactor->timers, &ghost->quiet);
	timer_clear(&ghost->subsys->reactor->timers, &ghost->fence_again);
	timer_clear(&ghost->subsys->reactor->timers, &ghost->loss);
}

bool
ghosts_hold(const struct subsys *subsys)
{
	list_for_each(&subsys->assocs, node) {
		const struct assoc *assoc = container_of(node, struct assoc, node);

		if (assoc->state == ASSOC_GHOST && assoc->given_up)
			return true;
	}
	return false;
}

/* ---- by FENCE ---- */

static void
look_again(struct timer *timer)
{
	ghosts_look(container_of(timer, struct assoc, fence_again)->subsys);
}

static void
fenced(struct ctrlr_cmd *cmd)
{
	struct assoc *ghost = cmd->owner, *carrier = ghost->carrier;

	ghost->carrier = NULL;
	carrier->carrying--;
	if (ghost->state != ASSOC_GHOST) {
		assoc_free(ghost);
	} else if (!cmd->io.lost && nvme_ok(cmd->io.req.status)) {
		over(ghost);
	} else {
		/* One that refuses it for good does not know it, whatever it said before. */
		if (!cmd->io.lost && cmd->io.req.status.dnr)
			carrier->fences = false;
		timer_set(&ghost->subsys->reactor->timers, &ghost->fence_again,
		    ghost->subsys->reactor->now_ns + AGAIN_NS);
	}
	assoc_free(carrier);
}

static void
send_fence(struct assoc *ghost, struct assoc *carrier)
{
	ghost->carrier = carrier;
	carrier->carrying++;
	ghost->fence.owner = ghost;
	ghost->fence.done = fenced;
	ghost->fence.io.req.sqe = (struct nvme_sqe){
		.opcode = WEIR_ADMIN_FENCE, .cdw10 = le32_of(ghost->terms.cntlid),
	};
	ghost->fence.io.req.data = HREQ_NONE;
	ctrlr_submit(carrier->ctrlr, &ghost->fence);
}

/* An association that can carry it. */
static struct assoc *
find_carrier(const struct subsys *subsys)
{
	for (unsigned i = 0; i < subsys->path_count; i++) {
		struct assoc *assoc = subsys->paths[i].assoc;

		if (assoc != NULL && assoc_is_up(assoc) && assoc->fences)
			return assoc;
	}
	return NULL;
}

/* One that was begun when the ghost had it already has got it since; what an older one has was given by a target that
 * has ended. */
static bool
id_came_again(const struct subsys *subsys, const struct assoc *ghost)
{
	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;

		if (assoc != NULL && assoc_is_up(assoc) && assoc->fences &&
		    assoc->terms.serial > ghost->newest && assoc->terms.cntlid == ghost->terms.cntlid)
			return true;
	}
	return false;
}

/* ---- by time ---- */

static void
quiet_is_over(struct timer *timer)
{
	over(container_of(timer, struct assoc, quiet));
}

/* A path is up, and not one of those that are knows FENCE. */
static bool
nobody_fences(const struct subsys *subsys)
{
	bool up = false;

	for (unsigned i = 0; i < subsys->path_count; i++) {
		const struct assoc *assoc = subsys->paths[i].assoc;

		up |= assoc != NULL && assoc_is_up(assoc);
	}
	return up && find_carrier(subsys) == NULL;
}

static void
wait_quietly(struct assoc *ghost)
{
	const struct subsys *subsys = ghost->subsys;
	uint64_t wait_ms = (uint64_t)ghost->quiet_ms + subsys->options.fence_margin_ms;

	if (ghost->strands > 0 || ghost->quiet.armed || ghost->quiet_ms == 0)
		return;
	if (ghost->fences && !nobody_fences(subsys))
		return;
	timer_set(&subsys->reactor->timers, &ghost->quiet, subsys->reactor->now_ns + wait_ms * NS_PER_MS);
}

/* ---- giving up ---- */

static uint64_t
loss_ns(const struct subsys *subsys)
{
	return subsys->options.loss_ms * NS_PER_MS;
}

static void
loss_after(struct assoc *ghost, uint64_t wait_ns)
{
	timer_set(&ghost->subsys->reactor->timers, &ghost->loss, ghost->subsys->reactor->now_ns + wait_ns);
}

/* They have given back what they went by before.  One whose thread does not poll is waited for for as long again as all
 * this has taken; it hears of it before it sends (qpair_hold()). */
static bool
all_have_heard(struct assoc *ghost)
{
	const struct subsys *subsys = ghost->subsys;

	if (ghost->heard_ns == 0)
		ghost->heard_ns = subsys->reactor->now_ns + loss_ns(subsys);
	return subsys->sending == 0 || subsys->reactor->now_ns >= ghost->heard_ns;
}

/* First all lanes hear that nothing is to be sent, and only then a user that a write of his is given up: else he could
 * write the same blocks again, and the older write overtake that. */
static void
waited_enough(struct timer *timer)
{
	struct assoc *ghost = container_of(timer, struct assoc, loss);
	struct subsys *subsys = ghost->subsys;

	if (!ghost->given_up && ghost->parked > 0) {
		ghost->given_up = true;
		lanes_publish(subsys);
	}
	if (ghost->given_up && subsys->view->held && all_have_heard(ghost))
		lanes_give_up(ghost);
	loss_after(ghost, LOOK_NS);
}

/* ---- which ---- */

static void
look(struct assoc *ghost)
{
	struct assoc *carrier;

	if (ghost->strands == 0 && ghost->parked == 0 && !ghost->given_up) {
		over(ghost);
		return;
	}
	if (ghost->carrier != NULL || ghost->fence_again.armed)
		return;
	if (ghost->fences && id_came_again(ghost->subsys, ghost)) {
		over(ghost);
		return;
	}
	carrier = find_carrier(ghost->subsys);
	if (carrier != NULL)
		send_fence(ghost, carrier);
	else
		wait_quietly(ghost);
}

void
ghost_begin(struct assoc *ghost)
{
	ghost->quiet.fire = quiet_is_over;
	ghost->fence_again.fire = look_again;
	ghost->loss.fire = waited_enough;
	if (ghost->subsys->options.loss_ms != UINT32_MAX)
		loss_after(ghost, loss_ns(ghost->subsys));
	ghosts_look(ghost->subsys);
}

void
ghosts_look_now(struct task *task)
{
	struct subsys *subsys = container_of(task, struct subsys, look);

	list_for_each(&subsys->assocs, node) {
		struct assoc *assoc = container_of(node, struct assoc, node);

		if (assoc->state == ASSOC_GHOST)
			look(assoc);
	}
}

/* Later in this turn: who calls may be at work on any of them. */
void
ghosts_look(struct subsys *subsys)
{
	reactor_run_in(subsys->reactor, PHASE_SUBMIT, &subsys->look);
}
