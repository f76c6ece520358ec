/*
 * test_leaving.c - what a controller wished that goes, or any when the target stops: it is over before its host, or the
 * operator who put the host out, hears that the controller is gone.  In virtual time.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "serving_bench.h"

#define SUBSYS(hosts) \
	"  - nqn: " NQN_A "\n" hosts "    host_namespaces: {volume: mem, size: 64M, count: 64}\n" \
	"    namespaces:\n      - {nsid: 1, volume: mem, size: 1M, uuid: 00000000-0000-4000-8000-000000000001}\n"
#define HOST "nqn.2026-11.local.weir:host-"

static const char everybody[] = SUBSYS("");
static const char two_alone[] = SUBSYS("    hosts: [" HOST "2]\n");

/* How many namespaces hosts have made. */
static uint32_t
made(const struct bench *b)
{
	return b->serving.hosted.state->made->count;
}

/* ---- what the keeper has not begun ---- */

static void
what_a_host_wished_before_it_was_lost_is_over_when_it_connects_again(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *old, *again;
		struct bench b;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), everybody, NULL);
		old = bench_host(&b, NQN_A, ASKS);
		b.holding = true;
		bench_ask(old, ASK_CREATE, 3);
		bench_run(&b, 20 * ms);
		assert_int_equal(b.held_count, 1);
		bench_leave(old);
		bench_run(&b, 20 * ms);
		again = bench_again(old);
		bench_run(&b, second);
		assert_false(again->enabled); /* nobody knows yet what becomes of that one */
		bench_meet(&b, NULL, bench_let_go, second);
		bench_run(&b, 20 * ms);
		assert_true(again->enabled && made(&b) == 0);
		bench_run(&b, second);
		assert_int_equal(made(&b), 0);
		bench_asked(again, ASK_CREATE, 1);
		assert_true(again->ok == 1 && made(&b) == 1);
		bench_end(&b);
	}
}

/* `old` wishes something, and `heir` has the fence granted. */
static void
begin_fence(struct bench *b, uint64_t seed, struct asker **old, struct asker **heir)
{
	bench_begin(b, seed, 1 + (unsigned)(seed % 3), everybody, NULL);
	*old = bench_host(b, NQN_A, ASKS);
	(*old)->may_be_lost = true;
	*heir = bench_again(*old);
	bench_run(b, 20 * ms);
	assert_true((*heir)->enabled);
	bench_asked(*heir, ASK_EXTENSION, 1);
	assert_int_equal((*heir)->ok, 1);
}

static void
what_a_host_wished_on_a_fenced_path_is_over_when_the_fence_is_answered(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *old, *heir;
		struct bench b;

		begin_fence(&b, seed, &old, &heir);
		b.holding = true;
		bench_ask(old, ASK_CREATE, 3);
		bench_run(&b, 20 * ms);
		assert_int_equal(b.held_count, 1);
		bench_ask(heir, ASK_FENCE, 1);
		bench_run(&b, second);
		assert_true(old->lost && heir->answered == 1);
		bench_meet(&b, NULL, bench_let_go, second);
		bench_run(&b, 20 * ms);
		assert_true(heir->ok == 2 && made(&b) == 0);
		bench_run(&b, second);
		assert_int_equal(made(&b), 0);
		bench_end(&b);
	}
}

/* ---- what it has begun ---- */

static bool
wish_at_work(const struct bench *b)
{
	return hosted_works(&b->serving.hosted);
}

/* The host sends it at its next look, a millisecond later at most; the disk takes longer. */
static void
fence_now(struct bench *b)
{
	bench_ask(&b->askers[1], ASK_FENCE, 1);
}

static bool
has_two_answers(void *arg)
{
	return ((const struct asker *)arg)->answered == 2;
}

static void
what_was_begun_for_a_fenced_path_is_done_when_the_fence_is_answered(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *old, *heir;
		struct bench b;
		uint32_t then;

		begin_fence(&b, seed, &old, &heir);
		bench_ask(old, ASK_CREATE, 5);
		bench_meet(&b, wish_at_work, fence_now, second);
		assert_int_equal(sim_run_until(b.sim, sim_now(b.sim) + second, has_two_answers, heir), SIM_END_MET);
		then = made(&b);
		assert_true(heir->ok == 2 && !hosted_works(&b.serving.hosted) && then > 0);
		bench_run(&b, second);
		assert_int_equal(made(&b), then);
		bench_end(&b);
	}
}

/* ---- the operator ---- */

static void
let_go_and_put_out(struct bench *b)
{
	bench_let_go(b);
	assert_int_equal(bench_apply(b, two_alone), 0);
}

static bool
is_told(void *arg)
{
	return ((const struct bench *)arg)->told > 0;
}

static void
nothing_is_done_for_a_host_that_was_put_out_when_the_operator_is_told(void **state)
{
	enum { PATHS = 12 };

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *out[PATHS], *stays;
		struct bench b;
		uint32_t then;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), everybody, NULL);
		out[0] = bench_host(&b, NQN_A, ASKS);
		stays = bench_host(&b, NQN_A, ASKS);
		assert_int_equal(stays->number, 2);
		for (unsigned i = 1; i < PATHS; i++)
			out[i] = bench_again(out[0]);
		bench_run(&b, 20 * ms);
		b.holding = true;
		for (unsigned i = 0; i < PATHS; i++) {
			out[i]->may_be_lost = true;
			bench_ask(out[i], ASK_CREATE, 2);
		}
		bench_run(&b, 20 * ms);
		bench_ask(stays, ASK_CREATE, 1);
		bench_run(&b, 20 * ms);
		assert_int_equal(b.held_count, PATHS + 1);
		bench_meet(&b, NULL, let_go_and_put_out, second);
		assert_int_equal(sim_run_until(b.sim, sim_now(b.sim) + second, is_told, &b), SIM_END_MET);
		then = made(&b);
		assert_true(b.told_rc == 0 && then <= 2 && stays->ok == 0);
		bench_run(&b, second);
		assert_true(stays->ok == 1 && made(&b) == then + 1);
		for (unsigned i = 0; i < PATHS; i++)
			assert_true(out[i]->lost);
		bench_end(&b);
	}
}

/* ---- the end ---- */

static void
let_go_and_stop(struct bench *b)
{
	bench_let_go(b);
	serving_stop(&b->serving);
}

static void
what_waits_when_the_target_stops_is_not_begun(void **state)
{
	enum { PATHS = 12, EACH = 3 };

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *a[PATHS];
		unsigned interrupted = 0;
		struct bench b;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), everybody, NULL);
		for (unsigned i = 0; i < PATHS; i++)
			a[i] = bench_host(&b, NQN_A, ASKS);
		b.holding = true;
		for (unsigned i = 0; i < PATHS; i++)
			bench_ask(a[i], ASK_CREATE, EACH);
		bench_run(&b, 20 * ms);
		assert_int_equal(b.held_count, PATHS);
		bench_meet(&b, NULL, let_go_and_stop, second);
		bench_run(&b, 20 * ms);
		for (unsigned i = 0; i < PATHS; i++)
			interrupted += a[i]->interrupted;
		assert_true(interrupted == PATHS * EACH && made(&b) == 0);
		bench_end(&b);
	}
}

/* Its record is written, and it has its turn only now. */
static bool
wish_noted(const struct bench *b)
{
	return hosted_works(&b->serving.hosted) && !serving_busy(&b->serving);
}

static void
stop(struct bench *b)
{
	serving_stop(&b->serving);
}

static void
what_was_begun_and_not_applied_when_the_target_stops_is_to_be_tried_again(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct asker *a;
		struct bench b;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), everybody, NULL);
		a = bench_host(&b, NQN_A, ASKS);
		bench_ask(a, ASK_CREATE, 1);
		bench_meet(&b, wish_noted, stop, second);
		bench_run(&b, 20 * ms);
		assert_true(a->answered == 1 && a->interrupted == 1 && made(&b) == 0);
		bench_end(&b);
	}
}

static unsigned
files_in(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Whatever it is at: who stops in between would leave it there until the next start. */
static void
what_was_deleted_is_waited_for_until_it_is_gone(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		char pool[] = P_tmpdir "/test_leaving.XXXXXX", text[512];
		struct asker *a;
		struct bench b;

		assert_non_null(mkdtemp(pool));
		snprintf(text, sizeof(text),
		    "  - nqn: " NQN_A "\n    host_namespaces: {volume: \"file:%s\", size: 64M}\n"
		    "    namespaces:\n      - {nsid: 1, volume: mem, size: 1M}\n", pool);
		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), text, NULL);
		a = bench_host(&b, NQN_A, ASKS);
		bench_asked(a, ASK_CREATE, 1);
		assert_int_equal(files_in(pool), 1);
		bench_asked(a, ASK_DELETE, 1);
		assert_int_equal(a->ok, 2);
		while (serving_waits(&b.serving))
			bench_run(&b, us);
		assert_int_equal(files_in(pool), 0);
		bench_end(&b);
		assert_int_equal(rmdir(pool), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_host_wished_before_it_was_lost_is_over_when_it_connects_again),
		cmocka_unit_test(what_a_host_wished_on_a_fenced_path_is_over_when_the_fence_is_answered),
		cmocka_unit_test(what_was_begun_for_a_fenced_path_is_done_when_the_fence_is_answered),
		cmocka_unit_test(nothing_is_done_for_a_host_that_was_put_out_when_the_operator_is_told),
		cmocka_unit_test(what_waits_when_the_target_stops_is_not_begun),
		cmocka_unit_test(what_was_begun_and_not_applied_when_the_target_stops_is_to_be_tried_again),
		cmocka_unit_test(what_was_deleted_is_waited_for_until_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
