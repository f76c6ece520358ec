/*
 * test_ctrl_extension.c - what of Weir's extension a controller says, grants and refuses.
 */
#include "ctrl_bench.h"

#include "wire/extension.h"

static void
it_is_announced_to_hosts_of_volumes_alone(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct nvme_identify_ctrl id;
	struct weir_identify weir;

	(void)state;
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	memcpy(&id, b->out, sizeof(id));
	memcpy(&weir, id.vendor, sizeof(weir));
	assert_memory_equal(weir.magic, "WEIR", 4);
	assert_int_equal(le16_get(weir.version), 1);
	assert_int_equal(le16_get(weir.length), sizeof(weir));
	assert_int_equal(le32_get(weir.capabilities), WEIR_FENCE);
	assert_true(all_zero((const uint8_t *)&weir + 12, sizeof(weir) - 12));
	assert_true(all_zero(id.vendor + sizeof(weir), sizeof(id.vendor) - sizeof(weir)));
	test_free(b);
	b = bench_enabled(&discovery);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	memcpy(&id, b->out, sizeof(id));
	assert_true(all_zero(id.vendor, sizeof(id.vendor)));
	assert_int_equal(set_feature(b, WEIR_FEATURE, WEIR_FENCE), NVME_SC_INVALID_FIELD);
	assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, WEIR_FENCE_OLDER, 0, 0), NVME_SC_INVALID_OPCODE);
	test_free(b);
}

static void
what_is_granted_is_there_until_a_reset(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	(void)state;
	for (int life = 0; life < 2; life++) {
		assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, WEIR_FENCE_OLDER, 0, 0), NVME_SC_INVALID_OPCODE);
		assert_true(b->reply.status.dnr);
		assert_int_equal(get_feature(b, WEIR_FEATURE, 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, 0);
		assert_int_equal(set_feature(b, WEIR_FEATURE, UINT32_MAX), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, WEIR_FENCE);
		assert_int_equal(get_feature(b, WEIR_FEATURE, 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, WEIR_FENCE);
		assert_int_equal(get_feature(b, WEIR_FEATURE | NVME_SELECT_DEFAULT << 8, 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, 0);
		assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, WEIR_FENCE_OLDER, 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.action, CTRL_FENCE);
		property_set(b, NVME_CC, NVME_CC_ENTRIES);
		ctrl_reset_done(&b->ctrl);
		property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	}
	assert_int_equal(set_feature(b, WEIR_FEATURE, WEIR_FENCE), NVME_SC_SUCCESS);
	assert_int_equal(set_feature(b, WEIR_FEATURE, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, WEIR_FENCE_OLDER, 0, 0), NVME_SC_INVALID_OPCODE);
	test_free(b);
}

static void
a_fence_names_another_controller_or_the_older_ones(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const uint32_t wrong[] = { 0, b->ctrl.cntlid, NVME_CNTLID_MAX + 1, 0xfffe, 0x10001, UINT32_MAX };
	const uint32_t right[] = { b->ctrl.cntlid + 1u, NVME_CNTLID_MAX, WEIR_FENCE_OLDER };

	(void)state;
	assert_int_equal(set_feature(b, WEIR_FEATURE, WEIR_FENCE), NVME_SC_SUCCESS);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, wrong[i], 0, 0), NVME_SC_INVALID_FIELD);
		assert_int_equal(b->reply.action, CTRL_NOTHING);
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(admin(b, WEIR_ADMIN_FENCE, 0, right[i], 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.action, CTRL_FENCE);
		assert_int_equal(b->reply.value, right[i]);
	}
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_announced_to_hosts_of_volumes_alone),
		cmocka_unit_test(what_is_granted_is_there_until_a_reset),
		cmocka_unit_test(a_fence_names_another_controller_or_the_older_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
