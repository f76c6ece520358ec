/*
 * reserved.c - the target that hosts quarrel at, and is killed at any event.
 */
#include "reserved.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "resv/image.h"

enum { CRASHES = 14 };

void
rsvd_wrong(struct reserved *r, const char *format, ...)
{
	va_list args;
	int at;

	if (r->wrong++ > 0)
		return;
	at = snprintf(r->what, sizeof(r->what), "seed %llu, life %u, %llu us: ", (unsigned long long)r->seed,
	    r->crashes, (unsigned long long)sim_now(r->sim) / 1000);
	va_start(args, format);
	vsnprintf(r->what + at, sizeof(r->what) - (size_t)at, format, args);
	va_end(args);
}

/* ---- the target ---- */

static int
make(struct reserved *r, struct reactor *reactor, char why[256])
{
	struct rsvd_config config;

	for (unsigned i = 0; i < RSVD_NS; i++) {
		int rc = rsvd_volume_open(r, reactor, i, why);

		if (rc != 0)
			return rc;
		r->ns[i].there = RSVD_IS;
	}
	rsvd_config(r, (1u << RSVD_NS) - 1, &config);
	return target_create(reactor->arena, &config.config, &r->target, why);
}

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct reserved *r = arg;
	char why[256] = "";
	int rc = 0;

	if (r->started++ == 0)
		rc = make(r, reactor, why);
	if (rc == 0)
		rc = target_start(r->target, reactor, why);
	if (rc != 0)
		rsvd_wrong(r, "the target does not start: %s", why);
	else if (reactor->index == 0)
		rsvd_operate_begin(r, reactor);
	return rc;
}

/* ---- what is done to it ---- */

/* The moment of a write of what is kept is a good one to be killed; and some of them fail. */
static int64_t
file_fault(void *arg, const char *path, const struct file_io *io)
{
	static const unsigned events[] = { 1, 2, 4, 8, 16, 64 };
	struct reserved *r = arg;

	if (strncmp(path, RSVD_STATE "/", strlen(RSVD_STATE "/")) != 0 || io->op != FILE_WRITE)
		return 0;
	r->counts.state_writes++;
	if (!r->quiet && rng_below(&r->rng, 6) == 0) {
		uint64_t soon = sim_events(r->sim) + rng_below(&r->rng, events[rng_below(&r->rng, 6)]);

		if (soon < r->kill_at)
			r->kill_at = soon;
	}
	if (!r->fails || r->quiet || rng_below(&r->rng, 8) > 0)
		return 0;
	r->faults++;
	r->counts.faults++;
	if (rng_below(&r->rng, 3) == 0)
		return sim_late(EIO);
	if (rng_below(&r->rng, 2) == 0)
		return -ENOSPC;
	return (int64_t)(512 * (1 + rng_below(&r->rng, 4)));
}

static bool
is_time(void *arg)
{
	struct reserved *r = arg;

	return sim_events(r->sim) >= r->kill_at || r->wrong > 0;
}

static bool
is_formatting(const struct reserved *r)
{
	char path[80];

	for (unsigned i = 0; i < RSVD_NS; i++) {
		uint8_t slots[RESV_SLOTS * RESV_SLOT_LEN] = { 0 };
		struct sim_file *file;

		rsvd_state_path(i, path);
		file = sim_file_find(r->sim, path);
		if (file == NULL)
			continue;
		sim_file_peek(file, 0, slots, sizeof(slots), true);
		if (slots[0] == 0 || slots[RESV_SLOT_LEN] == 0)
			return true;
	}
	return false;
}

/* What is sure to be kept, or is not, whatever worlds there are. */
static void
count_kept(struct reserved *r)
{
	for (unsigned ns = 0; ns < RSVD_NS; ns++) {
		const struct model *model = &r->models[ns];
		unsigned kept = 0;

		for (unsigned i = 0; i < model->count; i++)
			kept += model->worlds[i].state.ptpl && model->worlds[i].state.type != 0;
		r->counts.found += kept == model->count;
		r->counts.lost += kept == 0;
		r->counts.halves += kept > 0 && kept < model->count;
	}
}

static void
kill_target(struct reserved *r)
{
	static const unsigned flags[] = { 0, 0, SIM_CRASH_HALF_OPEN, SIM_CRASH_KEEPS_WRITES,
		SIM_CRASH_KEEPS_WRITES | SIM_CRASH_HALF_OPEN };

	r->counts.formatting += is_formatting(r);
	count_kept(r);
	sim_process_crash(r->target_process, flags[rng_below(&r->rng, 5)]);
	r->crashes++;
	r->counts.crashes++;
	r->crash_ns = sim_now(r->sim);
	for (unsigned ns = 0; ns < RSVD_NS; ns++) {
		model_crash(&r->models[ns]);
		r->ns[ns] = (struct rsvd_ns){ .there = RSVD_IS | RSVD_IS_NOT };
	}
	rsvd_unspoil(r);
	r->applying = false;
	rsvd_model_changed(r);
	r->kill_at = UINT64_MAX;
	sim_run_until(r->sim, sim_now(r->sim) + rng_below(&r->rng, 2 * RSVD_MS), NULL, NULL);
	r->started = 0;
	sim_process_start(r->target_process);
}

static void
live_and_die(struct reserved *r)
{
	static const unsigned lives[] = { 60, 1000, 5000, 40000 };
	unsigned life = lives[rng_below(&r->rng, 4)];

	r->kill_at = sim_events(r->sim) + 1 + rng_below(&r->rng, life);
	sim_run_until(r->sim, sim_now(r->sim) + 1000ull * RSVD_MS, is_time, r);
	if (r->wrong == 0)
		kill_target(r);
}

/* ---- a history ---- */

static bool
all_reported(void *arg)
{
	const struct reserved *r = arg;
	bool idle = r->last_reports > 4 * RSVD_HOSTS;

	for (unsigned i = 0; i < RSVD_HOSTS; i++)
		idle = idle && r->hosts[i].up;
	return idle || r->wrong > 0;
}

static void
check_end(struct reserved *r)
{
	r->quiet = true;
	r->kill_at = UINT64_MAX;
	if (sim_run_until(r->sim, sim_now(r->sim) + 3000ull * RSVD_MS, all_reported, r) != SIM_END_MET)
		rsvd_wrong(r, "hosts do not get their reports");
	/* What was under way when it was killed is known to have been done or not. */
	for (unsigned ns = 0; ns < RSVD_NS; ns++) {
		if (r->models[ns].vague)
			rsvd_wrong(r, "of namespace %u more may be so than the oracle can hold", ns);
		for (unsigned i = 0; i < r->models[ns].count && r->wrong == 0; i++)
			if (memcmp(&r->models[ns].worlds[i].state, &r->models[ns].worlds[0].state,
			    sizeof(struct model_state)) != 0)
				rsvd_wrong(r, "after all reports there is a doubt about namespace %u", ns);
	}
}

void
rsvd_play(struct reserved *r, uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options target = { .start = target_begin, .arg = r };

	r->seed = seed;
	rng_seed(&r->rng, seed ^ 0x7e5e);
	r->reactors = 1 + (unsigned)rng_below(&r->rng, RSVD_REACTORS);
	r->fails = seed % 3 == 2;
	r->kill_at = UINT64_MAX;
	for (unsigned ns = 0; ns < RSVD_NS; ns++) {
		model_init(&r->models[ns], true);
		for (unsigned i = 0; i < RSVD_CELLS; i++)
			r->cells[ns][i] = (struct rsvd_cell){ .values = { { .until_ns = UINT64_MAX } }, .count = 1 };
	}
	if (seed % 2 == 0) /* what is to be ended is at the device for long */
		options.io_jitter_ns = RSVD_MS;
	if (r->applies && seed % 4 < 2) /* reactors are told of a change one long after the other */
		options.mail_jitter_ns = 300 * RSVD_US;
	options.file_fault = file_fault;
	options.file_refusal = rsvd_file_refusal;
	options.file_sector = RSVD_SECTOR;
	options.arg = r;
	r->sim = sim_create(seed, &options);
	target.reactor.small_bufs = rng_below(&r->rng, 2) == 0 ? 20 : 256;
	target.reactor.large_bufs = 32;
	r->target_process = sim_process_create(r->sim, "target", r->reactors, &target);
	for (unsigned i = 0; i < RSVD_HOSTS; i++) {
		struct sim_process_options host = { .start = rsvd_host_start, .arg = &r->hosts[i] };

		r->hosts[i] = (struct rsvd_host){ .r = r, .index = i };
		r->host_process[i] = sim_process_create(r->sim, "host", 1, &host);
	}
	while (r->crashes < CRASHES && r->wrong == 0)
		live_and_die(r);
	if (r->wrong == 0)
		check_end(r);
}

void
rsvd_end(struct reserved *r)
{
	sim_destroy(r->sim);
}
