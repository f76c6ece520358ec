/*
 * failover_visit.c - lanes that come, read, and go, beside the load of failover_bench.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "failover_bench.h"


static void
visit_over(void *owner)
{
	struct fail_visit *v = owner;

	assert_int_equal(v->done, v->submitted);
	v->lane = NULL;
	if (!v->fail->leaving) {
		fail_visit(v);
	} else {
		v->gone = true;
		fail_maybe_close(v->fail, v->fail->reactors[v->at]);
	}
}

static void
visit_leave(struct timer *timer)
{
	struct fail_visit *v = container_of(timer, struct fail_visit, leave);

	lane_close(v->lane, visit_over);
}

static void visit_read(struct fail_visit *v);

static void
visit_done(void *arg, const struct lane_result *result)
{
	struct fail_visit *v = arg;

	v->done++;
	assert_true(v->done <= v->submitted);
	if (result->error == 0)
		visit_read(v);
}

static void
visit_read(struct fail_visit *v)
{
	struct lane_io io = { .op = LANE_READ, .nsid = 1, .blocks = 1, .lba = 0, .iov = &v->iov, .iov_count = 1,
		.done = visit_done, .arg = v };

	v->iov = (struct iovec){ v->data, sizeof(v->data) };
	v->submitted += lane_submit(v->lane, &io) == 0;
}

static void
visit_ready(struct lane *lane, int error, const char *why)
{
	struct fail_visit *v = lane_owner(lane);

	(void)why;
	v->visits++;
	for (unsigned i = 0; error == 0 && i < 4; i++)
		visit_read(v);
}

void
fail_visit(struct fail_visit *v)
{
	struct fail *f = v->fail;
	struct reactor *reactor = f->reactors[v->at];
	struct lane_options options = { .depth = 4, .ready = visit_ready, .owner = v };

	v->submitted = v->done = 0;
	v->leave.fire = visit_leave;
	while (lane_open(reactor, f->subsys, &options, &v->lane) != 0)
		;
	timer_set(&reactor->timers, &v->leave, reactor->now_ns + rng_below(&f->rng, 8 * 1000 * 1000));
}
