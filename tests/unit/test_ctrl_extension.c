/*
 * test_ctrl_extension.c - what of Weir's extension a controller says, grants and refuses.
 */
#include "ctrl_bench.h"

#include "wire/extension.h"

enum { OFFERED = WEIR_CREDITS | WEIR_FENCE | WEIR_VIEW };

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
	assert_int_equal(le32_get(weir.capabilities), OFFERED);
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
a_namespace_tells_the_life_of_its_cache(void **state)
{
	static const uint8_t told[16] = {
		'W', 'E', 'I', 'R', 1, 0, 16, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	};
	struct bench *b = bench_enabled(&nvm);

	(void)state;
	assert_int_equal(identify(b, NVME_CNS_NS, 1), NVME_SC_SUCCESS);
	assert_memory_equal(b->out + 392, told, sizeof(told));
	assert_true(all_zero(b->out + 408, NVME_IDENTIFY_LEN - 408));
	assert_true(weir_cache_life(b->out + 392) == 0x1122334455667788);
	assert_int_equal(identify(b, NVME_CNS_NS, 3), NVME_SC_SUCCESS);
	assert_memory_equal(b->out + 392, told, 8);
	assert_int_equal(weir_cache_life(b->out + 392), 0);
	assert_int_equal(identify(b, NVME_CNS_NS, 2), NVME_SC_SUCCESS); /* not active */
	assert_true(all_zero(b->out, NVME_IDENTIFY_LEN));
	test_free(b);
}

/* Of others than ours, that have something else there. */
static void
a_life_is_told_only_where_all_of_it_is(void **state)
{
	struct weir_identify_ns weir = {
		.magic = WEIR_MAGIC, .version = le16_of(2), .length = le16_of(200), .cache_life = le64_of(5),
	};

	(void)state;
	assert_int_equal(weir_cache_life((const uint8_t *)&weir), 5);
	weir.length = le16_of(sizeof(weir) - 1);
	assert_int_equal(weir_cache_life((const uint8_t *)&weir), 0);
	weir.length = le16_of(sizeof(weir));
	weir.magic[3] = 'D';
	assert_int_equal(weir_cache_life((const uint8_t *)&weir), 0);
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
		assert_int_equal(b->reply.dw0, OFFERED);
		assert_int_equal(get_feature(b, WEIR_FEATURE, 0, 0), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, OFFERED);
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

/* Get Log Page of the view, of so many bytes from the first on. */
static enum nvme_sc
get_view(struct bench *b, uint32_t nsid, uint32_t bytes)
{
	return admin(b, NVME_ADMIN_GET_LOG_PAGE, nsid, WEIR_LOG_VIEW | (bytes / 4 - 1) << 16, 0, bytes);
}

static void
a_view_is_of_a_namespace_for_whom_it_is_granted(void **state)
{
	static const uint8_t guid[16] = WEIR_VIEW_GUID;
	struct weir_log_view said = { .state = 2, .rate = le64_of(77) }, page;
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .cdw10 = le32_of(WEIR_LOG_VIEW) };

	(void)state;
	assert_int_equal(get_view(b, 1, sizeof(page)), NVME_SC_LOG_PAGE);
	assert_true(b->reply.status.dnr);
	assert_int_equal(ctrl_needs(&b->ctrl, &sqe), 0);
	assert_int_equal(get_log(b, NVME_LOG_PAGES, NVME_LOG_TABLE_LEN), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out + 4 * WEIR_LOG_VIEW, 4));
	assert_int_equal(set_feature(b, WEIR_FEATURE, WEIR_VIEW), NVME_SC_SUCCESS);
	assert_int_equal(ctrl_needs(&b->ctrl, &sqe), CTRL_NEEDS_VIEW);
	assert_int_equal(get_log(b, NVME_LOG_PAGES, NVME_LOG_TABLE_LEN), NVME_SC_SUCCESS);
	assert_int_equal(b->out[4 * WEIR_LOG_VIEW], 1);
	b->view = &said;
	assert_int_equal(get_view(b, 3, sizeof(page)), NVME_SC_SUCCESS);
	memcpy(&page, b->out, sizeof(page));
	assert_memory_equal(page.guid, guid, sizeof(guid));
	assert_int_equal(b->out[0], 0x25);
	assert_int_equal(le16_get(page.version), 1);
	assert_int_equal(le16_get(page.length), 512);
	assert_int_equal(le32_get(page.nsid), 3);
	assert_int_equal(page.state, 2);
	assert_int_equal(b->out[32], 77);
	assert_int_equal(get_view(b, 1, 36), NVME_SC_SUCCESS);
	assert_memory_equal(b->out + 28, (uint8_t *)&page + 28, 8);
	/* of one that is not shared nothing is said */
	b->view = NULL;
	assert_int_equal(get_view(b, 1, sizeof(page)), NVME_SC_SUCCESS);
	assert_memory_equal(b->out, guid, sizeof(guid));
	assert_true(all_zero(b->out + 24, sizeof(page) - 24));
	test_free(b);
}

static void
a_view_of_no_namespace_is_refused(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	(void)state;
	assert_int_equal(set_feature(b, WEIR_FEATURE, WEIR_VIEW), NVME_SC_SUCCESS);
	assert_int_equal(get_view(b, 0, 512), NVME_SC_INVALID_NS);
	assert_int_equal(get_view(b, 2, 512), NVME_SC_INVALID_NS);
	assert_int_equal(get_view(b, 4096, 512), NVME_SC_INVALID_NS);
	assert_int_equal(get_view(b, UINT32_MAX, 512), NVME_SC_INVALID_FIELD);
	assert_true(b->reply.status.dnr);
	test_free(b);
	b = bench_enabled(&discovery);
	assert_int_equal(get_view(b, 1, 512), NVME_SC_LOG_PAGE);
	test_free(b);
}

/* LIST with an answer of so many bytes, of which CDW12 says `said`. */
static enum nvme_sc
list(struct bench *b, uint32_t cdw10, uint32_t said, uint32_t bytes)
{
	const struct nvme_sqe sqe = {
		.opcode = WEIR_ADMIN_LIST, .flags = NVME_PSDT_SGL,
		.cdw10 = le32_of(cdw10), .cdw12 = le32_of(said / 4 - 1),
		.sgl1 = { .id = NVME_SGL_TRANSPORT, .length = le32_of(bytes) },
	};
	struct ctrl_given given = { 0 };

	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, &given, b->now_ns, &b->reply);
	return nvme_sc(b->reply.status);
}

static void
commands_of_ordered_writes_are_there_where_there_is_a_log(void **state)
{
	struct subsys_info ordered = nvm;
	struct bench *b;

	(void)state;
	ordered.order_slots = 65536;
	b = bench_enabled(&ordered);
	assert_int_equal(set_feature(b, WEIR_FEATURE, UINT32_MAX), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, OFFERED | WEIR_ORDER);
	assert_int_equal(admin(b, WEIR_ADMIN_CUT, 0, 5 | 1 << 16, 7, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_ORDERED);
	assert_int_equal(admin(b, WEIR_ADMIN_FLOOR, 0, 5, 7, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_ORDERED);
	assert_int_equal(admin(b, WEIR_ADMIN_FLOOR, 0, 5 | 1 << 16, 7, 0), NVME_SC_INVALID_FIELD);
	/* Of nobody; and with what it means nothing with. */
	assert_int_equal(list(b, 5 | WEIR_LIST_STOP | WEIR_LIST_TAKE, 256, 256), NVME_SC_INVALID_FIELD);
	assert_int_equal(list(b, 5 | WEIR_LIST_TAKE, 256, 256), NVME_SC_INVALID_FIELD);
	assert_int_equal(list(b, WEIR_LIST_STOP | WEIR_LIST_STREAMS, 256, 256), NVME_SC_INVALID_FIELD);
	assert_int_equal(list(b, 5 | WEIR_LIST_STOP, 256, 256), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_ORDERED);
	assert_int_equal(b->reply.data_len, 256);
	assert_int_equal(list(b, 5, 256, 512), NVME_SC_SGL_LENGTH);
	assert_int_equal(list(b, 5 | 1 << 19, 256, 256), NVME_SC_INVALID_FIELD);
	assert_int_equal(list(b, 5, 0, 256), NVME_SC_INVALID_FIELD);
	test_free(b);
	b = bench_enabled(&nvm);
	assert_int_equal(set_feature(b, WEIR_FEATURE, UINT32_MAX), NVME_SC_SUCCESS);
	assert_int_equal(admin(b, WEIR_ADMIN_CUT, 0, 5 | 1 << 16, 7, 0), NVME_SC_INVALID_OPCODE);
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_announced_to_hosts_of_volumes_alone),
		cmocka_unit_test(a_namespace_tells_the_life_of_its_cache),
		cmocka_unit_test(a_life_is_told_only_where_all_of_it_is),
		cmocka_unit_test(what_is_granted_is_there_until_a_reset),
		cmocka_unit_test(a_fence_names_another_controller_or_the_older_ones),
		cmocka_unit_test(a_view_is_of_a_namespace_for_whom_it_is_granted),
		cmocka_unit_test(a_view_of_no_namespace_is_refused),
		cmocka_unit_test(commands_of_ordered_writes_are_there_where_there_is_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
