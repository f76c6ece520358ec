/*
 * direct.c - devices alone, or each behind a policy: one reactor that submits to them and sees what ends.
 *
 * For what a device is by itself, or who decides what goes to it.  A turn is so
 * short that what is measured is that, and no network or protocol is in the way.
 */
#include <errno.h>
#include <string.h>

#include "lab/front.h"
#include "lab/internal.h"

enum { BEGIN_NS = 1000 * 1000 };

struct direct {
	struct lab *lab;
	const struct lab_setup *setup;
	struct lab_outcome *outcome;
	struct blk *volumes[LAB_DEVICES_MAX];
	struct lab_front fronts[LAB_DEVICES_MAX];
	struct direct_job *jobs;
};

struct direct_job {
	struct lab_load load;
	struct blk_chan *chan;
	struct lab_front *front; /* NULL: nothing is before the device */
	unsigned index;
	struct direct_io *ios;   /* beside those of the load */
};

struct direct_io {
	struct blk_io blk;
	struct iovec iov;
	struct blk_range range;
	struct lab_front_io front;
};

static struct direct_io *
direct_io_of(const struct lab_io *io)
{
	struct direct_job *job = io->load->owner;

	return &job->ios[io - io->load->ios];
}

static void
done(struct blk_io *blk, struct nvme_status status)
{
	struct lab_io *io = blk->owner;
	struct direct_job *job = io->load->owner;

	if (job->front == NULL) {
		lab_load_done(io, !nvme_ok(status));
		return;
	}
	lab_front_done(job->front, &direct_io_of(io)->front);
	lab_load_done(io, !nvme_ok(status));
	lab_front_go_on(job->front);
}

static void
go(struct lab_io *io)
{
	static const enum blk_op ops[LAB_OPS] = {
		[LAB_READ] = BLK_READ, [LAB_WRITE] = BLK_WRITE, [LAB_FLUSH] = BLK_FLUSH, [LAB_TRIM] = BLK_TRIM,
	};
	struct direct_job *job = io->load->owner;
	struct direct_io *dio = direct_io_of(io);
	struct blk_io *blk = &dio->blk;

	*blk = (struct blk_io){
		.op = ops[io->op], .flags = io->fua ? BLK_FUA : 0, .lba = io->lba, .blocks = io->blocks, .done = done,
		.owner = io,
	};
	dio->range = (struct blk_range){ io->lba, io->blocks };
	dio->iov = io->iov;
	if (io->op == LAB_TRIM) {
		blk->ranges = &dio->range;
		blk->range_count = 1;
	} else if (io->op != LAB_FLUSH) {
		blk->iov = &dio->iov;
		blk->iov_count = 1;
	}
	blk_submit(job->chan, blk);
}

static void
submit(struct lab_io *io)
{
	struct direct_job *job = io->load->owner;

	if (job->front != NULL)
		lab_front_arrive(job->front, &direct_io_of(io)->front, io, job->index);
	else
		go(io);
}

/* What is written is always the same, and what is read is not looked at: all I/Os of a job share their buffer. */
static int
job_start(struct direct *direct, struct reactor *reactor, unsigned index)
{
	struct direct_job *job = &direct->jobs[index];
	const struct lab_job *given = &direct->setup->jobs[index];
	struct blk *blk = direct->volumes[given->device];
	void *buffer = arena_alloc_aligned(reactor->arena, given->bytes, 4096);
	int error = lab_load_init(&job->load, direct->setup, index, blk->blocks, reactor, reactor->arena,
	    direct->lab->seed);

	if (error == -EINVAL)
		lab_refuse(direct->lab, "the place of job %s is not on its device, %s", given->name, blk->spec);
	if (error != 0)
		return error;
	job->ios = arena_alloc(reactor->arena, given->depth * sizeof(*job->ios));
	if (buffer == NULL || job->ios == NULL)
		return -ENOMEM;
	job->index = index;
	job->front = direct->setup->devices[given->device].policy != NULL ? &direct->fronts[given->device] : NULL;
	for (uint32_t i = 0; i < given->depth; i++) {
		job->load.ios[i].iov = (struct iovec){ buffer, given->bytes };
		job->ios[i].front.go = go;
	}
	if (direct->outcome->bin_count > 0)
		job->load.bins = lab_bins_of(direct->outcome, index);
	job->load.measures = &direct->outcome->measures[(size_t)index * direct->setup->phase_count];
	job->load.submit = submit;
	job->load.owner = job;
	error = blk->ops->open_chan(blk, reactor, &job->chan);
	if (error == 0)
		lab_load_begin(&job->load, BEGIN_NS);
	return error;
}

static int
start(struct reactor *reactor, void *arg)
{
	struct direct *direct = arg;
	int error = 0;

	for (unsigned d = 0; error == 0 && d < direct->setup->device_count; d++) {
		error = lab_open(direct->lab, reactor, &direct->setup->devices[d], &direct->volumes[d]);
		if (error == 0 && direct->setup->devices[d].policy != NULL)
			error = lab_front_init(&direct->fronts[d], direct->setup, d, reactor);
	}
	for (unsigned j = 0; error == 0 && j < direct->setup->job_count; j++)
		error = job_start(direct, reactor, j);
	return error;
}

/* What can be seen of the policies where a piece of time ends. */
static void
look(void *arg, unsigned bin)
{
	struct direct *direct = arg;

	for (unsigned d = 0; d < direct->setup->device_count; d++)
		if (direct->setup->devices[d].policy != NULL)
			policy_look(direct->fronts[d].policy,
			    &direct->outcome->views[(size_t)d * direct->outcome->bin_count + bin]);
}

bool
direct_run(struct lab *lab, const struct lab_setup *setup, struct lab_outcome *outcome)
{
	struct lab_world world = lab_world_varied(lab, setup);
	struct sim_options options = lab_sim_options(lab, &world);
	struct direct direct = { .lab = lab, .setup = setup, .outcome = outcome };
	struct sim_process_options process = { .start = start, .arg = &direct };
	struct sim *sim = sim_create(lab->seed, &options);
	struct sim_process *made;
	bool runs;

	direct.jobs = lab_alloc(lab, setup->job_count * sizeof(*direct.jobs));
	made = sim_process_create(sim, "devices", 1, &process);
	sim_run_until(sim, BEGIN_NS / 2, NULL, NULL);
	runs = sim_process_running(made);
	if (runs)
		lab_play(lab, sim, BEGIN_NS, direct.volumes, outcome, look, &direct);
	else
		lab_refuse(lab, "the devices cannot be used: %s", strerrordesc_np(-sim_process_error(made)));
	sim_destroy(sim);
	return runs;
}
