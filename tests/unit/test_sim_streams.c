/*
 * The simulated network keeps the promises of world.h, and breaks what it may
 * break.  The actors are those of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000, CLIENTS = 4 };

/* Of the network, what the seed says: from whole writes to shreds. */
static struct sim_options
weather(uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct rng rng;

	rng_seed(&rng, seed * 77);
	options.segment_max = (uint32_t[]){ 0, 2, 100, 5000, 100000 }[rng_below(&rng, 5)];
	options.socket_bytes_min = (uint32_t[]){ 1, 64, 3000, 65536 }[rng_below(&rng, 4)];
	options.socket_bytes_max = options.socket_bytes_min * (1 + (uint32_t)rng_below(&rng, 4));
	options.short_ppm = (uint32_t[]){ 0, 20000, 500000 }[rng_below(&rng, 3)];
	options.spurious_ppm = (uint32_t[]){ 0, 10000, 500000 }[rng_below(&rng, 3)];
	options.jitter_ns = (uint32_t[]){ 0, 1000, 100000 }[rng_below(&rng, 3)];
	options.mbit = (uint32_t[]){ 0, 100, 100000 }[rng_below(&rng, 3)];
	return options;
}

static void
bytes_are_never_lost_doubled_or_reordered(void **state)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sim_options options = weather(seed);
		struct sim *sim = sim_create(seed, &options);
		struct toy_server server;
		struct toy_client clients[CLIENTS];
		struct sim_process *process = toy_serve(sim, &server), *others[CLIENTS];

		for (uint64_t i = 0; i < CLIENTS; i++) {
			clients[i] = toy_client_of(options.socket_bytes_min == 1 ? 300 + i : 20000 + 7000 * i);
			others[i] = toy_process(sim, "client", 1, toy_client_start, &clients[i]);
		}
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		for (int i = 0; i < CLIENTS; i++) {
			if (clients[i].wrong || !clients[i].done || clients[i].error != 0)
				fail_msg("seed %llu: client %d: %s %s, error %d, %llu of %llu back",
				    (unsigned long long)seed, i, clients[i].wrong ? "wrong bytes" : "",
				    clients[i].done ? "done" : "stuck", clients[i].error,
				    (unsigned long long)clients[i].received,
				    (unsigned long long)clients[i].total);
			assert_int_equal(sim_process_streams(others[i]), 0);
		}
		assert_int_equal(server.ended, CLIENTS);
		assert_int_equal(sim_process_streams(process), 0);
		assert_true(list_empty(&sim->links));
		sim_destroy(sim);
	}
}

enum { SEGMENT = 1000 };

struct pieces {
	unsigned full, others, writes;
};

static void
count_pieces(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	struct pieces *pieces = arg;

	pieces->writes += kind == SIM_WRITE;
	pieces->full += kind == SIM_BYTES && a == SEGMENT;
	pieces->others += kind == SIM_BYTES && a != SEGMENT;
}

static void
segments_can_be_as_large_as_they_go(void **state)
{
	struct pieces pieces = { 0 };
	struct sim_options options = sim_options_default();
	struct toy_client client = toy_client_of(100000);
	struct toy_server server;
	struct sim *sim;

	options.segment_max = SEGMENT;
	options.segments_full = true;
	options.trace = count_pieces;
	options.arg = &pieces;
	sim = sim_create(1, &options);
	toy_serve(sim, &server);
	toy_process(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(client.done && !client.wrong);
	/* Of each write the last piece at most is shorter. */
	assert_true(pieces.full >= 100 && pieces.others <= pieces.writes);
	sim_destroy(sim);
}

static void
what_was_written_before_a_close_still_arrives(void **state)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_options options = weather(seed);
		struct sim *sim = sim_create(seed, &options);
		struct toy_server server;
		struct toy_client client = toy_client_of(options.socket_bytes_min == 1 ? 300 : 30000);

		client.hasty = true;
		toy_serve(sim, &server);
		server.sink = true;
		toy_process(sim, "client", 1, toy_client_start, &client);
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_true(client.done);
		assert_int_equal(client.error, 0);
		assert_int_equal(server.received, client.total);
		assert_int_equal(server.ended, 1);
		sim_destroy(sim);
	}
}

/* The actors assert that nobody calls them after close(); ASan that nobody touches them. */
static void
a_stream_closed_at_any_time_is_not_called_again(void **state)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sim_options options = weather(seed);
		struct sim *sim;
		struct toy_server server;
		struct toy_client clients[CLIENTS];
		struct sim_process *process;

		options.reset_ppm = seed % 3 == 0 ? 10000 : 0;
		sim = sim_create(seed, &options);
		process = toy_serve(sim, &server);
		for (uint64_t i = 0; i < CLIENTS; i++) {
			clients[i] = toy_client_of(20000);
			clients[i].close_at = 1 + sim_below(sim, options.socket_bytes_min == 1 ? 50 : 15000);
			clients[i].abort = sim_below(sim, 2) == 0;
			toy_process(sim, "client", 1, toy_client_start, &clients[i]);
		}
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		for (int i = 0; i < CLIENTS; i++) {
			assert_true(clients[i].done && !clients[i].wrong);
			assert_true(clients[i].error == 0 || options.reset_ppm > 0);
		}
		assert_int_equal(server.ended + server.broken, server.accepted);
		assert_int_equal(sim_process_streams(process), 0);
		assert_true(list_empty(&sim->links));
		sim_destroy(sim);
	}
}

static void
connecting_to_nobody_is_refused(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(3, &options);
	struct toy_client client = toy_client_of(100);

	toy_process(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(client.done);
	assert_int_equal(client.error, -ECONNREFUSED);
	assert_int_equal(client.sent, 0);
	sim_destroy(sim);
}

static bool
has_received_some(void *arg)
{
	return ((struct toy_client *)arg)->received > 2000;
}

static void
peers_of_a_crashed_process_are_reset(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(4, &options);
	struct toy_server server;
	struct toy_client client = toy_client_of(1000000);
	struct sim_process *process = toy_serve(sim, &server);

	toy_process(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, 0);
	assert_false(sim_process_running(process));
	assert_int_equal(sim_process_streams(process), 0);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(client.done && !client.wrong);
	assert_int_equal(client.error, -ECONNRESET);
	sim_destroy(sim);
}

/* The client writes more than the sockets hold, so it always has bytes under way. */
static void
a_half_open_peer_hears_nothing_before_the_process_is_back(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim;
	struct toy_server server;
	struct toy_client client = toy_client_of(1000000);
	struct sim_process *process;

	options.latency_ns = 2 * MS;
	sim = sim_create(5, &options);
	process = toy_serve(sim, &server);
	toy_process(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, SIM_CRASH_HALF_OPEN);
	sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
	assert_false(client.done);
	sim_process_start(process);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(client.done);
	assert_int_equal(client.error, -ECONNRESET);

	client = toy_client_of(1000000);
	toy_process(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, SIM_CRASH_HALF_OPEN);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_false(client.done);
	sim_destroy(sim);
}

/* The server is killed after each event in turn, comes back, and serves a new client. */
static void
a_server_may_crash_at_any_event(void **state)
{
	for (uint64_t at = 10; at < 400; at += 3) {
		struct sim_options options = sim_options_default();
		struct sim *sim;
		struct toy_server server;
		struct toy_client client = toy_client_of(5000), again = toy_client_of(3000);
		struct sim_process *process;

		options.max_events = at;
		sim = sim_create(at, &options);
		process = toy_serve(sim, &server);
		toy_process(sim, "client", 1, toy_client_start, &client);
		sim_run_until(sim, TOY_FOREVER, NULL, NULL);
		sim->options.max_events = UINT64_MAX;
		sim_process_crash(process, at % 2 == 0 ? SIM_CRASH_HALF_OPEN : 0);
		sim_process_start(process);
		sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
		toy_process(sim, "again", 1, toy_client_start, &again);
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(client.wrong || again.wrong);
		assert_true(again.done);
		assert_int_equal(again.error, 0);
		sim_destroy(sim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_never_lost_doubled_or_reordered),
		cmocka_unit_test(segments_can_be_as_large_as_they_go),
		cmocka_unit_test(what_was_written_before_a_close_still_arrives),
		cmocka_unit_test(a_stream_closed_at_any_time_is_not_called_again),
		cmocka_unit_test(connecting_to_nobody_is_refused),
		cmocka_unit_test(peers_of_a_crashed_process_are_reset),
		cmocka_unit_test(a_half_open_peer_hears_nothing_before_the_process_is_back),
		cmocka_unit_test(a_server_may_crash_at_any_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
