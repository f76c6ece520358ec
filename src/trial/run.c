/*
 * run.c - the course of a trial: makes all, plays, mends, waits, reads back, and judges what is left.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trial/internal.h"

static const uint64_t MS = 1000 * 1000, LOOK_NS = 1000 * 1000;

/* So long all may take, in virtual time, when nothing is wrong any more. */
enum { START_MS = 1000, REST_MS = 120 * 1000, KNOWN_MS = 20 * 1000, LEAVE_MS = 120 * 1000,
	IDLE_MS = 300 * 1000 /* who has connected and enabled no controller has two minutes */ };

/* ---- words ---- */

void
trial_wrong(struct trial *trial, const char *oracle, const char *format, ...)
{
	struct trial_result *result = trial->result;
	uint64_t now_us = sim_now(trial->sim) / 1000;
	va_list args;
	int at;

	if (result->end == TRIAL_WRONG)
		return;
	result->end = TRIAL_WRONG;
	snprintf(result->oracle, sizeof(result->oracle), "%s", oracle);
	at = snprintf(result->why, sizeof(result->why), "at %" PRIu64 ".%03" PRIu64 " ms: ", now_us / 1000,
	    now_us % 1000);
	va_start(args, format);
	vsnprintf(result->why + at, sizeof(result->why) - (size_t)at, format, args);
	va_end(args);
	trial_note(trial, "trial", "%s is wrong: %s", oracle, result->why);
}

void
trial_note(struct trial *trial, const char *who, const char *format, ...)
{
	char text[600];
	va_list args;

	if (trial->watch == NULL || trial->watch->log == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	trial->watch->log(trial->watch->arg, sim_now(trial->sim), who, text);
}

static void
on_log(void *arg, const char *process, unsigned reactor, int level, const char *text)
{
	(void)reactor;
	(void)level;
	trial_note(arg, process, "%s", text);
}

static void
on_trace(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	const struct trial *trial = arg;

	trial->watch->trace(trial->watch->arg, now_ns, kind, actor, a, b);
}

/* ---- the world ---- */

static uint32_t
small(const struct trial *trial, enum knob knob)
{
	return (uint32_t)trial_knob(trial, knob);
}

/* Far more than it should take: a busy reactor has some thousand events in a millisecond. */
static uint64_t
events_max(const struct trial *trial)
{
	uint64_t reactors = trial_knob(trial, KNOB_TARGETS) * trial_knob(trial, KNOB_TARGET_REACTORS) +
	    trial_knob(trial, KNOB_HOSTS) * trial_knob(trial, KNOB_HOST_REACTORS);

	if (trial->watch != NULL && trial->watch->max_events > 0)
		return trial->watch->max_events;
	return 20 * 1000 * 1000 + trial_knob(trial, KNOB_UNTIL_MS) * reactors * 5000;
}

static struct sim *
make_sim(struct trial *trial)
{
	struct sim_options options = sim_options_default();

	options.turn_ns = small(trial, KNOB_TURN_NS);
	options.io_ns = small(trial, KNOB_IO_NS);
	options.latency_ns = small(trial, KNOB_LATENCY_US) * 1000;
	options.jitter_ns = small(trial, KNOB_JITTER_US) * 1000;
	options.socket_bytes_min = small(trial, KNOB_SOCKET_MIN);
	options.socket_bytes_max = small(trial, KNOB_SOCKET_MAX);
	options.segment_max = small(trial, KNOB_SEGMENT);
	options.mbit = small(trial, KNOB_MBIT);
	options.short_ppm = small(trial, KNOB_SHORT_PPM);
	options.spurious_ppm = small(trial, KNOB_SPURIOUS_PPM);
	options.reset_ppm = small(trial, KNOB_RESET_PPM);
	options.mail_ns = small(trial, KNOB_MAIL_NS);
	options.mail_jitter_ns = small(trial, KNOB_MAIL_JITTER_NS);
	options.io_delay_ns = small(trial, KNOB_DISK_US) * 1000;
	options.io_jitter_ns = small(trial, KNOB_DISK_JITTER_US) * 1000;
	options.writeback_ppm = small(trial, KNOB_WRITEBACK_PPM);
	options.file_align = TRIAL_BLOCK; /* what a disk does to no end it does with whole blocks */
	options.max_events = events_max(trial);
	options.max_ns = (trial_knob(trial, KNOB_UNTIL_MS) + 3 * START_MS + 2 * REST_MS + KNOWN_MS + LEAVE_MS +
	    IDLE_MS) * MS;
	options.file_lost = served_file_lost;
	options.alike = wires_alike;
	options.log = trial->watch != NULL && trial->watch->log != NULL ? on_log : NULL;
	options.trace = trial->watch != NULL && trial->watch->trace != NULL ? on_trace : NULL;
	options.arg = trial;
	return sim_create(trial->plan->seed, &options);
}

static void
make(struct trial *trial)
{
	arena_init(&trial->arena, 0);
	list_init(&trial->faults);
	trial->calm_ns = calm_longest_ns(trial);
	rng_seed(&trial->rng, trial->plan->seed ^ 0x7121a1);
	trial->sim = make_sim(trial);
	trial->targets = arena_alloc(&trial->arena, trial_knob(trial, KNOB_TARGETS) * sizeof(*trial->targets));
	trial->users = arena_alloc(&trial->arena, trial_knob(trial, KNOB_HOSTS) * sizeof(*trial->users));
	assert(trial->targets != NULL && trial->users != NULL);
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		served_begin(trial, &trial->targets[i]);
}

/* ---- time ---- */

static bool
is_wrong(void *arg)
{
	return trial_is_wrong(arg);
}

/* What nobody has said, but follows from what others have. */
static void
look_at_histories(struct trial *trial, const struct served *served)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_VOLUMES); i++) {
		const char *wrong = history_wrong(served->volumes[i].history);

		if (wrong != NULL)
			trial_wrong(trial, "history", "volume %u of target %u: %s", i, served->index, wrong);
	}
}

/* What died by itself, without memory or a disk as it started, is started again. */
static void
look(struct trial *trial)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++) {
		struct served *served = &trial->targets[i];

		settle_look(served);
		lines_look(served);
		look_at_histories(trial, served);
		memory_look(served);
		if (!sim_process_running(served->process) && !fault_holds_down(trial, served, NULL))
			served_come(served);
	}
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++) {
		calm_look(&trial->users[i]);
		growth_look(&trial->users[i]);
	}
	fault_go_on(trial);
	ills_look(trial);
}

/* Goes on until then; false: the trial is over. */
static bool
run_until(struct trial *trial, uint64_t until_ns)
{
	enum sim_end end = sim_run_until(trial->sim, until_ns, is_wrong, trial);

	if (end == SIM_END_LIMIT && trial->result->end == TRIAL_RIGHT) {
		trial->result->end = TRIAL_LIMIT;
		snprintf(trial->result->why, sizeof(trial->result->why),
		    "it has not ended after %" PRIu64 " events and %" PRIu64 " ms", sim_events(trial->sim),
		    sim_now(trial->sim) / MS);
	} else if (end == SIM_END_IDLE && !fault_mend_first(trial)) {
		trial_wrong(trial, "stuck", "nothing will ever happen again");
	}
	if (trial->result->end != TRIAL_RIGHT)
		return false;
	fault_mend_due(trial);
	look(trial);
	return true;
}

/* Until what is asked for holds; false: the trial is over. */
static bool
wait_for(struct trial *trial, const char *oracle, bool (*met)(struct trial *trial, char why[160]), uint64_t most_ms)
{
	uint64_t until_ns = sim_now(trial->sim) + most_ms * MS;
	char why[160] = "";

	while (!met(trial, why)) {
		if (sim_now(trial->sim) >= until_ns)
			trial_wrong(trial, oracle, "after %" PRIu64 " ms without any fault %s", most_ms, why);
		if (!run_until(trial, sim_now(trial->sim) + LOOK_NS))
			return false;
	}
	return true;
}

/* ---- the acts ---- */

static bool
targets_are_up(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		if (!served_is_up(&trial->targets[i])) {
			snprintf(why, 160, "target %u has not started (%d)", i,
			    sim_process_error(trial->targets[i].process));
			return false;
		}
	return true;
}

static bool
targets_are_told(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		if (!served_is_told(&trial->targets[i])) {
			snprintf(why, 160, "target %u does not serve what it was told to", i);
			return false;
		}
	return true;
}

static bool
begin(struct trial *trial)
{
	if (!wait_for(trial, "stuck", targets_are_up, START_MS))
		return false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++) {
		served_weigh(&trial->targets[i]);
		served_show(&trial->targets[i], true);
	}
	if (!wait_for(trial, "stuck", targets_are_told, START_MS))
		return false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++) {
		trial->users[i].index = i;
		user_begin(trial, &trial->users[i]);
	}
	return true;
}

static bool
play(struct trial *trial)
{
	uint64_t begun_ns = sim_now(trial->sim), end_ns = begun_ns + trial_knob(trial, KNOB_UNTIL_MS) * MS;
	uint32_t next = 0;

	while (sim_now(trial->sim) < end_ns) {
		uint64_t until_ns = sim_now(trial->sim) + LOOK_NS;

		while (next < trial->plan->fault_count &&
		    begun_ns + trial->plan->faults[next].at_ns <= sim_now(trial->sim))
			fault_begin(trial, &trial->plan->faults[next++]);
		if (next < trial->plan->fault_count && begun_ns + trial->plan->faults[next].at_ns < until_ns)
			until_ns = begun_ns + trial->plan->faults[next].at_ns;
		if (fault_next_end(trial) < until_ns)
			until_ns = fault_next_end(trial);
		if (!run_until(trial, until_ns < end_ns ? until_ns : end_ns))
			return false;
	}
	return true;
}

static const char *
user_state_name(enum user_state state)
{
	static const char *const names[] = {
		[USER_AWAY] = "away", [USER_COMING] = "coming", [USER_AT_WORK] = "at work", [USER_LEAVING] = "leaving",
	};

	return names[state];
}

/* The I/O of the user that is under way for the longest time; NULL: none is. */
static const struct work *
oldest_work(const struct user *user)
{
	const struct work *oldest = NULL;

	for (uint32_t i = 0; i < user->work_count; i++)
		if (user->works[i].busy && (oldest == NULL || user->works[i].begun_ns < oldest->begun_ns))
			oldest = &user->works[i];
	return oldest;
}

static bool
user_is_at_rest(struct user *user, char why[160])
{
	const struct work *work = oldest_work(user);

	if (user->state != USER_AT_WORK) {
		snprintf(why, 160, "host %u is %s", user->index, user_state_name(user->state));
		return false;
	}
	if (work == NULL)
		return user_claims_rest(user, why);
	snprintf(why, 160, "host %u has %u I/Os under way; the oldest, %u on %u blocks from %u of volume %u of "
	    "target %u, since %" PRIu64 " us", user->index, user->in_flight, work->op, work->count, work->first,
	    work->volume->index, work->volume->served->index, work->begun_ns / 1000);
	return false;
}

static bool
all_is_at_rest(struct trial *trial, char why[160])
{
	if (!list_empty(&trial->faults)) {
		snprintf(why, 160, "a fault is not mended");
		return false;
	}
	if (!targets_are_up(trial, why) || !targets_are_told(trial, why))
		return false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		if (!user_is_at_rest(&trial->users[i], why))
			return false;
	return true;
}

/* What was told to targets last, all hosts know. */
static bool
all_is_known(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		for (unsigned t = 0; t < trial_knob(trial, KNOB_TARGETS); t++)
			if (!seat_knows(&trial->users[i].seats[t], why))
				return false;
	return true;
}

static bool
nothing_has_grown(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		if (!growth_is_none(&trial->users[i], why))
			return false;
	return true;
}

static bool
rest(struct trial *trial)
{
	trial_note(trial, "trial", "all is mended");
	fault_mend_all(trial);
	trial->resting = true;
	return wait_for(trial, "stuck", all_is_at_rest, REST_MS) &&
	    wait_for(trial, "events", all_is_known, KNOWN_MS) &&
	    wait_for(trial, "memory", nothing_has_grown, KNOWN_MS);
}

static bool
all_is_read(struct trial *trial, char why[160])
{
	snprintf(why, 160, "not all blocks are read back");
	return trial->read_back;
}

static bool
read_back(struct trial *trial)
{
	trial->reading_back = true;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		load_read_back(&trial->users[i]);
	return wait_for(trial, "stuck", all_is_read, REST_MS);
}

static bool
all_are_away(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		if (trial->users[i].state != USER_AWAY) {
			snprintf(why, 160, "host %u is still %s", i, user_state_name(trial->users[i].state));
			return false;
		}
	return true;
}

static bool
all_are_idle(struct trial *trial, char why[160])
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		if (!served_is_idle(&trial->targets[i], why))
			return false;
	return true;
}

/* Who has left is switched off, and the targets have their time. */
static bool
leave(struct trial *trial)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		user_leave(&trial->users[i]);
	if (!wait_for(trial, "stuck", all_are_away, LEAVE_MS))
		return false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_HOSTS); i++)
		sim_process_crash(trial->users[i].process, 0);
	return wait_for(trial, "stuck", all_are_idle, IDLE_MS);
}

static bool
all_are_as_before(struct trial *trial, char why[160])
{
	if (!targets_are_told(trial, why))
		return false;
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		if (!served_is_as_before(&trial->targets[i], why))
			return false;
	return true;
}

/* Nothing is served any more; and nothing may be left of what was. */
static bool
close_all(struct trial *trial)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		served_show(&trial->targets[i], false);
	return wait_for(trial, "leak", all_are_as_before, START_MS);
}

static void
count_what_was_not_judged(struct trial *trial)
{
	for (unsigned i = 0; i < trial_knob(trial, KNOB_TARGETS); i++)
		for (unsigned volume = 0; volume < trial_knob(trial, KNOB_VOLUMES); volume++)
			trial->result->counts.track_lost +=
			    history_track_lost(trial->targets[i].volumes[volume].history);
}

void
trial_run(const struct plan *plan, const struct trial_watch *watch, struct trial_result *result)
{
	struct trial trial = { .plan = plan, .watch = watch, .result = result };

	*result = (struct trial_result){ .end = TRIAL_RIGHT };
	make(&trial);
	if (begin(&trial) && play(&trial) && rest(&trial) && read_back(&trial) && leave(&trial))
		close_all(&trial);
	count_what_was_not_judged(&trial);
	result->hash = sim_hash(trial.sim);
	result->events = sim_events(trial.sim);
	result->end_ns = sim_now(trial.sim);
	sim_destroy(trial.sim);
	arena_drop(&trial.arena);
}
