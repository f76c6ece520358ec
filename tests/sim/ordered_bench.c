#include "ordered_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order/group.h"

const char *const play_hosts[SERVERS + 1] = { "10.0.0.10", "10.0.0.11", "10.0.0.12" };

/* What is written there: of some blocks that lie behind one another it does, too. */
static uint32_t *
data_of(struct play *p, uint32_t lba)
{
	return p->data[lba ^ (lba >> 4 & 1)];
}

/* ---- what another host has left ---- */

static void check_on(struct play *p);

static void
check_done(void *arg, const struct lane_result *result)
{
	static const uint8_t zeros[BLOCK];
	struct play *p = arg;

	assert_int_equal(result->error, 0);
	p->wrong += memcmp(p->back, zeros, BLOCK) != 0;
	p->check++;
	check_on(p);
}

static void
read_block(struct play *p, uint32_t lba, void (*done)(void *arg, const struct lane_result *result))
{
	struct order_extent extent = order_layout_first(&p->layout, lba, 1);
	struct lane_io io = {
		.op = LANE_READ, .nsid = extent.member->nsid, .lba = extent.lba, .blocks = 1, .iov = &p->iov,
		.iov_count = 1, .done = done, .arg = p,
	};

	p->iov = (struct iovec){ p->back, BLOCK };
	assert_int_equal(lane_submit(p->lanes[extent.member->server], &io), 0);
}

static void
check_on(struct play *p)
{
	if (p->check < p->check_to) {
		read_block(p, p->check, check_done);
		return;
	}
	p->checking = false;
	ordered_go(p->ordered, &p->layout, p->items, ITEMS);
}

/* All up to the last group is there, which is seen in the end; and nothing of those after it. */
static void
take_over(struct play *p)
{
	uint32_t there = ordered_session(p->ordered)->there, kept = there * GROUP < ALL ? there * GROUP : ALL;

	if (p->checking)
		return;
	assert_false(order_above(p->durable, there));
	assert_true(kept <= p->next);
	p->kept += there;
	p->undone += (p->next - kept) / GROUP;
	p->check = kept;
	p->check_to = p->next;
	p->next = kept;
	p->checking = true;
	check_on(p);
}

/* ---- reading back ---- */

static void read_on(struct play *p);

static void
read_done(void *arg, const struct lane_result *result)
{
	struct play *p = arg;

	assert_int_equal(result->error, 0);
	p->wrong += memcmp(p->back, data_of(p, p->read), BLOCK) != 0;
	p->read++;
	read_on(p);
}

static void
read_on(struct play *p)
{
	if (p->read == p->next)
		p->finished = true;
	else
		read_block(p, p->read, read_done);
}

/* ---- writing ---- */

static void
write_on(struct play *p)
{
	struct order_sequencer *sequencer = &ordered_session(p->ordered)->sequencer;
	uint32_t group;

	while (p->next < ALL) {
		bool last = p->next + 1 == ALL, ends = last || (p->next + 1) % GROUP == 0;

		if (order_sequencer_submit(sequencer, p->next, 1, data_of(p, p->next),
		    (ends ? ORDER_END : 0) | (last ? ORDER_DURABLE : 0), &group) != ORDER_TAKEN)
			break;
		p->next++;
	}
	ordered_soon(p->ordered);
}

/* False: not yet. */
static bool
has_ended(struct play *p)
{
	struct order_session *session = ordered_session(p->ordered);

	if (p->ends && session->ending == ORDER_ENDS_NOT) {
		order_session_end(session);
		ordered_soon(p->ordered);
	}
	return !p->ends || session->ending == ORDER_ENDS_OVER;
}

static void
news(struct ordered *ordered)
{
	struct play *p = ordered_owner(ordered);
	struct order_session *session = ordered_session(ordered);
	struct order_sequencer *sequencer = &session->sequencer;

	if (order_session_is_ready(session))
		take_over(p);
	if (!session->begun || session->error != 0)
		return;
	p->durable = sequencer->durable;
	if (p->next < ALL) {
		write_on(p);
	} else if (sequencer->durable == sequencer->ended && !p->reading && has_ended(p)) {
		p->reading = true;
		read_on(p);
	}
}

/* ---- coming ---- */

static void
begin(struct play *p)
{
	struct ordered_server servers[SERVERS];
	const struct ordered_options options = {
		.stream = 7, .depth = DEPTH, .servers = servers, .count = SERVERS, .news = news, .owner = p,
	};

	for (unsigned i = 0; i < SERVERS; i++) {
		p->members[i] = (struct order_member){
			.server = i, .nsid = p->nsids[i], .most = MOST, .keeps = p->keeps[i],
		};
		servers[i] = (struct ordered_server){ p->lanes[i], { &p->nsids[i], 1, MOST * BLOCK } };
	}
	p->layout = (struct order_layout){
		.members = p->members, .count = SERVERS, .servers = SERVERS, .block_length = BLOCK, .stripe = STRIPE,
		.blocks = BLOCKS,
	};
	assert_int_equal(ordered_open(p->lane_reactor, &options, &p->ordered), 0);
}

static void
lane_ready(struct lane *lane, int error, const char *why)
{
	struct play *p = lane_owner(lane);

	(void)why;
	assert_int_equal(error, 0);
	if (++p->lanes_up == SERVERS)
		begin(p);
}

static void
closed(void *owner)
{
	((struct play *)owner)->lanes_up--;
}

/* Closes them when the test says so. */
static void
tick(struct timer *timer)
{
	struct play *p = container_of(timer, struct play, ticker);

	if (!p->closing)
		timer_set(&p->lane_reactor->timers, timer, p->lane_reactor->now_ns + 1 * PLAY_MS);
	for (unsigned i = 0; p->closing && i < SERVERS; i++)
		lane_close(p->lanes[i], closed);
}

static void
on_mail(struct reactor *reactor, const struct mail *mail)
{
	struct play *p = reactor->owner;
	const struct lane_options options = { .depth = LANE_DEPTH, .ready = lane_ready, .owner = p };

	if (mail->kind != MAIL_LANES) {
		host_on_mail(reactor, mail);
		return;
	}
	for (unsigned i = 0; i < SERVERS; i++)
		assert_int_equal(lane_open(reactor, p->subsys[i], &options, &p->lanes[i]), 0);
}

static void
found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct play *p = find->owner;

	(void)why;
	assert_int_equal(error, 0);
	assert_int_equal(ns->blocks, BLOCKS);
	p->keeps[find - p->finds] = !ns->volatile_cache;
	if (++p->found == SERVERS)
		p->reactor->world->post(p->reactor, 1, &(struct mail){ .kind = MAIL_LANES });
}

static void
ready(struct subsys *subsys, int error, const char *why)
{
	struct play *p = subsys_owner(subsys);
	unsigned at = subsys == p->subsys[0] ? 0 : 1;

	(void)why;
	assert_int_equal(error, 0);
	p->nsids[at] = p->served ? 1 : 1 + at;
	p->finds[at] = (struct subsys_find){ .nsid = p->nsids[at], .found = found, .owner = p };
	subsys_find(subsys, &p->finds[at]);
}

static int
host_start(struct reactor *reactor, void *arg)
{
	struct play *p = arg;
	struct subsys_options options = {
		.queues = 4, .kato_ms = 200, .connect_ms = 300, .io_timeout_ms = 2000, .reconnect_ms = 5,
		.reconnect_max_ms = 50, .loss_ms = 60000, .fence_margin_ms = 100, .ready = ready, .owner = p,
		.subnqn = CLUSTER_NQN, .hostnqn = "nqn.2026-11.local.weir:ordered", .hostid = { 9 },
	};

	reactor->on_mail = on_mail;
	reactor->owner = p;
	if (reactor->index == 1) {
		p->lane_reactor = reactor;
		p->before = reactor->arena->bytes;
		p->ticker = (struct timer){ .fire = tick };
		timer_set(&reactor->timers, &p->ticker, 1 * PLAY_MS);
		return 0;
	}
	p->reactor = reactor;
	p->found = p->lanes_up = p->read = 0;
	p->checking = p->reading = false;
	p->ordered = NULL;
	for (unsigned i = 0; i < SERVERS; i++) {
		struct subsys_address addresses[PATHS] = {
			{ .port = CLUSTER_PORT }, { .port = CLUSTER_PORT },
		};

		strcpy(addresses[0].host, play_hosts[i]);
		strcpy(addresses[1].host, play_hosts[SERVERS]);
		assert_int_equal(subsys_open(reactor, &options, addresses, i == 0 ? p->paths : 1, &p->subsys[i]), 0);
	}
	return 0;
}

struct play *
play_create(void)
{
	struct play *p = calloc(1, sizeof(*p));

	p->target = (struct cluster_target){ .host = "10.0.0.1", .spec = "mem:1M", .other = "mem:1M", .reactors = 2 };
	for (unsigned i = 0; i <= SERVERS; i++)
		p->forgers[i] = (struct forger){
			.host = play_hosts[i], .target = "10.0.0.1", .port = CLUSTER_PORT,
			.owner = &p->orderers[i % SERVERS],
		};
	for (unsigned i = 0; i < SERVERS; i++)
		p->orderers[i].log = (uint8_t)(1 + i);
	for (uint32_t i = 0; i < ALL; i++)
		for (uint32_t word = 0; word < BLOCK / 4; word++)
			p->data[i][word] = i << 12 | word;
	p->paths = 1;
	return p;
}

struct play *
play_create_served(enum store_kind kind, const char *spec)
{
	static const char *const hosts[SERVERS] = { "10.0.0.10", "10.0.0.11" };
	static const char *const logs[SERVERS] = { "log0", "log1" };
	struct play *p = play_create();

	p->served = true;
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(p->specs[i], sizeof(p->specs[i]), "%s%u,size=1M", spec, i);
		p->logs[i] = (struct store_spec){ .kind = kind, .path = logs[i], .slots = ORDER_SLOTS_LEAST };
		p->targets[i] = (struct cluster_target){
			.host = hosts[i], .spec = p->specs[i], .reactors = 1 + i, .order = &p->logs[i],
		};
	}
	return p;
}

/* Both of them, or one behind orderers. */
static void
start_targets(struct play *p)
{
	struct sim_process_options target = { .start = cluster_target_start, .arg = &p->target };

	target.reactor = (struct reactor_options){ 256, 32 };
	if (!p->served) {
		sim_process_create(p->sim, "target", p->target.reactors, &target);
		return;
	}
	for (unsigned i = 0; i < SERVERS; i++) {
		target.arg = &p->targets[i];
		p->processes[i] = sim_process_create(p->sim, play_hosts[i], p->targets[i].reactors, &target);
	}
}

void
play_start(struct play *p, uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options host = { .start = host_start, .arg = p };

	options.file_persistent = true;
	options.max_events = options.max_ns = UINT64_MAX;
	p->sim = sim_create(seed, &options);
	start_targets(p);
	for (unsigned i = 0; i <= SERVERS && !p->served; i++) {
		struct sim_process_options forger = { .start = orderer_start, .arg = &p->forgers[i] };

		sim_process_create(p->sim, play_hosts[i], 1, &forger);
	}
	p->host = sim_process_create(p->sim, "host", 2, &host);
}

bool
play_is_finished(void *arg)
{
	return ((struct play *)arg)->finished;
}

bool
play_has_written(void *arg)
{
	const struct play *p = arg;

	return p->next >= p->lost_at;
}

void
play_run(struct play *p, bool (*until)(void *arg))
{
	sim_run_until(p->sim, sim_now(p->sim) + 60000 * PLAY_MS, until, p);
}

bool
play_is_closed(void *arg)
{
	return ((struct play *)arg)->lanes_up == 0;
}

void
play_wait(struct play *p, uint64_t time_ms)
{
	sim_run_until(p->sim, sim_now(p->sim) + time_ms * PLAY_MS, NULL, NULL);
}

void
play_end(struct play *p)
{
	play_run(p, play_is_finished);
	if (p->ordered != NULL && ordered_session(p->ordered)->error != 0)
		print_message("%s\n", ordered_session(p->ordered)->why);
	assert_true(p->finished);
	assert_int_equal(p->read, p->next);
	assert_int_equal(p->wrong, 0);
	sim_destroy(p->sim);
	free(p);
}
