/*
 * user.c - a host of a trial: its process. It comes, leaves in order, is killed, and comes again.
 *
 * What is wished of it from outside of its turns is looked at every millisecond,
 * on reactor 0.  What it has at each target is seat.c's, what it does there load.c's.
 */
#include <assert.h>
#include <stdio.h>

#include "trial/claimant.h"

static const uint64_t MS = 1000 * 1000, LOOK_NS = 1000 * 1000;

static unsigned
target_count(const struct user *user)
{
	return (unsigned)trial_knob(user->trial, KNOB_TARGETS);
}

static unsigned
reactor_count(const struct user *user)
{
	return (unsigned)trial_knob(user->trial, KNOB_HOST_REACTORS);
}

/* ---- what is looked at ---- */

static bool
all_closed(const struct user *user)
{
	for (unsigned i = 0; i < target_count(user); i++)
		if (user->seats[i].state != SEAT_CLOSED)
			return false;
	return true;
}

/* True: nothing is left of its reservations' controllers. */
static bool
claimants_leave(struct user *user, bool wait)
{
	bool gone = true;

	for (unsigned i = 0; i < target_count(user); i++)
		gone = (user->claimants[i] == NULL || claimant_leaves(user->claimants[i], wait)) && gone;
	return gone;
}

static void
look_at_claimants(struct user *user)
{
	for (unsigned i = 0; i < target_count(user); i++)
		if (user->claimants[i] != NULL)
			claimant_look(user->claimants[i]);
}

/* Nothing is left of what it had. */
static void
check_left(struct user *user)
{
	struct trial *trial = user->trial;

	if (sim_process_streams(user->process) > 0)
		trial_wrong(trial, "leak", "host %u has left, and %u of its streams have not", user->index,
		    sim_process_streams(user->process));
	if (user->in_flight > 0)
		trial_wrong(trial, "once", "host %u has left, and %u of its I/Os never ended", user->index,
		    user->in_flight);
	for (unsigned i = 0; i < reactor_count(user); i++) {
		const struct reactor *reactor = sim_process_reactor(user->process, i);

		if (reactor->arena->bytes != user->before[i])
			trial_wrong(trial, "leak", "host %u has left, and its reactor %u has %zu bytes, not %zu",
			    user->index, i, reactor->arena->bytes, user->before[i]);
	}
}

/* When its I/Os have ended, or it will not wait for them any longer. */
static void
leave(struct user *user, uint64_t now_ns)
{
	bool waits = now_ns < user->leave_by_ns, gone = claimants_leave(user, waits);

	if (user->in_flight > 0 && waits)
		return;
	if (gone && all_closed(user)) {
		check_left(user);
		user->state = USER_AWAY;
		return;
	}
	for (unsigned i = 0; i < target_count(user); i++)
		seat_leave(&user->seats[i]);
}

static bool
is_at_work(const struct user *user)
{
	for (unsigned i = 0; i < target_count(user); i++)
		if (!seat_is_ready(&user->seats[i]))
			return false;
	return true;
}

/* Its works have come to rest before. */
static void
read_back(struct user *user)
{
	user->begun_reading = true;
	for (unsigned i = 0; i < target_count(user); i++)
		seat_read_back(&user->seats[i]);
}

static void
look(struct timer *timer)
{
	struct user *user = container_of(timer, struct user, look);
	struct reactor *reactor = sim_process_reactor(user->process, 0);

	timer_set(&reactor->timers, timer, reactor->now_ns + LOOK_NS);
	switch (user->state) {
	case USER_AWAY:
		break;
	case USER_COMING:
	case USER_AT_WORK:
		for (unsigned i = 0; i < target_count(user); i++)
			seat_look(&user->seats[i]);
		look_at_claimants(user);
		user->state = is_at_work(user) ? USER_AT_WORK : USER_COMING;
		if (user->reads_back && !user->begun_reading)
			read_back(user);
		break;
	case USER_LEAVING:
		leave(user, reactor->now_ns);
		break;
	}
}

/* ---- coming and going ---- */

static int
start(struct reactor *reactor, void *arg)
{
	struct user *user = arg;

	reactor->owner = user;
	reactor->on_mail = seat_on_mail;
	user->before[reactor->index] = reactor->arena->bytes;
	if (reactor->index == 0) {
		user->look = (struct timer){ .fire = look };
		timer_set(&reactor->timers, &user->look, reactor->now_ns);
	}
	return 0;
}

void
user_come(struct user *user)
{
	assert(user->state == USER_AWAY);
	user->state = USER_COMING;
	user->came_ns = sim_now(user->trial->sim);
	if (!sim_process_running(user->process))
		sim_process_start(user->process);
}

/* Mostly it lets end what it has begun, where that ends soon. */
void
user_leave(struct user *user)
{
	if (user->state == USER_AWAY || user->state == USER_LEAVING)
		return;
	user->state = USER_LEAVING;
	user->leave_by_ns = sim_now(user->trial->sim) + (rng_below(&user->rng, 4) > 0 ? 200 * MS : 0);
}

void
user_killed(struct user *user)
{
	assert(!sim_process_running(user->process));
	load_forgotten(user);
	user->generation++;
	user->state = USER_AWAY;
	for (unsigned i = 0; i < target_count(user); i++) {
		seat_init(user, i);
		if (user->claimants[i] != NULL)
			claimant_killed(user->claimants[i]);
	}
}

bool
user_claims_rest(const struct user *user, char why[160])
{
	for (unsigned i = 0; i < target_count(user); i++)
		if (user->claimants[i] != NULL && !claimant_is_at_rest(user->claimants[i], why))
			return false;
	return true;
}

/* ---- making one ---- */

static bool
draw(struct user *user, enum knob percent)
{
	return rng_below(&user->rng, 100) < trial_knob(user->trial, percent);
}

static void
choose_options(struct user *user)
{
	user->hdgst = draw(user, KNOB_HEADER_DIGEST);
	user->ddgst = draw(user, KNOB_DATA_DIGEST);
	user->sq_flow = draw(user, KNOB_SQ_FLOW);
	user->queue_depth = draw(user, KNOB_QUEUE_DEPTH_POLICY);
	user->plain = draw(user, KNOB_NO_EXTENSION);
	/* Some give up, others never. */
	user->loss_ms = rng_below(&user->rng, 3) == 0 ? (uint32_t)(20 + rng_below(&user->rng, 400)) : UINT32_MAX;
	user->margin_ms = margin_ms(user->trial->plan);
}

/* Of many hosts the first few: what they may have done together is all kept in mind. */
static void
make_claimants(struct user *user)
{
	struct trial *trial = user->trial;

	user->claimant = MODEL_NOBODY;
	if (!draw(user, KNOB_CLAIMS) || trial->claimants == MODEL_HOSTS)
		return;
	user->claimant = trial->claimants++;
	for (unsigned i = 0; i < target_count(user); i++)
		user->claimants[i] = claimant_create(user, &trial->targets[i]);
}

void
user_begin(struct trial *trial, struct user *user)
{
	struct sim_process_options options = { .start = start, .arg = user };
	char name[16];

	user->trial = trial;
	user->index = (uint32_t)(user - trial->users);
	assert(reactor_count(user) <= TRIAL_REACTORS_MAX && trial_knob(trial, KNOB_LANES) <= TRIAL_LANES_MAX);
	snprintf(name, sizeof(name), "host-%u", user->index);
	snprintf(user->address, sizeof(user->address), "10.2.%u.%u", user->index / 250, user->index % 250 + 1);
	snprintf(user->nqn, sizeof(user->nqn), "nqn.2026-11.local.weir:host%u", user->index);
	rng_seed(&user->rng, trial->plan->seed ^ (uint64_t)(user->index + 1) << 40);
	user->came_ns = sim_now(trial->sim);
	choose_options(user);
	load_init(user);
	make_claimants(user);
	user->state = USER_COMING;
	options.address = user->address;
	user->process = sim_process_create(trial->sim, name, reactor_count(user), &options);
}
