/*
 * test_pool_jobs.c - what is done in folders of pools: of one folder one after the other, of all so many at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fakeworld.h"
#include "pool_jobs.h"

enum { JOBS = 8, OUT_MAX = 3 };

struct bench {
	struct fakeworld fw;
	struct pool_jobs jobs;
	struct pool_job list[JOBS];
};

static unsigned runs, dones;

static void
run(struct pool_job *job)
{
	assert_true(job->out);
	runs++;
}

static void
done(struct pool_job *job)
{
	assert_false(job->out);
	dones++;
}

static void
begin(struct bench *b)
{
	fakeworld_init(&b->fw, 1);
	pool_jobs_init(&b->jobs, &b->fw.reactors[0], OUT_MAX);
	b->fw.hold_errands = true;
	runs = dones = 0;
}

static struct pool_job *
give(struct bench *b, unsigned number, const char *folder)
{
	b->list[number] = (struct pool_job){ .folder = folder, .run = run, .done = done };
	pool_jobs_give(&b->jobs, &b->list[number]);
	return &b->list[number];
}

/* The first errand that was given is done. */
static void
finish(struct bench *b)
{
	struct errand *errand = container_of(fifo_pop(&b->fw.errands), struct errand, node);

	errand->run(errand);
	errand->done(errand);
}

static void
end(struct bench *b)
{
	while (!fifo_empty(&b->fw.errands))
		finish(b);
	assert_false(pool_jobs_any(&b->jobs));
	fakeworld_fini(&b->fw);
}

static void
of_one_folder_one_is_out_and_others_are_not_held_up(void **state)
{
	const struct pool_job *first, *second, *other;
	struct bench b;

	(void)state;
	begin(&b);
	first = give(&b, 0, "a");
	second = give(&b, 1, "a");
	other = give(&b, 2, "b");
	assert_true(first->out && !second->out && other->out && first->errand.apart);
	finish(&b);
	assert_true(second->out && runs == 1 && dones == 1);
	end(&b);
	assert_true(runs == 3 && dones == 3);
}

static void
so_many_are_out_and_the_first_that_may_is_next(void **state)
{
	static const char *const folders[JOBS] = { "0", "1", "2", "1", "4", "5", "6", "7" };
	struct bench b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < JOBS; i++)
		assert_true(give(&b, i, folders[i])->out == (i < OUT_MAX));
	finish(&b);
	assert_true(!b.list[3].out && b.list[4].out && !b.list[5].out);
	finish(&b);
	assert_true(b.list[3].out && !b.list[5].out);
	end(&b);
	assert_int_equal(dones, JOBS);
}

static void
what_has_not_begun_is_taken_back(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	give(&b, 0, "a");
	give(&b, 1, "a");
	give(&b, 2, "a");
	assert_false(pool_job_take_back(&b.list[0]));
	assert_true(pool_job_take_back(&b.list[1]));
	end(&b);
	assert_true(runs == 2 && dones == 2);
}

static void
a_folder_hangs_from_when_nobody_waits_until_the_job_is_done(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	give(&b, 0, "a");
	give(&b, 1, "b");
	assert_false(pool_jobs_hang(&b.jobs, "a"));
	pool_job_late(&b.list[0]);
	assert_true(pool_jobs_hang(&b.jobs, "a") && !pool_jobs_hang(&b.jobs, "b") && !pool_jobs_hang(&b.jobs, "c"));
	finish(&b);
	assert_false(pool_jobs_hang(&b.jobs, "a"));
	end(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one_folder_one_is_out_and_others_are_not_held_up),
		cmocka_unit_test(so_many_are_out_and_the_first_that_may_is_next),
		cmocka_unit_test(what_has_not_begun_is_taken_back),
		cmocka_unit_test(a_folder_hangs_from_when_nobody_waits_until_the_job_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
