#include "view_bench.h"

#include <stdlib.h>

int
view_setup(void **state)
{
	struct view_sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	arena_init(&s->arena, 0);
	s->config = (struct target_config){
		.listen = s->listen, .listen_count = 3, .subsys = s->subsys, .subsys_count = 2,
		.referrals = s->referrals, .referral_count = 1,
	};
	for (unsigned i = 0; i <= TARGET_LISTENERS_MAX; i++)
		s->listen[i] = (struct target_listen){ .host = "10.0.0.1", .port = (uint16_t)(4420 + i) };
	for (unsigned i = 0; i <= CTRL_REFERRALS_MAX; i++)
		s->referrals[i] = (struct target_listen){ .host = "10.0.0.2", .port = (uint16_t)(4420 + i) };
	for (unsigned i = 0; i < SUBSYS * NS; i++) {
		s->volumes[i] = (struct blk){ .blocks = 1000, .block_size = 4096 };
		s->numbered[i] = 100 + i;
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
	s->numbers.volumes = s->numbered;
	*state = s;
	return 0;
}

int
view_teardown(void **state)
{
	struct view_sample *s = *state;

	arena_drop(&s->arena);
	free(s);
	return 0;
}

const struct view *
view_next(struct view_sample *s)
{
	assert_int_equal(view_check(&s->config, s->why), 0);
	s->view = view_make(&s->arena, &s->config, &s->numbers, s->view);
	assert_non_null(s->view);
	return s->view;
}
