/*
 * test_serving.c - what hosts wish and what the operator says, one after the other: whose turn it is, what a controller
 * may have under way, who waits for what is at work, and what an answer promises, in virtual time.
 */
#include "serving_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/log.h"
#include "wire/persistent.h"

#define SUBSYS(nqn, groups, pool, uuid) \
	"  - nqn: " nqn "\n" groups pool \
	"    namespaces:\n      - {nsid: 1, volume: mem, size: 1M, uuid: 00000000-0000-4000-8000-0000000000" uuid "}\n"
#define POOL "    host_namespaces: {volume: mem, size: 64M, count: 16}\n"
#define GROUP(state) "    ana_groups: [{id: 1, state: " state "}]\n"

static const char plain[] = SUBSYS(NQN_A, "", POOL, "01") SUBSYS(NQN_B, "", POOL, "02");
static const char in_change[] = SUBSYS(NQN_A, GROUP("change"), "", "01");
static const char optimized[] = SUBSYS(NQN_A, GROUP("optimized"), "", "01");

/* ---- turns ---- */

/* Ten controllers of hosts of one subsystem, or all of one host, flood it: another host is served beside them. */
static void
flood(uint64_t seed, unsigned reactors, const char *loud_nqn, const char *quiet_nqn, bool one_host)
{
	enum { LOUD = 10, WISHES = 3, ROUNDS = 6 };
	struct sim_options options = sim_options_default();
	struct bench b;
	struct asker *loud[LOUD], *quiet;

	/* Answers are counted where they come: in the order in which they were sent. */
	options.jitter_ns = options.mail_jitter_ns = options.wake_jitter_ns = options.short_ppm = 0;
	bench_begin(&b, seed, reactors, plain, &options);
	for (unsigned i = 0; i < LOUD; i++)
		loud[i] = one_host && i > 0 ? bench_again(loud[0]) : bench_host(&b, loud_nqn, ASKS);
	quiet = bench_host(&b, quiet_nqn, ASKS);
	bench_run(&b, 20 * ms);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned answers = b.answers;

		b.holding = true;
		for (unsigned i = 0; i < LOUD; i++) {
			loud[i]->protection = !(round & 1);
			bench_ask(loud[i], ASK_PROTECT, WISHES);
		}
		bench_run(&b, 5 * ms);
		quiet->protection = !(round & 1);
		bench_ask(quiet, ASK_PROTECT, 1);
		bench_run(&b, 5 * ms);
		assert_true(b.held_count == LOUD + 1 && b.answers == answers);
		bench_meet(&b, NULL, bench_let_go, second);
		bench_run(&b, 50 * ms);
		assert_true(b.answers == answers + LOUD * WISHES + 1 && quiet->ok == round + 1);
		/* One that had begun, and one that was later sent and sooner there. */
		assert_in_range(quiet->place - answers, 0, 2);
	}
	bench_end(&b);
}

static void
subsystems_take_turns_however_much_the_hosts_of_one_wish(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) { /* the first is flooded, or the second */
		bool first = seed % 2 == 0;

		flood(seed, 1 + (unsigned)(seed / 2), first ? NQN_A : NQN_B, first ? NQN_B : NQN_A, false);
	}
}

static void
hosts_take_turns_however_many_controllers_one_of_them_has(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++)
		flood(seed, 1 + (unsigned)(seed / 2), NQN_A, NQN_A, true);
}

/* ---- what a controller may have ---- */

static void
of_a_controller_one_wish_is_at_the_keeper_and_seven_wait(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct bench b;
		struct asker *a, *other;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 2), plain, NULL);
		a = bench_host(&b, NQN_A, ASKS);
		other = bench_host(&b, NQN_A, ASKS);
		b.holding = true;
		a->protection = other->protection = 1;
		bench_ask(a, ASK_PROTECT, 20);
		bench_run(&b, 50 * ms);
		assert_int_equal(b.held_count, 1);
		assert_true(a->answered == 20 - TARGET_WISHES_MAX && a->interrupted == a->answered);
		bench_ask(other, ASK_PROTECT, 3);
		bench_run(&b, 50 * ms);
		assert_true(b.held_count == 2 && other->answered == 0);
		bench_meet(&b, NULL, bench_let_go, second);
		bench_run(&b, 50 * ms);
		assert_true(a->answered == 20 && a->ok == TARGET_WISHES_MAX);
		assert_true(other->ok == 3 && b.came == TARGET_WISHES_MAX + 3);
		a->protection = 0;
		bench_asked(a, ASK_PROTECT, TARGET_WISHES_MAX);
		assert_int_equal(a->ok, 2 * TARGET_WISHES_MAX);
		bench_end(&b);
	}
}

/* As `weir serve --explain-memory` adds it up.  Lists of two controllers are measured; they may be longer. */
static void
wishes_take_no_more_memory_than_is_said(void **state)
{
	enum { LONGEST = 2047, SHORT = 2 };
	const size_t longer = TARGET_WISHES_MAX * (LONGEST - SHORT) * sizeof(uint16_t);
	const size_t said = target_controller_bytes() + target_connection_bytes() + target_queue_bytes(ASKS);
	size_t before, alone, most;
	struct asker *a;
	struct bench b;

	(void)state;
	bench_begin(&b, 1, 1, plain, NULL);
	a = bench_host(&b, NQN_A, ASKS);
	bench_asked(a, ASK_CREATE, 1);
	assert_int_equal(a->ok, 1);
	bench_run(&b, 50 * ms);
	before = b.reactor->arena->bytes;
	a = bench_host(&b, NQN_A, ASKS);
	alone = b.reactor->arena->bytes;
	b.holding = true;
	bench_ask(a, ASK_ATTACH, ASKS - 1);
	bench_run(&b, 100 * ms);
	most = b.reactor->arena->bytes;
	assert_true(b.held_count == 1 && a->interrupted == ASKS - 1 - TARGET_WISHES_MAX);
	print_message("# a controller takes %u bytes, its wishes %u to %u; it is said %u\n", (unsigned)(alone - before),
	    (unsigned)(most - alone), (unsigned)(most - alone + longer), (unsigned)said);
	assert_true(most - alone >= TARGET_WISHES_MAX * sizeof(struct target_wish));
	assert_true(most - before + longer <= said);
	bench_meet(&b, NULL, bench_let_go, second);
	bench_run(&b, 100 * ms);
	assert_int_equal(a->answered, ASKS - 1);
	bench_end(&b);
}

/* ---- one after the other ---- */

static bool
wish_at_work(const struct bench *b)
{
	return b->serving.busy && b->serving.next == NULL;
}

static bool
target_at_work(const struct bench *b)
{
	return target_busy(b->serving.target);
}

/* While something is at work: the operator's waits for it, and a second one is refused. */
static void
apply_two(struct bench *b)
{
	assert_true(serving_busy(&b->serving));
	assert_int_equal(bench_apply(b, optimized), 0);
	assert_true(serving_applies(&b->serving) && b->told == 0);
	assert_int_equal(bench_apply(b, in_change), -EBUSY);
}

static void
apply_one(struct bench *b)
{
	assert_int_equal(bench_apply(b, in_change), 0);
}

static void
let_go_and_apply(struct bench *b)
{
	bench_let_go(b);
	b->moment = wish_at_work;
	b->act = apply_two;
}

static void
apply_and_let_go(struct bench *b)
{
	apply_one(b);
	assert_true(serving_busy(&b->serving));
	bench_let_go(b);
}

static enum nvme_ana_state
group_state(struct asker *a)
{
	struct nvme_log_ana_group group;

	bench_asked(a, ASK_GROUPS, 1);
	assert_int_equal(a->last, NVME_SC_SUCCESS);
	memcpy(&group, a->page + sizeof(struct nvme_log_ana), sizeof(group));
	return (enum nvme_ana_state)(group.state & 15);
}

static void
a_configuration_that_meets_a_wish_is_applied_after_it_and_before_those_that_wait(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct bench b;
		struct asker *a[4];
		unsigned ok = 0;

		bench_begin(&b, seed, 1 + (unsigned)(seed % 3), in_change, NULL);
		for (unsigned i = 0; i < 4; i++)
			a[i] = bench_host(&b, NQN_A, ASKS);
		b.holding = true;
		for (unsigned i = 0; i < 4; i++) {
			a[i]->protection = i % 2 == 0; /* each changes something */
			bench_ask(a[i], ASK_PROTECT, 1);
			bench_run(&b, 20 * ms);
		}
		assert_int_equal(b.held_count, 4);
		bench_meet(&b, NULL, let_go_and_apply, second);
		bench_run(&b, 50 * ms);
		/* It asks the disk of the record first, as long as one wish takes at most, which may be the next. */
		assert_true(b.told == 1 && b.told_rc == 0 && b.told_after <= 2);
		for (unsigned i = 0; i < 4; i++)
			ok += a[i]->ok;
		assert_int_equal(ok, 4);
		assert_int_equal(group_state(a[0]), NVME_ANA_OPTIMIZED);
		bench_end(&b);
	}
}

/* A host of a subsystem whose group the operator has put into change. */
static struct asker *
begin_in_change(struct bench *b, uint64_t seed, unsigned reactors)
{
	bench_begin(b, seed, reactors, in_change, NULL);
	return bench_host(b, NQN_A, ASKS);
}

static void
a_configuration_that_meets_what_the_target_does_itself_is_applied_after_it(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct bench b;
		struct asker *a = begin_in_change(&b, seed, 1 + (unsigned)seed);

		bench_run(&b, 9 * second);
		assert_int_equal(group_state(a), NVME_ANA_CHANGE);
		bench_meet(&b, target_at_work, apply_two, 2 * second);
		bench_run(&b, 50 * ms);
		assert_true(b.told == 1 && b.told_rc == 0);
		assert_int_equal(group_state(a), NVME_ANA_OPTIMIZED);
		bench_end(&b);
	}
}

/* Nothing else comes that could remind the keeper of it. */
static void
a_wish_that_meets_something_else_at_work_is_done_after_it(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		bool by_operator = seed % 2 == 0;
		struct bench b;
		struct asker *a = begin_in_change(&b, seed, 1 + (unsigned)(seed / 2));

		b.holding = true;
		bench_run(&b, 9 * second);
		a->protection = 1;
		bench_ask(a, ASK_PROTECT, 1);
		bench_run(&b, 50 * ms);
		assert_int_equal(b.held_count, 1);
		if (by_operator)
			bench_meet(&b, NULL, apply_and_let_go, second);
		else
			bench_meet(&b, target_at_work, bench_let_go, 2 * second);
		assert_true(serving_busy(&b.serving) && a->answered == 0);
		bench_run(&b, 50 * ms);
		assert_true(a->answered == 1 && a->ok == 1);
		assert_int_equal(b.told, by_operator);
		bench_end(&b);
	}
}

/* It is made of the configuration that holds, in which the group is in change; the operator has not said so again. */
static void
a_wish_does_not_put_a_group_into_change_that_was_so_for_too_long(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct bench b;
		struct asker *a = begin_in_change(&b, seed, 1 + (unsigned)seed);

		bench_run(&b, 12 * second);
		assert_int_equal(group_state(a), NVME_ANA_INACCESSIBLE);
		a->protection = 1;
		bench_asked(a, ASK_PROTECT, 1);
		assert_int_equal(a->last, NVME_SC_SUCCESS);
		assert_int_equal(group_state(a), NVME_ANA_INACCESSIBLE);
		bench_meet(&b, NULL, apply_one, second);
		bench_run(&b, 50 * ms);
		assert_true(b.told == 1 && b.told_rc == 0);
		assert_int_equal(group_state(a), NVME_ANA_CHANGE);
		bench_end(&b);
	}
}

/* ---- what an answer promises ---- */

static void
a_wish_is_not_answered_success_until_its_record_is_durable(void **state)
{
	struct bench b;
	struct asker *a;

	(void)state;
	bench_begin(&b, 1, 2, plain, NULL);
	a = bench_host(&b, NQN_A, ASKS);
	a->protection = 1;
	bench_asked(a, ASK_PROTECT, 1);
	assert_true(a->ok == 1 && bench_disk.folders == 1);
	a->protection = 0;
	bench_disk.fail_folders = 3;
	for (unsigned n = 0; n < 3; n++) { /* the target has done it, but not kept */
		bench_asked(a, ASK_PROTECT, 1);
		assert_true(a->last == NVME_SC_INTERNAL && bench_disk.folders == 2 + n);
	}
	bench_asked(a, ASK_PROTECT, 1);
	assert_true(a->last == NVME_SC_SUCCESS && bench_disk.folders == 5);
	bench_asked(a, ASK_PROTECT, 1);
	assert_true(a->last == NVME_SC_SUCCESS && bench_disk.folders == 5);
	bench_disk.fail_folders = 2;
	for (unsigned n = 0; n < 2; n++) { /* another one: first the folder, so of the second nothing is done */
		a->protection = 1 - n;
		bench_asked(a, ASK_PROTECT, 1);
		assert_true(a->last == NVME_SC_INTERNAL && bench_disk.fail_folders == 1 - n);
		assert_int_equal(b.serving.hosted.state->made->count, 1);
	}
	bench_asked(a, ASK_PROTECT, 1);
	assert_true(a->last == NVME_SC_SUCCESS);
	bench_end(&b);
}

/* ---- events ---- */

static unsigned
events_of(const struct asker *reader, uint8_t type, uint16_t cntlid)
{
	uint64_t length = get_le64(reader->page + 8);
	unsigned count = 0;

	assert_in_range(length, 512, PAGE_BYTES);
	for (uint64_t at = 512; at < length; at += 24 + get_le16(reader->page + at + 22))
		count += reader->page[at] == type && get_le16(reader->page + at + 4) == cntlid;
	return count;
}

/* Mail is slow here: what one says is unheard for long. */
static void
a_controller_that_fills_what_may_be_unheard_of_it_takes_nothing_of_anothers(void **state)
{
	enum { FLOOD = 30, UNHEARD = 8 };
	struct sim_options options = sim_options_default();
	struct asker *loud, *quiet;
	struct bench b;

	(void)state;
	options.mail_ns = 20 * ms;
	bench_begin(&b, 1, 1, plain, &options);
	loud = bench_host(&b, NQN_A, ASKS);
	quiet = bench_host(&b, NQN_A, ASKS);
	bench_run(&b, second);
	bench_ask(loud, ASK_TIME, FLOOD);
	bench_run(&b, 5 * ms);
	assert_int_equal(loud->ok, FLOOD);
	bench_ask(quiet, ASK_TIME, 1);
	bench_run(&b, 5 * ms);
	assert_int_equal(quiet->ok, 1); /* and the first of the others is not heard yet */
	bench_run(&b, second);
	bench_asked(quiet, ASK_EVENTS, 1);
	assert_int_equal(quiet->ok, 2);
	assert_int_equal(events_of(quiet, NVME_PERSISTENT_TIMESTAMP, quiet->admin.cntlid), 1);
	assert_int_equal(events_of(quiet, NVME_PERSISTENT_TIMESTAMP, loud->admin.cntlid), UNHEARD);
	bench_asked(loud, ASK_TIME, 1);
	bench_end(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subsystems_take_turns_however_much_the_hosts_of_one_wish),
		cmocka_unit_test(hosts_take_turns_however_many_controllers_one_of_them_has),
		cmocka_unit_test(of_a_controller_one_wish_is_at_the_keeper_and_seven_wait),
		cmocka_unit_test(wishes_take_no_more_memory_than_is_said),
		cmocka_unit_test(a_configuration_that_meets_a_wish_is_applied_after_it_and_before_those_that_wait),
		cmocka_unit_test(a_configuration_that_meets_what_the_target_does_itself_is_applied_after_it),
		cmocka_unit_test(a_wish_that_meets_something_else_at_work_is_done_after_it),
		cmocka_unit_test(a_wish_does_not_put_a_group_into_change_that_was_so_for_too_long),
		cmocka_unit_test(a_wish_is_not_answered_success_until_its_record_is_durable),
		cmocka_unit_test(a_controller_that_fills_what_may_be_unheard_of_it_takes_nothing_of_anothers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
