/* rt: what would block a reactor is done beside it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/rt.h"

enum { ERRANDS = 100 };

/* Callbacks run on threads that cmocka cannot leave. */
#define MUST(what) do { if (!(what)) abort(); } while (0)

struct bench {
	struct rt *rt;
	pthread_t reactor; /* its thread */
	int pipe[2];
	struct timer timer;
	struct job {
		struct errand errand;
		struct bench *bench;
		unsigned number;
	} jobs[ERRANDS];
	unsigned run, done;
};

static void
bench_open(struct bench *bench)
{
	struct rt_options options = rt_options_default();

	alarm(100);
	*bench = (struct bench){ .reactor = pthread_self() };
	options.spin_us = 0;
	options.reactor = (struct reactor_options){ 16, 16 };
	assert_int_equal(rt_create(&bench->rt, &options), 0);
	assert_int_equal(pipe(bench->pipe), 0);
}

static void
bench_close(struct bench *bench)
{
	rt_destroy(bench->rt);
	close(bench->pipe[0]);
	close(bench->pipe[1]);
}

static void
give_job(struct bench *bench, unsigned number, struct errand errand)
{
	struct job *job = &bench->jobs[number];

	*job = (struct job){ .errand = errand, .bench = bench, .number = number };
	rt_reactor(bench->rt, 0)->world->errand(rt_reactor(bench->rt, 0), &job->errand);
}

static void
give(struct bench *bench, unsigned number, void (*run)(struct errand *errand), void (*done)(struct errand *errand))
{
	give_job(bench, number, (struct errand){ .run = run, .done = done });
}

static struct job *
job_of(struct errand *errand)
{
	return container_of(errand, struct job, errand);
}

static void
count_run(struct errand *errand)
{
	MUST(job_of(errand)->number == job_of(errand)->bench->run++);
}

static void
count_done(struct errand *errand)
{
	struct bench *bench = job_of(errand)->bench;

	MUST(pthread_equal(pthread_self(), bench->reactor) && job_of(errand)->number == bench->done++);
	if (bench->done == ERRANDS)
		rt_stop(bench->rt);
}

/* Ends when the reactor's timer has fired. */
static void
wait_for_reactor(struct errand *errand)
{
	struct bench *bench = job_of(errand)->bench;
	char byte;

	MUST(!pthread_equal(pthread_self(), bench->reactor));
	MUST(read(bench->pipe[0], &byte, 1) == 1);
	count_run(errand);
}

static void
let_it_end(struct timer *timer)
{
	MUST(write(container_of(timer, struct bench, timer)->pipe[1], "", 1) == 1);
}

static void
set_timer(struct bench *bench, void (*fire)(struct timer *timer), uint64_t delay_ns)
{
	struct reactor *reactor = rt_reactor(bench->rt, 0);

	bench->timer.fire = fire;
	timer_set(&reactor->timers, &bench->timer, reactor->now_ns + delay_ns);
}

static void
give_all(struct timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timer);

	for (unsigned i = 0; i < ERRANDS; i++)
		give(bench, i, i == 0 ? wait_for_reactor : count_run, count_done);
	set_timer(bench, let_it_end, 1000);
}

static void
the_reactor_turns_while_errands_are_run_in_order(void **state)
{
	struct bench bench;

	bench_open(&bench);
	set_timer(&bench, give_all, 0);
	assert_int_equal(rt_run(bench.rt), 0);
	assert_int_equal(bench.run, ERRANDS);
	assert_int_equal(bench.done, ERRANDS);
	bench_close(&bench);
}

static void
give_and_stop(struct timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timer);

	for (unsigned i = 0; i < ERRANDS - 1; i++)
		give(bench, i, count_run, count_done);
	rt_stop(bench->rt);
}

static void
what_was_given_is_run_before_the_reactors_end(void **state)
{
	struct bench bench;

	bench_open(&bench);
	for (unsigned round = 0; round < 2; round++) {
		bench.run = bench.done = 0;
		set_timer(&bench, give_and_stop, 0);
		assert_int_equal(rt_run(bench.rt), 0);
		assert_int_equal(bench.run, ERRANDS - 1);
	}
	bench_close(&bench);
}

/* ---- apart ---- */

static void
hang(struct errand *errand)
{
	char byte;

	MUST(read(job_of(errand)->bench->pipe[0], &byte, 1) == 1);
}

static void
pass(struct errand *errand)
{
	(void)errand;
}

/* All but those that hang are done: these may end too. */
static void
count_others(struct errand *errand)
{
	struct bench *bench = job_of(errand)->bench;

	if (++bench->done == ERRANDS - 6)
		MUST(write(bench->pipe[1], "123456", 6) == 6);
	if (bench->done == ERRANDS)
		rt_stop(bench->rt);
}

/* One in order hangs at last, and five apart at first. */
static void
give_both_kinds(struct timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timer);

	for (unsigned i = 0; i < ERRANDS; i++) {
		bool hangs = i < 5 || i == ERRANDS - 1;

		give_job(bench, i, (struct errand){ .run = hangs ? hang : pass, .done = count_others,
			.apart = i < ERRANDS / 2 });
	}
}

static void
what_is_apart_waits_for_none_that_hangs(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	set_timer(&bench, give_both_kinds, 0);
	assert_int_equal(rt_run(bench.rt), 0);
	assert_int_equal(bench.done, ERRANDS);
	bench_close(&bench);
}

/* When all of other disks are done, those of the one that hangs may end too. */
static void
count_sound(struct errand *errand)
{
	struct bench *bench = job_of(errand)->bench;
	char bytes[ERRANDS] = { 0 };

	if (++bench->done == ERRANDS / 2)
		MUST(write(bench->pipe[1], bytes, ERRANDS / 2) == ERRANDS / 2);
	if (bench->done == ERRANDS)
		rt_stop(bench->rt);
}

/* Half of them of a disk that hangs, the others of the rest of the world. */
static void
give_of_a_disk_that_hangs(struct timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timer);

	for (unsigned i = 0; i < ERRANDS; i++) {
		bool hangs = i < ERRANDS / 2;

		give_job(bench, i, (struct errand){ .run = hangs ? hang : pass, .done = count_sound, .apart = true,
			.disk = hangs ? 7 : i % 3 });
	}
}

static void
a_disk_that_hangs_costs_its_own_users_alone(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	set_timer(&bench, give_of_a_disk_that_hangs, 0);
	assert_int_equal(rt_run(bench.rt), 0);
	assert_int_equal(bench.done, ERRANDS);
	bench_close(&bench);
}

/* More than there are threads, and the reactor ends before. */
static void
give_apart_and_stop(struct timer *timer)
{
	struct bench *bench = container_of(timer, struct bench, timer);

	for (unsigned i = 0; i < ERRANDS; i++)
		give_job(bench, i, (struct errand){ .run = i < 20 ? hang : pass, .done = pass, .apart = true });
	MUST(write(bench->pipe[1], "12345678901234567890", 20) == 20);
	rt_stop(bench->rt);
}

static void
more_than_there_are_threads_are_run_before_the_reactors_end(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench);
	set_timer(&bench, give_apart_and_stop, 0);
	assert_int_equal(rt_run(bench.rt), 0);
	assert_int_equal(write(bench.pipe[1], "x", 1), 1); /* all the others were read */
	assert_int_equal(read(bench.pipe[0], &(char[2]){ 0 }, 2), 1);
	bench_close(&bench);
}

static void
where_nothing_runs_it_is_done_at_once(void **state)
{
	struct bench bench;

	bench_open(&bench);
	give(&bench, 0, count_run, count_done);
	assert_int_equal(bench.done, 1);
	bench_close(&bench);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reactor_turns_while_errands_are_run_in_order),
		cmocka_unit_test(what_was_given_is_run_before_the_reactors_end),
		cmocka_unit_test(what_is_apart_waits_for_none_that_hangs),
		cmocka_unit_test(a_disk_that_hangs_costs_its_own_users_alone),
		cmocka_unit_test(more_than_there_are_threads_are_run_before_the_reactors_end),
		cmocka_unit_test(where_nothing_runs_it_is_done_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
