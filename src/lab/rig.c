/*
 * rig.c - what both rigs have in common: whether a setup can be run, what varies, and what is to be remembered.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/internal.h"

static int
open_plain(struct reactor *reactor, const struct lab_device *device, const struct lab_variation *variation,
    struct blk **blk, char why[LAB_WHY])
{
	return blk_open(reactor, device->spec, device->block_size, blk, why);
}

const struct lab_maker lab_maker_plain = { .open = open_plain };

void
lab_init(struct lab *lab, struct arena *arena, const struct lab_maker *maker, uint64_t seed)
{
	*lab = (struct lab){ .arena = arena, .maker = maker, .seed = seed };
}

void *
lab_alloc(struct lab *lab, size_t bytes)
{
	void *memory = arena_alloc(lab->arena, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

void
lab_refuse(struct lab *lab, const char *format, ...)
{
	va_list args;

	if (lab->why[0] != '\0') /* what was first is the reason */
		return;
	va_start(args, format);
	vsnprintf(lab->why, sizeof(lab->why), format, args);
	va_end(args);
}

/* ---- how far it is ---- */

static void
tell(const struct lab *lab)
{
	if (lab->watch != NULL)
		lab->watch(lab->watch_arg, &lab->progress);
}

void
lab_expect(struct lab *lab, uint64_t measurements)
{
	lab->progress.of += measurements;
	tell(lab);
}

void
lab_measured(struct lab *lab, uint64_t virtual_ns)
{
	lab->progress.measured++;
	lab->progress.virtual_ns += virtual_ns;
	tell(lab);
}

/* ---- what varies ---- */

static const struct {
	const char *name;
	size_t at; /* a uint32_t */
} world_rows[] = {
	{ "world.turn_ns", offsetof(struct lab_world, turn_ns) },
	{ "world.io_ns", offsetof(struct lab_world, io_ns) },
	{ "world.byte_ps", offsetof(struct lab_world, byte_ps) },
	{ "world.latency_ns", offsetof(struct lab_world, latency_ns) },
	{ "world.jitter_ns", offsetof(struct lab_world, jitter_ns) },
	{ "world.mbit", offsetof(struct lab_world, mbit) },
	{ "world.segment_bytes", offsetof(struct lab_world, segment_bytes) },
	{ "world.file_ns", offsetof(struct lab_world, file_ns) },
	{ "world.mail_ns", offsetof(struct lab_world, mail_ns) },
};

enum { WORLD_ROWS = sizeof(world_rows) / sizeof(world_rows[0]) };

static bool
is(const struct lab_variation *variation, const char *constant)
{
	return variation->constant != NULL && strcmp(variation->constant, constant) == 0;
}

struct lab_world
lab_world_varied(const struct lab *lab, const struct lab_setup *setup)
{
	struct lab_world world = setup->world;

	for (unsigned i = 0; i < WORLD_ROWS; i++) {
		uint32_t *value = (uint32_t *)((char *)&world + world_rows[i].at);

		if (is(&lab->variation, world_rows[i].name))
			*value = (uint32_t)((*value * (uint64_t)(100 + lab->variation.percent) + 50) / 100);
	}
	return world;
}

int
lab_open(struct lab *lab, struct reactor *reactor, const struct lab_device *device, struct blk **blk)
{
	const struct lab_variation *variation = NULL;
	const char *name;
	char why[LAB_WHY] = "";
	int error;

	for (unsigned i = 0; lab->maker->constant != NULL && (name = lab->maker->constant(device, i)) != NULL; i++)
		if (is(&lab->variation, name))
			variation = &lab->variation;
	error = lab->maker->open(reactor, device, variation, blk, why);
	if (error != 0)
		lab_refuse(lab, "%s", why);
	return error;
}

/* ---- what is remembered ---- */

void
lab_note_constant(struct lab *lab, const char *name)
{
	char *kept;

	for (unsigned i = 0; i < lab->constant_count; i++)
		if (strcmp(lab->constants[i], name) == 0)
			return;
	assert(lab->constant_count < LAB_CONSTANTS_MAX);
	kept = arena_strdup(lab->arena, name);
	if (kept == NULL)
		abort();
	lab->constants[lab->constant_count++] = kept;
}

void
lab_note_profile(struct lab *lab, const char text[LAB_PROFILE])
{
	for (unsigned i = 0; i < lab->profile_count; i++)
		if (strcmp(lab->profiles[i], text) == 0)
			return;
	if (lab->profile_count < LAB_PROFILES_MAX)
		snprintf(lab->profiles[lab->profile_count++], LAB_PROFILE, "%s", text);
}

static void
note_profile(struct lab *lab, const struct lab_device *device)
{
	char text[LAB_PROFILE] = "";

	if (lab->maker->profile != NULL)
		lab->maker->profile(device, text);
	if (text[0] != '\0')
		lab_note_profile(lab, text);
}

static bool
has_file(const struct lab_setup *setup)
{
	char path[BLK_SPEC];

	for (unsigned d = 0; d < setup->device_count; d++)
		if (blk_spec_path(setup->devices[d].spec, path))
			return true;
	return false;
}

static void
note_world(struct lab *lab, const struct lab_setup *setup, const struct lab_world *world)
{
	char way[48];
	size_t used;

	if (world->jitter_ns > 0)
		snprintf(way, sizeof(way), "%u to %u", world->latency_ns, world->latency_ns + world->jitter_ns);
	else
		snprintf(way, sizeof(way), "%u", world->latency_ns);
	if (setup->rig == LAB_DIRECT)
		snprintf(lab->world, sizeof(lab->world), "no network; a turn of the reactor takes %u ns",
		    world->turn_ns);
	else
		snprintf(lab->world, sizeof(lab->world), "a turn of a reactor takes %u ns, a transfer of a stream or "
		    "file %u ns and %u ps a byte; the network %s ns one way and %u Mbit/s, in segments of %u bytes; "
		    "mail between reactors %u ns",
		    world->turn_ns, world->io_ns, world->byte_ps, way, world->mbit, world->segment_bytes,
		    world->mail_ns);
	used = strlen(lab->world);
	if (has_file(setup))
		snprintf(lab->world + used, sizeof(lab->world) - used, "; an operation on a file is done after %u ns",
		    world->file_ns);
}

/* Whether it could make a difference. */
static bool
matters(const struct lab_setup *setup, size_t constant)
{
	if (constant == offsetof(struct lab_world, file_ns) && !has_file(setup))
		return false;
	if (constant == offsetof(struct lab_world, mail_ns) && setup->reactors == 1)
		return false;
	return *(const uint32_t *)((const char *)&setup->world + constant) != 0;
}

void
lab_note(struct lab *lab, const struct lab_setup *setup)
{
	struct lab_world world = lab_world_varied(lab, setup);
	const char *name;

	for (unsigned d = 0; d < setup->device_count; d++) {
		for (unsigned i = 0; lab->maker->constant != NULL &&
		    (name = lab->maker->constant(&setup->devices[d], i)) != NULL; i++)
			lab_note_constant(lab, name);
		note_profile(lab, &setup->devices[d]);
	}
	for (unsigned i = 0; i < WORLD_ROWS; i++)
		if (matters(setup, world_rows[i].at))
			lab_note_constant(lab, world_rows[i].name);
	note_world(lab, setup, &world);
}

void
lab_read(const struct lab *lab, struct blk *const *volumes, struct lab_outcome *outcome, unsigned phase)
{
	for (unsigned d = 0; d < outcome->setup->device_count; d++)
		if (lab->maker->read != NULL)
			lab->maker->read(volumes[d], lab_reading_of(outcome, d, phase));
}

/* ---- the run ---- */

struct sim_options
lab_sim_options(const struct lab *lab, const struct lab_world *world)
{
	struct sim_options options = sim_options_default();

	/* Its faults are for those who look for mistakes; here all goes well. */
	options.wake_jitter_ns = 0;
	options.short_ppm = options.spurious_ppm = options.reset_ppm = options.writeback_ppm = 0;
	options.mail_jitter_ns = 0;
	options.segment_max = world->segment_bytes;
	options.segments_full = true;
	options.socket_bytes_min = options.socket_bytes_max = LAB_SOCKET;
	options.turn_ns = world->turn_ns;
	options.io_ns = world->io_ns;
	options.byte_ps = world->byte_ps;
	options.latency_ns = world->latency_ns;
	options.jitter_ns = world->jitter_ns;
	options.mbit = world->mbit;
	options.mail_ns = world->mail_ns;
	options.trace = lab->trace;
	options.io_delay_ns = world->file_ns;
	options.io_jitter_ns = 0;
	return options;
}

void
lab_play(struct lab *lab, struct sim *sim, uint64_t begin_ns, struct blk *const *volumes, struct lab_outcome *outcome,
    void (*look)(void *arg, unsigned bin), void *arg)
{
	const struct lab_setup *setup = outcome->setup;
	uint64_t at_ns = begin_ns;
	unsigned bin = 0;

	for (unsigned phase = 0;; phase++) {
		for (; bin < outcome->bin_count && begin_ns + (bin + 1) * setup->bin_ns <= at_ns; bin++) {
			sim_run_until(sim, begin_ns + (bin + 1) * setup->bin_ns, NULL, NULL);
			look(arg, bin);
		}
		sim_run_until(sim, at_ns, NULL, NULL);
		lab_read(lab, volumes, outcome, phase);
		if (phase == setup->phase_count)
			break;
		at_ns += setup->phases[phase].ns;
	}
	outcome->hash = sim_hash(sim);
	outcome->events = sim_events(sim);
}

void
lab_ran(struct lab *lab, uint64_t hash, uint64_t events, uint64_t virtual_ns)
{
	lab->hash = (lab->hash ^ hash) * UINT64_C(0x9e3779b97f4a7c15) + lab->runs;
	lab->events += events;
	lab->runs++;
	lab_measured(lab, virtual_ns);
}

struct lab_outcome *
lab_run(struct lab *lab, const struct lab_setup *setup)
{
	const char *wrong = lab_setup_wrong(setup);
	struct lab_outcome *outcome;
	uint64_t virtual_ns = 0;
	bool ran;

	if (wrong != NULL) {
		lab_refuse(lab, "%s", wrong);
		return NULL;
	}
	lab_note(lab, setup);
	outcome = lab_outcome_create(lab->arena, setup);
	ran = setup->rig == LAB_FABRIC ? fabric_run(lab, setup, outcome) : direct_run(lab, setup, outcome);
	if (!ran)
		return NULL;
	for (unsigned i = 0; i < setup->phase_count; i++)
		virtual_ns += setup->phases[i].ns;
	lab_ran(lab, outcome->hash, outcome->events, virtual_ns);
	return outcome;
}
