/*
 * test_order_crash.c - the crash matrix of ordered writes: hosts, servers and networks are lost at any time of many
 * histories, and what is recovered is held against what was promised (doc/ordered-writes.md, What is promised).
 *
 * ORDER_CRASH_HISTORIES and ORDER_CRASH_SEED play others, and as many as one likes; it says what it has seen.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order_model.h"

enum { WATCHED = 120 }; /* steps of a history, at each of which everything may crash */

/* ---- states that were seen ---- */

struct seen {
	uint64_t *hashes, size, count;
};

/* False: it was seen before. */
static bool
see(struct seen *seen, uint64_t hash)
{
	uint64_t at = hash % seen->size;

	hash += hash == 0;
	while (seen->hashes[at] != 0 && seen->hashes[at] != hash)
		at = (at + 1) % seen->size;
	if (seen->hashes[at] == hash)
		return false;
	seen->hashes[at] = hash;
	seen->count++;
	assert_true(seen->count < seen->size / 2);
	return true;
}

/* ---- a history ---- */

static struct rio model, before;

struct sum {
	struct seen seen;
	uint64_t crashes, histories, two_streams, joined, two_servers;
};

static unsigned
one_of(struct rng *rng, unsigned a, unsigned b)
{
	return rng_below(rng, 2) == 0 ? a : b;
}

static struct rio_plan
plan_of(uint64_t seed)
{
	struct rio_plan plan;
	struct rng rng;

	rng_seed(&rng, seed);
	plan = (struct rio_plan){
		.streams = one_of(&rng, 1, 2), .servers = one_of(&rng, 1, 2), .drives = one_of(&rng, 1, 2),
		.parts = one_of(&rng, 1, 2),
		.stripe = (uint32_t)one_of(&rng, 4, 16), .long_log = rng_below(&rng, 4) == 0,
		.group_end = one_of(&rng, 30, 80), .durable = one_of(&rng, 5, 40), .in_place = one_of(&rng, 0, 10),
		.joined = one_of(&rng, 20, 90), .depth = one_of(&rng, 3, 16),
	};
	plan.keeps[0] = rng_below(&rng, 2) == 0;
	plan.keeps[1] = rng_below(&rng, 3) == 0 ? !plan.keeps[0] : plan.keeps[0];
	return plan;
}

static void
complain(uint64_t seed, unsigned step, unsigned crash)
{
	fprintf(stderr, "history %" PRIu64 ", step %u, crash %u: %s\n", seed, step, crash, model.violation);
	fail();
}

/* What may be lost at once: bits of servers, and of hosts. */
static const struct { unsigned servers, hosts; } losses[] = {
	{ 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 3 }, { 1, 0 }, { 2, 0 }, { 3, 0 }, { 0, 3 }, { 1, 2 },
};

/* Recovered, and now and then with another crash while it is. */
static void
recover(void)
{
	for (unsigned i = 0; i < 5000 && !rio_is_well(&model) && model.violation == NULL; i++) {
		if (i < 100 && rng_below(&model.rng, 40) == 0)
			rio_crash(&model, (unsigned)rng_below(&model.rng, 4), (unsigned)rng_below(&model.rng, 4));
		rio_step(&model);
	}
	if (model.violation == NULL && !rio_is_well(&model))
		model.violation = "it is never recovered";
}

static void
try_crash(struct sum *sum, uint64_t seed, unsigned step, unsigned crash)
{
	unsigned loss = crash % (sizeof(losses) / sizeof(losses[0]));

	memcpy(&model, &before, sizeof(model));
	rng_seed(&model.rng, seed << 20 ^ step << 8 ^ crash);
	rio_crash(&model, losses[loss].servers, losses[loss].hosts);
	sum->crashes++;
	if (!see(&sum->seen, rio_hash(&model)))
		return;
	recover();
	/* Of what only a server has lost nothing may be gone. */
	if (model.violation == NULL && (losses[loss].hosts == 0 || rng_below(&model.rng, 8) == 0))
		rio_finish(&model);
	if (model.violation != NULL)
		complain(seed, step, crash);
}

/* Until the log is about to come to its end, or has; meanwhile the second stream, if there is one, rests. */
static void
fill_log(uint64_t seed)
{
	uint64_t end = RIO_SLOTS - 60 + rng_below(&model.rng, 400);

	for (unsigned i = 0; i < 100; i++)
		rio_step(&model);
	model.resting = 2;
	for (unsigned i = 0; i < 400000 && model.servers[0].parts[0].serve.log.next < end; i++) {
		rio_step(&model);
		for (unsigned stream = 0; stream < model.plan.streams; stream++)
			if (model.streams[stream].write_count > RIO_WRITES / 2)
				rio_forget(&model, stream);
		if (model.violation != NULL)
			complain(seed, 0, 0);
	}
	model.resting = 0;
}

static void
play(struct sum *sum, uint64_t seed, unsigned crashes)
{
	struct rio_plan plan = plan_of(seed);

	rio_begin(&model, &plan, seed);
	for (unsigned i = 0; !rio_is_well(&model); i++) {
		assert_in_range(i, 0, 10000);
		rio_step(&model);
	}
	if (plan.long_log)
		fill_log(seed);
	for (unsigned step = 1; step <= WATCHED; step++) {
		rio_step(&model);
		if (rng_below(&model.rng, 200) == 0)
			rio_lose(&model, 0, 0);
		if (model.violation != NULL)
			complain(seed, step, 0);
		memcpy(&before, &model, sizeof(model));
		for (unsigned crash = 1; crash <= crashes; crash++)
			try_crash(sum, seed, step, crash + step);
		memcpy(&model, &before, sizeof(model));
	}
	sum->histories++;
	sum->two_streams += plan.streams == 2;
	sum->two_servers += plan.servers == 2;
	sum->joined += model.streams[0].merged + model.streams[0].split > 0;
	rio_finish(&model);
	if (model.violation != NULL)
		complain(seed, WATCHED, 0);
}

static uint64_t
asked(const char *name, uint64_t else_is)
{
	const char *value = getenv(name);

	return value != NULL ? strtoull(value, NULL, 10) : else_is;
}

static void
whatever_is_lost_a_prefix_is_there(void **state)
{
	uint64_t histories = asked("ORDER_CRASH_HISTORIES", 40), first = asked("ORDER_CRASH_SEED", 1);
	unsigned crashes = (unsigned)asked("ORDER_CRASH_EACH", 3);
	struct sum sum = { .seen = { .size = 4 * histories * WATCHED * crashes + 1024 } };

	(void)state;
	sum.seen.hashes = calloc(sum.seen.size, sizeof(uint64_t));
	for (uint64_t seed = first; seed < first + histories; seed++)
		play(&sum, seed, crashes);
	printf("# crash_states %" PRIu64 " crashes %" PRIu64 " histories %" PRIu64 " two_streams %" PRIu64
	    " two_servers %" PRIu64 " merged_or_split %" PRIu64 " crash_violations 0\n", sum.seen.count, sum.crashes,
	    sum.histories, sum.two_streams, sum.two_servers, sum.joined);
	assert_true(5 * sum.two_streams >= sum.histories && 5 * sum.two_servers >= sum.histories);
	assert_true(5 * sum.joined >= sum.histories);
	free(sum.seen.hashes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_lost_a_prefix_is_there),
	};

	return cmocka_run_group_tests_name("order_crash", tests, NULL, NULL);
}
