/* What goes by one association or not at all (bound.h). */
#include <errno.h>

#include "host/internal.h"

/* ---- which one ---- */

static struct strand *
strand_of(struct lane *lane, uint32_t serial)
{
	for (unsigned i = 0; i < lane->paths; i++)
		if (lane->strands[i].state == STRAND_USABLE && lane->strands[i].serial == serial)
			return &lane->strands[i];
	return NULL;
}

/* The worst of the states in which that path has them; 0: it does not reach all of them. */
static uint8_t
reaches(struct lane *lane, const struct strand *strand, const struct bound_terms *terms)
{
	uint8_t worst = NVME_ANA_OPTIMIZED;

	if (strand->state != STRAND_USABLE || strand->stale || !strand->terms->orders || lane->view->held ||
	    terms->bytes > strand->transfer_max)
		return 0;
	for (unsigned i = 0; i < terms->count; i++) {
		const struct view_ns *ns = lane_ns(lane, terms->nsids[i]);
		uint8_t state = ns != NULL ? ns->state[strand - lane->strands] : 0;

		if (state == 0)
			return 0;
		worst = state > worst ? state : worst;
	}
	return worst;
}

uint32_t
bound_choose(struct lane *lane, const struct bound_terms *terms)
{
	const struct strand *best = NULL;
	uint8_t best_state = 0;

	for (unsigned i = 0; i < lane->paths; i++) {
		uint8_t state = reaches(lane, &lane->strands[i], terms);

		if (state == 0 || (best != NULL && state >= best_state))
			continue;
		best = &lane->strands[i];
		best_state = state;
	}
	return best != NULL ? best->serial : 0;
}

bool
bound_holds(struct lane *lane, uint32_t serial, const struct bound_terms *terms)
{
	const struct strand *strand = strand_of(lane, serial);

	return strand != NULL && reaches(lane, strand, terms) != 0;
}

bool
bound_is_in_vain(const struct lane *lane)
{
	unsigned usable = 0;

	for (unsigned i = 0; i < lane->paths; i++) {
		const struct strand *strand = &lane->strands[i];

		if (strand->state == STRAND_USABLE && strand->terms->orders)
			return false;
		usable += strand->state == STRAND_USABLE;
	}
	return usable > 0;
}

uint16_t bound_qid(const struct lane *lane) { return lane->qid; }

void
bound_watch(struct lane *lane, struct task *task)
{
	lane->watch = task;
}

/* ---- I/O ---- */

bool
bound_room(struct lane *lane, uint32_t serial, uint32_t nsid)
{
	const struct strand *strand = strand_of(lane, serial);
	const struct view_ns *ns = lane_ns(lane, nsid);

	return strand != NULL && ns != NULL && lane->free != NULL && strand_has_room(strand, ns, 1);
}

void
bound_submit(struct lane *lane, uint32_t serial, const struct bound_io *io)
{
	struct strand *strand = strand_of(lane, serial);
	struct flight *flight = flight_take(lane);
	struct hreq *req = &flight->hio.req;

	req->sqe = io->sqe;
	req->data = io->bytes > 0 ? HREQ_WRITE : HREQ_NONE;
	req->length = io->bytes;
	req->iov = io->iov;
	req->iov_count = io->iov_count;
	flight->hio.done = flight_answered;
	flight->op = LANE_WRITE;
	flight->nsid = le32_get(io->sqe.nsid);
	flight->priority = io->priority;
	flight->serial = 0;
	flight->tries = 0;
	flight->refused = flight->lost = 0;
	flight->bound = true;
	flight->done = io->done;
	flight->arg = io->arg;
	lane->in_flight++;
	lane_tick_start(lane);
	flight_send(flight, strand);
}

/* ---- admin commands ---- */

void
bound_ask(struct lane *lane, uint32_t serial, struct bound_ask *ask)
{
	ask->lane = lane;
	ask->subsys = lane->subsys;
	ask->reactor = lane->reactor->index;
	host_post(lane->reactor, 0, (struct mail){
		.kind = HOST_LANE_ASKS, .arg = serial,
		.words = { (uintptr_t)lane->subsys, (uintptr_t)lane, (uintptr_t)ask },
	});
}

static void
answered(struct bound_ask *ask)
{
	host_post(ask->subsys->reactor, ask->reactor, (struct mail){
		.kind = HOST_LANE_ANSWERED, .words = { (uintptr_t)ask->lane, (uintptr_t)ask },
	});
}

/* One that was never sent is lost, too: its association is. */
static void
heard(struct ctrlr_cmd *cmd)
{
	struct bound_ask *ask = container_of(cmd, struct bound_ask, cmd);

	ask->lost = cmd->io.lost || nvme_sc(cmd->io.req.status) == NVME_SC_HOST_ABORTED;
	answered(ask);
}

void
assoc_asked_by_lane(struct subsys *subsys, struct assoc *assoc, struct bound_ask *ask)
{
	ask->lost = true;
	if (assoc == NULL) {
		answered(ask);
		return;
	}
	ask->cmd.done = heard;
	ask->cmd.owner = ask;
	ask->cmd.timeout_ms = subsys->options.io_timeout_ms;
	ask->cmd.name = "an admin command for a stream of ordered writes";
	ctrlr_submit(assoc->ctrlr, &ask->cmd);
}
