#include "ctrl_bench.h"

enum { ALL_TYPES = NVME_RESCAP_TYPES, MASK = NVME_FEATURE_RESV_MASK, PTPL = NVME_FEATURE_RESV_PERSISTENCE,
	WP = NVME_FEATURE_PROTECTION };

/* Namespace 1 keeps reservations over a loss of power, 2 does not, and 3 takes none. */
static struct bench *
bench_reservations(uint8_t nwpc)
{
	struct bench *b = bench_enabled(&nvm);
	struct snapshot *next = bench_copy(b);

	next->ns[2] = next->ns[1];
	next->ns[1].nsid = 2;
	next->ns[0].rescap = ALL_TYPES | NVME_RESCAP_PTPL;
	next->ns[1].rescap = ALL_TYPES;
	next->subsys.ns_count = 3;
	next->subsys.reservations = true;
	next->subsys.nwpc = nwpc;
	bench_update(b, next);
	return b;
}

static enum nvme_sc
set(struct bench *b, uint32_t fid, uint32_t nsid, uint32_t value)
{
	return admin(b, NVME_ADMIN_SET_FEATURES, nsid, fid, value, 0);
}

static enum nvme_sc
get(struct bench *b, uint32_t fid, uint32_t nsid)
{
	return admin(b, NVME_ADMIN_GET_FEATURES, nsid, fid, 0, 0);
}

static void
expect_page(struct bench *b, uint64_t count, uint8_t type, uint8_t left, uint32_t nsid)
{
	const struct nvme_log_reservation *page = (const void *)b->out;

	assert_int_equal(get_log(b, NVME_LOG_RESERVATION, 64), NVME_SC_SUCCESS);
	assert_int_equal(le64_get(page->count), count);
	assert_int_equal(page->type, type);
	assert_int_equal(page->left, left);
	assert_int_equal(le32_get(page->nsid), nsid);
	assert_true(all_zero(b->out + 16, 48));
}

static void
what_is_not_offered_is_not_there(void **state)
{
	struct bench *b = bench_enabled(&nvm);
	const struct nvme_identify_ctrl *id;

	for (uint32_t fid = MASK; fid <= WP; fid++) {
		assert_int_equal(set(b, fid, 1, 0), NVME_SC_INVALID_FIELD);
		assert_int_equal(get(b, fid, 1), NVME_SC_INVALID_FIELD);
	}
	assert_int_equal(get_log(b, NVME_LOG_RESERVATION, 64), NVME_SC_LOG_PAGE);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	id = (const void *)b->out;
	assert_int_equal(le16_get(id->oncs) & NVME_ONCS_RESERVATIONS, 0);
	assert_int_equal(id->nwpc, 0);
	test_free(b);
	b = bench_reservations(7);
	assert_int_equal(identify(b, NVME_CNS_CTRL, 0), NVME_SC_SUCCESS);
	id = (const void *)b->out;
	assert_int_equal(le16_get(id->oncs) & NVME_ONCS_RESERVATIONS, 0x20);
	assert_int_equal(id->nwpc, 7);
	assert_int_equal(get_log(b, NVME_LOG_EFFECTS, sizeof(struct nvme_log_effects)), NVME_SC_SUCCESS);
	for (unsigned opcode = 0; opcode < 256; opcode++)
		if (opcode >= NVME_RESV_REGISTER && opcode <= NVME_RESV_RELEASE)
			assert_int_equal(le32_get(((const struct nvme_log_effects *)(const void *)b->out)->io[opcode]),
			    opcode == 0x0d || opcode == 0x0e || opcode == 0x11 || opcode == 0x15 ? 0x100001 : 0);
	assert_int_equal(identify(b, NVME_CNS_NS, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->out[31], 0x7f);
	assert_int_equal(identify(b, NVME_CNS_CSI_INDEPENDENT_NS, 2), NVME_SC_SUCCESS);
	assert_int_equal(b->out[2], 0x7e);
	test_free(b);
}

/* ---- notifications ---- */

static void
notifications_are_read_oldest_first_until_the_page_is_empty(void **state)
{
	struct bench *b = bench_reservations(0);

	assert_true(hold(b, 1));
	assert_true(hold(b, 2));
	expect_page(b, 0, 0, 0, 0);
	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_REGISTRATION_PREEMPTED);
	ctrl_reservation_notice(&b->ctrl, 2, NVME_RESV_RELEASED);
	assert_int_equal(event(b), 0x800006);
	assert_int_equal(event(b), NO_EVENT); /* one page, one event */
	expect_page(b, 1, 1, 1, 1);
	ctrl_reservation_notice(&b->ctrl, 2, NVME_RESV_PREEMPTED);
	assert_int_equal(event(b), 0x800006);
	expect_page(b, 2, 2, 1, 2);
	expect_page(b, 3, 3, 0, 2);
	expect_page(b, 0, 0, 0, 0);
	ctrl_reservation_notice(&b->ctrl, 9, NVME_RESV_PREEMPTED); /* there is no such namespace */
	expect_page(b, 0, 0, 0, 0);
	test_free(b);
}

static void
what_came_while_the_event_was_silent_is_told_unless_it_was_read(void **state)
{
	struct bench *b = bench_reservations(0);

	for (uint16_t cid = 0; cid < 3; cid++)
		assert_true(hold(b, cid));
	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_RELEASED);
	assert_int_equal(event(b), 0x800006);
	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_RELEASED);
	assert_int_equal(event(b), NO_EVENT);
	expect_page(b, 1, 2, 1, 1);
	assert_int_equal(event(b), 0x800006);
	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_RELEASED);
	expect_page(b, 2, 2, 1, 1);
	expect_page(b, 3, 2, 0, 1);
	assert_int_equal(event(b), NO_EVENT);
	test_free(b);
}

static void
lost_notifications_show_in_the_count_of_the_last(void **state)
{
	struct bench *b = bench_reservations(0);

	for (uint32_t i = 1; i <= CTRL_RESV_LOG + 5; i++)
		ctrl_reservation_notice(&b->ctrl, i % 2 + 1, NVME_RESV_RELEASED);
	for (uint32_t i = 1; i < CTRL_RESV_LOG; i++)
		expect_page(b, i, 2, (uint8_t)(CTRL_RESV_LOG - i), i % 2 + 1);
	expect_page(b, CTRL_RESV_LOG + 5, 2, 0, CTRL_RESV_LOG % 2 + 1);
	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_RELEASED);
	expect_page(b, CTRL_RESV_LOG + 6, 2, 0, 1);
	test_free(b);
}

static void
each_namespace_masks_each_kind_of_its_own(void **state)
{
	struct bench *b = bench_reservations(0);

	for (uint32_t mask = 0; mask <= 0x0e; mask += 2) {
		uint32_t heard = 0;

		assert_int_equal(set(b, MASK, 1, mask), NVME_SC_SUCCESS);
		assert_int_equal(set(b, MASK, 2, ~mask & 0x0e), NVME_SC_SUCCESS);
		assert_int_equal(get(b, MASK, 1), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, mask);
		assert_int_equal(get(b, MASK, 2), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, ~mask & 0x0e);
		for (uint32_t kind = 1; kind <= 3; kind++)
			ctrl_reservation_notice(&b->ctrl, 1, kind);
		while (get_log(b, NVME_LOG_RESERVATION, 64) == NVME_SC_SUCCESS && b->out[8] != 0)
			heard |= 1u << b->out[8];
		assert_int_equal(heard, ~mask & 0x0e);
	}
	assert_int_equal(set(b, MASK, UINT32_MAX, 0x04), NVME_SC_SUCCESS);
	for (uint32_t nsid = 1; nsid <= 2; nsid++) {
		assert_int_equal(get(b, MASK, nsid), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, 4);
	}
	test_free(b);
}

/* Also where a mask was set for all, of whom it is none yet. */
static void
a_new_namespace_of_an_old_number_has_no_mask(void **state)
{
	struct bench *b = bench_reservations(0);
	struct snapshot *next;

	for (uint32_t nsid = 1; nsid <= 2; nsid++)
		assert_int_equal(set(b, MASK, nsid, 2), NVME_SC_SUCCESS);
	next = bench_copy(b);
	next->ns[0].blocks++; /* it grows, and is the one it was; so is one that was protected */
	next->ns[1].protection = NVME_PROTECT_WRITES;
	bench_update(b, next);
	for (uint32_t nsid = 1; nsid <= 2; nsid++) {
		assert_int_equal(get(b, MASK, nsid), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, 2);
	}
	next = bench_copy(b);
	next->ns[1].uuid[3] ^= 1; /* another one in its place */
	bench_update(b, next);
	assert_int_equal(get(b, MASK, 2), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	assert_int_equal(set(b, MASK, UINT32_MAX, 2), NVME_SC_SUCCESS);
	next = bench_copy(b);
	next->subsys.ns_count = 2;
	next->ns[0] = next->ns[1];
	next->ns[1] = next->ns[2];
	bench_update(b, next); /* 1 is deleted, */
	next = bench_copy(b);
	next->subsys.ns_count = 4;
	next->ns[3] = next->ns[1];
	next->ns[1] = next->ns[2] = next->ns[0];
	next->ns[0].nsid = 1;
	next->ns[2] = next->ns[3];
	next->ns[3].nsid = 4;
	next->ns[3].rescap = next->ns[0].rescap;
	bench_update(b, next); /* and created, as 4 is */
	for (uint32_t nsid = 1; nsid <= 4; nsid += nsid) {
		assert_int_equal(get(b, MASK, nsid), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, nsid == 2 ? 2 : 0);
	}
	test_free(b);
}

static void
a_reset_forgets_masks_and_notifications(void **state)
{
	struct bench *b = bench_reservations(0);

	ctrl_reservation_notice(&b->ctrl, 1, NVME_RESV_RELEASED);
	assert_int_equal(set(b, MASK, 1, 0x0e), NVME_SC_SUCCESS);
	property_set(b, NVME_CC, NVME_CC_ENTRIES);
	ctrl_reset_done(&b->ctrl);
	property_set(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_EN);
	expect_page(b, 0, 0, 0, 0);
	assert_int_equal(get(b, MASK, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	test_free(b);
}

static void
wrong_masks_and_wrong_namespaces_are_refused(void **state)
{
	struct bench *b = bench_reservations(7);

	assert_int_equal(set(b, MASK, 1, 1), NVME_SC_INVALID_FIELD);
	assert_int_equal(set(b, MASK, 1, 0x10), NVME_SC_INVALID_FIELD);
	for (uint32_t fid = MASK; fid <= PTPL; fid++) {
		assert_int_equal(set(b, fid, 3, 0), NVME_SC_INVALID_FIELD); /* takes no reservations */
		assert_int_equal(get(b, fid, 3), NVME_SC_INVALID_FIELD);
	}
	for (uint32_t fid = MASK; fid <= WP; fid++) {
		assert_int_equal(set(b, fid, 0, 0), NVME_SC_INVALID_NS);
		assert_int_equal(set(b, fid, 4, 0), NVME_SC_INVALID_NS);
		assert_int_equal(get(b, fid, 4), NVME_SC_INVALID_NS);
		assert_int_equal(get(b, fid, UINT32_MAX), NVME_SC_INVALID_NS);
		assert_int_equal(b->reply.data_len, 0);
		assert_int_equal(set(b, fid | NVME_FEATURE_SAVE, 1, 0), NVME_SC_NOT_SAVEABLE);
		assert_int_equal(get(b, fid | NVME_SELECT_CAPABILITIES << 8, 1), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, NVME_CAPABLE_PER_NS | NVME_CAPABLE_CHANGE);
	}
	test_free(b);
}

/* ---- persistence through power loss, write protection ---- */

static void
persistence_is_asked_of_the_target_for_both_ways(void **state)
{
	struct nvme_sqe ask = { .opcode = NVME_ADMIN_GET_FEATURES, .cdw10 = le32_of(PTPL) };
	struct bench *b = bench_reservations(0);

	assert_int_equal(set(b, PTPL, 1, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.action, CTRL_RESV_PTPL);
	assert_int_equal(b->reply.nsid, 1);
	assert_int_equal(b->reply.value, 1);
	assert_int_equal(ctrl_needs(&b->ctrl, &ask), CTRL_NEEDS_PTPL);
	assert_int_equal(get(b, PTPL, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	b->ptpl = true;
	assert_int_equal(get(b, PTPL, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 1);
	assert_int_equal(get(b, PTPL | NVME_SELECT_DEFAULT << 8, 1), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.dw0, 0);
	assert_int_equal(set(b, PTPL, UINT32_MAX, 0), NVME_SC_SUCCESS);
	assert_int_equal(b->reply.nsid, UINT32_MAX);
	assert_int_equal(b->reply.value, 0);
	assert_int_equal(set(b, PTPL, 2, 1), NVME_SC_INVALID_FIELD); /* it cannot */
	assert_int_equal(set(b, PTPL, 2, 0), NVME_SC_SUCCESS);
	assert_int_equal(set(b, PTPL, 1, 2), NVME_SC_INVALID_FIELD);
	test_free(b);
}

static void
protection_is_left_as_its_state_allows(void **state)
{
	enum { ASKED, FIXED };
	static const uint8_t becomes[4][4] = { /* row: what it is; column: what is asked for */
		{ ASKED, ASKED, ASKED, ASKED }, { ASKED, ASKED, ASKED, ASKED },
		{ FIXED, FIXED, ASKED, FIXED }, { FIXED, FIXED, FIXED, ASKED },
	};
	struct bench *b = bench_reservations(7);

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t nsid = i % 3 == 0 ? UINT32_MAX : 1;
		struct snapshot *next = bench_copy(b);

		next->ns[0].protection = (uint8_t)(i / 4);
		next->ns[1].protection = next->ns[2].protection = (uint8_t)(i % 4);
		bench_update(b, next);
		assert_int_equal(set(b, WP, nsid, i % 4),
		    becomes[i / 4][i % 4] == FIXED ? NVME_SC_NOT_CHANGEABLE : NVME_SC_SUCCESS);
		assert_int_equal(b->reply.action, becomes[i / 4][i % 4] == ASKED ? CTRL_PROTECT : CTRL_NOTHING);
		if (b->reply.action == CTRL_PROTECT) {
			assert_int_equal(b->reply.nsid, nsid);
			assert_int_equal(b->reply.value, i % 4);
		}
		assert_int_equal(get(b, WP, 1), NVME_SC_SUCCESS);
		assert_int_equal(b->reply.dw0, i / 4);
		assert_int_equal(identify(b, NVME_CNS_NS, 1), NVME_SC_SUCCESS);
		assert_int_equal(b->out[99], i / 4 != 0);
		assert_int_equal(identify(b, NVME_CNS_CSI_INDEPENDENT_NS, 1), NVME_SC_SUCCESS);
		assert_int_equal(b->out[8], i / 4 != 0);
	}
	test_free(b);
}

static void
only_the_states_that_are_offered_can_be_asked_for(void **state)
{
	for (uint32_t nwpc = 1; nwpc < 8; nwpc += 2) {
		struct bench *b = bench_reservations((uint8_t)nwpc);

		assert_int_equal(set(b, WP, 1, 1), NVME_SC_SUCCESS);
		assert_int_equal(set(b, WP, 1, 2), nwpc & 2 ? NVME_SC_SUCCESS : NVME_SC_INVALID_FIELD);
		assert_int_equal(set(b, WP, 1, 3), nwpc & 4 ? NVME_SC_SUCCESS : NVME_SC_INVALID_FIELD);
		assert_int_equal(set(b, WP, 1, 4), NVME_SC_INVALID_FIELD);
		test_free(b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_offered_is_not_there),
		cmocka_unit_test(notifications_are_read_oldest_first_until_the_page_is_empty),
		cmocka_unit_test(what_came_while_the_event_was_silent_is_told_unless_it_was_read),
		cmocka_unit_test(lost_notifications_show_in_the_count_of_the_last),
		cmocka_unit_test(each_namespace_masks_each_kind_of_its_own),
		cmocka_unit_test(a_new_namespace_of_an_old_number_has_no_mask),
		cmocka_unit_test(a_reset_forgets_masks_and_notifications),
		cmocka_unit_test(wrong_masks_and_wrong_namespaces_are_refused),
		cmocka_unit_test(persistence_is_asked_of_the_target_for_both_ways),
		cmocka_unit_test(protection_is_left_as_its_state_allows),
		cmocka_unit_test(only_the_states_that_are_offered_can_be_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
