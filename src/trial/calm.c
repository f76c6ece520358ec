/*
 * calm.c - what may not happen where nothing has befallen anybody: no path is lost, no I/O fails or takes long.
 *
 * What hosts mend by themselves, with a time-out and another connection, leaves
 * every history right; who waits for it suffers all the same.  So as long as no
 * fault has befallen a target, or any host (which may hold what others wait for),
 * each I/O has to end well within the time after which a path is given up.  Where
 * the plan leaves hosts too little patience for its load, nothing is judged.
 */
#include <errno.h>
#include <inttypes.h>

#include "trial/internal.h"

static const uint64_t US = 1000, MS = 1000 * 1000;

enum { SLACK_MS = 1000, CONNECTION_BYTES_MIN = 1024 };

/* All that may be in flight anywhere, and the longest that one thing after another takes with it. */
static uint64_t
longest_ns(const struct trial *trial)
{
	uint64_t ios = trial_knob(trial, KNOB_HOSTS) * trial_knob(trial, KNOB_TARGETS) * trial_knob(trial, KNOB_LANES) *
	    trial_knob(trial, KNOB_DEPTH);
	uint64_t bytes = trial_knob(trial, KNOB_IO_BLOCKS) * TRIAL_BLOCK, socket = trial_knob(trial, KNOB_SOCKET_MIN);
	uint64_t round_ns = 2 * (trial_knob(trial, KNOB_LATENCY_US) + trial_knob(trial, KNOB_JITTER_US)) * US;
	uint64_t disk_ns = (trial_knob(trial, KNOB_DISK_US) + trial_knob(trial, KNOB_DISK_JITTER_US)) * US;
	uint64_t rounds = 4 + bytes / (socket > CONNECTION_BYTES_MIN ? socket : CONNECTION_BYTES_MIN);
	uint64_t mbit = trial_knob(trial, KNOB_MBIT), wire_ns = mbit > 0 ? bytes * 8 * 1000 / mbit : 0;

	return SLACK_MS * MS + ios * (rounds * round_ns + 2 * disk_ns + wire_ns);
}

/* Zero: hosts have too little patience, or connections break by themselves, or memory may run out. */
uint64_t
calm_longest_ns(const struct trial *trial)
{
	uint64_t longest = longest_ns(trial), stall_ms = trial_knob(trial, KNOB_STALL_MS);
	uint64_t patience_ms = trial_knob(trial, KNOB_IO_TIMEOUT_MS);

	if (trial_knob(trial, KNOB_KATO_MS) < patience_ms)
		patience_ms = trial_knob(trial, KNOB_KATO_MS);
	if (stall_ms > 0 && stall_ms < patience_ms)
		patience_ms = stall_ms;
	return trial_knob(trial, KNOB_RESET_PPM) > 0 || trial_knob(trial, KNOB_MEMORY_MIB) > 0 ||
	    longest > patience_ms * MS / 2 ? 0 : longest;
}

static bool
is_calm(const struct seat *seat)
{
	const struct user *user = seat->user;

	return user->trial->calm_ns > 0 && !user->trial->disturbed && !seat->served->disturbed &&
	    user->state != USER_LEAVING;
}

/* What is said of blocks, and of reservations, is no fault. */
static bool
is_ordinary(const struct lane_result *result)
{
	if (result->error == 0 || result->error == -EILSEQ)
		return true;
	switch (nvme_sc(result->status)) {
	case NVME_SC_RESV_CONFLICT: case NVME_SC_PREEMPT_ABORTED: case NVME_SC_LBA_RANGE:
		return true;
	case NVME_SC_READ_ERROR:
		return result->status.dnr;
	default:
		return false;
	}
}

void
calm_ended(const struct work *work, const struct lane_result *result)
{
	struct trial *trial = work->user->trial;
	uint64_t took_ns = sim_now(trial->sim) - work->begun_ns;

	if (!is_calm(work->seat))
		return;
	if (!is_ordinary(result))
		trial_wrong(trial, "calm", "an I/O (%u on %u blocks) of host %u to target %u failed with error %d, "
		    "status %u:%02x, though nothing had befallen them", work->op, work->count, work->user->index,
		    work->seat->served->index, result->error, result->status.sct, result->status.sc);
	else if (took_ns > trial->calm_ns)
		trial_wrong(trial, "calm", "an I/O (%u on %u blocks) of host %u to target %u took %" PRIu64
		    " ms, though nothing had befallen them", work->op, work->count, work->user->index,
		    work->seat->served->index, took_ns / MS);
}

void
calm_lost(const struct seat *seat)
{
	if (is_calm(seat))
		trial_wrong(seat->user->trial, "calm", "host %u has lost a path to target %u, though nothing had "
		    "befallen them", seat->user->index, seat->served->index);
}

void
calm_look(const struct user *user)
{
	for (uint32_t i = 0; i < user->work_count && user->trial->calm_ns > 0; i++) {
		const struct work *work = &user->works[i];

		if (work->busy && work->begun_ns + user->trial->calm_ns < sim_now(user->trial->sim) &&
		    is_calm(work->seat))
			trial_wrong(user->trial, "calm", "an I/O (%u on %u blocks) of host %u to target %u is under "
			    "way since %" PRIu64 " us, though nothing has befallen them", work->op, work->count,
			    user->index, work->seat->served->index, work->begun_ns / US);
	}
}
