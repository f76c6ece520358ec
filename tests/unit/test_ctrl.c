#include "ctrl_bench.h"

/* ---- Connect ---- */

static void
each_problem_of_an_admin_connect_is_named(void **state)
{
	static const struct {
		uint16_t sqe_at, sqe_value, data_at;
		uint8_t data_value;
		enum nvme_sc sc;
		uint16_t ipo;
		bool in_data;
	} rows[] = {
		{ 44, 31, 0, 9, NVME_SC_SUCCESS, 0, false },
		{ 40, 1, 0, 9, NVME_SC_CONNECT_FORMAT, 0, false },
		{ 42, 1, 0, 9, NVME_SC_CONNECT_PARAMS, 42, false },
		{ 44, 0, 0, 9, NVME_SC_CONNECT_PARAMS, 44, false },
		{ 44, CTRL_ADMIN_ENTRIES, 0, 9, NVME_SC_CONNECT_PARAMS, 44, false },
		{ 44, CTRL_ADMIN_ENTRIES - 1, 0, 9, NVME_SC_SUCCESS, 0, false },
		{ 44, 31, 0, 0, NVME_SC_CONNECT_PARAMS, 0, true },
		{ 44, 31, 16, 1, NVME_SC_CONNECT_PARAMS, 16, true },
		{ 44, 31, 256, 'x', NVME_SC_CONNECT_PARAMS, 256, true },
		{ 44, 31, 256, 0, NVME_SC_CONNECT_PARAMS, 256, true },
		{ 44, 31, 512, 0, NVME_SC_CONNECT_PARAMS, 512, true },
		{ 44, 31, 18, 1, NVME_SC_SUCCESS, 0, false }, /* reserved: ignored */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_connect_sqe sqe = { .sqsize = le16_of(31) };
		struct nvme_connect_data data = connect_data(&nvm);
		struct nvme_connect_fault fault = { 4711, true };
		struct nvme_status status;

		put_le16((uint8_t *)&sqe + rows[i].sqe_at, rows[i].sqe_value);
		((uint8_t *)&data)[rows[i].data_at] = rows[i].data_value;
		status = ctrl_check_connect(&nvm, CTRL_HOST_ADMITTED, &sqe, &data, &fault);
		assert_int_equal(nvme_sc(status), rows[i].sc);
		assert_int_equal(status.dnr, rows[i].sc != NVME_SC_SUCCESS);
		assert_int_equal(fault.ipo, rows[i].ipo);
		assert_int_equal(fault.in_data, rows[i].in_data);
	}
}

static void
who_may_ask_for_which_id_depends_on_the_model(void **state)
{
	static const struct { uint16_t static_ids, cntlid; bool right; } rows[] = {
		{ 0, 0xffff, true }, { 0, 0xfffe, false }, { 0, 1, false }, { 0, 0, false },
		{ 5, 0xffff, false }, { 5, 0xfffe, true }, { 5, 0xfffd, false }, { 5, 0xfff0, false }, { 5, 0, false },
		{ 5, 1, true }, { 5, 5, true }, { 5, 6, false }, { 0xffef, 0xffef, true }, { 0xffef, 0xfff0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_connect_sqe sqe = { .sqsize = le16_of(31) };
		struct nvme_connect_data data = connect_data(&nvm);
		struct subsys_info subsys = nvm;
		struct nvme_connect_fault fault;
		struct nvme_status status;

		subsys.static_ids = rows[i].static_ids;
		data.cntlid = le16_of(rows[i].cntlid);
		status = ctrl_check_connect(&subsys, CTRL_HOST_ADMITTED, &sqe, &data, &fault);
		assert_int_equal(nvme_sc(status), rows[i].right ? NVME_SC_SUCCESS : NVME_SC_CONNECT_PARAMS);
		assert_int_equal(fault.ipo, rows[i].right ? 0 : 16);
		assert_int_equal(fault.in_data, !rows[i].right);
		assert_int_equal(status.dnr, !rows[i].right);
	}
}

static void
an_unknown_subsystem_is_a_bad_subnqn(void **state)
{
	struct nvme_connect_sqe sqe = { .sqsize = le16_of(31) };
	struct nvme_connect_data data = connect_data(&nvm);
	struct nvme_connect_fault fault;

	assert_int_equal(nvme_sc(ctrl_check_connect(NULL, CTRL_HOST_UNKNOWN, &sqe, &data, &fault)),
	    NVME_SC_CONNECT_PARAMS);
	assert_int_equal(fault.ipo, 256);
	assert_true(fault.in_data);
	memset(data.hostnqn, 'a', sizeof(data.hostnqn));
	assert_int_equal(nvme_sc(ctrl_check_connect(&nvm, CTRL_HOST_ADMITTED, &sqe, &data, &fault)),
	    NVME_SC_CONNECT_PARAMS);
	assert_int_equal(fault.ipo, 512);
}

static void
a_host_has_a_name_of_its_own(void **state)
{
	static const struct {
		const char *nqn;
		bool right;
	} rows[] = {
		{ "nqn.2014-08.org.nvmexpress:uuid:9f7a8c5e-2c3b-4a51-8e1c-6d8f6a0b1c2d", true },
		{ "nqn.2014-08.com.vmware:nvme:esx-1", true }, { "nqn.2014-08.org.nvmexpress.discovery2", true },
		{ NVME_DISCOVERY_NQN, false }, { "x", false }, { "nqn.2014-08.org:\n", false },
	};
	struct nvme_connect_sqe sqe = { .sqsize = le16_of(31) };
	struct nvme_connect_data data = connect_data(&nvm);
	struct nvme_connect_fault fault;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_status status;

		snprintf(data.hostnqn, sizeof(data.hostnqn), "%s", rows[i].nqn);
		status = ctrl_check_connect(&nvm, CTRL_HOST_ADMITTED, &sqe, &data, &fault);
		assert_int_equal(nvme_sc(status), rows[i].right ? NVME_SC_SUCCESS : NVME_SC_CONNECT_PARAMS);
		assert_int_equal(fault.ipo, rows[i].right ? 0 : 512);
		assert_int_equal(fault.in_data, !rows[i].right);
		assert_int_equal(status.dnr, !rows[i].right);
	}
}

static void
a_host_that_is_not_admitted_is_told_why(void **state)
{
	static const struct {
		enum ctrl_admission admission;
		enum nvme_sc sc;
		uint16_t ipo;
		bool in_data, dnr;
	} rows[] = {
		{ CTRL_HOST_ADMITTED, NVME_SC_SUCCESS, 0, false, false },
		{ CTRL_HOST_UNKNOWN, NVME_SC_CONNECT_HOST, 512, true, true },
		{ CTRL_HOST_OTHER_ID, NVME_SC_CONNECT_PARAMS, 0, true, true },
		{ CTRL_HOST_NO_ROOM, NVME_SC_CONNECT_BUSY, 0, false, false },
	};
	struct nvme_connect_sqe sqe = { .sqsize = le16_of(31) };
	struct nvme_connect_data data = connect_data(&nvm);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_connect_fault fault = { 4711, true };
		struct nvme_status status = ctrl_check_connect(&nvm, rows[i].admission, &sqe, &data, &fault);

		assert_int_equal(nvme_sc(status), rows[i].sc);
		assert_int_equal(status.dnr, rows[i].dnr);
		assert_int_equal(fault.ipo, rows[i].ipo);
		assert_int_equal(fault.in_data, rows[i].in_data);
	}
	data.cntlid = le16_of(NVME_CNTLID_STATIC); /* what is wrong for every host is told first */
	assert_int_equal(nvme_sc(ctrl_check_connect(&nvm, CTRL_HOST_UNKNOWN, &sqe, &data,
	    &(struct nvme_connect_fault){ 0 })), NVME_SC_CONNECT_PARAMS);
}

static void
each_problem_of_an_io_connect_is_named(void **state)
{
	static const struct {
		uint16_t sqe_at, sqe_value, data_at;
		uint8_t data_value;
		enum nvme_sc sc;
		uint16_t ipo;
		bool in_data;
	} rows[] = {
		{ 42, 8, 0, 9, NVME_SC_SUCCESS, 0, false },
		{ 40, 1, 0, 9, NVME_SC_CONNECT_FORMAT, 0, false },
		{ 42, 9, 0, 9, NVME_SC_CONNECT_PARAMS, 42, false },
		{ 42, 0, 0, 9, NVME_SC_CONNECT_PARAMS, 42, false },
		{ 44, 0, 0, 9, NVME_SC_CONNECT_PARAMS, 44, false },
		{ 44, 1, 0, 9, NVME_SC_SUCCESS, 0, false },
		{ 44, 1023, 0, 9, NVME_SC_SUCCESS, 0, false },
		{ 44, 1024, 0, 9, NVME_SC_CONNECT_PARAMS, 44, false },
		{ 44, 127, 0, 8, NVME_SC_CONNECT_PARAMS, 0, true },
		{ 44, 127, 16, 6, NVME_SC_CONNECT_PARAMS, 16, true },
		{ 44, 127, 256, 'x', NVME_SC_CONNECT_PARAMS, 256, true },
		{ 44, 127, 512, 'x', NVME_SC_CONNECT_PARAMS, 512, true },
	};
	struct bench *b = bench_enabled(&nvm);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_connect_sqe sqe = { .qid = le16_of(1), .sqsize = le16_of(127) };
		struct nvme_connect_data data = connect_data(&nvm);
		struct nvme_connect_fault fault;
		struct nvme_status status;

		data.cntlid = le16_of(5);
		put_le16((uint8_t *)&sqe + rows[i].sqe_at, rows[i].sqe_value);
		((uint8_t *)&data)[rows[i].data_at] = rows[i].data_value;
		status = ctrl_check_io_connect(&b->ctrl, &sqe, &data, &fault);
		assert_int_equal(nvme_sc(status), rows[i].sc);
		assert_int_equal(fault.ipo, rows[i].ipo);
		assert_int_equal(fault.in_data, rows[i].in_data);
	}
	test_free(b);
}

static enum nvme_sc
io_connect(struct bench *b, uint16_t qid)
{
	struct nvme_connect_sqe sqe = { .qid = le16_of(qid), .sqsize = le16_of(127) };
	struct nvme_connect_data data = connect_data(b->ctrl.subsys);
	struct nvme_connect_fault fault;

	data.cntlid = le16_of(5);
	return nvme_sc(ctrl_check_io_connect(&b->ctrl, &sqe, &data, &fault));
}

static void
io_queues_connect_only_to_a_running_controller(void **state)
{
	struct bench *b = bench_disabled(&nvm), *d = bench_enabled(&discovery);

	assert_int_equal(io_connect(b, 1), NVME_SC_SEQUENCE);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(io_connect(b, 1), NVME_SC_SUCCESS);
	assert_int_equal(set_feature(b, NVME_FEATURE_QUEUES, 1 | 1 << 16), NVME_SC_SUCCESS);
	assert_int_equal(io_connect(b, 2), NVME_SC_SUCCESS);
	assert_int_equal(io_connect(b, 3), NVME_SC_CONNECT_PARAMS);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN | 1 << 14);
	assert_int_equal(io_connect(b, 1), NVME_SC_SEQUENCE);
	assert_int_equal(io_connect(d, 1), NVME_SC_CONNECT_PARAMS);
	test_free(b);
	test_free(d);
}

/* ---- properties and life ---- */

static void
capabilities_are_what_hosts_demand(void **state)
{
	struct bench *b = bench_disabled(&nvm);
	uint64_t cap = property_get(b, NVME_CAP, 1);

	assert_int_equal(cap & 0xffff, 1023);
	assert_int_equal(cap >> 16 & 1, 1);       /* CQR */
	assert_int_equal(cap >> 24 & 0xff, 30);   /* TO */
	assert_int_equal(cap >> 32 & 0xf, 0);     /* DSTRD */
	assert_int_equal(cap >> 37 & 0xff, 1);    /* CSS: NVM alone */
	assert_int_equal(cap >> 48 & 0xff, 0);    /* MPSMIN, MPSMAX */
	assert_int_equal(property_get(b, NVME_VS, 0), 0x00020000);
	assert_int_equal(property_get(b, NVME_CC, 0), 0);
	assert_int_equal(property_get(b, NVME_CSTS, 0), 0);
	assert_int_equal(property_get(b, NVME_CRTO, 0), 30);
	test_free(b);
}

static void
other_properties_sizes_and_writes_are_invalid(void **state)
{
	static const struct { uint32_t ofst; uint8_t attrib; } bad[] = {
		{ NVME_CAP, 0 }, { NVME_VS, 1 }, { NVME_CC, 1 }, { 0x0c, 0 }, { 0x24, 0 }, { 0x15, 0 },
		{ 0x20, 0 }, { 0x1000, 1 }, { NVME_CC, 2 },
	};
	struct bench *b = bench_disabled(&nvm);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		property_get(b, bad[i].ofst, bad[i].attrib);
		assert_int_equal(nvme_sc(b->reply.status), NVME_SC_INVALID_FIELD);
		assert_true(b->reply.status.dnr);
	}
	for (uint32_t ofst = NVME_CAP; ofst <= NVME_CSTS; ofst += 4) {
		property_set(b, ofst, 0);
		assert_int_equal(nvme_sc(b->reply.status),
		    ofst == NVME_CC ? NVME_SC_SUCCESS : NVME_SC_INVALID_FIELD);
	}
	test_free(b);
}

static void
a_controller_lives_as_the_table_says(void **state)
{
	enum { RESET_DONE = 1, SHUTDOWN_DONE };
	static const uint32_t en = NVME_CC_EN, shn = 1 << 14, abrupt = 2 << 14;
	const struct {
		int done;          /* instead of a write to CC */
		uint32_t cc;
		enum nvme_sc sc;
		enum ctrl_action action;
		uint32_t csts;     /* afterwards */
	} steps[] = {
		{ 0, NVME_CC_ENTRIES, NVME_SC_SUCCESS, CTRL_NOTHING, 0 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SUCCESS, CTRL_ENABLED, 1 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SUCCESS, CTRL_NOTHING, 1 },
		{ 0, NVME_CC_ENTRIES | en | 1 << 7, NVME_SC_INVALID_FIELD, CTRL_NOTHING, 1 }, /* MPS while enabled */
		{ 0, NVME_CC_ENTRIES | en | 3 << 14, NVME_SC_INVALID_FIELD, CTRL_NOTHING, 1 },
		{ 0, NVME_CC_ENTRIES, NVME_SC_SUCCESS, CTRL_RESET, 1 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SEQUENCE, CTRL_NOTHING, 1 }, /* the reset is not done */
		{ RESET_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 0 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SUCCESS, CTRL_ENABLED, 1 },
		{ 0, NVME_CC_ENTRIES | en | shn, NVME_SC_SUCCESS, CTRL_SHUTDOWN, 5 },
		{ 0, NVME_CC_ENTRIES | en | shn, NVME_SC_SUCCESS, CTRL_NOTHING, 5 },
		{ SHUTDOWN_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 9 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SUCCESS, CTRL_NOTHING, 9 }, /* only a reset leads out */
		{ 0, NVME_CC_ENTRIES, NVME_SC_SUCCESS, CTRL_RESET, 9 },
		{ SHUTDOWN_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 9 },
		{ RESET_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 0 },
		{ 0, NVME_CC_ENTRIES | abrupt, NVME_SC_SUCCESS, CTRL_SHUTDOWN, 4 },
		{ SHUTDOWN_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 8 },
		{ 0, NVME_CC_ENTRIES | en, NVME_SC_SUCCESS, CTRL_ENABLED, 1 },
		{ 0, NVME_CC_ENTRIES | shn, NVME_SC_SUCCESS, CTRL_RESET, 5 }, /* both: first a reset, then */
		{ RESET_DONE, 0, NVME_SC_SUCCESS, CTRL_SHUTDOWN, 4 },
		{ SHUTDOWN_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 8 },
		{ 0, NVME_CC_ENTRIES | en | abrupt, NVME_SC_SUCCESS, CTRL_SHUTDOWN, 5 },
		{ SHUTDOWN_DONE, 0, NVME_SC_SUCCESS, CTRL_NOTHING, 9 },
		{ 0, NVME_CC_ENTRIES | abrupt, NVME_SC_SUCCESS, CTRL_RESET, 5 }, /* anew */
		{ RESET_DONE, 0, NVME_SC_SUCCESS, CTRL_SHUTDOWN, 4 },
	};
	struct bench *b = bench_disabled(&nvm);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		b->reply = (struct ctrl_reply){ 0 };
		if (steps[i].done == RESET_DONE)
			b->reply.action = ctrl_reset_done(&b->ctrl);
		else if (steps[i].done == SHUTDOWN_DONE)
			ctrl_shutdown_done(&b->ctrl);
		else
			property_set(b, NVME_CC, steps[i].cc);
		assert_int_equal(nvme_sc(b->reply.status), steps[i].sc);
		assert_int_equal(b->reply.action, steps[i].action);
		assert_int_equal(property_get(b, NVME_CSTS, 0), steps[i].csts);
	}
	test_free(b);
}

/* CRIME too: CAP.CRMS leaves no choice. */
static void
what_cc_reserves_is_ignored_and_reads_zero(void **state)
{
	const uint32_t reserved = UINT32_C(0xff00000e), on = NVME_CC_ENTRIES | NVME_CC_EN;
	struct bench *b = bench_disabled(&nvm);

	property_set(b, NVME_CC, NVME_CC_ENTRIES | reserved);
	assert_int_equal(property_get(b, NVME_CC, 0), NVME_CC_ENTRIES);
	property_set(b, NVME_CC, on | reserved);
	assert_int_equal(property_get(b, NVME_CC, 0), on);
	assert_int_equal(property_get(b, NVME_CSTS, 0), NVME_CSTS_RDY);
	for (uint32_t bit = 1; bit != 0; bit <<= 1) {
		if (!(bit & reserved))
			continue;
		property_set(b, NVME_CC, on | bit);
		assert_int_equal(nvme_sc(b->reply.status), NVME_SC_SUCCESS);
		assert_int_equal(property_get(b, NVME_CC, 0), on);
	}
	test_free(b);
}

static void
wrong_settings_are_fatal_and_never_ready(void **state)
{
	static const uint32_t bad[] = { 5 << 16 | 4 << 20, 6 << 16 | 5 << 20, 6 << 16 | 4 << 20 | 6 << 4,
		6 << 16 | 4 << 20 | 1 << 7, 6 << 16 | 4 << 20 | 1 << 11 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bench *b = bench_disabled(&nvm);

		property_set(b, NVME_CC, bad[i] | NVME_CC_EN);
		assert_int_equal(b->reply.action, CTRL_FAILED);
		assert_int_equal(property_get(b, NVME_CSTS, 0), NVME_CSTS_CFS);
		property_set(b, NVME_CC, 0);
		assert_int_equal(b->reply.action, CTRL_RESET);
		ctrl_reset_done(&b->ctrl);
		assert_int_equal(property_get(b, NVME_CSTS, 0), 0);
		test_free(b);
	}
}

static void
a_discovery_controller_minds_no_entry_sizes(void **state)
{
	struct bench *b = bench_disabled(&discovery);

	property_set(b, NVME_CC, NVME_CC_EN);
	assert_int_equal(b->reply.action, CTRL_ENABLED);
	test_free(b);
}

static void
no_admin_command_runs_while_disabled(void **state)
{
	struct bench *b = bench_disabled(&nvm);

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SEQUENCE);
	assert_int_equal(admin(b, NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, 0), NVME_SC_SEQUENCE);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	assert_int_equal(admin(b, NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(admin(b, 0x7e, 0, 0, 0, 0), NVME_SC_INVALID_OPCODE);
	assert_true(b->reply.status.dnr);
	assert_int_equal(admin(b, NVME_ADMIN_ABORT, 0, 0, 0, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_ABORT);
	test_free(b);
}

static void
commands_must_use_an_sgl(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = le32_of(NVME_CNS_CTRL),
		.sgl1 = { .length = le32_of(4096), .id = NVME_SGL_TRANSPORT } };

	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, NULL, 0, &b->reply);
	assert_int_equal(nvme_sc(b->reply.status), NVME_SC_INVALID_FIELD);
	for (unsigned reserved = 2; reserved <= 5; reserved++) {
		sqe.flags = (uint8_t)(NVME_PSDT_SGL | 1u << reserved);
		ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, NULL, 0, &b->reply);
		assert_int_equal(nvme_sc(b->reply.status), NVME_SC_INVALID_FIELD);
	}
	sqe.flags = NVME_PSDT_SGL;
	sqe.sgl1.id = NVME_SGL_OFFSET;
	ctrl_admin(&b->ctrl, &sqe, NULL, 0, b->out, NULL, 0, &b->reply);
	assert_int_equal(nvme_sc(b->reply.status), NVME_SC_SGL_TYPE);
	assert_int_equal(admin(b, NVME_ADMIN_IDENTIFY, 0, NVME_CNS_CTRL, 0, 512), NVME_SC_SGL_LENGTH);
	assert_int_equal(b->reply.data_len, 0);
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_problem_of_an_admin_connect_is_named),
		cmocka_unit_test(who_may_ask_for_which_id_depends_on_the_model),
		cmocka_unit_test(an_unknown_subsystem_is_a_bad_subnqn),
		cmocka_unit_test(a_host_has_a_name_of_its_own),
		cmocka_unit_test(a_host_that_is_not_admitted_is_told_why),
		cmocka_unit_test(each_problem_of_an_io_connect_is_named),
		cmocka_unit_test(io_queues_connect_only_to_a_running_controller),
		cmocka_unit_test(capabilities_are_what_hosts_demand),
		cmocka_unit_test(other_properties_sizes_and_writes_are_invalid),
		cmocka_unit_test(a_controller_lives_as_the_table_says),
		cmocka_unit_test(what_cc_reserves_is_ignored_and_reads_zero),
		cmocka_unit_test(wrong_settings_are_fatal_and_never_ready),
		cmocka_unit_test(a_discovery_controller_minds_no_entry_sizes),
		cmocka_unit_test(no_admin_command_runs_while_disabled),
		cmocka_unit_test(commands_must_use_an_sgl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
