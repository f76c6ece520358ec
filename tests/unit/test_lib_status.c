/*
 * lib/error and lib/status: what a call that failed leaves behind, and what the end of a command is called.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/error.h"
#include "lib/status.h"

static void *
fails_elsewhere(void *before)
{
	strcpy(before, weir_error());
	(void)lib_fail(-EIO, "of another thread");
	return NULL;
}

static void
an_error_is_its_threads_own(void **state)
{
	char before[600] = "?";
	pthread_t thread;

	assert_string_equal(weir_error(), "");
	assert_int_equal(lib_fail(-EINVAL, "a %s of %d", "text", 2), -EINVAL);
	assert_string_equal(weir_error(), "a text of 2");
	assert_int_equal(pthread_create(&thread, NULL, fails_elsewhere, before), 0);
	pthread_join(thread, NULL);
	assert_string_equal(before, "");
	assert_string_equal(weir_error(), "a text of 2");
}

static void
an_error_may_quote_the_one_before_and_is_cut(void **state)
{
	char longer[2000];

	(void)lib_fail(-EINVAL, "first");
	(void)lib_fail(-EIO, "second, after: %s", weir_error());
	assert_string_equal(weir_error(), "second, after: first");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)lib_fail(-EIO, "%s", longer);
	assert_in_range(strlen(weir_error()), 100, sizeof(longer) - 2);
}

static void
a_status_means_what_the_header_says(void **state)
{
	static const struct {
		enum nvme_sc sc;
		int error;
	} rows[] = {
		{ NVME_SC_SUCCESS, 0 }, { NVME_SC_READ_ERROR, -EIO }, { NVME_SC_WRITE_FAULT, -EIO },
		{ NVME_SC_INTERNAL, -EIO }, { NVME_SC_COMPARE, -EILSEQ }, { NVME_SC_INVALID_FIELD, -EINVAL },
		{ NVME_SC_SIZE_LIMIT, -EINVAL }, { NVME_SC_INVALID_OPCODE, -EOPNOTSUPP },
		{ NVME_SC_LOG_PAGE, -EOPNOTSUPP }, { NVME_SC_INVALID_NS, -ENODEV }, { NVME_SC_LBA_RANGE, -ERANGE },
		{ NVME_SC_WRITE_PROTECTED, -EROFS }, { NVME_SC_DENIED, -EACCES }, { NVME_SC_RESV_CONFLICT, -EBUSY },
		{ NVME_SC_CAPACITY, -ENOSPC }, { NVME_SC_NS_CAPACITY, -ENOSPC },
		{ NVME_SC_ABORT_REQUESTED, -ECANCELED },
		{ NVME_SC_FUSED_FAILED, -ECANCELED }, { NVME_SC_HOST_ABORTED, -ECANCELED },
		{ NVME_SC_INTERRUPTED, -EAGAIN }, { NVME_SC_ANA_INACCESSIBLE, -ENOLINK },
		{ NVME_SC_ANA_PERSISTENT_LOSS, -ENOLINK },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct weir_result result = lib_result(0, nvme_status_of(rows[i].sc, i % 2), 5, 6);

		assert_int_equal(result.error, rows[i].error);
		assert_int_equal(result.status, rows[i].sc | (i % 2 ? WEIR_STATUS_DNR : 0));
		assert_int_equal(result.dw0, 5);
		assert_int_equal(result.dw1, 6);
	}
}

static void
an_error_of_our_own_stands(void **state)
{
	struct weir_result result = lib_result(-ETIMEDOUT, NVME_OK, 0, 0);

	assert_int_equal(result.error, -ETIMEDOUT);
	assert_int_equal(result.status, 0);
	result = lib_result(-ETIMEDOUT, nvme_status_of(NVME_SC_ANA_INACCESSIBLE, false), 0, 0);
	assert_int_equal(result.error, -ETIMEDOUT);
	assert_int_equal(result.status, NVME_SC_ANA_INACCESSIBLE);
}

static void
every_status_has_a_name(void **state)
{
	assert_string_equal(weir_status_text(0), "success");
	assert_string_equal(weir_status_text(0x285), "compare failure");
	assert_string_equal(weir_status_text(0x285 | WEIR_STATUS_DNR), "compare failure");
	for (unsigned status = 0; status <= UINT16_MAX; status++)
		assert_true(strlen(weir_status_text((weir_status)status)) > 4);
}

static void
every_result_has_words(void **state)
{
	static const struct weir_result given_up = { .error = -ETIMEDOUT, .status = NVME_SC_ANA_INACCESSIBLE };
	static const struct weir_result refused = { .error = -EROFS, .status = NVME_SC_WRITE_PROTECTED };
	static const struct weir_result medium = { .error = -EIO, .status = NVME_SC_READ_ERROR };
	static const struct weir_result silent = { .error = -ENOMEM }, lost = { .error = -EIO }, well = { 0 };

	assert_non_null(strstr(weir_result_text(&given_up), "given up"));
	assert_string_equal(weir_result_text(&refused), weir_status_text(NVME_SC_WRITE_PROTECTED));
	assert_string_equal(weir_result_text(&medium), weir_status_text(NVME_SC_READ_ERROR));
	assert_string_equal(weir_result_text(&silent), strerror(ENOMEM));
	assert_non_null(strstr(weir_result_text(&lost), "lost its cache"));
	assert_string_equal(weir_result_text(&well), "success");
	for (int error = 0; error < 200; error++)
		assert_true(strlen(weir_result_text(&(struct weir_result){ .error = -error })) > 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_is_its_threads_own),
		cmocka_unit_test(an_error_may_quote_the_one_before_and_is_cut),
		cmocka_unit_test(a_status_means_what_the_header_says),
		cmocka_unit_test(an_error_of_our_own_stands),
		cmocka_unit_test(every_status_has_a_name),
		cmocka_unit_test(every_result_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
