/*
 * test_view_check.c - what a config may be: whatever it must not say is refused,
 * in words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view_bench.h"

static void
assert_wrong(struct view_sample *s, const char *word)
{
	s->why[0] = '\0';
	assert_int_equal(view_check(&s->config, s->why), -EINVAL);
	if (strstr(s->why, word) == NULL)
		fail_msg("'%s' does not say '%s'", s->why, word);
}

static void
a_config_that_is_right_is_taken(void **state)
{
	struct view_sample *s = *state;

	assert_int_equal(view_check(&s->config, s->why), 0);
	s->config.subsys_count = s->config.referral_count = 0;
	assert_int_equal(view_check(&s->config, s->why), 0); /* discovery alone */
}

static void
there_are_limits_to_listeners_subsystems_and_referrals(void **state)
{
	struct view_sample *s = *state;
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
	struct view_sample *s = *state;
	struct target_ns *ns = calloc(CTRL_NS_MAX, sizeof(*ns));
	const char **hosts = calloc(TARGET_HOSTS_MAX + 1, sizeof(*hosts));
	struct target_subsys *many = calloc(5, sizeof(*many));
	static const char *const names[] = { NQN "0", NQN "1", NQN "2", NQN "3", NQN "4" };

	assert_true(ns != NULL && hosts != NULL && many != NULL);
	for (uint32_t i = 0; i < CTRL_NS_MAX; i++)
		ns[i] = (struct target_ns){ .nsid = i + 1, .volume = &s->volumes[0] };
	for (int i = 0; i < 5; i++)
		many[i] = (struct target_subsys){
			.nqn = names[i], .listeners = 1, .ns = ns, .ns_count = i < 4 ? CTRL_NS_MAX : 1,
		};
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
	struct view_sample *s = *state;

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
	struct view_sample *s = *state;
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
	struct view_sample *s = *state;

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
	struct view_sample *s = *state;

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
