/*
 * load_ends.c - what is known of an I/O of the load when it has ended, or never will.
 *
 * Its end is one of few things for the blocks it was about, whatever the error
 * (weir/status.h, doc/failover.md); the table of them is enum fate.  What was
 * answered by the target, and what ended when its association was over, does not
 * happen later; what was given up may, until something that was sent after that is
 * answered, for the host sends nothing before it is over.
 */
#include <errno.h>
#include <inttypes.h>

#include "trial/internal.h"

enum fate {
	FATE_DONE,
	FATE_DIFFERS,    /* a comparison: the block was something else */
	FATE_UNREADABLE, /* and that is what it was */
	FATE_NOTHING,    /* it had no effect, and found nothing */
	FATE_PERHAPS,    /* it had its effect, or never will */
	FATE_ADRIFT,     /* or it may still have it */
};

bool
load_changes(const struct work *work)
{
	switch ((enum lane_op)work->op) {
	case LANE_WRITE: case LANE_WRITE_ZEROES: case LANE_DEALLOCATE: case LANE_COPY:
	case LANE_COMPARE_AND_WRITE: case LANE_WRITE_UNCORRECTABLE:
		return true;
	case LANE_READ: case LANE_FLUSH: case LANE_COMPARE: case LANE_VERIFY: case LANE_OPS:
		break;
	}
	return false;
}

/* ---- which fate ---- */

/* A block that was made unreadable; a disk that fails says it without DNR. */
static bool
is_unreadable(struct nvme_status status)
{
	return nvme_sc(status) == NVME_SC_READ_ERROR && status.dnr;
}

/* Was refused before it began; of a Copy only a reservation is not asked about again on the way. */
static bool
is_refusal(const struct work *work, struct nvme_status status)
{
	if (work->op == LANE_COPY)
		return nvme_sc(status) == NVME_SC_RESV_CONFLICT;
	switch (nvme_sc(status)) {
	case NVME_SC_INVALID_NS: case NVME_SC_LBA_RANGE: case NVME_SC_RESV_CONFLICT:
	case NVME_SC_ANA_INACCESSIBLE: case NVME_SC_ANA_TRANSITION: case NVME_SC_ANA_PERSISTENT_LOSS:
		return true;
	default:
		return false;
	}
}

/* What compares or reads has failed. */
static enum fate
fate_of_look(const struct work *work, const struct lane_result *result)
{
	if (is_unreadable(result->status))
		return FATE_UNREADABLE;
	return result->error == -EILSEQ ? FATE_DIFFERS : FATE_NOTHING;
}

static enum fate
fate_of_change(const struct work *work, const struct lane_result *result)
{
	if (!nvme_ok(result->status))
		return is_refusal(work, result->status) && !work->shaken ? FATE_NOTHING : FATE_PERHAPS;
	switch (result->error) {
	case -ESTALE:
		return FATE_PERHAPS;
	case -ENODEV: /* no path knows the namespace any more: it was about to be sent, or sent again */
		return work->shaken ? FATE_PERHAPS : FATE_NOTHING;
	case -ETIMEDOUT: /* what was lost with no path was given up; what was not had not been sent */
		return work->shaken ? FATE_ADRIFT : FATE_NOTHING;
	default:
		return FATE_ADRIFT;
	}
}

static enum fate
fate_of(const struct work *work, const struct lane_result *result)
{
	if (result->error == 0)
		return FATE_DONE;
	if (!load_changes(work))
		return fate_of_look(work, result);
	if (work->op == LANE_COMPARE_AND_WRITE && (result->error == -EILSEQ || is_unreadable(result->status)))
		return fate_of_look(work, result);
	return fate_of_change(work, result);
}

/* ---- what may still happen ---- */

/* Of an earlier life of the host, or of lanes that were closed: its target is waited for. */
static bool
is_unsettled(const struct seat *seat)
{
	return seat->served->unsettled[seat->user->index].waits;
}

static void
settle(struct seat *seat)
{
	struct trial *trial = seat->user->trial;

	seat->adrift = false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++)
		history_settled(seat->served->volumes[i].history, seat->user->index);
}

/* Who leaves, sends nothing more that would tell. */
static void
go_adrift(struct seat *seat)
{
	const struct user *user = seat->user;

	user->trial->result->counts.unknown++;
	if (user->state == USER_LEAVING || is_unsettled(seat)) {
		seat->adrift = false;
		settle_wait(seat->served, user);
	} else {
		seat->adrift = true;
		seat->adrift_serial = user->serial;
	}
}

/* Where nothing is adrift, there is nothing that may still happen. */
static void
note_fate(struct work *work, enum fate fate)
{
	struct seat *seat = work->seat;

	if (fate == FATE_ADRIFT)
		go_adrift(seat);
	else if (fate == FATE_PERHAPS && !seat->adrift && !is_unsettled(seat))
		history_settled(work->volume->history, work->user->index);
	else if (fate == FATE_DONE && seat->adrift && !is_unsettled(seat) && work->serial > seat->adrift_serial)
		settle(seat);
}

/* ---- what the history is told ---- */

static bool
is_durable(const struct work *work)
{
	return work->fua || work->op == LANE_WRITE_UNCORRECTABLE;
}

static bool
succeeded(struct work *work, uint32_t i, uint64_t now_ns)
{
	struct history *history = work->volume->history;
	struct history_op *op = &work->ops[i];
	uint64_t value = op->value;
	bool fine;

	if (work->op == LANE_READ) {
		value = content_value(work->data + (size_t)i * TRIAL_BLOCK);
		fine = history_found(history, op, value, now_ns);
		work->user->trial->result->counts.checked++;
	} else if (work->op == LANE_VERIFY) {
		return history_differs(history, op, now_ns);
	} else {
		value = work->op == LANE_COMPARE ? op->expected : value;
		fine = history_done(history, op, is_durable(work), now_ns);
	}
	work->volume->seen[op->block] = value;
	return fine;
}

static bool
was_unreadable(struct work *work, struct history_op *op, uint64_t now_ns)
{
	work->volume->seen[op->block] = HISTORY_UNREADABLE;
	work->user->trial->result->counts.checked += work->op == LANE_READ;
	return history_found(work->volume->history, op, HISTORY_UNREADABLE, now_ns);
}

static bool
tell_block(struct work *work, enum fate fate, uint32_t i, uint64_t now_ns)
{
	struct history *history = work->volume->history;
	struct history_op *op = &work->ops[i];

	switch (fate) {
	case FATE_DONE:
		return succeeded(work, i, now_ns);
	case FATE_DIFFERS:
		return history_differs(history, op, now_ns);
	case FATE_UNREADABLE:
		return was_unreadable(work, op, now_ns);
	case FATE_NOTHING:
		return history_had_no_effect(history, op, now_ns);
	case FATE_PERHAPS:
	case FATE_ADRIFT:
		history_unknown(history, op, now_ns);
		return true;
	}
	return true;
}

/* Whether that can be said of the block. */
static bool
may_be(const struct work *work, enum fate fate, uint32_t i)
{
	struct history *history = work->volume->history;

	return fate == FATE_DIFFERS ? history_may_differ(history, &work->ops[i]) :
	    history_may_find(history, &work->ops[i], HISTORY_UNREADABLE);
}

/* Something is said of one of the blocks, and not of which.  Where it can be one alone, that is it; else nothing is
 * known of any; and where it can be none, the first complains. */
static bool
tell_one(struct work *work, enum fate fate, uint64_t now_ns)
{
	uint32_t one = 0, count = 0;
	bool fine = true;

	for (uint32_t i = work->count; i-- > 0;)
		if (may_be(work, fate, i)) {
			one = i;
			count++;
		}
	for (uint32_t i = 0; i < work->count; i++)
		fine = tell_block(work, count <= 1 && i == one ? fate : FATE_NOTHING, i, now_ns) && fine;
	return fine;
}

static bool
tell_blocks(struct work *work, enum fate fate, uint64_t now_ns)
{
	bool fine = true;

	if (fate == FATE_DIFFERS || fate == FATE_UNREADABLE)
		return tell_one(work, fate, now_ns);
	for (uint32_t i = 0; i < work->count; i++)
		fine = tell_block(work, fate, i, now_ns) && fine;
	return fine;
}

/* One that failed covers nothing.  One that was sent again, or waited until the target was back, may have gone to one
 * that has forgotten what others wrote; and what this host did, where it has not the extension. */
static bool
flush_ended(struct work *work, const struct lane_result *result, uint64_t now_ns)
{
	bool again = work->shaken || work->begun_ns <= work->seat->served->died_ns;

	if (result->error != 0 || (again && work->user->plain))
		return true;
	return history_flush_done(work->volume->history, &work->flush, again, now_ns);
}

static void
tell_history(struct work *work, const struct lane_result *result)
{
	uint64_t now_ns = sim_now(work->user->trial->sim);
	enum fate fate = fate_of(work, result);
	bool fine = true;

	if (work->op == LANE_FLUSH)
		fine = flush_ended(work, result, now_ns);
	else if (work->copy != COPY_SOURCE)
		fine = tell_blocks(work, fate, now_ns);
	if (!fine)
		trial_wrong(work->user->trial, "history", "volume %u of target %u: %s", work->volume->index,
		    work->seat->served->index, history_wrong(work->volume->history));
	note_fate(work, fate);
	if (work->unread && (fate == FATE_DONE || fate == FATE_UNREADABLE)) {
		work->unread = false;
		load_has_read_back(work->volume);
	}
}

static void
count_place(const struct work *work, const struct lane_result *result)
{
	struct trial_counts *counts = &work->user->trial->result->counts;

	counts->over_end += nvme_sc(result->status) == NVME_SC_LBA_RANGE;
	counts->grown += result->error == 0 && work->first + work->count > work->volume->blocks;
}

/* By what the operator has said.  What ended without a word of the target's tells nothing of it. */
static void
check_access(const struct work *work, const struct lane_result *result)
{
	bool placed = work->op != LANE_FLUSH && work->copy != COPY_SOURCE;
	struct access access = {
		"an I/O", work->user, work->volume, result->path,
		placed ? volume_base(work->volume) + work->first + work->count : 0, work->begun_ns, result->status,
	};

	if (placed)
		count_place(work, result);
	if (result->error == 0 || !nvme_ok(result->status))
		access_check(work->seat->served, &access);
}

/* Of one that ended like this: what somebody must have been allowed, or not, meanwhile.  0: nothing is known. */
static unsigned
needed(const struct work *work, const struct lane_result *result)
{
	bool writes = load_changes(work) || work->op == LANE_FLUSH;

	if (result->error == 0)
		return writes ? MODEL_WRITES : MODEL_READS;
	if (nvme_sc(result->status) == NVME_SC_RESV_CONFLICT)
		return writes ? MODEL_WRITES_NOT : MODEL_READS_NOT;
	if (nvme_sc(result->status) == NVME_SC_PREEMPT_ABORTED)
		return MODEL_ENDS;
	return result->error == -EILSEQ ? MODEL_READS : 0;
}

static void
check_claims(const struct work *work, const struct lane_result *result)
{
	struct user *user = work->user;
	struct claims *claims = work->volume->claims;
	unsigned bits = needed(work, result);
	bool refused = (bits & (MODEL_READS_NOT | MODEL_WRITES_NOT)) != 0;

	user->trial->result->counts.conflicts += refused;
	if (bits == 0 || (claims == NULL ? !refused && bits != MODEL_ENDS :
	    claims_may(claims, user->claimant, bits, work->begun_ns)))
		return;
	trial_wrong(user->trial, "claims", "an I/O of host %u to volume %u of target %u, begun at %" PRIu64 " us, %s",
	    user->index, work->volume->index, work->seat->served->index, work->begun_ns / 1000,
	    bits == MODEL_ENDS ? "was ended by nobody's preempt" :
	    refused ? "was refused by a reservation, and none forbids it" :
	    "was done, though a reservation forbids it");
}

static bool
all_is_read_back(const struct trial *trial)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		for (unsigned k = 0; k < trial_knob(trial, KNOB_VOLUMES); k++)
			if (trial->targets[i].volumes[k].read_back < volume_served(&trial->targets[i].volumes[k]))
				return false;
	return true;
}

void
load_has_read_back(struct volume *volume)
{
	struct trial *trial = volume->served->trial;

	if (++volume->read_back == volume_served(volume))
		trial->read_back = all_is_read_back(trial);
}

void
load_copied(struct work *work)
{
	if (work->copy == COPY_NONE)
		return;
	work->copy = COPY_NONE;
	work->seat->copying &= ~(UINT32_C(1) << work->volume->index);
}

void
load_ended(struct work *work, const struct lane_result *result)
{
	struct trial_counts *counts = &work->user->trial->result->counts;

	counts->ios++;
	counts->by_op[work->op]++;
	counts->failed += result->error != 0;
	tell_history(work, result);
	check_claims(work, result);
	calm_ended(work, result);
	check_access(work, result);
	if (work->copy == COPY_SOURCE && result->error == 0)
		work->copy = COPY_READY;
	else
		load_copied(work);
}

/* ---- what never ends ---- */

static void
forget(struct work *work)
{
	enum fate fate = load_changes(work) ? FATE_ADRIFT : FATE_NOTHING;
	bool told = work->busy && work->op != LANE_FLUSH && work->copy != COPY_SOURCE;

	for (uint32_t i = 0; told && i < work->count; i++)
		tell_block(work, fate, i, sim_now(work->user->trial->sim));
	work->user->trial->result->counts.unknown += told && load_changes(work);
	work->rest.armed = work->busy = work->unread = false;
	load_copied(work);
}

/* Whoever killed it has its targets waited for. */
void
load_forgotten(struct user *user)
{
	for (uint32_t i = 0; i < user->work_count; i++)
		forget(&user->works[i]);
	for (unsigned i = 0; i < trial_knob(user->trial, KNOB_TARGETS); i++)
		user->seats[i].adrift = false;
	user->in_flight = 0;
}
