/*
 * trial/claims: who may have been let through, or refused, by what hosts have claimed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trial/claims.h"

enum { OK = 0x000, INVALID = 0x002, CONFLICT = 0x083, STRANGER = MODEL_NOBODY, KEY = 1, WE = 1, EA = 2, EA_RO = 4 };

static struct claims *claims;
static uint64_t now_ns;

static int
begin(void **state)
{
	(void)state;
	claims = malloc(sizeof(*claims));
	assert_non_null(claims);
	claims_init(claims, true);
	now_ns = 1000;
	return 0;
}

static int
end(void **state)
{
	(void)state;
	free(claims);
	return 0;
}

static void
sends(unsigned host, struct model_command command)
{
	model_begin(&claims->model, host, &command);
	claims_changed(claims, now_ns += 100);
}

/* False: that cannot be the answer. */
static bool
is_told(unsigned host, uint64_t result)
{
	uint32_t victims;
	bool right = model_end(&claims->model, host, result, &victims);

	claims_changed(claims, now_ns += 100);
	return right;
}

static bool
is_answered(unsigned host, uint16_t status)
{
	return is_told(host, model_status_result(status));
}

static void
registers(unsigned host, uint8_t cptpl)
{
	sends(host, (struct model_command){ .op = MODEL_REGISTER, .other = KEY, .cptpl = cptpl });
	assert_true(is_answered(host, OK));
}

static void
acquires(unsigned host, uint8_t type)
{
	sends(host, (struct model_command){ .op = MODEL_ACQUIRE, .key = KEY, .type = type });
	assert_true(is_answered(host, OK));
}

static bool
may(unsigned host, unsigned bits, uint64_t since_ns)
{
	return claims_may(claims, host, bits, since_ns);
}

static void
nobody_is_refused_while_nothing_is_claimed(void **state)
{
	(void)state;
	registers(0, 0);
	assert_true(may(STRANGER, MODEL_WRITES, now_ns) && may(0, MODEL_WRITES, now_ns));
	assert_false(may(STRANGER, MODEL_WRITES_NOT | MODEL_READS_NOT | MODEL_ENDS, 0));
}

static void
an_acquire_under_way_may_have_been_done_or_not(void **state)
{
	uint64_t before_ns, meanwhile_ns;

	(void)state;
	registers(0, 0);
	before_ns = now_ns;
	sends(0, (struct model_command){ .op = MODEL_ACQUIRE, .key = KEY, .type = EA });
	meanwhile_ns = now_ns + 50;
	assert_true(may(STRANGER, MODEL_READS, before_ns) && may(STRANGER, MODEL_READS_NOT, before_ns));
	assert_true(is_answered(0, OK));
	/* What began before the answer may have been first; what began after it was not. */
	assert_true(may(STRANGER, MODEL_READS, meanwhile_ns) && may(STRANGER, MODEL_READS_NOT, meanwhile_ns));
	assert_false(may(STRANGER, MODEL_READS, now_ns + 1));
	assert_true(may(STRANGER, MODEL_READS_NOT, now_ns + 1));
	assert_true(may(0, MODEL_WRITES, now_ns + 1));
	assert_false(may(0, MODEL_WRITES_NOT, before_ns));
}

static void
readers_go_by_write_exclusive_registrants_by_the_others(void **state)
{
	(void)state;
	registers(0, 0);
	registers(1, 0);
	acquires(0, WE);
	assert_true(may(STRANGER, MODEL_READS, now_ns + 1) && may(1, MODEL_READS, now_ns + 1));
	assert_false(may(STRANGER, MODEL_WRITES, now_ns + 1) || may(1, MODEL_WRITES, now_ns + 1));
	sends(0, (struct model_command){ .op = MODEL_PREEMPT, .key = KEY, .other = KEY, .type = EA_RO });
	assert_true(is_answered(0, OK));
	assert_false(may(1, MODEL_READS, now_ns + 1)); /* its key was the same */
	registers(1, 0);
	assert_true(may(1, MODEL_WRITES, now_ns + 1));
	assert_false(may(STRANGER, MODEL_READS, now_ns + 1));
}

static void
an_answer_that_no_order_explains_is_wrong(void **state)
{
	(void)state;
	registers(0, 0);
	acquires(0, EA);
	registers(1, 0);
	sends(1, (struct model_command){ .op = MODEL_ACQUIRE, .key = KEY, .type = WE });
	assert_false(is_answered(1, OK));
}

static void
a_report_says_what_is_so_and_nothing_else(void **state)
{
	struct model_state says = {
		.keys = { [2] = KEY }, .order = { 2, MODEL_NOBODY, MODEL_NOBODY, MODEL_NOBODY },
		.holder = MODEL_NOBODY, .generation = 1,
	};

	(void)state;
	registers(2, 0);
	sends(1, (struct model_command){ .op = MODEL_REPORT });
	assert_true(is_told(1, model_report_result(&says)));
	says.generation = 2;
	sends(1, (struct model_command){ .op = MODEL_REPORT });
	assert_false(is_told(1, model_report_result(&says)));
}

static void
power_leaves_what_was_to_be_kept(void **state)
{
	(void)state;
	registers(0, 3);
	acquires(0, EA);
	model_crash(&claims->model);
	claims_changed(claims, now_ns += 100);
	assert_false(may(STRANGER, MODEL_READS, now_ns + 1));
	sends(0, (struct model_command){ .op = MODEL_REGISTER, .other = KEY, .cptpl = 2 });
	assert_true(is_answered(0, OK));
	assert_false(may(STRANGER, MODEL_READS, now_ns + 1));
	model_crash(&claims->model);
	claims_changed(claims, now_ns += 100);
	assert_false(may(STRANGER, MODEL_READS_NOT, now_ns + 1));
}

static void
nothing_is_kept_where_there_is_no_place_for_it(void **state)
{
	(void)state;
	claims_init(claims, false);
	sends(0, (struct model_command){ .op = MODEL_REGISTER, .other = KEY, .cptpl = 3 });
	assert_true(is_answered(0, INVALID));
	registers(0, 0);
}

static void
only_the_preempt_of_another_host_ends_what_is_done(void **state)
{
	(void)state;
	registers(0, 0);
	sends(0, (struct model_command){ .op = MODEL_PREEMPT_ABORT, .key = KEY, .other = 2, .type = WE });
	assert_true(may(STRANGER, MODEL_ENDS, now_ns));
	assert_false(may(0, MODEL_ENDS, 0));
	assert_true(is_answered(0, CONFLICT));
	assert_true(may(STRANGER, MODEL_ENDS, now_ns));
	assert_false(may(STRANGER, MODEL_ENDS, now_ns + 1));
}

/* Each of these has been done or not, and the generation tells. */
static void
forget_many(void)
{
	for (unsigned i = 0; i < 10000 && !claims->model.vague; i++) {
		unsigned host = i % MODEL_HOSTS;

		sends(host, (struct model_command){
			.op = MODEL_REPLACE, .ignore = true, .other = (uint8_t)(1 + i % 3),
		});
		model_forget(&claims->model, host, false);
	}
	assert_true(claims->model.vague);
	claims_changed(claims, now_ns += 100);
}

static void
where_too_much_may_be_so_nothing_is_wrong_until_a_report(void **state)
{
	const struct model_state nobody = {
		.order = { MODEL_NOBODY, MODEL_NOBODY, MODEL_NOBODY, MODEL_NOBODY }, .holder = MODEL_NOBODY,
		.generation = 12345,
	};

	(void)state;
	forget_many();
	assert_true(may(STRANGER, MODEL_READS_NOT, now_ns) && may(STRANGER, MODEL_WRITES, now_ns));
	sends(1, (struct model_command){ .op = MODEL_REPORT });
	model_found(&claims->model, &nobody); /* its answer is not there yet */
	assert_true(claims->model.vague);
	assert_true(is_told(1, model_report_result(&nobody)));
	model_found(&claims->model, &nobody);
	claims_changed(claims, now_ns += 100);
	assert_false(may(STRANGER, MODEL_READS_NOT, now_ns + 1));
	sends(2, (struct model_command){ .op = MODEL_CLEAR, .key = KEY });
	assert_false(is_answered(2, OK));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_is_refused_while_nothing_is_claimed, begin, end),
		cmocka_unit_test_setup_teardown(an_acquire_under_way_may_have_been_done_or_not, begin, end),
		cmocka_unit_test_setup_teardown(readers_go_by_write_exclusive_registrants_by_the_others, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_that_no_order_explains_is_wrong, begin, end),
		cmocka_unit_test_setup_teardown(a_report_says_what_is_so_and_nothing_else, begin, end),
		cmocka_unit_test_setup_teardown(power_leaves_what_was_to_be_kept, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_kept_where_there_is_no_place_for_it, begin, end),
		cmocka_unit_test_setup_teardown(only_the_preempt_of_another_host_ends_what_is_done, begin, end),
		cmocka_unit_test_setup_teardown(where_too_much_may_be_so_nothing_is_wrong_until_a_report, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
