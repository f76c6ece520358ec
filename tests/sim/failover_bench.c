#include "failover_bench.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SLOT_BYTES = FAIL_BLOCKS * FAIL_BLOCK };

/* What the host's reactors say to each other beside host/mail.h: what is done with a lane is done on its reactor. */
enum { MAIL_OPEN_LANE = 100, MAIL_CLOSE_LANE, MAIL_CLOSE_SUBSYS, MAIL_SUBMIT, MAIL_LOADED, MAIL_VISIT };

static const uint64_t LOOK_NS = 1000 * 1000, REST_NS = 5 * 1000 * 1000;

static void
tell(struct reactor *from, unsigned to, uint16_t kind, void *what)
{
	struct mail mail = { .kind = kind, .words = { (uintptr_t)what } };

	from->world->post(from, to, &mail);
}

/* ---- the target ---- */

static int
target_begin(struct reactor *reactor, void *arg)
{
	struct fail_target *t = arg;
	char why[256];

	if (t->started++ % 2 == 0) {
		struct target_listen listen[FAIL_PATHS] = {
			{ .host = "10.0.0.1", .port = 4420 }, { .host = "10.0.0.1", .port = 4421 },
			{ .host = "10.0.0.1", .port = 4422 },
		};
		struct target_ana ana = { .id = 1, .state = {
			t->aloof ? NVME_ANA_INACCESSIBLE : NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED, NVME_ANA_OPTIMIZED,
		} };
		struct target_ns ns = { .nsid = 1, .id = { 1 } };
		struct target_subsys subsys = { .nqn = CLUSTER_NQN, .listeners = 7, .ns = &ns, .ns_count = 1,
			.ana = &ana, .ana_count = 1 };
		struct target_config config = {
			.listen = listen, .listen_count = FAIL_PATHS, .subsys = &subsys, .subsys_count = 1,
		};
		int rc = blk_open(reactor, t->spec, FAIL_BLOCK, &t->volume, why);

		ns.volume = t->volume;
		if (rc == 0)
			rc = target_create(reactor->arena, &config, &t->target, why);
		if (rc != 0)
			return rc;
	}
	return target_start(t->target, reactor, why);
}

/* ---- content ---- */

static uint64_t
word(unsigned slot, uint32_t version, uint32_t at)
{
	return version == 0 ? 0 : (uint64_t)version << 32 | slot << 20 | at;
}

static void
fill(uint8_t *data, unsigned slot, uint32_t version)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += 8)
		put_le64(data + at, word(slot, version, at));
}

/* From one byte to another: a block may be of another version than the next where a crash came between. */
static bool
is_version(const uint8_t *data, unsigned slot, uint32_t version, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at < to; at += 8)
		if (get_le64(data + at) != word(slot, version, at))
			return false;
	return true;
}

static bool
is_torn(const uint8_t *data, unsigned slot, uint32_t version, uint32_t maybe)
{
	for (uint32_t at = 0; at < SLOT_BYTES; at += FAIL_BLOCK)
		if (!is_version(data, slot, version, at, at + FAIL_BLOCK) &&
		    !is_version(data, slot, maybe, at, at + FAIL_BLOCK))
			return false;
	return true;
}

/* ---- the load ---- */

static void next(struct fail_work *work, struct reactor *reactor);
static void leave(struct fail *f, struct reactor *reactor);

static void
check_read(struct fail *f, const struct fail_work *work)
{
	struct fail_slot *slot = &f->slots[work->slot];

	f->reads++;
	if (is_version(work->data, work->slot, slot->version, 0, SLOT_BYTES)) {
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_version(work->data, work->slot, slot->maybe, 0, SLOT_BYTES)) {
		slot->version = slot->maybe;
		slot->maybe = 0;
	} else if (slot->maybe != 0 && is_torn(work->data, work->slot, slot->version, slot->maybe)) {
		slot->torn = true;
		slot->maybe = 0;
	} else {
		f->wrong++;
	}
}

/* Whether it was done is known to the next read. */
static void
not_known(struct fail *f, const struct fail_work *work)
{
	if (work->op == LANE_WRITE || work->op == LANE_COMPARE_AND_WRITE)
		f->slots[work->slot].maybe = work->version;
}

/* While there is no hope all would be done with at once. */
static void
rested(struct timer *timer)
{
	struct fail_work *work = container_of(timer, struct fail_work, rest);

	next(work, work->fail->reactors[work->at]);
}

static void
done(void *arg, const struct lane_result *result)
{
	struct fail_work *work = arg;
	struct fail *f = work->fail;

	f->twice += !work->busy;
	work->busy = false;
	f->in_flight--;
	f->done++;
	f->slots[work->slot].busy = false;
	if (result->error == 0 && work->op == LANE_READ) {
		check_read(f, work);
	} else if (result->error == 0 && work->op != LANE_FLUSH) {
		f->slots[work->slot].version = work->version;
		f->slots[work->slot].torn = false;
	} else if (result->error == -ESTALE) {
		f->stale++;
		not_known(f, work);
	} else if (result->error == -ETIMEDOUT) {
		f->timeouts++;
		not_known(f, work);
	} else if (result->error != 0) {
		f->failures++;
		snprintf(f->why, sizeof(f->why), "op %u: error %d, status %x", work->op, result->error,
		    nvme_sc(result->status));
	}
	if (result->error == -ETIMEDOUT)
		timer_set(&f->reactors[work->at]->timers, &work->rest, f->reactors[work->at]->now_ns + REST_NS);
	else
		next(work, f->reactors[work->at]);
}

static uint8_t
choose(struct fail *f, const struct fail_slot *slot)
{
	uint64_t dice = rng_below(&f->rng, 100);

	if (slot->maybe != 0 || f->reading_back)
		return LANE_READ;
	if (slot->torn)
		return LANE_WRITE;
	if (f->fused && dice < 15)
		return LANE_COMPARE_AND_WRITE;
	return dice < 50 ? LANE_WRITE : dice < 95 ? LANE_READ : LANE_FLUSH;
}

/* In three pieces, none of them a block. */
static void
cut_up(struct fail_work *work, size_t bytes)
{
	work->iov[0] = (struct iovec){ work->data, 100 };
	work->iov[1] = (struct iovec){ work->data + 100, 5000 };
	work->iov[2] = (struct iovec){ work->data + 5100, bytes - 5100 };
}

static void
submit(struct fail_work *work, unsigned at)
{
	struct fail *f = work->fail;
	struct fail_slot *slot = &f->slots[work->slot];
	struct lane_io io = { .nsid = 1, .blocks = FAIL_BLOCKS, .iov = work->iov, .iov_count = 3, .done = done,
		.arg = work };

	work->at = at;
	io.op = work->op = choose(f, slot);
	io.lba = work->slot * FAIL_BLOCKS;
	cut_up(work, io.op == LANE_COMPARE_AND_WRITE ? 2 * SLOT_BYTES : SLOT_BYTES);
	if (io.op == LANE_WRITE || io.op == LANE_COMPARE_AND_WRITE)
		work->version = ++slot->issued;
	if (io.op == LANE_COMPARE_AND_WRITE) {
		fill(work->data, work->slot, slot->version);
		fill(work->data + SLOT_BYTES, work->slot, work->version);
	} else if (io.op == LANE_WRITE) {
		fill(work->data, work->slot, work->version);
	}
	if (io.op == LANE_FLUSH)
		io.iov_count = io.blocks = 0;
	assert_int_equal(lane_submit(f->lanes[at - 1], &io), 0);
}

/* False: there is nothing more to be done. */
static bool
choose_slot(struct fail *f, struct fail_work *work)
{
	if (f->reading_back) {
		work->slot = f->read_back++;
		return work->slot < FAIL_SLOTS;
	}
	if (f->begun >= f->ios)
		return false;
	do
		work->slot = (unsigned)rng_below(&f->rng, FAIL_SLOTS);
	while (f->slots[work->slot].busy);
	return true;
}

/* By any of the lanes: what one has written another one reads. */
static void
next(struct fail_work *work, struct reactor *reactor)
{
	struct fail *f = work->fail;

	if (!choose_slot(f, work)) {
		if (f->in_flight == 0 && f->reading_back)
			leave(f, reactor);
		else if (f->in_flight == 0)
			tell(reactor, 0, MAIL_LOADED, f);
		return;
	}
	f->begun++;
	f->in_flight++;
	f->slots[work->slot].busy = work->busy = true;
	tell(reactor, 1 + (unsigned)rng_below(&f->rng, FAIL_LANES), MAIL_SUBMIT, work);
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
		next(&f->works[i], f->reactors[0]);
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
			tell(f->reactors[seat->at], i, MAIL_VISIT, f);
		for (unsigned i = 0; i < FAIL_WORKS; i++)
			next(&f->works[i], f->reactors[seat->at]);
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

/* ---- visitors ---- */

static void maybe_close(struct fail *f, struct reactor *reactor);
static void visit(struct fail_visit *v);

static void
visit_over(void *owner)
{
	struct fail_visit *v = owner;

	assert_int_equal(v->done, v->submitted);
	v->lane = NULL;
	if (!v->fail->leaving) {
		visit(v);
	} else {
		v->gone = true;
		maybe_close(v->fail, v->fail->reactors[v->at]);
	}
}

static void
visit_leave(struct timer *timer)
{
	struct fail_visit *v = container_of(timer, struct fail_visit, leave);

	lane_close(v->lane, visit_over);
}

static void visit_read(struct fail_visit *v);

static void
visit_done(void *arg, const struct lane_result *result)
{
	struct fail_visit *v = arg;

	v->done++;
	assert_true(v->done <= v->submitted);
	if (result->error == 0)
		visit_read(v);
}

static void
visit_read(struct fail_visit *v)
{
	struct lane_io io = { .op = LANE_READ, .nsid = 1, .blocks = 1, .lba = 0, .iov = &v->iov, .iov_count = 1,
		.done = visit_done, .arg = v };

	v->iov = (struct iovec){ v->data, sizeof(v->data) };
	v->submitted += lane_submit(v->lane, &io) == 0;
}

static void
visit_ready(struct lane *lane, int error, const char *why)
{
	struct fail_visit *v = lane_owner(lane);

	(void)why;
	v->visits++;
	for (unsigned i = 0; error == 0 && i < 4; i++)
		visit_read(v);
}

static void
visit(struct fail_visit *v)
{
	struct fail *f = v->fail;
	struct reactor *reactor = f->reactors[v->at];
	struct lane_options options = { .depth = 4, .ready = visit_ready, .owner = v };

	v->submitted = v->done = 0;
	v->leave.fire = visit_leave;
	while (lane_open(reactor, f->subsys, &options, &v->lane) != 0)
		;
	timer_set(&reactor->timers, &v->leave, reactor->now_ns + rng_below(&f->rng, 8 * 1000 * 1000));
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
		tell(f->reactors[0], i, MAIL_OPEN_LANE, f);
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
event(struct subsys *subsys, const struct subsys_event *event)
{
	struct fail *f = subsys_owner(subsys);

	f->lost += event->kind == SUBSYS_PATH_LOST;
	f->given_up += event->kind == SUBSYS_GIVEN_UP;
}


static void
maybe_close(struct fail *f, struct reactor *reactor)
{
	unsigned left = FAIL_LANES - f->lanes_closed;

	for (unsigned i = 0; f->visited && i < FAIL_LANES; i++)
		left += !f->visits[i].gone;
	if (left == 0)
		tell(reactor, 0, MAIL_CLOSE_SUBSYS, f);
}

static void
lane_closed(void *owner)
{
	const struct fail_seat *seat = owner;
	struct fail *f = seat->fail;

	f->lanes_closed++;
	maybe_close(f, f->reactors[seat->at]);
}

static void
leave(struct fail *f, struct reactor *reactor)
{
	if (f->leaving)
		return;
	f->leaving = true;
	for (unsigned i = 1; i <= FAIL_LANES; i++) {
		f->resent += lane_resent(f->lanes[i - 1]);
		tell(reactor, i, MAIL_CLOSE_LANE, f);
	}
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
		visit(&f->visits[reactor->index - 1]);
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
		host_on_mail(reactor, mail);
	}
}

static void
begin(struct fail *f)
{
	struct subsys_address addresses[FAIL_PATHS] = {
		{ "10.0.0.1", 4420 }, { "10.0.0.1", 4421 }, { "10.0.0.1", 4422 },
	};

	assert_int_equal(subsys_open(f->reactors[0], &f->options, addresses, f->paths, &f->subsys), 0);
}

static int
host_begin(struct reactor *reactor, void *arg)
{
	struct fail *f = arg;

	f->reactors[reactor->index] = reactor;
	f->before[reactor->index] = reactor->arena->bytes;
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
		.target = { .spec = "fault:delay-write=3@mem:1M" },
		.ios = 200, .paths = 2, .fused = true,
	};
	snprintf(f->options.subnqn, sizeof(f->options.subnqn), "%s", CLUSTER_NQN);
	snprintf(f->options.hostnqn, sizeof(f->options.hostnqn), "nqn.2026-11.local.weir:failover");
	f->options.hostid[0] = 7;
}

void
fail_start(struct fail *f, uint64_t seed, const struct sim_options *options)
{
	struct sim_process_options target = { .start = target_begin, .arg = &f->target };
	struct sim_process_options host = { .start = host_begin, .arg = f };

	f->options.owner = f;
	f->sim = sim_create(seed, options);
	rng_seed(&f->rng, seed);
	for (unsigned i = 0; i < FAIL_WORKS; i++) {
		f->works[i].fail = f;
		f->works[i].rest.fire = rested;
		f->works[i].data = test_malloc(2 * SLOT_BYTES);
	}
	target.reactor = (struct reactor_options){ 256, 32 };
	f->target_process = sim_process_create(f->sim, "target", 2, &target);
	f->host_process = sim_process_create(f->sim, "host", 1 + FAIL_LANES, &host);
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
	for (unsigned i = 0; i < FAIL_WORKS; i++)
		test_free(f->works[i].data);
	sim_destroy(f->sim);
}
