/*
 * served.c - a target of a trial: its process, what it serves, and whether anything of its hosts is left.
 *
 * Volumes lie in files of the simulation, or in the memory of the process; those are lost with it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/core.h"
#include "trial/internal.h"

/* ---- its volumes ---- */

uint64_t
volume_base(const struct volume *volume)
{
	const struct trial *trial = volume->served->trial;

	return TRIAL_BLOCKS_MIN + trial_knob(trial, KNOB_HOSTS) * trial_knob(trial, KNOB_IO_BLOCKS);
}

uint64_t
volume_blocks(const struct volume *volume)
{
	return volume_base(volume) + volume->blocks;
}

uint32_t
volume_served(const struct volume *volume)
{
	return (uint32_t)(volume->served->now.volume_blocks[volume->index] - volume_base(volume));
}

/* As often as it may grow in this trial. */
static uint32_t
growths(const struct plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->fault_count && count < TRIAL_GROWTHS_MAX; i++)
		count += plan->faults[i].kind == FAULT_VOLUME_GROWS;
	return count;
}

static uint64_t
bytes_max(const struct volume *volume)
{
	return (volume_blocks(volume) + TRIAL_GROWTH * TRIAL_GROWTHS_MAX) * TRIAL_BLOCK;
}

static int
open_volume(struct volume *volume, uint64_t blocks, struct reactor *reactor, char why[256])
{
	uint64_t kib = blocks * (TRIAL_BLOCK / 1024);
	int rc;

	if (volume->in_ram)
		snprintf(volume->spec, sizeof(volume->spec), "mem:%" PRIu64 "K", kib);
	else
		snprintf(volume->spec, sizeof(volume->spec), "file:%s,size=%" PRIu64 "K", volume->path, kib);
	rc = blk_open(reactor, volume->spec, TRIAL_BLOCK, &volume->blk, why);
	if (rc == 0 && volume->fair)
		rc = fair_open(reactor, volume->index % reactor->count, volume->blk, &volume->blk);
	return rc;
}

int
served_open_volumes(struct served *served, const struct serving *serving, struct reactor *reactor, char why[256])
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];
		uint64_t blocks = serving->volume_blocks[i];
		int rc = 0;

		if (serving->volume_gone[i])
			continue;
		if (volume->blk == NULL)
			rc = open_volume(volume, blocks, reactor, why);
		else if (volume->blk->blocks < blocks)
			rc = volume->blk->ops->grow(volume->blk, reactor, blocks);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* ---- what it serves ---- */

static void
config_listeners(const struct served *served, const struct serving *serving, struct whole *whole)
{
	uint32_t count = 0;

	whole->ana.id = 1;
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_LISTENERS); i++) {
		struct target_listen *listen = &whole->listen[count];

		if (serving->listener_gone[i])
			continue;
		snprintf(listen->host, sizeof(listen->host), "%s", served->address);
		listen->port = (uint16_t)(TRIAL_PORT + i);
		whole->ana.state[count++] = serving->ana[i];
	}
	whole->config.listen = whole->listen;
	whole->config.listen_count = count;
	whole->subsys.listeners = (UINT32_C(1) << count) - 1;
	whole->subsys.ana = &whole->ana;
	whole->subsys.ana_count = 1;
}

static void
config_namespaces(const struct served *served, const struct serving *serving, struct whole *whole)
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++) {
		const struct volume *volume = &served->volumes[i];

		struct target_ns *ns = &whole->ns[whole->subsys.ns_count];

		if (serving->volume_gone[i])
			continue;
		*ns = (struct target_ns){
			.nsid = volume->nsid, .volume = volume->blk, .blocks = serving->volume_blocks[i],
		};
		memcpy(ns->id, volume->id, sizeof(ns->id));
		whole->subsys.ns_count++;
	}
	whole->subsys.ns = whole->ns;
}

/* Ascending; all of them where nobody is barred. */
static void
config_hosts(const struct served *served, const struct serving *serving, struct whole *whole)
{
	uint32_t count = 0, hosts = (uint32_t)trial_knob(served->trial, KNOB_HOSTS);

	for (uint32_t i = 0; i < hosts; i++) {
		const char *nqn = served->trial->users[i].nqn;
		uint32_t at = count;

		if (serving->host_barred[i])
			continue;
		for (; at > 0 && strcmp(whole->hosts[at - 1], nqn) > 0; at--)
			whole->hosts[at] = whole->hosts[at - 1];
		whole->hosts[at] = nqn;
		count++;
	}
	whole->subsys.hosts_listed = count < hosts;
	if (!whole->subsys.hosts_listed)
		return;
	whole->subsys.hosts = whole->hosts;
	whole->subsys.host_count = count;
}

void
served_config(const struct served *served, const struct serving *serving, struct whole *whole)
{
	*whole = (struct whole){
		.subsys = {
			.nqn = served->nqn, .identity = { (uint8_t)(served->index + 1) },
			.entries_max = (uint32_t)trial_knob(served->trial, KNOB_QUEUE_ENTRIES),
		},
		.config = {
			.subsys = &whole->subsys, .subsys_count = 1,
			.stall_timeout_ms = (uint32_t)trial_knob(served->trial, KNOB_STALL_MS),
			.state_dir = served->state,
		},
	};
	config_listeners(served, serving, whole);
	config_namespaces(served, serving, whole);
	config_hosts(served, serving, whole);
}

/* ---- its start ---- */

/* The first reactor of a life, whichever it is, makes what they share. */
static int
make(struct served *served, struct reactor *reactor, char why[256])
{
	struct whole whole;
	int rc;

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++)
		served->volumes[i].blk = NULL;
	served->now = served->wanted;
	served->now_since_ns = reactor->now_ns;
	served->applying = false;
	ills_look(served->trial);
	rc = served_open_volumes(served, &served->now, reactor, why);
	if (rc != 0)
		return rc;
	served_config(served, &served->now, &whole);
	terms_draw(served, &whole);
	return target_create(reactor->arena, &whole.config, &served->target, why);
}

static int
start(struct reactor *reactor, void *arg)
{
	struct served *served = arg;
	char why[256] = "";
	int rc = served->started == 0 ? make(served, reactor, why) : 0;

	if (rc == 0)
		rc = target_start(served->target, reactor, why);
	if (rc != 0) {
		trial_note(served->trial, served->name, "does not start: %s (%s)", strerror(-rc), why);
		return rc;
	}
	served->started++;
	if (reactor->index == 0)
		operator_begin(served, reactor);
	return 0;
}

/* Nobody gives its namespace a UUID, so it has one that follows from its id. */
static void
name_kept(struct volume *volume)
{
	static const uint8_t none[16];
	uint8_t u[16];

	target_uuid(none, volume->id, u);
	snprintf(volume->kept, sizeof(volume->kept),
	    "%s/reservations/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
	    volume->served->state, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
	    u[13], u[14], u[15]);
}

static void
volume_init(struct volume *volume, struct served *served, unsigned index)
{
	struct trial *trial = served->trial;
	uint32_t blocks = (uint32_t)trial_knob(trial, KNOB_BLOCKS);
	uint32_t most = blocks + TRIAL_GROWTH * growths(trial->plan) + (uint32_t)trial_knob(trial, KNOB_IO_BLOCKS);
	struct rng rng; /* of its own: what is drawn behind it stays as it is */

	*volume = (struct volume){
		.served = served, .index = index, .nsid = index + 1, .blocks = blocks, .blocks_most = most,
		.in_ram = rng_below(&trial->rng, 100) < trial_knob(trial, KNOB_IN_RAM),
		.next_value = (uint64_t)(served->index * TRIAL_VOLUMES_MAX + index + 1) << 48,
		.history = history_create(&trial->arena, most),
		.id = { (uint8_t)(served->index + 1), (uint8_t)(index + 1) },
	};
	rng_seed(&rng, trial->plan->seed ^ (volume->next_value << 8));
	volume->fair = rng_below(&rng, 100) < trial_knob(trial, KNOB_FAIR);
	name_kept(volume);
	snprintf(volume->path, sizeof(volume->path), "volume-%u-%u.img", served->index, index);
	served->wanted.volume_blocks[index] = volume_blocks(volume);
	served->wanted.volume_gone[index] = true;
}

/* Of a reactor: its buffers, which it has from the start, and what it may have beside them. */
static size_t
memory_max(const struct trial *trial)
{
	uint64_t mib = trial_knob(trial, KNOB_MEMORY_MIB);

	if (mib == 0)
		return 0;
	return (mib << 20) + trial_knob(trial, KNOB_SMALL_BUFS) * BUFS_SMALL +
	    trial_knob(trial, KNOB_LARGE_BUFS) * BUFS_LARGE;
}

void
served_begin(struct trial *trial, struct served *served)
{
	struct sim_process_options options = {
		.reactor = {
			.small_bufs = (uint32_t)trial_knob(trial, KNOB_SMALL_BUFS),
			.large_bufs = (uint32_t)trial_knob(trial, KNOB_LARGE_BUFS),
		},
		.arena_bytes = memory_max(trial),
		.address = served->address, .start = start, .arg = served,
	};

	served->trial = trial;
	served->index = (uint32_t)(served - trial->targets);
	snprintf(served->name, sizeof(served->name), "target-%u", served->index);
	snprintf(served->address, sizeof(served->address), "10.1.0.%u", served->index + 1);
	snprintf(served->state, sizeof(served->state), "state-%u", served->index);
	snprintf(served->nqn, sizeof(served->nqn), "nqn.2026-11.local.weir:target%u", served->index);
	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++)
		volume_init(&served->volumes[i], served, i);
	for (unsigned i = 0; i < TRIAL_LISTENERS_MAX; i++)
		served->wanted.ana[i] = NVME_ANA_OPTIMIZED;
	options.room = bytes_max(&served->volumes[0]);
	served->process = sim_process_create(trial->sim, served->name,
	    (unsigned)trial_knob(trial, KNOB_TARGET_REACTORS), &options);
}

bool
served_is_up(const struct served *served)
{
	return sim_process_running(served->process) &&
	    served->started == trial_knob(served->trial, KNOB_TARGET_REACTORS);
}

/* ---- its end ---- */

void
served_retire(struct volume *volume)
{
	if (volume->claims == NULL)
		return;
	model_retire(&volume->claims->model);
	claims_changed(volume->claims, sim_now(volume->served->trial->sim));
}

static void
forget_claims(struct volume *volume, uint64_t now_ns)
{
	if (volume->claims == NULL)
		return;
	model_crash(&volume->claims->model);
	claims_changed(volume->claims, now_ns);
}

/* Nothing that was sent to this life comes in the next. */
static void
died(struct served *served, bool power)
{
	uint64_t now_ns = sim_now(served->trial->sim);

	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++) {
		struct volume *volume = &served->volumes[i];

		if (volume->in_ram)
			history_wiped(volume->history, now_ns);
		else if (power)
			history_power_lost(volume->history, now_ns);
		volume->failed.is = false; /* its file is opened anew */
		forget_claims(volume, now_ns);
	}
	served->died_ns = now_ns;
	if (power)
		served->power_ns = now_ns;
	settle_all(served);
}

void
served_file_lost(void *arg, const char *path, uint64_t offset)
{
	struct trial *trial = arg;
	uint64_t block = offset / TRIAL_BLOCK;

	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS) * trial_knob(trial, KNOB_VOLUMES); i++) {
		struct served *served = &trial->targets[i / trial_knob(trial, KNOB_VOLUMES)];
		struct volume *volume = &served->volumes[i % trial_knob(trial, KNOB_VOLUMES)];
		uint64_t base = volume_base(volume);

		if (strcmp(volume->path, path) == 0 && block >= base && block - base < volume->blocks_most)
			history_unsynced(volume->history, (uint32_t)(block - base));
	}
}

void
served_kill(struct served *served, bool power, bool half_open)
{
	unsigned flags = (power ? 0 : SIM_CRASH_KEEPS_WRITES) | (half_open ? SIM_CRASH_HALF_OPEN : 0);

	sim_process_crash(served->process, flags);
	served->started = 0;
	died(served, power);
}

void
served_come(struct served *served)
{
	died(served, false); /* it may have died by itself, as it started */
	served->started = 0;
	sim_process_start(served->process);
}

/* ---- what is left, and what may be ---- */

bool
served_is_idle(struct served *served, char why[160])
{
	struct target_stats stats;
	unsigned streams = sim_process_streams(served->process);

	why[0] = '\0';
	if (streams > 0) {
		snprintf(why, 160, "target %u has %u streams open", served->index, streams);
		return false;
	}
	target_stats(served->target, &stats);
	if (stats.connections > 0) {
		snprintf(why, 160, "target %u has %" PRIu64 " connections", served->index, stats.connections);
		return false;
	}
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_TARGET_REACTORS); i++) {
		const struct core *core = served->target->cores[i];

		if (list_empty(&core->assocs) && bufs_idle(&core->reactor->bufs))
			continue;
		snprintf(why, 160, "reactor %u of target %u has %s", i, served->index,
		    list_empty(&core->assocs) ? "buffers that are not back" : "controllers that are not gone");
		return false;
	}
	return true;
}

void
served_show(struct served *served, bool shown)
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++)
		served->wanted.volume_gone[i] = !shown;
}

bool
served_is_told(const struct served *served)
{
	return served_is_up(served) && !served->applying &&
	    memcmp(&served->now, &served->wanted, sizeof(served->now)) == 0;
}

void
served_weigh(struct served *served)
{
	served->before = memory_taken(served);
}

bool
served_is_as_before(const struct served *served, char why[160])
{
	for (unsigned i = 0; i < trial_knob(served->trial, KNOB_VOLUMES); i++)
		if (served->volumes[i].blk != NULL) {
			snprintf(why, 160, "target %u still uses volume %u", served->index, i);
			return false;
		}
	snprintf(why, 160, "target %u holds %zu bytes, not %zu as before hosts came", served->index,
	    memory_taken(served), served->before);
	return memory_taken(served) == served->before;
}
