/*
 * test_listeners.c - nobody stays who came through a listener that is given
 * up, also not who came at that very moment, in virtual time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "target/target.h"

enum { PORT = 4420, STREAMS = 400, SEEDS = 30, US = 1000, MS = 1000 * 1000 };

struct served {
	unsigned reactors, started;
	struct target *target;
	struct reactor *reactor0;
	struct timer give_up;
	struct target_applied applied;
	bool over;
};

/* Comes again and again, and says nothing. */
struct comer {
	struct reactor *reactor;
	struct timer again;
	struct stream *streams[STREAMS];
	unsigned count, open, let_in; /* let_in: of those that came, and were not refused */
};

static struct target_config
config_of(bool second)
{
	static const struct target_listen listen[] = {
		{ .host = "10.0.0.1", .port = PORT }, { .host = "10.0.0.1", .port = PORT + 1 },
	};

	return (struct target_config){ .listen = listen, .listen_count = second ? 2 : 1 };
}

static void
applied(struct target_applied *told, int rc, const char *why)
{
	struct served *s = container_of(told, struct served, applied);

	(void)why;
	assert_int_equal(rc, 0);
	s->over = true;
}

static void
give_up(struct timer *timer)
{
	struct served *s = container_of(timer, struct served, give_up);
	struct target_config config = config_of(false);
	char why[256];

	s->applied.applied = applied;
	assert_int_equal(target_apply(s->target, &config, &s->applied, why), 0);
}

static int
served_begin(struct reactor *reactor, void *arg)
{
	struct served *s = arg;
	struct target_config config = config_of(true);
	char why[256];

	if (s->started++ == 0)
		assert_int_equal(target_create(reactor->arena, &config, &s->target, why), 0);
	if (reactor->index == 0) {
		s->reactor0 = reactor;
		s->give_up.fire = give_up;
		timer_set(&reactor->timers, &s->give_up, 3 * MS);
	}
	return target_start(s->target, reactor, why);
}

static void
ready(struct stream *stream, unsigned events)
{
	struct comer *c = stream->owner;
	struct iovec iov = { c->reactor->scratch, REACTOR_SCRATCH };
	ssize_t got = stream->ops->readv(stream, &iov, 1);

	if (events & STREAM_WRITABLE && got == -EAGAIN) {
		c->let_in++;
		stream->ops->wants(stream, STREAM_READABLE);
	}
	if (got == -EAGAIN)
		return;
	for (unsigned i = 0; i < c->count; i++)
		if (c->streams[i] == stream)
			c->streams[i] = NULL;
	stream->ops->close(stream, true);
	c->open--;
}

static void
come(struct timer *timer)
{
	struct comer *c = container_of(timer, struct comer, again);
	struct stream *stream;

	if (c->count == STREAMS)
		return;
	timer_set(&c->reactor->timers, timer, c->reactor->now_ns + 15 * US);
	if (c->reactor->world->connect(c->reactor, "10.0.0.1", PORT + 1, &stream) != 0)
		return;
	c->streams[c->count++] = stream;
	c->open++;
	stream->owner = c;
	stream->ready = ready;
	stream->ops->wants(stream, STREAM_READABLE | STREAM_WRITABLE);
}

static int
comer_begin(struct reactor *reactor, void *arg)
{
	struct comer *c = arg;

	c->reactor = reactor;
	c->again.fire = come;
	come(&c->again);
	return 0;
}

static void
nobody_stays_who_came_through_a_listener_that_is_given_up(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct sim_options options = sim_options_default();
		struct served s = { .reactors = 1 + (unsigned)(seed % 3) };
		struct comer *c = calloc(1, sizeof(*c));
		struct sim_process_options served = { .reactor = { 64, 16 }, .start = served_begin, .arg = &s };
		struct sim_process_options comes = { .start = comer_begin, .arg = c };
		struct target_stats stats;
		struct sim *sim;

		assert_non_null(c);
		options.mail_jitter_ns = MS; /* reactors hear of it one long after the other */
		sim = sim_create(seed, &options);
		sim_process_create(sim, "target", s.reactors, &served);
		sim_run_until(sim, MS / 2, NULL, NULL);
		sim_process_create(sim, "comer", 1, &comes);
		sim_run_until(sim, 3 * MS - 1, NULL, NULL);
		target_stats(s.target, &stats);
		assert_true(stats.connections > 20 && c->let_in > 20);
		sim_run_until(sim, 30 * MS, NULL, NULL);
		assert_true(s.over && c->count == STREAMS);
		target_stats(s.target, &stats);
		assert_int_equal(stats.connections, 0);
		assert_int_equal(c->open, 0);
		sim_destroy(sim);
		free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_stays_who_came_through_a_listener_that_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
