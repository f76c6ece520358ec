/*
 * test_made_record.c - the record of what hosts have made, which is read back as it
 * was written or not at all; and what is said where there is no memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "made_bench.h"
#include "wire/feature.h"

struct text {
	char bytes[65536];
	size_t count;
};

static void
put(void *arg, const char *text, size_t bytes)
{
	struct text *t = arg;

	assert_true(t->count + bytes <= sizeof(t->bytes));
	memcpy(t->bytes + t->count, text, bytes);
	t->count += bytes;
}

static struct text *
printed(const struct made *made)
{
	struct text *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	made_print(made, put, t);
	return t;
}

/* A state with something of everything. */
static void
fill(struct made_sample *s)
{
	static const struct made_controller present[] = {
		{ 1, 11, NQN "b c", false }, { 2, 12, NQN "a\n", false }, { 3, 13, NQN "a\n", false },
	};
	static const uint16_t two[] = { 1, 2 };

	assert_non_null(sample_add(s, 1, true, true, true));
	assert_non_null(sample_add(s, 1024, true, false, true));
	assert_non_null(sample_add(s, 3, true, true, false)); /* in memory: not kept */
	assert_non_null(sample_add(s, 4, false, true, true));
	assert_non_null(sample_add(s, 7, false, true, true)); /* which nothing is known of */
	assert_non_null(sample_add(s, 8, true, true, true));
	assert_int_equal(made_attach(&s->arena, s->made, &s->made->ns[0], true, two, 2, present, 3), NVME_SC_SUCCESS);
	s->made->ns[0].protection = NVME_PROTECT_UNTIL_POWER_CYCLE;
	s->made->ns[1].protection = NVME_PROTECT_WRITES;
	s->made->ns[3].protection = NVME_PROTECT_WRITES;
}

static void
what_is_kept_comes_back(void **state)
{
	struct made_sample *s = *state;
	struct text *t, *again;
	struct made *made;

	fill(s);
	t = printed(s->made);
	assert_int_equal(made_parse(&s->arena, t->bytes, t->count, &made), 0);
	assert_int_equal(made->id, 0x1234);
	assert_int_equal(made->count, 4);
	assert_string_equal(made->ns[0].nqn, NQN "s %\n");
	assert_int_equal(made->ns[0].host_count, 2);
	assert_string_equal(made->ns[0].hosts[0], NQN "a\n");
	assert_int_equal(made->ns[0].other_count, 0); /* the associations are gone */
	assert_int_equal(made->ns[0].protection, NVME_PROTECT_NONE);
	assert_int_equal(made->ns[0].blocks, 1001);
	assert_memory_equal(made->ns[0].uuid, s->made->ns[0].uuid, 16);
	assert_int_equal(made->ns[1].protection, NVME_PROTECT_WRITES);
	assert_true(!made->ns[1].shared && made->ns[1].nsid == 1024);
	assert_true(!made->ns[2].own && made->ns[2].protection == NVME_PROTECT_WRITES);
	again = printed(made);
	assert_int_equal(again->count, t->count);
	assert_memory_equal(again->bytes, t->bytes, t->count);
	free(t);
	free(again);
}

static void
a_record_that_is_cut_or_changed_anywhere_is_damaged(void **state)
{
	struct made_sample *s = *state;
	struct made *made;
	struct text *t;

	fill(s);
	t = printed(s->made);
	for (size_t i = 0; i < t->count; i++) {
		assert_int_equal(made_parse(&s->arena, t->bytes, i, &made), -EUCLEAN);
		t->bytes[i] ^= 1;
		assert_int_equal(made_parse(&s->arena, t->bytes, t->count, &made), -EUCLEAN);
		t->bytes[i] ^= 1;
	}
	assert_int_equal(made_parse(&s->arena, t->bytes, t->count, &made), 0);
	t->bytes[t->count] = '\n';
	assert_int_equal(made_parse(&s->arena, t->bytes, t->count + 1, &made), -EUCLEAN);
	free(t);
}

/* Lines with their end, whose sum is right whatever they say. */
static int
parse_lines(struct made_sample *s, const char *lines)
{
	struct text t = { .count = 0 };
	struct made *made;

	t.count = (size_t)snprintf(t.bytes, sizeof(t.bytes), "%s", lines);
	t.count += (size_t)snprintf(t.bytes + t.count, 32, "end %08x\n", crc32c(0, t.bytes, t.count));
	return made_parse(&s->arena, t.bytes, t.count, &made);
}

static void
a_record_that_says_what_cannot_be_is_damaged(void **state)
{
#define HEAD "weir-namespaces 1\ntarget 00000000000000ff\n"
#define UUID " 01020304-0506-0708-090a-0b0c0d0e0f10 "
	static const struct {
		const char *lines;
		int rc;
	} rows[] = {
		{ HEAD, 0 }, { "weir-namespaces 2\n", -EINVAL }, { "weir-namespaces 1\ntarget ff\n", -EUCLEAN },
		{ "weir-namespaces 1\ntarget 00000000000000fg\n", -EUCLEAN }, { HEAD "what 1\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\n", 0 },
		{ HEAD "namespace 0 512 9 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1025 512 9 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 513 9 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 0 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9223372036854775807 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 half 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 65 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 2" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0 01020304-0506-0708-090a-0b0c0d0e0f1 nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.%0\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.%00\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s \n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\n"
		  "namespace 2 512 9 shared 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\n"
		  "namespace 1 512 9 shared 1 0 11020304-0506-0708-090a-0b0c0d0e0f10 nqn.s\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\n"
		  "namespace 1 512 9 shared 1 0 11020304-0506-0708-090a-0b0c0d0e0f10 nqn.t\n", 0 },
		{ HEAD "attached nqn.h\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\nattached nqn.g\nattached nqn.h\n", 0 },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\nattached nqn.h\nattached nqn.g\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 shared 1 0" UUID "nqn.s\nattached nqn.h\nattached nqn.h\n", -EUCLEAN },
		{ HEAD "namespace 1 512 9 private 1 0" UUID "nqn.s\nattached nqn.h\n", -EUCLEAN },
		{ HEAD "protected 1 1" UUID "nqn.s\n", 0 }, { HEAD "protected 1 0" UUID "nqn.s\n", -EUCLEAN },
		{ HEAD "protected 1 1" UUID "nqn.s\nattached nqn.h\n", -EUCLEAN },
		{ HEAD "protected 1 1" UUID "nqn.s\nprotected 1 1" UUID "nqn.s\n", -EUCLEAN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (parse_lines(*state, rows[i].lines) != rows[i].rc)
			fail_msg("%zu: %d: %s", i, parse_lines(*state, rows[i].lines), rows[i].lines);
}

/* ---- memory ---- */

static void
whatever_allocation_fails_is_said(void **state)
{
	static const struct made_controller c = { 3, 3, NQN "z", false };
	struct made_sample *s = *state;
	const uint16_t id = 3;
	struct text *t;
	uint32_t said = 0;

	fill(s);
	t = printed(s->made);
	for (uint64_t n = 1; n < 60; n++) {
		struct arena arena;
		struct made *made = NULL, *parsed;
		struct made_ns *ns;
		bool failed;

		arena_init(&arena, 0);
		arena.fail_at = n;
		made = made_copy(&arena, s->made, 1);
		ns = made != NULL ? made_add(&arena, made, &s->made->ns[0]) : NULL;
		failed = ns == NULL ||
		    made_attach(&arena, made, ns, true, &id, 1, &c, 1) == NVME_SC_INTERNAL ||
		    made_parse(&arena, t->bytes, t->count, &parsed) == -ENOMEM;
		assert_int_equal(failed, arena.fail_at == 0);
		said += failed;
		arena_drop(&arena);
	}
	assert_true(said > 30 && said < 59);
	free(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_setup, made_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_kept_comes_back),
		TEST(a_record_that_is_cut_or_changed_anywhere_is_damaged),
		TEST(a_record_that_says_what_cannot_be_is_damaged),
		TEST(whatever_allocation_fails_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
