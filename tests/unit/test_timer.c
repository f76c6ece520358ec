/* world/timer: the heap against a sorted list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/rng.h"
#include "base/timer.h"

enum { COUNT = 200, STEPS = 60000 };

struct item {
	struct timer timer;
	int id;
};

/* What ought to be armed, in the order it ought to fire. */
struct model {
	int ids[COUNT];
	uint64_t deadlines[COUNT];
	int count;
};

/* Callbacks find their way by this: a timer knows nothing but what it is part of. */
static int fired[4 * COUNT];
static int fired_count;

static void
note(struct timer *timer)
{
	fired[fired_count++] = container_of(timer, struct item, timer)->id;
}

static void
model_clear(struct model *model, int id)
{
	int i = 0;

	while (i < model->count && model->ids[i] != id)
		i++;
	if (i == model->count)
		return;
	model->count--;
	for (; i < model->count; i++) {
		model->ids[i] = model->ids[i + 1];
		model->deadlines[i] = model->deadlines[i + 1];
	}
}

static void
model_set(struct model *model, int id, uint64_t deadline)
{
	int i;

	model_clear(model, id);
	for (i = model->count; i > 0 && model->deadlines[i - 1] > deadline; i--) {
		model->ids[i] = model->ids[i - 1];
		model->deadlines[i] = model->deadlines[i - 1];
	}
	model->ids[i] = id;
	model->deadlines[i] = deadline;
	model->count++;
}

static void
run_both(struct timers *timers, struct model *model, uint64_t now)
{
	unsigned count;

	fired_count = 0;
	count = timers_run(timers, now);
	assert_int_equal(count, fired_count);
	for (int i = 0; i < fired_count; i++) {
		assert_true(model->count > 0);
		assert_true(model->deadlines[0] <= now);
		assert_int_equal(fired[i], model->ids[0]);
		model_clear(model, model->ids[0]);
	}
	assert_true(model->count == 0 || model->deadlines[0] > now);
}

static void
whatever_is_set_moved_and_cleared_the_order_is_that_of_a_sorted_list(void **state)
{
	static struct item items[COUNT];
	struct timers timers = { 0 };
	struct model model = { 0 };
	struct rng rng;
	uint64_t now = 0;

	rng_seed(&rng, 20260101);
	for (int i = 0; i < COUNT; i++)
		items[i] = (struct item){ { .fire = note }, i };
	for (int step = 0; step < STEPS; step++) {
		int id = (int)rng_below(&rng, COUNT);
		/* Few instants, so that many timers are due at the same one. */
		uint64_t deadline = now + rng_below(&rng, 30);

		switch (rng_below(&rng, 8)) {
		case 0:
			now += rng_below(&rng, 4);
			run_both(&timers, &model, now);
			break;
		case 1:
		case 2:
			timer_clear(&timers, &items[id].timer);
			model_clear(&model, id);
			assert_false(items[id].timer.armed);
			break;
		default:
			timer_set(&timers, &items[id].timer, deadline);
			model_set(&model, id, deadline);
		}
		assert_true(timers_next(&timers) == (model.count > 0 ? model.deadlines[0] : UINT64_MAX));
	}
	run_both(&timers, &model, UINT64_MAX);
	assert_int_equal(model.count, 0);
}

static void
those_due_at_one_instant_fire_in_the_order_set(void **state)
{
	struct item items[5];
	struct timers timers = { 0 };
	const int order[5] = { 3, 1, 4, 0, 2 };

	for (int i = 0; i < 5; i++)
		items[i] = (struct item){ { .fire = note }, i };
	for (int i = 0; i < 5; i++)
		timer_set(&timers, &items[order[i]].timer, 10);
	/* Setting it again puts it behind the others. */
	timer_set(&timers, &items[3].timer, 10);
	fired_count = 0;
	assert_int_equal(timers_run(&timers, 9), 0);
	assert_int_equal(timers_run(&timers, 10), 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(fired[i], order[i + 1]);
	assert_int_equal(fired[4], 3);
}

struct chain {
	struct timer timer, other;
	struct timers *timers;
	int left, others;
};

static void
set_again(struct timer *timer)
{
	struct chain *chain = container_of(timer, struct chain, timer);

	if (--chain->left > 0)
		timer_set(chain->timers, timer, timer->deadline_ns + 10);
	timer_clear(chain->timers, &chain->other);
}

static void
other_fires(struct timer *timer)
{
	container_of(timer, struct chain, other)->others++;
}

static void
a_timer_may_set_itself_and_clear_another_while_it_fires(void **state)
{
	struct timers timers = { 0 };
	struct chain chain = {
		.timer = { .fire = set_again }, .other = { .fire = other_fires }, .timers = &timers, .left = 5,
	};

	timer_set(&timers, &chain.timer, 10);
	timer_set(&timers, &chain.other, 10);
	/* Due at 10, 20 and 30: those set meanwhile and due by now fire too. */
	assert_int_equal(timers_run(&timers, 35), 3);
	assert_int_equal(chain.left, 2);
	assert_int_equal(chain.others, 0);
	assert_int_equal(timers_next(&timers), 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_set_moved_and_cleared_the_order_is_that_of_a_sorted_list),
		cmocka_unit_test(those_due_at_one_instant_fire_in_the_order_set),
		cmocka_unit_test(a_timer_may_set_itself_and_clear_another_while_it_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
