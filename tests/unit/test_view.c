/*
 * test_view.c - the view that is made of a config: what it says, which change is
 * counted, and which is not.
 */
#include "view_bench.h"

/* ---- what a view says ---- */

static void
a_view_says_what_the_config_does(void **state)
{
	struct view_sample *s = *state;
	static const char other[NVME_NQN_FIELD] = NQN "bb";
	const struct view *view;
	const struct view_subsys *b;

	s->subsys[1].hosts_listed = true;
	s->subsys[1].hosts = s->hosts;
	s->subsys[1].host_count = 2;
	s->ns[1][0].blocks = 10;
	s->ns[1][1].protection = NVME_PROTECT_WRITES;
	s->ana[0].state[1] = NVME_ANA_INACCESSIBLE;
	s->numbers.portal[0] = 4;
	s->listen[1].use = PORTAL_DISCOVERY;
	view = view_next(s);
	b = view_subsys(view, view->subsys[1].info.nqn);
	assert_ptr_equal(b, &view->subsys[1]);
	assert_null(view_subsys(view, other));
	assert_int_equal(view->portals_used, 1 << 4 | 1 << 1 | 1 << 2);
	assert_int_equal(b->portals, 1 << 4); /* the other is for discovery alone */
	assert_string_equal(view->portals[4].trsvcid, "4420");
	assert_true(view_allows(b, s->hosts[1]) && !view_allows(b, s->hosts[2]));
	assert_true(view_allows(&view->subsys[0], s->hosts[2]));
	assert_true(view_admits(b, 4, s->hosts[1]));
	assert_true(!view_admits(b, 1, s->hosts[1]) && !view_admits(b, 4, s->hosts[2]));
	assert_int_equal(b->ns_limit, 3);
	assert_null(b->ns[1].info);
	assert_true(b->ns[0].blocks == 10 && b->ns[2].blocks == 1000);
	assert_true(b->ns[0].volume == 104 && b->ns[2].volume == 105); /* behind the four of the first */
	assert_int_equal(b->ns[0].gate, GATE_ANA);
	assert_int_equal(b->ns[2].gate, GATE_PROTECT);
	assert_int_equal(b->info.ana[b->ns[0].ana].state[1], NVME_ANA_INACCESSIBLE);
	assert_int_equal(b->info.ana[b->ns[2].ana].id, 5);
	assert_int_equal(b->info.ana[0].state[4], NVME_ANA_OPTIMIZED);
	assert_int_equal(view->stall_timeout_ms, 30000);
}

static void
names_that_are_not_given_are_derived_and_stay(void **state)
{
	struct view_sample *s = *state;
	const struct ns_info *first = view_next(s)->subsys[0].ns[0].info, *again, *other;

	assert_int_equal(first->uuid[6] & 0xf0, 0x80);
	assert_int_equal(first->uuid[8] & 0xc0, 0x80);
	again = view_next(s)->subsys[0].ns[0].info;
	other = s->view->subsys[0].ns[2].info;
	assert_memory_equal(first->uuid, again->uuid, 16);
	assert_memory_equal(first->nguid, again->nguid, 16);
	assert_memory_not_equal(first->uuid, first->nguid, 16);
	assert_memory_not_equal(first->uuid, other->uuid, 16);
	s->ns[0][0].uuid[3] = 7;
	assert_memory_equal(view_next(s)->subsys[0].ns[0].info->uuid, s->ns[0][0].uuid, 16);
}

/* ---- changes are counted ---- */

static void
a_group_counts_its_states_and_members(void **state)
{
	struct view_sample *s = *state;
	const struct ana_group *groups = view_next(s)->subsys[1].info.ana;

	assert_true(groups[0].changes == 1 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 1);
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 1 && s->view->subsys[1].info.ana_changes == 1);
	s->ana[0].state[2] = NVME_ANA_NON_OPTIMIZED;
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 2 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 2);
	s->ns[1][1].ana_group = 2; /* from one to the other: both */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 3 && groups[1].changes == 2 && s->view->subsys[1].info.ana_changes == 3);
	s->subsys[1].ns_count = 1; /* one member fewer */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && groups[1].changes == 2 && s->view->subsys[1].info.ana_changes == 4);
	s->subsys[1].ana_count = 1; /* a group fewer: the other is as it was */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && s->view->subsys[1].info.ana_changes == 5);
	s->subsys[1].ana_count = 2; /* it is another one now */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 6);
	s->subsys[1].ns_count = 2; /* the member comes back */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 5 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 7);
	s->ns[1][0].nsid = 2; /* one goes and one comes before the other, which stays */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 6 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 8);
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 6 && s->view->subsys[1].info.ana_changes == 8);
	assert_int_equal(s->view->subsys[0].info.ana_changes, 1);
}

/* For a controller of some host: what page 0Ch says to those of others may be what it said. */
static void
a_group_counts_where_its_members_are_attached(void **state)
{
	struct view_sample *s = *state;
	const struct ana_group *groups;
	const uint64_t others[] = { 7 };

	s->ns[1][0].listed = true;
	s->ns[1][0].hosts = s->hosts;
	view_next(s);
	s->ns[1][0].host_count = 1; /* attached */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 2 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 2);
	s->ns[1][0].hosts = &s->hosts[1]; /* to another one instead */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 3 && s->view->subsys[1].info.ana_changes == 3);
	s->ns[1][0].others = others; /* not to one of its associations */
	s->ns[1][0].other_count = 1;
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && s->view->subsys[1].info.ana_changes == 4);
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 4);
	s->ns[1][0].host_count = s->ns[1][0].other_count = 0; /* detached */
	groups = view_next(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 5 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 5);
}

static uint64_t
genctr(struct view_sample *s)
{
	return view_next(s)->discovery.genctr;
}

static void
genctr_moves_with_what_some_host_can_see(void **state)
{
	struct view_sample *s = *state;
	uint64_t n = 0;

	assert_int_equal(genctr(s), ++n);
	s->config.subsys_count = 3;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].listeners = 2;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].hosts_listed = true;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].hosts = s->hosts;
	s->subsys[2].host_count = 2;
	assert_int_equal(genctr(s), ++n);
	s->hosts[0] = NQN "other";
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].host_count = 3;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].host_count = 1;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].hosts_listed = false; /* all may, and more than before */
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].static_controllers = true;
	assert_int_equal(genctr(s), ++n);
	s->subsys[2].controllers_max = 7;
	assert_int_equal(genctr(s), n);
	s->subsys[2].hosts_listed = true;
	assert_int_equal(genctr(s), ++n);
	s->referrals[0].port++;
	assert_int_equal(genctr(s), ++n);
	s->config.referral_count = 0;
	assert_int_equal(genctr(s), ++n);
	s->listen[2].use = PORTAL_DISCOVERY; /* the first subsystem is not reached through it any more */
	assert_int_equal(genctr(s), ++n);
	s->listen[2].use = PORTAL_IO; /* and now discovery is not */
	assert_int_equal(genctr(s), ++n);
	s->listen[2].port++;
	assert_int_equal(genctr(s), ++n);
	s->config.listen_count = 2;
	assert_int_equal(genctr(s), ++n);
	s->config.subsys_count = 2;
	assert_int_equal(genctr(s), ++n);
	s->subsys[1].nqn = NQN "d";
	assert_int_equal(genctr(s), ++n);
}

static void
genctr_stands_where_nobody_can_see_the_change(void **state)
{
	struct view_sample *s = *state;
	const char *first = s->hosts[0];

	s->subsys[0].hosts_listed = true;
	s->subsys[0].hosts = s->hosts;
	s->subsys[0].host_count = 3;
	assert_int_equal(genctr(s), 1);
	assert_int_equal(genctr(s), 1);
	s->ns[0][0].blocks = 5;
	s->ana[0].state[0] = NVME_ANA_INACCESSIBLE;
	s->subsys[1].ns_count = 1;
	assert_int_equal(genctr(s), 1);
	s->hosts[0] = s->hosts[1]; /* the same hosts in another order */
	s->hosts[1] = first;
	assert_int_equal(genctr(s), 1);
	s->subsys[1].hosts = s->hosts; /* of a list that does not hold */
	s->subsys[1].host_count = 1;
	assert_int_equal(genctr(s), 1);
	s->subsys[2].listeners = 0; /* a subsystem that is reached through nothing */
	s->config.subsys_count = 3;
	assert_int_equal(genctr(s), 1);
	s->subsys[2].listeners = 1; /* that nobody may connect to */
	s->subsys[2].hosts_listed = true;
	assert_int_equal(genctr(s), 1);
	s->config.listen_count = 4; /* a listener that leads to nothing */
	s->listen[3].use = PORTAL_IO;
	assert_int_equal(genctr(s), 1);
	s->config.stall_timeout_ms = 5;
	assert_int_equal(genctr(s), 1);
}

static void
a_view_for_which_there_is_no_memory_is_none(void **state)
{
	struct view_sample *s = *state;

	s->arena.fail_at = 1;
	assert_null(view_make(&s->arena, &s->config, &s->numbers, NULL));
	assert_int_equal(s->arena.bytes, 0);
	arena_free(&s->arena, (void *)(uintptr_t)view_next(s)); /* one block holds all of it */
	assert_int_equal(s->arena.bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_view_says_what_the_config_does),
		TEST(names_that_are_not_given_are_derived_and_stay),
		TEST(a_group_counts_its_states_and_members),
		TEST(a_group_counts_where_its_members_are_attached),
		TEST(genctr_moves_with_what_some_host_can_see),
		TEST(genctr_stands_where_nobody_can_see_the_change),
		TEST(a_view_for_which_there_is_no_memory_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
