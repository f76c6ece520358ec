#include "ctrl_bench.h"

/* ---- Identify ---- */

static void
identify_controller_satisfies_hosts(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.data_len, NVME_IDENTIFY_LEN);
	assert_int_equal(le16_get(id->cntlid), 5);
	assert_memory_equal(id->sn, "S1                  ", 20);
	assert_memory_equal(id->fr, "0.1     ", 8);
	assert_int_equal(le32_get(id->ver), 0x00020000);
	assert_int_equal(id->cmic, 3);
	assert_int_equal(id->mdts, 8);
	assert_int_equal(id->cntrltype, 1);
	assert_int_equal(le32_get(id->ctratt), 0x41);
	assert_int_equal(le32_get(id->oaes), 0x100);
	assert_int_equal(le16_get(id->kas), 1);
	assert_int_equal(id->aerl, 3);
	assert_int_equal(id->elpe, 63);
	assert_int_equal(id->lpa, 0x26);
	assert_int_equal(id->sqes, 0x66);
	assert_int_equal(id->cqes, 0x44);
	assert_int_equal(le16_get(id->maxcmd), 1024);
	assert_int_equal(le32_get(id->nn), 1024);
	assert_int_equal(le16_get(id->oncs), 0x1dd);
	assert_int_equal(id->vwc, 7);
	assert_int_equal(le32_get(id->sgls) & 3, 1);
	assert_true(le32_get(id->sgls) & 1 << 20);
	assert_string_equal(id->subnqn, nvm.nqn);
	assert_int_equal(le32_get(id->ioccsz), (64 + 8192) / 16);
	assert_int_equal(le32_get(id->iorcsz), 1);
	assert_int_equal(le16_get(id->icdoff), 0);
	assert_int_equal(id->fcatt, 0);
	assert_int_equal(id->msdbd, 1);
	assert_int_equal(le16_get(id->ofcs), 1);
	assert_int_not_equal(le16_get(id->wctemp), 0);
	test_free(b);
}

static void
identify_namespace_tells_size_and_format(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ns *id = (const void *)b->out;

	assert_int_equal(identify(b, NVME_CNS_NS, 1), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(id->nsze), 1000);
	assert_int_equal(le64_get(id->ncap), 1000);
	assert_int_equal(id->nlbaf, 0);
	assert_int_equal(id->lbaf[0].lbads, 12);
	assert_int_equal(id->dlfeat, 9);
	assert_int_equal(id->nmic, 1);
	assert_int_equal(get_le64(id->nvmcap), 4096000);
	assert_memory_equal(id->nguid, namespaces[0].nguid, 16);

	assert_int_equal(identify(b, NVME_CNS_NS, 3), NVME_SC_SUCCESS);
	assert_int_equal(id->lbaf[0].lbads, 9);
	assert_int_equal(id->dlfeat, 0);
	assert_int_equal(identify(b, NVME_CNS_NS, 2), NVME_SC_SUCCESS); /* valid, not active */
	assert_int_equal(b->reply.data_len, 4096);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(identify(b, NVME_CNS_NS, 0), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS, 1024), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(identify(b, NVME_CNS_NS, 1025), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_NS, UINT32_MAX), NVME_SC_INVALID_NS);
	test_free(b);
}

static void
the_active_list_begins_behind_the_nsid(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	for (uint32_t cns = NVME_CNS_NS_ACTIVE_LIST; cns <= NVME_CNS_CSI_NS_ACTIVE_LIST; cns += 5) {
		assert_int_equal(identify(b, cns, 0), NVME_SC_SUCCESS);
		assert_int_equal(get_le32(b->out), 1);
		assert_int_equal(get_le32(b->out + 4), 3);
		assert_true(all_zero(b->out + 8, 4088));
		assert_int_equal(identify(b, cns, 1), NVME_SC_SUCCESS);
		assert_int_equal(get_le32(b->out), 3);
		assert_int_equal(identify(b, cns, 3), NVME_SC_SUCCESS);
		assert_true(all_zero(b->out, 4096));
		assert_int_equal(identify(b, cns, UINT32_MAX - 1), NVME_SC_INVALID_NS);
		assert_int_equal(identify(b, cns, UINT32_MAX), NVME_SC_INVALID_NS);
	}
	test_free(b);
}

static void
descriptors_name_a_namespace_for_good(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->out[0], NVME_NIDT_NGUID);
	assert_int_equal(b->out[1], 16);
	assert_memory_equal(b->out + 4, namespaces[0].nguid, 16);
	assert_int_equal(b->out[20], NVME_NIDT_UUID);
	assert_int_equal(b->out[21], 16);
	assert_memory_equal(b->out + 24, namespaces[0].uuid, 16);
	assert_int_equal(b->out[40], NVME_NIDT_CSI);
	assert_int_equal(b->out[41], 1);
	assert_true(all_zero(b->out + 44, 4096 - 44));
	assert_int_equal(identify(b, NVME_CNS_NS_DESCRIPTORS, 2), NVME_SC_INVALID_NS);
	test_free(b);
}

static void
other_identify_pages_are_as_small_as_allowed(void **state)
{
	static const uint64_t there[CTRL_ID_WORDS] = { 1 << 5 | 1 << 9 };
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ns_independent *id = (const void *)b->out;
	const struct nvme_sqe ask = { .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = le32_of(NVME_CNS_COMMAND_SETS) };

	for (uint32_t nsid = 1; nsid <= 2; nsid++) { /* active, and not */
		assert_int_equal(identify(b, NVME_CNS_CSI_NS, nsid), NVME_SC_SUCCESS);
		assert_true(all_zero(b->out, 4096));
	}
	assert_int_equal(identify(b, NVME_CNS_CSI_NS, 0), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS, 1025), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_CSI_NS, UINT32_MAX), NVME_SC_INVALID_NS);
	assert_int_equal(identify(b, NVME_CNS_CSI_CTRL, 0), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(admin(b, NVME_ADMIN_IDENTIFY, 0, NVME_CNS_CSI_CTRL, 2u << 24, 4096),
	    NVME_SC_INVALID_FIELD);
	assert_int_equal(identify(b, NVME_CNS_CSI_INDEPENDENT_NS, 1), NVME_SC_SUCCESS);
	assert_int_equal(id->nstat, 1);
	assert_int_equal(identify(b, NVME_CNS_COMMAND_SETS | 0xffffu << 16, 0), NVME_SC_SUCCESS);
	assert_int_equal(get_le64(b->out), 1);
	assert_true(all_zero(b->out + 8, 4088));
	assert_int_equal(ctrl_needs(&b->ctrl, &ask), CTRL_NEEDS_CONTROLLERS);
	b->there = there;
	assert_int_equal(identify(b, NVME_CNS_COMMAND_SETS | 5 << 16, 0), NVME_SC_SUCCESS);
	assert_int_equal(identify(b, NVME_CNS_COMMAND_SETS | 9 << 16, 0), NVME_SC_SUCCESS);
	assert_int_equal(identify(b, NVME_CNS_COMMAND_SETS | 8 << 16, 0), NVME_SC_INVALID_FIELD);
	for (uint32_t cns = 0; cns < 256; cns++) {
		if (cns <= 8 ? cns != 4 : cns == NVME_CNS_COMMAND_SETS)
			continue;
		assert_int_equal(identify(b, cns, 1), NVME_SC_INVALID_FIELD);
		assert_true(b->reply.status.dnr);
	}
	test_free(b);
}

static void
a_discovery_controller_identifies_itself_alone(void **state)
{
	struct bench *b = bench_enabled(&discovery);
	const struct nvme_identify_ctrl *id = (const void *)b->out;

	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	assert_int_equal(id->cntrltype, 2);
	assert_int_equal(le32_get(id->oaes), 1u << 31);
	assert_string_equal(id->subnqn, NVME_DISCOVERY_NQN);
	assert_int_equal(le32_get(id->nn), 0);
	assert_int_not_equal(le16_get(id->maxcmd), 0);
	for (uint32_t cns = 0; cns < 256; cns++)
		if (cns != NVME_CNS_CTRL)
			assert_int_equal(identify(b, cns, 1), NVME_SC_INVALID_FIELD);
	test_free(b);
}

/* ---- logs ---- */

static void
the_error_log_is_newest_first(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	struct nvme_sqe sqe = { .opcode = NVME_READ, .nsid = le32_of(1) };
	const struct nvme_log_error_entry *entry = (const void *)b->out;

	assert_int_equal(get_log(b, NVME_LOG_ERROR, 4096), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	for (uint32_t i = 1; i <= 70; i++) {
		sqe.cid = le16_of((uint16_t)i);
		sqe.cdw10 = le32_of(i * 10);
		ctrl_log_error(&b->ctrl, 2, &sqe, nvme_status_of(NVME_SC_LBA_RANGE, true));
	}
	assert_int_equal(get_log(b, NVME_LOG_ERROR, 4096), NVME_SC_SUCCESS);
	for (uint32_t i = 0; i < CTRL_ERROR_LOG; i++) {
		assert_int_equal(le64_get(entry[i].error_count), 70 - i);
		assert_int_equal(le16_get(entry[i].cid), 70 - i);
		assert_int_equal(le16_get(entry[i].sqid), 2);
		assert_int_equal(le64_get(entry[i].lba), (70 - i) * 10);
		assert_int_equal(le16_get(entry[i].status), 0x80 << 1 | 0x8000);
		assert_int_equal(entry[i].opcode, NVME_READ);
		assert_int_equal(le16_get(entry[i].location), 40);
	}
	ctrl_errors_missed(&b->ctrl, 1000); /* they count, and leave the lines as they are */
	ctrl_log_error(&b->ctrl, 2, &sqe, nvme_status_of(NVME_SC_LBA_RANGE, true));
	assert_int_equal(get_log(b, NVME_LOG_ERROR, 4096), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(entry[0].error_count), 1071);
	assert_int_equal(le64_get(entry[1].error_count), 70);
	test_free(b);
}

static void
an_error_names_the_field_and_the_transport_where_its_status_does(void **state)
{
	static const struct {
		uint8_t opcode;
		uint16_t sqid, location;
		enum nvme_sc sc;
	} rows[] = {
		{ 0x77, 1, 0, NVME_SC_INVALID_OPCODE }, { NVME_READ, 1, 4, NVME_SC_INVALID_NS },
		{ NVME_READ, 1, 39, NVME_SC_SGL_TYPE }, { NVME_READ, 1, 32, NVME_SC_SGL_LENGTH },
		{ NVME_READ, 1, 40, NVME_SC_LBA_RANGE }, { NVME_DATASET_MGMT, 1, 0xffff, NVME_SC_LBA_RANGE },
		{ NVME_WRITE, 1, 0xffff, NVME_SC_TRANSIENT_TRANSPORT },
		{ NVME_ADMIN_GET_LOG_PAGE, 0, 40, NVME_SC_LOG_PAGE },
		{ NVME_ADMIN_SET_FEATURES, 0, 0x072b, NVME_SC_NOT_SAVEABLE },
		{ NVME_ADMIN_SET_FEATURES, 0, 40, NVME_SC_NOT_CHANGEABLE },
		{ NVME_ADMIN_SET_FEATURES, 0, 4, NVME_SC_NOT_NS_SPECIFIC },
		{ NVME_ADMIN_SET_FEATURES, 0, 0xffff, NVME_SC_INVALID_FIELD },
	};
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_log_error_entry *entry = (const void *)b->out;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_sqe sqe = { .opcode = rows[i].opcode };

		ctrl_log_error(&b->ctrl, rows[i].sqid, &sqe, nvme_status_of(rows[i].sc, true));
		assert_int_equal(get_log(b, NVME_LOG_ERROR, 64), NVME_SC_SUCCESS);
		assert_int_equal(le16_get(entry->location), rows[i].location);
		assert_int_equal(entry->trtype, rows[i].sc == NVME_SC_TRANSIENT_TRANSPORT ? 3 : 0);
	}
	test_free(b);
}

static void
an_error_names_the_block_where_its_command_does(void **state)
{
	static const struct {
		uint8_t opcode;
		uint16_t sqid;
		bool named;
	} rows[] = {
		{ NVME_READ, 1, true }, { NVME_WRITE, 1, true }, { NVME_COMPARE, 1, true }, { NVME_VERIFY, 1, true },
		{ NVME_WRITE_ZEROES, 1, true }, { NVME_COPY, 1, true }, { NVME_FLUSH, 1, false },
		{ NVME_DATASET_MGMT, 1, false }, { NVME_RESV_REGISTER, 1, false }, { NVME_RESV_REPORT, 1, false },
		{ NVME_RESV_ACQUIRE, 1, false }, { NVME_RESV_RELEASE, 1, false }, { NVME_FABRICS, 1, false },
		{ 0x81, 1, false }, { NVME_ADMIN_GET_LOG_PAGE, 0, false },
	};
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_log_error_entry *entry = (const void *)b->out;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_sqe sqe = { .opcode = rows[i].opcode, .cdw10 = le32_of(0x100) };

		ctrl_log_error(&b->ctrl, rows[i].sqid, &sqe, nvme_status_of(NVME_SC_INTERNAL, true));
		assert_int_equal(get_log(b, NVME_LOG_ERROR, 64), NVME_SC_SUCCESS);
		assert_int_equal(le64_get(entry->lba), rows[i].named ? 0x100 : 0);
	}
	test_free(b);
}

static void
smart_counts_in_thousands_rounded_up_and_time_rounded_down(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_log_smart *smart = (const void *)b->out;

	b->stats = (struct ctrl_stats){
		.counts = { .reads = 3, .writes = 4, .read_blocks512 = 1001, .write_blocks512 = 1000, .busy_s = 179,
			.media_errors = 5, .errors = 6 },
		.on_ms = 7200000, .power_cycles = 7, .unsafe_shutdowns = 8, .wear = CTRL_UNWORN,
	};
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(smart->units_read.low), 2);
	assert_int_equal(le64_get(smart->units_written.low), 1);
	assert_int_equal(le64_get(smart->host_reads.low), 3);
	assert_int_equal(le64_get(smart->host_writes.low), 4);
	assert_int_equal(le64_get(smart->busy_minutes.low), 2);
	assert_int_equal(le64_get(smart->power_on_hours.low), 2);
	assert_int_equal(smart->available_spare, 100);
	assert_int_equal(smart->percentage_used, 0);
	assert_int_equal(le64_get(smart->power_cycles.low), 7);
	assert_int_equal(le64_get(smart->unsafe_shutdowns.low), 8);
	assert_int_equal(le64_get(smart->media_errors.low), 5);
	assert_int_equal(le64_get(smart->error_entries.low), 6);
	assert_int_equal(smart->critical_warning, 0); /* a medium failed, but before the last start */
	assert_int_equal(admin(b, NVME_ADMIN_GET_LOG_PAGE, UINT32_MAX, 2 | 127 << 16, 0, 512), NVME_SC_SUCCESS);
	assert_int_equal(admin(b, NVME_ADMIN_GET_LOG_PAGE, 1, 2 | 127 << 16, 0, 512), NVME_SC_INVALID_FIELD);
	assert_int_equal(b->reply.data_len, 0);
	test_free(b);
}

/* And it is no reason for a warning that its life is over; too few spare blocks are. */
static void
smart_has_the_worst_of_the_volumes(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_log_smart *smart = (const void *)b->out;

	b->stats.wear = CTRL_UNWORN;
	ctrl_wear_add(&b->stats.wear, (struct ctrl_wear){ .used = 255, .spare = 100, .spare_threshold = 10 });
	ctrl_wear_add(&b->stats.wear, (struct ctrl_wear){ .used = 3, .spare = 90, .spare_threshold = 1 });
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	assert_int_equal(smart->percentage_used, 255);
	assert_int_equal(smart->available_spare, 90);
	assert_int_equal(smart->spare_threshold, 1);
	assert_int_equal(smart->critical_warning, 0);
	ctrl_wear_add(&b->stats.wear, (struct ctrl_wear){ .used = 0, .spare = 19, .spare_threshold = 20 });
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	assert_int_equal(smart->available_spare, 19);
	assert_int_equal(smart->critical_warning, NVME_SMART_SPARE);
	ctrl_wear_add(&b->stats.wear, CTRL_UNWORN);
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	assert_int_equal(smart->available_spare, 19);
	assert_int_equal(smart->percentage_used, 255);
	test_free(b);
}

static void
the_tables_agree_with_what_is_answered(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	le32 pages[256], features[256], admins[256];

	assert_int_equal(get_log(b, NVME_LOG_PAGES, 1024), NVME_SC_SUCCESS);
	memcpy(pages, b->out, sizeof(pages));
	assert_int_equal(get_log(b, NVME_LOG_FEATURE_EFFECTS, 1024), NVME_SC_SUCCESS);
	memcpy(features, b->out, sizeof(features));
	assert_int_equal(get_log(b, NVME_LOG_EFFECTS, 4096), NVME_SC_SUCCESS);
	memcpy(admins, b->out, sizeof(admins));
	assert_int_equal(get_le32(b->out + 1024 + 4 * NVME_WRITE), 0x100003);
	assert_int_equal(get_le32(b->out + 1024 + 4 * NVME_READ), 0x100001);
	for (uint32_t i = 0; i < 512; i++) { /* each is of a namespace, the controller or the subsystem: of one */
		uint32_t word = get_le32(b->out + 4 * i), scope = word >> 20;

		assert_int_equal(scope == 0, word == 0);
		assert_true(scope == 0 || scope == 1 || (i < 256 && (scope == 2 || scope == 32)));
	}
	assert_int_equal(get_log(b, NVME_LOG_MI_EFFECTS, 4096), NVME_SC_SUCCESS);
	assert_true(all_zero(b->out, 4096));
	assert_int_equal(get_log_at(b, NVME_LOG_MI_EFFECTS, 4, 4100), NVME_SC_INVALID_FIELD);

	for (uint32_t i = 0; i < 256; i++) {
		assert_int_equal(get_log(b, i, 512) != NVME_SC_LOG_PAGE, le32_get(pages[i]) & 1);
		assert_int_equal(get_feature(b, i | NVME_SELECT_CAPABILITIES << 8, 0, 0) == NVME_SC_SUCCESS,
		    le32_get(features[i]) & 1);
		assert_int_equal(admin(b, (uint8_t)i, 0, 0, 0, 0) != NVME_SC_INVALID_OPCODE,
		    le32_get(admins[i]) & 1);
	}
	test_free(b);
}

static void
a_page_is_read_in_parts_and_zeros_follow_it(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	uint8_t whole[512];

	b->stats.counts.reads = 0x123456789;
	assert_int_equal(get_log(b, NVME_LOG_SMART, 512), NVME_SC_SUCCESS);
	memcpy(whole, b->out, sizeof(whole));
	for (uint32_t at = 0; at <= 512; at += 4) {
		assert_int_equal(get_log_at(b, NVME_LOG_SMART, 64, at), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.data_len, 64);
		assert_memory_equal(b->out, whole + at, at < 448 ? 64 : 512 - at);
		assert_true(all_zero(b->out + (at < 448 ? 64 : 512 - at), at < 448 ? 0 : at - 448));
	}
	assert_int_equal(get_log_at(b, NVME_LOG_SMART, 64, 516), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log_at(b, NVME_LOG_SMART, 64, 2), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log_at(b, NVME_LOG_SMART, 64, UINT64_MAX - 3), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(b, NVME_LOG_SMART, 1 << 20), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.data_len, 1 << 20);
	assert_true(all_zero(b->out + 512, CTRL_PAGE_MAX - 512));
	assert_int_equal(get_log(b, NVME_LOG_SMART, (1 << 20) + 4), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(b, 0x7f, 64), NVME_SC_LOG_PAGE);
	test_free(b);
}

static void
the_firmware_log_has_one_slot(void **state)
{
	struct bench *b = bench_enabled(&nvm);

	assert_int_equal(get_log(b, NVME_LOG_FIRMWARE, 512), NVME_SC_SUCCESS);
	assert_int_equal(b->out[0], 1);
	assert_memory_equal(b->out + 8, "0.1     ", 8);
	assert_true(all_zero(b->out + 16, 496));
	test_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identify_controller_satisfies_hosts),
		cmocka_unit_test(identify_namespace_tells_size_and_format),
		cmocka_unit_test(the_active_list_begins_behind_the_nsid),
		cmocka_unit_test(descriptors_name_a_namespace_for_good),
		cmocka_unit_test(other_identify_pages_are_as_small_as_allowed),
		cmocka_unit_test(a_discovery_controller_identifies_itself_alone),
		cmocka_unit_test(the_error_log_is_newest_first),
		cmocka_unit_test(an_error_names_the_field_and_the_transport_where_its_status_does),
		cmocka_unit_test(an_error_names_the_block_where_its_command_does),
		cmocka_unit_test(smart_counts_in_thousands_rounded_up_and_time_rounded_down),
		cmocka_unit_test(smart_has_the_worst_of_the_volumes),
		cmocka_unit_test(the_tables_agree_with_what_is_answered),
		cmocka_unit_test(a_page_is_read_in_parts_and_zeros_follow_it),
		cmocka_unit_test(the_firmware_log_has_one_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
