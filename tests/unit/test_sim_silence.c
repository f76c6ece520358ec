/*
 * Reactors that are kept from running, and processes that do not hear each
 * other, go on where they were, or find that the other has begun a new life.
 * The actors are those of tests/sim/toy.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"
#include "toy.h"

enum { MS = 1000 * 1000, TICK_NS = 10000 };

/* ---- pauses ---- */

struct tickers;

struct ticker {
	struct timer timer;
	struct reactor *reactor;
	unsigned ticks, mails;
};

/* Two reactors that tick; the first writes to the second each time. */
struct tickers {
	struct sim *sim;
	struct sim_process *process;
	struct ticker each[2];
};

static void
tick(struct timer *timer)
{
	struct ticker *ticker = container_of(timer, struct ticker, timer);
	struct reactor *reactor = ticker->reactor;
	struct mail mail = { .kind = 1 };

	ticker->ticks++;
	if (reactor->index == 0)
		reactor->world->post(reactor, 1, &mail);
	timer_set(&reactor->timers, timer, reactor->now_ns + TICK_NS);
}

static void
count_mail(struct reactor *reactor, const struct mail *mail)
{
	((struct ticker *)reactor->owner)->mails += mail->kind;
}

static int
ticker_start(struct reactor *reactor, void *arg)
{
	struct ticker *ticker = &((struct tickers *)arg)->each[reactor->index];

	*ticker = (struct ticker){ .timer.fire = tick, .reactor = reactor };
	reactor->owner = ticker;
	reactor->on_mail = count_mail;
	timer_set(&reactor->timers, &ticker->timer, reactor->now_ns + TICK_NS);
	return 0;
}

static void
tickers_begin(struct tickers *tickers, uint64_t seed)
{
	struct sim_options options = sim_options_default();

	*tickers = (struct tickers){ .sim = sim_create(seed, &options) };
	tickers->process = toy_process(tickers->sim, "tickers", 2, ticker_start, tickers);
	sim_run_until(tickers->sim, MS, NULL, NULL);
}

static void
a_paused_reactor_takes_no_turn_and_then_finds_all_that_came(void **state)
{
	struct tickers tickers;
	struct ticker before;

	tickers_begin(&tickers, 1);
	assert_in_range(tickers.each[1].ticks, 50, 100);
	sim_process_pause(tickers.process, 1, 3 * MS);
	before = tickers.each[1];
	sim_run_until(tickers.sim, 3 * MS - 1, NULL, NULL);
	assert_int_equal(tickers.each[1].ticks, before.ticks);
	assert_int_equal(tickers.each[1].mails, before.mails);
	assert_in_range(tickers.each[0].ticks, 150, 300); /* the other one was not */
	sim_run_until(tickers.sim, 3 * MS, NULL, NULL);
	assert_int_equal(tickers.each[1].ticks, before.ticks + 1);
	assert_in_range(tickers.each[1].mails, tickers.each[0].ticks - 2, tickers.each[0].ticks);
	sim_destroy(tickers.sim);
}

/* It has its mail by then, and nothing of what came with it was done; the time is that at which it began. */
static void
a_pause_may_begin_within_a_turn(void **state)
{
	unsigned within = 0, between = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct tickers tickers;
		struct ticker before;
		uint64_t turn_ns;

		tickers_begin(&tickers, seed);
		sim_process_pause(tickers.process, 1, 3 * MS);
		before = tickers.each[1];
		turn_ns = before.reactor->now_ns;
		sim_run_until(tickers.sim, 3 * MS - 1, NULL, NULL);
		assert_int_equal(tickers.each[1].ticks, before.ticks);
		if (before.reactor->now_ns == turn_ns) {
			assert_int_equal(tickers.each[1].mails, before.mails);
			between++;
		} else {
			assert_in_range(tickers.each[1].mails, before.mails, before.mails + 1);
			assert_in_range(before.reactor->now_ns, MS, MS + 2 * TICK_NS);
			within++;
		}
		before = tickers.each[1];
		sim_run_until(tickers.sim, 4 * MS, NULL, NULL);
		assert_in_range(tickers.each[1].ticks, before.ticks + 50, before.ticks + 102);
		assert_in_range(tickers.each[1].mails, tickers.each[0].ticks - 2, tickers.each[0].ticks);
		sim_destroy(tickers.sim);
	}
	assert_true(within > 10 && between > 10);
}

static void
a_pause_can_be_ended_and_ends_with_the_process(void **state)
{
	struct tickers tickers;
	unsigned ticks;

	tickers_begin(&tickers, 1);
	sim_process_pause(tickers.process, 0, 100 * MS);
	ticks = tickers.each[0].ticks;
	sim_run_until(tickers.sim, 2 * MS, NULL, NULL);
	sim_process_pause(tickers.process, 0, 3 * MS);
	sim_run_until(tickers.sim, 3 * MS - 1, NULL, NULL);
	assert_int_equal(tickers.each[0].ticks, ticks);
	sim_run_until(tickers.sim, 4 * MS, NULL, NULL);
	assert_in_range(tickers.each[0].ticks, ticks + 50, ticks + 101);

	sim_process_pause(tickers.process, 1, 100 * MS);
	sim_process_crash(tickers.process, 0);
	sim_process_pause(tickers.process, 0, 100 * MS); /* it is down: nothing happens */
	sim_process_start(tickers.process);
	sim_run_until(tickers.sim, 5 * MS, NULL, NULL);
	assert_in_range(tickers.each[0].ticks, 50, 100);
	assert_in_range(tickers.each[1].ticks, 50, 100);
	sim_destroy(tickers.sim);
}

/* ---- parts ---- */

/* An echo server and a client that has received some of its bytes. */
struct talk {
	struct sim *sim;
	struct toy_server served;
	struct toy_client asked;
	struct sim_process *server, *client;
};

static bool
has_received_some(void *arg)
{
	return ((struct toy_client *)arg)->received > 2000;
}

/* The server's own address may be the one it listens at, or not. */
static void
talk_create(struct talk *talk, uint64_t seed, uint64_t total)
{
	struct sim_options options = sim_options_default();
	struct sim_process_options serving = {
		.address = seed % 2 ? "10.0.0.1" : NULL, .start = toy_server_start, .arg = &talk->served,
	};

	talk->sim = sim_create(seed, &options);
	talk->served = (struct toy_server){ .host = "10.0.0.1", .port = 4420 };
	talk->server = sim_process_create(talk->sim, "server", 2, &serving);
	sim_run_until(talk->sim, MS, NULL, NULL);
	talk->asked = toy_client_of(total);
	talk->client = toy_process(talk->sim, "client", 1, toy_client_start, &talk->asked);
}

static void
talk_begin(struct talk *talk, uint64_t seed)
{
	talk_create(talk, seed, 1000000);
	assert_int_equal(sim_run_until(talk->sim, TOY_FOREVER, has_received_some, &talk->asked), SIM_END_MET);
}

/* Nothing is left of it once it came to an end. */
static void
talk_end(struct talk *talk, int error)
{
	assert_int_equal(sim_run_until(talk->sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(talk->asked.done && !talk->asked.wrong);
	assert_int_equal(talk->asked.error, error);
	assert_int_equal(sim_process_streams(talk->client), 0);
	assert_int_equal(sim_process_streams(talk->server), 0);
	assert_true(list_empty(&talk->sim->links));
	sim_destroy(talk->sim);
}

static void
parted_processes_hear_nothing_of_each_other_until_they_are_joined(void **state)
{
	struct toy_client other = toy_client_of(20000);
	struct talk talk;
	uint64_t received, served;

	talk_begin(&talk, 1);
	sim_part(talk.sim, talk.client, talk.server);
	sim_run_until(talk.sim, sim_now(talk.sim) + MS, NULL, NULL);
	received = talk.asked.received;
	served = talk.served.received;
	toy_process(talk.sim, "other", 1, toy_client_start, &other);
	assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(talk.asked.received, received);
	assert_int_equal(talk.served.received, served + other.total);
	assert_true(other.done && other.error == 0 && !other.wrong);
	sim_join(talk.sim, talk.server, talk.client);
	talk_end(&talk, 0);
}

static void
a_connection_made_while_parted_waits(void **state)
{
	for (int listens = 0; listens < 2; listens++) {
		struct talk talk;

		talk_create(&talk, listens ? 2 : 3, 5000);
		if (!listens)
			sim_process_crash(talk.server, 0);
		sim_part(talk.sim, talk.server, talk.client);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(talk.asked.done);
		assert_int_equal(talk.served.accepted, 0);
		sim_join(talk.sim, talk.client, talk.server);
		talk_end(&talk, listens ? 0 : -ECONNREFUSED);
	}
}

static void
who_is_parted_twice_over_hears_nothing_until_both_are_mended(void **state)
{
	for (int joined_first = 0; joined_first < 2; joined_first++) {
		struct talk talk;
		uint64_t received;

		talk_begin(&talk, 3);
		sim_part(talk.sim, talk.server, talk.client);
		sim_cut(talk.sim, "10.0.0.1", 4420, SIM_CUT_HOLD);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		received = talk.asked.received;
		if (joined_first)
			sim_join(talk.sim, talk.server, talk.client);
		else
			sim_mend(talk.sim, "10.0.0.1", 4420);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_int_equal(talk.asked.received, received);
		if (joined_first)
			sim_mend(talk.sim, "10.0.0.1", 4420);
		else
			sim_join(talk.sim, talk.server, talk.client);
		talk_end(&talk, 0);
	}
}

/* It is reset when it asks again, not before, whether the other has come back by then or not. */
static void
who_was_parted_learns_late_that_the_other_has_crashed(void **state)
{
	for (unsigned way = 0; way < 4; way++) {
		unsigned flags = way & 1 ? SIM_CRASH_HALF_OPEN : 0;
		struct talk talk;

		talk_begin(&talk, 4);
		sim_part(talk.sim, talk.server, talk.client);
		sim_run_until(talk.sim, sim_now(talk.sim) + MS, NULL, NULL);
		sim_process_crash(talk.server, flags);
		if (way & 2 || flags)
			sim_process_start(talk.server);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(talk.asked.done);
		sim_join(talk.sim, talk.server, talk.client);
		talk_end(&talk, -ECONNRESET);
	}
}

static bool
has_come(void *arg)
{
	return sim_process_streams(arg) > 0;
}

/* Also what was not accepted yet: the client cannot tell a machine that is off from one that is far away. */
static void
who_connects_to_a_dark_machine_waits_until_it_is_back(void **state)
{
	for (int connected = 0; connected < 2; connected++) {
		struct talk talk;

		talk_create(&talk, 7, 1000000);
		if (connected) {
			sim_process_pause(talk.server, 0, sim_now(talk.sim) + 10 * MS);
			assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, has_come, talk.server), SIM_END_MET);
		}
		sim_process_crash(talk.server, SIM_CRASH_HALF_OPEN);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(talk.asked.done);
		sim_process_start(talk.server);
		talk_end(&talk, connected ? -ECONNRESET : -ECONNREFUSED);
	}
}

/* What the client sent before it was killed comes late, and the answer finds nobody. */
static void
what_a_former_life_has_sent_may_still_arrive(void **state)
{
	struct talk talk;
	uint64_t served;

	talk_begin(&talk, 5);
	sim_part(talk.sim, talk.server, talk.client);
	sim_run_until(talk.sim, sim_now(talk.sim) + MS, NULL, NULL);
	sim_process_crash(talk.client, 0);
	talk.asked.total = 3000;
	sim_process_start(talk.client);
	served = talk.served.received;
	assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_int_equal(talk.served.received, served);
	assert_int_equal(sim_process_streams(talk.server), 1);
	sim_join(talk.sim, talk.server, talk.client);
	assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
	assert_true(talk.served.received > served + talk.asked.total);
	assert_int_equal(talk.served.broken, 1);
	talk_end(&talk, 0);
}

/* Either is killed after each event in turn, comes back, and is joined: both come to an end. */
static void
a_parted_process_may_crash_at_any_event(void **state)
{
	for (uint64_t at = 10; at < 300; at++) {
		struct toy_client again = toy_client_of(3000);
		struct talk talk;

		talk_create(&talk, at, 5000);
		talk.sim->options.max_events = at;
		sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL);
		sim_part(talk.sim, talk.client, talk.server);
		talk.sim->options.max_events = at + at / 3 % 40;
		sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL);
		talk.sim->options.max_events = UINT64_MAX;
		sim_process_crash(at % 3 == 0 ? talk.client : talk.server, at % 2 == 0 ? SIM_CRASH_HALF_OPEN : 0);
		sim_run_until(talk.sim, sim_now(talk.sim) + MS, NULL, NULL);
		sim_process_start(at % 3 == 0 ? talk.client : talk.server);
		sim_run_until(talk.sim, sim_now(talk.sim) + MS, NULL, NULL);
		sim_join(talk.sim, talk.client, talk.server);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		toy_process(talk.sim, "again", 1, toy_client_start, &again);
		assert_int_equal(sim_run_until(talk.sim, TOY_FOREVER, NULL, NULL), SIM_END_IDLE);
		assert_false(talk.asked.wrong);
		assert_true(again.done && !again.wrong && again.error == 0);
		sim_destroy(talk.sim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paused_reactor_takes_no_turn_and_then_finds_all_that_came),
		cmocka_unit_test(a_pause_may_begin_within_a_turn),
		cmocka_unit_test(a_pause_can_be_ended_and_ends_with_the_process),
		cmocka_unit_test(parted_processes_hear_nothing_of_each_other_until_they_are_joined),
		cmocka_unit_test(a_connection_made_while_parted_waits),
		cmocka_unit_test(who_is_parted_twice_over_hears_nothing_until_both_are_mended),
		cmocka_unit_test(who_was_parted_learns_late_that_the_other_has_crashed),
		cmocka_unit_test(who_connects_to_a_dark_machine_waits_until_it_is_back),
		cmocka_unit_test(what_a_former_life_has_sent_may_still_arrive),
		cmocka_unit_test(a_parted_process_may_crash_at_any_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
