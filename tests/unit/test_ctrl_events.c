#include "ctrl_bench.h"

/* ---- held requests and masking ---- */

static void
resize(struct bench *b, uint32_t nsid)
{
	struct snapshot *next = bench_copy(b);

	for (uint32_t i = 0; i < next->subsys.ns_count; i++)
		if (next->ns[i].nsid == nsid)
			next->ns[i].blocks++;
	bench_update(b, next);
}

static void
four_event_requests_are_held(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	for (uint16_t cid = 1; cid <= CTRL_AER_MAX; cid++)
		assert_true(hold(b, cid));
	assert_false(hold(b, 9));
	assert_int_equal(nvme_sc(b->reply.status), NVME_SC_AER_LIMIT);
	assert_true(ctrl_aer_abort(&b->ctrl, 2));
	assert_false(ctrl_aer_abort(&b->ctrl, 2));
	assert_true(hold(b, 9));
	test_free(b);
}

static void
an_event_waits_for_a_request_and_then_for_the_page(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint32_t dw0;
	uint16_t cid;

	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS), NVME_SC_SUCCESS);
	resize(b, 3);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_true(hold(b, 0xf001));
	assert_true(hold(b, 7));
	assert_true(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(cid, 0xf001);
	assert_int_equal(dw0, 0x040002);

	resize(b, 1); /* silent until the page is read */
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS | NVME_LOG_RAE, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 1);
	assert_int_equal(get_le32(b->out + 4), 3);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 1);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0)); /* what was read needs no telling */
	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	resize(b, 1);
	assert_true(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(cid, 7);
	test_free(b);
}

/* The SGL says more, or less, than is read: the command is refused, and the host may ask again. */
static void
a_page_that_is_not_given_was_not_read(void **state)
{
	const uint32_t all = NVME_LOG_CHANGED_NS | 1023 << 16;
	struct bench *b = bench_enabled(&nvm);

	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	assert_true(hold(b, 1));
	assert_true(hold(b, 2));
	resize(b, 3);
	assert_int_equal(event(b), 0x040002);
	assert_int_equal(admin(b, NVME_ADMIN_GET_LOG_PAGE, 0, all, 0, 8192), NVME_SC_SGL_LENGTH);
	assert_int_equal(admin(b, NVME_ADMIN_GET_LOG_PAGE, 0, all, 0, 2048), NVME_SC_SGL_LENGTH);
	resize(b, 3);
	assert_int_equal(event(b), NO_EVENT); /* it is silent until the page is read */
	assert_int_equal(admin(b, NVME_ADMIN_GET_LOG_PAGE, 0, all, 0, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 3);
	test_free(b);
}

static void
an_event_that_is_off_is_not_told(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint32_t dw0;
	uint16_t cid;

	assert_true(hold(b, 1));
	resize(b, 1);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS), NVME_SC_SUCCESS);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	resize(b, 1);
	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, 0), NVME_SC_SUCCESS);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	test_free(b);
}

static void
a_reset_forgets_requests_and_events(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint32_t dw0;
	uint16_t cid;

	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	assert_true(hold(b, 1));
	property_set(b, NVME_CC, NVME_CC_ENTRIES);
	ctrl_reset_done(&b->ctrl);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	resize(b, 1);
	assert_false(ctrl_event(&b->ctrl, &cid, &dw0));
	test_free(b);
}

/* I/O queues may leave long after CC.EN: the target has dropped the requests then. */
static void
nothing_is_told_while_a_reset_lasts(void **state)
{
	const struct nvme_sqe sqe = { .opcode = NVME_READ, .nsid = le32_of(1) };
	struct bench *b = bench_enabled(&nvm);

	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	assert_true(hold(b, 1));
	property_set(b, NVME_CC, NVME_CC_ENTRIES);
	resize(b, 1);
	ctrl_log_error(&b->ctrl, 1, &sqe, nvme_status_of(NVME_SC_INTERNAL, false));
	assert_int_equal(event(b), NO_EVENT);
	assert_false(ctrl_aer_abort(&b->ctrl, 1));
	assert_false(hold(b, 2));
	ctrl_reset_done(&b->ctrl);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_true(hold(b, 3));
	assert_int_equal(event(b), NO_EVENT); /* nor afterwards */
	test_free(b);
}

static void
a_threshold_below_the_temperature_warns(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint32_t dw0;
	uint16_t cid;

	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, 1 << 1), NVME_SC_SUCCESS);
	assert_true(hold(b, 1));
	assert_int_equal(set_feature(b, NVME_FEATURE_TEMPERATURE, 300), NVME_SC_SUCCESS);
	assert_true(ctrl_event(&b->ctrl, &cid, &dw0));
	assert_int_equal(dw0, 0x020101);
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	assert_int_equal(b->out[0], 2);
	test_free(b);
}

static void
an_error_of_ours_or_of_the_medium_is_told(void **state)
{
	static const struct {
		enum nvme_sc sc;
		uint32_t enable, event;
	} rows[] = {
		{ NVME_SC_LBA_RANGE, 0xff, NO_EVENT }, { NVME_SC_INTERNAL, 0, 0x010400 },
		{ NVME_SC_READ_ERROR, 0xfb, NO_EVENT }, { NVME_SC_READ_ERROR, 4, 0x020001 },
		{ NVME_SC_WRITE_FAULT, 4, 0x020001 },
	};
	struct nvme_sqe sqe = { .opcode = NVME_READ, .nsid = le32_of(1) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bench *b = bench_enabled(&nvm);

		set_feature(b, NVME_FEATURE_EVENTS, rows[i].enable);
		for (uint32_t n = 0; n < 2; n++) {
			assert_true(hold(b, (uint16_t)(n + 1)));
			ctrl_log_error(&b->ctrl, 1, &sqe, nvme_status_of(rows[i].sc, false));
			assert_int_equal(event(b), n == 0 ? rows[i].event : NO_EVENT);
		}
		test_free(b);
	}
}

static void
events_of_one_type_and_page_are_silent_together(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct nvme_sqe sqe = { .opcode = NVME_READ, .nsid = le32_of(1) };

	set_feature(b, NVME_FEATURE_EVENTS, 6);
	assert_true(hold(b, 1));
	assert_true(hold(b, 2));
	ctrl_log_error(&b->ctrl, 1, &sqe, nvme_status_of(NVME_SC_READ_ERROR, false));
	assert_int_equal(event(b), 0x020001);
	assert_int_equal(set_feature(b, NVME_FEATURE_TEMPERATURE, 300), NVME_SC_SUCCESS);
	assert_int_equal(event(b), NO_EVENT);
	b->stats.degraded = true;
	b->stats.counts.media_errors = 1;
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS); /* tells of both */
	assert_int_equal(b->out[0], NVME_SMART_TEMPERATURE | NVME_SMART_RELIABILITY);
	assert_int_equal(get_le64(b->out + 160), 1);
	assert_int_equal(set_feature(b, NVME_FEATURE_TEMPERATURE, 301), NVME_SC_SUCCESS);
	assert_int_equal(event(b), 0x020101);
	test_free(b);
}

static void
a_discovery_controller_tells_of_no_errors(void **state)
{
	struct bench *b = bench_enabled(&discovery);
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY };

	assert_true(hold(b, 1));
	ctrl_log_error(&b->ctrl, 0, &sqe, nvme_status_of(NVME_SC_INTERNAL, false));
	assert_int_equal(event(b), NO_EVENT);
	test_free(b);
}

/* ---- snapshots ---- */

/* What page 04h names, read with RAE 0. */
static uint32_t
changed(struct bench *b, uint32_t nsids[CTRL_NS_MAX])
{
	uint32_t count = 0;

	assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
	while (count < CTRL_NS_MAX && get_le32(b->out + 4 * count) != 0) {
		nsids[count] = get_le32(b->out + 4 * count);
		count++;
	}
	return count;
}

static void ns_resize(struct ns_info *ns) { ns->blocks--; }
static void ns_protect(struct ns_info *ns) { ns->protection = NVME_PROTECT_WRITES; }
static void ns_replace(struct ns_info *ns) { ns->uuid[3] ^= 1; }
static void ns_lose(struct ns_info *ns) { ns->cache_life++; }

static void
what_changed_between_two_snapshots_is_named_and_told(void **state)
{
	static const struct {
		uint32_t nsid; /* 1 and 3 are there */
		void (*change)(struct ns_info *ns);
		bool told;
	} rows[] = {
		{ 1, ns_resize, true }, { 3, ns_protect, true }, { 3, ns_replace, true }, { 1, ns_lose, true },
		{ 1, NULL, false },
	};
	struct bench *b = bench_enabled(&nvm);
	uint32_t nsids[CTRL_NS_MAX];

	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *next = bench_copy(b);

		assert_true(hold(b, (uint16_t)i));
		if (rows[i].change != NULL)
			rows[i].change(&next->ns[rows[i].nsid / 2]);
		bench_update(b, next);
		assert_int_equal(event(b), rows[i].told ? 0x040002 : NO_EVENT);
		assert_int_equal(changed(b, nsids), rows[i].told);
		if (rows[i].told)
			assert_int_equal(nsids[0], rows[i].nsid);
	}
	test_free(b);
}

static void
namespaces_come_and_go(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);
	uint32_t nsids[CTRL_NS_MAX];

	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	assert_true(hold(b, 1));
	next->ns[0].nsid = 2;            /* 1 went, 2 came */
	next->ns[2] = next->ns[1];
	next->ns[2].nsid = CTRL_NS_MAX;  /* and the last one there can be */
	next->subsys.ns_count = 3;
	bench_update(b, next);
	assert_int_equal(event(b), 0x040002);
	assert_int_equal(changed(b, nsids), 3);
	assert_int_equal(nsids[0], 1);
	assert_int_equal(nsids[1], 2);
	assert_int_equal(nsids[2], CTRL_NS_MAX);
	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 1), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 2), NVME_SC_SUCCESS);
	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, CTRL_NS_MAX), NVME_SC_SUCCESS);
	test_free(b);
}

static void
every_namespace_there_can_be_is_found_and_named(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);
	uint32_t nsids[CTRL_NS_MAX];

	for (uint32_t i = 0; i < CTRL_NS_MAX; i++) {
		next->ns[i] = namespaces[0];
		next->ns[i].nsid = i + 1;
		next->ns[i].blocks = 5000 + i;
	}
	next->subsys.ns_count = CTRL_NS_MAX;
	bench_update(b, next);
	assert_int_equal(changed(b, nsids), CTRL_NS_MAX); /* 1 and 3 have another size, the others came */
	for (uint32_t i = 0; i < CTRL_NS_MAX; i++)
		assert_int_equal(nsids[i], i + 1);
	for (uint32_t i = 0; i < CTRL_NS_MAX; i++) {
		assert_int_equal(identify(b, NVME_CNS_NS, i + 1), NVME_SC_SUCCESS);
		assert_int_equal(get_le64(b->out), 5000 + i);
	}
	test_free(b);
}

static void
a_change_of_the_discovery_log_is_told_until_it_is_read(void **state)
{
	struct bench *b = bench_enabled(&discovery);

	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_DISCOVERY), NVME_SC_SUCCESS);
	for (uint16_t cid = 0; cid < 3; cid++)
		assert_true(hold(b, cid));
	bench_update(b, bench_copy(b));
	assert_int_equal(event(b), NO_EVENT); /* another snapshot, the same log */
	for (uint32_t i = 0; i < 2; i++) {
		struct snapshot *next = bench_copy(b);

		next->subsys.genctr++;
		bench_update(b, next);
		assert_int_equal(event(b), i == 0 ? 0x70f002 : NO_EVENT);
	}
	assert_int_equal(get_log(b, NVME_LOG_DISCOVERY, 1024), NVME_SC_SUCCESS);
	assert_int_equal(get_le64(b->out), discovery.genctr + 2);
	assert_int_equal(event(b), NO_EVENT);
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_event_requests_are_held),
		cmocka_unit_test(an_event_waits_for_a_request_and_then_for_the_page),
		cmocka_unit_test(a_page_that_is_not_given_was_not_read),
		cmocka_unit_test(an_event_that_is_off_is_not_told),
		cmocka_unit_test(a_reset_forgets_requests_and_events),
		cmocka_unit_test(nothing_is_told_while_a_reset_lasts),
		cmocka_unit_test(a_threshold_below_the_temperature_warns),
		cmocka_unit_test(an_error_of_ours_or_of_the_medium_is_told),
		cmocka_unit_test(events_of_one_type_and_page_are_silent_together),
		cmocka_unit_test(a_discovery_controller_tells_of_no_errors),
		cmocka_unit_test(what_changed_between_two_snapshots_is_named_and_told),
		cmocka_unit_test(namespaces_come_and_go),
		cmocka_unit_test(every_namespace_there_can_be_is_found_and_named),
		cmocka_unit_test(a_change_of_the_discovery_log_is_told_until_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
