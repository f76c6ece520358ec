#include "ctrl_bench.h"

static const uint64_t MS = 1000000;

static void
queues_are_granted_once_and_within_the_limit(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	assert_int_equal(get_feature(b, NVME_FEATURE_QUEUES, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 7 | 7 << 16);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 100 | 100 << 16), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 7 | 7 << 16);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 1 | 5 << 16), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 1 | 1 << 16);
	assert_int_equal(get_feature(b, NVME_FEATURE_QUEUES, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 1 | 1 << 16);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 0xffff), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 0xffff0000), NVME_SC_INVALID_FIELD);
	b->ctrl.io_queues_made = true;
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 1 | 1 << 16), NVME_SC_SEQUENCE);
	property_set(b, NVME_CC, NVME_CC_ENTRIES);
	ctrl_reset_done(&b->ctrl);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 2 | 2 << 16), NVME_SC_SUCCESS);
	test_free(b);
}

static void
the_keep_alive_time_is_rounded_up(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	assert_int_equal(ctrl_silence_ms(&b->ctrl), 5000);
	assert_int_equal(set_feature(b, NVME_FEATURE_KATO, 1501), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_KATO);
	assert_int_equal(b->ctrl.kato_ms, 1600);
	assert_int_equal(get_feature(b, NVME_FEATURE_KATO, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 1600);
	assert_int_equal(get_feature(b, NVME_FEATURE_KATO | NVME_SELECT_DEFAULT << 8, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 120000);
	assert_int_equal(set_feature(b, NVME_FEATURE_KATO, UINT32_MAX), NVME_SC_SUCCESS);
	assert_int_equal(b->ctrl.kato_ms % CTRL_KAS_MS, 0);
	assert_int_equal(set_feature(b, NVME_FEATURE_KATO, 0), NVME_SC_SUCCESS);
	assert_int_equal(ctrl_silence_ms(&b->ctrl), 0);
	test_free(b);
}

static void
words_are_kept_and_forgotten_by_a_reset(void **state)
{
	static const struct { uint32_t fid, value, initial; } words[] = {
		{ NVME_FEATURE_ARBITRATION, 0x01020305, 0 }, { NVME_FEATURE_POWER, 0x20, 0 },
		{ NVME_FEATURE_TEMPERATURE, 350, 343 }, { NVME_FEATURE_TEMPERATURE, 1 << 20 | 200, 0 },
		{ NVME_FEATURE_WRITE_CACHE, 0, 1 }, { NVME_FEATURE_ATOMICITY, 1, 0 },
		{ NVME_FEATURE_EVENTS, 0x102, 0 }, { NVME_FEATURE_KATO, 700, 5000 },
	};
	struct bench *b = bench_enabled(&nvm);

	for (int reset = 0; reset < 2; reset++) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			uint32_t fid = words[i].fid;

			if (reset == 0)
				assert_int_equal(set_feature(b, fid, words[i].value), NVME_SC_SUCCESS);
			assert_int_equal(get_feature(b, fid, words[i].value, 0), NVME_SC_SUCCESS);
			assert_int_equal(b->reply.dw0,
			    reset ? words[i].initial : words[i].value & (fid == 4 ? 0xffff : UINT32_MAX));
			assert_int_equal(get_feature(b, fid | NVME_SELECT_SAVED << 8, words[i].value, 0),
			    NVME_SC_SUCCESS);
			assert_int_equal(b->reply.dw0, fid == NVME_FEATURE_KATO ? 120000 : words[i].initial);
		}
		property_set(b, NVME_CC, NVME_CC_ENTRIES);
		ctrl_reset_done(&b->ctrl);
		property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	}
	test_free(b);
}

static void
turning_the_write_cache_off_makes_writes_durable(void **state)
{
	static const struct ns_info durable[] = { { .nsid = 1, .block_size = 512, .blocks = 8 } };
	struct subsys_info without = nvm;
	struct bench *b = bench_enabled(&nvm);

	assert_false(ctrl_durable_writes(&b->ctrl));
	assert_int_equal(set_feature(b, NVME_FEATURE_WRITE_CACHE, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_WRITE_CACHE);
	assert_true(ctrl_durable_writes(&b->ctrl));
	assert_int_equal(set_feature(b, NVME_FEATURE_WRITE_CACHE, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_WRITE_CACHE); /* what another one wrote before may not be durable yet */
	assert_int_equal(set_feature(b, NVME_FEATURE_WRITE_CACHE, 2), NVME_SC_INVALID_FIELD);
	assert_int_equal(b->reply.action, CTRL_NOTHING);
	test_free(b);

	without.ns = durable;
	without.ns_count = 1;
	b = bench_enabled(&without);
	assert_int_equal(get_feature(b, NVME_FEATURE_WRITE_CACHE, 0, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(((struct nvme_identify_ctrl *)(void *)b->out)->vwc, 6);
	test_free(b);
}

static enum nvme_sc
set_with_data(struct bench *b, uint32_t fid, const void *in, uint32_t bytes)
{
	struct nvme_sqe sqe = {
		.opcode = NVME_ADMIN_SET_FEATURES, .flags = NVME_PSDT_SGL, .cdw10 = le32_of(fid),
		.sgl1 = { .length = le32_of(bytes), .id = NVME_SGL_OFFSET },
	};

	ctrl_admin(&b->ctrl, &sqe, in, bytes, b->out, NULL, b->now_ns, &b->reply);
	return nvme_sc(b->reply.status);
}

static void
the_timestamp_goes_on_from_what_the_host_said(void **state)
{
	const uint8_t in[8] = { 0x10, 0x27 };
	struct bench *b = bench_enabled(&nvm);

	b->now_ns = 42 * MS;
	assert_int_equal(get_feature(b, NVME_FEATURE_TIMESTAMP, 0, 8), NVME_SC_SUCCESS);
	assert_int_equal(get_le64(b->out), 42);
	assert_int_equal(set_with_data(b, NVME_FEATURE_TIMESTAMP, in, 8), NVME_SC_SUCCESS);
	b->now_ns += 5 * MS;
	assert_int_equal(get_feature(b, NVME_FEATURE_TIMESTAMP, 0, 8), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.data_len, 8);
	assert_int_equal(get_le64(b->out) & NVME_TIMESTAMP_MASK, 10005);
	assert_int_equal(b->out[6], 2);
	assert_int_equal(set_with_data(b, NVME_FEATURE_TIMESTAMP, in, 7), NVME_SC_SGL_LENGTH);
	assert_int_equal(get_feature(b, NVME_FEATURE_TIMESTAMP, 0, 4), NVME_SC_SGL_LENGTH);
	test_free(b);
}

static void
host_behavior_and_host_id_are_data(void **state)
{
	uint8_t in[512] = { 1, 0, 1 };
	struct bench *b = bench_enabled(&nvm);

	assert_int_equal(set_with_data(b, NVME_FEATURE_BEHAVIOR, in, 512), NVME_SC_SUCCESS);
	assert_int_equal(get_feature(b, NVME_FEATURE_BEHAVIOR, 0, 512), NVME_SC_SUCCESS);
	assert_memory_equal(b->out, in, 512);
	in[1] = 2;
	assert_int_equal(set_with_data(b, NVME_FEATURE_BEHAVIOR, in, 512), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_HOST_ID, 1), NVME_SC_SEQUENCE);
	assert_int_equal(get_feature(b, NVME_FEATURE_HOST_ID | NVME_SELECT_CAPABILITIES << 8, 1, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	assert_int_equal(get_feature(b, NVME_FEATURE_HOST_ID, 1, 16), NVME_SC_SUCCESS);
	assert_memory_equal(b->out, b->ctrl.hostid, 16);
	assert_int_equal(get_feature(b, NVME_FEATURE_HOST_ID, 0, 16), NVME_SC_INVALID_FIELD);
	test_free(b);
}

static void
how_many_bytes_a_command_brings_is_known(void **state)
{
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_SET_FEATURES, .sgl1 = { .length = le32_of(512) } };

	sqe.cdw10 = le32_of(NVME_FEATURE_TIMESTAMP);
	assert_int_equal(ctrl_admin_data_in(&sqe), 8);
	sqe.cdw10 = le32_of(NVME_FEATURE_BEHAVIOR);
	assert_int_equal(ctrl_admin_data_in(&sqe), 512);
	sqe.sgl1.length = le32_of(511);
	assert_int_equal(ctrl_admin_data_in(&sqe), 0);
	sqe.cdw10 = le32_of(NVME_FEATURE_KATO);
	assert_int_equal(ctrl_admin_data_in(&sqe), 0);
	sqe.opcode = NVME_ADMIN_GET_FEATURES;
	sqe.cdw10 = le32_of(NVME_FEATURE_TIMESTAMP);
	assert_int_equal(ctrl_admin_data_in(&sqe), 0);
}

static void
features_that_are_not_are_refused_for_their_reason(void **state)
{
	struct bench *b = bench_enabled(&nvm), *d = bench_enabled(&discovery);

	assert_int_equal(set_feature(b, 0x0c, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_feature(b, 0x0c, 0, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_KATO | NVME_FEATURE_SAVE, 1), NVME_SC_NOT_SAVEABLE);
	assert_int_equal(set_feature(b, NVME_FEATURE_RECOVERY, 1), NVME_SC_NOT_CHANGEABLE);
	assert_int_equal(admin(b, NVME_ADMIN_SET_FEATURES, 1, NVME_FEATURE_KATO, 1000, 0), NVME_SC_NOT_NS_SPECIFIC);
	assert_int_equal(set_feature(b, NVME_FEATURE_EVENTS, 1u << 31), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_POWER, 1), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_TEMPERATURE, 3 << 20), NVME_SC_INVALID_FIELD);
	assert_int_equal(set_feature(b, NVME_FEATURE_TEMPERATURE, 1 << 16), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_feature(b, NVME_FEATURE_KATO | 4 << 8, 0, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_feature(b, NVME_FEATURE_KATO | NVME_SELECT_CAPABILITIES << 8, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 4);
	assert_int_equal(admin(b, NVME_ADMIN_GET_FEATURES, 2, NVME_FEATURE_RECOVERY, 0, 0), NVME_SC_INVALID_NS);
	assert_int_equal(set_feature(d, NVME_FEATURE_EVENTS, 1u << 31), NVME_SC_SUCCESS);
	assert_int_equal(set_feature(d, NVME_FEATURE_KATO, 0), NVME_SC_SUCCESS);
	assert_int_equal(set_feature(d, NVME_FEATURE_QUEUES, 0), NVME_SC_INVALID_FIELD);
	test_free(b);
	test_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_granted_once_and_within_the_limit),
		cmocka_unit_test(the_keep_alive_time_is_rounded_up),
		cmocka_unit_test(words_are_kept_and_forgotten_by_a_reset),
		cmocka_unit_test(turning_the_write_cache_off_makes_writes_durable),
		cmocka_unit_test(the_timestamp_goes_on_from_what_the_host_said),
		cmocka_unit_test(host_behavior_and_host_id_are_data),
		cmocka_unit_test(how_many_bytes_a_command_brings_is_known),
		cmocka_unit_test(features_that_are_not_are_refused_for_their_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
