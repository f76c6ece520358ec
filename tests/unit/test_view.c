/*
 * test_view.c - what a config may be, and the view that is made of it: which
 * change is counted, and which is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/view.h"

#define NQN "nqn.2026-11.local.weir:"

enum { SUBSYS = 3, NS = 4, HOSTS = 3 };

/* A config that is right, whose parts a test changes, and the views that were made of it. */
struct sample {
	struct arena arena;
	struct target_config config;
	struct target_listen listen[TARGET_LISTENERS_MAX + 1], referrals[CTRL_REFERRALS_MAX + 1];
	struct target_subsys subsys[SUBSYS];
	struct target_ana ana[2];
	struct target_ns ns[SUBSYS][NS];
	struct blk volumes[SUBSYS * NS];
	const char *hosts[HOSTS];
	uint16_t slots[SUBSYS * NS];
	struct view_numbers numbers;
	struct view *view;
	char why[256];
};

static int
setup(void **state)
{
	struct sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	arena_init(&s->arena, 0);
	s->config = (struct target_config){
		.listen = s->listen, .listen_count = 3, .subsys = s->subsys, .subsys_count = 2, .referrals = s->referrals,
		.referral_count = 1,
	};
	for (unsigned i = 0; i <= TARGET_LISTENERS_MAX; i++)
		s->listen[i] = (struct target_listen){ .host = "10.0.0.1", .port = (uint16_t)(4420 + i) };
	for (unsigned i = 0; i <= CTRL_REFERRALS_MAX; i++)
		s->referrals[i] = (struct target_listen){ .host = "10.0.0.2", .port = (uint16_t)(4420 + i) };
	for (unsigned i = 0; i < SUBSYS * NS; i++) {
		s->volumes[i] = (struct blk){ .blocks = 1000, .block_size = 4096 };
		s->slots[i] = (uint16_t)(100 + i);
		s->ns[i / NS][i % NS] = (struct target_ns){
			.nsid = 1 + 2 * (i % NS), .volume = &s->volumes[i], .id = { (uint8_t)(i + 1) },
		};
	}
	s->hosts[0] = NQN "host0";
	s->hosts[1] = NQN "host1";
	s->hosts[2] = NQN "host2";
	s->ana[0] = (struct target_ana){ .id = 2 };
	s->ana[1] = (struct target_ana){ .id = 5 };
	s->subsys[0] = (struct target_subsys){
		.nqn = NQN "a", .identity = { 1 }, .listeners = 7, .ns = s->ns[0], .ns_count = NS,
	};
	s->subsys[1] = (struct target_subsys){
		.nqn = NQN "b", .identity = { 2 }, .listeners = 3, .ns = s->ns[1], .ns_count = 2,
		.ana = s->ana, .ana_count = 2,
	};
	s->subsys[2] = (struct target_subsys){
		.nqn = NQN "c", .identity = { 3 }, .listeners = 1, .ns = s->ns[2], .ns_count = 1,
	};
	s->ns[1][0].ana_group = 2;
	s->ns[1][1].ana_group = 5;
	for (unsigned i = 0; i < TARGET_LISTENERS_MAX; i++)
		s->numbers.portal[i] = (uint8_t)i;
	s->numbers.slots = s->slots;
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct sample *s = *state;

	arena_drop(&s->arena);
	free(s);
	return 0;
}

/* The view of the config as it is now, after the one before. */
static const struct view *
next_view(struct sample *s)
{
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->view = view_make(&s->arena, &s->config, &s->numbers, s->view);
	assert_non_null(s->view);
	return s->view;
}

static void
assert_wrong(struct sample *s, const char *word)
{
	s->why[0] = '\0';
	assert_int_equal(view_check(&s->config, s->why), -EINVAL);
	if (strstr(s->why, word) == NULL)
		fail_msg("'%s' does not say '%s'", s->why, word);
}

/* ---- what may not be ---- */

static void
a_config_that_is_right_is_taken(void **state)
{
	struct sample *s = *state;

	assert_int_equal(view_check(&s->config, s->why), 0);
	s->config.subsys_count = s->config.referral_count = 0;
	assert_int_equal(view_check(&s->config, s->why), 0); /* discovery alone */
}

static void
there_are_limits_to_listeners_subsystems_and_referrals(void **state)
{
	struct sample *s = *state;
	struct target_subsys *many = calloc(TARGET_SUBSYS_MAX + 1, sizeof(*many));
	char (*names)[64] = calloc(TARGET_SUBSYS_MAX + 1, sizeof(*names));

	assert_true(many != NULL && names != NULL);
	for (int i = 0; i <= TARGET_SUBSYS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), NQN "%d", i);
		many[i] = (struct target_subsys){ .nqn = names[i], .listeners = 1 };
	}
	s->config.listen_count = 0;
	assert_wrong(s, "listeners");
	s->config.listen_count = TARGET_LISTENERS_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->config.listen_count++;
	assert_wrong(s, "listeners");
	s->config.listen_count = 1;
	s->config.referral_count = CTRL_REFERRALS_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->config.referral_count++;
	assert_wrong(s, "referrals");
	s->config.referral_count = 0;
	s->config.subsys = many;
	s->config.subsys_count = TARGET_SUBSYS_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->config.subsys_count++;
	assert_wrong(s, "subsystems");
	free(many);
	free(names);
}

static void
there_are_limits_to_namespaces_hosts_and_queues(void **state)
{
	struct sample *s = *state;
	struct target_ns *ns = calloc(CTRL_NS_MAX, sizeof(*ns));
	const char **hosts = calloc(TARGET_HOSTS_MAX + 1, sizeof(*hosts));
	struct target_subsys *many = calloc(5, sizeof(*many));
	static const char *const names[] = { NQN "0", NQN "1", NQN "2", NQN "3", NQN "4" };

	assert_true(ns != NULL && hosts != NULL && many != NULL);
	for (uint32_t i = 0; i < CTRL_NS_MAX; i++)
		ns[i] = (struct target_ns){ .nsid = i + 1, .volume = &s->volumes[0] };
	for (int i = 0; i < 5; i++)
		many[i] = (struct target_subsys){ .nqn = names[i], .listeners = 1, .ns = ns, .ns_count = i < 4 ? CTRL_NS_MAX : 1 };
	for (int i = 0; i <= TARGET_HOSTS_MAX; i++)
		hosts[i] = s->hosts[0];
	s->config.subsys = many;
	s->config.subsys_count = 4;
	assert_int_equal(view_check(&s->config, s->why), 0); /* TARGET_VOLUMES_MAX of them */
	s->config.subsys_count = 5;
	assert_wrong(s, "namespaces");
	s->config.subsys_count = 1;
	many[0].hosts = hosts;
	many[0].host_count = TARGET_HOSTS_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	many[0].host_count++;
	assert_wrong(s, "hosts");
	many[0].host_count = 0;
	many[0].io_queues_max = TARGET_IO_QUEUES;
	many[0].entries_max = TARGET_QUEUE_ENTRIES;
	assert_int_equal(view_check(&s->config, s->why), 0);
	many[0].io_queues_max++;
	assert_wrong(s, "queues");
	many[0].io_queues_max--;
	many[0].entries_max++;
	assert_wrong(s, "queues");
	many[0].entries_max--;
	many[0].static_controllers = true;
	many[0].controllers_max = NVME_CNTLID_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	many[0].controllers_max++;
	assert_wrong(s, "static controllers");
	free(ns);
	free(hosts);
	free(many);
}

static void
two_things_may_not_have_one_name(void **state)
{
	struct sample *s = *state;

	s->subsys[1].nqn = s->subsys[0].nqn;
	assert_wrong(s, "two subsystems");
	s->subsys[1].nqn = NQN "b";
	s->listen[2] = s->listen[0];
	assert_wrong(s, "two listeners");
	s->listen[0].port = s->listen[2].port = 0; /* any free one, each */
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->listen[0].port = s->listen[2].port = 4420;
	snprintf(s->listen[2].host, sizeof(s->listen[2].host), "10.0.0.9");
	assert_int_equal(view_check(&s->config, s->why), 0);
}

static void
names_are_nqns(void **state)
{
	struct sample *s = *state;
	char longest[NVME_NQN_MAX + 2] = NQN;

	memset(longest + strlen(NQN), 'x', sizeof(longest) - strlen(NQN) - 1);
	s->subsys[0].nqn = longest;
	assert_wrong(s, "not an NQN");
	longest[NVME_NQN_MAX] = '\0';
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->subsys[0].nqn = "a";
	assert_wrong(s, "not an NQN");
	s->subsys[0].nqn = NVME_DISCOVERY_NQN;
	assert_wrong(s, "not an NQN");
	s->subsys[0].nqn = NQN "a";
	s->hosts[0] = "host";
	s->subsys[0].hosts = s->hosts;
	s->subsys[0].host_count = 1;
	assert_wrong(s, "not an NQN for a host");
}

static void
namespaces_ascend_and_fit_their_volumes_and_groups(void **state)
{
	struct sample *s = *state;

	s->ns[0][1].nsid = s->ns[0][0].nsid;
	assert_wrong(s, "ascending");
	s->ns[0][1].nsid = 3;
	s->ns[0][0].nsid = 0;
	assert_wrong(s, "ascending");
	s->ns[0][0].nsid = 1;
	s->ns[0][3].nsid = CTRL_NS_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->ns[0][3].nsid = CTRL_NS_MAX + 1;
	assert_wrong(s, "1 to 1024");
	s->ns[0][3].nsid = 7;
	s->ns[0][0].blocks = 1000;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->ns[0][0].blocks = 1001;
	assert_wrong(s, "larger");
	s->ns[0][0].blocks = 0;
	s->ns[0][0].ana_group = 1; /* the only one there is, by its number */
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->ns[0][0].ana_group = 2;
	assert_wrong(s, "group");
	s->ns[0][0].ana_group = 0;
	s->ns[1][0].ana_group = 0; /* which of two? */
	assert_wrong(s, "group");
	s->ns[1][0].ana_group = 3;
	assert_wrong(s, "group");
}

static void
groups_ascend(void **state)
{
	struct sample *s = *state;

	s->ana[1].id = 2;
	assert_wrong(s, "ANA groups");
	s->ana[1].id = 5;
	s->ana[0].id = 0;
	assert_wrong(s, "ANA groups");
	s->ana[0].id = 2;
	s->ana[1].id = CTRL_ANA_MAX;
	s->ns[1][1].ana_group = CTRL_ANA_MAX;
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->ana[1].id = s->ns[1][1].ana_group = CTRL_ANA_MAX + 1;
	assert_wrong(s, "ANA groups");
}

/* ---- what a view says ---- */

static void
a_view_says_what_the_config_does(void **state)
{
	struct sample *s = *state;
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
	view = next_view(s);
	b = view_subsys(view, view->subsys[1].info.nqn);
	assert_ptr_equal(b, &view->subsys[1]);
	assert_null(view_subsys(view, other));
	assert_int_equal(view->portals_used, 1 << 4 | 1 << 1 | 1 << 2);
	assert_int_equal(b->portals, 1 << 4); /* the other is for discovery alone */
	assert_string_equal(view->portals[4].trsvcid, "4420");
	assert_true(view_allows(b, s->hosts[1]) && !view_allows(b, s->hosts[2]));
	assert_true(view_allows(&view->subsys[0], s->hosts[2]));
	assert_true(view_admits(b, 4, s->hosts[1]) && !view_admits(b, 1, s->hosts[1]) && !view_admits(b, 4, s->hosts[2]));
	assert_int_equal(b->ns_limit, 3);
	assert_null(b->ns[1].info);
	assert_true(b->ns[0].blocks == 10 && b->ns[2].blocks == 1000);
	assert_true(b->ns[0].slot == 104 && b->ns[2].slot == 105); /* behind the four of the first */
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
	struct sample *s = *state;
	const struct ns_info *first = next_view(s)->subsys[0].ns[0].info, *again, *other;

	assert_int_equal(first->uuid[6] & 0xf0, 0x80);
	assert_int_equal(first->uuid[8] & 0xc0, 0x80);
	again = next_view(s)->subsys[0].ns[0].info;
	other = s->view->subsys[0].ns[2].info;
	assert_memory_equal(first->uuid, again->uuid, 16);
	assert_memory_equal(first->nguid, again->nguid, 16);
	assert_memory_not_equal(first->uuid, first->nguid, 16);
	assert_memory_not_equal(first->uuid, other->uuid, 16);
	s->ns[0][0].uuid[3] = 7;
	assert_memory_equal(next_view(s)->subsys[0].ns[0].info->uuid, s->ns[0][0].uuid, 16);
}

/* ---- changes are counted ---- */

static void
a_group_counts_its_states_and_members(void **state)
{
	struct sample *s = *state;
	const struct ana_group *groups = next_view(s)->subsys[1].info.ana;

	assert_true(groups[0].changes == 1 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 1);
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 1 && s->view->subsys[1].info.ana_changes == 1);
	s->ana[0].state[2] = NVME_ANA_NON_OPTIMIZED;
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 2 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 2);
	s->ns[1][1].ana_group = 2; /* from one to the other: both */
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 3 && groups[1].changes == 2 && s->view->subsys[1].info.ana_changes == 3);
	s->subsys[1].ns_count = 1; /* one member fewer */
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && groups[1].changes == 2 && s->view->subsys[1].info.ana_changes == 4);
	s->subsys[1].ana_count = 1; /* a group fewer: the other is as it was */
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && s->view->subsys[1].info.ana_changes == 5);
	s->subsys[1].ana_count = 2; /* it is another one now */
	groups = next_view(s)->subsys[1].info.ana;
	assert_true(groups[0].changes == 4 && groups[1].changes == 1 && s->view->subsys[1].info.ana_changes == 6);
	assert_int_equal(s->view->subsys[0].info.ana_changes, 1);
}

static uint64_t
genctr(struct sample *s)
{
	return next_view(s)->discovery.genctr;
}

static void
genctr_moves_with_what_some_host_can_see(void **state)
{
	struct sample *s = *state;
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
	struct sample *s = *state;
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
	struct sample *s = *state;

	s->arena.fail_at = 1;
	assert_null(view_make(&s->arena, &s->config, &s->numbers, NULL));
	assert_int_equal(s->arena.bytes, 0);
	arena_free(&s->arena, (void *)(uintptr_t)next_view(s)); /* one block holds all of it */
	assert_int_equal(s->arena.bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_config_that_is_right_is_taken),
		TEST(there_are_limits_to_listeners_subsystems_and_referrals),
		TEST(there_are_limits_to_namespaces_hosts_and_queues),
		TEST(two_things_may_not_have_one_name),
		TEST(names_are_nqns),
		TEST(namespaces_ascend_and_fit_their_volumes_and_groups),
		TEST(groups_ascend),
		TEST(a_view_says_what_the_config_does),
		TEST(names_that_are_not_given_are_derived_and_stay),
		TEST(a_group_counts_its_states_and_members),
		TEST(genctr_moves_with_what_some_host_can_see),
		TEST(genctr_stands_where_nobody_can_see_the_change),
		TEST(a_view_for_which_there_is_no_memory_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
