/*
 * fabric.c - the real target and real hosts, in virtual time: each job has a queue of its own.
 *
 * All devices are namespaces of one subsystem, in the order in which they are
 * declared.  The hosts have connected long before the first phase begins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "host/lane.h"
#include "host/subsys.h"
#include "lab/internal.h"
#include "target/target.h"

#define FABRIC_TARGET "10.0.0.2" /* of the first process */
#define FABRIC_NQN "nqn.2026-11.local.weir:lab"

enum {
	PORT = 4420,
	START_NS = 1000 * 1000, /* of hosts, when the target listens */
	BEGIN_NS = 200 * 1000 * 1000,
	SMALL_BUFS = 8192, LARGE_BUFS = 2048, /* enough for all that may be in flight: it takes memory only when used */
};

struct fabric_host;

struct fabric_job {
	struct fabric_host *host;
	unsigned index;
	struct subsys_find find;
	struct lane *lane;
	struct lab_load load;
	bool ready;
};

struct fabric_host {
	struct fabric *fabric;
	unsigned index, jobs;   /* how many of the jobs are its */
	struct reactor *reactor;
	struct subsys *subsys;
};

struct fabric {
	struct lab *lab;
	const struct lab_setup *setup;
	struct lab_outcome *outcome;
	struct target *target;
	struct blk *volumes[LAB_DEVICES_MAX]; /* the devices themselves */
	struct fair_volume fair[LAB_DEVICES_MAX];
	struct fair_host terms[LAB_HOSTS_MAX]; /* ascending */
	struct fabric_host hosts[LAB_HOSTS_MAX];
	struct fabric_job jobs[LAB_JOBS_MAX];
};

/* ---- the target ---- */

static void
host_name(unsigned host, char *name, size_t room)
{
	snprintf(name, room, "nqn.2026-11.local.weir:host%03u", host);
}

/* What hosts may have of devices that they share. */
static void
tell_terms(struct fabric *fabric, struct target_config *config)
{
	const struct lab_setup *setup = fabric->setup;

	for (unsigned h = 0; h < setup->hosts; h++) {
		struct fair_host *host = &fabric->terms[h];
		const struct policy_tenant *said = NULL;

		for (unsigned j = setup->job_count; j-- > 0;)
			if (setup->jobs[j].host == h)
				said = &setup->jobs[j].terms;
		*host = (struct fair_host){ .group = FAIR_NO_GROUP, .weight = 1 };
		host_name(h, host->nqn, sizeof(host->nqn));
		if (said == NULL)
			continue;
		host->weight = said->weight > 0 ? said->weight : 1;
		memcpy(host->limits.limits, said->caps, sizeof(said->caps));
		host->limits.burst_ms = said->burst_ms;
	}
	config->fair = (struct fair_terms){ .hosts = fabric->terms, .host_count = setup->hosts };
}

/* What is served of a device: itself, or behind the switch. */
static int
share(struct fabric *fabric, struct reactor *reactor, unsigned d, struct target_ns *ns)
{
	const struct lab_device *device = &fabric->setup->devices[d];

	ns->volume = fabric->volumes[d];
	if (device->policy != &policy_switch)
		return 0;
	fabric->fair[d] = (struct fair_volume){ .paced = true, .params = device->terms.params };
	ns->fair = &fabric->fair[d];
	return fair_open(reactor, d % reactor->count, fabric->volumes[d], &ns->volume);
}

static int
target_make(struct fabric *fabric, struct reactor *reactor, char why[256])
{
	struct target_listen listen = { .host = FABRIC_TARGET, .port = PORT };
	struct target_ns ns[LAB_DEVICES_MAX] = { 0 };
	struct target_subsys subsys = { .nqn = FABRIC_NQN, .listeners = 1, .ns = ns,
		.ns_count = fabric->setup->device_count };
	struct target_config config = { .listen = &listen, .listen_count = 1, .subsys = &subsys, .subsys_count = 1 };

	for (unsigned d = 0; d < fabric->setup->device_count; d++) {
		int error = lab_open(fabric->lab, reactor, &fabric->setup->devices[d], &fabric->volumes[d]);

		if (error != 0)
			return error;
		ns[d].nsid = d + 1;
		ns[d].id[0] = (uint8_t)(d + 1);
		error = share(fabric, reactor, d, &ns[d]);
		if (error != 0)
			return error;
	}
	tell_terms(fabric, &config);
	return target_create(reactor->arena, &config, &fabric->target, why);
}

static int
target_process_start(struct reactor *reactor, void *arg)
{
	struct fabric *fabric = arg;
	char why[256] = "";
	int error = fabric->target == NULL ? target_make(fabric, reactor, why) : 0;

	if (error == 0)
		error = target_start(fabric->target, reactor, why);
	if (error != 0)
		lab_refuse(fabric->lab, "the target does not start: %s", why);
	return error;
}

/* ---- I/O ---- */

static void
done(void *arg, const struct lane_result *result)
{
	lab_load_done(arg, result->error != 0);
}

static void
submit(struct lab_io *io)
{
	static const enum lane_op ops[LAB_OPS] = {
		[LAB_READ] = LANE_READ, [LAB_WRITE] = LANE_WRITE, [LAB_FLUSH] = LANE_FLUSH,
		[LAB_TRIM] = LANE_DEALLOCATE,
	};
	struct fabric_job *job = io->load->owner;
	struct lane_range range = { io->lba, io->blocks };
	struct lane_io ask = {
		.op = (uint8_t)ops[io->op], .nsid = io->load->job->device + 1,
		.flags = (uint8_t)((io->fua ? LANE_FUA : 0) | io->load->job->priority << LANE_PRIORITY_SHIFT),
		.done = done, .arg = io,
	};
	int error;

	if (io->op == LAB_TRIM) {
		ask.ranges = &range;
		ask.range_count = 1;
	} else if (io->op != LAB_FLUSH) {
		ask.lba = io->lba;
		ask.blocks = io->blocks;
		ask.iov = &io->iov;
		ask.iov_count = 1;
	}
	error = lane_submit(job->lane, &ask);
	assert(error == 0);
}

/* ---- hosts ---- */

static void
lane_ready(struct lane *lane, int error, const char *why)
{
	struct fabric_job *job = lane_owner(lane);

	if (error != 0)
		lab_refuse(job->host->fabric->lab, "job %s has no queue: %s", job->load.job->name, why);
	else
		lab_load_begin(&job->load, BEGIN_NS);
	job->ready = error == 0;
}

/* What is written is always the same, and what is read is not looked at: all I/Os of a job share their buffer. */
static int
job_start(struct fabric_job *job, const struct subsys_ns *ns)
{
	struct fabric *fabric = job->host->fabric;
	struct reactor *reactor = job->host->reactor;
	const struct lab_job *given = &fabric->setup->jobs[job->index];
	struct lane_options options = { .depth = given->depth, .ready = lane_ready, .owner = job };
	void *buffer = arena_alloc_aligned(reactor->arena, given->bytes, 4096);
	int error = buffer != NULL ? lab_load_init(&job->load, fabric->setup, job->index, ns->blocks, reactor,
	    reactor->arena, fabric->lab->seed) : -ENOMEM;

	if (error == -EINVAL)
		lab_refuse(fabric->lab, "the place of job %s is not on its device, %s", given->name,
		    fabric->setup->devices[given->device].spec);
	if (error != 0)
		return error;
	for (uint32_t i = 0; i < given->depth; i++)
		job->load.ios[i].iov = (struct iovec){ buffer, given->bytes };
	job->load.measures = &fabric->outcome->measures[(size_t)job->index * fabric->setup->phase_count];
	job->load.submit = submit;
	job->load.owner = job;
	return lane_open(reactor, job->host->subsys, &options, &job->lane);
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct fabric_job *job = find->owner;

	if (ns == NULL)
		lab_refuse(job->host->fabric->lab, "a host finds no device for a job: %s", why);
	else if ((error = job_start(job, ns)) != 0)
		lab_refuse(job->host->fabric->lab, "a job cannot begin: %s", strerrordesc_np(-error));
}

static void
subsys_ready(struct subsys *subsys, int error, const char *why)
{
	struct fabric_host *host = subsys_owner(subsys);
	struct fabric *fabric = host->fabric;

	if (error != 0) {
		lab_refuse(fabric->lab, "host %u does not come to the target: %s", host->index, why);
		return;
	}
	for (unsigned j = 0; j < fabric->setup->job_count; j++) {
		struct fabric_job *job = &fabric->jobs[j];

		if (job->host != host)
			continue;
		job->find = (struct subsys_find){
			.nsid = fabric->setup->jobs[j].device + 1, .found = found, .owner = job,
		};
		subsys_find(subsys, &job->find);
	}
}

static int
host_start(struct reactor *reactor, void *arg)
{
	struct fabric_host *host = arg;
	struct subsys_options options = {
		.subnqn = FABRIC_NQN, .queues = (uint16_t)host->jobs, .kato_ms = 10000, .connect_ms = 5000,
		.io_timeout_ms = 600000, .reconnect_ms = 10, .reconnect_max_ms = 1000, .loss_ms = UINT32_MAX,
		.ready = subsys_ready, .owner = host,
	};
	struct subsys_address address = { .host = FABRIC_TARGET, .port = PORT };

	host->reactor = reactor;
	reactor->on_mail = host_on_mail;
	host_name(host->index, options.hostnqn, sizeof(options.hostnqn));
	put_le64(options.hostid, host->index + 1);
	return subsys_open(reactor, &options, &address, 1, &host->subsys);
}

/* ---- all of it ---- */

static void
hosts_make(struct fabric *fabric, struct sim *sim)
{
	for (unsigned j = 0; j < fabric->setup->job_count; j++) {
		struct fabric_host *host = &fabric->hosts[fabric->setup->jobs[j].host];

		fabric->jobs[j] = (struct fabric_job){ .host = host, .index = j };
		host->jobs++;
	}
	for (unsigned h = 0; h < fabric->setup->hosts; h++) {
		struct fabric_host *host = &fabric->hosts[h];
		struct sim_process_options process = { .start = host_start, .arg = host };

		host->fabric = fabric;
		host->index = h;
		if (host->jobs > 0)
			sim_process_create(sim, "host", 1, &process);
	}
}

/* Whether the target serves and every job can begin; else the lab knows why not. */
static bool
come_to_work(struct fabric *fabric, struct sim *sim)
{
	struct sim_process_options process = {
		.reactor = { SMALL_BUFS, LARGE_BUFS }, .start = target_process_start, .arg = fabric,
	};
	struct sim_process *target = sim_process_create(sim, "target", fabric->setup->reactors, &process);

	sim_run_until(sim, START_NS, NULL, NULL);
	if (!sim_process_running(target)) {
		lab_refuse(fabric->lab, "the target does not start: %s", strerrordesc_np(-sim_process_error(target)));
		return false;
	}
	hosts_make(fabric, sim);
	sim_run_until(sim, BEGIN_NS / 2, NULL, NULL);
	for (unsigned j = 0; j < fabric->setup->job_count; j++)
		if (!fabric->jobs[j].ready) {
			lab_refuse(fabric->lab, "job %s has not come to work", fabric->setup->jobs[j].name);
			return false;
		}
	return true;
}

bool
fabric_run(struct lab *lab, const struct lab_setup *setup, struct lab_outcome *outcome)
{
	struct lab_world world = lab_world_varied(lab, setup);
	struct sim_options options = lab_sim_options(lab, &world);
	struct fabric *fabric = lab_alloc(lab, sizeof(*fabric));
	struct sim *sim = sim_create(lab->seed, &options);
	bool works;

	fabric->lab = lab;
	fabric->setup = setup;
	fabric->outcome = outcome;
	works = come_to_work(fabric, sim);
	if (works)
		lab_play(lab, sim, BEGIN_NS, fabric->volumes, outcome, NULL, NULL);
	sim_destroy(sim);
	return works;
}
