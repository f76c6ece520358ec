/*
 * test_made.c - what hosts have made: where namespaces are active, held against
 * what a host may expect of each controller, and how one state follows another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "made_bench.h"
#include "wire/feature.h"

enum { HOSTS = 3, PRESENT = 8, STEPS = 400, SEEDS = 60 };

static const char *const names[HOSTS] = { NQN "a", NQN "b", NQN "c" };

/* ---- where it is active ---- */

/* What each host and controller may expect. */
struct model {
	struct made_controller present[PRESENT];
	bool active[PRESENT], later[HOSTS];
	uint32_t count;
	uint64_t association;
};

static unsigned
host_of(const struct made_controller *c)
{
	unsigned i = 0;

	while (strcmp(names[i], c->hostnqn) != 0)
		i++;
	return i;
}

static void
come(struct model *m, struct rng *rng, bool shared)
{
	unsigned host = (unsigned)rng_below(rng, HOSTS);
	uint16_t cntlid = 1;

	for (uint32_t i = 0; i < m->count; i++)
		if (m->present[i].cntlid >= cntlid)
			cntlid = (uint16_t)(m->present[i].cntlid + 1);
	m->present[m->count] = (struct made_controller){ cntlid, ++m->association, names[host], false };
	m->active[m->count++] = shared && m->later[host];
}

static void
go(struct model *m, struct rng *rng)
{
	uint32_t i = (uint32_t)rng_below(rng, m->count--);

	m->present[i] = m->present[m->count];
	m->active[i] = m->active[m->count];
}

static void
assert_as_expected(const struct model *m, const struct made_ns *ns)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		assert_int_equal(made_active(ns, m->present[i].hostnqn, m->present[i].association), m->active[i]);
		active += m->active[i];
	}
	for (uint32_t i = 0; i < HOSTS; i++) /* one that is to come */
		assert_int_equal(made_active(ns, names[i], m->association + 1), ns->shared && m->later[i]);
	for (uint32_t i = 1; i < ns->host_count; i++)
		assert_true(strcmp(ns->hosts[i - 1], ns->hosts[i]) < 0);
	for (uint32_t i = 1; i < ns->other_count; i++)
		assert_true(ns->others[i - 1] < ns->others[i]);
	assert_true(ns->shared || (ns->host_count == 0 && active <= 1));
}

/* Some of the controllers, as a command names them: ascending. */
static uint32_t
choose(const struct model *m, struct rng *rng, uint16_t list[PRESENT], bool *strange)
{
	uint32_t count = 0;

	*strange = rng_below(rng, 20) == 0;
	for (uint16_t id = 1; id < 200 && count < PRESENT; id++)
		for (uint32_t i = 0; i < m->count; i++)
			if (m->present[i].cntlid == id && rng_below(rng, m->count) < 2)
				list[count++] = id;
	if (count == 0 || *strange)
		list[count > 0 ? count - 1 : count++] = *strange ? 999 : m->present[0].cntlid;
	return count;
}

static enum nvme_sc
expect(struct model *m, const uint16_t *list, uint32_t count, bool attach, bool shared)
{
	struct model next = *m;
	uint32_t active = 0;

	for (uint32_t i = 0; i < m->count; i++)
		active += m->active[i];
	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = 0;

		while (i < m->count && m->present[i].cntlid != list[n])
			i++;
		if (i == m->count)
			return NVME_SC_CTRL_LIST;
		if (m->active[i] == attach)
			return attach ? NVME_SC_NS_ATTACHED : NVME_SC_NS_NOT_ATTACHED;
		next.active[i] = attach;
		next.later[host_of(&m->present[i])] = attach;
	}
	if (attach && !shared && active + count > 1)
		return NVME_SC_NS_PRIVATE;
	*m = next;
	return NVME_SC_SUCCESS;
}

static void
attach_and_detach(struct made_sample *s, uint64_t seed, uint32_t done[2])
{
	struct model m = { .association = 7 };
	struct made *made = s->made;
	struct rng rng;
	bool shared;

	rng_seed(&rng, seed);
	shared = rng_below(&rng, 4) > 0;
	made_own(made, NQN "s %\n", 1)->shared = shared;
	for (unsigned step = 0; step < STEPS; step++) {
		bool attach = rng_below(&rng, 2) == 0, strange;
		struct made *next = made_copy(&s->arena, made, 0);
		uint16_t list[PRESENT];
		enum nvme_sc sc, expected;
		uint32_t count;

		if (m.count < 2 || (m.count < PRESENT && rng_below(&rng, 4) == 0))
			come(&m, &rng, shared);
		else if (rng_below(&rng, 8) == 0)
			go(&m, &rng);
		count = choose(&m, &rng, list, &strange);
		expected = expect(&m, list, count, attach, shared);
		sc = made_attach(&s->arena, next, made_own(next, NQN "s %\n", 1), attach, list, count, m.present,
		    m.count);
		assert_int_equal(sc, expected);
		if (sc == NVME_SC_SUCCESS) {
			made = next;
			done[attach]++;
			assert_true(made_own(made, NQN "s %\n", 1)->other_count <= m.count);
		}
		assert_as_expected(&m, made_own(made, NQN "s %\n", 1));
	}
}

static void
a_namespace_is_active_where_it_was_attached_and_nowhere_else(void **state)
{
	uint32_t done[2] = { 0, 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct made_sample *s;

		if (seed > 1)
			made_teardown(state);
		if (seed > 1)
			assert_int_equal(made_setup(state), 0);
		s = *state;
		assert_non_null(sample_add(s, 1, true, true, true));
		attach_and_detach(s, seed, done);
	}
	assert_true(done[0] > 1000 && done[1] > 1000);
}

static void
more_hosts_than_there_may_be_are_refused(void **state)
{
	struct made_sample *s = *state;
	struct made_ns *ns = sample_add(s, 1, true, true, true);
	char (*nqns)[64] = calloc(MADE_HOSTS_MAX + 1, sizeof(*nqns));

	assert_non_null(nqns);
	for (uint16_t i = 0; i <= MADE_HOSTS_MAX; i++) {
		struct made_controller c = { 1, 1 + i, nqns[i], false };
		uint16_t id = 1;

		snprintf(nqns[i], sizeof(nqns[i]), NQN "h%u", i);
		assert_int_equal(made_attach(&s->arena, s->made, ns, true, &id, 1, &c, 1),
		    i < MADE_HOSTS_MAX ? NVME_SC_SUCCESS : NVME_SC_ATTACHMENTS);
	}
	free(nqns);
}

/* ---- states ---- */

static void
what_is_found_is_what_was_added(void **state)
{
	struct made_sample *s = *state;
	const uint8_t volume[16] = { 1, 2, 5 }, other[16] = { 9 };

	assert_non_null(sample_add(s, 5, true, true, true));
	assert_non_null(sample_add(s, 5, false, true, true)); /* of the operator's, from another time */
	assert_non_null(sample_add(s, 6, true, true, false));
	assert_int_equal(s->made->count, 3);
	assert_true(made_own(s->made, NQN "s %\n", 5)->own);
	assert_null(made_own(s->made, NQN "s %\n", 7));
	assert_null(made_own(s->made, NQN "t", 5));
	assert_false(made_of_operator(s->made, NQN "s %\n", 5, volume)->own);
	assert_null(made_of_operator(s->made, NQN "s %\n", 5, other));
	assert_null(made_of_operator(s->made, NQN "s %\n", 6, volume));
	assert_int_equal(made_bytes(s->made, NQN "s %\n"), (1005 + 1006) * 4096);
	made_remove(s->made, made_own(s->made, NQN "s %\n", 5));
	assert_null(made_own(s->made, NQN "s %\n", 5));
	assert_non_null(made_own(s->made, NQN "s %\n", 6));
	assert_int_equal(s->made->count, 2);
}

/* As who looks at all of them sees it. */
static const struct made_ns *
found_slowly(const struct made *made, const char *nqn, uint32_t nsid, const uint8_t *uuid)
{
	for (uint32_t i = 0; i < made->count; i++) {
		const struct made_ns *ns = &made->ns[i];

		if (ns->nsid == nsid && strcmp(ns->nqn, nqn) == 0 && ns->own == (uuid == NULL) &&
		    (uuid == NULL || memcmp(ns->uuid, uuid, sizeof(ns->uuid)) == 0))
			return ns;
	}
	return NULL;
}

static bool
is_odd(void *arg, const struct made_ns *ns)
{
	(void)arg;
	return ns->uuid[0] % 2 == 1;
}

static void
each_is_found_whatever_came_and_went(void **state)
{
	enum { NSIDS = 8, UUIDS = 4, SUBSYSTEMS = 2 };
	struct made_sample *s = *state;
	struct rng rng;

	rng_seed(&rng, 5);
	for (unsigned step = 0; step < STEPS; step++) {
		const uint8_t uuid[16] = { (uint8_t)rng_below(&rng, UUIDS) };
		struct made_ns like = { .nqn = names[rng_below(&rng, SUBSYSTEMS)], .block_size = 512, .blocks = 1,
			.nsid = 1 + (uint32_t)rng_below(&rng, NSIDS), .own = rng_below(&rng, 3) == 0, .protection = 1 };

		memcpy(like.uuid, uuid, sizeof(uuid));
		if (rng_below(&rng, 8) == 0 && s->made->count > 0)
			made_remove(s->made, &s->made->ns[rng_below(&rng, s->made->count)]);
		else if (rng_below(&rng, 100) == 0)
			made_make_room(s->made, MADE_NS_MAX - s->made->count / 2, is_odd, NULL);
		else if (found_slowly(s->made, like.nqn, like.nsid, like.own ? NULL : uuid) == NULL) {
			s->made = made_copy(&s->arena, s->made, 1);
			assert_non_null(made_add(&s->arena, s->made, &like));
		}
		for (unsigned i = 0; i < SUBSYSTEMS * NSIDS; i++) {
			const char *nqn = names[i % SUBSYSTEMS];
			uint32_t nsid = 1 + i / SUBSYSTEMS;

			assert_ptr_equal(made_own(s->made, nqn, nsid), found_slowly(s->made, nqn, nsid, NULL));
			assert_ptr_equal(made_of_operator(s->made, nqn, nsid, uuid),
			    found_slowly(s->made, nqn, nsid, uuid));
		}
	}
}

static void
who_leaves_cannot_be_named_but_changes_sides(void **state)
{
	static const struct made_controller present[] = { { 3, 3, NQN "a", true }, { 4, 4, NQN "a", false } };
	const uint16_t ids[] = { 3, 4 };
	struct made_sample *s = *state;
	struct made_ns *ns = sample_add(s, 1, true, true, true);

	assert_int_equal(made_attach(&s->arena, s->made, ns, true, &ids[0], 1, present, 2), NVME_SC_CTRL_LIST);
	assert_int_equal(made_attach(&s->arena, s->made, ns, true, &ids[1], 1, present, 2), NVME_SC_SUCCESS);
	assert_true(made_active(ns, NQN "a", 4) && !made_active(ns, NQN "a", 3));
}

static void
of_volumes_that_were_replaced_a_few_are_known(void **state)
{
	struct made_sample *s = *state;

	s->made = made_copy(&s->arena, s->made, 64);
	assert_non_null(sample_add(s, 5, true, true, true));
	for (uint8_t i = 1; i <= 20; i++) {
		struct made_ns like = { .nqn = NQN "s", .nsid = i <= 10 ? 5 : 6, .uuid = { i }, .protection = 1 };

		s->made = made_copy(&s->arena, s->made, 1);
		made_forget(s->made, like.nqn, like.nsid);
		assert_non_null(made_add(&s->arena, s->made, &like));
		for (uint8_t k = 1; k <= i; k++) {
			const uint8_t uuid[16] = { k };

			assert_int_equal(made_of_operator(s->made, like.nqn, k <= 10 ? 5 : 6, uuid) != NULL,
			    (k <= 10 && (i < 10 ? k + MADE_VOLUMES_MAX > i : k + MADE_VOLUMES_MAX > 10)) ||
			    (k > 10 && k + MADE_VOLUMES_MAX > i));
		}
	}
	assert_int_equal(s->made->count, 1 + 2 * MADE_VOLUMES_MAX);
}

static bool
is_tenth(void *arg, const struct made_ns *ns)
{
	(*(unsigned *)arg)++;
	return ns->uuid[2] % 10 == 0;
}

/* Hosts' namespaces, and what is in use. */
static void
room_is_made_by_the_oldest_that_nobody_uses(void **state)
{
	struct made_sample *s = *state;
	const uint8_t first[16] = { 0, 0, 1 }, second[16] = { 1, 0, 2 };
	unsigned asked = 0;

	s->made = made_copy(&s->arena, s->made, MADE_NS_MAX);
	for (unsigned i = 0; i < MADE_NS_MAX; i++) {
		struct made_ns like = { .nqn = NQN "s", .nsid = 1 + i % 8, .own = i % 8 == 7, .block_size = 512,
			.uuid = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i + 1) }, .protection = 1 };

		assert_non_null(made_add(&s->arena, s->made, &like));
	}
	made_make_room(s->made, 0, is_tenth, &asked);
	assert_true(s->made->count == MADE_NS_MAX && asked == 0);
	made_make_room(s->made, 1, is_tenth, &asked);
	assert_true(s->made->count == MADE_NS_MAX - 1 && asked == 1);
	assert_null(made_of_operator(s->made, NQN "s", 1, first));
	assert_non_null(made_of_operator(s->made, NQN "s", 2, second));
	made_make_room(s->made, 1, is_tenth, &asked);
	assert_true(s->made->count == MADE_NS_MAX - 1 && asked == 1);
	made_make_room(s->made, 21, is_tenth, &asked); /* of 25 two are in use, and three are hosts' */
	assert_true(s->made->count == MADE_NS_MAX - 21 && asked == 1 + 22);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(s->made->ns[i].own || s->made->ns[i].uuid[2] % 10 == 0);
	assert_int_equal(s->made->ns[5].uuid[0], 26);
	made_make_room(s->made, MADE_NS_MAX, is_tenth, &asked);
	for (uint32_t i = 0; i < s->made->count; i++)
		assert_true(s->made->ns[i].own || s->made->ns[i].uuid[2] % 10 == 0);
	assert_in_range(s->made->count, MADE_NS_MAX / 8, MADE_NS_MAX / 4);
}

static void
a_copy_is_changed_alone(void **state)
{
	static const struct made_controller c = { 3, 3, NQN "a", false };
	const uint16_t id = 3;
	struct made_sample *s = *state;
	struct made *copy;

	assert_non_null(sample_add(s, 1, true, true, true));
	copy = made_copy(&s->arena, s->made, 0);
	s->made->ns[0].fresh = false;
	assert_true(made_same(copy, s->made));
	assert_int_equal(made_attach(&s->arena, copy, &copy->ns[0], true, &id, 1, &c, 1), NVME_SC_SUCCESS);
	assert_false(made_same(copy, s->made));
	copy->ns[0].host_count = 0;
	assert_true(made_same(copy, s->made));
	copy->ns[0].host_count = 1;
	copy->ns[0].protection = NVME_PROTECT_WRITES;
	assert_false(made_same(copy, s->made));
	assert_int_equal(s->made->ns[0].host_count, 0);
	assert_int_equal(s->made->ns[0].protection, NVME_PROTECT_NONE);
	assert_true(made_active(&copy->ns[0], NQN "a", 4) && !made_active(&s->made->ns[0], NQN "a", 4));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_setup, made_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_namespace_is_active_where_it_was_attached_and_nowhere_else),
		TEST(more_hosts_than_there_may_be_are_refused),
		TEST(what_is_found_is_what_was_added),
		TEST(each_is_found_whatever_came_and_went),
		TEST(who_leaves_cannot_be_named_but_changes_sides),
		TEST(of_volumes_that_were_replaced_a_few_are_known),
		TEST(room_is_made_by_the_oldest_that_nobody_uses),
		TEST(a_copy_is_changed_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
