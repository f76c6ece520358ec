/*
 * test_hosted_check.c - whether a configuration has a place for what hosts have made: who judges that has I/O to serve.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "hosted.h"

enum { SUBSYSTEMS = 4, EACH = 1000, NS_PER_MS = 1000000 };

struct sample {
	struct hosted_state state;
	struct hosted hosted;
	char nqn[SUBSYSTEMS][200];
	struct conf_ana ana;
	struct conf_subsys subsys[SUBSYSTEMS];
	struct conf conf;
};

/* Subsystems whose pools are full. */
static int
set_up(void **state)
{
	static struct sample s;

	s = (struct sample){ .hosted.state = &s.state, .ana.id = 1, .conf = { .subsys = s.subsys,
		.subsys_count = SUBSYSTEMS } };
	arena_init(&s.state.arena, 0);
	s.state.made = made_copy(&s.state.arena, NULL, SUBSYSTEMS * EACH);
	assert_non_null(s.state.made);
	for (unsigned i = 0; i < SUBSYSTEMS; i++) {
		struct made_ns ns = { .nqn = s.nqn[i], .own = true, .block_size = 512, .blocks = 2048,
			.ana_group = 1 };

		snprintf(s.nqn[i], sizeof(s.nqn[i]), "nqn.2026-11.local.weir:%0150u", i);
		s.subsys[i] = (struct conf_subsys){ .nqn = s.nqn[i], .pool = "mem", .ana = &s.ana, .ana_count = 1,
			.pool_count = EACH, .pool_size = EACH * UINT64_C(1048576) };
		for (ns.nsid = 1; ns.nsid <= EACH; ns.nsid++)
			assert_non_null(made_add(&s.state.arena, s.state.made, &ns));
	}
	*state = &s;
	return 0;
}

static int
tear_down(void **state)
{
	struct sample *s = *state;

	arena_drop(&s->state.arena);
	return 0;
}

static void
what_a_subsystems_hosts_have_made_is_summed_once(void **state)
{
	struct sample *s = *state;
	struct timespec began, ended;
	char why[256] = "";
	int64_t took_ns;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
	assert_int_equal(hosted_check(&s->hosted, &s->conf, &s->conf, why), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
	took_ns = (ended.tv_sec - began.tv_sec) * INT64_C(1000000000) + ended.tv_nsec - began.tv_nsec;
	print_message("# %.1f ms\n", (double)took_ns / NS_PER_MS);
	assert_in_range(took_ns, 0, 50 * NS_PER_MS);
}

static void
a_pool_with_less_than_hosts_have_made_is_refused(void **state)
{
	struct sample *s = *state;
	char why[256] = "";

	s->subsys[SUBSYSTEMS - 1].pool_count--;
	assert_int_equal(hosted_check(&s->hosted, &s->conf, &s->conf, why), -EINVAL);
	assert_non_null(strstr(why, "hosts have made 1000 namespaces"));
	s->subsys[SUBSYSTEMS - 2].pool_size--;
	assert_int_equal(hosted_check(&s->hosted, &s->conf, &s->conf, why), -EINVAL);
	assert_non_null(strstr(why, "hosts have made namespaces of 1048576000 bytes"));
	s->subsys[0].pool = NULL;
	assert_int_equal(hosted_check(&s->hosted, &s->conf, &s->conf, why), -EINVAL);
	assert_non_null(strstr(why, "has no place"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_subsystems_hosts_have_made_is_summed_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pool_with_less_than_hosts_have_made_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
