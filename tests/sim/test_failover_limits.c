/*
 * test_failover_limits.c - what has no end by itself: a target that leaves one question unanswered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failover_bench.h"
#include "forger.h"

static uint64_t seed_first;

/* ---- a question that is not answered ---- */

/* Who its namespaces are; who the controller is was asked first. */
static bool
tells_no_namespace(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	const bool *mute = forger->owner;

	return !*mute || pdu[0] != PDU_C2H_DATA || nth == 0 ||
	    get_le32(pdu + 4) != sizeof(struct pdu_data) + NVME_IDENTIFY_LEN;
}

static struct forger
between(bool (*forge)(struct forger *forger, uint8_t *pdu, unsigned nth), void *owner)
{
	return (struct forger){
		.host = "10.0.0.9", .target = "10.0.0.1", .port = 4420, .forge = forge, .owner = owner,
	};
}

static void
start(struct fail *f, struct forger *forger, uint64_t seed)
{
	struct sim_process_options of_forger = { .start = forger_start, .arg = forger };
	struct sim_options sim = fail_sim_options();

	fail_start(f, seed, &sim);
	sim_process_create(f->sim, "forger", 1, &of_forger);
}

static bool
was_lost(void *arg)
{
	return ((struct fail *)arg)->lost > 0;
}

static void
says_what_was_asked(const struct fail *f)
{
	struct subsys_path path;

	subsys_path_get(f->subsys, 0, &path);
	assert_non_null(strstr(path.why, "the target did not answer in time: Identify Namespace"));
}

/* It is asked by who wants to use it.  Nobody else does then, so that the path comes up again. */
static void
a_live_path_that_does_not_answer_a_question_is_lost(void **state)
{
	struct fail f;
	bool mute = true;
	struct forger forger = between(tells_no_namespace, &mute);

	(void)state;
	fail_init(&f);
	f.paths = 1;
	f.host = forger.host;
	start(&f, &forger, seed_first);
	sim_run_until(f.sim, (f.options.io_timeout_ms - 10ULL) * FAIL_MS, was_lost, &f);
	assert_int_equal(f.lost, 0);
	fail_run(&f, 30);
	assert_int_equal(f.lost, 1);
	says_what_was_asked(&f);
	mute = false;
	sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
	assert_true(f.loading);
	fail_end(&f);
	fail_check(&f);
}

static bool
is_tried_again(void *arg)
{
	const struct fail *f = arg;
	struct subsys_path path;

	subsys_path_get(f->subsys, 0, &path);
	return strstr(path.why, "did not answer in time") != NULL;
}

/* One that is there again is asked about what is in use. */
static void
a_path_that_comes_up_and_does_not_answer_is_tried_again(void **state)
{
	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 5; seed++) {
		struct fail f;
		bool mute = false;
		struct forger forger = between(tells_no_namespace, &mute);

		fail_init(&f);
		f.paths = 1;
		f.host = forger.host;
		f.target.spec = "fault:delay-write=2@file:volume.img,size=1M";
		start(&f, &forger, seed);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		fail_run(&f, 5);
		mute = true;
		sim_process_crash(f.target_process, SIM_CRASH_KEEPS_WRITES);
		sim_process_start(f.target_process);
		sim_run_until(f.sim, sim_now(f.sim) + (f.options.connect_ms + 100ULL) * FAIL_MS, is_tried_again, &f);
		says_what_was_asked(&f);
		mute = false;
		fail_end(&f);
		fail_check(&f);
	}
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_path_that_does_not_answer_a_question_is_lost),
		cmocka_unit_test(a_path_that_comes_up_and_does_not_answer_is_tried_again),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
