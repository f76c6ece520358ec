/*
 * trial/access: what a target may answer, by what its operator has said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trial/internal.h"

enum { SINCE = 1000, BEFORE = 900, AFTER = 1100, HOST = 3, VOLUME = 2, LISTENER = 1, OTHER = 0, BLOCKS = 100 };

static const enum nvme_sc answers[] = {
	NVME_SC_SUCCESS, NVME_SC_COMPARE, NVME_SC_INVALID_NS, NVME_SC_ANA_INACCESSIBLE, NVME_SC_ANA_TRANSITION,
	NVME_SC_ANA_PERSISTENT_LOSS, NVME_SC_LBA_RANGE, NVME_SC_RESV_CONFLICT, NVME_SC_INTERNAL,
};

enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };
/* By their bits. */
enum { DONE = 3, NO_NS = 4, NO_ACCESS = 0x38, OUTSIDE = 0x40, OTHERS = 0x180, ANY = 0x1ff };

static struct served served;
static uint64_t end_of_it; /* of the command */

static struct serving
all_is_well(void)
{
	struct serving serving = { 0 };

	for (unsigned i = 0; i < TRIAL_LISTENERS_MAX; i++)
		serving.ana[i] = NVME_ANA_OPTIMIZED;
	serving.volume_blocks[VOLUME] = BLOCKS;
	return serving;
}

static int
begin(void **state)
{
	(void)state;
	served = (struct served){ .now = all_is_well(), .now_since_ns = SINCE };
	end_of_it = BLOCKS;
	return 0;
}

/* The answers that are right. */
static unsigned
right(uint64_t begun_ns)
{
	struct user user = { .index = HOST };
	struct volume volume = { .index = VOLUME };
	unsigned bits = 0;

	for (unsigned i = 0; i < ANSWERS; i++) {
		struct nvme_status status = nvme_status_of(answers[i], false);
		struct access access = { "an I/O", &user, &volume, LISTENER, end_of_it, begun_ns, status };

		if (access_wrong(&served, &access) == NULL)
			bits |= 1u << i;
	}
	return bits;
}

static void
what_is_served_is_done_and_not_refused(void **state)
{
	(void)state;
	assert_int_equal(right(AFTER), DONE | OTHERS);
	served.now.ana[LISTENER] = NVME_ANA_NON_OPTIMIZED;
	assert_int_equal(right(AFTER), DONE | OTHERS);
}

static void
where_one_listener_gives_no_access_another_one_is_no_excuse(void **state)
{
	static const enum nvme_ana_state states[] = {
		NVME_ANA_INACCESSIBLE, NVME_ANA_PERSISTENT_LOSS, NVME_ANA_CHANGE,
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		served.now = all_is_well();
		served.now.ana[LISTENER] = states[i];
		assert_int_equal(right(AFTER), NO_ACCESS | OTHERS);
		served.now = all_is_well();
		served.now.ana[OTHER] = states[i];
		assert_int_equal(right(AFTER), DONE | OTHERS);
	}
	served.now = all_is_well();
	served.now.listener_gone[LISTENER] = true;
	assert_int_equal(right(AFTER), NO_ACCESS | OTHERS);
}

static void
what_is_gone_and_who_is_barred_is_refused(void **state)
{
	(void)state;
	served.now.volume_gone[VOLUME] = true;
	assert_int_equal(right(AFTER), NO_NS | OUTSIDE | OTHERS);
	served.now = all_is_well();
	served.now.host_barred[HOST] = true;
	assert_int_equal(right(AFTER), ANY & ~DONE);
}

static void
what_reaches_over_the_end_is_refused_and_what_does_not_is_done(void **state)
{
	(void)state;
	end_of_it = BLOCKS + 1;
	assert_int_equal(right(AFTER), OUTSIDE | OTHERS);
	served.applying = true;
	served.next = all_is_well();
	served.next.volume_blocks[VOLUME] = BLOCKS + 1;
	assert_int_equal(right(AFTER), DONE | OUTSIDE | OTHERS);
	served.now = served.next;
	assert_int_equal(right(AFTER), DONE | OTHERS);
	end_of_it = 0;
	assert_int_equal(right(AFTER), DONE | OTHERS);
}

static void
what_began_before_it_was_so_may_have_been_judged_by_what_was(void **state)
{
	(void)state;
	served.now.ana[LISTENER] = NVME_ANA_CHANGE;
	assert_int_equal(right(BEFORE), ANY);
	assert_int_equal(right(SINCE), ANY);
	assert_int_equal(right(AFTER), NO_ACCESS | OTHERS);
}

static void
while_it_changes_both_are_right_and_nothing_else(void **state)
{
	(void)state;
	served.applying = true;
	served.next = all_is_well();
	served.next.ana[LISTENER] = NVME_ANA_INACCESSIBLE;
	assert_int_equal(right(AFTER), DONE | NO_ACCESS | OTHERS);
	served.now = served.next;
	assert_int_equal(right(AFTER), NO_ACCESS | OTHERS);
	served.next = all_is_well();
	assert_int_equal(right(AFTER), DONE | NO_ACCESS | OTHERS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_served_is_done_and_not_refused, begin),
		cmocka_unit_test_setup(where_one_listener_gives_no_access_another_one_is_no_excuse, begin),
		cmocka_unit_test_setup(what_is_gone_and_who_is_barred_is_refused, begin),
		cmocka_unit_test_setup(what_reaches_over_the_end_is_refused_and_what_does_not_is_done, begin),
		cmocka_unit_test_setup(what_began_before_it_was_so_may_have_been_judged_by_what_was, begin),
		cmocka_unit_test_setup(while_it_changes_both_are_right_and_nothing_else, begin),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
