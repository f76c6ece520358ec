/*
 * Events happen in order, also those that are brought forward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/internal.h"

enum { EVENTS = 1000 };

static struct sim *
empty(void)
{
	struct sim_options options = sim_options_default();

	return sim_create(1, &options);
}

/* ---- what happens next ---- */

struct order {
	uint64_t at_ns, asked; /* when, and as which of all that were put or hastened */
};

static void
an_event_that_is_hastened_happens_behind_those_put_before_for_that_instant(void **state)
{
	struct sim *sim = empty();
	struct sim_event *events[EVENTS];
	struct order orders[EVENTS], last = { 0, 0 };
	uint64_t asked = 0, at_ns;

	for (uint64_t i = 0; i < EVENTS; i++) {
		orders[i] = (struct order){ sim_below(sim, 200), ++asked };
		events[i] = sim_event_take(sim, SIM_TURN);
		events[i]->count = i;
		sim_event_put(sim, events[i], orders[i].at_ns);
	}
	for (uint64_t n = 0; n < EVENTS; n++) {
		uint64_t i = sim_below(sim, EVENTS);

		if (orders[i].at_ns == 0)
			continue;
		orders[i] = (struct order){ sim_below(sim, orders[i].at_ns), ++asked };
		sim_event_hasten(sim, events[i], orders[i].at_ns);
	}
	for (uint64_t n = 0; n < EVENTS; n++) {
		struct order now = orders[sim_event_next(sim, &at_ns)->count];

		assert_int_equal(at_ns, now.at_ns);
		assert_true(now.at_ns > last.at_ns || (now.at_ns == last.at_ns && now.asked > last.asked));
		last = now;
	}
	assert_null(sim_event_next(sim, &at_ns));
	sim_destroy(sim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_is_hastened_happens_behind_those_put_before_for_that_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
