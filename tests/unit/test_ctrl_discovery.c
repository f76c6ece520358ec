#include "ctrl_bench.h"

static void
the_discovery_log_lists_itself_and_what_is_shown(void **state)
{
	struct bench *b = bench_enabled(&discovery);
	const struct nvme_log_discovery *log = (const void *)b->out;
	const struct nvme_log_discovery_entry *entry = log->entries;

	assert_int_equal(get_log(b, NVME_LOG_DISCOVERY, 1024), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(log->genctr), 7);
	assert_int_equal(le64_get(log->numrec), 4);
	assert_int_equal(get_log(b, NVME_LOG_DISCOVERY, 5 * 1024), NVME_SC_SUCCESS);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(entry[i].trtype, 3);
		assert_int_equal(entry[i].adrfam, 1 + i % 2);
		assert_int_equal(entry[i].subtype, i < 2 ? 3 : 2);
		assert_int_equal(le16_get(entry[i].cntlid), 0xffff);
		assert_true(le16_get(entry[i].asqsz) >= 32);
		assert_memory_equal(entry[i].trsvcid, "4420    ", 8);
		assert_memory_equal(entry[i].traddr, portals[i % 2].traddr, strlen(portals[i % 2].traddr));
		assert_string_equal(entry[i].subnqn, i < 2 ? NVME_DISCOVERY_NQN : nvm.nqn);
		assert_int_equal(entry[i].tsas[0], 0);
	}
	assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, 1024, 3 * 1024), NVME_SC_SUCCESS);
	assert_string_equal(b->out + 256, nvm.nqn);
	assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, 1024, 5 * 1024 + 4), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_LOG_PAGE);
	assert_int_equal(get_log(b, NVME_LOG_ERROR, 64), NVME_SC_LOG_PAGE);
	test_free(b);
}

/* Four portals: for both, for I/O alone, for discovery alone, for both. */
static void
portals_are_shown_for_what_they_serve(void **state)
{
	static const struct portal_info four[] = {
		{ .traddr = "192.0.2.1", .trsvcid = "4420" },
		{ .traddr = "192.0.2.2", .trsvcid = "4420", .use = PORTAL_IO },
		{ .traddr = "192.0.2.3", .trsvcid = "8009", .use = PORTAL_DISCOVERY },
		{ .traddr = "192.0.2.4", .trsvcid = "4421" },
	};
	static const struct portal_info referrals[] = { { .traddr = "2001:db8::9", .trsvcid = "8009", .ipv6 = true } };
	struct subsys_info fixed = nvm;
	const struct subsys_shown shown[] = { { &nvm, 0x0e }, { &fixed, 0xfffffff1 }, { &nvm, 0 } };
	static const struct { uint8_t subtype, portid; const char *port; uint16_t cntlid; } lines[] = {
		{ 3, 1, "4420 ", 0xffff }, { 3, 3, "8009 ", 0xffff }, { 3, 4, "4421 ", 0xffff },
		{ 2, 2, "4420 ", 0xffff }, { 2, 4, "4421 ", 0xffff }, { 2, 1, "4420 ", 0xfffe },
		{ 1, 5, "8009 ", 0xffff },
	};
	struct bench *b = bench_enabled(&discovery);
	struct snapshot *next = bench_copy(b);
	const struct nvme_log_discovery *log = (const void *)b->out;

	fixed.static_ids = 1;
	next->subsys.portals = four;
	next->subsys.portal_count = 4;
	next->subsys.shown = shown;
	next->subsys.shown_count = 3;
	next->subsys.referrals = referrals;
	next->subsys.referral_count = 1;
	bench_update(b, next);
	assert_int_equal(get_log(b, NVME_LOG_DISCOVERY, 8 * 1024), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(log->numrec), 7);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(log->entries[i].subtype, lines[i].subtype);
		assert_int_equal(le16_get(log->entries[i].portid), lines[i].portid);
		assert_memory_equal(log->entries[i].trsvcid, lines[i].port, 5);
		assert_int_equal(le16_get(log->entries[i].cntlid), lines[i].cntlid);
		assert_string_equal(log->entries[i].subnqn, lines[i].subtype == 2 ? nvm.nqn : NVME_DISCOVERY_NQN);
		assert_int_equal(le16_get(log->entries[i].eflags), lines[i].subtype == 3 ? NVME_EFLAGS_EPCSD : 0);
	}
	assert_int_equal(log->entries[6].adrfam, NVME_ADRFAM_IPV6);
	assert_memory_equal(log->entries[6].traddr, "2001:db8::9 ", 12);
	assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, 4, 8 * 1024), NVME_SC_SUCCESS);
	assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, 4, 8 * 1024 + 4), NVME_SC_INVALID_FIELD);
	test_free(b);
}

/* The largest log, read by pieces and in one command, whose answer is had in parts. */
static void
the_largest_log_is_read_whole(void **state)
{
	enum { LINES = CTRL_PORTALS_MAX * (CTRL_SHOWN_MAX + 1) + CTRL_REFERRALS_MAX, CHUNK = 4096 };
	struct bench *b = bench_enabled(&discovery);
	struct snapshot *next = bench_copy(b);
	struct subsys_info *many = test_calloc(CTRL_SHOWN_MAX, sizeof(*many));
	struct subsys_shown shown[CTRL_SHOWN_MAX];
	struct portal_info ports[CTRL_PORTALS_MAX] = { 0 };
	uint8_t *whole = test_malloc(LINES * 1024 + 1024);
	const struct nvme_log_discovery *log = (const void *)whole;
	const struct nvme_log_discovery_entry *entry = log->entries;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .flags = NVME_PSDT_SGL,
		.sgl1 = { .length = le32_of(1 << 20), .id = NVME_SGL_TRANSPORT },
		.cdw10 = le32_of(NVME_LOG_DISCOVERY | 0xffffu << 16), .cdw11 = le32_of(3), .cdw12 = le32_of(2048) };

	for (uint32_t i = 0; i < CTRL_SHOWN_MAX; i++) {
		snprintf(many[i].nqn, sizeof(many[i].nqn), "nqn.2026-11.local.weir:%u", i);
		shown[i] = (struct subsys_shown){ &many[i], UINT32_MAX };
	}
	for (uint32_t i = 0; i < CTRL_PORTALS_MAX; i++)
		snprintf(ports[i].traddr, sizeof(ports[i].traddr), "192.0.2.%u", i);
	next->subsys.portals = next->subsys.referrals = ports;
	next->subsys.portal_count = next->subsys.referral_count = CTRL_PORTALS_MAX;
	next->subsys.shown = shown;
	next->subsys.shown_count = CTRL_SHOWN_MAX;
	bench_update(b, next);
	for (uint32_t at = 0; at < LINES * 1024 + 1024; at += CHUNK) {
		uint32_t left = LINES * 1024 + 1024 - at;

		assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, CHUNK, at), NVME_SC_SUCCESS);
		memcpy(whole + at, b->out, left < CHUNK ? left : CHUNK);
	}
	assert_int_equal(get_le64(whole + 8), LINES);
	for (uint32_t at = 4; at < 8 * 1024; at += 764) { /* lines cut at both ends */
		assert_int_equal(get_log_at(b, NVME_LOG_DISCOVERY, 1500, at), NVME_SC_SUCCESS);
		assert_memory_equal(b->out, whole + at, 1500);
	}
	for (uint32_t i = 0; i < LINES - CTRL_REFERRALS_MAX; i++) {
		assert_string_equal(entry[i].subnqn, i < 16 ? NVME_DISCOVERY_NQN : many[i / 16 - 1].nqn);
		assert_int_equal(le16_get(entry[i].portid), i % 16 + 1);
	}
	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, NULL, 0, &b->reply);
	assert_int_equal(b->reply.data_len, 1 << 20);
	for (uint32_t at = 0; at < 1 << 20; at += CTRL_PAGE_MAX) {
		if (at > 0)
			ctrl_answer_more(&b->ctrl, &sqe, at, b->out);
		assert_memory_equal(b->out, whole + 2048 + at, CTRL_PAGE_MAX);
	}
	test_free(whole);
	test_free(many);
	test_free(b);
}

static void
an_answer_that_is_longer_than_its_page_goes_on_with_zeros(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .cdw10 = le32_of(NVME_LOG_SMART | 0xffffu << 16) };

	memset(b->out, 0xa5, sizeof(b->out));
	ctrl_answer_more(&b->ctrl, &sqe, CTRL_PAGE_MAX, b->out);
	assert_true(all_zero(b->out, sizeof(b->out)));
	test_free(b);
}

static void
silence_is_bounded_by_keep_alive_or_where_nothing_else_does(void **state)
{
	struct bench *b = bench_disabled(&nvm), *d = bench_disabled(&discovery);

	assert_int_equal(ctrl_silence_ms(&b->ctrl), CTRL_IDLE_MS);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(ctrl_silence_ms(&b->ctrl), 5000);
	set_feature(b, NVME_FEATURE_KATO, 0);
	assert_int_equal(ctrl_silence_ms(&b->ctrl), 0);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN | 1 << 14);
	assert_int_equal(ctrl_silence_ms(&b->ctrl), CTRL_IDLE_MS);
	property_set(d, NVME_CC, NVME_CC_EN);
	assert_int_equal(ctrl_silence_ms(&d->ctrl), 5000); /* persistent */
	set_feature(d, NVME_FEATURE_KATO, 0);
	assert_int_equal(ctrl_silence_ms(&d->ctrl), CTRL_IDLE_MS);
	test_free(b);
	test_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_discovery_log_lists_itself_and_what_is_shown),
		cmocka_unit_test(portals_are_shown_for_what_they_serve),
		cmocka_unit_test(the_largest_log_is_read_whole),
		cmocka_unit_test(an_answer_that_is_longer_than_its_page_goes_on_with_zeros),
		cmocka_unit_test(silence_is_bounded_by_keep_alive_or_where_nothing_else_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
