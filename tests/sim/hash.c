/*
 * hash.c - one history from a seed, and the hash of its trace.
 *
 *   weir-sim-hash SEED [trace]
 *
 * First small actors, then the real target and hosts, then a target that is told
 * anew what it serves, then a trial with all that there is, then a measurement.
 * Builds by different compilers must print the same line; with `trace` every
 * entry is printed before it, so that two of them can be compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "cluster.h"
#include "hash_lab.h"
#include "hash_trial.h"
#include "recon.h"
#include "toy.h"

enum { CLIENTS = 3, LIMIT_NS = 1000 * 1000 * 1000 };

struct world {
	struct toy_server server;
	struct toy_client clients[CLIENTS], late;
	struct toy_mail mail;
	struct toy_writer writer;
};

static void
print_entry(void *arg, uint64_t now_ns, enum sim_kind kind, uint64_t actor, uint64_t a, uint64_t b)
{
	printf("%" PRIu64 " %d %" PRIx64 " %" PRIu64 " %" PRIx64 "\n", now_ns, (int)kind, actor, a, b);
}

/* For a while: distance, silence, bytes that change, a pause, and a file that is sick. */
static void
meddle(struct sim *sim, struct sim_process *server, struct sim_process *const clients[CLIENTS])
{
	static const struct sim_file_faults none = { 0 }, sick = {
		.error_ppm = 50000, .late_error_ppm = 50000, .short_ppm = 50000, .slow = 3,
	};

	sim_file_set_faults(sim, "volume.img", &sick);
	sim_process_slow(clients[0], 5);
	sim_process_flips(clients[2], 100000, 512);
	sim_process_pause(server, 1, sim_now(sim) + sim_below(sim, 300 * 1000));
	sim_part(sim, server, clients[1]);
	sim_run_until(sim, sim_now(sim) + 200 * 1000 + sim_below(sim, 300 * 1000), NULL, NULL);
	sim_join(sim, clients[1], server);
	sim_process_slow(clients[0], 1);
	sim_process_flips(clients[2], 0, 0);
	sim_file_set_faults(sim, "volume.img", &none);
}

/* Connect, I/O, disconnect, and a crash of each kind on the way. */
static void
play(struct sim *sim, struct world *world)
{
	struct sim_process *server = toy_process(sim, "server", 2, toy_server_start, &world->server);
	struct sim_process *writer, *clients[CLIENTS];

	sim_run_until(sim, 100 * 1000, NULL, NULL);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = toy_process(sim, "client", 1, toy_client_start, &world->clients[i]);
	toy_process(sim, "mail", 3, toy_mail_start, &world->mail);
	writer = toy_process(sim, "writer", 1, toy_writer_start, &world->writer);
	meddle(sim, server, clients);
	sim_run_until(sim, 1000 * 1000 + sim_below(sim, 1000 * 1000), NULL, NULL);
	sim_process_crash(writer, 0);
	sim_process_start(writer);
	sim_run_until(sim, sim_now(sim) + 500 * 1000 + sim_below(sim, 2000 * 1000), NULL, NULL);
	sim_process_crash(server, sim_below(sim, 2) == 0 ? SIM_CRASH_HALF_OPEN : 0);
	sim_run_until(sim, sim_now(sim) + 1000 * 1000, NULL, NULL);
	sim_process_start(server);
	toy_process(sim, "late", 1, toy_client_start, &world->late);
	sim_run_until(sim, LIMIT_NS, NULL, NULL);
}

/* The target with two reactors over a file, two hosts, and a crash of the target while they work. */
static void
play_cluster(struct sim *sim, struct cluster_target *target, struct cluster_host hosts[2])
{
	struct sim_process_options options = {
		.reactor = { 256, 32 }, .start = cluster_target_start, .arg = target,
	};
	struct sim_process *process = sim_process_create(sim, "target", target->reactors, &options);

	for (int i = 0; i < 2; i++) {
		struct sim_process_options host = { .start = cluster_host_start, .arg = &hosts[i] };

		sim_process_create(sim, "host", 1, &host);
	}
	sim_run_until(sim, 5 * 1000 * 1000 + sim_below(sim, 5 * 1000 * 1000), NULL, NULL);
	sim_process_crash(process, 0);
	sim_run_until(sim, sim_now(sim) + 1000 * 1000, NULL, NULL);
	sim_process_start(process);
	sim_run_until(sim, LIMIT_NS, NULL, NULL);
}

static void
print_hash(const char *what, uint64_t seed, struct sim *sim)
{
	printf("seed %" PRIu64 " %s: %016" PRIx64 " after %" PRIu64 " events, %" PRIu64 " ns\n",
	    seed, what, sim_hash(sim), sim_events(sim), sim_now(sim));
	sim_destroy(sim);
}

int
main(int argc, char **argv)
{
	struct sim_options options = sim_options_default();
	struct world world = {
		.late = { .host = "10.0.0.1", .port = 4420, .total = 20000 },
		.server = { .host = "10.0.0.1", .port = 4420 },
		.mail = { .rounds = 50 },
		.writer = { .path = "volume.img", .ops = 200 },
	};
	struct cluster_target target = {
		.host = "10.0.0.1", .spec = "file:volume.img,size=16M", .reactors = 2, .stall_timeout_ms = 500,
	};
	struct cluster_host *hosts = calloc(2, sizeof(*hosts));
	struct recon *recon = calloc(1, sizeof(*recon));
	struct sim *sim;
	uint64_t seed;

	if (argc < 2 || hosts == NULL || recon == NULL) {
		free(hosts);
		free(recon);
		fprintf(stderr, "usage: weir-sim-hash SEED [trace]\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10);
	options.mbit = seed % 2 == 0 ? 10000 : 0;
	if (argc > 2 && strcmp(argv[2], "trace") == 0)
		options.trace = print_entry;
	for (int i = 0; i < CLIENTS; i++)
		world.clients[i] = (struct toy_client){
			.host = "10.0.0.1", .port = 4420, .total = 1000000u << i, .salt = seed + (uint64_t)i,
		};
	sim = sim_create(seed, &options);
	play(sim, &world);
	print_hash("toys", seed, sim);
	for (int i = 0; i < 2; i++)
		hosts[i] = (struct cluster_host){
			.addr = "10.0.0.1", .first_slot = (unsigned)i * CLUSTER_SLOTS, .queues = 2,
			.hdgst = seed & 1, .ddgst = seed & 2, .sq_flow = i == 0, .slot_bytes = 16384, .ios = 400,
		};
	sim = sim_create(seed, &options);
	play_cluster(sim, &target, hosts);
	print_hash("cluster", seed, sim);
	free(hosts);
	recon->plans_left = 10;
	recon_create(recon, seed, &options);
	recon_play(recon);
	print_hash("reconfigure", seed, recon->sim);
	recon->sim = NULL;
	recon_destroy(recon);
	free(recon);
	hash_trial(seed, options.trace);
	hash_lab(seed, options.trace);
	return 0;
}
