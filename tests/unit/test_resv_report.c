#include "resv_bench.h"

#include <string.h>

enum { GUARD = 0xa5, ROOM = RESV_REPORT_MAX + 512 };

static enum nvme_sc
ask(const struct resv_bench *b, uint32_t cdw10, uint32_t cdw11, const struct resv_controller *controllers,
    uint32_t count, uint8_t out[ROOM])
{
	const struct nvme_sqe sqe = { .opcode = NVME_RESV_REPORT, .cdw10 = le32_of(cdw10), .cdw11 = le32_of(cdw11) };
	uint64_t bytes = nvme_resv_report_bytes(&sqe);
	struct nvme_status status;

	memset(out, GUARD, ROOM);
	status = resv_report(&b->resv, &sqe, controllers, count, out, bytes);
	for (uint64_t i = bytes; i < ROOM; i++)
		assert_int_equal(out[i], GUARD);
	if (!nvme_ok(status)) {
		assert_int_equal(out[0], GUARD);
		assert_true(status.dnr);
	}
	return nvme_sc(status);
}

static struct resv_controller
controller(unsigned host, uint16_t cntlid)
{
	struct resv_controller c = { .cntlid = cntlid };

	memcpy(c.hostid, resv_hostid(host), RESV_HOSTID_LEN);
	return c;
}

static void
a_report_has_its_numbers_where_the_specification_says(void **state)
{
	struct resv_controller controllers[] = { controller(9, 4), controller(2, 0x0102), controller(2, 7) };
	uint8_t out[ROOM], expect[64 * 4] = { 0 };
	struct resv_bench b;

	resv_set(&b, "EARO 1a 2b* 3c");
	b.resv.generation = 0x04030201;
	b.resv.ptpl = true;
	b.resv.hosts[2].key = UINT64_C(0x8877665544332211);
	memcpy(expect, (uint8_t[]){ 1, 2, 3, 4, 4, 3, 0, 0, 0, 1 }, 10);
	memcpy(expect + 64, (uint8_t[]){ 0xff, 0xff, 0, 0, 0, 0, 0, 0, 'a' }, 9);
	memcpy(expect + 128, (uint8_t[]){ 0x02, 0x01, 1, 0, 0, 0, 0, 0, 'b' }, 9);
	memcpy(expect + 192, (uint8_t[]){ 0xff, 0xff }, 2);
	memcpy(expect + 200, (uint8_t[]){ 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 }, 8);
	for (unsigned i = 1; i <= 3; i++)
		memcpy(expect + 64 * i + 16, resv_hostid(i), RESV_HOSTID_LEN);
	assert_int_equal(ask(&b, sizeof(expect) / 4 - 1, NVME_RESV_REPORT_EDS, controllers, 3, out), NVME_SC_SUCCESS);
	assert_memory_equal(out, expect, sizeof(expect));
}

static void
all_registrants_are_marked_where_all_of_them_hold_it(void **state)
{
	static const char *const states[] = { "- 1a 2b", "WE 1a* 2b", "EA 1a* 2b", "WERO 1a* 2b", "EARO 1a* 2b",
		"WEAR 1a* 2b", "EAAR 1a* 2b" };
	uint8_t out[ROOM];
	struct resv_bench b;

	for (unsigned type = 0; type < 7; type++) {
		resv_set(&b, states[type]);
		assert_int_equal(ask(&b, 47, NVME_RESV_REPORT_EDS, NULL, 0, out), NVME_SC_SUCCESS);
		assert_int_equal(out[4], type);
		assert_int_equal(out[64 + 2], type != 0);
		assert_int_equal(out[128 + 2], type >= NVME_RESV_WE_AR);
		assert_int_equal(out[9], 0);
	}
}

static void
a_report_is_cut_at_any_dword_and_padded_with_zeros_and_its_count_is_whole(void **state)
{
	static uint8_t whole[ROOM], out[ROOM];
	struct resv_command add = { 1, NVME_RESV_REGISTER, 0, { 0, 'k' } };
	struct resv_bench b;

	resv_init(&b.resv, true);
	for (; add.host <= RESV_HOSTS_MAX; add.host++)
		assert_int_equal(resv_do(&b, &add), NVME_SC_SUCCESS);
	assert_int_equal(ask(&b, ROOM / 4 - 1, 0xffffffff, NULL, 0, whole), NVME_SC_SUCCESS);
	assert_int_equal(get_le16(whole + 5), RESV_HOSTS_MAX);
	assert_memory_equal(whole + RESV_REPORT_MAX - 48, resv_hostid(RESV_HOSTS_MAX), RESV_HOSTID_LEN);
	for (size_t i = RESV_REPORT_MAX; i < ROOM; i++)
		assert_int_equal(whole[i], 0);
	for (uint32_t dwords = 1; dwords <= ROOM / 4; dwords++) {
		assert_int_equal(ask(&b, dwords - 1, NVME_RESV_REPORT_EDS, NULL, 0, out), NVME_SC_SUCCESS);
		assert_memory_equal(out, whole, (size_t)dwords * 4);
	}
}

static void
the_short_form_has_no_room_for_host_ids_of_16_bytes(void **state)
{
	uint8_t out[ROOM];
	struct resv_bench b;

	resv_set(&b, "WE 1a*");
	assert_int_equal(ask(&b, 31, 0, NULL, 0, out), NVME_SC_HOST_ID_FORMAT);
	assert_int_equal(ask(&b, 31, ~NVME_RESV_REPORT_EDS, NULL, 0, out), NVME_SC_HOST_ID_FORMAT);
	resv_set(&b, "-");
	assert_int_equal(ask(&b, 5, 0, NULL, 0, out), NVME_SC_HOST_ID_FORMAT);
	assert_int_equal(ask(&b, 5, 1, NULL, 0, out), NVME_SC_SUCCESS);
}

static void
the_length_asked_for_does_not_wrap(void **state)
{
	const struct nvme_sqe most = { .cdw10 = le32_of(UINT32_MAX) }, least = { .cdw10 = le32_of(0) };

	assert_true(nvme_resv_report_bytes(&most) == UINT64_C(1) << 34);
	assert_true(nvme_resv_report_bytes(&least) == 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_has_its_numbers_where_the_specification_says),
		cmocka_unit_test(all_registrants_are_marked_where_all_of_them_hold_it),
		cmocka_unit_test(a_report_is_cut_at_any_dword_and_padded_with_zeros_and_its_count_is_whole),
		cmocka_unit_test(the_short_form_has_no_room_for_host_ids_of_16_bytes),
		cmocka_unit_test(the_length_asked_for_does_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
