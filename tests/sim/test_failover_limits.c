/*
 * test_failover_limits.c - what has no end by itself: a target that leaves one question unanswered, an I/O that each
 * connection dies of; and what one command may be, where paths differ in that.
 */
#include <errno.h>
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

static struct sim_process *
start(struct fail *f, struct forger *forger, uint64_t seed)
{
	struct sim_process_options of_forger = { .start = forger_start, .arg = forger };
	struct sim_options sim = fail_sim_options();

	fail_start(f, seed, &sim);
	return sim_process_create(f->sim, "forger", 1, &of_forger);
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

/* ---- an I/O that connections die of ---- */

enum { POISON_BLOCKS = FAIL_BLOCKS + 1, POISON_BYTES = POISON_BLOCKS * FAIL_BLOCK };

struct poison {
	struct fail *fail;
	uint64_t since_ns, took_ns;
	unsigned deaths, ends;
	int error;
	struct iovec iov;
	uint8_t data[POISON_BYTES];
};

/* It is of the one I/O of this size: its data, or the wish for them. */
static bool
is_large(const uint8_t *pdu)
{
	return (pdu[0] == PDU_C2H_DATA && get_le32(pdu + 4) == sizeof(struct pdu_data) + POISON_BYTES) ||
	    (pdu[0] == PDU_R2T && get_le32(pdu + 16) == POISON_BYTES);
}

/* What is sent for it, or asked of it, is for a command that there is not. */
static bool
kills(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	struct poison *poison = forger->owner;

	if (is_large(pdu)) {
		put_le16(pdu + 8, UINT16_MAX);
		poison->deaths++;
	}
	return true;
}

static void
poison_done(void *arg, const struct lane_result *result)
{
	struct poison *poison = arg;

	poison->ends++;
	poison->error = result->error;
	poison->took_ns = sim_now(poison->fail->sim) - poison->since_ns;
}

static bool
has_ended(void *arg)
{
	return ((struct poison *)arg)->ends > 0;
}

static void
submit_poison(struct poison *poison, enum lane_op op)
{
	struct lane_io io = {
		.op = (uint8_t)op, .nsid = 1, .lba = FAIL_SLOTS * FAIL_BLOCKS, .blocks = POISON_BLOCKS, .iov_count = 1,
		.iov = &poison->iov, .done = poison_done, .arg = poison,
	};

	poison->iov = (struct iovec){ poison->data, POISON_BYTES };
	poison->since_ns = sim_now(poison->fail->sim);
	assert_int_equal(lane_submit(poison->fail->lanes[0], &io), 0);
}

/* It is not sent again for ever, and others have their way again. */
static void
what_each_connection_dies_of_is_given_up(void **state)
{
	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;
		struct poison poison = { .fail = &f };
		struct forger forger = between(kills, &poison);

		fail_init(&f);
		f.paths = 1;
		f.host = forger.host;
		f.options.loss_ms = 1000;
		f.ios = 1000;
		start(&f, &forger, seed);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		fail_run(&f, 5);
		submit_poison(&poison, seed % 2 ? LANE_WRITE : LANE_READ);
		sim_run_until(f.sim, sim_now(f.sim) + 2000ULL * FAIL_MS, has_ended, &poison);
		assert_int_equal(poison.error, -ETIMEDOUT);
		assert_true(poison.deaths > 5);
		assert_true(poison.took_ns >= f.options.loss_ms * FAIL_MS);
		fail_end(&f);
		fail_check(&f);
		assert_int_equal(poison.ends, 1);
		assert_int_equal(f.lost, poison.deaths);
	}
}

/* ---- paths that take less at once ---- */

enum { SMALL_MDTS = 1, SMALL_BYTES = 2 * 4096 };

/* Between the host and one of two paths: a large I/O is not answered by the first, and should not come to the other. */
struct narrow {
	bool mute;
	unsigned large;
};

static bool
is_mute_at_times(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	const struct narrow *narrow = forger->owner;

	return !narrow->mute || !is_large(pdu);
}

static bool
takes_little(struct forger *forger, uint8_t *pdu, unsigned nth)
{
	struct narrow *narrow = forger->owner;
	uint8_t *data = pdu + sizeof(struct pdu_data);

	if (pdu[0] == PDU_C2H_DATA && nth == 0 && memcmp(data + 768, CLUSTER_NQN, sizeof(CLUSTER_NQN)) == 0)
		data[offsetof(struct nvme_identify_ctrl, mdts)] = SMALL_MDTS;
	narrow->large += is_large(pdu);
	return true;
}

struct limit {
	struct subsys_find find;
	uint32_t bytes;
};

static void
limit_found(struct subsys_find *find, const struct subsys_ns *ns, int error, const char *why)
{
	struct limit *limit = find->owner;

	assert_non_null(ns);
	limit->bytes = ns->transfer_max;
}

static uint32_t
transfer_max(struct fail *f)
{
	struct limit limit = { .find = { .nsid = 1, .found = limit_found, .owner = &limit } };

	subsys_find(f->subsys, &limit.find);
	fail_run(f, 200);
	assert_int_not_equal(limit.bytes, 0);
	return limit.bytes;
}

/* What was taken on before waits for one that takes it; what comes then is as small as all take it. */
static void
a_large_io_does_not_go_by_a_path_that_takes_less(void **state)
{
	struct sim_process_options narrow_process = { .start = forger_start };

	(void)state;
	for (uint64_t seed = seed_first; seed < seed_first + 10; seed++) {
		struct fail f;
		struct poison large = { .fail = &f };
		struct narrow narrow = { .mute = true };
		struct forger wide = between(is_mute_at_times, &narrow), small = between(takes_little, &narrow);
		struct lane_io io = { .op = LANE_READ, .nsid = 1, .blocks = POISON_BLOCKS, .iov_count = 1,
			.iov = &large.iov };
		struct sim_process *process;

		fail_init(&f);
		f.host = wide.host;
		f.ios = 2000;
		small.port = 4421;
		narrow_process.arg = &small;
		process = start(&f, &wide, seed);
		sim_run_until(f.sim, 60000ULL * FAIL_MS, fail_loading, &f);
		assert_int_equal(transfer_max(&f), 1024 * 1024);
		submit_poison(&large, seed % 2 ? LANE_WRITE : LANE_READ);
		fail_run(&f, 20);
		sim_process_create(f.sim, "narrow", 1, &narrow_process);
		fail_run(&f, 200);
		assert_int_equal(transfer_max(&f), SMALL_BYTES);
		assert_int_equal(lane_submit(f.lanes[0], &io), -EINVAL);
		sim_process_crash(process, SIM_CRASH_KEEPS_WRITES);
		fail_run(&f, 100);
		assert_int_equal(f.lost, 1);
		narrow.mute = false;
		sim_process_start(process);
		sim_run_until(f.sim, sim_now(f.sim) + 1000ULL * FAIL_MS, has_ended, &large);
		assert_int_equal(large.ends, 1);
		assert_int_equal(large.error, 0);
		assert_int_equal(narrow.large, 0);
		assert_int_equal(transfer_max(&f), SMALL_BYTES);
		fail_end(&f);
		fail_check(&f);
	}
}

/* 4295 ms are more nanoseconds than 32 bits can say; the rest would be 33 microseconds. */
static void
a_time_out_may_be_long(void **state)
{
	struct sim_options sim = fail_sim_options();
	struct fail f;

	(void)state;
	fail_init(&f);
	f.options.io_timeout_ms = 4295;
	fail_start_loaded(&f, seed_first, &sim);
	fail_end(&f);
	assert_int_equal(f.lost, 0);
	fail_check(&f);
}

int
main(void)
{
	const char *first = getenv("WEIR_SEED_FIRST");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_live_path_that_does_not_answer_a_question_is_lost),
		cmocka_unit_test(a_path_that_comes_up_and_does_not_answer_is_tried_again),
		cmocka_unit_test(what_each_connection_dies_of_is_given_up),
		cmocka_unit_test(a_large_io_does_not_go_by_a_path_that_takes_less),
		cmocka_unit_test(a_time_out_may_be_long),
	};

	seed_first = first != NULL ? strtoull(first, NULL, 10) : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
