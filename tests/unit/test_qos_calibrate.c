/*
 * test_qos_calibrate.c - what calibration finds of modelled SSDs is what is known of them; and one measurement, of a
 * device that takes the same for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flash/condition.h"
#include "flash/drive.h"
#include "qos/calibrate.h"

#define SECOND UINT64_C(1000000000)

enum { KIB = 1024, US = 1000 };

/* ---- drives ---- */

struct bench {
	struct arena arena;
	struct drive *drive;
	struct drive_cmd cmds[GAUGE_TENANTS][GAUGE_DEPTH];
	struct gauge gauge;
	struct calibrate calibrate;
	uint64_t now_ns;
};

static void
begin(struct bench *b, const char *profile, enum condition_kind state, uint64_t bytes)
{
	struct drive_options options = { .seed = 1 };
	struct condition condition = condition_of(state, 1);
	char why[FLASH_WHY];

	*b = (struct bench){ 0 };
	arena_init(&b->arena, 0);
	assert_int_equal(flash_profile_find(&b->arena, profile, &options.profile), 0);
	assert_int_equal(flash_geometry_init(&options.geometry, &options.profile, bytes, why), 0);
	assert_int_equal(drive_create(&b->arena, &options, &b->drive), 0);
	if (drive_ftl(b->drive) != NULL)
		condition_make(drive_ftl(b->drive), &condition);
	for (int tenant = 0; tenant < GAUGE_TENANTS; tenant++)
		for (int i = 0; i < GAUGE_DEPTH; i++)
			b->gauge.ios[tenant][i].owner = &b->cmds[tenant][i];
}

static void
submit(struct bench *b, const struct gauge_task *task, struct gauge_io *io)
{
	const struct gauge_load *load = &task->loads[io->load];
	struct drive_cmd *cmd = io->owner;

	*cmd = (struct drive_cmd){ .op = load->kind == QOS_READ ? DRIVE_READ : DRIVE_WRITE, .offset = io->offset,
		.bytes = load->bytes, .owner = io };
	drive_submit(b->drive, cmd, b->now_ns);
}

/* One measurement. */
static void
measure(struct bench *b, const struct gauge_task *task, struct gauge_heard heard[GAUGE_LOADS])
{
	const struct flash_geometry *geometry = drive_geometry(b->drive);

	gauge_begin(&b->gauge, task, geometry->units * geometry->unit_bytes, b->now_ns);
	while (!gauge_over(&b->gauge, b->now_ns)) {
		struct gauge_io *io;
		struct drive_cmd *cmd;
		uint64_t until_ns;

		while ((io = gauge_next(&b->gauge, b->now_ns)) != NULL)
			submit(b, task, io);
		until_ns = gauge_deadline(&b->gauge, b->now_ns);
		cmd = drive_run(b->drive, until_ns > b->now_ns ? until_ns : UINT64_MAX);
		b->now_ns = cmd != NULL ? cmd->end_ns : until_ns;
		if (cmd != NULL)
			gauge_ended(&b->gauge, cmd->owner, b->now_ns);
	}
	gauge_hear(&b->gauge, heard);
}

static struct qos_params
finish(struct bench *b)
{
	struct gauge_heard heard[GAUGE_LOADS];
	struct qos_params params;
	struct gauge_task task;

	while (calibrate_next(&b->calibrate, &task)) {
		measure(b, &task, heard);
		calibrate_take(&b->calibrate, heard);
	}
	assert_null(calibrate_params(&b->calibrate, &params));
	drive_destroy(b->drive);
	arena_drop(&b->arena);
	return params;
}

static struct bench bench;

static struct qos_params
calibrated(const char *profile, enum condition_kind state)
{
	struct qos_params params;

	begin(&bench, profile, state, UINT64_C(8) << 30);
	calibrate_init(&bench.calibrate, 8 * SECOND, false);
	params = finish(&bench);
	assert_in_range(bench.now_ns, 6 * SECOND, 82 * SECOND / 10);
	return params;
}

/* Where a byte of a size costs from so much to so much, in hundredths. */
static void
expect_costs(const uint32_t costs[QOS_SIZES], const uint32_t least[QOS_SIZES], const uint32_t most[QOS_SIZES])
{
	for (int size = 0; size < QOS_SIZES; size++)
		assert_in_range(costs[size] * 100 / QOS_COST_ONE, least[size], most[size]);
}

static void
a_tlc_drive_that_was_written_all_over_is_the_papers(void **state)
{
	const struct qos_params params = calibrated("tlc-plp", CONDITION_FRAGMENTED);

	(void)state;
	assert_in_range(params.slots, 10, 12);
	assert_in_range(params.slots_least, 4, 6);
	assert_in_range(params.inflight_bytes / QOS_SLOT_BYTES, 20, 32);
	assert_in_range(params.write_cost_worst, 8 * QOS_COST_ONE, 10 * QOS_COST_ONE);
	assert_in_range(params.thresh_min_ns, 450 * US, 550 * US);
	assert_in_range(params.thresh_max_ns, 2250 * US, 2750 * US);
	expect_costs(params.size_cost[QOS_READ], (const uint32_t[]){ 140, 110, 90, 85, 90, 100 },
	    (const uint32_t[]){ 160, 130, 110, 105, 105, 100 });
	assert_in_range(params.size_ns[QOS_READ][5], 140 * US, 200 * US);
	assert_in_range(params.rate_most, UINT64_C(7) << 30, UINT64_C(9) << 30);
	/* a seventh more than it reads: not quite all that time is lost to writes */
	assert_in_range(params.size_rate[QOS_READ][0] >> 20, 1950, 2200);
	assert_in_range(params.size_rate[QOS_READ][5] >> 20, 2050, 2300);
	/* as if it were read: in 4 KiB it writes as much as in 128 */
	assert_in_range(params.size_rate[QOS_WRITE][5] >> 20, 1500, 1700);
	assert_in_range(params.size_rate[QOS_WRITE][0] >> 20, 1500, 1700);
}

static void
an_optane_like_drive_is_full_with_little(void **state)
{
	const struct qos_params params = calibrated("optane", CONDITION_FRESH);

	(void)state;
	assert_int_equal(params.slots, 32); /* what is in flight is bounded so that slots are never needed */
	assert_int_equal(params.slots_least, 16);
	assert_int_equal(params.inflight_bytes / QOS_SLOT_BYTES, 2);
	assert_in_range(params.write_cost_worst, 11 * QOS_COST_ONE / 10, 13 * QOS_COST_ONE / 10);
	expect_costs(params.size_cost[QOS_READ], (const uint32_t[]){ 99, 99, 99, 99, 99, 100 },
	    (const uint32_t[]){ 102, 102, 102, 102, 102, 100 });
	assert_in_range(params.thresh_min_ns, 190 * US, 210 * US);
	assert_in_range(params.size_rate[QOS_READ][0] >> 20, 2200, 2400); /* all that it reads */
}

/* It has many dies: small I/Os find room beside large ones, and do not use it by themselves. */
static void
a_qlc_drive_needs_much_in_flight(void **state)
{
	const struct qos_params params = calibrated("qlc", CONDITION_FRAGMENTED);

	(void)state;
	assert_int_equal(params.slots, 32);
	assert_int_equal(params.slots_least, 16);
	assert_in_range(params.inflight_bytes / QOS_SLOT_BYTES, 16, 24);
	assert_in_range(params.write_cost_worst, 7 * QOS_COST_ONE, 9 * QOS_COST_ONE);
	assert_in_range(params.size_cost[QOS_READ][0], 4 * QOS_COST_ONE, 5 * QOS_COST_ONE);
	assert_in_range(params.size_cost[QOS_WRITE][0], 10 * QOS_COST_ONE, 13 * QOS_COST_ONE);
	/* three times what it reads: most of that time it writes as well */
	assert_in_range(params.size_rate[QOS_READ][0] >> 20, 7500, 11000);
}

/* What a fresh one gives says nothing of what it will. */
static void
a_fresh_drive_that_is_prepared_is_as_one_that_was_used(void **state)
{
	struct qos_params fresh, prepared;

	(void)state;
	begin(&bench, "tlc-plp", CONDITION_FRESH, UINT64_C(1) << 30);
	calibrate_init(&bench.calibrate, 4 * SECOND, false);
	fresh = finish(&bench);
	begin(&bench, "tlc-plp", CONDITION_FRESH, UINT64_C(1) << 30);
	calibrate_init(&bench.calibrate, 4 * SECOND, true);
	prepared = finish(&bench);
	assert_in_range(prepared.write_cost_worst, 7 * QOS_COST_ONE, 10 * QOS_COST_ONE);
	assert_true(fresh.write_cost_worst < prepared.write_cost_worst * 9 / 10);
	assert_true(prepared.thresh_min_ns > 2 * fresh.thresh_min_ns);
}

/* ---- arithmetic ---- */

/* Whatever a device does, if it reads at all. */
static void
parameters_can_always_be_so(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (int round = 0; round < 2000; round++) {
		struct calibrate calibrate;
		struct qos_params params;
		struct gauge_task task;

		calibrate_init(&calibrate, SECOND, false);
		while (calibrate_next(&calibrate, &task)) {
			struct gauge_heard heard[GAUGE_LOADS];

			for (int load = 0; load < GAUGE_LOADS; load++)
				heard[load] = (struct gauge_heard){
					1 + (rng_below(&rng, UINT64_C(1) << 42) >> rng_below(&rng, 42)),
					1 + (rng_below(&rng, UINT64_C(1) << 36) >> rng_below(&rng, 36)), 1,
					1 + (rng_below(&rng, UINT64_C(1) << 36) >> rng_below(&rng, 36)),
				};
			if (task.switched)
				assert_null(qos_params_wrong(&task.params));
			if (task.loads[0].kind == QOS_WRITE && rng_below(&rng, 8) == 0)
				heard[0] = (struct gauge_heard){ 0 };
			calibrate_take(&calibrate, heard);
		}
		assert_null(calibrate_params(&calibrate, &params));
	}
}

static void
a_device_that_does_not_read_has_none(void **state)
{
	const struct gauge_heard nothing[GAUGE_LOADS] = { { 0 } };
	struct calibrate calibrate;
	struct qos_params params;
	struct gauge_task task;
	unsigned steps = 0, left;

	(void)state;
	calibrate_init(&calibrate, SECOND, false);
	left = calibrate_left(&calibrate);
	for (; calibrate_next(&calibrate, &task); steps++)
		calibrate_take(&calibrate, nothing);
	assert_true(steps <= left);
	assert_int_equal(calibrate_left(&calibrate), 0);
	assert_string_equal(calibrate_params(&calibrate, &params),
	    "no read of 128 KiB ended in the time that there was");
}

/* ---- rules ---- */

/* A device of which all is known. */
struct known {
	uint64_t write_p99_ns;                /* of one at a time */
	uint64_t (*read_rate)(unsigned size, uint32_t depth); /* NULL: always the same */
	uint64_t many_writes, mixed[QOS_KINDS]; /* MiB/s, beside RATE_MIB */
	uint32_t near[CALIBRATE_SEARCHES];    /* with so many slots, and fewer, tenants are near to one another */
};

enum { RATE_MIB = 1000 };

static const struct known ordinary = {
	.write_p99_ns = 150 * US, .many_writes = RATE_MIB, .mixed = { 500, 500 }, .near = { 5, 4, 3 },
};

static unsigned tries[CALIBRATE_SEARCHES];

static unsigned
search_of(const struct gauge_task *task)
{
	return task->loads[1].kind == QOS_WRITE ? CALIBRATE_KINDS :
	    task->loads[0].tenants == 1 ? CALIBRATE_TWO : CALIBRATE_SIZES;
}

/* One has its half, and the other as much, or what is just within or beyond what is bearable. */
static void
share(const struct known *known, const struct gauge_task *task, struct gauge_heard heard[GAUGE_LOADS])
{
	unsigned which = search_of(task);
	uint32_t slots = which == CALIBRATE_TWO ? task->params.slots / 2 : task->params.slots_least;
	uint64_t bearable = which == CALIBRATE_TWO ? 1278 : 1318;

	tries[which]++;
	assert_null(qos_params_wrong(&task->params));
	for (unsigned load = 0; load < GAUGE_LOADS; load++)
		if (known->read_rate != NULL && task->loads[load].kind == QOS_READ)
			heard[load].rate = known->read_rate(task->loads[load].bytes, task->loads[load].depth);
	heard[slots % 2].rate = heard[slots % 2].rate * (slots <= known->near[which] ? bearable : bearable + 5) / 1000;
}

static void
answer(const struct known *known, const struct gauge_task *task, struct gauge_heard heard[GAUGE_LOADS])
{
	const struct gauge_load *load = &task->loads[0];

	for (unsigned i = 0; i < GAUGE_LOADS; i++)
		heard[i] = (struct gauge_heard){ (uint64_t)RATE_MIB << 20, 100 * US, 110 * US, 150 * US };
	if (task->switched) {
		share(known, task, heard);
	} else if (task->load_count == QOS_KINDS) {
		heard[QOS_READ].rate = known->mixed[QOS_READ] << 20;
		heard[QOS_WRITE].rate = known->mixed[QOS_WRITE] << 20;
	} else if (load->kind == QOS_WRITE) {
		heard[0].p99_ns = load->depth == 1 ? known->write_p99_ns : 150 * US;
		heard[0].rate = (load->tenants > 1 ? known->many_writes : RATE_MIB) << 20;
	} else if (known->read_rate != NULL) {
		heard[0].rate = known->read_rate(load->bytes, load->depth * load->tenants);
	}
}

static struct qos_params
params_of(const struct known *known)
{
	struct calibrate calibrate;
	struct qos_params params;
	struct gauge_task task;

	memset(tries, 0, sizeof(tries));
	calibrate_init(&calibrate, SECOND, false);
	while (calibrate_next(&calibrate, &task)) {
		struct gauge_heard heard[GAUGE_LOADS];

		answer(known, &task, heard);
		calibrate_take(&calibrate, heard);
	}
	assert_int_equal(calibrate_left(&calibrate), 0);
	assert_null(calibrate_params(&calibrate, &params));
	return params;
}

/* Which is the mean, and not the median.  A drive whose buffer is emptied now and then is not overloaded by that. */
static void
thresholds_are_by_large_reads_that_are_alone_or_by_slow_writes(void **state)
{
	struct known known = ordinary;
	struct qos_params params = params_of(&known);

	(void)state;
	assert_int_equal(params.thresh_min_ns, 220 * US);
	assert_int_equal(params.thresh_max_ns, 1100 * US);
	known.write_p99_ns = 2000 * US;
	params = params_of(&known);
	assert_int_equal(params.thresh_min_ns, 220 * US);
	assert_int_equal(params.thresh_max_ns, 5000 * US);
}

/* So many of them, of 128 KiB and of 4 KiB, give just enough; of those that are tried the one before does not. */
static uint32_t enough[2];

static uint64_t
saturated_by(unsigned bytes, uint32_t depth)
{
	unsigned small = bytes == QOS_SIZE_LEAST;
	uint64_t all = (small ? UINT64_C(500) : UINT64_C(1000)) << 20;

	return depth == (small ? 256 : 32) ? all : all * (depth >= enough[small] ? 986 : 984) / 1000;
}

static void
as_much_may_be_in_flight_as_large_reads_need_or_small_ones(void **state)
{
	struct known known = ordinary;
	struct qos_params params;

	(void)state;
	known.read_rate = saturated_by;
	enough[0] = 6;
	enough[1] = 64; /* which cost twice as much by the byte */
	assert_int_equal(params_of(&known).inflight_bytes, 6 * QOS_SLOT_BYTES);
	enough[1] = 128;
	params = params_of(&known);
	assert_in_range(params.size_cost[QOS_READ][0], 2 * QOS_COST_ONE, 205 * QOS_COST_ONE / 100);
	assert_int_equal(params.inflight_bytes, 128 * QOS_SIZE_LEAST * params.size_cost[QOS_READ][0] / QOS_COST_ONE);
}

/* Whatever it is they are found, and not tried one by one. */
static void
slots_are_the_most_with_which_tenants_are_near(void **state)
{
	static const uint32_t each[CALIBRATE_SLOTS] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16 };
	struct known known = ordinary;

	(void)state;
	for (unsigned two = 0; two < CALIBRATE_SLOTS; two++)
		for (unsigned sizes = 0; sizes < CALIBRATE_SLOTS; sizes++)
			for (unsigned kinds = 0; kinds < CALIBRATE_SLOTS; kinds++) {
				struct qos_params params;
				unsigned least = two < sizes ? two : sizes;

				known.near[CALIBRATE_TWO] = each[two];
				known.near[CALIBRATE_SIZES] = each[sizes];
				known.near[CALIBRATE_KINDS] = each[kinds];
				params = params_of(&known);
				assert_int_equal(params.slots, 2 * each[two]);
				assert_int_equal(params.slots_least, each[kinds < least ? kinds : least]);
				for (unsigned which = 0; which < CALIBRATE_SEARCHES; which++)
					assert_true(tries[which] <= CALIBRATE_TRIES);
				assert_true((tries[CALIBRATE_SIZES] == 0) == (two == 0)); /* nothing is left to try */
				assert_true((tries[CALIBRATE_KINDS] == 0) == (least == 0));
			}
	memset(known.near, 0, sizeof(known.near)); /* or one, where they never are */
	assert_int_equal(params_of(&known).slots, 2);
	assert_int_equal(params_of(&known).slots_least, 1);
}

static void
the_rate_has_room_above_what_large_reads_give_and_below(void **state)
{
	const struct qos_params params = params_of(&ordinary);

	(void)state;
	assert_int_equal(params.rate_most >> 20, 4 * RATE_MIB);
	assert_int_equal(params.rate_first >> 20, RATE_MIB / 2);
	assert_int_equal(params.rate_least >> 20, RATE_MIB / 32);
}

/* What reads take from as many writes as there are beside them. */
static uint64_t
read_rate_where(uint64_t mixed_reads, uint64_t mixed_writes, uint64_t writes_alone)
{
	struct known known = ordinary;

	known.mixed[QOS_READ] = mixed_reads;
	known.mixed[QOS_WRITE] = mixed_writes;
	known.many_writes = writes_alone;
	return params_of(&known).size_rate[QOS_READ][0] >> 20;
}

static void
reads_take_from_writes_what_these_lack(void **state)
{
	(void)state;
	assert_int_equal(read_rate_where(500, 500, 1000), 1000);      /* one or the other */
	assert_in_range(read_rate_where(500, 800, 1000), 2490, 2510); /* a fifth of them for a half of all reads */
	assert_int_equal(read_rate_where(500, 300, 1000), 1000);      /* more than all they lose is not the reads' */
	/* what fewer of them give does not matter: a twelfth of them, though there are more than these */
	assert_in_range(read_rate_where(500, 1100, 1200), 5980, 6060);
	assert_int_equal(read_rate_where(500, 1000, 1000), 16000);    /* nothing is taken: there is an end to that */
	assert_int_equal(read_rate_where(0, 500, 1000), 1000);
}

/* ---- one measurement ---- */

enum { SPAN = 1028 * KIB, TAKES = 100 * US };

static unsigned touched[SPAN / 4 / KIB]; /* where I/Os began */

/* A device on which each I/O takes as long, and which has room for all: I/Os end in the order in which they began. */
static void
play(struct gauge *gauge, struct gauge_heard heard[GAUGE_LOADS], const struct gauge_task *task)
{
	struct gauge_io *flying[GAUGE_TENANTS * GAUGE_DEPTH], *io;
	uint32_t first = 0, last = 0;
	uint64_t now_ns = 12345;

	gauge_begin(gauge, task, SPAN, now_ns);
	while (!gauge_over(gauge, now_ns)) {
		uint64_t next_ns = gauge_deadline(gauge, now_ns);

		for (; (io = gauge_next(gauge, now_ns)) != NULL; last++) {
			assert_true(io->offset % (4 * KIB) == 0 && io->offset + task->loads[io->load].bytes <= SPAN);
			assert_true(now_ns < gauge->until_ns || task->whole);
			touched[io->offset / (4 * KIB)]++;
			flying[last % (GAUGE_TENANTS * GAUGE_DEPTH)] = io;
		}
		io = flying[first % (GAUGE_TENANTS * GAUGE_DEPTH)];
		if (first < last && (io->begun_ns + TAKES <= next_ns || next_ns <= now_ns)) {
			now_ns = io->begun_ns + TAKES;
			gauge_ended(gauge, io, now_ns);
			first++;
		} else {
			now_ns = next_ns;
		}
	}
	assert_int_equal(first, last);
	gauge_hear(gauge, heard);
}

static void
a_load_is_kept_under_way_as_deep_as_it_is(void **state)
{
	static struct gauge gauge;
	struct gauge_task task = { .loads = { { QOS_READ, 64 * KIB, 4, 1 } }, .load_count = 1,
		.settle_ns = 10 * 1000 * US, .measure_ns = 100 * 1000 * US };
	struct gauge_heard heard[GAUGE_LOADS];

	(void)state;
	play(&gauge, heard, &task);
	assert_in_range(heard[0].rate, UINT64_C(4) * 64 * KIB * 9999, UINT64_C(4) * 64 * KIB * 10000);
	assert_int_equal(heard[0].mean_ns, TAKES);
	assert_in_range(heard[0].p99_ns, TAKES, TAKES * 65 / 64);
	assert_in_range(heard[0].median_ns, TAKES, TAKES * 65 / 64);
}

static void
what_is_too_slow_is_measured_for_longer(void **state)
{
	static struct gauge gauge;
	struct gauge_task task = { .loads = { { QOS_READ, 64 * KIB, 1, 1 } }, .load_count = 1,
		.settle_ns = TAKES / 4, .measure_ns = TAKES / 2 };
	struct gauge_heard heard[GAUGE_LOADS];

	(void)state;
	play(&gauge, heard, &task);
	assert_int_equal(heard[0].mean_ns, TAKES);
	assert_in_range(heard[0].rate, UINT64_C(64) * KIB * 9000, UINT64_C(64) * KIB * 10000);
	task.measure_ns = TAKES / 2000; /* but not for ever */
	play(&gauge, heard, &task);
	assert_true(heard[0].rate == 0 && heard[0].median_ns == 0);
}

static void
all_of_it_is_moved_once_in_order(void **state)
{
	static struct gauge gauge;
	struct gauge_task task = { .loads = { { QOS_WRITE, 128 * KIB, 8, 1 } }, .load_count = 1, .whole = true,
		.in_order = true };
	struct gauge_heard heard[GAUGE_LOADS];

	(void)state;
	memset(touched, 0, sizeof(touched));
	play(&gauge, heard, &task);
	for (unsigned i = 0; i < SPAN / 4 / KIB; i++)
		assert_int_equal(touched[i], i % 32 == 0 && i < 256 ? 1 : i == 225); /* what is left at the end */
	assert_int_equal(gauge.left, 0);
}

static void
as_much_is_moved_at_random_as_there_is(void **state)
{
	static struct gauge gauge;
	struct gauge_task task = { .loads = { { QOS_WRITE, 4 * KIB, 32, 1 } }, .load_count = 1, .whole = true };
	struct gauge_heard heard[GAUGE_LOADS];
	unsigned ios = 0, places = 0;

	(void)state;
	memset(touched, 0, sizeof(touched));
	play(&gauge, heard, &task);
	for (unsigned i = 0; i < SPAN / 4 / KIB; i++) {
		ios += touched[i];
		places += touched[i] > 0;
	}
	assert_int_equal(ios, SPAN / 4 / KIB);
	assert_in_range(places, ios / 2, ios * 3 / 4); /* 1 - 1/e of them */
}

static void
tenants_share_by_the_switch(void **state)
{
	static struct gauge gauge;
	struct gauge_task task = { .loads = { { QOS_READ, 4 * KIB, 32, 4 }, { QOS_WRITE, 128 * KIB, 8, 4 } },
		.load_count = 2, .switched = true, .settle_ns = 100 * 1000 * US, .measure_ns = 300 * 1000 * US };
	struct gauge_heard heard[GAUGE_LOADS];

	(void)state;
	qos_params_default(&task.params);
	task.params.write_cost_worst = QOS_COST_ONE;
	play(&gauge, heard, &task);
	assert_true(heard[0].rate > 0);
	assert_in_range(heard[1].rate * 100 / heard[0].rate, 90, 110);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tlc_drive_that_was_written_all_over_is_the_papers),
		cmocka_unit_test(an_optane_like_drive_is_full_with_little),
		cmocka_unit_test(a_qlc_drive_needs_much_in_flight),
		cmocka_unit_test(a_fresh_drive_that_is_prepared_is_as_one_that_was_used),
		cmocka_unit_test(parameters_can_always_be_so),
		cmocka_unit_test(a_device_that_does_not_read_has_none),
		cmocka_unit_test(thresholds_are_by_large_reads_that_are_alone_or_by_slow_writes),
		cmocka_unit_test(as_much_may_be_in_flight_as_large_reads_need_or_small_ones),
		cmocka_unit_test(slots_are_the_most_with_which_tenants_are_near),
		cmocka_unit_test(the_rate_has_room_above_what_large_reads_give_and_below),
		cmocka_unit_test(reads_take_from_writes_what_these_lack),
		cmocka_unit_test(a_load_is_kept_under_way_as_deep_as_it_is),
		cmocka_unit_test(what_is_too_slow_is_measured_for_longer),
		cmocka_unit_test(all_of_it_is_moved_once_in_order),
		cmocka_unit_test(as_much_is_moved_at_random_as_there_is),
		cmocka_unit_test(tenants_share_by_the_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
