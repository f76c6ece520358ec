/*
 * faults.c - what is wrong with files while the simulation runs: errors, short counts, slowness, stalls.
 *
 * Kept by path, since a fault may be older than its file.  What an operation
 * meets is drawn when it is submitted; a stall meets all that would take effect.
 */
#include <errno.h>
#include <string.h>

#include "sim/disk.h"

struct sickness {
	struct list node;
	char *path;
	struct sim_file_faults faults;
	struct fifo stalled; /* events of operations that would have taken effect */
};

static struct sickness *
sickness_find(const struct sim *sim, const char *path)
{
	list_for_each(&sim->sicknesses, node) {
		struct sickness *sickness = container_of(node, struct sickness, node);

		if (strcmp(sickness->path, path) == 0)
			return sickness;
	}
	return NULL;
}

static struct sickness *
sickness_make(struct sim *sim, const char *path)
{
	struct sickness *sickness = sim_alloc(sim, sizeof(*sickness));

	sickness->path = sim_strdup(sim, path);
	fifo_init(&sickness->stalled);
	list_push(&sim->sicknesses, &sickness->node);
	return sickness;
}

static uint64_t
delay(struct sim *sim, const struct sickness *sickness)
{
	uint64_t slow = sickness != NULL && sickness->faults.slow > 0 ? sickness->faults.slow : 1;

	return slow * sim_delay(sim, sim->options.io_delay_ns, sim->options.io_jitter_ns);
}

static bool
is_well(const struct sim_file_faults *faults)
{
	return !faults->stalled && faults->slow <= 1 &&
	    (faults->error_ppm | faults->late_error_ppm | faults->short_ppm) == 0;
}

/* What has waited takes effect as if it were submitted now. */
static void
let_go(struct sim *sim, struct sickness *sickness)
{
	struct fifo_node *node;

	while ((node = fifo_pop(&sickness->stalled)) != NULL)
		sim_event_put(sim, container_of(node, struct sim_event, node), sim->now_ns + delay(sim, sickness));
}

void
sim_file_set_faults(struct sim *sim, const char *path, const struct sim_file_faults *faults)
{
	struct sickness *sickness = sickness_find(sim, path);
	uint64_t ppm = (uint64_t)faults->error_ppm << 32 | faults->late_error_ppm;

	sim_trace(sim, SIM_FAULTS, sim_file_name(path), ppm,
	    (uint64_t)faults->short_ppm << 32 ^ (uint64_t)faults->slow << 1 ^ faults->stalled);
	if (sickness == NULL)
		sickness = sickness_make(sim, path);
	sickness->faults = *faults;
	if (!faults->stalled)
		let_go(sim, sickness);
	if (!is_well(faults))
		return;
	list_remove(&sickness->node);
	arena_free(&sim->arena, sickness->path);
	arena_free(&sim->arena, sickness);
}

/* In whole sectors, as a kernel that reads and writes past its cache; 0: there is but one. */
static int64_t
shorten(struct sim *sim, uint64_t bytes, uint32_t align)
{
	uint64_t units = (bytes + align - 1) / align;

	return units > 1 ? (int64_t)(align * (1 + rng_below(&sim->rng, units - 1))) : 0;
}

int64_t
sim_faults_draw(const struct sim_file *file, const struct file_io *io, uint64_t bytes, uint32_t align)
{
	struct sim *sim = file->sim;
	const struct sickness *sickness = sickness_find(sim, file->path);

	if (sickness == NULL)
		return 0;
	if (sim_chance(sim, sickness->faults.error_ppm))
		return -EIO;
	if (sim_chance(sim, sickness->faults.late_error_ppm))
		return sim_late(EIO);
	if ((io->op == FILE_READ || io->op == FILE_WRITE) && sim_chance(sim, sickness->faults.short_ppm))
		return shorten(sim, bytes, align);
	return 0;
}

uint64_t
sim_faults_delay(const struct sim_file *file)
{
	return delay(file->sim, sickness_find(file->sim, file->path));
}

bool
sim_faults_stall(const struct sim_file *file, struct sim_event *event)
{
	struct sickness *sickness = sickness_find(file->sim, file->path);

	if (sickness == NULL || !sickness->faults.stalled)
		return false;
	fifo_push(&sickness->stalled, &event->node);
	return true;
}
