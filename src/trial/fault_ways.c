/*
 * fault_ways.c - what each fault of a plan does, and what ends it.
 *
 * What cannot be done, or would be done to something that has the same fault already, is left out: so no fault mends
 * what another one still holds.  What the operator does, and what a disk does, follows from all that is under way.
 */
#include <stdio.h>
#include <string.h>

#include "trial/faults.h"

/* Another fault of that kind, or of the other one, that is under way at the same place. */
static bool
is_taken(struct trial *trial, const struct under_way *f, enum fault_kind other)
{
	list_for_each(&trial->faults, node) {
		const struct under_way *each = under_way_of(node);

		if (each != f && (each->fault.kind == f->fault.kind || each->fault.kind == other) &&
		    each->served == f->served && each->user == f->user && each->part == f->part)
			return true;
	}
	return false;
}

/* ---- processes ---- */

static bool
target_dies(struct trial *trial, struct under_way *f)
{
	bool power = f->fault.kind == FAULT_TARGET_POWER;

	if (!sim_process_running(f->served->process))
		return false;
	trial_note(trial, f->served->name, power ? "loses power" : "is killed");
	served_kill(f->served, power, power && f->fault.what % 2 == 0);
	return true;
}

static bool
target_comes(struct trial *trial, struct under_way *f)
{
	(void)trial;
	if (!sim_process_running(f->served->process))
		served_come(f->served);
	return true;
}

static bool
kill_host(struct trial *trial, struct user *user, uint32_t what)
{
	if (!sim_process_running(user->process))
		return false;
	trial_note(trial, user->address, "is killed");
	sim_process_crash(user->process, what % 2 == 0 ? SIM_CRASH_HALF_OPEN : 0);
	user_killed(user);
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		settle_wait(&trial->targets[i], user);
	return true;
}

/* Unless it was killed by something else, too, which is not over. */
static void
bring_host(struct trial *trial, struct user *user)
{
	if (!sim_process_running(user->process) && !fault_holds_down(trial, NULL, user))
		user_come(user);
}

static bool
host_dies(struct trial *trial, struct under_way *f)
{
	return kill_host(trial, f->user, f->fault.what);
}

static bool
host_comes(struct trial *trial, struct under_way *f)
{
	bring_host(trial, f->user);
	return true;
}

static bool
all_die(struct trial *trial, struct under_way *f)
{
	bool any = false;

	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		any = kill_host(trial, &trial->users[i], f->fault.what) || any;
	return any;
}

static bool
all_come(struct trial *trial, struct under_way *f)
{
	(void)f;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		bring_host(trial, &trial->users[i]);
	return true;
}

static bool
host_leaves(struct trial *trial, struct under_way *f)
{
	if (f->user->state != USER_AT_WORK || !sim_process_running(f->user->process))
		return false;
	trial_note(trial, f->user->address, "leaves");
	user_leave(f->user);
	return true;
}

/* When it has left; or was killed meanwhile, and whoever did that brings it. */
static bool
host_is_back(struct trial *trial, struct under_way *f)
{
	(void)trial;
	if (f->user->state == USER_LEAVING)
		return false;
	if (f->user->state == USER_AWAY && sim_process_running(f->user->process))
		user_come(f->user);
	return true;
}

/* ---- the network ---- */

static uint16_t
port_of(const struct under_way *f)
{
	return (uint16_t)(TRIAL_PORT + f->part);
}

static bool
listener_is_cut(struct trial *trial, struct under_way *f)
{
	bool silent = f->fault.kind == FAULT_LISTENER_SILENT;

	if (is_taken(trial, f, silent ? FAULT_LISTENER_RESETS : FAULT_LISTENER_SILENT))
		return false;
	trial_note(trial, f->served->name, "listener %u %s", f->part, silent ? "falls silent" : "is cut");
	sim_cut(trial->sim, f->served->address, port_of(f), silent ? SIM_CUT_HOLD : SIM_CUT_RESET);
	return true;
}

static bool
listener_is_mended(struct trial *trial, struct under_way *f)
{
	sim_mend(trial->sim, f->served->address, port_of(f));
	return true;
}

static bool
parts(struct trial *trial, struct under_way *f)
{
	if (is_taken(trial, f, FAULT_PARTED))
		return false;
	trial_note(trial, f->served->name, "is parted from %s", f->user->address);
	sim_part(trial->sim, f->served->process, f->user->process);
	return true;
}

static bool
joins(struct trial *trial, struct under_way *f)
{
	sim_join(trial->sim, f->served->process, f->user->process);
	return true;
}

static bool
slows_down(struct trial *trial, struct under_way *f)
{
	if (is_taken(trial, f, FAULT_NETWORK_SLOW))
		return false;
	sim_process_slow(f->served->process, TRIAL_SLOW);
	return true;
}

static bool
speeds_up(struct trial *trial, struct under_way *f)
{
	(void)trial;
	sim_process_slow(f->served->process, 1);
	return true;
}

/* Where it may be noticed (wires.c); of a host without digests nobody can notice, or undo, anything. */
static bool
bits_flip(struct trial *trial, struct under_way *f)
{
	uint32_t ppm = 40000u >> f->fault.what % 8;

	if (!(f->user->hdgst || f->user->ddgst) || is_taken(trial, f, FAULT_NETWORK_FLIPS))
		return false;
	trial_note(trial, f->user->address, "%u ppm of its headers and data have a wrong bit", ppm);
	sim_process_flips(f->user->process, ppm, 0);
	return true;
}

static bool
bits_stay(struct trial *trial, struct under_way *f)
{
	(void)trial;
	sim_process_flips(f->user->process, 0, 0);
	return true;
}

/* ---- threads that do not run ---- */

static bool
pauses(struct trial *trial, struct under_way *f)
{
	struct sim_process *process = f->served != NULL ? f->served->process : f->user->process;

	if (!sim_process_running(process) || is_taken(trial, f, f->fault.kind))
		return false;
	trial_note(trial, f->served != NULL ? f->served->name : f->user->address, "reactor %u is paused", f->part);
	sim_process_pause(process, f->part, f->until_ns);
	return true;
}

/* All are mended sooner, perhaps. */
static bool
goes_on(struct trial *trial, struct under_way *f)
{
	sim_process_pause(f->served != NULL ? f->served->process : f->user->process, f->part, sim_now(trial->sim));
	return true;
}

/* ---- disks ---- */

/* What is wrong with the file of a volume, its list of bad blocks and its reservations follows from all that is under
 * way. */
static bool
disk_changes(struct trial *trial, struct under_way *f)
{
	struct sim_file_faults faults = { 0 };
	char path[sizeof(f->volume->path) + sizeof(BLK_BAD_SUFFIX)];

	if (f->volume->in_ram)
		return false;
	list_for_each(&trial->faults, node) {
		const struct under_way *each = under_way_of(node);

		if (each->volume != f->volume)
			continue;
		if (each->fault.kind == FAULT_DISK_FAILS) {
			faults.error_ppm = 1000000 >> each->fault.what / TRIAL_VOLUMES_MAX % 8;
			faults.late_error_ppm = faults.error_ppm / 2;
			faults.short_ppm = faults.error_ppm / 4;
		}
		faults.stalled = faults.stalled || each->fault.kind == FAULT_DISK_STALLS;
		if (each->fault.kind == FAULT_DISK_SLOW)
			faults.slow = TRIAL_SLOW;
	}
	sim_file_set_faults(trial->sim, f->volume->path, &faults);
	snprintf(path, sizeof(path), "%s%s", f->volume->path, BLK_BAD_SUFFIX);
	sim_file_set_faults(trial->sim, path, &faults);
	sim_file_set_faults(trial->sim, f->volume->kept, &faults);
	return true;
}

/* A sector of a block that the load uses. */
static bool
disk_lies(struct trial *trial, struct under_way *f)
{
	struct sim_file *file = f->volume->in_ram ? NULL : sim_file_find(trial->sim, f->volume->path);
	uint32_t block = f->fault.what / TRIAL_VOLUMES_MAX % f->volume->blocks;
	uint64_t at = (volume_base(f->volume) + block) * TRIAL_BLOCK;
	uint64_t sector[64];

	if (file == NULL || sim_file_size(file) < at + TRIAL_BLOCK)
		return false;
	for (unsigned i = 0; i < 64; i++)
		sector[i] = rng_next(&trial->rng);
	trial_note(trial, f->served->name, "block %u of volume %u changes by itself", block, f->volume->index);
	at += rng_below(&trial->rng, TRIAL_BLOCK / sizeof(sector)) * sizeof(sector);
	sim_file_corrupt(file, at, sector, sizeof(sector));
	history_corrupted(f->volume->history, block);
	return true;
}

/* ---- what the operator wishes ---- */

static void
wish(struct serving *wanted, const struct under_way *f)
{
	static const enum nvme_ana_state states[] = {
		NVME_ANA_INACCESSIBLE, NVME_ANA_CHANGE, NVME_ANA_NON_OPTIMIZED,
	};

	if (f->fault.kind == FAULT_ANA)
		wanted->ana[f->part] = states[f->fault.what / TRIAL_LISTENERS_MAX % 3];
	else if (f->fault.kind == FAULT_LISTENER_GONE)
		wanted->listener_gone[f->part] = true;
	else if (f->fault.kind == FAULT_VOLUME_GONE)
		wanted->volume_gone[f->volume->index] = true;
	else if (f->fault.kind == FAULT_HOST_BARRED)
		wanted->host_barred[f->user->index] = true;
}

/* What is wanted follows from all that is under way; but a volume that has grown stays so. */
static void
wish_again(struct trial *trial, struct served *served)
{
	struct serving wanted = { 0 };

	memcpy(wanted.volume_blocks, served->wanted.volume_blocks, sizeof(wanted.volume_blocks));
	for (unsigned i = 0; i < TRIAL_LISTENERS_MAX; i++)
		wanted.ana[i] = NVME_ANA_OPTIMIZED;
	list_for_each(&trial->faults, node)
		if (under_way_of(node)->served == served)
			wish(&wanted, under_way_of(node));
	served->wanted = wanted;
}

static bool
is_wished(struct trial *trial, struct under_way *f)
{
	wish_again(trial, f->served);
	return true;
}

static bool
volume_grows(struct trial *trial, struct under_way *f)
{
	uint64_t *blocks = &f->served->wanted.volume_blocks[f->volume->index];
	uint64_t most = volume_blocks(f->volume) + (uint64_t)TRIAL_GROWTH * TRIAL_GROWTHS_MAX;

	if (*blocks + TRIAL_GROWTH > most)
		return false;
	*blocks += TRIAL_GROWTH;
	return true;
}

/* ---- memory ---- */

static struct arena *
arena_of(const struct under_way *f)
{
	struct sim_process *process = f->served != NULL ? f->served->process : f->user->process;

	return sim_process_running(process) ? sim_process_reactor(process, f->part)->arena : NULL;
}

/* From two of five allocations to one of sixty: what is made of many is hardly ever whole, or only its last part is
 * missing. */
static bool
memory_fails(struct trial *trial, struct under_way *f)
{
	uint64_t within = UINT64_C(4) << f->fault.what / TRIAL_REACTORS_MAX % 6;
	struct arena *arena = arena_of(f);

	if (arena == NULL)
		return false;
	if (arena->fail_at == 0) {
		arena->fail_at = 1 + rng_below(&trial->rng, within);
		arena->fail_within = within;
		arena->fail_by = &trial->rng;
	}
	return true;
}

static bool
memory_is_back(struct trial *trial, struct under_way *f)
{
	struct arena *arena = arena_of(f);

	(void)trial;
	if (arena != NULL)
		arena->fail_at = 0;
	return true;
}

/* Who was started again meanwhile has a new arena. */
void
fault_go_on(struct trial *trial)
{
	list_for_each(&trial->faults, node)
		if (under_way_of(node)->fault.kind == FAULT_NO_MEMORY)
			memory_fails(trial, under_way_of(node));
}

/* ---- all of them ---- */

const struct fault_way fault_ways[FAULTS] = {
	[FAULT_TARGET_KILLED] = { OF_TARGET, target_dies, target_comes },
	[FAULT_TARGET_POWER] = { OF_TARGET, target_dies, target_comes },
	[FAULT_HOST_KILLED] = { OF_HOST, host_dies, host_comes },
	[FAULT_HOST_LEAVES] = { OF_HOST, host_leaves, host_is_back },
	[FAULT_ALL_LEAVE] = { OF_ALL, all_die, all_come },
	[FAULT_LISTENER_SILENT] = { OF_LISTENER, listener_is_cut, listener_is_mended },
	[FAULT_LISTENER_RESETS] = { OF_LISTENER, listener_is_cut, listener_is_mended },
	[FAULT_PARTED] = { OF_BOTH, parts, joins },
	[FAULT_TARGET_PAUSED] = { OF_REACTOR, pauses, goes_on },
	[FAULT_HOST_PAUSED] = { OF_HOST_REACTOR, pauses, goes_on },
	[FAULT_NETWORK_SLOW] = { OF_TARGET, slows_down, speeds_up },
	[FAULT_DISK_FAILS] = { OF_VOLUME, disk_changes, disk_changes },
	[FAULT_DISK_STALLS] = { OF_VOLUME, disk_changes, disk_changes },
	[FAULT_DISK_SLOW] = { OF_VOLUME, disk_changes, disk_changes },
	[FAULT_DISK_LIES] = { OF_VOLUME, disk_lies, NULL },
	[FAULT_ANA] = { OF_LISTENER, is_wished, is_wished },
	[FAULT_VOLUME_GONE] = { OF_VOLUME, is_wished, is_wished },
	[FAULT_VOLUME_GROWS] = { OF_VOLUME, volume_grows, NULL },
	[FAULT_HOST_BARRED] = { OF_BOTH, is_wished, is_wished },
	[FAULT_LISTENER_GONE] = { OF_LISTENER, is_wished, is_wished },
	[FAULT_NO_MEMORY] = { OF_ANY, memory_fails, memory_is_back },
	[FAULT_NETWORK_FLIPS] = { OF_HOST, bits_flip, bits_stay },
};
