#include "made_bench.h"

#include <stdlib.h>

int
made_setup(void **state)
{
	struct made_sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	arena_init(&s->arena, 0);
	s->made = made_copy(&s->arena, NULL, 0);
	s->made->id = 0x1234;
	*state = s;
	return s->made != NULL ? 0 : -1;
}

int
made_teardown(void **state)
{
	struct made_sample *s = *state;

	arena_drop(&s->arena);
	free(s);
	return 0;
}

struct made_ns *
sample_add(struct made_sample *s, uint32_t nsid, bool own, bool shared, bool kept)
{
	struct made_ns like = {
		.nqn = NQN "s %\n", .nsid = nsid, .own = own, .shared = shared, .kept = kept, .block_size = 4096,
		.blocks = 1000 + nsid, .ana_group = 1, .uuid = { 1, 2, (uint8_t)nsid, [15] = (uint8_t)own },
	};

	s->made = made_copy(&s->arena, s->made, 1);
	assert_non_null(s->made);
	return made_add(&s->arena, s->made, &like);
}
