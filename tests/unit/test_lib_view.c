/*
 * test_lib_view.c - the page of what goes on at a namespace, decoded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <weir/weir.h>

#include "base/rng.h"
#include "wire/extension.h"

/* Each number at its place is another one. */
static struct weir_log_view
page_of(void)
{
	static const uint8_t guid[16] = WEIR_VIEW_GUID;
	struct weir_log_view page;
	uint8_t *bytes = (uint8_t *)&page;

	for (size_t i = 0; i < sizeof(page); i++)
		bytes[i] = i % 4 == 0 ? (uint8_t)(i / 4) : 0;
	memcpy(page.guid, guid, sizeof(guid));
	page.version = le16_of(1);
	page.length = le16_of(sizeof(page));
	page.state = 1;
	page.kinds[0].state = 2;
	page.kinds[1].state = 9;
	return page;
}

static void
each_number_is_found_at_its_place(void **state)
{
	struct weir_log_view page = page_of();
	const uint8_t *bytes = (const uint8_t *)&page;
	struct weir_view view;

	(void)state;
	page.flags = le32_of(WEIR_VIEW_SHARED | WEIR_VIEW_STALLED | WEIR_VIEW_WEARS);
	assert_true(weir_view_decode(&page, sizeof(page), &view));
	assert_true(view.shared && !view.paced && view.stalled && !view.known && view.wears);
	assert_int_equal(view.nsid, 5);
	assert_int_equal(view.state, WEIR_AVOIDANCE);
	assert_int_equal(view.rate, get_le64(bytes + 32));
	assert_int_equal(view.occupied, get_le64(bytes + 40));
	assert_int_equal(view.most, get_le64(bytes + 48));
	assert_int_equal(view.write_cost, 56 / 4);
	assert_int_equal(view.tenants, 60 / 4);
	assert_int_equal(view.waiting, 64 / 4);
	assert_int_equal(view.inflight, 68 / 4);
	assert_int_equal(view.kinds[WEIR_READS].state, WEIR_CONGESTED);
	assert_int_equal(view.kinds[WEIR_WRITES].state, WEIR_OVERLOADED);
	for (int kind = WEIR_READS; kind <= WEIR_WRITES; kind++) {
		const uint8_t *at = bytes + 80 + kind * 96, *mine = bytes + 288 + kind * 64;

		assert_int_equal(view.kinds[kind].ewma_ns, get_le64(at + 8));
		assert_int_equal(view.kinds[kind].thresh_ns, get_le64(at + 16));
		assert_int_equal(view.kinds[kind].headroom, get_le64(at + 24));
		assert_int_equal(view.kinds[kind].done.ios, get_le64(at + 32));
		assert_int_equal(view.kinds[kind].done.lately_bytes, get_le64(at + 64));
		assert_int_equal(view.kinds[kind].done.p999_ns, get_le64(at + 88));
		assert_int_equal(view.host.kinds[kind].bytes, get_le64(mine + 8));
		assert_int_equal(view.host.kinds[kind].failed, get_le64(mine + 16));
		assert_int_equal(view.host.kinds[kind].lately_ios, get_le64(mine + 24));
		assert_int_equal(view.host.kinds[kind].p50_ns, get_le64(mine + 40));
		assert_int_equal(view.host.kinds[kind].p99_ns, get_le64(mine + 48));
	}
	assert_int_equal(view.host.weight, 272 / 4);
	assert_int_equal(view.host.credits, 276 / 4);
	assert_int_equal(view.host.waiting, 280 / 4);
	assert_int_equal(view.host.inflight, 284 / 4);
	assert_int_equal(view.medium.written_bytes, get_le64(bytes + 416));
	assert_int_equal(view.medium.media_bytes, get_le64(bytes + 424));
	assert_int_equal(view.medium.used_percent, 432 / 4);
	assert_int_equal(view.medium.spare_percent, 436 / 4);
}

static void
what_is_no_such_page_is_none(void **state)
{
	struct weir_log_view page = page_of();
	struct weir_view view;

	(void)state;
	assert_false(weir_view_decode(&page, sizeof(page) - 1, &view));
	assert_int_equal(view.nsid, 0);
	page.length = le16_of(sizeof(page) - 1);
	assert_false(weir_view_decode(&page, sizeof(page), &view));
	page.length = le16_of(sizeof(page) + 100);
	page.version = le16_of(2);
	assert_true(weir_view_decode(&page, sizeof(page), &view));
	page.guid[15]++;
	assert_false(weir_view_decode(&page, sizeof(page), &view));
	assert_int_equal(view.nsid, 0);
}

static void
states_have_names_whatever_the_page_says(void **state)
{
	struct weir_log_view page = page_of();
	struct weir_view view;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (unsigned i = 0; i < 256; i++) {
		page.state = (uint8_t)i;
		page.kinds[0].state = (uint8_t)rng_next(&rng);
		assert_true(weir_view_decode(&page, sizeof(page), &view));
		assert_non_null(weir_view_state_name(view.state));
		assert_non_null(weir_view_state_name(view.kinds[WEIR_READS].state));
	}
	assert_string_equal(weir_view_state_name(WEIR_CONGESTED), "congested");
	assert_null(weir_view_state_name((enum weir_view_state)4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_is_found_at_its_place),
		cmocka_unit_test(what_is_no_such_page_is_none),
		cmocka_unit_test(states_have_names_whatever_the_page_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
