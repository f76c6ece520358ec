#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/fabrics.h"

static void
every_status_survives_the_wire(void **state)
{
	for (unsigned sct = 0; sct < 8; sct++) {
		for (unsigned sc = 0; sc < 256; sc++) {
			struct nvme_status in = nvme_status_of((enum nvme_sc)(sct << 8 | sc), sc & 1), out;

			out = nvme_status_get(nvme_status_put(in));
			assert_int_equal(out.sct, sct);
			assert_int_equal(out.sc, sc);
			assert_int_equal(out.dnr, sc & 1);
			assert_int_equal(nvme_sc(out), sct << 8 | sc);
			assert_int_equal(nvme_ok(out), sct == 0 && sc == 0);
		}
	}
	assert_int_equal(le16_get(nvme_status_put(nvme_status_of(NVME_SC_INVALID_FIELD, true))), 0x8004);
	assert_int_equal(le16_get(nvme_status_put(nvme_status_of(NVME_SC_READ_ERROR, false))), 0x0502);
}

static void
a_status_has_a_name_and_connect_has_its_own(void **state)
{
	assert_string_equal(nvme_status_text(NVME_OK, false), "success");
	assert_string_equal(nvme_status_text(nvme_status_of(NVME_SC_CONNECT_PARAMS, true), true),
	    "connect invalid parameters");
	assert_string_equal(nvme_status_text(nvme_status_of(NVME_SC_CONNECT_PARAMS, true), false),
	    "attempted write to read only range");
	assert_string_equal(nvme_status_text(nvme_status_of(NVME_SC_LBA_RANGE, true), true), "LBA out of range");
	assert_string_equal(nvme_status_text(nvme_status_of((enum nvme_sc)0x0ff, false), false),
	    "unknown generic status");
	assert_string_equal(nvme_status_text(nvme_status_of((enum nvme_sc)0x701, false), false), "unknown status");
}

static void
each_failure_of_the_machine_has_its_status(void **state)
{
	static const struct {
		int error;
		bool write;
		enum nvme_sc sc;
		bool dnr;
	} rows[] = {
		{ 0, true, NVME_SC_SUCCESS, false },
		{ -ENOSPC, true, NVME_SC_CAPACITY, true },
		{ -EDQUOT, true, NVME_SC_CAPACITY, true },
		{ -EFBIG, true, NVME_SC_CAPACITY, true },
		{ -EIO, false, NVME_SC_READ_ERROR, false },
		{ -EIO, true, NVME_SC_WRITE_FAULT, false },
		{ -EOPNOTSUPP, true, NVME_SC_INVALID_OPCODE, true },
		{ -ERANGE, false, NVME_SC_LBA_RANGE, true },
		{ -EROFS, true, NVME_SC_WRITE_PROTECTED, true },
		{ -ENOMEM, false, NVME_SC_INTERNAL, false },
		{ -EXDEV, false, NVME_SC_INTERNAL, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvme_status status = nvme_status_of_errno(rows[i].error, rows[i].write);

		assert_int_equal(nvme_sc(status), rows[i].sc);
		assert_int_equal(status.dnr, rows[i].dnr);
	}
}

static void
every_failed_status_is_an_error(void **state)
{
	assert_int_equal(nvme_status_errno(NVME_OK), 0);
	for (unsigned sct = 0; sct < 8; sct++)
		for (unsigned sc = sct == 0; sc < 256; sc++)
			assert_true(nvme_status_errno(nvme_status_of((enum nvme_sc)(sct << 8 | sc), false)) < 0);
	assert_int_equal(nvme_status_errno(nvme_status_of(NVME_SC_CAPACITY, true)), -ENOSPC);
	assert_int_equal(nvme_status_errno(nvme_status_of(NVME_SC_LBA_RANGE, true)), -ERANGE);
	assert_int_equal(nvme_status_errno(nvme_status_of(NVME_SC_READ_ERROR, false)), -EIO);
	assert_int_equal(nvme_status_errno(nvme_status_of(NVME_SC_INVALID_NS, true)), -ENODEV);
	assert_int_equal(nvme_status_errno(nvme_status_of(NVME_SC_COMPARE, true)), -EILSEQ);
	assert_int_equal(nvme_status_errno(nvme_status_of((enum nvme_sc)0x301, false)), -ENOLINK);
}

static void
an_nqn_ends_within_223_bytes(void **state)
{
	char field[NVME_NQN_FIELD] = NVME_DISCOVERY_NQN;

	assert_int_equal(nvme_nqn_length(field), strlen(NVME_DISCOVERY_NQN));
	memset(field + 20, 'a', sizeof(field) - 20);
	assert_int_equal(nvme_nqn_length(field), -1);
	field[224] = '\0';
	assert_int_equal(nvme_nqn_length(field), -1);
	field[223] = '\0';
	assert_int_equal(nvme_nqn_length(field), 223);
	field[0] = '\0';
	assert_int_equal(nvme_nqn_length(field), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_survives_the_wire),
		cmocka_unit_test(a_status_has_a_name_and_connect_has_its_own),
		cmocka_unit_test(each_failure_of_the_machine_has_its_status),
		cmocka_unit_test(every_failed_status_is_an_error),
		cmocka_unit_test(an_nqn_ends_within_223_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
