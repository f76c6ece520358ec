#include "resv_bench.h"

static void
who_is_first_acquires(void **state)
{
	static const struct resv_rule rules[] = {
		{ "- 1a 2b",       ACQUIRE(1, WE, 'a'),   OK, "WE 1a* 2b", "" },
		{ "- 1a 2b",       ACQUIRE(2, EARO, 'b'), OK, "EARO 1a 2b*", "" },
		{ "- 1a 2b",       ACQUIRE(2, WEAR, 'b'), OK, "WEAR 1a* 2b*", "" },
		{ "EA 1a* 2b",     ACQUIRE(1, EA, 'a'),   OK, "EA 1a* 2b", "" },
		{ "EAAR 1a* 2b*",  ACQUIRE(2, EAAR, 'b'), OK, "EAAR 1a* 2b*", "" },
		{ "EA 1a* 2b",     ACQUIRE(1, WE, 'a'),   CONFLICT },
		{ "EA 1a* 2b",     ACQUIRE(2, EA, 'b'),   CONFLICT },
		{ "EAAR 1a* 2b*",  ACQUIRE(2, WEAR, 'b'), CONFLICT },
		{ "- 1a",          ACQUIRE(2, WE, 'a'),   CONFLICT },
		{ "- 1a",          ACQUIRE(1, WE, 'b'),   CONFLICT },
	};

	PLAY(rules);
}

static void
a_preempt_without_a_reservation_unregisters_and_reserves_nothing(void **state)
{
	static const struct resv_rule rules[] = {
		{ "- 1a 2b 3b 4c",  PREEMPT(1, WE, 'a', 'b'),   OK, "- 1a 4c", "2G 3G" },
		{ "- 1a 2a 3b",     PREEMPT(1, EAAR, 'a', 'a'), OK, "- 3b", "2G" },
		{ "- 1a 2b",        PREEMPT(1, WE, 'a', 'x'),   CONFLICT },
		{ "- 1a 2b",        PREEMPT(1, WE, 'a', 0),     INVALID },
	};

	PLAY(rules);
}

static void
a_preempt_of_the_holder_takes_the_reservation(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WE 1a* 2b 3c",    PREEMPT(2, WE, 'b', 'a'),   OK, "WE 2b* 3c", "1G" },
		{ "WE 1a* 2b 3c",    PREEMPT(2, EA, 'b', 'a'),   OK, "EA 2b* 3c", "1G 3R" },
		{ "EA 1a* 2b 3c",    PREEMPT(3, WERO, 'c', 'a'), OK, "WERO 2b 3c*", "1G 2R" },
		{ "EARO 3c 2b 1a*",  PREEMPT(2, EAAR, 'b', 'a'), OK, "EAAR 3c* 2b*", "1G 3R" },
		{ "WERO 1a* 2a 3c",  PREEMPT(3, WERO, 'c', 'a'), OK, "WERO 3c*", "1G 2G" },
		/* The caller has the holder's key, and stays. */
		{ "WERO 1a* 2a 3c",  PREEMPT(2, WERO, 'a', 'a'), OK, "WERO 2a* 3c", "1G" },
		/* The holder itself: another type, and whoever had its key goes. */
		{ "WERO 1a* 2b",     PREEMPT(1, EA, 'a', 'a'),   OK, "EA 1a* 2b", "2R" },
		{ "WERO 1a* 2b",     PREEMPT(1, WERO, 'a', 'a'), OK, "WERO 1a* 2b", "" },
		{ "WE 2a 1a* 3c",    PREEMPT(1, WEAR, 'a', 'a'), OK, "WEAR 1a* 3c*", "2G 3R" },
	};

	PLAY(rules);
}

static void
a_preempt_of_others_leaves_the_reservation(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WE 1a* 2b 3c",    PREEMPT(1, EA, 'a', 'b'),   OK, "WE 1a* 3c", "2G" },
		{ "EARO 2b 3c 1a*",  PREEMPT(3, WE, 'c', 'b'),   OK, "EARO 3c 1a*", "2G" },
		{ "WERO 1a* 2b 3b",  PREEMPT(2, EA, 'b', 'b'),   OK, "WERO 1a*", "3G" },
		{ "WERO 1a* 2b",     PREEMPT(2, EA, 'b', 'x'),   CONFLICT },
		{ "WERO 1a* 2b",     PREEMPT(2, EA, 'b', 0),     INVALID },
		{ "WERO 1a* 2b",     PREEMPT(1, EA, 'a', 0),     INVALID },
	};

	PLAY(rules);
}

static void
of_all_registrants_key_0_means_all_others(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WEAR 1a* 2b* 3c*",  PREEMPT(2, WEAR, 'b', 0),   OK, "WEAR 2b*", "1G 3G" },
		{ "WEAR 1a* 2b* 3c*",  PREEMPT(2, EA, 'b', 0),     OK, "EA 2b*", "1G 3G" },
		{ "EAAR 2b*",          PREEMPT(2, WERO, 'b', 0),   OK, "WERO 2b*", "" },
		{ "EAAR 1a* 2b* 3b*",  PREEMPT(1, WE, 'a', 'b'),   OK, "EAAR 1a*", "2G 3G" },
		{ "EAAR 1a* 2b* 3b*",  PREEMPT(2, WE, 'b', 'b'),   OK, "EAAR 1a*", "3G" },
		{ "EAAR 1a* 2a*",      PREEMPT(1, WE, 'a', 'a'),   OK, "-", "2G" },
		{ "EAAR 1a* 2b*",      PREEMPT(2, WE, 'b', 'x'),   CONFLICT },
	};

	PLAY(rules);
}

static void
preempt_and_abort_ends_the_commands_of_those_it_unregisters(void **state)
{
	static const struct {
		const char *before;
		struct resv_command command;
		const char *after, *told, *ended;
	} rows[] = {
		{ "- 1a 2b 3b",        PREEMPT(1, WE, 'a', 'b'),   "- 1a", "2G 3G", "2 3" },
		{ "- 1a 2a 3b",        PREEMPT(1, WE, 'a', 'a'),   "- 3b", "2G", "2" },
		{ "WE 1a* 2b 3c",      PREEMPT(2, EA, 'b', 'a'),   "EA 2b* 3c", "1G 3R", "1" },
		{ "EAAR 1a* 2b* 3c*",  PREEMPT(2, EAAR, 'b', 0),   "EAAR 2b*", "1G 3G", "1 3" },
		{ "WERO 1a* 2b",       PREEMPT(1, EA, 'a', 'a'),   "EA 1a* 2b", "2R", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resv_command command = rows[i].command;
		struct resv_bench b;

		resv_set(&b, rows[i].before);
		command.cdw10 += NVME_RACQA_PREEMPT_ABORT - NVME_RACQA_PREEMPT;
		assert_int_equal(resv_do(&b, &command), NVME_SC_SUCCESS);
		assert_string_equal(resv_state(&b), rows[i].after);
		assert_string_equal(resv_told(&b), rows[i].told);
		assert_string_equal(resv_ended(&b), rows[i].ended);
	}
}

static void
a_preempt_reaches_every_host_there_can_be(void **state)
{
	struct resv_command add = REGISTER(1, 0, 'a'), take = ACQUIRE(1, EAAR, 'a'), clear = CLEAR(64, 'a'),
	    preempt = PREEMPT(64, WE, 'a', 0);
	struct resv_bench b;

	resv_set(&b, "-");
	for (; add.host <= RESV_HOSTS_MAX; add.host++)
		resv_do(&b, &add);
	resv_do(&b, &take);
	preempt.cdw10++; /* and abort */
	assert_int_equal(resv_do(&b, &preempt), NVME_SC_SUCCESS);
	assert_string_equal(resv_state(&b), "WE 64a*");
	assert_int_equal(b.effect.notice_count, RESV_HOSTS_MAX - 1);
	assert_int_equal(b.effect.abort_count, RESV_HOSTS_MAX - 1);
	for (add.host = 1; add.host < RESV_HOSTS_MAX; add.host++)
		resv_do(&b, &add);
	assert_int_equal(resv_do(&b, &clear), NVME_SC_SUCCESS);
	assert_int_equal(b.effect.notice_count, RESV_HOSTS_MAX - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_first_acquires),
		cmocka_unit_test(a_preempt_without_a_reservation_unregisters_and_reserves_nothing),
		cmocka_unit_test(a_preempt_of_the_holder_takes_the_reservation),
		cmocka_unit_test(a_preempt_of_others_leaves_the_reservation),
		cmocka_unit_test(of_all_registrants_key_0_means_all_others),
		cmocka_unit_test(preempt_and_abort_ends_the_commands_of_those_it_unregisters),
		cmocka_unit_test(a_preempt_reaches_every_host_there_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
