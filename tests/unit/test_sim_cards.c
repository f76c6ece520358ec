/*
 * What a simulated process sends and receives passes its network card at so
 * many bits a second, and takes its time on its way.  The actors are those of
 * tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000, MAX = 4, BYTES = 500 * 1000 };

/* Clients and servers, the first client at the first server, and so on. */
struct traffic {
	unsigned clients, servers;
	bool one_process; /* has all the clients */
	bool echoed;      /* else swallowed */
	uint32_t mbit;
	struct sim *sim;
	uint64_t begun_ns;
	struct toy_client client[MAX];
	struct toy_server server[MAX];
};

static int
start_clients(struct reactor *reactor, void *arg)
{
	struct traffic *traffic = arg;
	int rc = 0;

	for (unsigned i = 0; i < traffic->clients && rc == 0; i++)
		rc = toy_client_start(reactor, &traffic->client[i]);
	return rc;
}

static void
traffic_begin(struct traffic *traffic)
{
	struct sim_options options = sim_options_default();

	options.mbit = traffic->mbit;
	options.short_ppm = options.spurious_ppm = 0;
	options.socket_bytes_min = options.socket_bytes_max;
	traffic->sim = sim_create(1, &options);
	for (unsigned i = 0; i < traffic->servers; i++) {
		traffic->server[i] = (struct toy_server){
			.host = "10.0.0.1", .port = (uint16_t)(4420 + i), .sink = !traffic->echoed,
		};
		toy_process(traffic->sim, "server", 1, toy_server_start, &traffic->server[i]);
	}
	sim_run_until(traffic->sim, MS, NULL, NULL);
	traffic->begun_ns = sim_now(traffic->sim);
	for (unsigned i = 0; i < traffic->clients; i++) {
		traffic->client[i] = toy_client_of(BYTES);
		traffic->client[i].port = (uint16_t)(4420 + i % traffic->servers);
		traffic->client[i].hasty = !traffic->echoed;
		if (!traffic->one_process)
			toy_process(traffic->sim, "client", 1, toy_client_start, &traffic->client[i]);
	}
	if (traffic->one_process)
		toy_process(traffic->sim, "clients", 1, start_clients, traffic);
}

/* How long all of it takes, in times of what BYTES take at 1000 Mbit/s: in hundredths. */
static uint64_t
time_taken(struct traffic traffic)
{
	uint64_t ns;

	traffic_begin(&traffic);
	assert_int_equal(sim_run_until(traffic.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	ns = sim_now(traffic.sim) - traffic.begun_ns;
	for (unsigned i = 0; i < traffic.clients; i++)
		assert_true(traffic.client[i].done && !traffic.client[i].wrong && traffic.client[i].error == 0);
	assert_true(list_empty(&traffic.sim->links));
	sim_destroy(traffic.sim);
	return ns * 100 / (BYTES * 8);
}

static void
bytes_pass_a_card_one_after_another(void **state)
{
	struct traffic one = { .clients = 1, .servers = 1, .mbit = 1000 };

	assert_in_range(time_taken(one), 100, 120);
	one.mbit = 100;
	assert_in_range(time_taken(one), 1000, 1020);
	one.mbit = 0;
	assert_in_range(time_taken(one), 1, 60);
}

static void
connections_share_the_card_that_receives(void **state)
{
	assert_in_range(time_taken((struct traffic){ .clients = 4, .servers = 1, .mbit = 1000 }), 400, 420);
}

static void
connections_share_the_card_that_sends(void **state)
{
	struct traffic traffic = { .clients = 4, .servers = 4, .mbit = 1000, .one_process = true };

	assert_in_range(time_taken(traffic), 400, 420);
	traffic.one_process = false;
	assert_in_range(time_taken(traffic), 100, 120);
}

static void
a_card_sends_while_it_receives(void **state)
{
	struct traffic traffic = { .clients = 2, .servers = 1, .mbit = 1000, .echoed = true };

	assert_in_range(time_taken(traffic), 200, 350);
}

/* ---- distance ---- */

static bool
has_an_answer(void *arg)
{
	return ((struct toy_client *)arg)->received > 0;
}

/* Until the client that begins now has its first answer. */
static uint64_t
time_to_answer(struct sim *sim, uint16_t port, struct sim_process **client)
{
	struct toy_client asked = toy_client_of(10);
	uint64_t begun_ns = sim_now(sim);

	asked.port = port;
	*client = toy_process(sim, "client", 1, toy_client_start, &asked);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, has_an_answer, &asked), SIM_END_MET);
	begun_ns = sim_now(sim) - begun_ns;
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	return begun_ns;
}

static void
all_takes_longer_to_and_from_a_slow_process(void **state)
{
	struct sim_options options = sim_options_default();
	struct toy_server servers[2];
	struct sim_process *processes[2], *client;
	struct sim *sim;
	uint64_t once_ns;

	options.latency_ns = MS;
	options.jitter_ns = 0;
	sim = sim_create(2, &options);
	for (uint16_t i = 0; i < 2; i++) {
		servers[i] = (struct toy_server){ .host = "10.0.0.1", .port = (uint16_t)(4420 + i) };
		processes[i] = toy_process(sim, "server", 1, toy_server_start, &servers[i]);
	}
	sim_run_until(sim, MS, NULL, NULL);
	once_ns = time_to_answer(sim, 4420, &client);
	assert_in_range(once_ns, 4 * MS, 5 * MS);
	sim_process_slow(processes[0], 100);
	assert_in_range(time_to_answer(sim, 4420, &client), 400 * MS, 401 * MS);
	assert_in_range(time_to_answer(sim, 4421, &client), 4 * MS, 5 * MS);
	sim_process_slow(processes[1], 50);
	assert_in_range(time_to_answer(sim, 4421, &client), 200 * MS, 201 * MS);
	sim_process_crash(processes[0], 0);
	sim_process_start(processes[0]);
	sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
	assert_in_range(time_to_answer(sim, 4420, &client), 400 * MS, 401 * MS);
	sim_process_slow(processes[0], 1);
	assert_in_range(time_to_answer(sim, 4420, &client), 4 * MS, 5 * MS);
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_pass_a_card_one_after_another),
		cmocka_unit_test(connections_share_the_card_that_receives),
		cmocka_unit_test(connections_share_the_card_that_sends),
		cmocka_unit_test(a_card_sends_while_it_receives),
		cmocka_unit_test(all_takes_longer_to_and_from_a_slow_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
