/* test_qos_parts.c - what I/Os cost, what latencies say, and how fast I/Os may go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "qos/cost.h"
#include "qos/rate.h"

enum { KIB = 1024, MIB = 1024 * KIB, US = 1000, MS = 1000 * US, S = 1000 * MS };

/* ---- numbers ---- */

static void
absurd_numbers_are_refused(void **state)
{
	struct qos_params params;

	(void)state;
	qos_params_default(&params);
	assert_null(qos_params_wrong(&params));
#define REFUSED(field, value) \
	do { \
		struct qos_params wrong = params; \
		wrong.field = value; \
		assert_non_null(qos_params_wrong(&wrong)); \
	} while (0)
	REFUSED(size_cost[QOS_READ][0], 0);
	REFUSED(size_cost[QOS_WRITE][QOS_SIZES - 1], QOS_COST_MAX + 1);
	REFUSED(size_rate[QOS_READ][3], 65535);
	REFUSED(size_rate[QOS_WRITE][0], (UINT64_C(1) << 40) + 1);
	REFUSED(write_cost_worst, QOS_COST_ONE - 1);
	REFUSED(thresh_min_ns, 0);
	REFUSED(thresh_min_ns, params.thresh_max_ns);
	REFUSED(slots, 0);
	REFUSED(slots, QOS_SLOTS_MAX + 1);
	REFUSED(slots_least, 0);
	REFUSED(slots_least, params.slots + 1);
	REFUSED(inflight_bytes, QOS_SLOT_BYTES - 1);
	REFUSED(rate_least, 0);
	REFUSED(rate_first, params.rate_least - 1);
	REFUSED(rate_most, params.rate_first - 1);
	REFUSED(rate_most, UINT64_MAX);
	REFUSED(ewma_shift, 11);
	REFUSED(thresh_shift, 11);
	REFUSED(beta, 0);
	REFUSED(bucket_bytes, QOS_SLOT_BYTES - 1);
	REFUSED(quantum_bytes, 0);
	REFUSED(write_cost_steps, 0);
	REFUSED(write_cost_ns, 0);
	REFUSED(linger_ns, S + 1);
	REFUSED(stall_ns, 0);
#undef REFUSED
}

/* ---- costs ---- */

static uint64_t
weight_of(const struct qos_cost *cost, enum qos_kind kind, uint32_t bytes)
{
	return qos_cost_weight(cost, kind, qos_cost_place(bytes), bytes);
}

static void
a_size_costs_what_was_measured(void **state)
{
	struct qos_params params;
	struct qos_cost cost;

	(void)state;
	qos_params_default(&params);
	params.size_cost[QOS_READ][0] = 3 * QOS_COST_ONE;
	params.size_cost[QOS_READ][1] = 2 * QOS_COST_ONE;
	params.size_cost[QOS_WRITE][QOS_SIZES - 1] = QOS_COST_ONE / 2;
	params.size_ns[QOS_READ][QOS_SIZES - 1] = 64 * US;
	qos_cost_init(&cost, &params);
	assert_int_equal(weight_of(&cost, QOS_READ, 4 * KIB), 12 * KIB);
	assert_int_equal(weight_of(&cost, QOS_READ, 512), 12 * KIB);
	assert_int_equal(weight_of(&cost, QOS_READ, 8 * KIB), 16 * KIB);
	assert_int_equal(weight_of(&cost, QOS_READ, 12 * KIB), 16 * KIB); /* 16 KiB cost no more than 8 */
	assert_int_equal(weight_of(&cost, QOS_READ, 128 * KIB), 128 * KIB);
	assert_int_equal(weight_of(&cost, QOS_READ, MIB), MIB);
	assert_int_equal(weight_of(&cost, QOS_WRITE, MIB), (uint64_t)MIB / 2 * 9);
	assert_int_equal(qos_cost_ns(&cost, QOS_READ, qos_cost_place(64 * KIB), 64 * KIB), 0);
	assert_int_equal(qos_cost_ns(&cost, QOS_READ, qos_cost_place(96 * KIB), 96 * KIB), 32 * US);
	assert_int_equal(qos_cost_ns(&cost, QOS_READ, qos_cost_place(MIB), MIB), 512 * US);
}

/* The published code took a count for the latency, so that the cost only ever fell. */
static void
the_cost_of_writes_falls_and_comes_back(void **state)
{
	struct qos_params params;
	struct qos_cost cost;
	uint64_t now = S;
	int periods = 0;

	(void)state;
	qos_params_default(&params);
	qos_cost_init(&cost, &params);
	assert_false(qos_cost_wrote(&cost, 0, now, now));
	assert_int_equal(cost.write, 9 * QOS_COST_ONE);
	for (; cost.write > QOS_COST_ONE; periods++, now += 100 * MS)
		assert_true(qos_cost_wrote(&cost, params.thresh_min_ns, now + 100 * MS, now + 100 * MS));
	assert_int_equal(periods, 16);
	assert_false(qos_cost_wrote(&cost, params.thresh_max_ns, now, now + 99 * MS));
	now += 100 * MS;
	assert_true(qos_cost_wrote(&cost, params.thresh_min_ns + 1, now, now));
	assert_in_range(cost.write, 5 * QOS_COST_ONE, 5 * QOS_COST_ONE + 1);
	for (int i = 0; i < 20; i++, now += 100 * MS)
		qos_cost_wrote(&cost, params.thresh_max_ns, now + 100 * MS, now + 100 * MS);
	assert_int_equal(cost.write, 9 * QOS_COST_ONE);
}

/* A drive that can read 4 KiB a million times a second, or write it 100,000 times where that is cheap: what writing
 * costs when so many of both have ended in each 100 ms, half of which nothing was in flight, and latency is high. */
static uint32_t
seen_write_cost(uint32_t reads, uint32_t writes)
{
	struct qos_params params;
	struct qos_cost cost;
	uint64_t now = S;

	qos_params_default(&params);
	for (int size = 0; size < QOS_SIZES; size++) {
		params.size_rate[QOS_READ][size] = UINT64_C(4096) * 1000 * 1000;
		params.size_rate[QOS_WRITE][size] = UINT64_C(4096) * 100 * 1000;
	}
	qos_cost_init(&cost, &params);
	for (int period = 0; period < 40; period++, now += 100 * MS) {
		qos_cost_wrote(&cost, params.thresh_max_ns, now / 2, now);
		for (uint32_t i = 0; i < reads; i++)
			qos_cost_ended(&cost, QOS_READ, 1, 4096);
		for (uint32_t i = 0; i < writes; i++)
			qos_cost_ended(&cost, QOS_WRITE, 1, 4096);
	}
	return cost.write;
}

static void
what_reads_did_not_take_of_a_device_writes_did(void **state)
{
	(void)state;
	assert_in_range(seen_write_cost(0, 5000), QOS_COST_ONE, QOS_COST_ONE + 1);
	assert_in_range(seen_write_cost(25000, 2500), QOS_COST_ONE, QOS_COST_ONE + 1);
	assert_in_range(seen_write_cost(10000, 1000), 4 * QOS_COST_ONE, 4 * QOS_COST_ONE + 1);
	assert_in_range(seen_write_cost(40000, 1), 9 * QOS_COST_ONE - 1, 9 * QOS_COST_ONE);
	assert_in_range(seen_write_cost(60000, 100), QOS_COST_ONE, QOS_COST_ONE + 1);
}

/* ... but not of a time in which hardly anything was written. */
static void
reads_alone_say_nothing_of_what_writes_cost(void **state)
{
	struct qos_params params;
	struct qos_cost cost;
	uint64_t now = S;

	(void)state;
	qos_params_default(&params);
	for (int size = 0; size < QOS_SIZES; size++)
		params.size_rate[QOS_READ][size] = params.size_rate[QOS_WRITE][size] = UINT64_C(4096) * 1000 * 1000;
	qos_cost_init(&cost, &params);
	qos_cost_set_write(&cost, QOS_COST_ONE);
	qos_cost_wrote(&cost, 0, now, now);
	for (int i = 0; i < 1900 * 1000; i++)
		qos_cost_ended(&cost, QOS_READ, 1, 4096);
	qos_cost_ended(&cost, QOS_WRITE, 1, 4096);
	now += 2 * S;
	assert_true(qos_cost_wrote(&cost, params.thresh_max_ns, now, now));
	assert_int_equal(cost.write, QOS_COST_ONE);
	assert_true(qos_cost_wrote(&cost, params.thresh_max_ns, now + 100 * MS, now + 100 * MS));
	assert_true(cost.write > QOS_COST_ONE);
	/* who writes now and then, and is not kept waiting, pays less each time */
	assert_true(qos_cost_wrote(&cost, 0, now + 2 * S, now + 2 * S));
	assert_true(cost.write < 5 * QOS_COST_ONE);
}

static void
a_large_io_keeps_a_device_busy_for_longer(void **state)
{
	struct qos_params params;
	struct qos_cost cost;

	(void)state;
	qos_params_default(&params);
	for (int size = 0; size < QOS_SIZES; size++)
		params.size_rate[QOS_READ][size] = params.size_rate[QOS_WRITE][size] = (uint64_t)(size + 1) << 30;
	qos_cost_init(&cost, &params);
	qos_cost_ended(&cost, QOS_READ, 1, 4096);
	assert_int_equal(cost.busy_ns[QOS_READ], UINT64_C(4096) * S >> 30);
	qos_cost_ended(&cost, QOS_WRITE, QOS_SIZE_MOST / 4096, QOS_SIZE_MOST);
	assert_int_equal(cost.busy_ns[QOS_WRITE], UINT64_C(1) * QOS_SIZE_MOST * S / (UINT64_C(6) << 30));
	qos_cost_ended(&cost, QOS_WRITE, QOS_COST_LARGE, 3 * QOS_SIZE_MOST);
	assert_int_equal(cost.busy_ns[QOS_WRITE], 4 * (UINT64_C(1) * QOS_SIZE_MOST * S / (UINT64_C(6) << 30)));
}

/* ---- latencies ---- */

static void
what_is_usual_crosses_the_threshold_now_and_then(void **state)
{
	struct qos_params params;
	struct qos_monitor monitor;
	unsigned states[QOS_STATES] = { 0 };

	(void)state;
	qos_params_default(&params);
	qos_monitor_init(&monitor, &params);
	for (int i = 0; i < 1000; i++)
		states[qos_monitor_add(&monitor, i % 4 == 0 ? 800 * US : 500 * US)]++;
	assert_true(states[QOS_CONGESTED] > 50 && states[QOS_CONGESTED] < 500);
	assert_true(states[QOS_UNDERUSED] <= 1);
	assert_int_equal(states[QOS_OVERLOADED], 0);
	for (int i = 0; i < 20; i++)
		qos_monitor_add(&monitor, 100 * US);
	assert_int_equal(monitor.state, QOS_UNDERUSED);
	for (int i = 0; i < 20; i++)
		qos_monitor_add(&monitor, 2 * MS);
	assert_int_equal(monitor.state, QOS_OVERLOADED);
	assert_in_range(qos_monitor_ns(&monitor), 1999 * US, 2 * MS);
	assert_int_equal(monitor.thresh >> QOS_MONITOR_SHIFT, params.thresh_max_ns);
}

/* With alpha_T = 2^-4 as in the authors' code the threshold still comes all the way down. */
static void
no_fraction_of_the_threshold_is_lost(void **state)
{
	struct qos_params params;
	struct qos_monitor monitor;

	(void)state;
	qos_params_default(&params);
	params.thresh_shift = 4;
	qos_monitor_init(&monitor, &params);
	for (int i = 0; i < 1000; i++)
		qos_monitor_add(&monitor, 300 * US);
	assert_in_range(monitor.thresh >> QOS_MONITOR_SHIFT, 299 * US, 300 * US + 1);
}

/* ---- rates ---- */

struct bench {
	struct qos_params params;
	struct qos_rate rate;
	uint64_t now;
};

static void
begin(struct bench *b)
{
	*b = (struct bench){ .now = S };
	qos_params_default(&b->params);
	qos_rate_init(&b->rate, &b->params);
	qos_rate_fill(&b->rate, b->now);
	b->rate.since_ns = b->now; /* something is in flight all the time */
}

/* As many I/Os of that size as there are tokens for. */
static uint64_t
spend(struct bench *b, enum qos_kind kind, uint32_t bytes, uint32_t cost)
{
	uint64_t spent = 0;

	while (qos_rate_ready_ns(&b->rate, kind, bytes, b->now) <= b->now) {
		qos_rate_take(&b->rate, kind, bytes, (uint64_t)bytes * cost, true);
		spent += bytes;
		/* so that what it cost is taken note of, and the rate stays */
		b->rate.target += bytes;
		qos_rate_ended(&b->rate, &b->params, QOS_CONGESTED, kind, bytes, b->now);
	}
	return spent;
}

static void
both_kinds_get_what_they_pay_for(void **state)
{
	uint64_t spent[QOS_KINDS] = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 20000; i++) {
		qos_rate_fill(&b.rate, b.now += 50 * US);
		spent[QOS_READ] += spend(&b, QOS_READ, 4 * KIB, 2);
		spent[QOS_WRITE] += spend(&b, QOS_WRITE, 4 * KIB, 18);
	}
	assert_in_range((spent[QOS_READ] + spent[QOS_WRITE]) / MIB, 995, 1005);
	assert_in_range(spent[QOS_READ] * 100 / spent[QOS_WRITE], 880, 920);
}

static void
who_is_alone_has_all_of_it(void **state)
{
	(void)state;
	for (int kind = 0; kind < QOS_KINDS; kind++) {
		uint64_t spent = 0;
		struct bench b;

		begin(&b);
		for (int i = 0; i < 20000; i++) {
			qos_rate_fill(&b.rate, b.now += 50 * US);
			spent += spend(&b, (enum qos_kind)kind, 128 * KIB, kind == QOS_READ ? 1 : 9);
		}
		assert_in_range(spent / MIB, 990, 1010);
	}
}

static void
there_are_tokens_when_it_says(void **state)
{
	struct bench b;
	uint64_t ready;

	(void)state;
	begin(&b);
	spend(&b, QOS_READ, 4 * KIB, 1);
	spend(&b, QOS_WRITE, 4 * KIB, 9);
	for (uint32_t bytes = 4 * KIB; bytes <= MIB; bytes *= 2) {
		ready = qos_rate_ready_ns(&b.rate, QOS_READ, bytes, b.now);
		assert_true(ready > b.now);
		qos_rate_fill(&b.rate, ready);
		assert_int_equal(qos_rate_ready_ns(&b.rate, QOS_READ, bytes, ready), ready);
		qos_rate_take(&b.rate, QOS_READ, bytes, bytes, true);
		b.now = ready;
	}
}

/* Else large I/Os would go many times as fast as the rate says. */
static void
what_a_bucket_cannot_hold_is_paid_for_afterwards(void **state)
{
	struct qos_params params;
	struct qos_rate rate;
	uint64_t ready;

	(void)state;
	qos_params_default(&params);
	qos_rate_init(&rate, &params);
	qos_rate_fill(&rate, S);
	assert_true(qos_rate_has(&rate, QOS_READ, MIB));
	qos_rate_take(&rate, QOS_READ, MIB, MIB, true);
	ready = qos_rate_ready_ns(&rate, QOS_READ, 4096, S) - S;
	/* both buckets' tokens go there, as writes have theirs */
	assert_int_equal(ready,
	    (UINT64_C(772) * KIB << QOS_TOKEN_SHIFT) / (rate.fill[QOS_READ] + rate.fill[QOS_WRITE]) + 1);
	assert_true(qos_rate_has(&rate, QOS_WRITE, 4096));
	qos_rate_fill(&rate, S + ready / 2);
	qos_rate_ended(&rate, &params, QOS_OVERLOADED, QOS_READ, 4096, S);
	assert_true(rate.tokens[QOS_READ] < 0); /* an overload forgives nothing */
}

/* A deallocation of 4 GiB is counted for 16 MiB; it would keep all writes waiting until as many could be written. */
static void
what_moves_no_data_owes_nothing(void **state)
{
	struct qos_params params;
	struct qos_rate rate;

	(void)state;
	qos_params_default(&params);
	qos_rate_init(&rate, &params);
	qos_rate_fill(&rate, S);
	qos_rate_take(&rate, QOS_WRITE, 16 * MIB, 16 * MIB, false);
	assert_int_equal(rate.tokens[QOS_WRITE], 0);
	qos_rate_take(&rate, QOS_READ, 4096, 4096, false);
	assert_int_equal(rate.tokens[QOS_READ], rate.most - (INT64_C(4096) << QOS_TOKEN_SHIFT));
}

/* Whoever waits asks again when he is told to, and no earlier: at a slow rate, and beside a bucket that is full. */
static void
a_debt_is_paid_by_the_time_that_goes_by(void **state)
{
	struct qos_params params;
	struct qos_rate rate;
	uint64_t ready;

	(void)state;
	qos_params_default(&params);
	params.rate_first = 8 * MIB;
	qos_rate_init(&rate, &params);
	qos_rate_fill(&rate, S);
	qos_rate_take(&rate, QOS_WRITE, 4 * MIB, 4 * MIB, true);
	ready = qos_rate_ready_ns(&rate, QOS_WRITE, 4096, S);
	assert_in_range((ready - S) / MS, 460, 480); /* 3.75 MiB and 4 KiB, at 8 MiB a second */
	qos_rate_fill(&rate, ready - 1);
	assert_false(qos_rate_has(&rate, QOS_WRITE, 4096));
	qos_rate_fill(&rate, ready);
	assert_true(qos_rate_has(&rate, QOS_WRITE, 4096));
}

/* The published code multiplied what overflowed. */
static void
a_long_pause_overflows_nothing(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.params.rate_first = b.params.rate_most = UINT64_C(1) << 40;
	qos_rate_init(&b.rate, &b.params);
	for (unsigned seconds = 1; seconds < 30000; seconds++) {
		b.rate.tokens[QOS_READ] = b.rate.tokens[QOS_WRITE] = 0;
		qos_rate_fill(&b.rate, b.now += (uint64_t)seconds * S + seconds);
		assert_int_equal(b.rate.tokens[QOS_READ], b.rate.most);
		assert_int_equal(b.rate.tokens[QOS_WRITE], b.rate.most);
	}
	b.rate.tokens[QOS_READ] = b.rate.tokens[QOS_WRITE] = 0;
	qos_rate_fill(&b.rate, b.now += UINT64_C(1) << 62);
	assert_int_equal(b.rate.tokens[QOS_READ], b.rate.most);
	assert_int_equal(b.rate.tokens[QOS_WRITE], b.rate.most);
}

/* The published code knew no rate yet, took it for 0, and fell to the least. */
static void
an_overload_before_anything_was_measured_lowers_it_by_the_bytes_alone(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 10; i++)
		qos_rate_ended(&b.rate, &b.params, QOS_OVERLOADED, QOS_WRITE, 4 * KIB, b.now += 10 * US);
	assert_int_equal(b.rate.target, b.params.rate_first - 40 * KIB);
	assert_int_equal(b.rate.tokens[QOS_WRITE], 0);
	assert_int_equal(b.rate.tokens[QOS_READ] >> QOS_TOKEN_SHIFT, b.params.bucket_bytes);
}

static void
an_overload_lowers_it_to_what_has_ended(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 200; i++)
		qos_rate_ended(&b.rate, &b.params, QOS_AVOIDANCE, QOS_READ, 128 * KIB, b.now += 625 * US);
	qos_rate_ended(&b.rate, &b.params, QOS_OVERLOADED, QOS_WRITE, 128 * KIB, b.now += 625 * US);
	assert_in_range(b.rate.target / MIB, 199, 200);
}

static void
it_grows_by_e_in_a_second_and_by_e_to_the_eighth_when_underused(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	b.rate.target = 100 * MIB;
	for (uint64_t end = b.now + S; b.now < end;) {
		b.now += UINT64_C(4096) * S / b.rate.target;
		qos_rate_ended(&b.rate, &b.params, QOS_AVOIDANCE, QOS_READ, 4096, b.now);
	}
	assert_in_range(b.rate.target / MIB, 268, 275);
	b.rate.target = 100 * MIB;
	for (uint64_t end = b.now + 250 * MS; b.now < end;) {
		b.now += UINT64_C(4096) * S / b.rate.target;
		qos_rate_ended(&b.rate, &b.params, QOS_UNDERUSED, QOS_READ, 4096, b.now);
	}
	assert_in_range(b.rate.target / MIB, 725, 750);
}

static void
other_numbers_are_those_of_the_next_io(void **state)
{
	struct bench b;
	uint64_t target;

	(void)state;
	begin(&b);
	b.params.bucket_bytes = 128 * KIB;
	b.params.beta = 3;
	qos_rate_tune(&b.rate, &b.params);
	qos_rate_fill(&b.rate, b.now += S);
	assert_int_equal(b.rate.tokens[QOS_READ] >> QOS_TOKEN_SHIFT, 128 * KIB);
	target = b.rate.target;
	qos_rate_ended(&b.rate, &b.params, QOS_UNDERUSED, QOS_READ, 4096, b.now);
	assert_int_equal(b.rate.target, target + 3 * 4096);
	b.params.rate_most = b.params.rate_first = target / 2;
	b.params.rate_first -= 1000;
	qos_rate_tune(&b.rate, &b.params);
	assert_int_equal(b.rate.target, target / 2 - 1000);
}

/* A target opens a device before anybody has said what it is like. */
static void
what_both_kinds_cost_by_other_numbers_is_forgotten(void **state)
{
	struct qos_params params;
	struct bench b, fresh;

	(void)state;
	begin(&fresh);
	begin(&b);
	params = b.params;
	params.write_cost_worst = QOS_COST_ONE;
	qos_rate_init(&b.rate, &params);
	for (int i = 0; i < 1000; i++) {
		qos_rate_fill(&b.rate, b.now += 50 * US);
		spend(&b, QOS_READ, 4 * KIB, 100);
		spend(&b, QOS_WRITE, 4 * KIB, 1);
	}
	b.rate.target = fresh.rate.target;
	qos_rate_tune(&b.rate, &b.params);
	assert_int_equal(b.rate.fill[QOS_READ], fresh.rate.fill[QOS_READ]);
	assert_int_equal(b.rate.fill[QOS_WRITE], fresh.rate.fill[QOS_WRITE]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_both_kinds_cost_by_other_numbers_is_forgotten),
		cmocka_unit_test(absurd_numbers_are_refused),
		cmocka_unit_test(a_size_costs_what_was_measured),
		cmocka_unit_test(the_cost_of_writes_falls_and_comes_back),
		cmocka_unit_test(what_reads_did_not_take_of_a_device_writes_did),
		cmocka_unit_test(reads_alone_say_nothing_of_what_writes_cost),
		cmocka_unit_test(a_large_io_keeps_a_device_busy_for_longer),
		cmocka_unit_test(what_is_usual_crosses_the_threshold_now_and_then),
		cmocka_unit_test(no_fraction_of_the_threshold_is_lost),
		cmocka_unit_test(both_kinds_get_what_they_pay_for),
		cmocka_unit_test(who_is_alone_has_all_of_it),
		cmocka_unit_test(there_are_tokens_when_it_says),
		cmocka_unit_test(what_a_bucket_cannot_hold_is_paid_for_afterwards),
		cmocka_unit_test(what_moves_no_data_owes_nothing),
		cmocka_unit_test(a_debt_is_paid_by_the_time_that_goes_by),
		cmocka_unit_test(a_long_pause_overflows_nothing),
		cmocka_unit_test(an_overload_before_anything_was_measured_lowers_it_by_the_bytes_alone),
		cmocka_unit_test(an_overload_lowers_it_to_what_has_ended),
		cmocka_unit_test(it_grows_by_e_in_a_second_and_by_e_to_the_eighth_when_underused),
		cmocka_unit_test(other_numbers_are_those_of_the_next_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
