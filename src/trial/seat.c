/*
 * seat.c - a host of a trial at one target: the subsystem, its namespaces, its lanes.
 *
 * Subsystems live on reactor 0, where what failed and is to be tried again is
 * looked at now and then; lanes are opened and closed on their own reactors, which
 * are told so by mail.  Whatever is answered at any moment is no surprise: a
 * namespace may be gone, a path refused, a lane lost while it comes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "trial/internal.h"

static const uint64_t AGAIN_NS = 5 * 1000 * 1000;

enum { RECONNECT_MS = 2, RECONNECT_MAX_MS = 40 };

/* What a host's reactors say to each other beside host/mail.h; words[0]: the lane. */
enum { MAIL_LANE_OPEN = 100, MAIL_LANE_CLOSE, MAIL_LANE_BEGIN, MAIL_SHAKEN };

static void
tell(struct reactor *from, unsigned to, uint16_t kind, void *what)
{
	struct mail mail = { .kind = kind, .words = { (uintptr_t)what } };

	from->world->post(from, to, &mail);
}

static unsigned
lane_count(const struct user *user)
{
	return (unsigned)trial_knob(user->trial, KNOB_LANES);
}

/* Lanes lie on the reactors in turn. */
static unsigned
reactor_of(const struct seat_lane *lane)
{
	const struct seat *seat = lane->seat;

	return (unsigned)((lane - seat->lanes) % (ptrdiff_t)trial_knob(seat->user->trial, KNOB_HOST_REACTORS));
}

static struct reactor *
home(const struct user *user)
{
	return sim_process_reactor(user->process, 0);
}

/* ---- lanes ---- */

static void open_lane(struct seat_lane *lane);

static void
open_again(struct timer *timer)
{
	open_lane(container_of(timer, struct seat_lane, again));
}

static void
lane_closed(void *owner)
{
	struct seat_lane *lane = owner;

	lane->lane = NULL;
	lane->closing = false;
	if (lane->seat->state == SEAT_OPEN)
		timer_set(&lane->reactor->timers, &lane->again, lane->reactor->now_ns + AGAIN_NS);
}

static void
close_lane(struct seat_lane *lane)
{
	timer_clear(&lane->reactor->timers, &lane->again);
	if (lane->lane == NULL || lane->closing)
		return;
	lane->seat->lanes_up -= lane->up;
	lane->up = false;
	lane->closing = true;
	lane->seat->user->trial->result->counts.resent += lane_resent(lane->lane);
	lane_close(lane->lane, lane_closed);
}

static void
lane_ready(struct lane *opened, int error, const char *why)
{
	struct seat_lane *lane = lane_owner(opened);

	(void)why;
	if (error != 0) {
		close_lane(lane);
		return;
	}
	lane->up = true;
	lane->seat->lanes_up++;
	load_begin(lane);
}

/* A Compare and Write is two commands. */
static uint32_t
depth(const struct trial *trial)
{
	uint64_t depth = trial_knob(trial, KNOB_DEPTH) * (trial_knob(trial, KNOB_COMPARE_AND_WRITE) > 0 ? 2 : 1);

	return depth < LANE_DEPTH_MAX ? (uint32_t)depth : LANE_DEPTH_MAX;
}

static void
open_lane(struct seat_lane *lane)
{
	struct seat *seat = lane->seat;
	struct lane_options options = { .depth = depth(seat->user->trial), .ready = lane_ready, .owner = lane };

	if (seat->state != SEAT_OPEN || lane->lane != NULL)
		return;
	if (lane_open(lane->reactor, seat->subsys, &options, &lane->lane) != 0)
		timer_set(&lane->reactor->timers, &lane->again, lane->reactor->now_ns + AGAIN_NS);
}

static void
tell_lanes(struct seat *seat, uint16_t kind)
{
	for (unsigned i = 0; i < lane_count(seat->user); i++)
		tell(home(seat->user), reactor_of(&seat->lanes[i]), kind, &seat->lanes[i]);
}

static bool
all_lanes_closed(const struct seat *seat)
{
	for (unsigned i = 0; i < lane_count(seat->user); i++)
		if (seat->lanes[i].lane != NULL)
			return false;
	return true;
}

void
seat_on_mail(struct reactor *reactor, const struct mail *mail)
{
	struct seat_lane *lane = (struct seat_lane *)(uintptr_t)mail->words[0];

	switch (mail->kind) {
	case MAIL_LANE_OPEN:
		lane->reactor = reactor;
		open_lane(lane);
		break;
	case MAIL_LANE_CLOSE:
		close_lane(lane);
		break;
	case MAIL_LANE_BEGIN:
		load_begin(lane);
		break;
	case MAIL_SHAKEN:
		load_shaken_lane(lane);
		break;
	default:
		host_on_mail(reactor, mail);
	}
}

/* ---- namespaces ---- */

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct seat *seat = find->owner;
	uint32_t bit = UINT32_C(1) << (find - seat->finds);

	(void)why;
	seat->asking &= ~bit;
	if (error == 0 || error == -ENODEV)
		seat->asked |= bit;
	if (ns != NULL)
		seat->found |= bit;
	seat->again_ns = sim_now(seat->user->trial->sim) + AGAIN_NS;
}

/* Those that were not there may have come. */
static void
find_all(struct seat *seat)
{
	for (uint32_t i = 0; i < trial_knob(seat->user->trial, KNOB_VOLUMES); i++) {
		if ((seat->found | seat->asking) >> i & 1)
			continue;
		seat->asking |= UINT32_C(1) << i;
		seat->finds[i] = (struct subsys_find){
			.nsid = seat->served->volumes[i].nsid, .found = found, .owner = seat,
		};
		subsys_find(seat->subsys, &seat->finds[i]);
	}
}

/* ---- the subsystem ---- */

static void
closed(void *owner)
{
	struct seat *seat = owner;

	seat->state = SEAT_CLOSED;
	seat->subsys = NULL;
	seat->asking = seat->asked = seat->found = 0;
	memset(seat->live_since_ns, 0, sizeof(seat->live_since_ns));
	seat->away_ns = seat->back_ns = seat->lost_ns = 0;
	seat->gave_up = false;
	seat->again_ns = sim_now(seat->user->trial->sim) + AGAIN_NS;
}

static void
close_subsys(struct seat *seat)
{
	seat->state = SEAT_CLOSING;
	subsys_close(seat->subsys, closed);
}

static void
ready(struct subsys *subsys, int error, const char *why)
{
	struct seat *seat = subsys_owner(subsys);

	(void)why;
	if (error != 0) {
		close_subsys(seat);
		return;
	}
	seat->state = SEAT_OPEN;
	seat->lanes_up = 0;
	find_all(seat);
	tell_lanes(seat, MAIL_LANE_OPEN);
}

/*
 * What was begun by a lane that has not heard of it is lost, too: the lane is told once more, behind what the
 * subsystem has told it, and before anything is sent again.
 */
static void
event(struct subsys *subsys, const struct subsys_event *event)
{
	struct seat *seat = subsys_owner(subsys);
	struct trial_counts *counts = &seat->user->trial->result->counts;

	counts->connects += event->kind == SUBSYS_PATH_UP;
	counts->losses += event->kind == SUBSYS_PATH_LOST;
	counts->given_up += event->kind == SUBSYS_GIVEN_UP;
	if (event->kind == SUBSYS_PATH_UP || event->kind == SUBSYS_PATH_LOST)
		ills_path(seat, event->path, event->kind == SUBSYS_PATH_UP);
	if (event->kind == SUBSYS_PATH_LOST) {
		calm_lost(seat);
		load_shaken(seat);
		tell_lanes(seat, MAIL_SHAKEN);
	}
}

/* Whom the operator had barred, he may have let in again. */
static void
add_refused(struct seat *seat)
{
	struct subsys_path path;

	for (unsigned i = 0; i < subsys_path_count(seat->subsys); i++) {
		subsys_path_get(seat->subsys, i, &path);
		if (path.state == PATH_REFUSED && subsys_add_path(seat->subsys, &path.address) != 0)
			trial_wrong(seat->user->trial, "once", "a path that was refused could not be added again");
	}
}

static void
open_subsys(struct seat *seat)
{
	const struct user *user = seat->user;
	struct trial *trial = user->trial;
	struct subsys_options options = {
		.policy = user->queue_depth ? SUBSYS_QUEUE_DEPTH : SUBSYS_ROUND_ROBIN,
		.hdgst = user->hdgst, .ddgst = user->ddgst, .sq_flow = user->sq_flow, .plain = user->plain,
		.queues = (uint16_t)lane_count(user),
		.kato_ms = (uint32_t)trial_knob(trial, KNOB_KATO_MS), .connect_ms = trial_connect_ms(trial),
		.io_timeout_ms = (uint32_t)trial_knob(trial, KNOB_IO_TIMEOUT_MS),
		.reconnect_ms = RECONNECT_MS, .reconnect_max_ms = RECONNECT_MAX_MS,
		.loss_ms = user->loss_ms, .fence_margin_ms = user->margin_ms,
		.ready = ready, .event = event, .owner = seat,
	};
	struct subsys_address addresses[TRIAL_LISTENERS_MAX];
	unsigned listeners = (unsigned)trial_knob(trial, KNOB_LISTENERS);

	snprintf(options.subnqn, sizeof(options.subnqn), "%s", seat->served->nqn);
	snprintf(options.hostnqn, sizeof(options.hostnqn), "%s", user->nqn);
	put_le64(options.hostid, user->index + 1);
	for (unsigned i = 0; i < listeners; i++) {
		addresses[i] = (struct subsys_address){ .port = (uint16_t)(TRIAL_PORT + i) };
		snprintf(addresses[i].host, sizeof(addresses[i].host), "%s", seat->served->address);
	}
	seat->again_ns = sim_now(trial->sim) + AGAIN_NS;
	if (subsys_open(home(user), &options, addresses, listeners, &seat->subsys) == 0)
		seat->state = SEAT_OPENING;
}

/* ---- what is looked at ---- */

void
seat_look(struct seat *seat)
{
	uint64_t now_ns = sim_now(seat->user->trial->sim);

	if (now_ns < seat->again_ns)
		return;
	seat->again_ns = now_ns + AGAIN_NS;
	if (seat->state == SEAT_CLOSED)
		open_subsys(seat);
	if (seat->state == SEAT_OPEN) {
		find_all(seat);
		add_refused(seat);
	}
}

void
seat_leave(struct seat *seat)
{
	switch (seat->state) {
	case SEAT_OPENING:
		close_subsys(seat);
		break;
	case SEAT_OPEN:
		seat->state = SEAT_LEAVING;
		tell_lanes(seat, MAIL_LANE_CLOSE);
		break;
	case SEAT_LEAVING:
		if (all_lanes_closed(seat))
			close_subsys(seat);
		break;
	case SEAT_CLOSED:
	case SEAT_CLOSING:
		break;
	}
}

void
seat_read_back(struct seat *seat)
{
	tell_lanes(seat, MAIL_LANE_BEGIN);
}

bool
seat_is_ready(const struct seat *seat)
{
	uint32_t volumes = (UINT32_C(1) << trial_knob(seat->user->trial, KNOB_VOLUMES)) - 1;

	return seat->lanes_up == lane_count(seat->user) && seat->asked == volumes;
}

/* ---- making one ---- */

void
seat_init(struct user *user, unsigned index)
{
	struct seat *seat = &user->seats[index];

	*seat = (struct seat){ .user = user, .served = &user->trial->targets[index] };
	for (unsigned i = 0; i < lane_count(user); i++) {
		seat->lanes[i].seat = seat;
		seat->lanes[i].again.fire = open_again;
		seat->lanes[i].works = load_works_of(seat, i);
	}
}
