#include "resv_bench.h"

#include <string.h>

/* ---- who may do what ---- */

static void
each_host_may_do_what_the_matrix_says(void **state)
{
	/* Host 1 holds it (or has a share), 2 is registered (of "all registrants" a holder too), 3 is not. */
	static const struct {
		const char *state;
		unsigned holder, registrant, other;
	} cells[] = {
		{ "- 1a 2b",     3, 3, 3 },
		{ "WE 1a* 2b",   3, 1, 1 },
		{ "EA 1a* 2b",   3, 0, 0 },
		{ "WERO 1a* 2b", 3, 3, 1 },
		{ "EARO 1a* 2b", 3, 3, 0 },
		{ "WEAR 1a* 2b", 3, 3, 1 },
		{ "EAAR 1a* 2b", 3, 3, 0 },
	};
	struct resv_bench b;

	assert_int_equal(RESV_READ | RESV_WRITE, 3);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		resv_set(&b, cells[i].state);
		assert_int_equal(resv_access(&b.resv, resv_hostid(1)), cells[i].holder);
		assert_int_equal(resv_access(&b.resv, resv_hostid(2)), cells[i].registrant);
		assert_int_equal(resv_access(&b.resv, resv_hostid(3)), cells[i].other);
	}
}

static void
report_and_register_are_open_to_all_and_acquire_and_release_to_registrants(void **state)
{
	static const char *const states[] = { "- 1a 2b", "WE 1a* 2b", "EA 1a* 2b", "WERO 1a* 2b", "EARO 1a* 2b",
		"WEAR 1a* 2b", "EAAR 1a* 2b" };
	static const struct nvme_sqe report = { .cdw11 = { { NVME_RESV_REPORT_EDS } } };
	uint8_t out[4];
	struct resv_bench b;

	for (unsigned type = 1; type < 7; type++) {
		const struct resv_command refused[] = { ACQUIRE(3, type, 'a'), ACQUIRE(1, type, 'b'),
			ACQUIRE(1, type, 0), RELEASE(3, type, 'a'), RELEASE(1, type, 'b'), RELEASE(2, type, 'a'),
			CLEAR(3, 'a'), CLEAR(2, 'a'), PREEMPT(3, type, 'a', 'a'), PREEMPT(2, type, 'a', 'a') };
		const struct resv_command registers = REGISTER(3, 0, 'c'), others = ACQUIRE(2, type, 'b');

		resv_set(&b, states[type]);
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
			assert_int_equal(resv_do(&b, &refused[i]), NVME_SC_RESV_CONFLICT);
		assert_true(nvme_ok(resv_report(&b.resv, &report, NULL, 0, out, sizeof(out))));
		assert_int_equal(resv_do(&b, &registers), NVME_SC_SUCCESS);
		/* Another registrant has a share already, or gets none. */
		assert_int_equal(resv_do(&b, &others), type >= WEAR ? NVME_SC_SUCCESS : NVME_SC_RESV_CONFLICT);
	}
}

/* ---- Register ---- */

static void
a_host_registers_once_with_one_key(void **state)
{
	static const struct resv_rule rules[] = {
		{ "-",           REGISTER(1, 0, 'a'),   OK, "- 1a", "" },
		{ "- 1a",        REGISTER(2, 'x', 'a'), OK, "- 1a 2a", "" },
		{ "WE 1a*",      REGISTER(2, 0, 'b'),   OK, "WE 1a* 2b", "" },
		{ "EAAR 1a*",    REGISTER(2, 0, 'b'),   OK, "EAAR 1a* 2b*", "" },
		{ "WE 1a* 2b",   REGISTER(1, 'x', 'a'), OK, "WE 1a* 2b", "" },
		{ "WE 1a* 2b",   REGISTER(1, 'a', 'b'), CONFLICT },
		{ "-",           REGISTER(1, 0, 0),     INVALID },
		{ "- 1a",        REGISTER(1, 'a', 0),   INVALID },
	};

	PLAY(rules);
}

static void
unregistering_needs_the_key_or_leave_to_ignore_it(void **state)
{
	static const struct resv_rule rules[] = {
		{ "- 1a 2b",     UNREGISTER(1, 0, 'a'),     OK, "- 2b", "" },
		{ "- 1a 2b",     UNREGISTER(1, IEKEY, 'x'), OK, "- 2b", "" },
		{ "- 1a 2b",     UNREGISTER(1, 0, 'b'),     CONFLICT },
		{ "- 1a 2b",     UNREGISTER(3, 0, 'a'),     CONFLICT },
		{ "- 1a 2b",     UNREGISTER(3, IEKEY, 'a'), CONFLICT },
		{ "- 1a 2b",     UNREGISTER(3, 0, 0),       CONFLICT },
	};

	PLAY(rules);
}

static void
a_reservation_goes_with_its_holder_or_the_last_of_its_holders(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WE 1a* 2b 3c",    UNREGISTER(1, 0, 'a'), OK, "- 2b 3c", "" },
		{ "EA 2b 1a* 3c",    UNREGISTER(1, 0, 'a'), OK, "- 2b 3c", "" },
		{ "WERO 2b 1a* 3c",  UNREGISTER(1, 0, 'a'), OK, "- 2b 3c", "2R 3R" },
		{ "EARO 2b 3c 1a*",  UNREGISTER(1, 0, 'a'), OK, "- 2b 3c", "2R 3R" },
		{ "WEAR 1a* 2b*",    UNREGISTER(1, 0, 'a'), OK, "WEAR 2b*", "" },
		{ "EAAR 2b*",        UNREGISTER(2, 0, 'b'), OK, "-", "" },
		{ "WEAR 2b*",        UNREGISTER(2, 0, 'b'), OK, "-", "" },
		{ "WERO 1a*",        UNREGISTER(1, 0, 'a'), OK, "-", "" },
		/* Somebody else goes: the holder stays, wherever it stands. */
		{ "WE 2b 1a*",       UNREGISTER(2, 0, 'b'), OK, "WE 1a*", "" },
		{ "EARO 1a* 2b 3c",  UNREGISTER(2, 0, 'b'), OK, "EARO 1a* 3c", "" },
	};

	PLAY(rules);
}

static void
a_key_is_replaced_and_the_reservation_stays(void **state)
{
	static const struct resv_rule rules[] = {
		{ "EA 1a* 2b",   REPLACE(1, 0, 'a', 'c'),     OK, "EA 1c* 2b", "" },
		{ "EA 1a* 2b",   REPLACE(2, 0, 'b', 'a'),     OK, "EA 1a* 2a", "" },
		{ "EA 1a* 2b",   REPLACE(2, IEKEY, 'x', 'c'), OK, "EA 1a* 2c", "" },
		{ "EA 1a* 2b",   REPLACE(2, 0, 'a', 'c'),     CONFLICT },
		{ "EA 1a* 2b",   REPLACE(3, 0, 'a', 'c'),     CONFLICT },
		{ "EA 1a* 2b",   REPLACE(3, 0, 0, 'c'),       CONFLICT },
		{ "EA 1a* 2b",   REPLACE(3, IEKEY, 0, 'c'),   OK, "EA 1a* 2b 3c", "" },
		{ "EA 1a* 2b",   REPLACE(1, 0, 'a', 0),       INVALID },
		{ "EA 1a* 2b",   REPLACE(3, IEKEY, 0, 0),     INVALID },
	};

	PLAY(rules);
}

static void
the_host_after_the_last_place_is_refused_and_may_come_again(void **state)
{
	struct resv_command add = REGISTER(1, 0, 'a');
	const struct resv_command full = REGISTER(RESV_HOSTS_MAX + 1, 0, 'a'), go = UNREGISTER(7, 0, 'a'),
	    again = REPLACE(RESV_HOSTS_MAX + 1, IEKEY, 0, 'a'), known = REGISTER(7, 0, 'a');
	struct resv_bench b;

	resv_set(&b, "-");
	for (; add.host <= RESV_HOSTS_MAX; add.host++)
		assert_int_equal(resv_do(&b, &add), NVME_SC_SUCCESS);
	assert_int_equal(resv_do(&b, &full), NVME_SC_INTERNAL);
	assert_int_equal(resv_do(&b, &again), NVME_SC_INTERNAL);
	assert_int_equal(resv_do(&b, &known), NVME_SC_SUCCESS);
	assert_int_equal(resv_do(&b, &go), NVME_SC_SUCCESS);
	assert_int_equal(resv_do(&b, &again), NVME_SC_SUCCESS);
	assert_int_equal(resv_do(&b, &go), NVME_SC_RESV_CONFLICT);
}

/* ---- Release ---- */

static void
a_holder_releases_what_it_holds(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WE 1a* 2b",        RELEASE(1, WE, 'a'),    OK, "- 1a 2b", "" },
		{ "EA 1a* 2b",        RELEASE(1, EA, 'a'),    OK, "- 1a 2b", "" },
		{ "WERO 1a* 2b 3c",   RELEASE(1, WERO, 'a'),  OK, "- 1a 2b 3c", "2R 3R" },
		{ "EARO 1a* 2b",      RELEASE(1, EARO, 'a'),  OK, "- 1a 2b", "2R" },
		{ "WEAR 1a* 2b*",     RELEASE(2, WEAR, 'b'),  OK, "- 1a 2b", "1R" },
		{ "EAAR 1a* 2b*",     RELEASE(1, EAAR, 'a'),  OK, "- 1a 2b", "2R" },
		{ "WE 1a* 2b",        RELEASE(1, EA, 'a'),    INVALID },
		{ "WE 1a* 2b",        RELEASE(1, 0, 'a'),     INVALID },
		{ "WEAR 1a* 2b*",     RELEASE(2, EAAR, 'b'),  INVALID },
		{ "WE 1a* 2b",        RELEASE(2, WE, 'b'),    OK, "WE 1a* 2b", "" },
		{ "WE 1a* 2b",        RELEASE(2, EA, 'b'),    OK, "WE 1a* 2b", "" },
		{ "- 1a 2b",          RELEASE(2, EA, 'b'),    OK, "- 1a 2b", "" },
		{ "WE 1a* 2b",        RELEASE(3, WE, 'a'),    CONFLICT },
		{ "WE 1a* 2b",        RELEASE(1, WE, 'b'),    CONFLICT },
	};

	PLAY(rules);
}

static void
clear_removes_all_and_the_others_hear_of_it(void **state)
{
	static const struct resv_rule rules[] = {
		{ "WE 1a* 2b 3c",     CLEAR(2, 'b'),   OK, "-", "1P 3P" },
		{ "- 1a 2b",          CLEAR(1, 'a'),   OK, "-", "2P" },
		{ "EAAR 1a* 2b*",     CLEAR(1, 'a'),   OK, "-", "2P" },
		{ "WE 1a* 2b",        CLEAR(2, 'a'),   CONFLICT },
		{ "WE 1a* 2b",        CLEAR(3, 'a'),   CONFLICT },
	};

	PLAY(rules);
}

/* ---- all commands ---- */

static void
a_field_that_is_wrong_is_refused_before_the_state_is_looked_at(void **state)
{
	static const struct resv_command register_ok = { 1, NVME_RESV_REGISTER, 0, { 'a', 'a' } },
	    acquire_ok = { 1, NVME_RESV_ACQUIRE, WE << 8, { 'a', 'a' } },
	    release_ok = { 1, NVME_RESV_RELEASE, WE << 8, { 'a', 0 } };
	struct resv_bench b;

	for (unsigned wrong_key = 0; wrong_key < 2; wrong_key++) {
		for (unsigned action = 0; action < 8; action++) {
			struct resv_command reg = register_ok, acq = acquire_ok, rel = release_ok;

			resv_set(&b, "- 1a");
			acq.key[0] += wrong_key;
			rel.key[0] += wrong_key;
			reg.cdw10 |= action;
			acq.cdw10 |= action;
			rel.cdw10 |= action;
			assert_int_equal(resv_do(&b, &reg) == NVME_SC_INVALID_FIELD, action > 2);
			resv_set(&b, "- 1a");
			assert_int_equal(resv_do(&b, &acq) == NVME_SC_INVALID_FIELD, action > 2);
			resv_set(&b, "- 1a");
			assert_int_equal(resv_do(&b, &rel) == NVME_SC_INVALID_FIELD, action > 1);
			acq.cdw10 |= IEKEY;
			rel.cdw10 |= IEKEY;
			assert_int_equal(resv_do(&b, &acq), NVME_SC_INVALID_FIELD);
			assert_int_equal(resv_do(&b, &rel), NVME_SC_INVALID_FIELD);
		}
		for (unsigned type = 0; type < 256; type++) {
			struct resv_command acq = acquire_ok;

			resv_set(&b, "- 1a");
			acq.key[0] += wrong_key;
			acq.cdw10 = type << 8 | (type & 1); /* of a preempt too */
			assert_int_equal(resv_do(&b, &acq) == NVME_SC_INVALID_FIELD, type < 1 || type > 6);
		}
	}
}

static void
reserved_bits_are_not_looked_at(void **state)
{
	static const struct resv_rule rules[] = {
		{ "- 1a",    { 2, NVME_RESV_REGISTER, 0x3ffffff0, { 0, 'b' } },       OK, "- 1a 2b", "" },
		{ "- 1a",    { 1, NVME_RESV_ACQUIRE, 0xffff00f0 | WE << 8, { 'a' } }, OK, "WE 1a*", "" },
		{ "WE 1a*",  { 1, NVME_RESV_RELEASE, 0xffff00f0 | WE << 8, { 'a' } }, OK, "- 1a", "" },
	};

	PLAY(rules);
}

static void
the_generation_goes_on_with_0(void **state)
{
	const struct resv_command same = REGISTER(1, 0, 'a');
	struct resv_bench b;

	resv_set(&b, "- 1a");
	b.resv.generation = UINT32_MAX;
	assert_int_equal(resv_do(&b, &same), NVME_SC_SUCCESS);
	assert_int_equal(b.resv.generation, 0);
}

/* ---- PTPL ---- */

static void
cptpl_sets_and_clears_ptpl_with_a_command_that_succeeds(void **state)
{
	static const struct {
		uint32_t cptpl;
		bool before, after;
		enum nvme_sc sc;
	} rows[] = {
		{ NVME_CPTPL_KEEP, false, false, OK }, { NVME_CPTPL_KEEP, true, true, OK },
		{ NVME_CPTPL_RESERVED, false, false, NVME_SC_INVALID_FIELD },
		{ NVME_CPTPL_RESERVED, true, true, NVME_SC_INVALID_FIELD },
		{ NVME_CPTPL_CLEAR, false, false, OK }, { NVME_CPTPL_CLEAR, true, false, OK },
		{ NVME_CPTPL_SET, false, true, OK }, { NVME_CPTPL_SET, true, true, OK },
	};
	struct resv_bench b;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resv_command command = REGISTER(1, 0, 'a'), refused = REGISTER(1, 0, 'b');

		resv_set(&b, "- 1a");
		b.resv.ptpl = rows[i].before;
		refused.cdw10 |= rows[i].cptpl << 30;
		command.cdw10 |= rows[i].cptpl << 30;
		assert_int_not_equal(resv_do(&b, &refused), NVME_SC_SUCCESS);
		assert_int_equal(b.resv.ptpl, rows[i].before);
		assert_int_equal(resv_do(&b, &command), rows[i].sc);
		assert_int_equal(b.resv.ptpl, rows[i].after);
		if (rows[i].sc == OK)
			assert_int_equal(b.effect.persist, rows[i].before || rows[i].after);
	}
}

static void
feature_83h_sets_ptpl_and_counts_no_generation(void **state)
{
	static const bool turns[] = { false, true, true, false, false };
	struct resv_bench b;

	resv_set(&b, "WE 1a*");
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		bool before = b.resv.ptpl;

		memset(&b.effect, 0xff, sizeof(b.effect));
		assert_true(nvme_ok(resv_set_ptpl(&b.resv, turns[i], &b.effect)));
		assert_int_equal(b.resv.ptpl, turns[i]);
		assert_int_equal(b.effect.changed, before != turns[i]);
		assert_int_equal(b.effect.persist, before != turns[i]); /* cleared: the old registrants must go */
		assert_int_equal(b.effect.notice_count + b.effect.abort_count + b.resv.generation, 0);
	}
}

static void
ptpl_is_refused_where_nothing_can_be_kept(void **state)
{
	struct resv_command set = REGISTER(1, 0, 'a'), clear = set;
	struct resv_bench b;

	set.cdw10 |= (uint32_t)NVME_CPTPL_SET << 30;
	clear.cdw10 |= (uint32_t)NVME_CPTPL_CLEAR << 30;
	resv_init(&b.resv, false);
	assert_int_equal(resv_do(&b, &set), NVME_SC_INVALID_FIELD);
	assert_int_equal(resv_do(&b, &clear), NVME_SC_SUCCESS);
	assert_int_equal(nvme_sc(resv_set_ptpl(&b.resv, true, &b.effect)), NVME_SC_INVALID_FIELD);
	assert_true(nvme_ok(resv_set_ptpl(&b.resv, false, &b.effect)));
	assert_false(b.resv.ptpl || b.effect.persist);
}

static void
with_ptpl_every_change_is_kept_and_nothing_else(void **state)
{
	static const struct {
		const char *before;
		struct resv_command command;
		bool persist;
	} rows[] = {
		{ "- 1a",       REGISTER(1, 0, 'a'),      true },  /* a new generation */
		{ "- 1a",       ACQUIRE(1, WE, 'a'),      true },
		{ "WE 1a*",     ACQUIRE(1, WE, 'a'),      false },
		{ "WE 1a* 2b",  ACQUIRE(2, WE, 'b'),      false },
		{ "WE 1a* 2b",  RELEASE(2, WE, 'b'),      false },
		{ "WE 1a* 2b",  RELEASE(1, WE, 'a'),      true },
		{ "WE 1a* 2b",  PREEMPT(1, WE, 'a', 'b'), true },
		{ "WE 1a* 2b",  PREEMPT(1, WE, 'a', 'x'), false },
		{ "WE 1a* 2b",  CLEAR(1, 'a'),            true },
	};
	struct resv_bench b;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned ptpl = 0; ptpl < 2; ptpl++) {
			resv_set(&b, rows[i].before);
			b.resv.ptpl = ptpl;
			resv_do(&b, &rows[i].command);
			assert_int_equal(b.effect.persist, rows[i].persist && ptpl);
			assert_int_equal(b.effect.changed, rows[i].persist);
			assert_int_equal(b.resv.ptpl, ptpl);
		}
	}
}

/* ---- the judge itself ---- */

static void
a_state_that_cannot_be_is_known_as_such(void **state)
{
	struct resv_bench b;
	struct resv good;

	resv_set(&b, "WE 1a* 2b");
	good = b.resv;
#define BREAK(change) do { struct resv r = good; change; assert_false(resv_valid(&r)); } while (0)
	BREAK(r.holder = RESV_NOBODY);
	BREAK(r.holder = 2);
	BREAK(r.type = NVME_RESV_NONE);
	BREAK(r.type = NVME_RESV_EA_AR);
	BREAK(r.type = (enum nvme_resv_type)7);
	BREAK(r.hosts[1].key = 0);
	BREAK(r.hosts[1] = r.hosts[0]);
	BREAK(memset(r.hosts[1].hostid, 0, RESV_HOSTID_LEN));
	BREAK(r.host_count = RESV_HOSTS_MAX + 1);
	BREAK(r.can_persist = false; r.ptpl = true);
	BREAK(r.type = NVME_RESV_WE_AR; r.holder = RESV_NOBODY; r.host_count = 0);
#undef BREAK
	assert_true(resv_valid(&good));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_host_may_do_what_the_matrix_says),
		cmocka_unit_test(report_and_register_are_open_to_all_and_acquire_and_release_to_registrants),
		cmocka_unit_test(a_host_registers_once_with_one_key),
		cmocka_unit_test(unregistering_needs_the_key_or_leave_to_ignore_it),
		cmocka_unit_test(a_reservation_goes_with_its_holder_or_the_last_of_its_holders),
		cmocka_unit_test(a_key_is_replaced_and_the_reservation_stays),
		cmocka_unit_test(the_host_after_the_last_place_is_refused_and_may_come_again),
		cmocka_unit_test(a_holder_releases_what_it_holds),
		cmocka_unit_test(clear_removes_all_and_the_others_hear_of_it),
		cmocka_unit_test(a_field_that_is_wrong_is_refused_before_the_state_is_looked_at),
		cmocka_unit_test(reserved_bits_are_not_looked_at),
		cmocka_unit_test(the_generation_goes_on_with_0),
		cmocka_unit_test(cptpl_sets_and_clears_ptpl_with_a_command_that_succeeds),
		cmocka_unit_test(feature_83h_sets_ptpl_and_counts_no_generation),
		cmocka_unit_test(ptpl_is_refused_where_nothing_can_be_kept),
		cmocka_unit_test(with_ptpl_every_change_is_kept_and_nothing_else),
		cmocka_unit_test(a_state_that_cannot_be_is_known_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
