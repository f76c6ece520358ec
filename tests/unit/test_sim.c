/*
 * The simulation keeps the promises of world.h, breaks what it may break, and
 * is the same for the same seed.  The actors are those of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000, FOREVER_MS = 100 * 1000, CLIENTS = 4 };

static const uint64_t forever = (uint64_t)FOREVER_MS * MS;

static struct sim_process *
add(struct sim *sim, const char *name, unsigned reactors, int (*start)(struct reactor *, void *), void *arg)
{
	struct sim_process_options options = { .start = start, .arg = arg };

	return sim_process_create(sim, name, reactors, &options);
}

static struct toy_client
client_of(uint64_t total)
{
	return (struct toy_client){ .host = "10.0.0.1", .port = 4420, .total = total, .salt = total };
}

/* Lets the server come up, so that nobody is refused. */
static struct sim_process *
add_server(struct sim *sim, struct toy_server *server)
{
	struct sim_process *process;

	*server = (struct toy_server){ .host = "10.0.0.1", .port = 4420 };
	process = add(sim, "server", 2, toy_server_start, server);
	sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
	return process;
}

/* ---- one seed, one history ---- */

static uint64_t
history(uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(seed, &options);
	struct toy_server server;
	struct toy_client client = client_of(30000);
	struct toy_writer writer = { .path = "f", .ops = 50 };
	struct toy_mail mail = { .rounds = 10 };
	struct sim_process *process = add_server(sim, &server);
	uint64_t hash;

	add(sim, "client", 1, toy_client_start, &client);
	add(sim, "mail", 3, toy_mail_start, &mail);
	add(sim, "writer", 1, toy_writer_start, &writer);
	sim_run_until(sim, 2 * MS, NULL, NULL);
	sim_process_crash(process, 0);
	sim_run_until(sim, forever, NULL, NULL);
	hash = sim_hash(sim);
	sim_destroy(sim);
	return hash;
}

static void
the_same_seed_gives_the_same_history(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++)
		assert_true(history(seed) == history(seed));
}

static void
different_seeds_give_different_histories(void **state)
{
	uint64_t hashes[8];

	for (uint64_t i = 0; i < 8; i++) {
		hashes[i] = history(i);
		for (uint64_t j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
	}
}

static void
events_of_one_instant_happen_in_the_order_put(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(1, &options);
	uint64_t last_ns = 0, last = 0, at_ns;

	for (uint64_t i = 0; i < 1000; i++) {
		struct sim_event *event = sim_event_take(sim, SIM_TURN);

		event->count = i;
		sim_event_put(sim, event, sim_below(sim, 20));
	}
	for (int i = 0; i < 1000; i++) {
		struct sim_event *event = sim_event_next(sim, &at_ns);

		assert_true(at_ns > last_ns || (at_ns == last_ns && (i == 0 || event->count > last)));
		last_ns = at_ns;
		last = event->count;
		sim_event_give(sim, event);
	}
	assert_null(sim_event_next(sim, &at_ns));
	sim_destroy(sim);
}

/* ---- streams ---- */

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
		struct sim_process *process = add_server(sim, &server), *others[CLIENTS];

		for (uint64_t i = 0; i < CLIENTS; i++) {
			clients[i] = client_of(options.socket_bytes_min == 1 ? 300 + i : 20000 + 7000 * i);
			others[i] = add(sim, "client", 1, toy_client_start, &clients[i]);
		}
		assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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

static void
what_was_written_before_a_close_still_arrives(void **state)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_options options = weather(seed);
		struct sim *sim = sim_create(seed, &options);
		struct toy_server server;
		struct toy_client client = client_of(options.socket_bytes_min == 1 ? 300 : 30000);

		client.hasty = true;
		add_server(sim, &server);
		server.sink = true;
		add(sim, "client", 1, toy_client_start, &client);
		assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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
		process = add_server(sim, &server);
		for (uint64_t i = 0; i < CLIENTS; i++) {
			clients[i] = client_of(20000);
			clients[i].close_at = 1 + sim_below(sim, options.socket_bytes_min == 1 ? 50 : 15000);
			clients[i].abort = sim_below(sim, 2) == 0;
			add(sim, "client", 1, toy_client_start, &clients[i]);
		}
		assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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
	struct toy_client client = client_of(100);

	add(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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
	struct toy_client client = client_of(1000000);
	struct sim_process *process = add_server(sim, &server);

	add(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, forever, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, 0);
	assert_false(sim_process_running(process));
	assert_int_equal(sim_process_streams(process), 0);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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
	struct toy_client client = client_of(1000000);
	struct sim_process *process;

	options.latency_ns = 2 * MS;
	sim = sim_create(5, &options);
	process = add_server(sim, &server);
	add(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, forever, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, SIM_CRASH_HALF_OPEN);
	sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
	assert_false(client.done);
	sim_process_start(process);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
	assert_true(client.done);
	assert_int_equal(client.error, -ECONNRESET);

	client = client_of(1000000);
	add(sim, "client", 1, toy_client_start, &client);
	assert_int_equal(sim_run_until(sim, forever, has_received_some, &client), SIM_END_MET);
	sim_process_crash(process, SIM_CRASH_HALF_OPEN);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
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
		struct toy_client client = client_of(5000), again = client_of(3000);
		struct sim_process *process;

		options.max_events = at;
		sim = sim_create(at, &options);
		process = add_server(sim, &server);
		add(sim, "client", 1, toy_client_start, &client);
		sim_run_until(sim, forever, NULL, NULL);
		sim->options.max_events = UINT64_MAX;
		sim_process_crash(process, at % 2 == 0 ? SIM_CRASH_HALF_OPEN : 0);
		sim_process_start(process);
		sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
		add(sim, "again", 1, toy_client_start, &again);
		assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
		assert_false(client.wrong || again.wrong);
		assert_true(again.done);
		assert_int_equal(again.error, 0);
		sim_destroy(sim);
	}
}

/* ---- mail ---- */

static void
mail_arrives_once_and_in_order_per_sender(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim_options options = sim_options_default();
		struct sim *sim = sim_create(seed, &options);
		struct toy_mail mail = { .rounds = 30 };

		add(sim, "mail", 4, toy_mail_start, &mail);
		assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
		assert_false(mail.wrong);
		assert_int_equal(mail.received, 4 * 4 * 10 * (1 + 2 + 3));
		sim_destroy(sim);
	}
}

/* ---- files ---- */

struct plight {
	struct sim *sim;
	struct sim_process *process;
	struct toy_writer writer;
	bool ended; /* the writer had nothing left to do */
};

/* A writer that is stopped after the given number of events. */
static void
plight_make(struct plight *plight, uint64_t seed, uint64_t events)
{
	struct sim_options options = sim_options_default();

	*plight = (struct plight){ .writer = { .path = "f", .ops = 100 } };
	options.max_events = events;
	plight->sim = sim_create(seed, &options);
	plight->process = add(plight->sim, "writer", 1, toy_writer_start, &plight->writer);
	plight->ended = sim_run_until(plight->sim, forever, NULL, NULL) == SIM_END_IDLE;
	plight->sim->options.max_events = UINT64_MAX;
}

/* Each page is one version, of those that were promised or still under way; answers how many writes are gone. */
static unsigned
check_pages(struct plight *plight, const uint32_t *promised)
{
	struct sim_file *file = sim_file_find(plight->sim, plight->writer.path);
	unsigned lost = 0;

	for (uint32_t i = 0; i < TOY_PAGES && file != NULL; i++) {
		uint8_t page[TOY_PAGE];
		uint32_t version;

		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), false);
		version = toy_page_version(page, i);
		if (version == UINT32_MAX || version < promised[i] || version > plight->writer.submitted[i])
			fail_msg("after %llu events page %u holds version %d: at least %u, at most %u",
			    (unsigned long long)sim_events(plight->sim), i, (int)version, promised[i],
			    plight->writer.submitted[i]);
		lost += version < plight->writer.written[i];
	}
	return lost;
}

/* What a restarted writer finds is what it builds on. */
static void
restart(struct plight *plight)
{
	struct sim_file *file = sim_file_find(plight->sim, plight->writer.path);

	for (uint32_t i = 0; i < TOY_PAGES && file != NULL; i++) {
		uint8_t page[TOY_PAGE];

		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), true);
		plight->writer.synced[i] = toy_page_version(page, i);
		sim_file_peek(file, (uint64_t)i * TOY_PAGE, page, sizeof(page), false);
		plight->writer.written[i] = toy_page_version(page, i);
	}
	plight->writer.ops = plight->writer.issued + 40;
	sim_process_start(plight->process);
	assert_int_equal(sim_run_until(plight->sim, forever, NULL, NULL), SIM_END_IDLE);
	assert_true(plight->writer.done);
	assert_int_equal(plight->writer.failed, 0);
}

static void
a_crash_loses_unsynced_writes_only(void **state)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct plight plight = { 0 };
		unsigned lost = 0;

		for (uint64_t events = 1; !plight.ended; events++) {
			plight_make(&plight, seed, events);
			sim_process_crash(plight.process, 0);
			lost += check_pages(&plight, plight.writer.synced);
			restart(&plight);
			sim_process_crash(plight.process, 0);
			check_pages(&plight, plight.writer.synced);
			sim_destroy(plight.sim);
		}
		assert_true(lost > 0);
	}
}

static void
a_killed_process_loses_no_completed_write(void **state)
{
	struct plight plight = { 0 };

	for (uint64_t events = 1; !plight.ended; events++) {
		plight_make(&plight, 9, events);
		sim_process_crash(plight.process, SIM_CRASH_KEEPS_WRITES);
		assert_int_equal(check_pages(&plight, plight.writer.written), 0);
		restart(&plight);
		sim_process_crash(plight.process, 0);
		check_pages(&plight, plight.writer.synced);
		sim_destroy(plight.sim);
	}
}

/* Every third write fails, or is cut short to a block. */
static int64_t
fail_some(void *arg, const char *path, const struct file_io *io)
{
	unsigned *count = arg;

	assert_string_equal(path, "f");
	if (io->op != FILE_WRITE || ++*count % 3 != 0)
		return 0;
	return *count % 2 == 0 ? -EIO : 512;
}

static void
file_operations_fail_as_the_hook_says(void **state)
{
	struct sim_options options = sim_options_default();
	struct toy_writer writer = { .path = "f", .ops = 70 };
	unsigned count = 0;
	struct sim *sim;

	options.file_fault = fail_some;
	options.arg = &count;
	sim = sim_create(6, &options);
	add(sim, "writer", 1, toy_writer_start, &writer);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
	assert_true(writer.done);
	assert_int_equal(count, 60);
	assert_int_equal(writer.failed, 20);
	sim_destroy(sim);
}

struct puncher {
	struct file *file;
	struct file_io io;
	struct iovec iov;
	uint8_t *bytes;
	int step;
};

static void
puncher_step(struct file_io *io)
{
	struct puncher *puncher = io->owner;

	assert_true(io->result >= 0);
	puncher->step++;
	if (puncher->step == 1)
		*io = (struct file_io){ .op = FILE_PUNCH, .offset = 1024, .bytes = 8192 };
	else if (puncher->step == 2)
		*io = (struct file_io){ .op = FILE_READ, .iov = &puncher->iov, .iov_count = 1 };
	else
		return;
	io->owner = puncher;
	io->done = puncher_step;
	puncher->file->reactor->world->file_submit(puncher->file, io);
}

static int
puncher_start(struct reactor *reactor, void *arg)
{
	struct puncher *puncher = arg;
	int rc = reactor->world->file_open(reactor, "p", 65536, 4096, &puncher->file);

	assert_int_equal(rc, 0);
	assert_int_equal(reactor->world->file_open(reactor, "absent", 0, 4096, &puncher->file), -ENOENT);
	puncher->bytes = arena_alloc_aligned(reactor->arena, 16384, 4096);
	memset(puncher->bytes, 7, 16384);
	puncher->iov = (struct iovec){ puncher->bytes, 16384 };
	puncher->io = (struct file_io){
		.op = FILE_WRITE, .iov = &puncher->iov, .iov_count = 1, .done = puncher_step, .owner = puncher,
		.durable = true,
	};
	reactor->world->file_submit(puncher->file, &puncher->io);
	return 0;
}

static void
a_punched_range_reads_as_zeros(void **state)
{
	struct sim_options options = sim_options_default();
	struct puncher puncher = { 0 };
	uint8_t safe[16384];
	struct sim *sim;

	options.writeback_ppm = 0;
	sim = sim_create(7, &options);
	add(sim, "puncher", 1, puncher_start, &puncher);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(puncher.step, 3);
	assert_int_equal(puncher.io.result, 16384);
	sim_file_peek(sim_file_find(sim, "p"), 0, safe, sizeof(safe), true);
	for (int i = 0; i < 16384; i++) {
		assert_int_equal(puncher.bytes[i], i >= 1024 && i < 9216 ? 0 : 7);
		assert_int_equal(safe[i], 7); /* the write was durable, the punch is not yet */
	}
	assert_int_equal(sim_file_size(sim_file_find(sim, "p")), 65536);
	sim_destroy(sim);
}

/* ---- processes and runs ---- */

static int
refuse_to_start(struct reactor *reactor, void *arg)
{
	return reactor->index == 1 ? -EACCES : 0;
}

static void
a_failed_start_ends_the_process(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(8, &options);
	struct sim_process_options small = { .start = refuse_to_start, .arena_bytes = 4096 };
	struct sim_process *process = add(sim, "no", 2, refuse_to_start, NULL);

	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_IDLE);
	assert_false(sim_process_running(process));
	assert_int_equal(sim_process_error(process), -EACCES);
	process = sim_process_create(sim, "small", 1, &small);
	assert_false(sim_process_running(process));
	assert_int_equal(sim_process_error(process), -ENOMEM);
	sim_destroy(sim);
}

static void
tick(struct timer *timer)
{
	struct reactor *reactor = *(struct reactor **)(timer + 1);

	assert_true(reactor->now_ns >= timer->deadline_ns);
	timer_set(&reactor->timers, timer, reactor->now_ns + 1000);
}

static int
ticker_start(struct reactor *reactor, void *arg)
{
	struct timer *timer = arena_alloc(reactor->arena, sizeof(*timer) + sizeof(reactor));

	timer->fire = tick;
	*(struct reactor **)(timer + 1) = reactor;
	timer_set(&reactor->timers, timer, 5000);
	return 0;
}

static void
a_run_ends_at_its_limits_and_says_which(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim;

	options.max_events = 100000;
	options.max_ns = 50 * MS;
	sim = sim_create(9, &options);
	assert_int_equal(sim_run_until(sim, MS, NULL, NULL), SIM_END_IDLE);
	add(sim, "ticker", 1, ticker_start, NULL);
	assert_int_equal(sim_run_until(sim, MS, NULL, NULL), SIM_END_TIME);
	assert_int_equal(sim_now(sim), MS);
	assert_in_range(sim_events(sim), 900, 1000);
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_LIMIT);
	assert_int_equal(sim_now(sim), 50 * MS);
	sim->options.max_ns = UINT64_MAX;
	assert_int_equal(sim_run_until(sim, forever, NULL, NULL), SIM_END_LIMIT);
	assert_int_equal(sim_events(sim), 100000);
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_gives_the_same_history),
		cmocka_unit_test(different_seeds_give_different_histories),
		cmocka_unit_test(events_of_one_instant_happen_in_the_order_put),
		cmocka_unit_test(bytes_are_never_lost_doubled_or_reordered),
		cmocka_unit_test(what_was_written_before_a_close_still_arrives),
		cmocka_unit_test(a_stream_closed_at_any_time_is_not_called_again),
		cmocka_unit_test(connecting_to_nobody_is_refused),
		cmocka_unit_test(peers_of_a_crashed_process_are_reset),
		cmocka_unit_test(a_half_open_peer_hears_nothing_before_the_process_is_back),
		cmocka_unit_test(a_server_may_crash_at_any_event),
		cmocka_unit_test(mail_arrives_once_and_in_order_per_sender),
		cmocka_unit_test(a_crash_loses_unsynced_writes_only),
		cmocka_unit_test(a_killed_process_loses_no_completed_write),
		cmocka_unit_test(file_operations_fail_as_the_hook_says),
		cmocka_unit_test(a_punched_range_reads_as_zeros),
		cmocka_unit_test(a_failed_start_ends_the_process),
		cmocka_unit_test(a_run_ends_at_its_limits_and_says_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
