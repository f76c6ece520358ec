#include "ctrl_bench.h"

enum { PEL = NVME_LOG_PERSISTENT, READ = 0, ESTABLISH = 1 << 8, RELEASE = 2 << 8, HEADER = 3 << 8 };

static struct bench *
bench_kept(struct eventlog **log)
{
	static const struct eventlog_when when = { .date_ms = 1, .uptime_ms = 2 * 3600000 };
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);

	next->subsys.event_log = true;
	bench_update(b, next);
	*log = test_malloc(sizeof(**log));
	eventlog_init(*log);
	eventlog_power_on(*log, &when, "1");
	for (uint32_t i = 0; i < 10; i++)
		eventlog_timestamp(*log, &when, i, 0);
	(*log)->generation = 0x1234;
	(*log)->copied_ms = 5;
	b->events = *log;
	return b;
}

static void
what_is_not_kept_is_not_there(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(get_log(b, PEL | ESTABLISH, 512), NVME_SC_LOG_PAGE);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(id->lpa & 0x10, 0);
	assert_int_equal(le32_get(id->pels), 0);
	test_free(b);
}

static void
the_header_tells_what_follows(void **state)
{
	struct eventlog *log;
	struct bench *b = bench_kept(&log);
	const struct nvme_persistent_log *head = (const void *)b->out;
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(id->lpa & 0x10, 0x10);
	assert_int_equal(le32_get(id->pels), 1);
	assert_int_equal(get_log(b, PEL | ESTABLISH, 4096), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_EVENTS_TAKEN);
	assert_int_equal(head->lid, 0x0d);
	assert_int_equal(le32_get(head->events), 11);
	assert_int_equal(le64_get(head->length), 512 + 24 + 44 + 10 * 40);
	assert_int_equal(le16_get(head->header_length), 492);
	assert_int_equal(le64_get(head->timestamp), 5);
	assert_int_equal(le64_get(head->power_on_hours.low), 2);
	assert_int_equal(le64_get(head->power_cycles), 1);
	assert_int_equal(le16_get(head->generation), 0x1234);
	assert_int_equal(le32_get(head->context), 1 << 18 | 1 << 16 | 2); /* portal 1 is port 2 */
	assert_memory_equal(head->sn, "S1 ", 3);
	assert_string_equal(head->subnqn, nvm.nqn);
	assert_int_equal(head->supported[0], 0x7a);
	assert_int_equal(head->supported[1], 0x08);
	assert_int_equal(head->supported[0xde / 8], 1 << 0xde % 8);
	assert_memory_equal(b->out + 512, log->bytes, log->used);
	assert_true(all_zero(b->out + 512 + log->used, 4096 - 512 - log->used));
	test_free(log);
	test_free(b);
}

static void
a_context_lives_from_establishing_to_release(void **state)
{
	static const struct {
		uint32_t lsp;
		enum nvme_sc sc;
		enum ctrl_action action;
		uint32_t needs; /* before it */
	} steps[] = {
		{ READ, NVME_SC_SEQUENCE, CTRL_NOTHING, 0 }, { RELEASE, NVME_SC_SUCCESS, CTRL_NOTHING, 0 },
		{ ESTABLISH, NVME_SC_SUCCESS, CTRL_EVENTS_TAKEN, CTRL_NEEDS_EVENTS },
		{ ESTABLISH, NVME_SC_SEQUENCE, CTRL_NOTHING, 0 }, { READ, NVME_SC_SUCCESS, CTRL_NOTHING, 0 },
		{ HEADER, NVME_SC_SEQUENCE, CTRL_NOTHING, 0 }, { 4 << 8, NVME_SC_INVALID_FIELD, CTRL_NOTHING, 0 },
		{ RELEASE, NVME_SC_SUCCESS, CTRL_EVENTS_RELEASED, 0 }, { READ, NVME_SC_SEQUENCE, CTRL_NOTHING, 0 },
		{ HEADER, NVME_SC_SUCCESS, CTRL_EVENTS_TAKEN, CTRL_NEEDS_EVENTS },
	};
	struct eventlog *log;
	struct bench *b = bench_kept(&log);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .cdw10 = le32_of(PEL | steps[i].lsp) };

		assert_int_equal(ctrl_needs(&b->ctrl, &sqe), steps[i].needs);
		assert_int_equal(get_log(b, PEL | steps[i].lsp, 512), steps[i].sc);
		assert_int_equal(b->reply.action, steps[i].action);
		if (steps[i].lsp == RELEASE)
			assert_true(all_zero(b->out, 512));
	}
	property_set(b, NVME_CC, NVME_CC_ENTRIES);
	ctrl_reset_done(&b->ctrl);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(get_log(b, PEL | READ, 512), NVME_SC_SEQUENCE);
	test_free(log);
	test_free(b);
}

/* Which page 00h announces. */
static void
of_a_context_the_header_alone_may_be_read_first(void **state)
{
	struct eventlog *log;
	struct bench *b = bench_kept(&log);
	uint8_t head[512];

	assert_int_equal(get_log(b, NVME_LOG_PAGES, 1024), NVME_SC_SUCCESS);
	for (uint32_t lid = 0; lid < 256; lid++)
		assert_int_equal(get_le32(b->out + lid * 4) >> 16, lid == PEL);
	assert_int_equal(get_log_at(b, PEL | HEADER, 512, 516), NVME_SC_INVALID_FIELD); /* behind what is to be had */
	assert_int_equal(get_log(b, PEL | HEADER, 4096), NVME_SC_SUCCESS);
	assert_int_equal(b->out[0], PEL);
	assert_true(all_zero(b->out + 512, 4096 - 512));
	memcpy(head, b->out, sizeof(head));
	assert_int_equal(get_log(b, PEL | READ, 4096), NVME_SC_SUCCESS);
	assert_memory_equal(b->out, head, sizeof(head));
	assert_memory_equal(b->out + 512, log->bytes, log->used);
	test_free(log);
	test_free(b);
}

static void
a_context_is_read_in_parts_and_stands_still(void **state)
{
	struct eventlog *log;
	struct bench *b = bench_kept(&log);
	uint8_t whole[4096];

	assert_int_equal(get_log(b, PEL | ESTABLISH, 4096), NVME_SC_SUCCESS);
	memcpy(whole, b->out, sizeof(whole));
	b->events = NULL;
	b->now_ns = 99000000;
	for (uint32_t at = 0; at <= 512 + log->used; at += 4) {
		assert_int_equal(get_log_at(b, PEL | READ, 256, at), NVME_SC_SUCCESS);
		assert_memory_equal(b->out, whole + at, 256);
	}
	assert_int_equal(get_log_at(b, PEL | READ, 256, 512 + log->used + 4), NVME_SC_INVALID_FIELD);
	test_free(log);
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_kept_is_not_there),
		cmocka_unit_test(the_header_tells_what_follows),
		cmocka_unit_test(a_context_lives_from_establishing_to_release),
		cmocka_unit_test(of_a_context_the_header_alone_may_be_read_first),
		cmocka_unit_test(a_context_is_read_in_parts_and_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
