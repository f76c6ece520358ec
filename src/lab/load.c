#include "lab/load.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"

enum { PS_PER_NS = 1000 };

/* Popular ranks are scattered over the slots: a prime has no divisor in common with fewer slots than it. */
static const uint64_t SCATTER = 2654435761;

/* ---- phases ---- */

static bool
works(const struct lab_load *load)
{
	uint32_t phases = load->job->phases;

	return load->begun && load->phase < load->setup->phase_count &&
	    (phases == 0 || (phases >> load->phase & 1) != 0);
}

/* Since when its bursts go on, or would. */
static uint64_t
burst_ns(const struct lab_load *load)
{
	return (load->reactor->now_ns - load->begin_ns) % load->job->every_ns;
}

/* Whether it only waits for its next burst. */
static bool
pauses(const struct lab_load *load)
{
	return load->job->every_ns > 0 && works(load) && burst_ns(load) >= load->job->burst_ns;
}

/* A gap to the next arrival. */
static void
arrive(struct lab_load *load)
{
	uint64_t ps = draw_exponential(&load->rng, load->gap_ps) + load->rest_ps;

	load->due_ns += ps / PS_PER_NS;
	load->rest_ps = ps % PS_PER_NS;
}

/* It begins to work: what would have arrived before is not made up for. */
static void
enter(struct lab_load *load, uint64_t at_ns, bool worked)
{
	if (load->job->rate == 0 || worked || !works(load))
		return;
	load->due_ns = at_ns;
	arrive(load);
}

/* The phase that it is by the reactor's time. */
static void
keep_time(struct lab_load *load)
{
	uint64_t now_ns = load->reactor->now_ns;

	if (!load->begun && now_ns >= load->begin_ns) {
		load->begun = true;
		load->phase_end_ns = load->begin_ns + load->setup->phases[0].ns;
		enter(load, load->begin_ns, false);
	}
	while (load->begun && load->phase < load->setup->phase_count && now_ns >= load->phase_end_ns) {
		bool worked = works(load);
		uint64_t at_ns = load->phase_end_ns;

		if (++load->phase < load->setup->phase_count)
			load->phase_end_ns += load->setup->phases[load->phase].ns;
		enter(load, at_ns, worked);
	}
}

/* ---- what comes next ---- */

static enum lab_op
next_op(struct lab_load *load, struct lab_io *io)
{
	uint64_t dice = rng_below(&load->rng, 100);
	enum lab_op op = LAB_READ;

	if (load->job->flush_every != 0 && io->writes == load->job->flush_every)
		return LAB_FLUSH;
	while (dice >= load->job->percent[op]) {
		dice -= load->job->percent[op];
		op++;
	}
	return op;
}

/* Whether a run of a stream begins, so that of I/Os as many are sequential as the job says. */
static bool
begins_run(struct lab_load *load)
{
	const struct lab_job *job = load->job;
	uint32_t sequential = job->sequential_percent, run = job->run > 0 ? job->run : 1;

	return sequential > 0 && rng_below(&load->rng, sequential + (uint64_t)run * (100 - sequential)) < sequential;
}

static uint64_t
next_slot(struct lab_load *load)
{
	uint64_t slot;

	if (load->run_left == 0 && begins_run(load)) {
		load->run_left = load->job->run > 0 ? load->job->run : 1;
		load->turn = (load->turn + 1) % load->streams;
	}
	if (load->run_left > 0) {
		load->run_left--;
		slot = load->at[load->turn];
		load->at[load->turn] = (slot + 1) % load->slots;
		return slot;
	}
	if (load->job->zipf_percent > 0)
		return (uint64_t)((unsigned __int128)draw_zipf(&load->zipf, &load->rng) * SCATTER % load->slots);
	return rng_below(&load->rng, load->slots);
}

static void
begin(struct lab_load *load, struct lab_io *io, uint64_t since_ns)
{
	io->since_ns = since_ns;
	io->begun_ns = 0;
	io->op = next_op(load, io);
	io->fua = load->job->fua && io->op == LAB_WRITE;
	io->writes = io->op == LAB_FLUSH ? 0 : io->writes + (io->op == LAB_WRITE);
	io->blocks = io->op == LAB_FLUSH ? 0 : load->blocks;
	io->lba = io->op == LAB_FLUSH ? 0 : load->first + next_slot(load) * load->blocks;
	load->submit(io);
}

/* Begins what may begin, and says when to be called again. */
static void
go_on(struct lab_load *load)
{
	uint64_t now_ns = load->reactor->now_ns, wake_ns;

	keep_time(load);
	wake_ns = !load->begun ? load->begin_ns :
	    load->phase < load->setup->phase_count ? load->phase_end_ns : UINT64_MAX;
	if (pauses(load)) {
		uint64_t next_ns = now_ns - burst_ns(load) + load->job->every_ns;

		wake_ns = next_ns < wake_ns ? next_ns : wake_ns;
	}
	while (works(load) && !pauses(load) && !fifo_empty(&load->idle)) {
		uint64_t since_ns = now_ns;

		if (load->job->rate > 0) {
			since_ns = load->due_ns;
			if (since_ns > now_ns) {
				wake_ns = since_ns < wake_ns ? since_ns : wake_ns;
				break;
			}
			arrive(load);
		}
		begin(load, container_of(fifo_pop(&load->idle), struct lab_io, node), since_ns);
	}
	if (wake_ns != UINT64_MAX)
		timer_set(&load->reactor->timers, &load->timer, wake_ns);
}

static void
wake(struct timer *timer)
{
	go_on(container_of(timer, struct lab_load, timer));
}

static void
count(struct lab_load *load, const struct lab_io *io, bool failed)
{
	uint64_t now_ns = load->reactor->now_ns;
	uint64_t bytes = (uint64_t)io->blocks * load->setup->devices[load->job->device].block_size;
	struct lab_measure *measure = &load->measures[load->phase];

	if (load->bins != NULL && !failed)
		load->bins[(now_ns - load->begin_ns) / load->setup->bin_ns].bytes[io->op] += bytes;
	if (!load->setup->phases[load->phase].measured)
		return;
	if (failed) {
		measure->failed++;
		return;
	}
	hist_add(&measure->latency[io->op], now_ns - io->since_ns);
	if (io->begun_ns > 0)
		hist_add(&measure->served[io->op], now_ns - io->begun_ns);
	measure->bytes[io->op] += bytes;
}

void
lab_load_done(struct lab_io *io, bool failed)
{
	struct lab_load *load = io->load;

	keep_time(load);
	if (load->phase < load->setup->phase_count)
		count(load, io, failed);
	fifo_push(&load->idle, &io->node);
	go_on(load);
}

/* ---- making it ---- */

int
lab_load_init(struct lab_load *load, const struct lab_setup *setup, unsigned index, uint64_t blocks,
    struct reactor *reactor, struct arena *arena, uint64_t seed)
{
	const struct lab_job *job = &setup->jobs[index];
	uint32_t block_size = setup->devices[job->device].block_size;
	uint64_t span = job->span / block_size;

	*load = (struct lab_load){
		.job = job, .setup = setup, .reactor = reactor, .blocks = job->bytes / block_size,
		.first = job->first / block_size, .streams = job->streams > 0 ? job->streams : 1,
		.timer.fire = wake,
	};
	if (load->first >= blocks || span > blocks - load->first)
		return -EINVAL;
	load->slots = (span > 0 ? span : blocks - load->first) / load->blocks;
	if (load->slots == 0)
		return -EINVAL;
	load->ios = arena_alloc(arena, job->depth * sizeof(*load->ios));
	if (load->ios == NULL)
		return -ENOMEM;
	fifo_init(&load->idle);
	for (uint32_t i = 0; i < job->depth; i++) {
		load->ios[i].load = load;
		fifo_push(&load->idle, &load->ios[i].node);
	}
	rng_seed(&load->rng, seed + index);
	for (uint32_t i = 0; i < load->streams; i++)
		load->at[i] = i == 0 ? 0 : rng_below(&load->rng, load->slots);
	if (job->zipf_percent > 0)
		draw_zipf_init(&load->zipf, load->slots, job->zipf_percent);
	if (job->rate > 0)
		load->gap_ps = UINT64_C(1000000000000) / job->rate;
	return 0;
}

void
lab_load_begin(struct lab_load *load, uint64_t begin_ns)
{
	assert(load->submit != NULL && begin_ns >= load->reactor->now_ns);
	load->begin_ns = begin_ns;
	go_on(load);
}
