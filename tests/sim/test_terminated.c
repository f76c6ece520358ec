/*
 * test_terminated.c - how long a connection is kept whose peer has broken a
 * rule, was told so, and does not close it, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>

#include "cluster.h"

static const uint64_t second = 1000 * 1000 * 1000;

/* A peer that sends what no rule knows and never closes. */
struct rude {
	uint64_t sends_ns;          /* goes on with it for so long */
	struct stream *stream;
	struct timer again;
	uint64_t told_ns, ended_ns; /* its first byte, which is of a TermReq; the end */
	ssize_t ended;              /* 0 or a negative errno */
	uint8_t got[256];
	struct iovec in;
};

static void
rude_fire(struct timer *timer)
{
	struct rude *rude = container_of(timer, struct rude, again);

	if (rude->ended_ns == 0)
		rude->stream->ops->wants(rude->stream, STREAM_READABLE | STREAM_WRITABLE);
}

static void
rude_ready(struct stream *stream, unsigned events)
{
	static const uint8_t nonsense[128] = { 0xff };
	struct rude *rude = stream->owner;
	struct iovec out = { (void *)nonsense, sizeof(nonsense) };
	struct reactor *reactor = stream->reactor;
	ssize_t bytes = -EAGAIN;

	if (events & STREAM_READABLE)
		bytes = stream->ops->readv(stream, &rude->in, 1);
	if (bytes > 0 && rude->told_ns == 0)
		rude->told_ns = reactor->now_ns;
	if ((events & STREAM_WRITABLE) && (bytes > 0 || bytes == -EAGAIN)) {
		(void)stream->ops->writev(stream, &out, 1);
		if (reactor->now_ns < rude->sends_ns)
			timer_set(&reactor->timers, &rude->again, reactor->now_ns + second / 10);
	}
	if (bytes <= 0 && bytes != -EAGAIN) {
		rude->ended_ns = reactor->now_ns;
		rude->ended = bytes;
		stream->ops->close(stream, false);
		return;
	}
	stream->ops->wants(stream, STREAM_READABLE);
}

static int
rude_start(struct reactor *reactor, void *arg)
{
	struct rude *rude = arg;
	struct stream *stream;
	int rc = reactor->world->connect(reactor, "10.0.0.1", CLUSTER_PORT, &stream);

	if (rc != 0)
		return rc;
	rude->in = (struct iovec){ rude->got, sizeof(rude->got) };
	rude->stream = stream;
	rude->again.fire = rude_fire;
	stream->owner = rude;
	stream->ready = rude_ready;
	stream->ops->wants(stream, STREAM_READABLE | STREAM_WRITABLE);
	return 0;
}

/* What becomes of such a peer, which sends for so long, where others may stall for so long. */
static struct rude
meet(uint64_t sends_ns, uint32_t stall_timeout_ms)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(stall_timeout_ms, &options);
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = "mem:1M", .reactors = 1, .stall_timeout_ms = stall_timeout_ms,
	};
	struct rude rude = { .sends_ns = sends_ns };
	struct sim_process_options t = {
		.reactor = { 256, 32 }, .start = cluster_target_start, .arg = &target,
	};
	struct sim_process_options h = { .start = rude_start, .arg = &rude };
	struct sim_process *process = sim_process_create(sim, "target", 1, &t);

	sim_run_until(sim, second / 1000, NULL, NULL);
	sim_process_create(sim, "peer", 1, &h);
	sim_run_until(sim, 100 * second, NULL, NULL);
	assert_true(cluster_target_idle(&target, process));
	assert_int_equal(rude.got[0], 0x03); /* C2HTermReq */
	sim_destroy(sim);
	return rude;
}

static void
who_does_not_close_is_closed_after_30_seconds_however_long_others_may_stall(void **state)
{
	struct rude rude = meet(0, 60 * 60 * 1000);

	assert_in_range(rude.ended_ns - rude.told_ns, 29 * second, 30 * second + second / 1000);
	rude = meet(0, 2000);
	assert_in_range(rude.ended_ns - rude.told_ns, 19 * second / 10, 2 * second + second / 1000);
}

static void
who_goes_on_sending_is_heard_for_a_second_and_reset_then(void **state)
{
	struct rude rude = meet(10 * second, 30000);

	assert_in_range(rude.ended_ns - rude.told_ns, second, second + second / 5);
	assert_int_equal(rude.ended, -ECONNRESET);
	rude = meet(9 * second / 10, 30000); /* it heeds what it was told */
	assert_in_range(rude.ended_ns - rude.told_ns, 29 * second, 30 * second + second / 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_does_not_close_is_closed_after_30_seconds_however_long_others_may_stall),
		cmocka_unit_test(who_goes_on_sending_is_heard_for_a_second_and_reset_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
