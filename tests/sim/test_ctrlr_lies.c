/*
 * test_ctrlr_lies.c - a controller that says of itself what cannot be, refuses
 * what it may refuse, or breaks the rules of the transport: what becomes of an
 * association with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctrlr_bench.h"
#include "forger.h"
#include "wire/log.h"

static const uint64_t ms = 1000 * 1000, second = 1000 * 1000 * 1000;

/* Completions as they come of a guest who wants one of everything; SQ flow control is on, so that all are there. */
enum answer { CONNECT, CAP, ENABLE, CSTS, IDENTIFY, QUEUES, FENCE, EVENTS, LATER };

/* Some bytes of an answer, or of what Identify says. */
struct lie {
	bool identity;
	unsigned nth;            /* of the answers, this one; FOR_EVER: it and all after it */
	unsigned at, count;
	uint8_t bytes[4];
	bool swallow;            /* instead */
};

enum { LIES = 3, FOR_EVER = 0x100, DW0 = 8, STATUS = 22, CID = 20 };

#define SAYS(where, n, ...) { .identity = true, .at = (where), .count = (n), .bytes = { __VA_ARGS__ } }
#define ANSWERS(which, where, n, ...) { .nth = (which), .at = (where), .count = (n), .bytes = { __VA_ARGS__ } }
#define REFUSES(which) ANSWERS(which, STATUS, 2, 0x04, 0x40) /* 0:02, DNR */
#define SWALLOWS(which) { .nth = (which), .swallow = true }

struct play {
	struct lie lies[LIES];
	struct cluster_target target;
	struct forger forger;
	struct guest guest;
	struct sim *sim;
	struct sim_process *target_process, *guest_process;
};

static bool
forge(struct forger *f, uint8_t *pdu, unsigned nth)
{
	struct play *p = f->owner;
	bool passes = true;

	for (unsigned i = 0; i < LIES; i++) {
		const struct lie *lie = &p->lies[i];
		unsigned from = lie->nth & (FOR_EVER - 1);
		bool now = nth == from || (lie->nth & FOR_EVER && nth > from);

		if (lie->identity && pdu[0] == PDU_C2H_DATA)
			memcpy(pdu + sizeof(struct pdu_data) + lie->at, lie->bytes, lie->count);
		else if (!lie->identity && pdu[0] == PDU_CAPSULE_RESP && now)
			memcpy(pdu + lie->at, lie->bytes, lie->count);
		passes = passes && !(lie->swallow && pdu[0] == PDU_CAPSULE_RESP && now);
	}
	return passes;
}

static struct play *
play_create(uint64_t seed)
{
	struct play *p = calloc(1, sizeof(*p));
	struct sim_options options = sim_options_default();

	assert_non_null(p);
	p->sim = sim_create(seed, &options);
	p->target = (struct cluster_target){
		.host = "10.0.0.1", .spec = "mem:1M", .reactors = 1 + (unsigned)(seed % 3),
	};
	p->forger = (struct forger){
		.host = "10.0.0.9", .target = "10.0.0.1", .port = CLUSTER_PORT, .forge = forge, .owner = p,
	};
	guest_init(&p->guest);
	strcpy(p->guest.options.addr, "10.0.0.9");
	p->guest.options.sq_flow = true;
	p->guest.options.queues = 4;
	p->guest.options.kato_ms = 1000;
	p->guest.options.events = NVME_ASYNC_NS;
	return p;
}

static void
play_begin(struct play *p)
{
	struct sim_process_options target = {
		.reactor = { 256, 32 }, .start = cluster_target_start, .arg = &p->target,
	};
	struct sim_process_options forger = { .start = forger_start, .arg = &p->forger };

	p->target_process = sim_process_create(p->sim, "target", p->target.reactors, &target);
	sim_process_create(p->sim, "forger", 1, &forger);
	sim_run_until(p->sim, ms, NULL, NULL);
	p->guest_process = guest_process(p->sim, &p->guest);
}

static void
run(struct play *p, uint64_t ns)
{
	sim_run_until(p->sim, sim_now(p->sim) + ns, NULL, NULL);
}

static void
play_end(struct play *p)
{
	assert_true(guest_idle(&p->guest, p->guest_process));
	assert_int_equal(p->guest.done, p->guest.submitted);
	run(p, 150 * second);
	assert_true(cluster_target_idle(&p->target, p->target_process));
	assert_int_equal(p->forger.open, 0);
	sim_destroy(p->sim);
	free(p);
}

static const struct disbelieved {
	struct lie lie;
	int error;
	const char *why;
} disbelieved[] = {
	{ SAYS(78, 2, 0xee, 0xee), -EPROTO, "Identify names another controller than Connect did" },
	{ SAYS(768, 1, 'x'), -EPROTO, "Identify names another subsystem than was asked for (SUBNQN)" },
	{ SAYS(111, 1, NVME_CNTRLTYPE_DISCOVERY), -EPROTO,
	    "it is a discovery controller, which has no I/O queues" },
	{ SAYS(320, 2, 0, 0), -EPROTO, "the controller knows no Keep Alive (KAS is 0)" },
	{ SAYS(1792, 4, 3), -EPROTO,
	    "a command does not fit the capsules of the I/O queues (IOCCSZ is below 4)" },
	{ SAYS(1796, 4, 0), -EPROTO,
	    "a completion does not fit the capsules of the I/O queues (IORCSZ is 0)" },
	{ SAYS(1800, 2, 1), -EPROTO,
	    "data in capsules has to keep a distance, which this host does not know (ICDOFF)" },
	{ SAYS(536, 4, 0), -EPROTO, "the controller takes no SGLs" },
	{ SAYS(514, 2, 1, 0), -EPROTO, "its queues hold less than two commands (CAP.MQES, MAXCMD)" },
	{ ANSWERS(CAP, DW0, 2, 0, 0), -EPROTO, "its queues hold less than two commands (CAP.MQES, MAXCMD)" },
	{ ANSWERS(CONNECT, DW0, 4, 0xee, 0xee, 0, 0), -EPROTO,
	    "Identify names another controller than Connect did" },
	{ ANSWERS(CONNECT, DW0 + 2, 2, 2, 0), -EACCES,
	    "the target wants hosts to authenticate themselves, which this one cannot" },
	{ ANSWERS(CSTS, DW0, 4, 2, 0, 0, 0), -EIO, "the controller says that it failed (CSTS.CFS)" },
	{ REFUSES(CAP), -EPROTO, "reading what the controller can (CAP) failed: invalid field in command (0:02)" },
	{ REFUSES(ENABLE), -EPROTO, "enabling the controller (CC.EN) failed: invalid field in command (0:02)" },
	{ REFUSES(IDENTIFY), -EPROTO, "Identify Controller failed: invalid field in command (0:02)" },
	{ REFUSES(QUEUES), -EPROTO, "asking for I/O queues failed: invalid field in command (0:02)" },
	{ SWALLOWS(IDENTIFY), -ETIMEDOUT, "the target did not answer in time: Identify Controller" },
	{ SWALLOWS(CONNECT), -ETIMEDOUT, "the target did not answer in time: Connect" },
};

static void
what_cannot_be_ends_it_with_a_reason(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(disbelieved) / sizeof(disbelieved[0]); i++) {
		struct play *p = play_create(i);

		p->lies[0] = disbelieved[i].lie;
		p->guest.commands = 50; /* that wait for it, in vain */
		play_begin(p);
		run(p, 11 * second);
		assert_int_equal(p->guest.readies, 0);
		assert_int_equal(p->guest.losts, 1);
		assert_string_equal(p->guest.why, disbelieved[i].why);
		assert_int_equal(p->guest.error, disbelieved[i].error);
		assert_false(p->guest.final);
		assert_int_equal(p->guest.unsent, 50);
		assert_int_equal(p->forger.resets, 1);
		play_end(p);
	}
}

/* Who wants no I/O queues does not mind what they are like. */
static void
what_does_not_concern_it_is_not_minded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(disbelieved) / sizeof(disbelieved[0]); i++) {
		const struct lie *lie = &disbelieved[i].lie;
		struct play *p;

		if (!lie->identity || (lie->at != 111 && lie->at != 514 && lie->at != 536 && lie->at < 1024))
			continue;
		p = play_create(i);
		p->lies[0] = *lie;
		p->guest.options.queues = 0;
		p->guest.end_ns = second;
		play_begin(p);
		run(p, 2 * second);
		assert_int_equal(p->guest.readies, 1);
		assert_int_equal(p->guest.facts.discovery, lie->at == 111);
		play_end(p);
	}
}

static void
what_a_plain_target_has_not_is_not_missed(void **state)
{
	static const struct lie lies[] = {
		REFUSES(FENCE), REFUSES(EVENTS), ANSWERS(FENCE, DW0, 4, 0xef, 0xff, 0xff, 0xff),
		SAYS(3072, 1, 'w'), SAYS(3076, 2, 0), SAYS(3078, 2, 11),
		SAYS(92, 4, 0), REFUSES(LATER),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct play *p = play_create(i);

		p->lies[0] = lies[i];
		p->guest.end_ns = 100 * second;
		play_begin(p);
		run(p, 99 * second);
		assert_int_equal(p->guest.losts, lies[i].nth == LATER);
		assert_int_equal(p->guest.readies, 1);
		assert_int_equal(p->guest.facts.fences, i == 1 || i >= 6);
		assert_int_equal(p->guest.facts.events, i == 1 || i == 6 ? 0 : NVME_ASYNC_NS);
		if (lies[i].nth == LATER)
			assert_string_equal(p->guest.why, "Keep Alive failed: invalid field in command (0:02)");
		run(p, 2 * second);
		play_end(p);
	}
}

/* As of Linux's target, which does not know all there are. */
static void
where_warnings_are_refused_the_rest_is_still_told(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct play *p = play_create(seed);

		p->lies[0] = (struct lie)REFUSES(EVENTS);
		if (seed % 2 == 1)
			p->lies[1] = (struct lie)REFUSES(EVENTS + 1);
		p->guest.options.events = NVME_ASYNC_SMART | NVME_ASYNC_NS | NVME_ASYNC_ANA;
		p->guest.leaves = true;
		play_begin(p);
		run(p, second);
		assert_int_equal(p->guest.readies, 1);
		assert_int_equal(p->guest.facts.events, seed % 2 == 0 ? NVME_ASYNC_NS | NVME_ASYNC_ANA : 0);
		assert_int_equal(p->guest.closes, 1);
		play_end(p);
	}
}

static void
no_more_queues_are_taken_than_were_granted_or_asked_for(void **state)
{
	static const struct {
		uint8_t granted[4];
		unsigned queues;
	} grants[] = { { { 0, 0, 9, 0 }, 1 }, { { 9, 0, 1, 0 }, 2 }, { { 0xff, 0xff, 0xff, 0xff }, 4 } };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct play *p = play_create(i);

		p->lies[0] = (struct lie){ .nth = QUEUES, .at = DW0, .count = 4 };
		memcpy(p->lies[0].bytes, grants[i].granted, 4);
		p->guest.end_ns = second;
		play_begin(p);
		run(p, 2 * second);
		assert_int_equal(p->guest.facts.queues, grants[i].queues);
		play_end(p);
	}
}

/* It says that it is not ready yet for as long as it says that may take, which is longer than there is otherwise. */
static void
a_controller_is_given_the_time_it_says_it_takes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct play *p = play_create(seed);

		p->lies[0] = (struct lie)ANSWERS(CAP, DW0 + 3, 1, 5);
		p->lies[1] = (struct lie)ANSWERS(CSTS | FOR_EVER, DW0, 4, 0);
		if (seed % 2 == 1)
			p->lies[2] = (struct lie)SWALLOWS((CSTS + 20) | FOR_EVER);
		p->guest.options.connect_ms = 100;
		play_begin(p);
		run(p, 10 * second);
		assert_int_equal(p->guest.error, -ETIMEDOUT);
		assert_string_equal(p->guest.why, seed % 2 == 0 ?
		    "the controller is not ready in the time it says it takes (CAP.TO)" :
		    "the target did not answer in time: asking whether the controller is ready (CSTS)");
		if (seed % 2 == 0)
			assert_in_range(p->guest.lost_ns, 3000 * ms, 3050 * ms);
		else
			assert_in_range(p->guest.lost_ns, 290 * ms, 330 * ms);
		play_end(p);
	}
}

static void
commands_wait_until_it_is_ready(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct play *p = play_create(seed);

		for (unsigned i = 0; i < LIES; i++)
			p->lies[i] = (struct lie)ANSWERS(CSTS + i, DW0, 4, 0);
		p->guest.commands = 50;
		p->guest.work_ns = 5 * ms * (1 + seed);
		p->guest.leaves = true;
		play_begin(p);
		run(p, second);
		assert_true(p->guest.ready_ns > 30 * ms);
		assert_int_equal(p->guest.answered, 50);
		assert_int_equal(p->guest.closes, 1);
		play_end(p);
	}
}

static void
unanswered_keep_alives_end_it_though_all_else_is_answered(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct play *p = play_create(seed);

		p->lies[0] = (struct lie)SWALLOWS((LATER + 10) | FOR_EVER);
		play_begin(p);
		run(p, 20 * second);
		assert_int_equal(p->guest.readies, 1);
		assert_string_equal(p->guest.why, "the target answers no Keep Alive");
		assert_in_range(p->guest.lost_ns, 5990 * ms, 6020 * ms); /* ten were answered */
		play_end(p);
	}
}

/* It is told by a TermReq, and has half a second to close. */
static void
a_rule_that_is_broken_is_told_to_who_broke_it(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct play *p = play_create(seed);
		uint64_t latest;

		p->lies[0] = (struct lie)ANSWERS((unsigned)seed, CID, 2, 0x77, 0x77);
		p->forger.deaf = seed & 1;
		p->guest.commands = 60;
		play_begin(p);
		run(p, 400 * ms);
		assert_int_equal(p->guest.losts, !p->forger.deaf);
		latest = p->guest.lost_ns;
		run(p, 400 * ms);
		assert_int_equal(p->guest.losts, 1);
		assert_in_range(latest, 0, 100 * ms);
		assert_int_equal(p->guest.error, -EPROTO);
		assert_string_equal(p->guest.why, "a completion of no command (FES 1, FEI 20)");
		assert_int_equal(p->forger.terms, 1);
		assert_int_equal(p->forger.resets, p->forger.deaf); /* else the target is faster */
		play_end(p);
	}
}

static void
a_shutdown_takes_five_seconds_at_most(void **state)
{
	static const struct {
		struct lie lie;
		bool soon;
	} ends[] = {
		{ SWALLOWS(LATER | FOR_EVER), false },
		{ SWALLOWS((LATER + 1) | FOR_EVER), false },
		{ ANSWERS(LATER | FOR_EVER, DW0, 4, 5), false },
		{ ANSWERS(LATER | FOR_EVER, DW0, 4, 3), true },
		{ REFUSES(LATER | FOR_EVER), true },
		{ ANSWERS(LATER, CID, 1, 0x77), true },
		{ { .nth = 0 }, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct play *p = play_create(i);

		p->lies[0] = ends[i].lie;
		p->guest.end_ns = 100 * ms;
		p->guest.by_close = true;
		play_begin(p);
		run(p, second);
		assert_int_equal(p->guest.readies, 1);
		assert_int_equal(p->guest.closes, ends[i].soon);
		run(p, 4050 * ms);
		assert_int_equal(p->guest.closes, ends[i].soon);
		run(p, 200 * ms);
		assert_int_equal(p->guest.closes, 1);
		assert_int_equal(p->guest.losts, 0);
		assert_int_equal(p->forger.resets, !ends[i].soon);
		assert_int_equal(p->forger.leaves, ends[i].soon && ends[i].lie.at != CID);
		play_end(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_ends_it_with_a_reason),
		cmocka_unit_test(what_does_not_concern_it_is_not_minded),
		cmocka_unit_test(what_a_plain_target_has_not_is_not_missed),
		cmocka_unit_test(where_warnings_are_refused_the_rest_is_still_told),
		cmocka_unit_test(no_more_queues_are_taken_than_were_granted_or_asked_for),
		cmocka_unit_test(a_controller_is_given_the_time_it_says_it_takes),
		cmocka_unit_test(commands_wait_until_it_is_ready),
		cmocka_unit_test(unanswered_keep_alives_end_it_though_all_else_is_answered),
		cmocka_unit_test(a_rule_that_is_broken_is_told_to_who_broke_it),
		cmocka_unit_test(a_shutdown_takes_five_seconds_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
