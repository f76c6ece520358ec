#include "ctrl_bench.h"

/* Controllers of the bench came through portal 1. */
enum { WHOLE = 16 + CTRL_ANA_MAX * 32 + CTRL_NS_MAX * 4 };

static const struct ana_group groups[] = {
	{ .id = 1, .changes = 3, .state = { NVME_ANA_CHANGE, NVME_ANA_OPTIMIZED } },
	{ .id = 2, .changes = 4, .state = { NVME_ANA_CHANGE, NVME_ANA_INACCESSIBLE } },
	{ .id = CTRL_ANA_MAX, .changes = 5, .state = { NVME_ANA_OPTIMIZED, NVME_ANA_NON_OPTIMIZED } },
};

static struct bench *
bench_multipath(void)
{
	struct bench *b = bench_enabled(&nvm);
	struct subsys_info *subsys = &b->snapshots[1].subsys;

	*subsys = nvm;
	subsys->ns = b->snapshots[1].ns;
	subsys->ns_count = 4;
	subsys->ana = groups;
	subsys->ana_count = 3;
	subsys->ana_changes = 9;
	for (uint32_t i = 0; i < 4; i++) {
		b->snapshots[1].ns[i] = namespaces[0];
		b->snapshots[1].ns[i].nsid = i + 1;
		b->snapshots[1].ns[i].ana_group = groups[i % 2].id;
	}
	b->ctrl.subsys = subsys;
	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS | NVME_ASYNC_ANA);
	return b;
}

static void
a_subsystem_without_groups_claims_nothing(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(get_log(b, NVME_LOG_ANA, 16), NVME_SC_LOG_PAGE);
	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_ANA), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(id->cmic & 8, 0);
	assert_int_equal(le32_get(id->oaes), NVME_ASYNC_NS);
	assert_int_equal(le32_get(id->mnan), 0);
	assert_int_equal(id->anacap, 0);
	assert_int_equal(ctrl_ana_state(&b->ctrl, 1), NVME_ANA_OPTIMIZED);
	test_free(b);
}

static void
a_subsystem_with_groups_says_so_as_hosts_demand(void **state)
{
	struct bench *b = bench_multipath();
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(id->cmic, 0x0b);
	assert_int_equal(le32_get(id->oaes), 0x900);
	assert_int_equal(id->anatt, CTRL_ANATT_S);
	assert_int_equal(id->anacap, 0x1f);
	assert_int_equal(le32_get(id->anagrpmax), CTRL_ANA_MAX);
	assert_int_equal(le32_get(id->nanagrpid), CTRL_ANA_MAX);
	assert_int_not_equal(le32_get(id->mnan), 0);
	assert_true(le32_get(id->mnan) <= le32_get(id->nn));
	test_free(b);
}

static void
the_page_lists_groups_and_their_namespaces_ascending(void **state)
{
	static const uint32_t ids[] = { 1, 2, CTRL_ANA_MAX }, states[] = { 1, 3, 2 };
	struct bench *b = bench_multipath();
	const uint8_t *at = b->out + 16;

	assert_int_equal(get_log(b, NVME_LOG_ANA, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le64(b->out), 9);
	assert_int_equal(get_le16(b->out + 8), 3);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t count = i < 2 ? 2 : 0;

		assert_int_equal(get_le32(at), ids[i]);
		assert_int_equal(get_le32(at + 4), count);
		assert_int_equal(get_le64(at + 8), 3 + i);
		assert_int_equal(at[16], states[i]);
		assert_true(all_zero(at + 17, 15));
		for (uint32_t n = 0; n < count; n++)
			assert_int_equal(get_le32(at + 32 + 4 * n), i + 1 + 2 * n);
		at += 32 + 4 * count;
	}
	assert_int_equal(at - b->out, 16 + 3 * 32 + 4 * 4);
	assert_true(all_zero(at, (size_t)(b->out + 4096 - at)));
	test_free(b);
}

/* A host that reads in pieces what Identify lets it expect is not refused at the last entry. */
static void
behind_its_last_entry_the_page_is_zero_to_the_length_identify_lets_expect(void **state)
{
	struct bench *b = bench_multipath();

	for (uint32_t rgo = 0; rgo < 2; rgo++) {
		uint32_t page = NVME_LOG_ANA | rgo << 8;

		for (uint32_t at = 132; at < WHOLE; at += 512) {
			assert_int_equal(get_log_at(b, page, 512, at), NVME_SC_SUCCESS);
			assert_true(all_zero(b->out, 512));
		}
		assert_int_equal(get_log_at(b, page, 4, WHOLE), NVME_SC_SUCCESS);
		assert_int_equal(get_log_at(b, page, 4, WHOLE + 4), NVME_SC_INVALID_FIELD);
	}
	test_free(b);
}

static void
groups_only_leaves_their_namespaces_out(void **state)
{
	struct bench *b = bench_multipath();

	assert_int_equal(get_log(b, NVME_LOG_ANA | 1 << 8, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le16(b->out + 8), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(get_le32(b->out + 16 + 32 * i), groups[i].id);
		assert_int_equal(get_le32(b->out + 20 + 32 * i), 0);
	}
	assert_true(all_zero(b->out + 112, 4096 - 112));
	test_free(b);
}

static void
a_namespace_that_is_not_attached_here_is_not_named(void **state)
{
	struct bench *b = bench_multipath();
	struct snapshot *next = bench_copy(b);

	next->ns[2].listed = true; /* at nobody's */
	bench_update(b, next);
	assert_int_equal(get_log(b, NVME_LOG_ANA, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out + 20), 1);
	assert_int_equal(get_le32(b->out + 48), 1);
	assert_int_equal(get_le32(b->out + 52), 2); /* the next group */
	test_free(b);
}

static void
the_largest_page_is_read_in_parts(void **state)
{
	struct bench *b = bench_multipath();
	struct snapshot *next = bench_copy(b);
	uint8_t *whole = test_malloc(WHOLE);

	for (uint32_t i = 0; i < CTRL_NS_MAX; i++) {
		next->ns[i].nsid = i + 1;
		next->ns[i].ana_group = i * 7 % CTRL_ANA_MAX + 1;
	}
	for (uint32_t i = 0; i < CTRL_ANA_MAX; i++)
		next->ana[i] = (struct ana_group){ .id = i + 1, .changes = 1, .state = { 1, 1 } };
	next->subsys.ns_count = CTRL_NS_MAX;
	next->subsys.ana_count = CTRL_ANA_MAX;
	bench_update(b, next);
	assert_int_equal(get_log(b, NVME_LOG_ANA, WHOLE), NVME_SC_SUCCESS);
	memcpy(whole, b->out, WHOLE);
	assert_int_equal(get_le32(whole + WHOLE - 32 - 4 * 16), CTRL_ANA_MAX);
	for (uint32_t at = 0; at < WHOLE; at += 512) {
		uint32_t left = WHOLE - at < 512 ? WHOLE - at : 512;

		assert_int_equal(get_log_at(b, NVME_LOG_ANA, 512, at), NVME_SC_SUCCESS);
		assert_memory_equal(b->out, whole + at, left);
		assert_true(all_zero(b->out + left, 512 - left));
	}
	test_free(whole);
	test_free(b);
}

static void
a_state_that_changes_here_is_told_of_and_one_elsewhere_is_not(void **state)
{
	static const struct {
		uint32_t portal;
		enum nvme_ana_state state;
		uint32_t event;
	} rows[] = {
		{ 0, NVME_ANA_NON_OPTIMIZED, NO_EVENT }, { 1, NVME_ANA_CHANGE, 0x0c0302 },
		{ 1, NVME_ANA_CHANGE, NO_EVENT }, { 1, NVME_ANA_INACCESSIBLE, 0x0c0302 },
	};
	struct bench *b = bench_multipath();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *next = bench_copy(b);

		assert_true(hold(b, (uint16_t)i) || i == 3);
		next->ana[0].state[rows[i].portal] = (uint8_t)rows[i].state;
		next->ana[0].changes++;
		next->subsys.ana_changes++;
		bench_update(b, next);
		assert_int_equal(event(b), rows[i].event);
		assert_int_equal(event(b), NO_EVENT); /* not by the namespaces' notice too */
		assert_int_equal(get_log(b, NVME_LOG_ANA, 4096), NVME_SC_SUCCESS);
		assert_int_equal(get_le64(b->out), 10 + i);
		assert_int_equal(get_le64(b->out + 24), 4 + i);
		assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
		assert_true(all_zero(b->out, 4096));
	}
	test_free(b);
}

static void
a_group_that_comes_is_told_of(void **state)
{
	struct bench *b = bench_multipath();
	struct snapshot *next = bench_copy(b);

	assert_true(hold(b, 1));
	next->ana[next->subsys.ana_count - 1].id--; /* one came, one went */
	bench_update(b, next);
	assert_int_equal(event(b), 0x0c0302);
	test_free(b);
}

static void
a_namespace_that_changes_its_group_is_told_of_by_both_notices(void **state)
{
	struct bench *b = bench_multipath();
	struct snapshot *next = bench_copy(b);
	const struct nvme_identify_ns *id = (const void *)b->out;

	for (uint16_t cid = 1; cid <= 3; cid++)
		assert_true(hold(b, cid));
	next->ns[3].ana_group = 1;
	bench_update(b, next);
	assert_int_equal(event(b), 0x040002);
	assert_int_equal(event(b), 0x0c0302);
	assert_int_equal(event(b), NO_EVENT);
	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 4);
	assert_int_equal(identify(b, NVME_CNS_NS, 4), NVME_SC_SUCCESS);
	assert_int_equal(le32_get(id->anagrpid), 1);
	assert_int_equal(identify(b, NVME_CNS_CSI_INDEPENDENT_NS, 4), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out + 4), 1);
	test_free(b);
}

static void
a_namespace_elsewhere_that_changes_its_group_is_not_told_of(void **state)
{
	struct bench *b = bench_multipath();
	struct snapshot *next = bench_copy(b);

	assert_true(hold(b, 1));
	next->ns[3].listed = true; /* at nobody's */
	bench_update(b, next);
	assert_int_equal(event(b), 0x040002);
	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
	assert_true(hold(b, 1));
	next = bench_copy(b);
	next->ns[3].ana_group = 1;
	bench_update(b, next);
	assert_int_equal(event(b), NO_EVENT);
	test_free(b);
}

static void
states_answer_io_and_let_identify_pass(void **state)
{
	static const struct {
		enum nvme_ana_state state;
		enum nvme_sc sc;
		bool used;
	} rows[] = {
		{ NVME_ANA_OPTIMIZED, NVME_SC_SUCCESS, true }, { NVME_ANA_NON_OPTIMIZED, NVME_SC_SUCCESS, true },
		{ NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE, false },
		{ NVME_ANA_PERSISTENT_LOSS, NVME_SC_ANA_PERSISTENT_LOSS, false },
		{ NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION, true },
	};
	struct bench *b = bench_multipath();
	const struct nvme_identify_ns *id = (const void *)b->out;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *next = bench_copy(b);

		next->ana[1].state[1] = (uint8_t)rows[i].state;
		bench_update(b, next);
		assert_int_equal(ctrl_ana_state(&b->ctrl, 2), rows[i].state);
		assert_int_equal(ctrl_ana_state(&b->ctrl, 1), NVME_ANA_OPTIMIZED);
		assert_int_equal(nvme_sc(ctrl_ana_status(rows[i].state)), rows[i].sc);
		assert_false(ctrl_ana_status(rows[i].state).dnr);
		assert_int_equal(identify(b, NVME_CNS_NS, 2), NVME_SC_SUCCESS);
		assert_int_equal(le64_get(id->nsze), 1000);
		assert_int_equal(le64_get(id->nuse), rows[i].used ? 1000 : 0);
		assert_int_equal(get_le64(id->nvmcap), rows[i].used ? 4096000 : 0);
		assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 2), NVME_SC_SUCCESS);
		assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	}
	test_free(b);
}

/* The features of a namespace, its deletion and its attachment; the group of 2 is in the state, that of 1 is not. */
static void
states_hold_back_what_is_about_the_namespace_alone(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t cdw10, value;
		enum { NEVER, LOST, UNREACHED } held;
		enum nvme_sc else_sc;
	} rows[] = {
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_RECOVERY, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_RESV_MASK, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_RESV_MASK | 1 << 8, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_RESV_MASK | 3 << 8, 0, NEVER, NVME_SC_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_RESV_PERSISTENCE, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_PROTECTION, 0, NEVER, NVME_SC_SUCCESS },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_RECOVERY, 0, UNREACHED, NVME_SC_NOT_CHANGEABLE },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_RESV_MASK, 2, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_RESV_PERSISTENCE, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_PROTECTION, 1, LOST, NVME_SC_SUCCESS },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_KATO, 9000, NEVER, NVME_SC_NOT_NS_SPECIFIC },
		{ NVME_ADMIN_NS_MANAGEMENT, NVME_NS_DELETE, 0, UNREACHED, NVME_SC_SUCCESS },
		{ NVME_ADMIN_NS_ATTACHMENT, NVME_NS_DETACH, 0, UNREACHED, NVME_SC_SGL_LENGTH },
	};
	static const struct { enum nvme_ana_state state; enum nvme_sc sc; } states[] = {
		{ NVME_ANA_OPTIMIZED, NVME_SC_SUCCESS }, { NVME_ANA_NON_OPTIMIZED, NVME_SC_SUCCESS },
		{ NVME_ANA_INACCESSIBLE, NVME_SC_ANA_INACCESSIBLE },
		{ NVME_ANA_PERSISTENT_LOSS, NVME_SC_ANA_PERSISTENT_LOSS }, { NVME_ANA_CHANGE, NVME_SC_ANA_TRANSITION },
	};
	struct bench *b = bench_multipath();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * 5; i++) {
		size_t row = i / 5;
		enum nvme_ana_state now = states[i % 5].state;
		bool held = rows[row].held == UNREACHED ? now > NVME_ANA_NON_OPTIMIZED :
		    rows[row].held == LOST && now == NVME_ANA_PERSISTENT_LOSS;
		bool all = rows[row].opcode != NVME_ADMIN_GET_FEATURES && rows[row].cdw10 != NVME_FEATURE_KATO &&
		    rows[row].opcode != NVME_ADMIN_NS_ATTACHMENT;
		struct snapshot *next = bench_copy(b);

		next->ana[1].state[1] = (uint8_t)now;
		next->subsys.reservations = next->subsys.ns_management = true;
		next->subsys.nwpc = NVME_NWPC_PROTECT;
		for (uint32_t n = 0; n < 4; n++)
			next->ns[n].rescap = NVME_RESCAP_TYPES;
		bench_update(b, next);
		assert_int_equal(admin(b, rows[row].opcode, 1, rows[row].cdw10, rows[row].value, 0), rows[row].else_sc);
		assert_int_equal(admin(b, rows[row].opcode, 2, rows[row].cdw10, rows[row].value, 0),
		    held ? states[i % 5].sc : rows[row].else_sc);
		assert_false(held && b->reply.status.dnr);
		held = rows[row].held != NEVER && now > NVME_ANA_NON_OPTIMIZED;
		if (all)
			assert_int_equal(admin(b, rows[row].opcode, UINT32_MAX, rows[row].cdw10, rows[row].value, 0),
			    held ? states[i % 5].sc : rows[row].else_sc);
	}
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subsystem_without_groups_claims_nothing),
		cmocka_unit_test(a_subsystem_with_groups_says_so_as_hosts_demand),
		cmocka_unit_test(the_page_lists_groups_and_their_namespaces_ascending),
		cmocka_unit_test(behind_its_last_entry_the_page_is_zero_to_the_length_identify_lets_expect),
		cmocka_unit_test(groups_only_leaves_their_namespaces_out),
		cmocka_unit_test(a_namespace_that_is_not_attached_here_is_not_named),
		cmocka_unit_test(the_largest_page_is_read_in_parts),
		cmocka_unit_test(a_state_that_changes_here_is_told_of_and_one_elsewhere_is_not),
		cmocka_unit_test(a_group_that_comes_is_told_of),
		cmocka_unit_test(a_namespace_that_changes_its_group_is_told_of_by_both_notices),
		cmocka_unit_test(a_namespace_elsewhere_that_changes_its_group_is_not_told_of),
		cmocka_unit_test(states_answer_io_and_let_identify_pass),
		cmocka_unit_test(states_hold_back_what_is_about_the_namespace_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
