/*
 * ills.c - what is wrong with whom, and until when it was: what an I/O that has failed may have failed for.
 *
 * It follows from the faults that are under way, and from what targets serve; so
 * it is looked at when one of these changes, and each millisecond beside, since
 * who died by himself is there again without a word.
 */
#include <errno.h>
#include <inttypes.h>

#include "ctrl/ctrl.h"
#include "trial/cause.h"
#include "trial/faults.h"

static const uint64_t MS = 1000 * 1000, RECOVERY_MS = 250;

/* Sets of kinds: what may keep a path from being used, or an association from being over. */
enum {
	OF_A_TARGET = 1u << FAULT_TARGET_KILLED | 1u << FAULT_TARGET_POWER | 1u << FAULT_TARGET_PAUSED |
	    1u << FAULT_NETWORK_SLOW | 1u << FAULT_DISK_STALLS | 1u << FAULT_DISK_SLOW | 1u << FAULT_NO_MEMORY,
	OF_A_HOST = 1u << FAULT_HOST_PAUSED | 1u << FAULT_NETWORK_FLIPS | 1u << FAULT_NO_MEMORY,
	OF_A_LISTENER = 1u << FAULT_LISTENER_SILENT | 1u << FAULT_LISTENER_RESETS,
};

/* ---- how it is now ---- */

static void
note(struct spell *spell, bool is, uint64_t now_ns)
{
	if (spell->is || is)
		spell->until_ns = now_ns;
	spell->is = is;
}

static bool
any(struct trial *trial, unsigned kinds, const struct served *served, const struct user *user)
{
	list_for_each(&trial->faults, node) {
		const struct under_way *f = under_way_of(node);

		if (kinds >> f->fault.kind & 1 && f->served == served && f->user == user)
			return true;
	}
	return false;
}

static bool
any_of_part(struct trial *trial, unsigned kinds, const struct served *served, unsigned part)
{
	list_for_each(&trial->faults, node) {
		const struct under_way *f = under_way_of(node);

		if (kinds >> f->fault.kind & 1 && f->served == served && f->part == part)
			return true;
	}
	return false;
}

/* While it is being told anew, either may be so. */
static void
look_at_served(struct trial *trial, struct served *served, uint64_t now_ns)
{
	const struct serving *now = &served->now, *next = served->applying ? &served->next : now;

	note(&served->short_of_memory, trial_knob(trial, KNOB_MEMORY_MIB) > 0 ||
	    any(trial, 1u << FAULT_NO_MEMORY, served, NULL), now_ns);
	note(&served->ill, !served_is_up(served) || any(trial, OF_A_TARGET, served, NULL), now_ns);
	for (unsigned i = 0; i < trial_knob(trial, KNOB_LISTENERS); i++) {
		note(&served->listener_ill[i], !serving_gives_access(now, i) || !serving_gives_access(next, i) ||
		    any_of_part(trial, OF_A_LISTENER, served, i), now_ns);
		note(&served->listener_silent[i], any_of_part(trial, 1u << FAULT_LISTENER_SILENT, served, i), now_ns);
	}
	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];

		note(&volume->gone, now->volume_gone[i] || next->volume_gone[i], now_ns);
		note(&volume->fails, any_of_part(trial, 1u << FAULT_DISK_FAILS, served, i), now_ns);
		note(&volume->failed, volume->fails.is || volume->failed.is, now_ns);
	}
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++) {
		struct user *user = &trial->users[i];

		note(&user->barred[served->index], now->host_barred[i] || next->host_barred[i], now_ns);
		note(&user->parted[served->index], any(trial, 1u << FAULT_PARTED, served, user), now_ns);
	}
}

void
ills_look(struct trial *trial)
{
	uint64_t now_ns = sim_now(trial->sim);

	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		look_at_served(trial, &trial->targets[i], now_ns);
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++) {
		struct user *user = &trial->users[i];

		note(&user->ill, any(trial, OF_A_HOST, NULL, user), now_ns);
		note(&user->paused, any(trial, 1u << FAULT_HOST_PAUSED, NULL, user), now_ns);
		note(&user->spoilt, any(trial, 1u << FAULT_NETWORK_FLIPS, NULL, user), now_ns);
	}
}

/* ---- until when it was ---- */

static uint64_t
last(const struct spell *spell, uint64_t now_ns)
{
	return spell->is ? now_ns : spell->until_ns;
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Until when something befell all paths of the host. */
static uint64_t
all_ill_ns(const struct seat *seat, uint64_t now_ns)
{
	const struct served *served = seat->served;
	const struct user *user = seat->user;

	return later(later(last(&served->ill, now_ns), last(&user->ill, now_ns)),
	    later(last(&user->parted[served->index], now_ns), last(&user->barred[served->index], now_ns)));
}

/* What was sent while all was slow is late when it is not so any more. */
static uint64_t
recovery_ns(const struct trial *trial)
{
	uint64_t way_us = trial_knob(trial, KNOB_LATENCY_US) + trial_knob(trial, KNOB_JITTER_US);

	return RECOVERY_MS * MS + 200 * way_us * 1000;
}

static uint64_t
loss_ns(const struct user *user)
{
	return user->loss_ms == UINT32_MAX ? CAUSE_NEVER : user->loss_ms * MS;
}

/* ---- by when what is given up is over ---- */

/* A write that was lost is given up before it ends: all lanes hear of it first. */
static bool
gives_up(const struct seat *seat, uint64_t now_ns)
{
	const struct user *user = seat->user;

	for (uint32_t i = 0; i < user->work_count; i++) {
		const struct work *work = &user->works[i];

		if (work->seat == seat && work->busy && work->shaken && load_changes(work) &&
		    now_ns - work->shaken_ns >= loss_ns(user))
			return true;
	}
	return false;
}

/* It may have been sent by any of the paths, also one that is silent, and is sent by another one when that is lost. */
static uint64_t
fenced_ns(const struct seat *seat, uint64_t now_ns)
{
	const struct trial *trial = seat->user->trial;
	uint64_t ill_ns = all_ill_ns(seat, now_ns);

	for (unsigned i = 0; i < trial_knob(trial, KNOB_LISTENERS); i++)
		ill_ns = later(ill_ns, last(&seat->served->listener_silent[i], now_ns));
	return later(later(seat->lost_ns, seat->back_ns), ill_ns + recovery_ns(trial)) + margin_fence_ns(trial->plan);
}

/* All lanes have closed their connections, and then it is time alone. */
static uint64_t
quiet_ns(const struct seat *seat, uint64_t now_ns)
{
	const struct user *user = seat->user;
	uint64_t kato_ms = trial_knob(user->trial, KNOB_KATO_MS) + CTRL_KAS_MS; /* rounded up */

	return later(seat->lost_ns, last(&user->ill, now_ns) + recovery_ns(user->trial)) +
	    (2 * kato_ms + user->margin_ms) * MS;
}

/* By when the associations are over of which the host has given something up; 0: it has not. */
static uint64_t
held_ns(const struct seat *seat, uint64_t now_ns)
{
	if (!seat->gave_up && !gives_up(seat, now_ns))
		return 0;
	return seat->user->plain ? quiet_ns(seat, now_ns) : fenced_ns(seat, now_ns);
}

/* ---- what a host says of its paths ---- */

static bool
has_any_path(const struct seat *seat)
{
	for (unsigned i = 0; i < TRIAL_LISTENERS_MAX; i++)
		if (seat->live_since_ns[i] != 0)
			return true;
	return false;
}

void
ills_path(struct seat *seat, unsigned path, bool live)
{
	uint64_t now_ns = sim_now(seat->user->trial->sim);
	bool had_any = has_any_path(seat);

	seat->live_since_ns[path] = live ? now_ns : 0;
	if (!live) {
		seat->gave_up = held_ns(seat, now_ns) >= now_ns; /* else that is over */
		seat->lost_ns = now_ns;
	}
	if (!had_any && live)
		seat->back_ns = now_ns;
	if (had_any && !has_any_path(seat)) {
		seat->away_ns = now_ns;
		seat->back_ns = 0;
	}
}

/* ---- what it was for an I/O ---- */

/* Since when the host has a path that nothing befalls which might keep the I/O from going by it. */
static uint64_t
well_since(const struct work *work, uint64_t now_ns)
{
	const struct seat *seat = work->seat;
	const struct served *served = seat->served;
	const struct user *user = seat->user;
	uint64_t ill_ns = later(all_ill_ns(seat, now_ns), last(&work->volume->gone, now_ns));
	uint64_t since_ns = CAUSE_NEVER;

	if (trial_knob(user->trial, KNOB_MEMORY_MIB) > 0)
		return CAUSE_NEVER;
	for (unsigned i = 0; i < trial_knob(user->trial, KNOB_LISTENERS); i++) {
		uint64_t ns = later(later(ill_ns, seat->live_since_ns[i]), last(&served->listener_ill[i], now_ns));

		if (seat->live_since_ns[i] != 0 && ns < since_ns)
			since_ns = ns;
	}
	return since_ns;
}

void
ills_ended(struct work *work, const struct lane_result *result)
{
	const struct user *user = work->user;
	const struct served *served = work->seat->served;
	const struct volume *volume = work->volume;
	struct trial *trial = user->trial;
	uint64_t now_ns = sim_now(trial->sim);
	struct cause_facts facts = {
		.recovery_ns = recovery_ns(trial),
		.begun_ns = work->begun_ns, .now_ns = now_ns, .leaves = work->lane->closing,
		.io_timeout_ns = trial_knob(trial, KNOB_IO_TIMEOUT_MS) * MS, .loss_ns = loss_ns(user),
		.lost_ns = work->shaken ? work->shaken_ns : 0, .well_since_ns = well_since(work, now_ns),
		.away_ns = work->seat->away_ns, .back_ns = work->seat->back_ns != 0 ? work->seat->back_ns : now_ns,
		.held_ns = held_ns(work->seat, now_ns),
		.came_ns = user->came_ns, .gone_ns = last(&volume->gone, now_ns),
		.barred_ns = last(&user->barred[served->index], now_ns), .paused_ns = last(&user->paused, now_ns),
		.spoilt_ns = last(&user->spoilt, now_ns), .short_ns = last(&served->short_of_memory, now_ns),
		.disk_fails_ns = last(&volume->fails, now_ns), .disk_failed_ns = last(&volume->failed, now_ns),
		.cache_lost_ns = volume->in_ram ? served->died_ns : served->power_ns,
	};
	const char *lacks = cause_lacks(work->copy == COPY_SOURCE ? LANE_WRITE : work->op, result, &facts);

	if (result->error == -ETIMEDOUT && work->shaken && load_changes(work))
		work->seat->gave_up = true;
	if (lacks != NULL)
		trial_wrong(trial, "cause", "an I/O (%u on %u blocks) of host %u to volume %u of target %u, begun at %"
		    PRIu64 " us, failed with error %d, status %u:%02x, though %s", work->op, work->count, user->index,
		    volume->index, served->index, work->begun_ns / 1000, result->error, result->status.sct,
		    result->status.sc, lacks);
}
