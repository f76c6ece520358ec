#include "ordered_bench.h"

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
	struct order_extent extent;
	struct lane_io io = { .op = LANE_READ, .blocks = 1, .iov_count = 1, .done = read_done, .arg = p };

	if (p->read == p->next) {
		p->finished = true;
		return;
	}
	extent = order_layout_first(&p->layout, p->read, 1);
	p->iov = (struct iovec){ p->back, BLOCK };
	io.nsid = extent.member->nsid;
	io.lba = extent.lba;
	io.iov = &p->iov;
	assert_int_equal(lane_submit(p->lanes[extent.member->server], &io), 0);
}

/* ---- writing ---- */

static void
write_on(struct play *p)
{
	struct order_sequencer *sequencer = &ordered_session(p->ordered)->sequencer;
	uint32_t group;

	while (p->next < ALL) {
		bool ends = (p->next + 1) % GROUP == 0 || p->next + 1 == ALL;

		if (order_sequencer_submit(sequencer, p->next, 1, data_of(p, p->next), ends ? ORDER_END : 0, &group) !=
		    ORDER_TAKEN)
			break;
		p->next++;
	}
	ordered_soon(p->ordered);
}

static void
news(struct ordered *ordered)
{
	struct play *p = ordered_owner(ordered);
	struct order_session *session = ordered_session(ordered);
	struct order_sequencer *sequencer = &session->sequencer;

	if (order_session_is_ready(session))
		ordered_go(ordered, &p->layout, p->items, ITEMS);
	if (!session->begun || session->error != 0)
		return;
	if (p->next < ALL)
		write_on(p);
	else if (p->next == ALL && sequencer->durable == sequencer->ended && p->read == 0 && !p->finished)
		read_on(p);
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
		p->members[i] = (struct order_member){ .server = i, .nsid = p->nsids[i], .most = MOST, .keeps = true };
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
	assert_false(ns->volatile_cache);
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
	p->nsids[at] = 1 + at;
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
		p->ticker.fire = tick;
		timer_set(&reactor->timers, &p->ticker, 1 * PLAY_MS);
		return 0;
	}
	p->reactor = reactor;
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

void
play_start(struct play *p, uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options target = { .start = cluster_target_start, .arg = &p->target };
	struct sim_process_options host = { .start = host_start, .arg = p };

	p->sim = sim_create(seed, &options);
	target.reactor = (struct reactor_options){ 256, 32 };
	sim_process_create(p->sim, "target", p->target.reactors, &target);
	for (unsigned i = 0; i <= SERVERS; i++) {
		struct sim_process_options forger = { .start = orderer_start, .arg = &p->forgers[i] };

		sim_process_create(p->sim, play_hosts[i], 1, &forger);
	}
	sim_process_create(p->sim, "host", 2, &host);
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
