#include "ctrl_bench.h"

/* The controller under test is 5, of association 1005; 2 and 9 are of other hosts. */
static const uint16_t controllers[] = { 2, 5, 9 };
static const uint64_t attached[] = { 1005, 1009 }, others[] = { 1002 };

/* Which controllers have the namespace. */
static const uint64_t *
who_has(uint32_t nsid)
{
	static const uint64_t all[CTRL_ID_WORDS] = { 1 << 2 | 1 << 5 | 1 << 9 },
	    two[CTRL_ID_WORDS] = { 1 << 5 | 1 << 9 },
	    one[CTRL_ID_WORDS] = { 1 << 2 }, none[CTRL_ID_WORDS];

	return nsid == 1 ? all : nsid == 3 ? two : nsid == 4 ? one : none;
}

/* Namespace 1 is everybody's, 3 that of 5 and 9, 4 that of 2 alone, 6 private and nobody's. */
static struct bench *
bench_managed(void)
{
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);

	b->ctrl.association = 1005;
	next->ns[2] = next->ns[3] = next->ns[1];
	next->ns[2].nsid = 4;
	next->ns[3].nsid = 6;
	for (uint32_t i = 1; i < 4; i++)
		next->ns[i].listed = true;
	next->ns[1].others = attached;
	next->ns[1].other_count = 2;
	next->ns[2].others = others;
	next->ns[2].other_count = 1;
	next->ns[3].shared = false;
	next->subsys.ns_count = 4;
	next->subsys.ns_management = true;
	next->subsys.capacity_free = 1 << 20;
	set_feature(b, NVME_FEATURE_EVENTS, NVME_ASYNC_NS);
	bench_update(b, next);
	get_log(b, NVME_LOG_CHANGED_NS, 4096);
	b->there = who_has(1);
	return b;
}

static enum nvme_sc
manage(struct bench *b, uint8_t opcode, uint32_t nsid, uint32_t select, const void *in, uint32_t bytes)
{
	struct ctrl_given given = { .there = who_has(1), .attached = who_has(nsid) };
	struct nvme_sqe sqe = {
		.opcode = opcode, .flags = NVME_PSDT_SGL, .nsid = le32_of(nsid), .cdw10 = le32_of(select & 0xffff),
		.cdw11 = le32_of(select & 0xff000000), .sgl1 = { .length = le32_of(bytes), .id = NVME_SGL_OFFSET },
	};

	assert_int_equal(ctrl_needs(&b->ctrl, &sqe),
	    opcode == NVME_ADMIN_NS_ATTACHMENT && b->ctrl.subsys->ns_management ? CTRL_NEEDS_CONTROLLERS : 0);
	ctrl_admin(&b->ctrl, &sqe, in, bytes, b->out, &given, 0, &b->reply);
	return nvme_sc(b->reply.status);
}

static void
without_namespace_management_there_is_none_of_it(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 1, NVME_NS_DELETE, NULL, 0), NVME_SC_INVALID_OPCODE);
	assert_int_equal(manage(b, NVME_ADMIN_NS_ATTACHMENT, 1, NVME_NS_ATTACH, NULL, 0), NVME_SC_INVALID_OPCODE);
	for (uint32_t cns = NVME_CNS_NS_ALLOCATED_LIST; cns <= NVME_CNS_CTRL_LIST; cns++)
		assert_int_equal(identify(b, cns, 1), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED_LIST, 0), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED, 1), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_NS, UINT32_MAX), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(le16_get(id->oacs), 0);
	test_free(b);
}

static void
identify_says_what_can_be_made(void **state)
{
	struct bench *b = bench_managed();
	const struct nvme_identify_ctrl *id = (const void *)b->out;
	const struct nvme_identify_ns *ns = (const void *)b->out;
	uint64_t bytes = 0;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(le16_get(id->oacs), 8);
	for (uint32_t i = 0; i < b->ctrl.subsys->ns_count; i++)
		bytes += b->ctrl.subsys->ns[i].blocks * b->ctrl.subsys->ns[i].block_size;
	assert_true(bytes > 0);
	assert_int_equal(le64_get(id->tnvmcap.low), bytes + (1 << 20));
	assert_int_equal(le64_get(id->unvmcap.low), 1 << 20);
	assert_int_equal(identify(b, NVME_CNS_NS, UINT32_MAX), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(ns->nsze), 0);
	assert_int_equal(ns->nlbaf, 1);
	assert_int_equal(ns->lbaf[0].lbads, 9);
	assert_int_equal(ns->lbaf[1].lbads, 12);
	assert_int_equal(ns->nmic, 1);
	for (uint32_t i = 0; i < 2; i++) { /* every namespace has the same list: 1 has 4096, 3 has 512 bytes */
		assert_int_equal(identify(b, NVME_CNS_NS, 1 + 2 * i), NVME_SC_SUCCESS);
		assert_int_equal(ns->nlbaf, 1);
		assert_int_equal(ns->lbaf[ns->flbas].lbads, i == 0 ? 12 : 9);
	}
	assert_int_equal(get_log(b, NVME_LOG_EFFECTS, 4096), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out + 4 * NVME_ADMIN_NS_MANAGEMENT), 0x2000009);
	assert_int_equal(get_le32(b->out + 4 * NVME_ADMIN_NS_ATTACHMENT), 0x2000009);
	test_free(b);
}

static void
allocated_and_active_are_told_apart(void **state)
{
	struct bench *b = bench_managed();
	uint8_t list[4096];

	assert_int_equal(identify(b, NVME_CNS_NS_ACTIVE_LIST, 0), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 1);
	assert_int_equal(get_le32(b->out + 4), 3);
	assert_int_equal(get_le32(b->out + 8), 0);
	assert_int_equal(identify(b, NVME_CNS_NS_ALLOCATED_LIST, 1), NVME_SC_SUCCESS);
	assert_int_equal(get_le32(b->out), 3);
	assert_int_equal(get_le32(b->out + 4), 4);
	assert_int_equal(get_le32(b->out + 8), 6);
	assert_int_equal(get_le32(b->out + 12), 0);
	memcpy(list, b->out, sizeof(list));
	assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED_LIST, 1), NVME_SC_SUCCESS);
	assert_memory_equal(b->out, list, sizeof(list));
	for (uint32_t nsid = 1; nsid <= CTRL_NS_MAX; nsid += 3) { /* active, allocated, neither */
		assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED, nsid), NVME_SC_SUCCESS);
		assert_true(b->reply.data_len == 4096 && all_zero(b->out, 4096));
	}
	assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED, 0), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS_ALLOCATED, UINT32_MAX), NVME_SC_INVALID_NS);
	for (uint32_t cns = NVME_CNS_CSI_NS_ALLOCATED_LIST; cns <= NVME_CNS_CSI_NS_ALLOCATED; cns++)
		assert_int_equal(admin(b, NVME_ADMIN_IDENTIFY, 1, cns, 2 << 24, 4096), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_NS_ALLOCATED_LIST, UINT32_MAX - 1), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS, 4), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(identify(b, NVME_CNS_NS_ALLOCATED, 4), NVME_SC_SUCCESS);
	assert_int_equal(get_le64(b->out), 77);
	assert_int_equal(identify(b, NVME_CNS_NS_ALLOCATED, 5), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(identify(b, NVME_CNS_NS_ALLOCATED, UINT32_MAX), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 4), NVME_SC_INVALID_NS);
	test_free(b);
}

static void
controllers_are_listed_from_the_one_asked_for(void **state)
{
	static const struct {
		uint32_t cns, nsid, from;
		uint8_t count, ids[3];
	} rows[] = {
		{ NVME_CNS_CTRL_LIST, 0, 0, 3, { 2, 5, 9 } }, { NVME_CNS_CTRL_LIST, 0, 5, 2, { 5, 9 } },
		{ NVME_CNS_CTRL_LIST, 0, 10, 0, { 0 } }, { NVME_CNS_NS_CTRL_LIST, 1, 0, 3, { 2, 5, 9 } },
		{ NVME_CNS_NS_CTRL_LIST, 3, 0, 2, { 5, 9 } }, { NVME_CNS_NS_CTRL_LIST, 3, 6, 1, { 9 } },
		{ NVME_CNS_NS_CTRL_LIST, 6, 0, 0, { 0 } },
	};
	struct bench *b = bench_managed();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		b->attached = who_has(rows[i].nsid);
		assert_int_equal(identify(b, rows[i].cns | rows[i].from << 16, rows[i].nsid), NVME_SC_SUCCESS);
		assert_int_equal(get_le16(b->out), rows[i].count);
		for (uint32_t n = 0; n < rows[i].count; n++)
			assert_int_equal(get_le16(b->out + 2 + 2 * n), rows[i].ids[n]);
		assert_true(all_zero(b->out + 2 + 2 * rows[i].count, 4000));
	}
	assert_int_equal(identify(b, NVME_CNS_NS_CTRL_LIST, 5), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS_CTRL_LIST, UINT32_MAX), NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS, UINT32_MAX), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	test_free(b);
}

static void
what_is_wrong_with_a_new_namespace_is_named(void **state)
{
	static const struct {
		uint16_t at;
		uint64_t value;
		uint32_t select;
		enum nvme_sc sc;
	} rows[] = {
		{ 26, 0, 0, NVME_SC_SUCCESS }, { 26, 1, 0, NVME_SC_NS_CAPACITY }, /* 1000 blocks of 4096: too many */
		{ 26, 2, 0, NVME_SC_INVALID_FORMAT }, { 26, 0x10, 0, NVME_SC_INVALID_FORMAT },
		{ 0, 0, 0, NVME_SC_INVALID_FIELD }, { 0, UINT64_MAX, 0, NVME_SC_THIN_PROVISIONING },
		{ 8, 2000, 0, NVME_SC_INVALID_FIELD }, { 8, 999, 0, NVME_SC_THIN_PROVISIONING },
		{ 29, 1, 0, NVME_SC_INVALID_FIELD }, { 30, 2, 0, NVME_SC_INVALID_FIELD },
		{ 92, 1, 0, NVME_SC_ANA_GROUP }, { 100, 1, 0, NVME_SC_SUCCESS },
		{ 102, 1, 0, NVME_SC_SUCCESS }, { 26, 0, 1u << 24, NVME_SC_COMMAND_SET },
		{ 26, 0, 2, NVME_SC_INVALID_FIELD },
	};
	static const struct nvme_identify_ns empty;
	struct bench *b = bench_managed();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_identify_ns ns = { .nsze = le64_of(1000), .ncap = le64_of(1000), .nmic = 1 };

		if (rows[i].at < 16)
			put_le64((uint8_t *)&ns + rows[i].at, rows[i].value);
		else
			((uint8_t *)&ns)[rows[i].at] = (uint8_t)rows[i].value;
		assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 0, rows[i].select, &ns, sizeof(ns)), rows[i].sc);
		assert_int_equal(b->reply.action, rows[i].sc == NVME_SC_SUCCESS ? CTRL_NS_CREATE : CTRL_NOTHING);
		if (rows[i].sc == NVME_SC_SUCCESS) {
			assert_int_equal(b->reply.create.blocks, 1000);
			assert_int_equal(b->reply.create.block_size, 512);
			assert_true(b->reply.create.shared);
		}
	}
	assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 0, NVME_NS_CREATE, &empty, sizeof(empty)),
	    NVME_SC_INVALID_FIELD);
	assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 0, NVME_NS_CREATE, controllers, 4), NVME_SC_SGL_LENGTH);
	test_free(b);
}

static void
no_namespace_is_made_where_all_numbers_are_taken(void **state)
{
	struct bench *b = bench_managed();
	struct snapshot *next = bench_copy(b);
	struct nvme_identify_ns ns = { .nsze = le64_of(1), .ncap = le64_of(1) };

	for (uint32_t i = 0; i < CTRL_NS_MAX; i++) {
		next->ns[i] = namespaces[0];
		next->ns[i].nsid = i + 1;
	}
	next->subsys.ns_count = CTRL_NS_MAX - 1;
	bench_update(b, next);
	assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 0, NVME_NS_CREATE, &ns, sizeof(ns)), NVME_SC_SUCCESS);
	next = bench_copy(b);
	next->ns[CTRL_NS_MAX - 1] = namespaces[0];
	next->ns[CTRL_NS_MAX - 1].nsid = CTRL_NS_MAX;
	next->subsys.ns_count = CTRL_NS_MAX;
	bench_update(b, next);
	assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, 0, NVME_NS_CREATE, &ns, sizeof(ns)),
	    NVME_SC_NSID_UNAVAILABLE);
	test_free(b);
}

static void
what_is_there_can_be_deleted(void **state)
{
	static const struct {
		uint32_t nsid;
		enum nvme_sc sc;
	} rows[] = {
		{ 1, NVME_SC_SUCCESS }, { 6, NVME_SC_SUCCESS }, { UINT32_MAX, NVME_SC_SUCCESS },
		{ 0, NVME_SC_INVALID_NS }, { 2, NVME_SC_INVALID_NS },
	};
	struct bench *b = bench_managed();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(manage(b, NVME_ADMIN_NS_MANAGEMENT, rows[i].nsid, NVME_NS_DELETE, NULL, 0),
		    rows[i].sc);
		if (rows[i].sc == NVME_SC_SUCCESS) {
			assert_int_equal(b->reply.action, CTRL_NS_DELETE);
			assert_int_equal(b->reply.nsid, rows[i].nsid);
		}
	}
	test_free(b);
}

static void
what_is_wrong_with_an_attachment_is_named(void **state)
{
	enum { ATTACH = NVME_NS_ATTACH, DETACH = NVME_NS_DETACH };
	static const struct {
		uint32_t nsid, select;
		uint16_t list[4]; /* count, ids */
		enum nvme_sc sc;
	} rows[] = {
		{ 3, ATTACH, { 1, 2 }, NVME_SC_SUCCESS }, { 3, DETACH, { 2, 5, 9 }, NVME_SC_SUCCESS },
		{ 1, DETACH, { 1, 2 }, NVME_SC_SUCCESS }, { 6, ATTACH, { 1, 5 }, NVME_SC_SUCCESS },
		{ 3, ATTACH, { 2, 2, 5 }, NVME_SC_NS_ATTACHED }, { 1, ATTACH, { 1, 2 }, NVME_SC_NS_ATTACHED },
		{ 3, DETACH, { 2, 2, 5 }, NVME_SC_NS_NOT_ATTACHED }, { 6, ATTACH, { 2, 2, 5 }, NVME_SC_NS_PRIVATE },
		{ 3, ATTACH, { 0 }, NVME_SC_CTRL_LIST }, { 3, ATTACH, { 2048, 2 }, NVME_SC_CTRL_LIST },
		{ 3, ATTACH, { 1, 3 }, NVME_SC_CTRL_LIST }, { 3, DETACH, { 2, 9, 5 }, NVME_SC_CTRL_LIST },
		{ 3, DETACH, { 2, 5, 5 }, NVME_SC_CTRL_LIST }, { 2, ATTACH, { 1, 2 }, NVME_SC_INVALID_NS },
		{ UINT32_MAX, ATTACH, { 1, 2 }, NVME_SC_INVALID_NS }, { 3, 2, { 1, 2 }, NVME_SC_INVALID_FIELD },
	};
	struct bench *b = bench_managed();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_ctrl_ids list = { .count = le16_of(rows[i].list[0]) };

		for (uint32_t n = 0; n < 3; n++)
			list.cntlid[n] = le16_of(rows[i].list[1 + n]);
		assert_int_equal(manage(b, NVME_ADMIN_NS_ATTACHMENT, rows[i].nsid, rows[i].select, &list, sizeof(list)),
		    rows[i].sc);
		if (rows[i].sc == NVME_SC_SUCCESS) {
			assert_int_equal(b->reply.action, rows[i].select == ATTACH ? CTRL_NS_ATTACH : CTRL_NS_DETACH);
			assert_int_equal(b->reply.nsid, rows[i].nsid);
			assert_ptr_equal(b->reply.cntlids, &list);
		}
	}
	assert_int_equal(manage(b, NVME_ADMIN_NS_ATTACHMENT, 3, ATTACH, controllers, 4), NVME_SC_SGL_LENGTH);
	test_free(b);
}

static void
attaching_is_seen_by_the_controller_it_concerns(void **state)
{
	static const struct { uint32_t nsid; bool told; } rows[] = { { 4, true }, { 6, false } };
	struct bench *b = bench_managed();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *next = bench_copy(b);

		assert_true(hold(b, (uint16_t)i));
		next->ns[2 + i].others = rows[i].told ? attached : others;
		next->ns[2 + i].other_count = 1;
		bench_update(b, next);
		assert_int_equal(event(b), rows[i].told ? 0x040002 : NO_EVENT);
		assert_int_equal(get_log(b, NVME_LOG_CHANGED_NS, 4096), NVME_SC_SUCCESS);
		assert_int_equal(get_le32(b->out), rows[i].told ? rows[i].nsid : 0);
	}
	test_free(b);
}

static void
it_is_active_by_host_or_by_association_but_not_by_both(void **state)
{
	static const char hosts[][NVME_NQN_FIELD] = { "nqn.a", "nqn.c", "nqn.d" };
	static const uint64_t ids[] = { 3, 5, 8 };
	static const struct ns_info ns = { .listed = true, .hosts = hosts, .host_count = 3, .others = ids,
	    .other_count = 3 };
	static const struct ns_info all = { .hosts = hosts, .host_count = 3 };

	(void)state;
	for (uint64_t id = 1; id < 10; id++) {
		bool other = id == 3 || id == 5 || id == 8;

		assert_int_equal(subsys_attached(&ns, "nqn.a", id), !other);
		assert_int_equal(subsys_attached(&ns, "nqn.c", id), !other);
		assert_int_equal(subsys_attached(&ns, "nqn.d", id), !other);
		assert_int_equal(subsys_attached(&ns, "nqn.b", id), other);
		assert_int_equal(subsys_attached(&ns, "nqn.e", id), other);
		assert_int_equal(subsys_attached(&ns, "nqn.", id), other);
		assert_true(subsys_attached(&all, "nqn.b", id));
	}
}

static void
the_data_that_comes_with_a_command_is_known(void **state)
{
	static const struct { uint8_t opcode, select; uint32_t bytes; } rows[] = {
		{ NVME_ADMIN_NS_MANAGEMENT, NVME_NS_CREATE, 4096 }, { NVME_ADMIN_NS_MANAGEMENT, NVME_NS_DELETE, 0 },
		{ NVME_ADMIN_NS_ATTACHMENT, NVME_NS_ATTACH, 4096 }, { NVME_ADMIN_NS_ATTACHMENT, NVME_NS_DETACH, 4096 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_sqe sqe = { .opcode = rows[i].opcode, .cdw10 = le32_of(rows[i].select),
			.sgl1 = { .length = le32_of(4096) } };

		assert_int_equal(ctrl_admin_data_in(&sqe), rows[i].bytes);
		sqe.sgl1.length = le32_of(4095);
		assert_int_equal(ctrl_admin_data_in(&sqe), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_namespace_management_there_is_none_of_it),
		cmocka_unit_test(identify_says_what_can_be_made),
		cmocka_unit_test(allocated_and_active_are_told_apart),
		cmocka_unit_test(controllers_are_listed_from_the_one_asked_for),
		cmocka_unit_test(what_is_wrong_with_a_new_namespace_is_named),
		cmocka_unit_test(no_namespace_is_made_where_all_numbers_are_taken),
		cmocka_unit_test(what_is_there_can_be_deleted),
		cmocka_unit_test(what_is_wrong_with_an_attachment_is_named),
		cmocka_unit_test(attaching_is_seen_by_the_controller_it_concerns),
		cmocka_unit_test(it_is_active_by_host_or_by_association_but_not_by_both),
		cmocka_unit_test(the_data_that_comes_with_a_command_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
