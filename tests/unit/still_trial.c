#include "still_trial.h"

#include <string.h>

static const uint64_t US = 1000, MS = 1000 * 1000;

enum { MOMENT_US = 10, START_MS = 20 };

struct still still;

/* ---- making one ---- */

static void
make_plan(struct plan *plan)
{
	for (enum knob knob = 0; knob < KNOBS; knob++)
		plan->knobs[knob] = knob_rows[knob].calm;
	plan->knobs[KNOB_HOSTS] = STILL_HOSTS;
	plan->knobs[KNOB_DEPTH] = STILL_DEPTH;
	plan->knobs[KNOB_BLOCKS] = STILL_BLOCKS;
	plan->knobs[KNOB_IO_BLOCKS] = STILL_IO_BLOCKS;
	plan->knobs[KNOB_IN_RAM] = 0;
}

static void
make_host(struct trial *trial, unsigned index)
{
	struct user *user = &trial->users[index];

	user->trial = trial;
	user->index = index;
	user->claimant = MODEL_NOBODY;
	user->state = USER_AT_WORK;
	load_init(user);
}

static void
wait_for_target(void)
{
	for (unsigned i = 0; i < START_MS && !served_is_told(still.target); i++)
		still_pass(MS);
	assert_true(served_is_told(still.target));
}

int
still_setup(void **state)
{
	struct sim_options options = sim_options_default();
	struct trial *trial = &still.trial;

	(void)state;
	memset(&still, 0, sizeof(still));
	make_plan(&still.plan);
	*trial = (struct trial){ .plan = &still.plan, .result = &still.result, .sim = sim_create(1, &options) };
	arena_init(&trial->arena, 0);
	list_init(&trial->faults);
	still.target = trial->targets = arena_alloc(&trial->arena, sizeof(*trial->targets));
	trial->users = arena_alloc(&trial->arena, STILL_HOSTS * sizeof(*trial->users));
	assert_true(trial->targets != NULL && trial->users != NULL);
	served_begin(trial, still.target);
	served_show(still.target, true);
	still.volume = &still.target->volumes[0];
	for (unsigned i = 0; i < STILL_HOSTS; i++)
		make_host(trial, i);
	wait_for_target();
	still.target->now_since_ns = UINT64_MAX; /* what its operator has said explains any answer (access.c) */
	return 0;
}

int
still_teardown(void **state)
{
	(void)state;
	sim_destroy(still.trial.sim);
	arena_drop(&still.trial.arena);
	return 0;
}

void
still_again(void)
{
	still_teardown(NULL);
	still_setup(NULL);
}

/* ---- what happens ---- */

void
still_pass(uint64_t ns)
{
	struct sim *sim = still.trial.sim;

	assert_int_equal(sim_run_until(sim, sim_now(sim) + ns, NULL, NULL), SIM_END_TIME);
}

bool
still_is_right(void)
{
	return still.result.end == TRIAL_RIGHT;
}

const char *
still_oracle(void)
{
	return still.result.oracle;
}

static struct work *
idle_work(struct user *user)
{
	for (uint32_t i = 0; i < user->work_count; i++)
		if (!user->works[i].busy)
			return &user->works[i];
	fail_msg("host %u has %u I/Os under way", user->index, user->work_count);
	return NULL;
}

struct work *
still_begins(unsigned host, enum lane_op op, uint32_t first, uint32_t count)
{
	struct user *user = &still.trial.users[host];
	struct work *work = idle_work(user);

	assert_true(first + count <= STILL_BLOCKS && count <= STILL_IO_BLOCKS);
	still_pass(MOMENT_US * US);
	work->volume = still.volume;
	work->op = (uint8_t)op;
	work->first = first;
	work->count = count;
	work->fua = work->shaken = false;
	work->value = still.volume->next_value;
	still.volume->next_value += count;
	work->serial = ++user->serial;
	work->busy = true;
	work->begun_ns = sim_now(still.trial.sim);
	load_begun(work, work->begun_ns);
	return work;
}

void
still_shaken(unsigned host)
{
	load_shaken(&still.trial.users[host].seats[0]);
}

void
still_refused(struct work *work, int error, enum nvme_sc sc, bool dnr)
{
	struct lane_result result = { .error = error, .status = nvme_status_of(sc, dnr) };

	still_pass(MOMENT_US * US);
	work->busy = false;
	load_ended(work, &result);
}

void
still_ends(struct work *work, int error)
{
	still_refused(work, error, NVME_SC_SUCCESS, false);
}

uint64_t
still_written(unsigned host, uint32_t block)
{
	struct work *work = still_begins(host, LANE_WRITE, block, 1);

	still_ends(work, 0);
	return work->value;
}

bool
still_reads(unsigned host, uint32_t block, uint64_t value)
{
	struct work *work = still_begins(host, LANE_READ, block, 1);

	content_fill(work->data, value);
	still_ends(work, 0);
	return still_is_right();
}

void
still_dies(bool power)
{
	served_kill(still.target, power, false);
	served_come(still.target);
	wait_for_target();
}
