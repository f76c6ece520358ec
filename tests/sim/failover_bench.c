#include "failover_bench.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t LOOK_NS = 1000 * 1000;
static struct subsys_address
address(const struct fail *f, unsigned path)
{
	struct subsys_address address = { .port = (uint16_t)(4420 + path) };

	snprintf(address.host, sizeof(address.host), "%s", f->host);
	return address;
}

void
fail_tell(struct reactor *from, unsigned to, uint16_t kind, void *what)
{
	struct mail mail = { .kind = kind, .words = { (uintptr_t)what } };

	from->world->post(from, to, &mail);
}

/* ---- coming and going ---- */

static void begin(struct fail *f);

/* The load is over: all is read back once the test says that nothing can come late any more. */
static void
look(struct timer *timer)
{
	struct fail *f = container_of(timer, struct fail, look);

	if (!f->may_end) {
		timer_set(&f->reactors[0]->timers, timer, f->reactors[0]->now_ns + LOOK_NS);
		return;
	}
	f->reading_back = true;
	for (unsigned i = 0; i < FAIL_WORKS; i++)
		fail_next(&f->works[i], f->reactors[0]);
}

static void
closed(void *owner)
{
	struct fail *f = owner;

	f->subsys = NULL;
	if (f->leaving)
		f->finished = true;
	else
		begin(f);
}

static void lane_again(void *owner);

static void
lane_ready(struct lane *lane, int error, const char *why)
{
	const struct fail_seat *seat = lane_owner(lane);
	struct fail *f = seat->fail;

	f->lanes_told++;
	if (error != 0) {
		lane_close(lane, lane_again);
	} else if (++f->lanes_up == FAIL_LANES) {
		f->loading = true;
		for (unsigned i = 1; f->visited && i <= FAIL_LANES; i++)
			fail_tell(f->reactors[seat->at], i, MAIL_VISIT, f);
		for (unsigned i = 0; i < FAIL_WORKS; i++)
			fail_next(&f->works[i], f->reactors[seat->at]);
	}
}

static void
open_lane(struct fail_seat *seat)
{
	struct fail *f = seat->fail;
	struct lane_options options = { .depth = 16, .ready = lane_ready, .owner = seat };

	assert_int_equal(lane_open(f->reactors[seat->at], f->subsys, &options, &f->lanes[seat->at - 1]), 0);
}

/* Its connections were cut while it came. */
static void
lane_again(void *owner)
{
	open_lane(owner);
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct fail *f = find->owner;

	if (ns == NULL) {
		subsys_find(f->subsys, &f->find);
		return;
	}
	f->opening = true;
	for (unsigned i = 1; i <= FAIL_LANES; i++)
		fail_tell(f->reactors[0], i, MAIL_OPEN_LANE, f);
}

/* What was cut before it was there comes again. */
static void
ready(struct subsys *subsys, int error, const char *why)
{
	struct fail *f = subsys_owner(subsys);

	if (error != 0) {
		subsys_close(subsys, closed);
		return;
	}
	f->find = (struct subsys_find){ .nsid = 1, .found = found, .owner = f };
	subsys_find(subsys, &f->find);
}

static void
add_paths(struct timer *timer)
{
	struct fail *f = container_of(timer, struct fail, add);

	for (unsigned i = 0; i < f->paths; i++) {
		const struct subsys_address again = address(f, i);

		assert_int_equal(subsys_add_path(f->subsys, &again), 0);
	}
}

static void
event(struct subsys *subsys, const struct subsys_event *event)
{
	struct fail *f = subsys_owner(subsys);

	f->lost += event->kind == SUBSYS_PATH_LOST;
	f->given_up += event->kind == SUBSYS_GIVEN_UP;
	f->refused += event->kind == SUBSYS_PATH_REFUSED;
	f->all_lost += event->kind == SUBSYS_ALL_LOST;
	if (event->kind == SUBSYS_PATH_REFUSED && f->refused == f->paths && f->add_ns > 0) {
		f->add.fire = add_paths;
		timer_set(&f->reactors[0]->timers, &f->add, f->reactors[0]->now_ns + f->add_ns);
	}
}

void
fail_maybe_close(struct fail *f, struct reactor *reactor)
{
	unsigned left = FAIL_LANES - f->lanes_closed;

	for (unsigned i = 0; f->visited && i < FAIL_LANES; i++)
		left += !f->visits[i].gone;
	if (left == 0)
		fail_tell(reactor, 0, MAIL_CLOSE_SUBSYS, f);
}

static void
lane_closed(void *owner)
{
	const struct fail_seat *seat = owner;
	struct fail *f = seat->fail;

	f->lanes_closed++;
	fail_maybe_close(f, f->reactors[seat->at]);
}

void
fail_leave(struct fail *f, struct reactor *reactor)
{
	if (f->leaving)
		return;
	f->leaving = true;
	for (unsigned i = 1; i <= FAIL_LANES; i++) {
		f->resent += lane_resent(f->lanes[i - 1]);
		fail_tell(reactor, i, MAIL_CLOSE_LANE, f);
	}
}

/* ---- its mail ---- */

static void
come_back(struct fail_away *away)
{
	struct reactor *reactor = away->fail->reactors[1 + away - away->fail->aways];

	away->until_ns = 0;
	timer_clear(&reactor->timers, &away->wake);
	for (unsigned i = 0; i < away->count; i++)
		host_on_mail(reactor, &away->kept[i]);
	away->count = 0;
}

static void
time_is_over(struct timer *timer)
{
	come_back(container_of(timer, struct fail_away, wake));
}

void
fail_send_away(struct fail *f, unsigned lane, uint64_t ms, bool in_a_turn)
{
	f->aways[lane] = (struct fail_away){
		.until_ns = sim_now(f->sim) + ms * 1000 * 1000, .in_a_turn = in_a_turn, .fail = f,
		.wake.fire = time_is_over,
	};
}

static void
lane_mail(struct fail *f, struct reactor *reactor, const struct mail *mail)
{
	struct fail_away *away = reactor->index > 0 ? &f->aways[reactor->index - 1] : NULL;

	if (away == NULL || reactor->now_ns >= away->until_ns) {
		host_on_mail(reactor, mail);
		return;
	}
	assert_true(away->count < FAIL_KEPT);
	away->kept[away->count++] = *mail;
	timer_set(&reactor->timers, &away->wake, away->until_ns);
}

/* Who polls has its mail after it was given something to do, and before that is sent. */
static void
submit(struct fail_work *work, unsigned at)
{
	struct fail_away *away = &work->fail->aways[at - 1];

	fail_submit(work, at);
	if (away->until_ns > 0 && !away->in_a_turn)
		come_back(away);
}

static void
on_mail(struct reactor *reactor, const struct mail *mail)
{
	struct fail *f = (struct fail *)(uintptr_t)mail->words[0];

	switch (mail->kind) {
	case MAIL_OPEN_LANE:
		f->seats[reactor->index - 1] = (struct fail_seat){ f, reactor->index };
		open_lane(&f->seats[reactor->index - 1]);
		break;
	case MAIL_VISIT:
		f->visits[reactor->index - 1].fail = f;
		f->visits[reactor->index - 1].at = reactor->index;
		fail_visit(&f->visits[reactor->index - 1]);
		break;
	case MAIL_CLOSE_LANE:
		lane_close(f->lanes[reactor->index - 1], lane_closed);
		break;
	case MAIL_CLOSE_SUBSYS:
		subsys_close(f->subsys, closed);
		break;
	case MAIL_LOADED:
		f->loaded = true;
		f->look.fire = look;
		look(&f->look);
		break;
	case MAIL_SUBMIT:
		submit((struct fail_work *)(uintptr_t)mail->words[0], reactor->index);
		break;
	default:
		lane_mail(reactor->owner, reactor, mail);
	}
}

static void
begin(struct fail *f)
{
	struct subsys_address addresses[FAIL_PATHS];

	for (unsigned i = 0; i < FAIL_PATHS; i++)
		addresses[i] = address(f, i);
	assert_int_equal(subsys_open(f->reactors[0], &f->options, addresses, f->paths, &f->subsys), 0);
}

static int
host_begin(struct reactor *reactor, void *arg)
{
	struct fail *f = arg;

	f->reactors[reactor->index] = reactor;
	f->before[reactor->index] = reactor->arena->bytes;
	reactor->owner = f;
	reactor->on_mail = on_mail;
	if (reactor->index == 0)
		begin(f);
	return 0;
}

void
fail_init(struct fail *f)
{
	*f = (struct fail){
		.options = {
			.queues = 4, .kato_ms = 200, .connect_ms = 300, .io_timeout_ms = 2000, .reconnect_ms = 5,
			.reconnect_max_ms = 50, .loss_ms = 60000, .fence_margin_ms = 100,
			.ready = ready, .event = event,
		},
		.target = { .spec = "fault:delay-write=3@mem:1M", .wanted.state = {
			NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED,
		} },
		.ios = 200, .paths = 2, .host = "10.0.0.1", .fused = true,
	};
	snprintf(f->options.subnqn, sizeof(f->options.subnqn), "%s", CLUSTER_NQN);
	snprintf(f->options.hostnqn, sizeof(f->options.hostnqn), "nqn.2026-11.local.weir:failover");
	f->options.hostid[0] = 7;
}

void
fail_start(struct fail *f, uint64_t seed, const struct sim_options *options)
{
	struct sim_process_options target = { .start = fail_target_start, .arg = &f->target };
	struct sim_process_options host = { .start = host_begin, .arg = f };

	f->options.owner = f;
	f->sim = sim_create(seed, options);
	rng_seed(&f->rng, seed);
	fail_load_init(f);
	target.reactor = (struct reactor_options){ 256, 32 };
	f->target_process = sim_process_create(f->sim, "target", FAIL_TARGET_REACTORS, &target);
	f->host_process = sim_process_create(f->sim, "host", 1 + FAIL_LANES, &host);
}

void
fail_host_crash(struct fail *f)
{
	sim_process_crash(f->host_process, 0);
	fail_forget(f);
	f->lanes_told = f->lanes_up = 0;
	f->opening = f->loading = false;
	sim_process_start(f->host_process);
}

void
fail_cut(struct fail *f, unsigned path, enum sim_cut how)
{
	sim_cut(f->sim, "10.0.0.1", (uint16_t)(4420 + path), how);
}

void
fail_mend(struct fail *f, unsigned path)
{
	sim_mend(f->sim, "10.0.0.1", (uint16_t)(4420 + path));
}

struct sim_options
fail_sim_options(void)
{
	struct sim_options options = sim_options_default();

	options.max_ns = 600ULL * 1000 * FAIL_MS;
	options.max_events = 20 * 1000 * 1000;
	return options;
}

void
fail_run(struct fail *f, uint64_t ms)
{
	sim_run_until(f->sim, sim_now(f->sim) + ms * FAIL_MS, NULL, NULL);
}

void
fail_start_loaded(struct fail *f, uint64_t seed, const struct sim_options *sim)
{
	fail_start(f, seed, sim);
	sim_run_until(f->sim, 60000ULL * FAIL_MS, fail_loading, f);
	fail_run(f, 5);
}

void
fail_end(struct fail *f)
{
	sim_run_until(f->sim, sim_now(f->sim) + 120000ULL * FAIL_MS, fail_loaded, f);
	fail_run(f, 1000);
	f->may_end = true;
	sim_run_until(f->sim, sim_now(f->sim) + 120000ULL * FAIL_MS, fail_finished, f);
}

bool
fail_ends_given_up(struct fail *f)
{
	bool given_up;

	fail_end(f);
	given_up = f->timeouts > 0;
	fail_check(f);
	return given_up;
}

bool
fail_finished(void *arg)
{
	const struct fail *f = arg;

	return f->finished;
}

bool
fail_loaded(void *arg)
{
	const struct fail *f = arg;

	return f->loaded;
}

bool
fail_opening(void *arg)
{
	const struct fail *f = arg;

	return f->opening;
}

bool
fail_loading(void *arg)
{
	const struct fail *f = arg;

	return f->loading || f->finished;
}

void
fail_check(struct fail *f)
{
	if (!f->finished || f->failures > 0)
		print_message("finished %d, done %" PRIu64 ", %s\n", f->finished, f->done, f->why);
	assert_true(f->finished);
	assert_int_equal(f->failures, 0);
	assert_int_equal(f->twice, 0);
	assert_int_equal(f->wrong, 0);
	assert_int_equal(f->done, f->ios + FAIL_SLOTS);
	assert_int_equal(sim_process_streams(f->host_process), 0);
	for (unsigned i = 0; i <= FAIL_LANES; i++)
		assert_int_equal(f->reactors[i]->arena->bytes, f->before[i]);
	fail_target_is_idle(f);
	for (unsigned i = 0; i < FAIL_WORKS; i++)
		test_free(f->works[i].data);
	sim_destroy(f->sim);
}
