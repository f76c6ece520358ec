/*
 * setup.c - making the declaration of a measurement, and whether it can be run.
 */
#include "lab/setup.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
lab_setup_init(struct lab_setup *setup, enum lab_rig rig)
{
	memset(setup, 0, sizeof(*setup));
	setup->rig = rig;
	setup->hosts = setup->reactors = 1;
	if (rig == LAB_FABRIC)
		setup->world = (struct lab_world){
			.turn_ns = 500, .io_ns = 1000, .byte_ps = 100, .latency_ns = 10000, .mbit = 25000,
			.segment_bytes = 8960 /* what a jumbo frame has room for */, .mail_ns = 200,
			.file_ns = 10000,
		};
	else /* so little that the figures are the device's; but not nothing: time must go on */
		setup->world = (struct lab_world){ .turn_ns = 100, .file_ns = 10000 };
}

struct lab_device *
lab_setup_device(struct lab_setup *setup, const char *format, ...)
{
	struct lab_device *device = &setup->devices[setup->device_count++];
	va_list args;

	assert(setup->device_count <= LAB_DEVICES_MAX);
	va_start(args, format);
	vsnprintf(device->spec, sizeof(device->spec), format, args);
	va_end(args);
	device->block_size = 4096;
	return device;
}

struct lab_job *
lab_setup_job(struct lab_setup *setup, const char *name, enum lab_op op, uint32_t bytes, uint32_t depth)
{
	struct lab_job *job = &setup->jobs[setup->job_count++];

	assert(setup->job_count <= LAB_JOBS_MAX);
	snprintf(job->name, sizeof(job->name), "%s", name);
	job->percent[op] = 100;
	job->bytes = bytes;
	job->depth = depth;
	return job;
}

struct lab_phase *
lab_setup_phase(struct lab_setup *setup, const char *name, uint64_t ns, bool measured)
{
	struct lab_phase *phase = &setup->phases[setup->phase_count++];

	assert(setup->phase_count <= LAB_PHASES_MAX);
	snprintf(phase->name, sizeof(phase->name), "%s", name);
	phase->ns = ns;
	phase->measured = measured;
	return phase;
}

static const char *
job_wrong(const struct lab_setup *setup, const struct lab_job *job)
{
	uint32_t percent = 0;

	for (unsigned op = 0; op < LAB_OPS; op++)
		percent += job->percent[op];
	if (percent != 100)
		return "the percents of a job's operations do not make 100";
	if (job->device >= setup->device_count)
		return "a job is on a device that is not there";
	if (setup->rig == LAB_FABRIC && job->host >= setup->hosts)
		return "a job is on a host that is not there";
	if (job->depth < 1 || job->depth > LAB_DEPTH_MAX)
		return "the depth of a job is 1 to 1000";
	if (job->bytes == 0 || job->bytes > LAB_BYTES_MAX ||
	    job->bytes % setup->devices[job->device].block_size != 0)
		return "the size of a job's I/Os is a whole number of blocks, up to 1 MiB";
	if (job->first % job->bytes != 0)
		return "the place of a job begins at a multiple of the size of its I/Os";
	if (job->sequential_percent > 100)
		return "the sequential share of a job is 100 percent at most";
	if (job->streams > LAB_STREAMS_MAX)
		return "a job has 64 streams at most";
	if (job->zipf_percent > 200)
		return "the exponent of a job's skew is 2.00 at most";
	if (job->burst_ns > job->every_ns)
		return "a job's burst is longer than what it is a part of";
	if (job->priority >= QOS_PRIORITIES)
		return "the priority of a job is 0 to 3";
	return NULL;
}

static const char *
device_wrong(const struct lab_setup *setup, const struct lab_device *device)
{
	if (device->block_size != 512 && device->block_size != 4096)
		return "a block has 512 or 4096 bytes";
	if (setup->rig == LAB_FABRIC && device->policy != NULL && device->policy != &policy_fifo &&
	    device->policy != &policy_switch)
		return "the target shares a device by the switch, or not at all";
	return NULL;
}

static uint64_t
lasts_ns(const struct lab_setup *setup)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < setup->phase_count; i++)
		ns += setup->phases[i].ns;
	return ns;
}

unsigned
lab_setup_bins(const struct lab_setup *setup)
{
	return setup->bin_ns > 0 ? (unsigned)(lasts_ns(setup) / setup->bin_ns) : 0;
}

static const char *
bins_wrong(const struct lab_setup *setup)
{
	if (setup->bin_ns == 0)
		return NULL;
	if (setup->rig != LAB_DIRECT)
		return "pieces of time are of the direct rig";
	if (lasts_ns(setup) % setup->bin_ns != 0 || lasts_ns(setup) / setup->bin_ns > LAB_BINS_MAX)
		return "there are up to a million pieces of time, and they make all phases";
	return NULL;
}

static const char *
phases_wrong(const struct lab_setup *setup)
{
	bool measured = false;

	for (unsigned i = 0; i < setup->phase_count; i++) {
		if (setup->phases[i].ns == 0)
			return "a phase has no time";
		measured |= setup->phases[i].measured;
	}
	return measured ? NULL : "no phase is measured";
}

const char *
lab_setup_wrong(const struct lab_setup *setup)
{
	if (setup->world.turn_ns == 0)
		return "a turn takes no time: nothing would ever end";
	if (setup->device_count == 0 || setup->job_count == 0)
		return "there is no device, or no job";
	if (setup->hosts < 1 || setup->hosts > LAB_HOSTS_MAX || setup->reactors < 1 ||
	    setup->reactors > LAB_REACTORS_MAX)
		return "there are 1 to 64 hosts, and 1 to 16 reactors";
	if (bins_wrong(setup) != NULL)
		return bins_wrong(setup);
	for (unsigned i = 0; i < setup->device_count; i++) {
		const char *why = device_wrong(setup, &setup->devices[i]);

		if (why != NULL)
			return why;
	}
	for (unsigned i = 0; i < setup->job_count; i++) {
		const char *why = job_wrong(setup, &setup->jobs[i]);

		if (why != NULL)
			return why;
	}
	return phases_wrong(setup);
}
