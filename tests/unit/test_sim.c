/*
 * The simulation is the same for the same seed, delivers mail as world.h says,
 * and ends when it must.  The actors are those of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000 };

/* ---- one seed, one history ---- */

static uint64_t
history(uint64_t seed)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(seed, &options);
	struct toy_server server;
	struct toy_client client = toy_client_of(30000);
	struct toy_writer writer = { .path = "f", .ops = 50 };
	struct toy_mail mail = { .rounds = 10 };
	struct sim_process *process = toy_serve(sim, &server), *other, *mailer;
	uint64_t hash;

	sim->options.mbit = 1000;
	sim_file_set_faults(sim, "f", &(struct sim_file_faults){ .late_error_ppm = 100000, .short_ppm = 100000,
	    .slow = 3 });
	other = toy_process(sim, "client", 1, toy_client_start, &client);
	mailer = toy_process(sim, "mail", 3, toy_mail_start, &mail);
	toy_process(sim, "writer", 1, toy_writer_start, &writer);
	sim_process_slow(other, 2);
	sim_run_until(sim, sim_now(sim) + MS / 10, NULL, NULL);
	sim_part(sim, other, process);
	sim_process_pause(mailer, 1, sim_now(sim) + MS);
	sim_run_until(sim, sim_now(sim) + MS, NULL, NULL);
	sim_join(sim, other, process);
	sim_run_until(sim, sim_now(sim) + MS / 10, NULL, NULL);
	sim_process_crash(process, 0);
	sim_run_until(sim, TOY_FOREVER, NULL, NULL);
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

/* ---- mail ---- */

static void
mail_arrives_once_and_in_order_per_sender(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim_options options = sim_options_default();
		struct sim *sim = sim_create(seed, &options);
		struct toy_mail mail = { .rounds = 30 };

		toy_process(sim, "mail", 4, toy_mail_start, &mail);
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(mail.wrong);
		assert_int_equal(mail.received, 4 * 4 * 10 * (1 + 2 + 3));
		sim_destroy(sim);
	}
}

/* ---- errands ---- */

enum { ERRANDS = 20 };

struct errands {
	struct errand list[ERRANDS];
	unsigned run, done;
};

static void
errand_run(struct errand *errand)
{
	struct errands *errands = errand->owner;

	assert_ptr_equal(errand, &errands->list[errands->run++]);
}

/* Others are run meanwhile, but this one was before it is done. */
static void
errand_done(struct errand *errand)
{
	struct errands *errands = errand->owner;

	assert_ptr_equal(errand, &errands->list[errands->done++]);
	assert_true(errands->run >= errands->done);
}

static int
give_errands(struct reactor *reactor, void *arg)
{
	struct errands *errands = arg;

	for (unsigned i = 0; i < ERRANDS; i++) {
		errands->list[i] = (struct errand){ .run = errand_run, .done = errand_done, .owner = errands };
		reactor->world->errand(reactor, &errands->list[i]);
	}
	assert_int_equal(errands->run, 0);
	return 0;
}

static void
errands_are_run_and_done_in_the_order_given(void **state)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim_options options = sim_options_default();
		struct sim *sim = sim_create(seed, &options);
		struct errands errands = { .run = 0 };

		toy_process(sim, "errands", 1, give_errands, &errands);
		assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_int_equal(errands.run, ERRANDS);
		assert_int_equal(errands.done, ERRANDS);
		sim_destroy(sim);
	}
}

static bool
half_are_run(void *arg)
{
	return ((const struct errands *)arg)->run == ERRANDS / 2;
}

static void
a_crash_leaves_what_is_left_of_errands_undone(void **state)
{
	struct sim_options options = sim_options_default();
	struct sim *sim = sim_create(3, &options);
	struct errands errands = { .run = 0 };
	struct sim_process *process = toy_process(sim, "errands", 1, give_errands, &errands);

	assert_int_equal(sim_run_until(sim, TOY_FOREVER, half_are_run, &errands), SIM_END_MET);
	sim_process_crash(process, 0);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(errands.run, ERRANDS / 2);
	assert_in_range(errands.done, 0, ERRANDS / 2);
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
	struct sim_process *process = toy_process(sim, "no", 2, refuse_to_start, NULL);

	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
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
	toy_process(sim, "ticker", 1, ticker_start, NULL);
	assert_int_equal(sim_run_until(sim, MS, NULL, NULL), SIM_END_TIME);
	assert_int_equal(sim_now(sim), MS);
	assert_in_range(sim_events(sim), 900, 1000);
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_LIMIT);
	assert_int_equal(sim_now(sim), 50 * MS);
	sim->options.max_ns = UINT64_MAX;
	assert_int_equal(sim_run_until(sim, TOY_FOREVER, NULL, NULL), SIM_END_LIMIT);
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
		cmocka_unit_test(mail_arrives_once_and_in_order_per_sender),
		cmocka_unit_test(errands_are_run_and_done_in_the_order_given),
		cmocka_unit_test(a_crash_leaves_what_is_left_of_errands_undone),
		cmocka_unit_test(a_failed_start_ends_the_process),
		cmocka_unit_test(a_run_ends_at_its_limits_and_says_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
