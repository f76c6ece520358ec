/* rt, attended: what else a taken reactor sleeps for, how many there are, and how they and number 0 end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "rt_attended_bench.h"

enum { MS = 1000000 };

#define MUST(what) do { if (!(what)) abort(); } while (0)

static unsigned
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- time ---- */

struct bell {
	struct timer timer;
	struct reactor *reactor;
	unsigned rung;
};

static void
ring_bell(struct timer *timer)
{
	struct bell *bell = container_of(timer, struct bell, timer);

	MUST(bell->reactor->now_ns >= timer->deadline_ns);
	bell->rung++;
}

static void
a_timer_wakes_who_sleeps(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct bell bell = { .timer = { .fire = ring_bell }, .reactor = rt_taken(rt) };

	for (unsigned i = 1; i <= 10; i++) {
		rt_rest(bell.reactor);
		timer_set(&bell.reactor->timers, &bell.timer, bell.reactor->now_ns + i * MS / 2);
		/* That is as in a turn. */
		(void)rt_turn(bell.reactor, 0);
		while (bell.rung < i)
			rt_attend(bell.reactor, i % 2 == 0);
		/* It has waited for nothing else, and no longer. */
		rt_rest(bell.reactor);
		assert_false(rt_readable(bell.reactor, 0));
	}
	rt_give(bell.reactor);
	rt_destroy(rt);
}

static void
a_timer_that_moves_on_costs_no_system_call(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct bell bell = { .timer = { .fire = ring_bell }, .reactor = rt_taken(rt) };
	uint64_t before;

	rt_rest(bell.reactor);
	before = bell.reactor->syscalls;
	for (unsigned i = 0; i < 1000; i++) {
		timer_set(&bell.reactor->timers, &bell.timer, bell.reactor->now_ns + 100 * (uint64_t)1000 * MS);
		(void)rt_turn(bell.reactor, 0);
	}
	/* Each has asked the engine; one has set the alarm. */
	assert_int_equal(bell.reactor->syscalls - before, 1001);
	timer_set(&bell.reactor->timers, &bell.timer, bell.reactor->now_ns + MS);
	(void)rt_turn(bell.reactor, 0);
	while (bell.rung == 0)
		rt_attend(bell.reactor, true);
	rt_give(bell.reactor);
	rt_destroy(rt);
}

/* Looks that would find nothing are made together. */
static void
one_that_is_paced_looks_seldom(void **state)
{
	struct rt *rt = attended_open(2, 1000 * 1000);
	struct reactor *reactor = rt_taken(rt);
	uint64_t turns = reactor->turns;

	(void)state;
	rt_pace(reactor, MS);
	assert_false(rt_turn(reactor, 10 * MS));
	assert_in_range(reactor->turns - turns, 1, 12);
	rt_give(reactor);
	rt_destroy(rt);
}

static void
a_turn_waits_no_longer_than_it_is_told(void **state)
{
	struct rt *rt = attended_open(2, 20);
	struct reactor *reactor = rt_taken(rt);
	uint64_t begin = now_ns();

	assert_false(rt_turn(reactor, 3 * MS));
	assert_true(now_ns() - begin >= 3 * MS);
	assert_false(rt_turn(reactor, 1));
	rt_give(reactor);
	rt_destroy(rt);
}

/* ---- work that is left ---- */

struct chore {
	struct task task;
	struct reactor *reactor;
	unsigned left;
};

static void
do_chore(struct task *task)
{
	struct chore *chore = container_of(task, struct chore, task);

	if (--chore->left > 0)
		reactor_run_in(chore->reactor, PHASE_SUBMIT, task);
}

static void
what_a_turn_has_left_is_to_be_seen(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct chore chore = { .reactor = rt_taken(rt), .left = 100 };

	task_init(&chore.task, do_chore);
	reactor_run_in(chore.reactor, PHASE_SUBMIT, &chore.task);
	do {
		assert_true(rt_turn(chore.reactor, chore.left % 2 == 0 ? 0 : -1));
		assert_true(chore.left == 0 || rt_readable(chore.reactor, 0));
	} while (chore.left > 0);
	assert_false(rt_turn(chore.reactor, 0));
	assert_false(rt_readable(chore.reactor, 0));
	rt_give(chore.reactor);
	rt_destroy(rt);
}

/* ---- errands ---- */

struct job {
	struct errand errand;
	sigset_t blocked;
	bool done;
};

static void
run_job(struct errand *errand)
{
	pthread_sigmask(SIG_SETMASK, NULL, &container_of(errand, struct job, errand)->blocked);
}

static void
end_job(struct errand *errand)
{
	container_of(errand, struct job, errand)->done = true;
}

static bool
is_all(const sigset_t *set)
{
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && !sigismember(set, sig))
			return false;
	return true;
}

static void
an_errand_wakes_who_sleeps_and_takes_nobodys_signals(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct reactor *reactor = rt_taken(rt);

	for (int i = 0; i < 100; i++) {
		struct job job = { .errand = { .run = run_job, .done = end_job } };

		reactor->world->errand(reactor, &job.errand);
		while (!job.done)
			rt_attend(reactor, i % 2 == 0);
		assert_true(is_all(&job.blocked));
	}
	rt_give(reactor);
	rt_destroy(rt);
}

/* ---- how many there are ---- */

static void
there_are_so_many_and_what_is_given_back_can_be_taken_again(void **state)
{
	struct reactor *reactors[RT_REACTORS_MAX - 1], *more;
	unsigned before = descriptors(), empty;
	struct rt *rt = attended_open(RT_REACTORS_MAX, 0);

	empty = descriptors();
	for (unsigned i = 0; i < RT_REACTORS_MAX - 1; i++) {
		assert_int_equal(rt_take(rt, &reactors[i]), 0);
		assert_int_equal(reactors[i]->index, i + 1);
		assert_int_equal(reactors[i]->count, RT_REACTORS_MAX);
	}
	assert_int_equal(rt_take(rt, &more), -EAGAIN);
	rt_give(reactors[70]);
	assert_int_equal(rt_take(rt, &more), 0);
	assert_int_equal(more->index, 71);
	assert_int_equal(rt_take(rt, &reactors[70]), -EAGAIN);
	reactors[70] = more;
	for (unsigned i = 0; i < RT_REACTORS_MAX - 1; i++)
		rt_give(reactors[i]);
	assert_int_equal(descriptors(), empty);
	/* What is still taken goes with the process. */
	(void)rt_taken(rt);
	rt_destroy(rt);
	assert_int_equal(descriptors(), before);
}

static void
where_there_are_no_descriptors_it_says_so(void **state)
{
	struct rt *rt = attended_open(4, 0);
	unsigned used = descriptors(), failed = 0;
	struct rlimit limit, less;
	struct reactor *reactor;
	int next = dup(STDOUT_FILENO), rc;

	assert_true(next >= 0 && close(next) == 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	do {
		less = (struct rlimit){ (rlim_t)next + failed, limit.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
		rc = rt_take(rt, &reactor);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (rc != 0) {
			assert_int_equal(rc, -EMFILE);
			assert_int_equal(descriptors(), used);
			assert_true(failed++ < 100);
		}
	} while (rc != 0);
	/* An epoll, an eventfd and a timerfd. */
	assert_true(failed >= 3);
	assert_int_equal(descriptors(), used + 3);
	rt_rest(reactor);
	rt_give(reactor);
	rt_destroy(rt);
}

static void
take_no_notice(struct reactor *reactor, const struct mail *mail)
{
}

static void *
take_and_give(void *arg)
{
	struct rt *rt = arg;

	for (uint32_t i = 0; i < 300; i++) {
		struct reactor *reactor;
		int rc = rt_take(rt, &reactor);

		MUST(rc == 0 || rc == -EAGAIN);
		if (rc != 0)
			continue;
		reactor->on_mail = take_no_notice;
		/* To those that come and go, and to itself. */
		for (unsigned to = 0; to < 4; to++)
			reactor->world->post(reactor, to, &(struct mail){ .arg = i });
		rt_rest(reactor);
		rt_give(reactor);
	}
	return NULL;
}

static void
threads_take_and_give_and_write_to_whoever_is_there(void **state)
{
	struct rt *rt = attended_open(4, 0);
	pthread_t threads[4];

	rt_reactor(rt, 0)->on_mail = take_no_notice;
	assert_int_equal(rt_start(rt), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, rt), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	rt_end(rt);
	rt_destroy(rt);
}

/* ---- signals ---- */

struct look {
	struct rt_call call;
	sigset_t blocked;
	pthread_t ran_on;
	unsigned ran;
	struct rt_call *next;
	sem_t *done;
};

static void
look_at_signals(struct rt_call *call, struct reactor *reactor)
{
	struct look *look = call->owner;

	pthread_sigmask(SIG_SETMASK, NULL, &look->blocked);
	look->ran_on = pthread_self();
	look->ran++;
	if (look->done != NULL)
		sem_post(look->done);
	if (look->next == NULL)
		return;
	/* This is the last turn: the next one's call comes too late for the thread. */
	rt_stop(rt_of(reactor));
	rt_call(rt_of(reactor), 0, look->next);
}

static void
what_is_left_to_reactor_0_is_run_at_the_end(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct look last = { .call = { .run = look_at_signals, .owner = &last } };
	struct look first = { .call = { .run = look_at_signals, .owner = &first }, .next = &last.call };

	/* Before its thread is there, too. */
	rt_call(rt, 0, &first.call);
	assert_int_equal(rt_start(rt), 0);
	rt_end(rt);
	assert_int_equal(first.ran + last.ran, 2);
	assert_true(pthread_equal(last.ran_on, pthread_self()));
	rt_destroy(rt);
}

static void
what_is_left_to_one_that_is_given_back_is_run(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct reactor *reactor = rt_taken(rt);
	struct look look = { .call = { .run = look_at_signals, .owner = &look } };

	rt_call(rt, reactor->index, &look.call);
	assert_int_equal(look.ran, 0);
	rt_give(reactor);
	assert_int_equal(look.ran, 1);
	rt_destroy(rt);
}

static void
the_thread_of_reactor_0_takes_no_signals(void **state)
{
	struct rt *rt = attended_open(2, 0);
	sem_t done;
	struct look look = { .call = { .run = look_at_signals, .owner = &look }, .done = &done };
	sigset_t before, after;

	sem_init(&done, 0, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(rt_start(rt), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	rt_call(rt, 0, &look.call);
	while (sem_wait(&done) != 0)
		;
	rt_end(rt);
	assert_false(pthread_equal(look.ran_on, pthread_self()));
	assert_true(is_all(&look.blocked));
	for (int sig = 1; sig < 32; sig++)
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
	rt_destroy(rt);
}

static void
handle(int signal)
{
}

static void
a_signal_that_is_handled_ends_the_wait(void **state)
{
	struct rt *rt = attended_open(2, 0);
	struct reactor *reactor = rt_taken(rt);
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART }, was;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	/* Again and again: the first may come before there is anybody who waits. */
	struct itimerspec often = { { 0, 2 * MS }, { 0, 2 * MS } };
	timer_t timer;

	assert_int_equal(sigaction(SIGUSR2, &action, &was), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	assert_false(rt_turn(reactor, -1));
	timer_delete(timer);
	sigaction(SIGUSR2, &was, NULL);
	rt_give(reactor);
	rt_destroy(rt);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_wakes_who_sleeps),
		cmocka_unit_test(a_timer_that_moves_on_costs_no_system_call),
		cmocka_unit_test(one_that_is_paced_looks_seldom),
		cmocka_unit_test(a_turn_waits_no_longer_than_it_is_told),
		cmocka_unit_test(what_a_turn_has_left_is_to_be_seen),
		cmocka_unit_test(an_errand_wakes_who_sleeps_and_takes_nobodys_signals),
		cmocka_unit_test(there_are_so_many_and_what_is_given_back_can_be_taken_again),
		cmocka_unit_test(where_there_are_no_descriptors_it_says_so),
		cmocka_unit_test(threads_take_and_give_and_write_to_whoever_is_there),
		cmocka_unit_test(what_is_left_to_reactor_0_is_run_at_the_end),
		cmocka_unit_test(what_is_left_to_one_that_is_given_back_is_run),
		cmocka_unit_test(the_thread_of_reactor_0_takes_no_signals),
		cmocka_unit_test(a_signal_that_is_handled_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
