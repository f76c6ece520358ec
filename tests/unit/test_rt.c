/* rt: threads, mail, timers, sleeping and waking, signals. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/rt.h"

enum { LETTERS = 100000, BURST = 5000 }; /* a burst is more than a ring holds */

/* Callbacks run on threads that cmocka cannot leave. */
#define MUST(what) do { if (!(what)) abort(); } while (0)

static struct rt *
open_rt(unsigned reactors, uint32_t spin_us, void *owner)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;

	alarm(100);
	options.reactors = reactors;
	options.spin_us = spin_us;
	options.reactor = (struct reactor_options){ 16, 16 };
	options.owner = owner;
	assert_int_equal(rt_create(&rt, &options), 0);
	return rt;
}

/* ---- mail ---- */

struct relay {
	uint32_t sent, answered, echoed;
};

static void
send_burst(struct reactor *reactor, struct relay *relay)
{
	for (int i = 0; i < BURST && relay->sent < LETTERS; i++) {
		struct mail mail = { .kind = 1, .arg = relay->sent, .words = { ~(uint64_t)relay->sent } };

		relay->sent++;
		reactor->world->post(reactor, 1, &mail);
	}
}

static void
take_answer(struct reactor *reactor, const struct mail *mail)
{
	struct relay *relay = rt_owner(rt_of(reactor));

	MUST(mail->from == 1 && mail->kind == 2 && mail->arg == relay->answered);
	MUST(mail->words[0] == ~(uint64_t)mail->arg);
	if (++relay->answered == relay->sent)
		send_burst(reactor, relay);
	if (relay->answered == LETTERS)
		rt_stop(rt_of(reactor));
}

static void
give_answer(struct reactor *reactor, const struct mail *mail)
{
	struct relay *relay = rt_owner(rt_of(reactor));
	struct mail answer = *mail;

	MUST(mail->from == 0 && mail->kind == 1 && mail->arg == relay->echoed++);
	answer.kind = 2;
	reactor->world->post(reactor, 0, &answer);
}

static void
relay_letters(uint32_t spin_us)
{
	struct relay relay = { 0 };
	struct rt *rt = open_rt(2, spin_us, &relay);

	rt_reactor(rt, 0)->on_mail = take_answer;
	rt_reactor(rt, 1)->on_mail = give_answer;
	send_burst(rt_reactor(rt, 0), &relay);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(relay.answered, LETTERS);
	assert_int_equal(relay.echoed, LETTERS);
	rt_destroy(rt);
}

static void
mail_arrives_once_and_in_order_also_when_the_rings_are_full(void **state)
{
	relay_letters(150);
}

static void
mail_wakes_reactors_that_sleep_whenever_they_can(void **state)
{
	relay_letters(0);
}

static void
count_own(struct reactor *reactor, const struct mail *mail)
{
	uint32_t *next = reactor->owner;

	MUST(mail->from == 0 && mail->arg == *next);
	if (++*next == BURST)
		rt_stop(rt_of(reactor));
}

static void
a_reactor_can_write_to_itself(void **state)
{
	uint32_t next = 0;
	struct rt *rt = open_rt(1, 0, NULL);
	struct reactor *reactor = rt_reactor(rt, 0);

	reactor->owner = &next;
	reactor->on_mail = count_own;
	for (uint32_t i = 0; i < BURST; i++)
		reactor->world->post(reactor, 0, &(struct mail){ .arg = i });
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(next, BURST);
	rt_destroy(rt);
}

static void
mail_that_there_is_no_memory_for_is_kept_all_the_same(void **state)
{
	uint32_t next = BURST - 3000; /* of which a ring holds 2048 */
	struct rt *rt = open_rt(1, 0, NULL);
	struct reactor *reactor = rt_reactor(rt, 0);

	reactor->owner = &next;
	reactor->on_mail = count_own;
	reactor->arena->bytes_max = reactor->arena->bytes;
	for (uint32_t i = next; i < BURST; i++)
		reactor->world->post(reactor, 0, &(struct mail){ .arg = i });
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(next, BURST);
	reactor->arena->bytes_max = 0;
	rt_destroy(rt);
}

/* ---- one ping at a time, each to a sleeper ---- */

struct pings {
	struct timer timer;
	struct reactor *reactor;
	unsigned left;
};

static void
ping(struct timer *timer)
{
	struct pings *pings = container_of(timer, struct pings, timer);

	pings->reactor->world->post(pings->reactor, 1, &(struct mail){ .kind = 1 });
}

static void
pong(struct reactor *reactor, const struct mail *mail)
{
	reactor->world->post(reactor, 0, mail);
}

static void
ping_again(struct reactor *reactor, const struct mail *mail)
{
	struct pings *pings = reactor->owner;

	if (--pings->left == 0)
		rt_stop(rt_of(reactor));
	else
		timer_set(&reactor->timers, &pings->timer, reactor->now_ns + 3000000);
}

static void
a_mail_wakes_a_sleeper_and_costs_few_system_calls(void **state)
{
	struct pings pings = { .timer = { .fire = ping }, .left = 20 };
	struct rt *rt = open_rt(2, 0, NULL);
	struct reactor *reactor = pings.reactor = rt_reactor(rt, 0);

	reactor->owner = &pings;
	reactor->on_mail = ping_again;
	rt_reactor(rt, 1)->on_mail = pong;
	timer_set(&reactor->timers, &pings.timer, 0);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(pings.left, 0);
	/* A ping: woken, one look that finds nothing, back to sleep; never a look without cause. */
	assert_true(rt_reactor(rt, 1)->syscalls <= 20 * 6);
	rt_destroy(rt);
}

/* ---- timers and sleep ---- */

struct alarms {
	struct timer first, second, last;
	struct reactor *reactor;
	uint64_t due_ns[3], syscalls, turns;
	int fired;
};

static void
first_fires(struct timer *timer)
{
	struct alarms *alarms = container_of(timer, struct alarms, first);

	MUST(alarms->fired++ == 0 && alarms->reactor->now_ns >= alarms->due_ns[0]);
}

static void
second_fires(struct timer *timer)
{
	struct alarms *alarms = container_of(timer, struct alarms, second);

	MUST(alarms->fired++ == 1 && alarms->reactor->now_ns >= alarms->due_ns[1]);
	alarms->syscalls = alarms->reactor->syscalls;
	alarms->turns = alarms->reactor->turns;
}

static void
last_fires(struct timer *timer)
{
	struct alarms *alarms = container_of(timer, struct alarms, last);

	MUST(alarms->fired++ == 2 && alarms->reactor->now_ns >= alarms->due_ns[2]);
	alarms->syscalls = alarms->reactor->syscalls - alarms->syscalls;
	alarms->turns = alarms->reactor->turns - alarms->turns;
	rt_stop(rt_of(alarms->reactor));
}

static void
an_idle_reactor_sleeps_until_its_timer_and_makes_no_system_calls(void **state)
{
	struct alarms alarms = {
		.first = { .fire = first_fires }, .second = { .fire = second_fires },
		.last = { .fire = last_fires },
	};
	struct rt *rt = open_rt(1, 0, NULL);
	struct reactor *reactor = alarms.reactor = rt_reactor(rt, 0);
	const uint64_t ms = 1000000;

	for (int i = 0; i < 3; i++)
		alarms.due_ns[i] = reactor->now_ns + (uint64_t[]){ 5 * ms, 6 * ms, 300 * ms }[i];
	timer_set(&reactor->timers, &alarms.last, alarms.due_ns[2]);
	timer_set(&reactor->timers, &alarms.first, alarms.due_ns[0]);
	timer_set(&reactor->timers, &alarms.second, alarms.due_ns[1]);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(alarms.fired, 3);
	/* One look after the timer, one long sleep, and what rounding to milliseconds may add. */
	assert_true(alarms.syscalls <= 5);
	assert_true(alarms.turns <= 5);
	rt_destroy(rt);
}

/* ---- the end, and signals ---- */

static void
stop_from_afar(struct timer *timer)
{
	struct pings *pings = container_of(timer, struct pings, timer);

	rt_stop(rt_of(pings->reactor));
}

static void
sleepers_stop_when_told_to_and_can_run_again(void **state)
{
	struct pings pings = { .timer = { .fire = stop_from_afar } };
	struct rt *rt = open_rt(3, 0, NULL);

	for (int i = 0; i < 3; i++) {
		struct reactor *reactor = pings.reactor = rt_reactor(rt, 1 + (unsigned)i % 2);

		timer_set(&reactor->timers, &pings.timer, reactor->now_ns + 2000000);
		assert_int_equal(rt_run(rt), 0);
	}
	rt_destroy(rt);
}

static void
take_signal(struct reactor *reactor, int signal)
{
	int *last = rt_owner(rt_of(reactor));

	*last = signal;
	rt_stop(rt_of(reactor));
}

static void
raise_one(struct timer *timer)
{
	kill(getpid(), SIGUSR1);
}

static void
a_signal_wakes_reactor_0_and_is_handed_to_its_owner(void **state)
{
	struct rt_options options = rt_options_default();
	struct timer timer = { .fire = raise_one };
	struct rt *rt;
	int last = 0;

	alarm(100);
	options.reactors = 2;
	options.owner = &last;
	options.on_signal = take_signal;
	assert_int_equal(rt_create(&rt, &options), 0);
	timer_set(&rt_reactor(rt, 1)->timers, &timer, rt_reactor(rt, 1)->now_ns + 3000000);
	assert_int_equal(rt_run(rt), 0);
	assert_int_equal(last, SIGUSR1);
	rt_destroy(rt);
}

static void
a_signal_that_comes_after_the_end_does_nothing(void **state)
{
	struct rt_options options = rt_options_default();
	struct timespec none = { 0, 0 };
	sigset_t blocked;
	struct rt *rt;
	int last = 0;

	options.owner = &last;
	options.on_signal = take_signal;
	assert_int_equal(rt_create(&rt, &options), 0);
	rt_destroy(rt);
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	assert_int_equal(last, 0);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	assert_int_equal(sigtimedwait(&blocked, NULL, &none), SIGHUP);
}

static void
a_processor_that_is_not_there_is_an_error(void **state)
{
	struct rt_options options = rt_options_default();
	struct rt *rt;
	int cpu = 1000;

	options.cpus = &cpu;
	options.cpu_count = 1;
	assert_int_equal(rt_create(&rt, &options), 0);
	assert_int_equal(rt_run(rt), -22);
	rt_destroy(rt);
}

/* As long as the machine runs. */
static void
the_boot_has_a_number(void **state)
{
	struct rt *rt = open_rt(1, 0, NULL);
	struct reactor *reactor = rt_reactor(rt, 0);
	uint64_t number = reactor->world->boot(reactor);

	(void)state;
	assert_true(number != 0);
	if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
		assert_true(reactor->world->boot(reactor) == number);
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mail_arrives_once_and_in_order_also_when_the_rings_are_full),
		cmocka_unit_test(mail_wakes_reactors_that_sleep_whenever_they_can),
		cmocka_unit_test(a_reactor_can_write_to_itself),
		cmocka_unit_test(mail_that_there_is_no_memory_for_is_kept_all_the_same),
		cmocka_unit_test(a_mail_wakes_a_sleeper_and_costs_few_system_calls),
		cmocka_unit_test(an_idle_reactor_sleeps_until_its_timer_and_makes_no_system_calls),
		cmocka_unit_test(sleepers_stop_when_told_to_and_can_run_again),
		cmocka_unit_test(a_signal_wakes_reactor_0_and_is_handed_to_its_owner),
		cmocka_unit_test(a_signal_that_comes_after_the_end_does_nothing),
		cmocka_unit_test(the_boot_has_a_number),
		cmocka_unit_test(a_processor_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
